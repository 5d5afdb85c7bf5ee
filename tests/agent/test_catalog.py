"""The list of models, local servers, and the check of API keys."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pydantic_ai
import pytest
from pydantic_ai.models import Model, known_model_names
from pydantic_ai.models.test import TestModel

from tests.servers.fake_openai import FakeOpenAI
from tui_app.agent import model_shelf as shelf_module
from tui_app.agent.catalog import KeyCheck, ModelChoice, check_key, list_models, listing_of, missing_key
from tui_app.agent.model_lists import Listed, NoAnswer, NoListing, ask_listing, discover
from tui_app.agent.model_shelf import ModelShelf
from tui_app.agent.models import ask_window, build_model
from tui_app.agent.network.addresses import ServerAddress, is_loopback, same_server, server_address
from tui_app.context.windows.learnt_models import LearntModels
from tui_app.context.windows.window_limits import Limits
from tui_app.providers import SHORTLIST
from tui_app.settings import Endpoint

# The list of models.


@pytest.fixture
def server() -> Iterator[int]:
    """The port of a server that lists two models, or none, if given the key ``secret``."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.headers.get("Authorization") in (None, "Bearer secret")
            pages = {
                "/v1/models": [{"id": "big", "max_model_len": 64_000}, {"id": "odd"}],
                "/none/v1/models": [],
            }
            body = json.dumps({"data": pages.get(self.path, [])}).encode()
            self.send_response(401 if not known else 200 if self.path in pages else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield int(server.server_address[1])
    server.shutdown()
    server.server_close()
    thread.join()


def by_name(choices: list[ModelChoice]) -> dict[str, ModelChoice]:
    assert len({choice.name for choice in choices}) == len(choices)
    return {choice.name: choice for choice in choices}


async def test_without_key_or_server_offline_is_first_and_the_only_one_available() -> None:
    choices = await list_models(env={}, endpoints={}, discover=False)
    assert choices[0].name == "offline:extractive"
    assert choices[0].window == 32_000
    assert [choice.name for choice in choices if choice.available] == ["offline:extractive"]
    assert all(choice.why_not.startswith("needs ") for choice in choices[1:])


async def test_a_key_makes_its_vendor_available_and_puts_it_first() -> None:
    choices = await list_models(env={"ANTHROPIC_API_KEY": "k"}, endpoints={}, discover=False)
    available = [choice.name for choice in choices if choice.available]
    assert available[0] == "offline:extractive"
    known = known_model_names()
    assert available[1:] == [name for name in SHORTLIST if name.startswith("anthropic:") and name in known]
    assert [choice.name for choice in choices[: len(available)]] == available
    assert by_name(choices)["openai:gpt-6-luna"].why_not == "needs OPENAI_API_KEY"


async def test_windows_and_prices_come_from_the_price_data() -> None:
    choices = by_name(await list_models(env={}, endpoints={}, discover=False, everything=True))
    gpt = choices["openai:gpt-6-luna"]
    assert (gpt.window, gpt.window_source) == (1_050_000, "model")
    assert gpt.price == "$0.10 in, $0.50 out"
    assert choices["openai-chat:gpt-6-luna"].window == 1_050_000
    gemini = choices["google:gemini-3.1-pro-preview"]
    assert (gemini.window, gemini.window_source) == (None, "default")


async def test_everything_holds_every_name_and_the_shortlist_does_not_shrink_with_a_release() -> None:
    names = set(by_name(await list_models(env={}, endpoints={}, discover=False, everything=True)))
    assert names == {name for name in known_model_names() if ":" in name} | {"offline:extractive"}
    offered = set(by_name(await list_models(env={}, endpoints={}, discover=False)))
    assert offered == {*SHORTLIST, "offline:extractive"}


async def test_local_servers_come_before_vendors(server: int) -> None:
    choices = await list_models(env={}, endpoints={}, ports={"vllm": server})
    assert [choice.name for choice in choices[:3]] == ["vllm:big", "vllm:odd", "offline:extractive"]
    big, odd = choices[:2]
    assert (big.window, big.window_source, big.local, big.available) == (64_000, "server", True, True)
    assert (odd.window, odd.window_source) == (None, "default")


async def test_endpoints_list_their_models_with_their_key(server: int) -> None:
    mine = Endpoint(name="mine", base_url=f"http://127.0.0.1:{server}/v1", key_env="MY_KEY", window=9_000)
    choices = await list_models(env={"MY_KEY": "secret"}, endpoints={"mine": mine}, ports={})
    assert [choice.name for choice in choices[:2]] == ["mine:big", "mine:odd"]
    assert (choices[0].window, choices[0].window_source) == (9_000, "setting")
    assert choices[0].available


async def listed(url: str, timeout_s: float = 2.0) -> Listed | None:
    """Return a server's listing; None without an answer or without a listing."""
    try:
        return await ask_listing(server_address(url), timeout_s=timeout_s)
    except (NoAnswer, NoListing):
        return None


@pytest.mark.parametrize(
    ("env", "reason"),
    [({}, "needs MY_KEY"), ({"MY_KEY": "wrong"}, "refuses access (HTTP 401): http://127.0.0.1:")],
)
async def test_an_endpoint_that_cannot_be_used_says_why(
    server: int, env: dict[str, str], reason: str
) -> None:
    mine = Endpoint(name="mine", base_url=f"http://127.0.0.1:{server}/v1", key_env="MY_KEY")
    choice = (await list_models(env=env, endpoints={"mine": mine}, ports={}))[0]
    assert (choice.name, choice.available) == ("mine:", False)
    assert choice.why_not.startswith(reason)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (":9/v1", "does not answer: "),
        ("/elsewhere", "lists no models (HTTP 404): "),
        ("/none/v1", "lists no models: "),
    ],
)
async def test_an_endpoint_without_models_says_what_it_does_instead(
    server: int, path: str, reason: str
) -> None:
    url = f"http://127.0.0.1{path}" if path.startswith(":") else f"http://127.0.0.1:{server}{path}"
    mine = Endpoint(name="mine", base_url=url, key_env="MY_KEY")
    choice = (await list_models(env={"MY_KEY": "secret"}, endpoints={"mine": mine}, ports={}))[0]
    assert (choice.name, choice.available) == ("mine:", False)
    assert choice.why_not.startswith(reason)
    assert choice.why_not.endswith(url)


