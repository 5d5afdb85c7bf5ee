"""Questions of the model to the user: answered, postponed, unattended, and one at a time."""

import asyncio
from collections.abc import Sequence

import pytest

from tests.conversation.driving import Desk, assert_valid, of, send, turn
from tests.conversation.test_approvals import ONCE, results, together, working
from tests.servers.behaviours import Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.consent.questions import ANSWERED, LATER, NO_ANSWER, NOBODY
from tui_app.events import ApprovalRequested, QuestionAsked, Record, ToolResult


def ask(question: str = "Which port?", *choices: str) -> Tool:
    return tool("ask_user", question=question, **({"choices": list(choices)} if choices else {}))


async def answered(opened: OpenSession, *replies: str | None) -> list[Record]:
    """Send a prompt and answer the questions in order; None postpones one."""
    left, records = list(replies), []
    async for record in send(opened.conversation, "Go."):
        records.append(record)
        if isinstance(record.data, QuestionAsked):
            questions, id, reply = opened.conversation.tooling.questions, record.data.id, left.pop(0)
            assert questions.postpone(id) if reply is None else questions.reply(id, reply)
            assert not questions.reply(id, "twice")
    assert not left
    return records


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("3000", "The user answers: 3000"),
        ("  any free one  ", ANSWERED.format("any free one")),
        ("  ", NO_ANSWER),
        (None, LATER),
    ],
)
async def test_the_answer_is_the_result_of_the_call(
    desk: Desk, fake_openai: FakeOpenAI, reply: str | None, text: str
) -> None:
    fake_openai.add(ask("Which port?", "8080", "3000"), Text("Thanks."))
    async with working(desk, fake_openai) as opened:
        records = await answered(opened, reply)
        [asked] = of(records, QuestionAsked)
        assert isinstance(asked, QuestionAsked)
        assert (asked.question, asked.choices, asked.attended) == ("Which port?", ("8080", "3000"), True)
        assert results(records) == [("success", text)]
        logged = [record.data for record, _ in opened.store.records(opened.conversation.session)]
        assert [each.text for each in logged if isinstance(each, ToolResult)] == [text]
        assert_valid(opened.conversation)


async def test_where_nobody_is_there_the_model_goes_on(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(ask(), Text("I took 8080."))
    async with working(desk, fake_openai, attended=False) as opened:
        async with asyncio.timeout(20):
            records = await turn(opened.conversation, "Go.")
        assert results(records) == [("success", NOBODY)]
        assert [each.attended for each in of(records, QuestionAsked) if isinstance(each, QuestionAsked)] == [
            False
        ]


@pytest.mark.parametrize(
    ("question", "choices"),
    [
        ("", ()),
        ("x" * 1_001, ()),
        ("?", ("one",)),
        ("?", tuple("abcdefg")),
        ("?", ("a", "a")),
        ("?", ("a", " ")),
    ],
)
async def test_a_question_that_cannot_be_shown_is_not_asked(
    desk: Desk, fake_openai: FakeOpenAI, question: str, choices: Sequence[str]
) -> None:
    fake_openai.add(ask(question, *choices), Text("Well."))
    async with working(desk, fake_openai) as opened:
        records = await answered(opened)
        [(outcome, _)] = results(records)
        assert outcome == "error"


async def test_questions_and_approvals_come_one_after_the_other(desk: Desk, fake_openai: FakeOpenAI) -> None:
    write = tool("write_file", path="sky.txt", content="sea\n")
    fake_openai.add(together(ask("First?"), write, ask("Last?", "a", "b")), Text("Done."))
    async with working(desk, fake_openai) as opened:
        tooling, waiting, most, seen = opened.conversation.tooling, set[str](), 0, list[str]()
        async for record in send(opened.conversation, "Go."):
            match record.data:
                case QuestionAsked(id=id, question=question):
                    waiting.add(id)
                    seen.append(question)
                    assert len(waiting) == 1
                    tooling.questions.reply(id, "yes")
                    waiting.clear()
                case ApprovalRequested(id=id, subject=subject) if subject not in seen:
                    seen.append(subject)
                    assert not waiting
                    tooling.approvals.decide(id, ONCE)
            most = max(most, len(waiting))
        assert sorted(seen) == ["First?", "Last?", "sky.txt"]
        assert (desk.cwd / "sky.txt").exists()
        assert_valid(opened.conversation)


async def test_a_turn_that_is_stopped_asks_no_more(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(ask(), Text("Now?"))
    async with working(desk, fake_openai) as opened:
        conversation = opened.conversation
        records = []
        async for record in send(conversation, "Go."):
            records.append(record)
            if isinstance(record.data, QuestionAsked):
                asked = record.data
                conversation.cancel()
        assert not conversation.tooling.questions.reply(asked.id, "late")
        assert results(records) == [("interrupted", "Interrupted by user.")]
        assert_valid(conversation)
        await turn(conversation, "Again.")


async def test_a_rule_may_forbid_questions(desk: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(ask(), Text("Well."))
    async with working(desk, fake_openai, approvals={"deny": ["ask_user"]}) as opened:
        [(outcome, _)] = results(await answered(opened))
        assert outcome == "denied"
