"""Streams as all kinds of servers send them, read by each protocol's SDK."""

import json
import re
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import ToolDefinition

from tests.servers.strict import Strict, strict_server
from tui_app.agent.errors import describe_error
from tui_app.wires.answer_end import incomplete_reason
from tui_app.wires.event_streams import AnswerTooLong, PlainEvents, Wire, with_plain_streams

Manner = Callable[[Any, str], tuple[str, str]]
WIRES = ("openai-chat", "responses", "anthropic", "google")
"""One wire of each protocol."""
EVENTS, OBJECT = "text/event-stream", "application/json"


def _events(change: Callable[[str], str]) -> Manner:
    return lambda _answer, stream: (EVENTS, change(stream))


def _without_usage(stream: str) -> str:
    return re.sub(r'"usage": \{[^}]*\}', '"other": {}', stream)


MANNERS: dict[str, Manner] = {
    "as it should be": _events(str),
    "a block that only says when to come again": _events(lambda stream: f"retry: 3000\n\n{stream}"),
    "a block that only has an id": _events(lambda stream: f"id: 1\n\n{stream}"),
    "an id in each block": _events(lambda stream: stream.replace("data: {", "id: 7\ndata: {")),
    "a ping without data": _events(lambda stream: f"event: ping\n\n{stream}event: ping\n\n"),
    "a ping with data": _events(lambda stream: f'event: ping\ndata: {{"type": "ping"}}\n\n{stream}'),
    "an empty block of data": _events(lambda stream: f"data:\n\n{stream}"),
    "comments": _events(lambda stream: ": waiting\n\n" + stream.replace("data: {", ": still\ndata: {")),
    "a byte order mark": _events(lambda stream: "\ufeff" + stream),
    "a byte order mark and a pause": _events(lambda stream: f"\ufeffretry: 1\n\n{stream}"),
    "no space behind the names": _events(lambda stream: stream.replace("data: {", "data:{")),
    "line ends of Windows": _events(lambda stream: stream.replace("\n", "\r\n")),
    "line ends of old": _events(lambda stream: stream.replace("\n", "\r")),
    "one object": lambda answer, _: (OBJECT, json.dumps(answer)),
    "one object that is called a stream": lambda answer, _: (EVENTS, json.dumps(answer, indent=1)),
    "one object behind a mark": lambda answer, _: (
        f"{OBJECT}; charset=utf-8",
        "\ufeff\n" + json.dumps(answer),
    ),
    "a stream that is called a text": lambda _, stream: ("text/plain", f"\ufeffretry: 1\n\n{stream}"),
    "a stream of no type": lambda _, stream: ("", f"\ufeffretry: 1\n\n{stream}"),
    "a stream that is called an object": lambda _, stream: (OBJECT, stream),
}


@pytest.fixture(scope="module")
def strict() -> Iterator[Strict]:
    with strict_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _as_before(strict: Strict) -> Iterator[None]:
    yield
    strict.manner, strict.calls = None, False


async def answer_of(strict: Strict, wire: str, *, streamed: bool = True) -> ModelResponse:
    model = strict.of_wire(wire)
    tools = ModelRequestParameters(function_tools=[ToolDefinition(name="look")])
    asked: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("Look.")])]
    if not streamed:
        return await model.request(asked, None, tools)
    async with model.request_stream(asked, None, tools) as stream:
        async for _ in stream:
            pass
        return stream.get()


@pytest.mark.parametrize("manner", MANNERS)
@pytest.mark.parametrize("wire", WIRES)
async def test_each_way_to_send_an_answer_is_read(strict: Strict, wire: str, manner: str) -> None:
    strict.calls = True
    whole = await answer_of(strict, wire)
    strict.manner = MANNERS[manner]
    answer = await answer_of(strict, wire)
    assert incomplete_reason(answer) == ""
    assert [part.part_kind for part in answer.parts] == [part.part_kind for part in whole.parts]
    assert [part.content for part in answer.parts if isinstance(part, TextPart)] == ["I look."]
    [call] = [part for part in answer.parts if isinstance(part, ToolCallPart)]
    assert (call.tool_name, list(call.args_as_dict())) == ("look", ["at"])
    assert answer.finish_reason == whole.finish_reason
    assert answer.usage.input_tokens == pytest.approx(whole.usage.input_tokens, abs=5)
    assert answer.usage.output_tokens == whole.usage.output_tokens