async def test_the_server_behind_openai_base_url_lists_its_models(server: int) -> None:
    env = {"OPENAI_BASE_URL": f"http://127.0.0.1:{server}/v1/", "OPENAI_API_KEY": "secret"}
    choices = await list_models(env=env, endpoints={}, ports={})
    assert [choice.name for choice in choices[:3]] == [
        "openai-chat:big",
        "openai-chat:odd",
        "offline:extractive",
    ]
    big, odd = choices[:2]
    assert (big.window, big.window_source, big.available, big.local) == (64_000, "server", True, True)
    assert (odd.window, odd.window_source) == (None, "default")


async def test_it_may_want_no_key(server: int) -> None:
    env = {"OPENAI_BASE_URL": f"http://127.0.0.1:{server}/v1"}
    # The server of these tests requires a key other than the placeholder sent when none is needed.
    choice = (await list_models(env=env, endpoints={}, ports={}))[0]
    assert (choice.name, choice.available) == ("openai-chat:", False)
    assert choice.why_not == "refuses access (HTTP 401): set OPENAI_API_KEY"


async def test_an_endpoint_that_wants_a_key_nobody_named_says_where_it_goes(server: int) -> None:
    mine = Endpoint(name="mine", base_url=f"http://127.0.0.1:{server}/v1")
    choice = (await list_models(env={}, endpoints={"mine": mine}, ports={}))[0]
    assert choice.why_not == "refuses access (HTTP 401): name its key in endpoints.mine.key_env"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_server_found_otherwise_is_not_listed_twice(server: int, host: str) -> None:
    env = {"OPENAI_BASE_URL": f"http://{host}:{server}/v1", "OPENAI_API_KEY": "secret"}
    names = set(by_name(await list_models(env=env, endpoints={}, ports={"vllm": server})))
    assert "vllm:big" in names
    assert "openai-chat:big" not in names
    mine = Endpoint(name="mine", base_url=f"http://127.0.0.1:{server}")
    names = set(by_name(await list_models(env=env, endpoints={"mine": mine}, ports={})))
    assert not any(name.startswith("openai-chat:") for name in names)


