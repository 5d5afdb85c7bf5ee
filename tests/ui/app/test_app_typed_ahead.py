"""Text typed while a question opens goes to the prompt, complete and in order."""

import asyncio
import random
from dataclasses import replace

import pytest
from textual import events

from tests.examples import examples
from tests.ui.kit import Deck, Desk, shown
from tui_app.events import ApprovalRequested, QuestionAsked
from tui_app.ui import approvals as approval_box
from tui_app.ui.chat import pane as chat_pane
from tui_app.ui.dialogs.questions import ConfirmDialog
from tui_app.ui.keyboard import lone_letter, stray_keys

TRIES = examples(100)
APPROVAL = ApprovalRequested(
    id="", tool_call_id="c1", tool="run_command", kind="command", subject="make", pattern="run_command make"
)
CHOICE = QuestionAsked(id="", tool_call_id="c1", question="Which port?", choices=("3000", "8080"))


def _post(deck: Deck, typed: str) -> None:
    event = events.Paste(typed) if len(typed) > 1 else events.Key("space" if typed == " " else typed, typed)
    deck.app.post_message(event)


@pytest.mark.parametrize("quiet", [0.0, 60.0], ids=["seen at once", "never seen"])
@pytest.mark.parametrize("question", [APPROVAL, CHOICE], ids=["approval", "words"])
async def test_what_is_typed_while_a_question_comes_up_is_written_in_order(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, question: ApprovalRequested | QuestionAsked, quiet: float
) -> None:
    monkeypatch.setattr(approval_box, "QUIET_S", quiet)
    monkeypatch.setattr(chat_pane, "QUIET_S", 0.0)
    monkeypatch.setattr(lone_letter, "ALONE_S", 60.0)
    rng = random.Random(7)
    # Letters that would answer, digits that would choose, other characters, and a paste.
    signs = ("y", "a", "w", "e", "l", " ", "/", "1", "2", "pasted") + (("n",) if quiet else ())
    async with shown(desk.app()) as deck:
        await deck.ready()
        pane, still = deck.app.chat.pane, deck.app.chat.session.state
        for number in range(TRIES):
            typed = [rng.choice(signs) for _ in range(rng.randint(2, 7))]
            comes, goes = sorted(rng.sample(range(len(typed) + 2), 2))
            for at in range(len(typed) + 2):
                if at == comes:
                    asked = replace(question, id=f"q{number}")
                    if isinstance(asked, ApprovalRequested):
                        pane.show(replace(still, question=asked))
                    else:
                        pane.show(replace(still, asked=asked))
                if at == goes:
                    pane.show(still)
                if at < len(typed):
                    _post(deck, typed[at])
                for _ in range(rng.choice((0, 0, 1, 2, 5, 12, 30))):
                    await asyncio.sleep(0)
            pane.show(still)
            await deck.settle()
            written = "".join(typed)
            assert deck.editor.text == written, f"{number}: {typed}, from {comes} to {goes}"
            deck.editor.clear_draft()
            deck.editor.focus()
            await deck.settle()


async def test_a_question_that_is_written_into_offers_no_letter_and_shows_where_letters_go(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stray_keys, "QUIET_S", 0.0)
    async with shown(desk.app()) as deck:
        await deck.ready()
        said = list[bool | None]()
        await deck.app.push_screen(ConfirmDialog("Trust it?", verb="Trust", keep="Not now"), said.append)
        assert "y trust" in deck.text
        await deck.press(*"why")
        assert "y trust" not in deck.text
        for words in ("left/right choose", "enter answer", "esc not now", "prompt: why"):
            assert words in deck.text, words
        await deck.press("backspace", "backspace", "backspace")
        assert "y trust" in deck.text
        assert "prompt:" not in deck.text
        await deck.press("w", "left", "enter")
        assert said == [True]
        assert deck.editor.text == "w"
