"""One session on the screen: its engine, its log, and what the person may ask of it."""

import asyncio
import sqlite3
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from textual.worker import Worker, get_current_worker

from tui_app.context.storage_errors import storage_error
from tui_app.conversation.work import Prompt, Work
from tui_app.events import MemoryPressure, Record, SessionRestored, SessionRewind, UserMessage
from tui_app.session.lock import SessionLocked
from tui_app.session.port import SessionNotFound
from tui_app.session.preview import heads_after
from tui_app.session.stats_reader import StatsReader
from tui_app.settings import SettingsError
from tui_app.ui.chat_state import ChatState, loading, still_loading
from tui_app.ui.following import Following
from tui_app.ui.glyphs import PLAIN, UNICODE, Glyphs
from tui_app.ui.keys import Locked
from tui_app.ui.known_window import preview_of, with_window
from tui_app.ui.late_bodies import LateBodies
from tui_app.ui.launch import Launch, begun_elsewhere, started
from tui_app.ui.link import Link
from tui_app.ui.looking_on import TAKEN_OVER, WRITTEN_ELSEWHERE, LookingOn
from tui_app.ui.persistence import persistently
from tui_app.ui.presenter import Presenter
from tui_app.ui.telling import Telling
from tui_app.ui.unsent import Unsent
from tui_app.ui.widgets.chat_pane import ChatPane


