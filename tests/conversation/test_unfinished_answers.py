"""Answers that end before the model had said all, or with nothing said: marked, and told."""

import pytest

from tests.conversation.driving import Desk, of, turn
from tests.servers.behaviours import Behaviour, Empty, EndsEarly, Text
from tests.servers.fake_openai import FakeOpenAI
from tui_app.events import AssistantMessage, Notice, Record, TurnEnd

BAD_ENDS: dict[str, tuple[Behaviour, str]] = {
    "in order, without a word": (EndsEarly(), "The model's answer was cut off. What came of it stays"),
    "at its length": (Text("This is", finish_reason="length"), "cut off at its length limit. What came"),
    "by a filter": (Text("This is", finish_reason="content_filter"), "The provider's filter stopped"),
}


def notices(records: list[Record]) -> list[str]:
    return [one.text for one in of(records, Notice) if isinstance(one, Notice)]


def last_answer(records: list[Record]) -> AssistantMessage:
    answer = of(records, AssistantMessage)[-1]
    assert isinstance(answer, AssistantMessage)
    return answer


@pytest.mark.parametrize("name", BAD_ENDS)
async def test_an_answer_that_is_not_whole_says_so(desk: Desk, fake_openai: FakeOpenAI, name: str) -> None:
    behaviour, words = BAD_ENDS[name]
    desk.server("local", fake_openai.base_url)
    fake_openai.add(behaviour)
    async with desk.session() as opened:
        records = await turn(opened.conversation, "Tell me.")
        assert last_answer(records).text.startswith("This")
        assert last_answer(records).interrupted
        (told,) = notices(records)
        assert words in told
        assert of(records, TurnEnd)[0].outcome == "done"  # type: ignore[attr-defined]


async def test_an_answer_of_blanks_says_so(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url)
    fake_openai.add(Empty(" \n "))
    async with desk.session() as opened:
        records = await turn(opened.conversation, "Tell me.")
        assert notices(records) == ["The model answered nothing. /retry sends the prompt once more."]


async def test_a_server_that_tells_no_reasons_but_a_usage_is_believed(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.server("local", fake_openai.base_url)
    fake_openai.add(Text("All of it.", finish_reason=None, usage=(9, 3)))
    async with desk.session() as opened:
        records = await turn(opened.conversation, "Tell me.")
        assert not last_answer(records).interrupted
        assert notices(records) == []
