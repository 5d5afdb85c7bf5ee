"""Markdown: independent blocks however the text arrives, and no text lost in the layout."""

import re
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tui_app.ui.colours.palette import PLAIN_PALETTE
from tui_app.ui.transcript.excerpts import TEXT_COST, Splitter, split_markdown
from tui_app.ui.transcript.lines import EDGE, GUTTER, Painter
from tui_app.ui.transcript.markdown import markdown_lines
from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.text import wrap_spans

# Blocks of Markdown: independent of how the text arrives, bounded, and complete.


PART = st.sampled_from(
    [
        "word ",
        "\n",
        "\n\n",
        "- item\n",
        "1. one\n",
        "   - sub\n",
        "```py\n",
        "```\n",
        "~~~\n",
        "| a | b |\n",
        "|---|---|\n",
        "> quote\n",
        "# head\n",
        "---\n",
        "**bold** ",
        "`code` ",
        "[x](http://y) ",
        "<b>",
        "    code\n",
        "![i](u)",
        "&#27;",
        "*a **b ",
        "long " * 80,
        "x" * 500,
        "\\",
        "[",
        "日本語",
        "```" * 3,
        "\t",
    ]
)
MARKDOWN = st.lists(PART, max_size=80).map("".join)


def painter(width: int) -> Painter:
    return Painter(PLAIN_PALETTE, UNICODE, width)


