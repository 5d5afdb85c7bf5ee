"""A loopback model server with the strictest validation of each protocol.

The rules are the documented ones of each API. Requests are checked as they arrive, sent by the real SDKs.
"""

import json
import re
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

from pydantic_ai.models import Model

from tests.servers.wire import problems, turns
from tui_app.agent.models import build_model
from tui_app.settings import Endpoint

Check = Callable[[Any], list[str]]
NAME, GOOGLE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}"), re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
ID, SHORT_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}"), re.compile(r"[a-zA-Z0-9]{9}")
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def _named(names: Sequence[str], pattern: re.Pattern[str] = NAME) -> list[str]:
    return [f"name {name[:80]!r}" for name in names if not pattern.fullmatch(name)]


def _paired(calls: Sequence[str], results: Sequence[str], pattern: re.Pattern[str]) -> list[str]:
    found = [f"id {each!r}" for each in calls if not pattern.fullmatch(each)]
    return found + ([] if results == calls and len(set(calls)) == len(calls) else ["call ids do not pair"])


def _object(text: str) -> list[str]:
    try:
        return [] if isinstance(json.loads(text), dict) else ["arguments are no object"]
    except ValueError:
        return ["arguments are no JSON"]


def chat(body: Any, pattern: re.Pattern[str] = ID) -> list[str]:
    """OpenAI's chat protocol: tool results follow directly after the calls they answer."""
    messages, found = body["messages"], problems(body)
    names = [tool["function"]["name"] for tool in body.get("tools") or []]
    calls, results = list[str](), list[str]()
    for place, message in enumerate(messages):
        if message["role"] in ("user", "tool") and not str(message["content"]).strip():
            found.append("blank content")
        made = message.get("tool_calls") or []
        for call in made:
            names.append(call["function"]["name"])
            found += _object(call["function"]["arguments"])
        wanted = [call["id"] for call in made]
        calls += wanted
        results += [message["tool_call_id"]] if message["role"] == "tool" else []
        behind = messages[place + 1 : place + 1 + len(wanted)]
        found += [] if [each.get("tool_call_id") for each in behind] == wanted else ["late result"]
    return found + _named(names) + _paired(calls, results, pattern)


def mistral(body: Any) -> list[str]:
    """Mistral's API: call ids of nine letters or digits, and no prompt directly after a tool result."""
    roles = [message["role"] for message in body["messages"]]
    found = [
        "Unexpected role 'user' after role 'tool'" for pair in pairwise(roles) if pair == ("tool", "user")
    ]
    last = [] if roles[-1] in ("user", "tool") else ["Expected last role User or Tool"]
    return chat(body, SHORT_ID) + found + last


def alternating(body: Any) -> list[str]:
    """A chat template that accepts one system message, then alternating user and assistant messages."""
    roles = [m["role"] for m in body["messages"] if m["role"] != "tool" and not m.get("tool_calls")]
    turns = roles[1:] if roles[0] == "system" else roles
    wanted = [("user", "assistant")[place % 2] for place in range(len(turns))]
    if "system" in turns:
        return ["System message must be at the beginning."]
    return chat(body) + ([] if turns == wanted else ["Conversation roles must alternate user/assistant"])


def responses(body: Any) -> list[str]:
    items, found = body["input"], problems(body)
    calls = [item for item in items if item.get("type") == "function_call"]
    results = [item for item in items if item.get("type") == "function_call_output"]
    for item in items:
        kind, own = item.get("type", "message"), str(item.get("id") or "")
        begin = {"function_call": "fc", "reasoning": "rs", "message": "msg"}.get(kind, "")
        found += [] if own.startswith(begin) or not own else [f"id {own!r} of {kind}"]
        if kind == "reasoning" and not own:
            found.append("reasoning without an id")
    for call in calls:
        found += _object(call["arguments"])
    found += ["blank output" for item in results if not item["output"]]
    found += [f"call_id {item['call_id']}" for item in calls if len(item["call_id"]) > 64]
    names = [tool["name"] for tool in body.get("tools") or []] + [item["name"] for item in calls]
    wanted, given = ([item["call_id"] for item in each] for each in (calls, results))
    return found + _named(names) + _paired(wanted, given, re.compile(r"\S+"))


