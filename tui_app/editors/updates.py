"""What an editor is told of each event: the same for a session that goes on and for one that is replayed."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp import helpers
from acp.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    CurrentModeUpdate,
    ToolCallLocation,
    ToolCallStatus,
    ToolKind,
    UsageUpdate,
    UserMessageChunk,
)

from tui_app.context.tool_titles import call_title, result_note
from tui_app.editors.questions import Question, question_of
from tui_app.editors.spending import Spending
from tui_app.editors.troubles import told
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
    Notice,
    Payload,
    PolicyChange,
    SessionRestored,
    SubAgentStep,
    ToolCall,
    ToolResult,
    Truncation,
    TurnRetry,
    UserMessage,
)
from tui_app.plurals import count
from tui_app.session.event_heads import compaction_title, output_text, thousands, truncation_title

Update = Any
"""One of the protocol's session updates; the SDK's union of them has no name."""
_KINDS: dict[str, ToolKind] = {
    "read_file": "read", "ls": "search", "glob": "search", "grep": "search", "search_history": "search",
    "explore": "search", "write_file": "edit", "edit_file": "edit", "run_command": "execute",
    "web_fetch": "fetch", "plan": "think", "todo": "think",
}  # fmt: skip


@dataclass(slots=True)
class Updates:
    """Turns events, in their order, into updates for one session."""

    cwd: Path
    spending: Spending = field(default_factory=Spending)
    replaying: bool = False
    """Whether the events are those of the past: then prompts are shown too, and streams are not."""
    _titles: dict[str, str] = field(default_factory=dict)
    """Titles of the calls whose result is awaited, by id."""
    _inputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Their arguments."""
    _calls: dict[str, int] = field(default_factory=dict)
    """Calls of the sub-agents under way, by the id of the call that has sent each."""
    _message: str = ""
    """Id of the answer being streamed; empty between answers."""
    _wrote: bool = False
    _thought: bool = False
    _usage: tuple[int, int] | None = None
    _jobs: set[str] = field(default_factory=set)

    def of(self, payload: Payload) -> Sequence[Update]:
        """What is said of one event; most have nothing to say."""
        self.spending.note(payload)
        match payload:
            case UserMessage() | AssistantDelta() | AssistantMessage():
                return self._said(payload)
            case ToolCall():
                return [self._called(payload)]
            case ToolResult():
                return [self._answered(payload)]
            case AgentOutput():
                return [_message(output_text(payload), uuid.uuid4().hex)]
            case SubAgentStep():
                return self._stepped(payload)
            case GaugeChanged():
                return self._gauge(payload)
            case CompactionStart() | CompactionProgress() | CompactionComplete():
                return self._compaction(payload)
            case _:
                return self._aside(payload)

    def question(self, asked: ApprovalRequested) -> Question:
        """Word what a tool asks before it acts."""
        kind = _KINDS.get(asked.tool, "other")
        return question_of(asked, self.cwd, kind=kind, args=self._inputs.get(asked.tool_call_id))

    def _said(self, payload: UserMessage | AssistantDelta | AssistantMessage) -> Sequence[Update]:
        match payload:
            case UserMessage():
                return [_user(payload.text)] if self.replaying else []
            case AssistantDelta():
                return self._streamed(payload)
            case AssistantMessage():
                return self._whole(payload)

    def _streamed(self, delta: AssistantDelta) -> Sequence[Update]:
        self._message = self._message or uuid.uuid4().hex
        self._wrote = self._wrote or bool(delta.text)
        self._thought = self._thought or bool(delta.thinking)
        thought = [_thought(delta.thinking, self._message)] if delta.thinking else []
        return [*thought, *([_message(delta.text, self._message)] if delta.text else [])]

    def _whole(self, answer: AssistantMessage) -> Sequence[Update]:
        """What has not streamed of an answer."""
        id, wrote, thought = self._message or uuid.uuid4().hex, self._wrote, self._thought
        self._message, self._wrote, self._thought = "", False, False
        thinking = [_thought(answer.thinking, id)] if answer.thinking and not thought else []
        return [*thinking, *([_message(answer.text, id)] if answer.text and not wrote else [])]

    def _called(self, call: ToolCall) -> Update:
        title = self._titles[call.tool_call_id] = call_title(call.name, call.args)
        args = self._inputs[call.tool_call_id] = _arguments(call.args)
        return helpers.start_tool_call(
            call.tool_call_id,
            title,
            kind=_KINDS.get(call.name, "other"),
            status="in_progress",
            raw_input=args,
            locations=self._places(args),
        )

    def _places(self, args: dict[str, Any]) -> list[ToolCallLocation] | None:
        path, line = args.get("path"), args.get("start")
        if not isinstance(path, str) or not path:
            return None
        at = line if isinstance(line, int) and line > 0 else None
        return [ToolCallLocation(path=str(self.cwd / path), line=at)]

    def _answered(self, result: ToolResult) -> Update:
        title = self._titles.pop(result.tool_call_id, result.name)
        self._inputs.pop(result.tool_call_id, None)
        note = result_note(result.name, result.text, result.outcome)
        return helpers.update_tool_call(
            result.tool_call_id,
            title=f"{title}, {note}" if note else title,
            status="completed" if result.outcome == "success" else "failed",
            content=[helpers.tool_content(helpers.text_block(result.text))],
        )

    def _stepped(self, step: SubAgentStep) -> Sequence[Update]:
        """How far the sub-agent is that a call has sent."""
        title = self._titles.get(step.tool_call_id)
        if title is None or not step.calls:
            return []
        made = self._calls[step.tool_call_id] = self._calls.get(step.tool_call_id, 0) + len(step.calls)
        title = f"{title}, {count(made, 'call')}"
        return [helpers.update_tool_call(step.tool_call_id, title=title)]

    def _gauge(self, gauge: GaugeChanged) -> Sequence[Update]:
        usage = gauge.usage
        figures = usage.total, usage.window.stated
        if figures == self._usage:
            return []
        self._usage = figures
        return [
            UsageUpdate(
                session_update="usage_update", used=figures[0], size=figures[1], cost=self.spending.cost
            )
        ]

    def _compaction(
        self, payload: CompactionStart | CompactionProgress | CompactionComplete
    ) -> Sequence[Update]:
        """A compaction looks like a tool call: under way, then done, and what it wrote can be opened."""
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
            case CompactionComplete():
                return self._compacted(id, payload)

    def _compacted(self, id: str, done: CompactionComplete) -> Sequence[Update]:
        ended = f"Conversation compacted: {compaction_title(done)}"
        if done.outcome != "success":
            ended = f"Compaction {done.outcome}: {compaction_title(done)}"
        content = [helpers.tool_content(helpers.text_block(done.summary))] if done.summary else None
        known = done.job in self._jobs
        self._jobs.discard(done.job)
        start = [] if known else [helpers.start_tool_call(id, ended, kind="think", status="in_progress")]
        status: ToolCallStatus = "completed" if done.outcome == "success" else "failed"
        return [*start, helpers.update_tool_call(id, title=ended, status=status, content=content)]

    def _aside(self, payload: Payload) -> Sequence[Update]:
        match payload:
            case Notice(text=text):
                return [_message(text)]
            case CompactionUndone() | SessionRestored():
                what = "compaction" if isinstance(payload, CompactionUndone) else "rewind or clear"
                return [_message(f"The {what} was taken back.")]
            case Truncation():
                return [_thought(truncation_title(payload))]
            case TurnRetry():
                return [_thought(f"{payload.reason} Trying again, {payload.attempt} of {payload.attempts}.")]
            case PolicyChange(new=new) if not self.replaying:
                return [CurrentModeUpdate(session_update="current_mode_update", current_mode_id=new)]
            case ApprovalDecided(decision="allowed", by="person", tool_call_id=call) if not self.replaying:
                return [helpers.update_tool_call(call, status="in_progress")]
            case Error() if self.replaying:
                return [_message(told(payload))]
            case _:
                return []


def _arguments(text: str) -> dict[str, Any]:
    try:
        args = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return args if isinstance(args, dict) else {}


def _user(text: str) -> UserMessageChunk:
    return UserMessageChunk(
        session_update="user_message_chunk", content=helpers.text_block(text), message_id=uuid.uuid4().hex
    )


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
