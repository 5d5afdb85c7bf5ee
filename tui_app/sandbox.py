"""Sandboxes for commands of the model: what they may write and read, and whether they have a network.

Bubblewrap is used if it works, else the kernel's Landlock, else on macOS the system's own sandbox. The parent
process of a command ends everything it started, and limits its resources.
"""

import contextlib
import errno
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import Literal

from tui_app.autorun import MOST_PLACES, AutorunPlaces, find_autorun, within_git
from tui_app.records import frozen
from tui_app.system.command_parent import parented
from tui_app.system.containment import Inside, landlock_abi
from tui_app.system.descriptors import folder_of
from tui_app.system.obeyed_places import obeyed_by_git
from tui_app.system.project_files import Refused, anything, read_inside

Kind = Literal["bubblewrap", "landlock", "seatbelt", "none"]
INSTALL = "Install bubblewrap (Debian, Fedora, Arch: the package bubblewrap)"
_PROBE_S = 5.0


@frozen
class Sandbox:
    """The sandbox available on this machine."""

    kind: Kind
    program: str = ""
    abi: int = 0
    """Version of Landlock."""
    why: str = ""
    """Why there is no better one."""

    def sentence(self, *, network: bool) -> str:
        """Return what the model needs to know of it; empty without a sandbox."""
        place = "/tmp" if self.kind == "bubblewrap" else "$TMPDIR"
        kept = f"they write in these folders and in {place} only, which lasts for the session"
        kept = f"{kept}, {'' if network else 'have no network, '}and outside=true asks the user to leave it"
        return "" if self.kind == "none" else f"Commands run in a sandbox: {kept}."


def find_sandbox(mode: str = "auto") -> Sandbox:
    """Return the available sandbox, tried out once, unless the settings switch it off; blocking."""
    return Sandbox("none", why="it is switched off") if mode == "off" else _tried()


@cache
def _tried() -> Sandbox:
    if sys.platform == "darwin":
        program = shutil.which("sandbox-exec", path="/usr/bin")
        return Sandbox("seatbelt", program) if program else Sandbox("none", why="sandbox-exec is missing")
    # Not from the user's PATH, which may contain folders of a project.
    program = shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin")
    why = "bubblewrap is not installed"
    if program:
        place = os.path.realpath(tempfile.gettempdir())
        words = (program, *_NAMESPACES, *_SYSTEM, "--bind-fd", place, place, "true")
        try:
            tried = subprocess.run(
                parented(words, Inside([place], [place], fixed=[place])),
                capture_output=True,
                timeout=_PROBE_S,
                check=False,
            )
            if tried.returncode == 0:
                return Sandbox("bubblewrap", program)
            why = f"bubblewrap does not work here: {tried.stderr.decode('utf-8', 'replace').strip():.120}"
        except (OSError, subprocess.TimeoutExpired) as error:
            why = f"bubblewrap does not work here: {type(error).__name__}"
    abi = landlock_abi() if sys.platform == "linux" else 0
    return Sandbox("landlock", abi=abi, why=why) if abi > 0 else Sandbox("none", why=why)


