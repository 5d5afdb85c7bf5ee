"""Walking a workspace the way a person would: without what git ignores and what tools generate."""

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from tui_app.agent.tools.patterns import IgnoreRule, parse_ignore, verdict
from tui_app.agent.tools.stop import Stop

MAX_FILES = 50_000
"""Files one walk looks at; a larger tree is reported as cut."""
WITHHELD = "files left out by rules of the user: {:,}; name one to ask for it"
ShowsFile = Callable[[Path], bool]
"""Whether a tool may show anything of a resolved path that it came across."""
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
    """One pass over a folder; ``cut`` says why it ended early, empty when it saw everything."""

    top: Path
    stop: Stop
    hidden: Collection[Path] = ()
    """Folders that are passed over."""
    cut: str = ""
    seen: int = 0

    def files(self) -> Iterator[Path]:
        """Yield regular files in a stable order: those of a folder first, then its subfolders by name.

        Links are not followed, so a walk can neither leave the workspace nor run in circles.

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
                self.seen += 1
                if self._ended():
                    return
                yield path
            waiting.extend((path, rules) for path in reversed(folders) if path not in self.hidden)

    def _ended(self) -> bool:
        if self.stop.late():
            self.cut = "the search ran out of time"
        elif self.seen > MAX_FILES:
            self.cut = f"only the first {MAX_FILES:,} files were looked at"
        return bool(self.cut)


@dataclass(frozen=True, slots=True)
class _Rules:
    folder: Path
    rules: tuple[IgnoreRule, ...]


def shows_all(_path: Path) -> bool:
    """Leave nothing out."""
    return True


def shown(entry: os.DirEntry[str]) -> bool:
    """Whether a folder entry belongs to the project itself rather than to tools around it."""
    if entry.name in _SKIPPED_NAMES:
        return False
    return not (entry.is_dir(follow_symlinks=False) and Path(entry.path, "pyvenv.cfg").is_file())


def _listing(folder: Path, rules: tuple[_Rules, ...]) -> tuple[list[Path], list[Path]]:
    files: list[Path] = []
    folders: list[Path] = []
    try:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                is_folder = entry.is_dir(follow_symlinks=False)
                if not shown(entry) or _ignored(Path(entry.path), is_folder, rules):
                    continue
                if is_folder:
                    folders.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    files.append(Path(entry.path))
    except OSError:
        return files, folders  # unreadable or just deleted: the rest of the tree still counts
    return files, folders


def _ignored(path: Path, is_folder: bool, levels: tuple[_Rules, ...]) -> bool:
    for level in reversed(levels):
        found = verdict(level.rules, path.relative_to(level.folder).parts, is_folder)
        if found is not None:
            return found
    return False


def _own_rules(folder: Path) -> tuple[_Rules, ...]:
    path = folder / ".gitignore"
    if not path.is_file() or path.is_symlink():
        return ()
    try:
        with path.open("rb") as file:
            text = file.read(_IGNORE_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ()
    rules = parse_ignore(text)
    return (_Rules(folder, rules),) if rules else ()
