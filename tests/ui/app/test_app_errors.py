"""Errors: one sentence and what to do, in the chat; the prompt comes back; raw text only on demand."""

import pytest

from tests.servers.behaviours import CutStream, Failure, Text, error, too_long
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.kit import Desk, shown
from tui_app.ui.dialogs.base import DetailsScreen

RAW = "raw words of the provider 4711"
LIBRARY_NAMES = ("ModelHTTPError", "ModelAPIError", "openai.", "pydantic", "Traceback", "httpx")


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(error(401, RAW, code="invalid_api_key"), id="401"),
        pytest.param(error(400, RAW), id="400"),
        pytest.param(error(404, RAW, code="model_not_found"), id="404"),
        pytest.param(error(413, RAW), id="413"),
        pytest.param(error(429, RAW), id="429"),
        pytest.param(error(500, RAW), id="500"),
    ],
)
async def test_one_sentence_the_prompt_back_and_details(
    served: Desk, fake_openai: FakeOpenAI, failure: Failure
) -> None:
    fake_openai.fallback = failure
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("why does the import fail?")
        await deck.until(lambda: "error" in deck.kinds, "an error row")
        await deck.idle()
        error_row = deck.app.chat.session.presenter.view.entries[-1]
        sentence = error_row.title
        assert not any(name in sentence for name in LIBRARY_NAMES)
        assert "{" not in sentence
        assert deck.editor.text == "why does the import fail?"
        assert deck.app.focused is deck.editor
        assert "The prompt went back into the editor, to be sent again." in deck.words
        assert not deck.app.screen.query("Toast")
        deck.transcript.focus()
        await deck.press("up", "enter")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the details")
        assert RAW in deck.text


async def test_what_failed_can_be_sent_again_and_the_model_sees_it_once(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(error(400, "no"), Text("Now it works."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("try this")
        await deck.until(lambda: deck.editor.text == "try this", "the prompt back")
        await deck.press("enter")
        await deck.answered()
        assert "Now it works." in deck.text
        said = [message for message in fake_openai.journal[-1]["messages"] if message["role"] == "user"]
        assert [message["content"] for message in said] == ["try this"]


async def test_a_prompt_that_cannot_fit_is_refused_with_both_numbers(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.serve(fake_openai, window=2_048)
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.send("long " * 3_000)
        await deck.until(lambda: "error" in deck.kinds, "an error row")
        await deck.idle()
        assert "2,048" in deck.text
        assert deck.editor.draft == "long " * 3_000
        assert "[pasted" in deck.editor.text or len(deck.editor.text) > 10_000
        assert fake_openai.journal == []


async def test_an_overflow_the_provider_reports_ends_in_a_compaction_and_an_answer(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(too_long(4_096, 9_000))
    fake_openai.fallback = Text("Fits now.", usage=(0, 0))
    async with shown(served.app(served.store(Story().turns(6)))) as deck:
        await deck.ready()
        await deck.send("hello")
        await deck.answered(7)
        await deck.says("Fits now.")
        assert "compaction" in deck.kinds
        assert "error" not in deck.kinds
        assert "of 4.1k" in deck.gauge


async def test_a_stream_that_breaks_off_keeps_what_was_written(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.fallback = CutStream()
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("go on")
        await deck.until(lambda: "error" in deck.kinds, "an error row")
        await deck.idle()
        assert "esc stops" not in deck.status
        assert deck.app.focused is deck.editor


async def test_a_pause_before_the_next_try_is_seen_and_escape_ends_it(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.fallback = Failure(429, {"error": {"message": "Rate limit reached"}}, {"retry-after": "90"})
    async with shown(served.change(retries=4).app()) as deck:
        await deck.ready()
        await deck.send("when is low tide?")
        await deck.until(lambda: "Trying again in" in deck.text, "the pause")
        assert "try 2 of 5" in deck.text
        assert "esc stops" in deck.text
        await deck.press("escape")
        await deck.idle()
        assert "Stopped. Nothing is lost." in deck.text
        assert len(fake_openai.journal) == 1
