"""The read-only file tools as plain functions, which take a workspace and return bounded text.

A line of a file is shown as ``NUMBER<tab>TEXT`` by :func:`read_file` and as ``PATH:NUMBER: TEXT`` by
:func:`grep`. A last line in square brackets describes what was left out.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import regex

from tui_app.agent.instructions.path_patterns import (
    IgnoreRule,
    compile_path,
    expand_braces,
    parse_ignore,
    verdict,
)
from tui_app.agent.tools.commands import Stop
from tui_app.agent.tools.workspace import ToolProblem, Workspace, open_regular, readable_name
from tui_app.context.tool_results.cuts import byte_count
from tui_app.records import frozen
from tui_app.system.descriptors import open_folder
from tui_app.system.pictures import LARGEST_FILE, Picture, UnusablePicture, fitted, image_type
from tui_app.tool_specs import GLOB

LINE_BYTES = 8192
"""Bytes kept of one line; the rest of a longer line is skipped."""
CUT_MARK = " …[line cut]"
"""End of a line that a tool shows only in part."""
NOTHING_LISTED = "has nothing to show]"
"""End of the listing of an empty folder."""
_SNIFFED_BYTES = 8192


def _lines_in(file: BinaryIO, stop: Stop, kept: int = LINE_BYTES) -> Iterator[str]:
    r"""Yield the lines of a file without their line ends; only ``\n`` and ``\r\n`` end a line, as in editors.

    Bytes that are not UTF-8 become replacement characters. Ends early once ``stop`` is late.

    Raises:
        Cancelled: if the turn was cancelled meanwhile.
    """
    number = 0
    while raw := file.readline(kept):
        number += 1
        tail = raw
        while not tail.endswith(b"\n") and (tail := file.readline(1 << 20)):
            if stop.late():
                return
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8", "replace")
        yield text.rstrip("\n").removesuffix("\r")
        # After each line, because processing one may take longer than reading a thousand.
        if stop.late():
            return


def clip(text: str, limit: int) -> str:
    """Cut a line to ``limit`` characters, with a mark."""
    return text if len(text) <= limit else text[:limit] + CUT_MARK


MAX_FILES = 50_000
"""Maximum files in one walk; a larger tree is reported as cut."""
ShowsFile = Callable[[Path], bool]
"""Whether a tool may show anything of a resolved path it found."""
_IGNORE_FILE_BYTES = 256 * 1024

_SKIPPED_NAMES = frozenset(
    {
        ".git", ".hg", ".svn", ".jj", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".nox",
        ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".idea", ".gradle", ".terraform",
        "site-packages", ".DS_Store",
    }
)  # fmt: skip


@dataclass(slots=True)
class Walk:
    """One pass over a folder. ``cut`` tells why it ended early; it is empty if it saw everything."""

    top: Path
    stop: Stop
    hidden: Collection[Path] = ()
    """Folders and files to skip."""
    cut: str = ""
    seen: int = 0

    def files(self) -> Iterator[Path]:
        """Yield regular files in a stable order: those of a folder first, then its subfolders by name.

        Links are not followed, so a walk can neither leave the workspace nor loop.

        Raises:
            Cancelled: if the turn was cancelled meanwhile.
        """
        waiting: list[tuple[Path, tuple[_Rules, ...]]] = [(self.top, ())]
        while waiting:
            folder, above = waiting.pop()
            if self._ended():
                return
            rules = (*above, *_own_rules(folder))
            files, folders = _listing(folder, rules)
            for path in files:
                if path in self.hidden:
                    continue
                self.seen += 1
                if self._ended():
                    return
                yield path
            waiting.extend((path, rules) for path in reversed(folders) if path not in self.hidden)

    def _ended(self) -> bool:
        if self.stop.late():
            self.cut = "the search ran out of time"
        elif self.seen > MAX_FILES:
            self.cut = f"only the first {MAX_FILES:,} files were searched"
        return bool(self.cut)


@frozen
class _Rules:
    folder: Path
    rules: tuple[IgnoreRule, ...]


def shows_all(_path: Path) -> bool:
    """Show every file."""
    return True


def shown(entry: os.DirEntry[str], folder: int) -> bool:
    """Whether an entry of an open folder belongs to the project itself rather than to tools."""
    if entry.name in _SKIPPED_NAMES:
        return False
    if not entry.is_dir(follow_symlinks=False):
        return True
    try:
        os.stat(f"{entry.name}/pyvenv.cfg", dir_fd=folder, follow_symlinks=False)
    except OSError:
        return True
    return False


def _listing(folder: Path, rules: tuple[_Rules, ...]) -> tuple[list[Path], list[Path]]:
    files: list[Path] = []
    folders: list[Path] = []
    try:
        with open_folder(folder) as opened, os.scandir(opened) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                is_folder = entry.is_dir(follow_symlinks=False)
                path = folder / entry.name
                if not shown(entry, opened) or _is_ignored(path, rules, is_folder=is_folder):
                    continue
                if is_folder:
                    folders.append(path)
                elif entry.is_file(follow_symlinks=False):
                    files.append(path)
    except OSError:
        return files, folders  # unreadable or just deleted: the rest of the tree still counts
    return files, folders


def is_part(root: Path, folder: Path) -> bool:
    """Whether a folder is part of a project: not ignored by git, not made by tools, no repository of its own.

    Args:
        root: The root of the project's repository.
        folder: Below it.
    """
    rules: tuple[_Rules, ...] = ()
    at = root
    for part in folder.relative_to(root).parts:
        rules = (*rules, *_own_rules(at))
        at = at / part
        made = part in _SKIPPED_NAMES or any((at / name).exists() for name in (".git", "pyvenv.cfg"))
        if made or _is_ignored(at, rules, is_folder=True):
            return False
    return True


def _is_ignored(path: Path, rules: tuple[_Rules, ...], *, is_folder: bool) -> bool:
    parts = ((level.rules, path.relative_to(level.folder).parts) for level in reversed(rules))
    verdicts = (verdict(own, inside, is_folder) for own, inside in parts)
    return next((each for each in verdicts if each is not None), False)


def _own_rules(folder: Path) -> tuple[_Rules, ...]:
    try:
        with open_regular(folder / ".gitignore") as file:
            text = file.read(_IGNORE_FILE_BYTES).decode("utf-8", "replace")
    except (OSError, ToolProblem):
        return ()
    rules = parse_ignore(text)
    return (_Rules(folder, rules),) if rules else ()


MAX_FILE_BYTES = 5 * 1024 * 1024
"""Larger files are skipped unless they are named."""
MAX_HITS = 1_000
MAX_BYTES = 48_000
"""Maximum UTF-8 bytes of one result, so that it reaches the model whole."""
MATCHED_BYTES = 1 << 20
"""Bytes of a line in which a match is searched: histories and logs have whole files in one line."""
_ALWAYS_MATCHED = 2_000
"""An expression that is slow on this many characters is refused."""
SHOWN_CHARS = 400
_SHOWN_BEFORE = 100
"""Characters shown before a match far into a long line."""
_MATCH_S = 1.0
"""Maximum seconds for matching one line."""
_MAX_PATTERN = 1_000

Matcher = Callable[[str], int | None]
"""Returns the position of a match in a line."""


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

    Files below a folder that must not be shown are skipped; a named file is not checked again.

    Raises:
        ToolProblem: if the expression is invalid or too slow, or the path is not in the workspace.
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
        try:
            opened = open_regular(file)
        except ToolProblem:
            if file == real:
                raise
            continue  # an unreadable file counts as absent
        with opened:
            if _searchable(opened, named=file == real, found=found):
                found.files += 1
                rows = _hits_in(opened, ws.display(file), matches, stop, found)
                if not all(found.add(row) for row in rows):
                    break
    return found.render(pattern, walk.cut or ("the search ran out of time" if stop.late() else ""))


@dataclass(slots=True)
class _Rows:
    """Rows up to both limits of a result."""

    limit: int
    rows: list[str] = field(default_factory=list)
    bytes: int = 0
    more: bool = False
    """Whether one had to be left out."""

    def add(self, row: str) -> bool:
        self.bytes += byte_count(row) + 1
        self.more = len(self.rows) >= self.limit or self.bytes > MAX_BYTES
        if not self.more:
            self.rows.append(row)
        return not self.more


@dataclass(slots=True)
class _Hits(_Rows):
    files: int = 0
    large: int = 0
    long: int = 0
    """Lines whose end was not searched."""
    withheld: int = 0

    def render(self, pattern: str, cut: str) -> str:
        return _noted(
            self.rows or [f"[no line matches {pattern!r:.200} in {self.files:,} files]"],
            "more hits exist: narrow the pattern or the path" if self.more else "",
            f"{self.large:,} files over 5 MB were skipped" if self.large else "",
            f"the end of {self.long:,} long lines was not searched" if self.long else "",
            _skipped_text(self.withheld),
            cut,
        )


def _noted(rows: Iterable[str], *notes: str) -> str:
    return "\n".join([*rows, *(f"[{note}]" for note in notes if note)])


def _skipped_text(files: int) -> str:
    return f"files left out by rules of the user: {files:,}; name one to ask for it" if files else ""


def _hits_in(file: BinaryIO, name: str, matches: Matcher, stop: Stop, found: _Hits) -> Iterator[str]:
    for number, text in enumerate(_lines_in(file, stop, MATCHED_BYTES), 1):
        try:
            at = matches(text)
            # The last character may have been split.
            partly = len(text) > _ALWAYS_MATCHED and len(text.encode()) >= MATCHED_BYTES - 3
        except ToolProblem:
            if len(text) <= _ALWAYS_MATCHED:
                raise
            at, partly = matches(text[:_ALWAYS_MATCHED]), True
        if at is None:
            found.long += partly
        else:
            begin = max(0, at - _SHOWN_BEFORE) if at > SHOWN_CHARS - _SHOWN_BEFORE else 0
            cut = f"[{begin:,} characters] …" if begin else ""
            yield f"{name}:{number}: {cut}{clip(text[begin:], SHOWN_CHARS)}"


def _searchable(file: BinaryIO, *, named: bool, found: _Hits) -> bool:
    """Whether to search a file: not if it is large, unless it was named, or if it is binary."""
    if not named and os.fstat(file.fileno()).st_size > MAX_FILE_BYTES:
        found.large += 1
        return False
    return not _is_binary(file)


def _is_binary(file: BinaryIO) -> bool:
    found = b"\0" in file.read(_SNIFFED_BYTES)
    file.seek(0)
    return found


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

    def matches(text: str) -> int | None:
        try:
            left = min(_MATCH_S, max(0.01, stop.remaining_s))
            match = compiled.search(text, timeout=left, concurrent=True)
            return None if match is None else int(match.start())
        except TimeoutError as error:
            if stop.late():
                return None
            raise ToolProblem(
                f"{pattern!r:.200} takes too long on a line; use a simpler expression."
            ) from error

    return matches


MAX_LINES = 1_900
"""Maximum lines of one read, so that the result reaches the model whole."""
SHOWN_LINE_CHARS = 2_000
MAX_ENTRIES = 500
"""Maximum names of one listing."""


def read_picture(ws: Workspace, path: str) -> Picture | None:
    """A picture in the form sent to a model; None for a file that is none.

    Raises:
        ToolProblem: if there is no such file, or it is damaged or too large.
    """
    real = ws.file(path)
    with open_regular(real) as file:
        data = file.read(_SNIFFED_BYTES)
        if not image_type(data):
            return None
        data += file.read(LARGEST_FILE + 1 - len(data))
    name = ws.display(real)
    if len(data) > LARGEST_FILE:
        raise ToolProblem(f"{name} is a picture of more than {LARGEST_FILE:,} bytes; scale it down first.")
    try:
        return fitted(data)
    except UnusablePicture as unusable:
        raise ToolProblem(f"{name} cannot be shown: {unusable}.") from unusable


def read_file(ws: Workspace, path: str, start: int = 1, lines: int = 400, *, stop: Stop | None = None) -> str:
    """Return ``lines`` numbered lines of a text file from line ``start`` (counted from 1) on.

    Raises:
        ToolProblem: if there is no such text file, or it ends before ``start``.
        Cancelled: if the turn was cancelled meanwhile.
    """
    real = ws.file(path)
    name = ws.display(real)
    first, stop = max(1, start), stop or Stop()
    page = _Rows(min(max(1, lines), MAX_LINES))
    with open_regular(real) as file:
        if _is_binary(file):
            size = os.fstat(file.fileno()).st_size
            raise ToolProblem(f"{name} is a binary file of {size:,} bytes and has no lines to read.")
        for number, text in enumerate(_lines_in(file, stop), 1):
            if number >= first and not page.add(f"{number}\t{clip(text, SHOWN_LINE_CHARS)}"):
                break
    if not page.rows and first > 1:
        raise ToolProblem(f"{name} ends before line {first}; start at 1 or lower.")
    end = "reading took too long and was stopped here" if stop.late() else ""
    more = f"more lines follow; read on with start={first + len(page.rows)}" if page.more else end
    return _noted(page.rows, more) or f"[{name} is empty]"


def ls(ws: Workspace, path: str = ".", *, shows: ShowsFile = shows_all) -> str:
    """List one folder: folders first and ending in a slash, then files with their size in bytes.

    Entries that must not be shown are only counted.

    Raises:
        ToolProblem: if there is no such folder.
    """
    folder, hidden = ws.folder(path), ws.hidden
    try:
        with open_folder(folder) as opened, os.scandir(opened) as found:
            listed = (each for each in found if shown(each, opened) and folder / each.name not in hidden)
            present = sorted(listed, key=lambda each: (not each.is_dir(follow_symlinks=False), each.name))
            entries = [each for each in present if shows(folder / each.name)]
            rows = [_row(entry) for entry in entries[:MAX_ENTRIES]]
    except OSError as error:
        raise ToolProblem(f"{ws.display(folder)} cannot be listed: {error.strerror or error}.") from error
    more = len(entries) - MAX_ENTRIES
    cut = f"{more:,} more entries; narrow them down with {GLOB.name}" if more > 0 else ""
    left_out = _skipped_text(len(present) - len(entries))
    return _noted(rows, cut, left_out) or f"[{ws.display(folder)} {NOTHING_LISTED}"


def glob(ws: Workspace, pattern: str, *, stop: Stop | None = None, shows: ShowsFile = shows_all) -> str:
    """List the files that match a pattern such as ``src/**/*.py``; a bare ``*.py`` is searched at any depth.

    Files that must not be shown are only counted.

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
    return _noted(rows or [f"[no file matches {pattern!r:.200}]"], _skipped_text(withheld), walk.cut)


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


def _row(entry: os.DirEntry[str]) -> str:
    name = readable_name(entry.name).replace("\n", "\\n")
    if entry.is_symlink():
        return f"{name}@"
    if entry.is_dir(follow_symlinks=False):
        return f"{name}/"
    return f"{name}  {entry.stat(follow_symlinks=False).st_size:,} bytes"