async def test_an_answer_of_anthropic_without_usage_is_one_of_unknown_size(strict: Strict) -> None:
    strict.calls, strict.manner = True, _events(_without_usage)
    answer = await answer_of(strict, "anthropic")
    assert incomplete_reason(answer) == ""
    assert [part.part_kind for part in answer.parts] == ["thinking", "text", "tool-call"]
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (0, 0)


async def test_events_of_anthropic_without_names_are_known_by_their_type(strict: Strict) -> None:
    strict.manner = _events(
        lambda stream: "\n".join(line for line in stream.split("\n") if not line.startswith("event:"))
    )
    answer = await answer_of(strict, "anthropic")
    assert [part.content for part in answer.parts if isinstance(part, TextPart)] == ["Aye."]


ERRORS: dict[str, dict[str, Any]] = {
    "an object": {"error": {"message": "The pier is closed.", "type": "harbour_error"}},
    "with a code": {"error": {"message": "The pier is closed.", "code": 400}},
    "words": {"error": "The pier is closed."},
    "a detail": {"detail": "The pier is closed."},
    "an old one": {"object": "error", "message": "The pier is closed.", "code": 400},
    "one of a relay": {"code": 400, "msg": "The pier is closed.", "success": False},
}


KINDS = (OBJECT, EVENTS, "in the stream", "named in the stream", "not streamed")


@pytest.mark.parametrize(
    ("kind", "error"),
    # Within a stream, nothing but its content marks an object as an error.
    [(kind, name) for kind in KINDS for name in ERRORS if kind != "in the stream" or "error" in ERRORS[name]],
)
@pytest.mark.parametrize("wire", WIRES)
async def test_an_error_that_comes_with_200_keeps_its_words(
    strict: Strict, wire: str, kind: str, error: str
) -> None:
    told = json.dumps(ERRORS[error])
    stream = {"in the stream": f"data: {told}\n\n", "named in the stream": f"event: error\ndata: {told}\n\n"}
    media = OBJECT if kind == "not streamed" else kind
    strict.manner = lambda _answer, _stream: (EVENTS, stream[kind]) if kind in stream else (media, told)
    with pytest.raises(ModelAPIError) as raised:
        await answer_of(strict, wire, streamed=kind != "not streamed")
    assert describe_error(raised.value, model="k").message.endswith(": The pier is closed.")


TOLD: dict[str, tuple[dict[str, Any], str]] = {
    "a limit": ({"message": "Slow down.", "type": "rate_limit_error"}, "rate_limit"),
    "a limit by number": ({"message": "Slow down.", "code": "429"}, "rate_limit"),
    "a wrong key": ({"message": "No credentials.", "code": 401}, "auth"),
    "a key of another": ({"message": "No credentials.", "type": "authentication_error"}, "auth"),
    "overload": ({"message": "Overloaded", "type": "overloaded_error"}, "provider"),
    "a long one": ({"message": "prompt is too long: 9000 tokens > 8192 maximum"}, "context_overflow"),
}


@pytest.mark.parametrize("error", TOLD)
@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("wire", WIRES)
async def test_an_error_that_comes_with_200_is_told_as_what_it_is(
    strict: Strict, wire: str, streamed: bool, error: str
) -> None:
    body, kind = TOLD[error]
    strict.manner = lambda _answer, _stream: (OBJECT, json.dumps({"error": body}))
    with pytest.raises(ModelAPIError) as raised:
        await answer_of(strict, wire, streamed=streamed)
    told = describe_error(raised.value, model="k")
    assert told.kind == kind
    assert "{" not in told.message