def anthropic(body: Any) -> list[str]:
    """Anthropic's Messages API: tool results come first in the message after their calls."""
    found, names = problems(body, alternating=True), [tool["name"] for tool in body.get("tools") or []]
    ids = list[str]()
    for message in body["messages"]:
        for block in _blocks(message):
            found += ["blank text block"] if block["type"] == "text" and not block["text"].strip() else []
            if block["type"] == "tool_use":
                ids.append(block["id"])
                names.append(block["name"])
                found += [] if isinstance(block["input"], dict) else ["input is no object"]
            if block["type"] == "thinking" and not block.get("signature"):
                found.append("thinking without a signature")
            if block["type"] == "tool_result":
                inner = block.get("content") or [{"type": "text", "text": ""}]
                inner = [{"type": "text", "text": inner}] if isinstance(inner, str) else inner
                found += ["blank text in a result" for each in inner if not each.get("text", "-").strip()]
            source = block.get("source") or {}
            if block["type"] == "image" and source.get("media_type", PICTURES[0]) not in PICTURES:
                found.append(f"image of type {source['media_type']}")
    nothing = {"content": [], "role": "user"}
    for message, behind in pairwise([nothing, *body["messages"], nothing]):
        called = [block["id"] for block in _blocks(message) if block["type"] == "tool_use"]
        answered = [block.get("tool_use_id") for block in _blocks(behind)]
        found += [] if set(answered[: len(called)]) == set(called) else ["late result"]
        found += [] if not any(answered[len(called) :]) else ["a result of nothing"]
    return found + _named(names) + _paired(ids, ids, re.compile(r"[a-zA-Z0-9_-]+"))


def _blocks(message: Any) -> list[Any]:
    return message["content"] if isinstance(message["content"], list) else []


def google(body: Any) -> list[str]:
    """The Gemini API: as many function responses as calls, in the next turn."""
    contents, found, waiting = body["contents"], list[str](), 0
    names = [
        each["name"] for tool in body.get("tools") or [] for each in tool.get("functionDeclarations", [])
    ]
    found += [] if contents and contents[0].get("role") == "user" else ["the first content is not the user's"]
    for content in contents:
        parts = content.get("parts") or []
        given = sum("functionResponse" in part for part in parts)
        found += [] if given == waiting else [f"{given} responses to {waiting} calls"]
        found += [] if parts else ["no parts"]
        found += ["empty part" for part in parts if part.get("text") == ""]
        names += [part["functionCall"]["name"] for part in parts if "functionCall" in part]
        waiting = sum("functionCall" in part for part in parts)
    return found + _named(names, GOOGLE_NAME) + (["calls without an answer"] if waiting else [])


@dataclass(frozen=True, slots=True)
class Wire:
    """Protocol, model and validation of one kind of server."""

    protocol: str
    check: Check
    model: str = "keen-1"


WIRES = {
    "openai-chat": Wire("openai-chat", chat),
    "responses": Wire("openai", responses, "gpt-5.4"),
    "anthropic": Wire("anthropic", anthropic),
    "google": Wire("google", google, "gemini-3-pro-preview"),
    "mistral": Wire("openai-chat", mistral, "devstral-small"),
    "alternating": Wire("openai-chat", alternating),
}