@frozen(kw_only=True)
class Confinement:
    """The sandbox for the commands of one workspace."""

    workspace: Path
    added: tuple[Path, ...] = ()
    """Further writable folders."""
    home: Path
    search: str
    """``PATH`` of the commands."""
    readable: tuple[Path, ...] = ()
    """The program's own folders that may be read."""
    hidden: tuple[Path, ...] = ()
    """The program's own folders that may not be read."""
    temporary: Path
    """The ``/tmp`` of its commands, which all of them share."""
    network: bool = False
    sandbox: Sandbox
    held: tuple[Path, ...] = ()
    """Repositories that existed when a command started, and are protected."""
    below: AutorunPlaces = field(default_factory=AutorunPlaces)
    """Places found in subfolders that programs act on."""

    def found(self) -> "Confinement":
        """Return a copy with the places that programs act on at present; blocking."""
        # Landlock cannot protect anything inside a writable folder.
        held = () if self.sandbox.kind == "landlock" else self._own_repositories()
        kept = replace(self, held=held)
        return replace(kept, below=kept.autorun())

    def autorun(self) -> AutorunPlaces:
        """Find what programs act on in the writable folders; blocking."""
        return find_autorun(self._open, self.held)

    @property
    def _open(self) -> tuple[Path, ...]:
        """The writable folders, outer ones first."""
        return tuple(sorted({self.workspace, *self.added}))

    @property
    def _roots(self) -> tuple[Path, ...]:
        """Writable folders that are in no other one."""
        return tuple(one for one in self._open if not any(other in one.parents for other in self._open))

    @property
    def limits(self) -> str:
        """What it prevents, in a few words."""
        where = f"this folder and {len(self.added)} more" if self.added else "this folder"
        how = "partly sandboxed" if self.sandbox.kind == "landlock" else "sandboxed"
        kept = f"{how}: writes in {where} only{'' if self.network else ', no network'}"
        return kept if self.is_kept_in else "not sandboxed"

    @property
    def is_kept_in(self) -> bool:
        return self.sandbox.kind != "none"

    def shown(self, path: Path) -> str:
        """Return a path for display, relative to the workspace if inside."""
        return str(path.relative_to(self.workspace) if path.is_relative_to(self.workspace) else path)

    def wrap_command(self, command: Sequence[str]) -> tuple[str, ...]:
        """Wrap a command so that it runs in the sandbox; blocking."""
        self.temporary.mkdir(mode=0o700, parents=True, exist_ok=True)
        match self.sandbox.kind:
            case "bubblewrap":
                inside = self._inside()
                return parented((self.sandbox.program, *self._bubblewrap(), "--", *command), inside)
            case "seatbelt":
                return (self.sandbox.program, "-p", self._seatbelt(), *command)
            case "landlock":
                return parented(command, self._inside())
            case "none":
                return parented(command)

    def _inside(self) -> Inside:
        """Return what the command's parent sets up, with resolved paths, because it follows no links."""
        roots = [str(folder) for folder in self._roots]
        inside = Inside(roots, [str(self.temporary)], ["network"] if self.network else [])
        if self.sandbox.kind == "landlock":
            return inside._replace(landlock=[str(self.sandbox.abi)])
        obeyed = dict.fromkeys(_real(path.parent) / path.name for path in self._obeyed())
        fixed: list[Path] = []
        absent: list[Path] = []
        for path in obeyed:
            if not any(root in path.parents for root in self._roots) or path.is_symlink():
                continue
            if path.name == "hooks" and path.parent.is_dir():
                # Hooks have too many names to watch for, so their folder is created and stays empty.
                with contextlib.suppress(OSError), folder_of(path) as (folder, name):
                    os.mkdir(name, dir_fd=folder)
            (fixed if path.exists() else absent).append(path)
        secret = self._secret()
        parents = self._parent_folders((*self._repositories(), *obeyed, *secret))
        return inside._replace(
            held=[*map(str, parents)],
            fixed=[*map(str, fixed)],
            covered=[*map(str, secret)],
            absent=[*map(str, absent)],
        )

    def _bubblewrap(self) -> Iterator[str]:
        """Yield the options of bubblewrap. Places that a command could exchange are bound by descriptor."""
        yield from _NAMESPACES
        if not self.network:
            yield "--unshare-net"
        yield from _SYSTEM
        # /run has sockets of other programs, the home and /tmp have the user's files.
        covered = [Path("/run"), Path("/tmp"), Path("/var/tmp"), self.home]
        covered = [each for each in covered if each.is_dir() and each != Path("/")]
        shown = next((each for each in self._secret() if self.temporary.is_relative_to(each)), self.temporary)
        for folder in covered:
            own = ("--bind-fd", str(shown)) if folder == Path("/tmp") else ("--tmpfs",)
            yield from (*own, str(folder))
        for name in ("/run/systemd/resolve", "/run/current-system", "/run/wrappers"):
            yield from ("--ro-bind-try", name, name)
        for folder in self._needed(covered):
            yield from ("--ro-bind-try", str(folder), str(folder))
        for folder in self._roots:
            yield from ("--bind-fd", str(folder), str(folder))
        yield from ("--setenv", "TMPDIR", "/tmp", "--chdir", str(self.workspace))

    def _needed(self, covered: Sequence[Path]) -> list[Path]:
        """Return what programs in the ``PATH`` need of the covered folders, and git's settings."""
        needed = [self.home / ".gitconfig", self.home / ".config" / "git"]
        for entry in filter(None, self.search.split(os.pathsep)):
            folder = Path(entry)
            # In a folder writable for commands, a link could determine what is bound.
            if not folder.is_absolute() or self._is_open(folder):
                continue
            for path in dict.fromkeys((folder, *_led_to(folder))):
                if any(path.is_relative_to(each) for each in covered):
                    needed.append(_installation(path, self.home))
        for link in self._pythons():
            # A virtual environment of the project; other links of a project stay covered.
            program = _real(link)
            if program.parent.name == "bin" and program.name.startswith("python"):
                needed += [_installation(program.parent, self.home)]
        usable = [path for path in needed if path.exists() and not self.home.is_relative_to(path)]
        return sorted({path for path in usable if path not in covered and not self._is_open(path)})

    def _pythons(self) -> list[Path]:
        try:
            return list(self.workspace.glob("*/bin/python*"))
        except OSError:  # a folder was deleted meanwhile
            return []

    def _is_open(self, path: Path) -> bool:
        return any(_real(path).is_relative_to(root) for root in self._roots)

    def _obeyed(self) -> list[Path]:
        """Return the places that programs act on later, and the program's own settings, existing or not."""
        found = [each for each in self.readable if any(each.is_relative_to(one) for one in self._open)]
        for folder in self._repositories():
            linked = (folder / "commondir").is_file()
            found += [
                folder / name for name in (("commondir", "config.worktree") if linked else obeyed_by_git())
            ]
        for place in self._open:
            found += _named_places(place)
            found += [place / ".git"] if (place / ".git").is_file() else []
            found += [place / ".hg" / "hgrc"] if (place / ".hg").is_dir() else []
        found += self.below.kept[:MOST_PLACES]
        return list(dict.fromkeys(found))

    def _parent_folders(self, paths: Sequence[Path]) -> list[Path]:
        """Return the folders around some paths, up to the writable ones; outer ones first."""
        found = {each for path in paths for each in (path, *path.parents)}
        inside = {each for each in found if any(root in each.parents for root in self._roots)}
        return sorted(each for each in inside if each.is_dir() and each == _real(each))

    def _repositories(self) -> list[Path]:
        found = [*self._own_repositories(), *self.below.repositories[:MOST_PLACES]]
        return list(dict.fromkeys(found))

    def _own_repositories(self) -> tuple[Path, ...]:
        gits = [place / ".git" for place in self._open]
        folders = [each for git in gits if git.is_dir() for each in (git, *within_git(git))]
        return tuple(each for each in folders if each.is_dir() and not each.is_symlink())

    def _secret(self) -> list[Path]:
        """Return reachable places with keys: the program's own, and those of a home that is the workspace."""
        inside = (*self._open, *self._needed((self.home,)))
        secret = (self.home / name for name in _SECRETS)
        reached = [path for path in secret if any(path.is_relative_to(each) for each in inside)]
        real = dict.fromkeys(_real(path) for path in (*self.hidden, *reached) if path.exists())
        return [path for path in real if not any(root.is_relative_to(path) for root in self._roots)]

    def _seatbelt(self) -> str:
        """Return a profile for macOS. Untested: modelled on the system's own profiles."""
        rows = ["(version 1)", "(allow default)", "(deny file-write*)"]
        for folder in (*self._open, Path(tempfile.gettempdir()).resolve(), Path("/dev")):
            rows.append(f"(allow file-write* (subpath {json.dumps(str(folder))}))")
        rows += [f"(deny file-write* (subpath {json.dumps(str(path))}))" for path in self._obeyed()]
        secret = (*self.hidden, *(self.home / name for name in _SECRETS))
        rows += [f"(deny file-read* file-write* (subpath {json.dumps(str(path))}))" for path in secret]
        if not self.network:
            rows.append("(deny network*)")
        return "\n".join(rows)


