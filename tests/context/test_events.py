"""Events: names, schema, and round trips through the log."""

import json
import re
import subprocess
import sys
from dataclasses import fields
from typing import Any, ClassVar, get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.context.schema_check import problems
from tests.examples import examples
from tui_app import events
from tui_app.events import (
    BY_TYPE,
    PAYLOADS,
    AssistantMessage,
    CompactionComplete,
    CompactionProposed,
    Error,
    ErrorKind,
    Fact,
    GaugeChanged,
    Payload,
    QueueChanged,
    Record,
    Rewritten,
    SessionEnd,
    SessionStart,
    SubAgentCall,
    SubAgentStep,
    ToolTrimmed,
    TurnEnd,
    UsageInfo,
    UserMessage,
    payload_from_json,
    payload_to_json,
)
from tui_app.events.base import event
from tui_app.events.schema import Docstrings, docstrings, event_schema, events_schema, summary_of
from tui_app.records import frozen
from tui_app.usage import CATEGORIES, Breakdown, ContextUsage, ContextWindow

# Names and round trips through the log.


FULL: list[Payload] = [
    UserMessage(text="hi", tokens={"user": 3}, attachments=("a.png",)),
    AssistantMessage(text="ho", call_ids=("1", "2"), cost_usd=0.5),
    QueueChanged(prompts=("a", "b"), paused=True),
    UsageInfo(usage={"total": 5}),
    SubAgentStep(tool_call_id="1", calls=(SubAgentCall(name="ls", args="{}", outcome="success"),)),
    Error(kind="network", message="No answer.", limit=None),
    CompactionProposed(job="1-1", summary="Sail.", passages=(("model", "Sail."), ("user", "Reef."))),
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
    UsageInfo, usage=_USAGE, prefix_kept=..., cache_read_tokens=..., factor=..., carried=..., growth=...
)


def _any_of(kind: type[Payload]) -> st.SearchStrategy[Payload]:
    return _MEASURED if kind is UsageInfo else st.from_type(kind)


def _without_nan(payload: Payload) -> bool:
    return re.search(r"\bnan\b", repr(payload)) is None


# A changed gauge is never stored.
STORABLE = [kind for kind in PAYLOADS if kind is not GaugeChanged]


@pytest.mark.parametrize("kind", STORABLE, ids=lambda kind: kind.TYPE)
@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_any_payload_comes_back_from_json(kind: type[Payload], data: st.DataObject) -> None:
    payload = data.draw(_any_of(kind).filter(_without_nan))
    stored = json.loads(json.dumps(payload_to_json(payload)))
    assert payload_from_json(kind.TYPE, stored) == payload


def test_a_gauge_without_a_refusal_names_one_limit_only() -> None:
    window = ContextWindow(limit=900, source="model", reserve=90)
    gauge = GaugeChanged(usage=ContextUsage(parts=Breakdown(), window=window, messages=3))
    assert payload_to_json(gauge)["limit"] == 900
    assert "believed_limit" not in payload_to_json(gauge)


def test_every_payload_has_a_type_of_its_own() -> None:
    assert len(BY_TYPE) == len(PAYLOADS)
    assert all(payload.TYPE for payload in PAYLOADS)
    kinds = {one for one in vars(events).values() if isinstance(one, type) and issubclass(one, Payload)}
    assert {kind for kind in kinds if kind.TYPE} == set(PAYLOADS)


def test_what_newer_versions_add_is_ignored_and_unknown_types_are_not() -> None:
    assert payload_from_json("user.message", {"text": "hi", "mood": "good"}) == UserMessage(text="hi")
    fact = {"kind": "rule", "text": "x", "mood": "good"}
    data = {"job": "1-1", "outcome": "success", "trigger": "manual", "facts": [fact]}
    done = payload_from_json(CompactionComplete.TYPE, data)
    assert isinstance(done, CompactionComplete)
    assert done.facts == (Fact(kind="rule", text="x"),)
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
        {"facts": [{"kind": "rule", "text": 7}]},
        {"outcome": "mood"},
        {"facts": ["rule"]},
        {"facts": None},
    ],
)
def test_damaged_parts_are_refused(data: dict[str, object]) -> None:
    whole = {"job": "1-1", "outcome": "success", "trigger": "manual", **data}
    with pytest.raises((TypeError, ValueError)):
        payload_from_json("session.compaction_complete", whole)


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
                messages_removed=1_000,
            ),
            "1,000 messages became a summary · 0.0k → 0.0k · 50% of the facts · from #3 up to #1200"
            " · by extraction",
        ),
        (CompactionComplete(job="1", outcome="vetoed", trigger="manual"), "vetoed"),
        (
            CompactionComplete(
                job="1",
                outcome="success",
                trigger="manual",
                messages_removed=203,
                tokens_before=91_500,
                tokens_after=6_200,
                claims_marked=1,
                lines=17,
                lines_sourced=14,
                facts=(
                    *(Fact(kind="rule", text=f"rule {n}") for n in range(4)),
                    Fact(kind="file", text="notes.md · edited 1×", weight=2),
                    Fact(kind="file", text="import.py · edited 3×", weight=4, put_back=True),
                    Fact(kind="error", text="pytest: 1 failed", weight=3),
                    Fact(kind="rule", text="a rule", state="lost"),
                ),
            ),
            "203 messages became a summary · 91.5k → 6.2k · 7 of 8 facts · your 4 rules word for word"
            " · import.py edited 3× · 1 error still open · 1 fact added by Plimsoll · 1 lost"
            " · 14 of 17 lines sourced · 1 not in the log",
        ),
        (
            CompactionComplete(
                job="1",
                outcome="success",
                trigger="manual",
                messages_left=3,
                tokens_before=91_500,
                tokens_after=6_200,
                facts=(Fact(kind="file", text="/srv/harbour/ferries/src/ferry/import.py · edited 3×"),),
            ),
            "3 messages became a summary · 91.5k → 6.2k · 1 of 1 fact · …/ferry/import.py edited 3×",
        ),
    ],
)
def test_an_event_says_its_headline(payload: Payload, line: str) -> None:
    assert payload.headline() == line


