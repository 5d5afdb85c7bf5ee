"""The main screens as pictures; ``--snapshot-update`` draws them anew, a report shows what changed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.servers.behaviours import HangBeforeHeaders, Text, pieces
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.app.scenes import (
    DONE,
    EDIT,
    RUN,
    Scene,
    compacted_talk,
    compaction,
    context_screen,
    nothing,
    opens,
    reviewed,
    talk,
)
from tests.ui.app.story import MODEL, Story
from tests.ui.kit import USUAL, WIDE, Deck, Desk, timed, unpainted
from tests.ui.looks import painted_below, steady
from tests.ui.plans import CURRENT, SWITCH, proposed
from tui_app.events import ApprovalRequested, Error
from tui_app.ui.approvals import ApprovalBox
from tui_app.ui.dialogs.help import HelpScreen
from tui_app.ui.dialogs.models import ModelPicker, SwitchDialog
from tui_app.ui.dialogs.palette import PaletteScreen
from tui_app.ui.dialogs.review import ReviewScreen, fill_of
from tui_app.ui.dialogs.sessions.sessions import SessionsScreen
from tui_app.ui.panels.status import StatusRow

pytestmark = pytest.mark.usefixtures("still", "fixed", "later")
ASKED = "and now also handle public holidays"
WRITTEN = "Public holidays move from year to year, so the import needs a **table** of them. " * 12
REFUSED = Error(
    kind="auth", message="The key for openai was refused.", detail="401",
    hint="Set OPENAI_API_KEY to a valid key, then send again.",
)  # fmt: skip


def at(deck: Deck, seconds: float) -> None:
    """Let the status row be as it is so many seconds after its beginning."""
    row = deck.app.chat.query_one(StatusRow)
    row._clock = lambda: row.status.started + seconds
    row.refresh()


async def streaming(deck: Deck) -> None:
    await deck.send(ASKED)
    session = deck.app.chat.session
    await deck.until(lambda: session.state.streamed >= len(WRITTEN) - 40, "the answer")
    await deck.until(lambda: deck.status.startswith("Answering"), "the status")
    at(deck, 6)


async def compacting(deck: Deck) -> None:
    await deck.press("ctrl+g")
    await deck.says("Compacting conversation history")
    at(deck, 6)


NOTES = """## Intent
Ferries leave on Sundays and public holidays too. (#2: "Why does the ferry import fail on Sundays?")
## Findings
- `import.py:2` takes weekday 0 for a missing value. (#5: only read)
- All tests pass now. (#6: exit 1, 1 failed)
- `cache.py` keeps the rows between two runs. (not in the log)
## Next
- List the holidays or compute them. (unchecked)"""
DEEDS = "## What was done, and where it stands\n- import.py · edited 3× (#151)\n- `pytest -x`: 1 failed (#6)"
RULES = "## The user's rules, word for word\n- #2: Never touch the legacy importer"
PROPOSAL = replace(
    proposed(DONE), model=MODEL, summary=NOTES, lines=5, lines_sourced=3, claims_marked=1,
    passages=(("model", NOTES), ("code", DEEDS), ("user", RULES)),
)  # fmt: skip


async def review(deck: Deck) -> None:
    fill = fill_of(deck.app, deck.app.chat.session)
    await deck.app.push_screen(timed(ReviewScreen(PROPOSAL, fill=fill), lambda: 0.0))
    await deck.until(lambda: reviewed(deck), "the review")


async def switch(deck: Deck) -> None:
    await deck.app.push_screen(timed(SwitchDialog(SWITCH, CURRENT), lambda: 0.0))


def asking(question: ApprovalRequested) -> Scene:
    async def scene(deck: Deck) -> None:
        session = deck.app.chat.session
        session.presenter.update(replace(session.state, question=question))
        await deck.until(lambda: deck.app.chat.query_one(ApprovalBox).has_focus, "the keys")

    return scene


def long_talk() -> Story:
    return Story("word by word").turns(6, tokens=14_000).answer("Six.", reported=91_500)


SCREENS: dict[str, tuple[Callable[[], Story | None], Scene]] = {
    "first_run": (lambda: None, nothing),
    "chat": (talk, nothing),
    "streaming": (lambda: talk(0), streaming),
    "compacting": (long_talk, compacting),
    "compacted": (compacted_talk, nothing),
    "detail": (compacted_talk, compaction),
    "review": (lambda: talk(91_500), review),
    "context": (compacted_talk, context_screen),
    "models": (talk, opens(ModelPicker, "ctrl+l")),
    "switch": (talk, switch),
    "approval_command": (talk, asking(RUN)),
    "approval_edit": (talk, asking(EDIT)),
    "sessions": (talk, opens(SessionsScreen, command="/sessions")),
    "palette": (talk, opens(PaletteScreen, "ctrl+p")),
    "help": (talk, opens(HelpScreen, "f1")),
    "error": (lambda: Story("hello").user("hello").add(REFUSED), nothing),
}
MOST_USED = ("chat", "compacted", "detail", "context", "approval_edit")


@pytest.fixture
def snap(desk: Desk, fake_openai: FakeOpenAI, snap_compare: Callable[..., bool]) -> Callable[..., bool]:
    """Compare a screen with its picture."""

    def compare(name: str, size: tuple[int, int] = WIDE, theme: str = "dark") -> bool:
        make, scene = SCREENS[name]
        if (story := make()) is not None:
            desk.serve(fake_openai, window=8_000 if name == "streaming" else 128_000).change(model=MODEL)
        if name == "streaming":
            fake_openai.add(Text(WRITTEN, hold=Signal(), hold_after=len(pieces(WRITTEN)) - 4))
        elif name == "compacting":
            fake_openai.add(HangBeforeHeaders())
        app = desk.app(*([desk.store(story)] if story is not None else []))

        async def play(pilot: Pilot[Any]) -> None:
            deck = Deck(app, pilot)
            with unpainted(), painted_below():
                await deck.ready()
                await scene(deck)
                await deck.settle()
            app.theme = f"plimsoll-{theme}"
            await pilot.pause()
            await steady(pilot)

        return snap_compare(app, terminal_size=size, run_before=play)

    return compare


@pytest.mark.parametrize("name", SCREENS)
def test_screen(snap: Callable[..., bool], name: str) -> None:
    assert snap(name)


@pytest.mark.parametrize("name", MOST_USED)
def test_at_80x24(snap: Callable[..., bool], name: str) -> None:
    assert snap(name, USUAL)


@pytest.mark.parametrize("name", MOST_USED)
def test_in_light(snap: Callable[..., bool], name: str) -> None:
    assert snap(name, theme="light")
