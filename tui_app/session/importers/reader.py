"""The importer: reads a file of a known shape into events of a log."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, get_args

from tui_app.events import Error, ErrorKind, Trigger
from tui_app.session.importers import books
from tui_app.session.importers.books import NOTES, Content, Imported, Timeline, ToolOutcome
from tui_app.session.importers.content import BESIDE, ContentReader, file_block, joined, text_block
from tui_app.session.importers.message_lists import Found, find_messages
from tui_app.session.importers.shape import ABOUT, SUB_AGENTS, Records, Shape, elements, filled, side_record
from tui_app.session.importers.source import Json, Source, beside_file, shown
from tui_app.session.importers.titles import given_title, title_of
from tui_app.session.importers.values import (
    block_list,
    count,
    first_at,
    list_at,
    meets,
    number_at,
    object_at,
    objects_at,
    seconds,
    text_at,
    value_at,
)

_THOUGHTS: Mapping[str, tuple[str, ...]] = {
    "thinking": ("thinking", "text"), "think": ("think",), "reasoning": ("text", "reasoning"),
    "redacted_thinking": (), "redacted-reasoning": (), "redactedThinking": (), "input_json_delta": (),
}  # fmt: skip
_CALLS = ("tool_use", "toolCall", "tool_call", "function_call", "tool-call", "toolRequest")
"""Suffixes of the types of call blocks; some have a prefix for where the tool runs."""
_CALL_ID = ("tool_call_id", "toolCallId", "id", "call_id")
_CALL_NAME = ("toolCall.value.name", "function.name", "name", "function_name", "toolName", "function")
_CALL_ARGS = ("toolCall.value.arguments", "function.arguments", "arguments", "args", "input")
_RESULTS = ("tool_result", "tool-result", "toolResponse")
"""Suffixes of the types of result blocks."""
_RESULT_ID = ("tool_use_id", "toolUseID", "toolCallId", "source_call_id", "id")
_RESULT_CONTENT = (
    "content", "toolResult.value.content", "toolResult.value", "toolResult.error", "result", "output.value",
    "output", "run.result", "run.error.message", "run.error", "run.reason", "error", "resultDisplay",
)  # fmt: skip
_STATES = (
    "is_error", "isError", "status", "run.status", "toolResult.status", "toolResult.value.isError",
    "output.type",
)  # fmt: skip
_FAILED = (True, "error", "errored", "failed", "error-text", "error-json")
_DENIED = ("rejected-by-user", "denied", "canceled", "cancelled")
_OUTPUT = ("result", "output", "error")
"""Fields of a call that contain the tool's result."""
_DONE = ("completed", "success", *_FAILED[1:], *_DENIED)
"""States of calls that have a result, even an empty one."""
_REASONING = ("reasoning_content", "reasoning", "reasoning.text", "thinking.text")
_FINISH = {
    "stop": "stop", "end_turn": "stop", "stop_sequence": "stop", "length": "length", "max_tokens": "length",
    "tool_use": "tool_call", "toolUse": "tool_call", "tool-calls": "tool_call", "tool_calls": "tool_call",
    "function_call": "tool_call", "content_filter": "content_filter", "content-filter": "content_filter",
    "refusal": "content_filter", "error": "error",
}  # fmt: skip
_NAMES = ("id", "uuid", "conversation_id", "conversationId", "sessionId")
_NO_RECORD = "00000000-"
"""Prefix of ids that refer to no record."""


