"""What the screen looks like while something is under way, and what rows of rarer events say.

After a wanted change run this file with ``--snapshot-update`` and look at the pictures before keeping them.
"""

import asyncio
import os
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.servers.behaviours import Failure, Text, pieces, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.app.scenes import nothing, opens
from tests.ui.app.story import MODEL, NOON, Story
from tests.ui.app.test_app_snapshots import (
    CHOICES,
    DONE,
    Compare,
    Scene,
    _fixed,
    context_screen,
    look,
    looks,
    talk,
)
from tests.ui.kit import Deck, Desk
from tui_app.agent import catalog as catalogue
from tui_app.agent.catalog import ModelChoice
from tui_app.context.compaction.review import DECLINED
from tui_app.context.tool_results.results import SpillNames
from tui_app.conversation import manual_edits as by_hand
from tui_app.events import ModelChange, SessionRestored, SessionRewind, Truncation
from tui_app.session.lock import WriterLock
from tui_app.session.workspace import SessionFolder
from tui_app.ui import approvals as approval_box
from tui_app.ui.approvals import ApprovalBox
from tui_app.ui.chat.pane import OutputTail
from tui_app.ui.dialogs.message import MessageScreen
from tui_app.ui.gauge import ContextGauge
from tui_app.ui.status import StatusRow

__all__ = ["_fixed", "look"]

TODAY = NOON + 3_600
ASKED = "and now also handle public holidays"
WRITTEN = (
    "Public holidays move from year to year, so the import needs a **table** of them:\n\n"
    "1. Good Friday and Easter Monday move with the moon.\n2. The others stay where they are.\n\n"
    "The ferries go on these days " + "as on a Sunday, unless the harbour says so, " * 80
)
TIDES = "".join(f"{number}\tthe tide comes in twice a day at the northern pier\n" for number in range(1, 400))


