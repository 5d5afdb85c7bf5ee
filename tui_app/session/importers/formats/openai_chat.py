"""Messages of OpenAI's chat completions: alone, in an export, a request log or a recorded benchmark."""

from dataclasses import replace

from tui_app.session.importers.message_lists import Found, find_messages, is_role_message
from tui_app.session.importers.shape import OPENAI_TOKENS, Shape
from tui_app.session.importers.source import Json, Source
from tui_app.session.importers.values import list_at, object_at, text_at


def _find(source: Source) -> Found | None:
    """Return the messages, followed by the response if the log has it."""
    found = find_messages(source.value, is_role_message)
    owner = found.owner if found else {}
    response = object_at(owner, "response") or owner
    choices = list_at(response, "choices")
    if found is None or not choices or not (message := object_at(choices[0], "message")):
        return found
    extras = {key: each.get(key) for key, each in (("usage", response), ("cost", owner))}
    extras["finish"] = text_at(choices[0], "finish_reason")
    model = text_at(response, "model") or None
    return replace(found, messages=[*found.messages, {"model": model, **message, **extras}])


def _convert(message: Json) -> Json:
    function = message.get("function_call")
    return {**message, "tool_calls": [function]} if isinstance(function, dict) else message


OPENAI_CHAT = Shape(
    name="openai-chat", program="OpenAI chat", is_message=is_role_message, is_last=True, find=_find,
    tokens=OPENAI_TOKENS,
    models=(
        "response.model", "model", "extra.metadata.ls_model_name", "extra.invocation_params.model",
        "extra.invocation_params.model_name", "info.config.model.model_name",
    ),
    convert=_convert,
)  # fmt: skip
