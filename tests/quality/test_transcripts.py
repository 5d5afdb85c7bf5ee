"""Reading transcript files, and where histories are cut."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart, ToolReturnPart

from tests.context.facts_kit import call, says, user
from tests.context.histories import unpaired
from tests.quality.cases import cases_of
from tests.quality.chains import portions
from tests.quality.contexts import HIDDEN, head_and_tail, ledger, masked, raw_tail
from tests.quality.synthetic import BEFORE, characters
from tests.quality.text import message_text, text_of
from tests.quality.transcripts import Boundary, Transcript, find_files, read_transcript
from tests.session.importing.foreign import Script, text


def lines(path: Path, records: Sequence[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return path


def size(message: ModelMessage) -> int:
    return characters(message_text(message))


def results(transcript: Transcript | None) -> list[tuple[str, str]]:
    assert transcript
    parts = [part for message in transcript.messages for part in message.parts]
    return [(part.tool_name, part.outcome) for part in parts if isinstance(part, ToolReturnPart)]


def test_pi_with_a_compaction_that_kept_a_tail(tmp_path: Path) -> None:
    def message(own: str, parent: str | None, **body: Any) -> dict[str, Any]:
        return {"type": "message", "id": own, "parentId": parent, "message": body}

    calls = [{"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "a.py"}}]
    path = lines(
        tmp_path / "s.jsonl",
        [
            {"type": "session", "version": 3},
            message("1", None, role="user", content=[{"type": "text", "text": "Go."}]),
            message("x", "1", role="assistant", content=[{"type": "text", "text": "given up"}]),
            message("2", "1", role="assistant", content=calls),
            message("3", "2", role="toolResult", toolCallId="c", content="text", isError=True),
            {"type": "compaction", "id": "4", "parentId": "3", "summary": "Notes.", "firstKeptEntryId": "2"},
            message("5", "4", role="assistant", content=[{"type": "text", "text": "On."}]),
        ],
    )
    transcript = read_transcript(path)
    assert results(transcript) == [("read", "failed")]
    assert transcript
    assert transcript.boundaries == (Boundary(3, "Notes.", 1),)
    assert "given up" not in text_of(transcript.messages)


def test_opencode_and_copilot(tmp_path: Path) -> None:
    state = {"status": "completed", "input": {"path": "a"}, "output": "ok"}
    parts = [
        {"type": "text", "text": "I look."},
        {"type": "tool", "tool": "read", "callID": "1", "state": state},
        {"type": "tool", "tool": "bash", "callID": "2", "state": {"status": "error", "error": "no"}},
    ]
    typed = [{"type": "text", "text": "Go."}, {"type": "text", "text": "Read a.py", "synthetic": True}]
    export = {
        "info": {},
        "messages": [
            {"info": {"role": "user"}, "parts": typed},
            {"info": {"role": "assistant"}, "parts": parts},
        ],
    }
    (tmp_path / "o.json").write_text(json.dumps(export), encoding="utf-8")
    opencode = read_transcript(tmp_path / "o.json")
    assert results(opencode) == [("read", "success"), ("bash", "failed")]
    assert opencode
    assert message_text(opencode.messages[0]) == "Go."
    requests = [{"toolCallId": "1", "name": "bash", "arguments": {"command": "ls"}}]
    copilot = lines(
        tmp_path / "c.jsonl",
        [
            {"type": "session.start", "data": {}},
            {"type": "user.message", "data": {"content": "Go."}},
            {"type": "assistant.message", "data": {"content": "", "toolRequests": requests}},
            {"type": "tool.execution_complete", "data": {"toolCallId": "1", "success": True, "result": {}}},
        ],
    )
    assert results(read_transcript(copilot)) == [("bash", "success")]


def test_claude_code_boundaries_come_from_our_importer(tmp_path: Path) -> None:
    script = Script()
    script.user("Go.")
    script.says("m1", text("Gone."))
    script.compacts("Notes of the other program.")
    script.user("On.")
    transcript = read_transcript(script.write(tmp_path))
    assert transcript
    assert transcript.boundaries == (Boundary(2, "Notes of the other program.", 2),)
    assert len(transcript.messages) == 3


def test_other_files_are_nobodys_business(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"x": 1}', encoding="utf-8")
    (tmp_path / "b.md").write_text("# Read me", encoding="utf-8")
    (tmp_path / "c.png").write_bytes(b"")
    assert find_files([tmp_path]) == [tmp_path / "a.json", tmp_path / "b.md"]
    assert [read_transcript(path) for path in find_files([tmp_path])] == [None, None]


def talk(turns: int) -> tuple[ModelMessage, ...]:
    messages: list[ModelMessage] = []
    for turn in range(turns):
        messages += [*user(f"prompt {turn}"), *call("read", {"path": f"{turn}.py"}, "x" * 400), *says("ok")]
    return tuple(messages)


def test_real_boundaries_are_cut_and_no_others() -> None:
    transcript = Transcript("t", "f", talk(20), (Boundary(30, "Notes.", 28),))
    [case] = cases_of(transcript, size, least=500)
    assert (case.real, case.product, len(case.before), len(case.product_tail)) == (True, "Notes.", 30, 2)
    assert list(cases_of(transcript, size, least=100_000)) == []


def test_cuts_of_our_own_stand_in_front_of_a_response() -> None:
    cases = list(cases_of(Transcript("t", "f", talk(40)), size, least=1_000))
    assert len(cases) == 3
    for place, case in enumerate(cases, 1):
        assert not case.real
        assert case.tokens >= 1_000 * place
        assert isinstance(case.after[0], ModelResponse)


def test_portions_lose_nothing_and_end_with_requests() -> None:
    messages = talk(12)
    cut = portions(messages, 4, lambda some: sum(map(size, some)))
    assert len(cut) == 4
    assert [message for portion in cut for message in portion] == list(messages)
    assert not any(isinstance(portion[-1], ModelResponse) for portion in cut[:-1])


def test_the_other_contexts_keep_their_budget() -> None:
    whole = text_of(BEFORE)
    tail = raw_tail(BEFORE, 50, characters)
    assert whole.endswith(tail.text)
    assert 45 <= tail.tokens <= 50
    both = head_and_tail(BEFORE, 60, characters)
    assert whole.startswith(both.text[:100])
    assert whole.endswith(both.text[-100:])
    names = ledger(BEFORE, 20, characters)
    assert names.tokens <= 20
    assert "importer.py" in names.text.splitlines()


def test_masking_hides_all_but_the_newest_outputs() -> None:
    text = masked(talk(5), characters, kept=2).text
    assert text.count(HIDDEN) == 3
    assert text.count("x" * 400) == 2
    assert text.index(HIDDEN) < text.index("x" * 400)


# Readers for trajectories and for aider's history, each on a few lines of its format.


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
