"""The read-only file tools as plain functions: they take a workspace, return text, and keep to their bounds.

A line of a file is shown as ``NUMBER<tab>TEXT`` by :func:`read_file` and as ``PATH:NUMBER: TEXT`` by
:func:`grep`. What was left out is said in a last line in square brackets.
"""

import os
from pathlib import Path

from tui_app.agent.tools.patterns import compile_path, expand_braces
from tui_app.agent.tools.search import grep
from tui_app.agent.tools.stop import Stop
from tui_app.agent.tools.text import clip, is_binary, lines_of
from tui_app.agent.tools.walk import WITHHELD, ShowsFile, Walk, shown, shows_all
from tui_app.agent.tools.workspace import ToolProblem, Workspace
from tui_app.context.tool_results.results import byte_count

__all__ = ["glob", "grep", "ls", "read_file"]

MAX_LINES = 1_900
"""Lines one read may return, so that it stays whole on its way to the model."""
MAX_BYTES = 48_000
"""Bytes of UTF-8 one result may hold, for the same reason."""
SHOWN_LINE_CHARS = 2_000
MAX_ENTRIES = 500
"""Names one listing may hold."""


def read_file(ws: Workspace, path: str, start: int = 1, lines: int = 400, *, stop: Stop | None = None) -> str:
    """Return ``lines`` numbered lines of a text file from line ``start`` (counted from 1) on.

    Raises:
        ToolProblem: if there is no such text file, or it ends before ``start``.
        Cancelled: if the turn was cancelled meanwhile.
    """
    real = ws.file(path)
    if is_binary(real):
        size = real.stat().st_size
        raise ToolProblem(f"{ws.display(real)} is a binary file of {size:,} bytes and has no lines to read.")
    first, wanted = max(1, start), min(max(1, lines), MAX_LINES)
    stop = stop or Stop()
    page = _Page(first, wanted)
    for number, text in enumerate(lines_of(real, stop), 1):
        if number >= first and not page.add(number, text):
            break
    if not page.rows and first > 1:
        raise ToolProblem(f"{ws.display(real)} ends before line {first}; start at 1 or lower.")
    if page.more:
        page.rows.append(f"[more lines follow; read on with start={page.next}]")
    elif stop.late():
        page.rows.append("[reading took too long and was stopped here]")
    return "\n".join(page.rows) if page.rows else f"[{ws.display(real)} is empty]"


class _Page:
    """Numbered lines up to both bounds; ``more`` once a line had to be left out."""

    def __init__(self, first: int, wanted: int) -> None:
        self.rows: list[str] = []
        self.more = False
        self.next = first
        self._wanted = wanted
        self._bytes = 0

    def add(self, number: int, text: str) -> bool:
        row = f"{number}\t{clip(text, SHOWN_LINE_CHARS)}"
        size = byte_count(row) + 1
        if len(self.rows) >= self._wanted or self._bytes + size > MAX_BYTES:
            self.more = True
            return False
        self.rows.append(row)
        self._bytes += size
        self.next = number + 1
        return True


def ls(ws: Workspace, path: str = ".", *, shows: ShowsFile = shows_all) -> str:
    """List one folder: folders first and ending in a slash, then files with their size in bytes.

    What must not be shown is counted only.

    Raises:
        ToolProblem: if there is no such folder.
    """
    folder = ws.folder(path)
    try:
        with os.scandir(folder) as found:
            listed = (each for each in found if shown(each) and Path(each.path) not in ws.hidden)
            present = sorted(listed, key=_folders_first)
    except OSError as error:
        raise ToolProblem(f"{ws.display(folder)} cannot be listed: {error.strerror or error}.") from error
    entries = [each for each in present if shows(Path(each.path))]
    rows = [_row(entry) for entry in entries[:MAX_ENTRIES]]
    if len(entries) > MAX_ENTRIES:
        rows.append(f"[{len(entries) - MAX_ENTRIES:,} more entries; narrow them down with glob]")
    if withheld := len(present) - len(entries):
        rows.append(f"[{WITHHELD.format(withheld)}]")
    return "\n".join(rows) if rows else f"[{ws.display(folder)} holds nothing to show]"


def glob(ws: Workspace, pattern: str, *, stop: Stop | None = None, shows: ShowsFile = shows_all) -> str:
    """List the files that fit a pattern such as ``src/**/*.py``; a bare ``*.py`` is looked for at any depth.

    What must not be shown is counted only.

    Raises:
        ToolProblem: if the pattern leads out of the workspace.
        Cancelled: if the turn was cancelled meanwhile.
    """
    base, rest = _split_base(ws, pattern)
    choices = [compile_path(each) for each in expand_braces(rest)]
    walk = Walk(base, stop or Stop(), ws.hidden)
    rows: list[str] = []
    withheld = 0
    for path in walk.files():
        parts = path.relative_to(base).parts
        if not any(choice.matches(parts) for choice in choices):
            continue
        if not shows(path):
            withheld += 1
            continue
        if len(rows) == MAX_ENTRIES:
            walk.cut = f"only the first {MAX_ENTRIES} are listed; narrow the pattern"
            break
        rows.append(ws.display(path))
    if not rows:
        rows.append(f"[no file fits {pattern!r:.200}]")
    if withheld:
        rows.append(f"[{WITHHELD.format(withheld)}]")
    if walk.cut:
        rows.append(f"[{walk.cut}]")
    return "\n".join(rows)


def _split_base(ws: Workspace, pattern: str) -> tuple[Path, str]:
    """Split a pattern into the existing folder it starts from and the part to match below it."""
    parts = [part for part in pattern.replace("\\", "/").split("/") if part not in ("", ".")]
    if not parts:
        raise ToolProblem("The pattern is empty; give one such as '**/*.py'.")
    fixed: list[str] = []
    for part in parts[:-1]:
        if any(mark in part for mark in "*?[{"):
            break
        fixed.append(part)
    start = "/".join(fixed)
    base = ws.folder(f"/{start}" if pattern.startswith("/") else start or ".")
    rest = parts[len(fixed) :]
    return base, "/".join(rest if fixed or len(rest) > 1 else ["**", *rest])


def _folders_first(entry: os.DirEntry[str]) -> tuple[bool, str]:
    return (not entry.is_dir(follow_symlinks=False), entry.name)


def _row(entry: os.DirEntry[str]) -> str:
    name = entry.name.replace("\n", "\\n")
    if entry.is_symlink():
        return f"{name}@"
    if entry.is_dir(follow_symlinks=False):
        return f"{name}/"
    return f"{name}  {entry.stat(follow_symlinks=False).st_size:,} bytes"
