"""The contexts compared: what a model would be sent instead of the whole history."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pydantic_ai.messages import BaseToolReturnPart, ModelMessage, ModelResponse

from tests.quality.text import message_text, names_in, text_of, typed_in

HIDDEN = "[old output hidden]"
KEPT_OUTPUTS = 10
MASKED = "old outputs masked, the newest of it"
PRODUCT = "the product's own summary alone"
Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Context:
    """What one method keeps of a history."""

    name: str
    text: str
    """Everything the model would read."""
    tokens: int
    written: str = ""
    """The part that a summariser wrote, if any."""
    written_tokens: int = 0
    ours: bool = False
    """Whether the written part has the form of our summaries, so that its claims can be checked."""
    clipped: bool = False
    """Whether it exceeded a budget and was cut."""
    refused: int = 0
    """Requests that could not fit the window even with everything removable left out."""


def raw_tail(before: Sequence[ModelMessage], budget: int, count: Count, name: str = "raw tail") -> Context:
    """The newest text that fits."""
    text = _last(text_of(before), budget, count)
    return Context(name, text, count(text))


def head_and_tail(before: Sequence[ModelMessage], budget: int, count: Count) -> Context:
    """Half from the beginning and half from the end."""
    whole = text_of(before)
    text = f"{_first(whole, budget // 2, count)}\n{_last(whole, budget // 2, count)}"
    return Context("head + tail", text, count(text))


def masked(before: Sequence[ModelMessage], count: Count, kept: int = KEPT_OUTPUTS) -> Context:
    """Everything, with all but the last few tool outputs masked."""
    left = kept
    messages: list[ModelMessage] = []
    for message in reversed(before):
        parts = []
        for part in reversed(message.parts):
            output = isinstance(part, BaseToolReturnPart)
            parts.append(replace(part, content=HIDDEN) if output and left <= 0 else part)
            left -= output
        messages.append(replace(message, parts=parts[::-1]))
    text = text_of(messages[::-1])
    return Context(f"old outputs masked (last {kept} kept)", text, count(text))


def ledger(before: Sequence[ModelMessage], budget: int, count: Count) -> Context:
    """Only the most frequent names."""
    text = name_list(frequency_of(before), budget, count)
    return Context("bare list of names", text, count(text), text, count(text))


def frequency_of(before: Sequence[ModelMessage]) -> Counter[str]:
    """Number of messages that contain each name."""
    frequency: Counter[str] = Counter()
    for message in before:
        frequency.update(sorted(names_in(message_text(message, labels=False))))
    return frequency


def name_list(frequency: Counter[str], budget: int, count: Count) -> str:
    """As many of the most frequent names as fit, one per line."""
    names = [name for name, _ in frequency.most_common()]
    low, high = 0, len(names)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count("\n".join(names[:middle])) <= budget else (low, middle - 1)
    return "\n".join(names[:low])


def product(summary: str, tail: Sequence[ModelMessage], count: Count) -> Context:
    """The other product's actual replacement of the history."""
    text = "\n".join(filter(None, [summary, text_of(tail)]))
    return Context("the product's own summary", text, count(text), summary, count(summary))


def masked_within(before: Sequence[ModelMessage], budget: int, count: Count) -> Context:
    """Masking within a budget; if too much is left, the newest part of it."""
    whole = masked(before, count)
    text = whole.text if whole.tokens <= budget else _last(whole.text, budget, count)
    return Context(MASKED, text, count(text), clipped=whole.tokens > budget)


def product_within(summary: str, budget: int, count: Count) -> Context:
    """The other product's summary without the kept messages; if too long, its beginning."""
    text = summary if count(summary) <= budget else _first(summary, budget, count)
    size = count(text)
    return Context(PRODUCT, text, size, text, size, clipped=text != summary)


def what_cannot_leave(before: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The user's last prompt, and everything from the last answer on, which the model has not read yet."""
    answers = [place for place, message in enumerate(before) if isinstance(message, ModelResponse)]
    unread = answers[-1] if answers else 0
    typed = [place for place, message in enumerate(before) if typed_in([message])]
    return [*(before[place] for place in typed[-1:] if place < unread), *before[unread:]]


def _last(text: str, budget: int, count: Count) -> str:
    start = len(text) - _characters(len(text), budget, lambda size: count(text[len(text) - size :]))
    return text[start:]


def _first(text: str, budget: int, count: Count) -> str:
    return text[: _characters(len(text), budget, lambda size: count(text[:size]))]


def _characters(most: int, budget: int, cost: Callable[[int], int]) -> int:
    """The number of characters that fit the budget."""
    low, high = 0, min(most, budget * 12)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if cost(middle) <= budget else (low, middle - 1)
    return low
