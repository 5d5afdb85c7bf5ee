"""What the readers of foreign files share: the books, the clock, and the answer being put together."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tui_app.context.user_text import own_text
from tui_app.events import UserMessage
from tui_app.records import frozen
from tui_app.session.importers import event_builder as messages
from tui_app.session.importers.event_builder import Calls, Content, Timeline, ToolOutcome
from tui_app.session.importers.source import (
    Found,
    Imported,
    ImportedEvent,
    Json,
    Line,
    Source,
    shown,
)
from tui_app.session.user_view import is_interruption
from tui_app.text import without_sequences, words_of

# Small values out of foreign records, whatever type they turn out to have.

MAX_TITLE = 60
"""Characters of a title that is taken from the first prompt."""

PLACEHOLDER = re.compile(r"(New|Child) session - \d{4}-\d\d-\d\dT[\d:.]+Z?")
"""What OpenCode calls a conversation that it has not named yet."""
_BARE_COMMAND = re.compile(r"\s*/[\w:.-]+(\s+\S+){0,2}\s*")
"""A slash command with hardly a word behind it: it says what was to be run, not what was wanted."""
_ISSUE = re.compile(
    r"<(?:issue|pr)_description>\s*(?P<tagged>.{1,2000})"
    r"|^ISSUE:\s*(?P<plain>.{1,2000})"
    r"|The description is:\s*(?P<challenge>.{1,2000})",
    re.DOTALL | re.MULTILINE,
)
"""Where a harness for benchmarks puts the task, behind its own words about the workspace."""
_LOOKED_AT = 20_000
"""Characters of a prompt in which that is looked for."""
_LATEST = 253_402_300_799.0
_MILLISECONDS_FROM = 1e11
_MAX_COUNT = 2**53
_PIECE = 1_024
"""Characters of a line that are cleaned at a time."""


def count(value: Any) -> int:
    """A count of tokens; 0 for everything that is none."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MAX_COUNT:
        return 0
    return value


