"""A server with Anthropic's protocol and rules for the prompt cache, which computes the price.

The rules: a request is a sequence of blocks, tools first, then system, then messages. The prefix up to a
cache mark is kept for five minutes or an hour after its last use, if it is long enough. Each mark looks for
the longest cached prefix that ends at one of the twenty blocks before it. Everything after that prefix, up to
the last mark, is written to the cache. A request may have four marks.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import takewhile
from typing import Any, Self

Json = dict[str, Any]

MARK = "cache_control"
MOST_MARKS = 4
LOOKED_BACK = 20
LEAST = 1_024
LIFETIMES = {"5m": 300.0, "1h": 3_600.0}
WRITING = {"5m": 1.25, "1h": 2.0}
READING = 0.1
CHARS = 4
"""Characters per token on this server."""


@dataclass(frozen=True, slots=True)
class Block:
    """A unit that can carry a cache mark: a tool, or a block of the system prompt or of a message."""

    text: str
    lifetime: str = ""
    """Time to live of its cache mark; empty without a mark."""

    @property
    def tokens(self) -> int:
        return max(1, len(self.text) // CHARS)


@dataclass(frozen=True, slots=True)
class Billed:
    """Input tokens of one request, by price category."""

    fresh: int = 0
    read: int = 0
    written: Mapping[str, int] = field(default_factory=dict)
    """Tokens written, by time to live."""

    @property
    def total(self) -> int:
        return self.fresh + self.read + sum(self.written.values())

    @property
    def cost(self) -> float:
        """Cost in input tokens at the base price."""
        written = sum(WRITING[lifetime] * tokens for lifetime, tokens in self.written.items())
        return self.fresh + READING * self.read + written


class Refused(Exception):
    """The server responds with 400."""


def blocks_of(body: Json) -> list[Block]:
    """Blocks of a request in cache order."""
    system = body.get("system") or []
    found = [_block("tool", tool) for tool in body.get("tools") or []]
    found += [_block("system", part) for part in _parts(system)]
    found += [
        _block(message["role"], part) for message in body["messages"] for part in _parts(message["content"])
    ]
    if (mark := body.get(MARK)) and not found[-1].lifetime:
        found[-1] = replace(found[-1], lifetime=mark.get("ttl", "5m"))
    return found


def _parts(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _block(place: str, part: Json) -> Block:
    plain = {key: value for key, value in part.items() if key != MARK}
    lifetime = part[MARK].get("ttl", "5m") if MARK in part else ""
    return Block(place + json.dumps(plain, sort_keys=True), lifetime)


def _beginnings(blocks: list[Block]) -> Iterator[tuple[str, int]]:
    """Yield hash and token count of the prefix that ends with each block."""
    digest, tokens = sha256(), 0
    for block in blocks:
        digest.update(block.text.encode())
        tokens += block.tokens
        yield digest.hexdigest(), tokens


@dataclass(slots=True)
class PromptCache:
    """The cached prefixes."""

    least: int = LEAST
    _kept: dict[str, tuple[float, str]] = field(default_factory=dict)
    """By hash: expiry time, and time to live."""
    _seen: set[str] = field(default_factory=set)
    """Every prefix ever sent, for the cost with a perfect cache."""

    def ask(self, body: Json, now: float) -> Billed:
        """Apply a request to the cache and return what is billed.

        Raises:
            Refused: if its cache marks are invalid.
        """
        blocks = blocks_of(body)
        ends = list(_beginnings(blocks))
        marks = [place for place, block in enumerate(blocks) if block.lifetime]
        if len(marks) > MOST_MARKS:
            raise Refused(
                f"A maximum of {MOST_MARKS} blocks with cache_control may be provided. Found {len(marks)}."
            )
        lifetimes = [blocks[place].lifetime for place in marks]
        if lifetimes != sorted(lifetimes, key=lambda each: -LIFETIMES[each]):
            raise Refused("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")
        read_to = max((self._hit(ends, mark, now) for mark in marks), default=-1)
        # Each mark renews the prefix it hits, also those shorter than the one that is read.
        for used in {self._hit(ends, mark, now) for mark in marks} - {-1}:
            self._renew(ends[used][0], now)
        read = behind = ends[read_to][1] if read_to >= 0 else 0
        written = dict[str, int]()
        for mark in marks:
            digest, tokens = ends[mark]
            if mark > read_to and tokens >= self.least:
                lifetime = blocks[mark].lifetime
                self._kept[digest] = now + LIFETIMES[lifetime], lifetime
                written[lifetime] = written.get(lifetime, 0) + tokens - behind
                behind = tokens
        return Billed(fresh=ends[-1][1] - behind, read=read, written=written)

    def perfect(self, body: Json) -> Billed:
        """What the request would cost if every prefix ever sent were still cached."""
        ends = list(_beginnings(blocks_of(body)))
        known = [tokens for _, tokens in takewhile(lambda end: end[0] in self._seen, ends)]
        self._seen.update(digest for digest, _ in ends)
        read = known[-1] if known and known[-1] >= self.least else 0
        return Billed(read=read, written={"5m": ends[-1][1] - read})

    def _hit(self, ends: list[tuple[str, int]], mark: int, now: float) -> int:
        back = range(mark, max(-1, mark - LOOKED_BACK), -1)
        return next((place for place in back if self._kept.get(ends[place][0], (0.0, ""))[0] > now), -1)

    def _renew(self, digest: str, now: float) -> None:
        lifetime = self._kept[digest][1]
        self._kept[digest] = now + LIFETIMES[lifetime], lifetime


class CachingAnthropic:
    """The server, on a loopback port; entering the context starts it."""

    def __init__(self, answer: Callable[[Json], str | list[Json]] = lambda body: "Done.") -> None:
        """Prepare a server.

        Args:
            answer: Returns the answer to a request, as text or as content blocks.
        """
        self.answer = answer
        self.cache = PromptCache()
        self.now = 0.0
        """Clock in seconds; the test moves it."""
        self.bodies: list[Json] = []
        self.bill: list[Billed] = []
        self.written: list[int] = []
        """Output tokens of each answer."""
        self._lock = threading.Lock()
        outer = self

        class Handler(_Handler):
            server_of = outer

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), name="caching-anthropic", daemon=True
        )

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, body: Json) -> Billed:
        with self._lock:
            billed = self.cache.ask(body, self.now)
            self.bodies.append(body)
            self.bill.append(billed)
            return billed


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_of: CachingAnthropic

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._send(200, "application/json", json.dumps({"data": [], "has_more": False}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        try:
            billed = self.server_of.take(body)
        except Refused as refused:
            error = {"type": "invalid_request_error", "message": str(refused)}
            self._send(400, "application/json", json.dumps({"type": "error", "error": error}))
            return
        answer = self.server_of.answer(body)
        blocks = [{"type": "text", "text": answer}] if isinstance(answer, str) else answer
        stopped = "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn"
        output = max(
            1, sum(len(part.get("text") or json.dumps(part.get("input"))) for part in blocks) // CHARS
        )
        self.server_of.written.append(output)
        usage = {
            "input_tokens": billed.fresh,
            "cache_read_input_tokens": billed.read,
            "cache_creation_input_tokens": sum(billed.written.values()),
            "cache_creation": {
                f"ephemeral_{lifetime}_input_tokens": billed.written.get(lifetime, 0)
                for lifetime in LIFETIMES
            },
            "output_tokens": output,
        }
        message: Json = {
            "id": "msg", "type": "message", "role": "assistant", "model": body["model"], "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        if not body.get("stream"):
            whole = {**message, "content": blocks, "stop_reason": stopped}
            self._send(200, "application/json", json.dumps(whole))
            return
        events: list[Json] = [{"type": "message_start", "message": message}]
        for index, part in enumerate(blocks):
            empty: Json = {**part, "text": ""} if part["type"] == "text" else {**part, "input": {}}
            delta = (
                {"type": "text_delta", "text": part["text"]}
                if part["type"] == "text"
                else {"type": "input_json_delta", "partial_json": json.dumps(part["input"])}
            )
            events += [
                {"type": "content_block_start", "index": index, "content_block": empty},
                {"type": "content_block_delta", "index": index, "delta": delta},
                {"type": "content_block_stop", "index": index},
            ]
        events += [
            {
                "type": "message_delta",
                "delta": {"stop_reason": stopped, "stop_sequence": None},
                "usage": {"output_tokens": output},
            },
            {"type": "message_stop"},
        ]
        self._send(
            200,
            "text/event-stream",
            "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events),
        )

    def _send(self, status: int, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        # Otherwise clients would keep connections open that are never closed.
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(data)
