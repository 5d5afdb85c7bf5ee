"""What an export does to texts before it writes them: secrets are masked, controls are taken out."""

from dataclasses import replace
from typing import Any

from tui_app.context.secrets import MASK, mask_secrets, names_secret
from tui_app.events import Payload, UsageInfo, UserMessage, payload_to_json
from tui_app.session.exports.plain_text import plain_text

_IDS = frozenset({"signature", "tool_call_id", "id", "call_ids", "session"})
_FILE = frozenset({"data", "identifier"})


def masked_json(value: Any, name: str = "") -> Any:
    """A JSON value with the secrets in its texts masked.

    Args:
        value: The value.
        name: The key it stands under: one that names a secret masks the whole text.
    """
    if isinstance(value, str):
        return MASK if names_secret(name) and value else mask_secrets(value)
    if isinstance(value, list):
        return [masked_json(item, name) for item in value]
    if not isinstance(value, dict):
        return value
    # Signatures and file contents are no text: a change there would break the message.
    kept = _FILE if value.get("kind") == "binary" else _IDS
    return {key: item if key in kept else masked_json(item, key) for key, item in value.items()}


def readable(data: Payload, mask: bool) -> Payload:
    """The payload with its texts made safe to show; secrets are masked before anything is added to them."""
    if isinstance(data, UsageInfo):
        return data
    values = payload_to_json(data)
    texts: dict[str, Any] = {
        name: safe(value, mask) for name, value in values.items() if isinstance(value, str)
    }
    if isinstance(data, UserMessage):
        texts["attachments"] = tuple(safe(name, mask) for name in data.attachments)
    return replace(data, **texts)


def safe(text: str, mask: bool) -> str:
    """A text without controls, and without secrets where these are masked."""
    cleaned = plain_text(text)
    return mask_secrets(cleaned) if mask else cleaned
