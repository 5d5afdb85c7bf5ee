"""Output of a background command on disk: its start and its newest part."""

import itertools
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from tui_app.agent.tools.commands import readable
from tui_app.records import frozen

HEAD_BYTES, PART_BYTES = 1 << 20, 4 << 20
"""Bytes kept of the start of an output, and of each of its two newest parts."""

LINE_CHARS = 2_000
"""Maximum characters shown of one line."""


@dataclass(slots=True)
class Part:
    """A part of an output, in its own file."""

    path: Path
    first: int
    """Number of the line it begins in."""
    number: int = 0
    """Number of its file, from 0."""
    size: int = 0
    """Bytes."""


@frozen
class Page:
    """Some lines of an output."""

    lines: tuple[tuple[int, str], ...]
    """Each with its number, from 1."""
    total: int
    """Lines so far; the last one may be incomplete."""
    missing: tuple[int, int] = (0, 0)
    """First and last of the lines that are no longer kept; zeros if there are none."""
    problem: str = ""
    """Why something could not be written or read."""
    chars: int = 0
    """Characters so far."""


@dataclass(slots=True)
class TaskOutput:
    """The output of one command. Written on the event loop, in portions; read in threads."""

    folder: Path
    name: str
    newlines: int = 0
    chars: int = 0
    problem: str = ""
    open_line: bool = False
    """Whether the last line is incomplete."""
    _parts: list[Part] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Lines so far."""
        return self.newlines + self.open_line

    def add(self, text: str) -> None:
        """Write a portion. If the disk refuses, it is lost and reported."""
        if not text:
            return
        data = text.encode("utf-8", "replace")
        try:
            part = self._part(len(data))
            with part.path.open("ab") as file:
                file.write(data)
            part.size += len(data)
        except OSError as error:
            self.problem = f"Output could not be written: {error.strerror or error}."
        self.newlines += text.count("\n")
        self.chars += len(text)
        self.open_line = not text.endswith("\n")

    def _part(self, size: int) -> Part:
        """The file for the next portion. If it is full, start a new one and drop the oldest in the middle."""
        limit = HEAD_BYTES if len(self._parts) == 1 else PART_BYTES
        if not self._parts or (self._parts[-1].size and self._parts[-1].size + size > limit):
            number = self._parts[-1].number + 1 if self._parts else 0
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            path = self.folder / f"{self.name}-{number}.txt"
            path.touch(mode=0o600)
            self._parts.append(Part(path, self.newlines + 1, number))
            while len(self._parts) > 3:
                self._parts.pop(1).path.unlink(missing_ok=True)
        return self._parts[-1]

    def page(self, start: int, most: int) -> Page:
        """Read lines. Blocks.

        Args:
            start: Number of the first, from 1; negative counts from the end.
            most: Maximum number of lines.
        """
        parts, total, problem, chars = tuple(self._parts), self.total, self.problem, self.chars
        if start < 0:
            start = max(1, total + 1 + start)
        lines: dict[int, str] = {}
        for part in parts:
            try:
                text = part.path.read_bytes().decode("utf-8", "replace")
            except OSError as error:  # it may have just been deleted
                problem = problem or f"Output could not be read: {error.strerror or error}."
                continue
            for number, line in enumerate(text.split("\n"), start=part.first):
                lines[number] = lines.get(number, "") + line
        kept = [number for number in lines if start <= number <= total][:most]
        shown = tuple((number, _shown(lines[number])) for number in kept)
        missing = (0, 0)
        for before, part in pairwise(parts):
            if part.number != before.number + 1:
                gap = next(number for number in itertools.count(before.first) if number not in lines)
                missing = (min(gap, part.first), part.first - 1)
        return Page(shown, total, missing, problem, chars)

    def remove(self) -> None:
        for part in self._parts:
            part.path.unlink(missing_ok=True)


@dataclass(slots=True)
class KeptOutput(TaskOutput):
    """The output of a command that outlived its session: another process writes the file, numbered anew."""

    def page(self, start: int, most: int) -> Page:
        """Read lines, and count them again. Blocks."""
        (part,) = self._parts
        try:
            text = part.path.read_bytes().decode("utf-8", "replace")
        except OSError:  # nothing was printed yet
            text = ""
        self.newlines, self.open_line = text.count("\n"), bool(text) and not text.endswith("\n")
        self.chars = len(text)
        return super(KeptOutput, self).page(start, most)


def _shown(line: str) -> str:
    line = readable(line)
    more = len(line) - LINE_CHARS
    return f"{line[:LINE_CHARS]} [{more:,} more characters]" if more > 0 else line
