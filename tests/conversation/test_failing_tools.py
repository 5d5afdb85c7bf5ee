"""A tool that raises is a tool that failed: the model is told what happened, and the turn goes on."""

import logging
from dataclasses import replace

import pytest

from tests.conversation.driving import Desk, assert_valid, of, turn
from tests.conversation.test_approving import results, together
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.agent.turn import NO_RESULT
from tui_app.context.requests.builder import INTERRUPTED
from tui_app.conversation.assembly import open_session
from tui_app.events import Error, Record, TurnEnd, TurnRetry

AGENT = '''
import asyncio, sqlite3, sys

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.capabilities import Hooks
from pydantic_ai.exceptions import ToolFailed, UserError

hooks = Hooks()
helper = Agent(retries=1)
mended = Agent(capabilities=[hooks])

@hooks.on.tool_execute
async def _(ctx, *, call, tool_def, args, handler):
    try:
        return await handler(args)
    except KeyError as error:
        return f"mended {error}"

KINDS = {
    "key": KeyError("sunday"),
    "red": ValueError("\\x1b[31mno\\nferry for sk-abcdefghijklmnopqrstuvwx"),
    "net": ConnectionError("refused"),
    "time": TimeoutError(),
    "sql": sqlite3.OperationalError("disk is full"),
    "exit": SystemExit(3),
    "group": ExceptionGroup("many", [KeyError("inner")]),
    "retry": ModelRetry("Say another day."),
    "failed": ToolFailed("No ferry."),
    "user": UserError("Unknown model: nobody"),
}

def departures(day: str) -> str:
    """List the departures."""
    if day in KINDS:
        raise KINDS[day]
    return "09:00"

async def slow() -> str:
    """Wait."""
    await asyncio.sleep(30)
    return "late"

def pay(amount: int) -> str:
    """Pay."""
    raise KeyError("purse")

for agent in (helper, mended):
    agent.tool_plain(departures)
helper.tool_plain(slow)
paying = Agent(output_type=[str, pay])
'''


async def played(
    desk: Desk, server: FakeOpenAI, *behaviours: object, agent: str = "helper", **more: object
) -> list[Record]:
    (desk.cwd / "agents.py").write_text(AGENT)
    desk.server("local", server.base_url, window=100_000)
    server.add(*behaviours)  # type: ignore[arg-type]
    opening = desk.opening(read_only=False, **more)
    opened = open_session(replace(opening, agent=f"agents.py:{agent}", yes=True))
    try:
        await opened.prepare()
        happened = await turn(opened.conversation, "When?")
        assert_valid(opened.conversation)
        return happened
    finally:
        await opened.close()


def ended(records: list[Record]) -> str:
    [end] = of(records, TurnEnd)
    assert isinstance(end, TurnEnd)
    return end.outcome


@pytest.mark.parametrize(
    ("day", "said"),
    [
        ("key", "The tool departures failed: KeyError: 'sunday'"),
        ("net", "The tool departures failed: ConnectionError: refused"),
        ("time", "The tool departures failed: TimeoutError"),
        ("sql", "The tool departures failed: OperationalError: disk is full"),
        ("exit", "The tool departures failed: SystemExit: 3"),
        ("group", "The tool departures failed: KeyError: 'inner'"),
        ("failed", "No ferry."),
    ],
)
async def test_the_model_is_told_and_the_turn_goes_on(
    desk: Desk, fake_openai: FakeOpenAI, day: str, said: str
) -> None:
    records = await played(desk, fake_openai, tool("departures", day=day), Text("A pity."))
    assert results(records) == [("error", said)]
    assert (ended(records), of(records, Error), of(records, TurnRetry)) == ("done", [], [])
    assert said in fake_openai.journal[-1]["messages"][-1]["content"]


async def test_what_it_raises_is_cleaned_and_its_keys_are_masked(desk: Desk, fake_openai: FakeOpenAI) -> None:
    records = await played(desk, fake_openai, tool("departures", day="red"), Text("A pity."))
    [(_, text)] = results(records)
    assert text.startswith("The tool departures failed: ValueError: [31mno ferry for ")
    assert "abcdefghijklmnop" not in text
    assert "\x1b" not in str(fake_openai.journal[-1])


async def test_those_beside_it_keep_their_results(desk: Desk, fake_openai: FakeOpenAI) -> None:
    both = together(tool("departures", day="key"), tool("departures", day="Monday"))
    records = await played(desk, fake_openai, both, Text("At nine on Mondays."))
    assert sorted(results(records)) == [
        ("error", "The tool departures failed: KeyError: 'sunday'"),
        ("success", "09:00"),
    ]
    assert ended(records) == "done"


async def test_the_traceback_is_for_the_log(
    desk: Desk, fake_openai: FakeOpenAI, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    await played(desk, fake_openai, tool("departures", day="key"), Text("A pity."))
    [written] = [each for each in caplog.records if each.name.startswith("tui_app")]
    assert (written.levelno, written.getMessage()) == (logging.ERROR, "the tool departures failed")
    assert "agents.py" in caplog.text
    assert "Traceback" not in "".join(capfd.readouterr())


async def test_a_tool_that_always_fails_ends_the_turn(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.fallback = tool("departures", day="key")
    records = await played(desk, fake_openai)
    [told] = of(records, Error)
    assert isinstance(told, Error)
    assert (told.kind, "departures" in told.message, ended(records)) == ("tool", True, "failed")
    assert len(fake_openai.journal) == 6
    assert INTERRUPTED not in [text for _, text in results(records)]


async def test_a_tool_that_asks_for_another_try_gets_it(desk: Desk, fake_openai: FakeOpenAI) -> None:
    records = await played(desk, fake_openai, tool("departures", day="retry"), Text("Which?"))
    [(outcome, text)] = results(records)
    assert (outcome, "Say another day." in text, ended(records)) == ("error", True, "done")


async def test_the_tries_of_a_tool_end(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.fallback = tool("departures", day="retry")
    records = await played(desk, fake_openai)
    [told] = of(records, Error)
    assert isinstance(told, Error)
    assert "called the tool departures wrongly too many times" in told.message
    assert len(fake_openai.journal) == 2


async def test_hooks_of_the_agent_come_first(desk: Desk, fake_openai: FakeOpenAI) -> None:
    records = await played(desk, fake_openai, tool("departures", day="key"), Text("Good."), agent="mended")
    assert results(records) == [("success", "mended 'sunday'")]


async def test_an_agent_that_is_made_wrongly_ends_the_turn(desk: Desk, fake_openai: FakeOpenAI) -> None:
    both = together(tool("departures", day="user"), tool("slow"))
    records = await played(desk, fake_openai, both)
    assert sorted(results(records)) == [
        ("error", "The tool departures failed: UserError: Unknown model: nobody"),
        ("interrupted", NO_RESULT),
    ]
    [told] = of(records, Error)
    assert isinstance(told, Error)
    assert (told.kind, told.message) == (
        "tool",
        "The tool departures failed: UserError: Unknown model: nobody.",
    )
    assert "plimsoll.log" in told.hint
    assert ended(records) == "failed"


async def test_a_function_that_takes_the_answer_and_fails_is_named(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    records = await played(desk, fake_openai, tool("final_result", amount=7), agent="paying")
    assert results(records) == [("error", "The tool final_result failed: KeyError: 'purse'")]
    [told] = of(records, Error)
    assert isinstance(told, Error)
    assert (told.kind, ended(records)) == ("tool", "failed")
