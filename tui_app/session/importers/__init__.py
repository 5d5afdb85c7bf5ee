"""Conversations of other programs, read into events for the log.

Nothing in a file is trusted or fatal: what cannot be used is reported with its place and the reason.
"""

from pathlib import Path

from tui_app.session.importers.result import Imported, ImportedEvent, ImportFormatError, SkippedLine
from tui_app.session.importers.source import Source, read_source, shown

__all__ = ["FORMATS", "ImportFormatError", "Imported", "ImportedEvent", "SkippedLine", "import_file"]

FORMATS: tuple[str, ...] = ("claude-code", "pydantic-ai", "openai-chat")
"""Formats that :func:`import_file` reads, beside ``auto``."""


def import_file(path: Path, format: str = "auto") -> Imported:
    """Read a conversation.

    Args:
        path: The file; its name plays no part.
        format: One of :data:`FORMATS`, or ``auto`` to tell it from the content.

    Raises:
        ImportFormatError: if the format is unknown, or the file holds no conversation in it.
        OSError: if the file cannot be read.
    """
    if format not in ("auto", *FORMATS):
        raise ImportFormatError(f"Unknown format {shown(format)}; known are auto, {', '.join(FORMATS)}.")
    source = read_source(path)
    imported = _read(source, _detected(source) if format == "auto" else format)
    if not imported.events:
        reason = f" ({imported.skipped[0].reason})" if imported.skipped else ""
        raise ImportFormatError(f"{path} holds no conversation in the format {imported.format}{reason}.")
    return imported


def _detected(source: Source) -> str:
    from tui_app.session.importers.detect import detect

    if not source.raw.strip():
        raise ImportFormatError(f"{source.path} is empty.")
    if found := detect(source):
        return found
    raise ImportFormatError(f"{source.path} is in no known format; tried {', '.join(FORMATS)}.")


def _read(source: Source, format: str) -> Imported:
    match format:
        case "claude-code":
            from tui_app.session.importers.claude_code import read_claude_code

            return read_claude_code(source)
        case "pydantic-ai":
            from tui_app.session.importers.pydantic_messages import read_pydantic_messages

            return read_pydantic_messages(source)
        case _:
            from tui_app.session.importers.openai_chat import read_openai_chat

            return read_openai_chat(source)