# The schema: all events conform to it, damaged ones do not, and it includes everything promised.


EVERY = events_schema()
ERROR = Error(kind="context_overflow", message="It is too long.", limit=8_000, requested=9_000)
COMPACTED = CompactionComplete(
    job="1-1",
    outcome="success",
    trigger="manual",
    removed=((1, 4),),
    tokens={"summary": 40},
    retention=0.75,
    facts=(Fact(kind="rule", text="never push"),),
)
USAGE = ContextUsage(
    parts=Breakdown(user=7), window=ContextWindow(limit=9, source="setting", reserve=1), messages=2
)


@frozen(kw_only=True)
class Odd(Payload):
    """A payload with a field that JSON cannot represent."""

    TYPE: ClassVar[str] = "odd"
    numbers: range


class Base:
    seq: int
    """Number in the log,
    from 1."""
    time: float


class Heir(Base):
    """Has a field ``of`` its base."""


def envelope(payload: Payload) -> Any:
    """Return an event as a consumer of JSON parses it."""
    seq = 4 if payload.STORED else 0
    return json.loads(json.dumps(Record(seq=seq, time=1.5, session="f12f203a", data=payload).to_json()))


def payloads(kind: type[Payload]) -> st.SearchStrategy[Payload]:
    """Generate payloads of one kind with any values that their types allow."""
    if kind is UsageInfo:
        return _whole(ContextUsage).map(lambda usage: UsageInfo(usage=dict(usage.to_json())))
    return _whole(kind)


def _whole(cls: type[Any]) -> st.SearchStrategy[Any]:
    """Generate a dataclass with all fields set, not only those without a default."""
    hints = get_type_hints(cls)
    return st.builds(cls, **{each.name: st.from_type(hints[each.name]) for each in fields(cls)})


@given(st.sampled_from(PAYLOADS).flatmap(payloads))
def test_every_event_meets_both_schemas(payload: Payload) -> None:
    event = envelope(payload)
    assert problems(event, EVERY) == []
    assert problems(event, event_schema(payload.TYPE)) == []


def test_a_gauge_may_name_the_limit_that_is_believed_after_a_refusal() -> None:
    window = ContextWindow(limit=4_000, source="model", announced=8_000)
    gauge = GaugeChanged(usage=ContextUsage(parts=Breakdown(), window=window, messages=1))
    event = envelope(gauge)
    assert event["data"]["believed_limit"] == 4_000
    assert problems(event, EVERY) == problems(event, event_schema(gauge.TYPE)) == []
    event["data"]["believed_limit"] = "4k"
    assert problems(event, EVERY) != []


@given(st.data())
def test_damaged_events_are_refused(data: st.DataObject) -> None:
    event = envelope(data.draw(st.sampled_from(PAYLOADS).flatmap(payloads)))
    damaged = data.draw(st.sampled_from([part for part in (event, event["data"]) if part]))
    name = data.draw(st.sampled_from(sorted(damaged)))
    if name != "believed_limit" and data.draw(st.booleans()):
        del damaged[name]
    else:
        damaged[name] = [[None]]  # no field accepts a nested list of None
    assert problems(event, EVERY) != []


