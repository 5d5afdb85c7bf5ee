"""One session on the screen: its engine, its log, and the user's requests to it."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, overload

from textual.worker import Worker, get_current_worker

from tui_app.context.storage_errors import storage_error
from tui_app.conversation.engine import Engine, Inbox
from tui_app.conversation.work import ChangeMode, Work
from tui_app.events import (
    GaugeChanged,
    MemoryPressure,
    Notice,
    QueueChanged,
    Record,
    SessionRestored,
    SessionRewind,
    UserMessage,
)
from tui_app.modes import Mode
from tui_app.session.lock import SessionLocked
from tui_app.session.preview import StatsReader, all_rows, heads_after
from tui_app.session.stores.store import SessionNotFound
from tui_app.session.workspace import SessionFolder
from tui_app.settings import ReviewMode, SettingsError
from tui_app.ui.chat.follower import ARRIVED, TAKEN_OVER, ReadOnlyFollower
from tui_app.ui.chat.log_reader import persistently, preview_of
from tui_app.ui.chat.pane import ChatPane
from tui_app.ui.chat.presenter import Presenter
from tui_app.ui.chat.state import ChatState, answering, bringing, early, keeping, moved_on, noting, saying
from tui_app.ui.chat.unsent import Unsent
from tui_app.ui.launch import Launch, folder_notice, resume_collection

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.conversation.conversation import Conversation
    from tui_app.events import GuardSet

T = TypeVar("T")


class ChatSession:
    """Connects the screen's widgets with one session.

    Args:
        launch: Launch options.
        wanted: Id of the session to resume; empty starts a new one.
        pane: Shows the session.
        admit: Asks what the user must answer before the session is opened.
    """

    def __init__(
        self, launch: Launch, session: str, pane: ChatPane, admit: Callable[[], Awaitable[None]]
    ) -> None:
        self._admit = admit
        self.presenter = presenter = Presenter(pane)
        self.launch = launch
        self.id = session
        presenter.setting, presenter.policy = launch.settings.window, launch.settings.policy
        self.pane, self.bodies = pane, pane.bodies
        self.bodies.tell = presenter.redraw
        self._inbox = Inbox()
        self.engine = Engine(launch.opening(session), self._inbox.put)
        self.engine.queue.report = self._show_early
        self._review = launch.settings.review
        self._begun = ""
        """A note that the session continues in another folder than its own; empty if it does not."""
        self.unsent = Unsent(launch.paths, launch.cwd)
        """Prompts and drafts that are not in the log yet."""
        self._refused = ""
        self._early_mode: Mode | None = None
        """The mode that was chosen before the session was open."""
        self.away: Worker[Any] | None = None
        """The last worker that switches to another session."""
        self.back_asked = float("-inf")
        """When esc was last pressed with nothing to stop, in monotonic seconds."""
        self._painted = asyncio.Event()
        """Set once the initial state has been painted."""
        self.asking = asyncio.Lock()
        """Held while a question of an MCP server is asked."""
        self.cold_asked = False
        """Whether the user was asked about a turn with a cold prompt cache; asked once only."""
        self.command = ""
        """The command with an argument that was just run, until the next key: it may still be refused."""
        self.at = 0
        """Log number of the message to show first; 0 shows the newest."""
        self.followers: list[Callable[[Record], None]] = []
        """Called with every record after it is shown."""
        self._follower: ReadOnlyFollower | None = None
        """Shows what another window writes, while this session is read-only."""

    @property
    def state(self) -> ChatState:
        return self.presenter.state

    def reply(self, text: str) -> None:
        """Answer a key in the status row, until the next key that acts; running work stays named there."""
        self.presenter.update(answering(self.state, text))

    def show_status(self, text: str) -> None:
        """Show a sentence in the status row that stays; running work stays named there."""
        self.presenter.update(saying(self.state, text))

    def move_on(self) -> None:
        """Clear the answer to the previous key from the status row."""
        if self.state.status.under is not None:
            self.presenter.update(moved_on(self.state))

    def report(self, text: str, *, aloud: bool = True) -> None:
        """Add a notice; with ``aloud``, show it in the status row, too."""
        self.presenter.update(noting(saying(self.state, text) if aloud else self.state, text))

    def bring(self, notices: Sequence[str]) -> None:
        """Take over the unread notices of the previous session."""
        if notices:
            self.presenter.update(bringing(self.state, notices))

    def read_notices(self) -> tuple[str, ...]:
        """Return all notices and mark them as read."""
        self.presenter.update(replace(self.state, unread=0))
        return self.state.notices

    @property
    def is_leaving(self) -> bool:
        """Whether a switch to another session is under way."""
        return self.away is not None and not self.away.is_finished

    @property
    def conversation(self) -> "Conversation | None":
        """The conversation, to be called on the engine's thread only; None until the session is open."""
        return self.engine.opened.conversation if self.engine.opened is not None else None

    @property
    def folder(self) -> Path:
        return self.launch.paths.sessions_dir / self.id

    @property
    def read_only(self) -> str:
        """Why nothing can be sent; empty if it can, or if the window that wrote the session has closed it."""
        return self._refused if self._follower is None else self._follower.refusal

    async def show_log(self) -> None:
        """Paint what is in the log, before the agent side is loaded."""
        database = self.launch.database
        try:
            preview = await asyncio.to_thread(preview_of, self.launch, self.id)
            await self.bodies.attach(database, preview.info.id)
        except (SessionNotFound, sqlite3.Error):
            return  # opening the session reports it properly
        self.id = preview.info.id
        self._begun = folder_notice(preview.info.cwd, self.launch.cwd)
        self.presenter.begin(preview)
        # Show the todo list as the session left it, and whether a plan waits to be accepted.
        folder = SessionFolder(self.folder)
        todos, plan = await asyncio.to_thread(
            lambda: (folder.read_note(folder.todo_file), folder.read_note(folder.plan_file))
        )
        self.presenter.update(keeping(self.state, todos, plan))

    async def show_older(self) -> None:
        """Add the older rows of a long session, which its first paint omits."""
        await self._painted.wait()
        since, last = self.presenter.view.since, self.presenter.last
        if not since:
            return
        read = partial(asyncio.to_thread, all_rows, self.launch.database, self.id, last)
        try:
            self.presenter.complete(await persistently(read, self.reply), last)
        except (SessionNotFound, sqlite3.Error, OSError) as error:
            self.report(str(storage_error(error, self.launch.paths.database) or error))
        if 0 < self.at < since:
            self.presenter.jump_to(self.at)

    async def run(self) -> None:
        """Open the session and show all events until the screen is left."""
        launch = self.launch
        if self.id:
            await self.show_log()
        else:
            self._begin_with(launch.first_model, launch.settings.policy, launch.first_mode)
        # Loading the agent side blocks the interpreter (GIL), so the initial state is painted first.
        await self.pane.painted()
        self._painted.set()
        self.presenter.jump_to(self.at)
        self._on_typing(self.unsent.changed)
        self.unsent.changed()  # a draft may have been carried over
        self.pane.prompt.editor.prompts.extend(await asyncio.to_thread(self.unsent.recall))
        try:
            model, policy, mode = await self._open()
        except (SessionNotFound, SettingsError, sqlite3.Error, OSError) as error:
            self._refused = str(storage_error(error, launch.paths.database) or error)
            self.refuse(self._refused)
            # A turn may be running, and its actions and costs would not be shown.
            await self.engine.stop()
            return
        self._begin_with(model, policy, mode)
        if self._begun:
            self.report(self._begun)
        worker = get_current_worker()
        while not worker.is_cancelled:
            batch = await self._inbox.take()
            self.bodies.note(batch)
            self.presenter.present(batch)
            for record in batch:
                await self._follow(record)
                for follow in self.followers:
                    follow(record)

    def _on_typing(self, look: Callable[[], None]) -> None:
        """Call a function with every key in the prompt; it must be cheap."""
        self.pane.watch(self.pane.prompt.editor, "selection", look, init=False)

    async def _follow(self, record: Record) -> None:
        """React to an event beyond showing it."""
        if arrived := self.unsent.follow(record):
            await asyncio.to_thread(self.unsent.forget, arrived)
        match record.data:
            case MemoryPressure():
                self.bodies.shed()
            case GaugeChanged(usage=usage) if not self.presenter.view.entries:
                shares = await self.ask(lambda opened: opened.extras.shares())
                self.pane.welcome.measure(shares, usage.parts)
            case Notice(refused=True):
                self.put_command_back()
            case SessionRewind(to=to, failed=False, again=False):
                self.pane.prompt.editor.restore_prompt(await self._prompt(to))
            case SessionRestored(cut=cut):
                rewind = await self.bodies.record(cut)
                if rewind is not None and isinstance(rewind.data, SessionRewind):
                    self.presenter.withdraw_prompt(await self._prompt(rewind.data.to))

    def put_command_back(self) -> None:
        """Put a refused command into the empty prompt, to be corrected."""
        if self.command and self.pane.prompt.editor.is_empty:
            self.pane.prompt.editor.restore_prompt(self.command)
        self.command = ""

    async def _prompt(self, seq: int) -> str:
        record = await self.bodies.record(seq)
        return record.data.text if record is not None and isinstance(record.data, UserMessage) else ""

    async def _open(self) -> tuple[str, str, Mode]:
        """Open the session and show its log. While another window writes it, retry on request.

        Returns:
            Names of the model, the policy and the mode.
        """
        await self._admit()
        taken_over = arrived = False

        def look_again() -> None:
            if self._follower is not None:
                self._follower.look_again()

        while True:
            try:
                conversation = (await self.engine.open()).conversation
                self.id, model, policy = conversation.session, conversation.model, conversation.policy
                mode = self._early_mode or conversation.modes.current
                self.ask_about(self._review)
                self.engine.begin()
            except SessionLocked as locked:
                if not taken_over:
                    self._on_typing(look_again)
                arrived = await self._wait_for(str(locked))
                taken_over = True
            else:
                break
            finally:
                resume_collection()
        await persistently(self._show_remaining, self.reply)
        if taken_over:
            preview = await asyncio.to_thread(preview_of, self.launch, self.id)
            self.presenter.remeasure(preview.info, preview.known)
            self.report(ARRIVED if arrived else TAKEN_OVER)
        return model, policy, mode

    async def _show_remaining(self) -> None:
        """Show the events since the first paint, and the costs so far."""
        database = self.launch.database
        await self.bodies.attach(database, self.id)
        figures = StatsReader(database, self.id)
        self.presenter.account(await asyncio.to_thread(figures.read), figures.last)
        self.presenter.catch_up(await asyncio.to_thread(heads_after, database, self.id, self.presenter.last))

    async def _wait_for(self, who: str) -> bool:
        """Follow the session read-only until the other window has closed it and something is requested.

        Returns:
            Whether it came from a background run.
        """
        self._follower = follower = ReadOnlyFollower(self.launch, self.id, self.presenter, who)
        self.refuse(follower.why)
        follower.start()
        coming = asyncio.create_task(self._come(follower)) if follower.arrives else None
        try:
            await self.engine.wait_for_request()
        finally:
            self._follower = None
            await follower.stop()
            if coming is not None:
                await asyncio.wait([coming])
            self.presenter.update(replace(self.state, locked=""))
        return follower.arrives

    async def _come(self, follower: ReadOnlyFollower) -> None:
        if await follower.arrival():
            self.engine.call(int)  # any request opens it

    def _begin_with(self, model: str, policy: str, mode: Mode) -> None:
        self.presenter.update(replace(self.state, model=model, policy=policy, mode=mode))

    def refuse(self, why: str) -> None:
        """Show the session as read-only."""
        while text := self.engine.queue.take_last():
            self.pane.prompt.editor.restore_prompt(text)
            self.unsent.mark_restored(text)
        elsewhere = self._follower is not None
        self.presenter.update(replace(self.state, queue=(), locked="elsewhere" if elsewhere else "unusable"))
        self.report(why)

    def submit(self, work: Work) -> bool:
        """Request work that changes the conversation; returns whether that was possible."""
        if why := self.read_only:
            self.reply(why)
            return False
        submit = self.engine.queue.enqueue if self.conversation is None else self.conversation.submit
        self.engine.call(submit, work)
        return True

    def change_mode(self, mode: Mode) -> None:
        """Switch the mode at once; before the session is open, as its first work."""
        if why := self.read_only:
            self.reply(why)
            return
        self.presenter.update(replace(self.state, mode=mode))
        if self.conversation is None:
            self._early_mode = mode
            self.engine.call(self.engine.queue.enqueue, ChangeMode(mode))
        else:
            self.engine.call(self.conversation.modes.change, mode)

    @overload
    async def ask(self, request: "Callable[[OpenSession], Awaitable[T]]") -> T: ...

    @overload
    async def ask(self, request: "Callable[[OpenSession], T]") -> T: ...

    async def ask(self, request: "Callable[[OpenSession], Any]") -> Any:
        """Run a function on the engine's thread, once the session is open.

        Raises:
            SessionLocked: If another process writes the session.
            EngineStopped: If the session is closed first.
        """
        opened = await self.engine.session()
        return await asyncio.wrap_future(self.engine.call(request, opened))

    def ask_about(self, review: ReviewMode) -> None:
        """Set which summaries wait for a review by the user."""
        self._review = review
        self.instruct(lambda now: now.reviews.ask_about(review))

    def instruct(self, act: "Callable[[Conversation], object]") -> None:
        """Call a function with the conversation on the engine's thread; does nothing before it is open."""
        if self.conversation is not None:
            self.engine.call(act, self.conversation)

    def cancel(self) -> None:
        """Stop what runs, one step at a time."""
        self.instruct(lambda now: now.cancel_step())

    @property
    def guards(self) -> "Mapping[int, GuardSet]":
        """The session's guards against tool calls, by log number."""
        return self.conversation.tooling.approvals.guards if self.conversation is not None else {}

    async def take_back(self) -> str:
        text = await asyncio.wrap_future(self.engine.call(self.engine.queue.take_last))
        self.unsent.mark_restored(text)
        return text

    async def take(self, place: int, label: str) -> str:
        """Remove the work shown at a place in the queue.

        Returns:
            Its text; empty if it has left the queue since.
        """
        text = await asyncio.wrap_future(self.engine.call(self.engine.queue.take, place, label))
        self.unsent.mark_restored(text)
        return text

    def move(self, place: int, label: str, step: int) -> None:
        """Move the work shown at a place in the queue earlier or later."""
        self.engine.call(self.engine.queue.move, place, label, step)

    def _show_early(self, change: QueueChanged) -> None:
        """Show what is queued while the agent side loads."""
        if len(change.prompts) <= len(self.state.queue) or not self.state.turn:
            self.presenter.update(early(self.state, change.prompts))

    async def close(self) -> None:
        await self.engine.stop()
        self.bodies.close()
