"""Files that programs run as soon as somebody opens or enters a folder: found, watched, taken away again.

They are the part of the places that programs obey which hardly any command has to write: editors' folders,
files that shells and version managers read, CI, hooks, and what git obeys in repositories further down. A
sandbox keeps those that are there as they are; what a command makes of them is for the user to see.
"""

import difflib
import hashlib
import os
import re
import shutil
import stat
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from itertools import islice
from pathlib import Path

from tui_app.obeyed_places import differs_by_branch, is_autorun, obeyed_by_git
from tui_app.records import frozen
from tui_app.text import count, visible

MOST_FOLDERS = 3_000
"""Folders that are looked through, those next to the root first."""
_MOST_ENTRIES = 20_000
"""Names that are looked at in one folder."""
MOST_PLACES = 100
"""Places that a sandbox keeps; each costs a mount."""
_PASSED_OVER = frozenset({"node_modules", "site-packages", "__pycache__", "bower_components"})
"""Folders with very many others in them, of which none is opened by itself."""
_AS_IT_IS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_MOST_KEPT = 100_000
_MOST_READ, _MOST_FILES, _MOST_LOOKED_AT = 300_000, 200, 1_000
_MOST_MODULES = 2_000
_SAFE_SECTION = re.compile(r'\[(core|init|((remote|branch|submodule)\s+"[^"\\]*"))\]')
_SAFE_KEYS = frozenset(
    {
        "repositoryformatversion", "filemode", "bare", "symlinks", "logallrefupdates", "ignorecase",
        "precomposeunicode", "url", "fetch", "remote", "merge", "active",
    }
)  # fmt: skip
"""What git itself writes into the settings of a repository that it makes."""

Stamp = tuple[int, ...]


@frozen
class AutorunPlaces:
    """What was found below some folders."""

    places: Mapping[Path, Stamp] = field(default_factory=dict)
    """Files and folders that are obeyed, each with what tells whether it is another one later."""
    texts: Mapping[Path, bytes] = field(default_factory=dict)
    """What those hold that a command may change, and that are put back without a yes."""
    repositories: tuple[Path, ...] = ()
    """Folders with git's files, those of the folders themselves left out."""
    is_whole: bool = True
    """Whether all folders were looked through."""

    @property
    def kept(self) -> list[Path]:
        """The places that no command may change."""
        return [path for path in self.places if path not in self.texts]


def find_autorun(roots: Sequence[Path], own: Sequence[Path] = ()) -> AutorunPlaces:
    """Look for such places; blocking.

    Args:
        roots: Folders, which may be in each other.
        own: Repositories that somebody else sees to.
    """
    places: dict[Path, Stamp] = {}
    repositories: list[Path] = []
    waiting = deque(dict.fromkeys(roots))
    seen: set[Path] = set()
    is_whole = True
    while waiting:
        folder = waiting.popleft()
        if folder in seen:
            continue
        seen.add(folder)
        if len(seen) > MOST_FOLDERS:
            is_whole = False
            break
        entries = _entries(folder)
        is_whole = is_whole and len(entries) < _MOST_ENTRIES
        names = {entry.name for entry in entries}
        # Whether a folder is one that git takes for a repository, whatever its name is.
        if "HEAD" in names and ("commondir" in names or {"objects", "refs"} <= set(names)):
            for git in (folder, *within_git(folder)):
                if git not in own:
                    repositories.append(git)
                    places |= {path: stamp(path) for path in _obeyed_by_git(git)}
            continue
        is_root = folder in roots or ".git" in names
        for entry in entries:
            path = Path(entry.path)
            is_folder = entry.is_dir(follow_symlinks=False)
            is_pointer = entry.name == ".git" and not is_folder
            may_be_folder = is_folder or entry.is_symlink()
            if is_pointer or is_autorun(entry.name, is_folder=may_be_folder, is_root=is_root):
                places[path] = stamp(path)
            elif is_folder and entry.name not in _PASSED_OVER:
                waiting.append(path)
    found = [path for path in places if differs_by_branch(path.name)][:MOST_PLACES]
    held = ((path, _bytes(path, _MOST_KEPT)) for path in found)
    return AutorunPlaces(
        places, {path: text for path, text in held if text is not None}, tuple(repositories), is_whole
    )


def within_git(git: Path) -> Iterator[Path]:
    """The repositories of submodules and work trees in one, those of theirs included."""
    for name in ("modules", "worktrees"):
        for number, (path, folders, files) in enumerate(os.walk(git / name)):
            if number >= _MOST_MODULES:
                break
            if "HEAD" in files:
                yield Path(path)
                # The name of a submodule may have slashes in it.
                folders[:] = [each for each in folders if each in ("modules", "worktrees")]


def _obeyed_by_git(git: Path) -> Iterator[Path]:
    """What is there in a repository that git obeys, each hook by itself."""
    for path in (git / name for name in obeyed_by_git()):
        if path.is_dir() and not path.is_symlink():
            hooks = islice(_files(path), _MOST_LOOKED_AT)
            yield from (hook for hook in hooks if hook.suffix != ".sample")
        elif _there(path):
            yield path


