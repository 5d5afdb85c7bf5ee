"""Readers of trajectories and of aider's history, each on a few lines of its format."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ToolCallPart, ToolReturnPart

from tests.context.validity import unpaired
from tests.quality.text import message_text
from tests.quality.transcripts import Transcript, find_files, read_transcript


def read(path: Path, name: str, content: Any) -> Transcript:
    file = path / name
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    assert find_files([path]) == [file]
    transcript = read_transcript(file)
    assert transcript is not None
    assert unpaired(transcript.messages) == []
    return transcript


def told(messages: tuple[ModelMessage, ...]) -> list[str]:
    return [message_text(message, labels=False) for message in messages]


def calls(transcript: Transcript) -> list[tuple[str, Any, str]]:
    """Tool, arguments and outcome of each call."""
    parts = [part for message in transcript.messages for part in message.parts]
    made = [part for part in parts if isinstance(part, ToolCallPart)]
    outcomes = {part.tool_call_id: part.outcome for part in parts if isinstance(part, ToolReturnPart)}
    return [(part.tool_name, part.args_as_dict(), outcomes[part.tool_call_id]) for part in made]


def test_swe_agent_pairs_actions_with_what_follows(tmp_path: Path) -> None:
    call = {"id": "c", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    history = [
        {"role": "system", "content": "Be good."},
        {"role": "user", "content": "Find the flag."},
        {"role": "assistant", "content": "Look:\n```\nls\n```", "thought": "Look:", "action": "ls\n"},
        {"role": "user", "content": "flag.txt"},
        {"role": "assistant", "content": "Again.", "tool_calls": [call]},
        {"role": "tool", "content": [{"type": "text", "text": "still"}], "tool_call_ids": ["c"]},
        {"role": "assistant", "content": "There.", "action": ""},
        {"role": "user", "content": "Thanks."},
    ]
    transcript = read(tmp_path, "a.traj", {"history": history, "trajectory": []})
    assert transcript.format == "swe-agent"
    assert calls(transcript) == [
        ("command", {"command": "ls"}, "success"),
        ("bash", {"command": "ls"}, "success"),
    ]
    assert told(transcript.messages) == [
        "Find the flag.", "Look:\nls", "flag.txt", "Again.\nls", "still", "There.", "Thanks.",
    ]  # fmt: skip


def test_openhands_pairs_observations_with_their_cause(tmp_path: Path) -> None:
    def made(name: str, call: str) -> dict[str, str]:
        return {"function_name": name, "tool_call_id": call}

    run = {"command": "ls", "thought": "Look."}
    history = [
        {"id": 0, "source": "agent", "action": "system", "args": {"content": "Be good."}},
        {"id": 1, "source": "user", "action": "message", "args": {"content": "Fix it."}},
        {"id": 2, "source": "user", "action": "recall", "args": {"query": "Fix it."}},
        {"id": 3, "cause": 2, "observation": "recall", "content": "nothing"},
        {"id": 4, "source": "agent", "action": "run", "args": run, "tool_call_metadata": made("bash", "x")},
        {"id": 5, "cause": 4, "observation": "run", "content": "no such file", "success": False},
        {"id": 6, "source": "agent", "action": "message", "args": {"content": "It is gone."}},
        {
            "id": 7,
            "source": "agent",
            "action": "finish",
            "args": {},
            "tool_call_metadata": made("finish", "y"),
        },
    ]
    transcript = read(tmp_path, "a.json", {"history": history})
    assert transcript.format == "openhands"
    assert calls(transcript) == [("bash", {"command": "ls"}, "failed"), ("finish", {}, "interrupted")]
    assert told(transcript.messages)[:4] == ["Fix it.", "Look.\nls", "no such file", "It is gone."]


def test_inspect_ai_reads_the_first_sample(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": "Be good."},
        {"role": "user", "content": [{"type": "text", "text": "Go."}]},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "1", "function": "go", "arguments": {"u": 1}}],
        },
        {"role": "tool", "content": "gone", "tool_call_id": "1", "error": {"type": "timeout"}},
        {"role": "assistant", "content": "No."},
    ]
    other = {"messages": [{"role": "user", "content": "another"}]}
    transcript = read(tmp_path, "a.json", {"version": 2, "samples": [{"messages": messages}, other]})
    assert transcript.format == "inspect-ai"
    assert calls(transcript) == [("go", {"u": 1}, "failed")]
    assert told(transcript.messages)[-1] == "No."


def test_langchain_reads_its_constructors(tmp_path: Path) -> None:
    def message(kind: str, **kwargs: Any) -> dict[str, Any]:
        return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", kind], "kwargs": kwargs}

    document = [
        message("SystemMessage", content="Be good."),
        message("HumanMessage", content="Read it."),
        message("AIMessageChunk", content=[], tool_calls=[{"id": "1", "name": "read", "args": {"p": "a"}}]),
        message("ToolMessage", content="text", tool_call_id="1", status="success"),
        message("AIMessage", content="Read."),
    ]
    transcript = read(tmp_path, "a.json", document)
    assert transcript.format == "langchain"
    assert calls(transcript) == [("read", {"p": "a"}, "success")]
    assert told(transcript.messages) == ["Read it.", "a", "text", "Read."]


def test_aider_leaves_out_what_its_model_never_saw(tmp_path: Path) -> None:
    text = (
        "\n# aider chat started at 2024-08-13 13:42:45\n\n> Aider v0.50\n> Use /help\n\n"
        "#### Draw a graph.  \n#### In blue.\n\nHere it is:\n\n    x > 1\n\n> Applied edit\n\n#### Thanks\n"
    ).lstrip()
    transcript = read(tmp_path, "a.md", text)
    assert transcript.format == "aider-md"
    assert told(transcript.messages) == ["Draw a graph.\nIn blue.", "Here it is:\n\n    x > 1", "Thanks"]


@pytest.mark.parametrize("content", ["{}", "[]", '[{"lc": 1}]', '{"history": []}', "# Notes"])
def test_anything_else_is_nobodys_business(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.json").write_text(content, encoding="utf-8")
    assert read_transcript(tmp_path / "a.json") is None