@given(MARKDOWN, st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_pieces_do_not_depend_on_portions(text: str, sizes: list[int]) -> None:
    splitter = Splitter()
    start = 0
    for step in range(len(text) + 1):
        if start >= len(text):
            break
        size = sizes[step % len(sizes)]
        splitter.feed(text[start : start + size])
        start += size
    assert splitter.pieces() == split_markdown(text)


@given(MARKDOWN)
def test_pieces_hold_every_word_in_order(text: str) -> None:
    def words(part: str) -> list[str]:
        return re.findall(r"word|item|bold|long|one|sub|quote", part)

    assert words("".join(source for source, _ in split_markdown(text))) == words(text)


@pytest.mark.parametrize(
    "text",
    [
        "x" * 200_000,
        "word " * 40_000,
        "word\n" * 20_000,
        "```py\n" + "a = 1\n" * 20_000,
        "- item text\n" * 9_000,
        "|a|b|\n|-|-|\n" + "|c|d|\n" * 9_000,
        "*a **b " * 20_000,
        "[" * 90_000,
        "> deep\n" * 9_000,
    ],
    ids=[
        "one word",
        "one line",
        "one paragraph",
        "one fence",
        "one list",
        "one table",
        "stars",
        "brackets",
        "quote",
    ],
)
def test_every_piece_is_small(text: str) -> None:
    assert max(len(source) for source, _ in split_markdown(text)) <= 2 * TEXT_COST


def test_a_fence_goes_on_in_the_next_piece() -> None:
    text = "```python\n" + "value = 1\n" * 300 + "```\n\nafter\n"
    sources = [source for source, _ in split_markdown(text)]
    assert len(sources) > 2
    assert all(source.startswith("```python\n") for source in sources[:-1])
    assert sum(source.count("value = 1") for source in sources) == 300
    assert "after" in sources[-1]


def test_a_table_keeps_its_head() -> None:
    text = "| day | n |\n|---|---|\n" + "| Sun | 4 |\n" * 100
    pieces = split_markdown(text)
    assert len(pieces) > 2
    for source, gap in pieces:
        assert source.startswith("| day | n |\n|---|---|\n")
        assert not gap
    assert sum(source.count("Sun") for source, _ in pieces) == 100


def test_items_of_one_list_stay_close() -> None:
    text = "intro\n\n" + "- an item with some words in it\n" * 60
    gaps = [gap for _, gap in split_markdown(text)]
    assert len(gaps) > 2
    assert not any(gaps[2:])


@given(MARKDOWN, st.integers(8, 90))
def test_lines_fit_and_never_fail(text: str, width: int) -> None:
    for source, _ in split_markdown(text):
        for line in markdown_lines(source, painter(width)):
            assert line.strip.cell_length == GUTTER + width + EDGE
            assert 0 <= line.lead <= line.end <= len(line.text)


@pytest.mark.parametrize("source", [">" * 300 + " deep", "- " * 200 + "deep", "[a]: http://b.example"])
def test_what_layout_gives_up_on_is_shown_as_it_is(source: str) -> None:
    shown = "".join(line.text for line in markdown_lines(source, painter(40)))
    assert source.rsplit(maxsplit=1)[-1] in shown


def texts(source: str, width: int = 60) -> list[str]:
    return [line.text for line in markdown_lines(source, painter(width))]


def test_links_show_their_target_once() -> None:
    assert texts("[docs](https://a.example/x) and <https://b.example>") == [
        "docs (https://a.example/x) and https://b.example"
    ]


def test_html_is_text() -> None:
    assert texts("use List<String> and <script>alert(1)</script>") == [
        "use List<String> and <script>alert(1)</script>"
    ]


def test_code_keeps_its_lines_and_indent() -> None:
    lines = markdown_lines("```py\ndef f():\n    return 1\n```", painter(40))
    assert [line.text for line in lines] == ["  def f():", "      return 1"]
    assert [line.copied(0, None) for line in lines] == ["def f():", "    return 1"]


def test_wrapped_lines_know_what_was_between_them() -> None:
    lines = markdown_lines("- one two three four five six", painter(16))
    joined = lines[0].copied(0, None) + "".join(line.join + line.copied(0, None) for line in lines[1:])
    assert joined.strip() == "• one two three four five six"
    assert len(lines) > 1


@given(
    st.text(alphabet=st.sampled_from("ab \n語é·/"), max_size=200),
    st.integers(1, 30),
    st.sampled_from(["", " · "]),
)
def test_wrapping_loses_nothing(text: str, width: int, apart: str) -> None:
    spans = list(wrap_spans(text, width, apart))
    rebuilt = "".join(join + text[start:stop] for start, stop, join in spans)
    assert rebuilt.removeprefix("\n") == text or rebuilt == "\n" + text
    wide = [text[start:stop] for start, stop, _ in spans if stop - start > width]
    assert not wide


def test_a_list_is_broken_between_its_parts() -> None:
    text = "import.py edited · 14 of 23 lines sourced · 9 not in the log"
    rows = [text[start:stop] for start, stop, _ in wrap_spans(text, 46, " · ")]
    assert rows == ["import.py edited · 14 of 23 lines sourced", "9 not in the log"]
    assert [text[a:b] for a, b, _ in wrap_spans(text, 14, " · ")][:2] == ["import.py", "edited"]


def test_a_path_that_is_wider_than_a_line_goes_on_behind_a_slash() -> None:
    path = "/srv/harbour/ferry-timetable/src/ferry/importers/legacy_timetable_importer.py"
    rows = [path[start:stop] for start, stop, _ in wrap_spans(path, 44)]
    assert rows == ["/srv/harbour/ferry-timetable/src/ferry/", "importers/legacy_timetable_importer.py"]
    assert next(wrap_spans("a/" + "b" * 30, 12)) == (0, 12, "\n"), "half a line is not left empty"


# The layout loses no text of an answer.


MARKDOWN_LINES_PART = st.sampled_from(
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
@given(st.lists(MARKDOWN_LINES_PART, min_size=1, max_size=25), FRAME, st.integers(20, 200))
def test_every_word_of_a_paragraph_is_shown(parts: list[str], frame: str, width: int) -> None:
    words = numbered(parts)
    seen = re.sub(r"[\s▌•]", "", "".join(shown(frame.format(words), width)))
    for word in re.findall(r"w\d+", words):
        assert word in seen


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(MARKDOWN_LINES_PART, min_size=1, max_size=12), st.integers(1, 12), st.integers(20, 200))
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
    assert shown("```\n\ncode\n```", 40) == ["", "  code"]
    assert shown("- one\n- two", 40) == [" • one", " • two"]
    assert shown("- [ ] one\n- [x] two\n- [link]", 40) == ["   [ ] one", "   [x] two", " • [link]"]
    (quoted,) = shown("> 1. one", 40)
    assert quoted.strip() == "▌  1. one"


def test_an_image_stands_in_its_sentence() -> None:
    before, after = "First look at the chart on the left", "and never delete the second file."
    lines = shown(f"{before} ![load chart](https://example.org/load.png) {after}", 80)
    assert " ".join(lines) == f"{before} [image: load chart] (https://example.org/load.png) {after}"


@pytest.mark.parametrize("width", [20, 40, 80])
def test_an_image_stays_in_its_item_and_its_cell(width: int) -> None:
    item = "\n".join(shown("- item ![a](u.png)", width)).strip("\n")
    assert item.startswith(" • item [image:") or (item.startswith(" • item") and width == 20)
    table = shown("| a | b |\n|---|---|\n| in ![i](u.png) | there |\n", width)
    in_cell = next(number for number, line in enumerate(table) if line.strip().startswith("in"))
    assert "[image" in "".join(line.replace(" ", "") for line in table[in_cell:])
    assert "[image" not in "".join(table[:in_cell])


def test_a_long_path_folds_in_its_cell() -> None:
    path = "/usr/local/share/some/long/path/that/is/long.txt"
    lines = shown(f"| path | what |\n|---|---|\n| {path} | a word and another word and one more |\n", 40)
    cells = "".join(line.strip().split("  ")[0].strip() for line in lines[3:])
    assert path in cells.replace(" ", "")


def test_code_in_a_list_has_a_blank_line_behind_it() -> None:
    code = "1. One:\n\n   ```\n   code\n   ```\n\n2. Two\n3. Three"
    assert shown(code, 40) == [" 1. One:", "      code", "", " 2. Two", " 3. Three"]


def test_an_address_leads_to_all_of_itself_from_each_line_it_is_on() -> None:
    long = f"https://example.org/{'a' * 60}/end?x=1"
    lines = markdown_lines(f"See {long}, or [this](https://example.org/b). No `file:///x`.", painter(40))
    linked = [
        (segment.text, segment.style.link)
        for line in lines
        for segment in line.strip
        if segment.style is not None and segment.style.link
    ]
    assert "".join(text for text, target in linked if target == long) == long
    assert [text for text, target in linked if target != long] == ["https://example.org/b"]
