"""A model server with a steady rate: answers at 200 tokens per second, summaries at their own.

A separate process, so that it takes no time from the measured interpreter. Prints its port and serves until
it is killed.
"""

import asyncio
import json
import sys
from time import monotonic

ANSWER_TOKENS_PER_S = 200
ANSWER_S = 12.0
SUMMARY_S = 6.0
SUMMARY_PIECES = 60
PARAGRAPH_WORDS = 60
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_SUMMARY = """\
## Intent
The person asked about tides, hulls and marks, and wants each answer kept short.

## Done so far
Every question was answered in order; nothing was changed on disk.

## Next steps
Go on with the next question.
"""


def token(number: int) -> str:
    """The n-th chunk of an answer: five characters, as an average token, containing its number."""
    digits = "".join(_DIGITS[number // 36**place % 36] for place in (2, 1, 0))
    return ("\n\n" if number % PARAGRAPH_WORDS == 0 else " ") + f"x{digits}"


def number_of(word: str) -> int:
    """The number in a chunk."""
    return int(word[1:], 36)


def chunk(text: str, finish: str | None = None) -> bytes:
    """A server-sent event as one HTTP chunk."""
    choice = {"index": 0, "delta": {"content": text} if text else {}, "finish_reason": finish}
    body = {
        "id": "1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "steady",
        "choices": [choice],
    }
    return _framed(f"data: {json.dumps(body)}\n\n".encode())


def _framed(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request and close the connection."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = next((line for line in head.split("\r\n") if line.startswith("content-length:")), ":0")
        body = json.loads(await reader.readexactly(int(length.partition(":")[2])) or b"{}")
        if "chat/completions" not in head:
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        elif not body.get("tools"):
            # Only requests of turns contain tools, not those for summaries.
            await summarise(writer, streams=bool(body.get("stream")))
        else:
            await answer(writer)
        await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass  # The client has gone.
    finally:
        writer.close()


async def answer(writer: asyncio.StreamWriter) -> None:
    """Stream numbered words at a steady rate, catching up after delays of our own."""
    begin(writer)
    started, total = monotonic(), int(ANSWER_TOKENS_PER_S * ANSWER_S)
    for number in range(total):
        await asyncio.sleep(max(0.0, started + number / ANSWER_TOKENS_PER_S - monotonic()))
        writer.write(chunk(token(number)))
        await writer.drain()
    end(writer)


async def summarise(writer: asyncio.StreamWriter, *, streams: bool) -> None:
    """Stream a summary over some seconds."""
    if not streams:
        await asyncio.sleep(SUMMARY_S)
        message = {"role": "assistant", "content": _SUMMARY}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        fields = {"id": "1", "object": "chat.completion", "created": 0, "model": "steady", "usage": usage}
        body = json.dumps({**fields, "choices": [choice]}).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        return
    begin(writer)
    size = -(-len(_SUMMARY) // SUMMARY_PIECES)
    for start in range(0, len(_SUMMARY), size):
        await asyncio.sleep(SUMMARY_S / SUMMARY_PIECES)
        writer.write(chunk(_SUMMARY[start : start + size]))
        await writer.drain()
    end(writer)


def begin(writer: asyncio.StreamWriter) -> None:
    """Start an event stream."""
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )


def end(writer: asyncio.StreamWriter) -> None:
    """Finish an event stream."""
    writer.write(chunk("", "stop") + _framed(b"data: [DONE]\n\n") + b"0\r\n\r\n")


async def main() -> None:
    """Serve on a free loopback port."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 24)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
