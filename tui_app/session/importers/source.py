"""Reading a foreign file as JSON values, however damaged it is."""

import codecs
import gzip
import io
import json
import math
import re
import stat
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from tui_app.records import frozen
from tui_app.text import cut

Json = dict[str, Any]

MAX_DEPTH = 150
"""Maximum nesting: pydantic's JSON parser stops at 200 levels, and messages add some."""
_DATABASE = b"SQLite format 3\x00"
_KINDS = {
    stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
}  # fmt: skip
_BOM = codecs.BOM_UTF8
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ZSTD, _GZIP = b"\x28\xb5\x2f\xfd", b"\x1f\x8b"
_CHUNK = 65_536
_SMALL, _MAX_UNPACKED, _MAX_RATIO = 1_000_000, 1_000_000_000, 250
"""Bytes any compressed file may unpack to, the maximum for one, and the maximum ratio to its size."""
_MAX_TRIES = 1_000
"""Maximum number of places in a torn line to look for a whole record."""


class ImportFormatError(ValueError):
    """Raised for a file in none of the formats tried; the text is one sentence for the user."""


@frozen(kw_only=True)
class SkippedLine:
    """Something in the file that could not be used."""

    line: int
    """Line number from 1; in a file that is one JSON list, the place in it from 1."""
    reason: str


@frozen
class Lines:
    """A file read line by line."""

    records: tuple[tuple[int, Any], ...]
    """Objects and lists, each with its line number from 1."""
    skipped: tuple[SkippedLine, ...]
    replaced: int
    """Number of lines with bytes that are not UTF-8."""


@dataclass(frozen=True)
class Source:
    """A file's bytes, read once, as a JSON document or as lines."""

    path: Path
    raw: bytes
    mtime: float
    """Seconds since the epoch; used for times missing in the file."""
    part: str = ""
    """Id of a session in a file with several, as given after ``#``; empty for the newest."""

    @property
    def document(self) -> Any:
        """The file as one JSON value, as far as it is readable; None if it is not one."""
        return self._document[0]

    @cached_property
    def value(self) -> Any:
        """The document, or the list of values in a file of JSON lines."""
        if self.document is not None:
            return self.document
        return [data for _, data in self.lines.records] or None

    @property
    def cut(self) -> SkippedLine | None:
        """Where a file that is one JSON value breaks off, if it does."""
        return self._document[1]

    @property
    def is_database(self) -> bool:
        return self.raw.startswith(_DATABASE)

    @cached_property
    def _document(self) -> tuple[Any, SkippedLine | None]:
        text = self.raw.decode("utf-8", "replace")
        end, trouble = len(text), "cut off"
        try:
            return parse_json(text), None
        except json.JSONDecodeError as error:
            if text[error.pos :].strip() and not error.msg.startswith("Unterminated"):
                end, trouble = error.pos, "damaged"
        except ValueError:
            pass
        # A file with a whole record on a line is a file of lines, of which one may be damaged.
        whole = any(isinstance(data, dict) for _, data in self.lines.records)
        begun, length, is_deep = closed("" if whole else text[:end], MAX_DEPTH)
        trouble = "nested too deeply" if is_deep else trouble
        reason = f"the file is {trouble} here: {len(text) - length:,} characters could not be used"
        try:
            return parse_json(begun), SkippedLine(line=text.count("\n", 0, length) + 1, reason=reason)
        except ValueError:
            return None, None

    @cached_property
    def lines(self) -> Lines:
        """The file as JSON lines. Lines without an object or list are reported with their number."""
        # Only \n ends a record: splitlines() would also split at U+2028 and others inside of texts.
        chunks = self.raw.split(b"\n")
        records: list[tuple[int, Any]] = []
        torn: dict[int, tuple[str, str]] = {}
        replaced = 0
        for number, chunk in enumerate(chunks, 1):
            if not chunk.strip():
                continue
            text = chunk.decode("utf-8", "replace")
            value = _parse_or_reason(text, cut=number == len(chunks))
            if isinstance(value, str):
                torn[number] = text, value
            else:
                records.append((number, value))
            replaced += "\ufffd" in text and text.encode() != chunk
        skipped = [SkippedLine(line=number, reason=reason) for number, (_, reason) in torn.items()]
        known = [data for _, data in records if isinstance(data, dict)]
        keys = Counter(key for data in known for key in data)
        if usual := {key for key, uses in keys.items() if 2 * uses >= len(known)}:
            whole = [(number, each) for number, (text, _) in torn.items() for each in _whole(text, usual)]
            records = sorted([*records, *whole], key=lambda record: record[0])
        return Lines(tuple(records), tuple(skipped), replaced)


