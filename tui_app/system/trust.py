"""Trust in folders, and the folders in which the user's programs start.

Until the user trusts a folder, nothing in it applies: no instructions, no skills, no commands, and no rule
allows anything there. The answer is read from a file of the user, never from the folder.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from tui_app.files import read_object, write_atomic
from tui_app.paths import Paths, from_home
from tui_app.records import frozen
from tui_app.system.project_files import repository_root

TRUST_VARIABLE = "PLIMSOLL_TRUST"
"""Folders, separated as in ``PATH``, that are trusted with their content: for containers and CI."""
FOLDER_VARIABLE = "PLIMSOLL_FOLDER"
"""Passes the session's folder to hooks and MCP servers, which do not start in it."""


def trust_in(paths: Paths, env: Mapping[str, str], folder: Path) -> bool | None:
    """Return the user's answer for the repository of a folder; None if not asked yet.

    A worktree made for a session has the answer of its repository, unless it has one of its own. A damaged
    file counts as empty: then the user is asked again.
    """
    root, known = repository_root(folder), answers(paths)
    named = map(Path, env.get(TRUST_VARIABLE, "").split(os.pathsep))
    given = [each.resolve() for each in named if each.is_absolute()]
    places = (root, *_repositories_of(root))
    replies = (any(map(each.is_relative_to, given)) or known.get(str(each)) for each in places)
    return next((answer for answer in replies if isinstance(answer, bool)), None)


APART = ".worktrees"
"""The worktrees of ``harbour`` are next to it, in ``harbour.worktrees``."""


def _repositories_of(root: Path) -> Iterator[Path]:
    """Yield the repository next to a worktree that lists it. The worktree's own claim is not trusted."""
    owner = root.parent.with_name(root.parent.name.removesuffix(APART))
    if owner != root.parent and (root / ".git").is_file():
        for listed in (owner / ".git" / "worktrees").glob("*/gitdir"):
            with suppress(OSError, ValueError):
                # git may write the path relative to its own folder.
                if (listed.parent / listed.read_text().strip()).resolve() == root / ".git":
                    yield owner


def answers(paths: Paths) -> dict[str, object]:
    """Return the answers, by the root of each repository."""
    return read_object(paths.trust_file)


def remember_trust(paths: Paths, folder: Path, answer: bool | None) -> Path:
    """Record the answer for the repository of a folder, None to ask again; return its root.

    Raises:
        OSError: if it cannot be written.
    """
    import json

    root = repository_root(folder)
    entries = {**answers(paths), str(root): answer}
    known = {place: each for place, each in entries.items() if each is not None}
    write_atomic(paths.trust_file, json.dumps(known, indent=1) + "\n")
    return root


class NotTrusted(Exception):
    """Raised when a program was to start in an untrusted folder; the message is a sentence."""


@frozen(kw_only=True)
class ProgramPlace:
    """Where hooks and MCP servers start: in the user's own folder, so that the session's has no influence.

    A program that looks for its parts in its working directory (a script, ``node_modules``, ``.npmrc``) finds
    the user's and not those of a repository.
    """

    own: Path
    """The user's settings folder."""
    folder: Path
    """The session's folder."""
    env: Mapping[str, str] = field(repr=False)
    trusted: bool = False
    """Whether the user trusts the session's folder."""

    def start_folder(self, given: str) -> Path:
        """Return the folder to start in.

        Args:
            given: From the settings, relative to the session's folder; empty for the user's own.

        Raises:
            NotTrusted: if the settings name a folder in an untrusted repository.
        """
        if not given:
            return self.own
        chosen = self.folder / from_home(given)
        if not self.trusted and chosen.resolve().is_relative_to(repository_root(self.folder)):
            raise NotTrusted(f"It is to start in {given!r:.80}, and this folder is not trusted.")
        return chosen

    def environment(self) -> dict[str, str]:
        """Return our environment with the session's folder, and without search paths inside it."""
        path = search_path(self.env.get("PATH", ""), repository_root(self.folder))
        return {**self.env, "PATH": path, FOLDER_VARIABLE: str(self.folder)}


def search_path(path: str, root: Path) -> str:
    """Remove relative folders and those in a repository from ``PATH``: programs there are not the user's."""
    kept = (each for each in path.split(os.pathsep) if Path(each).is_absolute())
    found = os.pathsep.join(each for each in kept if not Path(each).resolve().is_relative_to(root))
    return found or os.defpath
