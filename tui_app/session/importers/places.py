"""Places where other programs store their transcripts: searches in folders or databases."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tui_app.paths import from_home
from tui_app.records import frozen
from tui_app.session.importers.databases import Store
from tui_app.session.importers.source import Json
from tui_app.session.importers.titles import given_title
from tui_app.session.importers.values import seconds, text_at, value_at

Env = Mapping[str, str]


@frozen(kw_only=True)
class LocalTranscript:
    """One transcript that can be imported."""

    path: Path
    """What to import: a file, or ``FILE#SESSION`` for a session in a database."""
    program: str = ""
    """Name of the expected format; empty for the format that the place belongs to."""
    title: str = ""
    """From the program, or else the first prompt; empty if neither is near the beginning of the file."""
    cwd: str = ""
    time: float = -1.0
    """Last change of the conversation in seconds since the epoch, or else of the file.

    Negative while the file has not been looked into.
    """
    size: int = 0
    """Bytes; 0 for a session in a database."""


def transcript_at(path: Path, info: Json, program: str = "", part: str = "") -> LocalTranscript:
    """A transcript, or a part of a file, by what its place says of it: title, folder and time."""
    path = path.with_name(f"{path.name}#{part}") if part else path
    title, moment = given_title(text_at(info, "title")), seconds(value_at(info, "time.updated"), 0.0)
    return LocalTranscript(
        path=path, program=program, title=title, cwd=text_at(info, "directory"), time=moment
    )


Place = Callable[[Env, Path, Path], Iterator[LocalTranscript]]
"""Takes the environment, the home folder and the current folder."""


def folder_of(env: Env, variable: str, usual: Path) -> Path:
    """Return the folder that a variable names, or else the usual one."""
    value = env.get(variable, "").strip()
    return from_home(value) if value else usual


def files_in(variable: str, usual: str, *patterns: str) -> Place:
    """Search the folder that a variable names, or else the usual one in the home folder."""

    def search(env: Env, home: Path, _cwd: Path) -> Iterator[LocalTranscript]:
        root = folder_of(env, variable, home / usual)
        for pattern in patterns:
            yield from (LocalTranscript(path=path) for path in root.glob(pattern))

    return search


def stores_in(store: Store, variable: str, usual: str, *patterns: str) -> Place:
    """Search databases in the folder that a variable names, or else the usual one in the home folder."""
    files = files_in(variable, usual, *patterns)

    def search(env: Env, home: Path, cwd: Path) -> Iterator[LocalTranscript]:
        for path in (found.path for found in files(env, home, cwd)):
            for info in store.sessions(path):
                yield transcript_at(path, info, part=info["id"])

    return search
