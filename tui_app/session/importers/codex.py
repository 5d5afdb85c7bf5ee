"""Rollouts of Codex: JSON lines ``{timestamp, type, payload}``, or bare response items in old ones.

What the model saw are the ``response_item`` records; ``event_msg`` records repeat them for the screen.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from tui_app.context.user_text import own_text
from tui_app.events import Error, ErrorKind
from tui_app.session.importers.event_builder import NOTES, ToolOutcome
from tui_app.session.importers.reader import (
    LineReader,
    block_list,
    count,
    list_at,
    objects_at,
    of_type,
    record_text,
    text_at,
)
from tui_app.session.importers.source import Imported, Json, Line, Source, shown

# Which records of a Codex rollout count: turns that were undone, and what the program itself said.

ITEM = "response_item"
_TYPES = (ITEM, "session_meta", "turn_context", "event_msg", "compacted", "world_state")
_BARE = (
    "reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call",
    "custom_tool_call_output", "web_search_call",
)  # fmt: skip
_ROLES = ("user", "assistant", "developer", "system")
_NOTE_STARTS = (
    "<environment_context>", "<user_instructions>", "<turn_aborted>", "<user_shell_command>", "<skill>",
    "<subagent_notification>", "<permissions instructions>", "<INSTRUCTIONS>", "# AGENTS.md instructions",
)  # fmt: skip
"""How prompts begin that the program writes in the user's name."""


@dataclass
class Rollout:
    """Line numbers that are not part of the conversation."""

    taken_back: set[int] = field(default_factory=set)
    notes: set[int] = field(default_factory=set)


def is_codex_record(record: Json) -> bool:
    """Whether a record can only be one of a rollout."""
    if record.get("type") in _TYPES and isinstance(record.get("payload"), dict):
        return True
    return _is_bare(record)


def item_of(record: Json) -> tuple[str, Json]:
    """Type and payload of a record, whichever generation wrote it."""
    payload = record.get("payload")
    if isinstance(payload, dict):
        return record_text(record, "type"), payload
    if _is_bare(record):
        return ITEM, record
    # The first line of an old rollout is the session's data, without a type.
    return ("session_meta", record) if "instructions" in record and "id" in record else ("", {})


def unroll(records: tuple[Line, ...]) -> Rollout:
    """Find the records of turns that were undone, and the program's own notes."""
    rollout = Rollout()
    turns: list[list[int]] = []
    for line in records:
        kind, payload = item_of(line.data)
        if kind == ITEM and payload.get("type") == "message" and payload.get("role") == "user":
            if is_note(payload.get("content")):
                rollout.notes.add(line.number)
            else:
                turns.append([])
        elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
            dropped = count(payload.get("num_turns"))
            for turn in turns[len(turns) - dropped :] if dropped <= len(turns) else turns:
                rollout.taken_back.update(turn)
            del turns[max(0, len(turns) - dropped) :]
        if turns and kind in (ITEM, "compacted"):
            turns[-1].append(line.number)
    rollout.notes -= rollout.taken_back
    return rollout


def is_note(content: Any) -> bool:
    """Whether a prompt was written by the program: all of its texts are notes."""
    blocks = block_list(content)
    texts = [record_text(block, "text").lstrip() for block in blocks if isinstance(block, dict)]
    return bool(texts) and all(
        text.startswith(_NOTE_STARTS) or (text and not own_text(text)) for text in texts
    )


def _is_bare(record: Json) -> bool:
    kind = record.get("type")
    if kind == "message":
        blocks = block_list(record.get("content"))
        return record.get("role") in _ROLES and any(
            isinstance(block, dict) and block.get("type") in ("input_text", "output_text") for block in blocks
        )
    return kind in _BARE and ("call_id" in record or "summary" in record)


# Calls, outputs and summaries of Codex in their several spellings.

_NAMES = {
    "local_shell_call": "local_shell",
    "web_search_call": "web_search",
    "tool_search_call": "tool_search",
}
FRAME = re.compile(r"(?m)^Another language model started to solve this problem and produced a summary.*$")
"""What the program writes in front of a summary."""
_DENIED = ("exec command rejected by user", "patch rejected by user", "rejected by user")
_CUT_FROM = 40
"""Characters at which a prompt is known by its beginning."""
_KEPT_BYTES = 80_000
"""Of prompts that stay beside a summary: what the program takes for 20,000 tokens."""
_ABORTED = ("aborted by user", "command aborted")


