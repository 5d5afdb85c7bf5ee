"""One session on the screen: its engine, its log, and what the person may ask of it."""

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from textual.screen import Screen
from textual.worker import Worker, WorkerCancelled, get_current_worker

from tui_app.context.storage_errors import storage_error
from tui_app.context.windows import LearntModels, resolve_window
from tui_app.conversation.engine import Engine, Inbox
from tui_app.conversation.work import Work
from tui_app.events import (
    MemoryPressure,
    QueueChanged,
    Record,
    SessionRestored,
    SessionRewind,
    TurnEnd,
    UserMessage,
)
from tui_app.paths import Paths
from tui_app.session.drafts import UnsentJournal, forget_unsent, keep_unsent, take_over, unsent
from tui_app.session.event_heads import Head
from tui_app.session.location import Database, Server
from tui_app.session.lock import SessionLocked, holder
from tui_app.session.model_state import UNKNOWN, Known, known_of
from tui_app.session.port import SessionInfo, SessionNotFound
from tui_app.session.preview import Preview, heads_after, load_preview
from tui_app.session.stats_reader import StatsReader
from tui_app.session.stores import follow, open_store
from tui_app.settings import OFFLINE_MODEL, OFFLINE_WINDOW, ReviewMode, SettingsError
from tui_app.ui.chat.presenter import Presenter
from tui_app.ui.chat.state import (
    ChatState,
    answering,
    bringing,
    loading,
    moved_on,
    noticed,
    noting,
    saying,
    still_loading,
    unread_of,
)
from tui_app.ui.keys import Locked
from tui_app.ui.launch import Launch, begun_elsewhere, started
from tui_app.ui.row_bodies import LateBodies
from tui_app.ui.slash import is_command
from tui_app.ui.text import PLAIN, UNICODE, Glyphs, clean, one_line
from tui_app.usage import ContextWindow

if TYPE_CHECKING:
    from tui_app.conversation.approvals import Decision
    from tui_app.conversation.assembly import OpenSession
    from tui_app.conversation.conversation import Conversation
    from tui_app.session.port import Follower, SessionStore

# What is said to the person on the chat screen: in the status row, and among the notices.


class Telling:
    """Says things where the person looks.

    Args:
        presenter: Shows them.
    """

    def __init__(self, presenter: Presenter) -> None:
        self.presenter = presenter

    @property
    def state(self) -> ChatState:
        """What the screen shows."""
        return self.presenter.state

    def say(self, text: str) -> None:
        """Answer a key in the status row, until another one does something; what is under way stays named."""
        self.presenter.update(answering(self.state, text))

    def tell(self, text: str) -> None:
        """Put a sentence in the status row that stays; what is under way stays named there."""
        self.presenter.update(saying(self.state, text))

    def move_on(self) -> None:
        """Take what answered a key off the row: it was read by whoever does something else."""
        if self.state.status.under is not None:
            self.presenter.update(moved_on(self.state))

    def report(self, text: str) -> None:
        """Say something that must not be missed: it stays among the notices."""
        self.presenter.update(noting(saying(self.state, text), text))

    @property
    def unread(self) -> tuple[str, ...]:
        """What was reported and nobody has looked at."""
        return unread_of(self.state)

    def bring(self, notices: Sequence[str]) -> None:
        """Begin with what was reported in the session before and not read there."""
        if notices:
            self.presenter.update(bringing(self.state, notices))

    def read_notices(self) -> tuple[str, ...]:
        """What was reported, for somebody who looks at it now."""
        self.presenter.update(noticed(self.state))
        return self.state.notices


# A session that another window writes, shown as it grows.

