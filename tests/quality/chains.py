"""Consecutive compactions: how much of the first part is left after the last one."""

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
"""Tokens by which a played history grows between two requests."""


async def chained(
    before: Sequence[ModelMessage], times: int, window: int, text: TextCounter, policy: Policy = PLIMSOLL
) -> Context:
    """Play a history in portions and compact after each one.

    Args:
        before: The history.
        times: Number of portions and compactions.
        window: Context window in tokens.
        text: Counts tokens.
        policy: The context policy.

    Returns:
        The view after the last compaction.
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
    """Play a history in small steps, compacting when the policy decides to.

    Args:
        before: The history.
        window: Context window in tokens.
        text: Counts tokens.
        policy: The context policy.
        step: Tokens between two requests.

    Returns:
        The view at the end.
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
    """Split a history into portions of about equal size, each ending with a request."""
    total, due = 0, size(messages) / times
    cuts = [0]
    for index, message in enumerate(messages):
        ready = isinstance(message, ModelResponse) and index and isinstance(messages[index - 1], ModelRequest)
        if ready and len(cuts) < times and total >= due * len(cuts):
            cuts.append(index)
        total += size([message])
    return [messages[start:end] for start, end in zip(cuts, [*cuts[1:], len(messages)], strict=True)]
