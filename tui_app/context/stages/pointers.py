"""Stage 5, pointers: what a call has written to a file is not carried along in the conversation as well."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart, ToolReturnPart

from tui_app.context.items import Item
from tui_app.context.stages.file_tools import FileCall, file_call, with_texts
from tui_app.context.stages.marks import mark_of
from tui_app.context.stages.pointing import Disk, pointers_to
from tui_app.context.stages.results import (
    Form,
    ResultPart,
    length_of,
    recall,
    rewrite_results,
)
from tui_app.context.stages.rewrite import Change, Rewrite, SpillFile
from tui_app.context.stages.scope import call_of, paired, turn_start
from tui_app.context.stages.settings import Pointers
from tui_app.context.stages.spill import SpillNames

_REPORT_OPENING = "[Report left out: "


@dataclass(frozen=True, slots=True)
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
    writes = _older_writes(items)
    calls, files = _point_calls(items, writes, settings, Disk(on_disk, contains), names)
    reports = _shorten_reports(items, writes, settings, handles=handles)
    by_key = {change.key: change for change in (*calls, *reports)}
    changes = tuple(by_key[item.key] for item in items if item.key in by_key)
    return Rewrite(stage="pointers", changes=changes, files=files) if changes else None


def _older_writes(items: Sequence[Item]) -> list[_Write]:
    """Successful writes, less the newest one of the present turn to each file."""
    writes = sorted(_writes(items), key=_call_index)
    start = turn_start(items)
    newest = {target: write for write in writes if write.index >= start for target in write.call.targets}
    kept = {id(write.part) for write in newest.values()}
    return [write for write in writes if id(write.part) not in kept]


def _writes(items: Sequence[Item]) -> Iterator[_Write]:
    for pair in paired(items):
        result = pair.part
        if isinstance(result, ToolReturnPart) and result.outcome == "success":
            part = call_of(items, pair)
            call = file_call(part)
            if call is not None:
                yield _Write(pair.call, part, call, result)


def _call_index(write: _Write) -> int:
    return write.index


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
    changes = [
        Change(
            key=items[index].key,
            message=_with_calls(items[index].message, parts),
            note="; ".join(dict.fromkeys(named)),
        )
        for index, named in paths.items()
    ]
    return changes, tuple(files)


def _with_calls(message: ModelMessage, calls: Mapping[int, ToolCallPart]) -> ModelMessage:
    if not isinstance(message, ModelResponse):
        return message
    return replace(message, parts=[calls.get(id(part), part) for part in message.parts])


def _shorten_reports(
    items: Sequence[Item], writes: Sequence[_Write], settings: Pointers, *, handles: bool
) -> tuple[Change, ...]:
    """Notes in place of what such calls have reported at length, a diff for example."""
    paths = {id(write.result): write.call.paths[0] for write in writes}

    def decide(item: Item, part: ResultPart, text: str) -> Form | None:
        if id(part) not in paths or len(text) <= settings.result_chars or _is_done(part):
            return None
        size, back = length_of(part, text), recall(item.key, handles=handles)
        note = f"{_REPORT_OPENING}{part.tool_name} succeeded on {paths[id(part)]}; {size:,} characters{back}]"
        return Form(text=note, note=paths[id(part)])

    rewrite = rewrite_results("pointers", items, decide)
    return rewrite.changes if rewrite is not None else ()


def _is_done(part: ResultPart) -> bool:
    return "pointers" in mark_of(part).get("stages", [])
