"""``grep``: a regular expression over the lines of a workspace, safe against hostile expressions.

Python's own ``re`` cannot be interrupted and holds the interpreter lock while it backtracks, which would
freeze the screen as well. The ``regex`` package takes a timeout and gives the lock up, so it is used here.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import regex

from tui_app.agent.tools.stop import Stop
from tui_app.agent.tools.text import clip, is_binary, lines_of
from tui_app.agent.tools.walk import WITHHELD, ShowsFile, Walk, shows_all
from tui_app.agent.tools.workspace import ToolProblem, Workspace
from tui_app.context.tool_results.results import byte_count

MAX_FILE_BYTES = 5 * 1024 * 1024
"""Larger files are passed over unless they are named."""
MAX_HITS = 1_000
MAX_BYTES = 48_000
"""Bytes of UTF-8 one result may hold, so that it stays whole on its way to the model."""
MATCHED_CHARS = 2_000
"""How much of a line the expression is tried on."""
SHOWN_CHARS = 400
_MATCH_S = 2.0
"""Seconds one line may keep the expression busy."""
_MAX_PATTERN = 1_000

Matcher = Callable[[str], bool]


def grep(
    ws: Workspace,
    pattern: str,
    path: str = ".",
    ignore_case: bool = False,
    limit: int = 200,
    *,
    stop: Stop | None = None,
    shows: ShowsFile = shows_all,
) -> str:
    """Return the lines that a regular expression matches, as ``PATH:NUMBER: TEXT``.

    Files below a folder that must not be shown are passed over; a file that is named is not judged again.

    Raises:
        ToolProblem: if the expression is wrong or too slow, or the path is not in the workspace.
        Cancelled: if the turn was cancelled meanwhile.
    """
    stop = stop or Stop()
    matches = _matcher(pattern, ignore_case, stop)
    real = ws.resolve(path)
    walk = Walk(real, stop, ws.hidden)
    found = _Hits(limit=min(max(1, limit), MAX_HITS))
    files: Iterable[Path] = walk.files() if real.is_dir() else [ws.file(path)]
    for file in files:
        if file != real and not shows(file):
            found.withheld += 1
            continue
        if not _searchable(file, named=file == real, found=found):
            continue
        found.files += 1
        rows = _hits_in(file, ws.display(file), matches, stop)
        if not all(found.add(row) for row in rows):
            break
    return found.render(pattern, walk.cut or ("the search ran out of time" if stop.late() else ""))


@dataclass(slots=True)
class _Hits:
    limit: int
    rows: list[str] = field(default_factory=list)
    files: int = 0
    large: int = 0
    withheld: int = 0
    bytes: int = 0
    more: bool = False

    def add(self, row: str) -> bool:
        size = byte_count(row) + 1
        if len(self.rows) >= self.limit or self.bytes + size > MAX_BYTES:
            self.more = True
            return False
        self.rows.append(row)
        self.bytes += size
        return True

    def render(self, pattern: str, cut: str) -> str:
        rows = self.rows or [f"[no line matches {pattern!r:.200} in {self.files:,} files]"]
        notes = [
            "more hits exist: narrow the pattern or the path" if self.more else "",
            f"{self.large:,} files over 5 MB were passed over" if self.large else "",
            WITHHELD.format(self.withheld) if self.withheld else "",
            cut,
        ]
        return "\n".join([*rows, *(f"[{note}]" for note in notes if note)])


def _hits_in(file: Path, name: str, matches: Matcher, stop: Stop) -> Iterator[str]:
    for number, text in enumerate(lines_of(file, stop), 1):
        if matches(text[:MATCHED_CHARS]):
            yield f"{name}:{number}: {clip(text, SHOWN_CHARS)}"


def _searchable(file: Path, *, named: bool, found: _Hits) -> bool:
    """Whether to look into a file; an unreadable one counts as absent unless it was asked for by name."""
    try:
        if not named and file.stat().st_size > MAX_FILE_BYTES:
            found.large += 1
            return False
        return not is_binary(file)
    except (OSError, ToolProblem):
        if named:
            raise
        return False


def _matcher(pattern: str, ignore_case: bool, stop: Stop) -> Matcher:
    if not pattern or len(pattern) > _MAX_PATTERN:
        raise ToolProblem(f"Give a pattern of 1 to {_MAX_PATTERN:,} characters.")
    try:
        compiled = regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
    except regex.error as error:
        raise ToolProblem(
            f"{pattern!r:.200} is not a regular expression ({error}); put a backslash before"
            " ( [ { . * + ? to search for the character itself."
        ) from error

    def matches(text: str) -> bool:
        try:
            return compiled.search(text, timeout=_MATCH_S, concurrent=True) is not None
        except TimeoutError as error:
            stop.late()
            raise ToolProblem(
                f"{pattern!r:.200} takes too long on a line; use a simpler expression."
            ) from error

    return matches
