"""Calls that write to files: which arguments contain the text of the file."""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from posixpath import normpath
from typing import Any, Literal

from pydantic_ai.messages import ToolCallPart
from pydantic_core import from_json, to_json

from tui_app.context.ledger.tools import FILE_ARGUMENTS, NEW_TEXT_ARGUMENTS, target_path
from tui_app.records import frozen
from tui_app.tool_specs import TOOLS, BodyKind

_BodyArgument = BodyKind | Literal["patch"]

_ARGUMENTS: Mapping[_BodyArgument, tuple[str, ...]] = {
    "file": FILE_ARGUMENTS,
    "piece": (*NEW_TEXT_ARGUMENTS, "insert_text"),
    "patch": ("patch", "input", "patch_text", "patchText", "diff"),
}

_EDIT_LIST = "edits"
"""Argument with several pieces for one file."""

_TOOLS: Mapping[str, _BodyArgument] = {
    **{spec.name: spec.body for spec in TOOLS.values() if spec.body is not None},
    **dict.fromkeys(("create_file", "write", "create", "write_to_file"), "file"),
    **dict.fromkeys(("edit", "multiedit", "multi_edit", "str_replace", "search_replace", "replace"), "piece"),
    **dict.fromkeys(("str_replace_editor", "str_replace_based_edit_tool"), "piece"),
    **dict.fromkeys(("apply_patch", "applypatch"), "patch"),
}

Place = tuple[str | int, ...]
"""Position of a text in a call's arguments: names and indices, outermost first."""

_PATCHED = re.compile(r"(?m)^\*\*\* (?:Add|Update) File: (.{1,500}?)\s*$|^\+\+\+ (?:b/)?([^\t\n]{1,500})")


@frozen
class Body:
    """One text of a call."""

    place: Place
    text: str
    kind: BodyKind


@frozen
class FileCall:
    """A call that writes to files."""

    args: Mapping[str, Any]
    paths: tuple[str, ...]
    """As named in the call; more than one only for a patch."""
    bodies: tuple[Body, ...]

    @property
    def targets(self) -> frozenset[str]:
        """The paths in a comparable form."""
        return frozenset(map(comparable, self.paths))


def comparable(path: str) -> str:
    return normpath(path.replace("\\", "/"))


def file_call(part: ToolCallPart) -> FileCall | None:
    """Parse a call; None if it writes to no file, or its arguments are broken."""
    try:
        args = from_json(part.args) if isinstance(part.args, str) else part.args
    except ValueError:
        return None
    kind = _TOOLS.get(part.tool_name.rsplit("__", 1)[-1].lower())
    if not isinstance(args, dict) or kind is None:
        return None
    if kind == "piece" and args.get("command") == "create":
        kind = "file"  # by an editor with several commands
    bodies = tuple(_bodies(kind, args))
    if kind == "patch":
        found = (match for body in bodies for match in _PATCHED.finditer(body.text))
        paths = tuple(dict.fromkeys((match[1] or match[2]).strip() for match in found))
    else:
        paths = tuple(filter(None, (target_path(args),)))
    return FileCall(args, paths, bodies) if paths else None


def _bodies(kind: _BodyArgument, args: Mapping[str, Any]) -> Iterator[Body]:
    places: list[tuple[Place, Any]] = [((), args)]
    if kind == "piece" and isinstance(edits := args.get(_EDIT_LIST), list):
        places += [
            ((_EDIT_LIST, index), edit) for index, edit in enumerate(edits) if isinstance(edit, Mapping)
        ]
    for place, values in places:
        for name in _ARGUMENTS[kind]:
            if isinstance(text := values.get(name), str):
                yield Body((*place, name), text, "file" if kind == "file" else "piece")


def with_texts(part: ToolCallPart, call: FileCall, texts: Mapping[Place, str]) -> str | dict[str, Any] | None:
    """Return the arguments with other texts, of the same type; None if they cannot be written as JSON."""
    changed: dict[str, Any] = deepcopy(dict(call.args))
    for (*outer, name), text in texts.items():
        inner: Any = changed
        for step in outer:
            inner = inner[step]
        inner[name] = text
    if not isinstance(part.args, str):
        return changed
    try:
        return to_json(changed).decode()
    except ValueError:
        return None
