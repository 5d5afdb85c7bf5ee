"""Hooks in real conversations: compactions, tools, sessions; what they change and what they cannot."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.conversation.driving import Desk, assert_valid, done, of, turn, until, view_bytes
from tests.conversation.hooks.commands import sh
from tests.conversation.test_compacting import ASKS, LONG, NOTES, last_of, stored
from tests.process_ends import alive, gone
from tests.servers.behaviours import HangBeforeHeaders, Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.context.compaction.compactor import State
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.work import Compact, Prompt
from tui_app.events import CompactionComplete, HookRan, Notice, SessionEnd, ToolResult, TurnEnd
from tui_app.settings.tables import Hook

Defined = dict[str, tuple[Hook, ...]]
KEEP = "cat > /dev/null; echo 'Keep the word ebb.'"
REFUSE = "echo 'not before noon' >&2; exit 2"


@asynccontextmanager
async def hooked(
    desk: Desk, server: FakeOpenAI, hooks: Defined, *, turns: int = 4, window: int = 32_000
) -> AsyncIterator[OpenSession]:
    """A session with hooks in which some turns were had."""
    desk.env["PATH"] = os.environ["PATH"]
    desk.server("local", server.base_url, window=window)
    server.add(*(Text(f"Answer {number}. {LONG}", usage=(0, 0)) for number in range(turns)))
    async with desk.session(hooks=hooks) as opened:
        for number in range(turns):
            await turn(opened.conversation, f"Question {number}? {LONG}")
        yield opened


def ran(opened: OpenSession) -> list[HookRan]:
    return [each for each in stored(opened, HookRan) if isinstance(each, HookRan)]


def told(path: Path) -> list[dict[str, object]]:
    """What a hook that appends its input to a file was given."""
    return [json.loads(line) for line in path.read_text().splitlines()]


async def test_instructions_reach_the_summary_and_its_event(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with hooked(desk, fake_openai, {"preCompact": (sh(KEEP), sh("echo And flood."))}) as opened:
        fake_openai.add(Text(NOTES), phrase=ASKS)
        await done(opened.conversation, Compact("tides"))
        complete = last_of(opened)
        assert (complete.outcome, complete.focus) == ("success", "tides")
        assert complete.instructions == "Keep the word ebb.\nAnd flood."
        assert "The user also asks of these notes:\\nKeep the word ebb.\\nAnd flood." in json.dumps(
            fake_openai.journal[-1]
        )
        assert [(each.command, each.outcome, each.trigger) for each in ran(opened)] == [
            ("cat", "ok", "manual"),
            ("echo", "ok", "manual"),
        ]


async def test_a_veto_in_the_background_is_recorded_and_not_tried_again_at_once(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    async with hooked(desk, fake_openai, {"preCompact": (sh(REFUSE),)}, window=6_600) as opened:
        conversation = opened.conversation
        fake_openai.add(Text("Short."), Text("Short too."))
        await turn(conversation, "Fifth")
        await conversation.settle()
        complete = last_of(opened)
        assert (complete.outcome, complete.trigger) == ("vetoed", "background")
        assert complete.reason == "not before noon (preCompact hook echo)"
        assert conversation.compactor.state is State.IDLE
        await turn(conversation, "Sixth")
        await conversation.settle()
        assert len(stored(opened, CompactionComplete)) == 1
        assert [each.outcome for each in ran(opened)] == ["vetoed"]
        assert not [body for body in fake_openai.journal if ASKS in json.dumps(body)]
        assert_valid(conversation)


async def test_what_must_be_compacted_is_compacted_whatever_a_hook_says(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    async with hooked(desk, fake_openai, {"preCompact": (sh(REFUSE),)}) as opened:
        fake_openai.add(Text(NOTES), phrase=ASKS)
        await done(opened.conversation, Compact())
        complete = last_of(opened)
        assert (complete.outcome, complete.instructions) == ("success", "")
        (one,) = ran(opened)
        assert (one.outcome, one.exit) == ("overruled", 2)
        assert one.reason == (
            "vetoed the compaction (not before noon), but one that is manual cannot be vetoed"
        )


@pytest.mark.parametrize(
    ("hook", "outcome"),
    [
        (sh("echo lost; echo it broke >&2; exit 7"), "failed"),
        (sh("kill -KILL $$"), "failed"),
        (sh("sleep 600", timeout_s=0.2), "timeout"),
        (Hook(command=("no-such-program",)), "missing"),
    ],
)
async def test_a_hook_that_breaks_is_shown_and_changes_nothing(
    desk: Desk, fake_openai: FakeOpenAI, hook: Hook, outcome: str
) -> None:
    async with hooked(desk, fake_openai, {"preCompact": (hook, sh("echo Go on."))}) as opened:
        fake_openai.add(Text(NOTES), phrase=ASKS)
        await done(opened.conversation, Compact())
        assert (last_of(opened).outcome, last_of(opened).instructions) == ("success", "Go on.")
        assert [each.outcome for each in ran(opened)] == [outcome, "ok"]
        assert ran(opened)[0].reason
        assert_valid(opened.conversation)


async def test_cancelling_ends_the_hook_and_its_children_at_once(desk: Desk, fake_openai: FakeOpenAI) -> None:
    begun = desk.cwd / "begun"
    os.mkfifo(begun)
    slow = sh("sleep 600 & echo $! > begun; wait")
    async with hooked(desk, fake_openai, {"preCompact": (slow,)}) as opened:
        conversation = opened.conversation
        before = view_bytes(conversation)
        watching = conversation.watch()
        conversation.submit(Compact())
        pid = await _read(begun)
        assert alive(pid)
        conversation.cancel()
        await conversation.settle()
        assert gone(pid)
        assert last_of(opened).outcome == "cancelled"
        assert view_bytes(conversation) == before
        end = await until(watching, lambda data: isinstance(data, HookRan))
        assert isinstance(end.data, HookRan)
        assert (end.data.outcome, end.data.reason) == ("cancelled", "was stopped")
        assert not [body for body in fake_openai.journal if ASKS in json.dumps(body)]


async def test_closing_the_session_ends_its_hooks(desk: Desk, fake_openai: FakeOpenAI) -> None:
    begun = desk.cwd / "begun"
    os.mkfifo(begun)
    slow = sh("sleep 600 & echo $! > begun; wait")
    async with hooked(desk, fake_openai, {"preCompact": (slow,), "postCompact": (slow,)}) as opened:
        opened.conversation.submit(Compact())
        pid = await _read(begun)
    assert gone(pid)


async def _read(fifo: Path) -> int:
    return int(await asyncio.to_thread(fifo.read_text))


async def test_post_compact_is_told_how_it_ended(desk: Desk, fake_openai: FakeOpenAI) -> None:
    hooks: Defined = {
        "postCompact": (sh("cat >> all"), sh("cat >> never", match=("background",))),
    }
    async with hooked(desk, fake_openai, hooks) as opened:
        fake_openai.add(Text(NOTES), HangBeforeHeaders(), phrase=ASKS)
        await done(opened.conversation, Compact())
        records = [record for record, _ in opened.store.records(opened.conversation.session)]
        (event,) = told(desk.cwd / "all")
        assert (event.pop("hook"), event.pop("trigger")) == ("postCompact", "manual")
        (record,) = [each for each in records if isinstance(each.data, CompactionComplete)]
        assert event == json.loads(json.dumps(record.to_json()))
        assert not (desk.cwd / "never").exists()


async def test_a_declined_tool_never_runs_and_the_model_hears_why(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    hooks: Defined = {
        "preTool": (sh("cat >> asked; exit 0"), sh(REFUSE, match=("read_*",)), sh("cat >> after")),
        "postTool": (sh("cat >> done"),),
    }
    async with hooked(desk, fake_openai, hooks, turns=0) as opened:
        fake_openai.add(tool("read_file", path="README.md"), Text("Then not."))
        records = await turn(opened.conversation, "Read it")
        (result,) = of(records, ToolResult)
        assert isinstance(result, ToolResult)
        said = "Not run: the user's preTool hook echo declined this call: not before noon"
        assert (result.outcome, result.text) == ("denied", said)
        assert fake_openai.journal[-1]["messages"][-1]["content"] == said
        (asked,) = told(desk.cwd / "asked")
        assert (asked["hook"], asked["trigger"], asked["type"]) == ("preTool", "read_file", "tool.call")
        assert asked["data"]["args"] == '{"path":"README.md"}'  # type: ignore[index]
        assert not (desk.cwd / "after").exists(), "the first veto is enough"
        assert not (desk.cwd / "done").exists(), "what did not run has no result"
        assert_valid(opened.conversation)


async def test_post_tool_hears_results_and_errors_before_the_model_goes_on(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    hooks: Defined = {"postTool": (sh("cat >> done; exit 2"),)}
    async with hooked(desk, fake_openai, hooks, turns=0) as opened:
        fake_openai.add(tool("read_file", path="README.md"), tool("read_file", path="gone"), Text("So."))
        ends = of(await turn(opened.conversation, "Read it"), TurnEnd)
        assert [end.outcome for end in ends if isinstance(end, TurnEnd)] == ["done"]
        first, second = told(desk.cwd / "done")
        assert "Sea and sky" in str(first["data"])
        assert "'outcome': 'error'" in str(second["data"])
        assert "gone" in str(second["data"])
        assert [each.outcome for each in ran(opened)] == ["failed", "failed"], "exit 2 vetoes nothing here"


async def test_a_cancelled_turn_ends_the_hook_of_its_tool(desk: Desk, fake_openai: FakeOpenAI) -> None:
    begun = desk.cwd / "begun"
    os.mkfifo(begun)
    hooks: Defined = {"preTool": (sh("sleep 600 & echo $! > begun; wait"),)}
    async with hooked(desk, fake_openai, hooks, turns=0) as opened:
        conversation = opened.conversation
        fake_openai.add(tool("ls"))
        conversation.submit(Prompt("List it"))
        pid = await _read(begun)
        conversation.cancel()
        await conversation.settle()
        assert gone(pid)
        (result,) = [each for each in stored(opened, ToolResult) if isinstance(each, ToolResult)]
        assert result.outcome == "interrupted"
        assert_valid(conversation)


async def test_session_hooks_hear_of_beginning_resuming_and_end(desk: Desk, fake_openai: FakeOpenAI) -> None:
    hooks: Defined = {
        "sessionStart": (sh("cat >> starts"),),
        "sessionEnd": (sh("cat >> ends"), sh("sleep 600")),
    }
    async with hooked(desk, fake_openai, hooks, turns=1) as opened:
        session = opened.conversation.session
        await opened.prepare()
        await opened.conversation.settle()
    async with desk.session(session=session, hooks=hooks) as opened:
        await opened.conversation.settle()
        records = [record.data for record, _ in opened.store.records(session)]
    starts, ends = told(desk.cwd / "starts"), told(desk.cwd / "ends")
    assert [(each["trigger"], each["type"], each["seq"]) for each in starts] == [
        ("new", "session.start", 1),
        ("resume", "session.start", 1),
    ]
    assert [(each["type"], each["session"]) for each in ends] == [("session.end", session)] * 2
    place = next(index for index, data in enumerate(records) if isinstance(data, SessionEnd))
    slow = [each for each in records[:place] if isinstance(each, HookRan) and each.outcome == "timeout"]
    assert [each.reason for each in slow] == ["took longer than 1.5 s and was ended"], "the end is the end"


async def test_keys_reach_no_hook(desk: Desk, fake_openai: FakeOpenAI) -> None:
    key = "sk-fake-0123456789"
    desk.env.update(OPENAI_API_KEY=key, HARBOUR="quiet")
    (desk.cwd / "keys.txt").write_text(f"the key is {key}\n")
    hooks: Defined = {"postTool": (sh("env > env; cat > input"),)}
    async with hooked(desk, fake_openai, hooks, turns=0) as opened:
        fake_openai.add(tool("read_file", path="keys.txt"), Text("I see."))
        await turn(opened.conversation, "Read it")
        env, given = (desk.cwd / "env").read_text(), (desk.cwd / "input").read_text()
        assert "HARBOUR=quiet" in env
        assert "OPENAI" not in env
        assert key not in env + given
        assert "the key is [secret removed]" in given


async def test_hooks_of_a_project_are_never_read(desk: Desk, fake_openai: FakeOpenAI) -> None:
    for name in ("settings.toml", "plimsoll.toml", ".plimsoll/settings.toml", ".plimsoll.toml"):
        (desk.cwd / name).parent.mkdir(exist_ok=True)
        (desk.cwd / name).write_text('[[hooks.sessionStart]]\ncommand = ["touch", "owned"]\n')
    async with hooked(desk, fake_openai, {}, turns=1) as opened:
        await opened.conversation.settle()
        assert not stored(opened, HookRan, Notice)
    assert not (desk.cwd / "owned").exists()
