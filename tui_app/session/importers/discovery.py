"""The transcripts of other programs on this machine, newest first, with what a list shows of each."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from tui_app.session.importers.formats import TABLE
from tui_app.session.importers.places import LocalTranscript
from tui_app.session.importers.reader import Reader
from tui_app.session.importers.shape import Shape
from tui_app.session.importers.source import ImportFormatError, Source, open_regular

_BYTES = (65_536, 1_048_576)
"""How much of a file is read at its beginning, and how much when there is no title."""
_END = 65_536
"""How much is read at its end: titles are written when there is something to name."""


def find_transcripts(
    env: Mapping[str, str], *, home: Path, cwd: Path, go_on: Callable[[], bool] = lambda: True
) -> list[LocalTranscript]:
    """Look in the places where the programs keep them. Blocks: it reads the beginning of every file.

    Args:
        env: The environment; the programs' own variables move the places.
        home: The user's home folder.
        cwd: The current folder, for programs that write into the project.
        go_on: Asked between two files; the search ends when it says no.
    """
    found: list[LocalTranscript] = []
    for shape, place in ((each, place) for each in TABLE for place in each.places):
        try:
            for each in place(env, home, cwd):
                if not go_on():
                    return []
                found += _looked_into(shape, each)
        except OSError:
            # A folder that may not be read hides what is in it, and nothing else.
            continue
    return sorted(found, key=lambda each: (-each.time, str(each.path)))


def _looked_into(shape: Shape, found: LocalTranscript) -> list[LocalTranscript]:
    found = replace(found, program=found.program or shape.name)
    if found.time >= 0:
        return [found]
    try:
        status = found.path.stat()
        title, folder, moment = glance(found.path, shape, status.st_mtime)
    except (OSError, ImportFormatError):
        return []
    return [replace(found, title=title, cwd=folder, time=moment, size=status.st_size)]


def glance(path: Path, shape: Shape, mtime: float) -> tuple[str, str, float]:
    """Title, folder and time of a conversation by the beginning and the end of its file.

    Raises:
        ImportFormatError: if it is no file but a pipe or a device.
        OSError: if it cannot be read.
    """
    title, folder, moment = "", "", mtime
    for size in _BYTES:
        with open_regular(path) as file:
            raw = file.read(size)
            at = max(len(raw), file.seek(0, 2) - _END)
            file.seek(at)
            raw += b"\n" * (at > size) + file.read()
        seen = Reader(Source(path=path, raw=raw, mtime=mtime), shape, checked=False).read()
        title, folder = seen.title, seen.cwd
        moment = max((event.time for event in seen.events), default=mtime)
        if title or len(raw) < size:
            break
    return title, folder, moment