class Strict:
    """Answers requests that pass validation, and refuses others with the problems found."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.streamed: list[bool] = []
        """Whether each request asked for a stream."""
        self.refused: list[str] = []
        self.check: Check = lambda _body: []
        """Validates requests to paths without a kind of server (``WIRES``)."""
        self.calls = False
        """Whether prompts are answered with reasoning and a tool call; tool results only with ``always``."""
        self.always = False
        self.call: tuple[str, Any] | None = None
        """Name and arguments of the tool to call; None for the first tool of the request."""
        self.text = ""
        """Text of answers without a tool call."""
        self.summary = ""
        """Answer to requests outside turns, such as summaries."""
        self.count: Callable[[str], int] = lambda sent: len(sent) // 4
        """Counts the tokens of a request, given as JSON."""
        self.reported: list[int] = []
        """Input tokens reported in the answers of turns."""
        self.expired = False
        """Whether servers reject even their own signatures, as expired."""
        self.cuts: list[str] = []
        """How the next streamed answers of turns are cut short, each one of ``CUTS``."""
        self.short: list[Sequence[str]] = []
        """Partial call arguments for the next answers, which end at their length limit."""
        self.status = 400
        """Status code of refusals."""
        self.refusal: Callable[[list[str]], Any] | None = None
        """Builds the body of a refusal from the problems; None for the default body."""
        self.manner: Callable[[Any, str], tuple[str, str]] | None = None
        """Replaces an answer: maps the answer and its stream to a media type and body."""
        self.is_refused = False
        self._answers = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: object) -> None:
                """Suppress logging."""

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                asked = self.headers.get("x-interaction-type", "")
                wanted = bool(body.get("stream") or "stream" in self.path)
                outer.streamed.append(wanted)
                answer = outer.judged(self.path, body, summary=bool(asked))
                refused = outer.is_refused
                streams = wanted and not refused
                cut = outer.cuts.pop(0) if streams and not asked and outer.cuts else ""
                sent = (streamed(answer, cut) if streams else json.dumps(answer)).encode()
                media = "text/event-stream" if streams else "application/json"
                if outer.manner is not None and not refused:
                    media, text = outer.manner(answer, sent.decode())
                    sent = text.encode()
                self.send_response(outer.status if refused else 200)
                self.send_header("content-type", media)
                self.send_header("content-length", str(len(sent) + (cut == "connection")))
                self.end_headers()
                self.wfile.write(sent)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def judged(self, path: str, body: Any, *, summary: bool = False) -> Any:
        wire = path.split("/")[1]
        self.bodies.append(body)
        found = WIRES[wire].check(body) if wire in WIRES else self.check(body)
        if wire in WIRES:
            text = json.dumps(body)
            mine = "" if self.expired else wire
            found += [
                f"signature of {other}" for other in WIRES if other != mine and signature(other) in text
            ]
            if self.expired and '"fc_' in text and '"rs_' not in text:
                found.append("a function_call was provided without its required 'reasoning' item")
        self.refused += found
        self.is_refused = bool(found)
        if found and self.refusal is not None:
            return self.refusal(found)
        if found:
            return {"error": {"message": "; ".join(found), "type": "invalid_request_error", "code": 400}}
        size = self.count(json.dumps(body, ensure_ascii=False))
        if summary:
            return answered(path, Answer(self.summary or self.text or "Aye.", size))
        self.reported.append(size)
        self._answers += 1
        if not self.calls or (turns(body)[-1].answers and not self.always):
            return answered(path, Answer(self.text or "Aye.", size))
        tool, args = self.call or (_first_tool(body), {"at": self._answers})
        answer = answered(path, Answer("I look.", size, self._answers, tool, args, signature(wire)))
        return _at_its_limit(answer, self.short.pop(0)) if self.short else answer

    def model(self, protocol: str, name: str = "keen-1", wire: str = "") -> Model[Any]:
        root = f"{self.url}/{wire}" if wire else self.url
        if protocol == "mistral":
            return _sdk_of_mistral(name, root)
        base = root if protocol in ("anthropic", "google") else f"{root}/v1"
        server = wire or "yard"
        endpoint = Endpoint(name=server, protocol=protocol, base_url=base, key_env="", window=50_000)
        return build_model(f"{server}:{name}", env={}, endpoints={server: endpoint})

    def of_wire(self, wire: str) -> Model[Any]:
        """The model for a kind of server. Mistral uses its own SDK where that is installed."""
        kind = WIRES[wire]
        own = wire == "mistral" and find_spec("mistralai") is not None
        return self.model("mistral" if own else kind.protocol, kind.model, wire)


def _sdk_of_mistral(name: str, url: str) -> Model[Any]:
    from pydantic_ai.models.mistral import MistralModel
    from pydantic_ai.providers.mistral import MistralProvider

    return MistralModel(name, provider=MistralProvider(api_key="none", base_url=url))


def signature(wire: str) -> str:
    """The signature of a server's reasoning; servers accept only their own."""
    return b64encode(f"signed by {wire}".encode()).decode()


