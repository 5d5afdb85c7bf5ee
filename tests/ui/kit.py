"""Kit for running the whole app: a home, a workspace, stored sessions, and the text on the screen."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any, Self, TypeVar
from unittest import mock

from rich.color import Color as RichColor
from rich.console import RenderableType
from rich.segment import Segment
from textual import _wait, events
from textual import screen as textual_screen
from textual._compositor import Compositor
from textual.app import App
from textual.color import Color
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.widget import Widget
from textual.worker import WorkerCancelled, WorkerFailed

import tests.tool_schemas  # noqa: F401
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import NOON, Story
from tui_app import ui
from tui_app.conversation.requests.project_context import DATE_VARIABLE
from tui_app.paths import Paths
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.views.agent_view import ALONE, AgentView
from tui_app.settings import Endpoint, Settings
from tui_app.system.trust import TRUST_VARIABLE
from tui_app.ui.app import PlimsollApp
from tui_app.ui.colours.themes import own_variables
from tui_app.ui.dialogs.dialog import Dialog
from tui_app.ui.host import FLOW
from tui_app.ui.keyboard.stray_keys import StrayKeys
from tui_app.ui.launch import Launch
from tui_app.ui.panels.gauge import ContextGauge
from tui_app.ui.panels.header import ChatHeader
from tui_app.ui.panels.queue_view import Draft, QueueView, Waiting
from tui_app.ui.panels.status import SIGNED, StatusRow
from tui_app.ui.prompt.editor import PromptEditor
from tui_app.ui.transcript.transcript import Transcript
from tui_app.ui.widgets.hint_row import HintRow
from tui_app.ui.widgets.widgets import DRAWING, SIGNS

# Textual waits for an idle process twice per key. Its 50 Hz polling takes half of a test's time.
_wait.SLEEP_GRANULARITY, _wait.SLEEP_IDLE = 1 / 100, 1 / 2_000
# Intermediate frames take a third of a test's time, and nothing displays them.
textual_screen.UPDATE_PERIOD = 1 / 30

_parse, _known = Stylesheet._parse_rules, dict[tuple[Any, ...], dict[tuple[Any, ...], list[RuleSet]]]()
_of: dict[str, str] = {}
_rules: dict[tuple[Any, ...], list[RuleSet]] = {}


def _parsed_once(sheet: Stylesheet, css: str, *source: Any, **more: Any) -> list[RuleSet]:
    """Parse each style sheet once per process instead of once per app."""
    global _of, _rules
    # Comparing a hundred variables for each of a hundred sources is slower than parsing them.
    if sheet._variables is not _of:
        _of, _rules = sheet._variables, _known.setdefault(tuple(sheet._variables.items()), {})
    key = (css, *source, *more.items())
    if (rules := _rules.get(key)) is None:
        rules = _rules[key] = _parse(sheet, css, *source, **more)
    return rules


Stylesheet._parse_rules = _parsed_once  # type: ignore[method-assign]
# The same hash, computed in C: it is needed for each rule that a widget may match.
RuleSet.__hash__ = object.__hash__  # type: ignore[method-assign]


@contextmanager
def unpainted() -> Iterator[None]:
    """Skip partial repaints, a third of a test's time. Tests that inspect the screen paint it completely."""
    paint = Compositor.render_update

    def of_whole_screens(
        compositor: Compositor, full: bool = False, *more: Any, **named: Any
    ) -> RenderableType | None:
        if full:
            return paint(compositor, full, *more, **named)
        compositor._dirty_regions.clear()
        return None

    with mock.patch.object(Compositor, "render_update", of_whole_screens):
        yield


Dialogs = TypeVar("Dialogs", bound=Dialog[Any])


class ThemedApp(App[None]):
    """An app for a single widget, with the colours and styles it needs."""

    CSS_PATH = Path(ui.__path__[0]) / "styles" / "widgets.tcss"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {**super().get_theme_variable_defaults(), **own_variables(self.current_theme)}


def queue_keys(total: int, *, paused: bool, draft: Draft = "") -> str:
    """The queue's key hints at full width."""
    return Waiting(("",) * total, paused=paused, steerable=not paused, draft=draft).keys(100)


def in_plain(text: str) -> str:
    """A line of ours as painted in plain mode."""
    segments = [Segment(text)]
    for each in (SIGNS, DRAWING):
        segments = each.apply(segments, Color(0, 0, 0))
    return "".join(segment.text for segment in segments)


LIMIT_S = 20.0
"""Timeout in seconds after which waiting fails the test."""


def timed(dialog: Dialogs, clock: Callable[[], float]) -> Dialogs:
    """Make a dialog judge stray keys by another clock."""
    dialog.stray = StrayKeys(clock)
    return dialog


async def _at_rest(pilot: Pilot[Any]) -> bool:
    """Wait until no widget has pending messages, with half the work of Textual's own wait.

    Textual's version sends a message to each widget and waits for all: four of five messages in a test.
    """
    loop, end = asyncio.get_running_loop(), monotonic() + LIMIT_S
    # The engine's thread may have sent only part of a group of events.
    await asyncio.sleep(0.001)
    while not pilot.app._exception_event.is_set():
        if loop._ready:  # type: ignore[attr-defined]
            await asyncio.sleep(0)
        elif any(_works(each) for each in (pilot.app, *pilot.app.screen.walk_children(with_self=True))):
            await asyncio.sleep(0.001)
        else:
            return True
        assert monotonic() < end, "never at rest"
    return False


