"""Validation of a server's raw answers, so that one malformed part does not invalidate the rest."""

import base64
import json
from collections.abc import Collection
from contextlib import suppress
from itertools import groupby
from typing import Any

from pydantic import ValidationError
from pydantic_ai.messages import BinaryContent

from tui_app.agent.mcp.status import SCHEMA_CHARS
from tui_app.system.pictures import image_type
from tui_app.text import count

DESCRIPTION_CHARS = 4_000
MOST_LISTED_TOOLS = 2_000
"""Maximum entries read of a server's list, so that a hostile list cannot block."""
MOST_PARTS = 1_000
"""Maximum parts of a result."""
LISTS = {"tools/list": "tools", "resources/list": "resources", "prompts/list": "prompts"}
"""Field with the list in the answer to each method."""
_UNKNOWN_CHARS = 2_000
_TEXTUAL = ("text/", "application/json", "application/xml", "application/yaml")


class Listing:
    """Filters the pages of one list.

    Args:
        chosen: Names that the settings allow; None for all.
    """

    def __init__(self, chosen: Collection[str] | None = None) -> None:
        self.malformed: list[str] = []
        """Sentences: which entry is left out, and why."""
        self._chosen, self._seen = chosen, 0

    @property
    def sentences(self) -> tuple[str, ...]:
        more = self._seen - MOST_LISTED_TOOLS
        late = f"{count(more, 'more tool')} left out: a server may list at most {MOST_LISTED_TOOLS:,}."
        return (*self.malformed, *([late] if more > 0 else []))

    def sifted(self, method: str, page: dict[str, Any], version: str) -> dict[str, Any]:
        """The page without entries that would make the library reject the whole page."""
        field = LISTS[method]
        listed = page.get(field)
        if not isinstance(listed, list):
            return page
        if self._chosen is not None:
            listed = [
                each for each in listed if not isinstance(each, dict) or each.get("name") in self._chosen
            ]
        known, self._seen = self._seen, self._seen + len(listed)
        kept = []
        for entry in map(_bounded, listed[: max(0, MOST_LISTED_TOOLS - known)]):
            if why := _why_long(entry) or _why_malformed(method, {**page, field: [entry]}, version):
                name = entry.get("name") if isinstance(entry, dict) else None
                label = name if isinstance(name, str) and name.strip() else f"A {field[:-1]} without a name"
                self.malformed.append(f"{label:.80} is left out: {why}.")
            else:
                kept.append(entry)
        return {**page, field: kept}


def _bounded(entry: Any) -> Any:
    """The entry without unused fields, among them the output schema, whose patterns may be slow to check."""
    if not isinstance(entry, dict):
        return entry
    entry = {key: value for key, value in entry.items() if key not in ("outputSchema", "_meta", "icons")}
    about = entry.get("description")
    return {**entry, "description": about[:DESCRIPTION_CHARS]} if isinstance(about, str) else entry


def _why_long(entry: Any) -> str:
    if not isinstance(entry, dict):
        return ""
    rest = {key: value for key, value in entry.items() if key not in ("inputSchema", "description")}
    for what, value in (("its schema", entry.get("inputSchema")), ("it", rest)):
        if len(json.dumps(value)) > SCHEMA_CHARS:
            return f"{what} is longer than {SCHEMA_CHARS:,} characters"
    return ""


def _why_malformed(method: str, page: dict[str, Any], version: str) -> str:
    """Why the one entry of a page violates the protocol; empty if it does not."""
    import mcp_types
    from mcp_types.methods import validate_server_result

    model: Any = getattr(mcp_types, f"List{LISTS[method].title()}Result")
    try:
        with suppress(KeyError):  # a version without a schema of its own
            validate_server_result(method, version, page)
        model.model_validate(page, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(each) for each in first["loc"] if each not in (LISTS[method], 0))
        return f"its {where or 'form'} does not follow the protocol ({first['msg'].lower()})"
    return ""


def valid_result(raw: dict[str, Any]) -> dict[str, Any]:
    """The result of a call in the protocol's form, with every part converted to a text or file."""
    parts = raw.get("content")
    parts = parts if isinstance(parts, list) else [parts] if parts else []
    kept: list[dict[str, Any]] = []
    for is_text, group in groupby(map(_part, parts), lambda part: part["type"] == "text"):
        same = list(group)
        # Do not convert thousands of parts one by one.
        many = is_text and len(parts) > MOST_PARTS
        kept += [_text("\n".join(each["text"] for each in same))] if many else same
    if (more := len(kept) - MOST_PARTS) > 0:
        kept = [*kept[:MOST_PARTS], _text(f"[{count(more, 'more part')} left out]")]
    result: dict[str, Any] = {"content": kept, "isError": bool(raw.get("isError"))}
    if (structured := raw.get("structuredContent")) is not None:
        result["structuredContent"] = structured if isinstance(structured, dict) else {"result": structured}
    return result


def content_of(result: Any) -> Any:
    """The content of a valid result: one text, or a list if there are files."""
    pieces = [
        part.text
        if part.type == "text"
        else BinaryContent.narrow_type(BinaryContent(base64.b64decode(part.data), media_type=part.mime_type))
        for part in result.content
    ]
    texts = [piece for piece in pieces if isinstance(piece, str)]
    structured = result.structured_content
    if structured is not None:
        # The protocol requires texts with the same content, but not all servers send them. A value that is no
        # object is wrapped in a field.
        values = [structured, structured["result"]] if list(structured) == ["result"] else [structured]
        readings = (_read_json("\n".join(texts)), [_read_json(text) for text in texts], texts)
        if not any(value in readings for value in values):
            pieces.append(json.dumps(structured, ensure_ascii=False))
    return pieces if len(texts) < len(result.content) else "\n".join(map(str, pieces))


def _part(part: Any) -> dict[str, Any]:
    """One part of a result as a text or file."""
    match part:
        case {"type": "text", "text": str(text)} | {"type": "resource", "resource": {"text": str(text)}}:
            return _text(text)
        case str(text):
            return _text(text)
        case {"type": "resource", "resource": {"blob": str(data), **about}}:
            return _file("image", data, about.get("mimeType"))
        case {"type": "image" | "audio" as kind, "data": str(data), **about}:
            return _file(kind, data, about.get("mimeType"))
        case {"type": "resource_link", "uri": str(uri), **about}:
            size = about.get("size")
            known = [about.get("title"), about.get("name"), about.get("description"), about.get("mimeType")]
            known += [f"{size:,} bytes"] if isinstance(size, int) else []
            details = ", ".join(dict.fromkeys(str(each) for each in known if each))
            return _text(f"[resource {uri}{f': {details}' if details else ''}]")
        case _:
            dump = json.dumps(part, ensure_ascii=False)
            cut = dump if len(dump) <= _UNKNOWN_CHARS else f"{dump[:_UNKNOWN_CHARS]}…"
            return _text(f"[part of a kind that the protocol does not have: {cut}]")


def _file(kind: str, data: str, named: object) -> dict[str, Any]:
    try:
        content = base64.b64decode(data)
    except ValueError:
        return _text(f"[{kind} left out: it is not valid base64]")
    media = named if isinstance(named, str) and "/" in named else "application/octet-stream"
    if media.startswith(_TEXTUAL):
        with suppress(UnicodeDecodeError):
            return _text(content.decode())
    return {"type": kind, "data": data, "mimeType": image_type(content) or media}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
