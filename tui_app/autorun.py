"""Files that programs run when a folder is opened or entered: finding, watching and removing them.

They are those places programs act on which hardly any command has to write: editors' folders, files read by
shells and version managers, CI, hooks, and git's files in nested repositories. A sandbox keeps existing ones
unchanged; new ones are shown to the user.
"""

import difflib
import hashlib
import os
import re
import stat
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from itertools import islice
from pathlib import Path

from tui_app.records import frozen
from tui_app.system.descriptors import folder_of, open_named, remove_named, stat_named
from tui_app.system.obeyed_places import differs_by_branch, is_autorun, obeyed_by_git, states_of_git
from tui_app.text import count, visible

MOST_FOLDERS = 3_000
"""Maximum number of folders searched, those nearest to the root first."""
_MOST_ENTRIES = 20_000
"""Maximum number of names read in one folder."""
MOST_PLACES = 100
"""Maximum number of places that a sandbox protects; each costs a mount."""
_PASSED_OVER = frozenset({"node_modules", "site-packages", "__pycache__", "bower_components"})
"""Folders with very many subfolders, none of which is opened automatically."""
_READ = os.O_RDONLY | os.O_NONBLOCK
_TRIES, _PAUSE_S = 40, 0.005
"""Attempts to remove a place, and the pause between: a command may keep exchanging its folders."""
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
"""Settings that git itself writes to a new repository."""

Stamp = tuple[int, ...]


@frozen
class AutorunPlaces:
    """The places found below some folders."""

    places: Mapping[Path, Stamp] = field(default_factory=dict)
    """Files and folders that programs act on, each with a stamp to detect changes."""
    texts: Mapping[Path, bytes] = field(default_factory=dict)
    """Contents of the places that a command may change, which are restored unless the user approves."""
    repositories: tuple[Path, ...] = ()
    """Folders with git's files, except those of the searched folders themselves."""
    is_whole: bool = True
    """Whether all folders were searched."""

    @property
    def kept(self) -> list[Path]:
        """The places that no command may change."""
        return [path for path in self.places if path not in self.texts]


def find_autorun(roots: Sequence[Path], own: Sequence[Path] = ()) -> AutorunPlaces:
    """Find the places below some folders; blocking.

    Args:
        roots: Folders, which may be nested.
        own: Repositories that are protected elsewhere.
    """
    places: dict[Path, Stamp] = {}
    texts: dict[Path, bytes] = {}
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
        names = {name for name, _, _ in entries}
        # Whether git takes the folder for a repository, whatever its name is.
        if "HEAD" in names and ("commondir" in names or {"objects", "refs"} <= set(names)):
            for git in (folder, *within_git(folder)):
                states = {git / name: _bytes(git / name, _MOST_KEPT) for name in states_of_git()}
                texts |= {path: text for path, text in states.items() if text is not None}
                places |= {path: stamp(path) for path in _commands_of(git)}
                if git not in own:
                    repositories.append(git)
                    places |= {path: stamp(path) for path in _obeyed_by_git(git)}
            continue
        is_root = folder in roots or ".git" in names
        for name, is_folder, is_link in entries:
            path = folder / name
            is_pointer = name == ".git" and not is_folder
            if is_pointer or is_autorun(name, is_folder=is_folder or is_link, is_root=is_root):
                places[path] = stamp(path)
            elif is_folder and name not in _PASSED_OVER:
                waiting.append(path)
    found = [path for path in places if differs_by_branch(path.name)][:MOST_PLACES]
    contents = ((path, _bytes(path, _MOST_KEPT)) for path in found)
    texts |= {path: text for path, text in contents if text is not None}
    return AutorunPlaces(places, texts, tuple(repositories), is_whole)


def within_git(git: Path) -> Iterator[Path]:
    """Yield the repositories of submodules and worktrees inside a repository, nested ones included."""
    for name in ("modules", "worktrees"):
        for number, (path, folders, files) in enumerate(_walk(git / name)):
            if number >= _MOST_MODULES:
                break
            if "HEAD" in files:
                yield path
                # The name of a submodule may contain slashes.
                folders[:] = [each for each in folders if each in ("modules", "worktrees")]


def _obeyed_by_git(git: Path) -> Iterator[Path]:
    """Yield existing places in a repository that git acts on, with each hook separately."""
    for path in (git / name for name in obeyed_by_git()):
        if _is_folder(path):
            hooks = islice(_files(path), _MOST_LOOKED_AT)
            yield from (hook for hook in hooks if hook.suffix != ".sample")
        elif _stat(path):
            yield path


def _commands_of(git: Path) -> Iterator[Path]:
    """Yield the files in which a repository has commands for unfinished work, for example a rebase."""
    for name, lines in states_of_git().items():
        path = git / name
        if _stat(path) and not all(map(lines.fullmatch, _lines(path))):
            yield path


def changes_between(before: AutorunPlaces, after: AutorunPlaces) -> tuple[list[Path], list[Path]]:
    """Return the places that a command made or that have to be restored, and other changed ones.

    A repository as git creates it counts as neither.
    """
    new = [path for path in after.places if path not in before.places]
    fresh = {git for git in after.repositories if git not in before.repositories and _is_plain(git)}
    made = [path for path in new if path.parent not in fresh and path.parent.parent not in fresh]
    changed = [path for path, now in after.places.items() if before.places.get(path, now) != now]
    made += [path for path in changed if path in before.texts and before.texts[path] != after.texts.get(path)]
    return made, [path for path in changed if path not in before.texts]


