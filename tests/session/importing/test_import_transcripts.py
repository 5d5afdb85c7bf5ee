"""Real transcripts from a folder with a list: ``PLIMSOLL_TRANSCRIPTS=FOLDER pytest -m transcripts -s``."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.session.importing.foreign import messages_of, strict
from tests.session.importing.transcript_counts import EXPECTED
from tui_app.events import CompactionComplete, ToolCall, ToolResult
from tui_app.session.importers.books import NO_RESULT
from tui_app.session.importers.formats import import_file

pytestmark = pytest.mark.transcripts

FOLDER = os.environ.get("PLIMSOLL_TRANSCRIPTS", "")
"""Read at import, because tests run without our environment variables except their home."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One row of the list."""

    format: str
    messages: int
    calls: int
    results: int
    compactions: int


def listed() -> dict[str, Listed]:
    assert FOLDER, "PLIMSOLL_TRANSCRIPTS must name the folder with the transcripts"
    rows = {}
    for line in (Path(FOLDER) / "MANIFEST.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) > 9 and cells[5].isdecimal():
            rows[cells[0]] = Listed(cells[4], *(int(cell) for cell in cells[5:9]))
    return rows


def test_every_file_of_the_folder_is_expected() -> None:
    files = {str(path.relative_to(FOLDER)) for path in Path(FOLDER or "/nowhere").glob("*/*")}
    assert files == set(listed()) == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_counts(name: str) -> None:
    row, expected = listed()[name], EXPECTED[name]
    imported = import_file(Path(FOLDER) / name)
    strict(imported)
    data = [event.data for event in imported.events]
    calls = {each.tool_call_id for each in data if isinstance(each, ToolCall)}
    own = [each for each in data if isinstance(each, ToolResult) and each.text != NO_RESULT]
    pairs = sum(each.tool_call_id in calls for each in own)
    compactions = sum(isinstance(each, CompactionComplete) for each in data)
    messages = messages_of(imported)
    print(
        f"\n{name} ({imported.format}): messages {row.messages} → {messages}, calls {row.calls} → "
        f"{imported.tool_calls}, results {row.results} → {imported.tool_results}, pairs {pairs}, "
        f"compactions {compactions}, not used {len(imported.skipped)}. {expected.why}"
    )
    assert imported.format == row.format.removesuffix("-md")
    assert (messages, imported.tool_calls, imported.tool_results) == (
        expected.messages, expected.calls, expected.results,
    )  # fmt: skip
    assert pairs == imported.tool_results
    assert compactions == row.compactions
    assert imported.skipped == ()
    same = (messages, imported.tool_calls, imported.tool_results) == (
        row.messages, row.calls, row.results,
    )  # fmt: skip
    assert same or expected.why
