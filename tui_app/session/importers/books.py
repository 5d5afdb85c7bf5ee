"""The result of an import: its events in order, and an account of everything left out."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Literal, TypeGuard, TypeVar

from tui_app.context.user_text import is_marked_command, own_text
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    Payload,
    Record,
    SystemMessage,
    ToolCall,
    ToolResult,
    Trigger,
    UserMessage,
)
from tui_app.records import frozen
from tui_app.session.event_rows import MESSAGES
from tui_app.session.importers.source import Json, SkippedLine

Content = str | Sequence[str | Json]
"""Text, or texts and binary parts in order."""


@frozen(kw_only=True)
class ImportedEvent:
    """One event to append to the log."""

    data: Payload
    message: str | None
    """The pydantic-ai message as JSON text; None for events that are no message."""
    time: float
    """Seconds since the epoch, as the other program recorded it."""
    kept: "tuple[ImportedEvent, ...]" = ()
    """For a compaction: the earlier events that stay in view with the summary."""


@frozen(kw_only=True)
class Imported:
    """A conversation of another program.

    The events are meant to be appended right after a ``session.start``: the event at index ``i`` gets log
    number ``i + 2``, and the ranges of imported compactions use these numbers.
    """

    format: str = ""
    """Name of the format; the reader itself does not know it."""
    title: str
    """One line; empty if the file suggests none."""
    cwd: str
    model: str
    """The model's name as in the file, without a provider prefix; empty if unknown."""
    events: tuple[ImportedEvent, ...]
    skipped: tuple[SkippedLine, ...]
    """Ordered by ``line``. One line may occur more than once."""
    tool_calls: int
    tool_results: int
    """Results in the file. Calls without one get a substitute, and a note counts them."""
    notes: tuple[str, ...]
    """Sentences about what was left out on purpose or changed."""
    branch: str = ""
    """The repository's branch at the time; empty if the file does not say."""
    places: frozenset[int] = frozenset()
    """Lines (or list places) that became an event or are counted in the notes."""
    unknown: int = 0
    """Lines of a kind that the format does not have."""
    read: int = 0
    """Lines that are JSON, or messages of the list."""
    is_own: bool = False
    """Whether it is a session of this program: complete, without anything to count or answer."""


@frozen
class OpenCall:
    """A call that waits for its result."""

    call_id: str
    """Id in the import; unique there, unlike the file's own."""
    name: str


@dataclass
class Calls:
    """Assigns unique ids to calls and finds the call that a result answers.

    Some programs reuse an id. Such calls get ids of their own here and are paired with results in order of
    occurrence, because a provider refuses a history with two calls of one id.
    """

    renamed: int = 0
    """Calls whose id had been used before."""
    _open: dict[str, list[OpenCall]] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)
    _copies: dict[str, int] = field(default_factory=dict)
    """The last number tried as a suffix of each id."""

    def begin(self, file_id: str, name: str) -> str:
        """Register a call under its id in the file and return the id to use.

        A call without an id gets one.
        """
        base = file_id or f"imported-{len(self._used) + 1}"
        call_id, copy = base, self._copies.get(base, 1)
        while call_id in self._used:
            copy += 1
            call_id = f"{base}-{copy}"
        self._copies[base] = copy
        self.renamed += bool(file_id) and copy > 1
        self._used.add(call_id)
        self._open.setdefault(file_id, []).append(OpenCall(call_id, name))
        return call_id

    def finish(self, file_id: str, name: str) -> OpenCall | None:
        """Return the oldest unanswered call with this id and mark it answered; None if there is none.

        If the file has no ids of results, take the oldest call of all, preferably of the named tool.
        """
        waiting = [calls for id, calls in self._open.items() if calls and file_id in ("", id)]
        of_tool = (calls for calls in waiting if calls[0].name == name)
        found = next(of_tool, None) or next(iter(waiting), None)
        return found.pop(0) if found else None

    def why_not(self, file_id: str) -> str:
        """Return the reason why :meth:`finish` found no call."""
        if file_id in self._open:
            return "second result of a tool call that already has one"
        return "tool result without its call"


NOTES = "notes the program wrote into the conversation were left out"
"""End of a sentence of the account, see :meth:`Timeline.leave`."""
ToolOutcome = Literal["success", "error", "denied", "interrupted"]


