"""Hooks: matching, input, processes, and their effect on conversations."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.context.schema_check import problems
from tests.conversation.driving import Desk, Following, assert_valid, done, of, turn, until, view_bytes
from tests.conversation.hook_commands import ECHO, FAMILY, place, sh
from tests.conversation.test_compactions import ASKS, LONG, NOTES, last_of, stored
from tests.fake_keyring import FakeKeyring
from tests.process_ends import LIMIT_S, alive, gone
from tests.servers.behaviours import HangBeforeHeaders, Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.api_keys import ApiKeys
from tui_app.context.compaction.compactor import State
from tui_app.context.compaction.guards import Veto
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.hooks.hook_outcomes import (
    INSTRUCTIONS_CHARS,
    OUTPUT_CHARS,
    RESULT_CHARS,
    HookExit,
    before_compaction,
    before_tool,
    judge,
    name_of,
    stdin_of,
)
from tui_app.conversation.hooks.hook_process import OUTPUT_BYTES, Runner
from tui_app.conversation.work import Compact, Prompt
from tui_app.events import (
    CompactionComplete,
    CompactionStart,
    HookName,
    HookRan,
    Notice,
    Record,
    SessionEnd,
    ToolCall,
    ToolResult,
    TurnEnd,
)
from tui_app.events.schema import event_schema
from tui_app.settings.tables import TRIGGERS, Hook

# Which hooks match, and what their exit status means.


GUARD = Hook(command=("/opt/bin/guard.sh", "--token", "abc"))


@pytest.mark.parametrize(
    ("match", "trigger", "fits"),
    [
        ((), "manual", True),
        (("manual",), "manual", True),
        (("manual",), "background", False),
        (("*_file",), "write_file", True),
        (("*_file",), "ls", False),
        (("ls", "g*"), "grep", True),
        (("LS",), "ls", False),
    ],
)
def test_which_hooks_are_meant(match: tuple[str, ...], trigger: str, fits: bool) -> None:
    assert Hook(command=("x",), match=match).fits(trigger) is fits


@pytest.mark.parametrize(
    ("hook", "trigger", "ended", "outcome", "reason"),
    [
        ("preCompact", "manual", HookExit(exit=0), "ok", ""),
        (
            "preCompact",
            "background",
            HookExit(exit=2, stderr="busy\n"),
            "vetoed",
            "vetoed the compaction: busy",
        ),
        (
            "preCompact",
            "background",
            HookExit(exit=2),
            "vetoed",
            "vetoed the compaction: it gave no reason",
        ),
        (
            "preCompact",
            "model_switch",
            HookExit(exit=2, stderr="busy"),
            "overruled",
            "vetoed the compaction (busy), but one that is model switch cannot be vetoed",
        ),
        ("preTool", "grep", HookExit(exit=2, stderr="not\there"), "vetoed", "declined grep: not here"),
        ("postTool", "grep", HookExit(exit=2, stderr="no"), "failed", "ended with exit code 2: no"),
        ("sessionEnd", "", HookExit(exit=1), "failed", "ended with exit code 1"),
        ("preTool", "grep", HookExit(exit=-11), "failed", "was ended by signal 11"),
        (
            "preTool",
            "ls",
            HookExit(timed_out=True, limit_s=0.5),
            "timeout",
            "took longer than 0.5 s and was ended",
        ),
        ("preTool", "ls", HookExit(missing="No such file"), "missing", "could not be started: No such file"),
        ("preTool", "ls", HookExit(cancelled=True), "cancelled", "was stopped"),
    ],
)
def test_what_an_end_means(hook: HookName, trigger: str, ended: HookExit, outcome: str, reason: str) -> None:
    ran = judge(hook, trigger, GUARD, ended).ran
    assert (ran.hook, ran.command, ran.trigger) == (hook, "guard.sh", trigger)
    assert (ran.outcome, ran.reason, ran.exit) == (outcome, reason, ended.exit)


@given(st.sampled_from(TRIGGERS), st.integers(-31, 255) | st.none(), st.text(), st.text())
def test_only_exit_2_in_the_background_holds_a_compaction_back(
    trigger: str, code: int | None, out: str, err: str
) -> None:
    run = judge(
        "preCompact", trigger, GUARD, HookExit(exit=code, stdout=out, stderr=err, timed_out=code is None)
    )
    said = before_compaction([run])
    assert isinstance(said, Veto) == (code == 2 and trigger == "background")
    if isinstance(said, str):
        assert not said or code == 0
        assert len(said) <= INSTRUCTIONS_CHARS
        assert all(c.isprintable() or c in "\n\t" or not c.isascii() for c in said)
    assert len(run.ran.output) <= OUTPUT_CHARS


def test_instructions_of_all_hooks_in_order_and_a_veto_names_who() -> None:
    ends = [
        HookExit(exit=0, stdout=" Keep ports.\n"),
        HookExit(exit=1, stdout="lost"),
        HookExit(exit=0, stdout="And names."),
    ]
    runs = [judge("preCompact", "background", GUARD, ended) for ended in ends]
    assert before_compaction(runs) == "Keep ports.\nAnd names."
    veto = judge(
        "preCompact", "background", GUARD, HookExit(exit=2, stdout="x", stderr="a release is under way")
    )
    assert before_compaction([*runs, veto]) == Veto("a release is under way (preCompact hook guard.sh)")


def test_a_declined_tool_gets_the_reason() -> None:
    fine = judge("preTool", "grep", GUARD, HookExit(exit=0, stdout="go"))
    veto = judge("preTool", "grep", GUARD, HookExit(exit=2, stderr="read-only today"))
    assert before_tool([fine]) == before_tool([]) == ""
    told = before_tool([fine, veto])
    assert told == "Not run: the user's preTool hook guard.sh declined this call: read-only today"


def test_output_is_shown_without_control_characters_and_cut() -> None:
    loud = HookExit(exit=0, stdout="\x1b[2Jone\x00two\x07" + "x" * 10_000, stderr="\x1b]0;title\x07end")
    ran = judge("postTool", "ls", GUARD, loud).ran
    assert ran.output.startswith("onetwoxx")
    assert ran.output.endswith("…")
    assert len(ran.output) == OUTPUT_CHARS


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("/usr/bin/notify-send", "secret"), "notify-send"),
        ("TOKEN=abc ~/bin/check --all | tee log", "check"),
        ("A=1", "sh"),
        (("\x1b[31m",), "command"),
    ],
)
def test_names_leave_arguments_out(command: tuple[str, ...] | str, name: str) -> None:
    assert name_of(Hook(command=command)) == name


# A hook's input: the event as in its schema, without API keys in the text or the environment.


KEY = "sk-fake-0123456789"


def record(payload: CompactionStart | ToolCall | ToolResult) -> Record:
    return Record(seq=0, time=1.5, session="abc", data=payload)


def test_the_event_with_hook_and_trigger() -> None:
    start = CompactionStart(job="1-1", trigger="manual", tokens_before=9, messages_before=4, model="a:b")
    told = json.loads(stdin_of("preCompact", "manual", record(start), ()))
    assert (told.pop("hook"), told.pop("trigger")) == ("preCompact", "manual")
    assert told == json.loads(json.dumps(record(start).to_json()))
    assert problems(told, event_schema("session.compaction_start")) == []


def test_a_long_result_is_cut_and_says_so() -> None:
    result = ToolResult(tool_call_id="1", name="grep", text="a" * 400_000)
    told = json.loads(stdin_of("postTool", "grep", record(result), ()))
    assert len(told["data"]["text"]) < RESULT_CHARS + 100
    assert "characters left out" in told["data"]["text"]


@given(st.text(), st.text(st.characters(codec="utf-8"), min_size=8))
def test_whatever_is_said_is_one_line_of_json_without_keys(text: str, key: str) -> None:
    call = ToolCall(tool_call_id="1", name="read_file", args=json.dumps({"path": f"{text}{key}"}))
    told = stdin_of("preTool", "read_file", record(call), (KEY,))
    assert told.count(b"\n") == 1
    assert json.loads(told)["data"]["args"] == call.args
    secret = ToolResult(tool_call_id="1", name="read_file", text=f'{text} {KEY}"\\ {key}')
    masked = json.loads(stdin_of("postTool", "read_file", record(secret), (KEY, '"\\ ' + key)))
    assert KEY not in masked["data"]["text"]
    assert "[secret removed]" in masked["data"]["text"]


async def test_a_key_that_a_model_was_made_with_is_known_to_the_hooks(desk: Desk) -> None:
    opening = desk.opening()
    ring = FakeKeyring()
    ApiKeys(opening.env, opening.paths, ring).store("OPENAI_API_KEY", KEY)
    opening = replace(opening, keys=ApiKeys(opening.env, opening.paths, ring))
    opened = open_session(opening)
    try:
        # The environment that models are created with keeps the key.
        assert opened.conversation.models.shelf.env["OPENAI_API_KEY"] == KEY
        assert KEY in opened.hooks.keys
    finally:
        await opened.close()


# Real processes: their input, how they end, and that none survives the session.


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(place(tmp_path, PATH=os.environ["PATH"], HARBOUR="quiet"))


async def run(runner: Runner, hook: Hook, stdin: bytes = b"", timeout_s: float = 30.0) -> HookExit:
    return await runner.run_command(hook, stdin, timeout_s)


async def test_it_gets_input_folder_environment_and_no_shell(runner: Runner) -> None:
    ended = await run(runner, sh(ECHO), b"an event\n")
    assert (ended.exit, ended.stdout, ended.stderr) == (0, "an event\n", "heard\n")
    ended = await run(runner, sh("pwd -P; echo $HARBOUR; tty"))
    assert ended.stdout.splitlines()[:2] == [str(runner.place.own.resolve()), "quiet"]
    ended = await run(runner, Hook(command=("echo", "$HARBOUR; pwd")))
    assert ended.stdout == "$HARBOUR; pwd\n"


@pytest.mark.parametrize(("line", "code"), [("exit 2", 2), ("exit 41", 41), ("kill -SEGV $$", -11)])
async def test_how_it_ended(runner: Runner, line: str, code: int) -> None:
    assert (await run(runner, sh(line))).exit == code


@pytest.mark.parametrize("command", [("no-such-program-anywhere",), (".",), ("two\0words",)])
async def test_what_cannot_be_started_is_said(runner: Runner, command: tuple[str, ...]) -> None:
    ended = await run(runner, Hook(command=command))
    assert ended.exit is None
    assert ended.missing


async def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    assert (await run(Runner(place(tmp_path / "gone")), sh("true"))).missing == "No such file or directory"


async def test_one_that_does_not_read_its_input(runner: Runner) -> None:
    ended = await run(runner, sh("echo done"), b"x" * 5_000_000)
    assert (ended.exit, ended.stdout) == (0, "done\n")


async def test_endless_output_is_bounded_and_blocks_nobody(runner: Runner) -> None:
    loud = "import sys; [sys.stdout.write('x' * 65536) for _ in range(200)]; sys.stderr.write('end')"
    ended = await run(runner, Hook(command=(sys.executable, "-c", loud)))
    assert ended.exit == 0
    assert len(ended.stdout) == OUTPUT_BYTES
    assert ended.stderr == "end"


async def test_bytes_that_are_no_text(runner: Runner) -> None:
    ended = await run(runner, sh(r"printf 'caf\351 \377'"))
    assert ended.stdout == "caf\ufffd \ufffd"


async def test_one_that_takes_too_long_is_ended_with_its_children(runner: Runner) -> None:
    ended = await run(runner, sh(FAMILY), timeout_s=2.0)
    assert (ended.exit, ended.timed_out, ended.limit_s) == (None, True, 2.0)
    assert gone(int(ended.stdout))


async def test_children_left_behind_are_ended_too(runner: Runner) -> None:
    ended = await run(runner, sh("sleep 600 & echo $!"))
    assert (ended.exit, ended.timed_out) == (0, False)
    assert gone(int(ended.stdout))


async def test_one_who_left_the_group_holds_nothing_up(runner: Runner) -> None:
    os.mkfifo(runner.place.own / "left")
    leave = (
        "import os; os.setsid(); print(os.getpid(), flush=True); open('left', 'w').close(); "
        "os.execlp('sleep', 'sleep', '600')"
    )
    ended = await run(runner, sh(f'{sys.executable} -c "{leave}" & cat left'))
    assert (ended.exit, ended.timed_out) == (0, False)
    assert alive(int(ended.stdout))
    os.kill(int(ended.stdout), signal.SIGKILL)


async def test_cancelled_it_is_ended_with_its_children_and_said(runner: Runner, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "begun")
    running = asyncio.create_task(run(runner, sh("sleep 600 & echo $! > begun; wait")))
    pid = int(await asyncio.to_thread((tmp_path / "begun").read_text))
    assert alive(pid)
    running.cancel()
    ended = await running
    assert (ended.cancelled, ended.exit) == (True, None)
    assert gone(pid)


async def test_cancelled_while_it_starts(runner: Runner) -> None:
    """At every step of the start, because asyncio itself would wait forever for a half-started process."""
    for steps in range(1, 12):
        running = asyncio.create_task(run(runner, sh(FAMILY)))
        for _ in range(steps):
            await asyncio.sleep(0)
        running.cancel()
        async with asyncio.timeout(LIMIT_S):
            ended = await running
        assert ended.cancelled
        assert not ended.stdout or gone(int(ended.stdout))


async def test_cancelled_again_and_again_while_it_starts(runner: Runner) -> None:
    """Repeated cancelling leaves no process behind, and the end is still reported."""
    for steps in range(1, 12):
        running = asyncio.create_task(run(runner, sh(FAMILY)))
        for _ in range(steps):
            await asyncio.sleep(0)
        async with asyncio.timeout(LIMIT_S):
            while not running.done():
                running.cancel()
                await asyncio.sleep(0)
        ended = running.result()
        assert ended.cancelled
        assert not ended.stdout or gone(int(ended.stdout))


async def test_cancelled_before_it_is_found_that_it_cannot_be_started(runner: Runner) -> None:
    running = asyncio.create_task(run(runner, Hook(command=("no-such-program-anywhere",))))
    await asyncio.sleep(0)
    running.cancel()
    ended = await running
    assert ended.cancelled


# Hooks in real conversations: compactions, tools, sessions; what they can change and what they cannot.


Defined = dict[str, tuple[Hook, ...]]
KEEP = "cat > /dev/null; echo 'Keep the word ebb.'"
REFUSE = "echo 'not before noon' >&2; exit 2"


@asynccontextmanager
async def hooked(
    desk: Desk, server: FakeOpenAI, hooks: Defined, *, turns: int = 4, window: int = 32_000, **more: Any
) -> AsyncIterator[OpenSession]:
    """Open a session with hooks and run some turns in it."""
    desk.env["PATH"] = os.environ["PATH"]
    desk.server("local", server.base_url, window=window)
    server.add(*(Text(f"Answer {number}. {LONG}", usage=(0, 0)) for number in range(turns)))
    async with desk.session(hooks=hooks, **more) as opened:
        for number in range(turns):
            await turn(opened.conversation, f"Question {number}? {LONG}")
        yield opened


def ran(opened: OpenSession) -> list[HookRan]:
    return [each for each in stored(opened, HookRan) if isinstance(each, HookRan)]


def told(path: Path) -> list[dict[str, object]]:
    """Read what a hook that appends its input to a file was given."""
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
    begun = desk.own / "begun"
    os.mkfifo(begun)
    slow = sh("sleep 600 & echo $! > begun; wait")
    async with hooked(desk, fake_openai, {"preCompact": (slow,)}) as opened:
        conversation = opened.conversation
        before = view_bytes(conversation)
        watching = Following(conversation.bus)
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
    begun = desk.own / "begun"
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
        (event,) = told(desk.own / "all")
        assert (event.pop("hook"), event.pop("trigger")) == ("postCompact", "manual")
        (record,) = [each for each in records if isinstance(each.data, CompactionComplete)]
        assert event == json.loads(json.dumps(record.to_json()))
        assert not (desk.own / "never").exists()


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
        (asked,) = told(desk.own / "asked")
        assert (asked["hook"], asked["trigger"], asked["type"]) == ("preTool", "read_file", "tool.call")
        assert asked["data"]["args"] == '{"path":"README.md"}'  # type: ignore[index]
        assert not (desk.own / "after").exists(), "the first veto is enough"
        assert not (desk.own / "done").exists(), "what did not run has no result"
        assert_valid(opened.conversation)


async def test_post_tool_hears_results_and_errors_before_the_model_goes_on(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    hooks: Defined = {"postTool": (sh("cat >> done; exit 2"),)}
    async with hooked(desk, fake_openai, hooks, turns=0) as opened:
        fake_openai.add(tool("read_file", path="README.md"), tool("read_file", path="gone"), Text("So."))
        ends = of(await turn(opened.conversation, "Read it"), TurnEnd)
        assert [end.outcome for end in ends if isinstance(end, TurnEnd)] == ["done"]
        first, second = told(desk.own / "done")
        assert "Sea and sky" in str(first["data"])
        assert "'outcome': 'error'" in str(second["data"])
        assert "gone" in str(second["data"])
        assert [each.outcome for each in ran(opened)] == ["failed", "failed"], "exit 2 vetoes nothing here"


async def test_a_cancelled_turn_ends_the_hook_of_its_tool(desk: Desk, fake_openai: FakeOpenAI) -> None:
    begun = desk.own / "begun"
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
    starts, ends = told(desk.own / "starts"), told(desk.own / "ends")
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
    desk.env.update(OPENAI_API_KEY=key, HARBOUR="quiet", PIER="four", LC_TIME="C")
    (desk.cwd / "keys.txt").write_text(f"the key is {key}\n")
    hooks: Defined = {"postTool": (sh("env > env; cat > input"),)}
    async with hooked(desk, fake_openai, hooks, turns=0, pass_variables="PIER") as opened:
        fake_openai.add(tool("read_file", path="keys.txt"), Text("I see."))
        await turn(opened.conversation, "Read it")
        env, given = (desk.own / "env").read_text(), (desk.own / "input").read_text()
        assert {"PIER=four", "LC_TIME=C"} <= {*env.splitlines()}
        assert "OPENAI" not in env
        assert "HARBOUR" not in env
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
