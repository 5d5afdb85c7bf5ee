"""The updates sent to an editor for each event, in a live session or a replay."""

import json
import logging
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from acp import RequestError, helpers
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    ContentToolCallContent,
    Cost,
    CurrentModeUpdate,
    FileEditToolCallContent,
    PermissionOption,
    PlanEntry,
    PlanEntryStatus,
    TerminalToolCallContent,
    ToolCallLocation,
    ToolCallStatus,
    ToolCallUpdate,
    ToolKind,
    Usage,
    UsageUpdate,
    UserMessageChunk,
)

from tui_app.agent.own_agent import UnusableAgent
from tui_app.context.storage_errors import StorageError
from tui_app.context.tool_titles import call_title, result_note
from tui_app.conversation.approvals import Decision
from tui_app.events import (
    AgentOutput,
    ApprovalDecided,
    ApprovalRequested,
    AssistantDelta,
    AssistantMessage,
    CompactionComplete,
    CompactionProgress,
    CompactionStart,
    CompactionUndone,
    Error,
    GaugeChanged,
    ModeChange,
    Notice,
    Payload,
    QuestionAsked,
    SessionRestored,
    ShellCommand,
    SubAgentStep,
    ToolCall,
    ToolResult,
    Truncation,
    TurnRetry,
    UserMessage,
)
from tui_app.next_steps import editor_text
from tui_app.records import frozen
from tui_app.session.event_heads import output_text
from tui_app.session.lock import SessionLocked
from tui_app.session.stores.store import SessionNotFound
from tui_app.settings import SettingsError
from tui_app.system.secrets import mask_secrets
from tui_app.text import MOST_REMARKS, count, cut, lookalikes, thousands, visible
from tui_app.tool_specs import TODO, tool_spec


@dataclass(slots=True)
class Spending:
    """Sums of what providers reported in a session's events."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    usd: float = 0.0

    def note(self, payload: Payload) -> None:
        match payload:
            case AssistantMessage() | CompactionComplete() | SubAgentStep():
                self.input_tokens += payload.input_tokens
                self.output_tokens += payload.output_tokens
                self.usd += payload.cost_usd or 0.0
                if not isinstance(payload, CompactionComplete):
                    self.cached_tokens += payload.cache_read_tokens

    @property
    def cost(self) -> Cost | None:
        """The known cost; None if it is zero."""
        return Cost(amount=round(self.usd, 6), currency="USD") if self.usd else None

    @property
    def usage(self) -> Usage:
        return Usage(
            total_tokens=self.input_tokens + self.output_tokens,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cached_read_tokens=self.cached_tokens,
        )


INVALID_PARAMS, INTERNAL, NOT_FOUND = -32602, -32603, -32002
_log = logging.getLogger(__name__)


def refused(sentence: str) -> RequestError:
    """Make the error for an invalid request."""
    return RequestError(INVALID_PARAMS, sentence)


def failed(error: Error) -> RequestError:
    return RequestError(INTERNAL, error_text(error), {"kind": error.kind, "retryable": error.retryable})


def error_text(error: Error) -> str:
    return editor_text(f"{error.message} {error.hint}".strip(), error.actions)


def trouble(error: Exception) -> RequestError:
    """Convert an exception when opening or changing a session. Unexpected ones are also logged."""
    match error:
        case RequestError():
            return error
        case SessionNotFound():
            return RequestError(NOT_FOUND, mask_secrets(str(error.args[0])))
        case SessionLocked():
            return RequestError(
                INTERNAL, f"The session is open in {error}, and only one may write it. Close it there first."
            )
        case SettingsError() | UnusableAgent() | StorageError():
            return RequestError(INTERNAL, mask_secrets(str(error)))
        case OSError() if error.strerror:
            where = f"{error.filename}: " if error.filename else ""
            return RequestError(INTERNAL, f"{where}{error.strerror}.")
        case _:
            _log.error("a request of the editor failed", exc_info=error)
            reason = mask_secrets(str(error)).strip() or type(error).__name__
            return RequestError(INTERNAL, f"Something unexpected went wrong: {reason.splitlines()[0]}")


@frozen
class Hunk:
    """One changed place of a file, before and after."""

    old: str | None
    """None if there was no file."""
    new: str


def hunks(diff: str) -> tuple[Hunk, ...]:
    """Return the changed places of a diff; none if it only describes them in words."""
    rows = diff.split("\n")
    fresh = rows[0] == "--- /dev/null"
    places: list[list[str]] = []
    for row in rows:
        if row.startswith("@@"):
            places.append([])
        elif places and row.startswith((" ", "+", "-")):
            places[-1].append(row)
    return tuple(Hunk(None if fresh else _text(place, " -"), _text(place, " +")) for place in places if place)


def remarks(diff: str) -> tuple[str, ...]:
    """Return the remarks in a diff, for example how much was left out."""
    return tuple(row for row in diff.split("\n") if row.startswith("["))


def _text(rows: Iterable[str], signs: str) -> str:
    return "".join(f"{row[1:]}\n" for row in rows if row[0] in signs)


_TITLE_CHARS, _RULE_CHARS, _TEXT_CHARS = 100, 200, 40_000
_MOST_CHARS = 400_000
"""A longer text is not shown completely, so it cannot be allowed."""
_TICKS = re.compile("`+")
Content = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent


@frozen(kw_only=True)
class Question:
    """A question for the user, from a call that needs approval or from the model."""

    id: str
    """Identifies the question in the conversation."""
    call: ToolCallUpdate
    """The call to approve, or the question."""
    options: tuple[PermissionOption, ...]
    answers: Mapping[str, Decision | str]
    """The meaning of each option, by id: a decision, or for a question of the model the answer's text."""


