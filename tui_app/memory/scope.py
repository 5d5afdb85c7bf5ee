"""Repository and branch of a folder, read from git's own files without a git program.

The content of ``.git`` is untrusted, so nothing in it can lead to the board of another repository: a worktree
counts as one only if its repository lists it too. Across machines a repository is identified by its remote,
according to its own configuration.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from stat import S_ISREG
from urllib.parse import urlsplit

from tui_app.records import frozen

_SECTION = re.compile(r'\s*\[\s*(\w+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_VALUE = re.compile(r"\s*(\w+)\s*=\s*(.*)")
_SHORT_FORM = re.compile(r"(?:[^@/\s]+@)?(\[[0-9A-Fa-f:]+\]|[\w.-]{2,}):(?!//)(.+)")
"""``git@host:path``; one letter before the colon is a drive."""
_USUAL_PORTS = {"http": 80, "https": 443}
_HERE = re.compile(r"localhost|.*\.localhost|127\.[\d.]+|::1|0\.0\.0\.0")
"""Hosts that are different on every machine."""
_LONGEST = 500


def remote_of(config: str) -> str:
    """Return the remote's name of a repository: of ``origin``, or of the only remote.

    Args:
        config: Text of git's ``config``.

    Returns:
        Host and path without user, password and ``.git``; empty if no other machine can reach it.
    """
    remotes = {
        section: value for section, name, key, value in _values(config) if (name, key) == ("remote", "url")
    }
    only = next(iter(remotes.values())) if len(remotes) == 1 else ""
    return shared_name(remotes.get("origin") or only)


def worktree_named(config: str) -> str:
    """Return the worktree named by a separate git folder; empty for none."""
    found = (value for _, name, key, value in _values(config) if (name, key) == ("core", "worktree"))
    return next(found, "")


def shared_name(address: str) -> str:
    """Normalize an address that each machine may write differently, regardless of protocol."""
    if short := _SHORT_FORM.fullmatch(address):
        return _joined(short[1].strip("[]"), None, short[2])
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        return ""
    if not host or parts.scheme == "file":
        return ""
    # Protocols other than the web's reach the same server by another port.
    port = port if parts.scheme in _USUAL_PORTS and port != _USUAL_PORTS[parts.scheme] else None
    return _joined(host, port, parts.path)


def _joined(host: str, port: int | None, path: str) -> str:
    host, path = host.lower(), path.strip("/").removesuffix(".git").strip("/")
    name = f"{host}:{port}/{path}" if port else f"{host}/{path}"
    if not path or _HERE.fullmatch(host) or len(name) > _LONGEST or not name.isprintable():
        return ""
    return name


def _values(config: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield subsection, section, key and value of each line with a value."""
    section, sub = "", ""
    for line in config.splitlines():
        head = _SECTION.match(line)
        if head:
            section, sub = head[1].lower(), re.sub(r"\\(.)", r"\1", head[2] or "")
        if found := _VALUE.match(line, head.end() if head else 0):
            value = found[2].strip()
            quoted = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else ""
            yield sub, section, found[1].lower(), quoted or re.split(r"\s[#;]", value)[0].strip()


DETACHED = "HEAD"
"""Branch name if none is checked out; git allows no branch with this name."""
_SCOPE_LONGEST = 65_536
"""Bytes that are read of one of git's files; of a longer one its end."""
_HEADS = "refs/heads/"
_BRANCH = re.compile(r"[^\s\x00-\x20\x7f~^:?*\[\\]{1,250}")
"""Git's rule for branch names: they are shown to models and on boards, so nothing else counts as one."""
_RENAMED = "Branch: renamed "
_REBASED = ("rebase-merge/head-name", "rebase-apply/head-name")
_NO_NAME = ".invalid"
"""Content of HEAD in a repository that keeps its references in another format."""


@frozen(kw_only=True)
class Scope:
    """Repository and branch of a board."""

    repository: str
    """Folder of the repository, shared by its worktrees; the folder itself without a repository."""
    branch: str = ""
    """Empty without a repository; :data:`DETACHED` if no branch is checked out."""
    former: tuple[str, ...] = ()
    """Names of the branch before it was renamed, newest first."""
    remote: str = ""
    """The repository's remote, the same on every machine; empty if unknown."""
    folder: str = ""
    """Folder of the repository on this machine if ``repository`` is another name."""
    is_claimed: bool = False
    """Whether git's files are elsewhere and do not list this folder: they may be another repository's."""

    @property
    def branches(self) -> tuple[str, ...]:
        """The branch with all its names."""
        return tuple(dict.fromkeys((self.branch, *self.former)))

    @property
    def label(self) -> str:
        name = Path(self.repository).name or self.repository
        branch = "no branch checked out" if self.branch == DETACHED else f"branch {self.branch}"
        return f"{name}, {branch}" if self.branch else f"{name} (no repository)"


