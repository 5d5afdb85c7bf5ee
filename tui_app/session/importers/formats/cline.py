"""Tasks of Cline, Roo Code and Kilo Code, as Anthropic messages; older ones have calls as XML in the text."""

import re
from typing import Any

from tui_app.session.importers.books import Timeline
from tui_app.session.importers.content import text_block
from tui_app.session.importers.places import files_in
from tui_app.session.importers.shape import NOTE, SUMMARY, Records, Shape, elements
from tui_app.session.importers.source import Json
from tui_app.session.importers.values import block_list, text_at

_XML_CALL = re.compile(r"(?m)^<(?P<tag>[a-z]\w*)>(?=\s*<\w+>)")
_XML_ARG = re.compile(r"<(?P<tag>\w+)>")
_XML_RESULT = re.compile(r"\[(?P<name>[a-z]\w*)\b[^\n]*\] Result:\s*")


def _with_names(records: Records, _out: Timeline) -> Records:
    """Add the names of tools with results to each message: an element with such a name is a call."""
    texts = (text_at(block, "text") for _, each in records for block in block_list(each.get("content")))
    names = {match["name"] for text in texts if (match := _XML_RESULT.match(text))}
    marks = {"isSummary": SUMMARY, "isTruncationMarker": NOTE}
    stands: Records = []
    for number, each in records:
        roles = [{"role": role} for mark, role in marks.items() if each.get(mark) is True]
        stands.append((number, {**each, "tools": names, **(roles or [{}])[-1]}))
    return stands


def _cline(message: Json) -> Json:
    blocks: list[Any] = []
    parts = block_list(message.get("content"))
    if message.get("role") == "assistant" and "tools" in message:
        for part in parts:
            text = text_at(part, "text") if isinstance(part, dict) else ""
            at = 0
            for match, inner, end in elements(text, _XML_CALL):
                if match["tag"] not in message["tools"] and text[end:].strip():
                    continue
                blocks.append(text_block(text[at : match.start()].strip()))
                args = {each["tag"]: value.strip() for each, value, _ in elements(inner, _XML_ARG)}
                blocks.append({"type": "tool_use", "name": match["tag"], "input": args})
                at = end
            blocks.append({**part, "text": text[at:].strip()} if at else part)
    else:
        # The result may be in the block after the one that names its tool.
        announced = ""
        for part in parts:
            text = text_at(part, "text") if isinstance(part, dict) else ""
            told_by = _XML_RESULT.match(text)
            name, result = (told_by["name"], text[told_by.end() :]) if told_by else (announced, text)
            announced = name if told_by and not result.strip() else ""
            if name and not announced:
                blocks.append({"type": "tool_result", "name": name, "content": result})
            elif not announced:
                blocks.append(part)
        if announced:
            blocks.append({"type": "tool_result", "name": announced, "content": ""})
    return {**message, "content": blocks}


_VS_CODE = "globalStorage/*/tasks/*/api_conversation_history.json"
CLINE = Shape(
    name="cline", program="Cline", signs=(
        "role modelInfo", "type=ask|say ts", "role content*=<environment_details>",
        "role content.text*=<environment_details>",
    ),
    places=(
        files_in(
            "", "", f".config/Code/User/{_VS_CODE}", f"Library/Application Support/Code/User/{_VS_CODE}",
            ".cline/data/tasks/*/api_conversation_history.json",
        ),
    ),
    time=("ts",), model=("modelInfo.modelId", "model"), cost=("metrics.cost",),
    tokens={
        "total": "metrics.tokens.prompt", "output": "metrics.tokens.completion",
        "read": "metrics.tokens.cached",
    },
    typed=re.compile(r"<(?P<tag>task|feedback|answer|user_message)>"),
    denied=("the user denied this operation",), order=_with_names, convert=_cline,
)  # fmt: skip
