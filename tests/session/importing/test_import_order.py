"""Which records of a Claude Code transcript were undone, and which only look as if they were."""

import json
from pathlib import Path

import pytest

from tests.session.importing import foreign
from tests.session.importing.foreign import Script, call, messages_of, result, text, write_lines
from tui_app.events import AssistantMessage, CompactionComplete, UserMessage
from tui_app.session.importers.formats import Imported, import_file


def said(imported: Imported) -> list[str]:
    return [event.data.text for event in imported.events if isinstance(event.data, UserMessage)]


def answered(imported: Imported) -> list[str]:
    return [event.data.text for event in imported.events if isinstance(event.data, AssistantMessage)]


def two_turns() -> Script:
    script = Script()
    script.user("Read the timetable.")
    script.says("m1", text("I read it."), call("t1"))
    script.returns("t1", "mon,1")
    script.says("m2", text("One row."))
    script.user("Add Sunday.")
    script.says("m3", text("Added."))
    return script


@pytest.mark.parametrize("links", ["none", "null", "second root", "lost"])
def test_where_the_tree_says_nothing_the_order_of_the_file_does(tmp_path: Path, links: str) -> None:
    script = two_turns()
    for record in script.records:
        if links == "none":
            del record["parentUuid"]
        elif links == "null":
            record["parentUuid"] = None
    if links == "second root":
        script.records[4]["parentUuid"] = None
    elif links == "lost":
        script.records[4]["parentUuid"] = "elsewhere"
    imported = import_file(script.write(tmp_path))
    assert said(imported) == ["Read the timetable.", "Add Sunday."]
    assert (messages_of(imported), imported.tool_calls, imported.tool_results) == (6, 1, 1)
    assert imported.skipped == ()
    assert not any("abandoned" in note for note in imported.notes)


@pytest.mark.parametrize("name", ["pi", "qwen-code"])
def test_a_second_root_takes_nothing_back_in_other_logs(tmp_path: Path, name: str) -> None:
    records = json.loads(json.dumps(foreign.LINES[name]))
    parent = "parentUuid" if name == "qwen-code" else "parentId"
    records[-1][parent] = None
    imported = import_file(write_lines(tmp_path, [json.dumps(each).encode() for each in records]))
    assert said(imported) == ["Fix the till"]
    assert (answered(imported)[-1], imported.tool_calls, imported.tool_results) == ("Fixed.", 1, 1)


def compacted_twice() -> tuple[Script, list[str]]:
    """Return a script with two compactions, and the ids of the records before the first."""
    script = Script()
    before = [script.user("Read the spring timetable."), script.says("m1", text("It has 12 rows."))]
    before.append(script.record("attachment", attachment={"type": "todo_reminder"}))
    before.append(script.says("m2", text("Last words.")))
    script.compacts("The timetable was read.")
    script.user("Rename pier A.")
    script.says("m3", text("Renamed."))
    script.compacts("A pier was renamed.", trigger="manual")
    return script, before


@pytest.mark.parametrize("above", [0, 1, 2, 3])
def test_what_goes_on_behind_a_compaction_takes_nothing_back(tmp_path: Path, above: int) -> None:
    script, before = compacted_twice()
    script.user("Print the result.", parentUuid=before[above])
    script.says("m4", text("Printed."))
    imported = import_file(script.write(tmp_path))
    assert said(imported) == ["Read the spring timetable.", "Rename pier A.", "Print the result."]
    assert answered(imported) == ["It has 12 rows.", "Last words.", "Renamed.", "Printed."]
    assert sum(isinstance(event.data, CompactionComplete) for event in imported.events) == 2
    assert not any("abandoned" in note for note in imported.notes)


def test_a_prompt_in_the_place_of_another_takes_back_the_compaction_between(tmp_path: Path) -> None:
    script = Script()
    script.user("Read it.")
    fork = script.says("m1", text("It has 12 rows."))
    script.user("Rename pier A.")
    script.says("m2", text("Renamed."))
    script.compacts("A pier was renamed.")
    script.user("And pier B.")
    script.says("m3", text("Renamed, too."))
    script.user("Rather print it.", parentUuid=fork)
    script.says("m4", text("Printed."))
    imported = import_file(script.write(tmp_path))
    assert said(imported) == ["Read it.", "Rather print it."]
    assert not any(isinstance(event.data, CompactionComplete) for event in imported.events)
    assert "5 messages on abandoned branches (rewinds) were left out." in imported.notes


def test_who_goes_on_with_the_branch_that_was_left_leaves_the_other(tmp_path: Path) -> None:
    script = Script()
    start = script.user("First")
    old = script.says("m1", text("one way"))
    script.user("Rather this", parentUuid=start)
    script.says("m2", text("another"))
    script.user("Back to the first", parentUuid=old)
    assert said(import_file(script.write(tmp_path))) == ["First", "Back to the first"]


