"""Pointers: file bodies that are on disk leave the conversation, and none is lost."""

import json
from hashlib import sha256
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)

from tests.context.histories import as_items, messages
from tests.context.tool_results.kit import (
    BODY,
    OTHER,
    REPORT,
    Disk,
    applied,
    call,
    names,
    only,
    result,
    run,
    said,
    view,
    words,
    write,
)
from tui_app.context.ledger.tools import argument_texts
from tui_app.context.policy import Pointers
from tui_app.context.tool_results import pointers as pointers_module
from tui_app.context.tool_results.pointers import pointers
from tui_app.context.views.view import Item


def pointed(args: Any, disk: Disk, tool: str = "write_file") -> Any:
    """Return the rewritten arguments of a single write in an earlier turn."""
    return only(run(view(said(), *write(args, tool), words(), said("next")), disk)).args


def test_a_whole_file_becomes_path_size_hash_and_preview() -> None:
    new = pointed({"path": "a", "content": BODY, "mode": "w"}, Disk(a=BODY))
    assert list(new) == ["path", "content", "mode"]
    digest = sha256(BODY.encode()).hexdigest()[:12]
    assert new["content"] == (
        f"[Not repeated here: {len(BODY):,} characters in a, sha256 {digest}, beginning with: {BODY[:100]}…]"
    )
    assert (new["path"], new["mode"]) == ("a", "w")


def test_the_type_of_the_arguments_stays() -> None:
    text = json.dumps({"path": "a", "content": BODY, "n": 12345678901234567890, "é": None})
    new = pointed(text, Disk(a=BODY))
    assert isinstance(new, str)
    args = json.loads(new)
    assert args["content"].startswith("[Not repeated here: ")
    assert (args["n"], args["é"], args["path"]) == (12345678901234567890, None, "a")


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("write_file", {"path": "a", "content": BODY}),
        ("create_file", {"path": "a", "file_text": BODY}),
        ("Write", {"file_path": "a", "content": BODY}),
        ("mcp__fs__write_file", {"path": "a", "content": BODY}),
        ("str_replace_editor", {"command": "create", "path": "a", "file_text": BODY}),
        ("str_replace_based_edit_tool", {"command": "create", "path": "a", "file_text": BODY}),
        ("edit_file", {"path": "a", "old_text": "x", "new_text": BODY[10:-10]}),
        ("edit_file", {"path": "a", "edits": [{"oldText": "x", "newText": BODY[10:-10]}]}),
        ("Edit", {"file_path": "a", "old_string": "x", "new_string": BODY[10:-10]}),
        ("MultiEdit", {"file_path": "a", "edits": [{"old_string": "x", "new_string": BODY[10:-10]}]}),
        ("replace", {"file_path": "a", "old_string": "x", "new_string": BODY[10:-10]}),
        ("str_replace_editor", {"command": "str_replace", "path": "a", "new_str": BODY[10:-10]}),
        ("str_replace_based_edit_tool", {"command": "insert", "path": "a", "insert_text": BODY[10:-10]}),
    ],
)
def test_the_tools_of_common_agents(tool: str, args: dict[str, Any]) -> None:
    items = view(said(), *write(args, tool), words(), said("next"))
    rewrite = run(items, Disk(a=BODY))
    assert rewrite is not None
    assert rewrite.files == ()
    assert [change.note for change in rewrite.changes] == ["a"]
    assert "[Not repeated here: " in json.dumps(only(rewrite).args)
    moved = run(items, Disk(a="something else"))
    assert moved is not None
    assert [file.text for file in moved.files] == [str(_body(args))]


def _body(args: dict[str, Any]) -> Any:
    inner = args["edits"][0] if "edits" in args else args
    return next(text for text in inner.values() if isinstance(text, str) and len(text) > 400)


def test_other_tools_and_short_bodies_stay() -> None:
    for tool, args in (
        ("send_mail", {"path": "a", "content": BODY}),
        ("read_file", {"path": "a", "content": BODY}),
        ("write_file", {"content": BODY}),
        ("write_file", {"path": "a", "content": "short"}),
        ("write_file", {"path": "a", "content": ["not", "text"]}),
        ("edit_file", {"path": "a", "edits": "none"}),
        ("write_file", '{"path": "a", "content": "' + "x" * 500),
        ("write_file", "[1]"),
    ):
        assert run(view(said(), *write(args, tool), words(), said("next")), Disk(a=BODY)) is None


