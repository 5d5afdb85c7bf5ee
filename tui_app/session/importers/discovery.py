"""The transcripts of other programs on this machine, newest first, with what a list shows of each."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tui_app.records import frozen
from tui_app.session.importers.formats import TABLE, Format
from tui_app.session.importers.places import Transcript
from tui_app.session.importers.reader import (
    PLACEHOLDER,
    block_list,
    given_title,
    objects_at,
    one_line,
    record_text,
    seconds,
    value_at,
    wanted,
)
from tui_app.session.importers.shapes import Shape, beginning
from tui_app.session.importers.source import (
    MAX_DEPTH,
    ImportFormatError,
    Json,
    Source,
    closed,
    open_regular,
    parse_json,
)

# A glance at the beginning of a transcript: its title and its folder, without reading all of it.

_BYTES = (65_536, 1_048_576)
"""How much of a file is read, and how much when no title stands there."""
_MAX_TITLE = 120
"""Characters of a title: long prompts often differ in what stands behind their first line."""
_INNER = ("message", "payload", "data", "info")
"""Keys under which records keep what was said."""


@frozen
class Glance:
    """What the beginning of a file says."""

    title: str = ""
    cwd: str = ""
    is_part: bool = False
    """Whether it is a sub-agent's session, which belongs to another."""


def glance(path: Path, shape: Shape | None = None) -> Glance:
    """Look at the beginning of a file.

    Args:
        path: The file.
        shape: Of a format that is a map of names.

    Raises:
        ImportFormatError: if it is no file but a pipe or a device.
        OSError: if it cannot be read.
    """
    seen = Glance()
    for size in _BYTES:
        with open_regular(path) as file:
            raw = file.read(size)
        if shape is not None:
            title, prompt, cwd = beginning(shape, Source(path=path, raw=raw, mtime=0.0))
            seen = Glance(one_line(title or prompt, _MAX_TITLE), cwd)
            if title or len(raw) < size:
                break
            continue
        text = raw.decode("utf-8", "replace")
        title = prompt = cwd = ""
        is_part = False
        for record in _records(text):
            cwd = cwd or _first(record, ("cwd", "directory"))
            title = title or _first(record, ("title", "customTitle", "name"))
            prompt = prompt or _prompt(record)
            is_part = is_part or bool(record_text(record, "parentID"))
            if cwd and (title or prompt):
                break
        asked = (line.removeprefix("#### ") for line in text.split("\n") if line.startswith("#### "))
        said = title or prompt or next(asked, "")
        seen = Glance(one_line(said, _MAX_TITLE), cwd, is_part)
        if seen.title or seen.is_part or len(raw) < size:
            break
    return seen


def _records(text: str) -> Iterator[Json]:
    """The objects at the beginning of the file: its lines, or the messages of the document it is."""
    found = False
    for line in text.split("\n"):
        value = _parsed(line) if line.startswith("{") else None
        if isinstance(value, dict):
            found = True
            yield from _with_messages(value)
    document = None if found else _parsed(text) or _parsed(closed(text, MAX_DEPTH).text)
    if isinstance(document, dict):
        yield from _with_messages(document)


def _with_messages(record: Json) -> Iterator[Json]:
    yield record
    yield from objects_at(record, "messages")


def _parsed(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return None


def _inner(record: Json) -> list[Json]:
    inner = [record.get(key) for key in _INNER]
    deeper = [each.get("context") for each in inner if isinstance(each, dict)]
    return [record, *(each for each in (*inner, *deeper) if isinstance(each, dict))]


def _first(record: Json, keys: tuple[str, ...]) -> str:
    if keys[0] == "title" and record.get("type") not in (None, "custom-title", "session_info"):
        return ""
    found = (record_text(each, key) for each in _inner(record) for key in keys)
    return next((text for text in found if text and not PLACEHOLDER.fullmatch(text)), "")


def _prompt(record: Json) -> str:
    """What the user said in a record; empty when it is not the user's, or a note of the program."""
    if record.get("isMeta") is True or record.get("isSidechain") is True:
        return ""
    kind = record_text(record, "type")
    for each in _inner(record):
        if "user" in (each.get("role"), kind.partition(".")[0]) and "content" in each:
            blocks = block_list(each["content"])
            texts = [record_text(block, "text") for block in blocks if isinstance(block, dict)]
            if said := wanted("\n".join(filter(None, texts))):
                return " ".join(said.split())
    return ""


@frozen(kw_only=True)
class LocalTranscript:
    """One transcript that can be imported."""

    path: Path
    """What to import; see :class:`tui_app.session.importers.places.Transcript`."""
    program: str
    """Name of the format it is expected to be in."""
    title: str
    """Of the program, else the first prompt; empty when neither stands near its beginning."""
    cwd: str
    time: float
    """When it was last written, in seconds since the epoch."""
    size: int
    """Bytes; 0 for a session in a database."""


def find_transcripts(
    env: Mapping[str, str], *, home: Path, cwd: Path, go_on: Callable[[], bool] = lambda: True
) -> list[LocalTranscript]:
    """Look in the places where the programs keep them. Blocks: it reads the beginning of every file.

    Args:
        env: The environment; the programs' own variables move the places.
        home: The user's home folder.
        cwd: The current folder, for programs that write into the project.
        go_on: Asked between two files; the search ends when it says no.
    """
    found: list[LocalTranscript] = []
    for format, place in ((each, place) for each in TABLE for place in each.places):
        try:
            for each in place(env, home, cwd):
                if not go_on():
                    return []
                found += _looked_into(format, each)
        except OSError:
            # A folder that may not be read hides what is in it, and nothing else.
            continue
    return sorted(found, key=lambda each: (-each.time, str(each.path)))


def _looked_into(format: Format, found: Transcript) -> list[LocalTranscript]:
    program = found.program or format.name
    if found.info is not None:
        return [
            LocalTranscript(
                path=found.path,
                program=program,
                title=given_title(record_text(found.info, "title")),
                cwd=record_text(found.info, "directory"),
                time=seconds(value_at(found.info, "time.updated"), 0.0),
                size=0,
            )
        ]
    try:
        status = found.path.stat()
        seen = glance(found.path, format.shape)
    except (OSError, ImportFormatError):
        return []
    if seen.is_part:
        return []
    return [
        LocalTranscript(
            path=found.path,
            program=program,
            title=seen.title,
            cwd=seen.cwd,
            time=status.st_mtime,
            size=status.st_size,
        )
    ]