def test_a_summary_that_the_command_line_prints_is_told_by_its_place(tmp_path: Path) -> None:
    boundary = {
        "type": "system", "subtype": "compact_boundary", "uuid": "b",
        "compact_metadata": {"trigger": "manual", "pre_tokens": 171_000},
    }  # fmt: skip
    summary = {"type": "user", "uuid": "s", "isSynthetic": True, "message": {"content": "It has 12 rows."}}
    note = {"type": "user", "uuid": "n", "isSynthetic": True, "message": {"content": "Base folder: x"}}
    script = two_turns()
    script.records[4:4] = [boundary, {"type": "system", "subtype": "status", "uuid": "c"}, summary, note]
    for record in script.records:
        record.pop("parentUuid", None)
    imported = import_file(script.write(tmp_path))
    (made,) = [each.data for each in imported.events if isinstance(each.data, CompactionComplete)]
    assert (made.summary, made.trigger, made.tokens_before) == ("It has 12 rows.", "manual", 171_000)
    assert said(imported) == ["Read the timetable.", "Add Sunday."]
    assert imported.skipped == ()


def test_what_the_command_line_prints_is_read_as_it_comes(tmp_path: Path) -> None:
    session = {"session_id": "s1"}
    blocks = [text("I read it."), call("t1")]
    records = [
        {"type": "system", "subtype": "init", "cwd": "/home/ann/shop", "model": "claude-opus-4-6"},
        {"type": "assistant", "message": {"id": "m1", "role": "assistant", "content": blocks}},
        {"type": "user", "message": {"role": "user", "content": "Skill"}, "isSynthetic": True},
        {"type": "assistant", "message": {"role": "assistant", "content": [text("inner")]},
         "parent_tool_use_id": "t1"},
        {"type": "user", "message": {"role": "user", "content": [result("t1", "mon,1")]}},
        {"type": "assistant", "message": {"id": "m2", "role": "assistant", "content": [text("One row.")]}},
        {"type": "result", "subtype": "success", "result": "One row."},
    ]  # fmt: skip
    lines = [json.dumps({**each, **session, "uuid": f"u{n}"}).encode() for n, each in enumerate(records)]
    imported = import_file(write_lines(tmp_path, lines))
    assert (messages_of(imported), imported.tool_calls, imported.tool_results) == (3, 1, 1)
    assert (imported.cwd, imported.model, imported.skipped) == ("/home/ann/shop", "claude-opus-4-6", ())
    assert answered(imported) == ["I read it.", "One row."]


@pytest.mark.parametrize("cut", [60, 130, 200, 232])
def test_a_whole_record_behind_a_torn_one_is_read(tmp_path: Path, cut: int) -> None:
    lines = two_turns().lines()
    torn = lines[3][:cut] + lines[4]
    imported = import_file(write_lines(tmp_path, [*lines[:3], torn, lines[5]]))
    assert said(imported) == ["Read the timetable.", "Add Sunday."]
    assert answered(imported) == ["I read it.", "Added."]
    assert [each.line for each in imported.skipped] == [4]


def test_two_whole_records_on_one_line_are_both_read(tmp_path: Path) -> None:
    lines = two_turns().lines()
    imported = import_file(write_lines(tmp_path, [*lines[:3], lines[3] + lines[4], lines[5]]))
    assert (said(imported)[-1], messages_of(imported)) == ("Add Sunday.", 6)


def test_the_title_that_the_program_kept_is_the_title(tmp_path: Path) -> None:
    script = two_turns()
    script.records.append({"type": "ai-title", "aiTitle": "The timetable", "sessionId": "s1"})
    assert import_file(script.write(tmp_path)).title == "The timetable"
    script.records.insert(0, {"type": "custom-title", "customTitle": "Ferries", "sessionId": "s1"})
    assert import_file(script.write(tmp_path)).title == "Ferries"


def test_what_another_session_was_about_is_nobodys_prompt(tmp_path: Path) -> None:
    script = Script()
    script.user("This session is being continued from a previous conversation. Summary: a pier was renamed.")
    script.user("Now the other one.", turnOrigin="human")
    script.user("A task ended.", origin={"kind": "task-notification"})
    script.user("For the screen", isVisibleInTranscriptOnly=True)
    imported = import_file(script.write(tmp_path))
    assert said(imported) == ["Now the other one."]
    assert answered(imported)[0].endswith("a pier was renamed.")


def test_records_that_a_new_version_writes_about_a_session_refuse_no_file(tmp_path: Path) -> None:
    script = two_turns()
    script.records += [{"type": "new-thing", "sessionId": "s1"}] * 20
    imported = import_file(script.write(tmp_path))
    assert (messages_of(imported), len(imported.skipped)) == (6, 20)
