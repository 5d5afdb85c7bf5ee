"""Transcripts of Claude Code: JSON lines, one record a line."""

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from heapq import merge
from pathlib import Path
from typing import Any

from tui_app.events import Error, ErrorKind, Trigger
from tui_app.paths import from_home
from tui_app.session.importers import event_builder as messages
from tui_app.session.importers.event_builder import Timeline, ToolOutcome
from tui_app.session.importers.places import Env, Transcript
from tui_app.session.importers.reader import (
    ContentReader,
    LineReader,
    block_list,
    count,
    joined,
    list_at,
    object_at,
    of_type,
    one_line,
    record_text,
    seconds,
    text_at,
    title_of,
    usage,
    value_at,
)
from tui_app.session.importers.source import Imported, Json, Line, Source, shown


def claude_code_place(env: Env, home: Path, _cwd: Path) -> Iterator[Transcript]:
    own = env.get("CLAUDE_CONFIG_DIR", "").strip()
    for root in [from_home(own)] if own else [home / ".claude", home / ".config" / "claude"]:
        for path in (root / "projects").glob("*/*.jsonl"):
            # Sub-agents have files of their own in some versions; they belong to another conversation.
            if not path.name.startswith("agent-"):
                yield Transcript(path)


# Which records of a Claude Code transcript make up the conversation, and in which order.
#
# The file is append-only and its records form a tree: a rewind starts a new branch, and the conversation is
# the path from the last leaf to the root. Parallel tool calls hang beside each other, so their results stand
# on side branches although they belong to the conversation; those are put back.

CONVERSATION = ("user", "assistant")
BOOKKEEPING = frozenset({
    "agent-color", "agent-name", "agent-setting", "ai-title", "attachment", "attribution-snapshot",
    "content-replacement", "custom-title", "file-history-delta", "file-history-snapshot", "last-prompt",
    "mode", "permission-mode", "pr-link", "progress", "queue-operation", "summary", "system", "tag",
    "task-summary", "worktree-state",
})  # fmt: skip
"""Record types that are no messages of the conversation."""


@dataclass
class Tree:
    """The records of a transcript by id."""

    by_id: dict[str, Line] = field(default_factory=dict)
    talk: list[Line] = field(default_factory=list)
    """Messages of the conversation on all its branches, in file order."""
    aside: Counter[str] = field(default_factory=Counter)
    """Bookkeeping records by type."""
    queue: list[Line] = field(default_factory=list)
    """What became of prompts that the user typed while the model was busy."""
    mended: int = 0
    """Links to records that are not in the file."""
    linear: bool = False
    """No message has an id: the order of the file is all there is."""

    def path(self) -> list[Line]:
        """The records from the root to the last leaf, and what hangs beside it but belongs to it."""
        if self.linear or not self.talk:
            return self.talk
        chain: list[Line] = []
        seen: set[int] = set()
        line: Line | None = self.talk[-1]
        while line is not None and line.number not in seen:
            seen.add(line.number)
            chain.append(line)
            line = self._parent(line)
        chain.reverse()
        found = {id(line.data) for line in chain}
        off = [line for line in self.talk if id(line.data) not in found]
        return list(merge(chain, _rescued(chain, off), key=lambda line: line.number))

    def _parent(self, line: Line) -> Line | None:
        parent = text_at(line.data, "parentUuid", "logicalParentUuid")
        if not parent and not (
            line.data.get("subtype") == "compact_boundary" or bool(line.data.get("isCompactSummary"))
        ):
            return None
        if parent in self.by_id:
            return self.by_id[parent]
        # A lost or damaged record must not cut off everything before it.
        self.mended += bool(parent)
        place = bisect_left(self.talk, line.number, key=lambda other: other.number)
        return self.talk[place - 1] if place else None


def message_of(record: Json) -> Json:
    """The API message of a record; empty when it has none."""
    return object_at(record, "message")


def is_claude_record(record: Json) -> bool:
    """Whether a record can only be a message of a Claude Code transcript."""
    return record.get("type") in CONVERSATION and "content" in message_of(record)


def plant(lines: tuple[Line, ...], report: Timeline) -> Tree:
    """Sort the records of a file into a tree; what is none of its records is reported."""
    # The transcript of a sub-agent that stands in a file of its own is all side chain: there it is the talk.
    alone = not any(is_claude_record(line.data) and not line.data.get("isSidechain") for line in lines)
    bare = not any(is_claude_record(line.data) and record_text(line.data, "uuid") for line in lines)
    tree = Tree(linear=bare)
    for line in lines:
        kind, uuid = record_text(line.data, "type"), record_text(line.data, "uuid")
        problem = _problem(line.data, tree)
        if problem:
            report.skip(line.number, problem)
            continue
        if kind == "queue-operation":
            tree.queue.append(line)
        if kind not in CONVERSATION:
            tree.aside[kind] += 1
        elif line.data.get("isSidechain") and not alone:
            report.left_out["records of sub-agents were left out"] += 1
        else:
            tree.talk.append(line)
        if uuid:
            tree.by_id[uuid] = line
    return tree


