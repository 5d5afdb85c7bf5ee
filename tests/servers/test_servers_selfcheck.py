"""Self-checks of the test servers, with a client that is not ours."""

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from tests.servers.aimock import VARIABLE, AiMock, command_line
from tests.servers.behaviours import (
    CutStream,
    Empty,
    HangBeforeHeaders,
    HangMidStream,
    ReasoningOnly,
    Text,
    Tool,
    error,
    too_long,
    tool,
)
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal

READ_TOOL: Any = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "Read a file.",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "first_line": {"type": "integer"}},
            "required": ["path"],
        },
    },
}


def user(text: str) -> Any:
    return {"role": "user", "content": text}


@pytest.fixture
async def client(fake_openai: FakeOpenAI) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=fake_openai.base_url, api_key="none", max_retries=0) as client:
        yield client


async def ask(client: AsyncOpenAI, text: str = "Hello?", **more: Any) -> Any:
    return await client.chat.completions.create(model="scripted", messages=[user(text)], **more)


async def streamed(client: AsyncOpenAI, text: str = "Hello?") -> list[Any]:
    stream = await ask(client, text, stream=True)
    return [chunk async for chunk in stream]


def said(chunks: list[Any]) -> str:
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


class TestFakeOpenAI:
    async def test_text_is_the_same_streamed_and_whole(
        self, fake_openai: FakeOpenAI, client: AsyncOpenAI
    ) -> None:
        fake_openai.add(Text("One two three.", usage=(40, 3)), Text("One two three.", usage=(40, 3)))
        whole = await ask(client)
        chunks = await streamed(client)
        assert whole.choices[0].message.content == said(chunks) == "One two three."
        assert whole.usage.prompt_tokens == chunks[-1].usage.prompt_tokens == 40
        assert len([chunk for chunk in chunks if said([chunk])]) == 3
        assert [body.get("stream", False) for body in fake_openai.journal] == [False, True]

    async def test_tool_call_streamed_and_whole(self, fake_openai: FakeOpenAI, client: AsyncOpenAI) -> None:
        fake_openai.add(tool("read_file", path="a.txt"), Tool((("ls", {}), ("grep", {"words": "x"}))))
        call = (await ask(client)).choices[0].message.tool_calls[0]
        assert (call.function.name, json.loads(call.function.arguments)) == ("read_file", {"path": "a.txt"})
        arguments: dict[int, str] = {}
        for chunk in await streamed(client):
            for piece in [p for choice in chunk.choices for p in choice.delta.tool_calls or []]:
                arguments[piece.index] = arguments.get(piece.index, "") + piece.function.arguments
        assert [json.loads(text) for text in arguments.values()] == [{}, {"words": "x"}]

    async def test_request_aborted_before_headers_is_seen(
        self, fake_openai: FakeOpenAI, client: AsyncOpenAI
    ) -> None:
        fake_openai.add(HangBeforeHeaders())
        asking = asyncio.create_task(ask(client))
        exchange = await fake_openai.request(1)
        await exchange.paused.wait()
        assert not exchange.closed.is_set()
        asking.cancel()
        await exchange.closed.wait()
        assert exchange.closed_at is not None
        assert not exchange.started.is_set()
        with pytest.raises(asyncio.CancelledError):
            await asking

    async def test_stream_aborted_in_the_middle_is_seen(
        self, fake_openai: FakeOpenAI, client: AsyncOpenAI
    ) -> None:
        fake_openai.add(HangMidStream("a b c d e f", after=3))
        asking = asyncio.create_task(streamed(client))
        exchange = await fake_openai.request(1)
        await exchange.paused.wait()
        asking.cancel()
        await exchange.closed.wait()
        assert exchange.started.is_set()
        assert not exchange.finished.is_set()

    async def test_held_stream_goes_on_when_released(
        self, fake_openai: FakeOpenAI, client: AsyncOpenAI
    ) -> None:
        go_on = Signal()
        fake_openai.add(Text("a b c", hold=go_on, hold_after=2))
        asking = asyncio.create_task(streamed(client))
        exchange = await fake_openai.request(1)
        await exchange.paused.wait()
        assert not asking.done()
        go_on.set()
        assert said(await asking) == "a b c"
        assert exchange.finished.is_set()
        assert not exchange.closed.is_set()

    @pytest.mark.parametrize(
        ("status", "kind"),
        [
            (400, openai.BadRequestError),
            (401, openai.AuthenticationError),
            (413, openai.APIStatusError),
            (429, openai.RateLimitError),
            (500, openai.InternalServerError),
        ],
    )
    async def test_errors_arrive_with_status_and_body(
        self, fake_openai: FakeOpenAI, client: AsyncOpenAI, status: int, kind: type[openai.APIStatusError]
    ) -> None:
        fake_openai.add(error(status, "It went wrong.", code="some_code"))
        with pytest.raises(kind) as caught:
            await ask(client)
        assert caught.value.status_code == status
        assert caught.value.code == "some_code"

    async def test_too_long_is_an_overflow_for_others_too(
        self, fake_openai: FakeOpenAI, client: AsyncOpenAI
    ) -> None:
        fake_openai.add(too_long(4096, 5000))
        with pytest.raises(openai.BadRequestError, match="4096") as caught:
            await streamed(client)
        assert caught.value.code == "context_length_exceeded"

    async def test_cut_stream_is_an_error_not_an_end(
        self, fake_openai: FakeOpenAI, client: AsyncOpenAI
    ) -> None:
        fake_openai.add(CutStream())
        # The client library lets errors of its HTTP library through; which library it uses is its own matter.
        with pytest.raises(Exception, match=r"(?i)connection|incomplete|peer|read"):
            await streamed(client)
        assert not fake_openai.exchanges[0].closed.is_set()

    async def test_empty_and_thinking_only(self, fake_openai: FakeOpenAI, client: AsyncOpenAI) -> None:
        fake_openai.add(Empty(), Empty(" \n"), ReasoningOnly("I wonder."), ReasoningOnly("I wonder."))
        assert (await ask(client)).choices[0].message.content == ""
        assert said(await streamed(client)) == " \n"
        thought = (await ask(client)).choices[0].message
        assert (thought.content, thought.reasoning_content) == ("", "I wonder.")
        assert said(await streamed(client)) == ""

    async def test_phrase_chooses_the_answer_whatever_the_order(
        self, fake_openai: FakeOpenAI, client: AsyncOpenAI
    ) -> None:
        fake_openai.add(Text("first turn"), Text("second turn"))
        fake_openai.add(Text("a summary"), phrase="Summarise")
        said_to = {text: said(await streamed(client, text)) for text in ("hi", "Summarise this", "and now")}
        assert said_to == {"hi": "first turn", "Summarise this": "a summary", "and now": "second turn"}

    async def test_script_that_is_over_says_so(self, fake_openai: FakeOpenAI, client: AsyncOpenAI) -> None:
        with pytest.raises(openai.BadRequestError, match="no answer left"):
            await ask(client)
        fake_openai.fallback = Text("always")
        assert [said(await streamed(client)) for _ in range(2)] == ["always", "always"]

    @pytest.mark.parametrize("window", [None, 8192])
    async def test_listing_tells_the_window_it_was_given(
        self, fake_openai: FakeOpenAI, client: AsyncOpenAI, window: int | None
    ) -> None:
        fake_openai.max_model_len = window
        listed = (await client.models.list()).data[0].model_dump()
        assert listed["id"] == "scripted"
        assert listed.get("max_model_len") == window

    async def test_answers_while_the_loop_of_the_app_is_blocked(self, fake_openai: FakeOpenAI) -> None:
        fake_openai.add(Text("still here"))
        body = json.dumps({"model": "scripted", "messages": [user("Hello?")]}).encode()
        request = urllib.request.Request(f"{fake_openai.base_url}/chat/completions", body)
        with urllib.request.urlopen(request) as answer:  # noqa: ASYNC210 - blocking is the point
            assert json.load(answer)["choices"][0]["message"]["content"] == "still here"
        assert fake_openai.request_in_thread(1).body["messages"] == [user("Hello?")]

    async def test_leaving_ends_hanging_requests(self) -> None:
        async with (
            FakeOpenAI(HangBeforeHeaders()) as server,
            AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client,
        ):
            asking = asyncio.create_task(ask(client))
            await server.request(1)
            await asyncio.to_thread(server.stop)
            with pytest.raises(openai.APIConnectionError):
                await asking


