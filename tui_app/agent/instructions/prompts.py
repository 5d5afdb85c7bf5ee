"""What models are told by the program itself, by the texts beside this file."""

from collections.abc import Mapping

from tui_app.files import toml_beside

PROMPTS: Mapping[str, str] = toml_beside(__file__, "prompts")


def tagged(tag: str, *parts: str) -> str:
    """A block of a prompt that nothing inside can end."""
    inside = (part.replace(f"</{tag}", f"< /{tag}") for part in parts)
    return "\n".join([f"<{tag}>", *inside, f"</{tag}>"])
