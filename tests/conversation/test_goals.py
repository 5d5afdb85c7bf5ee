"""Goals: turns continue until a check passes, a budget is used up, or the model gives a reason to stop."""

import asyncio

import pytest

from tests.conversation.driving import Desk, done, turn
from tests.conversation.test_approvals import working
from tests.servers.behaviours import Text, counted, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.handoff import begin_session, write_brief
from tui_app.conversation.turns import goals
from tui_app.conversation.turns.goals import USAGE, make_goal, parse_goal
from tui_app.conversation.work import Compact, Pursue
from tui_app.events import ApprovalDecided, CompactionComplete, GoalChecked, GoalEnded, GoalSet
from tui_app.session.model_state import active_goal, known_of
from tui_app.settings.rules import Refused


def test_a_goal_is_read_as_it_is_typed() -> None:
    typed = """don't stop --early until it's green --check "pytest -q" --turns 4 --money 0.5"""
    assert parse_goal(typed) == GoalSet(
        text="don't stop --early until it's green", check="pytest -q", most_turns=4, most_usd=0.5
    )
    assert parse_goal("tidy up --count 3") == GoalSet(text="tidy up", count=3, most_turns=20)
    for wrong in ("tidy up", "--check true", "x --check 'a", "x --turns 3", "x --check true --turns many"):
        with pytest.raises(Refused):
            parse_goal(wrong)
    with pytest.raises(Refused) as refused:
        make_goal("x", {"check": "true", "count": "2"})
    assert refused.value.allowed == USAGE


FREE = {"allow": ("run_command",), "attended": False}
CHECK = "test -e done.txt"
WRITES = tool("write_file", path="done.txt", content="x")
LONG = "The tide tables of the north harbour say when the water is high. " * 40


def ends(opened: OpenSession) -> list[str]:
    """Return the headline of every check and every end of a goal, in order."""
    found = [record.data for record, _ in opened.store.records(opened.conversation.session)]
    return [each.headline() for each in found if isinstance(each, GoalChecked | GoalEnded)]


async def test_turns_go_on_until_the_check_holds(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("Thinking."), WRITES, Text("Written."))
    async with working(desk, fake_openai, **FREE | {"allow": ("run_command", "write_file")}) as opened:
        await done(opened.conversation, Pursue(GoalSet(text="Write it.", check=CHECK, most_turns=5)))
        assert ends(opened) == [
            "goal not reached yet after 1 turn · exit 1",
            "goal reached after 2 turns · exit 0",
            "goal reached",
        ]
        assert known_of(opened.store, opened.conversation.session).goal is None
    asked = [str(body["messages"]) for body in fake_openai.journal]
    assert "it is reached when `test -e done.txt` exits with 0" in asked[0]
    assert "The goal is not reached yet: `test -e done.txt` exits with 1." in asked[1]
    named = ["end_goal" in str(body["tools"]) for body in fake_openai.journal]
    assert named == [True] * 3
    async with working(desk, fake_openai, session=opened.conversation.session) as opened:
        fake_openai.add(Text("Yes."))
        await turn(opened.conversation, "Done?")
    assert "end_goal" not in str(fake_openai.journal[-1]["tools"]), "the way to give up goes with the goal"


@pytest.mark.parametrize(
    ("goal", "turns", "end"),
    [
        (GoalSet(text="x", count=3, most_turns=20), 3, "goal reached"),
        (GoalSet(text="x", check="false", most_turns=2), 2, "goal ended: its budget of turns is used up"),
        (
            GoalSet(text="x", check="false", most_tokens=1_500),
            2,
            "goal ended: its budget of tokens is used up",
        ),
        (GoalSet(text="x", check="false", most_usd=1.0), 1, "goal ended: its budget of money is used up"),
    ],
)
async def test_a_budget_ends_it(
    desk: Desk, fake_openai: FakeOpenAI, goal: GoalSet, turns: int, end: str
) -> None:
    fake_openai.fallback = counted("No.", 900, 10)
    async with working(desk, fake_openai, **FREE) as opened:
        await done(opened.conversation, Pursue(goal))
        assert ends(opened)[-1] == end
        assert len(fake_openai.journal) == turns