def _first_tool(body: Any) -> str:
    first = next(iter(body.get("tools") or []), {})
    first = next(iter(first.get("functionDeclarations", [])), first.get("function", first))
    return str(first.get("name", "look"))


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, independent of the protocol."""

    text: str
    size: int
    """Input tokens to report."""
    number: int = 0
    """Number of the tool call, with reasoning; 0 for text."""
    tool: str = ""
    args: Any = None
    signed: str = ""


def answered(path: str, said: Answer) -> Any:
    """An answer encoded for its protocol."""
    usage = {"input_tokens": said.size, "output_tokens": len(said.text) // 4 + 1}
    number = said.number
    if "chat/completions" in path:
        message: dict[str, Any] = {"role": "assistant", "content": said.text}
        if number:
            function = {"name": said.tool, "arguments": json.dumps(said.args)}
            message["tool_calls"] = [{"id": f"{number:09}", "type": "function", "function": function}]
            message |= {} if "mistral" in path else {"reasoning_content": "Hm."}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if number else "stop"}
        told = {"prompt_tokens": said.size, "completion_tokens": usage["output_tokens"]}
        told["total_tokens"] = sum(told.values())
        head = {"id": "c", "object": "chat.completion", "created": 1, "model": "k"}
        return {**head, "choices": [choice], "usage": told}
    if "responses" in path:
        content = {"type": "output_text", "text": said.text, "annotations": []}
        spoken = {"id": f"msg_{number}", "type": "message", "status": "completed", "role": "assistant"}
        spoken |= {"content": [content]}
        thought = {"id": f"rs_{number}", "type": "reasoning", "summary": [], "encrypted_content": said.signed}
        call = {"id": f"fc_{number}", "type": "function_call", "call_id": f"call_{number}", "name": said.tool}
        call |= {"arguments": json.dumps(said.args), "status": "completed"}
        head = {"id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "k"}
        rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        told = {
            **usage,
            "total_tokens": sum(usage.values()),
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        told["input_tokens_details"] = {"cached_tokens": 0}
        return {**head, **rest, "usage": told, "output": [thought, spoken, call] if number else [spoken]}
    if "messages" in path:
        thinking = {"type": "thinking", "thinking": "Hm.", "signature": said.signed}
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": said.tool, "input": said.args}
        blocks: list[Any] = [{"type": "text", "text": said.text}]
        end = "tool_use" if number else "end_turn"
        head = {"id": "m", "type": "message", "model": "k", "usage": usage, "stop_sequence": None}
        content = [thinking, *blocks, call] if number else blocks
        return {**head, "role": "assistant", "content": content, "stop_reason": end}
    parts: list[Any] = [{"text": said.text}]
    if number:
        call = {"functionCall": {"name": said.tool, "args": said.args}, "thoughtSignature": said.signed}
        parts = [{"text": "Hm.", "thought": True}, *parts, call]
    told = {"promptTokenCount": said.size, "candidatesTokenCount": usage["output_tokens"]}
    told["totalTokenCount"] = sum(told.values())
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    return {"candidates": [candidate], "usageMetadata": told, "responseId": "g"}


def _at_its_limit(answer: Any, calls: Sequence[str]) -> Any:
    """An answer with replaced calls, the last possibly incomplete, that ends at its length limit."""
    places = range(len(calls))
    if "choices" in answer:
        choice = answer["choices"][0]
        (call,) = choice["message"]["tool_calls"]
        made = [
            {
                **call,
                "id": f"{int(call['id']) + 500 * at:09}",
                "function": {**call["function"], "arguments": text},
            }
            for at, text in enumerate(calls)
        ]
        choice |= {"message": choice["message"] | {"tool_calls": made}, "finish_reason": "length"}
    elif "output" in answer:
        *said, call = answer["output"]
        ids = ({"id": f"{call['id']}_{at}", "call_id": f"{call['call_id']}_{at}"} for at in places)
        made = [{**call, **own, "arguments": text} for own, text in zip(ids, calls, strict=True)]
        made[-1]["status"] = "incomplete"
        ended = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
        answer |= {"output": [*said, *made], **ended}
    elif "candidates" in answer:
        # Gemini sends calls complete or without arguments.
        (candidate,) = answer["candidates"]
        *said, call = candidate["content"]["parts"]
        inner = [{"functionCall": call["functionCall"] | {"args": _object_or_none(text)}} for text in calls]
        inner[0] = {**call, **inner[0]}
        candidate |= {"content": {"role": "model", "parts": [*said, *inner]}, "finishReason": "MAX_TOKENS"}
    else:
        *said, call = answer["content"]
        made = [{**call, "id": f"{call['id']}_{at}", "input": text} for at, text in enumerate(calls)]
        answer |= {"content": [*said, *made], "stop_reason": "max_tokens"}
    return answer


def _object_or_none(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}


CUTS = ("in order", "connection", "error")
"""How a stream is cut short: closed as if complete, connection dropped, or an error event."""
_BUSY = {"type": "overloaded_error", "message": "Overloaded"}


def streamed(answer: Any, cut: str = "") -> str:
    """An answer as a stream, each part in one event. A stream that is cut contains all parts but no end."""
    if "choices" in answer:
        (choice,) = answer["choices"]
        delta = dict(choice["message"])
        if calls := delta.get("tool_calls"):
            delta["tool_calls"] = [{"index": place, **call} for place, call in enumerate(calls)]
        piece = {"index": 0, "delta": delta, "finish_reason": None if cut else choice["finish_reason"]}
        chunk = {**answer, "object": "chat.completion.chunk", "choices": [piece]}
        if cut:
            del chunk["usage"]
        return f"data: {json.dumps(chunk)}\n\n" + (_error(cut) or ("" if cut else "data: [DONE]\n\n"))
    if "candidates" in answer:
        (candidate,) = answer["candidates"]
        if cut:
            answer = {**answer, "candidates": [{"content": candidate["content"]}]}
        return f"data: {json.dumps(answer)}\n\n" + _error(cut)
    events = list(_of_responses(answer) if "output" in answer else _of_anthropic(answer))
    if cut:
        ends = ("response.completed", "message_delta", "message_stop")
        events = [event for event in events if event["type"] not in ends]
    said = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return said + _error(cut, "output" in answer)


def _error(cut: str, responses: bool = False) -> str:
    """The error event in the middle of a stream."""
    if cut != "error":
        return ""
    flat = {"type": "error", "code": "server_error", "message": "Overloaded", "param": None}
    told = flat | {"sequence_number": 98} if responses else {"type": "error", "error": _BUSY}
    return f"event: error\ndata: {json.dumps(told)}\n\n"


def _of_responses(answer: Any) -> Iterator[Any]:
    yield {"type": "response.created", "sequence_number": 0, "response": {**answer, "output": []}}
    for place, item in enumerate(answer["output"]):
        at = {"sequence_number": place + 1, "output_index": place}
        empty = {"message": {"content": []}, "function_call": {"arguments": ""}}.get(item["type"], {})
        yield {"type": "response.output_item.added", **at, "item": {**item, **empty}}
        at["item_id"] = item["id"]
        if item["type"] == "message":
            (content,) = item["content"]
            part = {**at, "content_index": 0}
            yield {"type": "response.content_part.added", **part, "part": {**content, "text": ""}}
            yield {"type": "response.output_text.delta", **part, "delta": content["text"], "logprobs": []}
            yield {"type": "response.output_text.done", **part, "text": content["text"], "logprobs": []}
        elif item["type"] == "function_call":
            yield {"type": "response.function_call_arguments.delta", **at, "delta": item["arguments"]}
        del at["item_id"]
        yield {"type": "response.output_item.done", **at, "item": item}
    yield {"type": f"response.{answer['status']}", "sequence_number": 99, "response": answer}


def _of_anthropic(answer: Any) -> Iterator[Any]:
    yield {"type": "message_start", "message": {**answer, "content": [], "stop_reason": None}}
    for place, block in enumerate(answer["content"]):
        empty, deltas = dict[str, Any](), list[Any]()
        if block["type"] == "text":
            empty, deltas = {"text": ""}, [{"type": "text_delta", "text": block["text"]}]
        elif block["type"] == "thinking":
            empty = {"thinking": "", "signature": ""}
            deltas = [{"type": f"{name}_delta", name: block[name]} for name in empty]
        else:
            empty, written = {"input": {}}, block["input"]
            written = written if isinstance(written, str) else json.dumps(written)
            deltas = [{"type": "input_json_delta", "partial_json": written}] if written else []
        yield {"type": "content_block_start", "index": place, "content_block": {**block, **empty}}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": place, "delta": delta}
        yield {"type": "content_block_stop", "index": place}
    ends = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ends, "usage": answer["usage"]}
    yield {"type": "message_stop"}


@contextmanager
def strict_server() -> Iterator[Strict]:
    """Run a server for the duration of the block."""
    made = Strict()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        made.server.server_close()
        thread.join()
