"""What a person may set about the memory of repositories."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tui_app.settings.rules import Flag, Group, Number, Text


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """The table ``[memory]``, with what is built in."""

    enabled: bool = True
    """Whether anything is remembered by itself and given to new sessions."""
    budget_tokens: int = 1_000
    """Tokens that the board may take of a session's context; 0 gives it to none."""
    min_turns: int = 3
    """Answered prompts from which on a session is worth reading."""
    max_entries: int = 100
    """Entries that may stand on a board."""
    model: str = ""
    """Model that keeps the board; empty is the session's own."""


MEMORY = Group(
    {
        "enabled": Flag(),
        "budget_tokens": Number(0, 100_000, "a whole number of tokens; 0 for none", whole=True),
        "min_turns": Number(1, 10_000, "a whole number of prompts, at least 1", whole=True),
        "max_entries": Number(1, 10_000, "a whole number, at least 1", whole=True),
        "model": Text(r"([\w.-]+:\S.*)?", "provider:name, such as openai:gpt-5-mini or offline:extractive"),
    }
)


def memory_settings(values: Mapping[str, Any]) -> MemorySettings:
    """The table with what it leaves out filled in."""
    return MemorySettings(**values)
