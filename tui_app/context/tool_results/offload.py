"""Stage 1, offload: a very large tool result goes to a file; its beginning and the way to the rest stay."""

from collections.abc import Callable, Sequence

from tui_app.context.message_marks import is_archived, mark_of
from tui_app.context.policy import Offload
from tui_app.context.tool_results.results import (
    ARCHIVED,
    IN_FILE,
    NO_GAIN,
    NO_RESULT,
    Refused,
    ResultForm,
    ResultPart,
    SpillNames,
    count_lines,
    file_text,
    length_of,
    newest_answers,
    paired,
    recall,
    recalled,
    results_of,
    rewrite_results,
    source_of,
)
from tui_app.context.view import Item, Rewrite, SpillFile
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

    def decide(item: Item, part: ResultPart, text: str) -> ResultForm | None:
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

    def decide(item: Item, part: ResultPart, text: str) -> ResultForm | None:
        moves = id(part) in chosen
        return _moved(item, part, text, settings, names, handles=handles) if moves else None

    return rewrite_results("offload", items, decide)


def offload_item(item: Item, settings: Offload, names: SpillNames) -> Rewrite | None:
    """Move the results of one message to files, whatever their size.

    Args:
        item: The message.
        settings: How much of each result is shown.
        names: Gives names to the files.

    Returns:
        The smaller forms and the files, or None where nothing would be smaller.
    """

    def decide(item: Item, part: ResultPart, text: str) -> ResultForm | None:
        return None if _is_done(part) else _moved(item, part, text, settings, names, handles=True)

    return rewrite_results("offload", [item], decide)


def _moved(
    item: Item, part: ResultPart, text: str, settings: Offload, names: SpillNames, *, handles: bool
) -> ResultForm:
    """What is shown in place of a result that goes to a file."""
    file = SpillFile(name=names.new(*source_of(part)), text=file_text(part, text))
    size = f"{length_of(part, text):,} characters, {count_lines(file.text):,} lines"
    way_back = recall(item.key, handles=handles)
    head = f"{_OPENING}: {file.name}, {size}. Read on there with {READ_FILE.name} or {GREP.name}{way_back}]"
    total, start = count_lines(file.text), 0
    shown = min(settings.preview_lines, total)
    preview = [f"First {shown:,} of {total:,} lines:"]
    for _ in range(shown):
        end = file.text.find("\n", start)
        end = end if end >= 0 else len(file.text)
        line, more = file.text[start : min(end, start + _LINE_CHARS)], end - start - _LINE_CHARS
        preview.append(f"{line}… [{more:,} more characters in this line]" if more > 0 else line)
        start = end + 1
    if shown < total:
        preview.append(f"[{total - shown:,} more lines]")
    return ResultForm(text="\n".join([head, *preview]), note=file.name, file=file)


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


def offload_by_hand(
    item: Item, original: Callable[[], Item], settings: Offload, names: SpillNames
) -> Rewrite | Refused:
    """Move the results of one message to files, as the tools returned them.

    Args:
        item: The message as it is shown.
        original: Reads it as it was before any stage.
        settings: How much of each result is shown.
        names: Gives names to the files.
    """
    parts = [part for _, part in results_of(item)]
    if not parts:
        return Refused(NO_RESULT)
    if all(map(is_archived, parts)):
        return Refused(ARCHIVED)
    if all("file" in mark_of(part) for part in parts):
        return Refused(IN_FILE)
    return offload_item(original(), settings, names) or Refused(NO_GAIN)
