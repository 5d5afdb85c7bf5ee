"""Imports contain what an independent counter finds in the file."""

from pathlib import Path

import pytest

from tests.session.importing import foreign
from tests.session.importing.counters import COUNTERS, Counts
from tests.session.importing.foreign import valid_script
from tui_app.events import AssistantMessage, UserMessage
from tui_app.session.importers.formats import Imported, import_file

FILES = [*foreign.FILES, ("claude-code", b"\n".join(valid_script().lines()))]
COUNTED = [(name, content) for name, content in FILES if name in COUNTERS]


def counts(imported: Imported) -> Counts:
    data = [event.data for event in imported.events]
    return Counts(
        sum(isinstance(each, UserMessage) for each in data),
        imported.tool_calls,
        imported.tool_results,
        sum(each.output_tokens for each in data if isinstance(each, AssistantMessage)),
    )


@pytest.mark.parametrize(("name", "content"), COUNTED, ids=[name for name, _ in COUNTED])
def test_an_import_counts_as_a_counter_of_its_own(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert counts(import_file(path, name)) == COUNTERS[name].count(content)
