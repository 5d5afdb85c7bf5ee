"""What stands behind a category of the context, in words: servers, files, skills."""

from collections.abc import Sequence

from textual.content import Content

from tui_app.conversation.message_actions import Share
from tui_app.ui.format import tokens
from tui_app.ui.safe_text import one_line

_NAMES = {"tools": "tool definitions", "memory": "memory"}
"""The categories as the context screen calls them."""
_NAME_CELLS = 15
_MOST = 6
"""Rows for one category at most."""


def made_of(category: str, shares: Sequence[Share]) -> list[str]:
    """Rows below a category: what it is made of, where that is more than the program's own tools."""
    parts = [share for share in shares if _NAMES[share.category] == category]
    if len(parts) < 2 and all(share.category == "tools" for share in parts):
        return []
    most = len(parts) if len(parts) <= _MOST else _MOST - 1
    rows = [f"  {_cells(share.name)}{share.tokens:>11,}" for share in parts[:most]]
    rest = parts[most:]
    if rest:
        rows.append(f"  {_cells(f'{len(rest)} more')}{sum(share.tokens for share in rest):>11,}")
    return rows


def _cells(name: str) -> str:
    shown = one_line(name, _NAME_CELLS)
    return shown + " " * (_NAME_CELLS - Content(shown).cell_length)


def in_brackets(category: str, shares: Sequence[Share]) -> str:
    """The servers behind the tool definitions; no room for more than their names and sizes."""
    parts = [share for share in shares if _NAMES[share.category] == category and share.category == "tools"]
    if len(parts) < 2:
        return ""
    return f" ({', '.join(f'{one_line(share.name, 16)} {tokens(share.tokens)}' for share in parts[:4])})"