def _problem(record: Json, tree: Tree) -> str:
    """Why a record cannot stand in the tree; empty when it can."""
    kind, uuid = record_text(record, "type"), record_text(record, "uuid")
    if uuid and uuid in tree.by_id:
        return f"record id {shown(uuid)} was already used in this file"
    if kind not in CONVERSATION:
        return "" if kind in BOOKKEEPING else f"unknown record type {shown(record.get('type'))}"
    if not is_claude_record(record):
        return f"{kind} record without a message"
    if not isinstance(message_of(record)["content"], str | list):
        return f"{kind} message whose content is neither text nor a list"
    return "" if tree.linear or uuid else f"{kind} record without an id"


def _rescued(chain: list[Line], off: list[Line]) -> list[Line]:
    """Records beside the path: further parts of its responses, and results of calls open on it."""
    ids = {record_text(message_of(line.data), "id") for line in chain} - {""}
    parts = [line for line in off if record_text(message_of(line.data), "id") in ids]
    calls = {record_text(block, "id") for block in _blocks(chain + parts, "tool_use")}
    open_calls = calls - {record_text(block, "tool_use_id") for block in _blocks(chain, "tool_result")} - {""}
    results: list[Line] = []
    for line in off:
        targets = {record_text(block, "tool_use_id") for block in _blocks([line], "tool_result")} & open_calls
        if targets:
            open_calls -= targets
            results.append(line)
    return sorted(parts + results, key=lambda line: line.number)


def _blocks(lines: list[Line], kind: str) -> list[Json]:
    contents = (block_list(message_of(line.data).get("content")) for line in lines)
    return [block for content in contents for block in of_type(content, kind)]


# One response of a Claude model, put together from the records that hold pieces of it.

PROVIDER = "anthropic"
_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_call",
    "max_tokens": "length",
    "refusal": "content_filter",
}
_SYNTHETIC = "<synthetic>"
"""Model name of answers that the program wrote itself."""


def build_answer(lines: list[Line], time: float, report: Timeline) -> Json:
    """Merge the records of one response into a pydantic-ai response.

    Args:
        lines: Its records in order.
        time: When it came, in seconds since the epoch.
        report: Where its tool calls are registered, told about blocks that cannot be used.
    """
    model = _last(lines, "model")
    model = "" if model == _SYNTHETIC else model
    real = model.startswith("claude")
    parts: list[Json] = []
    seen: set[str] = set()
    for line in lines:
        for block in block_list(message_of(line.data)["content"]):
            part = _part(block, line.number, real, seen, report)
            if part is not None:
                parts.append(part)
    for part in parts:
        if part["part_kind"] == "tool-call":
            part["tool_call_id"] = report.calls.begin(part["tool_call_id"], part["tool_name"])
    # Each record of a response repeats its usage, the later ones with more output.
    reported = [message_of(line.data).get("usage") for line in lines]
    last: Json = next((each for each in reversed(reported) if isinstance(each, dict)), {})
    return {
        "kind": "response",
        "parts": parts,
        "timestamp": messages.iso(time),
        "model_name": model or None,
        "provider_name": PROVIDER if real else None,
        "provider_response_id": _last(lines, "id") or None,
        "finish_reason": _FINISH.get(_last(lines, "stop_reason")),
        "usage": usage(
            last.get("input_tokens"),
            last.get("output_tokens"),
            last.get("cache_read_input_tokens"),
            last.get("cache_creation_input_tokens"),
        ),
    }


def _last(lines: list[Line], key: str) -> str:
    values = [record_text(message_of(line.data), key) for line in lines]
    return next((value for value in reversed(values) if value), "")


def _part(block: object, line: int, real: bool, seen: set[str], report: Timeline) -> Json | None:
    if not isinstance(block, dict):
        report.skip(line, f"content block that is not an object: {shown(block)}")
        return None
    match block.get("type"):
        case "text":
            text = _words(block, "text", line, report)
            return {"part_kind": "text", "content": text} if text.strip() else None
        case "thinking":
            text = _words(block, "thinking", line, report)
            return _thinking(block, text, "signature", real)
        case "redacted_thinking":
            return _thinking(block, "", "data", real)
        case "tool_use":
            call_id, name, args = record_text(block, "id"), record_text(block, "name"), block.get("input")
            if not name:
                report.skip(line, "tool call without a tool's name")
                return None
            if call_id and call_id in seen:
                report.skip(line, f"tool call id {shown(call_id)} occurs twice in one response")
                return None
            seen.add(call_id)
            if not isinstance(args, dict):
                args = {"input": args} if args else {}
            return messages.call_part(call_id, name, args)
        case kind:
            report.skip(line, f"content block of unknown type {shown(kind)}, kept as text")
            return {"part_kind": "text", "content": json.dumps(block, ensure_ascii=False)}


