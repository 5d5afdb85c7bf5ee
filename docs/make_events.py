"""Writes the tables of ``events.md`` from the classes of the events: ``python docs/make_events.py``."""

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from docs.tables import fill  # noqa: E402
from tui_app.events import BY_TYPE, PAYLOADS  # noqa: E402
from tui_app.events.schema import events_schema  # noqa: E402

PAGE = HERE / "events.md"
DEFINITIONS: dict[str, dict[str, Any]] = events_schema()["$defs"]


def events_table(*, stored: bool) -> str:
    """The events that the log keeps, or those it does not."""
    names = [payload.TYPE for payload in PAYLOADS if payload.STORED is stored]
    rows = [
        f"`{name}` | {DEFINITIONS[name]['description']} | {_fields(DEFINITIONS[name]['properties']['data'])}"
        for name in names
    ]
    return _table("Event | What it says | Fields of `data`", rows)


def parts_table() -> str:
    """What fields are made of, where that is more than one value."""
    rows = [
        f"`{name}` | {part['description']} | {_fields(part)}"
        for name, part in DEFINITIONS.items()
        if name not in BY_TYPE
    ]
    return _table("Part | What it is | Fields", rows)


def _fields(data: dict[str, Any]) -> str:
    if "$ref" in data:
        return f"those of `{data['$ref'].rpartition('/')[2]}`"
    cells = []
    for name, schema in data["properties"].items():
        part = schema.get("items", {}).get("$ref", "").rpartition("/")[2]
        cells.append(f"`{name}` (list of `{part}`)" if part else f"`{name}`")
    return ", ".join(cells)


def _table(head: str, lines: list[str]) -> str:
    rule = "|".join("---" for _ in head.split(" | "))
    return "\n".join([f"| {head} |", f"|{rule}|", *(f"| {line} |" for line in lines)])


def filled(page: str) -> str:
    """The page with fresh tables between its marks.

    Raises:
        ValueError: if a mark is missing.
    """
    tables = {
        "stored": events_table(stored=True),
        "live": events_table(stored=False),
        "parts": parts_table(),
    }
    return fill(page, tables)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
