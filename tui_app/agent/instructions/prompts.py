"""What models are told by the program itself, by the texts beside this file."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

PROMPTS: Mapping[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def tagged(tag: str, *parts: str) -> str:
    """A block of a prompt that nothing inside can end."""
    inside = (part.replace(f"</{tag}", f"< /{tag}") for part in parts)
    return "\n".join([f"<{tag}>", *inside, f"</{tag}>"])