def _words(block: Json, kind: str, line: int, report: Timeline) -> str:
    text = block.get(kind)
    if isinstance(text, str):
        return text
    report.skip(line, f"{kind} block without text: {shown(text)}")
    return ""


def _thinking(block: Json, text: str, signed_in: str, real: bool) -> Json | None:
    # Only the vendor that signed a thought can check the signature; others would be refused with it.
    signature = record_text(block, signed_in) if real else ""
    if not text and not signature:
        return None
    part: Json = {"part_kind": "thinking", "content": text}
    if block["type"] == "redacted_thinking":
        part["id"] = "redacted_thinking"
    if signature:
        part |= {"signature": signature, "provider_name": PROVIDER}
    return part


FRAME = re.compile(
    r"(?m)^(?:This session is being continued from a previous conversation|If you need specific details from"
    r" before|Please continue the conversation from where|Recent messages are preserved verbatim).*$"
)
"""What the program writes around a summary."""
_DENIED = ("The user doesn't want to proceed with this tool use", "The user doesn't want to take this action")
_INTERRUPTED = "[Request interrupted by user"
_ERROR_KINDS: dict[str, ErrorKind] = {
    "rate_limit": "rate_limit",
    "authentication_failed": "auth",
    "invalid_request": "input",
}


def is_claude_code(source: Source) -> bool:
    return any(is_claude_record(line.data) for line in _as_lines(source).lines.records)


def read_claude_code(source: Source) -> Imported:
    """Read a transcript: the branch that its last message stands on."""
    return _Reader(_as_lines(source)).read()


def _as_lines(source: Source) -> Source:
    """The transcript a record a line: the program on the web keeps them in one document."""
    logged = list_at(source.document, "loglines")
    return replace(source, raw="\n".join(map(json.dumps, logged)).encode()) if logged else source


class _Reader(LineReader):
    def read(self) -> Imported:
        self._boundary: Line | None = None
        self._waiting: list[tuple[Any, int]] = []
        branches: dict[str, None] = {}
        tree = self._tree = plant(self.records, self.out)
        path = tree.path()
        self._gather(path)
        queued = _queued(tree, path, self.out)
        self.time = next((t for line in path if (t := seconds(line.data.get("timestamp"), 0.0))), self.time)
        for line in merge(path, queued, key=lambda line: line.number):
            record = line.data
            self.at(record.get("timestamp"))
            self.cwd = self.cwd or record_text(record, "cwd")
            branches[record_text(record, "gitBranch")] = None
            match record["type"]:
                case "assistant":
                    self._assistant(line)
                case "user":
                    self._user(line)
                case "queue-operation":
                    self._waiting.append((record["content"], line.number))
                case "attachment" if value_at(record, "attachment.type") == "queued_command":
                    # What the user typed while the model was busy is stored as an attachment of that turn.
                    self._waiting.append((value_at(record, "attachment.prompt"), line.number))
                case "system" if record.get("subtype") == "compact_boundary":
                    # A prompt of the queue that left it before was read before.
                    self._say_waiting()
                    self._end_boundary()
                    self._boundary = line
        self._say_waiting()
        self._end_boundary()
        used = {line.number for line in path}
        off = sum(line.number not in used for line in tree.talk)
        self.out.left_out["messages on abandoned branches (rewinds) were left out"] += off
        self.out.left_out["links to missing records were repaired by file order"] += tree.mended
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(tree.aside.items()))
        return self.out.finish(
            title=_title(self.records, tree) or title_of(self.out.events),
            cwd=self.cwd,
            branch=" ".join(filter(None, branches)),
            model=self.model,
            notes=[f"Records that are not messages: {kinds}."] if kinds else [],
        )

    def _gather(self, path: list[Line]) -> None:
        """Collect the records that are one response: they share a message id, results may stand between."""
        groups: dict[str, list[Line]] = {}
        part = 0
        for line in path:
            part += line.data.get("subtype") == "compact_boundary"
            if line.data["type"] == "assistant":
                name = record_text(message_of(line.data), "id")
                alone = not name or line.data.get("isApiErrorMessage") is True
                groups.setdefault(f"line {line.number}" if alone else f"{part} {name}", []).append(line)
        self._answers = {lines[0].number: lines for lines in groups.values()}
        """The records of each response, by the line of the first."""

    def _assistant(self, line: Line) -> None:
        record = line.data
        if record.get("isApiErrorMessage") is True:
            text = self.text(message_of(record)["content"], line.number)
            kind = _ERROR_KINDS.get(record_text(record, "error"), "provider")
            error = Error(kind="context_overflow" if "too long" in text.lower() else kind, message=text)
            self.out.add(error, None, self.time, line.number)
        elif group := self._answers.get(line.number):
            self._say_waiting()
            answer = build_answer(group, self.time, self.out)
            if self.out.response(answer, self.time, line.number):
                self.model = answer["model_name"] or self.model

    def _user(self, line: Line) -> None:
        record = line.data
        content = message_of(record)["content"]
        results = of_type(block_list(content), "tool_result")
        if record.get("isCompactSummary") is True:
            return self._compacted(line, content)
        if record.get("isMeta") is True and not results:
            self.out.left_out["notes the program wrote into the conversation (isMeta) were left out"] += 1
            return None
        for block in results:
            self.result(record_text(block, "tool_use_id"), block.get("content"), _outcome(block), line.number)
        rest = [block for block in content if block not in results] if results else content
        if rest or not results:
            self._say_waiting()
            self.say(rest, line.number)
        return None

    def _say_waiting(self) -> None:
        """The model reads what was typed during a turn once its calls are answered."""
        for content, line in self._waiting:
            self.say(content, line)
        self._waiting.clear()

    def _compacted(self, line: Line, content: Any) -> None:
        boundary = self._boundary.data if self._boundary else {}
        self._boundary = None
        metadata = object_at(boundary, "compactMetadata")
        kept = None
        if metadata.get("preservedSegment"):
            head = self._tree.by_id.get(text_at(metadata, "preservedSegment.headUuid"))
            # What is kept may begin with a record that is no message.
            numbers = (number for number in self.out.first_at if head and number >= head.number)
            kept = self.out.first_at.get(min(numbers, default=0))
            if kept is None:
                self.out.left_out["compactions kept a stretch that is not in the file"] += 1
        trigger: Trigger = "manual" if metadata.get("trigger") == "manual" else "blocking"
        tokens = count(metadata.get("preTokens")), count(metadata.get("postTokens"))
        self.out.compaction(self.text(content, line.number), trigger, tokens, self.time, line.number, kept)

    def _end_boundary(self) -> None:
        if self._boundary is not None:
            self.out.skip(self._boundary.number, "compaction without a summary, not applied")
            self._boundary = None


