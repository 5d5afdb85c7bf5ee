"""Formats that are a map of names: where a program keeps messages, who said them, when, and with which model.

A :class:`Shape` says it for one program. What names cannot say, its ``turned`` puts in the spelling that all
of them share: messages with a role, whose content is text or blocks as Anthropic's API has them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Final

from tui_app.records import frozen
from tui_app.session.importers.databases import stored_conversation
from tui_app.session.importers.event_builder import NOTES, Content, ToolOutcome
from tui_app.session.importers.places import Place
from tui_app.session.importers.reader import (
    Reader,
    block_list,
    joined,
    list_at,
    record_text,
    seconds,
    text_at,
    usage,
    value_at,
    wanted,
)
from tui_app.session.importers.source import (
    Found,
    Imported,
    ImportFormatError,
    Json,
    Source,
    is_database,
    open_regular,
    parse_json,
    shown,
)

ASIDE, THOUGHT, NOTE = "aside", "thought", "note"
"""Roles beside those of a chat: about the conversation, thinking alone, and what nobody typed."""
USUAL: Mapping[str, str] = {
    "system": "system", "developer": "system", "user": "user", "human": "user", "assistant": "assistant",
    "model": "assistant", "agent": "assistant", "thinking": THOUGHT, "tool": "tool",
    ASIDE: ASIDE, NOTE: NOTE,
}  # fmt: skip

BESIDE = "beside"
"""Type of a block that the model read with a prompt, and nobody typed."""
_THOUGHTS = {
    "thinking": ("thinking", "text"), "think": ("think",), "reasoning": ("text", "reasoning"),
    "redacted_thinking": (), "redacted-reasoning": (), "redactedThinking": (),
}  # fmt: skip
_CALLS = {
    "tool_use": ("id", "name", ("input",)),
    "tool-call": ("toolCallId", "toolName", ("args", "input")),
    "toolRequest": ("id", "toolCall.value.name", ("toolCall.value.arguments",)),
}
"""By type of a block: where the id of a call is, its tool's name and its arguments."""
_RESULTS = {
    "tool_result": (
        ("tool_use_id", "toolUseID"),
        ("content", "run.result", "run.error.message", "run.error", "run.reason"),
    ),
    "tool-result": (("toolCallId",), ("result", "output.value", "output", "content")),
    "toolResponse": (("id",), ("toolResult.value.content", "toolResult.value", "toolResult.error")),
}
"""By type of a block: where the id of the call is that it answers, and what the tool said."""
_STATES = (
    "is_error", "isError", "status", "run.status", "toolResult.status", "toolResult.value.isError",
    "output.type",
)  # fmt: skip
_FAILED = (True, "error", "errored", "failed", "error-text", "error-json")
_DENIED = ("rejected-by-user", "denied", "canceled", "cancelled")
_CALL_ID = ("id", "tool_call_id", "toolCallId")
_CALL_NAME = ("function.name", "name", "function_name")
_CALL_ARGS = ("function.arguments", "arguments")
_NAMES = ("id", "uuid", "conversation_id", "conversationId", "sessionId")
_NOT_ALLOWED = ("The user denied this operation",)
"""How results begin that say so of a call, where no field does."""
_NO_RECORD = "00000000-"
"""How ids begin that stand for no record."""
_MAX_SIDECAR = 1_000_000
_ABOUT = "records about the chat were left out"


@frozen(kw_only=True)
class Shape:
    """How one program writes conversations. Names are paths; of several the first that holds something."""

    name: str
    """Of the format."""
    program: str
    """What the user calls it."""
    sign: Callable[[Json], bool]
    """Whether a record, or a message in one, can only be in this format."""
    places: tuple[Place, ...] = ()
    """Where its transcripts are found."""
    talk: tuple[str, ...] = ()
    """The messages of a conversation; where none is there, they are the lines or the list itself."""
    role: tuple[str, ...] = ("role",)
    roles: Mapping[str, str] = field(default_factory=lambda: USUAL)
    content: tuple[str, ...] = ("content",)
    time: tuple[str, ...] = ("timestamp",)
    model: tuple[str, ...] = ("model",)
    tokens: tuple[str, str, str] = ("", "", "")
    """Of a message: all input, output, and what of the input came from a cache."""
    title: tuple[str, ...] = ("title",)
    cwd: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    """Of a conversation, for messages that do not say it."""
    changed: tuple[str, ...] = ()
    """When a conversation was last written, for files of several."""
    links: tuple[str, str, tuple[str, ...]] | None = None
    """Id and parent of a message, and where a conversation says which message is the last."""
    nested: str = ""
    """Where a message has those that follow it, in files that write the tree as one."""
    sidecar: str = ""
    """A file beside it with title, folder and model; ``{stem}`` is the name without its end."""
    typed: re.Pattern[str] | None = None
    """How an element begins in which the program puts what the user typed; its name is the group ``tag``."""
    note: re.Pattern[str] | None = None
    """How texts begin that the program wrote in the user's name."""
    turned: Callable[[Json], Json] = lambda record: record
    """A message in the shared spelling."""