DELETED = "This session was deleted in another window. What is shown is all that is left of it."
_SLICE_S = 0.25
"""Seconds after which the thread looks whether it is still wanted."""
_WRITER_S = 1.0
"""Seconds between two looks at who writes: one that was killed cannot tell."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class News:
    """What has happened to a session since the last time."""

    heads: Sequence[Head] = ()
    info: SessionInfo | None = None
    """None where nothing but the writer has changed."""
    known: Known = field(default_factory=Known)
    """What the log knows of its model and policy."""
    trouble: str = ""
    """Why no more can be shown for now."""


class Following:
    """Reads a session's news in a thread and gives them to the screen's loop.

    Args:
        database: Where the session is.
        session: Whole id of it.
        lock_file: Its lock, where the database is a file.
        last: Log number of the newest event shown.
        writer: Who writes it, in words.
        fill: Adds to what the log knows of the model what is known of it otherwise.
    """

    def __init__(
        self,
        database: Database,
        session: str,
        lock_file: Path,
        *,
        last: int,
        writer: str,
        fill: Callable[[SessionInfo, Known], Known],
    ) -> None:
        self._fill = fill
        self._database, self._session, self._lock_file = database, session, lock_file
        self._last, self._writer = last, writer
        self._over = threading.Event()
        self._thread: asyncio.Task[None] | None = None

    @property
    def writer(self) -> str:
        """Who writes the session, in words; empty when nobody does. Of a server what it said a moment ago."""
        return self._writer if isinstance(self._database, Server) else holder(self._lock_file)

    def start(self, tell: Callable[[News], None]) -> None:
        """Begin; ``tell`` is called on the loop that calls this."""
        loop = asyncio.get_running_loop()

        def hand_over(news: News) -> None:
            if not self._over.is_set() and not loop.is_closed():
                loop.call_soon_threadsafe(tell, news)

        self._thread = asyncio.create_task(asyncio.to_thread(self._watch, hand_over), name="following")

    async def stop(self) -> None:
        """End; nothing is told any more."""
        self._over.set()
        if self._thread is not None:
            await asyncio.wait([self._thread])

    def _watch(self, tell: Callable[[News], None]) -> None:
        while not self._over.is_set():
            try:
                self._attend(tell)
            except SessionNotFound:
                tell(News(trouble=DELETED))
                return
            except (sqlite3.Error, OSError) as error:
                _log.warning("Following %s was interrupted: %s", self._session, error)
                tell(News(trouble=str(error)))
                self._over.wait(_WRITER_S)

    def _attend(self, tell: Callable[[News], None]) -> None:
        """Follow until nobody wants it any more, or something goes wrong."""
        follower = follow(self._database, self._session, self._lock_file)
        try:
            store = open_store(self._database, read_only=True)
            try:
                self._loop(follower, store, tell)
            finally:
                store.close()
        finally:
            follower.close()

    def _loop(self, follower: "Follower", store: "SessionStore", tell: Callable[[News], None]) -> None:
        looked, fresh = float("-inf"), True
        while not self._over.is_set():
            if fresh:
                tell(self._read(store))
            if fresh or monotonic() - looked > _WRITER_S:
                looked, before, self._writer = monotonic(), self._writer, follower.holder()
                if self._writer != before:
                    tell(News())
            fresh = follower.wait(_SLICE_S)

    def _read(self, store: "SessionStore") -> News:
        heads = list(store.heads(self._session, self._last))
        info = store.info(self._session)
        news = News(heads, info, self._fill(info, known_of(store, self._session)))
        self._last = heads[-1].seq if heads else self._last
        return news


# A window that only looks on: it shows what another one writes, and says who does or that it has let go.

WRITTEN_ELSEWHERE = "This session is being written by {}: shown read-only. /fork goes on in a copy."
FREE = "This session is free again: what you send next is written here."
TAKEN_OVER = "The other window has let go of this session: it goes on here."


class LookingOn:
    """Shows another window's session until that lets go of it and something is asked for here.

    Args:
        following: Brings the news.
        presenter: Shows them.
    """

    def __init__(self, following: Following, presenter: Presenter) -> None:
        self._following, self._presenter = following, presenter

    @property
    def refusal(self) -> str:
        """Why nothing can be sent now, with who writes; empty when nobody does any more."""
        who = self._following.writer
        return WRITTEN_ELSEWHERE.format(who) if who else ""

    def start(self) -> None:
        """Show news from now on."""
        self._following.start(self._hear)

    async def stop(self) -> None:
        """Show no more of them."""
        await self._following.stop()

    def look_again(self) -> None:
        """Say so when the window that wrote the session has let go of it, or a third one has it now."""
        why, free = self.refusal, self._presenter.state.standing.text == FREE
        if bool(self._presenter.state.locked) is not bool(why):
            self._presenter.update(replace(self._presenter.state, locked="elsewhere" if why else ""))
        if why and free:
            self._say(why)
        elif not why and not free:
            self._say(FREE)

    def _hear(self, news: News) -> None:
        """Show what the other window has written, and whether it still writes."""
        self._presenter.catch_up(news.heads)
        if news.info is not None:
            self._presenter.remeasure(news.info, news.known)
        if news.trouble:
            self._say(news.trouble)
        else:
            self.look_again()

    def _say(self, text: str) -> None:
        self._presenter.update(saying(self._presenter.state, text))


# Reading a log that is busy: tried again for a few seconds, and said while it lasts.

T = TypeVar("T")
PAUSES_S = (0.5, 1.0, 2.0, 4.0)
"""Seconds to wait in front of each further attempt."""
AGAIN = "The log cannot be read just now ({}). Trying again."


async def persistently(read: Callable[[], Awaitable[T]], say: Callable[[str], None]) -> T:
    """Read, and try again a few times where the log refuses.

    Args:
        read: Reads; whatever it does may be done again.
        say: Tells the person what is waited for.

    Raises:
        sqlite3.Error: if the log refuses for longer.
    """
    for pause in PAUSES_S:
        try:
            return await read()
        except sqlite3.Error as error:
            say(AGAIN.format(error))
            await asyncio.sleep(pause)
    return await read()


# The window of a model as far as it is known before the agent side is loaded: nobody is asked for it.


def known_window(launch: "Launch", model: str) -> ContextWindow:
    """What settings and earlier errors say of a model; without them it is unknown until the model is built.

    Args:
        launch: Settings, and the file of what was learnt.
        model: Full name.
    """
    prefix, _, name = model.partition(":")
    endpoint = launch.settings.endpoints.get(prefix)
    learnt = LearntModels(launch.paths.learnt_file).limit_anywhere(name)
    told = endpoint.window if endpoint is not None else OFFLINE_WINDOW if model == OFFLINE_MODEL else None
    setting = launch.settings.window
    if not (setting or learnt or told):
        return UNKNOWN
    return resolve_window(setting=setting, learnt=learnt, model=told)


def preview_of(launch: "Launch", session: str) -> Preview:
    """Read what is shown of a session at once, with the window of a model that was never asked anything.

    Raises:
        SessionNotFound: if the id fits no session.
        sqlite3.Error: if the log cannot be read.
    """
    preview = load_preview(launch.database, session)
    return replace(preview, known=with_window(launch, preview.info, preview.known, chosen=launch.model))


def with_window(launch: "Launch", info: SessionInfo, known: Known, *, chosen: str = "") -> Known:
    """What the log knows, with the window of a model that was never asked anything in this session.

    Args:
        launch: What the program was started with.
        info: The session's line in the list.
        known: What its log knows.
        chosen: Model that whoever is to write it has chosen; empty for whoever only looks on.
    """
    if known.window is not UNKNOWN:
        return known
    return replace(known, window=known_window(launch, chosen or info.model or launch.first_model))


# What a person has said that no log holds yet: it must outlive the window.

_LOG = logging.getLogger(__name__)


class Kept(NamedTuple):
    """What became of prompts that were never sent."""

    number: int
    """How many are there at the next visit."""
    lost: tuple[str, ...] = ()
    """Those that the disk refused; whoever asked still has them to show."""
    why: str = ""
    """Why it refused."""


GATHER_S = 0.5
"""Seconds behind a change until it is written down: most prompts are in the log by then."""


class Unsent:
    """Prompts on their way into one session's log, from the moment they leave the editor.

    Args:
        paths: Where prompts are kept that never arrive.
        folder: The workspace they are kept for.
    """

    def __init__(self, paths: Paths, folder: Path) -> None:
        self._paths, self._file, self._folder = paths, paths.unsent_file, folder
        self._waiting: list[str] = []
        self._recalled: set[str] = set()
        self.journal = UnsentJournal(paths.unsent_dir, folder)
        """What outlives a kill."""
        self._changed = asyncio.Event()

    @property
    def waiting(self) -> tuple[str, ...]:
        """What would be lost, oldest first."""
        return tuple(self._waiting)

    def sent(self, text: str) -> None:
        """A prompt has left the editor."""
        self._waiting.append(text)
        self.changed()

    def given_back(self, text: str) -> None:
        """A prompt is in the editor again, a draft like any other."""
        if text in self._waiting:
            self._waiting.remove(text)
            self.changed()

    def changed(self) -> None:
        """Something was sent, came back or was typed: it is to be written down."""
        self._changed.set()

    async def write_down(self, draft: Callable[[], str]) -> None:
        """Keep what waits, and the draft, on disk, until cancelled: the process may be killed.

        Args:
            draft: What stands in the editor.
        """
        while True:
            await self._changed.wait()
            await asyncio.sleep(GATHER_S)
            self._changed.clear()
            texts = _worth_keeping(*self._waiting, draft())
            try:
                await asyncio.to_thread(self.journal.write, texts)
            except OSError as error:  # the next change tries again
                _LOG.warning("what is not sent could not be written down: %s", error)

    def follow(self, record: Record) -> str:
        """Take note of an event.

        Returns:
            A prompt of an earlier visit that has been sent now, to be forgotten; empty for none.
        """
        match record.data:
            case TurnEnd(prompt=text) if text:
                self.given_back(text)
            case UserMessage(text=text):
                self.given_back(text)
                if text in self._recalled:
                    self._recalled.discard(text)
                    return text
        return ""

    def recall(self) -> list[str]:
        """What earlier visits to this folder have left, oldest first; blocks on the disk."""
        try:
            take_over(self._paths.unsent_dir, self._file)
        except OSError as error:
            _LOG.warning("what killed windows left could not be taken over: %s", error)
        found = unsent(self._file, self._folder)
        self._recalled.update(found)
        return found

    def forget(self, text: str) -> None:
        """Keep a prompt of an earlier visit no longer; blocks on the disk."""
        try:
            forget_unsent(self._file, self._folder, text)
        except OSError as error:  # it is offered once more: no harm
            _LOG.warning("a sent prompt could not be taken off the list: %s", error)

    def keep(self, *drafts: str) -> Kept:
        """Keep what has not arrived, and drafts, for the next visit; blocks on the disk."""
        texts = _worth_keeping(*self._waiting, *drafts)
        self._waiting.clear()
        new = [text for text in texts if text not in self._recalled]
        try:
            keep_unsent(self._file, self._folder, new)
        except OSError as error:
            _LOG.warning("unsent prompts could not be kept: %s", error)
            # What was written down before is there for the next visit.
            self.journal.end(kept=True)
            return Kept(len(texts) - len(new), tuple(new), error.strerror or str(error))
        self.journal.end()
        return Kept(len(texts))


def _worth_keeping(*texts: str) -> tuple[str, ...]:
    return tuple(text for text in texts if text.strip() and not is_command(text))


def kept_text(kept: Kept) -> str:
    """What is printed of kept prompts once the screen is gone; empty for none."""
    told = []
    if kept.number:
        one = kept.number == 1
        which, brings = ("1 prompt was", "it") if one else (f"{kept.number} prompts were", "them")
        told.append(f"{which} not sent; the up arrow brings {brings} back in this folder.")
    if kept.lost:
        told.append(f"Not sent, and not kept for the next time ({kept.why}):")
        told += [clean(text) for text in kept.lost]
    return "\n".join(told)


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
        self._inbox = Inbox()
        self.engine = Engine(launch.opening(wanted), self._inbox.put)
        self.engine.queue.report = self._show_early
        self._review = launch.settings.review
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
    def conversation(self) -> "Conversation | None":
        """What the engine's thread drives, to be called through it; None until the session is open."""
        return self.engine.opened.conversation if self.engine.opened is not None else None

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
            await self.engine.stop()
            return
        self.presenter.update(self._with(model, policy))
        if self._begun:
            self.report(self._begun)
        worker = get_current_worker()
        while not worker.is_cancelled:
            batch = await self._inbox.take()
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
                conversation = (await self.engine.open()).conversation
                self.id, model, policy = conversation.session, conversation.model, conversation.policy
                self.ask_about(self._review)
                self.engine.begin()
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
            await self.engine.wanted()
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
        while text := self.engine.queue.take_last():
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
        submit = self.engine.queue.add if self.conversation is None else self.conversation.submit
        self.engine.call(submit, work)
        return True

    async def ask(self, request: "Callable[[OpenSession], Awaitable[T]]") -> T:
        """Have something looked up or done on the engine's thread, once the session is open.

        Raises:
            SessionLocked: if another process writes the session.
            EngineStopped: if the session is closed first.
        """
        opened = await self.engine.session()
        return await asyncio.wrap_future(self.engine.call(request, opened))

    def ask_about(self, review: ReviewMode) -> None:
        """Say which summaries wait for a decision: on a screen there is a user to decide."""
        self._review = review
        if self.conversation is not None:
            self.engine.call(self.conversation.reviews.ask_about, review)

    def cancel(self) -> None:
        """Stop what is under way, one step at a time."""
        if self.conversation is not None:
            self.engine.call(self.conversation.cancel_step)

    def steer(self) -> None:
        """Let what waits go on after the step under way, or now if nothing is under way."""
        if self.conversation is not None:
            self.engine.call(self.conversation.steer)

    def answer(self, id: str, decision: "Decision") -> None:
        """Answer what a tool asks."""
        if self.conversation is not None:
            self.engine.call(self.conversation.tooling.approvals.decide, id, decision)

    async def take_back(self) -> str:
        """Take the newest waiting prompt back."""
        text = await asyncio.wrap_future(self.engine.call(self.engine.queue.take_last))
        self.unsent.given_back(text)
        return text

    async def take(self, place: int, label: str) -> str:
        """Take what was shown at a place out of the queue; its text, empty when it has left since."""
        text = await asyncio.wrap_future(self.engine.call(self.engine.queue.take, place, label))
        self.unsent.given_back(text)
        return text

    def move(self, place: int, label: str, step: int) -> None:
        """Let what was shown at a place of the queue come earlier or later."""
        self.engine.call(self.engine.queue.move, place, label, step)

    def _show_early(self, change: QueueChanged) -> None:
        """Show what waits for the agent side."""
        if len(change.prompts) <= len(self.state.queue):
            self.presenter.update(still_loading(self.state, change.prompts))
        elif not self.state.turn:
            self.presenter.update(loading(self.state, change.prompts))

    async def close(self) -> None:
        """Leave the session."""
        await self.engine.stop()
        self.bodies.close()


