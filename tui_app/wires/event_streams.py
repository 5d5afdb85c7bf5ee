"""Normalization of model servers' event streams to the form that every vendor's SDK reads.

The SDKs parse server-sent events differently: one takes a block without data for a damaged event, another
loses the first event after a byte order mark, a third needs a space after ``data:``. Each line is converted
on arrival to the form that all of them accept. A response that is one JSON object instead of a stream becomes
a stream, too. An error with HTTP 200 outside of a stream gets the status that it names, because the SDKs
would take it for an answer.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from enum import Enum
from typing import Any

import httpx2
from pydantic_ai.providers import Provider

from tui_app.files import object_in
from tui_app.wires.library import own_client

_Json = Mapping[str, Any]

_EVENTS = "text/event-stream"
_MAY_BE_EVENTS = (_EVENTS, "application/json", "text/plain", "")
"""Media types of streams and of responses to stream requests. Pages of proxies have other types."""
_MARK = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\r|\n")
_UNUSED = (b"id", b"retry")
"""Fields for clients that reconnect, which none does."""
_STREAMED = re.compile(rb'"stream"\s*:\s*true')
_TEXT_FIELDS = ("message", "detail", "msg")
"""Fields with an error message, for servers without an error object."""
PAGE = "a web page came in place of it"
SIGN_IN = 511
"""Status for a network that requires a sign-in: a web page with HTTP 200 is reported as that."""
_NAMELESS = "the server reports an error without saying which"
_NO_USAGE = {"input_tokens": 0, "output_tokens": 0}


MOST_CHARS = 2_000_000
"""Maximum characters of text, thinking and calls in one answer."""
MOST_CALLS = 256
_MOST_LINE = 8 * 2**20
"""Maximum bytes of one event."""
_MOST_WHOLE = 4 * _MOST_LINE
"""Maximum bytes of an unstreamed answer, pictures included."""


class AnswerTooLong(Exception):
    """Raised when an answer does not end, or has more calls than is useful."""


class Wire(Enum):
    """Protocols with known streams, by the end of the request's path."""

    CHAT = re.compile(r"/chat/completions$")
    RESPONSES = re.compile(r"/responses$")
    ANTHROPIC = re.compile(r"/messages$|:streamRawPredict$")
    GOOGLE = re.compile(r":(streamG|g)enerateContent$")

    @classmethod
    def of_path(cls, path: str) -> "Wire | None":
        return next((wire for wire in cls if wire.value.search(path)), None)


def with_plain_streams(provider: Provider[Any]) -> Provider[Any]:
    """Normalize the streams of a provider's client, and of each client it creates later."""
    own_client(provider, _hooked)
    return provider


def _hooked(client: httpx2.AsyncClient) -> httpx2.AsyncClient:
    client.event_hooks["response"].append(_plain)
    return client


async def _plain(response: httpx2.Response) -> None:
    """Hook for a response: normalize it if it is a stream, or was meant to be one."""
    wire = Wire.of_path(response.request.url.path)
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if wire is None or response.status_code != httpx2.codes.OK:
        return
    if kind == "text/html":
        response.status_code = SIGN_IN
    if kind not in _MAY_BE_EVENTS:
        return
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    packed, headers = response.stream, response.headers.copy()
    # The replacement is uncompressed.
    response.headers.pop("content-encoding", None)
    # A response in one piece is expected if no stream was requested.
    if kind == _EVENTS or _asks_for_stream(response.request):
        response.stream = _PlainStream(packed, headers, PlainEvents(wire))
        return
    body = await httpx2.Response(httpx2.codes.OK, headers=headers, stream=packed).aread()
    data = object_in(body.removeprefix(_MARK))
    if data is not None and _is_error(data, wire):
        error = _plain_error(data, wire)
        # Without any status, assume a refused request.
        response.status_code = _status(error["error"]) or httpx2.codes.BAD_REQUEST
        body = _dumped(error)
    response.stream = httpx2.ByteStream(body)