def content(path: Path, shown: str, before: bytes | None = None) -> str:
    """Return the content of a new place, or of a changed one, as a diff."""
    if before is not None:
        old = before.decode("utf-8", "replace").splitlines()
        name = visible(shown)
        return "\n".join(difflib.unified_diff(old, _lines(path), f"a/{name}", f"b/{name}", lineterm=""))
    files = files_of(path)
    rows = ["--- /dev/null", f"+++ b/{visible(shown)}"]
    for file in files[:_MOST_FILES]:
        if file != path:
            # One row, whatever characters the name contains.
            rows.append(f"[{visible(str(file.relative_to(path)))}]")
        rows += list(difflib.unified_diff([], _lines(file), lineterm=""))[2:]
    if len(files) > _MOST_FILES:
        rows.append(f"[{count(len(files) - _MOST_FILES, 'more file')}]")
    return "\n".join(rows)


def files_of(path: Path) -> list[Path]:
    """Return the files in a place, up to about a thousand; for a file, only itself."""
    return sorted(islice(_files(path), _MOST_LOOKED_AT)) if _is_folder(path) else [path]


def is_showable(path: Path) -> bool:
    """Return whether a place can be shown completely: the user cannot approve the rest."""
    files = files_of(path)
    return (
        len(files) <= _MOST_FILES
        and sum(found.st_size for file in files if (found := _stat(file))) <= _MOST_READ
    )


def digest(file: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits; empty if it cannot be read."""
    try:
        with os.fdopen(open_named(file, _READ), "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except (OSError, ValueError):
        return ""


def put_back(path: Path, before: bytes) -> None:
    """Restore the content of a place. Raises ``OSError``."""
    remove(path)
    with os.fdopen(open_named(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        file.write(before)


def remove(path: Path) -> None:
    """Remove a place of any kind. Raises ``OSError``."""
    for _ in range(_TRIES):
        try:
            remove_named(path)
        except FileNotFoundError:
            return
        except OSError as error:
            why = error
            time.sleep(_PAUSE_S)
        else:
            return
    raise why


def _entries(folder: Path) -> list[tuple[str, bool, bool]]:
    """Return the entries of a folder: name, whether it is a folder, and whether it is a link."""
    with suppress(OSError):
        opened = open_named(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with os.scandir(opened) as found:
                return [
                    (entry.name, entry.is_dir(follow_symlinks=False), entry.is_symlink())
                    for entry in islice(found, _MOST_ENTRIES)
                ]
        finally:
            os.close(opened)
    return []


def _walk(folder: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    try:
        opened = open_named(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    try:
        for path, folders, files, _ in os.fwalk(".", dir_fd=opened):
            yield folder / path, folders, files
    finally:
        os.close(opened)


def _files(folder: Path) -> Iterator[Path]:
    for path, _, names in _walk(folder):
        yield from (path / name for name in names)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return stat_named(path)
    except OSError:
        return None


def _is_folder(path: Path) -> bool:
    return (found := _stat(path)) is not None and stat.S_ISDIR(found.st_mode)


def stamp(path: Path) -> Stamp:
    """Return numbers that change with a file; for a folder, with any file in it."""
    if (found := _stat(path)) is None:
        return ()
    own = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    if not stat.S_ISDIR(found.st_mode):
        return own
    inside: list[int] = [found.st_ino]
    for file in sorted(islice(_files(path), _MOST_LOOKED_AT)):
        inside += stamp(file)
    return (hash(tuple(inside)),)


def _bytes(file: Path, most: int) -> bytes | None:
    """Return the content of a file; None if it is no regular file, or larger."""
    with suppress(OSError), os.fdopen(open_named(file, _READ), "rb") as stream:
        if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            data = stream.read(most + 1)
            return data if len(data) <= most else None
    return None


def _lines(file: Path) -> list[str]:
    try:
        if stat.S_ISLNK(stat_named(file).st_mode):
            with folder_of(file) as (folder, name):
                return [f"[a link to {os.readlink(name, dir_fd=folder)}]"]
        with os.fdopen(open_named(file, _READ), "rb") as stream:
            data = stream.read(_MOST_READ + 1)
    except OSError as error:
        return [f"[cannot be read: {error.strerror}]"]
    lines = data[:_MOST_READ].decode("utf-8", "replace").split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    return [*lines, "[and more]"] if len(data) > _MOST_READ else lines


def _is_plain(git: Path) -> bool:
    """Return whether a repository is as git creates it: no hook, no setting that runs a program."""
    if any(_stat(git / name) for name in ("config.worktree", "info/attributes")) or any(_commands_of(git)):
        return False
    if _stat(git / "commondir"):
        return git.parent.name == "worktrees" and _lines(git / "commondir") == ["../.."]
    hooks = git / "hooks"
    if any(file.suffix != ".sample" for file in _files(hooks)) or (_stat(hooks) and not _is_folder(hooks)):
        return False
    return all(map(_is_plain_setting, _lines(git / "config")))


def _is_plain_setting(row: str) -> bool:
    """Return whether git itself writes such a line of its settings; a section may be followed by a key."""
    row = row.strip().casefold()
    key = row.partition("=")[0].strip()
    return not row or row[0] in "#;" or key in _SAFE_KEYS or _SAFE_SECTION.fullmatch(row) is not None
