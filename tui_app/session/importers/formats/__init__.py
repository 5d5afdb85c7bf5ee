"""Formats of other programs' conversations, one file per format.

No file is trusted, and none causes a crash: whatever cannot be used is reported with its place and the
reason.
"""

from dataclasses import replace
from importlib import import_module
from itertools import islice
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from tui_app.session.importers.books import FIRST_SEQ as FIRST_SEQ
from tui_app.session.importers.books import Imported as Imported
from tui_app.session.importers.books import ImportedEvent as ImportedEvent
from tui_app.session.importers.books import compacted
from tui_app.session.importers.message_lists import find_messages, is_role_message
from tui_app.session.importers.other_programs import database_of, program_of
from tui_app.session.importers.reader import Reader
from tui_app.session.importers.shape import Shape
from tui_app.session.importers.source import ImportFormatError as ImportFormatError
from tui_app.session.importers.source import Json, Source, read_source, shown
from tui_app.session.importers.source import SkippedLine as SkippedLine
from tui_app.session.importers.values import meets

_LOOKED_AT = 1_000
"""Number of records in which the signs are looked for."""


def _shapes() -> list[Shape]:
    names = [f"{__name__}.{module.name}" for module in iter_modules(__path__)]
    return [each for name in names for each in vars(import_module(name)).values() if isinstance(each, Shape)]


TABLE: tuple[Shape, ...] = tuple(sorted(_shapes(), key=lambda shape: (shape.is_last, shape.name)))
"""Every format: each file in this folder defines a shape. Those that others resemble come last."""

FORMATS: tuple[str, ...] = tuple(each.name for each in TABLE)
"""Formats that :func:`import_file` reads, in addition to ``auto``."""


def import_file(path: Path, format: str = "auto", *, summary: str = "") -> Imported:
    """Import a conversation.

    Args:
        path: The file; its name does not matter. ``FILE#SESSION`` names a session in a database.
        format: One of :data:`FORMATS`, or ``auto`` to detect it from the content.
        summary: Summary of a compaction added at the end, which replaces everything; empty for none.

    Raises:
        ImportFormatError: if the format is unknown, or the file has no conversation in it.
        OSError: if the file cannot be read.
    """
    if format not in ("auto", *FORMATS):
        raise ImportFormatError(f"Unknown format {shown(format)}; known are auto, {', '.join(FORMATS)}.")
    source = read_source(path)
    if format == "auto":
        imported = _of_any(source)
    else:
        imported = _read(source, next(each for each in TABLE if each.name == format))
    if source.cut is not None:
        imported = replace(imported, skipped=(*imported.skipped, source.cut))
    if not imported.events:
        reason = f" ({imported.skipped[0].reason})" if imported.skipped else ""
        raise ImportFormatError(f"{path} has no conversation in the format {imported.format}{reason}.")
    return replace(imported, events=compacted(imported.events, summary)) if summary else imported


def _read(source: Source, shape: Shape) -> Imported:
    return replace(Reader(source, shape).read(), format=shape.name)


def _of_any(source: Source) -> Imported:
    """Import a file in the format that understands most of it.

    Raises:
        ImportFormatError: if no format understands half of it, or an unsupported program wrote it.
    """
    if not source.raw.strip():
        raise ImportFormatError(f"{source.path} is empty.")
    shapes, refused = formats_of(source)
    if refused:
        raise ImportFormatError(
            f"{source.path} is of {refused}, whose conversations cannot be imported; "
            f"those of these can: {', '.join(FORMATS)}."
        )
    if not shapes:
        raise ImportFormatError(f"{source.path} has no known format; tried {', '.join(FORMATS)}.")
    imports: list[Imported] = []
    for is_last in (False, True):
        imports += [_read(source, shape) for shape in shapes if shape.is_last is is_last]
        best = min(imports, key=lambda each: len({skipped.line for skipped in each.skipped}), default=None)
        if best is not None and 2 * best.unknown <= best.read:
            return best
    best = imports[0] if best is None else best
    program = next(shape.program for shape in shapes if shape.name == best.format)
    raise ImportFormatError(
        f"{source.path} looks like {program}, but {best.unknown:,} of its {best.read:,} records do not "
        f"({best.skipped[0].reason}). To import the others, name it: --format {best.format}"
    )


def formats_of(source: Source) -> tuple[list[Shape], str]:
    """Return the formats that a file may have, or the unsupported program that wrote it."""
    if source.is_database:
        stored = [each for each in TABLE if each.store and each.store.fits(source.path)]
        return stored, "" if stored else database_of(source.path)
    records = _records(source)
    fitting = [each for each in TABLE if _fits(each, source, records)]
    refused = "" if fitting and not fitting[0].is_last else program_of(source, records)
    return fitting, refused


def _records(source: Source) -> list[Json]:
    value = source.value
    found = find_messages(value, is_role_message)
    records: list[Any] = value[:_LOOKED_AT] if isinstance(value, list) else [value]
    records += islice(found.messages if found else (), _LOOKED_AT)
    return [record for record in records if isinstance(record, dict)]


def _fits(shape: Shape, source: Source, records: list[Json]) -> bool:
    if any(meets(record, sign) for sign in shape.signs for record in records) or shape.fits(source):
        return True
    return shape.is_message is not None and find_messages(source.value, shape.is_message) is not None