# Waiting for something from the agent side that a person may give up waiting for.

_LOOKUP = "lookup"
"""Group of the workers that wait for what servers say."""


class LookupCancelled(Exception):
    """The person gave up waiting for what a server says."""


def cancel_lookup(screen: Screen[Any]) -> bool:
    """Give up what is being looked up from a chat screen; whether anything was."""
    return bool(screen.app.workers.cancel_group(screen, _LOOKUP))


async def look_up(
    screen: Screen[Any],
    session: ChatSession,
    what: str,
    request: "Callable[[OpenSession], Awaitable[T]]",
    way_out: str = "esc cancels",
) -> T:
    """Wait for something from the agent side while the status row says for what.

    Args:
        screen: The chat screen.
        session: Whose agent side is asked.
        what: What is said meanwhile.
        request: What is asked.
        way_out: What the key that gives it up does.

    Raises:
        LookupCancelled: if the person gave it up.
        asyncio.CancelledError: if the flow that waits was cancelled itself.
        Exception: what the request failed with.
    """
    escape = f" {session.glyphs.separator} {way_out}"
    said = one_line(what, screen.app.size.width - len(escape)) + escape
    session.tell(said)
    asked = asyncio.ensure_future(session.ask(request))
    # In a worker of its own: the person may give up waiting without ending the flow.
    waiting = screen.run_worker(asyncio.wait([asked]), group=_LOOKUP, exit_on_error=False)
    try:
        await waiting.wait()
    except WorkerCancelled:
        asked.cancel()
        if not get_current_worker().is_cancelled:
            raise LookupCancelled from None
        raise asyncio.CancelledError from None
    finally:
        if session.state.status.text == said or said in session.state.status.notes:
            session.tell("")
    return asked.result()