async def test_the_model_says_why_not_and_a_check_asks_like_any_command(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(tool("end_goal", reason="No quay is there."), Text("I gave up."), Text("Yes."))
    async with working(desk, fake_openai, attended=False) as opened:
        await done(opened.conversation, Pursue(GoalSet(text="x", check="true", most_turns=5)))
        assert ends(opened) == ["goal given up · No quay is there."]
        await done(opened.conversation, Pursue(GoalSet(text="x", check="make all", most_turns=5)))
        why = "make all may not run: no rule allows it, and there is no user to ask"
        assert ends(opened)[1] == f"goal not checked · {why}", "in words for the user, not for the model"
        log = [record.data for record, _ in opened.store.records(opened.conversation.session)]
        [decided] = [each for each in log if isinstance(each, ApprovalDecided)]
        assert (decided.tool, decided.subject, decided.decision) == ("run_command", "make all", "denied")


async def test_it_stands_in_summaries_and_handoffs_and_after_a_resume(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.fallback = Text(LONG)
    goal = GoalSet(text="Keep the quay dry.", check="false", most_turns=3)
    async with working(desk, fake_openai, **FREE) as opened:
        await turn(opened.conversation, "Go.")
        opened.goals.set(goal)
        session = opened.conversation.session
    async with working(desk, fake_openai, session=session, **FREE) as opened:
        await turn(opened.conversation, "Go.")
        await opened.conversation.settle()
        assert [each.turn for each in log_of(opened, GoalChecked)] == [1, 2, 3]
        assert opened.goals.active is None
        for _ in range(3):
            await turn(opened.conversation, f"Say it. {LONG}")
        opened.goals.set(goal)
        await done(opened.conversation, Compact(extract=True))
        [compaction] = log_of(opened, CompactionComplete)
        sent = str([item.message for item in opened.conversation.history.items()])
        assert compaction.outcome == "success", compaction.reason
        assert "## Goal" in sent
        assert "Keep the quay dry.\\nReached when `false` exits with 0; 0 turns taken so far." in sent
        assert known_of(opened.store, session).goal == opened.goals.active
    opening = desk.opening(session=session)
    draft = await write_brief(opening, "Go on.", extract=True)
    after = begin_session(opening, draft, draft.brief.text)
    async with working(desk, fake_openai, session=after, **FREE) as opened:
        handed = active_goal(opened.store, after)
        assert handed is not None
        assert handed.data == goal
    assert "Keep the quay dry." in draft.brief.text


def log_of(opened: OpenSession, kind: type) -> list:  # type: ignore[type-arg]
    records = opened.store.records(opened.conversation.session)
    return [record.data for record, _ in records if isinstance(record.data, kind)]


async def test_esc_stops_a_check_and_the_goal_stands(
    desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_openai.fallback = Text("No.")
    checking = asyncio.Event()

    async def hang(_tool: object, command: str) -> str:
        checking.set()
        await asyncio.Event().wait()
        return command

    monkeypatch.setattr(goals, "run_check", hang)
    async with working(desk, fake_openai, **FREE) as opened:
        conversation = opened.conversation
        conversation.submit(Pursue(GoalSet(text="x", check="sleep 60", most_turns=5)))
        await checking.wait()
        conversation.cancel()
        await conversation.settle()
        assert ends(opened) == []
        assert len(fake_openai.journal) == 1
        assert opened.goals.active is not None
        assert opened.goals.end("off")
        assert ends(opened) == ["goal off"]


async def test_a_fork_cannot_end_the_goal_and_is_told_so(desk: Desk, fake_openai: FakeOpenAI) -> None:
    goal = GoalSet(text="Reach the quay.", check="false", most_turns=1)
    asked = "Look for it."
    fake_openai.add(tool("fork", task=asked), phrase="Reach the quay.")
    fake_openai.add(tool("end_goal", reason="No quay is there."), Text("No quay is there."), phrase=asked)
    fake_openai.add(Text("No quay."), phrase="has ended")
    async with working(desk, fake_openai, **FREE, explore={}) as opened:
        await done(opened.conversation, Pursue(goal))
        (outer, inner, again) = fake_openai.journal[:3]
        assert str(inner["messages"]).startswith(str(outer["messages"]).rstrip("]}"))
        assert inner["tools"] == outer["tools"] == again["tools"]
        assert "the goal is that of the assistant that sent you" in str(again["messages"][-1])
        log = [record.data for record, _ in opened.store.records(opened.conversation.session)]
        assert [each.outcome for each in log if isinstance(each, GoalEnded)] == ["turns"]
        (agent,) = opened.conversation.agents.every.values()
        assert active_goal(opened.store, agent.session) is not None
