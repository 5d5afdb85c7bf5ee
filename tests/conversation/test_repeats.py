"""Repeated calls: those already made before a compaction removed them from the model's view."""

import json
from pathlib import Path

import pytest

from tests.conversation.driving import Desk, done, of, send, turn
from tests.conversation.test_approvals import ONCE, command, played, results, working
from tests.servers.behaviours import Behaviour, Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.conversation.approvals import Decision
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.consent.repeats import is_already_written, is_unchanged
from tui_app.conversation.handoff import begin_session, write_brief
from tui_app.conversation.work import Compact, Restate, Rewind
from tui_app.events import ApprovalRequested, CallRepeated, QuestionAsked, Record

FREE = ("run_command", "write_file", "edit_file")
LONG = "The tide tables of the north harbour say when the water is high. " * 60
BUILD = "python3 -c \"print('3 passed in 0.01s')\""


def repeated(records: list[Record]) -> list[CallRepeated]:
    return [one for one in of(records, CallRepeated) if isinstance(one, CallRepeated)]


async def compacted(opened: OpenSession, server: FakeOpenAI) -> None:
    await does(opened, server)
    await done(opened.conversation, Compact(extract=True))
    assert opened.conversation.history.view.compactions


async def does(opened: OpenSession, server: FakeOpenAI, *calls: Behaviour) -> list[Record]:
    server.add(*calls, Text(f"Well. {LONG}"))
    return await turn(opened.conversation, f"Go on with the harbour. {LONG}")


