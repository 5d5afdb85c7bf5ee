"""Prompts of the program, from ``prompts.toml``."""

from collections.abc import Mapping

from tui_app.files import toml_beside

PROMPTS: Mapping[str, str] = toml_beside(__file__, "prompts")


def tagged(tag: str, *parts: str) -> str:
    """A tagged block of a prompt. Its content cannot end the block."""
    inside = (part.replace(f"</{tag}", f"< /{tag}") for part in parts)
    return "\n".join([f"<{tag}>", *inside, f"</{tag}>"])
