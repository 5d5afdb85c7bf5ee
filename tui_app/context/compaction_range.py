"""A range of messages that the user has named. Imports nothing of the agent side."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A range of messages to summarise, by log number, both ends included; 0 leaves an end open."""

    first: int = 0
    last: int = 0

    @property
    def named(self) -> bool:
        """Whether the user has named an end."""
        return bool(self.first or self.last)

    @property
    def words(self) -> str:
        """``from #4 up to #12``; empty where no end is named."""
        ends = (f"from #{self.first}" if self.first else "", f"up to #{self.last}" if self.last else "")
        return " ".join(filter(None, ends))


WHOLE = Span()
"""All that the policy lets go."""