async def test_a_command_that_ended_is_told_behind_a_compaction_alone(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    async with working(desk, fake_openai, allow=FREE) as opened:
        first = await does(opened, fake_openai, command(BUILD))
        again = await does(opened, fake_openai, command(BUILD))
        assert not repeated([*first, *again]), "the model sees it"
        await compacted(opened, fake_openai)
        records = await does(opened, fake_openai, command(BUILD))
        [event] = repeated(records)
        [(_, text)] = results(records)
        assert event.headline().startswith(f"ran at #{event.source}: 3 passed; nothing changed since")
        assert event.again == "the same"
        assert text.splitlines()[0] == f"[{event.text}]"
        assert text.splitlines()[1].startswith("Exit code 0")
        assert text.splitlines()[0] in json.dumps(fake_openai.journal[-1])


@pytest.mark.parametrize(
    "change",
    [
        lambda cwd: (cwd / "new.txt").write_text("x"),
        lambda cwd: (cwd / "README.md").write_text("other"),
        lambda cwd: (cwd / "README.md").unlink(),
        lambda cwd: (cwd / "README.md").rename(cwd / "b.md"),
        lambda cwd: (cwd / "README.md").chmod(0o600),
    ],
)
async def test_what_changed_on_disk_is_an_honest_run(change, desk: Desk, fake_openai: FakeOpenAI) -> None:  # type: ignore[no-untyped-def]
    async with working(desk, fake_openai, allow=FREE, repeats="answer") as opened:
        await does(opened, fake_openai, command(BUILD))
        await compacted(opened, fake_openai)
        change(desk.cwd)
        records = await does(opened, fake_openai, command(BUILD))
        assert not repeated(records)


async def test_the_log_answers_once_and_another_call_runs(desk: Desk, fake_openai: FakeOpenAI) -> None:
    line = "echo run >> ../runs.txt"
    async with working(desk, fake_openai, allow=FREE, repeats="answer") as opened:
        await does(opened, fake_openai, command(line))
        await compacted(opened, fake_openai)
        records = await does(opened, fake_openai, command(line), command(line))
        assert [one.answered for one in repeated(records)] == [True]
    assert (desk.cwd.parent / "runs.txt").read_text() == "run\nrun\n"


async def test_off_says_nothing(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with working(desk, fake_openai, allow=FREE, repeats="off") as opened:
        await does(opened, fake_openai, command(BUILD))
        await compacted(opened, fake_openai)
        assert not repeated(await does(opened, fake_openai, command(BUILD)))


async def test_edits_that_stand_and_writes_that_were_undone(desk: Desk, fake_openai: FakeOpenAI) -> None:
    edit = tool("edit_file", path="README.md", old_text="below", new_text="below, and wide")
    write = tool("write_file", path="new.txt", content="sea\n")
    look = tool("read_file", path="README.md")
    async with working(desk, fake_openai, allow=FREE) as opened:
        await does(opened, fake_openai, look, edit, write)
        await compacted(opened, fake_openai)
        (desk.cwd / "new.txt").write_text("sky\n")
        records = await does(opened, fake_openai, edit, tool("read_file", path="new.txt"), write)
        [event] = repeated(records)
        assert event.kind == "edit"
        assert event.text == f"done at #{event.source}, and it stands"
        assert results(records)[0][1].startswith(f"[{event.text}]\n")


async def test_the_box_says_what_was_done_and_what_was_refused(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with working(desk, fake_openai) as opened:
        fake_openai.add(command(BUILD), Text(LONG))
        await played(opened, f"Go. {LONG}", ONCE)
        fake_openai.add(command("rm README.md"), Text(LONG))
        await played(opened, f"Go. {LONG}", Decision("no"))
        await compacted(opened, fake_openai)
        fake_openai.add(command(BUILD), command("rm README.md"), Text("Done."))
        records = await played(opened, "Go.", ONCE, Decision("no"))
        asked = [one.repeats for one in of(records, ApprovalRequested) if isinstance(one, ApprovalRequested)]
        ran, refused = repeated(records)
        assert asked == [ran.text, refused.text]
        assert refused.text == f"refused by the user at #{refused.source}"
        assert (desk.cwd / "README.md").exists()


async def test_questions_that_were_answered_and_tasks_that_were_done(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    ask = tool("ask_user", question="Which  harbour?", choices=["north", "south"])

    def todo(state: str) -> Behaviour:
        return tool("todo", items=[{"text": "add crossing()", "state": state}])

    async with working(desk, fake_openai) as opened:

        async def answers(text: str) -> list[Record]:
            records = []
            async for record in send(opened.conversation, text):
                records.append(record)
                if isinstance(record.data, QuestionAsked):
                    opened.conversation.tooling.questions.reply(record.data.id, "north")
            return records

        fake_openai.add(ask, todo("doing"), todo("done"), Text(LONG))
        await answers(f"Go. {LONG}")
        await compacted(opened, fake_openai)
        fake_openai.add(ask, todo("pending"), Text("Done."))
        records = await answers("Go.")
        [asked] = of(records, QuestionAsked)
        question, task = repeated(records)
        assert isinstance(asked, QuestionAsked)
        assert asked.repeats == question.text == f'answered at #{question.source}: "north"'
        assert task.text == f'"add crossing()" was done at #{task.source}'


async def test_it_holds_behind_resumes_and_handovers_and_not_behind_undo_or_rewind(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    async with working(desk, fake_openai, allow=FREE) as opened:
        await does(opened, fake_openai, command(BUILD))
        await compacted(opened, fake_openai)
        await done(opened.conversation, Restate(undo=True))
        assert not repeated(await does(opened, fake_openai, command(BUILD))), "it is in sight again"
        session = opened.conversation.session
    async with working(desk, fake_openai, session=session, allow=FREE) as opened:
        [event] = repeated(await does(opened, fake_openai, command(BUILD)))
        assert event.text.startswith("ran at #")
    opening = desk.opening(session=session)
    draft = await write_brief(opening, "Finish it", extract=True)
    after = begin_session(opening, draft, draft.brief.text)
    async with working(desk, fake_openai, session=after, allow=FREE) as opened:
        [event] = repeated(await does(opened, fake_openai, command(BUILD)))
        assert event.text.startswith(f"ran at {session[:8]}#")
    async with working(desk, fake_openai, session=session, allow=FREE) as opened:
        prompt = opened.conversation.history.ledger().prompts()[0].key
        await done(opened.conversation, Rewind(prompt))
        assert not repeated(await does(opened, fake_openai, command(BUILD))), "it was taken back"


def test_caches_change_nothing_and_files_that_are_named_do(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "data.csv"
    inside.mkdir()
    outside.write_text("1")
    now = max(inside.stat().st_ctime, outside.stat().st_ctime)
    cache = inside / ".tool_cache"
    cache.mkdir()
    (cache / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55")
    (cache / "more").write_text("x")
    assert is_unchanged([inside], f"sum {outside}", now)
    outside.write_text("2")
    assert is_unchanged([inside], f"sum {outside}", now) is False
    assert is_unchanged([inside], "sum", now)
    assert not is_already_written(inside, {"path": "none", "old_text": "a", "new_text": "b"})