def made_since(before: AutorunPlaces, after: AutorunPlaces) -> tuple[list[Path], list[Path]]:
    """What a command made or would have put back, and what else it changed.

    A repository that is as git makes it is neither.
    """
    new = [path for path in after.places if path not in before.places]
    fresh = {git for git in after.repositories if git not in before.repositories and _is_plain(git)}
    made = [path for path in new if path.parent not in fresh and path.parent.parent not in fresh]
    changed = [path for path, now in after.places.items() if before.places.get(path, now) != now]
    made += [path for path in changed if path in before.texts and before.texts[path] != after.texts.get(path)]
    return made, [path for path in changed if path not in before.texts]


def content(path: Path, shown: str, before: bytes | None = None) -> str:
    """What stands in a new place, or in one that held something before, as a diff."""
    if before is not None:
        old = before.decode("utf-8", "replace").splitlines()
        name = visible(shown)
        return "\n".join(difflib.unified_diff(old, _lines(path), f"a/{name}", f"b/{name}", lineterm=""))
    files = files_of(path)
    rows = ["--- /dev/null", f"+++ b/{visible(shown)}"]
    for file in files[:_MOST_FILES]:
        if file != path:
            # One row, whatever signs are in the name.
            rows.append(f"[{visible(str(file.relative_to(path)))}]")
        rows += list(difflib.unified_diff([], _lines(file), lineterm=""))[2:]
    if len(files) > _MOST_FILES:
        rows.append(f"[{count(len(files) - _MOST_FILES, 'more file')}]")
    return "\n".join(rows)


def files_of(path: Path) -> list[Path]:
    """The files in a place, some thousand at most; a place that is no folder is one."""
    is_folder = path.is_dir() and not path.is_symlink()
    return sorted(islice(_files(path), _MOST_LOOKED_AT)) if is_folder else [path]


def is_showable(path: Path) -> bool:
    """Whether all that is in a place can be shown: nobody can say yes to the rest."""
    files = files_of(path)
    return len(files) <= _MOST_FILES and sum(map(_size, files)) <= _MOST_READ


def digest(file: Path) -> str:
    """SHA-256 of a file as hexadecimal digits; empty where it cannot be read."""
    try:
        with os.fdopen(os.open(file, _AS_IT_IS), "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (OSError, ValueError):
        return ""


def put_back(path: Path, before: bytes) -> None:
    """Let a place hold what it held. Raises ``OSError``."""
    remove(path)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "wb") as file:
        file.write(before)


def remove(path: Path) -> None:
    """Take a place away, whatever it is. Raises ``OSError``."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as found:
        return list(islice(found, _MOST_ENTRIES))
    return []


def _there(path: Path) -> bool:
    return os.path.lexists(path)


def _files(folder: Path) -> Iterator[Path]:
    for path, _, names in os.walk(folder):
        yield from (Path(path, name) for name in names)


def stamp(path: Path) -> Stamp:
    """What is another number for another file; of a folder that of all files in it."""
    try:
        found = path.lstat()
    except OSError:
        return ()
    own = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    if not stat.S_ISDIR(found.st_mode):
        return own
    inside: list[int] = [found.st_ino]
    for file in sorted(islice(_files(path), _MOST_LOOKED_AT)):
        inside += stamp(file)
    return (hash(tuple(inside)),)


def _size(file: Path) -> int:
    try:
        return file.lstat().st_size
    except OSError:
        return 0


def _bytes(file: Path, most: int) -> bytes | None:
    """What a file holds; None where it is none, or larger."""
    with suppress(OSError), os.fdopen(os.open(file, _AS_IT_IS), "rb") as stream:
        if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            data = stream.read(most + 1)
            return data if len(data) <= most else None
    return None


def _lines(file: Path) -> list[str]:
    try:
        if file.is_symlink():
            return [f"[a link to {file.readlink()}]"]
        opened = os.open(file, _AS_IT_IS)
        with os.fdopen(opened, "rb") as stream:
            data = stream.read(_MOST_READ + 1)
    except OSError as error:
        return [f"[cannot be read: {error.strerror}]"]
    lines = data[:_MOST_READ].decode("utf-8", "replace").split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    return [*lines, "[and more]"] if len(data) > _MOST_READ else lines


def _is_plain(git: Path) -> bool:
    """Whether a repository is as ``git init`` or ``git clone`` makes it: no hook, no setting that runs."""
    if any(_there(git / name) for name in ("config.worktree", "info/attributes")):
        return False
    if _there(git / "commondir"):
        return git.parent.name == "worktrees" and _lines(git / "commondir") == ["../.."]
    if any(file.suffix != ".sample" for file in _files(git / "hooks")) or (git / "hooks").is_symlink():
        return False
    return all(map(_is_plain_setting, _lines(git / "config")))


def _is_plain_setting(row: str) -> bool:
    """Whether a row of git's settings is one that git writes; a section may have a key behind it."""
    row = row.strip().casefold()
    key = row.partition("=")[0].strip()
    return not row or row[0] in "#;" or key in _SAFE_KEYS or _SAFE_SECTION.fullmatch(row) is not None
