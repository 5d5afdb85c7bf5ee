"""Hostile text where the app asks the user: reviews, approvals, files of a rewind."""

from collections.abc import Awaitable, Callable

import pytest
from textual.events import Paste
from textual.widgets import Input, OptionList, TextArea

from tests.ui.app.test_app_display_safety import NASTY, TOGETHER, assert_intact, each_in_a_size, safe
from tests.ui.kit import SMALL, USUAL, WIDE, Deck, Desk, shown
from tui_app.conversation.files.file_snapshots import FileOutlook
from tui_app.events import ApprovalDecided, CompactionProgress, CompactionProposed, Fact, RestoredFile
from tui_app.settings.tables import ApprovalRule
from tui_app.text import visible
from tui_app.ui.dialogs.extensions.approvals import ApprovalsScreen, rule_rows
from tui_app.ui.dialogs.review import ReviewScreen
from tui_app.ui.dialogs.sessions.rewind import rewind_files
from tui_app.ui.keyboard import stray_keys

WHERE: dict[str, Callable[[Deck, str], Awaitable[None]]] = {}
"""Dialogs that ask the user, opened with the text in every field."""


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept keys in the dialog at once."""
    monkeypatch.setattr(stray_keys, "QUIET_S", 0.0)


def place(scene: Callable[[Deck, str], Awaitable[None]]) -> Callable[[Deck, str], Awaitable[None]]:
    WHERE[scene.__name__] = scene
    return scene


def proposal(text: str, problem: str = "") -> CompactionProposed:
    words = f"beacon {text}"
    states = ("lost", "recoverable", "lost")
    facts = tuple(
        Fact(kind="file", text=f"{words} {n}", source=words, state=each) for n, each in enumerate(states)
    )
    return CompactionProposed(job="1", summary=words[:10_000], retention=0.5, facts=facts, problem=problem)


async def review(deck: Deck, proposed: CompactionProposed) -> ReviewScreen:
    screen = ReviewScreen(proposed)
    await deck.app.push_screen(screen)
    return screen


@place
async def streamed(deck: Deck, text: str) -> None:
    screen = ReviewScreen(None, job="1")
    await deck.app.push_screen(screen)
    # Escape sequences may be split between two chunks.
    for number, piece in enumerate((f"beacon {text[:5]}", text[5:9], text[9:])):
        screen.hear(
            CompactionProgress(job="1", part=1, parts=1, tokens_written=number + 1, model=text, text=piece)
        )
    await deck.until(lambda: screen.query_one(TextArea).text.startswith("beacon"), "the text so far")


@place
async def proposed(deck: Deck, text: str) -> None:
    screen = await review(deck, proposal(text))
    assert safe(screen.query_one(TextArea).text.replace("\n", ""))


@place
async def refused(deck: Deck, text: str) -> None:
    await review(deck, proposal(text, problem=f"beacon {text}"))


@place
async def edited(deck: Deck, text: str) -> None:
    screen = await review(deck, proposal(text))
    await deck.hurry("e", *"More ")
    await deck.until(lambda: screen.query_one(TextArea).text.startswith("More "), "what was typed")


@place
async def pasted(deck: Deck, text: str) -> None:
    screen = await review(deck, proposal("plain"))
    await deck.press("e")
    screen.query_one(TextArea).post_message(Paste(text[:10_000]))
    await deck.settle()


@place
async def fact_kept(deck: Deck, text: str) -> None:
    screen = await review(deck, proposal(text))
    screen.query_one("#review-facts", OptionList).focus()
    text_area = screen.query_one(TextArea)
    await deck.press("enter", "down", "enter")
    assert safe(text_area.text.replace("\n", ""))


def decided(text: str, reason: str) -> tuple[float, ApprovalDecided]:
    event = ApprovalDecided(
        id="1", tool_call_id="1", tool=f"tool {text[:90]}", subject=text, decision="denied", by="person",
        reason=reason,
    )  # fmt: skip
    return 0.0, event


@place
async def approvals(deck: Deck, text: str) -> None:
    rules = tuple(
        ApprovalRule("deny", f"beacon{text[:80]}", text, source)
        for source in ("settings", "session", "built in")
    )
    await deck.app.push_screen(ApprovalsScreen(rule_rows(rules, (decided(text, text),))))
    await deck.says("Approvals")


@place
async def approval_explained(deck: Deck, text: str) -> None:
    await approvals(deck, text)
    await deck.press("end")


@place
async def approvals_filtered(deck: Deck, text: str) -> None:
    await approvals(deck, text)
    deck.app.screen.query_one(Input).post_message(Paste(text[:2_000]))
    await deck.settle()


@place
async def approvals_answered(deck: Deck, text: str) -> None:
    await approvals(deck, text)
    screen = deck.app.screen
    assert isinstance(screen, ApprovalsScreen)
    screen.show(rule_rows((ApprovalRule("allow", "x", text),)), f"{text}: written to {text}")


@place
async def files(deck: Deck, text: str) -> None:
    fates = ("restore", "remove", "changed")
    outlooks = [FileOutlook(RestoredFile(path=f"{n}{text}", after="a"), each) for n, each in enumerate(fates)]
    await deck.app.push_screen(rewind_files(outlooks))


def test_a_letter_without_a_shape_is_written_out() -> None:
    assert visible("rm\u3164-rf \u034fé漢") == r"rm\u3164-rf \u034fé漢"


@pytest.mark.parametrize("kinds", TOGETHER)
async def test_shown_safely_with_the_layout_intact(served: Desk, kinds: str) -> None:
    text = " ".join(NASTY[name] for name in TOGETHER[kinds])
    # Long texts are slow and are cut the same way at every size.
    sizes = (USUAL, WIDE, SMALL)[: 1 if kinds == "long" else None]
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        async for size, (where, scene) in each_in_a_size(deck, WHERE.items(), sizes, kinds):
            await scene(deck, text)
            await assert_intact(deck, size, where)
            while deck.app.screen is not deck.app.chat:
                deck.app.pop_screen()
                await deck.settle()