@pytest.mark.parametrize("kind", BY_TYPE)
def test_every_type_is_defined_described_and_told_apart(kind: str) -> None:
    own = EVERY["$defs"][kind]
    assert {"$ref": f"#/$defs/{kind}"} in EVERY["oneOf"]
    assert len(EVERY["oneOf"]) == len(BY_TYPE)
    assert own["properties"]["type"] == {"const": kind}
    assert own["title"] == kind
    assert own["description"].endswith(".")
    assert 10 < len(summary_of(BY_TYPE[kind])) < 110
    alone = event_schema(kind)
    assert alone["$schema"] == EVERY["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert alone["properties"] == own["properties"]


def test_number_in_the_log_is_zero_for_what_is_only_shown() -> None:
    for payload in (ERROR, TurnEnd(outcome="done")):
        event = envelope(payload)
        event["seq"] = 3
        assert bool(problems(event, EVERY)) is not payload.STORED
        event["seq"] = 0  # an error that could not be logged is still shown, with number 0
        assert problems(event, EVERY) == []
        event["seq"] = -1
        assert problems(event, EVERY) != []


@pytest.mark.parametrize(
    ("payload", "path", "value"),
    [
        (ERROR, ("kind",), "mood"),
        (ERROR, ("limit",), "8000"),
        (ERROR, ("retryable",), 1),
        (COMPACTED, ("removed", 0), [1]),
        (COMPACTED, ("removed", 0), [1, 2, 3]),
        (COMPACTED, ("tokens", "summary"), 1.5),
        (COMPACTED, ("facts", 0, "state"), "gone"),
        (COMPACTED, ("facts", 0), "never push"),
        (COMPACTED, ("retention",), "high"),
        (GaugeChanged(usage=USAGE), ("total",), None),
    ],
)
def test_wrong_values_are_refused(payload: Payload, path: tuple[str | int, ...], value: object) -> None:
    event = envelope(payload)
    assert problems(event, EVERY) == []
    *above, last = path
    inner = event["data"]
    for step in above:
        inner = inner[step]
    inner[last] = value
    assert problems(event, EVERY) != []
    assert problems(event, event_schema(payload.TYPE)) != []


def test_unknown_types_and_missing_envelopes_are_refused() -> None:
    event = envelope(SessionEnd())
    assert problems(event, EVERY) == []
    assert problems({**event, "type": "session.mood"}, EVERY) != []
    assert problems({**event, "type": "tool.call"}, EVERY) != []
    assert problems({**event, "version": 2}, EVERY) != []
    for name in event:
        assert problems({key: value for key, value in event.items() if key != name}, EVERY) != []
    with pytest.raises(KeyError):
        event_schema("session.mood")


def test_later_versions_may_add_fields() -> None:
    """Programs pin a schema, which must accept fields added by later versions."""
    assert "additionalProperties" not in EVERY["$defs"]["tool.call"]
    assert "additionalProperties" not in EVERY["$defs"]["tool.call"]["properties"]["data"]
    assert "additionalProperties" not in EVERY["$defs"]["Fact"]


def test_errors_carry_what_is_promised() -> None:
    data = EVERY["$defs"]["error"]["properties"]["data"]
    assert {"kind", "message", "hint", "retryable", "limit", "requested"} <= set(data["required"])
    assert data["properties"]["kind"]["enum"] == sorted(get_args(ErrorKind))
    assert data["properties"]["limit"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert data["properties"]["hint"]["description"] == "What to do next, in words that hold everywhere."


@pytest.mark.parametrize("kind", ["session.usage_info", "session.gauge"])
def test_usage_stands_at_the_top_by_its_names(kind: str) -> None:
    data = EVERY["$defs"][kind]["properties"]["data"]
    usage = EVERY["$defs"]["usage"] if "$ref" in data else data
    promised = {*CATEGORIES, "total", "limit", "reserve", "utilization", "messages"}
    assert promised <= set(usage["required"])
    assert usage["properties"]["utilization"]["type"] == "number"
    assert usage["properties"]["total"]["description"] == "Tokens of the next request."
    assert envelope(GaugeChanged(usage=USAGE))["data"] == {**USAGE.to_json(), "scale": 1.0}


def test_compactions_carry_what_is_promised() -> None:
    names = set(EVERY["$defs"]["session.compaction_complete"]["properties"]["data"]["required"])
    assert {
        "tokens_before", "tokens_after", "messages_before", "messages_after", "tokens_removed",
        "messages_removed", "trigger", "performed_by", "retention", "checkpoint_path", "duration_s",
        "cost_usd", "model", "policy", "outcome",
    } <= names  # fmt: skip


def test_types_without_a_schema_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BY_TYPE, Odd.TYPE, Odd)
    with pytest.raises(TypeError, match="range"):
        event_schema(Odd.TYPE)


def test_inherited_fields_bring_their_descriptions() -> None:
    assert docstrings(Heir) == Docstrings("Has a field `of` its base.", {"seq": "Number in the log, from 1."})
    assert "limit" not in docstrings(Error).members


def test_without_source_the_schema_lacks_only_words() -> None:
    code = (
        "import inspect, json\n"
        "def missing(_): raise OSError('could not get source code')\n"
        "inspect.getsource = missing\n"
        "from tui_app.events import PAYLOADS\n"
        "from tui_app.events.schema import events_schema, summary_of\n"
        "print(json.dumps([events_schema(), [summary_of(payload) for payload in PAYLOADS]]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    bare, summaries = json.loads(done.stdout)
    assert set(summaries) == {""}
    assert bare != EVERY
    assert wordless(bare) == wordless(EVERY)


def wordless(part: Any) -> Any:
    """Return a schema without descriptions, keeping properties named ``description``."""
    if isinstance(part, list):
        return [wordless(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {
        name: wordless(each)
        for name, each in part.items()
        if name != "description" or not isinstance(each, str)
    }


def test_schema_waits_for_no_agent_library() -> None:
    code = "import sys, tui_app.events.schema; print({'pydantic', 'pydantic_ai'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