def read_source(path: Path) -> Source:
    """Read a file, one session of a database (``FILE#SESSION``), or a folder with a file per event.

    Raises:
        ImportFormatError: if it is a pipe or a device, which may never end, or another folder.
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
            # A database is queried instead: it may be far larger than the wanted session.
            raw += b"" if raw == _DATABASE else file.read()
    if raw.startswith(_UTF_16):
        # PowerShell writes redirected output as UTF-16.
        raw = raw.decode("utf-16", "replace").encode()
    return Source(path=path, raw=raw.removeprefix(_BOM), mtime=path.stat().st_mtime, part=part)


def _one_line(path: Path) -> bytes:
    """Return a file as one line. JSON has line breaks only between values."""
    with open_regular(path) as file:
        return file.read().removeprefix(_BOM).replace(b"\r", b" ").replace(b"\n", b" ")


def _whole(text: str, usual: set[str]) -> Iterator[Json]:
    """Find whole records on a line with a torn one, as a killed program leaves it.

    Args:
        text: The line.
        usual: Keys of most records of the file, to tell a record from an object inside one.
    """
    decoder = json.JSONDecoder()
    at, like = 0, len(usual) // 2 + 1
    try:
        decoder.decode(text)
    except json.JSONDecodeError as error:
        # Text after the error means that a record was torn there; otherwise the line may just be cut off.
        like = like if error.pos >= len(text.rstrip()) else 1
    except (ValueError, RecursionError):
        return
    for _ in range(_MAX_TRIES):
        if (at := text.find('{"', at)) < 0:
            return
        try:
            _, end = decoder.raw_decode(text, at)
            following = text[end : end + 2_000].lstrip()
            value = parse_json(text[at:end]) if not following or following.startswith('{"') else None
        except (ValueError, RecursionError):
            end, value = at + 1, None
        if isinstance(value, dict) and len(usual & value.keys()) >= like:
            yield value
        at = end


def beside_file(path: Path, name: str) -> Json:
    """Return the JSON object in a small file next to a transcript; empty if there is none."""
    try:
        with open_regular(path.with_name(name.format(stem=path.stem))) as file:
            value = parse_json(file.read(1_000_000).decode("utf-8", "replace"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading. A pipe may block forever, and a device never end.

    A compressed file is unpacked.

    Raises:
        ImportFormatError: if it is no regular file.
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
    file = path.open("rb")
    if not file.peek(len(_ZSTD)).startswith((_ZSTD, _GZIP)):
        return file
    with file:
        return io.BytesIO(unpacked(file.read()))


def unpacked(raw: bytes) -> bytes:
    """Unpack zstd or gzip, as far as it is readable."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    packed = io.BytesIO(raw)
    file = zstd.ZstdFile(packed) if raw.startswith(_ZSTD) else gzip.GzipFile(fileobj=packed)
    left = max(_SMALL, min(_MAX_UNPACKED, _MAX_RATIO * len(raw)))
    chunks: list[bytes] = []
    try:
        while chunk := file.read1(min(_CHUNK, left)):
            chunks.append(chunk)
            left -= len(chunk)
    except (EOFError, OSError, zlib.error, zstd.ZstdError):
        left = 0
    # The added line makes the importer report that the content is cut off.
    return b"".join(chunks) + b"\n{" * (left == 0)


def parse_json(text: str) -> Any:
    """Parse JSON so that the result can be written as strict UTF-8 JSON.

    Lone surrogates become U+FFFD, and numbers unknown to JSON (NaN, infinities) become text.

    Raises:
        ValueError: if it is not JSON, is nested too deeply or has a number with thousands of digits.
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
    """Quote a piece of the file for a message: escaped, at most 40 characters."""
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
    """Return a value, or the reason why there is none."""
    try:
        value = parse_json(text)
    except json.JSONDecodeError as error:
        if cut and text.lstrip().startswith("{"):
            return "the last line is cut off"
        return f"not JSON: {error.msg} at character {error.pos + 1}"
    except ValueError as error:
        return f"not readable as JSON: {error}"
    return value if isinstance(value, dict | list) else f"JSON, but not an object: {shown(value)}"


_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],"]', re.DOTALL)
_CLOSER = {"{": "}", "[": "]"}


def closed(text: str, depth: int) -> tuple[str, int, bool]:
    """Close all brackets that are open where the text breaks off or is nested too deeply.

    What follows the last comma or bracket is dropped, because it may be half a value.

    Args:
        text: The document.
        depth: Maximum number of open brackets.

    Returns:
        The document, how many characters of the original it has, and whether it was nested too deeply. It is
        empty
        if the text does not begin as a JSON list or object, or does not end inside of one.
    """
    if not text.lstrip().startswith(("{", "[")):
        return "", 0, False
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
            return "", 0, False
        cut = token.start() if mark == "," else token.end()
    # Joined once at the end: joining at every token would take quadratic time.
    closers = "".join(_CLOSER[mark] for mark in reversed(open_brackets))
    return (text[:cut] + closers if cut else ""), cut, deep
