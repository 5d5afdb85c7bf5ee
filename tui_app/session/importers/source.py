"""Reading a foreign file: bytes to JSON values, whatever is wrong with them."""

import json
import math
import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from tui_app.events import Payload
from tui_app.records import frozen
from tui_app.text import cut

# A JSON document whose end is missing, closed where its last whole value ends.

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],"]', re.DOTALL)
_CLOSER = {"{": "}", "[": "]"}


@frozen
class Closed:
    """The beginning of a document as a document of its own."""

    text: str = ""
    """Empty when there is none."""
    length: int = 0
    """Characters of the original that it holds."""
    deep: bool = False
    """Whether it ends where the original is nested too deeply, and not where that breaks off."""


def closed(text: str, depth: int) -> Closed:
    """Close the brackets that are open where the text breaks off, or where it is nested too deeply.

    What stands behind the last comma or bracket is dropped: it may be half a value.

    Args:
        text: The document.
        depth: Brackets that may be open at once.

    Returns:
        Nothing when the text does not begin as a JSON list or object, or does not end inside of one.
    """
    if not text.lstrip().startswith(("{", "[")):
        return Closed()
    open_brackets: list[str] = []
    cut, deep = 0, False
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if mark == '"':
            # The text breaks off inside of this string.
            break
        if mark.startswith('"'):
            continue
        if mark in _CLOSER:
            if deep := len(open_brackets) == depth:
                break
            open_brackets.append(mark)
        elif mark != "," and (not open_brackets or _CLOSER[open_brackets.pop()] != mark or not open_brackets):
            return Closed()
        cut = token.start() if mark == "," else token.end()
    # Joined once: at every token it would take the square of the depth.
    closers = "".join(_CLOSER[mark] for mark in reversed(open_brackets))
    return Closed(text[:cut] + closers, cut, deep) if cut else Closed()


# What an import hands over: events ready for the log, and an account of everything left out.


class ImportFormatError(ValueError):
    """The file is none of the formats that were tried; the text is one sentence for the user."""


@frozen(kw_only=True)
class ImportedEvent:
    """One event to append to the log."""

    data: Payload
    message: str | None
    """The pydantic-ai message as JSON text; None for events that are no message."""
    time: float
    """Seconds since the epoch, as the other program recorded it."""
    first_kept: "ImportedEvent | None" = None
    """Of a compaction: the first event before it that stayed in view beside the summary."""
    kept: "tuple[ImportedEvent, ...]" = ()
    """Of a compaction: further events before that one that stayed."""


@frozen(kw_only=True)
class SkippedLine:
    """Something in the file that could not be used."""

    line: int
    """Line number from 1; in a file that is one JSON list, the place in that list from 1."""
    reason: str


@frozen(kw_only=True)
class Imported:
    """A conversation of another program.

    The events are meant to be appended in order right after a ``session.start``, so the event at index
    ``i`` gets log number ``i + 2``; the ranges of imported compactions are written for these numbers.
    """

    format: str = ""
    """Name of the format, which the reader itself does not know."""
    title: str
    """One line; empty when the file suggests none."""
    cwd: str
    model: str
    """The model's name as written in the file, without a provider in front; empty when unknown."""
    events: tuple[ImportedEvent, ...]
    skipped: tuple[SkippedLine, ...]
    """In order of ``line``; one line may stand here more than once."""
    messages: int
    """Requests and responses of the session, the results of one response as one request; no summaries."""
    tool_calls: int
    tool_results: int
    """Results that the file holds; calls without one got one that says so, and a note counts them."""
    notes: tuple[str, ...]
    """Sentences about what was left out on purpose or changed."""
    places: frozenset[int] = frozenset()
    """Lines (or places in a list) that became an event or are counted in the notes."""
    branch: str = ""
    """The branch of the repository that it was held on; empty when the file does not say."""
    is_own: bool = False
    """Whether it is a session of this program: complete as it is, with nothing to count or take back."""


Json = dict[str, Any]

MAX_DEPTH = 150
"""Levels of nesting that are accepted: pydantic's JSON parser stops at 200, and messages add some."""

_DATABASE = b"SQLite format 3\x00"
_KINDS = {
    stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
}  # fmt: skip
_BOM = b"\xef\xbb\xbf"


@frozen
class Line:
    """One JSON object of a line-based file, or one item of a JSON list."""

    number: int
    """From 1."""
    data: Json


@frozen
class ListLine:
    """One JSON list of a line-based file."""

    number: int
    data: list[Any]


