"""Transcripts of Claude Code: JSON lines, one record a line."""

from typing import Any

from tui_app.events import Error, ErrorKind, Trigger
from tui_app.session.importers import messages
from tui_app.session.importers.claude_answer import build_answer
from tui_app.session.importers.claude_tree import Tree, is_claude_record, message_of, plant
from tui_app.session.importers.content import ContentReader, block_list, joined, of_type
from tui_app.session.importers.fields import count, one_line, record_text, seconds, title_of
from tui_app.session.importers.result import Imported
from tui_app.session.importers.source import Json, Line, Source, shown
from tui_app.session.importers.timeline import Timeline, ToolOutcome

FORMAT = "claude-code"

_DENIED = ("The user doesn't want to proceed with this tool use", "The user doesn't want to take this action")
_INTERRUPTED = "[Request interrupted by user"
_ERROR_KINDS: dict[str, ErrorKind] = {
    "rate_limit": "rate_limit",
    "authentication_failed": "auth",
    "invalid_request": "input",
}


def is_claude_code(source: Source) -> bool:
    """Whether the file holds messages of a transcript."""
    return any(is_claude_record(line.data) for line in source.lines.records)


def read_claude_code(source: Source) -> Imported:
    """Read a transcript; see :mod:`tui_app.session.importers.claude_tree` for what belongs to it."""
    reader = _Reader(source)
    return reader.read()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._lines = source.lines
        self._time = source.mtime
        self._out = Timeline()
        self._boundary: Line | None = None
        self._answers: dict[int, list[Line]] = {}
        """The records of each response, by the line of the first."""
        self._cwd = ""
        self._model = ""

    def read(self) -> Imported:
        """Turn the whole file into events."""
        self._out.skipped.extend(self._lines.skipped)
        tree = plant(self._lines.records, self._out)
        path = tree.path()
        self._gather(path)
        self._time = next((t for line in path if (t := seconds(line.data.get("timestamp"), 0.0))), self._time)
        for line in path:
            self._time = seconds(line.data.get("timestamp"), self._time)
            self._cwd = self._cwd or record_text(line.data, "cwd")
            self._record(line)
        self._end_boundary()
        self._count_branches(tree, path)
        return self._out.finish(
            format=FORMAT,
            title=_title(self._lines.records, tree) or title_of(self._out.events),
            cwd=self._cwd,
            model=self._model,
            notes=self._notes(tree),
        )

    def _gather(self, path: list[Line]) -> None:
        """Collect the records that are one response: they share a message id, results may stand between."""
        groups: dict[str, list[Line]] = {}
        part = 0
        for line in path:
            part += line.data.get("subtype") == "compact_boundary"
            if line.data["type"] == "assistant":
                groups.setdefault(_answer_key(line, part), []).append(line)
        self._answers = {lines[0].number: lines for lines in groups.values()}

    def _record(self, line: Line) -> None:
        record = line.data
        match record["type"]:
            case "assistant":
                self._assistant(line)
            case "user":
                self._user(line)
            case "attachment":
                self._attachment(line)
            case "system" if record.get("subtype") == "compact_boundary":
                self._end_boundary()
                self._boundary = line

    def _assistant(self, line: Line) -> None:
        record = line.data
        if record.get("isApiErrorMessage") is True:
            text = messages.plain_text(self._reader(line).read(message_of(record)["content"]))
            kind = _ERROR_KINDS.get(record_text(record, "error"), "provider")
            error = Error(kind="context_overflow" if "too long" in text.lower() else kind, message=text)
            self._out.add(error, None, self._time, line.number)
            return
        group = self._answers.get(line.number)
        if group is None:
            return
        answer = build_answer(group, self._time, self._out)
        if self._out.response(answer, self._time, line.number):
            self._model = answer["model_name"] or self._model

    def _user(self, line: Line) -> None:
        record = line.data
        content = message_of(record)["content"]
        results = of_type(block_list(content), "tool_result")
        if record.get("isCompactSummary") is True:
            return self._compacted(line, content)
        if record.get("isMeta") is True and not results:
            self._out.left_out["notes the program wrote into the conversation (isMeta) were left out"] += 1
            return None
        for block in results:
            self._result(line, block)
        rest = [block for block in content if block not in results] if results else content
        if rest or not results:
            self._out.user(self._reader(line).read(rest), self._time, line.number)
        return None

    def _attachment(self, line: Line) -> None:
        # What the person typed while the model was busy is stored as an attachment of that turn.
        attachment = line.data.get("attachment")
        if isinstance(attachment, dict) and attachment.get("type") == "queued_command":
            self._out.user(self._reader(line).read(attachment.get("prompt")), self._time, line.number)

    def _result(self, line: Line, block: Json) -> None:
        target = record_text(block, "tool_use_id")
        call = self._out.calls.finish(target)
        if call is None:
            self._out.skip(line.number, f"{self._out.calls.why_not(target)}: {shown(target)}")
            return
        content = joined(self._reader(line).read(block.get("content")))
        self._out.result(call, content, _outcome(block, content), self._time, line.number)

    def _compacted(self, line: Line, content: Any) -> None:
        boundary = self._boundary.data if self._boundary else {}
        self._boundary = None
        metadata = boundary.get("compactMetadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        if metadata.get("preservedSegment"):
            self._out.left_out["compactions kept a stretch of history; here the summary replaces it too"] += 1
        summary = messages.plain_text(self._reader(line).read(content))
        trigger: Trigger = "manual" if metadata.get("trigger") == "manual" else "blocking"
        tokens = count(metadata.get("preTokens")), count(metadata.get("postTokens"))
        self._out.compaction(summary, trigger, tokens, self._time, line.number)

    def _end_boundary(self) -> None:
        if self._boundary is not None:
            self._out.skip(self._boundary.number, "compaction without a summary, not applied")
            self._boundary = None

    def _reader(self, line: Line) -> ContentReader:
        return ContentReader(lambda reason: self._out.skip(line.number, reason))

    def _count_branches(self, tree: Tree, path: list[Line]) -> None:
        used = {line.number for line in path}
        off = sum(line.number not in used for line in tree.talk)
        self._out.left_out["messages on branches that were given up (rewinds) were left out"] += off
        self._out.left_out["links to missing records were mended by file order"] += tree.mended
        self._out.left_out["lines held bytes that are not UTF-8, shown as U+FFFD"] += self._lines.replaced

    @staticmethod
    def _notes(tree: Tree) -> list[str]:
        if not tree.aside:
            return []
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(tree.aside.items()))
        return [f"Records that are no messages: {kinds}."]


def _answer_key(line: Line, part: int) -> str:
    message_id = record_text(message_of(line.data), "id")
    if not message_id or line.data.get("isApiErrorMessage") is True:
        return f"line {line.number}"
    return f"{part} {message_id}"


def _outcome(block: Json, content: Any) -> ToolOutcome:
    if not block.get("is_error"):
        return "success"
    text = messages.plain_text(content)
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
