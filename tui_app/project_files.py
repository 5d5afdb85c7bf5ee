"""Files that a project keeps for agents: where they stand, and reading them without leaving the project."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG


class Refused(Exception):
    """A file is there and is not read. The message says why, as part of a sentence."""


@dataclass(frozen=True, slots=True)
class Text:
    """What was read of a file."""

    text: str
    cut: bool = False
    """Whether it goes on."""


def repository_root(folder: Path) -> Path:
    """The folder with ``.git`` that a folder is in; outside of any repository the folder itself."""
    inside = folder.resolve()
    return next((each for each in (inside, *inside.parents) if (each / ".git").exists()), inside)


def folders_of(folder: Path) -> list[Path]:
    """The folders from the repository's root down to a folder, both included."""
    root, inside = repository_root(folder), folder.resolve()
    between = inside.relative_to(root).parts
    return [root.joinpath(*between[:count]) for count in range(len(between) + 1)]


def read_inside(file: Path, root: Path | None, limit: int) -> Text | None:
    """Read a text file.

    Args:
        file: Which one.
        root: Folder that it must be in when all links are followed; None allows any place.
        limit: Characters to read at most.

    Returns:
        Its text; None where there is no such file.

    Raises:
        Refused: if a link leads out of the folder, or it is no file that can be read.
    """
    try:
        real = file.resolve(strict=True)
        if root is not None and not real.is_relative_to(root.resolve()):
            raise Refused("a link leads out of the repository")
        # A pipe or a device would hold up whoever reads it.
        if not S_ISREG(real.stat().st_mode):
            raise Refused("it is no regular file")
        with real.open("rb") as stream:
            data = stream.read(4 * limit + 1)
    except FileNotFoundError:
        if file.is_symlink():
            raise Refused("its link leads nowhere") from None
        return None
    except NotADirectoryError:
        return None
    except (OSError, RuntimeError) as error:
        raise Refused(f"it cannot be read: {getattr(error, 'strerror', '') or 'too many links'}") from error
    text = data.decode("utf-8", "replace")
    return Text(text[:limit], cut=len(text) > limit)


def entries(folder: Path, root: Path | None) -> Iterator[Path]:
    """What is in a folder, by name; nothing where there is none, or a link leads out of ``root``."""
    try:
        if root is not None and not folder.resolve().is_relative_to(root.resolve()):
            return
        yield from sorted(folder.iterdir())
    except (OSError, RuntimeError):
        return
