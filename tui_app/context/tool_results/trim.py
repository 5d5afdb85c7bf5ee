"""Stage 4, trim: a long tool result in an earlier turn is reduced to its head and its length."""

import re
from collections.abc import Sequence
from dataclasses import replace
from string import Formatter

from tui_app.context.policy import Trim
from tui_app.context.tool_results.results import ResultForm, ResultPart, length_of, rewrite_results
from tui_app.context.tool_results.stage_scope import turn_start, unsettled
from tui_app.context.views.rewrites import Rewrite
from tui_app.context.views.tool_pairs import last_messages
from tui_app.context.views.view import Item


def trim(items: Sequence[Item], settings: Trim) -> Rewrite | None:
    """Cut long tool results of the earlier conversation; structured ones are measured and cut as JSON.

    If the current turn is spared, so are unsolved failures: most error messages are at the end, which
    trimming removes.

    Args:
        items: The view.
        settings: Sizes.

    Returns:
        The smaller forms, or None if there is nothing to cut.
    """
    if not settings.chars:
        return None
    keep = settings.keep_messages
    end = turn_start(items) if keep is None else last_messages(items, keep)
    pieces = [
        re.escape(literal) + (r"[\d,._ ]{1,30}" if name is not None else "")
        for literal, name, _, _ in Formatter().parse(settings.marker)
    ]
    trimmed = re.compile("".join(pieces))  # the text after the head of an already trimmed result

    def decide(item: Item, part: ResultPart, text: str) -> ResultForm | None:
        if len(text) <= settings.chars or trimmed.fullmatch(text, settings.chars):
            return None
        length = length_of(part, text)
        marker = settings.marker.format(length=length, key=item.key)
        return ResultForm(text=text[: settings.chars] + marker, note=f"trimmed from {length:,} characters")

    rewrite = rewrite_results("trim", items[:end], decide)
    if rewrite is None or keep is not None:
        return rewrite
    spared = unsettled(items)
    changes = tuple(change for change in rewrite.changes if change.key not in spared)
    return replace(rewrite, changes=changes) if changes else None