def scope_of(folder: Path) -> Scope:
    """Find the repository around a folder, and its branch; never fails, whatever its files contain."""
    start = _resolved(folder)
    for place in (start, *start.parents):
        git = place / ".git"
        if git.is_dir() and (git / "HEAD").is_file():
            return replace(_scope(place, git, git, place), is_claimed=not _is_around(git / "HEAD", place))
        if git.is_file() and (inside := _named_folder(git)) is not None:
            if (found := _worktree_of(git, inside)) is not None:
                return _scope(found[0], inside, found[1], found[0])
            # A submodule's, for example: it names its folder.
            owner = _resolved(inside / (worktree_named(_read(inside / "config")) or "."))
            claimed = owner != place and not _is_around(inside / "HEAD", place)
            return replace(_scope(place, inside, inside, owner), is_claimed=claimed)
    return Scope(repository=str(start))


def shared(scope: Scope, machine: str) -> Scope:
    """Return the same scope by a name that means one repository on all machines.

    Args:
        scope: As found on this machine.
        machine: Its name: a repository without remote belongs to it alone.
    """
    name = scope.remote or f"{machine}:{scope.repository}"
    return replace(scope, repository=name, folder=scope.repository)


def _resolved(folder: Path) -> Path:
    try:
        return folder.resolve()
    except (OSError, RuntimeError):
        return folder.absolute()


def _is_around(head: Path, place: Path) -> bool:
    """Whether HEAD is that of a folder or of one around it, without links leading elsewhere."""
    return any(_resolved(head).is_relative_to(each / ".git") for each in (place, *place.parents))


def _named_folder(git: Path) -> Path | None:
    """Return the folder in a ``.git`` file, as in worktrees and submodules."""
    text = _read(git)
    if not text.startswith("gitdir:"):
        return None
    inside = _resolved(git.parent / text.removeprefix("gitdir:").strip())
    return inside if (inside / "HEAD").is_file() else None


def _worktree_of(git: Path, inside: Path) -> tuple[Path, Path] | None:
    """Return root and git folder of a worktree's repository; None if that does not list it."""
    named = _read(inside / "commondir").strip()
    if not named:
        return None
    common = _resolved(inside / named)
    known = _read(inside / "gitdir").strip()
    within = inside.parent == common / "worktrees"
    if not (within and known and _resolved(inside / known) == _resolved(git)):
        return None
    return (common.parent if common.name == ".git" else common), common


def _scope(root: Path, own: Path, common: Path, owner: Path) -> Scope:
    branch = _branch(own)
    former = tuple(_former(common, branch)) if branch != DETACHED else ()
    remote = remote_of(_read(common / "config")) if owner == root else ""
    return Scope(repository=str(root), branch=branch, former=former, remote=remote)


def _branch(own: Path) -> str:
    """Return the branch that is checked out, or that a rebase will restore."""
    head = _read(own / "HEAD").strip()
    if head.startswith("ref:"):
        name = head.removeprefix("ref:").strip().removeprefix(_HEADS)
        return name if name != _NO_NAME and _BRANCH.fullmatch(name) else DETACHED
    rebased = (_read(own / name).strip() for name in _REBASED)
    names = (name.removeprefix(_HEADS) for name in rebased if name.startswith(_HEADS))
    return next(filter(_BRANCH.fullmatch, names), DETACHED)


def _former(common: Path, branch: str) -> Iterator[str]:
    """Yield earlier names of a branch from its own log, except those that exist as branches again."""
    if ".." in Path(branch).parts:
        return
    packed = {line.partition(" ")[2].strip() for line in _read(common / "packed-refs").splitlines()}
    for line in reversed(_read(common / "logs" / _HEADS / branch).splitlines()):
        _, found, names = line.partition(_RENAMED)
        old, to, _ = names.partition(" to ")
        old = old.removeprefix(_HEADS)
        if not (found and to and old) or ".." in Path(old).parts or old == branch:
            continue
        if f"{_HEADS}{old}" not in packed and not (common / _HEADS / old).is_file():
            yield old


def _read(path: Path) -> str:
    """Return a file's text, only the end of a long one; empty if it cannot be read."""
    try:
        # Opening a pipe would block.
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            if not S_ISREG(os.fstat(file.fileno()).st_mode):
                return ""
            size = file.seek(0, 2)
            file.seek(max(0, size - _SCOPE_LONGEST))
            return file.read(_SCOPE_LONGEST).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
