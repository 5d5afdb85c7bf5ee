"""Ids of tool calls: some servers give two calls of one answer the same, and then neither can be answered."""

from dataclasses import replace

from pydantic_ai.messages import ModelResponse, ModelResponsePart, ToolCallPart


def with_unique_calls(response: ModelResponse) -> ModelResponse:
    """Give each call of an answer an id of its own; the first of several keeps the one it came with."""
    ids = [part.tool_call_id for part in response.parts if isinstance(part, ToolCallPart)]
    if len(set(ids)) == len(ids):
        return response
    taken, parts = set(ids), list[ModelResponsePart]()
    seen = set[str]()
    for part in response.parts:
        own = part
        if isinstance(own, ToolCallPart):
            if own.tool_call_id in seen:
                own = replace(own, tool_call_id=_free(own.tool_call_id, taken))
            seen.add(own.tool_call_id)
            taken.add(own.tool_call_id)
        parts.append(own)
    return replace(response, parts=parts)


def _free(wanted: str, taken: set[str]) -> str:
    """An id like the wanted one that no call has."""
    number = 2
    while f"{wanted}_{number}" in taken:
        number += 1
    return f"{wanted}_{number}"