@dataclass
class _Answer:
    """The parts of a response so far."""

    line: int
    time: float
    model: str
    response: str
    """The program's id of the response. Several records may form one response."""
    signed_by: str
    """The provider that signed the thinking; no other can read the signatures."""
    parts: list[Json] = field(default_factory=list)
    usage: Counter[str] = field(default_factory=Counter)
    finish: str | None = None
    state: str = "complete"
    cost: float | None = None
    lines: set[int] = field(default_factory=set)
    calls: dict[str, Json] = field(default_factory=dict)
    """Calls by their id in the file."""

    def text(self, value: str, *, more: bool) -> None:
        """Append text. Blank text is dropped unless more may follow."""
        if more and self.parts and self.parts[-1]["part_kind"] == "text":
            self.parts[-1]["content"].append(value)
        elif value.strip() or (more and value):
            # Joined once at the end: joining at every piece would take quadratic time.
            self.parts.append({"part_kind": "text", "content": [value]})

    def thinking(self, text: str, signature: str = "", name: str = "") -> None:
        if text.strip() or signature:
            signed = {"signature": signature, "provider_name": self.signed_by} if signature else {}
            named = {"id": name} if name else {}
            self.parts.append({"part_kind": "thinking", "content": text, **signed, **named})

    def is_continued(self, response: str) -> bool:
        """Return whether a record continues this response. A record with only thinking may have no id."""
        only_thoughts = self.parts and all(part["part_kind"] == "thinking" for part in self.parts)
        return response == self.response and bool(response or only_thoughts)

    def message(self) -> Json:
        used, parts = self.usage, list[Json]()
        for part in self.parts:
            text = "".join(part["content"]) if part["part_kind"] == "text" else None
            if text is None or text.strip():
                parts.append(part if text is None else {**part, "content": text})
        usage = {
            "input_tokens": used["total"] or used["fresh"] + used["read"] + used["written"],
            "cache_read_tokens": used["read"], "cache_write_tokens": used["written"],
            "output_tokens": used["output"] + used["apart"],
            "details": +Counter({"reasoning_tokens": used["thought"] + used["apart"]}),
        }  # fmt: skip
        signed = {"provider_name": self.signed_by, "provider_response_id": self.response or None}
        return {
            "kind": "response", "timestamp": books.iso(self.time), "model_name": self.model or None,
            "parts": parts, "finish_reason": self.finish, "usage": usage, "state": self.state,
        } | (signed if self.signed_by else {})  # fmt: skip


