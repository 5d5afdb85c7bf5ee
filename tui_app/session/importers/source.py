"""Reading a foreign file: bytes to JSON values, whatever is wrong with them."""

import json
import math
import stat
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from tui_app.session.importers.cut_json import Closed, closed
from tui_app.session.importers.result import ImportFormatError, SkippedLine

Json = dict[str, Any]

MAX_DEPTH = 150
"""Levels of nesting that are accepted: pydantic's JSON parser stops at 200, and messages add some."""

_DATABASE = b"SQLite format 3\x00"
_KINDS = {
    stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
}  # fmt: skip
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """One JSON object of a line-based file, or one item of a JSON list."""

    number: int
    """From 1."""
    data: Json


@dataclass(frozen=True, slots=True)
class Lines:
    """A file read line by line."""

    records: tuple[Line, ...]
    skipped: tuple[SkippedLine, ...]
    replaced: int
    """Lines that held bytes that are not UTF-8."""


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
        return _read_lines(self.raw)


def read_source(path: Path) -> Source:
    """Read a file, or one session of a database: ``FILE#SESSION``.

    Raises:
        ImportFormatError: if it is no file but a pipe or a device, which may never end.
        OSError: if the file cannot be read.
    """
    part = ""
    if "#" in path.name and not path.exists():
        name, _, part = path.name.rpartition("#")
        path = path.with_name(name) if name else path
    with open_regular(path) as file:
        raw = file.read(len(_DATABASE))
        # A database is read by queries; it may be far larger than what is wanted of it.
        raw += b"" if raw == _DATABASE else file.read()
    return Source(path=path, raw=raw.removeprefix(_BOM), mtime=path.stat().st_mtime, part=part)


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
    """Whether bytes are the beginning of an SQLite file."""
    return raw.startswith(_DATABASE)


def parse_json(text: str) -> Any:
    r"""Parse JSON so that the result can be written again as strict UTF-8 JSON.

    Half surrogate pairs become U+FFFD, and numbers that JSON does not know (NaN, infinities) become text.

    Raises:
        ValueError: if it is not JSON, is nested too deeply or holds a number with thousands of digits.
    """
    try:
        value = json.loads(text, parse_constant=str, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    _check_depth(value, MAX_DEPTH)
    return _mended(value) if "\\ud" in text or "\\uD" in text else value


def shown(value: object, limit: int = 40) -> str:
    """Quote a piece of the file for a message: escaped, and of ``limit`` characters at most."""
    text = ascii(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _check_depth(value: Any, left: int) -> None:
    if not isinstance(value, dict | list):
        return
    if left == 0:
        raise ValueError("nested too deeply")
    for item in value.values() if isinstance(value, dict) else value:
        _check_depth(item, left - 1)


def _finite(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    return value


def _read_lines(raw: bytes) -> Lines:
    # Only \n ends a record: splitlines() would also cut at U+2028 and friends inside of texts.
    chunks = raw.split(b"\n")
    records: list[Line] = []
    skipped: list[SkippedLine] = []
    replaced = 0
    for number, chunk in enumerate(chunks, 1):
        if not chunk.strip():
            continue
        text = chunk.decode("utf-8", "replace")
        value = _parse_or_reason(text, cut=number == len(chunks))
        if isinstance(value, dict):
            records.append(Line(number, value))
            replaced += "\ufffd" in text and not _is_utf8(chunk)
        else:
            skipped.append(SkippedLine(line=number, reason=str(value)))
    return Lines(tuple(records), tuple(skipped), replaced)


def _parse_or_reason(text: str, *, cut: bool) -> Json | str:
    try:
        value = parse_json(text)
    except json.JSONDecodeError as error:
        if cut and text.lstrip().startswith("{"):
            return "the last line is cut off"
        return f"not JSON: {error.msg} at character {error.pos + 1}"
    except ValueError as error:
        return f"not readable as JSON: {error}"
    return value if isinstance(value, dict) else f"JSON, but not an object: {shown(value)}"


def _is_utf8(chunk: bytes) -> bool:
    try:
        chunk.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
