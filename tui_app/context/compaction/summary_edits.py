"""Edits of an applied summary; what code added to the notes is kept."""

from dataclasses import dataclass, replace

from pydantic_ai.messages import CompactionPart, ModelMessage, ModelRequest

from tui_app.context.compaction.replacement import (
    ADDED,
    ADDED_HEADING,
    NOTES,
    WAY_BACK_PART,
    Passage,
    escaped,
    notes_text,
    summary_message,
)
from tui_app.context.message_marks import own_metadata
from tui_app.events import Origin


@dataclass(slots=True)
class EditableSummary:
    """A summary message whose notes and added facts can be changed."""

    message: ModelRequest
    notes: str
    added: str = ""
    """Facts that the user added."""
    writer: Origin = "model"

    @property
    def text(self) -> str:
        """Its text as the model reads it."""
        part = self.message.parts[0]
        return str(part.content) if isinstance(part, CompactionPart) else ""


def editable(message: ModelMessage) -> EditableSummary | None:
    """Parse a summary message; None if it is not a readable one."""
    if not isinstance(message, ModelRequest) or len(message.parts) != 1:
        return None
    part = message.parts[0]
    if not isinstance(part, CompactionPart) or part.content is None:
        return None
    own = own_metadata(part.metadata)
    added = next((text for name, _, text in own.get("parts", ()) if name == ADDED), "")
    added = added.removeprefix(ADDED_HEADING).strip() or str(own.get("facts", ""))
    return EditableSummary(message, notes_text(part), added, own.get("writer", "model"))


def reworded(
    summary: EditableSummary, notes: str, added: str, writer: Origin | None = None
) -> EditableSummary:
    """Replace the notes and added facts of a summary; everything else is kept.

    Args:
        summary: The current summary.
        notes: The new notes.
        added: The added facts.
        writer: New author of the notes; None for the user if they differ.
    """
    part = summary.message.parts[0]
    assert isinstance(part, CompactionPart)
    own = dict(own_metadata(part.metadata))
    writer = writer or (summary.writer if notes == summary.notes else "user")
    content = part.content or ""
    parts = [Passage(*each) for each in own.get("parts", ())] or _earlier_parts(content, summary)
    old, new = escaped(summary.notes.strip()), escaped(notes.strip())
    block = f"{ADDED_HEADING}\n{added.strip()}" if added.strip() else ""
    kept: list[Passage] = []
    for each in parts:
        if each.name == NOTES:
            kept.append(replace(each, origin=writer, text=each.text.replace(old, new, 1) if old else new))
        elif each.name == WAY_BACK_PART:
            kept += [Passage(ADDED, "code", block), each]
        elif each.name != ADDED:
            kept.append(each)
    if not any(each.name == ADDED for each in kept):
        kept.append(Passage(ADDED, "code", block))
    if not any(each.name == NOTES for each in kept):
        kept.insert(0, Passage(NOTES, writer, new))
    message = summary_message(kept, notes, writer=writer)
    return EditableSummary(message, notes, added, writer)


def _earlier_parts(content: str, summary: EditableSummary) -> list[Passage]:
    """Return the parts of a summary by an earlier version or another program: notes and surroundings."""
    notes = escaped(summary.notes.strip())
    place = content.find(notes) if notes else -1
    if place < 0:
        return [Passage(NOTES, summary.writer, content)]
    rest = content[place + len(notes) :]
    if summary.added:
        rest = rest.replace(f"{ADDED_HEADING}\n{escaped(summary.added)}", "", 1)
    return [
        Passage("frame", "code", content[:place]),
        Passage(NOTES, summary.writer, notes),
        Passage("beside", "code", rest),
    ]