def seconds(value: Any, fallback: float) -> float:
    """A time as seconds since the epoch, from ISO 8601 text, seconds or milliseconds; else the fallback."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return fallback
        # A time without a zone is taken as UTC: the reader's own zone would make imports differ by machine.
        return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return fallback
    number = float(value / 1000 if value > _MILLISECONDS_FROM else value)
    return number if 0 <= number <= _LATEST else fallback


def one_line(text: str, limit: int = MAX_TITLE) -> str:
    """The first line of a text, ``limit`` characters at most, without terminal and control sequences."""
    # Line by line, and of each no more than is shown: one may hold all of a file.
    cleaned = (_beginning(line, limit) for line in text.splitlines())
    line = next(filter(None, cleaned), "")
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def _beginning(line: str, limit: int) -> str:
    """A line without what drives a terminal and runs of blanks; it ends once it is longer than the limit."""
    clean = ""
    for at in range(0, len(line), _PIECE):
        piece = "".join(c if c.isprintable() else " " for c in without_sequences(line[at : at + _PIECE]))
        joined = clean + piece
        clean = " ".join(joined.split())
        if len(clean) > limit:
            break
        if clean and joined[-1].isspace():
            clean += " "
    return clean.rstrip()


def title_of(events: Sequence[ImportedEvent]) -> str:
    """A title from the first prompt that says what was wanted; where none does, from a slash command."""
    texts = [event.data.text for event in events if isinstance(event.data, UserMessage)]
    commands = (text for text in texts if not is_interruption(text) and not text.startswith("<"))
    title = next(filter(None, map(wanted, texts)), "")[:_LOOKED_AT].lstrip("#").lstrip()
    first, _, rest = title.partition("\n")
    if first.rstrip().endswith(":"):
        # What a first line only announces stands behind it.
        told = rest.lstrip("# \r\n")
        title = f"{first.strip()} {told}"
    return words_of(one_line(title or next(filter(None, commands), "")))


def given_title(text: str) -> str:
    """The title that a program gave, as one line; empty for one that only says when it began."""
    return "" if PLACEHOLDER.fullmatch(text.strip()) else one_line(text)


def wanted(prompt: str) -> str:
    """What the user wanted with a prompt; empty for bare commands, marks and what a program wrote."""
    if task := _ISSUE.search(prompt[:_LOOKED_AT]):
        return str(next(filter(None, task.groups())))
    said = own_text(prompt).strip()
    told = is_interruption(said) or said.startswith("<") or _BARE_COMMAND.fullmatch(said)
    # A number or a yes by its first letter answers a question that a title does not show.
    return said if not told and any(map(str.isalpha, said)) else ""


def record_text(record: Json, key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def value_at(record: Any, path: str) -> Any:
    """What stands in a record under keys with points between; None when it is not there."""
    for key in path.split("."):
        record = record.get(key) if isinstance(record, dict) else None
    return record


def text_at(record: Any, *paths: str) -> str:
    """The first text that is not empty under one of the paths; else an empty one."""
    found = (value_at(record, path) for path in paths)
    return next((value for value in found if isinstance(value, str) and value), "")


def object_at(record: Any, path: str) -> Json:
    """The object under a path; an empty one when there is none."""
    value = value_at(record, path)
    return value if isinstance(value, dict) else {}


def list_at(record: Any, path: str) -> list[Any]:
    """The list under a path; an empty one when there is none."""
    value = value_at(record, path)
    return value if isinstance(value, list) else []


def objects_at(record: Any, path: str) -> list[Json]:
    return [item for item in list_at(record, path) if isinstance(item, dict)]


def has_items(record: Json, path: str, *keys: str) -> bool:
    """Whether a list has objects with one of the keys."""
    return any(key in item for item in objects_at(record, path) for key in keys)


def has_blocks(message: Json, *kinds: str) -> bool:
    """Whether the content of a message, or of one inside of it, has blocks of such types."""
    content = message.get("content", value_at(message, "message.content"))
    return any(value_at(block, "type") in kinds for block in block_list(content))


# Content blocks of other programs as pydantic-ai content: texts, and small files as binary parts.

MAX_BINARY_CHARS = 2_000_000
"""Base64 characters of an image or document that is still taken over (about 1.5 MB of data)."""

_DATA_URL = re.compile(r"data:(?P<media>[\w.+-]+/[\w.+-]+);base64,(?P<data>.*)", re.DOTALL)
_MEDIA_TYPE = re.compile(r"(image|audio|video|application|text)/[\w.+-]{1,80}")
_TEXT_TYPES = ("text", "input_text", "output_text", "refusal")


@frozen
class ContentReader:
    """Turns the blocks of one message into content.

    A block that cannot be taken over leaves a line of text in its place, so that neither the user nor
    the model misses that something was there.
    """

    left_out: Callable[[str], None]
    """Told why a block was replaced or dropped."""

    def read(self, content: Any) -> Content:
        """Read text or a list of blocks; text alone comes back as one string or a list of them."""
        if content is None:
            return ""
        if isinstance(content, str):
            return content
        if not isinstance(content, list):
            return json.dumps(content, ensure_ascii=False)
        items = [item for item in map(self._item, content) if item != ""]
        if len(items) == 1 and isinstance(items[0], str):
            return items[0]
        return items or ""

    def _item(self, block: Any) -> str | Json:
        if isinstance(block, str):
            return block
        if not isinstance(block, dict):
            self.left_out(f"content block that is not an object: {shown(block)}")
            return ""
        kind = block.get("type")
        if kind in _TEXT_TYPES:
            text = block.get("text", block.get("refusal"))
            if isinstance(text, str):
                return text
            self.left_out(f"text block without text: {shown(text)}")
            return ""
        if kind in ("image", "document"):
            return self._source(block, str(kind))
        if kind in ("image_url", "input_image"):
            return self._url(block.get("image_url"), "image")
        if kind == "input_audio":
            value = block.get("input_audio")
            if not isinstance(value, dict):
                return self._missing("audio", "it has no data")
            media = {"mp3": "audio/mpeg"}.get(str(value.get("format")), f"audio/{value.get('format')}")
            return self._binary(media, value.get("data"), "audio")
        if kind == "file":
            inner = block.get("file")
            return self._url(inner.get("file_data") if isinstance(inner, dict) else None, "file")
        self.left_out(f"content block of unknown type {shown(kind)}")
        return json.dumps(block, ensure_ascii=False) if len(block) > 1 else ""

    def _source(self, block: Json, kind: str) -> str | Json:
        source = block.get("source")
        if not isinstance(source, dict) and "mimeType" in block:
            return self._binary(block["mimeType"], block.get("data"), kind)
        if not isinstance(source, dict):
            return self._missing(kind, "it has no data")
        if source.get("type") == "text" and isinstance(source.get("data"), str):
            return str(source["data"])
        if source.get("type") == "url":
            return self._url(source.get("url"), kind)
        return self._binary(source.get("media_type"), source.get("data"), kind)

    def _url(self, value: Any, kind: str) -> str | Json:
        url = value.get("url") if isinstance(value, dict) else value
        if not isinstance(url, str):
            return self._missing(kind, "it has no address")
        if match := _DATA_URL.fullmatch(url):
            return self._binary(match["media"], match["data"], kind)
        # A foreign file must not make the program, or a provider on its behalf, fetch an address.
        self.left_out(f"{kind} by address, kept as text")
        return f"[{kind}: {url}]"

    def _binary(self, media_type: Any, data: Any, kind: str) -> str | Json:
        if not isinstance(data, str) or not isinstance(media_type, str):
            return self._missing(kind, "it has no data")
        if not _MEDIA_TYPE.fullmatch(media_type):
            return self._missing(kind, "its media type is malformed")
        if len(data) > MAX_BINARY_CHARS:
            return self._missing(kind, f"it is {len(data) * 3 // 4:,} bytes large")
        try:
            decoded = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return self._missing(kind, "its data is not base64")
        # Written anew: pydantic-ai is stricter about the last character than most who write base64.
        canonical = base64.b64encode(decoded).decode()
        return {"kind": "binary", "data": canonical, "media_type": media_type}

    def _missing(self, kind: str, reason: str) -> str:
        self.left_out(f"{kind} left out: {reason}")
        return f"[{kind}, not imported: {reason}]"


def joined(content: Content) -> Content:
    """Put texts that follow each other together: tools answer with one text, not with many."""
    if isinstance(content, str):
        return content
    if all(isinstance(item, str) for item in content):
        return "\n".join(item for item in content if isinstance(item, str))
    return content


def block_list(content: Any) -> list[Any]:
    """A message's content as blocks, whether it was written as text, as a list or not at all."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def of_type(blocks: Iterable[Any], kind: str) -> list[Json]:
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]


