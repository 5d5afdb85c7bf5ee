"""One turn without a screen: driven by the same conversation, shown as text or as JSON lines."""

import asyncio
import math
import sqlite3
from dataclasses import dataclass, field, replace
from typing import Protocol

from tui_app.cli.command import FAILED, OK
from tui_app.cli.failures import spoken
from tui_app.cli.output import print_json, say, stream, tell
from tui_app.context.storage_errors import storage_error
from tui_app.context.tool_titles import call_title, result_note
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.open_request import Opening
from tui_app.conversation.session_history import Subscription
from tui_app.conversation.work import Prompt
from tui_app.events import (
    AgentOutput,
    ApprovalDecided,
    AssistantDelta,
    AssistantMessage,
    CompactionComplete,
    Error,
    HookRan,
    MemoryPressure,
    Notice,
    Payload,
    Record,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnRetry,
)
from tui_app.session.event_heads import approval_title, compaction_title, hook_title, pressure_text


class RecordView(Protocol):
    """Shows what happens in a turn."""

    def show(self, record: Record) -> None:
        """Show one event."""
        ...


class JsonView:
    """Every stored event, notices, pauses before another try, and the turn's end, one JSON object a line."""

    def show(self, record: Record) -> None:
        """Print one event; what nobody may miss goes to stderr as well."""
        data = spoken(record.data)
        if data.STORED or isinstance(data, Notice | TurnEnd | TurnRetry):
            print_json(replace(record, data=data).to_json())
        if isinstance(data, Notice | MemoryPressure):
            tell(_aside(data))


@dataclass(slots=True)
class AnswerView:
    """The answer on stdout as it is written; tools and troubles on stderr."""

    _streamed: bool = False
    _calls: dict[str, str] = field(default_factory=dict)
    """Titles of the tool calls whose result is awaited, by id."""

    def show(self, record: Record) -> None:
        """Print one event."""
        match spoken(record.data):
            case AssistantDelta(text=text) if text:
                self._streamed = True
                stream(text)
            case AssistantMessage(text=text):
                self._answered(text)
            case AgentOutput(text=text):
                say(text)
            case ToolCall(tool_call_id=call, name=name, args=args):
                self._calls[call] = call_title(name, args)
            case ToolResult(tool_call_id=call, name=name, text=text, outcome=outcome):
                title = self._calls.pop(call, name)
                tell(f"  {title}, {result_note(name, text, outcome)}")
            case other:
                if said := _aside(other):
                    tell(said)

    def _answered(self, text: str) -> None:
        """End a streamed answer with a line break; print one whole that did not stream."""
        if not self._streamed and text:
            say(text)
        elif self._streamed:
            say()
        self._streamed = False


def _aside(payload: Payload) -> str:
    """What stderr says of an event that is no part of the answer; empty for most."""
    match payload:
        case CompactionComplete():
            return f"Compaction {payload.outcome}: {compaction_title(payload)}"
        case Error():
            return f"{payload.message} {payload.hint}".strip()
        case ApprovalDecided(decision="denied"):
            return _refusal(payload)
        case HookRan(outcome=outcome) if outcome != "ok":
            return f"  {hook_title(payload)}"
        case TurnRetry(attempt=attempt, attempts=attempts):
            pause = f"{math.ceil(payload.wait_s)} s"
            return f"{payload.reason} Trying again in {pause}, try {attempt} of {attempts}."
        case Notice():
            return payload.text
        case MemoryPressure():
            return pressure_text(payload)
        case _:
            return ""


def _refusal(decided: ApprovalDecided) -> str:
    """What was not done, and how it could be."""
    how = "; --allow or --yes lets it" if decided.by == "unattended" else ""
    return f"  {approval_title(decided)}{how}"


@dataclass(slots=True)
class Verdict:
    """How a turn went, from its events."""

    done: bool = False
    troubled: bool = False
    advice: set[str] = field(default_factory=set)
    """What to do next, of every error that was told."""

    def note(self, record: Record) -> None:
        """Take one event into account."""
        if isinstance(record.data, TurnEnd):
            self.done = record.data.outcome == "done"
        elif isinstance(record.data, Error):
            self.troubled = True
            self.advice.add(record.data.hint)

    def has_told(self, error: Exception) -> bool:
        """Whether the trouble of the disk behind an error was told already, if that is what it is."""
        trouble = storage_error(error)
        return trouble is not None and any(trouble.hint in hint for hint in self.advice)

    @property
    def code(self) -> int:
        """The exit code."""
        return OK if self.done and not self.troubled else FAILED


async def run_turn(opening: Opening, prompt: str, view: RecordView, *, files: tuple[str, ...] = ()) -> int:
    """Open a session, send one prompt, and close the session when nothing is under way any more.

    Cancelling this stops the turn, shows its end, and closes the session.

    Args:
        opening: Which session.
        prompt: What to say.
        view: Shows what happens.
        files: Paths of files whose content goes along.

    Returns:
        The exit code.

    Raises:
        SessionLocked: if another process writes the session.
        BrokenPipeError: if nobody reads the output any more; the turn is stopped then.
    """
    opened = open_session(opening)
    verdict = Verdict()
    follower: asyncio.Task[None] | None = None
    try:
        if not opening.session:
            _show_start(opened, view)
        await _prepare(opened, view)
        follower = asyncio.create_task(_follow(opened, opened.conversation.watch(), view, verdict))
        opened.conversation.submit(Prompt(prompt, files))
        await opened.conversation.settle()
    finally:
        trouble = await _close(opened)
        if follower is not None:
            await follower
        # A full disk that ended the turn refuses the end of the session, too.
        if trouble is not None and not verdict.has_told(trouble):
            raise trouble
    return verdict.code


async def _close(opened: OpenSession) -> Exception | None:
    """Close the session; what it fails with is for whoever knows what was told before."""
    try:
        await opened.close()
    except (sqlite3.Error, OSError) as error:
        return error
    return None


async def _prepare(opened: OpenSession, view: RecordView) -> None:
    """Get ready for the prompt, and say what a person should know before it.

    Errors of this time are not shown: those that matter keep the turn from its answer, and are told then.
    """
    early = Early()
    opened.bus.listen(early.hear)
    await opened.prepare()
    early.over = True
    for record in early.notices:
        view.show(record)


@dataclass(slots=True)
class Early:
    """Notices that come before the turn is watched."""

    notices: list[Record] = field(default_factory=list)
    over: bool = False
    """Whether somebody watches now, who is told everything."""

    def hear(self, record: Record) -> None:
        """Keep a notice."""
        if not self.over and isinstance(record.data, Notice):
            self.notices.append(record)


def _show_start(opened: OpenSession, view: RecordView) -> None:
    """A new session's first event was written before anybody could watch."""
    start = opened.store.record(opened.conversation.session, 1)
    if start is not None:
        view.show(start)


async def _follow(opened: OpenSession, watching: Subscription, view: RecordView, verdict: Verdict) -> None:
    try:
        async for record in watching:
            verdict.note(record)
            view.show(record)
    except BrokenPipeError:
        opened.conversation.cancel()
        raise