def _works(pump: MessagePump) -> bool:
    """Whether a widget has pending messages, or is processing one."""
    queue = pump._message_queue
    return not (pump._closing or pump._closed) and (bool(queue.values) or not queue.ready_event._waiters)


Pilot._wait_for_screen = _at_rest  # type: ignore[method-assign]

_FRAMES = re.compile("[\u2500-\u259f]")
WIDE, USUAL, SMALL = (120, 40), (80, 24), (40, 12)


@dataclass
class Desk:
    """The program's environment: folders, variables, settings."""

    home: Path
    cwd: Path
    env: dict[str, str] = field(default_factory=lambda: {TRUST_VARIABLE: "/", DATE_VARIABLE: "1767323045"})
    # Read-only tools and no sub-agents: tool descriptions count in the gauge, whose numbers tests compare.
    # The memory guard is off, because a process that runs thousands of tests is larger than any session.
    settings: Settings = field(
        default_factory=lambda: Settings(
            animations=False, retries=0, memory_limit_mb=0, read_only=True, explore={"enabled": False}
        )
    )

    @property
    def paths(self) -> Paths:
        return Paths.from_env({"PLIMSOLL_HOME": str(self.home)})

    def change(self, **settings: Any) -> Self:
        self.settings = replace(self.settings, **settings)
        return self

    def serve(self, server: FakeOpenAI, *, window: int | None = 128_000, name: str = "harbour") -> Self:
        """Use a scripted server as the model from now on; further servers are only listed."""
        endpoint = Endpoint(name=name, base_url=server.base_url, window=window)
        endpoints = {**self.settings.endpoints, name: endpoint}
        return self.change(endpoints=endpoints, model=self.settings.model or f"{name}:scripted")

    def launch(self, session: str = "", **more: Any) -> Launch:
        self.env.setdefault("HOME", str(self.cwd.parent))
        return Launch(
            settings=self.settings,
            paths=self.paths,
            env=self.env,
            cwd=self.cwd,
            session=session,
            **more,
        )

    def app(self, session: str = "", **more: Any) -> PlimsollApp:
        app = PlimsollApp(self.launch(session, **more))
        app.animation_level = "none"
        return app

    @contextmanager
    def log(self) -> Iterator[SqliteStore]:
        store = SqliteStore(self.paths.database)
        try:
            yield store
        finally:
            store.close()

    def store(self, story: "Story") -> str:
        """Write a session to the log, and return its id."""
        self.paths.ensure()
        with self.log() as store:
            session = store.create(story.start, time=NOON)
            if story.events:
                store.append_many(session, story.events)
            return session

    def agent_view(self, session: str) -> list[str]:
        """The messages of the next request, byte for byte as in the log."""
        view = AgentView()
        with self.log() as store:
            for head in store.heads(session):
                view.apply(head)
            # An edited summary's text is in the event of the edit.
            events = [head.form[0] if head.form[1] == ALONE else head.seq for head in view.visible()]
            return [store.message(session, seq) or "" for seq in events]


