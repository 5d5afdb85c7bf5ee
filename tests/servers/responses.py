"""The scripted behaviours over OpenAI's Responses API, streamed, with OpenAI's compaction items."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.servers.behaviours import Json, Stage
from tests.servers.exchange import Exchange

PATH = "/v1/responses"


@dataclass(frozen=True)
class Compacts:
    """An answer for which the server first compacted the input it received."""

    text: str
    sealed: str = "c2VhbGVk"
    usage: tuple[int, int] | None = None
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()

    async def play(self, stage: Stage) -> None:
        await stage.delta({"compaction": self.sealed})
        await stage.delta({"content": self.text})
        for name, args in self.calls:
            await stage.delta({"call": {"name": name, "arguments": json.dumps(dict(args))}})
        await stage.finish("stop", self.usage)


@dataclass(frozen=True)
class Searches:
    """An answer for which the server searched the web."""

    text: str
    query: str
    urls: tuple[str, ...] = ()

    async def play(self, stage: Stage) -> None:
        await stage.delta({"search": {"query": self.query, "urls": self.urls}})
        await stage.delta({"content": self.text})
        await stage.finish("stop")


class ResponsesExchange(Exchange):
    """A streamed response with text, compaction items and, after those, tool calls."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._output: list[Json] = []
        self._text: list[str] = []
        self._begun = False

    @property
    def messages(self) -> list[Json]:
        """Items of the request's input."""
        return list(self.body.get("input", []))

    async def delta(self, delta: Json) -> None:
        if not self._begun:
            self._begun = True
            await self._event({"type": "response.created", "response": self._response("in_progress")})
        if sealed := delta.get("compaction"):
            item = {"type": "compaction", "id": f"cmp_{sealed}", "encrypted_content": sealed}
            await self._item("added", item)
            await self._item("done", item)
            self._output.append(item)
        if search := delta.get("search"):
            sources = [{"type": "url", "url": url} for url in search["urls"]]
            item = {
                "type": "web_search_call",
                "id": f"ws_{len(self._output)}",
                "status": "completed",
                "action": {"type": "search", "query": search["query"], "sources": sources},
            }
            await self._item("added", {**item, "status": "in_progress"})
            await self._item("done", item)
            self._output.append(item)
        if text := delta.get("content"):
            if not self._text:
                await self._item("added", {**self._message(), "content": [], "status": "in_progress"})
            self._text.append(text)
            place = {"item_id": "msg_1", "output_index": len(self._output), "content_index": 0}
            await self._event({"type": "response.output_text.delta", "delta": text, "logprobs": [], **place})

        if call := delta.get("call"):
            await self._end_text()
            place = {"item_id": f"fc_{len(self._output)}", "output_index": len(self._output)}
            item = {
                "type": "function_call",
                "id": place["item_id"],
                "call_id": f"call_{place['item_id']}",
                **call,
            }
            await self._item("added", {**item, "arguments": "", "status": "in_progress"})
            args = {"delta": call["arguments"], **place}
            await self._event({"type": "response.function_call_arguments.delta", **args})
            await self._item("done", {**item, "status": "completed"})
            self._output.append(item)

    async def say(self, words: Sequence[str]) -> None:
        await self.delta({"content": "".join(words)})

    async def _end_text(self) -> None:
        if self._text:
            await self._item("done", self._message())
            self._output.append(self._message())
            self._text = []

    async def finish(self, reason: str, usage: tuple[int, int] | None = None) -> None:
        await self._end_text()
        prompt, written = usage or (len(self.text()) // 4, 8)
        counted = {
            "input_tokens": prompt,
            "output_tokens": written,
            "total_tokens": prompt + written,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        response = {**self._response("completed"), "usage": counted}
        await self._event({"type": "response.completed", "response": response})
        await self._send(b"0\r\n\r\n")
        self.finished.set()

    async def _item(self, what: str, item: Json) -> None:
        kind = f"response.output_item.{what}"
        await self._event({"type": kind, "output_index": len(self._output), "item": item})

    def _message(self) -> Json:
        text = {"type": "output_text", "text": "".join(self._text), "annotations": [], "logprobs": []}
        return {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [text],
        }

    def _response(self, status: str) -> Json:
        return {
            "id": "resp_scripted",
            "object": "response",
            "created_at": 0,
            "model": self.body.get("model", ""),
            "status": status,
            "output": self._output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
