"""What an import hands over: events ready for the log, and an account of everything left out."""

from dataclasses import dataclass

from tui_app.events import Payload


class ImportFormatError(ValueError):
    """The file is none of the formats that were tried; the text is one sentence for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedEvent:
    """One event to append to the log."""

    data: Payload
    message: str | None
    """The pydantic-ai message as JSON text; None for events that are no message."""
    time: float
    """Seconds since the epoch, as the other program recorded it."""
    first_kept: "ImportedEvent | None" = None
    """Of a compaction: the first event before it that stayed in view beside the summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedLine:
    """Something in the file that could not be used."""

    line: int
    """Line number from 1; in a file that is one JSON list, the place in that list from 1."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A conversation of another program.

    The events are meant to be appended in order right after a ``session.start``, so the event at index
    ``i`` gets log number ``i + 2``; the ranges of imported compactions are written for these numbers.
    """

    format: str
    title: str
    """One line; empty when the file suggests none."""
    cwd: str
    model: str
    """The model's name as written in the file, without a provider in front; empty when unknown."""
    events: tuple[ImportedEvent, ...]
    skipped: tuple[SkippedLine, ...]
    """In order of ``line``; one line may stand here more than once."""
    messages: int
    """Requests and responses of the session, the results of one response as one request; no summaries."""
    tool_calls: int
    tool_results: int
    """Results that the file holds; calls without one got one that says so, and a note counts them."""
    notes: tuple[str, ...]
    """Sentences about what was left out on purpose or changed."""
    places: frozenset[int] = frozenset()
    """Lines (or places in a list) that became an event or are counted in the notes."""
    is_own: bool = False
    """Whether it is a session of this program: complete as it is, with nothing to count or take back."""