@pytest.fixture(autouse=True)
def _same_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said now is said an hour behind what is stored, and nothing comes by chance."""
    monkeypatch.setattr("time.time", lambda: TODAY)
    # Files are named after the time at which results went into them.
    noon = datetime.fromtimestamp(NOON, UTC)
    monkeypatch.setattr(by_hand, "SpillNames", lambda _now, taken: SpillNames(noon, taken))
    # The pause before another try is spread over the clients of a server.
    monkeypatch.setattr("random.random", lambda: 0.0)
    monkeypatch.setattr(approval_box, "QUIET_S", 0.0)


def after(deck: Deck, seconds: float) -> None:
    """Let the status row be as it is so many seconds behind its beginning."""
    row = deck.app.chat.query_one(StatusRow)
    row._clock = lambda: row.status.started + seconds
    row.refresh()


# A turn under way


@looks
def test_answering(
    desk: Desk, look: Compare, fake_openai: FakeOpenAI, size: tuple[int, int], theme: str
) -> None:
    """The gauge adds in a lighter colour what has come so far; its end has not come yet."""
    said = pieces(WRITTEN)[:-4]
    desk.serve(fake_openai, window=8_000)
    fake_openai.add(Text(WRITTEN, hold=Signal(), hold_after=len(said)))

    async def scene(deck: Deck) -> None:
        await deck.send(ASKED)
        await (await fake_openai.request(1)).paused.wait()
        streamed = len("".join(said))
        await deck.until(lambda: deck.app.chat.session.state.streamed == streamed, "all that was sent")
        await deck.until(lambda: deck.status.startswith("Answering"), "the status")
        assert deck.app.chat.query_one(ContextGauge).pending >= streamed // 5
        assert deck.app.chat.session.state.background is None, "nothing else goes on"
        after(deck, 6)

    assert look(size, talk(0), scene, theme)


@looks
def test_trying_again(
    desk: Desk, look: Compare, fake_openai: FakeOpenAI, size: tuple[int, int], theme: str
) -> None:
    desk.change(retries=4)
    fake_openai.fallback = Failure(429, {"error": {"message": "Rate limit reached"}}, {"retry-after": "90"})

    async def scene(deck: Deck) -> None:
        await deck.send(ASKED)
        await deck.says("Trying again in")
        after(deck, 6)
        await deck.says("try 2 of 5")

    assert look(size, talk(), scene, theme)


@looks
def test_running(
    desk: Desk, look: Compare, fake_openai: FakeOpenAI, size: tuple[int, int], theme: str
) -> None:
    """A command has printed more lines than are shown, and waits for somebody to write to a pipe."""
    desk.change(read_only=False)
    os.mkfifo(desk.cwd / "pipe")
    command = "for n in 1 2 3 4 5 6 7 8; do echo ferry $n: ok; done; read x < pipe"
    fake_openai.add(tool("run_command", command=command))

    async def scene(deck: Deck) -> None:
        await deck.send("Do the ferries go?")
        await deck.until(lambda: deck.app.chat.query_one(ApprovalBox).has_focus, "the question")
        await deck.press("y")
        tail = deck.app.chat.query_one(OutputTail)
        await deck.until(lambda: tail.display and tail.output.endswith("ferry 8: ok\n"), "the output")
        await deck.until(lambda: deck.status.startswith("Running"), "the status")
        after(deck, 6)

    assert look(size, talk(), scene, theme)


@looks
def test_asking_for_models(
    monkeypatch: pytest.MonkeyPatch, look: Compare, size: tuple[int, int], theme: str
) -> None:
    async def list_models(*, discover: bool, **_: object) -> list[ModelChoice]:
        await (asyncio.Event().wait() if discover else asyncio.sleep(0))
        return CHOICES

    monkeypatch.setattr(catalogue, "list_models", list_models)

    async def scene(deck: Deck) -> None:
        await deck.press("ctrl+l")
        await deck.says("esc lists the others")

    assert look(size, talk(), scene, theme)


# A second window


@looks
def test_read_only(
    desk: Desk, fake_openai: FakeOpenAI, snap_compare: Compare, size: tuple[int, int], theme: str
) -> None:
    session = desk.serve(fake_openai).change(model=MODEL, theme=theme).store(talk())
    lock_file = SessionFolder(desk.paths.sessions_dir / session).lock_file
    with WriterLock(lock_file):
        # When the other window came up is in what is said of it.
        os.utime(lock_file, (NOON, NOON))
        app = desk.app(session)

        async def play(pilot: "Pilot[Any]") -> None:
            deck = Deck(app, pilot)
            await deck.says("shown read-only")
            await deck.says("10% of 128k · 12.8k · ok")
            await deck.says("1 notice")
            await deck.settle()

        assert snap_compare(app, terminal_size=size, run_before=play)


# Rows of rarer events


async def in_timeline(deck: Deck) -> None:
    if not deck.app.chat.pane.timeline.display:
        await deck.press("ctrl+t")
    deck.app.chat.pane.timeline.focus()


def eventful() -> Story:
    """A conversation in which much was changed, and much was not after all."""
    story = talk().add(ModelChange(old="dinghy:scripted", new=MODEL, limit=128_000))
    cut = Truncation(
        tokens_before=41_000, tokens_after=31_000, messages_before=9, messages_after=7,
        tokens_removed=10_000, messages_removed=2,
    )  # fmt: skip
    story.user(ASKED).add(cut).answer("They are rows as well.", reported=31_000)
    ended = replace(DONE, facts=(), removed=(), summary="", title="", retention=None, cost_usd=None)
    story.add(replace(ended, outcome="discarded", trigger="manual", reason=DECLINED))
    why = "not before low tide (preCompact hook ask-harbour)"
    story.add(replace(ended, outcome="vetoed", reason=why))
    story.user("Which of them move?").answer("Easter does.")
    story.add(SessionRewind(to=story.seq - 1))
    return story.add(SessionRestored(cut=story.seq, tokens_before=30_900, tokens_after=31_100))


@looks
@pytest.mark.parametrize("scene", [nothing, in_timeline])
def test_changes_and_what_came_to_nothing(
    look: Compare, size: tuple[int, int], theme: str, scene: Scene
) -> None:
    assert look(size, eventful(), scene, theme)


@looks
@pytest.mark.parametrize("scene", [nothing, in_timeline])
def test_compacted_up_to(look: Compare, size: tuple[int, int], theme: str, scene: Scene) -> None:
    assert look(size, talk().compacted(replace(DONE, up_to_message=6)), scene, theme)


# One message, and what fills the context


@looks
def test_a_message_as_json(look: Compare, size: tuple[int, int], theme: str) -> None:
    async def scene(deck: Deck) -> None:
        deck.transcript.jump_to(4)
        deck.transcript.focus()
        await opens(MessageScreen, "ctrl+o")(deck)
        await deck.press("j")
        await deck.says('"type": "tool.call"')

    assert look(size, talk(), scene, theme)


def large_results() -> Story:
    story = Story("tide").user("When is the tide?")
    for name in ("north.txt", "south.txt", "east.txt", "west.txt"):
        story.tool("read_file", f'{{"path": "{name}"}}', TIDES, tokens=6_000)
    return story.answer("Twice a day.").user("Thank you.").answer("Welcome.")


def saving(deck: Deck) -> str:
    """What the row says of what was saved so far."""
    return next((row for row in deck.rows if "saved so far" in row), "")


async def saved(deck: Deck) -> None:
    """One result is in a file, another one is archived, and a third one is under the cursor."""
    await context_screen(deck)
    for key, told in (("o", "offload"), ("a", "archive")):
        await deck.says("after o: ")
        await deck.press(key)
        await deck.until(lambda told=told: told in saving(deck), told)  # type: ignore[misc]
        # What was done to it cannot be done to it again.
        await deck.until(lambda: "after o: " not in deck.text, "what can be done now")
        await deck.press("home")
    await deck.says("after o: ")


async def by_age(deck: Deck) -> None:
    await saved(deck)
    await deck.press("s")
    await deck.says("by age")


async def searched(deck: Deck) -> None:
    await saved(deck)
    await deck.press("s", "s", "slash", *"tool result")
    await deck.says("with 'tool result'")


@looks
@pytest.mark.parametrize("scene", [saved, by_age, searched])
def test_context_items(look: Compare, size: tuple[int, int], theme: str, scene: Scene) -> None:
    assert look(size, large_results(), scene, theme)
