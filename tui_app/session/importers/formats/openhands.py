"""Histories of OpenHands: actions and their observations, as a document or ``output.jsonl``.

Since version 1 they are events of other kinds: JSON lines, a list, or a folder with a file per event.
"""

from collections.abc import Callable
from typing import Any

from tui_app.session.importers.books import Timeline
from tui_app.session.importers.content import text_block
from tui_app.session.importers.message_lists import Found, find_messages
from tui_app.session.importers.shape import NOTE, SUMMARY, TROUBLE, Records, Shape, side_record
from tui_app.session.importers.source import ImportFormatError, Json, Source, shown
from tui_app.session.importers.values import block_list, list_at, object_at, objects_at, text_at, value_at

_RESPONSE = "tool_call_metadata.model_response"
_QUIET = (
    "change_agent_state", "agent_state_changed", "null", "recall", "pause", "resume", "loadmemory",
    "condensation_request",
)  # fmt: skip
_LEFT = "events that are not messages were left out"


def _with_calls(records: Records, _out: Timeline) -> Records:
    """Add to each observation the id of its call, and mark repeated responses."""
    calls: dict[str, str] = {}
    stands: Records = []
    last = ""
    for number, item in records:
        action, cause = text_at(item, "action"), str(item.get("cause"))
        more: Json = {}
        if action and action not in _ACTIONS:
            call_id = text_at(item, "tool_call_metadata.tool_call_id") or f"action {item.get('id')}"
            calls[str(item.get("id"))] = call_id
            response = text_at(item, f"{_RESPONSE}.id")
            more = {"call": call_id, "again": bool(response) and response == last}
            last = response
        elif cause in calls:
            more = {"call": calls[cause]}
        stands.append((number, {**item, **more}))
    return stands


def _event(item: Json) -> Json:
    observation = item.get("observation")
    if action := text_at(item, "action"):
        return {"role": "assistant", "response": text_at(item, f"{_RESPONSE}.id"), **_called(item, action)}
    if "call" in item:
        failed = observation == "error" or item.get("success") is False
        return {**item, "role": "tool", "tool_call_id": item["call"], "is_error": failed}
    if "action" in item or observation in _QUIET:
        return side_record(_LEFT)
    if observation == "error" and "cause" not in item:
        # The program's reply to a model's text that did not become an action.
        return {"role": NOTE}
    return {"unknown": f"result without its action: {shown(observation)}"}


def _condensed(item: Json) -> Json:
    ids = [*list_at(item, "args.forgotten_event_ids"), value_at(item, "args.forgotten_events_end_id")]
    return {"role": SUMMARY, "content": value_at(item, "args.summary"), "gone": ids}


def _message(item: Json) -> Json:
    text, args = text_at(item, "args.content", "message"), object_at(item, "args")
    if item.get("source") != "user":
        return {"role": "assistant", "content": text, "response": text_at(item, f"{_RESPONSE}.id")}
    return {"role": "user", "content": [text_block(text), *([args] if list_at(args, "image_urls") else [])]}


def _called(item: Json, action: str) -> Json:
    """Return the call as the model made it, or else as the program recorded it."""
    response, call_id = object_at(item, _RESPONSE), item["call"]
    choices = list_at(response, "choices")
    message = object_at(choices[0], "message") if choices else {}
    made = [each for each in objects_at(message, "tool_calls") if each.get("id") == call_id]
    given = value_at(made[-1], "function.arguments") if made else None
    args = {key: value for key, value in object_at(item, "args").items() if key != "thought"}
    name = text_at(item, "tool_call_metadata.function_name") or action
    call = {"id": call_id, "name": name, "arguments": args if given is None else given}
    if item["again"]:
        return {"tool_calls": [call]}
    text = text_at(message, "content") or text_at(item, "args.thought")
    model = text_at(response, "model") or None
    return {"content": text, "tool_calls": [call], "model": model, "usage": response.get("usage")}


_ACTIONS: dict[str, Json | Callable[[Json], Json]] = {
    **dict.fromkeys(_QUIET, side_record(_LEFT)), "condensation": _condensed, "message": _message,
    "system": {"role": "system", "content": ".args.content .message"},
}  # fmt: skip


_LISTS = ("history", "events", "trajectory")
_SOURCES = ("agent", "user", "environment", "hook")
_MODEL = ("agent.llm.model", "value.agent.llm.model", "value.llm.model")


def _is_event(item: Any) -> bool:
    """Return whether it is an event. Those before version 1 have an action or an observation."""
    by = value_at(item, "source")
    is_new = text_at(item, "kind") in _EVENTS and by in _SOURCES
    return is_new or (by is not None and bool(text_at(item, "action", "observation")))


def _find(source: Source) -> Found | None:
    if _is_event(source.document) and "kind" in source.document:
        folder = source.path.absolute().parent
        raise ImportFormatError(f"{source.path} is one event of OpenHands. Import their folder: {folder}")
    return find_messages(source.value, _is_event, homes=("items", *_LISTS))


def _convert(item: Json) -> Json:
    is_about = "kind" in item or "agent" in item
    return side_record(_LEFT, model=text_at(item, *_MODEL)) if is_about else _event(item)


def _acted(item: Json) -> Json:
    name, args = text_at(item, "tool_call.name", "tool_name"), value_at(item, "tool_call.arguments")
    thoughts = [] if item.get("reasoning_content") else list_at(item, "thinking_blocks")
    return {
        **item, "role": "assistant", "content": [*thoughts, *block_list(item.get("thought"))],
        "tool_calls": [{"id": item.get("tool_call_id"), "name": name, "arguments": args}],
        "response": text_at(item, "llm_response_id"),
    }  # fmt: skip


_EVENTS: dict[str, Json | Callable[[Json], Json]] = {
    "SystemPromptEvent": {"role": "system", "content": ".system_prompt.text .system_prompt"},
    "MessageEvent": {"response": ".llm_response_id"}, "ActionEvent": _acted,
    "ObservationEvent": {
        "role": "tool", "is_error": ".observation.is_error",
        "content": ".observation.content .observation.output .observation.text .observation.error",
    },
    "AgentErrorEvent": {"role": "tool", "content": ".error", "is_error": True},
    "UserRejectObservation": {"role": "tool", "content": ".rejection_reason", "status": "denied"},
    "Condensation": {"role": SUMMARY, "content": ".summary", "gone": ".forgotten_event_ids"},
    "ConversationErrorEvent": {"role": TROUBLE, "message": ".detail .code"},
}  # fmt: skip
_SIGNS = (
    "{0}source {0}action", "{0}source {0}observation",
    f"{{0}}source={'|'.join(_SOURCES)} {{0}}kind={'|'.join(_EVENTS)}",
)  # fmt: skip
OPENHANDS = Shape(
    name="openhands", program="OpenHands", find=_find, order=_with_calls, convert=_convert,
    kind=("kind", "action"), kinds=_EVENTS | _ACTIONS, message="llm_message",
    noted=("kind=MessageEvent source!=user",),
    signs=tuple(
        sign.format(path) for path in ("", "items.", *(f"{name}." for name in _LISTS)) for sign in _SIGNS
    ),
    models=("model", "metadata.llm_config.model", "llm_config.model"),
    tokens={"total": "usage.prompt_tokens", "output": "usage.completion_tokens"},
)  # fmt: skip
