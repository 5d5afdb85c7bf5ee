"""Looks of the chat."""

import os
from dataclasses import replace
from typing import Any

import pytest
from textual.app import ComposeResult
from textual.events import Paste
from textual.widgets import Static

from tests.servers.behaviours import Failure, Text, pieces, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.app.scenes import (
    DONE,
    Scene,
    compacted_talk,
    context_screen,
    found,
    in_timeline,
    long_question,
    nothing,
    one_message,
    rewound,
    talk,
)
from tests.ui.app.story import MODEL, NOON, Story
from tests.ui.kit import SMALL, WIDE, Deck, Desk, ThemedApp, write_files
from tests.ui.looks import Look, Looks, sizes
from tui_app.events import DECLINED, Error, ModelChange, SessionRestored, SessionRewind, Truncation
from tui_app.session.lock import WriterLock
from tui_app.session.measurement import UNKNOWN
from tui_app.session.workspace import SessionFolder
from tui_app.ui.approvals import ApprovalBox
from tui_app.ui.colours.themes import THEMES
from tui_app.ui.panels.gauge import ContextGauge
from tui_app.ui.panels.output_tail import OutputTail
from tui_app.ui.panels.status import StatusRow
from tui_app.ui.prompt.completion import OfferList
from tui_app.ui.prompt.row import AttachedRow
from tui_app.ui.words.load import Load
from tui_app.usage import Breakdown, ContextUsage, ContextWindow


async def test_first_run(desk: Desk, looks: Looks) -> None:
    await looks(desk.app(), Deck.ready)


async def test_chat_with_tools(look: Look) -> None:
    await look(talk(), nothing)


async def test_chat_at_40x12(look: Look) -> None:
    await look(talk(), nothing, [SMALL], ["dark"])


