"""One session on the screen: its engine, its log, and what the person may ask of it."""

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

from textual.worker import get_current_worker

from tui_app.conversation.work import Compact, Prompt, Restate, Work
from tui_app.session.lock import SessionLocked
from tui_app.session.preview import heads_after, load_preview
from tui_app.session.store import SessionNotFound
from tui_app.settings import OFFLINE_MODEL, SettingsError, resolve_model
from tui_app.ui.chat_state import ChatState, saying
from tui_app.ui.glyphs import PLAIN, UNICODE, Glyphs
from tui_app.ui.launch import Launch, started
from tui_app.ui.link import Link
from tui_app.ui.presenter import LateBodies, Presenter
from tui_app.ui.widgets.chat_pane import ChatPane
from tui_app.ui.widgets.status import Status

FIRST_RUN = "No key found: offline:extractive quotes your files. /model chooses a model."


class ChatSession:
    """Joins the screen's widgets with one session.

    Args:
        launch: What the program was started with.
        wanted: Id of the session to resume; empty begins a new one.
        presenter: Shows what happens.
        bodies: Where the transcript gets full texts from.
    """

    def __init__(self, launch: Launch, wanted: str, presenter: Presenter, bodies: LateBodies) -> None:
        self.launch = launch
        self.id = wanted
        self.presenter = presenter
        self.bodies = bodies
        self.link = Link(launch.opening(wanted))
        self.read_only = ""
        """Why nothing can be sent; empty when it can."""

    @property
    def state(self) -> ChatState:
        """What the screen shows."""
        return self.presenter.state

    @property
    def glyphs(self) -> Glyphs:
        """The signs to draw with."""
        return PLAIN if self.launch.settings.plain else UNICODE

    @property
    def folder(self) -> Path:
        """The session's own folder."""
        return self.launch.paths.sessions_dir / self.id

    async def show_log(self) -> None:
        """Paint what the log holds, before the agent side is loaded."""
        database = self.launch.paths.database
        try:
            preview = await asyncio.to_thread(load_preview, database, self.id)
        except (SessionNotFound, sqlite3.Error):
            return  # opening it says so, with authority
        self.id = preview.info.id
        self.bodies.attach(database, self.id)
        self.presenter.begin(preview)

    async def run(self) -> None:
        """Open the session and show everything that happens until the screen is left."""
        if self.id:
            await self.show_log()
        else:
            model = self.launch.model or resolve_model(self.launch.settings, self.launch.env)
            self.presenter.update(self._with_model(model))
        # Loading the agent side takes the interpreter away from the screen: the first frame goes before.
        await self.presenter.painted()
        try:
            self.id, model = await self.link.open()
        except SessionLocked as locked:
            self.refuse(f"This session is being written by {locked}: shown read-only.")
            return
        except (SessionNotFound, SettingsError, sqlite3.Error, OSError) as error:
            self.refuse(str(error))
            return
        finally:
            started()
        database = self.launch.paths.database
        self.bodies.attach(database, self.id)
        self.presenter.catch_up(await asyncio.to_thread(heads_after, database, self.id, self.presenter.last))
        self.presenter.update(self._with_model(model))
        worker = get_current_worker()
        async for batch in self.link.records():
            if worker.is_cancelled:
                return
            self.presenter.present(batch)

    def _with_model(self, model: str) -> ChatState:
        return replace(self.state, model=model, policy=self.launch.settings.policy)

    def refuse(self, why: str) -> None:
        """Show the session without letting anything be sent."""
        self.read_only = why
        while text := self.link.take_back_early():
            self.presenter.give_back(text)
        self.presenter.update(replace(self.state, queue=()))
        self.report(why)

    def say(self, text: str) -> None:
        """Put a sentence in the status row; what is under way stays named there."""
        self.presenter.update(saying(self.state, text))

    def report(self, text: str) -> None:
        """Say something that must not be missed: it stays among the notices."""
        self.say(text)
        self.presenter.update(replace(self.state, notices=(*self.state.notices, text)))

    def submit(self, work: Work) -> bool:
        """Ask for something that changes the conversation; whether that was possible."""
        if self.read_only:
            self.say(self.read_only)
            return False
        self.link.submit(work)
        if not self.state.turn and self.link.early:
            self._show_early()
        return True

    def send(self, text: str, pane: ChatPane) -> None:
        """Send a prompt; what cannot be sent stays in the editor."""
        if self.submit(Prompt(text)):
            pane.introduce("")
            pane.transcript.action_last()
        else:
            pane.prompt.editor.give_back(text)

    def compact(self, focus: str = "") -> None:
        """Compact now, or after the running turn."""
        self.submit(Compact(focus))

    def restate(self, *, undo: bool, compaction: int = 0) -> None:
        """Undo or redo a compaction, by its log number; 0 takes the newest."""
        self.submit(Restate(undo, compaction))

    def _show_early(self) -> None:
        self.presenter.update(
            replace(
                self.state,
                queue=self.link.early,
                status=Status(kind="message", text="Loading the model; your prompt is next."),
            )
        )

    async def take_back(self) -> str:
        """Take the newest waiting prompt back."""
        if self.link.ready:
            return await self.link.take_back()
        text = self.link.take_back_early()
        status = self.state.status if self.link.early else Status()
        self.presenter.update(replace(self.state, queue=self.link.early, status=status))
        return text

    def is_first_run(self) -> bool:
        """Whether nobody has chosen a model yet, so that the embedded one answers."""
        model = self.launch.model or resolve_model(self.launch.settings, self.launch.env)
        return not self.id and model == OFFLINE_MODEL

    async def close(self) -> None:
        """Leave the session."""
        await self.link.close()
        self.bodies.close()