class Reader:
    """Reads one file of a shape.

    Args:
        source: The file, or its beginning and its end.
        shape: The shape of its format.
        checked: Whether messages are made. Without, the result is a preview that needs no pydantic-ai.
    """

    def __init__(self, source: Source, shape: Shape, *, checked: bool = True) -> None:
        self.source: Final = source
        self.shape: Final = shape
        self.out: Final = Timeline(source.mtime, listed=source.document is not None, checked=checked)
        if shape.is_lines and source.document is None and not source.is_database:
            self.out.skipped.extend(source.lines.skipped)
            self.out.count("lines held bytes that are not UTF-8, shown as U+FFFD", source.lines.replaced)
        self.title = self.cwd = self.model = self.branch = ""
        self._answer: _Answer | None = None
        self._told: dict[str, Content] = {}
        """Content of tool results, by call id."""
        self._is_typed = False
        """Whether elements mark what the user typed."""
        self._numbers: dict[Any, int] = {}
        """Line numbers of records, by id."""

    def read(self) -> Imported:
        shape, out = self.shape, self.out
        if shape.read_file is not None:
            return shape.read_file(self.source, out)
        found = self._conversation()
        self._head(found.owner)
        self.set_clock(found.owner)
        if shape.sidecar:
            self._head(beside_file(self.source.path, shape.sidecar))
        numbers = found.numbers or range(1, len(found.messages) + 1)
        known = self._known(list(zip(numbers, found.messages, strict=True)))
        self._is_typed = any(self._has_typed(record) for _, record in known)
        for number, record in shape.order(self._branch(known, found.owner), out):
            out.line = number
            self.set_clock(record)
            if shape.take is not None:
                shape.take(self, record)
                continue
            for each in self._steps(record):
                self._take(each)
            if isinstance(name := first_at(record, "uuid", "id"), str | int):
                self._numbers[name] = out.line
        self._end_answer()
        out.count("further conversations in the file were left out", found.others)
        for number in numbers:
            if not out.knows(number):
                out.skip("nothing in it could be used", number)
        title = given_title(self.title) or title_of(out.events)
        return out.finish(title, self.cwd, self.model, self.branch, len(numbers))

    def set_clock(self, record: Any) -> None:
        """Set the clock to the first time found in a record."""
        moments = (seconds(value_at(record, path), -1.0) for path in self.shape.time)
        self.out.time = next((moment for moment in moments if moment >= 0), self.out.time)

    def _conversation(self) -> Found:
        """Find the wanted conversation: the named one, or else the newest, or else the first."""
        source, shape = self.source, self.shape
        value, found = source.value, None
        if source.is_database:
            value = shape.store.conversation(source) if shape.store else value
        else:
            found = shape.find(source)
        if found is None and shape.is_message is not None:
            found = find_messages(value, shape.is_message)
        if found is None:
            several = value if isinstance(value, list) else [value] if value else []
            found = self._newest([each for each in several if isinstance(each, dict)]) or Found(several)
        if found.messages and found.messages is value and source.document is None:
            return replace(found, numbers=[number for number, _ in source.lines.records])
        return found

    def _newest(self, known: list[Json]) -> Found | None:
        talks = [(each, talk) for each in known if (talk := _listed(each, self.shape)) is not None]
        if not talks:
            return None
        self.out.count("conversations without messages were left out", len(known) - len(talks))
        others = len(talks) - 1
        if self.source.part and not self.source.is_database:
            talks = [
                each for each in talks if self.source.part in (value_at(each[0], name) for name in _NAMES)
            ]
        changed = self.shape.changed
        owner, newest = max(
            talks, key=lambda talk: seconds(first_at(talk[0], *changed), 0.0), default=({}, [])
        )
        return Found(newest, owner, others)

    def _known(self, numbered: list[tuple[int, Any]]) -> Records:
        """Return the records of the main conversation; leave out and count others, and subagents'."""
        known: Records = []
        for number, record in numbered:
            if isinstance(record, dict):
                known.append((number, record))
            elif isinstance(record, str) and record in self.shape.marks:
                self.out.leave(ABOUT, number)
            else:
                self.out.skip(f"not an object: {shown(record)}", number, unknown=True)
        own = [each for each in known if not self.shape.is_side(each[1])] or known
        for number in {number for number, _ in known} - {number for number, _ in own}:
            self.out.leave(SUB_AGENTS, number)
        return own

    def _head(self, record: Json) -> None:
        self.title = text_at(record, *self.shape.title) or self.title
        self.cwd = self.cwd or text_at(record, *self.shape.cwd)
        self.model = text_at(record, *self.shape.models) or self.model

    def _branch(self, numbered: Records, owner: Json) -> Records:
        """Return the messages on the path to the last one. File order repairs links to missing ones."""
        if self.shape.links is None:
            return numbered
        key, parent, last = self.shape.links
        places: dict[str, int] = {}
        for at, (number, record) in enumerate(numbered):
            name = text_at(record, key) if parent in record else ""
            if name and places.setdefault(name, at) != at:
                self.out.skip(f"record id {shown(name)} was already used in this file", number)
        at = places.get(text_at(owner, *last), max(places.values(), default=-1))
        path: dict[int, None] = {}
        while at >= 0 and at not in path:
            path[at] = None
            above = text_at(numbered[at][1], parent)
            missing = bool(above) and above not in places and not above.startswith(_NO_RECORD)
            self.out.count("links to missing records were repaired by file order", missing and at > 0)
            # In a log that names no last message, a second root does not replace anything.
            at = places.get(above, at - 1 if missing or not (above or last) else -1)
        # Records outside of the tree stay in place: reports, records about the chat.
        loose = {at for at, (_, each) in enumerate(numbered) if parent not in each or not text_at(each, key)}
        for at, (number, _) in enumerate(numbered):
            if at not in path and at not in loose and not self.out.knows(number):
                self.out.leave("messages on abandoned branches were left out", number)
        # A table of messages may be in any order, but the path from first to last has one.
        return [numbered[at] for at in (sorted(loose.union(path)) if loose else [*path][::-1])]

    def _take(self, step: Json) -> None:
        shape = self.shape
        self.set_clock(step)
        self.cwd = self.cwd or text_at(step, *shape.cwd)
        self.model = self.model or text_at(step, *shape.models)
        take = self._ROLES.get(shape.roles.get(text_at(step, *shape.role), ""))
        if take is None:
            unknown = text_at(step, "unknown") or f"unknown role {shown(value_at(step, shape.role[0]))}"
            return self.out.skip(unknown, unknown=True)
        content = block_list(self._content_of(step))
        blocks = [shape.block(each) for each in content if not text_at(each, "type").startswith(shape.quiet)]
        blocks += [file_block(each) for path in shape.files for each in objects_at(step, path)]
        if content and not blocks and not any(list_at(step, path) for path in shape.calls):
            return self.out.leave(ABOUT)
        take(self, step, blocks)
        if self.out.line in self.out.places:
            self.out.places.update(step.get("lines", ()))
        return None

    def _steps(self, record: Json) -> list[Json]:
        """Convert a record to messages in the shared form."""
        shape, kind = self.shape, text_at(record, *self.shape.kind)
        if self._is(record, shape.about):
            return [{**record, **side_record()}]
        whole = {**object_at(record, shape.message), **record}
        how = shape.kinds.get(kind, shape.convert)
        if how is None:
            return [{"unknown": f"unknown kind of record: {shown(kind)}"} if shape.kinds else whole]
        turned = how(whole) if callable(how) else {**whole, **filled(how, whole)}
        return turned if isinstance(turned, list) else [turned]

    @staticmethod
    def _is(record: Json, signs: tuple[str, ...]) -> bool:
        return any(meets(record, sign) for sign in signs)

    def _aside(self, step: Json, _blocks: list[Any]) -> None:
        self._head(step)
        self.branch = text_at(step, "branch") or self.branch
        if left := step.get("left", ABOUT):
            self.out.leave(left)

    def _note(self, _step: Json, _blocks: list[Any]) -> None:
        self.out.leave(NOTES)

    def _trouble(self, step: Json, _blocks: list[Any]) -> None:
        self._end_answer()
        message = text_at(step, "message") or "The program reported an error."
        kind: Any = step.get("kind") if step.get("kind") in get_args(ErrorKind) else "provider"
        self.out.add(Error(kind=kind, message=message))

    def _system(self, _step: Json, blocks: list[Any]) -> None:
        self._end_answer()
        if text := self._text(blocks):
            self.out.system(text)
        else:
            self.out.leave(ABOUT)

    def _user(self, step: Json, blocks: list[Any]) -> None:
        results = [block for block in blocks if _is_result(block)]
        if not results and self._is(step, self.shape.noted):
            return self.out.leave(NOTES)
        self._block_results(results)
        prompt, extras, framed = self._typed(block for block in blocks if not _is_result(block))
        if prompt:
            self._end_answer()
        if prompt and (begun := self.shape.continued) and text_at(prompt[0], "text").startswith(begun):
            # A model wrote it, although it has the user's role.
            self._respond(step).text(self._text(prompt), more=False)
            self._end_answer()
        elif prompt:
            self.out.count("prompts held notes or marks of the program, which were left out", framed)
            self.out.user(self._content().content(prompt), beside=extras)
        elif framed or extras:
            self.out.leave(NOTES)
        elif not results:
            self.out.skip("empty user message")
        return None

    def _typed(self, blocks: Iterable[Any]) -> tuple[list[Any], list[str], bool]:
        """Split a prompt: the user's blocks, texts added for the model, and whether notes were added."""
        prompt: list[Any] = []
        extras: list[str] = []
        framed = False
        for block in blocks:
            text = text_at(block, "text")
            if value_at(block, "type") == BESIDE:
                extras.append(text)
            elif self.shape.note and self.shape.note.match(text):
                framed = True
            elif self._is_typed and self.shape.typed and text:
                framed = True
                prompt += [text_block(each.strip()) for _, each, _ in elements(text, self.shape.typed)]
            else:
                prompt.append(block)
        return prompt, extras, framed

    def _has_typed(self, record: Json) -> bool:
        """Return whether a record has an element with what the user typed."""
        typed, shape = self.shape.typed, self.shape
        if typed is None:
            return False
        own = (each for each in self._steps(record) if shape.roles.get(text_at(each, *shape.role)) == "user")
        found = (block_list(value_at(each, path)) for each in own for path in shape.content)
        texts = (text_at(block, "text") for blocks in found for block in blocks if not _is_result(block))
        return any(next(elements(text, typed), None) for text in texts)

    def _respond(self, step: Json) -> _Answer:
        """Return the answer to which a message belongs: the current one, or a new one."""
        response = text_at(step, "response")
        if self._answer is not None and not step.get("more") and not self._answer.is_continued(response):
            self._end_answer()
        named = (value_at(step, path) for path in self.shape.model)
        model = next((each for each in named if isinstance(each, str)), self.model)
        self.model = model or self.model
        if self._answer is None:
            by = text_at(step, "signed_by")
            self._answer = _Answer(self.out.line, self.out.time, model, response, by)
        self._answer.lines |= {self.out.line, *step.get("lines", ())}
        self._answer.model = model or self._answer.model
        return self._answer

    def _thought(self, step: Json, blocks: list[Any]) -> None:
        if not blocks:
            self.out.leave("thoughts that only their vendor can read were left out")
        for block in blocks:
            self._respond(step).thinking(text_at(block, "thinking", "text"))

    def _assistant(self, step: Json, blocks: list[Any]) -> None:
        answer = self._respond(step)
        for name, paths in self.shape.tokens.items():
            answer.usage[name] += number_at(step, *paths.split())
        answer.finish = _FINISH.get(text_at(step, *self.shape.finish), answer.finish)
        answer.state = text_at(step, "state") or answer.state
        if type(cost := first_at(step, *self.shape.cost)) in (int, float) and cost:
            answer.cost = float(cost)
        answer.thinking(text_at(step, *_REASONING))
        waiting: list[Any] = []
        for block in [*blocks, *([text_block(step["refusal"])] if step.get("refusal") else [])]:
            kind = text_at(block, "type")
            if waiting and not kind.endswith(_CALLS):
                # Answers continue after all calls of a step have their results.
                self._block_results(waiting)
                waiting, answer = [], self._respond(step)
            if kind in _THOUGHTS:
                signature = text_at(block, "signature", "data") if answer.signed_by else ""
                name = kind if kind == "redacted_thinking" else ""
                answer.thinking(text_at(block, *_THOUGHTS[kind]), signature, name)
            elif kind.endswith(_CALLS):
                waiting += self._call(answer, block)
            elif _is_result(block):
                self._block_results([block])
                answer = self._respond(step)
            else:
                answer.text(self._text([block]), more=bool(step.get("delta")))
        before = frozenset(answer.calls)
        for call in next(filter(None, (list_at(step, path) for path in self.shape.calls)), []):
            if text_at(call, *_CALL_ID) not in before:
                waiting += self._call(answer, call)
        self._block_results(
            [*waiting, *(each for path in self.shape.results for each in list_at(step, path))]
        )

    def _call(self, answer: _Answer, call: Any) -> list[Any]:
        """Add a call; return it in a list if it contains its result too."""
        call_id, name = text_at(call, *_CALL_ID), text_at(call, *_CALL_NAME)
        if not name:
            self.out.skip(f"tool call without a tool's name: {shown(call)}")
            return []
        given = first_at(call, *_CALL_ARGS)
        given = {} if given is None else given if isinstance(given, dict | str) else {"input": given}
        part = books.call_part(call_id, name, given)
        if call_id and answer.calls.get(call_id) == part:
            self.out.skip(f"tool call id {shown(call_id)} occurs twice in one response")
            return []
        answer.calls[call_id] = part
        answer.parts.append({**part, "tool_call_id": self.out.calls.begin(call_id, name)})
        is_done = value_at(call, "status") in _DONE or first_at(call, *_OUTPUT) is not None
        return [call] if is_done else []

    def _end_answer(self) -> None:
        """Complete the current answer and add its event."""
        answer, self._answer, out = self._answer, None, self.out
        if answer is None:
            return
        if not (message := answer.message())["parts"]:
            for line in sorted(answer.lines - out.places):
                out.leave("answers without any content were left out", line)
            return
        now = out.time, out.line
        out.time, out.line = answer.time, answer.line
        if out.response(message, answer.cost):
            out.places |= answer.lines
        out.time, out.line = now

    def _tool(self, step: Json, blocks: list[Any]) -> None:
        if any(map(_is_result, blocks)):
            return self._user(step, blocks)
        call_id = text_at(step, "tool_call_id", "toolCallId")
        return self._result(call_id, step, self._content_of(step), text_at(step, "name"))

    def _content_of(self, step: Json) -> Any:
        return next(filter(None, (value_at(step, path) for path in self.shape.content)), None)

    def _block_results(self, blocks: Iterable[Any]) -> None:
        for block in blocks:
            call_id, content = text_at(block, *_RESULT_ID), first_at(block, *_RESULT_CONTENT)
            self._result(call_id, block, content, text_at(block, "name", "toolName"))

    def _result(self, call_id: str, record: Any, content: Any, name: str) -> None:
        self._end_answer()
        if isinstance(content, dict) and isinstance(content.get("text"), str):
            content = content["text"]
        content = list(map(self.shape.block, content)) if isinstance(content, list) else content
        call = self.out.calls.finish(call_id, name)
        if call is None:
            output = joined(ContentReader(lambda _: None, of_tool=True).content(content))
            if call_id and self._told.get(call_id) == output:
                return self.out.leave("duplicate results count once")
            return self.out.skip(f"{self.out.calls.why_not(call_id)}: {shown(call_id or name)}")
        output = self._told[call_id] = joined(self._content(of_tool=True).content(content))
        return self.out.result(call, output, self._outcome(record, output))

    def _outcome(self, record: Any, output: Content) -> ToolOutcome:
        states = [state for path in _STATES if isinstance(state := value_at(record, path), str | bool)]
        failed = any(state in _FAILED for state in states)
        begun = output[:200].lower() if isinstance(output, str) and (failed or not states) else ""
        if any(state in _DENIED for state in states) or begun.startswith(self.shape.denied):
            return "denied"
        stopped = begun.startswith(self.shape.stopped)
        return "interrupted" if stopped else "error" if failed else "success"

    def _summary(self, step: Json, blocks: list[Any]) -> None:
        self._end_answer()
        text, out = self._text(blocks).strip(), self.out
        if not text:
            return out.skip("compaction without a summary, not applied")
        names = (each for each in list_at(step, "gone") if isinstance(each, str | int))
        removed = [self._numbers[each] for each in names if each in self._numbers]
        start = self._numbers.get(step.get("first"), 0) or (max(removed) + 1 if removed else 0)
        # What is kept may begin with a record that is no message.
        first = next((event for line, event in out.first_at.items() if line >= start > 0), None)
        missing = bool(step.get("first")) and first is None
        out.count("compactions kept a stretch that is not in the file", missing)
        at = next((at for at, event in enumerate(out.events) if event is first), len(out.events))
        kept = [event for each in step.get("kept", ()) if (event := out.first_at.get(each))]
        tokens = count(step.get("before")), count(step.get("after"))
        trigger: Trigger = "manual" if step.get("manual") is True else "blocking"
        return out.compaction(text, trigger, tokens, [*kept, *out.events[at:]])

    def _content(self, *, of_tool: bool = False) -> ContentReader:
        return ContentReader(self.out.skip, of_tool)

    def _text(self, blocks: list[Any]) -> str:
        return books.plain_text(self._content().content(blocks))

    _ROLES: ClassVar[Mapping[str, Callable[["Reader", Json, list[Any]], None]]] = {
        "system": _system, "user": _user, "assistant": _assistant, "tool": _tool, "thought": _thought,
        "note": _note, "aside": _aside, "summary": _summary, "trouble": _trouble,
    }  # fmt: skip
    """The handler of messages of each role."""


def _listed(conversation: Any, shape: Shape) -> list[Any] | None:
    """Return the messages of a conversation; the values if they are in a table; None if there are none."""
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
    return text_at(block, "type").endswith(_RESULTS)
