"""Sessions as the report takes them: messages in order, and where another product compacted."""

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.usage import RequestUsage

from tests.quality.readers import read_other
from tests.quality.reading import Reading
from tui_app.context.view import Item, is_system, to_messages
from tui_app.events import CompactionComplete
from tui_app.session.importers import ImportFormatError, import_file

_OURS = ("claude-code", "pydantic-ai", "openai-chat")
"""Formats that are read as the product reads them."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """A place where the other product compacted."""

    index: int
    """Index of the first message after it."""
    summary: str
    kept_from: int
    """Index of the first message that stayed beside the summary; ``index`` when none did."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """One session."""

    name: str
    format: str
    messages: tuple[ModelMessage, ...]
    boundaries: tuple[Boundary, ...] = ()


def read_transcript(path: Path) -> Transcript | None:
    """Read a file with our importers, else with a reader of the report's own; None when nobody knows it.

    Formats that the report has readers of its own for keep them: its published figures were measured so.
    """
    try:
        imported = import_file(path)
    except (ImportFormatError, UnicodeDecodeError):
        imported = None
    if imported is None or imported.format not in _OURS:
        other = read_other(path)
        if imported is None or other is not None:
            return other and _of_reading(path, other)
    read = Reading(imported.format)
    texts = [event.message or "" for event in imported.events]
    parsed = ModelMessagesTypeAdapter.validate_json(f"[{','.join(filter(None, texts))}]")
    messages = iter(parsed)
    for event, text in zip(imported.events, texts, strict=True):
        message = next(messages) if text else None
        if isinstance(event.data, CompactionComplete):
            read.compacted(event.data.summary)
        elif message is not None:
            read.messages.append(message)
    return _of_reading(path, read)


def _of_reading(path: Path, read: Reading) -> Transcript:
    """Join the results of one answer, as a request does; boundaries move along.

    The other program's system prompt is no part of what is compacted, and here another one would stand.
    """
    cuts = sorted(
        {0, len(read.messages), *(place for index, _, kept in read.boundaries for place in (index, kept))}
    )
    messages: list[ModelMessage] = []
    moved: dict[int, int] = {0: 0}
    for start, end in pairwise(cuts):
        messages += _joined([message for message in read.messages[start:end] if not is_system(message)])
        moved[end] = len(messages)
    boundaries = tuple(
        Boundary(moved[index], summary, moved.get(kept, moved[index]))
        for index, summary, kept in read.boundaries
    )
    return Transcript(path.stem, read.format, tuple(messages), boundaries)


def _joined(messages: list[ModelMessage]) -> list[ModelMessage]:
    return to_messages([Item(key, _unreported(message)) for key, message in enumerate(messages, 1)])


def _unreported(message: ModelMessage) -> ModelMessage:
    """What the other program's provider reported was the size of the other program's request."""
    return replace(message, usage=RequestUsage()) if isinstance(message, ModelResponse) else message


def find_files(paths: list[Path]) -> list[Path]:
    """The files among and below some paths, in order of their names."""
    found = [
        file
        for path in paths
        for file in (sorted(path.rglob("*")) if path.is_dir() else [path])
        if file.is_file()
    ]
    return [file for file in found if file.suffix in {".json", ".jsonl", ".traj", ".md"}]
