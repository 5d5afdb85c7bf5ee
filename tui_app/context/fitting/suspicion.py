"""A window that a refusal has named without saying how long the request was: believed for a while only."""

from dataclasses import dataclass, replace

_ANSWERS = 5
"""Answered requests after which a larger one is tried again."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What one refusal said, which may have been about something else. Never kept across sessions."""

    limit: int
    """Tokens."""
    answers: int = 0
    """Requests answered since."""

    @property
    def holds(self) -> bool:
        """Whether requests keep to it; later it only waits for being named again."""
        return self.answers < _ANSWERS

    def answered(self) -> "Suspicion":
        """The suspicion after one more answer."""
        return replace(self, answers=self.answers + 1)
