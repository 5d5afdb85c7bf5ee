"""Files of a project for agents, read without leaving the project."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from stat import S_ISREG
from typing import Generic, Protocol, TypeVar

from tui_app.records import frozen

_AS_IT_IS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Refused(Exception):
    """Raised when a file exists but is not read; the message completes a sentence."""


@frozen
class Text:
    """Text read from a file."""

    text: str
    cut: bool = False
    """Whether the file is longer."""


def repository_root(folder: Path) -> Path:
    """Return the nearest folder with ``.git``; outside of any repository the folder itself."""
    inside = folder.resolve()
    return next((each for each in (inside, *inside.parents) if (each / ".git").exists()), inside)


def folders_of(folder: Path) -> list[Path]:
    """Return the folders from the repository's root down to a folder, both included."""
    root, inside = repository_root(folder), folder.resolve()
    between = inside.relative_to(root).parts
    return [root.joinpath(*between[:count]) for count in range(len(between) + 1)]


MayRead = Callable[[Path, Path], str]
"""Returns why a file must not be read, by its given and its real path; empty if it may."""


def anything(_called: Path, _real: Path) -> str:
    """Allow every file."""
    return ""


def read_inside(file: Path, root: Path | None, limit: int, may_read: MayRead) -> Text | None:
    """Read a text file.

    Args:
        file: The file.
        root: Folder that must contain it after following links; None allows any place, for the user's own
            files, to
            which no rule applies.
        limit: Maximum characters to read.
        may_read: The rules for reading.

    Returns:
        Its text; None if there is no such file.

    Raises:
        Refused: if a link leads out of the folder, or it is no readable file.
    """
    try:
        real = file.resolve(strict=True)
        if root is not None and not real.is_relative_to(root.resolve()):
            raise Refused("a link leads out of the repository")
        if root is not None and (why := may_read(file, real)):
            raise Refused(why)
        # A pipe or device would block, and a link created since would lead elsewhere.
        with os.fdopen(os.open(real, os.O_RDONLY | _AS_IT_IS), "rb") as stream:
            if not S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise Refused("it is not a regular file")
            data = stream.read(4 * limit + 1)
    except FileNotFoundError:
        if file.is_symlink():
            raise Refused("it is a broken link") from None
        return None
    except NotADirectoryError:
        return None
    except (OSError, RuntimeError) as error:
        raise Refused(f"it cannot be read: {getattr(error, 'strerror', '') or 'too many links'}") from error
    text = data.decode("utf-8", "replace")
    return Text(text[:limit], cut=len(text) > limit)


def entries(folder: Path, root: Path | None) -> Iterator[Path]:
    """Yield the entries of a folder, by name; none if it is missing, or a link leads out of ``root``."""
    try:
        if root is not None and not folder.resolve().is_relative_to(root.resolve()):
            return
        yield from sorted(folder.iterdir())
    except (OSError, RuntimeError):
        return


_MOST_ENTRIES = 500
"""Maximum entries read per folder, of any kind: opening a folder must not take long."""


class Named(Protocol):
    """A file written by a user or a project, which is used by its name."""

    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


@frozen
class NearestFiles(Generic[N]):
    """Files for a project and for all projects."""

    found: tuple[N, ...] = ()
    refused: tuple[str, ...] = ()
    """Sentences about files that cannot be used, with the reason."""

    def named(self, name: str) -> N | None:
        return next((each for each in self.found if each.name == name.strip()), None)

    def get(self, name: str, kind: str) -> N:
        """Return the file with a name.

        Raises:
            Refused: if there is none; the text lists the existing ones.
        """
        if (found := self.named(name)) is None:
            names = ", ".join(each.name for each in self.found) or "none"
            raise Refused(f"There is no {kind} {name!r:.80}. There are: {names}")
        return found


def read_nearest(
    places: tuple[Path | None, Path],
    inner: Sequence[str],
    own: str,
    read: Callable[[Path, Path | None], N | None],
    most: int,
    file: str = "",
) -> NearestFiles[N]:
    """Read the files for a project and for all. The nearest wins a name, the user's own come last.

    Args:
        places: The working folder, or None for the user's own only, and the user's settings folder.
        inner: Subfolders of a project's folders with such files.
        own: Subfolder of the settings folder with such files.
        read: Reads a file, given the folder that it must not lead out of; None if it is missing. May raise
            ``Refused``.
        most: Maximum number of files.
        file: File name, if each has a folder of its own; else empty.
    """
    folder, config = places
    around = folders_of(folder) if folder is not None else []
    folders: list[tuple[Path, Path | None]] = [
        (place / each, around[0]) for place in reversed(around) for each in inner
    ]
    found: dict[str, N] = {}
    refused: list[str] = []
    for parent, root in (*folders, (config / own, None)):
        for number, entry in enumerate(entries(parent, root)):
            if number >= _MOST_ENTRIES:
                refused.append(
                    f"{parent} has more than {_MOST_ENTRIES} entries: the others are not looked at."
                )
                break
            path = entry / file
            try:
                one = read(path, root)
            except Refused as why:
                refused.append(f"{path} is not used: {why}.")
                continue
            if one is not None and len(found) < most:
                found.setdefault(one.name, one)
    return NearestFiles(tuple(found.values()), tuple(refused))


_FENCE = "---"

_QUOTED = re.compile(r"(?s)\".*\"|'.*'")


@frozen
class Document:
    """The parts of a file."""

    values: Mapping[str, str] = field(default_factory=dict)
    """Values of the front matter, by name in lower case."""
    body: str = ""


def read_document(text: str) -> Document:
    """Split a file into front matter and body; without front matter all is body."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].strip() != _FENCE:
        return Document(body="\n".join(lines).strip())
    end = next((at for at, line in enumerate(lines[1:], 1) if line.strip() == _FENCE), 0)
    if not end:
        return Document(body="\n".join(lines).strip())
    return Document(_values(lines[1:end]), "\n".join(lines[end + 1 :]).strip())


def _values(lines: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        inside = line[:1] in (" ", "\t", "-")
        key, colon, rest = line.partition(":")
        if not inside and colon and key.strip():
            name = key.strip().lower()
            # Block styles determine how lines are joined; here they are always joined by spaces.
            found[name] = [] if rest.strip() in ("|", ">", "|-", ">-", "|+", ">+") else [rest.strip()]
        elif inside and name and line.strip():
            found[name].append(line.strip())
    values = {key: " ".join(filter(None, words)) for key, words in found.items()}
    return {key: text[1:-1] if _QUOTED.fullmatch(text) else text for key, text in values.items()}
