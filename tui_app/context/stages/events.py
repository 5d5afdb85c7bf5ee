"""From a stage's decision to its event: what it changed, and how large the view was and is."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic_ai.messages import ModelMessage

from tui_app.context.counting.usage import ContextUsage
from tui_app.context.stages.rewrite import Rewrite, Stage
from tui_app.events import (
    Rewritten,
    ToolArchived,
    ToolNormalised,
    ToolOffloaded,
    ToolPointers,
    ToolTrimmed,
    ViewRewrite,
)

EVENTS: Mapping[Stage, type[ViewRewrite]] = {
    "normalise": ToolNormalised,
    "offload": ToolOffloaded,
    "archive": ToolArchived,
    "trim": ToolTrimmed,
    "pointers": ToolPointers,
}
"""The event that records each stage's work."""


def new_messages(rewrite: Rewrite) -> list[ModelMessage]:
    """The messages a rewrite brings, in the order the log keeps them: new forms, then the digest."""
    messages = [change.message for change in rewrite.changes]
    return messages if rewrite.digest is None else [*messages, rewrite.digest]


def rewrite_event(rewrite: Rewrite, sizes: Sequence[dict[str, int]]) -> ViewRewrite:
    """The event of a rewrite, sizes of the view still missing.

    Args:
        rewrite: What a stage decided.
        sizes: Tokens by category of each new message, the digest last.
    """
    changes = tuple(
        Rewritten(seq=change.key, tokens=size, note=change.note)
        for change, size in zip(rewrite.changes, sizes, strict=False)
    )
    tokens = sizes[-1] if rewrite.digest is not None else {}
    event = EVENTS[rewrite.stage](changes=changes, tokens=tokens, policy=rewrite.policy)
    by = rewrite.written
    if not isinstance(event, ToolArchived) or by is None:
        return event
    return replace(
        event,
        performed_by=by.performed_by,
        model=by.model,
        input_tokens=by.spent.input_tokens,
        output_tokens=by.spent.output_tokens,
        cost_usd=by.spent.cost_usd,
    )


def measured(event: ViewRewrite, before: ContextUsage, after: int) -> ViewRewrite:
    """Add the sizes of the view before and after, in tokens of the estimate."""
    return replace(
        event,
        tokens_before=before.total,
        tokens_after=after,
        tokens_removed=before.total - after,
        messages_before=before.messages,
        messages_after=before.messages + bool(event.tokens),
    )
