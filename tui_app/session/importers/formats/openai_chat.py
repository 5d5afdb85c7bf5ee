"""Messages of OpenAI's chat completions: alone, in an export, a request log or a recorded benchmark."""

from dataclasses import replace

from tui_app.session.importers.message_lists import Found, find_messages, is_role_message
from tui_app.session.importers.shape import OPENAI_TOKENS, Shape
from tui_app.session.importers.source import Json, Source
from tui_app.session.importers.values import list_at, object_at, text_at, value_at


def _found(source: Source) -> Found | None:
    """The messages; a log that also holds the response gets it as its last."""
    found = find_messages(source.value, is_role_message)
    if found is None:
        return None
    owner = found.owner
    response = object_at(owner, "response") or (owner if "choices" in owner else {})
    choices = list_at(response, "choices")
    told = {
        "timestamp": owner.get("timestamp", owner.get("created")),
        "model": text_at(response, "model") or None,
    }
    if found.messages is source.value and source.document is None:
        found = replace(found, numbers=[number for number, _ in source.lines.records])
    if choices and (message := object_at(choices[0], "message")):
        cost = owner.get("cost") if isinstance(owner.get("cost"), float) else None
        finish = {
            "finish": text_at(choices[0], "finish_reason"), "usage": response.get("usage"), "cost": cost,
        }  # fmt: skip
        numbers = [*found.numbers, max(found.numbers) + 1] if found.numbers else ()
        found = replace(found, messages=[*found.messages, {**told, **message, **finish}], numbers=numbers)
    # Of the log, for messages that do not say it.
    first, *rest = found.messages
    dated = {**told, **first} if isinstance(first, dict) else first
    return replace(
        found,
        messages=[dated, *rest],
        owner={**owner, "model": text_at(response, "model") or value_at(owner, "model")},
    )


def _turned(message: Json) -> Json:
    function = message.get("function_call")
    return {**message, "tool_calls": [function]} if isinstance(function, dict) else message


OPENAI_CHAT = Shape(
    name="openai-chat", program="OpenAI chat", is_message=is_role_message, is_last=True, found=_found,
    tokens=OPENAI_TOKENS,
    models=(
        "model", "extra.metadata.ls_model_name", "extra.invocation_params.model",
        "extra.invocation_params.model_name", "info.config.model.model_name",
    ),
    turned=_turned,
)  # fmt: skip