class Timeline:
    """The events of one import so far.

    Args:
        time: Time of what comes next, in seconds since the epoch.
        listed: Whether the input is a list of messages, not lines.
        checked: Whether messages are made and checked by pydantic-ai; without, the result is only a preview.
    """

    def __init__(self, time: float, *, listed: bool = False, checked: bool = True) -> None:
        self.time, self.line = time, 0
        """Number of the line being read."""
        self.events: list[ImportedEvent] = []
        self.skipped: list[SkippedLine] = []
        self.calls = Calls()
        self._left_out: Counter[str] = Counter()
        self.places: set[int] = set()
        """Lines that became an event or were left out on purpose."""
        self.first_at: dict[int, ImportedEvent] = {}
        """The first event that a line became, by line."""
        self.unknown: set[int] = set()
        """Lines of a kind that the format does not have."""
        self.notes: list[str] = []
        """Sentences that come before the counts."""
        self._reported: set[int] = set()
        self._at, self._checked = "message {} of the list: " if listed else "", checked

    def skip(self, reason: str, line: int | None = None, *, unknown: bool = False) -> None:
        """Report something unusable in a line, or in the one being read."""
        at = self.line if line is None else line
        self.skipped.append(SkippedLine(line=at, reason=self._at.format(at) + reason))
        self._reported.add(at)
        self.unknown |= {at} if unknown else set()

    def count(self, what: str, times: int = 1) -> None:
        """Count something left out on purpose; ``what`` completes the sentence ``3 ...``."""
        self._left_out[what] += times

    def leave(self, what: str, line: int | None = None) -> None:
        """Leave out a line, or the one being read, on purpose; see :meth:`count`."""
        self.count(what)
        self.places.add(self.line if line is None else line)

    def knows(self, line: int) -> bool:
        """Return whether the line became an event, was left out on purpose, or is reported."""
        return line in self.places or line in self._reported

    def add(self, data: Payload, message: Json | None = None) -> bool:
        """Append an event. A message that pydantic-ai refuses is reported instead."""
        try:
            text = canonical(message) if message is not None and self._checked else None
        except MessageRefusedError as error:
            self.skip(f"not a valid message: {error}")
            return False
        self.events.append(ImportedEvent(data=data, message=text, time=self.time))
        self.first_at.setdefault(self.line, self.events[-1])
        self.places.add(self.line)
        return True

    def system(self, text: str, message: Json | None = None) -> None:
        part: Json = {"part_kind": "system-prompt", "content": text, "timestamp": iso(self.time)}
        self.add(SystemMessage(text=text), message or request(part, self.time))

    def user(self, content: Content, message: Json | None = None, beside: Sequence[str] = ()) -> None:
        """Append a prompt. An empty one is reported; notes by a program are left out.

        Args:
            content: The prompt.
            message: The request in pydantic-ai's form; None to make it from the prompt.
            beside: Texts that the model read with it and the user did not type, such as files named in it.
        """
        if not content or content == [""]:
            return self.skip("empty user message")
        sent = [content] if isinstance(content, str) else list(content)
        own = sent if message else [own_text(item) if isinstance(item, str) else item for item in sent]
        kept = [(item, piece) for item, piece in zip(sent, own, strict=True) if piece != ""]
        if not kept:
            return self.leave(NOTES)
        self.count("prompts held notes or marks of the program, which were left out", own != sent)
        items = [piece for _, piece in kept]
        attached = tuple(attachment_name(item) for item in items if is_file(item))
        # The model reads a command with its marks, which also identify it for fact extraction.
        read = [*(item if is_marked_command(item) else piece for item, piece in kept), *beside]
        part: Json = {"part_kind": "user-prompt", "timestamp": iso(self.time)}
        part["content"] = read[0] if len(read) == 1 and isinstance(read[0], str) else read
        data = UserMessage(text=plain_text(items), attachments=attached)
        self.add(data, message or request(part, self.time))
        return None

    def response(self, message: Json, cost: float | None = None) -> bool:
        """Append a model's response and its calls; return whether it was accepted."""
        parts: list[Json] = message["parts"]
        if not parts:
            self.skip("empty assistant message")
            return False
        calls = [part for part in parts if part["part_kind"] == "tool-call"]
        usage: Json = message.get("usage") or {}
        tokens = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
        data = AssistantMessage(
            text=_texts(parts, "text"), thinking=_texts(parts, "thinking"), cost_usd=cost,
            call_ids=tuple(part["tool_call_id"] for part in calls), model=message.get("model_name") or "",
            finish_reason=message.get("finish_reason") or "", **{name: usage.get(name, 0) for name in tokens},
            interrupted=message.get("state") in ("interrupted", "incomplete"),
        )  # fmt: skip
        if not self.add(data, message):
            return False
        for part in calls:
            # A model's text stays unchanged, even if it is invalid JSON.
            args = part.get("args") or {}
            args = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
            self.add(ToolCall(tool_call_id=part["tool_call_id"], name=part["tool_name"], args=args))
        return True

    def result(
        self, call: OpenCall, content: Content, outcome: ToolOutcome, message: Json | None = None
    ) -> None:
        # The other outcomes have the same names in pydantic-ai.
        name = "failed" if outcome == "error" else outcome
        message = message or return_request(call.call_id, call.name, content, name, self.time)
        text = plain_text(message["parts"][0].get("content"))
        self.add(ToolResult(tool_call_id=call.call_id, name=call.name, text=text, outcome=outcome), message)

    def compaction(
        self,
        summary: str,
        trigger: Trigger,
        tokens: tuple[int, int] = (0, 0),
        kept: Sequence[ImportedEvent] = (),
    ) -> None:
        """Append a compaction made by the other program, which hides the messages before it.

        Args:
            summary: The summary that replaced the history.
            trigger: Why it was made.
            tokens: Size of the context before and after, as reported by the other program; 0 if unknown.
            kept: Earlier events that stay in view.
        """
        # The ranges it hid are filled in at the end, when all events have their numbers.
        data = CompactionComplete(
            job="", outcome="success", trigger=trigger, policy="", performed_by="provider", summary=summary,
            tokens_before=tokens[0], tokens_after=tokens[1],
        )  # fmt: skip
        if self.add(data, request({"part_kind": "compaction", "content": summary}, self.time)):
            self.events[-1] = replace(self.events[-1], kept=tuple(kept))

    def finish(
        self, title: str, cwd: str, model: str, branch: str = "", read: int = 0, *, is_own: bool = False
    ) -> Imported:
        """Complete the import: add missing results and the counts."""
        self.count("calls reused an id and got a new one", self.calls.renamed)
        counted = [f"{count:,} {what}." for what, count in sorted(self._left_out.items()) if count]
        events = self.events
        if self._checked and not is_own:
            events = list(closed_calls(events, _no_result))
        if added := len(events) - len(self.events):
            calls = "1 tool call" if added == 1 else f"{added:,} tool calls"
            counted.append(f"{calls} without a result in the file got one that says so.")
        return Imported(
            title=title, cwd=cwd, branch=branch, model=model, is_own=is_own,
            tool_calls=sum(isinstance(event.data, ToolCall) for event in self.events),
            tool_results=sum(isinstance(event.data, ToolResult) for event in self.events),
            events=tuple(events if is_own else number_compactions(events)),
            skipped=tuple(sorted(self.skipped, key=lambda skipped: skipped.line)),
            notes=(*self.notes, *counted), places=frozenset(self.places), unknown=len(self.unknown),
            read=read,
        )  # fmt: skip


