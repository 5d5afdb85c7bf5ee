"""Stage 1, offload: a very large tool result is moved to a file; a preview and a reference stay."""

from collections.abc import Callable, Sequence
from itertools import accumulate

from tui_app.context.message_marks import mark_of
from tui_app.context.policy import Offload
from tui_app.context.tool_results.cuts import count_lines
from tui_app.context.tool_results.results import (
    ResultForm,
    ResultPart,
    file_text,
    length_of,
    results_of,
    rewrite_results,
    source_of,
)
from tui_app.context.tool_results.stage_scope import (
    IN_FILE,
    NO_GAIN,
    newest_answers,
    paired,
    parts_for_hand,
    recalled,
)
from tui_app.context.tool_results.ways_back import WaysBack
from tui_app.context.views.rewrites import Rewrite, SpillFile
from tui_app.context.views.view import Item
from tui_app.tool_specs import GREP, READ_FILE

_OPENING = "[Output moved to a file"
_LINE_CHARS = 500
"""Maximum characters of one line of the preview."""
_TOKENS_PER_CHAR = 4
"""Maximum tokens of a character: one for each of its bytes."""
_CHARS_PER_TOKEN = 128
"""Longest token of the tokenizers in use; a run of blanks comes near it."""
_PIECE_CHARS = 200_000
"""Longest text that is always counted whole."""

_Moves = Callable[[ResultPart, str], bool]
"""Whether a result is moved to a file, by its part and its text."""


def offload(
    items: Sequence[Item], settings: Offload, count: Callable[[str], int], ways: WaysBack
) -> Rewrite | None:
    """Move large tool results to files. Those retrieved in the current turn stay for that turn.

    Args:
        items: The whole view, to find the call of each result.
        settings: Sizes.
        count: Tokens of a text.
        ways: How the model retrieves them.

    Returns:
        The smaller forms and the files, or None if no result is too large.
    """
    fetched = recalled(items, paired(items))

    def is_large(part: ResultPart, text: str) -> bool:
        return id(part) not in fetched and _is_over(text, settings.tokens, count)

    return _rewrite(items, is_large, settings, ways)


def offload_newest(
    items: Sequence[Item], settings: Offload, excess: int, weigh: Callable[[ResultPart], int], ways: WaysBack
) -> Rewrite | None:
    """Move the largest results of the newest response's calls to files, because together they are too large.

    Those retrieved in the current turn are moved last.

    Args:
        items: The view.
        settings: Size of the previews.
        excess: Tokens that must be freed.
        weigh: Tokens of a result.
        ways: How the model retrieves them.

    Returns:
        The smaller forms and the files, or None if there is nothing to move.
    """
    found = paired(items)
    newest, fetched = newest_answers(items, found), recalled(items, found)
    parts = [part for item in items for _, part in results_of(item) if id(part) in newest]
    chosen: set[int] = set()
    for part in sorted(parts, key=lambda each: (id(each) in fetched, -weigh(each))):
        if excess > 0 and not _is_done(part):
            chosen.add(id(part))
            excess -= weigh(part)
    return _rewrite(items, lambda part, _: id(part) in chosen, settings, ways)


def _rewrite(items: Sequence[Item], moves: _Moves, settings: Offload, ways: WaysBack) -> Rewrite | None:
    """Move the chosen results that are in no file yet."""

    def decide(item: Item, part: ResultPart, text: str) -> ResultForm | None:
        if _is_done(part) or not moves(part, text):
            return None
        file = SpillFile(name=ways.new(*source_of(part)), text=file_text(part, text))
        total = count_lines(file.text)
        shown = min(settings.preview_lines, total)
        size, back = f"{length_of(part, text):,} characters, {total:,} lines", ways.recall(item.key)
        lines = [
            f"{_OPENING}: {file.name}, {size}. Read on there with {READ_FILE.name} or {GREP.name}{back}]",
            f"First {shown:,} of {total:,} lines:",
        ]
        for line in file.text.split("\n", shown)[:shown]:
            more = len(line) - _LINE_CHARS
            rest = f"… [{more:,} more characters in this line]" if more > 0 else ""
            lines.append(f"{line[:_LINE_CHARS]}{rest}")
        if shown < total:
            lines.append(f"[{total - shown:,} more lines]")
        return ResultForm(text="\n".join(lines), note=file.name, file=file)

    return rewrite_results("offload", items, decide)


def _is_done(part: ResultPart) -> bool:
    return "file" in mark_of(part)


def _is_over(text: str, tokens: int, count: Callable[[str], int]) -> bool:
    """Whether a text has more tokens; a huge one is counted only until that is certain."""
    if len(text) * _TOKENS_PER_CHAR <= tokens:
        return False
    if len(text) > max(_PIECE_CHARS, tokens * _CHARS_PER_TOKEN):
        return True
    starts = range(0, len(text), _PIECE_CHARS)
    counted = accumulate(count(text[start : start + _PIECE_CHARS]) for start in starts)
    return any(total > tokens for total in counted)


def offload_by_hand(
    item: Item, original: Callable[[], Item], settings: Offload, ways: WaysBack
) -> Rewrite | str:
    """Move the results of one message to files, as the tools returned them.

    Args:
        item: The message as it is shown.
        original: Loads it as it was before any stage.
        settings: Size of the previews.
        ways: How the model retrieves them.
    """
    if isinstance(parts := parts_for_hand(item), str):
        return parts
    if all(map(_is_done, parts)):
        return IN_FILE
    return _rewrite([original()], lambda *_: True, settings, ways) or NO_GAIN
