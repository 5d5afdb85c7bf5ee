"""Which repository and branch a folder belongs to, read from git's own files; no git program is needed.

What ``.git`` holds may come from anywhere, so nothing in it can lead to the board of another repository:
a worktree counts as one only where the repository it names knows it too. Between machines a repository goes
by where it was cloned from, as its own configuration says.
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
"""``git@host:path``; one letter in front of the colon is a drive."""
_USUAL_PORTS = {"http": 80, "https": 443}
_HERE = re.compile(r"localhost|.*\.localhost|127\.[\d.]+|::1|0\.0\.0\.0")
"""Hosts that are another one on every machine."""
_LONGEST = 500


def remote_of(config: str) -> str:
    """Name of the repository that this one was cloned from: ``origin``, or the only remote there is.

    Args:
        config: Text of git's ``config``.

    Returns:
        Host and path without user, password and ``.git``; empty where no other machine can know it.
    """
    remotes = {
        section: value for section, name, key, value in _values(config) if (name, key) == ("remote", "url")
    }
    only = next(iter(remotes.values())) if len(remotes) == 1 else ""
    return shared_name(remotes.get("origin") or only)


def worktree_named(config: str) -> str:
    """The folder that a git folder away from its files says it belongs to; empty for none."""
    found = (value for _, name, key, value in _values(config) if (name, key) == ("core", "worktree"))
    return next(found, "")


def shared_name(address: str) -> str:
    """An address as every machine may write it, whichever protocol each of them uses."""
    if short := _SHORT_FORM.fullmatch(address):
        return _joined(short[1].strip("[]"), None, short[2])
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        return ""
    if not host or parts.scheme == "file":
        return ""
    # Who comes by another protocol than the web's comes to the same server by another door.
    port = port if parts.scheme in _USUAL_PORTS and port != _USUAL_PORTS[parts.scheme] else None
    return _joined(host, port, parts.path)


def _joined(host: str, port: int | None, path: str) -> str:
    host, path = host.lower(), path.strip("/").removesuffix(".git").strip("/")
    name = f"{host}:{port}/{path}" if port else f"{host}/{path}"
    if not path or _HERE.fullmatch(host) or len(name) > _LONGEST or not name.isprintable():
        return ""
    return name


def _values(config: str) -> Iterator[tuple[str, str, str, str]]:
    """Subsection, section, key and value of each line that has one."""
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
"""Stands for the branch where none is checked out; git lets no branch have this name."""
_SCOPE_LONGEST = 65_536
"""Bytes that are read of one of git's files; of a longer one its end."""
_HEADS = "refs/heads/"
_BRANCH = re.compile(r"[^\s\x00-\x20\x7f~^:?*\[\\]{1,250}")
"""What git lets a branch be called: models and boards are told of it, so nothing else is one."""
_RENAMED = "Branch: renamed "
_REBASED = ("rebase-merge/head-name", "rebase-apply/head-name")
_NO_NAME = ".invalid"
"""What HEAD holds in a repository that keeps its references in another format."""


@frozen(kw_only=True)
class Scope:
    """Whose board it is."""

    repository: str
    """Folder of the repository, shared by its worktrees; without a repository the folder itself."""
    branch: str = ""
    """Empty without a repository; :data:`DETACHED` where no branch is checked out."""
    former: tuple[str, ...] = ()
    """Names the branch had before it was renamed, the newest first."""
    remote: str = ""
    """Where the repository was cloned from, the same on every machine; empty where that is not known."""
    folder: str = ""
    """Folder of the repository on this machine, where ``repository`` does not say it."""
    is_claimed: bool = False
    """Whether git's files are elsewhere and know nothing of this folder: what they say may be another's."""

    @property
    def branches(self) -> tuple[str, ...]:
        """The branch under all its names."""
        return tuple(dict.fromkeys((self.branch, *self.former)))

    @property
    def label(self) -> str:
        name = Path(self.repository).name or self.repository
        branch = "no branch checked out" if self.branch == DETACHED else f"branch {self.branch}"
        return f"{name}, {branch}" if self.branch else f"{name} (no repository)"


