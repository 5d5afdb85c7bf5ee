"""Calls that write to files: which of their arguments hold text that is in the file afterwards.

A table of the names that the tools of common agents have, so that imported sessions are served too.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from posixpath import normpath
from typing import Any, Literal

from pydantic_ai.messages import ToolCallPart
from pydantic_core import from_json, to_json

from tui_app.context.fact_extractors.files import target_of

BodyKind = Literal["file", "piece"]
"""A whole file, or a piece put into one. A patch counts as a piece, which no file holds as it stands."""
Place = tuple[str | int, ...]
"""Where in a call's arguments a text stands: names and indices, outermost first."""

_FILE_NAMES = ("content", "contents", "file_text")
_PIECE_NAMES = (
    "new_text", "new_string", "new_str", "newText", "newString", "insert_text", "replacement",
)  # fmt: skip
_PATCH_NAMES = ("patch", "input", "patch_text", "patchText", "diff")
_EDIT_LISTS = ("edits",)
_WRITES = frozenset({"write_file", "create_file", "write", "create", "write_to_file"})
_EDITS = frozenset(
    {"edit_file", "edit", "multiedit", "multi_edit", "str_replace", "search_replace", "replace"}
)
_EDITORS = frozenset({"str_replace_editor", "str_replace_based_edit_tool"})
_PATCHES = frozenset({"apply_patch", "applypatch"})
_PATCHED = re.compile(r"(?m)^\*\*\* (?:Add|Update) File: (.{1,500}?)\s*$|^\+\+\+ (?:b/)?([^\t\n]{1,500})")


@dataclass(frozen=True, slots=True)
class Body:
    """One text of a call."""

    place: Place
    text: str
    kind: BodyKind


@dataclass(frozen=True, slots=True)
class FileCall:
    """A call that writes to files."""

    args: Mapping[str, Any]
    paths: tuple[str, ...]
    """As the call names them; more than one only for a patch."""
    bodies: tuple[Body, ...]

    @property
    def targets(self) -> frozenset[str]:
        """The paths in a form that can be compared."""
        return frozenset(normpath(path.replace("\\", "/")) for path in self.paths)


def file_call(part: ToolCallPart) -> FileCall | None:
    """Read a call; None when it writes to no file, or its arguments are broken."""
    name = part.tool_name.rsplit("__", 1)[-1].lower()
    if name not in _WRITES | _EDITS | _EDITORS | _PATCHES:
        return None
    args = _arguments(part)
    if args is None:
        return None
    bodies = tuple(_bodies(name, args))
    if name in _PATCHES:
        paths = tuple(dict.fromkeys(path for body in bodies for path in _patched(body.text)))
    else:
        paths = tuple(filter(None, (target_of(args),)))
    return FileCall(args, paths, bodies) if paths else None


def with_texts(part: ToolCallPart, call: FileCall, texts: Mapping[Place, str]) -> str | dict[str, Any] | None:
    """The arguments with other texts, of the type they had; None when they cannot be written as JSON."""
    changed: dict[str, Any] = dict(call.args)
    for place, text in texts.items():
        changed = _replaced(changed, place, text)
    if not isinstance(part.args, str):
        return changed
    try:
        return to_json(changed).decode()
    except ValueError:
        return None


def _arguments(part: ToolCallPart) -> Mapping[str, Any] | None:
    if not isinstance(part.args, str):
        return part.args
    try:
        args = from_json(part.args)
    except ValueError:
        return None
    return args if isinstance(args, dict) else None


def _bodies(name: str, args: Mapping[str, Any]) -> Iterator[Body]:
    if name in _PATCHES:
        yield from _texts(args, _PATCH_NAMES, "piece")
        return
    if name in _WRITES or (name in _EDITORS and args.get("command") == "create"):
        yield from _texts(args, _FILE_NAMES, "file")
        return
    yield from _texts(args, _PIECE_NAMES, "piece")
    for edits in _EDIT_LISTS:
        edit_list = args.get(edits)
        for index, edit in enumerate(edit_list if isinstance(edit_list, list) else ()):
            if isinstance(edit, Mapping):
                for body in _texts(edit, _PIECE_NAMES, "piece"):
                    yield Body((edits, index, *body.place), body.text, body.kind)


def _texts(args: Mapping[str, Any], names: tuple[str, ...], kind: BodyKind) -> Iterator[Body]:
    for name in names:
        text = args.get(name)
        if isinstance(text, str):
            yield Body((name,), text, kind)


def _patched(patch: str) -> Iterator[str]:
    for match in _PATCHED.finditer(patch):
        yield (match[1] or match[2]).strip()


def _replaced(value: Any, place: Place, text: str) -> Any:
    """A copy of nested arguments with one text changed; what is not on the way stays the same object."""
    if not place:
        return text
    step, rest = place[0], place[1:]
    copy: Any = dict(value) if isinstance(value, Mapping) else list(value)
    copy[step] = _replaced(copy[step], rest, text)
    return copy
