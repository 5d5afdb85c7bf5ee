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
from tui_app.session.importers.aider import aider_place, is_aider, read_aider
from tui_app.session.importers.claude_code import is_claude_code, read_claude_code
from tui_app.session.importers.codex import is_codex, read_codex
from tui_app.session.importers.copilot_cli import is_copilot_cli, read_copilot_cli
from tui_app.session.importers.event_builder import FIRST_SEQ
from tui_app.session.importers.gemini_cli import is_gemini_cli, read_gemini_cli
from tui_app.session.importers.opencode import is_opencode, opencode_place, read_opencode
from tui_app.session.importers.openhands import is_openhands, read_openhands
from tui_app.session.importers.other_programs import program_of
from tui_app.session.importers.own_events import is_own, read_own
from tui_app.session.importers.pi_agent import is_pi, read_pi
from tui_app.session.importers.places import Place, files_in
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
    shape: Shape | None = None
    """Of a format that is a map of names."""
    places: tuple[Place, ...] = ()
    """Where its transcripts are found."""


SHAPES = sorted(
    (
        each
        for file in (agents, chat_exports, editors)
        for each in vars(file).values()
        if isinstance(each, Shape)
    ),
    key=lambda shape: shape.name,
)
"""The formats that are a map of names."""


TABLE: tuple[Format, ...] = (
    Format("plimsoll", "Plimsoll events", is_own, read_own, tells_trigger=True),
    Format(
        "claude-code",
        "Claude Code",
        is_claude_code,
        read_claude_code,
        tells_trigger=True,
        frame=claude_code.FRAME,
        places=(claude_code.claude_code_place,),
    ),
    Format(
        "codex",
        "Codex",
        is_codex,
        read_codex,
        frame=codex.FRAME,
        places=(
            files_in(
                "CODEX_HOME",
                ".codex",
                "sessions/**/rollout-*.jsonl",
                "archived_sessions/**/rollout-*.jsonl",
            ),
        ),
    ),
    Format(
        "copilot-cli",
        "Copilot CLI",
        is_copilot_cli,
        read_copilot_cli,
        places=(
            files_in("COPILOT_HOME", ".copilot", "session-state/*/events.jsonl", "session-state/*.jsonl"),
        ),
    ),
    Format("opencode", "OpenCode", is_opencode, read_opencode, tells_trigger=True, places=(opencode_place,)),
    Format(
        "pi",
        "pi",
        is_pi,
        read_pi,
        places=(files_in("PI_CODING_AGENT_DIR", ".pi/agent", "sessions/**/*.jsonl"),),
    ),
    Format(
        "gemini-cli",
        "Gemini CLI",
        is_gemini_cli,
        read_gemini_cli,
        places=(
            files_in(
                "GEMINI_CLI_HOME",
                "",
                ".gemini/tmp/*/chats/session-*.json",
                ".gemini/tmp/*/chats/session-*.jsonl",
            ),
        ),
    ),
    Format("swe-agent", "SWE-agent", is_swe_agent, read_swe_agent),
    Format("openhands", "OpenHands", is_openhands, read_openhands),
    Format("pydantic-ai", "pydantic-ai", is_pydantic_ai, read_pydantic_messages),
    Format("langchain", "LangChain", is_langchain, read_langchain),
    Format("inspect-ai", "Inspect", is_inspect_ai, read_inspect_ai),
    Format("openai-chat", "OpenAI chat", is_openai_chat, read_openai_chat),
    Format("aider", "aider", is_aider, read_aider, places=(aider_place,)),
    # Those that are a map of names are known by the sign of their program.
    *(
        Format(
            each.name,
            each.program,
            lambda _: False,
            partial(read_shape, each),
            shape=each,
            places=each.places,
        )
        for each in SHAPES
    ),
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
        program = "" if is_own(source) else program_of(source, SHAPES)
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