class TestSignal:
    async def test_set_before_and_after_waiting(self) -> None:
        signal = Signal()
        waiting = asyncio.create_task(signal.wait())
        await asyncio.to_thread(signal.set)
        await waiting
        await signal.wait()
        signal.wait_in_thread()
        assert signal.is_set()

    def test_waiting_in_a_thread_is_bounded(self) -> None:
        with pytest.raises(TimeoutError):
            Signal().wait_in_thread(0.01)


def test_missing_aimock_says_what_to_do(tmp_path: Path) -> None:
    for folder in (None, str(tmp_path)):
        with pytest.raises(RuntimeError, match=f"{VARIABLE}|node"):
            command_line(folder)


@pytest.mark.aimock
async def test_aimock_answers_calls_overflows_and_remembers(aimock: AiMock) -> None:
    async with AsyncOpenAI(base_url=aimock.base_url, api_key="none", max_retries=0) as client:
        assert said(await streamed(client)) == "An ordinary answer."
        called = (await ask(client, "[read] it", tools=[READ_TOOL])).choices[0].message.tool_calls[0]
        assert json.loads(called.function.arguments) == {"path": "notes.txt"}
        with pytest.raises(openai.BadRequestError) as caught:
            await ask(client, "[full]")
        assert caught.value.code == "context_length_exceeded"
        with pytest.raises(openai.RateLimitError):
            await ask(client, "[busy]")
    assert len(aimock.journal()) == 4