@pytest.mark.parametrize("share", [82, 97])
async def test_gauge(look: Look, share: int) -> None:
    await look(talk(128_000 * share // 100), nothing)


async def test_error(look: Look) -> None:
    story = Story("hello").user("hello")
    error = Error(
        kind="auth",
        message="The key for openai was refused.",
        hint="Set OPENAI_API_KEY to a valid key, then send again.",
        detail="401",
    )
    await look(story.add(error), nothing)


async def test_left_behind(look: Look) -> None:
    await look(rewound(), nothing)


async def test_command_list(look: Look) -> None:
    async def scene(deck: Deck) -> None:
        await deck.press("slash")

    await look(talk(), scene)


async def test_file_list(desk: Desk, look: Look) -> None:
    write_files(desk.cwd, {"holidays of 2026.csv": "easter", "notes.md": "x" * 900, "[bold]odd.md": ""})

    async def scene(deck: Deck) -> None:
        await deck.type("Compare @notes.md with @")
        await deck.until(lambda: deck.app.chat.query_one(OfferList).is_open, "the list")
        await deck.until(lambda: deck.app.chat.query_one(AttachedRow).bundles, "what goes along")
        await deck.press("down", "down")

    await look(talk(), scene)


async def test_attached(desk: Desk, look: Look) -> None:
    write_files(desk.cwd, {"notes.md": "x" * 900})

    async def scene(deck: Deck) -> None:
        await deck.type("Compare @notes.md and @gone.md with ")
        deck.editor.post_message(Paste("\n".join(f"row {number}" for number in range(63))))
        await deck.until(lambda: len(deck.app.chat.query_one(AttachedRow).bundles) == 3, "what goes along")

    await look(talk(), scene)


async def test_plain(desk: Desk, look: Look) -> None:
    desk.change(plain=True)
    await look(compacted_talk(), nothing, [WIDE], ["dark"])


@sizes
async def test_waiting_prompts(look: Look, size: tuple[int, int]) -> None:
    """The queue above the editor during an answer."""

    async def scene(deck: Deck) -> None:
        session = deck.app.chat.session
        status = replace(session.state.status, kind="answering", started=0.0, tokens=214)
        waiting = ("and now also handle public holidays", "then\nrun the tests", "/compact")
        session.presenter.update(replace(session.state, queue=waiting, turn=True, status=status))
        row = deck.app.chat.query_one("#status")
        row._clock = lambda: 6.0  # type: ignore[attr-defined]
        row.refresh()

    await look(talk(), scene, [size])


WINDOW = ContextWindow(limit=128_000, source="server")


def used(share: float, *, exact: bool = True) -> ContextUsage:
    parts = Breakdown(user=int(WINDOW.limit * share))
    return ContextUsage(parts=parts, window=WINDOW, messages=2, exact=exact)


GAUGES: list[tuple[str, dict[str, Any]]] = [
    ("calm, estimated", {"usage": used(0.1, exact=False)}),
    ("calm, as reported", {"usage": used(0.52)}),
    ("a draft is added", {"usage": used(0.52), "pending": 20_000}),
    ("near", {"usage": used(0.82)}),
    ("near, compacting in the background", {"usage": used(0.82), "leaving": 60_000}),
    ("full", {"usage": used(0.97)}),
    ("more than fits", {"usage": used(1.024)}),
    ("nothing measured yet", {}),
    (
        "a model whose limit nobody knows",
        {"usage": replace(used(0.52), window=UNKNOWN)},
    ),
    ("a policy that compacts nothing", {"usage": used(0.52), "background": 0.0, "blocking": 0.0}),
]


class Gauges(ThemedApp):
    """All states of the gauge, each below its name."""

    CSS = "Static { color: $text-muted; } ContextGauge { margin-bottom: 1; }"

    def compose(self) -> ComposeResult:
        for name, values in GAUGES:
            yield Static(name, markup=False)
            gauge = ContextGauge()
            gauge.load = Load(**values)
            yield gauge

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        if self.size.height < 3 * len(GAUGES):
            self.query(ContextGauge).set_styles("margin: 0;")


@sizes
async def test_gauges(looks: Looks, size: tuple[int, int]) -> None:
    await looks(Gauges(), sizes=[size])


pytestmark = pytest.mark.usefixtures("later")
ASKED = "and now also handle public holidays"


WRITTEN = (
    "Public holidays move from year to year, so the import needs a **table** of them:\n\n"
    "1. Good Friday and Easter Monday move with the moon.\n2. The others stay where they are.\n\n"
    "The ferries go on these days " + "as on a Sunday, unless the harbour says so, " * 80
)


def after(deck: Deck, seconds: float) -> None:
    """Set the status row's clock to so many seconds after its start."""
    row = deck.app.chat.query_one(StatusRow)
    row._clock = lambda: row.status.started + seconds
    row.refresh()


async def test_answering(desk: Desk, look: Look, fake_openai: FakeOpenAI) -> None:
    """The gauge shows the tokens received so far in a lighter colour; the answer has not ended."""
    said = pieces(WRITTEN)[:-4]
    desk.serve(fake_openai, window=8_000)
    fake_openai.add(Text(WRITTEN, hold=Signal(), hold_after=len(said)))

    async def scene(deck: Deck) -> None:
        await deck.send(ASKED)
        await (await fake_openai.request(1)).paused.wait()
        streamed = len("".join(said))
        await deck.until(lambda: deck.app.chat.session.state.streamed == streamed, "all that was sent")
        await deck.until(lambda: deck.status.startswith("Answering"), "the status")
        assert deck.app.chat.query_one(ContextGauge).load.pending >= streamed // 5
        assert deck.app.chat.session.state.background is None, "nothing else goes on"
        after(deck, 6)

    await look(talk(0), scene)


async def test_trying_again(desk: Desk, look: Look, fake_openai: FakeOpenAI) -> None:
    desk.change(retries=4)
    fake_openai.fallback = Failure(429, {"error": {"message": "Rate limit reached"}}, {"retry-after": "90"})

    async def scene(deck: Deck) -> None:
        await deck.send(ASKED)
        await deck.says("Trying again in")
        after(deck, 6)
        await deck.says("try 2 of 5")

    await look(talk(), scene)


async def test_running(desk: Desk, look: Look, fake_openai: FakeOpenAI) -> None:
    """A command has printed more lines than are shown, and waits for input from a pipe."""
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

    await look(talk(), scene)


async def test_read_only(desk: Desk, fake_openai: FakeOpenAI, looks: Looks) -> None:
    session = desk.serve(fake_openai).change(model=MODEL).store(talk())
    lock_file = SessionFolder(desk.paths.sessions_dir / session).lock_file
    with WriterLock(lock_file):
        # The message contains the time at which the other window opened.
        os.utime(lock_file, (NOON, NOON))

        async def play(deck: Deck) -> None:
            await deck.says("read-only here")
            await deck.says("10% of 128k · 12.8k · ok")
            await deck.says("1 notice")
            await deck.settle()

        await looks(desk.app(session), play)


def eventful() -> Story:
    """A conversation with many changes, several of them undone."""
    story = talk().add(ModelChange(old="dinghy:scripted", new=MODEL, limit=128_000))
    cut = Truncation(
        tokens_before=41_000, tokens_after=31_000, messages_before=9, messages_after=7,
        tokens_removed=10_000, messages_removed=2,
    )  # fmt: skip
    story.user(ASKED, 12_000).add(cut).answer("They are rows as well.", reported=31_000)
    ended = replace(DONE, facts=(), removed=(), summary="", title="", retention=None, cost_usd=None)
    story.add(replace(ended, outcome="discarded", trigger="manual", reason=DECLINED))
    why = "not before low tide (preCompact hook ask-harbour)"
    story.add(replace(ended, outcome="vetoed", reason=why))
    story.user("Which of them move?").answer("Easter does.")
    story.add(SessionRewind(to=story.seq - 1))
    return story.add(SessionRestored(cut=story.seq, tokens_before=30_900, tokens_after=31_100))


@sizes
@pytest.mark.parametrize("scene", [nothing, in_timeline])
async def test_changes_and_what_came_to_nothing(look: Look, size: tuple[int, int], scene: Scene) -> None:
    await look(eventful(), scene, [size])


async def marked(deck: Deck) -> None:
    deck.transcript.jump_to(2)
    deck.transcript.focus()
    await deck.press("p")
    await deck.says("⚑ pinned")
    await deck.press("v", "shift+down", "shift+down")
    await deck.says("3 marked")


async def marked_items(deck: Deck) -> None:
    await context_screen(deck)
    await deck.press("space", "space")
    await deck.says("2 marked")


@sizes
@pytest.mark.parametrize("scene", [found, marked, one_message, long_question, marked_items])
async def test_reading_and_steering(look: Look, size: tuple[int, int], scene: Scene) -> None:
    await look(talk(), scene, [size])
