"""A session moved to the background continues there unchanged: calls, questions and prompts."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conversation.driving import Desk, Following, assert_valid, until
from tests.servers.behaviours import Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tui_app.conversation.approvals import Decision
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.work import Prompt, Pursue, Shell
from tui_app.events import (
    ApprovalDecided,
    ApprovalRequested,
    AssistantMessage,
    Error,
    GoalEnded,
    GoalSet,
    QuestionAsked,
    Record,
    SessionBackground,
    SubAgentEnd,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tui_app.session import background
from tui_app.session.background import BackgroundState, SessionWaits, background_state, stop
from tui_app.session.lock import WriterLock, holder_process
from tui_app.session.rewind_fork import fork_session


@asynccontextmanager
async def screen(
    desk: Desk, session: str = "", listener: Callable[[Record], None] | None = None, **settings: object
) -> AsyncIterator[OpenSession]:
    """Open a session as a screen does; the listener also gets the records published while preparing."""
    opening = desk.opening(session=session, read_only=False, **settings)
    opened = open_session(replace(opening, attended=True, goes_on=True))
    if listener is not None:
        opened.bus.listen(listener)
    try:
        await opened.prepare()
        yield opened
    finally:
        await opened.close()


def log(opened: OpenSession) -> list[object]:
    return [record.data for record, _ in opened.store.records(opened.conversation.session)]


async def test_a_question_is_asked_again_and_its_call_runs_once(desk: Desk, fake_openai: FakeOpenAI) -> None:
    """One of two calls has run, and the other awaits approval when the session is detached."""
    desk.server("local", fake_openai.base_url, window=32_000)
    both = Tool((("list_files", {}), ("run_command", {"command": "echo tide > made.txt"})))
    fake_openai.add(both, Text("Made."))
    async with screen(desk) as opened:
        watching = Following(opened.conversation.bus)
        opened.conversation.submit(Prompt("make it"))
        opened.conversation.submit(Prompt("and then?"))
        await until(watching, lambda data: isinstance(data, ApprovalRequested))
        assert await opened.detach() == "waiting"
        session = opened.conversation.session
        (step,) = [each for each in log(opened) if isinstance(each, SessionBackground)]
        assert step.turn
        assert "echo tide" in step.question
        assert [each.text for each in step.prompts] == ["and then?"]
        assert not [each for each in log(opened) if isinstance(each, ApprovalDecided)]
    assert not (desk.cwd / "made.txt").exists()
    async with screen(desk, session) as opened:
        watching = Following(opened.conversation.bus)
        asked = (await until(watching, lambda data: isinstance(data, ApprovalRequested))).data
        assert isinstance(asked, ApprovalRequested)
        opened.conversation.tooling.approvals.decide(asked.id, Decision("once"))
        await opened.conversation.settle()
        assert (desk.cwd / "made.txt").read_text() == "tide\n"
        assert_valid(opened.conversation)
        events = log(opened)
    assert [each.name for each in events if isinstance(each, ToolResult)] == ["list_files", "run_command"]
    assert len([each for each in events if isinstance(each, ToolCall)]) == 2
    assert [each.text for each in events if isinstance(each, UserMessage)] == ["make it", "and then?"]
    assert len(fake_openai.journal) == 3


async def test_the_step_under_way_is_finished_and_the_next_one_happens_elsewhere(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    """Detached during a response: its calls run here, and the next request is made by the other process."""
    desk.server("local", fake_openai.base_url, window=32_000)
    hold = Signal()
    fake_openai.add(Tool((("list_files", {}),), hold=hold), Text("One file."))
    async with screen(desk) as opened:
        opened.conversation.submit(Prompt("what is there?"))
        exchange = await fake_openai.request(1)
        await exchange.paused.wait()
        leaving = asyncio.create_task(opened.detach())
        await asyncio.sleep(0)
        hold.set()
        assert await leaving == "left"
        session = opened.conversation.session
        assert [each.name for each in log(opened) if isinstance(each, ToolResult)] == ["list_files"]
    async with screen(desk, session) as opened:
        await opened.conversation.settle()
        assert_valid(opened.conversation)
        events = log(opened)
    assert len(fake_openai.journal) == 2
    assert [each.text for each in events if isinstance(each, AssistantMessage)][-1] == "One file."
    assert not [each for each in events if isinstance(each, Error)]
    steps = [each.step for each in events if isinstance(each, SessionBackground)]
    assert steps == ["left", "attached"]
    async with screen(desk, session) as opened:
        await opened.conversation.settle()
    assert len(fake_openai.journal) == 2, "what was taken up once is not taken up again"


async def test_stopping_takes_back_that_it_is_left(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(Text("A long answer", hold=Signal()), Text("Fine."))
    async with screen(desk) as opened:
        opened.conversation.submit(Prompt("say much"))
        opened.conversation.submit(Prompt("and more"))
        await (await fake_openai.request(1)).paused.wait()
        leaving = asyncio.create_task(opened.detach())
        await asyncio.sleep(0)
        opened.conversation.cancel()
        assert await leaving == "over"
        assert not [each for each in log(opened) if isinstance(each, SessionBackground)]
        opened.conversation.resume_queue()
        await opened.conversation.settle()
    assert len(fake_openai.journal) == 2


async def test_in_the_background_a_question_ends_it_once_the_other_calls_are_done(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    calls = Tool((("ask_user", {"question": "Which harbour?"}), ("list_files", {})))
    fake_openai.add(calls, Text("Brest it is."))
    async with screen(desk) as opened:
        opened.background.is_inside = True
        opened.conversation.submit(Prompt("ask me"))
        await opened.conversation.settle()
        assert opened.background.question == "Which harbour?"
        opened.background.write_down("waiting")
        session = opened.conversation.session
        assert background_state(opened.store, desk.opening().paths.sessions_dir, session) == BackgroundState(
            state="waiting", question="Which harbour?"
        )
    async with screen(desk, session) as opened:
        watching = Following(opened.conversation.bus)
        asked = (await until(watching, lambda data: isinstance(data, QuestionAsked))).data
        assert isinstance(asked, QuestionAsked)
        assert opened.conversation.tooling.questions.reply(asked.id, "Brest")
        await opened.conversation.settle()
        assert_valid(opened.conversation)
        assert background_state(opened.store, desk.opening().paths.sessions_dir, session) is None
    assert len(fake_openai.journal) == 2


async def test_the_check_of_a_goal_that_asks_ends_it_and_is_asked_about_again(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(Text("Made."))
    goal = GoalSet(text="Make it.", check="echo tide > made.txt", most_turns=3)
    async with screen(desk) as opened:
        opened.background.is_inside = True
        opened.conversation.submit(Pursue(goal))
        await asyncio.wait_for(opened.conversation.settle(), 30)
        assert opened.background.step == "waiting"
        assert "echo tide" in opened.background.question
        opened.background.write_down(opened.background.step)
        session = opened.conversation.session
        assert not [each for each in log(opened) if isinstance(each, ApprovalDecided | GoalEnded)]
    asked = asyncio.Queue[str]()

    def note(record: Record) -> None:
        if isinstance(record.data, ApprovalRequested):
            asked.put_nowait(record.data.id)

    async with screen(desk, session, listener=note) as opened:
        id = await asyncio.wait_for(asked.get(), 30)
        opened.conversation.tooling.approvals.decide(id, Decision("once"))
        await opened.conversation.settle()
        assert [each.outcome for each in log(opened) if isinstance(each, GoalEnded)] == ["met"]
    assert (desk.cwd / "made.txt").read_text() == "tide\n"
    assert len(fake_openai.journal) == 1


async def test_prompts_of_a_process_that_was_killed_wait_for_the_user(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    """One of two prompts was sent before the end: only the other is restored, and not sent on its own."""
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(Text("Yes."))
    async with screen(desk) as opened:
        opened.background.is_inside = True
        opened.turns.queue.restore(Prompt("first"), Prompt("second", ("README.md",)), paused=False)
        opened.background.write_down("left")
        assert opened.turns.queue.remove(opened.turns.queue.held_work[1])
        opened.conversation.resume_queue()
        await opened.conversation.settle()
        session = opened.conversation.session
    async with screen(desk, session) as opened:
        await opened.conversation.settle()
        assert opened.turns.queue.paused
        assert opened.turns.queue.held_work == (Prompt("second", ("README.md",)),)
    assert len(fake_openai.journal) == 1


async def test_a_process_that_has_only_begun_leaves_what_was_left(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    """Killed right after its first event: turn, question and prompts are all still there."""
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(Tool((("run_command", {"command": "echo tide > made.txt"}),)))
    async with screen(desk) as opened:
        watching = Following(opened.conversation.bus)
        opened.conversation.submit(Prompt("make it"))
        opened.conversation.submit(Prompt("and then?"))
        await until(watching, lambda data: isinstance(data, ApprovalRequested))
        assert await opened.detach() == "waiting"
        session = opened.conversation.session
    opened = open_session(replace(desk.opening(session=session), attended=True, goes_on=True))
    opened.background.is_inside = True
    await opened.prepare()
    opened.background.write_down("left")
    step = log(opened)[-1]
    assert isinstance(step, SessionBackground)
    assert (step.turn, [each.text for each in step.prompts]) == (True, ["and then?"])
    await opened.close()
    assert len(fake_openai.journal) == 1


async def test_only_who_can_ask_opens_a_session_that_waits(desk: Desk, fake_openai: FakeOpenAI) -> None:
    """Otherwise its call would be answered as interrupted. A fork has nothing that waits."""
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(tool("run_command", command="echo tide > made.txt"), Text("Made."))
    async with screen(desk) as opened:
        watching = Following(opened.conversation.bus)
        opened.conversation.submit(Prompt("make it"))
        await until(watching, lambda data: isinstance(data, ApprovalRequested))
        assert await opened.detach() == "waiting"
        session = opened.conversation.session
        store, folder = opened.store, desk.opening().paths.sessions_dir
        fork = fork_session(store, folder, session, now=2.0).session
        assert background_state(store, folder, fork) is None
    before = (desk.home / "data/sessions.db").read_bytes()
    with pytest.raises(SessionWaits, match=r"waits for an answer: run_command echo tide.*plimsoll attach"):
        open_session(desk.opening(session=session))
    assert (desk.home / "data/sessions.db").read_bytes() == before
    async with screen(desk, session) as opened:
        watching = Following(opened.conversation.bus)
        asked = (await until(watching, lambda data: isinstance(data, ApprovalRequested))).data
        assert isinstance(asked, ApprovalRequested)
        opened.conversation.tooling.approvals.decide(asked.id, Decision("once"))
        await opened.conversation.settle()
    assert (desk.cwd / "made.txt").read_text() == "tide\n"


async def test_prompts_that_are_held_are_not_sent_beside_another_one(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    """A background process can get a prompt of its own; only a session that continues sends the held ones."""
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(Text("Yes."), Text("And yes."))
    async with screen(desk) as opened:
        opened.background.is_inside = True
        opened.turns.queue.restore(Prompt("first"), Shell("echo tide >> made.txt"), paused=True)
        opened.background.write_down("stopped")
        session = opened.conversation.session
    for prompt in ("second", "third"):
        opened = open_session(replace(desk.opening(session=session), attended=True, goes_on=True))
        opened.background.is_inside, opened.background.sends_held = True, False
        await opened.prepare()
        opened.conversation.submit(Prompt(prompt))
        opened.background.write_down("left")
        opened.conversation.resume_queue()
        await opened.conversation.settle()
        opened.background.write_down("done")
        folder = desk.opening().paths.sessions_dir
        assert background_state(opened.store, folder, session) == BackgroundState(state="done", prompts=2)
        await opened.close()
    async with screen(desk, session) as opened:
        await opened.conversation.settle()
        assert opened.turns.queue.paused
        assert opened.turns.queue.held_work == (Prompt("first"), Shell("echo tide >> made.txt"))
        assert [each.text for each in log(opened) if isinstance(each, UserMessage)] == ["second", "third"]


async def test_a_command_in_a_log_that_others_may_write_waits_for_the_user(desk: Desk) -> None:
    async with screen(desk) as opened:
        opened.background.is_inside = True
        opened.turns.queue.restore(Shell("echo tide >> made.txt"), paused=False)
        opened.background.write_down("left")
        session = opened.conversation.session
    opened = open_session(replace(desk.opening(session=session), attended=True, goes_on=True))
    opened.background.is_shared = True
    await opened.prepare()
    await opened.conversation.settle()
    assert not (desk.cwd / "made.txt").exists()
    assert opened.turns.queue.held_work == (Shell("echo tide >> made.txt"),)
    opened.conversation.resume_queue()
    await opened.conversation.settle()
    assert (desk.cwd / "made.txt").exists()
    await opened.close()


async def test_a_command_that_ran_before_a_kill_is_not_offered_again(desk: Desk) -> None:
    async with screen(desk) as opened:
        opened.background.is_inside = True
        opened.turns.queue.restore(Shell("echo tide >> made.txt", private=True), paused=False)
        opened.background.write_down("left")
        opened.conversation.resume_queue()
        await opened.conversation.settle()
        session = opened.conversation.session
    async with screen(desk, session) as opened:
        assert not opened.turns.queue.held_work
    assert (desk.cwd / "made.txt").read_text() == "tide\n"


def test_a_process_that_is_no_session_in_the_background_is_sent_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "background.lock"
    with WriterLock(path):
        # The lock is held by this test's own process, which stop() must not signal.
        assert holder_process(path) == os.getpid()
        assert stop([path], patience_s=0.0) == []
        # A process that survives the signal is not reported as stopped.
        monkeypatch.setattr(background, "send", lambda _file, _number: True)
        assert stop([path], patience_s=0.0) == []


ASKS = Tool((("ask_user", {"question": "Which harbour?"}),))


async def asked_in(opened: OpenSession) -> QuestionAsked:
    watching = Following(opened.conversation.bus)
    asked = (await until(watching, lambda data: isinstance(data, QuestionAsked))).data
    assert isinstance(asked, QuestionAsked)
    return asked


async def test_a_question_of_a_sub_agent_in_the_background_breaks_nothing_off(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    hold = Signal()
    send = ("fork", {"task": "Ask about it.", "background": True})
    fake_openai.add(Tool((send,)), Tool((("list_files", {}),), hold=hold), Text("One file."))
    fake_openai.add(ASKS, Text("Brest."), phrase="Ask about it.")
    fake_openai.add(Tool((("agents", {"action": "wait"}),)), phrase="Wait for it.")
    async with screen(desk, explore={}) as opened:
        conversation, background = opened.conversation, opened.background
        background.is_inside = True
        asking = asyncio.create_task(asked_in(opened))
        await asyncio.sleep(0)
        conversation.submit(Prompt("what is there?"))
        asked = await asking
        assert asked.question == "fork-1 asks: Which harbour?"
        hold.set()
        await conversation.settle()
        assert [each.text for each in log(opened) if isinstance(each, AssistantMessage)][-1] == "One file."
        assert (background.step, background.question) == ("left", "")
        # Once answered, the question is no longer pending, but agents waited for with `agents` still are.
        asking = asyncio.create_task(asked_in(opened))
        await asyncio.sleep(0)
        assert conversation.tooling.questions.reply(asked.id, "Brest")
        await asyncio.gather(*(each.work for each in conversation.agents.every.values() if each.work))
        fake_openai.add(ASKS, phrase="Ask again.")
        await conversation.agents.send_message(conversation.agents.every["fork-1"], "Ask again.")
        await asking
        conversation.submit(Prompt("Wait for it."))
        await conversation.settle()
        assert (background.step, background.question) == ("waiting", "fork-1 asks: Which harbour?")
        assert opened.turns.is_left


async def test_a_question_of_a_sub_agent_that_the_turn_waits_for_breaks_it_off(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    calls = (("fork", {"task": "Ask about it."}), ("ls", {}))
    fake_openai.add(Tool(calls))
    both = Tool((("ask_user", {"question": "Which harbour?"}), ("run_command", {"command": "sleep 0.3"})))
    fake_openai.add(tool("ls"), both, phrase="Ask about it.")
    allowed = {"allow": ("run_command sleep",)}
    async with screen(desk, explore={}, approvals=allowed) as opened:
        opened.background.is_inside = True
        opened.conversation.submit(Prompt("what is there?"))
        await opened.conversation.settle()
        assert opened.background.step == "waiting"
        assert opened.background.question == "fork-1 asks: Which harbour?"
        (end,) = [each for each in log(opened) if isinstance(each, SubAgentEnd)]
        assert end.calls == 3, "the other call of its step has ended"
        assert_valid(opened.conversation)