def _texts(parts: list[Any], kind: str) -> str:
    return "\n\n".join(part["content"] for part in parts if part["part_kind"] == kind and part.get("content"))


FIRST_SEQ = 2
"""Log number of the first imported event; number 1 is the session's start."""
NO_RESULT = "No result: the transcript holds none for this call."
"""The result of calls that have none in the file."""


T = TypeVar("T", ImportedEvent, Record)


def closed_calls(events: Iterable[T], answer: Callable[[T, ToolCall], T]) -> Iterator[T]:
    """Add a result for every unanswered call, after the other results of its response.

    Late results are moved there too: providers refuse them anywhere else.

    Args:
        events: The events, in order.
        answer: Makes the result of a call that has none.
    """
    events = list(events)
    results = {event.data.tool_call_id: event for event in events if isinstance(event.data, ToolResult)}
    given: set[str] = set()
    late: dict[str, T] = {}
    waiting: list[T] = []
    for event in events:
        data = event.data
        if isinstance(data, ToolResult):
            if data.tool_call_id not in given:
                late.pop(data.tool_call_id, None)
                yield event
            continue
        if not isinstance(data, ToolCall):
            yield from late.values()
            yield from waiting
            given.update(late)
            late, waiting = {}, []
        yield event
        if isinstance(data, ToolCall) and data.tool_call_id in results:
            late[data.tool_call_id] = results[data.tool_call_id]
        elif isinstance(data, ToolCall):
            waiting.append(answer(event, data))
    yield from waiting


def _no_result(event: ImportedEvent, call: ToolCall) -> ImportedEvent:
    message = return_request(call.tool_call_id, call.name, NO_RESULT, "interrupted", event.time)
    data = ToolResult(tool_call_id=call.tool_call_id, name=call.name, text=NO_RESULT, outcome="interrupted")
    return ImportedEvent(data=data, message=canonical(message), time=event.time)


