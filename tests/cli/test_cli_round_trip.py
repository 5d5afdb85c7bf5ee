"""Import, export, compact, undo, export: the view comes back byte for byte, however a transcript ends."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Plimsoll
from tests.session.importing.claude_records import Script, call, result, text

Message = dict[str, Any]
TURNS = 8


def prompt(number: int) -> str:
    return f"Look at route {number}. Never touch the legacy importer."


def output(number: int) -> str:
    return " ".join(f"stop{number}x{index}" for index in range(120))


def asks(*ids: str) -> Message:
    calls = [{"id": name, "function": {"name": "read_file", "arguments": '{"path": "a"}'}} for name in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def returns(call_id: str, content: str) -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def turns() -> list[Message]:
    messages: list[Message] = [{"role": "system", "content": "You help with ferries."}]
    for number in range(TURNS):
        messages += [
            {"role": "user", "content": prompt(number)},
            asks(f"call_{number}"),
            returns(f"call_{number}", output(number)),
            {"role": "assistant", "content": f"Route {number} calls at all its stops."},
        ]
    return messages


def chat_whole() -> Any:
    return turns()


def chat_ends_in_a_call() -> Any:
    return [*turns(), {"role": "user", "content": "And now?"}, asks("last")]


def chat_ends_in_half_of_the_results() -> Any:
    return [*turns(), {"role": "user", "content": "And?"}, asks("x", "y", "z"), returns("y", "done")]


def chat_goes_on_after_an_open_call() -> Any:
    return [*turns()[:9], asks("lost"), *turns()[9:], asks("gone"), {"role": "user", "content": "Stop."}]


def log_whose_response_is_a_call() -> Any:
    return {"messages": turns(), "response": {"choices": [{"message": asks("last")}], "model": "m"}}


def history_that_ends_in_a_call() -> Any:
    history: list[Message] = []
    for number in range(TURNS):
        part = {"tool_name": "read_file", "tool_call_id": f"c{number}"}
        asked = {**part, "part_kind": "tool-call", "args": "{}"}
        answered = {**part, "part_kind": "tool-return", "content": output(number)}
        history += [
            {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": prompt(number)}]},
            {"kind": "response", "parts": [asked]},
            {"kind": "request", "parts": [answered]},
            {"kind": "response", "parts": [{"part_kind": "text", "content": f"Route {number} is fine."}]},
        ]
    return history[:-2]


def code(*, compacted: bool = False, ending: str = "call") -> Script:
    script = Script()
    for number in range(TURNS):
        script.user(prompt(number))
        script.says(f"a{number}", text("I will look."), call(f"t{number}", path="a"))
        script.returns(f"t{number}", output(number))
        script.says(f"b{number}", text(f"Route {number} calls at all its stops."))
        if compacted and number == 5:
            script.says("cut", call("t-cut"))
            script.compacts("They looked at six routes.")
    script.user("And now?")
    script.says("m-last", call("u1"), call("u2"))
    if ending == "half":
        script.user([result("u2", "done"), text("Never mind.")])
    return script


SHAPES: dict[str, Callable[[], Any]] = {
    "chat": chat_whole,
    "chat that ends in a call": chat_ends_in_a_call,
    "chat that ends in half of the results": chat_ends_in_half_of_the_results,
    "chat that goes on after an open call": chat_goes_on_after_an_open_call,
    "log whose response is a call": log_whose_response_is_a_call,
    "history that ends in a call": history_that_ends_in_a_call,
    "claude code that ends in two calls": code,
    "claude code that ends in half of the results": lambda: code(ending="half"),
    "claude code compacted with a call open": lambda: code(compacted=True),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("format", ["pydantic-ai", "markdown"])
def test_undo_gives_the_same_bytes(
    plimsoll: Plimsoll, tmp_path: Path, shape: Callable[[], Any], format: str
) -> None:
    made = shape()
    path = tmp_path / "transcript"
    path.write_text(
        "\n".join(json.dumps(record) for record in made.records)
        if isinstance(made, Script)
        else json.dumps(made)
    )
    report = plimsoll("import", path, "--json").json
    session = report["session"]

    def view(name: str) -> bytes:
        file = tmp_path / name
        done = plimsoll("export", session, "--view", "agent", "--format", format, "-o", file)
        assert done.code == 0, done.err
        return file.read_bytes()

    before = view("before")
    assert plimsoll("compact", session, "--json").json["outcome"] == "success"
    compacted = view("compacted")
    assert len(compacted) < len(before)
    assert plimsoll("compact", session, "--undo").code == 0
    assert view("after") == before
    assert plimsoll("compact", session, "--redo").code == 0
    assert view("again") == compacted
    assert plimsoll("compact", session, "--undo").code == 0
    assert view("at last") == before


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_report_counts_the_messages_that_are_exported(
    plimsoll: Plimsoll, tmp_path: Path, shape: Callable[[], Any]
) -> None:
    made = shape()
    path = made.write(tmp_path) if isinstance(made, Script) else tmp_path / "transcript"
    if not isinstance(made, Script):
        path.write_text(json.dumps(made))
    report = plimsoll("import", path, "--json").json
    exported = plimsoll("export", report["session"], "--view", "user").out
    assert sum(map(_messages, json.loads(exported))) == report["messages"]


def _messages(exported: dict[str, Any]) -> int:
    """Each result counts by itself, also where those of one answer go out together."""
    kinds = [part["part_kind"] for part in exported["parts"]]
    return max(1, sum(kind in ("tool-return", "retry-prompt") for kind in kinds))
