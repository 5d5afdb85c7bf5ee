"""Stage 5, pointers: text that a call has written to a file becomes a pointer to that file.

Before it, superseded: a read that a newer one or a write of the whole file has taken the place of becomes one
line, and thinking of earlier turns leaves.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cache, partial
from operator import attrgetter
from posixpath import normpath
from typing import Any, Literal

from pydantic_ai.messages import (
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_core import from_json, to_json

from tui_app.context.ledger.tools import (
    FILE_ARGUMENTS,
    NEW_TEXT_ARGUMENTS,
    FileUse,
    operations,
    target_path,
)
from tui_app.context.message_marks import mark_of
from tui_app.context.tool_results.results import (
    ResultForm,
    ResultPart,
    SpillNames,
    call_of,
    in_view_order,
    length_of,
    newest_answers,
    paired,
    recall,
    recalled,
    result_text,
    rewrite_results,
    sha256_of,
    source_of,
    turn_start,
)
from tui_app.context.view import Change, Item, Pair, Rewrite, SpillFile
from tui_app.records import frozen
from tui_app.tool_specs import TOOLS, BodyKind

# Calls that write to files: which of their arguments hold text that is in the file afterwards.

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
"""Where in a call's arguments a text stands: names and indices, outermost first."""

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
    """As the call names them; more than one only for a patch."""
    bodies: tuple[Body, ...]

    @property
    def targets(self) -> frozenset[str]:
        """The paths in a form that can be compared."""
        return frozenset(map(_comparable, self.paths))


def _comparable(path: str) -> str:
    return normpath(path.replace("\\", "/"))


def file_call(part: ToolCallPart) -> FileCall | None:
    """Read a call; None when it writes to no file, or its arguments are broken."""
    try:
        args = from_json(part.args) if isinstance(part.args, str) else part.args
    except ValueError:
        return None
    kind = _TOOLS.get(part.tool_name.rsplit("__", 1)[-1].lower())
    if not isinstance(args, dict) or kind is None:
        return None
    if kind == "piece" and args.get("command") == "create":
        kind = "file"  # by an editor of many commands
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
    """The arguments with other texts, of the type they had; None when they cannot be written as JSON."""
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


_OPENING = "[Not repeated here: "
_POINTER = re.compile(re.escape(_OPENING) + r"[\d,]+ characters .*…\]", re.DOTALL)
_HASH_DIGITS = 12
_PREVIEW_CHARS, _LEAST_BODY, _LONGEST_REPORT = 100, 400, 500
"""Characters: what a pointer shows of a body, the shortest body that becomes one, and the longest report of a
call that stays."""


_Holds = Callable[[str, Body, str], bool]
"""Whether a file is now that body, of this checksum, or has the piece in it."""


def _pointer(
    body: Body, path: str, holds: _Holds, new_name: Callable[[], str]
) -> tuple[str, SpillFile | None]:
    """The note that replaces a body, and the file to write first where it is on disk nowhere else.

    Args:
        body: A text of a call.
        path: The file it was written to.
        holds: Whether it is still there.
        new_name: Names a file for a body that is not there any more.
    """
    digest, file, where = sha256_of(body.text), None, f"in {path}"
    if not holds(path, body, digest):
        file = SpillFile(name=new_name(), text=body.text)
        where = f"written to {path} and kept in {file.name}"
    about = f"{len(body.text):,} characters {where}, sha256 {digest[:_HASH_DIGITS]}"
    return f"{_OPENING}{about}, beginning with: {body.text[:_PREVIEW_CHARS]}…]", file


_REPORT_OPENING = "[Report left out: "


@frozen
class _Write:
    """A successful call that wrote to a file."""

    index: int
    """Index of the message that calls."""
    part: ToolCallPart
    call: FileCall
    result: ToolReturnPart


