"""Chats of Copilot in VS Code: requests, each with a response and the rounds of calls it took."""

from typing import Any

from tui_app.session.importers.content import attached
from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import TROUBLE, Shape
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import list_at, object_at, objects_at, text_at, value_at

_TEXT_KINDS = (None, "markdownContent")
_ROUNDS, _RESULTS = "result.metadata.toolCallRounds", "result.metadata.toolCallResults"


def _convert(request: Json) -> list[Json]:
    moment = {"timestamp": request.get("timestamp"), "model": text_at(request, "modelId") or None}
    named = [attached(text_at(each, "name")) for each in objects_at(request, "variableData.variables")]
    prompt = text_at(request, "message.text", "message")
    steps: list[Json] = [{**moment, "role": "user", "content": [{"type": "text", "text": prompt}, *named]}]
    results = object_at(request, _RESULTS).items()
    texts = {call_id: _texts(list_at(result, "content")) for call_id, result in results}
    answer = {**moment, "role": "assistant"}
    for each in objects_at(request, _ROUNDS):
        calls = objects_at(each, "toolCalls")
        outputs = ({"output": texts[call["id"]]} if text_at(call, "id") in texts else {} for call in calls)
        answered = [{**call, **output} for call, output in zip(calls, outputs, strict=True)]
        steps.append({**answer, **each, "content": each.get("response"), "toolCalls": answered})
    if not objects_at(request, _ROUNDS):
        # Of calls outside of rounds, only their existence is recorded.
        said_beside = [each for each in list_at(request, "response") if value_at(each, "kind") in _TEXT_KINDS]
        steps.append({**answer, "content": _texts(said_beside)})
    if error := text_at(request, "result.errorDetails.message"):
        steps.append({**moment, "role": TROUBLE, "message": error})
    if request.get("isCanceled") is True:
        steps[-1]["state"] = "interrupted"
    return steps


def _texts(pieces: list[Any]) -> str:
    return "".join(text_at(each, "value", "value.value", "content.value", "content") for each in pieces)


_CONFIG = (".config", "Library/Application Support")
_STORED = "workspaceStorage/*/chatSessions/*.json"
COPILOT_CHAT = Shape(
    name="copilot-chat", program="Copilot Chat of VS Code", talk=("requests",), convert=_convert,
    signs=("requests responderUsername",), title=("customTitle",),
    places=(files_in("", "", *(f"{each}/Code/User/{_STORED}" for each in _CONFIG)),),
)  # fmt: skip