def choice_of(asked: QuestionAsked) -> Question:
    """Convert a question of the model with choices."""
    title = visible(asked.question)
    call = ToolCallUpdate(tool_call_id=asked.tool_call_id or asked.id, title=title, status="pending")
    offered = [
        PermissionOption(option_id=str(at), name=visible(choice), kind="allow_once")
        for at, choice in enumerate(asked.choices)
    ]
    none = PermissionOption(option_id="none", name="No answer", kind="reject_once")
    answers = {**dict(zip(map(str, range(len(offered))), asked.choices, strict=True)), "none": ""}
    return Question(id=asked.id, call=call, options=(*offered, none), answers=answers)


def question_of(asked: ApprovalRequested, cwd: Path, *, kind: ToolKind, args: Any = None) -> Question:
    """Convert an approval request.

    Args:
        asked: The request.
        cwd: Folder of the session; the protocol uses absolute file paths.
        kind: Kind of the tool.
        args: Arguments of the call, if known.
    """
    places = [ToolCallLocation(path=str(cwd / asked.subject))] if asked.kind == "file" else None
    # On one line, like other titles of calls; the content has all of it.
    subject = "" if asked.kind == "other" else asked.subject
    title = cut(visible(f"{asked.tool} {subject}".rstrip()), _TITLE_CHARS)
    if asked.note and asked.kind == "file":
        title = f"{title}, {visible(asked.note)}"
    call = ToolCallUpdate(
        tool_call_id=asked.tool_call_id or asked.id,
        title=title,
        kind=kind,
        status="pending",
        content=_content(asked, cwd),
        locations=places,
        raw_input=args,
    )
    options: list[PermissionOption] = []
    if is_seen := _is_seen(asked):
        options.append(PermissionOption(option_id="once", name="Allow", kind="allow_once"))
    if asked.pattern and is_seen:
        name = f"Allow in this session: {cut(visible(asked.pattern), _RULE_CHARS)}"
        options.append(PermissionOption(option_id="always", name=name, kind="allow_always"))
    options.append(PermissionOption(option_id="no", name="Do not allow", kind="reject_once"))
    always = Decision("always", pattern=asked.pattern)
    known = {"once": Decision("once"), "always": always, "no": Decision("no")}
    answers = {each.option_id: known[each.option_id] for each in options}
    return Question(id=asked.id, call=call, options=tuple(options), answers=answers)


def _is_seen(asked: ApprovalRequested) -> bool:
    """Return whether the editor gets all of it; the places of a diff are always complete."""
    text = asked.subject if asked.kind == "file" else max(asked.subject, asked.detail, key=len)
    return len(text) <= _MOST_CHARS


def _content(asked: ApprovalRequested, cwd: Path) -> list[Content]:
    """Return the complete diff, command or arguments, followed by other information."""
    shown: list[Content] = []
    looks = islice(dict.fromkeys(lookalikes(asked.subject if asked.kind != "other" else "")), MOST_REMARKS)
    facts = [*(f"Look closely: {each}." for each in looks), asked.note, asked.repeats, asked.because]
    if asked.kind == "file":
        path = str(cwd / asked.subject)
        for hunk in hunks(asked.detail):
            old = None if hunk.old is None else _lines(hunk.old)
            shown.append(helpers.tool_diff_content(path, _lines(hunk.new), old))
        facts = [*(remarks(asked.detail) if shown else [asked.detail]), *facts]
    else:
        shown += _fenced(f"$ {asked.subject}" if asked.kind == "command" else asked.subject)
        facts = [asked.detail, *facts]
    if not _is_seen(asked):
        facts.append(f"It is longer than {_MOST_CHARS:,} characters, and cannot be allowed here.")
    return [*shown, *_fenced("\n".join(filter(None, facts)))]


