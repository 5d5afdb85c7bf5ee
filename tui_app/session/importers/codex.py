"""Rollouts of Codex: JSON lines ``{timestamp, type, payload}``, or bare response items in old ones.

What the model saw are the ``response_item`` records; ``event_msg`` records repeat them for the screen.
"""

from collections.abc import Callable
from typing import Any

from tui_app.events import Error, ErrorKind
from tui_app.session.importers.codex_turns import ITEM, Rollout, is_codex_record, item_of, unroll
from tui_app.session.importers.codex_values import call_of, outcome_of, output_of, summary_of
from tui_app.session.importers.fields import record_text
from tui_app.session.importers.reader import LineReader
from tui_app.session.importers.result import Imported
from tui_app.session.importers.source import Json, Line, Source, shown

FORMAT = "codex"

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
    """Whether the file holds records of a rollout."""
    return any(is_codex_record(line.data) for line in source.lines.records)


def read_codex(source: Source) -> Imported:
    """Read a rollout."""
    return _Reader(source).read()


class _Reader(LineReader):
    format = FORMAT

    def read(self) -> Imported:
        """Turn the whole file into events."""
        rollout: Rollout = unroll(self.records)
        kinds: dict[str, Callable[[Line, Json], None]] = {
            ITEM: self._item,
            "session_meta": self._meta,
            "turn_context": self._context,
            "compacted": self._compacted,
            "event_msg": self._event,
        }
        for line in self.records:
            self.at(line.data.get("timestamp"))
            if line.number in rollout.taken_back:
                self.out.leave(line.number, "records of turns that were taken back (rewinds) were left out")
            elif line.number in rollout.notes:
                self.out.leave(line.number, "notes the program wrote into the conversation were left out")
            else:
                kind, payload = item_of(line.data)
                kinds.get(kind, self._other)(line, payload)
        return self.close()

    def _meta(self, line: Line, payload: Json) -> None:
        self.cwd = self.cwd or record_text(payload, "cwd")
        self.out.leave(line.number, "records about session and turns were left out")

    def _context(self, line: Line, payload: Json) -> None:
        self.model = record_text(payload, "model") or self.model
        self._meta(line, payload)

    def _other(self, line: Line, _payload: Json) -> None:
        kind = line.data.get("type", line.data.get("record_type"))
        if kind in ("world_state", "state") or "record_type" in line.data:
            self.out.leave(line.number, "records about session and turns were left out")
        else:
            self.out.skip(line.number, f"unknown record type {shown(kind)}")

    def _event(self, line: Line, payload: Json) -> None:
        if payload.get("type") not in ("error", "stream_error"):
            self.out.leave(line.number, "events that repeat the conversation for the screen were left out")
            return
        self.end_answer()
        message = record_text(payload, "message") or "The program reported an error."
        kind: ErrorKind = "context_overflow" if _OVERFLOW in str(payload) else "provider"
        self.out.add(Error(kind=kind, message=message), None, self.time, line.number)

    def _item(self, line: Line, item: Json) -> None:
        kind = item.get("type")
        if kind == "message":
            self._message(line, item)
        elif kind == "reasoning":
            self._reasoning(line, item)
        elif kind in _CALLS:
            self._call(line, item)
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
            self.say(content, line.number)
        elif role in ("system", "developer"):
            self.out.leave(line.number, "notes the program wrote into the conversation were left out")
        else:
            self.out.skip(line.number, f"unknown role {shown(role)}")

    def _reasoning(self, line: Line, item: Json) -> None:
        blocks = [*_list(item.get("summary")), *_list(item.get("content"))]
        texts = [record_text(block, "text") for block in blocks if isinstance(block, dict)]
        if not any(texts):
            # Only OpenAI can read an encrypted thought, and only with the key of that conversation.
            self.out.leave(line.number, "thoughts that are encrypted were left out")
            return
        self.answer(line.number).thinking("\n\n".join(filter(None, texts)))

    def _call(self, line: Line, item: Json) -> None:
        name, args = call_of(item)
        if not name:
            self.out.skip(line.number, "tool call without a tool's name")
            return
        call_id = record_text(item, "call_id") or record_text(item, "id")
        self.answer(line.number).call(self.out.calls, call_id, name, args)

    def _compacted(self, line: Line, payload: Json) -> None:
        self.end_answer()
        if summary := summary_of(payload):
            self.out.compaction(summary, "blocking", (0, 0), self.time, line.number)
        else:
            self.out.skip(line.number, "compaction without a summary, not applied")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