def _asks_for_stream(request: httpx2.Request) -> bool:
    if Wire.of_path(request.url.path) is Wire.GOOGLE:
        return request.url.path.endswith(":streamGenerateContent")
    # Long requests are parsed only if likely: a tool's argument may have that name, too.
    body = object_in(request.content) if _STREAMED.search(request.content) else None
    return body is not None and body.get("stream") is True


class _PlainStream(httpx2.AsyncByteStream):
    def __init__(
        self, packed: httpx2.AsyncByteStream, headers: httpx2.Headers, events: "PlainEvents"
    ) -> None:
        self._packed, self._headers, self._events = packed, headers, events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        unpacked = httpx2.Response(httpx2.codes.OK, headers=self._headers, stream=self._packed)
        async for chunk in unpacked.aiter_bytes():
            # A source that is always ready must not starve other tasks.
            await asyncio.sleep(0)
            if plain := self._events.feed(chunk):
                yield plain
        if rest := self._events.finish():
            yield rest

    async def aclose(self) -> None:
        await self._packed.aclose()


class PlainEvents:
    """Normalizes one stream, piece by piece. Buffers only the present line.

    Normalized blocks contain data, have one space after each name, and end in a line feed. There are no
    comments, and no fields for the connection.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._line = bytearray()
        """The present line so far; before the first event, anything that may be a mark or an object."""
        self._begun = False
        self._whole = False
        """Whether this is one object instead of a stream."""
        self._behind_return = False
        self._event = b""
        self._has_data = False
        self._chat = _ChatPieces()
        self._shown = False
        """Whether any part of the answer came before its end."""

    def feed(self, chunk: bytes) -> bytes:
        """Return the lines completed by a chunk.

        Raises:
            AnswerTooLong: if a line is longer than any event.
        """
        if len(self._line) > (_MOST_WHOLE if self._whole else _MOST_LINE):
            raise AnswerTooLong
        if not self._begun:
            self._line += chunk
            head = bytes(self._line)
            text = head.removeprefix(_MARK).lstrip()
            if not text or _MARK.startswith(head):
                return b""
            self._begun, self._whole = True, text.startswith((b"{", b"[", b"<"))
            self._line.clear()
            chunk = text
        if self._whole:
            self._line += chunk
            return b""
        if self._behind_return:
            # The second half of a line end.
            chunk = chunk.removeprefix(b"\n")
        self._behind_return = chunk.endswith(b"\r")
        first, *lines = _LINE_END.split(chunk)
        self._line += first
        plain = bytearray()
        for line in lines:
            plain += self._of_line(bytes(self._line))
            self._line = bytearray(line)
        return bytes(plain)

    def finish(self) -> bytes:
        """Return the rest at the end of the stream. An incomplete block stays incomplete."""
        rest = bytes(self._line)
        self._line.clear()
        if self._whole:
            return _as_events(rest, self._wire)
        return (self._of_line(rest) if rest else b"") + self._chat.counted(whole=False)

    def _of_line(self, line: bytes) -> bytes:
        if not line:
            event, had_data = self._event, self._has_data
            self._event, self._has_data = b"", False
            if event == b"error" and not had_data:
                return _error_event({}, self._wire)
            return b"\n" if had_data else b""
        name, _, value = line.partition(b":")
        if not name or name in _UNUSED:
            return b""
        if name == b"event":
            # Sent with the data, as there may be none.
            self._event = value.strip()
            return b""
        if name != b"data":
            # No field, for example an error of Google, which is passed on unchanged.
            return line + b"\n"
        value = value.strip()
        if not value or self._event == b"ping":
            return b""
        kind = b"" if self._has_data else self._event
        self._has_data = True
        return self._of_data(value, kind)

    def _of_data(self, value: bytes, kind: bytes) -> bytes:
        data = object_in(value) if self._may_need_mending(value, kind) else None
        if data is not None and _is_nonstandard_error(data, kind, self._wire):
            # The block ends with its own line feed.
            return _error_event(data, self._wire).removesuffix(b"\n")
        if data is not None and self._wire is Wire.ANTHROPIC:
            kind = kind or str(data.get("type", "")).encode()
            value = _dumped(_with_usage(_with_texts(data)))
        if data is not None and self._wire is Wire.GOOGLE:
            value = _dumped(_with_known_parts(data))
        self._shown = self._shown or b'"response.output_' in value
        if data is not None and self._wire is Wire.RESPONSES:
            whole = data.get("response")
            if not self._shown and isinstance(whole, dict) and whole.get("output"):
                # The whole answer comes with its end.
                return _as_events(_dumped(whole), self._wire).removesuffix(b"\n")
            value = _dumped(_with_item_ids(data))
        before = b""
        if self._wire is Wire.CHAT:
            before = self._chat.counted(whole=True) if value == b"[DONE]" else b""
            value = _dumped(self._chat.own(data)) if data is not None else value
        named = kind and self._wire is not Wire.GOOGLE
        return before + (b"event: " + kind + b"\n" if named else b"") + b"data: " + value + b"\n"

    def _may_need_mending(self, value: bytes, kind: bytes) -> bool:
        if kind == b"error" or re.match(rb'\{\s*"error"', value):
            return True
        if self._wire in _ODD and _ODD[self._wire].search(value):
            return True
        begins_or_ends = b'"message_start"' in value or b'"message_delta"' in value
        return self._wire is Wire.ANTHROPIC and (begins_or_ends or not kind)


_ODD = {
    Wire.CHAT: re.compile(
        rb'"(usage"\s*:\s*\{|tool_calls"\s*:\s*(\[\s*)?\{|(function_call|message)"\s*:\s*\{|delta"\s*:\s*null)'
    ),
    Wire.RESPONSES: re.compile(rb'"(item_)?id"\s*:\s*null|"response\.completed"'),
    Wire.ANTHROPIC: re.compile(rb'"(text|thinking|partial_json|signature|id)"\s*:\s*(null|\d)'),
    Wire.GOOGLE: re.compile(rb'"parts"\s*:\s*\['),
}
"""Content that some servers send in other forms than the SDK expects. Quotation marks in text are escaped."""
_COUNTED = ("prompt_tokens", "completion_tokens", "total_tokens")


class _ChatPieces:
    """Normalizes the chunks of one answer in OpenAI's chat protocol, which its SDK adds up.

    Some servers send the token count so far with each chunk, repeat a call's name with each of its pieces, or
    use the same index for consecutive calls. Others send a single call outside of a list, calls in the form
    of 2023, a whole message as a chunk, no message at the end, numeric ids, or invalid counts.
    """

    def __init__(self) -> None:
        self._usages = list[_Json]()
        """Usage sent with chunks of the answer; only the last counts."""
        self._ended = False
        self._calls = list[dict[str, Any]]()
        self._places = dict[int, int]()
        """Places of calls, by the server's index."""

    def counted(self, *, whole: bool) -> bytes:
        """Return the usage so far as one separate event, if the answer is complete."""
        usages, self._usages = self._usages, []
        # A single usage report marks the end of an answer that has no other mark.
        counts = usages and (whole or self._ended or len(usages) == 1)
        return b"data: " + _dumped({**usages[-1], "choices": []}) + b"\n\n" if counts else b""

    def own(self, chunk: _Json) -> _Json:
        """Return a chunk with only its own part of the answer."""
        choices = chunk.get("choices")
        if isinstance(usage := chunk.get("usage"), dict):
            chunk = {**chunk, "usage": _counts(usage)}
        if not choices:
            self._usages = [] if chunk.get("usage") else self._usages
            return chunk
        if chunk.get("usage"):
            self._usages.append(chunk)
            chunk = {**chunk, "usage": None}
        first = choices[0] if isinstance(choices, list) and isinstance(choices[0], dict) else {}
        self._ended = self._ended or bool(first.get("finish_reason"))
        given = first.get("delta") or first.get("message")
        delta = given if isinstance(given, dict) else {}
        calls = delta.get("tool_calls") or delta.get("function_call")
        if calls is not None and calls is delta.get("function_call"):
            calls = {"index": 0, "function": calls}
        calls = [calls] if isinstance(calls, dict) else calls
        if isinstance(calls, list) and all(isinstance(each, dict) for each in calls):
            delta = {**delta, "function_call": None, "tool_calls": list(map(self._call, calls))}
        if delta is not first.get("delta"):
            chunk = {**chunk, "choices": [{**first, "delta": delta}, *choices[1:]]}
        return chunk

    def _call(self, piece: _Json) -> _Json:
        index, function = piece.get("index"), piece.get("function")
        if type(piece.get("id")) is int:
            piece = {**piece, "id": str(piece["id"])}
        if not isinstance(index, int) or not isinstance(function, dict):
            return piece
        own, name, args = piece.get("id"), function.get("name") or "", function.get("arguments") or ""
        place = self._places.get(index, -1)
        known = self._calls[place] if place >= 0 else {}
        another = own and known.get("id") not in (own, None, "") and bool(name)
        if not known or (another and object_in(known["args"].encode(errors="replace")) is not None):
            place = self._places[index] = len(self._calls)
            known = {"id": own, "name": "", "args": ""}
            self._calls.append(known)
        if name and name == known["name"]:
            function, name = {**function, "name": None}, ""
        known["name"] += name
        known["args"] += args if isinstance(args, str) else ""
        return {**piece, "index": place, "function": function}


