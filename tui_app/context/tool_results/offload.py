"""Stage 1, offload: a very large tool result goes to a file; its beginning and the way to the rest stay."""

from collections.abc import Callable, Iterator, Sequence

from tui_app.context.message_marks import mark_of
from tui_app.context.policy import Offload
from tui_app.context.rewrite import Rewrite, SpillFile
from tui_app.context.tool_results.results import (
    Form,
    ResultPart,
    SpillNames,
    count_lines,
    file_text,
    length_of,
    recall,
    results_of,
    rewrite_results,
)
from tui_app.context.tool_results.scope import newest_answers, paired, recalled
from tui_app.context.view import Item
from tui_app.tool_specs import GREP, READ_FILE

_OPENING = "[Output moved to a file"
_LINE_CHARS = 500
"""Characters of one line of the preview."""
_TOKENS_PER_CHAR = 4
"""What a character costs at most: one token for each of its bytes."""
_CHARS_PER_TOKEN = 128
"""Longest token of the tokenizers in use; a run of blanks comes near it."""
_PIECE_CHARS = 200_000
"""Longest text that is always counted whole."""


def offload(
    items: Sequence[Item],
    settings: Offload,
    count: Callable[[str], int],
    names: SpillNames,
    *,
    handles: bool = True,
) -> Rewrite | None:
    """Move large tool results to files. What was brought back in the present turn stays for that turn.

    Args:
        items: The view; of it all, so that it is known which call a result belongs to.
        settings: Sizes.
        count: Tokens of a text.
        names: Gives names to the files.
        handles: Whether the model has a tool that brings a message back by its handle.

    Returns:
        The smaller forms and the files, or None when no result is too large.
    """
    stays = recalled(items, paired(items))

    def decide(item: Item, part: ResultPart, text: str) -> Form | None:
        if id(part) in stays or _is_done(part) or not _is_over(text, settings.tokens, count):
            return None
        return _moved(item, part, text, settings, names, handles=handles)

    return rewrite_results("offload", items, decide)


def offload_newest(
    items: Sequence[Item],
    settings: Offload,
    excess: int,
    weigh: Callable[[ResultPart], int],
    names: SpillNames,
    *,
    handles: bool = True,
) -> Rewrite | None:
    """Move the largest results of the newest answer's calls to files: together they are too much.

    What was brought back in the present turn goes last.

    Args:
        items: The view.
        settings: How much of each is shown.
        excess: Tokens that must become free.
        weigh: Tokens of a result.
        names: Gives names to the files.
        handles: Whether the model has a tool that brings a message back by its handle.

    Returns:
        The smaller forms and the files, or None when there is nothing to move.
    """
    found = paired(items)
    newest, stays = newest_answers(items, found), recalled(items, found)
    parts = [part for item in items for _, part in results_of(item) if id(part) in newest]
    chosen: set[int] = set()
    for part in sorted(parts, key=lambda each: (id(each) in stays, -weigh(each))):
        if excess > 0 and not _is_done(part):
            chosen.add(id(part))
            excess -= weigh(part)

    def decide(item: Item, part: ResultPart, text: str) -> Form | None:
        moves = id(part) in chosen
        return _moved(item, part, text, settings, names, handles=handles) if moves else None

    return rewrite_results("offload", items, decide)


def offload_item(item: Item, settings: Offload, names: SpillNames, *, handles: bool = True) -> Rewrite | None:
    """Move the results of one message to files, whatever their size.

    Args:
        item: The message.
        settings: How much of each result is shown.
        names: Gives names to the files.
        handles: Whether the model has a tool that brings a message back by its handle.

    Returns:
        The smaller forms and the files, or None where nothing would be smaller.
    """

    def decide(item: Item, part: ResultPart, text: str) -> Form | None:
        return None if _is_done(part) else _moved(item, part, text, settings, names, handles=handles)

    return rewrite_results("offload", [item], decide)


def _moved(
    item: Item, part: ResultPart, text: str, settings: Offload, names: SpillNames, *, handles: bool
) -> Form:
    """What is shown in place of a result that goes to a file."""
    file = SpillFile(name=names.new(part.tool_name or "", part.tool_call_id), text=file_text(part, text))
    size = f"{length_of(part, text):,} characters, {count_lines(file.text):,} lines"
    way_back = recall(item.key, handles=handles)
    head = f"{_OPENING}: {file.name}, {size}. Read on there with {READ_FILE.name} or {GREP.name}{way_back}]"
    return Form(text=f"{head}\n{_preview(file.text, settings.preview_lines)}", note=file.name, file=file)


def _is_done(part: ResultPart) -> bool:
    return "file" in mark_of(part)


def _is_over(text: str, tokens: int, count: Callable[[str], int]) -> bool:
    """Whether a text has more tokens; a huge one is counted only until that is certain."""
    if len(text) * _TOKENS_PER_CHAR <= tokens:
        return False
    if len(text) <= _PIECE_CHARS:
        return count(text) > tokens
    if len(text) > tokens * _CHARS_PER_TOKEN:
        return True
    counted = 0
    for start in range(0, len(text), _PIECE_CHARS):
        counted += count(text[start : start + _PIECE_CHARS])
        if counted > tokens:
            return True
    return False


def _preview(text: str, lines: int) -> str:
    """The first lines, long ones clipped, and how many more there are."""
    total = count_lines(text)
    shown = [_clipped(line) for line in _first_lines(text, min(lines, total))]
    left = total - len(shown)
    heading = f"First {len(shown):,} of {total:,} lines:"
    return "\n".join([heading, *shown, *([f"[{left:,} more lines]"] if left else [])])


def _first_lines(text: str, count: int) -> Iterator[tuple[str, int]]:
    """The first lines, each no longer than can be shown, with its real length."""
    start = 0
    for _ in range(count):
        end = text.find("\n", start)
        end = end if end >= 0 else len(text)
        yield text[start : min(end, start + _LINE_CHARS)], end - start
        start = end + 1


def _clipped(line: tuple[str, int]) -> str:
    shown, length = line
    return (
        shown if len(shown) == length else f"{shown}… [{length - len(shown):,} more characters in this line]"
    )
