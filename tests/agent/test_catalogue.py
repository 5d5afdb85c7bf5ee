"""The list of models to choose from."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pydantic_ai.models import known_model_names

from tests.servers.fake_openai import FakeOpenAI
from tui_app.agent import catalog as catalogue
from tui_app.agent.catalog import ModelChoice, list_models
from tui_app.agent.models import LocalModel
from tui_app.providers import SHORTLIST
from tui_app.settings import Endpoint


@pytest.fixture
def server() -> Iterator[int]:
    """The port of a server that lists two models, or none, to whoever brings the key ``secret``."""

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
    assert available[1:] == [name for name in SHORTLIST if name.startswith("anthropic:")]
    assert [choice.name for choice in choices[: len(available)]] == available
    assert by_name(choices)["openai:gpt-5.4-mini"].why_not == "needs OPENAI_API_KEY"


async def test_windows_and_prices_come_from_the_price_data() -> None:
    choices = by_name(await list_models(env={}, endpoints={}, discover=False, everything=True))
    gpt = choices["openai:gpt-5"]
    assert (gpt.window, gpt.window_source) == (400_000, "model")
    assert gpt.price == "$1.25 in, $10 out"
    assert choices["openai-chat:gpt-5"].window == 400_000
    gemini = choices["google:gemini-2.5-pro"]
    assert (gemini.window, gemini.window_source) == (None, "default")


async def test_everything_holds_every_name_and_the_shortlist_only_real_ones() -> None:
    names = set(by_name(await list_models(env={}, endpoints={}, discover=False, everything=True)))
    assert names == {name for name in known_model_names() if ":" in name} | {"offline:extractive"}
    assert set(SHORTLIST) <= names


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
    # The server of these tests wants another key than the one sent where none is needed.
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

    async def listing(base_url: str, **_: object) -> list[LocalModel]:
        asked.append(base_url)
        return []

    monkeypatch.setattr(catalogue.discovery, "ask_listing", listing)
    env = {"OPENAI_BASE_URL": "https://api.openai.com/v1", "OPENAI_API_KEY": "k"}
    await list_models(env=env, endpoints={}, ports={})
    mine = Endpoint(name="openai-chat", base_url="http://127.0.0.1:9/v1")
    env = {"OPENAI_BASE_URL": f"http://127.0.0.1:{server}/v1"}
    await list_models(env=env, endpoints={"openai-chat": mine}, ports={})
    assert asked == ["http://127.0.0.1:9/v1"]


async def test_nothing_is_asked_when_discovery_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(catalogue.discovery, "ask_listing", never)
    mine = Endpoint(name="mine", base_url="http://127.0.0.1:9/v1")
    env = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    assert await list_models(env=env, endpoints={"mine": mine}, discover=False)


async def test_prices_and_what_a_model_can_do_are_told_as_numbers_and_words() -> None:
    rows = await list_models(env={}, endpoints={}, discover=False, everything=True)
    found = {row.name: row for row in rows}
    gpt, offline = found["openai:gpt-5"], found["offline:extractive"]
    assert (gpt.price_in, gpt.price_out) == (1.25, 10.0)
    assert (gpt.tools, gpt.thinking, gpt.images) == (True, True, True)
    assert (offline.price_in, offline.tools, offline.thinking, offline.images) == (0.0, True, False, False)
    assert found["openai:gpt-3.5-turbo"].images is None
    assert gpt.needs_key == "OPENAI_API_KEY"


async def test_prices_of_ones_own_server_are_listed() -> None:
    with FakeOpenAI() as server:
        own = Endpoint(name="own", base_url=server.base_url, price_in=0.5, price_out=2.0)
        rows = await list_models(env={}, endpoints={"own": own}, ports={})
    (row,) = [row for row in rows if row.name == "own:scripted"]
    assert (row.price, row.price_in, row.price_out) == ("$0.50 in, $2 out", 0.5, 2.0)