@pytest.mark.parametrize("wire", WIRES)
async def test_an_answer_that_is_not_streamed_is_left_alone(strict: Strict, wire: str) -> None:
    for media in (OBJECT, f"{OBJECT}; charset=utf-8"):
        strict.manner = lambda answer, _, media=media: (media, json.dumps(answer))
        answer = await answer_of(strict, wire, streamed=False)
        assert [part.content for part in answer.parts if isinstance(part, TextPart)] == ["Aye."]


async def test_an_error_without_a_word_is_one(strict: Strict) -> None:
    strict.manner = _events(lambda _: "event: error\n\n")
    for wire in WIRES:
        with pytest.raises(ModelAPIError):
            await answer_of(strict, wire)


def _pieces(*deltas: dict[str, Any], usage: Callable[[int], Any] = lambda _: None) -> Manner:
    """A stream of OpenAI's chat protocol: some deltas, each with a usage, and an end."""

    def manner(answer: Any, _stream: str) -> tuple[str, str]:
        choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        choices += [{"index": 0, "delta": {}, "finish_reason": "stop"}]
        head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "k"}
        chunks = [{**head, "choices": [each], "usage": usage(place)} for place, each in enumerate(choices, 1)]
        return EVENTS, "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"

    return manner


def _so_far(place: int) -> dict[str, int]:
    return {"prompt_tokens": 700, "completion_tokens": place, "total_tokens": 700 + place}


ODD: dict[str, tuple[list[dict[str, Any]], Any]] = {
    "a call by itself": (
        [{"tool_calls": {"index": 0, "id": "a", "function": {"name": "look", "arguments": "{}"}}}],
        0,
    ),
    "the form of 2023": ([{"function_call": {"name": "look", "arguments": "{}"}}], 0),
    "the form of 2023, in pieces": (
        [{"function_call": {"name": "look", "arguments": "{"}}, {"function_call": {"arguments": "}"}}],
        0,
    ),
    "an id that is a number": (
        [{"tool_calls": [{"index": 0, "id": 7, "function": {"name": "look", "arguments": "{}"}}]}],
        0,
    ),
    "arguments that are an object": (
        [{"tool_calls": [{"index": 0, "id": "a", "function": {"name": "look", "arguments": {}}}]}],
        0,
    ),
    "arguments that begin as nothing": (
        [
            {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "look", "arguments": None}}]},
            {"tool_calls": [{"index": 0, "id": "", "function": {"name": "", "arguments": "{}"}}]},
        ],
        0,
    ),
    "a message as a piece": ([], {"message": {"role": "assistant", "content": "Aye."}}),
    "no piece with the end": ([{"content": "Aye."}], {"delta": None}),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ODD)
async def test_pieces_in_other_forms_are_read(strict: Strict, name: str) -> None:
    deltas, end = ODD[name]
    chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    chunks.append({"index": 0, "finish_reason": "stop", **(end or {"delta": {}})})
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "k"}
    lines = [{**head, "choices": [each]} for each in chunks] + [{**head, "choices": [], "usage": _so_far(3)}]
    strict.manner = lambda _answer, _stream: (
        EVENTS,
        "".join(f"data: {json.dumps(each)}\n\n" for each in lines),
    )
    answer = await answer_of(strict, "openai-chat")
    assert incomplete_reason(answer) == ""
    assert answer.usage.input_tokens == 700
    [part] = answer.parts
    assert isinstance(part, TextPart if end else ToolCallPart)
    if isinstance(part, ToolCallPart):
        assert (part.tool_name, part.args_as_dict(), type(part.tool_call_id)) == ("look", {}, str)