def compacted(events: Sequence[ImportedEvent], summary: str) -> tuple[ImportedEvent, ...]:
    """Append a compaction that replaces the whole conversation by a summary."""
    books = Timeline(events[-1].time)
    books.compaction(summary, "manual")
    return tuple(number_compactions([*events, *books.events]))


def number_compactions(events: Sequence[ImportedEvent]) -> list[ImportedEvent]:
    """Fill in what each compaction hid, by the log numbers that the events will have."""
    numbered: list[ImportedEvent] = []
    view: list[ImportedEvent] = []
    summaries = 0
    for place, event in enumerate(events):
        if not isinstance(event.data, CompactionComplete):
            numbered.append(event)
            view.append(event)
            continue
        # The previous compaction's summary is one of the messages hidden by this one.
        before = sum(each.data.TYPE in MESSAGES for each in view) + summaries
        kept = set(map(id, event.kept))
        # The substitute for a missing result stays with its call.
        called = {each.data.tool_call_id for each in event.kept if isinstance(each.data, ToolCall)}
        kept |= {
            id(each)
            for each in view
            if isinstance(each.data, ToolResult) and each.data.tool_call_id in called
        }
        view, summaries = [each for each in view if id(each) in kept], 1
        after = sum(each.data.TYPE in MESSAGES for each in view) + summaries
        hidden = max(0, before - after + 1)
        data = replace(
            event.data, job=f"imported-{place + FIRST_SEQ}", removed=_removable(events[:place], kept),
            messages_before=before, messages_after=after, messages_removed=hidden, messages_left=hidden,
        )  # fmt: skip
        numbered.append(replace(event, data=data, kept=()))
    return numbered


def _removable(events: Sequence[ImportedEvent], kept: Collection[int]) -> tuple[tuple[int, int], ...]:
    """Return log number ranges of what left the view: all but system prompts and kept events."""
    ranges: list[tuple[int, int]] = []
    for seq, event in enumerate(events, FIRST_SEQ):
        if isinstance(event.data, SystemMessage) or id(event) in kept:
            continue
        if ranges and ranges[-1][1] == seq - 1:
            ranges[-1] = (ranges[-1][0], seq)
        else:
            ranges.append((seq, seq))
    return tuple(ranges)


class MessageRefusedError(ValueError):
    """Raised when pydantic-ai does not accept a message; the text tells where and why."""


def canonical(message: Json) -> str:
    """Check a message with pydantic-ai and return its JSON text as pydantic-ai writes it.

    Raises:
        MessageRefusedError: if it is no valid message.
    """
    from pydantic import ValidationError
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    try:
        messages = ModelMessagesTypeAdapter.validate_json(json.dumps([message], ensure_ascii=False))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step) for step in first["loc"][1:])
        raise MessageRefusedError(f"{place}: {first['msg']}" if place else first["msg"]) from error
    return ModelMessagesTypeAdapter.dump_json(messages)[1:-1].decode()


def request(part: Json, time: float) -> Json:
    return {"kind": "request", "timestamp": iso(time), "parts": [part]}


def return_request(call_id: str, name: str, content: Content, outcome: str, time: float) -> Json:
    """Return a tool's result; ``outcome`` in pydantic-ai's words (``success``, ``failed``, ...)."""
    part = {
        "part_kind": "tool-return", "tool_name": name, "tool_call_id": call_id, "content": content,
        "outcome": outcome, "timestamp": iso(time),
    }  # fmt: skip
    return request(part, time)


def call_part(call_id: str, name: str, args: Json | str) -> Json:
    return {"part_kind": "tool-call", "tool_name": name, "args": args, "tool_call_id": call_id}


def plain_text(content: Any) -> str:
    """Return the readable text of a part's content. Binary items are named, others become JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        return json.dumps(content, ensure_ascii=False)
    texts: list[str] = []
    for item in content:
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, dict) and isinstance(item.get("kind"), str):
            text = item.get("content")
            texts.append(text if isinstance(text, str) else f"[{attachment_name(item)}]")
        else:
            return json.dumps(content, ensure_ascii=False)
    return "\n\n".join(texts)


def is_file(item: str | Json) -> TypeGuard[Json]:
    """Return whether a content item is an image, a document or the like."""
    return not isinstance(item, str) and "content" not in item


def attachment_name(item: Json) -> str:
    """Return the name of a content item that is no text: its media type, or else its kind."""
    return str(item.get("media_type") or item["kind"])


def iso(time: float) -> str:
    """Format seconds since the epoch as ISO 8601 in UTC, cut to milliseconds."""
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
