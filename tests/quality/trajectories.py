"""Readers for the trajectories that agent benchmarks and frameworks leave, and for aider's history."""

import re
from collections.abc import Sequence
from typing import Any

from tests.quality.reading import Json, Reading, text_in

AIDER = "# aider chat started at "
_AIDER_LINE = re.compile(r"(####|>) ?(.*)")
Calls = list[tuple[str, str, Any]]


def read_trajectory(document: Any) -> Reading | None:
    """Read SWE-agent, OpenHands, inspect-ai or LangChain; None for anything else."""
    match document:
        case {"history": [*history], "trajectory": _}:
            return _swe_agent(history)
        case {"history": [{"id": _, "source": _}, *_] as events}:
            return _openhands(events)
        case {"samples": [{"messages": [*messages]}, *_]}:
            return _inspect_ai(messages)
        case [{"lc": _, "type": "constructor"}, *_]:
            return _langchain(document)
        case _:
            return None


def _swe_agent(history: Sequence[Json]) -> Reading:
    """Older files hold the action as text and the observation as the user's next message, without ids."""
    read = Reading("swe-agent")
    waiting: list[str] = []
    for step, message in enumerate(history):
        text = text_in(message.get("content"))
        match message.get("role"):
            case "system":
                read.system(text)
            case "assistant":
                calls: Calls = [
                    (call["id"], call["function"]["name"], call["function"]["arguments"])
                    for call in message.get("tool_calls") or ()
                ]
                action = str(message.get("action") or "").strip()
                if not calls and action:
                    calls = [(f"step-{step}", "command", {"command": action})]
                read.answer(str(message.get("thought") or text) if calls else text, calls)
                waiting = [call_id for call_id, _, _ in calls]
            case _ if waiting:
                call_id = (message.get("tool_call_ids") or waiting)[0]
                waiting.remove(call_id)
                read.result(call_id, text, ok=True)
            case _:
                read.user(text)
    return read.close()


def _openhands(events: Sequence[Json]) -> Reading:
    """An observation names the action it comes from; actions without a call are not the model's."""
    read = Reading("openhands")
    calls: dict[int, str] = {}
    for event in events:
        args = dict(event.get("args") or {})
        made = event.get("tool_call_metadata") or {}
        match event.get("action"):
            case None:
                call_id = calls.get(event.get("cause", -1)) or made.get("tool_call_id", "")
                read.result(call_id, str(event.get("content") or ""), ok=event.get("success") is not False)
            case "system":
                read.system(str(args.get("content", "")))
            case "message" if event.get("source") == "user":
                read.user(str(args.get("content", "")))
            case "message":
                read.answer(str(args.get("content", "")), [])
            case _ if made:
                calls[event["id"]] = made["tool_call_id"]
                thought = str(args.pop("thought", "") or "")
                read.answer(thought, [(made["tool_call_id"], made["function_name"], args)])
            case _:
                pass
    return read.close()


def _inspect_ai(messages: Sequence[Json]) -> Reading:
    """Of a log with several samples the first: each is a conversation of its own."""
    read = Reading("inspect-ai")
    for message in messages:
        text = text_in(message.get("content"))
        match message.get("role"):
            case "system":
                read.system(text)
            case "user":
                read.user(text)
            case "tool":
                read.result(message.get("tool_call_id", ""), text, ok=not message.get("error"))
            case _:
                calls = message.get("tool_calls") or ()
                read.answer(text, [(call["id"], call["function"], call["arguments"]) for call in calls])
    return read.close()


def _langchain(document: Sequence[Json]) -> Reading:
    read = Reading("langchain")
    for record in document:
        message = record.get("kwargs", {})
        text = text_in(message.get("content"))
        match str(record.get("id", [""])[-1]).removesuffix("Chunk"):
            case "SystemMessage":
                read.system(text)
            case "HumanMessage":
                read.user(text)
            case "ToolMessage":
                read.result(message.get("tool_call_id", ""), text, ok=message.get("status") != "error")
            case "AIMessage":
                calls = message.get("tool_calls") or ()
                read.answer(text, [(call["id"], call["name"], call["args"]) for call in calls])
            case _:
                pass
    return read.close()


def aider(text: str) -> Reading:
    """Lines of the person and answers; what aider itself said on the console its model never saw."""
    read = Reading("aider-md")
    speaker, said = "", list[str]()

    def finish() -> None:
        whole = "\n".join(said).strip()
        if speaker == "####":
            read.user(whole)
        elif not speaker:
            read.answer(whole, [])
        said.clear()

    for line in text.splitlines():
        if line.startswith(AIDER):
            continue
        match = _AIDER_LINE.match(line)
        mark = match[1] if match else ""
        if mark != speaker and (mark or line.strip()):
            finish()
            speaker = mark
        said.append(match[2].rstrip() if match else line)
    finish()
    return read
