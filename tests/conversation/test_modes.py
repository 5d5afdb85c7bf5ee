"""Modes of a session: what runs without asking, what the model is told, what persists, and plans as work."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from tests.conversation.driving import Desk, Following, assert_valid, done, of, turn, until
from tests.conversation.test_approvals import NO, ONCE, command, decided, played, results, working
from tests.servers.behaviours import Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.context.message_marks import mode_text
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.consent.modes import ACCEPTED
from tui_app.conversation.work import AcceptPlan, Clear, Compact, Rewind
from tui_app.events import ApprovalRequested, CompactionComplete, ModeChange, ModeTold, Notice, UserMessage
from tui_app.modes import MODES, Mode, next_mode
from tui_app.session.rewind_fork import fork_session
from tui_app.session.stores.sqlite_store import SqliteStore


@asynccontextmanager
async def in_mode(
    desk: Desk, server: FakeOpenAI, asked: Mode | None, *, session: str = "", **more: Any
) -> AsyncIterator[OpenSession]:
    desk.server("local", server.base_url, 100_000)
    opening = desk.opening(session=session, **{"read_only": False, **more})
    opened = open_session(replace(opening, attended=True, mode=asked))
    try:
        await opened.prepare()
        yield opened
    finally:
        await opened.close()


def write(path: str) -> Tool:
    return tool("write_file", path=path, content="sea\n")


def told(opened: OpenSession) -> list[str]:
    """Return the modes announced to the model, in the words of its next request."""
    texts = [str(part.content) for item in opened.conversation.history.items() for part in item.message.parts
             if hasattr(part, "content")]  # fmt: skip
    return [mode for text in texts for mode in MODES if text == mode_text(mode)]


def test_a_key_goes_through_all_modes() -> None:
    seen: list[Mode] = ["ask"]
    for _ in MODES:
        seen.append(next_mode(seen[-1]))
    assert seen == ["ask", "edit", "plan", "ask"]


async def test_edits_go_ahead_in_edit_mode_but_not_where_programs_obey(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    rules = {"approvals": {"deny": ["write_file *.lock"], "ask": ["write_file notes/**"]}}
    fake_openai.add(
        write("sky.txt"), write(".vscode/tasks.json"), write("AGENTS.md"), write("a.lock"),
        write("notes/x.md"), command("echo one"),
        tool("edit_file", path="kept.lock", old_text="a", new_text="b"), write("by-link"), Text("Done."),
    )  # fmt: skip
    (desk.cwd / "kept.lock").write_text("a\n")
    (desk.cwd / "free.txt").write_text("a\n")
    (desk.cwd / "by-link").symlink_to("free.txt")
    rules["approvals"]["deny"].append("write_file by-link")
    async with in_mode(desk, fake_openai, "edit", **rules) as opened:
        records = await played(opened, "Go.", NO, NO, NO, ONCE)
        asked = {
            each.subject for each in of(records, ApprovalRequested) if isinstance(each, ApprovalRequested)
        }
        assert asked == {".vscode/tasks.json", "AGENTS.md", "notes/x.md", "echo one"}
        assert (desk.cwd / "sky.txt").read_text() == "sea\n"
        assert not (desk.cwd / "a.lock").exists()
        assert {(desk.cwd / name).read_text() for name in ("kept.lock", "free.txt")} == {"a\n"}
        assert decided(records)[0] == ("allowed", "mode", "rule", "")
        assert ("denied", "rule", "rule", "write_file *.lock") in decided(records)
        assert_valid(opened.conversation)


async def test_plan_mode_only_looks_whatever_the_rules_allow(desk: Desk, fake_openai: FakeOpenAI) -> None:
    rules = {"approvals": {"allow": ["run_command", "write_file **"]}}
    fake_openai.add(
        write("sky.txt"), command("echo one > two"), tool("read_file", path="README.md"),
        tool("plan", text="1. Write sky.txt"), tool("todo", items=[{"text": "sky"}]), Text("So be it."),
    )  # fmt: skip
    async with in_mode(desk, fake_openai, "plan", **rules) as opened:
        records = await played(opened, "Go.")
        found = results(records)
        assert [outcome for outcome, _ in found] == ["denied", "denied", "success", "success", "success"]
        assert "plan mode: nothing is written or run" in found[0][1]
        assert not (desk.cwd / "sky.txt").exists()
        assert not (desk.cwd / "two").exists()
        assert opened.folder.plan_file.read_text() == "1. Write sky.txt\n"


async def test_an_accepted_plan_is_carried_out_in_the_mode_that_is_named(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(
        Text("What for?"), tool("plan", text="1. Write"), Text("Ready."), write("sky.txt"), Text("Done.")
    )
    async with in_mode(desk, fake_openai, "plan") as opened:
        conversation = opened.conversation
        with closing(Following(conversation.bus)) as watching:
            await turn(conversation, "Hello.")
            await done(conversation, AcceptPlan("edit"))
            notice = await until(watching, lambda data: isinstance(data, Notice))
            assert isinstance(notice.data, Notice)
            assert notice.data.text.startswith("There is no plan yet")
            assert conversation.modes.current == "plan"
        await turn(conversation, "Plan it.")
        await done(conversation, AcceptPlan("edit"))
        assert conversation.modes.current == "edit"
        assert (desk.cwd / "sky.txt").read_text() == "sea\n"
        prompts = [
            record.data.text
            for record, _ in opened.store.records(conversation.session)
            if isinstance(record.data, UserMessage)
        ]
        assert prompts == ["Hello.", "Plan it.", ACCEPTED]


async def test_the_model_is_told_once_behind_what_was_sent_before(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(*(Text(f"Answer {number}.") for number in range(6)))
    async with in_mode(desk, fake_openai, None) as opened:
        conversation = opened.conversation
        for mode, prompt in (("", "one"), ("plan", "two"), ("", "three"), ("ask", "four")):
            if mode == "plan":
                conversation.modes.change("edit")
                conversation.modes.change("plan")
            elif mode == "ask":
                conversation.modes.change("ask")
            records = await turn(conversation, prompt)
            heard = [each.mode for each in of(records, ModeTold) if isinstance(each, ModeTold)]
            assert heard == ([mode] if mode else []), prompt
        assert told(opened) == ["plan", "ask"]
        sent = [json.dumps(request["messages"])[:-1] for request in fake_openai.journal]
        assert all(later.startswith(earlier) for earlier, later in pairwise(sent))
        assert_valid(conversation)


async def test_a_mode_survives_resume_fork_rewind_clear_and_compaction(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(*(Text(f"Answer {number} with some more words.") for number in range(20)))
    async with in_mode(desk, fake_openai, None) as opened:
        conversation = opened.conversation
        session = conversation.session
        first = next(each for each in await turn(conversation, "one") if isinstance(each.data, UserMessage))
        conversation.modes.change("plan")
        for prompt in ("two", "three", "four"):
            await turn(conversation, prompt)
        with closing(Following(conversation.bus)) as watching:
            await done(conversation, Compact(extract=True))
            end = await until(watching, lambda data: isinstance(data, CompactionComplete))
            assert isinstance(end.data, CompactionComplete)
        records = await turn(conversation, "five")
        if end.data.outcome == "success" and not of(records, ModeTold):
            assert told(opened) == ["plan"], "it was left in view"
        assert told(opened)[-1] == "plan"
        await done(conversation, Rewind(first.seq))
        assert conversation.modes.current == "plan"
        assert of(await turn(conversation, "six"), ModeTold), "told again: the line has left with the rewind"
        await done(conversation, Clear())
        assert conversation.modes.current == "plan"
    paths = desk.opening().paths
    with closing(SqliteStore(paths.database)) as store:
        fork = fork_session(store, paths.sessions_dir, session, at=first.seq, now=9.0)
    for again in (session, fork.session):
        async with in_mode(desk, fake_openai, None, session=again) as opened:
            assert opened.conversation.modes.current == "plan"
    async with in_mode(desk, fake_openai, "edit", session=session) as opened:
        assert opened.conversation.modes.current == "edit"
        last = opened.store.last_of(session, ModeChange.TYPE)
        assert last is not None
        assert last.data == ModeChange(old="plan", new="edit")


@pytest.mark.parametrize(("mode", "outcome"), [("edit", "success"), ("plan", "denied")])
async def test_a_question_that_waits_is_answered_by_the_mode(
    desk: Desk, fake_openai: FakeOpenAI, mode: Mode, outcome: str
) -> None:
    fake_openai.add(write("sky.txt"), Text("Done."))
    async with in_mode(desk, fake_openai, None) as opened:
        conversation = opened.conversation
        with closing(Following(conversation.bus)) as watching:
            running = asyncio.create_task(turn(conversation, "Go."))
            await until(watching, lambda data: isinstance(data, ApprovalRequested))
            conversation.modes.change(mode)
            async with asyncio.timeout(20):
                records = await running
        [(how, _)] = results(records)
        assert how == outcome
        assert [each[:2] for each in decided(records)] == [
            ("allowed" if mode == "edit" else "denied", "mode")
        ]


async def test_a_setting_lets_no_tool_act_in_a_folder_without_trust(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.env.clear()
    async with in_mode(desk, fake_openai, None, mode="edit") as opened:
        assert opened.conversation.modes.current == "ask"
    async with in_mode(desk, fake_openai, None, mode="plan") as opened:
        assert opened.conversation.modes.current == "plan"
    async with in_mode(desk, fake_openai, "edit") as opened:
        assert opened.conversation.modes.current == "edit", "asked for by the user"


async def test_read_only_stays_what_it_is(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(tool("write_file", path="sky.txt", content="x"), Text("Done."))
    async with working(desk, fake_openai, read_only=True) as opened:
        opened.conversation.modes.change("edit")
        await played(opened, "Go.")
        assert not (desk.cwd / "sky.txt").exists()