def call_of(item: Json) -> tuple[str, Any]:
    """Tool and arguments of a call."""
    kind = record_text(item, "type")
    name = record_text(item, "name") or _NAMES.get(kind, "")
    if namespace := record_text(item, "namespace"):
        name = f"{namespace}.{name}" if name else ""
    for key in ("arguments", "input", "action"):
        if key in item:
            return name, item[key] if key != "input" else {"input": item[key]}
    return name, {}


def output_of(item: Json) -> Any:
    """What a tool answered: text or blocks."""
    output = item.get("output")
    if isinstance(output, dict) and "content" in output:
        return output["content"]
    return output if output is not None else item.get("tools")


def outcome_of(item: Json, output: Any) -> ToolOutcome:
    """How a call ended, as far as its output tells."""
    raw = item.get("output")
    if isinstance(raw, dict) and raw.get("success") is False:
        return "error"
    text = output if isinstance(output, str) else ""
    if text.lower().startswith(_DENIED):
        return "denied"
    if text.lower().startswith(_ABORTED):
        return "interrupted"
    return "error" if _exit_code(text) else "success"


def summary_of(payload: Json, said: Collection[str]) -> str:
    """The text that a compaction put in the place of the history; empty when it cannot be read.

    Args:
        payload: Of the compaction.
        said: What the user said before it: the program keeps that beside a summary that may be encrypted.
    """
    if message := record_text(payload, "message").strip():
        return message
    history = objects_at(payload, "replacement_history")
    told = [item for item in of_type(history, "message") if item.get("role") == "user"]
    prompts = [item for item in told if not is_note(item.get("content"))]
    if not prompts or any("compaction" in record_text(item, "type") for item in history):
        return ""
    text = _text_of(prompts[-1])
    # A long prompt is cut in its middle.
    beginning, cut, _ = text.partition("…")
    is_said = text in said or (
        cut and len(beginning) >= _CUT_FROM and any(each.startswith(beginning) for each in said)
    )
    return "" if is_said else text


def kept_prompts(payload: Json, said: Mapping[int, str]) -> list[int]:
    """Lines of the prompts that a compaction left beside its summary, as the program goes on with them.

    Args:
        payload: Of the compaction.
        said: What the user said before it, by line.
    """
    if "replacement_history" in payload:
        history = [_text_of(item) for item in of_type(objects_at(payload, "replacement_history"), "message")]
        whole = set(history)
        # A long prompt is cut in its middle.
        cut = tuple(text for each in history if len(text := each.partition("…")[0]) >= _CUT_FROM)
        return [line for line, text in said.items() if text in whole or (cut and text.startswith(cut))]
    # Older versions build it anew from the newest prompts whenever they read the file.
    newest = list(said.items())[::-1]
    sizes = accumulate(len(text.encode()) for _, text in newest)
    return [line for (line, _), size in zip(newest, sizes, strict=True) if size <= _KEPT_BYTES]


def _text_of(item: Json) -> str:
    return "\n".join(
        filter(None, (text_at(each, "text") for each in block_list(item.get("content"))))
    ).strip()


def _exit_code(text: str) -> int:
    """The exit code that an output reports; 0 when it reports none."""
    if text.startswith("{"):
        try:
            metadata = json.loads(text).get("metadata")
        except (ValueError, AttributeError, RecursionError):
            return 0
        code = metadata.get("exit_code") if isinstance(metadata, dict) else 0
        return code if isinstance(code, int) else 0
    for line in text.splitlines()[:6]:
        label, _, number = line.partition(":")
        if label.strip().lower() in ("exit code", "process exited with code") and number.strip().isdigit():
            return int(number) if len(number) < 9 else 1
        if line.startswith("Process exited with code ") and line.rsplit(" ", 1)[-1].isdecimal():
            return int(line.rsplit(" ", 1)[-1][:9])
    return 0


