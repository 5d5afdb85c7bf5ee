"""Where histories are cut: at the other product's compactions, else every so many tokens."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

from tests.quality.transcripts import Transcript

AFTER = 40
"""Responses after the cut that are examined for what they need."""
_ENOUGH_AFTER = 6
"""Minimum number of responses after a cut of our own."""


@dataclass(frozen=True, slots=True)
class Case:
    """A history and the messages that followed it."""

    name: str
    format: str
    real: bool
    """Whether the other product compacted here."""
    before: tuple[ModelMessage, ...]
    after: tuple[ModelMessage, ...]
    tokens: int
    """Size of ``before``."""
    product: str = ""
    """The other product's summary, as sent to its model."""
    product_tail: tuple[ModelMessage, ...] = ()


def cases_of(transcript: Transcript, size: Callable[[ModelMessage], int], least: int) -> Iterator[Case]:
    """Yield the cases of a session.

    Args:
        transcript: The session.
        size: Counts the tokens of a message.
        least: Tokens that fill a window. Shorter histories are left out. If the file has no compaction, the
            session is cut every so many tokens.
    """
    sizes = [size(message) for message in transcript.messages]
    real = {boundary.index: boundary for boundary in transcript.boundaries}
    for index in real or _cuts(transcript.messages, sizes, least):
        before = transcript.messages[:index]
        if sum(sizes[:index]) < least:
            continue
        boundary = real.get(index)
        yield Case(
            name=f"{transcript.name}@{index}",
            format=transcript.format,
            real=boundary is not None,
            before=before,
            after=transcript.messages[index:],
            tokens=sum(sizes[:index]),
            product=boundary.summary if boundary else "",
            product_tail=transcript.messages[boundary.kept_from : index] if boundary else (),
        )


def _cuts(messages: tuple[ModelMessage, ...], sizes: list[int], step: int) -> Iterator[int]:
    """Cuts before a response, each the first one after another ``step`` tokens."""
    total, due = 0, step
    left = sum(isinstance(message, ModelResponse) for message in messages)
    for index, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            ready = total >= due and isinstance(messages[index - 1], ModelRequest)
            if ready and left >= _ENOUGH_AFTER:
                yield index
                due = total + step
            left -= 1
        total += sizes[index]
