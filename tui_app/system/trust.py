"""Which folders the user trusts, and where programs of the user's own start.

Until the user has said yes to a folder, nothing of it counts: no instructions, no skills, no commands, and no
rule allows anything there. The answer is one look into a file of the user's own, never into the folder.
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
"""Folders, separated as in ``PATH``, that are trusted with all that is in them: for containers and CI."""
FOLDER_VARIABLE = "PLIMSOLL_FOLDER"
"""Tells hooks and MCP servers the folder of the session, in which they do not start."""


def trust_in(paths: Paths, env: Mapping[str, str], folder: Path) -> bool | None:
    """What the user has said of the repository a folder is in; None where nothing was asked yet.

    A worktree that was made for a session is as its repository, unless something was said of it alone. A
    damaged file counts as empty: then the user is asked again.
    """
    root, known = repository_root(folder), answers(paths)
    named = map(Path, env.get(TRUST_VARIABLE, "").split(os.pathsep))
    given = [each.resolve() for each in named if each.is_absolute()]
    said = (
        any(map(each.is_relative_to, given)) or known.get(str(each))
        for each in (root, *_repositories_of(root))
    )
    return next((answer for answer in said if isinstance(answer, bool)), None)


APART = ".worktrees"
"""The worktrees of ``harbour`` are in ``harbour.worktrees`` beside it."""


def _repositories_of(root: Path) -> Iterator[Path]:
    """The repository beside a worktree that lists it; what the worktree says of itself is not believed."""
    owner = root.parent.with_name(root.parent.name.removesuffix(APART))
    if owner != root.parent and (root / ".git").is_file():
        for listed in (owner / ".git" / "worktrees").glob("*/gitdir"):
            with suppress(OSError, ValueError):
                # git may write it relative to its own folder.
                if (listed.parent / listed.read_text().strip()).resolve() == root / ".git":
                    yield owner


def answers(paths: Paths) -> dict[str, object]:
    """What was answered, by the root of each repository."""
    return read_object(paths.trust_file)


def remember_trust(paths: Paths, folder: Path, answer: bool | None) -> Path:
    """Note the answer for the repository a folder is in, None to be asked again; its root.

    Raises:
        OSError: if it cannot be written.
    """
    import json

    root = repository_root(folder)
    said = {**answers(paths), str(root): answer}
    known = {place: each for place, each in said.items() if each is not None}
    write_atomic(paths.trust_file, json.dumps(known, indent=1) + "\n")
    return root


class NotTrusted(Exception):
    """A program was to start in a folder that is not trusted. The message is a sentence."""


@frozen(kw_only=True)
class ProgramPlace:
    """Where hooks and MCP servers start: in a folder of the user's own, so the session's decides nothing.

    A program that looks for its parts where it starts (a script, ``node_modules``, ``.npmrc``) finds the
    user's and not those of a repository.
    """

    own: Path
    """The user's folder of settings."""
    folder: Path
    """The session's folder."""
    env: Mapping[str, str] = field(repr=False)
    trusted: bool = False
    """Whether the user trusts the session's folder."""

    def start_folder(self, given: str) -> Path:
        """The folder to start in.

        Args:
            given: As the settings say it, relative to the session's folder; empty is the user's own.

        Raises:
            NotTrusted: if the settings name one in a repository that is not trusted.
        """
        if not given:
            return self.own
        chosen = self.folder / from_home(given)
        if not self.trusted and chosen.resolve().is_relative_to(repository_root(self.folder)):
            raise NotTrusted(f"It is to start in {given!r:.80}, and this folder is not trusted.")
        return chosen

    def environment(self) -> dict[str, str]:
        """Our environment, with the session's folder, and without a place in it where programs are found."""
        path = search_path(self.env.get("PATH", ""), repository_root(self.folder))
        return {**self.env, "PATH": path, FOLDER_VARIABLE: str(self.folder)}


def search_path(path: str, root: Path) -> str:
    """``PATH`` without places that are relative or in a repository: what stands there is not the user's."""
    kept = (each for each in path.split(os.pathsep) if Path(each).is_absolute())
    found = os.pathsep.join(each for each in kept if not Path(each).resolve().is_relative_to(root))
    return found or os.defpath