def pointers(
    items: Sequence[Item],
    names: SpillNames,
    *,
    on_disk: Callable[[str], str | None],
    contains: Callable[[str, str], bool],
    handles: bool = True,
) -> Rewrite | None:
    """Point to files instead of repeating what was written to them.

    A body that is not in its file any more goes to a file of its own first. In the present turn the newest
    write to each file stays whole.

    Args:
        items: The view.
        names: Gives names to the files for bodies that are not on disk any more.
        on_disk: SHA-256 of a file's content as it is now, in hexadecimal; None when there is no such file.
        contains: Whether a file holds a text as it is now; asked only for files that exist.
        handles: Whether the model has a tool that brings a message back by its handle.

    Returns:
        The smaller forms and files, or None when nothing can be pointed to.
    """
    found: list[_Write] = []
    for pair in paired(items):
        result = pair.part
        if isinstance(result, ToolReturnPart) and result.outcome == "success":
            part = call_of(items, pair)
            if call := file_call(part):
                found.append(_Write(pair.call, part, call, result))
    found.sort(key=attrgetter("index"))
    start = turn_start(items)
    newest = {target: write for write in found if write.index >= start for target in write.call.targets}
    kept = {id(write.part) for write in newest.values()}
    writes = [write for write in found if id(write.part) not in kept]
    checksum = cache(on_disk)

    def holds(path: str, body: Body, digest: str) -> bool:
        if (found := checksum(path)) is None:
            return False
        return found.lower() == digest if body.kind == "file" else contains(path, body.text)

    calls, files = _point_calls(items, writes, holds, names)
    reports = _shorten_reports(items, writes, handles=handles)
    changes = in_view_order(items, (*calls, *reports))
    return Rewrite(stage="pointers", changes=changes, files=files) if changes else None


def _point_calls(
    items: Sequence[Item], writes: Sequence[_Write], holds: _Holds, names: SpillNames
) -> tuple[list[Change], tuple[SpillFile, ...]]:
    """New forms of the answers that made the calls, and files for bodies that are nowhere else."""
    parts: dict[int, ToolCallPart] = {}
    paths: dict[int, list[str]] = {}
    files: list[SpillFile] = []
    for write in writes:
        new_name = partial(names.new, write.part.tool_name, write.part.tool_call_id)
        path, texts, new_files = write.call.paths[0], dict[Place, str](), list[SpillFile]()
        for body in write.call.bodies:
            if len(body.text) >= _LEAST_BODY and not _POINTER.fullmatch(body.text):
                text, file = _pointer(body, path, holds, new_name)
                if len(text) < len(body.text):
                    texts[body.place] = text
                    new_files += [file] if file is not None else []
        args = with_texts(write.part, write.call, texts) if texts else None
        if args is not None:
            parts[id(write.part)] = replace(write.part, args=args)
            paths.setdefault(write.index, []).append(path)
            files += new_files
    changes: list[Change] = []
    for index, named in paths.items():
        message = items[index].message
        if isinstance(message, ModelResponse):
            message = replace(message, parts=[parts.get(id(part), part) for part in message.parts])
        changes.append(Change(key=items[index].key, message=message, note="; ".join(dict.fromkeys(named))))
    return changes, tuple(files)


def _shorten_reports(items: Sequence[Item], writes: Sequence[_Write], *, handles: bool) -> tuple[Change, ...]:
    """Notes in place of what such calls have reported at length, a diff for example."""
    paths = {id(write.result): write.call.paths[0] for write in writes}

    def decide(item: Item, part: ResultPart, text: str) -> ResultForm | None:
        done = "pointers" in mark_of(part).get("stages", [])
        if done or (path := paths.get(id(part))) is None or len(text) <= _LONGEST_REPORT:
            return None
        size, back = length_of(part, text), recall(item.key, handles=handles)
        told = f"{source_of(part)[0]} succeeded on {path}; {size:,} characters{back}"
        return ResultForm(text=f"{_REPORT_OPENING}{told}]", note=path)

    rewrite = rewrite_results("pointers", items, decide)
    return rewrite.changes if rewrite is not None else ()


# What something newer has superseded: reads of files that were read or written again, and old thinking.

_SUPERSEDED = "[Superseded: "
_NUMBERED = re.compile(r"[ ]{0,12}(\d{1,9})(?:\t|→|: )")
"""The number that a line of a file is shown with."""
_COMPARED = 64
"""The newest whole reads of a file with which an older one is compared."""
_EDGE_LINES = 3
"""Lines at either end of a result among which the first and the last number are looked for."""


@frozen
class _Read:
    """A successful call that read a file."""

    index: int
    """Index of the message that calls."""
    result: ToolReturnPart
    args: Mapping[str, Any]
    """Without the path."""
    lines: tuple[int, int] | None
    """The first and the last line that it shows; None where they have no numbers."""

    def covers(self, earlier: "_Read") -> bool:
        """Whether all lines that an earlier read of the same file shows are seen here."""
        mine, other = self.lines, earlier.lines
        if self.args == earlier.args or mine is None or other is None:
            return not self.args or self.args == earlier.args
        return mine[0] <= other[0] and other[1] <= mine[1]