class Deck:
    """The running app: the user's actions, and what the screen shows."""

    def __init__(self, app: PlimsollApp, pilot: "Pilot[Any]") -> None:
        self.app = app
        self.pilot = pilot

    # What is on the screen

    @property
    def rows(self) -> list[str]:
        """The painted lines of the terminal."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip) for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(row.rstrip() for row in self.rows)

    def widget(self, kind: "type[Widget]") -> str:
        """The text of one widget of the chat."""
        found = self.app.chat.query_one(kind)
        return "\n".join(found.render_line(y).text.rstrip() for y in range(found.size.height))

    @property
    def status(self) -> str:
        """The text of the status row, without the sign to its left."""
        return "\n".join(line[SIGNED:] for line in self.widget(StatusRow).split("\n"))

    @property
    def gauge(self) -> str:
        return self.app.chat.query_one(ContextGauge).load.text

    @property
    def hints(self) -> str:
        return self.widget(HintRow)

    @property
    def queue(self) -> list[str]:
        """The queued prompts, without the key hints shown during a turn.

        Columns between a prompt and its position are reduced to three spaces.
        """
        rows = [re.sub("  +", "   ", row[SIGNED:]).rstrip() for row in self.widget(QueueView).splitlines()]
        return [row for row in rows if row.strip() and not row.startswith("enter ")]

    @property
    def transcript(self) -> Transcript:
        return self.app.chat.pane.transcript

    @property
    def editor(self) -> PromptEditor:
        return self.app.chat.pane.prompt.editor

    @property
    def kinds(self) -> list[str]:
        """Kinds of the transcript's rows, oldest first."""
        return [entry.kind for entry in self.app.chat.session.presenter.view.entries]

    # The user's actions

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def hurry(self, *keys: str) -> None:
        """Queue all keys before the first is handled, as after a moment in which the app did not respond."""
        for key in keys:
            self.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await self.settle()

    async def type(self, text: str) -> None:
        """Put a draft into the editor at once, as a paste does, without sending."""
        self.editor.focus()
        self.editor.insert(text)
        await self.settle()

    async def send(self, text: str) -> None:
        """Send a prompt or run a command; a refused prompt that came back is cleared first."""
        if self.app.screen is self.app.chat and self.editor.text.startswith("/"):
            self.editor.clear_draft()
        await self.type(text)
        await self.pilot.press("enter")

    async def back(self) -> None:
        """Return to an empty prompt from any screen; cancelled dialogs open no further ones."""
        for worker in self.app.workers:
            if worker.group == FLOW:
                worker.cancel()
        while self.app.screen is not self.app.chat:
            self.app.screen.dismiss(None)
            await self.settle()
        self.editor.text = ""
        self.editor.focus()

    # Waiting

    async def until(self, condition: Callable[[], object], what: str = "") -> None:
        """Wait for a state of the screen; the timeout only ends a test that has failed already.

        Checks after the screen has processed its messages. The engine runs in its own thread, so this one
        releases the interpreter between two checks.
        """
        end = monotonic() + LIMIT_S
        while not condition():
            assert monotonic() < end, f"never came: {what or condition}\n{self.text}"
            await self.pilot.pause(0.005)
        await self.settle()

    async def settle(self) -> None:
        """Process all pending messages, including those they cause, and paint."""
        for _ in range(3):
            await self.pilot.pause(0)
        # The bottom row asks the engine for the names it shows.
        for worker in [each for each in self.app.workers if each.group == "row keys"]:
            with suppress(WorkerCancelled, WorkerFailed):
                await worker.wait()
            await self.pilot.pause(0)

    @property
    def words(self) -> str:
        """The text on the screen without frames and line breaks, so that long folder names do not matter."""
        return _without_frames(self.text)

    async def says(self, words: str) -> None:
        def told() -> bool:
            text = self.text
            return words in text or words in _without_frames(text)

        await self.until(told, f"{words!r} on the screen")

    async def ready(self) -> None:
        """Wait for the agent side and the tokenizer."""
        await self.until(lambda: self.app.chat.is_ready, "the chat")
        session = self.app.chat.session
        await self.until(lambda: session.state.usage is not None and session.conversation, "the agent side")
        end, measured = monotonic() + LIMIT_S, await session.ask(_prepared)
        # A model that cannot be built measures nothing; a notice reports it.
        while session.state.usage != measured and not session.state.notices:
            assert monotonic() < end, f"never came: the gauge\n{self.text}"
            await self.pilot.pause(0.005)
            # Includes everything found on disk since.
            measured = await session.ask(_prepared)
        await self.settle()
        await self.until(lambda: self.app.chat.query_one(ChatHeader).place, "the folder in the header")

    async def idle(self) -> None:
        await self.until(lambda: not self.app.chat.session.state.busy, "an idle screen")

    async def answered(self, count: int = 1) -> None:
        """Wait for a total number of answers, and for the end of the turn."""
        await self.until(lambda: self.kinds.count("assistant") >= count, f"{count} answers")
        await self.idle()


def _without_frames(text: str) -> str:
    return " ".join(_FRAMES.sub(" ", text).split())


async def _prepared(opened: Any) -> Any:
    """The measurement once the engine is idle: building the model is the last thing it does."""
    await opened.prepare()
    return opened.conversation.history.usage()


@asynccontextmanager
async def shown(app: PlimsollApp, size: tuple[int, int] = WIDE) -> AsyncIterator[Deck]:
    """Run the app headless."""
    async with app.run_test(size=size) as pilot:
        deck = Deck(app, pilot)
        await deck.until(lambda: app.chat.is_mounted, "the chat")
        yield deck


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


# Text on the screen with its foreground and background colours.


@dataclass(frozen=True)
class Run:
    """A part of a row in one style."""

    text: str
    fore: Color
    back: Color
    y: int
    x: int

    @property
    def says_something(self) -> bool:
        """Whether it contains readable characters, not only lines and bars."""
        return any(sign.isalnum() or sign in "?!/+%" for sign in self.text)


def runs(app: "App[Any]") -> Iterator[Run]:
    """All text on the screen with the colours that reach the terminal."""
    for y, strip in enumerate(app.screen._compositor.render_strips()):
        x = 0
        for segment in strip:
            if segment.style is not None and segment.text.strip():
                style = segment.style
                fore, back = _colour(style.color, app), _colour(style.bgcolor, app)
                if style.reverse:
                    fore, back = back, fore
                if style.dim:
                    fore = fore.blend(back, 0.5)
                yield Run(segment.text, fore, back, y, x)
            x += segment.cell_length


def _colour(colour: RichColor | None, app: "App[Any]") -> Color:
    assert colour is not None, "every cell is painted"
    assert not colour.is_default, "every cell has a colour of the theme"
    return Color(*colour.get_truecolor(app.ansi_theme))