_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call")
_OUTPUTS = (
    "function_call_output",
    "custom_tool_call_output",
    "local_shell_call_output",
    "tool_search_output",
)
_ASIDE = ("ghost_snapshot", "compaction", "compaction_summary", "other")
_OVERFLOW = "context_window_exceeded"


def is_codex(source: Source) -> bool:
    records = (line.data for line in source.lines.records)
    # Others keep thoughts in the same way.
    return any(is_codex_record(record) for record in records if record.get("type") != "reasoning")


def read_codex(source: Source) -> Imported:
    return _Reader(source).read()


class _Reader(LineReader):
    def read(self) -> Imported:
        rollout: Rollout = unroll(self.records)
        self._said: dict[int, str] = {}
        for line in self.records:
            self.at(line.data.get("timestamp"))
            if line.number in rollout.taken_back:
                self.out.leave(line.number, "records of turns that were undone (rewinds) were left out")
            elif line.number in rollout.notes:
                self.out.leave(line.number, NOTES)
            else:
                self._record(line, *item_of(line.data))
        return self.close()

    def _record(self, line: Line, kind: str, payload: Json) -> None:
        spelled = line.data.get("type", line.data.get("record_type"))
        if kind == ITEM:
            self._item(line, payload)
        elif kind in ("session_meta", "turn_context"):
            self.model = text_at(payload, "model", "collaboration_mode.settings.model") or self.model
            self.cwd = self.cwd or record_text(payload, "cwd")
            self.out.leave(line.number, "records about session and turns were left out")
        elif kind == "compacted":
            self.end_answer()
            if summary := summary_of(payload, self._said.values()):
                lines = kept_prompts(payload, self._said)
                kept = [event for each in lines if (event := self.out.first_at.get(each))]
                self.out.compaction(summary, "blocking", (0, 0), self.time, line.number, kept=kept)
            else:
                self.out.skip(line.number, "compaction without a readable summary, not applied")
        elif kind == "event_msg" and payload.get("type") in ("error", "stream_error"):
            self.end_answer()
            message = record_text(payload, "message") or "The program reported an error."
            trouble: ErrorKind = "context_overflow" if _OVERFLOW in str(payload) else "provider"
            self.out.add(Error(kind=trouble, message=message), None, self.time, line.number)
        elif kind == "event_msg":
            self.out.leave(line.number, "events that repeat the conversation for the screen were left out")
        elif spelled in ("world_state", "state") or "record_type" in line.data:
            self.out.leave(line.number, "records about session and turns were left out")
        else:
            self.out.skip(line.number, f"unknown record type {shown(spelled)}")

    def _item(self, line: Line, item: Json) -> None:
        kind = item.get("type")
        if kind == "message":
            self._message(line, item)
        elif kind == "reasoning":
            blocks = [*list_at(item, "summary"), *list_at(item, "content")]
            texts = [text_at(block, "text") for block in blocks]
            if any(texts):
                self.answer(line.number).thinking("\n\n".join(filter(None, texts)))
            else:
                # Only OpenAI can read an encrypted thought, and only with the key of that conversation.
                self.out.leave(line.number, "encrypted thoughts were left out")
        elif kind in _CALLS:
            name, args = call_of(item)
            call_id = record_text(item, "call_id") or record_text(item, "id")
            if name:
                self.answer(line.number).call(self.out.calls, call_id, name, args)
            else:
                self.out.skip(line.number, "tool call without a tool's name")
        elif kind in _OUTPUTS:
            output = output_of(item)
            self.result(record_text(item, "call_id"), output, outcome_of(item, output), line.number)
        elif kind in _ASIDE:
            self.out.leave(line.number, "records about session and turns were left out")
        else:
            self.out.skip(line.number, f"unknown item type {shown(kind)}")

    def _message(self, line: Line, item: Json) -> None:
        role, content = item.get("role"), item.get("content")
        if role == "assistant":
            self.answer(line.number).text(self.text(content, line.number))
        elif role == "user":
            self._said[line.number] = _text_of(item)
            self.say(content, line.number)
        elif role in ("system", "developer"):
            self.out.leave(line.number, NOTES)
        else:
            self.out.skip(line.number, f"unknown role {shown(role)}")