COUNTS: dict[str, tuple[dict[str, Any], int]] = {
    "none at all": ({"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}, 0),
    "one missing": ({"prompt_tokens": 700}, 700),
    "details of another kind": (
        {**_so_far(3), "prompt_tokens_details": [], "completion_tokens_details": 7},
        700,
    ),
    "no figures in details": (
        {**_so_far(3), "prompt_tokens_details": {"cached_tokens": None, "tier": "low"}},
        700,
    ),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", COUNTS)
async def test_counts_that_are_none_spoil_no_answer(strict: Strict, name: str) -> None:
    usage, read = COUNTS[name]
    strict.manner = _pieces({"content": "Aye."}, usage=lambda _: usage)
    answer = await answer_of(strict, "openai-chat")
    assert [part.content for part in answer.parts if isinstance(part, TextPart)] == ["Aye."]
    assert (answer.usage.input_tokens, incomplete_reason(answer)) == (read, "")


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("media", ["text/html", EVENTS])
@pytest.mark.parametrize("wire", WIRES)
async def test_a_page_in_place_of_an_answer_is_told_as_one(
    strict: Strict, wire: str, media: str, streamed: bool
) -> None:
    if media == EVENTS and not streamed:
        return
    strict.manner = lambda _answer, _stream: (media, "<html><body>Sign in to the network</body></html>")
    with pytest.raises(ModelAPIError) as raised:
        await answer_of(strict, wire, streamed=streamed)
    assert "web page came in place of" in describe_error(raised.value, model="k").message


def _changed(change: Callable[[dict[str, Any]], list[dict[str, Any]]]) -> Manner:
    """Replace each event of a stream by others."""

    def manner(_answer: Any, stream: str) -> tuple[str, str]:
        told = (json.loads(line[6:]) for line in stream.split("\n") if line.startswith("data: {"))
        events = [each for event in told for each in change(event)]
        return EVENTS, "".join(f"data: {json.dumps(event)}\n\n" for event in events)

    return manner


def _in(event: dict[str, Any], name: str, **fields: Any) -> list[dict[str, Any]]:
    return [{**event, name: {**event[name], **fields}} if isinstance(event.get(name), dict) else event]


UNUSUAL: dict[str, tuple[str, Manner]] = {
    "a text that begins as nothing": (
        "anthropic",
        _changed(
            lambda event: (
                [{**event, "delta": {"type": "text_delta", "text": None}}, event]
                if event.get("delta", {}).get("type") == "text_delta"
                else [event]
            )
        ),
    ),
    "an id of a call that is a number": (
        "anthropic",
        _changed(
            lambda event: (
                _in(event, "content_block", id=7)
                if event.get("content_block", {}).get("type") == "tool_use"
                else [event]
            )
        ),
    ),
    "all of it with the end": (
        "responses",
        _changed(lambda event: [event] if event["type"] == "response.completed" else []),
    ),
    "items without ids": (
        "responses",
        _changed(
            lambda event: _in(event | ({"item_id": None} if "item_id" in event else {}), "item", id=None)
        ),
    ),
    "a part of a new kind": (
        "google",
        _changed(lambda event: [{**event, "candidates": [{"content": {"parts": [{"hologram": 1}]}}]}, event]),
    ),
}


@pytest.mark.parametrize("name", UNUSUAL)
async def test_unusual_events_are_read(strict: Strict, name: str) -> None:
    wire, manner = UNUSUAL[name]
    strict.calls = True
    strict.manner = manner
    answer = await answer_of(strict, wire)
    assert incomplete_reason(answer) == ""
    assert [part.content for part in answer.parts if isinstance(part, TextPart)] == ["I look."]
    [call] = [part for part in answer.parts if isinstance(part, ToolCallPart)]
    assert (call.tool_name, list(call.args_as_dict()), type(call.tool_call_id)) == ("look", ["at"], str)


@pytest.mark.parametrize("ends", ["data: [DONE]\n\n", "", "and a last one"])
async def test_a_usage_that_comes_with_each_piece_counts_once(strict: Strict, ends: str) -> None:
    made = _pieces({"content": "A"}, {"content": "ye."}, usage=_so_far)
    last = f"data: {json.dumps({'id': 'c', 'choices': [], 'usage': _so_far(3)})}\n\n"

    def manner(answer: Any, stream: str) -> tuple[str, str]:
        media, text = made(answer, stream)
        return media, text.replace("data: [DONE]\n\n", last if ends == "and a last one" else ends)

    strict.manner = manner
    answer = await answer_of(strict, "openai-chat")
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (700, 3)
    assert incomplete_reason(answer) == ""


async def test_an_answer_that_was_cut_is_none_for_the_usage_it_had_so_far(strict: Strict) -> None:
    made = _pieces({"content": "A"}, {"content": "ye."}, usage=_so_far)
    strict.manner = lambda answer, stream: (EVENTS, made(answer, stream)[1].rsplit("data: {", 1)[0])
    assert incomplete_reason(await answer_of(strict, "openai-chat")) != ""


def _call(args: str, index: int = 0, **more: Any) -> dict[str, Any]:
    name = {"name": more.pop("name")} if "name" in more else {}
    return {
        "tool_calls": [{"index": index, "type": "function", "function": {"arguments": args, **name}, **more}]
    }


CALLS: dict[str, tuple[list[dict[str, Any]], int]] = {
    "as it should be": ([_call('{"at"', id="a", name="look"), _call(": 1}")], 1),
    "the name in each piece": ([_call('{"at"', id="a", name="look"), _call(": 1}", id="a", name="look")], 1),
    "the name in pieces": ([_call("", id="a", name="lo"), _call("", name="ok"), _call('{"at": 1}')], 1),
    "another id in each piece": (
        [_call('{"at"', id="a", name="look"), _call(": 1}", id="b", name="look")],
        1,
    ),
    "two in one place": (
        [_call('{"at": 1}', id="a", name="look"), _call('{"at"', id="b", name="look"), _call(": 1}")],
        2,
    ),
    "three, two of them in one place": (
        [
            _call('{"at": 1}', id="a", name="look"),
            _call('{"at": 1}', 1, id="b", name="look"),
            _call('{"at": 1}', 1, id="c", name="look"),
        ],
        3,
    ),
}


@pytest.mark.parametrize("name", CALLS)
async def test_calls_are_told_apart_and_named_once(strict: Strict, name: str) -> None:
    deltas, count = CALLS[name]
    strict.manner = _pieces(*deltas)
    answer = await answer_of(strict, "openai-chat")
    calls = [part for part in answer.parts if isinstance(part, ToolCallPart)]
    assert [(call.tool_name, call.args_as_dict()) for call in calls] == [("look", {"at": 1})] * count
    assert len({call.tool_call_id for call in calls}) == count


# The format itself.

STREAM = (
    '\ufeff: hello\r\nretry: 5\r\n\r\nid: 1\n\nevent: message_start\rid: 3\rdata:{"a": "\u00e9\u2028"}\r\r'
    "event: ping\n\ndata: 1\ndata: 2\n\ndata: [DONE]\n\ndata: not yet"
)
PLAIN = (
    'event: message_start\ndata: {"a": "\u00e9\u2028"}\n\ndata: 1\ndata: 2\n\ndata: [DONE]\n\ndata: not yet\n'
)


@given(st.lists(st.integers(1, 40)))
def test_it_is_the_same_in_whatever_pieces_it_comes(sizes: list[int]) -> None:
    events, raw, out = PlainEvents(Wire.CHAT), STREAM.encode(), b""
    for size in [*sizes, len(raw)]:
        out += events.feed(raw[:size]) if raw[:size] else b""
        raw = raw[size:]
    assert (out + events.finish()).decode() == PLAIN


def test_what_is_complete_is_passed_on_at_once() -> None:
    events = PlainEvents(Wire.CHAT)
    assert events.feed(b'data: {"n": 1}\n\n') == b'data: {"n": 1}\n\n'
    assert events.feed(b'data: {"n"') == b""
    assert events.feed(b": 2}\n") == b'data: {"n": 2}\n'
    assert events.feed(b"\n") == b"\n"


@pytest.mark.parametrize(
    "body", ["{", '{"hello": "world"}', "[1, 2]", '{"choices": [1]}', '{"choices": [{}]}']
)
def test_an_object_that_is_no_answer_stays_what_it_is(body: str) -> None:
    events = PlainEvents(Wire.CHAT)
    assert events.feed(body.encode()) + events.finish() == body.encode()


class Made(OpenAIProvider):
    """A provider that has created its client itself."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        super().__init__(api_key="none", http_client=client)
        self._own_http_client, self._http_client_factory = client, httpx2.AsyncClient


# Over a connection: chunks as they arrive, compressed or not, closed when reading stops.


async def test_pieces_are_read_as_they_come_also_where_they_are_packed() -> None:
    packer, sent, read = zlib.compressobj(wbits=zlib.MAX_WBITS | 16), 0, list[bytes]()

    class Slow(httpx2.AsyncByteStream):
        closed = False

        async def __aiter__(self) -> AsyncIterator[bytes]:
            nonlocal sent
            for number in range(3):
                packed = packer.compress(f'retry: 1\n\ndata: {{"n": {number}}}\n\n'.encode())
                sent += 1
                yield packed + packer.flush(zlib.Z_SYNC_FLUSH)

        async def aclose(self) -> None:
            self.closed = True

    slow = Slow()
    headers = {"content-type": EVENTS, "content-encoding": "gzip"}
    answer = httpx2.Response(200, headers=headers, stream=slow)
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(lambda _: answer))
    with_plain_streams(Made(client))
    async with client, client.stream("POST", "http://127.0.0.1/v1/chat/completions", json={}) as response:
        async for piece in response.aiter_bytes():
            read.append(piece)
            assert sent == len(read)
            if sent == 2:
                break
    assert read == [b'data: {"n": 0}\n\n', b'data: {"n": 1}\n\n']
    assert slow.closed


@pytest.mark.parametrize("path", ["/v1/models", "/v1/embeddings"])
async def test_what_is_no_stream_of_an_answer_is_left_alone(path: str) -> None:
    body = b"\xef\xbb\xbfretry: 1\n\n"
    client = httpx2.AsyncClient(
        transport=httpx2.MockTransport(
            lambda _: httpx2.Response(200, content=body, headers={"content-type": EVENTS})
        )
    )
    with_plain_streams(Made(client))
    async with client:
        assert (await client.post(f"http://127.0.0.1{path}")).content == body


async def test_an_answer_in_one_piece_stays_one_where_nobody_asked_for_a_stream() -> None:
    body = b'{"choices": [{"message": {"content": "Aye."}}]}'
    client = httpx2.AsyncClient(
        transport=httpx2.MockTransport(
            lambda _: httpx2.Response(200, content=body, headers={"content-type": OBJECT})
        )
    )
    with_plain_streams(Made(client))
    async with client:
        call = {"type": "tool_use", "input": {"stream": True}}
        said = {"messages": [{"content": 'the words "stream": true in a prompt'}, {"content": [call]}]}
        answer = await client.post("http://127.0.0.1/v1/chat/completions", json=said)
        assert answer.content == body


async def test_a_client_that_is_made_later_reads_them_too(strict: Strict) -> None:
    strict.manner = MANNERS["a byte order mark"]
    model = strict.of_wire("openai-chat")
    asked: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart("Look.")])]
    for _ in range(2):
        # The model closes its client on leaving, and creates another one on entering.
        async with model, model.request_stream(asked, None, ModelRequestParameters()) as stream:
            async for _ in stream:
                pass
        assert incomplete_reason(stream.get()) == ""


@pytest.mark.parametrize("wire", list(Wire))
def test_a_line_without_end_is_given_up(wire: Wire) -> None:
    events = PlainEvents(wire)
    endless = (events.feed(b"x" * 65_536) for _ in range(1_000))
    with pytest.raises(AnswerTooLong):
        list(endless)