_MAX_UNCLOSED = 100
"""Names of elements without an end that are looked for in one text."""


def elements(text: str, opening: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str, int]]:
    """The elements in a text whose opening a pattern tells: each with what is inside of it, and its end.

    Unlike with one pattern for all of it, a text of nothing but openings takes no longer than another.
    """
    unclosed: set[str] = set()
    at = 0
    for match in opening.finditer(text):
        tag = match["tag"]
        if match.start() < at or tag in unclosed:
            continue
        end = text.find(f"</{tag}>", match.end())
        if end < 0:
            unclosed.add(tag)
            if len(unclosed) > _MAX_UNCLOSED:
                return
            continue
        at = end + len(tag) + 3
        yield match, text[match.end() : end], at


def read_shape(shape: Shape, source: Source) -> Imported:
    return _Reader(source, shape).read()


def beginning(shape: Shape, source: Source) -> tuple[str, str, str]:
    """Title, first prompt and folder of a transcript, of which the source may hold the beginning only."""
    return _Reader(source, shape).beginning()


def beside_file(path: Path, name: str) -> Json:
    """What a small file beside a transcript says; empty when it says nothing that can be used."""
    try:
        with open_regular(path.with_name(name.format(stem=path.stem))) as file:
            value = parse_json(file.read(_MAX_SIDECAR).decode("utf-8", "replace"))
    except (OSError, ValueError, ImportFormatError):
        return {}
    return value if isinstance(value, dict) else {}


def _listed(conversation: Any, shape: Shape) -> list[Any] | None:
    """The messages of a conversation, of a table of them its values; None when it has none."""
    found = (value_at(conversation, path) for path in shape.talk)
    tables = (list(each.values()) if isinstance(each, dict) else each for each in found)
    listed = next((each for each in tables if isinstance(each, list) and each), None)
    if listed is None or not shape.nested:
        return listed
    flat: list[Any] = []
    waiting = listed[::-1]
    while waiting:
        flat.append(waiting.pop())
        waiting += list_at(flat[-1], shape.nested)[::-1]
    return flat


def _is_result(block: Any) -> bool:
    kind = value_at(block, "type")
    return isinstance(kind, str) and kind in _RESULTS


