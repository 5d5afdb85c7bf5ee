"""The demo: its session, the guiding row above the prompt, and how it is entered and left."""

import asyncio
import atexit
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget

from tui_app.chat_keys import in_force
from tui_app.conversation.work import Prompt
from tui_app.demo.stage import MODEL, Stage, recorded_prompts, set_up
from tui_app.demo.tour import STEPS, WRITERS, Progress, Signal, TourHint, advance, next_hint, signal_of
from tui_app.events import CompactionComplete, Record
from tui_app.ui.dialogs.actions import may_leave
from tui_app.ui.dialogs.compaction import CompactionDetail
from tui_app.ui.dialogs.compactions.context import ContextScreen
from tui_app.ui.launch import DemoOrigin, Launch
from tui_app.ui.widgets.tables import MUTED, spread
from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.text import one_line

if TYPE_CHECKING:
    from tui_app.ui.chat.session import ChatSession
    from tui_app.ui.host import Chat, Host

_MARK, _GAP = 2, 2
"""Cells of the leading sign, and between two pieces."""


def hint_pieces(hint: TourHint, width: int, way_out: str) -> tuple[str, str, str, str]:
    """Fit the guiding row to a width: the step, the key, why, and how to leave.

    If space is short, the reason is shortened first, then how to leave is dropped; the key stays.
    """
    place = f"Demo {hint.number} of {STEPS}" if hint.number else "Demo"
    least = f"{hint.number}/{STEPS}" if hint.number else "Demo"
    for why, out in ((hint.text, way_out), (hint.short, way_out), (hint.short, "")):
        words = [place, f"{hint.key} {why}".strip(), *filter(None, [out])]
        if _MARK + sum(map(cell_len, words)) + _GAP * (len(words) - 1) <= width:
            return place, hint.key, why, out
    room = width - _MARK - cell_len(least) - _GAP - (cell_len(hint.key) + 1 if hint.key else 0)
    return least, hint.key, one_line(hint.short, max(1, room)), ""


class TourRow(Widget):
    """A row of text directly above the prompt."""

    hint: reactive[TourHint | None] = reactive(None)

    def render(self) -> Content:
        if self.hint is None:
            return Content("")
        place, key, text, way_out = hint_pieces(self.hint, self.size.width, "esc esc leaves")
        leave, between, does = way_out.rpartition(" ")
        mark, where = (UNICODE.load_line, "$text-accent"), (f" {place}  ", "bold")
        left = Content.assemble(mark, where, (f"{key} " if key else "", "bold"), (text, MUTED))
        out = Content.assemble((leave, "$foreground"), (f"{between}{does}", MUTED))
        return spread(left, out, self.size.width)


class Guide:
    """Plays the recording, and shows what to try next.

    Args:
        chat: The screen of the demo's session.
        stage: The demo's stage.
    """

    def __init__(self, chat: "Chat", stage: Stage) -> None:
        self.progress = Progress()
        self._session, self._stage = chat.session, stage
        self._prompts = recorded_prompts()
        self._row = TourRow(id="tour")
        keymap = chat.session.launch.settings.keymap
        self._keys = {key.id.removeprefix("chat."): key.label for key in in_force(keymap)}
        chat.pane.mount(self._row, before=chat.pane.prompt)
        chat.session.followers.append(self.follow)
        chat.app.screen_change_signal.subscribe(chat, self._see, immediate=True)
        self._say()
        self._play()

    def follow(self, record: Record) -> None:
        """Advance if an event completes the current step."""
        signal = signal_of(record.data)
        marked = (record.data.claims_marked or 0) if isinstance(record.data, CompactionComplete) else 0
        if signal is not None:
            self._advance(signal, marked)
        if signal == "played" and self.progress.step == "fill" and not self._session.state.queue:
            if self.progress.played >= len(self._prompts):
                self._advance("filled")
            else:
                self._play()
        self._say()

    def _see(self, screen: "Screen[object]") -> None:
        if isinstance(screen, CompactionDetail):
            self._advance("looked")
        elif isinstance(screen, ContextScreen):
            self._advance("measured")
        self._say()

    def _advance(self, signal: Signal, marked: int = 0) -> None:
        self.progress = advance(self.progress, signal, marked=marked)
        self._stage.pace.writer = WRITERS.get(self.progress.step, "honest")

    def _play(self) -> None:
        self._session.submit(Prompt(self._prompts[self.progress.played]))

    def _say(self) -> None:
        usage = self._session.state.usage
        percent = f"{usage.utilization:.0%}" if usage is not None else "0%"
        total = len(self._prompts)
        self._row.hint = next_hint(self.progress, percent=percent, total=total, keys=self._keys)


def on_stage(launch: Launch, stage: Stage, outside: DemoOrigin | None = None) -> Launch:
    """Return the launch options of a demo session.

    Args:
        launch: The program's launch options.
        stage: The demo's stage.
        outside: Where leaving it leads; None quits.
    """
    return Launch(
        settings=stage.settings(launch.settings),
        paths=stage.paths,
        env=stage.env(launch.env),
        cwd=stage.project,
        trust=True,
        model=MODEL,
        stage=stage,
        outside=outside,
    )


async def toggle_demo(app: "Host", session: "ChatSession") -> None:
    """Start the demo, or return to where it was started."""
    if (stage := session.launch.stage) is not None:
        if (outside := session.launch.outside) is None:
            app.exit()
            return
        # A prompt restored by a rewind belongs to the demo.
        app.chat.pane.prompt.editor.clear_draft()
        app.launch = outside.launch
        app.open_session(outside.session)
        app.run_worker(_remove_folder(session, stage), group="demo")
        return
    if not await may_leave(app, session):
        return
    try:
        stage = await asyncio.to_thread(set_up)
    except OSError as error:
        why = error.strerror or error
        session.reply(f"The demo needs a folder of its own: {why}. Free some space first.")
        return
    # However the program ends.
    atexit.register(stage.remove)
    # A session without messages is deleted when it is left.
    back = session.id if session.presenter.view.entries else ""
    app.launch = on_stage(session.launch, stage, DemoOrigin(session.launch, back))
    app.open_session("")


async def _remove_folder(session: "ChatSession", stage: Stage) -> None:
    """Remove the demo's folder once the session has ended."""
    await session.engine.stop()
    await asyncio.to_thread(stage.remove)