def superseded(items: Sequence[Item], *, handles: bool = True) -> Rewrite | None:
    """Leave out reads that something newer has taken the place of, and thinking of earlier turns.

    The newest read of a file always stays, and so do what the model has not answered yet and what it has
    brought back in the present turn. Thinking leaves without a word: in an answer's own words anything in its
    place would be taken for a way to speak.

    Args:
        items: The view.
        handles: Whether the model has a tool that brings a message back by its handle.

    Returns:
        The smaller forms, or None when everything is still of use.
    """
    found = paired(items)
    stays = recalled(items, found) | newest_answers(items, found)
    reads, writes = _reads_and_writes(items, found)
    left: dict[int, str] = {}
    for path, (*older, newest) in reads.items():
        # What a shortened read showed is not seen any more, so it takes no other's place.
        whole = [] if mark_of(newest.result) else [newest]
        written = writes.get(path, -1)
        for read in reversed(older):
            marked = mark_of(read.result)
            if id(read.result) not in stays and "superseded" not in marked.get("stages", ()):
                if any(newer.covers(read) for newer in whole[:_COMPARED]):
                    left[id(read.result)] = f"{path} was read again"
                elif written > read.index:
                    left[id(read.result)] = f"{path} was written anew"
            if not marked:
                whole.append(read)

    def decide(item: Item, part: ResultPart, text: str) -> ResultForm | None:
        if (why := left.get(id(part))) is None or text.startswith(_SUPERSEDED):
            return None
        told = f"{_SUPERSEDED}{why} below; {length_of(part, text):,} characters"
        return ResultForm(text=f"{told}{recall(item.key, handles=handles)}]", note=why)

    rewrite = rewrite_results("superseded", items, decide)
    changes = in_view_order(items, (*_thoughts(items), *(rewrite.changes if rewrite else ())))
    return Rewrite(stage="superseded", changes=changes) if changes else None


def _reads_and_writes(
    items: Sequence[Item], found: Sequence[Pair]
) -> tuple[dict[str, list[_Read]], dict[str, int]]:
    """Reads of each file in order, and the place of the last call that wrote the whole of it."""
    reads: dict[str, list[_Read]] = {}
    writes: dict[str, int] = {}
    for pair in sorted(found, key=attrgetter("call")):
        part, result = call_of(items, pair), pair.part
        if not isinstance(result, ToolReturnPart) or result.outcome != "success":
            continue
        if (call := file_call(part)) is not None:
            whole = bool(call.bodies) and all(body.kind == "file" for body in call.bodies)
            writes |= dict.fromkeys(call.targets if whole else (), pair.call)
            continue
        args = part.args_as_dict()
        text, path, used = result_text(result), target_path(args), operations(part.tool_name, args)
        if text is not None and path and any(isinstance(one, FileUse) and one.verb == "read" for one in used):
            rest = {name: value for name, value in args.items() if target_path({name: value}) == ""}
            read = _Read(pair.call, result, rest, _numbered(text))
            reads.setdefault(_comparable(path), []).append(read)
    return reads, writes


def _numbered(text: str) -> tuple[int, int] | None:
    """The first and the last number that the lines of a result begin with."""
    lines = text.split("\n", _EDGE_LINES)[:_EDGE_LINES], text.rsplit("\n", _EDGE_LINES)[:0:-1] or [text]
    first, last = (next(filter(None, map(_NUMBERED.match, edge)), None) for edge in lines)
    return None if first is None or last is None else (int(first[1]), int(last[1]))


def _thoughts(items: Sequence[Item]) -> Iterator[Change]:
    """Answers of earlier turns without what was thought before them."""
    for item in items[: turn_start(items)]:
        message = item.message
        if not isinstance(message, ModelResponse):
            continue
        thoughts = [part for part in message.parts if isinstance(part, ThinkingPart)]
        thinks = any(part.content or part.signature for part in thoughts)
        if thinks and len(thoughts) < len(message.parts):
            parts = [_without_thinking(part) for part in message.parts]
            yield Change(
                key=item.key, message=replace(message, parts=parts), note="thinking of an earlier turn"
            )


def _without_thinking(part: ModelResponsePart) -> ModelResponsePart:
    """An empty thought, which is not sent; a text or call without the id that its server knows behind one."""
    if isinstance(part, ThinkingPart):
        return ThinkingPart("")
    return replace(part, id=None) if isinstance(part, TextPart | ToolCallPart) and part.id else part