def _counts(usage: _Json) -> _Json:
    """Clean a usage report: drop everything but numbers, add the counts that the SDK requires."""
    plain = {name: number for name, number in usage.items() if number is not None}
    for name in [each for each in plain if each.endswith("_details")]:
        details = plain[name] if isinstance(plain[name], dict) else {}
        plain[name] = {kind: number for kind, number in details.items() if isinstance(number, int | float)}
    return {**dict.fromkeys(_COUNTED, 0), **plain}


def _dumped(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass")


def _with_usage(event: _Json) -> _Json:
    """Add the token counts that Anthropic's SDK requires to an event; 0 if unknown."""
    message = event.get("message")
    match event.get("type"):
        case "message_start" if isinstance(message, dict) and not message.get("usage"):
            return {**event, "message": {**message, "usage": _NO_USAGE}}
        case "message_delta" if not event.get("usage"):
            return {**event, "usage": {"output_tokens": 0}}
    return event


_TEXTS = ("text", "thinking", "partial_json", "signature")
_PARTS = frozenset(
    {"text", "functionCall", "functionResponse", "inlineData", "fileData", "executableCode"}
    | {"codeExecutionResult", "toolCall", "toolResponse", "thoughtSignature"}
)
"""The kinds of Google's parts. The library fails at any other."""


def _with_texts(event: _Json) -> _Json:
    """Replace nulls and numbers in the texts and ids of an Anthropic event."""
    delta, block = event.get("delta"), event.get("content_block")
    if isinstance(delta, dict) and None in delta.values():
        texts = {name: "" for name in _TEXTS if name in delta and delta[name] is None}
        event = {**event, "delta": {**delta, **texts}}
    if isinstance(block, dict) and type(block.get("id")) is int:
        event = {**event, "content_block": {**block, "id": str(block["id"])}}
    return event


def _with_known_parts(answer: _Json) -> _Json:
    """Remove parts of unknown kinds from a Google response."""
    try:
        (candidate,) = answer["candidates"]
        content = candidate["content"]
        known = [part for part in content["parts"] if _PARTS & part.keys()]
    except (AttributeError, KeyError, TypeError, ValueError):
        return answer
    if len(known) == len(content["parts"]):
        return answer
    return {**answer, "candidates": [{**candidate, "content": {**content, "parts": known}}]}


def _with_item_ids(event: _Json) -> _Json:
    """Give an item without an id in a Responses API event an id by its index."""
    own, item = f"item_{event.get('output_index')}", event.get("item")
    if isinstance(item, dict) and item.get("id") is None:
        event = {**event, "item": {**item, "id": own}}
    return {**event, "item_id": own} if "item_id" in event and event["item_id"] is None else event


def _is_nonstandard_error(data: _Json, kind: bytes, wire: Wire) -> bool:
    """Return whether an error has another form than the protocol's SDK reads."""
    error = data.get("error")
    if error is None:
        return kind == b"error" and not (wire is Wire.RESPONSES and data.get("type") == "error")
    if wire is Wire.ANTHROPIC and kind != b"error":
        return True
    code_is_missing = wire is Wire.GOOGLE and isinstance(error, dict) and type(error.get("code")) is not int
    return not (isinstance(error, dict) and error.get("message")) or code_is_missing


def _error_event(data: _Json, wire: Wire) -> bytes:
    named = b"event: error\n" if wire is Wire.ANTHROPIC else b""
    return named + b"data: " + _dumped(_plain_error(data, wire)) + b"\n\n"


def _plain_error(data: _Json, wire: Wire) -> _Json:
    """Return an error with its server's text, in the form that the protocol's SDK reads."""
    error = data.get("error")
    inner: dict[str, Any] = dict(error) if isinstance(error, dict) else {}
    text = inner.get("message") or next((data[name] for name in _TEXT_FIELDS if data.get(name)), error or "")
    inner["message"] = text if isinstance(text, str) and text else json.dumps(text) if text else _NAMELESS
    for name in ("code", "type"):
        if inner.get(name) is None and data.get(name) not in (None, "error"):
            inner[name] = data[name]
    # Each SDK reads the status from another field.
    status = _status(inner)
    if wire is not Wire.ANTHROPIC:
        inner["code"] = status if wire is Wire.GOOGLE else inner.get("code") or status or None
    elif not inner.get("type"):
        inner["type"] = next((name for name, known in _STATUSES.items() if known == status), None)
    return {"type": "error", "error": inner} if wire is Wire.ANTHROPIC else {"error": inner}


_STATUSES: _Json = {
    "rate_limit_error": httpx2.codes.TOO_MANY_REQUESTS,
    "authentication_error": httpx2.codes.UNAUTHORIZED,
    "permission_error": httpx2.codes.FORBIDDEN,
    "billing_error": httpx2.codes.PAYMENT_REQUIRED,
    "not_found_error": httpx2.codes.NOT_FOUND,
    "timeout_error": httpx2.codes.GATEWAY_TIMEOUT,
    "overloaded_error": 529,
    "api_error": httpx2.codes.INTERNAL_SERVER_ERROR,
    "server_error": httpx2.codes.INTERNAL_SERVER_ERROR,
}
"""Statuses by type of error, as documented by the APIs."""


def _status(inner: _Json) -> int:
    """Return the HTTP status of an error; 0 if there is no sign of one."""
    code, kind = (str(inner.get(name, "")) for name in ("code", "type"))
    known = _STATUSES.get(kind, _STATUSES.get(code, 0))
    return int(code) if re.fullmatch(r"[45]\d\d", code, re.ASCII) else int(known)


def _as_events(body: bytes, wire: Wire) -> bytes:
    """Convert one object to an equivalent stream; return the body unchanged if it is unknown."""
    if body.startswith(b"<"):
        return _error_event({"error": {"message": PAGE}}, wire)
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return body
    objects = found if isinstance(found, list) else [found]
    made = [_of_object(each, wire) if isinstance(each, dict) else None for each in objects]
    return body if None in made else b"".join(each for each in made if each)


_ANSWER_IN = {
    Wire.CHAT: ("choices",),
    Wire.RESPONSES: ("output",),
    Wire.ANTHROPIC: ("content",),
    Wire.GOOGLE: ("candidates", "promptFeedback", "usageMetadata"),
}


def _is_error(data: _Json, wire: Wire) -> bool:
    """Return whether an object is no answer but has an error message."""
    answers = any(data.get(name) for name in _ANSWER_IN[wire])
    return not answers and any(data.get(each) for each in ("error", *_TEXT_FIELDS))


def _of_object(data: _Json, wire: Wire) -> bytes | None:
    if _is_error(data, wire):
        return _error_event(data, wire)
    if not any(data.get(name) for name in _ANSWER_IN[wire]):
        return None
    try:
        return b"".join(_event(each, wire) for each in _PIECES[wire](data))
    except (AttributeError, TypeError, KeyError, ValueError):
        # It only looked like an answer.
        return None


def _event(event: _Json, wire: Wire) -> bytes:
    named = f"event: {event['type']}\n".encode() if wire in (Wire.RESPONSES, Wire.ANTHROPIC) else b""
    return named + b"data: " + _dumped(event) + b"\n\n"


def _of_chat(answer: _Json) -> Iterator[_Json]:
    choices = []
    for place, choice in enumerate(answer["choices"]):
        delta = dict(choice["message"])
        calls = delta.get("tool_calls") or []
        if calls:
            delta["tool_calls"] = [{"index": at, **call} for at, call in enumerate(calls)]
        reason = choice.get("finish_reason") or ("tool_calls" if calls else "stop")
        choices.append({"index": place, "delta": delta, "finish_reason": reason})
    yield {**answer, "object": "chat.completion.chunk", "choices": choices}


_EMPTY: dict[str, _Json] = {"message": {"content": []}, "function_call": {"arguments": ""}}
"""Initial fields of an item of the Responses API."""
_PART_FIELDS = {"output_text": "text", "refusal": "refusal", "reasoning_text": "text"}
"""The field with the text, by kind of part."""
_BLOCK_FIELDS = {
    "text": ("text",),
    "thinking": ("thinking", "signature"),
    "tool_use": ("input",),
    "server_tool_use": ("input",),
}
"""The fields of an Anthropic block that follow its start."""


def _of_responses(answer: _Json) -> Iterator[_Json]:
    yield {"type": "response.created", "response": {**answer, "output": []}}
    for place, given in enumerate(answer["output"]):
        at = {"output_index": place, "item_id": given.get("id") or f"item_{place}"}
        item = {**given, "id": at["item_id"]}
        empty = _EMPTY.get(item["type"], {})
        yield {"type": "response.output_item.added", "output_index": place, "item": {**item, **empty}}
        for index, part in enumerate(item.get("content") or []):
            if field := _PART_FIELDS.get(kind := part["type"]):
                text = {"content_index": index, "delta": part[field], "logprobs": []}
                yield {"type": f"response.{kind}.delta", **at, **text}
        for index, part in enumerate(item.get("summary") or []):
            text = {"summary_index": index, "delta": part["text"]}
            yield {"type": "response.reasoning_summary_text.delta", **at, **text}
        if item["type"] == "function_call":
            yield {"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]}
        yield {"type": "response.output_item.done", "output_index": place, "item": item}
    status = answer.get("status") or "completed"
    yield {"type": f"response.{status}", "response": {**answer, "status": status}}


def _of_anthropic(answer: _Json) -> Iterator[_Json]:
    usage = answer.get("usage") or _NO_USAGE
    message = {**answer, "content": [], "stop_reason": None, "usage": usage}
    yield {"type": "message_start", "message": message}
    for place, block in enumerate(answer["content"]):
        at, fields = {"index": place}, _BLOCK_FIELDS.get(block["type"], ())
        empty = {name: {} if name == "input" else "" for name in fields}
        yield {"type": "content_block_start", **at, "content_block": {**block, **empty}}
        for name in fields:
            delta = {"type": f"{name}_delta", name: block.get(name) or ""}
            if name == "input":
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block.get(name) or {})}
            if name != "signature" or block.get(name):
                yield {"type": "content_block_delta", **at, "delta": delta}
        yield {"type": "content_block_stop", **at}
    end = {"stop_reason": answer.get("stop_reason") or "end_turn"}
    delta = {**end, "stop_sequence": answer.get("stop_sequence")}
    yield {"type": "message_delta", "delta": delta, "usage": usage}
    yield {"type": "message_stop"}


def _of_google(answer: _Json) -> Iterator[_Json]:
    yield answer


_PIECES: dict[Wire, Callable[[_Json], Iterator[_Json]]] = {
    Wire.CHAT: _of_chat,
    Wire.RESPONSES: _of_responses,
    Wire.ANTHROPIC: _of_anthropic,
    Wire.GOOGLE: _of_google,
}
