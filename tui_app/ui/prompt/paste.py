"""Large pastes: shown in the prompt as a chip, ``[pasted 63 lines]``, and sent in full."""

from typing import Literal

Side = Literal["any", "before", "behind"]
"""What is deleted: the sign before the cursor, or the one behind it."""
LARGE = 20
"""A paste of more lines than this becomes a chip."""
LONG = 4_000
"""So does one of more characters: the editor wraps every line anew with each key."""


def normalise(text: str) -> str:
    """Terminals send line ends of a paste as CR, LF or both; the prompt knows LF only."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_large(text: str) -> bool:
    """Whether a pasted text is too long to be shown where it was pasted."""
    return len(text) > LONG or len(text.rstrip("\n").split("\n")) > LARGE


class Chips:
    """Remembers the text of each chip for as long as the prompt lives."""

    def __init__(self) -> None:
        self._bodies: dict[str, str] = {}

    def add(self, body: str) -> str:
        """Remember a paste and return its chip; the same text gets the same chip again."""
        for chip, known in self._bodies.items():
            if known == body:
                return chip
        lines = len(body.rstrip("\n").split("\n"))
        size = f"{lines} lines" if lines > 1 else f"{len(body):,} characters"
        chip, copy = f"[pasted {size}]", 2
        while chip in self._bodies:
            chip, copy = f"[pasted {size} #{copy}]", copy + 1
        self._bodies[chip] = body
        return chip

    def within(self, text: str) -> list[tuple[str, str]]:
        """Return the chips of a text with their full texts, in order."""
        found: list[tuple[str, str]] = []
        while place := self._first_chip(text):
            at, chip = place
            found.append((chip, self._bodies[chip]))
            text = text[at + len(chip) :]
        return found

    def touching(self, line: str, column: int, side: Side = "any") -> tuple[int, int] | None:
        """Return the columns of the chip that a cursor is in or at, or that a key deletes from that side."""
        low, high = {"any": (0, 0), "before": (1, 0), "behind": (0, 1)}[side]
        for chip in self._bodies:
            start = line.find(chip)
            while start >= 0:
                if start + low <= column <= start + len(chip) - high:
                    return start, start + len(chip)
                start = line.find(chip, start + 1)
        return None

    def expand(self, text: str) -> str:
        """Put the full texts back in place of their chips, each chip read once and never inside a body."""
        pieces: list[str] = []
        rest = text
        while found := self._first_chip(rest):
            at, chip = found
            pieces += [rest[:at], self._bodies[chip]]
            rest = rest[at + len(chip) :]
        return "".join([*pieces, rest])

    def fold(self, text: str) -> str:
        """Replace texts that were pasted before by their chips, as a draft comes back to the prompt."""
        for chip, body in sorted(self._bodies.items(), key=lambda item: -len(item[1])):
            text = text.replace(body, chip)
        return text

    def _first_chip(self, text: str) -> tuple[int, str] | None:
        places = [(text.find(chip), chip) for chip in self._bodies if chip in text]
        return min(places, default=None)
