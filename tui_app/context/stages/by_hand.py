"""What a person asks of one message: the stages' own decisions, or why they make no sense there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tui_app.context.items import Item
from tui_app.context.stages.archive import archived, heuristic_digest
from tui_app.context.stages.marks import mark_of
from tui_app.context.stages.offload import offload_item
from tui_app.context.stages.results import is_archived, results_of
from tui_app.context.stages.rewrite import Rewrite
from tui_app.context.stages.scope import newest_answers, paired
from tui_app.context.stages.settings import Archive, Offload
from tui_app.context.stages.spill import SpillNames

HandStage = Literal["archive", "offload"]
"""Stages that a person can ask for."""
NO_RESULT = "Only results of tools can be archived or put in a file."
ARCHIVED = "This result is archived already."
UNREAD = "The model has not read this result yet."
IN_FILE = "This result is in a file already."
NO_GAIN = "Nothing would be gained: what stands for it is as long."


@dataclass(frozen=True, slots=True)
class Refused:
    """Why nothing is done, as a sentence for a person."""

    reason: str


def archive_by_hand(items: Sequence[Item], item: Item, settings: Archive) -> Rewrite | Refused:
    """Put stubs in place of the results of one message, with a digest written without a model.

    Args:
        items: The view.
        item: The message in it.
        settings: Sizes of the digest.
    """
    parts = [part for _, part in results_of(item)]
    if not parts:
        return Refused(NO_RESULT)
    if all(map(is_archived, parts)):
        return Refused(ARCHIVED)
    newest = newest_answers(items, paired(items))
    if any(id(part) in newest for part in parts):
        return Refused(UNREAD)
    rewrite = archived((item,), heuristic_digest((item,), settings, items))
    return rewrite if rewrite.changes else Refused(NO_GAIN)


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
