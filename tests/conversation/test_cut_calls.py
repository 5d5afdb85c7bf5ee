"""Answers that break off behind a whole call of a tool: nothing is run, and they are asked for again."""

import json
from collections.abc import Iterator

import pytest

from tests.conversation.driving import Desk, assert_valid, of, turn
from tests.servers.behaviours import EndsBehindCall, EndsEarly, Garbage, Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.strict import CUTS, WIRES, Strict, strict_server
from tui_app.events import AssistantMessage, SubAgentEnd, ToolCall, ToolResult, TurnEnd, TurnRetry
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
        # The one of the answer that came whole.
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