# One response of a model, put together piece by piece.


@dataclass
class Answer:
    """The parts of a response so far."""

    line: int
    """Where it begins in the file."""
    time: float
    """Seconds since the epoch."""
    model: str = ""
    parts: list[Json] = field(default_factory=list)
    usage: Json = field(default_factory=dict)
    finish: str = ""
    """In pydantic-ai's words (``stop``, ``length``, ``tool_call``, ...); empty when unknown."""
    state: str = "complete"
    """``interrupted`` when the user stopped it."""
    cost: float | None = None
    """US dollars, as the other program reported."""
    lines: set[int] = field(default_factory=set)
    """Further lines of the file that belong to it."""

    def text(self, value: Any) -> None:
        """Append what the model said; what is no text, or blank, adds nothing."""
        if isinstance(value, str) and value.strip():
            self.parts.append({"part_kind": "text", "content": value})

    def thinking(self, value: Any) -> None:
        if isinstance(value, str) and value.strip():
            self.parts.append({"part_kind": "thinking", "content": value})

    def call(self, calls: Calls, file_id: str, name: str, args: Any) -> str:
        """Append a tool call and return the id it has in the import."""
        call_id = calls.begin(file_id, name)
        self.parts.append(messages.call_part(call_id, name, arguments(args)))
        return call_id

    def message(self) -> Json:
        return {
            "kind": "response",
            "parts": self.parts,
            "timestamp": messages.iso(self.time),
            "model_name": self.model or None,
            "finish_reason": self.finish or None,
            "usage": self.usage,
            "state": self.state,
        }


def arguments(value: Any) -> Json | str:
    """Arguments of a call: an object, or text that a model wrote; anything else is put under ``input``."""
    if isinstance(value, dict | str):
        return value
    return {"input": value} if value is not None else {}


def usage(fresh: Any, output: Any, cache_read: Any = 0, cache_write: Any = 0) -> Json:
    """Tokens of one response.

    Args:
        fresh: Input that came from no cache; pydantic-ai's input tokens hold all of it.
        output: What the model wrote.
        cache_read: Input read from a cache.
        cache_write: Input written to a cache.
    """
    read, written = count(cache_read), count(cache_write)
    return {
        "input_tokens": count(fresh) + read + written,
        "cache_read_tokens": read,
        "cache_write_tokens": written,
        "output_tokens": count(output),
    }


_UNUSED = "nothing in it could be used"


