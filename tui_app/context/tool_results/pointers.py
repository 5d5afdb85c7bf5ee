"""Stage 5, pointers: text that a call has written to a file becomes a pointer to that file.

Before it, superseded: a read that a newer one or a write of the whole file has taken the place of becomes one
line, and thinking of earlier turns leaves.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
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

from tui_app.context.facts.files import target_of, verb_of
from tui_app.context.facts.observations import Action
from tui_app.context.message_marks import mark_of
from tui_app.context.policy import Pointers
from tui_app.context.tool_results.results import (
    ResultForm,
    ResultPart,
    SpillNames,
    call_of,
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
from tui_app.context.tool_words import (
    FILE_ARGUMENTS,
    PATCH_ARGUMENTS,
    PIECE_ARGUMENTS,
    PIECE_LIST_ARGUMENT,
    body_kind,
)
from tui_app.context.view import Change, Item, Pair, Rewrite, SpillFile
from tui_app.records import frozen
from tui_app.tool_specs import BodyKind

# Calls that write to files: which of their arguments hold text that is in the file afterwards.

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
        return frozenset(normpath(path.replace("\\", "/")) for path in self.paths)


def file_call(part: ToolCallPart) -> FileCall | None:
    """Read a call; None when it writes to no file, or its arguments are broken."""
    try:
        args = from_json(part.args) if isinstance(part.args, str) else part.args
    except ValueError:
        return None
    if not isinstance(args, dict) or not (kind := body_kind(part.tool_name, args.get("command"))):
        return None
    bodies = tuple(_bodies(kind, args))
    if kind == "patch":
        found = (match for body in bodies for match in _PATCHED.finditer(body.text))
        paths = tuple(dict.fromkeys((match[1] or match[2]).strip() for match in found))
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


def _bodies(kind: BodyKind | Literal["patch"], args: Mapping[str, Any]) -> Iterator[Body]:
    if kind == "patch":
        yield from _texts(args, PATCH_ARGUMENTS, "piece")
        return
    if kind == "file":
        yield from _texts(args, FILE_ARGUMENTS, "file")
        return
    yield from _texts(args, PIECE_ARGUMENTS, "piece")
    edit_list = args.get(PIECE_LIST_ARGUMENT)
    for index, edit in enumerate(edit_list if isinstance(edit_list, list) else ()):
        if isinstance(edit, Mapping):
            for body in _texts(edit, PIECE_ARGUMENTS, "piece"):
                yield Body((PIECE_LIST_ARGUMENT, index, *body.place), body.text, body.kind)


def _texts(args: Mapping[str, Any], names: tuple[str, ...], kind: BodyKind) -> Iterator[Body]:
    for name in names:
        text = args.get(name)
        if isinstance(text, str):
            yield Body((name,), text, kind)


def _replaced(value: Any, place: Place, text: str) -> Any:
    """A copy of nested arguments with one text changed; what is not on the way stays the same object."""
    if not place:
        return text
    step, rest = place[0], place[1:]
    copy: Any = dict(value) if isinstance(value, Mapping) else list(value)
    copy[step] = _replaced(copy[step], rest, text)
    return copy


# The pointer that stands for a text that was written to a file, and the check that it can be found there.

_OPENING = "[Not repeated here: "
_POINTER = re.compile(re.escape(_OPENING) + r"[\d,]+ characters .*…\]", re.DOTALL)
_HASH_DIGITS = 12


@dataclass(slots=True)
class Disk:
    """The present content of files; each is asked once for its checksum."""

    checksum: Callable[[str], str | None]
    contains: Callable[[str, str], bool]
    _known: dict[str, str | None] = field(default_factory=dict)

    def holds(self, path: str, body: Body, digest: str) -> bool:
        """Whether a file is this body, or has this piece in it."""
        if path not in self._known:
            self._known[path] = self.checksum(path)
        found = self._known[path]
        if found is None:
            return False
        return found.lower() == digest if body.kind == "file" else self.contains(path, body.text)


@frozen
class Pointer:
    """The note that replaces a body."""

    body: Body
    text: str
    file: SpillFile | None
    """The file that must be there first, of a body that is on disk nowhere else."""


def pointers_to(
    bodies: Sequence[Body], path: str, disk: Disk, new_name: Callable[[], str], preview_chars: int
) -> list[Pointer]:
    """Build pointers for the bodies that are longer than theirs and no pointers yet.

    Args:
        bodies: Texts of one call.
        path: The file they were written to.
        disk: What is in that file now.
        new_name: Names a file for a body that is not there any more.
        preview_chars: Characters of its beginning that a pointer shows.
    """
    found: list[Pointer] = []
    for body in bodies:
        if _POINTER.fullmatch(body.text):
            continue
        digest, file, where = sha256_of(body.text), None, f"in {path}"
        if not disk.holds(path, body, digest):
            file = SpillFile(name=new_name(), text=body.text)
            where = f"written to {path} and kept in {file.name}"
        text = (
            f"{_OPENING}{len(body.text):,} characters {where}, sha256 {digest[:_HASH_DIGITS]}, "
            f"beginning with: {body.text[:preview_chars]}…]"
        )
        if len(text) < len(body.text):
            found.append(Pointer(body, text, file))
    return found


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
    settings: Pointers,
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
        settings: Sizes.
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
    calls, files = _point_calls(items, writes, settings, Disk(on_disk, contains), names)
    reports = _shorten_reports(items, writes, settings, handles=handles)
    by_key = {change.key: change for change in (*calls, *reports)}
    changes = tuple(by_key[item.key] for item in items if item.key in by_key)
    return Rewrite(stage="pointers", changes=changes, files=files) if changes else None


def _point_calls(
    items: Sequence[Item], writes: Sequence[_Write], settings: Pointers, disk: Disk, names: SpillNames
) -> tuple[list[Change], tuple[SpillFile, ...]]:
    """New forms of the answers that made the calls, and files for bodies that are nowhere else."""
    parts: dict[int, ToolCallPart] = {}
    paths: dict[int, list[str]] = {}
    files: list[SpillFile] = []
    for write in writes:
        new_name = partial(names.new, write.part.tool_name, write.part.tool_call_id)
        bodies = [body for body in write.call.bodies if len(body.text) >= settings.min_chars]
        path = write.call.paths[0]
        found = pointers_to(bodies, path, disk, new_name, settings.preview_chars)
        texts = {pointer.body.place: pointer.text for pointer in found}
        args = with_texts(write.part, write.call, texts) if texts else None
        if args is not None:
            parts[id(write.part)] = replace(write.part, args=args)
            paths.setdefault(write.index, []).append(path)
            files += [pointer.file for pointer in found if pointer.file is not None]
    changes: list[Change] = []
    for index, named in paths.items():
        message = items[index].message
        if isinstance(message, ModelResponse):
            message = replace(message, parts=[parts.get(id(part), part) for part in message.parts])
        changes.append(Change(key=items[index].key, message=message, note="; ".join(dict.fromkeys(named))))
    return changes, tuple(files)


def _shorten_reports(
    items: Sequence[Item], writes: Sequence[_Write], settings: Pointers, *, handles: bool
) -> tuple[Change, ...]:
    """Notes in place of what such calls have reported at length, a diff for example."""
    paths = {id(write.result): write.call.paths[0] for write in writes}

    def decide(item: Item, part: ResultPart, text: str) -> ResultForm | None:
        done = "pointers" in mark_of(part).get("stages", [])
        if done or id(part) not in paths or len(text) <= settings.result_chars:
            return None
        size, back = length_of(part, text), recall(item.key, handles=handles)
        told = f"{source_of(part)[0]} succeeded on {paths[id(part)]}; {size:,} characters{back}"
        note = f"{_REPORT_OPENING}{told}]"
        return ResultForm(text=note, note=paths[id(part)])

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
    path: str
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
    for path, (newest, *older) in ((path, each[::-1]) for path, each in reads.items()):
        # What a shortened read showed is not seen any more, so it takes no other's place.
        whole = [] if mark_of(newest.result) else [newest]
        written = max(writes.get(path, ()), default=-1)
        for read in older:
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
    by_key = {change.key: change for change in (*_thoughts(items), *(rewrite.changes if rewrite else ()))}
    changes = tuple(by_key[item.key] for item in items if item.key in by_key)
    return Rewrite(stage="superseded", changes=changes) if changes else None


def _reads_and_writes(
    items: Sequence[Item], found: Sequence[Pair]
) -> tuple[dict[str, list[_Read]], dict[str, list[int]]]:
    """Reads of each file, and places of the calls that wrote the whole of it, in the order of the calls."""
    reads: dict[str, list[_Read]] = {}
    writes: dict[str, list[int]] = {}
    for pair in sorted(found, key=attrgetter("call")):
        part, result = call_of(items, pair), pair.part
        if not isinstance(result, ToolReturnPart) or result.outcome != "success":
            continue
        if (call := file_call(part)) is not None:
            whole = bool(call.bodies) and all(body.kind == "file" for body in call.bodies)
            for target in call.targets if whole else ():
                writes.setdefault(target, []).append(pair.call)
            continue
        args = part.args_as_dict()
        text, path = result_text(result), target_of(args)
        action = Action(items[pair.answer].key, pair.answer, part.tool_name, args)
        if text is None or not path or verb_of(action) != "read":
            continue
        path = normpath(path.replace("\\", "/"))
        rest = {name: value for name, value in args.items() if target_of({name: value}) == ""}
        reads.setdefault(path, []).append(_Read(pair.call, result, path, rest, _numbered(text)))
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
        if not isinstance(message, ModelResponse) or not any(map(_thinks, message.parts)):
            continue
        if all(isinstance(part, ThinkingPart) for part in message.parts):
            continue
        parts = [_without_thinking(part) for part in message.parts]
        yield Change(key=item.key, message=replace(message, parts=parts), note="thinking of an earlier turn")


def _thinks(part: ModelResponsePart) -> bool:
    return isinstance(part, ThinkingPart) and bool(part.content or part.signature)


def _without_thinking(part: ModelResponsePart) -> ModelResponsePart:
    """An empty thought, which is not sent; a text or call without the id that its server knows behind one."""
    if isinstance(part, ThinkingPart):
        return ThinkingPart("")
    return replace(part, id=None) if isinstance(part, TextPart | ToolCallPart) and part.id else part
