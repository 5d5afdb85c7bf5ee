"""What a person may set about sub-agents."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tui_app.settings.rules import Flag, Group, Number, Text


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreSettings:
    """The table ``[explore]``, with what is built in."""

    enabled: bool = True
    """Whether the model may send sub-agents out."""
    model: str = ""
    """Model of sub-agents; empty is the session's own."""
    max_steps: int = 20
    """Model requests that one of them may make."""
    max_tokens: int = 500_000
    """Tokens that one of them may read and write, over all its requests."""


EXPLORE = Group(
    {
        "enabled": Flag(),
        "model": Text(r"([\w.-]+:\S.*)?", "provider:name, such as openai:gpt-5-mini or offline:extractive"),
        "max_steps": Number(1, 1_000, "a whole number of requests, at least 1", whole=True),
        "max_tokens": Number(1_000, 1_000_000_000, "a whole number of tokens, at least 1000", whole=True),
    }
)


def explore_settings(values: Mapping[str, Any]) -> ExploreSettings:
    """The table with what it leaves out filled in."""
    return ExploreSettings(**values)
