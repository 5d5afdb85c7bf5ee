"""Nothing that an answer says is lost in its layout."""

import re
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tui_app.ui.text import UNICODE
from tui_app.ui.themes import PLAIN_PALETTE
from tui_app.ui.transcript.lines import Painter
from tui_app.ui.transcript.markdown import markdown_lines
from tui_app.ui.transcript.pieces import split_markdown

PART = st.sampled_from(
    [
        *("{}", "**{} {}**", "*{}*", "`{}`", "~~{}~~", "[{}](https://example.org/{})", "[{}](javascript:{})"),
        *("![{} {}](https://example.org/{}.png)", "[![{}](u/{}.png)](https://example.org/{})"),
    ]
)
FRAME = st.sampled_from(["{}", "- {}", "> {}", "# {}", "1. first\n2. {}", "- a\n  - {}"])


def shown(source: str, width: int) -> list[str]:
    return [line.text for line in markdown_lines(source, Painter(PLAIN_PALETTE, UNICODE, width))]


def numbered(parts: list[str]) -> str:
    numbers = count(100)
    return re.sub(r"\{\}", lambda _: f"w{next(numbers)}", " ".join(parts))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(PART, min_size=1, max_size=25), FRAME, st.integers(20, 200))
def test_every_word_of_a_paragraph_is_shown(parts: list[str], frame: str, width: int) -> None:
    words = numbered(parts)
    seen = re.sub(r"[\s▌•]", "", "".join(shown(frame.format(words), width)))
    for word in re.findall(r"w\d+", words):
        assert word in seen


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(PART, min_size=1, max_size=12), st.integers(1, 12), st.integers(20, 200))
def test_no_cell_of_a_table_is_cut(parts: list[str], columns: int, width: int) -> None:
    numbers = count(100)
    row = "| " + " | ".join(f"c{next(numbers)}" for _ in range(columns - 1)) + " | " + numbered(parts) + " |"
    row = row.replace("|  |", "|")
    source = f"| {' | '.join('h' * columns)} |\n|{'---|' * columns}\n{row}\n"
    lines = shown(source, width)
    seen = re.sub(r"\s", "", "".join(lines))
    assert "…" not in seen
    signs = [sign for sign in seen if sign.isdigit()]
    assert len(signs) >= sum(map(str.isdigit, row))


@pytest.mark.parametrize("sign", ["-", "*", "1.", "95."])
def test_a_long_list_looks_like_one_whatever_pieces_it_is_cut_into(sign: str) -> None:
    numbers = count(int(sign[:-1])) if sign[-1] == "." else None
    items = [f"{sign if numbers is None else f'{next(numbers)}.'} {'word ' * 12}" for _ in range(12)]
    pieces = split_markdown("Here it is:\n\n" + "\n".join(items))
    assert len(pieces) > 2
    begun, *others = [(gap, shown(source, 100)) for source, gap in pieces]
    assert begun[1][:2] == ["Here it is:", ""]
    lines = [*begun[1][2:], *(line for _, lines in others for line in lines)]
    assert not any(gap for gap, _ in others)
    assert [line.split()[0].removesuffix(".") for line in lines] == [
        "•" if numbers is None else str(int(sign[:-1]) + number) for number in range(12)
    ]
    begins = {line.index("word") for line in lines if not line.split()[0].startswith("1")}
    assert begins == ({3} if numbers is None else {4})


def test_a_fence_keeps_its_empty_lines_and_a_list_has_none_in_front() -> None:
    assert shown("```\n\ncode\n```", 40) == ["", "    code"]
    assert shown("- one\n- two", 40) == [" • one", " • two"]
    assert shown("> 1. one", 40)[-1].strip() == "▌  1. one"


def test_an_image_stands_in_its_sentence() -> None:
    before, after = "First look at the chart on the left", "and never delete the second file."
    lines = shown(f"{before} ![load chart](https://example.org/load.png) {after}", 80)
    assert " ".join(lines) == f"{before} [image: load chart] (https://example.org/load.png) {after}"


@pytest.mark.parametrize("width", [20, 40, 80])
def test_an_image_stays_in_its_item_and_its_cell(width: int) -> None:
    item = "\n".join(shown("- item ![a](u.png)", width)).strip("\n")
    assert item.startswith(" • item [image:") or (item.startswith(" • item") and width == 20)
    table = shown("| a | b |\n|---|---|\n| in ![i](u.png) | there |\n", width)
    in_cell = next(number for number, line in enumerate(table) if line.startswith("in"))
    assert "[image" in "".join(line.replace(" ", "") for line in table[in_cell:])
    assert "[image" not in "".join(table[:in_cell])


def test_a_long_path_folds_in_its_cell() -> None:
    path = "/usr/local/share/some/long/path/that/is/long.txt"
    lines = shown(f"| path | what |\n|---|---|\n| {path} | a word and another word and one more |\n", 40)
    cells = "".join(line.split("  ")[0].strip() for line in lines[3:])
    assert path in cells.replace(" ", "")
