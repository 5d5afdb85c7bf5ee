"""Asking servers on this machine, against real ones on a port of the system's choosing."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tui_app.agent.models import (
    LocalModel,
    NoAnswer,
    ask_listing,
    discover,
    is_loopback,
    listing,
    same_server,
)

Routes = dict[str, Any]
Serve = Callable[[Routes], "Server"]


class Server:
    """Answers GET by path: JSON values, raw bytes, or 404; keeps what it was asked."""

    def __init__(self, routes: Routes) -> None:
        asked = self.asked = list[tuple[str, dict[str, str]]]()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append((self.path, {key.lower(): value for key, value in self.headers.items()}))
                answer = routes.get(self.path)
                body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(404 if answer is None else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = int(self._server.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[Server] = []

    def start(routes: Routes) -> Server:
        servers.append(Server(routes))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that accepts connections and never answers."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        yield int(listener.getsockname()[1])


@pytest.fixture
def closed_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return int(listener.getsockname()[1])


@pytest.mark.parametrize(
    ("routes", "window"),
    [
        ({"/v1/models": {"data": [{"id": "m", "max_model_len": 8192}]}}, 8192),
        ({"/v1/models": {"data": [{"id": "m", "meta": {"n_ctx": 4096, "n_ctx_train": 131072}}]}}, 4096),
        ({"/v1/models": {"data": [{"id": "m", "context_length": 200_000}]}}, 200_000),
        ({"/v1/models": {"data": [{"id": "m"}]}}, None),
        ({"/v1/models": {"data": [{"id": "m", "max_model_len": "8192", "meta": None}]}}, None),
        ({"/v1/models": {"data": [{"id": "m", "meta": {"n_ctx_train": 32768}}]}}, 32768),
        (
            {
                "/v1/models": {"data": [{"id": "m", "meta": {"n_ctx_train": 32768}}]},
                "/props": {"default_generation_settings": {"n_ctx": 2048}},
            },
            2048,
        ),
        (
            {
                "/v1/models": {"data": [{"id": "m", "object": "model"}]},
                "/api/v0/models": {
                    "data": [{"id": "m", "loaded_context_length": 5000, "max_context_length": 131072}]
                },
            },
            5000,
        ),
        (
            {
                "/v1/models": {"data": [{"id": "m", "owned_by": "library"}]},
                "/api/ps": {"models": [{"name": "m", "context_length": 4096}]},
            },
            4096,
        ),
    ],
)
async def test_the_window_is_the_one_the_server_runs_with(
    serve: Serve, routes: Routes, window: int | None
) -> None:
    assert await listing(serve(routes).url) == [LocalModel("m", window)]


async def test_an_address_without_version_is_asked_under_v1(serve: Serve) -> None:
    server = serve({"/v1/models": {"data": [{"id": "m", "max_model_len": 9}]}})
    assert await listing(server.url.removesuffix("/v1")) == [LocalModel("m", 9)]


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"",
        b"[" * 100_000,
        b'{"data": 3}',
        b'{"data": [1, null, "x"]}',
        b"null",
        b'"x"',
        b"\xff\xfe",
    ],
)
async def test_any_other_answer_is_no_listing(serve: Serve, body: bytes) -> None:
    server = serve({"/v1/models": body})
    assert not await listing(server.url)


async def test_an_endless_answer_is_not_read_to_its_end(serve: Serve) -> None:
    server = serve({"/v1/models": b" " * (9 * 1024 * 1024) + b"[]"})
    assert await listing(server.url, timeout_s=10) is None


async def test_discovery_finds_who_answers_and_leaves_out_the_rest(
    serve: Serve, silent_port: int, closed_port: int
) -> None:
    up = serve({"/v1/models": {"data": [{"id": "qwen3", "max_model_len": 4096}, {"id": "phi"}]}})
    other = serve({"/": b"hello"})
    ports = {"lmstudio": up.port, "ollama": silent_port, "vllm": closed_port, "llamacpp": other.port}
    found = await asyncio.wait_for(discover(3.0, ports=ports), 20)
    assert [(server.name, server.base_url) for server in found] == [("lmstudio", up.url)]
    assert found[0].models == (LocalModel("qwen3", 4096), LocalModel("phi", None))


async def test_no_proxy_is_used_for_this_machine(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = serve({})
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    server = serve({"/v1/models": {"data": [{"id": "m"}]}})
    assert await discover(2.0, ports={"vllm": server.port})
    assert proxy.asked == []


@pytest.mark.parametrize("url", ["", "nonsense", "http://", "http://[::1", "ftp://127.0.0.1/x", "http://\0/"])
async def test_a_bad_address_is_no_listing(url: str) -> None:
    assert await listing(url, timeout_s=0.5) is None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8000/v1", True),
        ("http://localhost:1234", True),
        ("http://[::1]:11434/v1", True),
        ("http://192.168.1.5:8000/v1", False),
        ("https://localhost.example.com", False),
        ("", False),
        ("http://[half", False),
    ],
)
def test_loopback(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("http://localhost:8000", True),
        ("http://[::1]:8000/v1/", True),
        ("http://127.0.0.1:8001/v1", False),
        ("http://127.0.0.1:8000/other/v1", False),
        ("http://192.168.1.5:8000/v1", False),
        ("http://[half", False),
        ("http://127.0.0.1:port", False),
    ],
)
def test_same_server(other: str, expected: bool) -> None:
    assert same_server("http://127.0.0.1:8000/v1", other) is expected


def test_a_port_need_not_be_spelled_out() -> None:
    assert same_server("https://api.openai.com/v1", "https://api.openai.com:443/v1/")


async def test_who_is_not_there_did_not_answer() -> None:
    with pytest.raises(NoAnswer):
        await ask_listing("http://127.0.0.1:9")
    assert await listing("http://127.0.0.1:9") is None
