"""What stands behind a category of the context, in words: servers, files, skills."""

from collections.abc import Sequence

from tui_app.conversation.shares import Share
from tui_app.ui.format import tokens
from tui_app.ui.glyphs import Glyphs
from tui_app.ui.safe_text import one_line

_NAMES = {"tools": "tool definitions", "memory": "memory"}
"""The categories as the context screen calls them."""
_LEAST_ROOM = 16
"""Cells without which nothing is said behind a bar."""


def made_of(category: str, shares: Sequence[Share], room: int, glyphs: Glyphs) -> str:
    """What a category is made of, where there is more than one thing and room to say so."""
    parts = [share for share in shares if _NAMES[share.category] == category]
    if room < _LEAST_ROOM or (len(parts) < 2 and all(share.category == "tools" for share in parts)):
        return ""
    said = f" {glyphs.separator} ".join(
        f"{one_line(share.name, 40)} {tokens(share.tokens)}" for share in parts
    )
    return f"  {one_line(said, room - 2)}"


def in_brackets(category: str, shares: Sequence[Share]) -> str:
    """The servers behind the tool definitions; no room for more than their names and sizes."""
    parts = [share for share in shares if _NAMES[share.category] == category and share.category == "tools"]
    if len(parts) < 2:
        return ""
    return f" ({', '.join(f'{one_line(share.name, 16)} {tokens(share.tokens)}' for share in parts[:4])})"
