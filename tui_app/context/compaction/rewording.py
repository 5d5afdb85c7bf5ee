"""Other words for a summary that stands already; what code has put beside them stays.

The parts of a replacement are kept in its metadata, so they are found again in its text: the notes, what the
person said, facts. Everything else in it, such as the plan and the way back, is left as it is.
"""

from dataclasses import dataclass, replace

from pydantic_ai.messages import CompactionPart, ModelMessage, ModelRequest

from tui_app.context.compaction.replacement import (
    FACTS_HEADING,
    Earlier,
    Words,
    earlier_part,
    escaped,
    said_section,
)
from tui_app.context.stages.marks import OWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Reworded:
    """A replacement with other words."""

    message: ModelRequest
    text: str
    """All that the model reads of it."""


def parts_of(message: ModelMessage) -> Earlier | None:
    """What a summary of ours, or a readable one of another program, consists of; None for any other."""
    part = _part(message)
    return earlier_part(part) if part is not None else None


def reworded(message: ModelMessage, summary: str, facts: str) -> Reworded:
    """Give a summary other notes and facts.

    What the person said and the old notes quoted is said beside the new ones where those do not.

    Args:
        message: The replacement as it is.
        summary: The new notes.
        facts: The lines below them, as they are to be.

    Raises:
        ValueError: if it is no summary that can be read here.
    """
    part, earlier = _part(message), parts_of(message)
    if part is None or earlier is None or not isinstance(message, ModelRequest):
        raise ValueError("This is no summary that can be read.")
    before, frame, behind = _taken_apart(part.content or "", earlier)
    sections = [said_section(_words(earlier), summary), f"{FACTS_HEADING}\n{facts}" if facts else ""]
    beside = "".join(f"\n\n{escaped(section)}" for section in sections if section)
    text = f"{before}{escaped(summary.strip())}{frame}{beside}{behind}"
    metadata = dict(part.metadata or {})
    metadata[OWN] = {**(metadata.get(OWN) or {}), "summary": summary, "facts": facts}
    new = replace(part, content=text, metadata=metadata)
    return Reworded(message=replace(message, parts=[new]), text=text)


def _taken_apart(content: str, earlier: Earlier) -> tuple[str, str, str]:
    """What stands in front of the notes, what belongs to their frame behind them, and the rest."""
    notes = escaped(earlier.summary.strip())
    place = content.find(notes) if notes else -1
    before, rest = content[:place], content[place + len(notes) :]
    if place < 0:
        # A marker says only how many messages are gone: notes stand in front of it.
        before, rest = "", f"\n\n{content}"
    found: int | None = None
    beside = [said_section(_words(earlier), earlier.summary)]
    beside.append(f"{FACTS_HEADING}\n{earlier.facts.strip()}" if earlier.facts.strip() else "")
    for section in filter(None, map(escaped, beside)):
        at = rest.find(f"\n\n{section}")
        if at >= 0:
            found = at if found is None else min(found, at)
            rest = rest[:at] + rest[at + len(section) + 2 :]
    return before, rest[: found or 0], rest[found or 0 :]


def _words(earlier: Earlier) -> Words:
    return Words(prompts=earlier.prompts, omitted=earlier.omitted)


def _part(message: ModelMessage) -> CompactionPart | None:
    if not isinstance(message, ModelRequest):
        return None
    parts = [part for part in message.parts if isinstance(part, CompactionPart) and part.content is not None]
    return parts[0] if len(parts) == len(message.parts) == 1 else None
