"""Web searches that a provider ran itself while answering, converted to text.

Calls and results are parts of the answer, in a form that only the same provider can read.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pydantic_ai.messages import ModelResponsePart, NativeToolCallPart, NativeToolReturnPart, TextPart
from pydantic_ai.native_tools import WebSearchTool

from tui_app.files import object_in

_MOST_SOURCES = 20
_CHARS = 300
_DEPTH = 6


class WebSearch(NamedTuple):
    """One search."""

    queries: tuple[str, ...]
    sources: tuple[tuple[str, str], ...]
    """Title and address of each page."""

    @property
    def text(self) -> str:
        """The text for other models."""
        asked = ", ".join(f'"{query}"' for query in self.queries)
        found = "\n".join(f"- {f'{title}: ' if title else ''}{url}" for title, url in self.sources)
        return f"[Web search{f' for {asked}' if asked else ''}; the provider's results:\n{found or 'none'}]"


def is_search(part: object) -> bool:
    """Return whether a part of an answer is a provider's search or its result."""
    return (
        isinstance(part, NativeToolCallPart | NativeToolReturnPart) and part.tool_name == WebSearchTool.kind
    )


def searches_of(parts: Sequence[ModelResponsePart]) -> list[WebSearch]:
    """Return the searches in an answer, in order. Results are matched to calls by id."""
    found = {part.tool_call_id: part for part in parts if isinstance(part, NativeToolReturnPart)}
    calls = [part for part in parts if isinstance(part, NativeToolCallPart) and is_search(part)]
    return [search_of(call, found.get(call.tool_call_id)) for call in calls]


def search_of(call: NativeToolCallPart, result: "NativeToolReturnPart[Any] | None") -> WebSearch:
    args = object_in(call.args) if isinstance(call.args, str) else call.args
    places = [*_places(args, _DEPTH), *(_places(result.content, _DEPTH) if result is not None else ())]
    return WebSearch(tuple(_queries(args)), tuple(dict.fromkeys(places))[:_MOST_SOURCES])


def as_text(parts: Sequence[ModelResponsePart], *, kept: bool) -> list[ModelResponsePart]:
    """Replace searches by text, for models of other providers.

    Args:
        parts: All parts of the answer.
        kept: Whether the searches are this provider's own, and stay unchanged.
    """
    if kept or not any(map(is_search, parts)):
        return list(parts)
    found = {part.tool_call_id: part for part in parts if isinstance(part, NativeToolReturnPart)}
    result: list[ModelResponsePart] = []
    for part in parts:
        if not is_search(part):
            result.append(part)
        elif isinstance(part, NativeToolCallPart):
            result.append(TextPart(search_of(part, found.get(part.tool_call_id)).text))
    return result


def _queries(args: Any) -> Iterator[str]:
    for name in ("query", "queries", "q"):
        value = (args or {}).get(name)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str) and each.strip():
                yield " ".join(each.split())[:_CHARS]


def _places(value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the title and address of everything that has an address, however nested."""
    if depth <= 0:
        return
    if isinstance(value, dict):
        url = value.get("url") or value.get("uri")
        if isinstance(url, str) and url.startswith(("http://", "https://")):
            yield " ".join(str(value.get("title") or "").split())[:_CHARS], url[: 2 * _CHARS]
        for each in value.values():
            yield from _places(each, depth - 1)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _places(each, depth - 1)