@frozen
class Lines:
    """A file read line by line."""

    records: tuple[Line, ...]
    skipped: tuple[SkippedLine, ...]
    replaced: int
    """Lines that held bytes that are not UTF-8."""
    lists: tuple[ListLine, ...]
    """Lines that hold a list; they are among the skipped ones, too."""

    @property
    def values(self) -> list[Line | ListLine]:
        """Objects and lists in the order of the file."""
        lines: list[Line | ListLine] = [*self.records, *self.lists]
        return sorted(lines, key=lambda line: line.number)


@dataclass(frozen=True)
class Source:
    """A file's bytes, read once, and the two ways to look at them."""

    path: Path
    raw: bytes
    mtime: float
    """Seconds since the epoch; stands in for times that the file does not give."""
    part: str = ""
    """Which session of a file that holds several, as written behind ``#``; empty for the newest."""

    @property
    def document(self) -> Any:
        """The whole file as one JSON value, as far as it goes; None when it is not one."""
        return self._document[0]

    @cached_property
    def value(self) -> Any:
        """The document; of a file that has an object or a list on each line, the list of them."""
        if self.document is not None:
            return self.document
        return [line.data for line in self.lines.values] or None

    @property
    def cut(self) -> SkippedLine | None:
        """Where a file that is one JSON value breaks off, if it does."""
        return self._document[1]

    @cached_property
    def _document(self) -> tuple[Any, SkippedLine | None]:
        text = self.raw.decode("utf-8", "replace")
        try:
            return parse_json(text), None
        except ValueError:
            pass
        # A file that has whole lines is a file of lines, and one of those may be damaged.
        whole = Closed() if self.lines.records else closed(text, MAX_DEPTH)
        if not whole.text:
            return None, None
        trouble = "nested too deeply" if whole.deep else "cut off"
        reason = f"the file is {trouble} here: {len(text) - whole.length:,} characters could not be used"
        try:
            line = text.count("\n", 0, whole.length) + 1
            return parse_json(whole.text), SkippedLine(line=line, reason=reason)
        except ValueError:
            return None, None

    @cached_property
    def lines(self) -> Lines:
        """The file as one JSON object a line; what is no object is listed with its line number."""
        # Only \n ends a record: splitlines() would also cut at U+2028 and friends inside of texts.
        chunks = self.raw.split(b"\n")
        records: list[Line] = []
        skipped: list[SkippedLine] = []
        lists: list[ListLine] = []
        replaced = 0
        for number, chunk in enumerate(chunks, 1):
            if not chunk.strip():
                continue
            text = chunk.decode("utf-8", "replace")
            value = _parse_or_reason(text, cut=number == len(chunks))
            if isinstance(value, list):
                lists.append(ListLine(number, value))
                value = f"JSON, but not an object: {shown(value)}"
            if isinstance(value, dict):
                records.append(Line(number, value))
                replaced += "\ufffd" in text and text.encode() != chunk
            else:
                skipped.append(SkippedLine(line=number, reason=str(value)))
        return Lines(tuple(records), tuple(skipped), replaced, tuple(lists))


def read_source(path: Path) -> Source:
    """Read a file, one session of a database (``FILE#SESSION``), or a folder with a file for each event.

    Raises:
        ImportFormatError: if it is no file but a pipe or a device, which may never end.
        OSError: if the file cannot be read.
    """
    part = ""
    if "#" in path.name and not path.exists():
        name, _, part = path.name.rpartition("#")
        path = path.with_name(name) if name else path
    inner = path if path.name == "events" else path / "events"
    if events := sorted(inner.glob("event-*.json")):
        base = inner.parent / "base_state.json"
        raw = b"\n".join(map(_one_line, [base, *events] if base.is_file() else events))
    else:
        with open_regular(path) as file:
            raw = file.read(len(_DATABASE))
            # A database is read by queries; it may be far larger than what is wanted of it.
            raw += b"" if raw == _DATABASE else file.read()
    return Source(path=path, raw=raw.removeprefix(_BOM), mtime=path.stat().st_mtime, part=part)


def _one_line(path: Path) -> bytes:
    """A file as one line: JSON has line breaks between values only."""
    with open_regular(path) as file:
        return file.read().removeprefix(_BOM).replace(b"\r", b" ").replace(b"\n", b" ")