async def test_openai_itself_and_an_endpoint_of_that_name_are_not_asked(
    server: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def listing(address: ServerAddress, **_: object) -> Listed:
        asked.append(address.url)
        return {}

    monkeypatch.setattr("tui_app.agent.models.ask_listing", listing)
    env = {"OPENAI_BASE_URL": "https://api.openai.com/v1", "OPENAI_API_KEY": "k"}
    await list_models(env=env, endpoints={}, ports={})
    mine = Endpoint(name="openai-chat", base_url="http://127.0.0.1:9/v1")
    env = {"OPENAI_BASE_URL": f"http://127.0.0.1:{server}/v1"}
    await list_models(env=env, endpoints={"openai-chat": mine}, ports={})
    assert asked == ["http://127.0.0.1:9/v1"]


async def test_nothing_is_asked_when_discovery_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("tui_app.agent.models.ask_listing", never)
    mine = Endpoint(name="mine", base_url="http://127.0.0.1:9/v1")
    env = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    assert await list_models(env=env, endpoints={"mine": mine}, discover=False)


async def test_prices_and_what_a_model_can_do_are_told_as_numbers_and_words() -> None:
    rows = await list_models(env={}, endpoints={}, discover=False, everything=True)
    found = {row.name: row for row in rows}
    gpt, offline = found["openai:gpt-6-luna"], found["offline:extractive"]
    assert (gpt.price_in, gpt.price_out) == (0.1, 0.5)
    assert (gpt.tools, gpt.thinking, gpt.images) == (True, True, True)
    assert (offline.price_in, offline.tools, offline.thinking, offline.images) == (0.0, True, False, False)
    assert found["deepseek:deepseek-flash"].images is None
    assert gpt.needs_key == "OPENAI_API_KEY"


async def test_prices_of_ones_own_server_are_listed() -> None:
    with FakeOpenAI() as server:
        own = Endpoint(name="own", base_url=server.base_url, price_in=0.5, price_out=2.0)
        rows = await list_models(env={}, endpoints={"own": own}, ports={})
    (row,) = [row for row in rows if row.name == "own:scripted"]
    assert (row.price, row.price_in, row.price_out) == ("$0.50 in, $2 out", 0.5, 2.0)


# Asking local servers, tested against real ones on free ports.


Routes = dict[str, Any]
Serve = Callable[[Routes], "Server"]


class Server:
    """Answers GET by path with JSON, raw bytes, or 404, and records the requests."""

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
    assert await listed(serve(routes).url) == {"m": window}


async def test_an_address_without_version_is_asked_under_v1(serve: Serve) -> None:
    server = serve({"/v1/models": {"data": [{"id": "m", "max_model_len": 9}]}})
    assert await listed(server.url.removesuffix("/v1")) == {"m": 9}


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
    assert not await listed(server.url)


async def test_an_endless_answer_is_not_read_to_its_end(serve: Serve) -> None:
    server = serve({"/v1/models": b" " * (9 * 1024 * 1024) + b"[]"})
    assert await listed(server.url, timeout_s=10) is None


async def test_discovery_finds_who_answers_and_leaves_out_the_rest(
    serve: Serve, silent_port: int, closed_port: int
) -> None:
    up = serve({"/v1/models": {"data": [{"id": "qwen3", "max_model_len": 4096}, {"id": "phi"}]}})
    other = serve({"/": b"hello"})
    ports = {"lmstudio": up.port, "ollama": silent_port, "vllm": closed_port, "llamacpp": other.port}
    found = await asyncio.wait_for(discover(3.0, ports=ports), 20)
    assert [(server.name, server.base_url) for server in found] == [("lmstudio", up.url)]
    assert found[0].models == {"qwen3": 4096, "phi": None}


async def test_no_proxy_is_used_for_this_machine(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = serve({})
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    server = serve({"/v1/models": {"data": [{"id": "m"}]}})
    assert await discover(2.0, ports={"vllm": server.port})
    assert proxy.asked == []


@pytest.mark.parametrize("url", ["", "nonsense", "http://", "ftp://127.0.0.1/x", "http://\0/"])
async def test_a_bad_address_is_no_listing(url: str) -> None:
    assert await listed(url, timeout_s=0.5) is None


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
        await ask_listing(server_address("http://127.0.0.1:9"))
    assert await listed("http://127.0.0.1:9") is None


# The shelf asks a server for its window until it has answered, and never again.


NAME = "mine:tiny"
DEAD = "http://127.0.0.1:9/v1"


@pytest.fixture
def shelf(tmp_path_factory: pytest.TempPathFactory) -> ModelShelf:
    endpoints = {"mine": Endpoint(name="mine", protocol="openai-chat", base_url=DEAD)}
    return ModelShelf({}, endpoints, Limits(LearntModels(tmp_path_factory.mktemp("learnt") / "models.json")))


async def test_a_model_made_elsewhere_is_no_reason_for_the_library_to_speak(
    monkeypatch: pytest.MonkeyPatch, shelf: ModelShelf
) -> None:
    monkeypatch.setattr(pydantic_ai, "BANNER_ENABLED", True)
    shelf.ready = {"demo:scripted": TestModel()}
    await shelf.get("demo:scripted")
    assert not pydantic_ai.BANNER_ENABLED


def answering(
    monkeypatch: pytest.MonkeyPatch, shelf: ModelShelf, answers: list[int | Exception | None]
) -> None:
    async def ask(_model: Model, *_: object) -> int | None:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(shelf_module, "ask_window", ask)


async def test_server_that_was_down_is_asked_again(
    shelf: ModelShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[int | Exception | None] = [NoAnswer(), NoAnswer(), 2048]
    answering(monkeypatch, shelf, answers)
    for left in (2, 1, 0, 0):
        model = await shelf.get(NAME)
        assert len(answers) == left
    assert shelf.built(NAME) is model
    assert shelf.limits.window(model).limit == 2048


async def test_server_that_does_not_say_is_asked_once(
    shelf: ModelShelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[int | Exception | None] = [None]
    answering(monkeypatch, shelf, answers)
    for _ in range(2):
        assert await shelf.get(NAME)
    assert answers == []


async def test_nobody_there_is_no_answer(shelf: ModelShelf) -> None:
    model = build_model(NAME, env={}, endpoints=shelf.endpoints)
    with pytest.raises(NoAnswer):
        await ask_window(model)


# Checking a key costs one request, and reports only whether it is accepted.


@pytest.fixture
def key_check_server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        server.key = "right"
        yield server


def endpoints(url: str) -> dict[str, Endpoint]:
    return {"dinghy": Endpoint(name="dinghy", base_url=url, key_env="DINGHY_KEY")}


@pytest.mark.parametrize(
    ("key", "verdict"), [("right", "accepted"), ("wrong", "refused"), ("ключ", "refused")]
)
async def test_the_listing_decides(key_check_server: FakeOpenAI, key: str, verdict: str) -> None:
    check = await check_key(
        listing_of("DINGHY_KEY", "dinghy:scripted", endpoints(key_check_server.base_url)), key
    )
    assert check.verdict == verdict
    assert key not in check.reason
    assert key_check_server.journal == []


async def test_nobody_there_and_nothing_to_ask_are_no_refusals() -> None:
    away = await check_key("http://127.0.0.1:9/v1/models", "any")
    assert away == KeyCheck("unknown", "the provider did not answer")
    assert (await check_key("", "any")).verdict == "unknown"


async def test_another_status_is_no_refusal(key_check_server: FakeOpenAI) -> None:
    url = key_check_server.base_url.replace("/v1", "/elsewhere")
    assert await check_key(url, "any") == KeyCheck("unknown", "the provider answered HTTP 404")


@pytest.mark.parametrize(
    ("model", "env", "missing"),
    [
        ("openai:gpt-5", {}, "OPENAI_API_KEY"),
        ("openai:gpt-5", {"OPENAI_API_KEY": "k"}, ""),
        ("openai:gpt-5", {"OPENAI_BASE_URL": "http://127.0.0.1:1"}, ""),
        ("google:gemini", {"GEMINI_API_KEY": "k"}, ""),
        ("google:gemini", {}, "GOOGLE_API_KEY"),
        ("offline:extractive", {}, ""),
        ("nobody:nothing", {}, ""),
        ("dinghy:scripted", {}, "DINGHY_KEY"),
        ("dinghy:", {"DINGHY_KEY": "k"}, ""),
    ],
)
def test_what_is_missing(model: str, env: dict[str, str], missing: str) -> None:
    assert missing_key(model, env, endpoints("http://127.0.0.1:1/v1")) == missing