class _Reader(Reader):
    def __init__(self, source: Source, shape: Shape) -> None:
        super().__init__(source)
        self.shape: Final = shape
        self._told: dict[str, Content] = {}
        """By the id of a call: what the tool said."""

    def read(self) -> Imported:
        shape, found = self.shape, self._found()
        if self.source.document is None and not is_database(self.source.raw):
            replaced = self.source.lines.replaced
            self.out.left_out["lines held bytes that are not UTF-8, shown as U+FFFD"] += replaced
        self._head(found.owner)
        if shape.sidecar:
            self._head(beside_file(self.source.path, shape.sidecar))
        stored = is_database(self.source.raw)
        numbered = list(enumerate(found.messages, 1) if stored else self.numbered(found))
        kept = self._branch(numbered, found.owner)
        for number, record in kept:
            if isinstance(record, dict):
                self._turn(number, record)
            elif record != "Resume":
                self.out.skip(number, f"not an object: {shown(record)}")
            else:
                self.out.leave(number, _ABOUT)
        self.out.left_out["further conversations in the file were left out"] += found.others
        return self.finish(number for number, _ in numbered)

    def beginning(self) -> tuple[str, str, str]:
        found = self._found()
        self._head(found.owner)
        self._head(beside_file(self.source.path, self.shape.sidecar) if self.shape.sidecar else {})
        prompt = ""
        for record in filter(lambda each: isinstance(each, dict), found.messages):
            turned = self.shape.turned(record)
            role = self.shape.roles.get(text_at(turned, *self.shape.role))
            if role == ASIDE:
                self._head(turned)
            elif role == "user" and not prompt:
                blocks = block_list(
                    next(filter(None, (value_at(turned, path) for path in self.shape.content)), None)
                )
                said, _, _ = self._typed([block for block in blocks if not _is_result(block)])
                prompt = wanted("\n".join(text_at(block, "text") for block in said))
        return self.title, " ".join(prompt.split()), self.cwd

    def _found(self) -> Found:
        """The conversation that is wanted: the one that is named, else the newest, else the first."""
        value = stored_conversation(self.source) if is_database(self.source.raw) else self.source.value
        several = value if isinstance(value, list) else [value]
        known = [each for each in several if isinstance(each, dict)]
        talks = [(each, talk) for each in known if (talk := _listed(each, self.shape)) is not None]
        if not talks:
            return Found(value if isinstance(value, list) else [], {})
        for number, each in enumerate(several, 1):
            if not isinstance(each, dict):
                self.out.skip(number, f"not a conversation: {shown(each)}")
        self.out.left_out["conversations without messages were left out"] += len(known) - len(talks)
        count, part = len(talks), "" if is_database(self.source.raw) else self.source.part
        if part:
            talks = [each for each in talks if part in (value_at(each[0], name) for name in _NAMES)]
        if not talks:
            return Found([], {})

        def changed(talk: tuple[Json, list[Any]]) -> float:
            times = (seconds(value_at(talk[0], path), 0.0) for path in self.shape.changed)
            return next(filter(None, times), 0.0)

        owner, newest = max(talks, key=changed)
        return Found(newest, owner, count - 1)

    def _head(self, record: Json) -> None:
        self.title = text_at(record, *self.shape.title) or self.title
        self.cwd = self.cwd or text_at(record, *self.shape.cwd)
        self.model = text_at(record, *self.shape.models) or self.model

    def _branch(self, numbered: list[tuple[int, Any]], owner: Json) -> list[tuple[int, Any]]:
        """The messages on the way to the last one; links to missing messages are mended by their order."""
        if self.shape.links is None:
            return numbered
        key, parent, last = self.shape.links
        places = {
            record_text(each, key): at for at, (_, each) in enumerate(numbered) if isinstance(each, dict)
        }
        linked = [at for at, (_, each) in enumerate(numbered) if isinstance(each, dict) and parent in each]
        at = places.get(text_at(owner, *last), linked[-1] if linked else -1)
        path: set[int] = set()
        chain: list[int] = []
        while at >= 0 and at not in path:
            path.add(at)
            chain.append(at)
            record = numbered[at][1]
            above = record_text(record, parent) if isinstance(record, dict) else ""
            if above in places:
                at = places[above]
            elif above and not above.startswith(_NO_RECORD) and at > 0:
                self.out.left_out["links to missing records were repaired by file order"] += 1
                at -= 1
            else:
                break
        for at, (number, record) in enumerate(numbered):
            if at in path:
                continue
            if isinstance(record, dict) and parent in record:
                self.out.leave(number, "messages on abandoned branches were left out")
            else:
                # What has no place in the tree is read where it stands: reports, records about the chat.
                chain.append(at)
        # A table of messages may be in any order; the way from the first to the last is not.
        ordered = chain[::-1] if len(path) == len(chain) else sorted(chain)
        return [numbered[at] for at in ordered]

    def _turn(self, number: int, record: Json) -> None:
        shape, record = self.shape, self.shape.turned(record)
        self.at(*(value_at(record, path) for path in shape.time))
        said_by = text_at(record, *shape.role)
        blocks = next((block_list(found) for path in shape.content if (found := value_at(record, path))), [])
        answers = any(map(_is_result, blocks))
        match shape.roles.get(said_by):
            case "user":
                self._user(number, blocks)
            case "assistant":
                self._assistant(number, record, blocks)
            case "system":
                self.end_answer()
                if text := self.text(blocks, number):
                    self.out.system(text, self.time, number)
                else:
                    self.out.leave(number, _ABOUT)
            case "tool" if answers:
                self._user(number, blocks)
            case "tool":
                call_id = text_at(record, *_CALL_ID[1:])
                self._result(number, call_id, record, blocks, record_text(record, "name"))
            case "thought":
                self._thought(number, blocks)
            case "note":
                self.out.leave(number, NOTES)
            case "aside":
                self._head(record)
                self.out.leave(number, _ABOUT)
            case _:
                self.out.skip(number, f"unknown role {shown(said_by)}")

    def _thought(self, number: int, blocks: list[Any]) -> None:
        if not blocks:
            self.out.leave(number, "thoughts that only their vendor can read were left out")
        for block in blocks:
            self.answer(number).thinking(text_at(block, "thinking", "text"))

    def _assistant(self, number: int, record: Json, blocks: list[Any]) -> None:
        # What the model thought may stand in a record of its own before.
        if self._answer and any(part["part_kind"] != "thinking" for part in self._answer.parts):
            self.end_answer()
        answer = self.answer(number)
        self.model = answer.model = text_at(record, *self.shape.model) or self.model
        read, wrote, cached = (value_at(record, path) if path else 0 for path in self.shape.tokens)
        fresh = read - cached if isinstance(read, int) and isinstance(cached, int) else read
        answer.usage = usage(fresh, wrote, cached)
        answer.thinking(text_at(record, "reasoning_content", "reasoning", "reasoning.text"))
        for block in blocks:
            kind = value_at(block, "type")
            kind = kind if isinstance(kind, str) else ""
            if kind in _THOUGHTS:
                self.answer(number).thinking(text_at(block, *_THOUGHTS[kind]))
            elif kind in _CALLS:
                call_id, name, args = _CALLS[kind]
                self._call(number, text_at(block, call_id), text_at(block, name), block, args)
            elif kind in _RESULTS:
                self._block_result(number, block)
            elif text := self.text([block], number):
                self.answer(number).text(text)
        for call in list_at(record, "tool_calls") or list_at(record, "toolCalls"):
            self._call(number, text_at(call, *_CALL_ID), text_at(call, *_CALL_NAME), call, _CALL_ARGS)
        for result in list_at(record, "results"):
            self._block_result(number, result)

    def _call(self, number: int, call_id: str, name: str, call: Any, args: Iterable[str]) -> None:
        if not name:
            return self.out.skip(number, f"tool call without a tool's name: {shown(call)}")
        values = (value_at(call, path) for path in args)
        given = next((value for value in values if value is not None), None)
        self.answer(number).call(self.out.calls, call_id, name, given)
        return None

    def _typed(self, blocks: Iterable[Any]) -> tuple[list[Any], list[str], bool]:
        """What the user said, what the model read beside it, and whether the program wrote more."""
        said: list[Any] = []
        beside: list[str] = []
        framed = False
        for block in blocks:
            text = record_text(block, "text") if isinstance(block, dict) else ""
            if value_at(block, "type") == BESIDE:
                beside.append(f"<attached_files>\n{text}\n</attached_files>")
            elif self.shape.note and self.shape.note.match(text):
                framed = True
            elif self.shape.typed and (typed := [each for _, each, _ in elements(text, self.shape.typed)]):
                framed = True
                said += [{"type": "text", "text": each.strip()} for each in typed]
            else:
                said.append(block)
        return said, beside, framed

    def _user(self, number: int, blocks: list[Any]) -> None:
        results = [block for block in blocks if _is_result(block)]
        for block in results:
            self._block_result(number, block)
        said, beside, framed = self._typed(block for block in blocks if not _is_result(block))
        if said:
            self.out.left_out["prompts held notes or marks of the program, which were left out"] += framed
            self.say(said, number, beside)
        elif framed or beside:
            self.out.leave(number, NOTES)
        elif not results:
            self.out.skip(number, "empty user message")

    def _block_result(self, number: int, block: Any) -> None:
        kind = value_at(block, "type")
        ids, contents = _RESULTS.get(kind if isinstance(kind, str) else "", _RESULTS["tool_result"])
        content = next((found for path in contents if (found := value_at(block, path)) is not None), None)
        self._result(number, text_at(block, *ids), block, content, text_at(block, "name", "toolName"))

    def _result(self, number: int, call_id: str, record: Any, content: Any, name: str) -> None:
        states = [state for path in _STATES if isinstance(state := value_at(record, path), str | bool)]
        outcome: ToolOutcome = "error" if any(state in _FAILED for state in states) else "success"
        outcome = "denied" if any(state in _DENIED for state in states) else outcome
        self.end_answer()
        if isinstance(content, dict) and isinstance(content.get("text"), str):
            content = content["text"]
        calls = self.out.calls
        call = calls.finish(call_id) or (
            None if call_id else calls.finish_oldest(name) or calls.finish_oldest()
        )
        told = joined(self.content(number).read(content))
        if call is None and call_id and self._told.get(call_id) == told:
            return self.out.leave(number, "duplicate results count once")
        if call is None:
            return self.out.skip(number, f"{calls.why_not(call_id)}: {shown(call_id or name)}")
        self._told[call_id] = told
        if isinstance(told, str) and told.startswith(_NOT_ALLOWED):
            outcome = "denied"
        self.out.result(call, told, outcome, self.time, number)
        return None