def open_regular(path: Path) -> BinaryIO:
    """Open a file to read it, and nothing that looks like one: a pipe may wait for ever, a device never end.

    Raises:
        ImportFormatError: if it is something else.
        OSError: if it cannot be read.
    """
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise ImportFormatError(f"{path} is a folder. Name the transcripts in it, for example {path}/*.jsonl")
    if not stat.S_ISREG(mode):
        what = _KINDS.get(stat.S_IFMT(mode), "no file")
        raise ImportFormatError(
            f"{path} is {what}, and only files are read. Write what comes out of it to a file first."
        )
    return path.open("rb")


def is_database(raw: bytes) -> bool:
    return raw.startswith(_DATABASE)


def parse_json(text: str) -> Any:
    r"""Parse JSON so that the result can be written again as strict UTF-8 JSON.

    Half surrogate pairs become U+FFFD, and numbers that JSON does not know (NaN, infinities) become text.

    Raises:
        ValueError: if it is not JSON, is nested too deeply or holds a number with thousands of digits.
    """
    try:
        value = json.loads(
            text,
            parse_constant=str,
            parse_float=lambda text: float(text) if math.isfinite(float(text)) else text,
        )
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    _check_depth(value, MAX_DEPTH)
    return _mended(value) if "\\ud" in text or "\\uD" in text else value


def shown(value: object) -> str:
    """Quote a piece of the file for a message: escaped, and of 40 characters at most."""
    return cut(ascii(value), 40)


def _check_depth(value: Any, left: int) -> None:
    if not isinstance(value, dict | list):
        return
    if left == 0:
        raise ValueError("nested too deeply")
    for item in value.values() if isinstance(value, dict) else value:
        _check_depth(item, left - 1)


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    return value


def _parse_or_reason(text: str, *, cut: bool) -> Json | list[Any] | str:
    try:
        value = parse_json(text)
    except json.JSONDecodeError as error:
        if cut and text.lstrip().startswith("{"):
            return "the last line is cut off"
        return f"not JSON: {error.msg} at character {error.pos + 1}"
    except ValueError as error:
        return f"not readable as JSON: {error}"
    return value if isinstance(value, dict | list) else f"JSON, but not an object: {shown(value)}"


# Finding a list of messages inside of a JSON document.

ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_HOMES = (
    "messages", "traj", "request", "conversation", "chat", "body", "input", "data", "result", "values",
    "checkpoint", "channel_values",
)  # fmt: skip
"""Keys under which exports and request logs keep their messages, best first."""
_MADE = (*_HOMES, "output", "generations", "choices", "message")
"""Keys under which a run keeps what it made of its inputs."""
_MAX_DEPTH = 4


@frozen
class Found:
    """A list of messages inside a document."""

    messages: list[Any]
    owner: Json
    """What the objects around the list hold, the inner ones first; empty when there are none."""
    others: int = 0
    """Further conversations in the same file."""


def is_pydantic_message(item: Any) -> bool:
    return isinstance(item, dict) and item.get("kind") in ("request", "response") and "parts" in item


def is_role_message(item: Any) -> bool:
    """Whether it looks like a message of OpenAI's chat completions."""
    if not isinstance(item, dict) or item.get("role") not in ROLES:
        return False
    return "content" in item or "tool_calls" in item


def find_messages(
    value: Any,
    is_message: Callable[[Any], bool],
    owner: Json | None = None,
    depth: int = _MAX_DEPTH,
    homes: Sequence[str] = _HOMES,
) -> Found | None:
    """Look for a list that holds messages: the value itself, below the usual keys, in the items of a list."""
    owner = owner or {}
    if isinstance(value, list):
        if any(map(is_message, value)):
            return Found(value, owner)
        found = [find_messages(item, is_message, owner, depth - 1, homes) for item in value] if depth else []
        hits = [hit for hit in found if hit]
        return replace(hits[0], others=len(hits) - 1) if hits else None
    if homes is _MADE and is_message(value):
        return Found([value], owner)
    if not isinstance(value, dict) or not depth:
        return None
    owner = {**owner, **value}
    inner = (find_messages(value[key], is_message, owner, depth - 1, homes) for key in homes if key in value)
    return next(filter(None, inner), None) or _of_run(value, is_message, owner)


def _of_run(run: Json, is_message: Callable[[Any], bool], owner: Json) -> Found | None:
    """The messages of a traced run: what it was given, and what it made when that does not repeat it."""
    given = find_messages(run.get("inputs"), is_message, owner)
    made = find_messages(run.get("outputs"), is_message, owner, homes=_MADE)
    if given is None or made is None:
        return given or made
    repeated = made.messages[0] == given.messages[0]
    return made if repeated else replace(given, messages=[*given.messages, *made.messages])
