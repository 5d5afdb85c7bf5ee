"""The transcripts of other programs on this machine, newest first, with what a list shows of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tui_app.session.importers.fields import given_title, record_text, seconds
from tui_app.session.importers.peek import glance
from tui_app.session.importers.places import PLACES, Found
from tui_app.session.importers.result import ImportFormatError


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTranscript:
    """One transcript that can be imported."""

    path: Path
    """What to import; see :class:`tui_app.session.importers.places.Found`."""
    program: str
    """Name of the format it is expected to be in."""
    title: str
    """Of the program, else the first prompt; empty when neither stands near its beginning."""
    cwd: str
    time: float
    """When it was last written, in seconds since the epoch."""
    size: int
    """Bytes; 0 for a session in a database."""


def _always() -> bool:
    return True


def find_transcripts(
    env: Mapping[str, str], *, home: Path, cwd: Path, go_on: Callable[[], bool] = _always
) -> list[LocalTranscript]:
    """Look in the places where the programs keep them. Blocks: it reads the beginning of every file.

    Args:
        env: The environment; the programs' own variables move the places.
        home: The person's home folder.
        cwd: The current folder, for programs that write into the project.
        go_on: Asked between two files; the search ends when it says no.
    """
    found: list[LocalTranscript] = []
    for place in PLACES:
        try:
            for each in place.search(env, home, cwd):
                if not go_on():
                    return []
                found += _looked_into(place.program, each)
        except OSError:
            # A folder that may not be read hides what is in it, and nothing else.
            continue
    return sorted(found, key=lambda each: (-each.time, str(each.path)))


def _looked_into(program: str, found: Found) -> list[LocalTranscript]:
    if found.info is not None:
        times = found.info.get("time")
        updated = times.get("updated") if isinstance(times, dict) else None
        return [
            LocalTranscript(
                path=found.path,
                program=program,
                title=given_title(record_text(found.info, "title")),
                cwd=record_text(found.info, "directory"),
                time=seconds(updated, 0.0),
                size=0,
            )
        ]
    try:
        status = found.path.stat()
        seen = glance(found.path)
    except (OSError, ImportFormatError):
        return []
    if seen.is_part:
        return []
    return [
        LocalTranscript(
            path=found.path,
            program=program,
            title=seen.title,
            cwd=seen.cwd,
            time=status.st_mtime,
            size=status.st_size,
        )
    ]
