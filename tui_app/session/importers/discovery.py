"""Discovery of other programs' transcripts on this machine, newest first, with what a list shows of each."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from tui_app.session.importers.formats import TABLE
from tui_app.session.importers.places import LocalTranscript
from tui_app.session.importers.reader import Reader
from tui_app.session.importers.shape import Shape
from tui_app.session.importers.source import ImportFormatError, Source, open_regular

_BYTES = (65_536, 1_048_576)
"""Bytes read from the start of a file, and bytes read if no title is found there."""
_END = 65_536
"""Bytes read from the end: titles are written late."""


def find_transcripts(
    env: Mapping[str, str], *, home: Path, cwd: Path, go_on: Callable[[], bool] = lambda: True
) -> list[LocalTranscript]:
    """Look where the programs store transcripts. Blocks: it reads the beginning of every file.

    Args:
        env: The environment; the programs' own variables change the places.
        home: The user's home folder.
        cwd: The current folder, for programs that write into the project.
        go_on: Called between two files; the search ends when it returns False.
    """
    found: list[LocalTranscript] = []
    for shape, place in ((each, place) for each in TABLE for place in each.places):
        try:
            for each in place(env, home, cwd):
                if not go_on():
                    return []
                found += _looked_into(shape, each)
        except OSError:
            # An unreadable folder hides only its own content.
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
    """Return the title, folder and time of a conversation, from the beginning and the end of its file.

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