def _queued(tree: Tree, path: list[Line], report: Timeline) -> list[Line]:
    """Prompts that left the queue, where they did, unless they are written down as a message as well."""
    kept = {line.number for line in path}
    waiting: list[Line] = []
    found: list[Line] = []
    for line in tree.queue:
        done, content = record_text(line.data, "operation"), record_text(line.data, "content")
        if done == "enqueue" and content:
            waiting.append(line)
        elif done == "popAll":
            # Back in the editor, to be typed anew.
            waiting.clear()
        elif done in ("dequeue", "remove") and waiting:
            first = next((each for each in waiting if each.data["content"] == content), waiting[0])
            waiting.remove(first)
            place = bisect_left(tree.talk, line.number, key=lambda other: other.number)
            behind = (each.number for each in tree.talk[place:] if each.data["type"] == "assistant")
            on_path = not place or tree.talk[place - 1].number in kept
            if on_path and not _is_written(tree, first, next(behind, None)):
                found.append(Line(line.number, {**first.data, "timestamp": line.data.get("timestamp")}))
    report.left_out["queued prompts that were never sent were left out"] += len(waiting)
    return found


def _is_written(tree: Tree, queued: Line, end: int | None) -> bool:
    """Whether a prompt of the queue stands in a message of its own, or in one together with others."""
    texts = [
        value_at(line.data, "attachment.prompt") or message_of(line.data).get("content")
        for line in tree.by_id.values()
        if line.number > queued.number and (end is None or line.number < end)
    ]
    wanted = f"\n{queued.data['content'].strip()}\n"
    return any(
        wanted in f"\n{messages.plain_text(ContentReader(lambda _: None).read(text))}\n" for text in texts
    )


def _outcome(block: Json) -> ToolOutcome:
    if not block.get("is_error"):
        return "success"
    # What it cannot read is reported when the result itself is read.
    text = messages.plain_text(joined(ContentReader(lambda _: None).read(block.get("content"))))
    if text.startswith(_DENIED):
        return "denied"
    return "interrupted" if text.startswith(_INTERRUPTED) else "error"


def _title(records: tuple[Line, ...], tree: Tree) -> str:
    """A title that the program itself gave; a summary of another conversation in this file is none."""
    found = ""
    for line in records:
        match line.data.get("type"):
            case "custom-title":
                found = one_line(record_text(line.data, "customTitle")) or found
            case "summary" if record_text(line.data, "leafUuid") in tree.by_id:
                found = one_line(record_text(line.data, "summary")) or found
    return found
