"""Responses that break off after a complete tool call: nothing runs, and the request is retried."""

import json
from collections.abc import Iterator

import pytest

from tests.conversation.driving import Desk, assert_valid, of, turn
from tests.servers.behaviours import EndsBehindCall, EndsEarly, Garbage, Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.strict import CUTS, WIRES, Strict, strict_server
from tui_app.events import (
    AssistantMessage,
    Error,
    Notice,
    Record,
    SubAgentEnd,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnRetry,
)
from tui_app.settings import Endpoint


@pytest.fixture
def strict() -> Iterator[Strict]:
    with strict_server() as made:
        made.calls, made.call = True, ("read_file", {"path": "README.md"})
        yield made


def served(desk: Desk, strict: Strict) -> None:
    (desk.cwd / "README.md").write_text("The sea is below.\n")
    for name, kind in WIRES.items():
        base = f"{strict.url}/{name}" + ("" if name in ("anthropic", "google") else "/v1")
        desk.endpoints[name] = Endpoint(
            name=name, protocol=kind.protocol, base_url=base, key_env="", window=32_000
        )


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("wire", WIRES)
async def test_a_call_of_a_cut_answer_is_not_run(desk: Desk, strict: Strict, wire: str, cut: str) -> None:
    served(desk, strict)
    strict.cuts = [cut]
    async with desk.session(model=f"{wire}:{WIRES[wire].model}", retries=1) as opened:
        records = await turn(opened.conversation, "Look.")
        assert len(of(records, TurnRetry)) == 1
        # Only the call of the complete response.
        assert len(of(records, ToolCall)) == len(of(records, ToolResult)) == 1
        assert [end.outcome for end in of(records, TurnEnd) if isinstance(end, TurnEnd)] == ["done"]
        assert_valid(opened.conversation)
    assert strict.refused == []


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("wire", WIRES)
async def test_without_tries_left_the_words_stay_and_the_session_goes_on(
    desk: Desk, strict: Strict, wire: str, cut: str
) -> None:
    served(desk, strict)
    strict.cuts = [cut]
    async with desk.session(model=f"{wire}:{WIRES[wire].model}", retries=0) as opened:
        records = await turn(opened.conversation, "Look.")
        assert of(records, ToolCall) == of(records, ToolResult) == []
        answer = of(records, AssistantMessage)[-1]
        assert isinstance(answer, AssistantMessage)
        assert (answer.text, answer.interrupted, answer.call_ids) == ("I look.", True, ())
        strict.calls = False
        records = await turn(opened.conversation, "Go on.")
        assert [end.outcome for end in of(records, TurnEnd) if isinstance(end, TurnEnd)] == ["done"]
    assert strict.refused == []


WHOLE, HALF = '{"path": "README.md"}', '{"path": "READ'


def looked(records: list[Record]) -> list[bool]:
    """For each call, whether its tool has run."""
    results = [each for each in of(records, ToolResult) if isinstance(each, ToolResult)]
    return ["The sea is below." in each.text for each in results]


@pytest.mark.parametrize("calls", [[HALF], [""], ["{}"], [WHOLE, HALF], [WHOLE, ""], [WHOLE], [WHOLE, WHOLE]])
@pytest.mark.parametrize("wire", WIRES)
async def test_at_its_length_limit_the_last_call_runs_only_where_it_is_whole(
    desk: Desk, strict: Strict, wire: str, calls: list[str]
) -> None:
    served(desk, strict)
    # A call without arguments could be one that was cut off before its first argument.
    strict.call = ("ls", {}) if calls in ([""], ["{}"]) else strict.call
    strict.short = [calls]
    async with desk.session(model=f"{wire}:{WIRES[wire].model}", retries=0) as opened:
        records = await turn(opened.conversation, "Look.")
        assert of(records, Error) == []
        assert [end.outcome for end in of(records, TurnEnd) if isinstance(end, TurnEnd)] == ["done"]
        assert sorted(looked(records)) == sorted(each == WHOLE for each in calls)
        told = [each.text for each in of(records, Notice) if isinstance(each, Notice)]
        assert [text for text in told if "was not run" in text] == (told if calls[-1] != WHOLE else [])
        results = [one.text for one in of(records, ToolResult) if isinstance(one, ToolResult)]
        assert ["length limit" in text for text in results].count(True) == (calls[-1] != WHOLE)
        assert_valid(opened.conversation)
        records = await turn(opened.conversation, "Go on.")
        assert [end.outcome for end in of(records, TurnEnd) if isinstance(end, TurnEnd)] == ["done"]
    assert len(strict.refused) <= (wire == "alternating")


async def test_calls_that_are_cut_again_and_again_end_the_turn(desk: Desk, strict: Strict) -> None:
    served(desk, strict)
    strict.short = [[HALF]] * 40
    strict.always = True
    async with desk.session(model="openai-chat:keen-1", retries=0) as opened:
        records = await turn(opened.conversation, "Look.")
        (error,) = of(records, Error)
        assert isinstance(error, Error)
        assert "cut off within a tool call too many times" in error.message
    assert len(strict.short) > 30


@pytest.mark.parametrize(
    "said", [{"message": "upstream gave up"}, {"message": "Overloaded", "type": "overloaded_error"}]
)
async def test_an_error_in_mid_stream_is_told_in_its_words_and_tried_again(
    desk: Desk, fake_openai: FakeOpenAI, said: dict[str, str]
) -> None:
    desk.server("local", fake_openai.base_url)
    fake_openai.add(Garbage(json.dumps({"error": said})), Text("All of it."))
    async with desk.session(retries=1) as opened:
        records = await turn(opened.conversation, "Tell me.")
        (retry,) = of(records, TurnRetry)
        assert isinstance(retry, TurnRetry)
        assert said["message"].lower() in retry.reason
        assert [end.outcome for end in of(records, TurnEnd) if isinstance(end, TurnEnd)] == ["done"]


async def test_a_sub_agent_that_was_cut_off_has_no_answer_and_runs_nothing(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url, window=32_000)
    sent = tool("explore", task="Look.")
    fake_openai.add(sent, sent, Text("Seen."))
    fake_openai.add(EndsBehindCall(), EndsEarly(), phrase="for another assistant")
    async with desk.session(explore={}) as opened:
        records = await turn(opened.conversation, "Look.")
        results = [one for one in of(records, ToolResult) if isinstance(one, ToolResult)]
        assert [one.outcome for one in results] == ["error", "error"]
        assert all("was cut off" in one.text for one in results)
        ends = [one.outcome for one in of(records, SubAgentEnd) if isinstance(one, SubAgentEnd)]
        assert ends == ["failed", "failed"]