_NAMESPACES = (
    *("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"),
    *("--cap-drop", "ALL", "--die-with-parent"),
)
_SYSTEM = (
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
    # Root may write there without capabilities, and a kernel setting can name a program to run.
    *("--ro-bind-try", "/proc/sys", "/proc/sys"),
)
_SECRETS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".npmrc", ".pypirc", ".git-credentials",
    ".password-store", ".config/gcloud", ".config/gh", ".config/git/credentials", ".cargo/credentials.toml",
    ".local/share/keyrings", ".mozilla", ".config/chromium", ".config/google-chrome",
)  # fmt: skip
"""Places in a home that contain keys; reachable only if the home is the workspace or has programs."""
_MOST_LINKS = 500
_MOST_CONFIG = 100_000
_NAMED = re.compile(r'^\s*(hookspath|path)\s*=\s*"?(.+?)"?\s*$', re.IGNORECASE | re.MULTILINE)
"""Settings for folders of hooks and included files."""


def _real(path: Path) -> Path:
    """Resolve the links in a path; unchanged if a command creates others meanwhile."""
    try:
        return Path(os.path.realpath(path))
    except OSError:
        return path


def _named_places(place: Path) -> Iterator[Path]:
    """Yield the hooks and included settings that a repository's configuration places among its files."""
    git = place / ".git"
    for name in ("config", "config.worktree"):
        try:
            read = read_inside(git / name, None, _MOST_CONFIG, anything)
        except Refused:
            continue
        for key, path in _NAMED.findall(read.text if read is not None else ""):
            # Hooks are relative to the working tree, included settings to the including file.
            named = _real((place if key.lower() == "hookspath" else git) / path)
            if named.is_relative_to(place) and named != place:
                yield named


def _led_to(folder: Path) -> Iterator[Path]:
    """Yield the folders of programs to which links in a folder lead, also a virtual environment's Python."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for number, entry in enumerate(entries):
            if number >= _MOST_LINKS:
                break
            if entry.is_symlink():
                yield _real(Path(entry.path)).parent


def _installation(folder: Path, home: Path) -> Path:
    """Return the folder of a program's installation: its ``bin``'s parent, unless that contains a home."""
    around = folder.parent if folder.name in ("bin", "sbin", "shims", "Scripts") else folder
    return folder if home.is_relative_to(around) or around == home / ".local" else around


def refused(text: str) -> bool:
    """Return whether a command's output shows that something was refused, in the system's words."""
    messages = {os.strerror(code) for code in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENETUNREACH)}
    return any(words in text for words in (*messages, "Read-only file system", "resolve", "resolution"))
