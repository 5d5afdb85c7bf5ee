"""Replacements of compacted history, in parts that are recognized when they are edited or updated."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from typing import Any

from pydantic_ai.messages import CompactionPart, ModelRequest, ModelResponse, TextPart

from tui_app.context.binding.forms import numbers_only
from tui_app.context.compaction.sections import unlike_ours
from tui_app.context.message_marks import ACKNOWLEDGEMENT_KIND, OWN, own_metadata
from tui_app.context.views.view import Item, is_summary
from tui_app.events import Origin
from tui_app.records import frozen
from tui_app.tool_specs import SEARCH_HISTORY

NOTES, ADDED, WAY_BACK_PART = "notes", "added", "way back"
"""Names of the parts that are searched for; the others only have their place."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TAG = re.compile(
    r"<(?=[\s/\u00ad\u200b-\u200f\u2028-\u202f\u2060-\u2064\ufeff]{0,20}conversation_summary)", re.IGNORECASE
)
"""Also with blanks and invisible characters in it."""
WAY_BACK = (
    f"Everything before this point is kept. {SEARCH_HISTORY.name} brings a message back, by its number, for "
    "example `#12`, or by words."
)
ADDED_HEADING = "## Also worth keeping"


@frozen
class Passage:
    """A part of a replacement, with its author."""

    name: str
    origin: Origin
    text: str


def summary_message(passages: Sequence[Passage], notes: str, *, writer: Origin) -> ModelRequest:
    """Build the request that replaces compacted history.

    Args:
        passages: Its parts, in order; blank ones are left out.
        notes: The notes without a policy's frame around them.
        writer: Author of the notes.
    """
    kept = [
        replace(each, text=escaped(unlike_ours(each.text) if each.name == NOTES else each.text).strip())
        for each in passages
        if each.text.strip()
    ]
    own: dict[str, Any] = {
        "summary": notes,
        "writer": writer,
        "parts": [[each.name, each.origin, each.text] for each in kept],
    }
    ends = [2] * (len(kept) - 1) + [0]
    own["origins"] = [[each.origin, len(each.text) + end] for each, end in zip(kept, ends, strict=True)]
    text = "\n\n".join(each.text for each in kept)
    return ModelRequest(parts=[CompactionPart(text, metadata={OWN: own})], timestamp=_EPOCH)


def escaped(text: str) -> str:
    """Keep a text from closing the tag in which pydantic-ai sends a summary."""
    return _TAG.sub(r"<\\", text)


def earlier_notes(items: Sequence[Item]) -> str:
    """Return the notes of summaries among messages, to be updated; those of other programs are all notes.

    The log's information about their lines is left out, because it may have changed.
    """
    return numbers_only("\n\n".join(filter(None, map(notes_text, _parts(items)))))


def _parts(items: Sequence[Item]) -> Iterator[CompactionPart]:
    for item in items:
        if is_summary(item.message):
            yield from (part for part in item.message.parts if isinstance(part, CompactionPart))


def notes_text(part: CompactionPart) -> str:
    own = own_metadata(part.metadata)
    return str(own.get("summary") or ("" if "parts" in own else part.content) or "")


def acknowledging_response(text: str) -> ModelResponse:
    """Return the assistant's acknowledgement of a summary; metadata distinguishes it from a real response."""
    metadata = {OWN: {"kind": ACKNOWLEDGEMENT_KIND}}
    return ModelResponse(parts=[TextPart(text)], timestamp=_EPOCH, metadata=metadata)


def key_ranges(items: Sequence[Item], left: frozenset[int]) -> tuple[tuple[int, int], ...]:
    """Return the visible messages to be removed, as inclusive ranges of their numbers.

    A range never covers the number of a message that stays, wherever it is in the view.
    """
    ordered = groupby(sorted(items, key=attrgetter("key")), lambda item: item.key in left)
    runs = [list(run) for leaves, run in ordered if leaves]
    return tuple((run[0].key, run[-1].key) for run in runs)