class ChatSession(Telling):
    """Joins the screen's widgets with one session.

    Args:
        launch: What the program was started with.
        wanted: Id of the session to resume; empty begins a new one.
        presenter: Shows what happens.
        bodies: Where the transcript gets full texts from.
    """

    def __init__(self, launch: Launch, wanted: str, presenter: Presenter, bodies: LateBodies) -> None:
        super().__init__(presenter)
        self.launch = launch
        self.id = wanted
        presenter.setting, presenter.policy = launch.settings.window, launch.settings.policy
        self.bodies = bodies
        bodies.announce(presenter.redraw)
        self.link = Link(launch.opening(wanted))
        self._begun = ""
        """That the session goes on in another folder than its own; empty where it does not."""
        self.unsent = Unsent(launch.paths, launch.cwd)
        """What was said and is in no log yet."""
        self._refused = ""
        self.away: Worker[Any] | None = None
        """What leads to another session, where that was asked for last."""
        self.back_asked = float("-inf")
        """When Esc was pressed with nothing to stop, in monotonic seconds."""
        self.at = 0
        """Log number of the message to begin at; 0 begins at the newest."""
        self._looking_on: LookingOn | None = None
        """Shows what another window writes, while this one only reads."""

    @property
    def is_leaving(self) -> bool:
        """Whether the person has asked for another session and may get it any moment."""
        return self.away is not None and not self.away.is_finished

    @property
    def glyphs(self) -> Glyphs:
        """The signs to draw with."""
        return PLAIN if self.launch.settings.plain else UNICODE

    @property
    def folder(self) -> Path:
        """The session's own folder."""
        return self.launch.paths.sessions_dir / self.id

    @property
    def read_only(self) -> str:
        """Why nothing can be sent now; empty when it can, or the window that wrote the session has let go."""
        return self._refused if self._looking_on is None else self._looking_on.refusal

    async def show_log(self) -> None:
        """Paint what the log holds, before the agent side is loaded."""
        database = self.launch.database
        try:
            preview = await asyncio.to_thread(preview_of, self.launch, self.id)
            await self.bodies.attach(database, preview.info.id)
        except (SessionNotFound, sqlite3.Error):
            return  # opening it says so, with authority
        self.id = preview.info.id
        self._begun = begun_elsewhere(preview.info.cwd, self.launch.cwd)
        self.presenter.begin(preview)

    async def run(self) -> None:
        """Open the session and show everything that happens until the screen is left."""
        if self.id:
            await self.show_log()
        else:
            self.presenter.update(self._with(self.launch.first_model, self.launch.settings.policy))
        # Loading the agent side takes the interpreter away from the screen: what is known is painted before.
        await self.presenter.painted()
        self.presenter.jump_to(self.at)
        self.presenter.on_typing(self.unsent.changed)
        self.unsent.changed()  # a draft may have come along
        self.presenter.remember(await asyncio.to_thread(self.unsent.recall))
        try:
            model, policy = await self._open()
        except (SessionNotFound, SettingsError, sqlite3.Error, OSError) as error:
            self._refused = str(storage_error(error, self.launch.paths.database) or error)
            self.refuse(self._refused)
            # A turn may have begun: nobody would see what it does and costs.
            await self.link.close()
            return
        self.presenter.update(self._with(model, policy))
        if self._begun:
            self.report(self._begun)
        worker = get_current_worker()
        async for batch in self.link.records():
            if worker.is_cancelled:
                return
            self.bodies.note(batch)
            self.presenter.present(batch)
            for record in batch:
                await self._follow(record)

    async def _follow(self, record: Record) -> None:
        """Do what an event asks of the screen besides being shown."""
        if arrived := self.unsent.follow(record):
            await asyncio.to_thread(self.unsent.forget, arrived)
        match record.data:
            case MemoryPressure():
                self.bodies.shed()
            case SessionRewind(to=to, failed=False, again=False):
                self.presenter.give_back(await self._prompt(to))
            case SessionRestored(cut=cut):
                rewind = await self.bodies.record(cut)
                if rewind is not None and isinstance(rewind.data, SessionRewind):
                    self.presenter.take_away(await self._prompt(rewind.data.to))

    async def _prompt(self, seq: int) -> str:
        """What was said with a log number."""
        record = await self.bodies.record(seq)
        return record.data.text if record is not None and isinstance(record.data, UserMessage) else ""

    async def _open(self) -> tuple[str, str]:
        """Open the session and show all it holds; while another window writes it, try whenever asked for.

        Returns:
            Names of the model and of the policy.
        """
        taken_over = False
        while True:
            try:
                self.id, model, policy = await self.link.open()
            except SessionLocked as locked:
                if not taken_over:
                    self.presenter.on_typing(self._look_again)
                await self._wait_for(str(locked))
                taken_over = True
            else:
                break
            finally:
                started()
        await persistently(self._show_rest, self.say)
        if taken_over:
            preview = await asyncio.to_thread(preview_of, self.launch, self.id)
            self.presenter.remeasure(preview.info, preview.known)
            self.report(TAKEN_OVER)
        return model, policy

    async def _show_rest(self) -> None:
        """Show what the log holds beyond what was painted first, and what it has cost."""
        database = self.launch.database
        await self.bodies.attach(database, self.id)
        figures = StatsReader(database, self.id)
        self.presenter.account(await asyncio.to_thread(figures.read), figures.last)
        self.presenter.catch_up(await asyncio.to_thread(heads_after, database, self.id, self.presenter.last))

    async def _wait_for(self, who: str) -> None:
        """Show the session, as it grows, until something is asked for after the other window has let go."""
        # Hardly ever needed: the first paint does not wait for it.
        from tui_app.session.workspace import SessionFolder

        lock_file = SessionFolder(self.folder).lock_file
        fill = partial(with_window, self.launch)
        following = Following(
            self.launch.database, self.id, lock_file, last=self.presenter.last, writer=who, fill=fill
        )
        self._looking_on = looking_on = LookingOn(following, self.presenter)
        self.refuse(WRITTEN_ELSEWHERE.format(who))
        looking_on.start()
        try:
            await self.link.wanted()
        finally:
            self._looking_on = None
            await looking_on.stop()
            self.presenter.update(replace(self.state, locked=""))

    def _look_again(self) -> None:
        if self._looking_on is not None:
            self._looking_on.look_again()

    def _with(self, model: str, policy: str) -> ChatState:
        return replace(self.state, model=model, policy=policy)

    def refuse(self, why: str) -> None:
        """Show the session without letting anything be sent."""
        while text := self.link.take_back_early():
            self.presenter.give_back(text)
            self.unsent.given_back(text)
        locked: Locked = "elsewhere" if self._looking_on is not None else "unusable"
        self.presenter.update(replace(self.state, queue=(), locked=locked))
        self.report(why)

    def submit(self, work: Work) -> bool:
        """Ask for something that changes the conversation; whether that was possible."""
        if why := self.read_only:
            self.say(why)
            return False
        self.link.submit(work)
        if not self.state.turn and self.link.early:
            self.presenter.update(loading(self.state, self.link.early))
        return True

    def send(self, prompt: Prompt, pane: ChatPane) -> None:
        """Send a prompt; what cannot be sent stays in the editor."""
        if self.submit(prompt):
            self.unsent.sent(prompt.text)
            pane.introduce("")
            pane.transcript.action_last()
        else:
            pane.prompt.editor.give_back(prompt.text)

    async def take_back(self) -> str:
        """Take the newest waiting prompt back."""
        if self.link.ready:
            text = await self.link.take_back()
        else:
            text = self.link.take_back_early()
            self._follow_early()
        self.unsent.given_back(text)
        return text

    async def take(self, place: int, label: str) -> str:
        """Take what was shown at a place out of the queue; its text, empty when it has left since."""
        text = await self.link.take(place, label)
        self.unsent.given_back(text)
        if not self.link.ready:
            self._follow_early()
        return text

    def move(self, place: int, label: str, step: int) -> None:
        """Let what was shown at a place of the queue come earlier or later."""
        self.link.move(place, label, step)
        if not self.link.ready:
            self._follow_early()

    def _follow_early(self) -> None:
        self.presenter.update(still_loading(self.state, self.link.early))

    async def close(self) -> None:
        """Leave the session."""
        await self.link.close()
        self.bodies.close()
