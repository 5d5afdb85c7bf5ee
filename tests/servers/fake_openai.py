"""A loopback server for OpenAI chat completions whose answers are scripted per request.

The Responses API works too (``responses.py``). The server runs in a thread with its own event loop, so that
an app in another loop or process can hang, cancel or block without affecting it. Every request is kept in
``exchanges``. An exchange records when the client closed its connection, so a test can prove that a request
was aborted.

    with FakeOpenAI(Text("Hello."), HangMidStream()) as server:
        server.add(Text("Goal: ..."), phrase="summarise")   # for requests that contain the phrase
        ...                                                 # drive the app with server.base_url
        await (await server.request(2)).closed.wait()
"""

import asyncio
import json
import threading
from collections import deque
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self

from tests.servers.behaviours import Behaviour, Json, error
from tests.servers.exchange import Exchange
from tests.servers.responses import PATH, ResponsesExchange
from tests.servers.signals import Signal

UNEXPECTED = error(400, "The test's script has no answer left for this request.", code="script_over")


class FakeOpenAI:
    """The server. Each request uses up one behaviour, in order."""

    def __init__(
        self, *behaviours: Behaviour, fallback: Behaviour | None = None, max_model_len: int | None = None
    ) -> None:
        """Prepare a server; entering it (``with`` or ``async with``) starts it.

        Args:
            behaviours: Answers to the first requests.
            fallback: Answer to every later request; without one they fail with 400.
            max_model_len: The context window reported by ``/v1/models``; None leaves it out.
        """
        self.fallback = fallback
        self.max_model_len = max_model_len
        self.model = "scripted"
        self.key = ""
        """The only key that ``/v1/models`` accepts; empty accepts any key, or none."""
        self.exchanges: list[Exchange] = []
        """All chat requests in order of arrival; await a request before you read it here."""
        self._queues: dict[str, deque[Behaviour]] = {"": deque(behaviours)}
        self._arrivals: dict[int, Signal] = {}
        self._writers: list[asyncio.StreamWriter] = []
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._stop = Signal()
        self._port = 0
        self._thread = threading.Thread(target=self._run, name="fake-openai", daemon=True)

    @property
    def base_url(self) -> str:
        """Base URL for clients, including ``/v1``."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def journal(self) -> list[Json]:
        """Bodies of all chat requests so far."""
        with self._lock:
            return [exchange.body for exchange in self.exchanges]

    def add(self, *behaviours: Behaviour, phrase: str = "") -> None:
        """Queue more answers; with ``phrase``, only for requests whose messages contain it."""
        with self._lock:
            self._queues.setdefault(phrase, deque()).extend(behaviours)

    async def request(self, number: int) -> Exchange:
        """Wait for the request with this number, counted from 1."""
        await self._arrival(number).wait()
        return self.exchanges[number - 1]

    def request_in_thread(self, number: int) -> Exchange:
        """Wait for the request without an event loop; raises TimeoutError after a limit."""
        self._arrival(number).wait_in_thread()
        return self.exchanges[number - 1]

    def start(self) -> Self:
        """Start the thread and return once the port is open."""
        self._thread.start()
        self._ready.wait()
        return self

    def stop(self) -> None:
        """Close every connection and end the thread."""
        self._stop.set()
        self._thread.join()

    __enter__ = start

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.stop)

    def _arrival(self, number: int) -> Signal:
        with self._lock:
            signal = self._arrivals.setdefault(number, Signal())
            if len(self.exchanges) >= number:
                signal.set()
            return signal

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._let_in, "127.0.0.1", 0, limit=1 << 20)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        # Accept waiting connections first: asyncio never closes sockets accepted by a closed server.
        asyncio.get_running_loop().remove_reader(server.sockets[0].fileno())
        while accepting := [task for task in asyncio.all_tasks() if _accepts(task)]:
            await asyncio.wait(accepting)
        server.close()
        handlers = asyncio.all_tasks() - {asyncio.current_task()}
        for task in handlers:
            task.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)
        # A client that no longer reads would keep unsent data waiting.
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.sleep(0)

    def _let_in(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Coroutine[None, None, None]:
        """Record the connection before its task starts, because the task may be cancelled before that."""
        self._writers.append(writer)
        return self._connected(reader, writer)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            exchange = await _read_request(reader, writer)
            if exchange.path in ("/v1/chat/completions", PATH):
                await self._play(exchange, reader)
            elif exchange.path == "/v1/models":
                refused = self.key and exchange.headers.get("authorization") != f"Bearer {self.key}"
                await exchange.answer(401 if refused else 200, {} if refused else self._models(), {})
            else:
                await exchange.answer(404, {"error": {"message": f"no such path: {exchange.path}"}}, {})
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # The client has gone; tests that care wait for ``closed``.
        finally:
            writer.close()

    async def _play(self, exchange: Exchange, reader: asyncio.StreamReader) -> None:
        """Answer until the behaviour has finished or the client disconnects."""
        behaviour = self._enter(exchange)
        playing = asyncio.ensure_future(behaviour.play(exchange))
        hung_up = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({playing, hung_up}, return_when=asyncio.FIRST_COMPLETED)
            if not exchange.finished.is_set() and (hung_up.done() or _connection_lost(playing)):
                exchange.mark_closed()
        finally:
            for task in (playing, hung_up):
                task.cancel()
            await asyncio.gather(playing, hung_up, return_exceptions=True)

    def _enter(self, exchange: Exchange) -> Behaviour:
        """Record the request, notify waiting tests and choose a behaviour."""
        with self._lock:
            behaviour = self._choose(exchange.text())
            self.exchanges.append(exchange)
            arrival = self._arrivals.get(len(self.exchanges))
        if arrival:
            arrival.set()
        return behaviour

    def _choose(self, text: str) -> Behaviour:
        for phrase, queue in self._queues.items():
            if phrase and queue and phrase in text:
                return queue.popleft()
        if self._queues[""]:
            return self._queues[""].popleft()
        return self.fallback or UNEXPECTED

    def _models(self) -> Json:
        window = {} if self.max_model_len is None else {"max_model_len": self.max_model_len}
        entry = {"id": self.model, "object": "model", "created": 0, "owned_by": "tests", **window}
        return {"object": "list", "data": [entry]}


def _accepts(task: "asyncio.Task[Any]") -> bool:
    return getattr(task.get_coro(), "__name__", "") == "_accept_connection2"


def _connection_lost(playing: "asyncio.Future[None]") -> bool:
    """Whether sending failed because the client disconnected. Other errors are bugs in tests: raised."""
    if not playing.done() or playing.cancelled():
        return False
    problem = playing.exception()
    if problem is not None and not isinstance(problem, ConnectionError):
        raise problem
    return problem is not None


async def _read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Exchange:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])
    }
    raw = await reader.readexactly(int(headers.get("content-length", 0)))
    path = head[0].split(" ")[1].partition("?")[0]
    kind = ResponsesExchange if path == PATH else Exchange
    return kind(path, headers, json.loads(raw) if raw else {}, writer)
