"""The page of the events is the one its script writes."""

from dataclasses import fields

import pytest

from tests.docs.pages import DOCS, load_script, page
from tui_app.events import PAYLOADS, Error, Fact


def test_tables_of_events_are_fresh() -> None:
    script = load_script(DOCS / "make_events.py")
    text = page("docs/events.md")
    assert script.filled(text) == text, "run: python docs/make_events.py"


def test_every_event_has_a_row_with_its_fields() -> None:
    rows = {row.split("`")[1]: row for row in page("docs/events.md").splitlines() if row.startswith("| `")}
    assert {payload.TYPE for payload in PAYLOADS} <= set(rows)
    for name, cls in (("error", Error), ("Fact", Fact)):
        assert [each.name for each in fields(cls) if f"`{each.name}`" not in rows[name]] == []


def test_page_without_its_marks_is_refused() -> None:
    script = load_script(DOCS / "make_events.py")
    with pytest.raises(ValueError, match="parts"):
        script.filled(page("docs/events.md").replace("<!-- end of parts -->", ""))
