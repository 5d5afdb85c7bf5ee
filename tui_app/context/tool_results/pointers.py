"""Stage 5, pointers: text that a call has written to a file becomes a pointer to that file."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from operator import attrgetter

from pydantic_ai.messages import ModelResponse, ToolCallPart, ToolReturnPart

from tui_app.context.message_marks import mark_of
from tui_app.context.tool_results.cuts import sha256_of
from tui_app.context.tool_results.file_calls import Body, FileCall, Place, file_call, with_texts
from tui_app.context.tool_results.results import (
    ResultForm,
    ResultPart,
    in_view_order,
    length_of,
    rewrite_results,
    source_of,
)
from tui_app.context.tool_results.stage_scope import successes, turn_start
from tui_app.context.tool_results.ways_back import WaysBack
from tui_app.context.views.rewrites import Change, Rewrite, SpillFile
from tui_app.context.views.view import Item
from tui_app.records import frozen

_OPENING = "[Not repeated here: "

_POINTER = re.compile(re.escape(_OPENING) + r"[\d,]+ characters .*…\]", re.DOTALL)

_HASH_DIGITS = 12

_PREVIEW_CHARS, _LEAST_BODY, _LONGEST_REPORT = 100, 400, 500
"""Characters: a pointer's excerpt of a body, the shortest body that becomes one, and the longest report of a
call that is kept.
"""

_Holds = Callable[[str, Body, str], bool]
"""Whether a file is that body, with this checksum, or contains the piece."""


def _pointer(
    body: Body, path: str, holds: _Holds, new_name: Callable[[], str]
) -> tuple[str, SpillFile | None]:
    """Return the note that replaces a body, and the file to write first if it is nowhere else on disk.

    Args:
        body: A text of a call.
        path: The file it was written to.
        holds: Whether it is still there.
        new_name: Names a file for a body that is no longer there.
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
    """Index of the message with the call."""
    part: ToolCallPart
    call: FileCall
    result: ToolReturnPart


def pointers(
    items: Sequence[Item],
    ways: WaysBack,
    *,
    on_disk: Callable[[str], str | None],
    contains: Callable[[str, str], bool],
) -> Rewrite | None:
    """Point to files instead of repeating what was written to them.

    A body that is no longer in its file is moved to a separate file first. In the current turn the newest
    write to each file stays whole.

    Args:
        items: The view.
        ways: How the model retrieves bodies that are no longer on disk.
        on_disk: SHA-256 of a file's current content, in hexadecimal; None if there is no such file.
        contains: Whether a file currently contains a text; called only for existing files.

    Returns:
        The smaller forms and files, or None if nothing can be pointed to.
    """
    calls_made = ((place, part, file_call(part), result) for place, part, result in successes(items))
    found = [_Write(place, part, call, result) for place, part, call, result in calls_made if call]
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

    calls, files = _point_calls(items, writes, holds, ways)
    reports = _shorten_reports(items, writes, ways)
    changes = in_view_order(items, (*calls, *reports))
    return Rewrite(stage="pointers", changes=changes, files=files) if changes else None


def _point_calls(
    items: Sequence[Item], writes: Sequence[_Write], holds: _Holds, ways: WaysBack
) -> tuple[list[Change], tuple[SpillFile, ...]]:
    """Return new forms of the responses with the calls, and files for bodies that are nowhere else."""
    parts: dict[int, ToolCallPart] = {}
    paths: dict[int, list[str]] = {}
    files: list[SpillFile] = []
    for write in writes:
        new_name = partial(ways.new, write.part.tool_name, write.part.tool_call_id)
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


def _shorten_reports(items: Sequence[Item], writes: Sequence[_Write], ways: WaysBack) -> tuple[Change, ...]:
    """Replace long reports of such calls, for example diffs, by notes."""
    paths = {id(write.result): write.call.paths[0] for write in writes}

    def decide(item: Item, part: ResultPart, text: str) -> ResultForm | None:
        done = "pointers" in mark_of(part).get("stages", [])
        if done or (path := paths.get(id(part))) is None or len(text) <= _LONGEST_REPORT:
            return None
        size, back = length_of(part, text), ways.recall(item.key)
        notice = f"{source_of(part)[0]} succeeded on {path}; {size:,} characters{back}"
        return ResultForm(text=f"{_REPORT_OPENING}{notice}]", note=path)

    rewrite = rewrite_results("pointers", items, decide)
    return rewrite.changes if rewrite is not None else ()
