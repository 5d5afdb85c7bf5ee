"""Sending the last prompt once more: what came of it leaves the context, and a draft stays where it is."""

from tests.servers.behaviours import HangMidStream, Text, error
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.kit import Desk, shown
from tui_app.conversation.conversation import NOTHING


def prompts(server: FakeOpenAI, number: int) -> list[str]:
    """What the person says in one request."""
    return [str(each["content"]) for each in server.journal[number]["messages"] if each["role"] == "user"]


async def test_the_last_prompt_is_answered_anew(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("One."), Text("A poor answer."), Text("A better answer."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("first")
        await deck.says("One.")
        await deck.idle()
        await deck.send("second")
        await deck.says("A poor answer.")
        await deck.idle()
        await deck.send("/retry")
        await deck.says("A better answer.")
        await deck.idle()
        assert deck.editor.is_empty
        assert "the prompt is in the editor" not in deck.text
        assert "left behind · " in deck.text
    assert prompts(fake_openai, 2) == ["first", "second"]
    assert "A poor answer." not in str(fake_openai.journal[2])


async def test_a_draft_stays_and_a_running_answer_is_waited_for(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    hold = Signal()
    fake_openai.add(HangMidStream(release=hold), Text("Once more."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("first")
        await (await fake_openai.request(1)).paused.wait()
        await deck.press(*"draft")
        deck.app.chat.action_slash("/retry")
        row = "Queued 1 of 1: /retry · runs when what is under way is done"
        await deck.until(lambda: deck.queue == [row], row)
        hold.set()
        await deck.says("Once more.")
        await deck.idle()
        assert deck.editor.text == "draft"
    assert prompts(fake_openai, 1) == ["first"]


async def test_what_nobody_answered_is_sent_again(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("One."), error(401, "Incorrect API key provided"), Text("Answered now."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("first")
        await deck.says("One.")
        await deck.idle()
        await deck.send("second")
        await deck.until(lambda: deck.editor.text == "second", "the prompt back")
        deck.app.chat.action_slash("/retry")
        await deck.says("Answered now.")
        await deck.idle()
        assert deck.editor.text == "second"
    assert prompts(fake_openai, 2) == ["first", "second"]


async def test_without_a_prompt_it_says_so(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("/retry")
        await deck.says(NOTHING)


async def test_a_second_retry_of_a_rewound_prompt_takes_the_one_before(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(Text("One."), Text("Two."), Text("One again."))
    async with shown(served.app()) as deck:
        await deck.ready()
        for text, answer in (("first", "One."), ("second", "Two.")):
            await deck.send(text)
            await deck.says(answer)
            await deck.idle()
        last = [entry for entry in deck.app.chat.session.presenter.view.entries if entry.kind == "user"][-1]
        await deck.send(f"/rewind #{last.seq}")
        await deck.until(lambda: deck.editor.text == "second", "the draft")
        deck.app.chat.action_slash("/retry")
        await deck.says("One again.")
        await deck.idle()
        assert deck.editor.text == "second"
    assert prompts(fake_openai, 2) == ["first"]
