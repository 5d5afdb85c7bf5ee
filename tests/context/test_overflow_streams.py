"""Refusals as they really arrive: through the vendors' SDKs, before a stream and inside of one."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx2
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from tui_app.context.overflow.detection import ContextOverflow, detect_overflow, overflow_of_answer

Json = dict[str, Any]
Reply = tuple[int, str, str]
"""Status, content type and body."""


def client(reply: Reply) -> httpx2.AsyncClient:
    status, kind, body = reply

    def answer(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers={"content-type": kind}, text=body)

    return httpx2.AsyncClient(transport=httpx2.MockTransport(answer))


def chat(reply: Reply) -> Model:
    sdk = AsyncOpenAI(api_key="none", base_url="http://x", http_client=client(reply), max_retries=0)
    return OpenAIChatModel("m", provider=OpenAIProvider(openai_client=sdk))


def responses(reply: Reply) -> Model:
    sdk = AsyncOpenAI(api_key="none", base_url="http://x", http_client=client(reply), max_retries=0)
    return OpenAIResponsesModel("m", provider=OpenAIProvider(openai_client=sdk))


def messages(reply: Reply) -> Model:
    sdk = AsyncAnthropic(api_key="none", base_url="http://x", http_client=client(reply), max_retries=0)
    return AnthropicModel("m", provider=AnthropicProvider(anthropic_client=sdk))


def refused(status: int, body: Json) -> Reply:
    return status, "application/json", json.dumps(body)


def streamed(*events: Mapping[str, Any]) -> Reply:
    """Server-sent events; Anthropic and Responses name each after its type."""
    lines = [f"event: {event['type']}\n" if "type" in event else "" for event in events]
    frames = [f"{line}data: {json.dumps(event)}\n\n" for line, event in zip(lines, events, strict=True)]
    return 200, "text/event-stream", "".join(frames)


async def stream(model: Model) -> None:
    async with Agent(model).run_stream_events("Hello") as events:
        async for _event in events:
            pass


async def error_of(model: Model) -> Exception:
    with pytest.raises(Exception, match=r".") as caught:
        await stream(model)
    return caught.value


CHAT_CHUNK: Json = {
    "id": "c",
    "object": "chat.completion.chunk",
    "created": 0,
    "model": "m",
    "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Well"}, "finish_reason": None}],
}
STARTED: Json = {
    "type": "message_start",
    "message": {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 1},
    },
}
FAILED: Json = {
    "type": "response.failed",
    "sequence_number": 1,
    "response": {
        "id": "r",
        "object": "response",
        "created_at": 0,
        "model": "m",
        "status": "failed",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": {
            "code": "context_length_exceeded",
            "message": "Your input exceeds the context window of this model.",
        },
    },
}
LLAMA = "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it"
LLAMA_ERROR: Json = {
    "error": {
        "code": 400,
        "message": LLAMA,
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 4_390,
        "n_ctx": 4_096,
    }
}
ANTHROPIC = "prompt is too long: 207791 tokens > 200000 maximum"
ANTHROPIC_ERROR: Json = {
    "type": "error",
    "error": {"type": "invalid_request_error", "message": ANTHROPIC},
}
INPUT = "Your input exceeds the context window of this model. Please adjust your input and try again."
SLOW: Json = {"type": "rate_limit_error", "message": "Too many tokens per minute"}

Case = tuple[Callable[[Reply], Model], Reply, tuple[int | None, int | None] | None]
CASES: dict[str, Case] = {
    "chat before the stream": (chat, refused(400, LLAMA_ERROR), (4_096, 4_390)),
    "chat in a 200": (chat, streamed(LLAMA_ERROR), (4_096, 4_390)),
    "chat in the middle": (chat, streamed(CHAT_CHUNK, LLAMA_ERROR), (4_096, 4_390)),
    "chat in the middle without a status": (
        chat,
        streamed(CHAT_CHUNK, {"error": {"message": "Context size has been exceeded.", "type": "other"}}),
        (None, None),
    ),
    "responses before the stream": (
        responses,
        refused(400, {"error": {"code": "context_length_exceeded", "message": INPUT, "param": "input"}}),
        (None, None),
    ),
    "responses error event": (
        responses,
        streamed(
            {
                "type": "error",
                "sequence_number": 0,
                "code": "context_length_exceeded",
                "message": INPUT,
                "param": "input",
            }
        ),
        (None, None),
    ),
    "responses failed event": (responses, streamed(FAILED), (None, None)),
    "messages before the stream": (messages, refused(400, ANTHROPIC_ERROR), (200_000, 207_791)),
    "messages error event": (messages, streamed(ANTHROPIC_ERROR), (200_000, 207_791)),
    "messages in the middle": (messages, streamed(STARTED, ANTHROPIC_ERROR), (200_000, 207_791)),
    "messages too many bytes": (
        messages,
        refused(413, {"type": "error", "error": {"type": "request_too_large", "message": "Too large"}}),
        (None, None),
    ),
    "messages by llama.cpp": (messages, refused(400, LLAMA_ERROR), (4_096, 4_390)),
    "chat slowed down": (chat, streamed(CHAT_CHUNK, {"error": SLOW}), None),
    "messages slowed down": (messages, streamed({"type": "error", "error": SLOW}), None),
    "messages overloaded": (
        messages,
        streamed({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        None,
    ),
    "chat image": (chat, refused(413, {"error": {"message": "Image too large"}}), None),
}


@pytest.mark.parametrize(("protocol", "reply", "numbers"), CASES.values(), ids=CASES.keys())
async def test_refusals_through_the_sdks(protocol, reply, numbers) -> None:
    found = detect_overflow(await error_of(protocol(reply)))
    if numbers is None:
        assert found is None
        return
    assert isinstance(found, ContextOverflow)
    assert (found.limit, found.requested) == numbers


async def answer_of(model: Model) -> ModelResponse:
    result = await Agent(model).run("Hello")
    response = result.all_messages()[-1]
    assert isinstance(response, ModelResponse)
    return response


ENDINGS: Sequence[tuple[Callable[[Reply], Model], Reply]] = (
    (
        chat,
        refused(
            200,
            {
                **CHAT_CHUNK,
                "object": "chat.completion",
                "choices": [
                    {
                        "index": 0,
                        "message": {"role": "assistant", "content": "Half"},
                        "finish_reason": "model_context_window_exceeded",
                    }
                ],
            },
        ),
    ),
    (
        messages,
        refused(
            200,
            {
                **STARTED["message"],
                "content": [{"type": "text", "text": "Half"}],
                "stop_reason": "model_context_window_exceeded",
            },
        ),
    ),
)


@pytest.mark.parametrize(("protocol", "reply"), ENDINGS, ids=["chat", "messages"])
async def test_endings_through_the_sdks(protocol, reply) -> None:
    found = overflow_of_answer(await answer_of(protocol(reply)), 200_000)
    assert found == ContextOverflow(None, None, "finish-reason")
