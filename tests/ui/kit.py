"""The whole app for tests: a home of its own, a folder to talk about, stored sessions, words on screen."""

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

# A key waits until the process is idle, twice; looked at fifty times a second, that is half of a test's time.
_wait.SLEEP_GRANULARITY, _wait.SLEEP_IDLE = 1 / 100, 1 / 2_000
# Nobody watches: frames in between are painted for nothing, a third of a test's work.
textual_screen.UPDATE_PERIOD = 1 / 30

_parse, _known = Stylesheet._parse_rules, dict[tuple[Any, ...], dict[tuple[Any, ...], list[RuleSet]]]()
_of: dict[str, str] = {}
_rules: dict[tuple[Any, ...], list[RuleSet]] = {}


def _parsed_once(sheet: Stylesheet, css: str, *source: Any, **more: Any) -> list[RuleSet]:
    """Parse a style sheet once a process, and not once for each application."""
    global _of, _rules
    # A hundred variables, looked up for each of a hundred sources, take longer than the sources.
    if sheet._variables is not _of:
        _of, _rules = sheet._variables, _known.setdefault(tuple(sheet._variables.items()), {})
    key = (css, *source, *more.items())
    if (rules := _rules.get(key)) is None:
        rules = _rules[key] = _parse(sheet, css, *source, **more)
    return rules


Stylesheet._parse_rules = _parsed_once  # type: ignore[method-assign]
# The same number, without a call of Python for each rule that each widget may match.
RuleSet.__hash__ = object.__hash__  # type: ignore[method-assign]


@contextmanager
def unpainted() -> Iterator[None]:
    """Leave frames out that no terminal shows, a third of a test's work; what a test looks at is painted."""
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
    """An application for a widget alone, with the colours and the looks that it asks for."""

    CSS_PATH = Path(ui.__path__[0]) / "styles" / "widgets.tcss"

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {**super().get_theme_variable_defaults(), **own_variables(self.current_theme)}


def queue_keys(total: int, *, paused: bool, draft: Draft = "") -> str:
    """What the row of a queue says of its keys where it has room."""
    return Waiting(("",) * total, paused=paused, steerable=not paused, draft=draft).keys(100)


def in_plain(text: str) -> str:
    """A line of ours as plain mode paints it."""
    segments = [Segment(text)]
    for each in (SIGNS, DRAWING):
        segments = each.apply(segments, Color(0, 0, 0))
    return "".join(segment.text for segment in segments)


LIMIT_S = 20.0
"""Seconds after which a state that never comes fails the test."""


def timed(dialog: Dialogs, clock: Callable[[], float]) -> Dialogs:
    """A dialog that tells keys apart by another clock."""
    dialog.stray = StrayKeys(clock)
    return dialog


async def _at_rest(pilot: Pilot[Any]) -> bool:
    """Wait until nothing on the screen has a message left, as Textual's own does at twice the work.

    That sends one to each widget and waits for all of them: four of five messages of a test.
    """
    loop, end = asyncio.get_running_loop(), monotonic() + LIMIT_S
    # The engine's thread may have said half of what belongs together.
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
    """Whether it has messages, or is not yet done with one."""
    queue = pump._message_queue
    return not (pump._closing or pump._closed) and (bool(queue.values) or not queue.ready_event._waiters)


Pilot._wait_for_screen = _at_rest  # type: ignore[method-assign]

_FRAMES = re.compile("[\u2500-\u259f]")
WIDE, USUAL, SMALL = (120, 40), (80, 24), (40, 12)


@dataclass
class Desk:
    """Where the program runs: folders, environment, settings."""

    home: Path
    cwd: Path
    env: dict[str, str] = field(default_factory=lambda: {TRUST_VARIABLE: "/", DATE_VARIABLE: "1767323045"})
    # Tools that only look, no sub-agents: the gauge counts what is described, and numbers in tests must stay.
    # The memory of a process that runs thousands of tests is no session's.
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
        """Answer with a scripted server from now on; further servers are only offered."""
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
        """Write a session to the log; its id."""
        self.paths.ensure()
        with self.log() as store:
            session = store.create(story.start, time=NOON)
            if story.events:
                store.append_many(session, story.events)
            return session

    def agent_view(self, session: str) -> list[str]:
        """The messages of the next request, byte for byte as the log has them."""
        view = AgentView()
        with self.log() as store:
            for head in store.heads(session):
                view.apply(head)
            # The words of an edited summary are in the event of the edit.
            events = [head.form[0] if head.form[1] == ALONE else head.seq for head in view.visible()]
            return [store.message(session, seq) or "" for seq in events]


