"""Conversations of other programs, read into events for the log.

Nothing in a file is trusted or fatal: what cannot be used is reported with its place and the reason.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from tui_app.records import frozen
from tui_app.session.importers import agents, chat_exports, claude_code, codex, editors
from tui_app.session.importers.aider import is_aider, read_aider
from tui_app.session.importers.claude_code import is_claude_code, read_claude_code
from tui_app.session.importers.codex import is_codex, read_codex
from tui_app.session.importers.copilot_cli import is_copilot_cli, read_copilot_cli
from tui_app.session.importers.event_builder import FIRST_SEQ
from tui_app.session.importers.gemini_cli import is_gemini_cli, read_gemini_cli
from tui_app.session.importers.opencode import is_opencode, read_opencode
from tui_app.session.importers.openhands import is_openhands, read_openhands
from tui_app.session.importers.other_programs import program_of
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
from tui_app.session.importers.shapes import Shape, read_shape
from tui_app.session.importers.source import (
    Imported,
    ImportedEvent,
    ImportFormatError,
    SkippedLine,
    Source,
    read_source,
    shown,
)

__all__ = [
    "FIRST_SEQ",
    "FORMATS",
    "TABLE",
    "ImportFormatError",
    "Imported",
    "ImportedEvent",
    "SkippedLine",
    "import_file",
]


@frozen
class Format:
    """One format."""

    name: str
    title: str
    """What the user calls it."""
    recognises: Callable[[Source], bool]
    """Whether a file's content can only be in this format; asked in the order of the table."""
    read: Callable[[Source], Imported]
    tells_trigger: bool = False
    """Whether its files say why a compaction was made."""
    frame: re.Pattern[str] | None = None
    """What the program itself writes around a summary."""


def _mapped(name: str, title: str, shape: Shape) -> Format:
    """A format that is a map of names; its sign is among those of the programs."""
    return Format(name, title, lambda _: False, partial(read_shape, shape))


TABLE: tuple[Format, ...] = (
    Format("plimsoll", "Plimsoll events", is_own, read_own, tells_trigger=True),
    Format(
        "claude-code",
        "Claude Code",
        is_claude_code,
        read_claude_code,
        tells_trigger=True,
        frame=claude_code.FRAME,
    ),
    Format("codex", "Codex", is_codex, read_codex, frame=codex.FRAME),
    Format("copilot-cli", "Copilot CLI", is_copilot_cli, read_copilot_cli),
    Format("opencode", "OpenCode", is_opencode, read_opencode, tells_trigger=True),
    Format("pi", "pi", is_pi, read_pi),
    Format("gemini-cli", "Gemini CLI", is_gemini_cli, read_gemini_cli),
    Format("swe-agent", "SWE-agent", is_swe_agent, read_swe_agent),
    Format("openhands", "OpenHands", is_openhands, read_openhands),
    Format("pydantic-ai", "pydantic-ai", is_pydantic_ai, read_pydantic_messages),
    Format("langchain", "LangChain", is_langchain, read_langchain),
    Format("inspect-ai", "Inspect", is_inspect_ai, read_inspect_ai),
    Format("openai-chat", "OpenAI chat", is_openai_chat, read_openai_chat),
    Format("aider", "aider", is_aider, read_aider),
    _mapped("amp", "Amp", agents.AMP),
    _mapped("atif", "ATIF", agents.ATIF),
    _mapped("chatgpt", "ChatGPT", chat_exports.CHATGPT),
    _mapped("claude-ai", "Claude.ai", chat_exports.CLAUDE_AI),
    _mapped("cline", "Cline", editors.CLINE),
    _mapped("continue", "Continue", editors.CONTINUE),
    _mapped("cursor", "Cursor", editors.CURSOR),
    _mapped("factory", "Factory", agents.FACTORY),
    _mapped("gemini-api", "Gemini API", agents.GEMINI),
    _mapped("goose", "Goose", agents.GOOSE),
    _mapped("grok", "Grok", agents.GROK),
    _mapped("kimi", "Kimi", agents.KIMI),
    _mapped("librechat", "LibreChat", chat_exports.LIBRECHAT),
    _mapped("open-webui", "Open WebUI", chat_exports.OPEN_WEBUI),
    _mapped("qwen-code", "Qwen Code", agents.QWEN),
    _mapped("vibe", "Vibe", agents.VIBE),
    _mapped("zed", "Zed", editors.ZED),
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
        program = "" if is_own(source) else program_of(source)
        if program and program not in FORMATS:
            raise ImportFormatError(
                f"{source.path} is of {program}, whose conversations cannot be imported; "
                f"those of these can: {', '.join(FORMATS)}."
            )
        found = next(
            (each for each in TABLE if (each.name == program if program else each.recognises(source))), None
        )
        if found is None:
            raise ImportFormatError(f"{source.path} has no known format; tried {', '.join(FORMATS)}.")
    else:
        found = next(each for each in TABLE if each.name == format)
    imported = replace(found.read(source), format=found.name)
    if source.cut is not None:
        imported = replace(imported, skipped=(*imported.skipped, source.cut))
    if not imported.events:
        reason = f" ({imported.skipped[0].reason})" if imported.skipped else ""
        raise ImportFormatError(f"{path} has no conversation in the format {imported.format}{reason}.")
    return imported
