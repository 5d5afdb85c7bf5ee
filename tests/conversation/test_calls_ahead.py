"""Which calls of an answer wait to be allowed, and in which order they are asked about."""

import asyncio
from contextlib import ExitStack

from tests.conversation.driving import Desk, of
from tests.conversation.test_approving import NO, ONCE, command, played, together, working
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.conversation.approvals import CallsAhead, Place
from tui_app.events import ApprovalRequested, ApprovalsAhead, Payload, ToolCall, ToolResult


def ahead(*calls: str) -> tuple[CallsAhead, list[tuple[str, ...]]]:
    """What keeps the order, with some calls that must be allowed, and what it tells."""
    told: list[tuple[str, ...]] = []

    def report(event: Payload) -> None:
        assert isinstance(event, ApprovalsAhead)
        told.append(event.call_ids)

    line = CallsAhead(report, watched=True)
    for call in calls:
        line.hold(call)
    return line, told


def is_next(place: Place) -> bool:
    return place.turn is not None and place.turn.done()


async def test_a_call_that_takes_longer_to_say_what_it_would_do_is_asked_about_in_its_place() -> None:
    line, _ = ahead("a", "b", "c")
    with line.begun("a"), line.begun("b"), line.begun("c"):
        third, second = line.arrive("c"), line.arrive("b")
        assert not is_next(second)
        first = line.arrive("a")
        assert is_next(first)
        assert line.waiting == 2
        line.leave(first)
        assert (is_next(second), is_next(third)) == (True, False)
        line.leave(second)
        assert is_next(third)


async def test_a_call_that_ends_without_a_question_holds_up_nobody() -> None:
    line, _ = ahead("a", "b", "c")
    first = ExitStack()
    first.enter_context(line.begun("a"))
    with line.begun("b"):
        second = line.arrive("b")
        assert not is_next(second)
        first.close()
        assert is_next(second)
    with line.begun("a"), line.begun("c"):
        third = line.arrive("c")
        line.judged("a")
        assert is_next(third), "a rule has allowed the one before it"


async def test_a_look_ahead_of_a_change_leaves_the_change_its_place() -> None:
    line, _ = ahead("a", "b")
    with line.begun("a"), line.begun("b"):
        second, look = line.arrive("b"), line.arrive("a", first=True)
        assert is_next(look)
        line.leave(look)
        assert not is_next(second)
        assert is_next(line.arrive("a"))


async def test_a_question_that_is_given_up_makes_way() -> None:
    line, _ = ahead()
    places = [line.arrive(""), line.arrive(""), line.arrive("")]
    line.leave(places[1])
    line.leave(places[0])
    assert is_next(places[2])
    assert line.waiting == 0


async def test_what_waits_is_told_when_it_changes_and_only_where_somebody_watches() -> None:
    line, told = ahead("a", "a", "b")
    line.let("a")
    line.let("a")
    line.restart()
    line.restart()
    assert told == [("a",), ("a", "b"), ("b",), ()]
    line.watched = False
    line.hold("c")
    assert told[-1] == ()


async def test_questions_come_in_the_order_of_the_answer_and_no_call_runs_before_its_own(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    calls = [tool("write_file", path=name, content=f"{at}") for at, name in enumerate(("a", "b", "a", "c"))]
    fake_openai.add(together(*calls[:2], tool("ls"), *calls[2:], command("echo d")), Text("Done."))
    async with working(desk, fake_openai) as opened:
        records = await played(opened, "Go.", ONCE, NO, ONCE, ONCE, ONCE)
    asked = [one for one in of(records, ApprovalRequested) if isinstance(one, ApprovalRequested)]
    assert list({one.id: one.subject for one in asked}.values()) == ["a", "b", "a", "c", "echo d"]
    told = [one.call_ids for one in of(records, ApprovalsAhead) if isinstance(one, ApprovalsAhead)]
    names = {one.tool_call_id: one.name for one in of(records, ToolCall) if isinstance(one, ToolCall)}
    assert [names[call] for call in max(told, key=len)] == ["write_file"] * 4 + ["run_command"]
    assert told[-1] == ()


async def test_a_call_that_cannot_be_asked_about_holds_up_nobody(desk: Desk, fake_openai: FakeOpenAI) -> None:
    outside = tool("write_file", path="../outside", content="")
    fake_openai.add(together(outside, command("echo d")), Text("Done."))
    async with working(desk, fake_openai) as opened, asyncio.timeout(20):
        records = await played(opened, "Go.", ONCE)
    outcomes = [one.outcome for one in of(records, ToolResult) if isinstance(one, ToolResult)]
    assert sorted(outcomes) == ["error", "success"]
