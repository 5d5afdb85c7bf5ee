"""A glance at the beginning of a transcript: its title and its folder, without reading all of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui_app.session.importers.content import block_list
from tui_app.session.importers.cut_json import closed
from tui_app.session.importers.fields import PLACEHOLDER, one_line, record_text, wanted
from tui_app.session.importers.source import MAX_DEPTH, Json, open_regular, parse_json

_BYTES = (65_536, 1_048_576)
"""How much of a file is read, and how much when no title stands there."""
_MAX_TITLE = 120
"""Characters of a title: long prompts often differ in what stands behind their first line."""
_INNER = ("message", "payload", "data", "info")
"""Keys under which records keep what was said."""


@dataclass(frozen=True, slots=True)
class Glance:
    """What the beginning of a file says."""

    title: str = ""
    cwd: str = ""
    is_part: bool = False
    """Whether it is a sub-agent's session, which belongs to another."""


def glance(path: Path) -> Glance:
    """Look at the beginning of a file.

    Raises:
        ImportFormatError: if it is no file but a pipe or a device.
        OSError: if it cannot be read.
    """
    seen = Glance()
    for size in _BYTES:
        with open_regular(path) as file:
            raw = file.read(size)
        seen = _looked_at(raw.decode("utf-8", "replace"))
        if seen.title or seen.is_part or len(raw) < size:
            break
    return seen


def _looked_at(text: str) -> Glance:
    title = prompt = cwd = ""
    is_part = False
    for record in _records(text):
        cwd = cwd or _first(record, ("cwd", "directory"))
        title = title or _first(record, ("title", "customTitle", "name"))
        prompt = prompt or _prompt(record)
        is_part = is_part or bool(record_text(record, "parentID"))
        if cwd and (title or prompt):
            break
    said = title or prompt or _markdown_prompt(text)
    return Glance(one_line(said, _MAX_TITLE), cwd, is_part)


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
    messages = record.get("messages")
    yield from (each for each in (messages if isinstance(messages, list) else []) if isinstance(each, dict))


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
    """What the person said in a record; empty when it is not the person's, or a note of the program."""
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


def _markdown_prompt(text: str) -> str:
    lines = (line for line in text.split("\n") if line.startswith("#### "))
    return next(lines, "").removeprefix("#### ")