def scope_of(folder: Path) -> Scope:
    """Find the repository around a folder, and its branch; never fails, whatever its files hold."""
    start = _resolved(folder)
    for place in (start, *start.parents):
        git = place / ".git"
        if git.is_dir() and (git / "HEAD").is_file():
            return replace(_scope(place, git, git, place), is_claimed=not _is_around(git / "HEAD", place))
        if git.is_file() and (inside := _named_folder(git)) is not None:
            if (found := _worktree_of(git, inside)) is not None:
                return _scope(found[0], inside, found[1], found[0])
            # As a submodule's: it tells whose it is.
            owner = _resolved(inside / (worktree_named(_read(inside / "config")) or "."))
            claimed = owner != place and not _is_around(inside / "HEAD", place)
            return replace(_scope(place, inside, inside, owner), is_claimed=claimed)
    return Scope(repository=str(start))


def shared(scope: Scope, machine: str) -> Scope:
    """The same board by a name that means one repository on all machines.

    Args:
        scope: As this machine finds it.
        machine: Its name: what came from nowhere belongs to it alone.
    """
    name = scope.remote or f"{machine}:{scope.repository}"
    return replace(scope, repository=name, folder=scope.repository)


def _resolved(folder: Path) -> Path:
    try:
        return folder.resolve()
    except (OSError, RuntimeError):
        return folder.absolute()


def _is_around(head: Path, place: Path) -> bool:
    """Whether HEAD is that of a folder or of one around it, and no link leads out of there."""
    return any(_resolved(head).is_relative_to(each / ".git") for each in (place, *place.parents))


def _named_folder(git: Path) -> Path | None:
    """The folder that a ``.git`` file names, as worktrees and submodules have one."""
    text = _read(git)
    if not text.startswith("gitdir:"):
        return None
    inside = _resolved(git.parent / text.removeprefix("gitdir:").strip())
    return inside if (inside / "HEAD").is_file() else None


def _worktree_of(git: Path, inside: Path) -> tuple[Path, Path] | None:
    """Root and git folder of the repository whose worktree this is; None where that does not know it."""
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
    """The branch that is checked out, or that a rebase is going to give back."""
    head = _read(own / "HEAD").strip()
    if head.startswith("ref:"):
        name = head.removeprefix("ref:").strip().removeprefix(_HEADS)
        return name if name != _NO_NAME and _BRANCH.fullmatch(name) else DETACHED
    rebased = (_read(own / name).strip() for name in _REBASED)
    names = (name.removeprefix(_HEADS) for name in rebased if name.startswith(_HEADS))
    return next(filter(_BRANCH.fullmatch, names), DETACHED)


def _former(common: Path, branch: str) -> Iterator[str]:
    """Names that the branch's own log says it was renamed from, less those that are branches again."""
    if ".." in Path(branch).parts:
        return
    packed = {line.partition(" ")[2].strip() for line in _read(common / "packed-refs").splitlines()}
    for line in reversed(_read(common / "logs" / _HEADS / branch).splitlines()):
        _, found, said = line.partition(_RENAMED)
        old, to, _ = said.partition(" to ")
        old = old.removeprefix(_HEADS)
        if not (found and to and old) or ".." in Path(old).parts or old == branch:
            continue
        if f"{_HEADS}{old}" not in packed and not (common / _HEADS / old).is_file():
            yield old


def _read(path: Path) -> str:
    """A file's text, of a long one the end; nothing where it cannot be read."""
    try:
        # A pipe would hold up whoever opens it.
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            if not S_ISREG(os.fstat(file.fileno()).st_mode):
                return ""
            size = file.seek(0, 2)
            file.seek(max(0, size - _SCOPE_LONGEST))
            return file.read(_SCOPE_LONGEST).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