@pytest.mark.parametrize("disk", [Disk(), Disk(a=OTHER)], ids=["vanished", "changed"])
def test_a_body_that_is_not_on_disk_any_more_is_stored_first(disk: Disk) -> None:
    items = view(said(), *write({"path": "a", "content": BODY}), words(), said("next"))
    rewrite = run(items, disk)
    assert rewrite is not None
    (file,) = rewrite.files
    assert file.text == BODY
    assert file.name == "tool_outputs/write_file_20260301_120000_w.txt"
    assert f"kept in {file.name}" in only(rewrite).args["content"]


def test_a_patch_is_always_stored() -> None:
    patch = "*** Begin Patch\n*** Update File: a\n@@\n" + "+x\n" * 300 + "*** End Patch"
    items = view(said(), *write({"input": patch}, "apply_patch"), words(), said("next"))
    rewrite = run(items, Disk(a="x\n" * 300))
    assert rewrite is not None
    assert [file.text for file in rewrite.files] == [patch]
    assert "written to a and kept in tool_outputs/apply_patch_" in only(rewrite).args["input"]


def test_the_newest_write_of_the_present_turn_stays() -> None:
    turn = [
        said(),
        *write({"path": "a", "content": BODY}, call_id="1"),
        *write({"path": "./a", "new_text": OTHER}, "edit_file", call_id="2"),
        *write({"path": "b", "content": BODY}, call_id="3"),
    ]
    disk = Disk(**{"a": OTHER, "./a": OTHER, "b": BODY})
    rewrite = run(view(*turn), disk)
    assert rewrite is not None
    assert [change.key for change in rewrite.changes] == [2]
    later = run(view(*turn, words(), said("next")), disk)
    assert later is not None
    assert [change.key for change in later.changes] == [2, 4, 6]
    working = run(view(*turn, words(), said("next"), *write({"path": "a", "content": BODY})), disk)
    assert working is not None
    assert [change.key for change in working.changes] == [2, 4, 6]


def test_only_successful_calls() -> None:
    for outcome in ("failed", "denied", "interrupted", "retried"):
        failed = result("w", REPORT, tool="write_file", outcome=outcome)
        items = view(said(), call("w", tool="write_file", args={"path": "a", "content": BODY}), failed)
        assert run([*items, Item(9, said())], Disk(a=BODY)) is None
    unanswered = view(said(), call("w", tool="write_file", args={"path": "a", "content": BODY}), said())
    assert run(unanswered, Disk(a=BODY)) is None


def test_a_long_report_becomes_a_note() -> None:
    args = {"path": "a", "old_text": "x", "new_text": "y"}
    items = view(said(), *write(args, "edit_file", answer=REPORT), words(), said("next"))
    part = only(run(items, Disk(a=BODY)))
    size = f"{len(REPORT):,} characters"
    assert part.content == (
        f'[Report left out: edit_file succeeded on a; {size}; search_history "#3" has all of it]'
    )
    assert part.outcome == "success"
    assert run(view(said(), *write(args, "edit_file", answer="x" * 500), words(), said()), Disk()) is None
    assert run(view(said(), *write(args, "edit_file", answer=REPORT)), Disk()) is None, "the present turn"


def test_both_sides_change_in_the_order_of_the_view() -> None:
    first = write({"path": "a", "content": BODY}, call_id="1", answer=REPORT)
    second = write({"path": "b", "content": BODY}, call_id="2", answer=REPORT)
    disk = Disk(a=BODY, b=BODY)
    rewrite = run(view(said(), *first, *second, words(), said()), disk)
    assert rewrite is not None
    assert [change.key for change in rewrite.changes] == [2, 3, 4, 5]
    assert [change.note for change in rewrite.changes] == ["a", "a", "b", "b"]


def test_two_writes_in_one_answer() -> None:
    calls = [ToolCallPart("write_file", {"path": path, "content": BODY}, path) for path in ("a", "b", "c")]
    answer = ModelResponse(parts=[TextPart("both"), *calls[:2], *calls[2:]], model_name="m")
    items = view(said(), answer, *(result(one, "ok", tool="write_file") for one in "abc"), words(), said())
    rewrite = run(items, Disk(a=BODY, b=OTHER))
    assert rewrite is not None
    (change,) = rewrite.changes
    assert isinstance(change.message, ModelResponse)
    assert change.message.model_name == "m"
    assert change.note == "a; b; c"
    assert change.message.parts[0] is answer.parts[0]
    assert len(rewrite.files) == 2
    assert rewrite.files[0].name != rewrite.files[1].name


