"""Where histories are cut: at real compactions, and where a file holds none, every so many tokens."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

from tests.quality.transcripts import Transcript

AFTER = 40
"""Responses after the cut whose needs are looked at."""
_ENOUGH_AFTER = 6
"""Responses that must follow a cut of our own."""


@dataclass(frozen=True, slots=True)
class Case:
    """One history with what came after it."""

    name: str
    format: str
    real: bool
    """Whether the other product compacted here."""
    before: tuple[ModelMessage, ...]
    after: tuple[ModelMessage, ...]
    tokens: int
    """Size of ``before``."""
    product: str = ""
    """What the other product's model was given instead, as text of the summary."""
    product_tail: tuple[ModelMessage, ...] = ()


def cases_of(transcript: Transcript, size: Callable[[ModelMessage], int], least: int) -> Iterator[Case]:
    """Yield the cases of a session.

    Args:
        transcript: The session.
        size: Tokens of a message.
        least: Tokens that fill a window: shorter histories are left out, and where the file holds no
            compaction one is thought every so many tokens.
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
    """Places in front of a response, each the first after another ``step`` tokens."""
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
