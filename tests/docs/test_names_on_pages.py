"""Names that scripts rely on stand on the pages, and tables have the cells that their heads promise."""

import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from tests.docs.pages import PAGES, page, prose, read, section
from tui_app.context.compaction.plan import FORCED
from tui_app.events import Trigger
from tui_app.providers import key_variables
from tui_app.session.stats import CompactionRow, ModelRow, SessionStats, SideRow, StageRow


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_rows_of_tables_have_as_many_cells_as_their_heads(path: Path) -> None:
    broken, cells = [], 0
    for line in prose(read(path)).splitlines():
        if not line.startswith("|"):
            cells = 0
            continue
        bars = len(re.findall(r"(?<!\\)\|", line))
        cells = cells or bars
        if bars != cells:
            broken.append(line)
    assert broken == []


def test_json_names_of_the_figures_are_described() -> None:
    text = section(page("docs/commands.md"), "plimsoll stats")
    rows = (ModelRow, CompactionRow, SideRow, StageRow)
    names = {*SessionStats().to_json(), *(field.name for row in rows for field in fields(row))}
    assert [name for name in sorted(names) if f"`{name}`" not in text] == []


def test_keys_of_all_providers_are_listed() -> None:
    text = page("docs/api-keys.md")
    assert [name for name in sorted(key_variables()) if f"`{name}`" not in text] == []


def test_every_trigger_has_a_row_and_those_that_no_guard_stops_are_named() -> None:
    text = page("docs/context-governance.md")
    rows = re.findall(r"^\| `(\w+)` \|", section(text, "What starts a compaction"), re.MULTILINE)
    assert set(rows) == set(get_args(Trigger))
    [forced] = re.findall(r"The last three do not stop (.+?)\.", text, re.DOTALL)
    assert set(re.findall(r"`(\w+)`", forced)) == FORCED
