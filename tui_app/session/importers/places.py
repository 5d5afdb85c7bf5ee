"""Where programs keep their transcripts: a search through the folders or databases of one of them."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tui_app.paths import from_home
from tui_app.records import frozen
from tui_app.session.importers.databases import Store
from tui_app.session.importers.source import Json

Env = Mapping[str, str]


@frozen
class Transcript:
    """A transcript that was found, before it is opened."""

    path: Path
    """What to import: a file, or ``FILE#SESSION`` for a session in a database."""
    info: Json | None = None
    """Title, folder and time, where the place has them apart from the transcript."""
    program: str = ""
    """Name of the format, where it is not the one whose place it is."""


Place = Callable[[Env, Path, Path], Iterator[Transcript]]
"""Takes the environment, the home folder and the current folder."""


def folder_of(env: Env, variable: str, usual: Path) -> Path:
    """The folder that a variable names, else the usual one."""
    value = env.get(variable, "").strip()
    return from_home(value) if value else usual


def files_in(variable: str, usual: str, *patterns: str) -> Place:
    """Search the folder that a variable names, else the usual one in the home folder."""

    def search(env: Env, home: Path, _cwd: Path) -> Iterator[Transcript]:
        root = folder_of(env, variable, home / usual)
        for pattern in patterns:
            yield from map(Transcript, root.glob(pattern))

    return search


def stores_in(store: Store, variable: str, usual: str, *patterns: str) -> Place:
    """Search databases in the folder that a variable names, else the usual one in the home folder."""
    files = files_in(variable, usual, *patterns)

    def search(env: Env, home: Path, cwd: Path) -> Iterator[Transcript]:
        for path in (found.path for found in files(env, home, cwd)):
            for info in store.sessions(path):
                yield Transcript(path.with_name(f"{path.name}#{info['id']}"), info)

    return search
