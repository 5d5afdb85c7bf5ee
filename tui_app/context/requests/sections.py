"""Taking a request apart: an agent's own list may keep system prompt, summary, results and prompt in one.

They do not share a fate: a system prompt stays when the prompt beside it is summarised, an old summary is
updated when the prompt behind it stays.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    SystemPromptPart,
    UserPromptPart,
)

from tui_app.context.inbox import is_inbox_part
from tui_app.context.items import answer_id
from tui_app.context.stages.marks import is_digest_part


def sections(message: ModelMessage) -> Sequence[ModelMessage]:
    """Split a request between parts of different kinds; everything else comes back as it is.

    Returns:
        Requests that together hold the same parts in the same order, or just ``message`` itself.
    """
    if not isinstance(message, ModelRequest) or len(message.parts) < 2:
        return (message,)
    groups = [list(parts) for _, parts in groupby(message.parts, _kind)]
    if len(groups) == 1:
        return (message,)
    return [replace(message, parts=parts) for parts in groups]


def _kind(part: ModelRequestPart) -> str:
    if isinstance(part, SystemPromptPart):
        return "system"
    if isinstance(part, CompactionPart):
        return "summary"
    if isinstance(part, UserPromptPart):
        return "digest" if is_digest_part(part) else "inbox" if is_inbox_part(part) else "prompt"
    return "other" if answer_id(part) is None else "answer"