def test_a_pointer_is_never_longer_than_the_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pointers_module, "_LEAST_BODY", 0)
    for size in range(0, 400, 7):
        items = view(said(), *write({"path": "a", "content": "x" * size}), words(), said())
        run(items, Disk(a="x" * size))
        run(items, Disk())


def test_each_file_is_asked_once() -> None:
    writes = [message for one in "123" for message in write({"path": "a", "content": BODY}, call_id=one)]
    disk = Disk(a=BODY)
    items = view(said(), *writes, words(), said())
    assert pointers(items, names(), on_disk=disk.checksum, contains=disk.contains) is not None
    assert disk.asked == ["a"]


def test_text_that_json_cannot_hold_stays() -> None:
    text = '{"path": "a", "x": "\\ud83d", "content": ' + json.dumps(BODY) + "}"
    items = view(said(), *write(text), words(), said())
    disk = Disk(a=BODY)
    assert pointers(items, names(), on_disk=disk.checksum, contains=disk.contains) is None


@pytest.mark.parametrize("wrong", [{"threshold": 0}, {"threshold": 1.1}])
def test_sizes_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="allowed"):
        Pointers(**wrong)


def test_ten_megabytes_are_read_through_once() -> None:
    body = "abcdefghi " * 1_000_000
    items = view(said(), *write(json.dumps({"path": "a", "content": body})), words(), said())
    disk = Disk(a=body)
    assert pointers(items, names(), on_disk=disk.checksum, contains=disk.contains) is not None


# In any session, nothing that a call wrote is lost.


@st.composite
def working(draw: st.DrawFn) -> list[ModelMessage]:
    """A session that writes and edits a few files, answers some of the calls, and has some prompts."""
    history: list[ModelMessage] = [said()]
    for number in range(draw(st.integers(0, 8))):
        body = draw(st.sampled_from([BODY, OTHER, "short", BODY * 2]))
        path = draw(st.sampled_from(["a", "b", "./a"]))
        tool, args = draw(
            st.sampled_from(
                [
                    ("write_file", {"path": path, "content": body}),
                    ("Edit", {"file_path": path, "old_string": "x", "new_string": body}),
                    ("MultiEdit", {"file_path": path, "edits": [{"new_string": body}, {"new_string": BODY}]}),
                    ("apply_patch", {"patch": f"*** Update File: {path}\n+{body}"}),
                    ("read_file", {"path": path}),
                ]
            )
        )
        shape = json.dumps(args) if draw(st.booleans()) else args
        history.append(call(str(number), tool=tool, args=shape))
        if draw(st.integers(0, 5)):
            outcome = draw(st.sampled_from(["success", "success", "failed"]))
            content = draw(st.sampled_from(["ok", REPORT, {"diff": REPORT}]))
            metadata = draw(st.sampled_from([None, {"n": 1}, ["theirs"]]))
            part = ToolReturnPart(tool, content, str(number), outcome=outcome, metadata=metadata)
            history.append(ModelRequest(parts=[part]))
        if draw(st.booleans()):
            history += [words(), said()]
    return history


@given(
    working(), st.sampled_from([{}, {"a": BODY}, {"a": OTHER, "b": BODY, "./a": BODY}]), st.integers(0, 600)
)
def test_any_session_of_writing(history: list[ModelMessage], files: dict[str, str], smallest: int) -> None:
    items = as_items(history)
    disk = Disk(**files)
    with patch.object(pointers_module, "_LEAST_BODY", smallest):
        rewrite = run(items, disk)
    if rewrite is None:
        return
    stored = {file.text for file in rewrite.files}
    new = {item.key: item.message for item in applied(items, rewrite)}
    for item in items:
        for old_part, new_part in zip(item.message.parts, new[item.key].parts, strict=True):
            if isinstance(old_part, ToolCallPart) and isinstance(new_part, ToolCallPart):
                for text in set(_strings(old_part)) - set(_strings(new_part)):
                    assert text in stored or any(text in content for content in files.values()), "it is lost"


def _strings(part: ToolCallPart) -> list[str]:
    return list(argument_texts(part.args_as_dict()))


@given(messages())
def test_any_history(history: list[ModelMessage]) -> None:
    assert run(as_items(history), Disk()) is None
