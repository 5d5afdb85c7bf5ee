"""Files and pastes from the prompt to the model: counted before, sent in full, named in plain words."""

from textual.events import Paste

from tests.servers.behaviours import HangMidStream, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.kit import USUAL, Desk, shown, write_files
from tui_app.ui.gauge import ContextGauge
from tui_app.ui.prompt.completion import OfferList
from tui_app.ui.prompt.row import AttachedRow


async def test_a_named_file_is_sent_with_the_prompt_and_counted_before(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    # The folder's name is in the request too: what the server counts must not hang on its length.
    fake_openai.add(Text("Read.", usage=(1_200, 2)))
    write_files(served.cwd, {"tides.md": "The tide turns at noon. " * 100})
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.type("What is in @tides.md ?")
        await deck.says("attached: tides.md ~0.6k tok")
        assert deck.app.chat.query_one(ContextGauge).pending == 606
        await deck.press("enter")
        await deck.answered()
        assert deck.app.chat.query_one(ContextGauge).pending == 0
        assert "attached:" not in deck.text
        assert "What is in @tides.md ?" in deck.text
        usage = deck.app.chat.session.state.usage
        assert usage is not None
        assert usage.parts.attachments > 400
    text, file = fake_openai.journal[0]["messages"][-1]["content"]
    assert text["text"] == "What is in @tides.md ?"
    assert "The tide turns at noon." in file["text"]


async def test_a_missing_file_stays_text_and_a_notice_says_why(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("I see."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("Ask @alice about @gone.md ")
        await deck.answered()
        notices = deck.app.chat.session.state.notices
        assert notices == ("@gone.md is not attached: there is no such file.",)
    assert fake_openai.journal[0]["messages"][-1]["content"] == "Ask @alice about @gone.md "


async def test_a_queued_prompt_takes_its_file_along_as_it_is_then(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(HangMidStream(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("first")
        await (await fake_openai.request(1)).paused.wait()
        await deck.send("then @README.md ")
        await deck.until(lambda: deck.queue == ["Queued 1 of 1: then @README.md"], "the waiting prompt")
        write_files(served.cwd, {"README.md": "Changed meanwhile."})
        await deck.type("x")
        await deck.press("escape")
        await deck.idle()
        await deck.press("backspace", "enter")
        await deck.until(lambda: len(fake_openai.journal) == 2, "the second request")
        await deck.answered(2)
    assert "Changed meanwhile." in str(fake_openai.journal[1]["messages"][-1]["content"])


async def test_a_prompt_taken_back_opens_no_list(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(HangMidStream())
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("first")
        await (await fake_openai.request(1)).paused.wait()
        await deck.send("then @README.md ")
        await deck.until(lambda: deck.queue, "the waiting prompt")
        await deck.press("escape")
        await deck.until(lambda: deck.editor.text == "then @README.md ", "the prompt")
        await deck.says("attached: README.md")
        assert not deck.app.chat.query_one(OfferList).is_open


async def test_plain_words_only(desk: Desk) -> None:
    desk.change(plain=True)
    async with shown(desk.app(), USUAL) as deck:
        await deck.ready()
        await deck.type("see @README.md and @im")
        await deck.until(lambda: deck.app.chat.query_one(OfferList).is_open, "the list")
        await deck.says("attached: README.md")
        assert deck.widget(OfferList).strip() == "> import.py"
        await deck.press("tab")
        deck.editor.post_message(Paste("a\n" * 30))
        await deck.says("[pasted 30 lines]")
        assert not any("\u2500" <= sign <= "\u257f" or "\u2800" <= sign <= "\u28ff" for sign in deck.text)
        assert " - [pasted 30 lines]" in deck.widget(AttachedRow)
