"""Sessions of pi: JSON lines, a session record and then entries that form a tree (in old files a list)."""

from tui_app.events import Error
from tui_app.session.importers.event_builder import NOTES, ToolOutcome
from tui_app.session.importers.reader import (
    LineReader,
    block_list,
    branch,
    count,
    object_at,
    record_text,
    usage,
    value_at,
)
from tui_app.session.importers.source import Imported, Json, Line, Source, shown

_FINISH = {"stop": "stop", "length": "length", "toolUse": "tool_call", "error": "error"}
_ASIDE = ("custom", "label", "model_change", "session", "session_info", "thinking_level_change")
_ROLES = ("user", "assistant", "toolResult", "bashExecution", "custom", "branchSummary", "hookMessage")


def is_pi(source: Source) -> bool:
    return any(
        line.data.get("type") == "message" and value_at(line.data, "message.role") in _ROLES
        for line in source.lines.records
    )


def read_pi(source: Source) -> Imported:
    """Read a session: the branch that its last entry stands on."""
    return _Reader(source).read()


class _Reader(LineReader):
    def read(self) -> Imported:
        path = branch(self.records, key="id", parent="parentId", report=self.out)
        self._numbers = {record_text(line.data, "id"): line.number for line in self.records}
        for line in self.records:
            if line.number not in path:
                if not self.out.knows(line.number):
                    self.out.leave(line.number, "entries on abandoned branches were left out")
                continue
            self.at(line.data.get("timestamp"))
            record = line.data
            kind = record.get("type")
            if kind == "message":
                self._message(line, object_at(record, "message"))
            elif kind == "compaction":
                self._compacted(line, record)
            elif kind == "branch_summary":
                self._summary(line, record)
            elif kind == "custom_message":
                self.out.leave(line.number, NOTES)
            elif kind in _ASIDE:
                self.cwd = self.cwd or record_text(record, "cwd")
                self.model = record_text(record, "modelId") or self.model
                self.title = record_text(record, "name") if kind == "session_info" else self.title
                self.out.leave(line.number, "entries that are not messages were left out")
            else:
                self.out.skip(line.number, f"unknown entry type {shown(kind)}")
            self.end_answer()
        return self.close()

    def _message(self, line: Line, message: Json) -> None:
        match message.get("role"):
            case "user":
                self.say(message.get("content"), line.number)
            case "custom" | "hookMessage":
                self.out.leave(line.number, NOTES)
            case "assistant":
                answer = self.answer(line.number)
                answer.model = record_text(message, "model") or self.model
                stop = record_text(message, "stopReason")
                answer.finish = _FINISH.get(stop, "")
                answer.state = "interrupted" if stop == "aborted" else "complete"
                tokens = ("usage.input", "usage.output", "usage.cacheRead", "usage.cacheWrite")
                answer.usage = usage(*(value_at(message, path) for path in tokens))
                for block in block_list(message.get("content")):
                    self._block(line, block)
                error = record_text(message, "errorMessage")
                if error and stop == "error":
                    self.end_answer()
                    self.out.add(Error(kind="provider", message=error), None, self.time, line.number)
            case "toolResult":
                outcome: ToolOutcome = "error" if message.get("isError") is True else "success"
                content = message.get("content")
                self.result(record_text(message, "toolCallId"), content, outcome, line.number)
            case "bashExecution":
                command, output = record_text(message, "command"), record_text(message, "output")
                self.say(f"Ran `{command}`", line.number, [f"<bash-stdout>\n{output}\n</bash-stdout>"])
            case "branchSummary":
                self._summary(line, message)
            case "compactionSummary":
                self._compacted(line, message)
            case role:
                self.out.skip(line.number, f"unknown role {shown(role)}")

    def _block(self, line: Line, block: object) -> None:
        answer = self.answer(line.number)
        if not isinstance(block, dict):
            self.out.skip(line.number, f"content block that is not an object: {shown(block)}")
        elif block.get("type") == "text":
            answer.text(self.text([block], line.number))
        elif block.get("type") == "thinking":
            answer.thinking(block.get("thinking"))
        elif block.get("type") == "toolCall" and record_text(block, "name"):
            name, args = record_text(block, "name"), block.get("arguments")
            answer.call(self.out.calls, record_text(block, "id"), name, args)
        else:
            self.out.skip(line.number, f"content block that cannot be used: {shown(block.get('type'))}")

    def _summary(self, line: Line, record: Json) -> None:
        # A model wrote it, though it was told in the user's name.
        if summary := record_text(record, "summary"):
            self.answer(line.number).text(f"What happened on a branch that was left:\n\n{summary}")

    def _compacted(self, line: Line, record: Json) -> None:
        self.end_answer()
        summary = record_text(record, "summary")
        if not summary.strip():
            self.out.skip(line.number, "compaction without a summary, not applied")
            return
        named = self._numbers.get(record_text(record, "firstKeptEntryId"), 0)
        # What is kept may begin with an entry that is no message.
        kept = min((number for number in self.out.first_at if number >= named > 0), default=0)
        tokens = count(record.get("tokensBefore")), 0
        self.out.compaction(summary, "blocking", tokens, self.time, line.number, self.out.first_at.get(kept))
