"""Conversations of other programs, read into events for the log.

Nothing in a file is trusted or fatal: what cannot be used is reported with its place and the reason.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tui_app.session.importers.aider import is_aider, read_aider
from tui_app.session.importers.claude_code import is_claude_code, read_claude_code
from tui_app.session.importers.codex import is_codex, read_codex
from tui_app.session.importers.copilot_cli import is_copilot_cli, read_copilot_cli
from tui_app.session.importers.gemini_cli import is_gemini_cli, read_gemini_cli
from tui_app.session.importers.opencode import is_opencode, read_opencode
from tui_app.session.importers.openhands import is_openhands, read_openhands
from tui_app.session.importers.other_programs import other_program
from tui_app.session.importers.own_events import is_own, read_own
from tui_app.session.importers.pi_agent import is_pi, read_pi
from tui_app.session.importers.pydantic_messages import is_pydantic_ai, read_pydantic_messages
from tui_app.session.importers.role_messages import (
    is_inspect_ai,
    is_langchain,
    is_openai_chat,
    is_swe_agent,
    read_inspect_ai,
    read_langchain,
    read_openai_chat,
    read_swe_agent,
)
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


@dataclass(frozen=True, slots=True)
class Format:
    """One format."""

    name: str
    title: str
    """What the user calls it."""
    recognises: Callable[[Source], bool]
    """Whether a file's content can only be in this format; asked in the order of the table."""
    read: Callable[[Source], Imported]


TABLE: tuple[Format, ...] = (
    Format("plimsoll", "Plimsoll events", is_own, read_own),
    Format("claude-code", "Claude Code", is_claude_code, read_claude_code),
    Format("codex", "Codex", is_codex, read_codex),
    Format("copilot-cli", "Copilot CLI", is_copilot_cli, read_copilot_cli),
    Format("opencode", "OpenCode", is_opencode, read_opencode),
    Format("pi", "pi", is_pi, read_pi),
    Format("gemini-cli", "Gemini CLI", is_gemini_cli, read_gemini_cli),
    Format("swe-agent", "SWE-agent", is_swe_agent, read_swe_agent),
    Format("openhands", "OpenHands", is_openhands, read_openhands),
    Format("pydantic-ai", "pydantic-ai", is_pydantic_ai, read_pydantic_messages),
    Format("langchain", "LangChain", is_langchain, read_langchain),
    Format("inspect-ai", "Inspect", is_inspect_ai, read_inspect_ai),
    Format("openai-chat", "OpenAI chat", is_openai_chat, read_openai_chat),
    Format("aider", "aider", is_aider, read_aider),
)
"""Every format. Those whose records look alike stand in the order that tells them apart."""

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
    if format == "auto":
        if not source.raw.strip():
            raise ImportFormatError(f"{source.path} is empty.")
        if not is_own(source) and (program := other_program(source)):
            raise ImportFormatError(
                f"{source.path} is of {program}, whose conversations cannot be imported; "
                f"those of these can: {', '.join(FORMATS)}."
            )
        found = next((each for each in TABLE if each.recognises(source)), None)
        if found is None:
            raise ImportFormatError(f"{source.path} is in no known format; tried {', '.join(FORMATS)}.")
    else:
        found = next(each for each in TABLE if each.name == format)
    imported = replace(found.read(source), format=found.name)
    if source.cut is not None:
        imported = replace(imported, skipped=(*imported.skipped, source.cut))
    if not imported.events:
        reason = f" ({imported.skipped[0].reason})" if imported.skipped else ""
        raise ImportFormatError(f"{path} holds no conversation in the format {imported.format}{reason}.")
    return imported
