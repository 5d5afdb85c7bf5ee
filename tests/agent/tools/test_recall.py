"""A message that is fetched back is complete, or comes in pages that together are complete."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.agent.tools.history import HistoryHit, named_message, page_of, read_message, search_history
from tui_app.agent.tools.lookup import recall_toolset
from tui_app.agent.tools.workspace import ToolProblem
from tui_app.context.policy import NormaliseLimits
from tui_app.context.tool_results.cuts import byte_count, count_lines

LIMITS = NormaliseLimits()
_READ_ON = re.compile(r'read on with search_history\(query="#7", start=(\d+)(?:, offset=(\d+))?\)\]$')


class Said:
    """A history of one message."""

    def __init__(self, text: str) -> None:
        self.hit = HistoryHit(7, "run_command", text)

    def search(self, words: str, limit: int = 8) -> Sequence[HistoryHit]:
        return [self.hit]

    def fetch(self, seq: int, session: str = "") -> HistoryHit | None:
        return self.hit if seq == 7 else None


def pages(text: str, lines: int = 10_000) -> list[str]:
    """Return all pages of a message, each requested as the previous one says."""
    found, start, offset = [], 1, 0
    while True:
        found.append(search_history(Said(text), "#7", start=start, lines=lines, offset=offset))
        assert count_lines(found[-1]) <= LIMITS.lines
        assert byte_count(found[-1]) <= LIMITS.bytes
        told = _READ_ON.search(found[-1])
        if told is None:
            return found
        start, offset = int(told[1]), int(told[2] or 0)
        assert len(found) < 1_000


def body(page: str) -> str:
    return "\n".join(row for row in page.split("\n")[1:] if not _READ_ON.search(row))


def test_a_long_message_comes_in_pages_that_tell_how_to_read_on() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 5_001))
    found = pages(text)
    assert found[0].startswith("#7 run_command: lines 1-1900 of 5000\nline 1\n")
    assert found[0].endswith(
        '\nline 1900\n[more lines follow, 5000 in all; read on with search_history(query="#7", start=1901)]'
    )
    assert found[-1].endswith("\nline 5000")
    assert "\n".join(map(body, found)) == text


async def test_an_agent_of_the_users_own_is_given_pages_of_the_same_length() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 5_001))
    tool = recall_toolset(Said(text)).tools["search_history"]
    assert await tool.function_schema.function(query="#7") == search_history(Said(text), "#7")


def test_a_range_is_exact() -> None:
    text = "\n".join(f"line {number}" for number in range(1, 5_001))
    page = search_history(Said(text), "#7", start=2_500, lines=2)
    assert page == (
        "#7 run_command: lines 2500-2501 of 5000\nline 2500\nline 2501\n"
        '[more lines follow, 5000 in all; read on with search_history(query="#7", start=2502)]'
    )


@pytest.mark.parametrize("char", ["z", "潮", "🙂", "\ud800"])
def test_a_line_that_no_page_holds_is_read_on_by_character(char: str) -> None:
    text = "Exit code 0.\n" + char * 150_000
    found = pages(text)
    assert found[0].startswith(f"#7 run_command: lines 1-2 of 2\nExit code 0.\n{char}"), "the page is filled"
    first = body(found[0]).split("\n")[1]
    assert first + "".join(map(body, found[1:])) == char * 150_000


def test_beyond_the_end() -> None:
    talk = Said("one\ntwo")
    assert (
        search_history(talk, "#7", start=3)
        == "[#7 ends before line 3, character 0; start=1 gives its beginning]"
    )
    assert search_history(talk, "#7", start=1, offset=4) == "#7 run_command: lines 2-2 of 2\ntwo"
    with pytest.raises(ToolProblem, match="#7 ends before line 3"):
        read_message(talk.hit, 3, 400)


def test_read_file_takes_a_handle_and_numbers_its_lines() -> None:
    talk = Said("one\ntwo\nthree\n")
    assert named_message(talk, " #7 ") is talk.hit
    assert read_message(talk.hit, 2, 1) == (
        '2\ttwo\n[more lines follow, 3 in all; read on with read_file(path="#7", start=3)]'
    )
    assert read_message(talk.hit, 1, 400) == "1\tone\n2\ttwo\n3\tthree"
    for path in ("7", "#8", "#7.txt", "src/#7", ""):
        assert named_message(talk, path) is None


def test_a_hit_tells_the_line_to_read_from() -> None:
    talk = Said("")
    talk.hit = HistoryHit(7, "run_command", "… the needle", line=2_501, lines=5_000)
    assert search_history(talk, "needle") == "#7 run_command: [line 2501 of 5000] … the needle"


@given(
    st.lists(st.text(alphabet="aé漢🙂\r", max_size=40), min_size=1, max_size=30),
    st.integers(1, 5),
    st.booleans(),
)
def test_pages_together_are_the_message(rows: list[str], lines: int, numbered: bool) -> None:
    text, found = "\n".join(rows), []
    place: tuple[int, int] | None = (1, 0)
    while place is not None:
        page = page_of(text, place[0], lines, place[1], numbered=numbered)
        if page is None:
            break
        found += [row.partition("\t")[2] if numbered else row for row in page.rows]
        place = page.next
    assert found == (rows[:-1] if len(rows) > 1 and not rows[-1] else rows)
