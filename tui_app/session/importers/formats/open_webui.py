"""Exports of Open WebUI, with thinking and calls as HTML elements in the answer."""

import html
import re
from typing import Any

from tui_app.session.importers.content import text_block
from tui_app.session.importers.shape import OPENAI_TOKENS, Shape, elements
from tui_app.session.importers.source import Json

_DETAILS = re.compile(r'<(?P<tag>details) type="(?P<kind>reasoning|tool_calls)"(?P<names>[^<>]*)>')
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_QUOTED = re.compile(r"(?m)^> ?")


def _open_webui(message: Json) -> Json:
    content = message.get("content")
    if message.get("role") != "assistant" or not isinstance(content, str):
        return message
    blocks: list[Any] = []
    at = 0
    for match, inner, end in elements(content, _DETAILS):
        blocks.append(text_block(content[at : match.start()].strip()))
        at = end
        if match["kind"] == "reasoning":
            told_as, _, following = inner.partition("</summary>")
            thought = _QUOTED.sub("", following if "<summary>" in told_as else inner).strip()
            blocks.append({"type": "thinking", "thinking": html.unescape(thought)})
            continue
        attrs = {name: html.unescape(value) for name, value in _ATTRIBUTE.findall(match["names"])}
        blocks.append({**attrs, "type": "tool_use"})
    blocks.append(text_block(content[at:].strip()))
    return {**message, "content": [block for block in blocks if block.get("text") != ""]}


OPEN_WEBUI = Shape(
    name="open-webui", program="Open WebUI",
    signs=("chat.messages chat.history",),
    talk=("chat.history.messages", "chat.messages"), models=("chat.models",), tokens=OPENAI_TOKENS,
    title=("title", "chat.title"), links=("id", "parentId", ("chat.history.currentId",)),
    changed=("updated_at", "created_at"), convert=_open_webui, files=("files",),
)  # fmt: skip
