"""One prompt from the queue to its answer: logged, run, and closed whatever happens."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from pydantic_ai.messages import (
    BaseToolCallPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import Model

from tui_app.agent.catalog import why_unavailable
from tui_app.agent.errors import describe_error
from tui_app.agent.tools.workspace import ToolProblem, Workspace, open_regular
from tui_app.agent.turn import RetryRules, TurnResult, TurnRunner, open_calls, pause_before
from tui_app.context.answer_end import why_not_whole
from tui_app.context.counting.attachments import IMAGE_TOKENS, file_content, image_type, picture_content
from tui_app.context.view import Item, to_messages
from tui_app.context.window_limits import most
from tui_app.conversation.model_switch import LoadingCancelled, ModelSwitch
from tui_app.conversation.retry_advice import with_way_back
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.work import Prompt, Switch
from tui_app.events import (
    AgentOutput,
    Error,
    Notice,
    SessionEnd,
    SessionRewind,
    ToolResult,
    TurnEnd,
    TurnRetry,
    UserMessage,
)
from tui_app.session.location import Database
from tui_app.session.stats_reader import StatsReader
from tui_app.settings import Settings
from tui_app.usage import ContextWindow

# Other models to go on with while the session's own cannot answer.

_OUT_OF_REACH = frozenset({"rate_limit", "network", "provider"})


@dataclass(slots=True)
class Fallback:
    """A chain of models, tried in order; a change is recorded, said, and lasts until a person changes it."""

    history: SessionHistory
    models: ModelSwitch
    names: Sequence[str] = ()

    async def next(self, told: Error, tried: set[str]) -> Model | None:
        """Change to the next model that can take over.

        Args:
            told: Why the present one does not answer.
            tried: Models that have failed in this turn; those that are looked at here are added.

        Returns:
            The model; None where there is none left, or another one would not help.
        """
        if told.kind not in _OUT_OF_REACH or not (told.retryable or told.kind == "rate_limit"):
            return None
        tried.add(self.history.model)
        for name in self.names:
            if name in tried:
                continue
            tried.add(name)
            if (model := await self._taken(name, told)) is not None:
                return model
        return None

    async def _taken(self, name: str, told: Error) -> Model | None:
        old = self.history.model
        try:
            forecast = await self.models.forecast(name)
        except Exception as error:  # an SDK may raise anything; the next one is tried
            self._say(f"{name} cannot take over: {why_unavailable(error, model=name).message}")
            return None
        if not forecast.fits:
            sizes = f"{forecast.tokens:,} tokens of conversation, {forecast.window.limit:,} of window"
            self._say(f"{name} cannot take over: {sizes}.")
            return None
        await self.models.switch(Switch(name))
        if self.history.model != name:
            return None
        self._say(f"{told.message} {name} answers from now on; /model {old} goes back.")
        try:
            return await self.models.current()
        except LoadingCancelled:
            return None

    def _say(self, text: str) -> None:
        self.history.append(Notice(text=text))


# A person's wish to stop the turn under way, from its first moment on.

T = TypeVar("T")


class Stopped(Exception):
    """The person has stopped the turn."""


@dataclass(slots=True)
class Stop:
    """Whether a turn is under way, and whether it was stopped. Belongs to one event loop."""

    under_way: bool = False
    _asked: asyncio.Event = field(default_factory=asyncio.Event)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """A turn is under way inside the block; what was wished for one before is forgotten."""
        self._asked.clear()
        self.under_way = True
        try:
            yield
        finally:
            self.under_way = False

    def ask(self) -> None:
        """Stop the turn under way."""
        self._asked.set()

    async def unless(self, step: Coroutine[Any, Any, T]) -> T:
        """Wait for a step of the turn, no longer than it is wanted.

        Args:
            step: What may be left at any of its waits: it has done nothing by halves then.

        Raises:
            Stopped: if the turn was stopped before or meanwhile; the step is cancelled.
            Exception: whatever the step raises.
        """
        doing = asyncio.ensure_future(step)
        asked = asyncio.ensure_future(self._asked.wait())
        try:
            await asyncio.wait([doing, asked], return_when=asyncio.FIRST_COMPLETED)
            if self._asked.is_set():
                raise Stopped
            return doing.result()
        finally:
            asked.cancel()
            doing.cancel()
            await asyncio.gather(asked, doing, return_exceptions=True)


# One turn, tried again by itself while a provider is out of reach for a moment.


@dataclass(slots=True)
class Attempts:
    """Runs turns; what failed for a reason that passes is sent once more, after a pause that is shown."""

    history: SessionHistory
    runner: TurnRunner
    fallback: Fallback
    stop: Stop
    rules: RetryRules = field(default_factory=RetryRules)
    _pause: "asyncio.Task[None] | None" = None
    _steered: bool = False

    @property
    def running(self) -> bool:
        """Whether a turn is under way, pauses between its tries included."""
        return self.runner.running or self._pause is not None

    def cancel(self) -> None:
        """Stop the turn at once."""
        self.runner.cancel()
        if self._pause is not None:
            self._pause.cancel()

    def steer(self) -> None:
        """End the turn as soon as the step under way is done, or now if it waits for another try."""
        self.runner.steer()
        if self._pause is not None:
            self._steered = True
            self._pause.cancel()

    async def run(self, model: Model) -> TurnResult:
        """Run a turn whose prompt ends the agent view, to its end or its last failure.

        Each try goes on from what the log holds by then: tools that have run are not run again.
        """
        failed, tried, self._steered = 0, set[str](), False
        while True:
            before = max((item.key for item in self.history.items()), default=0)
            result = await self.runner.run(to_messages(self.history.items()), model)
            if result.error is None:
                return result
            # Something was answered since: the provider is well enough to start counting anew.
            failed = 1 if self._answered(before) else failed + 1
            told = describe_error(result.error, model=self.history.model)
            pause = pause_before(result.error, told, attempt=failed, rules=self.rules, jitter=random.random())
            if pause is None:
                try:
                    other = await self.stop.unless(self.fallback.next(told, tried))
                except Stopped:
                    return TurnResult(cancelled=True)
                if other is None:
                    return result
                model, failed = other, 0
                self._take_partial()
                continue
            self._take_partial()
            if not await self._waited(told, failed, pause):
                return TurnResult(cancelled=not self._steered)

    def _answered(self, before: int) -> bool:
        later = (item.message for item in self.history.items() if item.key > before)
        return any(isinstance(message, ModelResponse) and not _is_partial(message) for message in later)

    def _take_partial(self) -> None:
        """Leave out an answer that broke off: the next try writes it anew. The log and the chat keep it."""
        newest = self.history.items()[-1]
        if _is_partial(newest.message):
            self.history.append(SessionRewind(to=newest.key, failed=True))

    async def _waited(self, told: Error, failed: int, pause: float) -> bool:
        """Whether the pause was waited for, and not given up by the person."""
        self.history.append(
            TurnRetry(
                attempt=failed + 1,
                attempts=self.rules.retries + 1,
                wait_s=round(pause, 3),
                reason=told.message,
            )
        )
        self._pause = asyncio.create_task(asyncio.sleep(pause), name="pause before a retry")
        try:
            await asyncio.wait([self._pause])
            return not self._pause.cancelled()
        finally:
            # Also where the turn itself is taken away from under it.
            self._pause.cancel()
            self._pause = None


def _is_partial(message: ModelMessage) -> bool:
    return isinstance(message, ModelResponse) and message.state != "complete"


def attempts(settings: Settings, runner: TurnRunner, models: ModelSwitch) -> Attempts:
    """The turns of a conversation, with the patience and the other models that the settings give them."""
    names = [name.strip() for name in settings.fallback_models.split(",") if name.strip()]
    fallback = Fallback(models.history, models, names)
    return Attempts(models.history, runner, fallback, Stop(), RetryRules(retries=settings.retries))


# Files that a person attaches to a prompt: read when its turn begins, or a sentence why not.
#
# Nothing here loads the agent side, so that the editor can say beforehand what a prompt would bring along.

MAX_BYTES = 128 * 1024
"""A larger file is only named: the model can read the parts that it needs."""
MAX_PICTURE = 5 * 1024 * 1024
"""Bytes of a picture at most; providers refuse larger ones."""
MAX_FILES = 16
"""Files that one prompt brings along at most."""


@dataclass(frozen=True, slots=True)
class Attached:
    """A text file or a picture whose content goes along."""

    path: str
    text: str = ""
    picture: bytes = field(default=b"", repr=False)
    """As it is on disk; empty for text."""
    media_type: str = ""
    """Of the picture, such as ``image/png``."""

    @property
    def tokens(self) -> int:
        """About how many it adds to a request."""
        return IMAGE_TOKENS if self.picture else max(1, -(-len(self.text) // 4))


@dataclass(frozen=True, slots=True)
class OnlyNamed:
    """A path that stays plain text."""

    path: str
    why: str
    """Ends the sentence ``@path is not attached:``."""
    is_folder: bool = False
    """What stands there is a folder, of which nobody expects a content."""

    @property
    def sentence(self) -> str:
        """What the person reads."""
        return f"@{self.path} is not attached: {self.why}."

    @property
    def is_telling(self) -> bool:
        """Whether the person should hear of it: a file was meant, rather than a name or a folder."""
        return not self.is_folder and ("." in self.path or "/" in self.path)


Attachment = Attached | OnlyNamed


def read_attachments(workspace: Workspace, paths: Iterable[str]) -> list[Attachment]:
    """Read what a prompt names, in its order and each file once; blocks on the disk.

    Args:
        workspace: Files outside it are refused, also those behind links.
        paths: As the person wrote them, relative to the workspace.
    """
    read: list[Attachment] = []
    for path in dict.fromkeys(paths):
        full = sum(isinstance(each, Attached) for each in read) >= MAX_FILES
        read.append(
            OnlyNamed(path, f"{MAX_FILES} files go along already") if full else _read(workspace, path)
        )
    return read


def _read(workspace: Workspace, path: str) -> Attachment:
    try:
        real = workspace.resolve(path)
        if real.is_dir():
            return OnlyNamed(path, "it is a folder, the model can list it", is_folder=True)
        if not real.exists():
            return OnlyNamed(path, "there is no such file")
        return _content(path, workspace.file(path))
    except ToolProblem:
        return OnlyNamed(path, "it is no file of this folder")
    except OSError as error:
        return OnlyNamed(path, f"it cannot be read ({error.strerror})")


def _picture(path: str, data: bytes, media_type: str) -> Attachment:
    if len(data) > MAX_PICTURE:
        return OnlyNamed(path, f"the picture is larger than {MAX_PICTURE // 1024 // 1024} MB")
    return Attached(path, picture=data, media_type=media_type)


def _content(path: str, real: Path) -> Attachment:
    size = real.stat().st_size
    with open_regular(real) as file:
        data = file.read(MAX_BYTES + 1)
        if media_type := image_type(data):
            data += file.read(MAX_PICTURE + 1 - len(data))
    if media_type:
        return _picture(path, data, media_type)
    if len(data) > MAX_BYTES:
        size = max(size, len(data))
        return OnlyNamed(
            path, f"{size / 1024:,.0f} kB is more than {MAX_BYTES // 1024} kB, the model can read parts of it"
        )
    if b"\0" in data:
        return OnlyNamed(path, "it is not text")
    return Attached(path, data.decode("utf-8-sig", "replace").replace("\r\n", "\n"))


# What a session may cost: a word at four fifths of it, and no prompt above it without a person's yes.

WARN_AT = 0.8
"""Share of the budget from which on a person is told."""


@dataclass(slots=True)
class Budget:
    """The budget of one session; what was spent is read from its log, so that nothing is forgotten."""

    limit: float
    """US dollars."""
    reader: StatsReader
    _warned: bool = False

    async def check(self, *, agreed: bool) -> Notice | Error | None:
        """Say what there is to say before a prompt: an error where it must not be sent.

        Args:
            agreed: Whether a person has said that this prompt may go above the budget.
        """
        stats = await asyncio.to_thread(self.reader.read)
        spent, unknown = stats.cost_usd, ", and something of unknown price" if stats.unpriced else ""
        sum_ = f"This session has cost ${spent:,.2f} of its budget of ${self.limit:,.2f}{unknown}."
        if spent >= self.limit:
            hint = "Send it again to be asked, or set budget.session_usd higher and open the session again."
            return (
                None if agreed else Error(kind="input", message=f"{sum_} The prompt was not sent.", hint=hint)
            )
        if spent >= WARN_AT * self.limit and not self._warned:
            self._warned = True
            return Notice(text=sum_)
        return None


def budget_of(settings: Mapping[str, float], database: Database, session: str) -> Budget | None:
    """The budget that the settings give a session; None for none."""
    limit = settings.get("session_usd", 0.0)
    return Budget(limit, StatsReader(database, session)) if limit else None


_log = logging.getLogger(__name__)
UNANSWERED = Error(
    kind="internal",
    message="Interrupted: the program ended before this prompt was answered.",
    hint="/retry sends it again.",
)
CUT_HINT = "What came of it stays; ask it to go on, or send the prompt again with /retry."
EMPTY = "The model answered nothing. /retry sends the prompt once more."
_TO_ANSWER = frozenset({UserMessage.TYPE, ToolResult.TYPE})
"""Messages that a model has to answer."""


async def _nothing() -> None:
    """Nothing waits to be delivered."""


@dataclass(slots=True)
class Turns:
    """Runs the turns of one conversation."""

    history: SessionHistory
    attempts: Attempts
    workspace: Workspace
    """Where attached files are read."""
    budget: Budget | None = None
    """What the session may cost; None for whatever it takes."""
    deliver: Callable[[], Awaitable[None]] = _nothing
    """Puts in front of a first prompt what earlier sessions have left for it."""

    @property
    def stop(self) -> Stop:
        """Whether a turn is under way, and is to end."""
        return self.attempts.stop

    def cancel(self) -> None:
        """Stop the turn under way at once, whatever it waits for."""
        self.stop.ask()
        self.attempts.cancel()

    async def run(self, prompt: Prompt, model: Model) -> TurnEnd:
        """Send a prompt and follow it to its end; every outcome is an event.

        A prompt that got no answer at all leaves the view again and is handed back with the end.
        """
        started = monotonic()
        history = self.history
        # What was said of a request that then failed says nothing about the next one.
        history.take_distrust()
        try:
            files = await self.stop.unless(self._prepared(prompt))
        except Stopped:
            return TurnEnd(outcome="cancelled", prompt=prompt.text)
        if files is None:
            return TurnEnd(outcome="failed", prompt=prompt.text)
        request = _request(prompt.text, files)
        if (error := self._too_large(request)) is not None:
            history.append(with_way_back(error, handed_back=True))
            return TurnEnd(outcome="failed", prompt=prompt.text)
        said = UserMessage(
            text=prompt.text,
            tokens=history.counter.message(request).nonzero(),
            attachments=tuple(file.path for file in files),
        )
        sent = history.append(said, request)
        result = await self.attempts.run(model)
        self.close_open_calls(result.error)
        duration = round(monotonic() - started, 3)
        if result.error is None:
            if not result.cancelled:
                self._tell_of_a_bad_end(history.newest())
            return TurnEnd(outcome="cancelled" if result.cancelled else "done", duration_s=duration)
        back = self._failed(result.error, prompt.text, sent.seq)
        return TurnEnd(outcome="failed", duration_s=duration, prompt=back)

    async def _prepared(self, prompt: Prompt) -> list[Attached] | None:
        """What goes along with a prompt; None where it must not be sent, which is said."""
        if not await self.may_spend(agreed=prompt.above_budget, handed_back=True):
            return None
        files = await self._files(prompt)
        await self.deliver()
        return files

    async def may_spend(self, *, agreed: bool, handed_back: bool = False) -> bool:
        """Whether the session's budget lets something be sent; what there is to say of it is said.

        Args:
            agreed: Whether a person has said that it may go above the budget.
            handed_back: Whether a prompt that is refused goes back to the editor.
        """
        told = None if self.budget is None else await self.budget.check(agreed=agreed)
        if isinstance(told, Error):
            self.history.append(with_way_back(told, handed_back=True) if handed_back else told)
        elif told is not None:
            self.history.append(told)
        return not isinstance(told, Error)

    async def _files(self, prompt: Prompt) -> list[Attached]:
        """What goes along with a prompt; why something does not is said."""
        if not prompt.files:
            return []
        found: Sequence[Attachment] = await asyncio.to_thread(read_attachments, self.workspace, prompt.files)
        for each in found:
            if not isinstance(each, Attached) and each.is_telling:
                self.history.append(Notice(text=each.sentence))
        return [each for each in found if isinstance(each, Attached)]

    def close_open_calls(self, error: Exception | None = None) -> None:
        """Answer the calls of the newest answer whose tools never finished.

        Args:
            error: What ended the turn, where no person did.
        """
        self.attempts.runner.close_calls(open_calls(self.history.newest()), error)

    def mark_unanswered(self) -> None:
        """Say of a newest prompt without a last answer that the process ended before it came, if it did."""
        history, visible = self.history, self.history.view.visible()
        # A call that was broken off says so itself.
        if not visible or visible[-1].type not in _TO_ANSWER or visible[-1].state == "interrupted":
            return
        # A session that was left in order says so; whatever else stopped the turn has said why.
        later = {head.type for head in history.store.heads(history.session, visible[-1].seq)}
        if not later & {SessionEnd.TYPE, Error.TYPE, AgentOutput.TYPE}:
            history.append(UNANSWERED)

    def _tell_of_a_bad_end(self, messages: Sequence[ModelMessage]) -> None:
        """Say of a turn that came to its end why its last answer is empty, or not whole."""
        last = messages[-1] if messages else None
        if not isinstance(last, ModelResponse):
            return
        if reason := why_not_whole(last):
            self.history.append(Notice(text=f"{reason[0].upper()}{reason[1:]}. {CUT_HINT}"))
        elif not _says_something(last):
            self.history.append(Notice(text=EMPTY))

    def _failed(self, error: Exception, text: str, prompt: int) -> str:
        """Report a failure.

        Returns:
            The text to give back to the editor: the prompt when it got no answer at all, else nothing.
        """
        told = describe_error(error, model=self.history.model)
        if told.kind == "internal":
            _log.error("the turn failed", exc_info=error)
        kept = any(item.key > prompt and _says_something(item.message) for item in self.history.items())
        self.history.append(with_way_back(told, handed_back=not kept))
        if kept:
            return ""
        self.history.append(SessionRewind(to=prompt, failed=True))
        return text

    def _too_large(self, request: ModelRequest) -> Error | None:
        """Refuse, before anything is sent, a prompt that cannot fit even alone."""
        usage = self.history.usage()
        needed = self.history.weigh(Item(0, request)).total + usage.parts.system + usage.parts.tools
        needed += usage.parts.memory
        if needed <= most(usage.window):
            return None
        return too_large(usage.window, needed)


def _says_something(message: ModelMessage) -> bool:
    """Whether it is an answer with a text or a call: thoughts alone, or nothing at all, are none."""
    return isinstance(message, ModelResponse) and any(
        isinstance(part, BaseToolCallPart) or (isinstance(part, TextPart) and part.content.strip() != "")
        for part in message.parts
    )


def _request(text: str, files: Sequence[Attached]) -> ModelRequest:
    if not files:
        return ModelRequest(parts=[UserPromptPart(text)])
    return ModelRequest(parts=[UserPromptPart([text, *(piece for file in files for piece in _pieces(file))])])


def _pieces(file: Attached) -> Sequence[UserContent]:
    if file.picture:
        return picture_content(file.path, file.picture, file.media_type)
    return [file_content(file.path, file.text)]


def too_large(window: ContextWindow, requested: int) -> Error:
    """The error for a request of so many tokens that cannot fit, with both numbers."""
    kept = f", {window.reserve:,} of them for the answer" if window.reserve else ""
    return Error(
        kind="context_overflow",
        message=f"This needs {requested:,} tokens and the model takes {window.limit:,}{kept}.",
        hint="Shorten the prompt, compact with ctrl+g, or choose a larger model with /model.",
        limit=window.limit,
        requested=requested,
    )
