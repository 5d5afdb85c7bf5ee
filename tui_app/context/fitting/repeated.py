"""Which words of an error stand in the request it answers, and so are no words of the provider's."""

from collections.abc import Iterator, Sequence

from pydantic_ai.messages import ModelMessage, ToolCallPart

_MORE = 8
"""Characters around some words that must agree too before they count as taken from the request."""


def said_in(messages: Sequence[ModelMessage]) -> str:
    """All text of a request, to be looked at for what an error repeats."""
    return "\n".join(text for message in messages for part in message.parts for text in _texts(part))


def is_repeated(text: str, start: int, end: int, said: str) -> bool:
    """Whether a stretch of an error's text was taken from the request.

    It was if more than the stretch agrees, and the line around it holds other words as well: a line that
    stands there as a whole may be an earlier error which a person asks about, and has now come up again.
    """
    if not said or text[start:end] not in said:
        return False
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    line = text[first : last if last >= 0 else len(text)]
    if line.partition(": ")[2].strip() in said or line.strip() in said:
        return False
    before, after = text[max(0, start - _MORE) : end], text[start : end + _MORE]
    return any(len(wider) >= end - start + _MORE and wider in said for wider in (before, after))


def _texts(part: object) -> Iterator[str]:
    if isinstance(part, ToolCallPart):
        yield part.args_as_json_str()
        return
    content = getattr(part, "content", None)
    if isinstance(content, str):
        yield content
    elif isinstance(content, Sequence):
        yield from (piece for piece in content if isinstance(piece, str))
    elif content is not None:
        yield str(content)
