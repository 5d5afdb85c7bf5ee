"""Messages of Anthropic's API: a request, alone or logged with its response."""

from dataclasses import replace

from tui_app.session.importers.message_lists import Found, find_messages, is_role_message
from tui_app.session.importers.shape import ANTHROPIC_TOKENS, Shape
from tui_app.session.importers.source import Source
from tui_app.session.importers.values import first_at, list_at, object_at, text_at


def _find(source: Source) -> Found | None:
    """Return the messages, preceded by the separate system prompt and followed by the response."""
    found = find_messages(source.value, is_role_message)
    if found is None:
        return None
    system, response = first_at(found.owner, "system", "request.system"), object_at(found.owner, "response")
    response = object_at(response, "body") or response or object_at(found.owner, "message")
    before = [{"role": "system", "content": system}] if system else []
    following = [response] if list_at(response, "content") and text_at(response, "role") else []
    return replace(found, messages=[*before, *found.messages, *following]) if before + following else found


ANTHROPIC_API = Shape(
    name="anthropic-api", program="Anthropic's API", is_last=True, find=_find, finish=("stop_reason",),
    signs=("role content.type=tool_use|tool_result",),
    models=("model", "request.model"),
    tokens=ANTHROPIC_TOKENS,
)  # fmt: skip
