"""Collects the events of an import in order and keeps the books about everything left out."""

from collections import Counter
from dataclasses import replace
from typing import Any, Literal

from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    Payload,
    SystemMessage,
    ToolCall,
    ToolResult,
    Trigger,
    UserMessage,
)
from tui_app.session.importers import messages
from tui_app.session.importers.calls import Calls, OpenCall
from tui_app.session.importers.closing import answer_open_calls, count_messages, number_compactions
from tui_app.session.importers.messages import Content, MessageRefusedError
from tui_app.session.importers.result import Imported, ImportedEvent, SkippedLine
from tui_app.session.importers.source import Json

ToolOutcome = Literal["success", "error", "denied", "interrupted"]

_PYDANTIC_OUTCOME: dict[ToolOutcome, str] = {
    "success": "success",
    "error": "failed",
    "denied": "denied",
    "interrupted": "interrupted",
}


class Timeline:
    """The events of one import so far."""

    def __init__(self) -> None:
        self.events: list[ImportedEvent] = []
        self.skipped: list[SkippedLine] = []
        self.calls = Calls()
        self.left_out: Counter[str] = Counter()
        """How often something was left out on purpose; the key finishes the sentence ``3 ...``."""
        self.places: set[int] = set()
        """Lines that became an event or were left out on purpose."""
        self.first_at: dict[int, ImportedEvent] = {}
        """By line: the first event that it became."""
        self._reported: set[int] = set()

    def skip(self, line: int, reason: str) -> None:
        """Report something that could not be used."""
        self.skipped.append(SkippedLine(line=line, reason=reason))
        self._reported.add(line)

    def leave(self, line: int, what: str) -> None:
        """Leave a line out on purpose; ``what`` finishes the sentence ``3 ...``."""
        self.left_out[what] += 1
        self.places.add(line)

    def knows(self, line: int) -> bool:
        """Whether the line became an event, was left out on purpose, or is reported."""
        return line in self.places or line in self._reported

    def add(self, data: Payload, message: Json | None, time: float, line: int) -> bool:
        """Append an event; a message that pydantic-ai refuses is reported and not added."""
        try:
            text = None if message is None else messages.canonical(message)
        except MessageRefusedError as error:
            self.skip(line, f"not a valid message: {error}")
            return False
        self.events.append(ImportedEvent(data=data, message=text, time=time))
        self.first_at.setdefault(line, self.events[-1])
        self.places.add(line)
        return True

    def system(self, text: str, time: float, line: int, message: Json | None = None) -> None:
        """Append a system prompt."""
        self.add(SystemMessage(text=text), message or messages.system_request(text, time), time, line)

    def user(self, content: Content, time: float, line: int, message: Json | None = None) -> None:
        """Append a prompt; an empty one is reported."""
        if not content or content == [""]:
            return self.skip(line, "empty user message")
        items = [content] if isinstance(content, str) else list(content)
        attached = tuple(messages.attachment_name(item) for item in items if messages.is_file(item))
        data = UserMessage(text=messages.plain_text(items), attachments=attached)
        self.add(data, message or messages.user_request(content, time), time, line)
        return None

    def response(self, message: Json, time: float, line: int, cost: float | None = None) -> bool:
        """Append a model's response and the calls it makes; return whether it was accepted."""
        parts: list[Json] = message["parts"]
        if not parts:
            self.skip(line, "empty assistant message")
            return False
        calls = [part for part in parts if part["part_kind"] == "tool-call"]
        usage: Json = message.get("usage") or {}
        data = AssistantMessage(
            text=_texts(parts, "text"),
            thinking=_texts(parts, "thinking"),
            call_ids=tuple(part["tool_call_id"] for part in calls),
            model=message.get("model_name") or "",
            input_tokens=usage.get("input_tokens", 0),
            output_tokens=usage.get("output_tokens", 0),
            cache_read_tokens=usage.get("cache_read_tokens", 0),
            finish_reason=message.get("finish_reason") or "",
            interrupted=message.get("state") in ("interrupted", "incomplete"),
            cost_usd=cost,
        )
        if not self.add(data, message, time, line):
            return False
        for part in calls:
            args = messages.args_text(part.get("args"))
            call = ToolCall(tool_call_id=part["tool_call_id"], name=part["tool_name"], args=args)
            self.add(call, None, time, line)
        return True

    def result(self, call: OpenCall, content: Content, outcome: ToolOutcome, time: float, line: int) -> None:
        """Append what a tool answered."""
        name = _PYDANTIC_OUTCOME[outcome]
        message = messages.return_request(call.call_id, call.name, content, name, time)
        self.result_message(call, message, outcome, time, line)

    def result_message(
        self, call: OpenCall, message: Json, outcome: ToolOutcome, time: float, line: int
    ) -> None:
        """Append a result that is already a message of one tool return."""
        text = messages.plain_text(message["parts"][0].get("content"))
        data = ToolResult(tool_call_id=call.call_id, name=call.name, text=text, outcome=outcome)
        self.add(data, message, time, line)

    def compaction(
        self,
        summary: str,
        trigger: Trigger,
        tokens: tuple[int, int],
        time: float,
        line: int,
        first_kept: ImportedEvent | None = None,
    ) -> None:
        """Append a compaction that the other program made: what stands before it leaves the agent view.

        Args:
            summary: What took the place of the history.
            trigger: Why it was made.
            tokens: Size of the context before and after, as the other program reported; 0 when unknown.
            time: Seconds since the epoch.
            line: Where it stands in the file.
            first_kept: The first event so far that stayed in view; none did when it is None.
        """
        # What it hid is filled in at the end, when every event has its number.
        data = CompactionComplete(
            job="",
            outcome="success",
            trigger=trigger,
            policy="",
            performed_by="provider",
            summary=summary,
            tokens_before=tokens[0],
            tokens_after=tokens[1],
        )
        if self.add(data, messages.summary_request(summary, time), time, line):
            self.events[-1] = replace(self.events[-1], first_kept=first_kept)

    def finish(self, *, format: str, title: str, cwd: str, model: str, notes: list[str]) -> Imported:
        """Close the books: answer what was left open, and count."""
        self.left_out["calls had an id that was used before and got a new one"] += self.calls.renamed
        counted = [f"{count:,} {what}." for what, count in sorted(self.left_out.items()) if count]
        events = answer_open_calls(self.events)
        added = len(events) - len(self.events)
        if added:
            calls = "1 tool call" if added == 1 else f"{added:,} tool calls"
            counted.append(f"{calls} without a result in the file got one that says so.")
        return Imported(
            format=format,
            title=title,
            cwd=cwd,
            model=model,
            events=tuple(number_compactions(events)),
            skipped=tuple(sorted(self.skipped, key=lambda skipped: skipped.line)),
            messages=count_messages(events),
            tool_calls=sum(isinstance(event.data, ToolCall) for event in self.events),
            tool_results=sum(isinstance(event.data, ToolResult) for event in self.events),
            notes=(*notes, *counted),
            places=frozenset(self.places),
        )


def _texts(parts: list[Any], kind: str) -> str:
    return "\n\n".join(part["content"] for part in parts if part["part_kind"] == kind and part.get("content"))
