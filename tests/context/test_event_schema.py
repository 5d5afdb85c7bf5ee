"""The schema of the events: every event meets it, a damaged one does not, and it names what is promised."""

import json
import subprocess
import sys
from dataclasses import dataclass, fields
from typing import Any, ClassVar, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.context.schema_check import problems
from tui_app.events import (
    BY_TYPE,
    PAYLOADS,
    CompactionComplete,
    Error,
    ErrorKind,
    Fact,
    GaugeChanged,
    Payload,
    Record,
    SessionEnd,
    TurnEnd,
    UsageInfo,
)
from tui_app.events.schema import Docstrings, docstrings, event_schema, events_schema, summary_of
from tui_app.usage import CATEGORIES, Breakdown, ContextUsage, ContextWindow

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Odd(Payload):
    """Holds what JSON has no form for."""

    TYPE: ClassVar[str] = "odd"
    numbers: set[int]


class Base:
    seq: int
    """Number in the log,
    from 1."""
    time: float


class Heir(Base):
    """Has a field ``of`` its base."""


def envelope(payload: Payload) -> Any:
    """An event as a reader of JSON has it."""
    seq = 4 if payload.STORED else 0
    return json.loads(json.dumps(Record(seq=seq, time=1.5, session="f12f203a", data=payload).to_json()))


def payloads(kind: type[Payload]) -> st.SearchStrategy[Payload]:
    """Payloads of one kind with any values their types allow."""
    if kind is UsageInfo:
        return _whole(ContextUsage).map(lambda usage: UsageInfo(usage=dict(usage.to_json())))
    return _whole(kind)


def _whole(cls: type[Any]) -> st.SearchStrategy[Any]:
    """Values of a dataclass with all fields, not only those without a default."""
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
        damaged[name] = [[None]]  # no field is a list of lists of nothing
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
        event["seq"] = 0  # an error that the log could not take is shown all the same
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
    """Programs pin a schema; it must not turn down what a later version says besides."""
    assert "additionalProperties" not in EVERY["$defs"]["tool.call"]
    assert "additionalProperties" not in EVERY["$defs"]["tool.call"]["properties"]["data"]
    assert "additionalProperties" not in EVERY["$defs"]["Fact"]


def test_errors_carry_what_is_promised() -> None:
    data = EVERY["$defs"]["error"]["properties"]["data"]
    assert {"kind", "message", "hint", "retryable", "limit", "requested"} <= set(data["required"])
    assert data["properties"]["kind"]["enum"] == list(get_args(ErrorKind))
    assert data["properties"]["limit"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert data["properties"]["hint"]["description"] == "What to do next."


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
    with pytest.raises(TypeError, match="set"):
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
    """A schema without its descriptions; a property of that name stays."""
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
