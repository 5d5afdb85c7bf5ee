"""Several compactions one after the other: what is left of the first part after the last of them."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

from tests.quality.contexts import Context
from tests.quality.governed import Governed, context_of
from tui_app.context.compaction.compactor import CompactionRefused
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.policy import PLIMSOLL, Policy
from tui_app.context.views.view import to_messages

STEP = 3_000
"""Tokens a played history grows by between two requests."""


async def chained(
    before: Sequence[ModelMessage], times: int, window: int, text: TextCounter, policy: Policy = PLIMSOLL
) -> Context:
    """Play a history in so many portions and compact after each one.

    Args:
        before: The history.
        times: Portions, and compactions.
        window: Tokens of the model's window.
        text: Counts tokens.
        policy: How the window is governed.

    Returns:
        What is in view after the last compaction.
    """
    governed = Governed(text, window, policy)
    view: list[ModelMessage] = []
    for portion in portions(before, times, governed.size):
        done = len(governed.compactions)
        await governed.send_if_it_fits([*view, *portion])
        with suppress(CompactionRefused):
            if len(governed.compactions) == done:
                await governed.compact()
        view = _view(governed)
    return context_of(view, governed, f"ours, {times} compactions")


async def played(
    before: Sequence[ModelMessage], window: int, text: TextCounter, policy: Policy, step: int = STEP
) -> Context:
    """Play a history as it happened: it grows by so many tokens, and the policy does what it does.

    Args:
        before: The history.
        window: Tokens of the model's window.
        text: Counts tokens.
        policy: How the window is governed.
        step: Tokens between two requests.

    Returns:
        What is in view at the end.
    """
    governed = Governed(text, window, policy)
    view: list[ModelMessage] = []
    for portion in portions(before, max(1, governed.size(before) // step), governed.size):
        await governed.send_if_it_fits([*view, *portion])
        await governed.compactor.finish()
        view = _view(governed)
    return context_of(view, governed, "ours, played")


def _view(governed: Governed) -> list[ModelMessage]:
    return to_messages(governed.history.items())


def portions(
    messages: Sequence[ModelMessage], times: int, size: Callable[[Sequence[ModelMessage]], int]
) -> list[Sequence[ModelMessage]]:
    """Cut into parts of about equal size, in front of responses: every portion ends with a request."""
    total, due = 0, size(messages) / times
    cuts = [0]
    for index, message in enumerate(messages):
        ready = isinstance(message, ModelResponse) and index and isinstance(messages[index - 1], ModelRequest)
        if ready and len(cuts) < times and total >= due * len(cuts):
            cuts.append(index)
        total += size([message])
    return [messages[start:end] for start, end in zip(cuts, [*cuts[1:], len(messages)], strict=True)]
