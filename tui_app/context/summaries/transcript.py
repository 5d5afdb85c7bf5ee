"""The transcript as a summariser gets it: without secrets, and so that no message can pretend to be two."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from pydantic_ai.messages import ModelRequest, ModelRequestPart, ToolReturnPart

from tui_app.context.items import Item
from tui_app.context.summaries.render import RESULT_LIMIT, transcript_lines
from tui_app.context.summaries.summary_prompt import quoted_message

_SHORT = 200
"""Characters of a result that are never clipped."""


def transcript(items: Iterable[Item], mask: Callable[[str], str], limit: int = RESULT_LIMIT) -> list[str]:
    """One block of text per message, each with its handle and role at the margin.

    Args:
        items: Messages, oldest first; silent ones are left out.
        mask: Takes the secrets out of a text.
        limit: Characters of a tool result that are shown.
    """
    masked = (_masked(item, mask) for item in items)
    return [quoted_message(mask(line)) for line in transcript_lines(masked, limit)]


def _masked(item: Item, mask: Callable[[str], str]) -> Item:
    """The item with long results masked before they are clipped: half a key does not look like one."""
    message = item.message
    if not isinstance(message, ModelRequest) or not any(map(_is_long, message.parts)):
        return item
    parts = [_masked_result(part, mask) if _is_long(part) else part for part in message.parts]
    return replace(item, message=replace(message, parts=parts))


def _is_long(part: ModelRequestPart) -> bool:
    return isinstance(part, ToolReturnPart) and len(part.model_response_str()) > _SHORT


def _masked_result(part: ModelRequestPart, mask: Callable[[str], str]) -> ModelRequestPart:
    if not isinstance(part, ToolReturnPart):
        return part
    files = "".join(f"\n[{type(file).__name__}]" for file in part.files)
    text = mask(part.model_response_str()) + files
    return ToolReturnPart(part.tool_name, text, part.tool_call_id, outcome=part.outcome)