def _fenced(text: str) -> list[ContentToolCallContent]:
    """Split text into pieces of limited size that an editor shows unchanged."""
    text, pieces = text[:_MOST_CHARS], list[ContentToolCallContent]()
    for at in range(0, max(1, len(text)), _TEXT_CHARS):
        shown = _lines(text[at : at + _TEXT_CHARS])
        fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(shown)), default=0))
        pieces.append(helpers.tool_content(helpers.text_block(f"{fence}\n{shown}\n{fence}")))
    return pieces


def _lines(text: str) -> str:
    """Return the text with all hidden characters written out; line breaks and tabs stay."""
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))


Update = Any
"""A session update of the protocol; the SDK's union of them has no name."""


@dataclass(slots=True)
class Updates:
    """Converts events, in order, to updates for one session."""

    cwd: Path
    spending: Spending = field(default_factory=Spending)
    replaying: bool = False
    """Whether events of the past are replayed: then prompts are shown, and streams are not."""
    _titles: dict[str, str] = field(default_factory=dict)
    """Titles of the calls without a result yet, by id."""
    _inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Arguments of the same calls."""
    _calls: dict[str, int] = field(default_factory=dict)
    """Number of calls made by running subagents, by the id of the call that started each."""
    _message: str = ""
    """Id of the answer being streamed; empty between answers."""
    _wrote: bool = False
    _thought: bool = False
    _usage: tuple[int, int] | None = None
    _jobs: set[str] = field(default_factory=set)

    def of(self, payload: Payload) -> Sequence[Update]:
        """Build the updates for one event; most need none."""
        self.spending.note(payload)
        match payload:
            case AssistantDelta():
                self._message = self._message or uuid.uuid4().hex
                self._wrote = self._wrote or bool(payload.text)
                self._thought = self._thought or bool(payload.thinking)
                thought = [_thought(payload.thinking, self._message)] if payload.thinking else []
                return [*thought, *([_message(payload.text, self._message)] if payload.text else [])]
            case AssistantMessage():
                # Send what was not streamed.
                id, wrote, streamed = self._message or uuid.uuid4().hex, self._wrote, self._thought
                self._message, self._wrote, self._thought = "", False, False
                thought = [_thought(payload.thinking, id)] if payload.thinking and not streamed else []
                return [*thought, *([_message(payload.text, id)] if payload.text and not wrote else [])]
            case ToolCall() | ToolResult() | SubAgentStep():
                return self._call(payload)
            case GaugeChanged(usage=usage):
                figures = usage.total, usage.window.stated
                if figures == self._usage:
                    return []
                self._usage = figures
                used, size = figures
                cost = self.spending.cost
                return [UsageUpdate(session_update="usage_update", used=used, size=size, cost=cost)]
            case CompactionStart() | CompactionProgress() | CompactionComplete():
                return self._compaction(payload)
            case _:
                return self._aside(payload)

    def question(self, asked: ApprovalRequested) -> Question:
        """Convert an approval request of a tool."""
        kind = tool_spec(asked.tool).editor
        return question_of(asked, self.cwd, kind=kind, args=self._inputs.get(asked.tool_call_id))

    def _call(self, payload: ToolCall | ToolResult | SubAgentStep) -> Sequence[Update]:
        id = payload.tool_call_id
        match payload:
            case ToolCall(name=name):
                title = self._titles[id] = call_title(name, payload.args)
                args = self._inputs[id] = _arguments(payload.args)
                path, line = args.get("path"), args.get("start")
                places: list[ToolCallLocation] | None = None
                if isinstance(path, str) and path:
                    at = line if isinstance(line, int) and line > 0 else None
                    places = [ToolCallLocation(path=str(self.cwd / path), line=at)]
                return [
                    helpers.start_tool_call(
                        id,
                        title,
                        kind=tool_spec(name).editor,
                        status="in_progress",
                        raw_input=args,
                        locations=places,
                    )
                ]
            case ToolResult(name=name, text=text, outcome=outcome):
                title = self._titles.pop(id, name)
                args = self._inputs.pop(id, {})
                note = result_note(name, text, outcome)
                plan = _plan(args) if name == TODO.name and outcome == "success" else []
                return [
                    *plan,
                    helpers.update_tool_call(
                        id,
                        title=f"{title}, {note}" if note else title,
                        status="completed" if outcome == "success" else "failed",
                        content=[helpers.tool_content(helpers.text_block(text))],
                    ),
                ]
            case SubAgentStep(calls=calls):
                # Progress of the subagent that the call has started.
                if id not in self._titles or not calls:
                    return []
                made = self._calls[id] = self._calls.get(id, 0) + len(calls)
                title = f"{self._titles[id]}, {count(made, 'call')}"
                return [helpers.update_tool_call(id, title=title)]

    def _compaction(
        self, payload: CompactionStart | CompactionProgress | CompactionComplete
    ) -> Sequence[Update]:
        """Show a compaction as a tool call: in progress, then completed, with the summary as content."""
        id = f"compaction-{payload.job}"
        match payload:
            case CompactionStart():
                if self.replaying:
                    return []
                self._jobs.add(payload.job)
                title = f"Compacting the conversation ({thousands(payload.tokens_before)} tokens)"
                return [helpers.start_tool_call(id, title, kind="think", status="in_progress")]
            case CompactionProgress():
                title = f"Compacting the conversation: {count(payload.tokens_written, 'token')} written"
                return [helpers.update_tool_call(id, title=title)] if payload.job in self._jobs else []
            case CompactionComplete(summary=summary, outcome=outcome, job=job):
                done = outcome == "success"
                head = "Conversation compacted" if done else f"Compaction {outcome}"
                title = f"{head}: {payload.headline()}"
                content = [helpers.tool_content(helpers.text_block(summary))] if summary else None
                start = helpers.start_tool_call(id, title, kind="think", status="in_progress")
                begun = [] if job in self._jobs else [start]
                self._jobs.discard(job)
                status: ToolCallStatus = "completed" if done else "failed"
                return [*begun, helpers.update_tool_call(id, title=title, status=status, content=content)]

    def _aside(self, payload: Payload) -> Sequence[Update]:
        match payload:
            case UserMessage(text=text) | ShellCommand(text=text) if self.replaying:
                content = helpers.text_block(f"!{text}" if isinstance(payload, ShellCommand) else text)
                own_id = uuid.uuid4().hex
                return [
                    UserMessageChunk(session_update="user_message_chunk", content=content, message_id=own_id)
                ]
            case AgentOutput():
                return [_message(output_text(payload))]
            case Notice(text=text, actions=actions):
                return [_message(editor_text(text, actions))]
            case CompactionUndone() | SessionRestored():
                what = "compaction" if isinstance(payload, CompactionUndone) else "rewind or clear"
                return [_message(f"The {what} was undone.")]
            case Truncation():
                return [_thought(payload.headline())]
            case TurnRetry():
                return [_thought(f"{payload.reason} Trying again, {payload.attempt} of {payload.attempts}.")]
            case ModeChange(new=new) if not self.replaying:
                return [CurrentModeUpdate(session_update="current_mode_update", current_mode_id=new)]
            case ApprovalDecided(decision="allowed", by="person", tool_call_id=call) if not self.replaying:
                return [helpers.update_tool_call(call, status="in_progress")]
            case Error() if self.replaying:
                return [_message(error_text(payload))]
            case _:
                return []


_STATES: Mapping[str, PlanEntryStatus] = {"pending": "pending", "doing": "in_progress", "done": "completed"}


def _plan(args: Mapping[str, Any]) -> Sequence[Update]:
    """Return the whole todo list as a plan of the editor."""
    items = args.get("items")
    entries = [
        PlanEntry(
            content=visible(str(item["text"])),
            priority="medium",
            status=_STATES.get(str(item.get("state", "pending")), "pending"),
        )
        for item in (items if isinstance(items, list) else [])
        if isinstance(item, dict) and "text" in item
    ]
    return [AgentPlanUpdate(session_update="plan", entries=entries)] if entries else []


def _arguments(text: str) -> dict[str, Any]:
    try:
        args = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return args if isinstance(args, dict) else {}


def _message(text: str, id: str = "") -> AgentMessageChunk:
    return AgentMessageChunk(
        session_update="agent_message_chunk",
        content=helpers.text_block(text),
        message_id=id or uuid.uuid4().hex,
    )


def _thought(text: str, id: str = "") -> AgentThoughtChunk:
    return AgentThoughtChunk(
        session_update="agent_thought_chunk",
        content=helpers.text_block(text),
        message_id=id or uuid.uuid4().hex,
    )
