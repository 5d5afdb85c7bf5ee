"""Claude Code transcripts: the path through the tree, merged responses, compactions."""

import base64
import json
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pydantic_ai.messages import (
    BinaryContent,
    CompactionPart,
    ModelMessagesTypeAdapter,
    ModelResponse,
    ThinkingPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.session.importing.foreign import Script, call, messages_of, result, text, write_lines
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    Error,
    Payload,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tui_app.session.importers.content import MAX_BINARY_CHARS
from tui_app.session.importers.formats import Imported, import_file

P = TypeVar("P", bound=Payload)


def of(imported: Imported, kind: type[P]) -> list[P]:
    return [event.data for event in imported.events if isinstance(event.data, kind)]


def types(imported: Imported) -> list[str]:
    return [event.data.TYPE for event in imported.events]


def loaded(imported: Imported) -> list[Any]:
    texts = [event.message for event in imported.events if event.message]
    return ModelMessagesTypeAdapter.validate_json(f"[{','.join(texts)}]")


def seqs(imported: Imported) -> dict[int, Payload]:
    """Return events by the log numbers that they get after a ``session.start``."""
    return {index + 2: event.data for index, event in enumerate(imported.events)}


def test_a_turn_with_a_tool_call(tmp_path: Path) -> None:
    script = Script()
    script.user("What is in shop.py?")
    script.says("m1", text("I will look."), call("t1", path="shop.py"))
    script.returns("t1", "print('shop')")
    script.says("m2", text("It prints shop."))
    imported = import_file(script.write(tmp_path))

    assert imported.format == "claude-code"
    assert types(imported) == [
        "user.message", "assistant.message", "tool.call", "tool.result", "assistant.message",
    ]  # fmt: skip
    assert (messages_of(imported), imported.tool_calls, imported.tool_results) == (4, 1, 1)
    assert (imported.title, imported.cwd) == ("What is in shop.py?", "/home/ann/shop")
    assert imported.model == "claude-opus-4-6"
    assert imported.skipped == ()
    assert of(imported, ToolCall)[0] == ToolCall(tool_call_id="t1", name="Read", args='{"path": "shop.py"}')
    assert of(imported, ToolResult)[0].name == "Read"
    answer = of(imported, AssistantMessage)[0]
    assert (answer.text, answer.call_ids, answer.model) == ("I will look.", ("t1",), "claude-opus-4-6")
    assert imported.events[0].time == 1772359200.0
    assert len(loaded(imported)) == 4


def test_records_of_one_message_id_become_one_response_with_its_last_usage(tmp_path: Path) -> None:
    script = Script()
    script.user("Go")
    usage = {"input_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 40}
    script.says("m1", {"type": "thinking", "thinking": "hm", "signature": "SIG"}, usage=usage)
    script.says("m1", call("t1"), usage=usage | {"output_tokens": 2})
    script.returns("t1", "one")
    script.says("m1", call("t2"), usage=usage | {"output_tokens": 77})
    script.returns("t2", "two")
    imported = import_file(script.write(tmp_path))

    assert types(imported) == [
        "user.message", "assistant.message", "tool.call", "tool.call", "tool.result", "tool.result",
    ]  # fmt: skip
    (answer,) = of(imported, AssistantMessage)
    assert answer.call_ids == ("t1", "t2")
    assert (answer.input_tokens, answer.cache_read_tokens, answer.output_tokens) == (143, 100, 77)
    assert answer.thinking == "hm"
    response = loaded(imported)[1]
    assert isinstance(response, ModelResponse)
    assert response.usage.cache_write_tokens == 40
    assert response.parts[0] == ThinkingPart("hm", signature="SIG", provider_name="anthropic")
    assert messages_of(imported) == 3


def test_another_vendors_signature_is_not_sent_to_anthropic(tmp_path: Path) -> None:
    script = Script()
    script.user("Go")
    script.says("m1", {"type": "thinking", "thinking": "hm", "signature": "SIG"}, text("ok"))
    script.records[1]["message"]["model"] = "kimi-k2"
    response = loaded(import_file(script.write(tmp_path)))[1]
    assert response.parts[0].signature is None
    assert response.provider_name is None


def test_only_the_last_branch_is_taken_and_the_others_are_counted(tmp_path: Path) -> None:
    script = Script()
    start = script.user("First")
    script.says("m1", text("a wrong way"))
    script.user("more of it")
    script.user("Rather this", parentUuid=start)
    script.says("m2", text("good"))
    imported = import_file(script.write(tmp_path))
    assert [m.text for m in of(imported, UserMessage)] == ["First", "Rather this"]
    assert [m.text for m in of(imported, AssistantMessage)] == ["good"]
    assert "2 messages on abandoned branches (rewinds) were left out." in imported.notes


def test_results_of_parallel_calls_on_side_branches_are_put_back(tmp_path: Path) -> None:
    script = Script()
    script.user("Go")
    first = script.says("m1", call("t1"))
    second = script.says("m1", call("t2"))
    third = script.says("m1", call("t3"), parentUuid=second)
    script.returns("t1", "one", parentUuid=first)
    script.returns("t3", "three", parentUuid=third)
    last = script.returns("t2", "two", parentUuid=second)
    script.says("m2", text("done"), parentUuid=last)
    imported = import_file(script.write(tmp_path))
    assert of(imported, AssistantMessage)[0].call_ids == ("t1", "t2", "t3")
    assert [(r.tool_call_id, r.text) for r in of(imported, ToolResult)] == [
        ("t1", "one"), ("t3", "three"), ("t2", "two"),
    ]  # fmt: skip
    assert imported.skipped == ()
    assert not any("branches" in note for note in imported.notes)


def test_sub_agents_and_the_programs_own_notes_are_left_out_with_a_count(tmp_path: Path) -> None:
    script = Script()
    script.user("Go")
    script.user("caveat", isMeta=True)
    script.record("progress", data={})
    main = script.says("m1", text("hi"))
    script.user("sub task", isSidechain=True, parentUuid=None)
    script.says("s1", text("sub answer"), isSidechain=True)
    script.user("Thanks", parentUuid=main)
    imported = import_file(script.write(tmp_path))
    assert [m.text for m in of(imported, UserMessage)] == ["Go", "Thanks"]
    assert "2 records of sub-agents were left out." in imported.notes
    assert "Records that are not messages: 1 progress." in imported.notes
    assert "1 notes the program wrote into the conversation were left out." in imported.notes
    assert imported.skipped == ()


def test_a_file_that_is_all_side_chain_is_the_conversation(tmp_path: Path) -> None:
    script = Script()
    script.user("sub task", isSidechain=True)
    script.says("s1", text("answer"), isSidechain=True)
    assert messages_of(import_file(script.write(tmp_path))) == 2


def test_a_compaction_keeps_the_history_and_names_what_left_the_view(tmp_path: Path) -> None:
    script = Script()
    script.user("Old question")
    script.says("m1", call("t1"))
    script.returns("t1", "old")
    script.compacts("They asked an old question.")
    script.user("New question")
    script.says("m2", text("new"))
    imported = import_file(script.write(tmp_path))

    numbered = seqs(imported)
    number, event = next((n, e) for n, e in numbered.items() if isinstance(e, CompactionComplete))
    assert event.removed == ((2, number - 1),)
    assert (event.outcome, event.performed_by, event.trigger) == ("success", "provider", "blocking")
    assert (event.tokens_before, event.messages_before, event.messages_removed) == (171_000, 3, 3)
    assert event.summary == "They asked an old question."
    assert of(imported, UserMessage)[0].text == "Old question"
    hidden = {seq for low, high in event.removed for seq in range(low, high + 1)}
    seen = [e for seq, e in numbered.items() if seq not in hidden and imported.events[seq - 2].message]
    assert [e.TYPE for e in seen] == ["session.compaction_complete", "user.message", "assistant.message"]
    summary = loaded(imported)[3]
    assert summary.parts == [CompactionPart("They asked an old question.")]
    assert messages_of(imported) == 5


def test_a_second_compaction_removes_the_first_summary_too(tmp_path: Path) -> None:
    script = Script()
    script.user("one")
    script.says("m1", text("1"))
    script.compacts("sum 1")
    script.user("two")
    script.says("m1", text("same id again"))
    script.compacts("sum 2", trigger="manual")
    script.user("three")
    imported = import_file(script.write(tmp_path))
    first, second = of(imported, CompactionComplete)
    assert (first.removed, second.removed) == (((2, 3),), ((2, 6),))
    assert second.trigger == "manual"
    assert (second.messages_before, first.job != second.job) == (3, True)
    assert [m.text for m in of(imported, AssistantMessage)] == ["1", "same id again"]


def test_a_boundary_whose_summary_is_missing_drops_nothing(tmp_path: Path) -> None:
    script = Script()
    script.user("one")
    script.compacts("lost")
    script.records[-1] = {"type": "progress", "uuid": "gone", "parentUuid": "u1"}
    script.user("two")
    imported = import_file(script.write(tmp_path))
    assert of(imported, CompactionComplete) == []
    assert [(s.line, s.reason) for s in imported.skipped] == [
        (2, "compaction without a summary, not applied")
    ]
    assert [m.text for m in of(imported, UserMessage)] == ["one", "two"]


def test_refused_failed_and_interrupted_tools_are_told_apart(tmp_path: Path) -> None:
    script = Script()
    script.user("Go")
    script.says("m1", call("a"), call("b"), call("c"), call("open"))
    refusal = "The user doesn't want to proceed with this tool use. Stop."
    script.user([
        result("a", refusal, is_error=True),
        result("b", [text("boom"), text("line 2")], is_error=True),
        result("c", "[Request interrupted by user for tool use]", is_error=True),
        text("Do it otherwise"),
    ])  # fmt: skip
    imported = import_file(script.write(tmp_path))
    assert [r.outcome for r in of(imported, ToolResult)] == ["denied", "error", "interrupted", "interrupted"]
    assert of(imported, ToolResult)[1].text == "boom\nline 2"
    assert of(imported, UserMessage)[-1].text == "Do it otherwise"
    assert (imported.tool_calls, imported.tool_results) == (4, 3)
    outcomes = [p.outcome for m in loaded(imported) for p in m.parts if isinstance(p, ToolReturnPart)]
    assert outcomes == ["denied", "failed", "interrupted", "interrupted"]


def test_small_images_are_kept_and_others_leave_a_trace(tmp_path: Path) -> None:
    data = base64.b64encode(b"picture").decode()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    large = {"type": "image", "source": image["source"] | {"data": "A" * (MAX_BINARY_CHARS + 4)}}
    broken = {"type": "image", "source": image["source"] | {"data": "%%%"}}
    remote = {"type": "image", "source": {"type": "url", "url": "http://10.0.0.1/x.png"}}
    script = Script()
    script.user([text("Look"), image, large, broken, remote])
    imported = import_file(script.write(tmp_path))
    (prompt,) = of(imported, UserMessage)
    assert prompt.attachments == ("image/png",)
    part = loaded(imported)[0].parts[0]
    assert isinstance(part, UserPromptPart)
    assert [isinstance(item, BinaryContent) for item in part.content] == [False, True, False, False, False]
    assert part.content[1].data == b"picture"
    assert part.content[4] == "[image: http://10.0.0.1/x.png]"
    assert [s.line for s in imported.skipped] == [1, 1, 1]
    assert "1,500,003 bytes" in imported.skipped[0].reason


def test_what_was_typed_meanwhile_is_a_prompt(tmp_path: Path) -> None:
    script = Script()
    script.user("Go")
    script.record("attachment", attachment={"type": "queued_command", "prompt": "and tests, please"})
    script.record("attachment", attachment={"type": "todo_reminder", "content": []})
    script.says("m1", text("ok"))
    imported = import_file(script.write(tmp_path))
    assert [m.text for m in of(imported, UserMessage)] == ["Go", "and tests, please"]


@pytest.mark.parametrize(
    ("fields", "message", "kind"),
    [
        ({"error": "rate_limit"}, "Limit reached", "rate_limit"),
        ({}, "Prompt is too long", "context_overflow"),
        ({}, "API Error: 529", "provider"),
    ],
)
def test_errors_are_events_and_no_answers(
    tmp_path: Path, fields: dict[str, str], message: str, kind: str
) -> None:
    script = Script()
    script.user("Go")
    script.says("e1", text(message), isApiErrorMessage=True, **fields)
    script.user("Again")
    imported = import_file(script.write(tmp_path))
    assert [(e.kind, e.message) for e in of(imported, Error)] == [(kind, message)]
    assert imported.events[1].message is None
    assert messages_of(imported) == 2


def test_titles(tmp_path: Path) -> None:
    script = Script()
    script.user("<command-name>/review</command-name>\n<command-args>the shop</command-args>")
    assert import_file(script.write(tmp_path)).title == "/review the shop"
    script.records.append({"type": "summary", "summary": "Another conversation", "leafUuid": "elsewhere"})
    assert import_file(script.write(tmp_path)).title == "/review the shop"
    script.records.append({"type": "summary", "summary": "Shop \x1b[31mreview", "leafUuid": "u0"})
    assert import_file(script.write(tmp_path)).title == "Shop review"
    script.records[0]["message"]["content"] = "long " * 50
    del script.records[1:]
    assert len(import_file(script.write(tmp_path)).title) <= 60


def test_a_lost_record_does_not_cut_off_what_came_before(tmp_path: Path) -> None:
    script = Script()
    script.user("one")
    script.says("m1", text("1"))
    script.user("two")
    script.says("m2", text("2"))
    lines = script.lines()
    lines[2] = lines[2][:40]
    imported = import_file(write_lines(tmp_path, lines))
    assert [m.text for m in of(imported, AssistantMessage)] == ["1", "2"]
    assert [s.line for s in imported.skipped] == [3]
    assert any("repaired" in note for note in imported.notes)


def test_records_without_ids_keep_the_order_of_the_file(tmp_path: Path) -> None:
    script = Script()
    script.user("one")
    script.says("m1", text("1"))
    script.user("two")
    for record in script.records:
        del record["uuid"], record["parentUuid"]
    assert messages_of(import_file(script.write(tmp_path))) == 3


def test_the_same_file_gives_the_same_bytes(tmp_path: Path) -> None:
    script = Script()
    script.user("Go", timestamp="nonsense")
    script.says("m1", call(""), timestamp=None)
    path = script.write(tmp_path)
    assert import_file(path) == import_file(path)
    assert json.loads(import_file(path).events[1].message or "")["timestamp"]


def queued(script: Script, done: str, content: str = "") -> None:
    fields = {"content": content} if content else {}
    record = {"type": "queue-operation", "operation": done, "timestamp": "2026-03-01T10:00:09.000Z"}
    # It is not part of the tree: the next record's parent is the one before it.
    script.records.append(record | fields)


def test_a_prompt_that_left_the_queue_during_a_turn_stands_behind_the_results(tmp_path: Path) -> None:
    script = Script()
    script.user("Mend the pier")
    calls = script.says("m1", call("t1"), call("t2"))
    queued(script, "enqueue", "Paint it, too")
    queued(script, "enqueue", "And the bench")
    queued(script, "enqueue", "<task-notification>Done.</task-notification>")
    first = script.returns("t1", "one", parentUuid=calls)
    queued(script, "remove")
    queued(script, "remove", "And the bench")
    queued(script, "remove")
    script.returns("t2", "two", parentUuid=first)
    script.says("m2", text("I paint it, too."))
    imported = import_file(script.write(tmp_path))
    assert [m.text for m in of(imported, UserMessage)] == ["Mend the pier", "Paint it, too", "And the bench"]
    assert types(imported)[-4:] == ["tool.result", "user.message", "user.message", "assistant.message"]
    assert imported.skipped == ()


def test_a_queued_prompt_that_is_written_down_as_well_counts_once(tmp_path: Path) -> None:
    script = Script()
    script.user("Mend the pier")
    last = script.says("m1", text("Mended."))
    queued(script, "enqueue", "push")
    queued(script, "enqueue", "and tell me")
    queued(script, "dequeue")
    queued(script, "dequeue")
    last = script.user("push\nand tell me", parentUuid=last)
    last = script.says("m2", call("t1"), parentUuid=last)
    queued(script, "enqueue", "push")
    queued(script, "remove")
    last = script.returns("t1", "one", parentUuid=last)
    script.record("attachment", attachment={"type": "queued_command", "prompt": "push"}, parentUuid=last)
    script.says("m3", text("Pushed."))
    queued(script, "enqueue", "Again")
    queued(script, "popAll")
    queued(script, "enqueue", "Never sent")
    imported = import_file(script.write(tmp_path))
    assert [m.text for m in of(imported, UserMessage)] == ["Mend the pier", "push\nand tell me", "push"]
    assert "1 queued prompts that were never sent were left out." in imported.notes


def test_blank_text_is_no_part_of_an_answer(tmp_path: Path) -> None:
    script = Script()
    script.user("Go")
    script.says("m1", text("\n\n"))
    script.says("m1", call("t1"))
    imported = import_file(script.write(tmp_path))
    assert [(m.text, m.call_ids) for m in of(imported, AssistantMessage)] == [("", ("t1",))]


def test_a_transcript_of_the_program_on_the_web(tmp_path: Path) -> None:
    script = Script()
    script.user("Go")
    script.says("m1", text("Gone."))
    path = tmp_path / "session.json"
    path.write_text(json.dumps({"loglines": script.records}))
    imported = import_file(path)
    assert (imported.format, messages_of(imported), imported.skipped) == ("claude-code", 2, ())