class Reader:
    """Base of the readers: one reads one file into a timeline."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.out = Timeline()
        self.time = source.mtime
        """Of what is being read, in seconds since the epoch."""
        self.title = self.cwd = self.model = ""
        self.notes: list[str] = []
        self._answer: Answer | None = None

    def at(self, *values: Any) -> None:
        """Set the clock to the first of these that is a time."""
        for value in values:
            if (moment := seconds(value, -1.0)) >= 0:
                self.time = moment
                return

    def content(self, line: int) -> ContentReader:
        """Reads the blocks of a message; what it cannot use is reported for the line."""
        return ContentReader(lambda reason: self.out.skip(line, reason))

    def skip_message(self, number: int, reason: str) -> None:
        """Report something in a message of a file that is one list."""
        self.out.skip(number, f"message {number} of the list: {reason}")

    def numbered(self, found: Found) -> Iterable[tuple[int, Any]]:
        """The messages of a list with their places in it, those of a file of lines with their lines."""
        lines = self.source.lines
        if self.source.document is None:
            lists = {line.number for line in lines.lists}
            self.out.skipped.extend(each for each in lines.skipped if each.line not in lists)
            if found.messages is self.source.value:
                return [(line.number, line.data) for line in lines.values]
        return enumerate(found.messages, 1)

    def text(self, value: Any, line: int) -> str:
        return messages.plain_text(self.content(line).read(value))

    def answer(self, line: int) -> Answer:
        """The answer that the model is giving; a new one when it is not giving any."""
        if self._answer is None:
            self._answer = Answer(line, self.time, self.model)
        self._answer.lines.add(line)
        return self._answer

    def end_answer(self) -> bool:
        """The answer is whole: it becomes an event. Return whether there was one."""
        answer, self._answer = self._answer, None
        if answer is None:
            return False
        if not answer.parts:
            for line in sorted(answer.lines):
                self.out.leave(line, "answers without any content were left out")
            return False
        if self.out.response(answer.message(), answer.time, answer.line, cost=answer.cost):
            self.out.places |= answer.lines
            self.model = answer.model or self.model
            return True
        return False

    def say(self, content: Any, line: int, beside: Sequence[str] = ()) -> None:
        """The user said something; the model read ``beside`` with it, which nobody typed."""
        self.end_answer()
        self.out.user(self.content(line).read(content), self.time, line, beside=beside)

    def result(self, file_id: str, content: Any, outcome: ToolOutcome, line: int) -> None:
        """A tool answered the call that has this id in the file."""
        self.end_answer()
        call = self.out.calls.finish(file_id)
        if call is None:
            self.out.skip(line, f"{self.out.calls.why_not(file_id)}: {shown(file_id)}")
            return
        self.out.result(call, joined(self.content(line).read(content)), outcome, self.time, line)

    def finish(self, numbers: Iterable[int]) -> Imported:
        """Close the books.

        Args:
            numbers: Every line, or place in a list, that was read: one that left no trace is reported.
        """
        self.end_answer()
        for number in numbers:
            if not self.out.knows(number):
                self.out.skip(number, _UNUSED)
        title = given_title(self.title) or title_of(self.out.events)
        return self.out.finish(title=title, cwd=self.cwd, model=self.model, notes=self.notes)


class LineReader(Reader):
    """Base of the readers of files that hold one JSON object a line."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.records = source.lines.records
        self.out.skipped.extend(source.lines.skipped)
        replaced = source.lines.replaced
        self.out.left_out["lines held bytes that are not UTF-8, shown as U+FFFD"] += replaced

    def close(self) -> Imported:
        """Close the books over all lines."""
        return self.finish(line.number for line in self.records)


# The branch of a tree of records that the last one stands on.


def branch(records: tuple[Line, ...], *, key: str, parent: str, report: Timeline) -> set[int]:
    """Line numbers on the way from the first record to the last one.

    Records without an id are no part of the tree and always count: headers, and all of an old file that is a
    list. A link to a record that is missing is mended by file order, so that what came before stays.

    Args:
        records: The records in file order.
        key: Name of the field with a record's id.
        parent: Name of the field with the id of the record before it.
        report: Told of ids that are used twice and links that had to be mended.
    """
    by_id: dict[str, int] = {}
    tree: list[Line] = []
    path = {line.number for line in records if not record_text(line.data, key) or parent not in line.data}
    for line in records:
        name = record_text(line.data, key)
        if not name or line.number in path:
            continue
        if name in by_id:
            report.skip(line.number, f"record id {shown(name)} was already used in this file")
            continue
        by_id[name] = len(tree)
        tree.append(line)
    place = len(tree) - 1
    while place >= 0 and tree[place].number not in path:
        path.add(tree[place].number)
        above = record_text(tree[place].data, parent)
        if not above:
            break
        if above in by_id and by_id[above] < place:
            place = by_id[above]
        else:
            report.left_out["links to missing records were repaired by file order"] += 1
            place -= 1
    return path