class Deck:
    """The running app: what a person does, and what the screen says."""

    def __init__(self, app: PlimsollApp, pilot: "Pilot[Any]") -> None:
        self.app = app
        self.pilot = pilot

    # What stands on the screen

    @property
    def rows(self) -> list[str]:
        """The lines of the terminal, as they are painted."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip) for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(row.rstrip() for row in self.rows)

    def widget(self, kind: "type[Widget]") -> str:
        """The words of one widget of the chat."""
        found = self.app.chat.query_one(kind)
        return "\n".join(found.render_line(y).text.rstrip() for y in range(found.size.height))

    @property
    def status(self) -> str:
        """The words of the row, behind the sign that hangs left of them."""
        return "\n".join(line[SIGNED:] for line in self.widget(StatusRow).split("\n"))

    @property
    def gauge(self) -> str:
        return self.app.chat.query_one(ContextGauge).load.text

    @property
    def hints(self) -> str:
        return self.widget(HintRow)

    @property
    def queue(self) -> list[str]:
        """What waits, without the row that says what the keys do with it while a turn runs.

        Three spaces stand for those between a prompt and its place.
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
        """Kinds of the rows of the conversation, oldest first."""
        return [entry.kind for entry in self.app.chat.session.presenter.view.entries]

    # What a person does

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def hurry(self, *keys: str) -> None:
        """Press keys that are all there before the first one has acted, as after a moment of standstill."""
        for key in keys:
            self.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await self.settle()

    async def type(self, text: str) -> None:
        """Put a draft in the editor as a paste does: at once, without sending."""
        self.editor.focus()
        self.editor.insert(text)
        await self.settle()

    async def send(self, text: str) -> None:
        """Send a prompt or run a command; one that was refused and came back is cleared first."""
        if self.app.screen is self.app.chat and self.editor.text.startswith("/"):
            self.editor.clear_draft()
        await self.type(text)
        await self.pilot.press("enter")

    async def back(self) -> None:
        """Go from wherever keys have led to an empty prompt; what opened a dialog goes on to no other one."""
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
        """Wait for a state of the screen; the limit only ends a test that has failed already.

        Looks again whenever the screen has worked off its messages. The engine has a thread of its own, so
        between two looks this one lets go of the interpreter.
        """
        end = monotonic() + LIMIT_S
        while not condition():
            assert monotonic() < end, f"never came: {what or condition}\n{self.text}"
            await self.pilot.pause(0.005)
        await self.settle()

    async def settle(self) -> None:
        """Let messages, and those that they cause, be worked off, and paint."""
        for _ in range(3):
            await self.pilot.pause(0)
        # What the bottom row names is asked of the engine.
        for worker in [each for each in self.app.workers if each.group == "row keys"]:
            with suppress(WorkerCancelled, WorkerFailed):
                await worker.wait()
            await self.pilot.pause(0)

    @property
    def words(self) -> str:
        """What stands on the screen without frames and line breaks; folders have names of any length."""
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
        # A model that cannot be built measures nothing; that is told in a notice.
        while session.state.usage != measured and not session.state.notices:
            assert monotonic() < end, f"never came: the gauge\n{self.text}"
            await self.pilot.pause(0.005)
            # What was found on the disk since is counted as well.
            measured = await session.ask(_prepared)
        await self.settle()
        await self.until(lambda: self.app.chat.query_one(ChatHeader).place, "the folder in the header")

    async def idle(self) -> None:
        await self.until(lambda: not self.app.chat.session.state.busy, "an idle screen")

    async def answered(self, count: int = 1) -> None:
        """Wait for that many answers in all, and the end of the turn."""
        await self.until(lambda: self.kinds.count("assistant") >= count, f"{count} answers")
        await self.idle()


def _without_frames(text: str) -> str:
    return " ".join(_FRAMES.sub(" ", text).split())


async def _prepared(opened: Any) -> Any:
    """Building the model is the last thing the engine does before it is at rest; what it measured by then."""
    await opened.prepare()
    return opened.conversation.history.usage()


@asynccontextmanager
async def shown(app: PlimsollApp, size: tuple[int, int] = WIDE) -> AsyncIterator[Deck]:
    """Run the app without a terminal."""
    async with app.run_test(size=size) as pilot:
        deck = Deck(app, pilot)
        await deck.until(lambda: app.chat.is_mounted, "the chat")
        yield deck


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


# What stands on the screen: text with the two colours it is painted in.


@dataclass(frozen=True)
class Run:
    """A piece of a row in one style."""

    text: str
    fore: Color
    back: Color
    y: int
    x: int

    @property
    def says_something(self) -> bool:
        """Whether it holds letters or signs that are read, rather than lines and bars."""
        return any(sign.isalnum() or sign in "?!/+%" for sign in self.text)


def runs(app: "App[Any]") -> Iterator[Run]:
    """All text on the screen, with its colours as they reach the terminal."""
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
