"""Plimsoll's own sessions, exported as JSON lines and imported: exactly the same events."""

import json
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tui_app.events import (
    PAYLOADS,
    Error,
    Payload,
    Record,
    SessionEnd,
    SessionStart,
    UsageInfo,
    UserMessage,
    payload_to_json,
)
from tui_app.session.exports.message_json import export_jsonl
from tui_app.session.importers.formats import Imported, import_file
from tui_app.usage import Breakdown, ContextUsage, ContextWindow

STORED = [kind for kind in PAYLOADS if kind.STORED and kind is not SessionEnd]
"""Stored events, without the end, since an import adds its own."""
START = SessionStart(cwd="/home/ann", model="offline:extractive", policy="", title="Ferry")
LAST = Error(kind="input", message="The last one.")
MEASURED = ContextUsage(
    parts=Breakdown(user=7), window=ContextWindow(limit=9_000, source="setting", reserve=1), messages=2
)
USAGE = UsageInfo(usage=dict(MEASURED.to_json()), prefix_kept=0.5, cache_read_tokens=3)


def exported(*payloads: Payload) -> str:
    """Export a log; its last event is readable whatever the others are."""
    records = [
        Record(seq=seq, time=1_700_000_000.0 + seq, session="f12f203a", data=payload)
        for seq, payload in enumerate((START, *payloads, LAST), 1)
    ]
    return "".join(export_jsonl([(record, None) for record in records], mask=False))


def read(text: str) -> Imported:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "session.jsonl"
        file.write_text(text, "utf-8")
        return import_file(file)


def any_of(kind: type[Payload]) -> st.SearchStrategy[Payload]:
    """Generate payloads of one kind with any values that their types allow."""
    if kind is UsageInfo:
        return st.builds(
            UsageInfo,
            usage=whole(ContextUsage).map(lambda usage: dict(usage.to_json())),
            prefix_kept=st.none() | st.floats(0, 1),
            cache_read_tokens=st.none() | st.integers(0),
        )
    return whole(kind)


def whole(cls: type[Any]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(cls)
    return st.builds(cls, **{each.name: st.from_type(hints[each.name]) for each in fields(cls)})


def is_json(payload: Payload) -> bool:
    """Whether JSON can represent every number; the program's own payloads contain no infinity."""
    try:
        return bool(json.dumps(payload_to_json(payload), allow_nan=False))
    except ValueError:
        return False


@pytest.mark.parametrize("kind", STORED)
@settings(max_examples=examples(12))
@given(data=st.data())
def test_every_event_comes_back(kind: type[Payload], data: st.DataObject) -> None:
    payload = data.draw(any_of(kind).filter(is_json))
    imported = read(exported(payload))
    assert imported.skipped == ()
    assert [event.data for event in imported.events] == [payload, LAST]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("total", "many"),
        ("limit", False),
        ("reserve", 0.5),
        ("total", None),
        ("tools", "7"),
        ("user", [7]),
        ("prefix_kept", "half"),
    ],
)
def test_figures_of_another_type_are_damage(name: str, value: object) -> None:
    lines = exported(USAGE).splitlines()
    damaged = json.loads(lines[1])
    damaged["data"][name] = value
    imported = read("\n".join([lines[0], json.dumps(damaged), lines[2]]))
    assert [skipped.line for skipped in imported.skipped] == [2]
    assert "wrong values" in imported.skipped[0].reason


@pytest.mark.parametrize("name", ["total", "limit", "limit_source", "reserve"])
def test_figures_without_what_the_gauge_is_read_from_are_damage(name: str) -> None:
    lines = exported(USAGE).splitlines()
    damaged = json.loads(lines[1])
    del damaged["data"][name]
    imported = read("\n".join([lines[0], json.dumps(damaged), lines[2]]))
    assert [skipped.line for skipped in imported.skipped] == [2]


def test_figures_that_another_version_has_besides_are_kept() -> None:
    lines = exported(USAGE).splitlines()
    later = json.loads(lines[1])
    later["data"]["images"] = 3
    del later["data"]["unmeasured"]
    imported = read("\n".join([lines[0], json.dumps(later), lines[2]]))
    assert imported.skipped == ()
    assert isinstance(imported.events[0].data, UsageInfo)
    assert imported.events[0].data.usage["images"] == 3


def test_a_word_in_the_place_of_a_number_is_damage() -> None:
    lines = exported(UserMessage(text="Hello", tokens={"user": 7})).splitlines()
    damaged = json.loads(lines[1])
    damaged["data"]["tokens"] = {"user": "7"}
    imported = read("\n".join([lines[0], json.dumps(damaged), lines[2]]))
    assert [skipped.line for skipped in imported.skipped] == [2]
