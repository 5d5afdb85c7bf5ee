"""Questions of the model: numbered choices, free text, no answer; the prompt stays usable."""

import pytest

from tests.conversation.test_questions import ask
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.kit import SMALL, USUAL, WIDE, Deck, Desk, shown
from tui_app.conversation.consent.questions import NO_ANSWER
from tui_app.events import Record, ServerAsked, ToolResult
from tui_app.ui import approvals as approval_box
from tui_app.ui.chat import pane as chat_pane
from tui_app.ui.keyboard import lone_letter, stray_keys
from tui_app.ui.questions import QuestionBox, choice_rows
from tui_app.ui.transcript.transcript import Transcript


@pytest.fixture
def _at_once(served: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept answers at once, unless a test restores the delay."""
    served.change(read_only=False)
    monkeypatch.setattr(approval_box, "QUIET_S", 0.0)
    monkeypatch.setattr(chat_pane, "QUIET_S", 0.01)
    monkeypatch.setattr(lone_letter, "ALONE_S", 0.0)


def box(deck: Deck) -> QuestionBox:
    return deck.app.chat.query_one(QuestionBox)


async def asked(deck: Deck) -> None:
    await deck.send("Do it.")
    await deck.until(lambda: box(deck).question and box(deck).has_focus_within, "the question, with the keys")


def answers(desk: Desk) -> list[str]:
    with desk.log() as log:
        events = [record.data for record, _ in log.records(log.sessions()[0].id)]
    return [each.text for each in events if isinstance(each, ToolResult)]


CHOICES = ("8080", "3000", "any other")


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["2"], "The user answers: 3000"),
        (["enter"], "The user answers: 8080"),
        (["down", "down", "enter"], "The user answers: any other"),
        (["up", "enter"], "The user answers: any other"),
        ([*"ok", "space", *"99", "enter"], "The user answers: ok 99"),
        (["o", "escape", "escape"], NO_ANSWER),
        (["escape"], NO_ANSWER),
    ],
)
async def test_an_answer(served: Desk, fake_openai: FakeOpenAI, keys: list[str], answer: str) -> None:
    fake_openai.add(ask("Which port?", *CHOICES), Text("Thanks."))
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await asked(deck)
        for words in ("Which port?", "1 8080", "2 3000", "1-3 choose", "esc no answer"):
            assert words in deck.text, words
        await deck.press(*keys)
        await deck.answered()
        assert not box(deck).question
        assert deck.editor.has_focus
        assert deck.editor.is_empty
        row = deck.widget(Transcript)
        assert 'ask_user "Which port?"' in row
    assert answers(served) == [answer]


@pytest.mark.usefixtures("_at_once")
async def test_words_alone(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(ask("What is it for?"), Text("Thanks."))
    async with shown(served.app(), WIDE) as deck:
        await deck.ready()
        await asked(deck)
        await deck.press("enter")
        assert box(deck).question, "nothing is no answer"
        await deck.press("1", "enter")
        await deck.answered()
    assert answers(served) == ["The user answers: 1"]


async def test_a_number_that_begins_a_word_is_no_choice(
    served: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.change(read_only=False)
    monkeypatch.setattr(approval_box, "QUIET_S", 0.0)
    monkeypatch.setattr(chat_pane, "QUIET_S", 0.01)
    monkeypatch.setattr(lone_letter, "ALONE_S", 60.0)
    fake_openai.add(ask("Which port?", *CHOICES), Text("Thanks."))
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await asked(deck)
        await deck.press("2", "k", "enter")
        await deck.answered()
    assert answers(served) == ["The user answers: 2k"]


async def test_a_user_who_is_writing_keeps_the_keys(
    served: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.change(read_only=False)
    monkeypatch.setattr(lone_letter, "ALONE_S", 0.0)
    fake_openai.add(ask("Which port?", *CHOICES), Text("Thanks."))
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await deck.send("Do it.")
        await deck.type("and then")
        await deck.says("f12 answer")
        await deck.press("1")
        assert deck.editor.text == "and then1"
        await deck.press("f12")
        await deck.until(lambda: box(deck).has_focus_within, "the keys")
        await deck.press("1")
        await deck.answered()
        assert deck.editor.text == "and then1"
    assert answers(served) == ["The user answers: 8080"]


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("size", [USUAL, SMALL], ids=["80x24", "40x12"])
async def test_little_room(served: Desk, fake_openai: FakeOpenAI, size: tuple[int, int]) -> None:
    long = "Which of all these ports is the one that nothing else listens on, and which may stay? " * 3
    fake_openai.add(ask(long, *(f"port number {number}" for number in range(6))), Text("Thanks."))
    async with shown(served.app(), size) as deck:
        await deck.ready()
        await asked(deck)
        await deck.press("up")
        await deck.says("6 port number 5")
        rows = ("#asked-title", "#asked-choices", "#asked Input", "#asked-keys", "#prompt-row", "#hints")
        places = [deck.app.chat.query_one(row).region for row in rows]
        assert all(place.height > 0 for place in places)
        assert [place.y for place in places] == sorted(place.y for place in places)
        assert places[-1].bottom == size[1]
        await deck.press("6")
        await deck.answered()
    assert answers(served) == ["The user answers: port number 5"]


@pytest.mark.usefixtures("_at_once")
async def test_nothing_in_a_question_acts_on_the_terminal(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(ask("\x1b[31mRed?\x1b]0;x\x07 [bold]", "[link=x]a[/]", "\x1b[2Jb"), Text("Thanks."))
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await asked(deck)
        await deck.says("Red?")
        assert "[bold]" in deck.text
        assert "[link=x]a[/]" in deck.text
        assert "\x1b" not in deck.text
        await deck.press("escape")
        await deck.answered()


@pytest.mark.usefixtures("_at_once")
async def test_a_question_behind_an_approval(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(
        tool("write_file", path="sky.txt", content="sea\n"), ask("Which port?", "a", "b"), Text("Done.")
    )
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await deck.send("Do it.")
        await deck.says("Allow this edit?")
        await deck.until(lambda: deck.app.chat.query_one("#approval").has_focus, "the keys")
        await deck.press("y")
        await deck.until(lambda: box(deck).has_focus_within, "the next question, with the keys")
        await deck.press("2")
        await deck.answered()
    assert answers(served)[-1] == "The user answers: b"


def test_choices_around_the_marked_one_are_shown() -> None:
    choices = tuple("abcdef")
    for marked in range(6):
        rows = [row.plain for row in choice_rows(choices, marked, 40, 2)]
        assert len(rows) == 2
        assert f"▸ {marked + 1} {choices[marked]}" in rows
    assert len(choice_rows(choices, 0, 40, 6)) == 6


async def test_what_servers_ask_is_asked_one_after_the_other(
    served: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stray_keys, "QUIET_S", 0.0)
    schema = '{"properties": {"berth": {"type": "string"}}, "required": ["berth"]}'
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        for number in ("one", "two"):
            asks = ServerAsked(id=number, server="harbour", message=f"Berth {number}?", schema=schema)
            deck.app.chat.session._inbox.put(Record(seq=0, time=0.0, session="s", data=asks))
        await deck.says("harbour asks: Berth one?")
        assert "Berth two?" not in deck.text
        await deck.press("escape")
        await deck.says("harbour asks: Berth two?")
        await deck.press("escape")
        await deck.says("Declined what harbour asks.")
