"""One prompt from the queue to its answer: logged, run, and closed whatever happens."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from time import monotonic

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

from tui_app.agent.errors import describe_error
from tui_app.agent.tools.workspace import Workspace
from tui_app.agent.turn import open_calls
from tui_app.context.answer_end import why_not_whole
from tui_app.context.counting.attachments import file_content, picture_content
from tui_app.context.counting.usage import ContextWindow
from tui_app.context.view import Item
from tui_app.context.window_limits import most
from tui_app.conversation.attaching import Attached, Attachment, read_attachments
from tui_app.conversation.attempts import Attempts
from tui_app.conversation.budget import Budget
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.stopping import Stop, Stopped
from tui_app.conversation.way_back import with_way_back
from tui_app.conversation.work import Prompt
from tui_app.events import (
    AgentOutput,
    Error,
    Notice,
    SessionEnd,
    SessionRewind,
    ToolResult,
    TurnEnd,
    UserMessage,
)

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
