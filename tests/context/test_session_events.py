"""Events: what they are called, and that they come back from the log as they went in."""

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tui_app import events
from tui_app.events import (
    BY_TYPE,
    PAYLOADS,
    AssistantMessage,
    CompactionComplete,
    Error,
    Fact,
    GaugeChanged,
    Payload,
    QueueChanged,
    Record,
    Rewritten,
    SessionStart,
    SubAgentCall,
    SubAgentStep,
    ToolTrimmed,
    UsageInfo,
    UserMessage,
    payload_from_json,
    payload_to_json,
)
from tui_app.events.base import event
from tui_app.events.schema import event_schema
from tui_app.usage import ContextUsage

FULL: list[Payload] = [
    UserMessage(text="hi", tokens={"user": 3}, attachments=("a.png",)),
    AssistantMessage(text="ho", call_ids=("1", "2"), cost_usd=0.5),
    QueueChanged(prompts=("a", "b"), paused=True),
    UsageInfo(usage={"total": 5}),
    SubAgentStep(tool_call_id="1", calls=(SubAgentCall(name="ls", args="{}", outcome="success"),)),
    Error(kind="network", message="No answer.", limit=None),
    CompactionComplete(
        job="1-1",
        outcome="success",
        trigger="manual",
        removed=((1, 4), (7, 9)),
        facts=(Fact(kind="rule", text="never push", source="#1", state="kept", weight=2.0),),
    ),
]


@pytest.mark.parametrize("payload", FULL, ids=lambda payload: payload.TYPE)
def test_a_payload_comes_back_from_json(payload: Payload) -> None:
    stored = json.loads(json.dumps(payload_to_json(payload)))
    assert payload_from_json(payload.TYPE, stored) == payload


_USAGE = st.from_type(ContextUsage).map(ContextUsage.to_json)
_MEASURED = st.builds(
    UsageInfo, usage=_USAGE, prefix_kept=..., cache_read_tokens=..., factor=..., carried=...
)


def _any_of(kind: type[Payload]) -> st.SearchStrategy[Payload]:
    return _MEASURED if kind is UsageInfo else st.from_type(kind)


def _without_nan(payload: Payload) -> bool:
    return "nan" not in repr(payload)


@pytest.mark.parametrize("kind", PAYLOADS, ids=lambda kind: kind.TYPE)
@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_any_payload_comes_back_from_json(kind: type[Payload], data: st.DataObject) -> None:
    payload = data.draw(_any_of(kind).filter(_without_nan))
    stored = json.loads(json.dumps(payload_to_json(payload)))
    assert payload_from_json(kind.TYPE, stored) == payload


def test_a_gauge_without_a_refusal_names_one_limit_only() -> None:
    usage = {"limit": 900, "limit_source": "model", "reserve": 90, "messages": 3}
    gauge = payload_from_json("session.gauge", usage)
    assert isinstance(gauge, GaugeChanged)
    assert (gauge.usage.window.effective, gauge.usage.window.announced) == (810, 0)
    assert "believed_limit" not in payload_to_json(gauge)


def test_every_payload_has_a_type_of_its_own() -> None:
    assert len(BY_TYPE) == len(PAYLOADS) == 55
    assert all(payload.TYPE for payload in PAYLOADS)
    kinds = {one for one in vars(events).values() if isinstance(one, type) and issubclass(one, Payload)}
    assert {kind for kind in kinds if kind.TYPE} == set(PAYLOADS)


def test_what_newer_versions_add_is_ignored_and_unknown_types_are_not() -> None:
    assert payload_from_json("user.message", {"text": "hi", "mood": "good"}) == UserMessage(text="hi")
    with pytest.raises(KeyError):
        payload_from_json("user.thought", {})


def test_the_envelope() -> None:
    record = Record(seq=3, time=1.5, session="s", data=SessionStart(cwd="/home", model="m"))
    data = record.to_json()
    assert {key: data[key] for key in ("type", "session", "seq", "time", "version")} == {
        "type": "session.start",
        "session": "s",
        "seq": 3,
        "time": 1.5,
        "version": 1,
    }
    assert data["data"]["policy"] == "plimsoll"


def test_everything_public_is_where_it_is_looked_for() -> None:
    assert all(vars(events)[payload.__name__] is payload for payload in PAYLOADS)


def test_an_event_is_declared_in_one_place() -> None:
    @event("mood.changed", stored=False, version=2)
    class MoodChanged(Payload):
        moods: tuple[Fact, ...] = ()
        by: str = ""

    try:
        stored = {"moods": [{"kind": "rule", "text": "smile"}], "by": "me"}
        changed = payload_from_json("mood.changed", stored)
        assert changed == MoodChanged(moods=(Fact(kind="rule", text="smile"),), by="me")
        assert Record(seq=0, time=1.0, session="s", data=changed).to_json()["version"] == 2
        schema = event_schema("mood.changed")
        assert schema["properties"]["version"]["const"] == 2
        assert schema["properties"]["seq"]["const"] == 0
        assert schema["$defs"].keys() == {"Fact"}
    finally:
        del BY_TYPE["mood.changed"]


@pytest.mark.parametrize(
    "data",
    [
        {"removed": [[1, 2, 3]]},
        {"removed": [["a", "b"]]},
        {"removed": 7},
        {"facts": [{"kind": "rule", "text": "x", "mood": "good"}]},
        {"facts": ["rule"]},
        {"facts": None},
    ],
)
def test_damaged_parts_are_refused(data: dict[str, object]) -> None:
    whole = {"job": "1-1", "outcome": "success", "trigger": "manual", **data}
    with pytest.raises((TypeError, ValueError)):
        payload_from_json("session.compaction_complete", whole)


def test_numbers_of_older_logs_are_read_as_whole_ones() -> None:
    data = {"job": "1-1", "outcome": "success", "trigger": "manual", "removed": [["1", 4.0]]}
    done = payload_from_json("session.compaction_complete", data)
    assert isinstance(done, CompactionComplete)
    assert done.removed == ((1, 4),)


def test_events_wait_for_no_agent_library() -> None:
    code = "import sys, tui_app.events; print('pydantic_ai' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("payload", "line"),
    [
        (UserMessage(text="\n## **Fix** the `parser`\nplease"), "Fix the parser"),
        (AssistantMessage(text="", thinking="Let me look."), "Let me look."),
        (QueueChanged(prompts=("a",)), ""),
        (Error(kind="network", message="No answer.", hint="Send again."), "No answer. Send again."),
        (
            ToolTrimmed(changes=(Rewritten(seq=3),), tokens_before=91_540, tokens_after=1_200_000),
            "1 old result trimmed · 91.5k → 1.2M",
        ),
        (
            CompactionComplete(
                job="1-1",
                outcome="success",
                trigger="manual",
                performed_by="heuristic",
                reason="The model failed.",
                from_message=3,
                up_to_message=1_200,
                retention=0.5,
                messages_before=1,
                messages_after=1_000,
            ),
            "0.0k → 0.0k · 1 message → 1,000 · from #3 up to #1200 · facts kept 50% · by extraction",
        ),
        (CompactionComplete(job="1", outcome="vetoed", trigger="manual"), "vetoed"),
    ],
)
def test_an_event_says_its_headline(payload: Payload, line: str) -> None:
    assert payload.headline() == line
