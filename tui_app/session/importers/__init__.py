"""Conversations of other programs, read into events for the log.

Nothing in a file is trusted or fatal: what cannot be used is reported with its place and the reason.
"""

from dataclasses import replace
from pathlib import Path

from tui_app.session.importers.formats import TABLE, Format, detect, format_named
from tui_app.session.importers.source import (
    Imported,
    ImportedEvent,
    ImportFormatError,
    SkippedLine,
    Source,
    read_source,
    shown,
)

__all__ = ["FORMATS", "ImportFormatError", "Imported", "ImportedEvent", "SkippedLine", "import_file"]

FORMATS: tuple[str, ...] = tuple(each.name for each in TABLE)
"""Formats that :func:`import_file` reads, beside ``auto``."""


def import_file(path: Path, format: str = "auto") -> Imported:
    """Read a conversation.

    Args:
        path: The file; its name plays no part. ``FILE#SESSION`` names a session in a database.
        format: One of :data:`FORMATS`, or ``auto`` to tell it from the content.

    Raises:
        ImportFormatError: if the format is unknown, or the file holds no conversation in it.
        OSError: if the file cannot be read.
    """
    if format not in ("auto", *FORMATS):
        raise ImportFormatError(f"Unknown format {shown(format)}; known are auto, {', '.join(FORMATS)}.")
    source = read_source(path)
    imported = (format_named(format) or _detected(source)).read(source)
    if source.cut is not None:
        imported = replace(imported, skipped=(*imported.skipped, source.cut))
    if not imported.events:
        reason = f" ({imported.skipped[0].reason})" if imported.skipped else ""
        raise ImportFormatError(f"{path} holds no conversation in the format {imported.format}{reason}.")
    return imported


def _detected(source: Source) -> Format:
    if not source.raw.strip():
        raise ImportFormatError(f"{source.path} is empty.")
    if found := detect(source):
        return found
    raise ImportFormatError(f"{source.path} is in no known format; tried {', '.join(FORMATS)}.")
