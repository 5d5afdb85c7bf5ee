"""Histories of OpenHands before its version 1: actions, and the observations they caused."""

from collections.abc import Callable

from tui_app.session.importers.books import Timeline
from tui_app.session.importers.content import text_block
from tui_app.session.importers.shape import NOTE, SUMMARY, Records, aside
from tui_app.session.importers.source import Json, shown
from tui_app.session.importers.values import list_at, object_at, objects_at, text_at, value_at

_RESPONSE = "tool_call_metadata.model_response"
_QUIET = (
    "change_agent_state", "agent_state_changed", "null", "recall", "pause", "resume", "loadmemory",
    "condensation_request",
)  # fmt: skip
LEFT = "events that are not messages were left out"


def with_calls(records: Records, _out: Timeline) -> Records:
    """Each observation with the id of the call that it answers, each response told once."""
    calls: dict[str, str] = {}
    stands: Records = []
    told = ""
    for number, item in records:
        action, cause = text_at(item, "action"), str(item.get("cause"))
        more: Json = {}
        if action and action not in ACTIONS:
            call_id = text_at(item, "tool_call_metadata.tool_call_id") or f"action {item.get('id')}"
            calls[str(item.get("id"))] = call_id
            response = text_at(item, f"{_RESPONSE}.id")
            more = {"call": call_id, "again": bool(response) and response == told}
            told = response
        elif cause in calls:
            more = {"call": calls[cause]}
        stands.append((number, {**item, **more}))
    return stands


def event(item: Json) -> Json:
    """An event of any other kind."""
    observation = item.get("observation")
    if action := text_at(item, "action"):
        return {"role": "assistant", "response": text_at(item, f"{_RESPONSE}.id"), **_called(item, action)}
    if "call" in item:
        failed = observation == "error" or item.get("success") is False
        return {**item, "role": "tool", "tool_call_id": item["call"], "is_error": failed}
    if "action" in item or observation in _QUIET:
        return aside(LEFT)
    if observation == "error" and "cause" not in item:
        # The program answered what the model wrote before it became an action.
        return {"role": NOTE}
    return {"unknown": f"result without its action: {shown(observation)}"}


def _condensed(item: Json) -> Json:
    gone = [*list_at(item, "args.forgotten_event_ids"), value_at(item, "args.forgotten_events_end_id")]
    return {"role": SUMMARY, "content": value_at(item, "args.summary"), "gone": gone}


def _message(item: Json) -> Json:
    said, args = text_at(item, "args.content", "message"), object_at(item, "args")
    if item.get("source") != "user":
        return {"role": "assistant", "content": said, "response": text_at(item, f"{_RESPONSE}.id")}
    return {"role": "user", "content": [text_block(said), *([args] if list_at(args, "image_urls") else [])]}


def _called(item: Json, action: str) -> Json:
    """The call as the model made it; what the program made of it when the response is not there."""
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
    said = text_at(message, "content") or text_at(item, "args.thought")
    model = text_at(response, "model") or None
    return {"content": said, "tool_calls": [call], "model": model, "usage": response.get("usage")}


ACTIONS: dict[str, Json | Callable[[Json], Json]] = {
    **dict.fromkeys(_QUIET, aside(LEFT)), "condensation": _condensed, "message": _message,
    "system": {"role": "system", "content": ".args.content .message"},
}  # fmt: skip
