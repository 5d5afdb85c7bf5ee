"""From names to models with the right server, key and window; wrong names get a helpful message."""

import gc
import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage

from tests.fake_keyring import FakeKeyring
from tests.servers.scripted_gguf import cached_gguf
from tui_app.agent import models as gguf
from tui_app.agent.model_lists import NoAnswer
from tui_app.agent.models import (
    ModelNotReady,
    UnknownModel,
    ask_window,
    build_model,
    closest,
    vendor_provider,
)
from tui_app.agent.offline.model import OfflineModel
from tui_app.api_keys import ApiKeys
from tui_app.context.counting.prices import answer_cost
from tui_app.extras import install_command
from tui_app.paths import Paths
from tui_app.settings import Endpoint

KEYS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OLLAMA_BASE_URL")


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*KEYS, "VLLM_BASE_URL", "GOOGLE_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)


class Server:
    """Lists one model, refuses everything else with 500, and records the requests."""

    def __init__(self) -> None:
        asked = self.asked = list[tuple[str, str, dict[str, str]]]()
        self.item: dict[str, Any] = {"id": "tiny", "meta": {"n_ctx": 2048}}
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._note()
                known = self.path == "/v1/models"
                self._send(200 if known else 404, {"object": "list", "data": [owner.item]})

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self._note()
                self._send(500, {"error": {"message": "broken", "type": "server_error"}})

            def _note(self) -> None:
                headers = {key.lower(): value for key, value in self.headers.items()}
                asked.append((self.command, self.path, headers))

            def _send(self, status: int, value: object) -> None:
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def endpoint(protocol: str, base_url: str, **more: Any) -> dict[str, Endpoint]:
    return {"mine": Endpoint(name="mine", protocol=protocol, base_url=base_url, **more)}


def address(model: Model[Any]) -> str:
    assert model.provider is not None
    return model.provider.base_url.rstrip("/")


@pytest.mark.usefixtures("no_keys")
def test_the_offline_model_needs_nothing() -> None:
    model = build_model("offline:extractive", env={})
    assert isinstance(model, OfflineModel)
    assert (model.model_id, model.context_window) == ("offline:extractive", 32_000)


@pytest.mark.usefixtures("no_keys")
def test_pydantic_ai_names_are_taken_as_they_are() -> None:
    assert isinstance(build_model("test", env={}), TestModel)
    model = build_model("openai:gpt-5", env={"OPENAI_API_KEY": "k"})
    assert (type(model).__name__, model.model_name) == ("OpenAIResponsesModel", "gpt-5")
    assert model.context_window == 400_000
    chat = build_model("openai-chat:gpt-5", env={"OPENAI_API_KEY": "k"})
    assert type(chat).__name__ == "OpenAIChatModel"
    claude = build_model("anthropic:claude-sonnet-4-5", env={"ANTHROPIC_API_KEY": "k"})
    assert (type(claude).__name__, claude.context_window) == ("AnthropicModel", 200_000)


@pytest.mark.usefixtures("no_keys")
def test_base_urls_of_the_environment_are_honoured_and_need_no_key() -> None:
    env = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "ANTHROPIC_BASE_URL": "http://127.0.0.1:8"}
    assert address(build_model("openai:gpt-5", env=env)) == "http://127.0.0.1:9/v1"
    assert address(build_model("openai-chat:local", env=env)) == "http://127.0.0.1:9/v1"
    assert address(build_model("anthropic:claude-sonnet-5", env=env)) == "http://127.0.0.1:8"


@pytest.mark.usefixtures("no_keys")
def test_the_process_environment_does_not_leak_into_a_given_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    model = build_model("openai:gpt-5", env={"OPENAI_API_KEY": "k"})
    assert address(model) == "https://api.openai.com/v1"


@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize(
    ("protocol", "kind"),
    [
        ("openai-chat", "OpenAIChatModel"),
        ("openai", "OpenAIResponsesModel"),
        ("openai-responses", "OpenAIResponsesModel"),
        ("anthropic", "AnthropicModel"),
        ("google", "GoogleModel"),
    ],
)
def test_an_endpoint_speaks_its_protocol_at_its_address(protocol: str, kind: str) -> None:
    endpoints = endpoint(protocol, "http://127.0.0.1:9/v1", window=5_000)
    model = build_model("mine:org/model:tag", env={}, endpoints=endpoints)
    assert (type(model).__name__, model.model_name) == (kind, "org/model:tag")
    assert address(model).startswith("http://127.0.0.1:9")
    assert model.context_window == 5_000


@pytest.mark.usefixtures("no_keys")
def test_an_endpoint_without_its_key_says_which_variable_it_wants() -> None:
    endpoints = endpoint("openai-chat", "http://127.0.0.1:9/v1", key_env="MY_KEY")
    with pytest.raises(ModelNotReady, match="MY_KEY"):
        build_model("mine:m", env={}, endpoints=endpoints)
    assert build_model("mine:m", env={"MY_KEY": "secret"}, endpoints=endpoints).model_name == "m"


ODD_KEYS = {
    "sk-b\u00e9ta": "character 5 is \u00e9 (U+00E9), and keys are plain ASCII",
    "\u201csk-1\u201d": "character 1 is \u201c (U+201C), and keys are plain ASCII",
    "sk-\u200b1": "character 4 is U+200B, and keys are plain ASCII",
    "sk-\udce9": "character 4 is U+DCE9, and keys are plain ASCII",
    "sk-\x1b": "character 4 is U+001B, and keys are plain ASCII",
    "sk-1\n": "it begins or ends with a space or a line break",
    " sk-1": "it begins or ends with a space or a line break",
}


@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize("key", ODD_KEYS)
def test_a_key_that_cannot_be_sent_is_told_with_where_it_comes_from(tmp_path: Path, key: str) -> None:
    names = {
        "openai:gpt-5": "OPENAI_API_KEY",
        "openai-responses:gpt-5": "OPENAI_API_KEY",
        "anthropic:claude-sonnet-5": "ANTHROPIC_API_KEY",
        "google:gemini-3-pro": "GEMINI_API_KEY",
        "openrouter:a/b": "OPENROUTER_API_KEY",
        "deepseek:deepseek-chat": "DEEPSEEK_API_KEY",
        "azure:gpt-5": "AZURE_OPENAI_API_KEY",
        "litellm:any": "LITELLM_API_KEY",
        "gateway/openai:gpt-5": "PYDANTIC_AI_GATEWAY_API_KEY",
        "mine:m": "MY_KEY",
    }
    endpoints = endpoint("openai-chat", "http://127.0.0.1:9/v1", key_env="MY_KEY")
    for name, variable in names.items():
        with pytest.raises(ModelNotReady) as raised:
            build_model(name, env={variable: key}, endpoints=endpoints)
        assert str(raised.value) == (
            f"The API key {variable} (from the environment) cannot be sent: {ODD_KEYS[key]}. "
            f"Copy it again from the provider, then set {variable} and start again."
        )
        assert key.strip() not in str(raised.value)
    keys = ApiKeys({}, Paths.from_env({"PLIMSOLL_HOME": str(tmp_path)}), FakeKeyring())
    keys.store("OPENAI_API_KEY", key)
    with pytest.raises(
        ModelNotReady, match=r"from the keyring.*keep it with `plimsoll keys set OPENAI_API_KEY`"
    ):
        build_model("openai:gpt-5", env=keys)
    keys.erase("OPENAI_API_KEY")
    keys.use_temporarily("OPENAI_API_KEY", key)
    with pytest.raises(ModelNotReady, match=r"from this run.*then enter it again"):
        build_model("openai:gpt-5", env=keys)


@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize(
    ("name", "port"),
    [("ollama:qwen3", 11434), ("lmstudio:phi", 1234), ("llamacpp:x", 8080), ("vllm:y", 8000)],
)
def test_local_servers_are_reached_on_their_usual_ports(name: str, port: int) -> None:
    model = build_model(name, env={})
    assert address(model) == f"http://127.0.0.1:{port}/v1"
    assert model.context_window is None
    answer = ModelResponse([], usage=RequestUsage(input_tokens=9, output_tokens=9), model_name="own")
    assert answer_cost(answer, model) == 0.0


@pytest.mark.usefixtures("no_keys")
def test_ollama_elsewhere_is_pydantic_ais_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://127.0.0.1:7/v1")
    model = build_model("ollama:qwen3", env={"OLLAMA_BASE_URL": "http://127.0.0.1:7/v1"})
    assert (type(model).__name__, address(model)) == ("OllamaModel", "http://127.0.0.1:7/v1")


@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("gpt-5.2", "openai:gpt-5.2"),
        ("openia:gpt-5", "openai:gpt-5"),
        ("offline", "offline:extractive"),
        ("offline:extractiv", "offline:extractive"),
        ("nonsense:zzzzzz", "plimsoll models"),
        ("", "plimsoll models"),
        ("openai:", "openai"),
    ],
)
def test_a_wrong_name_gets_one_sentence_and_close_names(name: str, hint: str) -> None:
    with pytest.raises(UnknownModel) as caught:
        build_model(name, env={"OPENAI_API_KEY": "k"})
    assert not isinstance(caught.value, ModelNotReady)
    assert hint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize(
    ("name", "lacking"),
    [
        ("openai:gpt-5", "OPENAI_API_KEY"),
        ("anthropic:claude-sonnet-5", "ANTHROPIC_API_KEY"),
        ("google:gemini-2.5-pro", "GOOGLE_API_KEY or GEMINI_API_KEY"),
        ("openrouter:some/model", "OPENROUTER_API_KEY"),
    ],
)
def test_a_missing_key_is_named(name: str, lacking: str) -> None:
    with pytest.raises(ModelNotReady, match=f"^{name} needs {lacking}\\.$"):
        build_model(name, env={})


@pytest.mark.usefixtures("no_keys")
def test_close_names_know_the_endpoints() -> None:
    assert "workstation:" in closest(
        "workstatoin:",
        endpoint("openai-chat", "x") | {"workstation": Endpoint(name="workstation", base_url="x")},
    )


@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize("protocol", ["openai-chat", "openai", "anthropic"])
async def test_a_failed_request_is_sent_once(server: Server, protocol: str) -> None:
    base = server.root if protocol == "anthropic" else f"{server.root}/v1"
    model = build_model("mine:tiny", env={}, endpoints=endpoint(protocol, base))
    with pytest.raises(ModelHTTPError):
        await Agent(model).run("hello")
    assert [method for method, _, _ in server.asked] == ["POST"]


@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize("protocol", ["openai-chat", "openai", "anthropic"])
async def test_the_server_is_asked_for_its_window(server: Server, protocol: str) -> None:
    base = server.root if protocol == "anthropic" else f"{server.root}/v1"
    endpoints = endpoint(protocol, base, key_env="MY_KEY")
    model = build_model("mine:tiny", env={"MY_KEY": "secret"}, endpoints=endpoints)
    assert await ask_window(model) == 2048
    assert server.asked[0][2]["authorization"] == "Bearer secret"


@pytest.mark.usefixtures("no_keys")
async def test_a_server_of_one_model_is_believed_under_any_name(server: Server) -> None:
    model = build_model("mine:whatever", env={}, endpoints=endpoint("openai-chat", f"{server.root}/v1"))
    assert await ask_window(model) == 2048


@pytest.mark.usefixtures("no_keys")
async def test_a_server_that_does_not_say_is_unknown(server: Server) -> None:
    server.item = {"id": "tiny"}
    model = build_model("mine:tiny", env={}, endpoints=endpoint("openai-chat", f"{server.root}/v1"))
    assert await ask_window(model) is None


@pytest.mark.usefixtures("no_keys")
async def test_vendors_and_models_without_a_server_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("tui_app.agent.models.ask_listing", never)
    env = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    for name in ("openai:gpt-5", "anthropic:claude-sonnet-5", "offline:extractive", "test"):
        assert await ask_window(build_model(name, env=env)) is None


@pytest.mark.usefixtures("no_keys")
async def test_a_dead_server_is_no_error() -> None:
    model = build_model("mine:tiny", env={}, endpoints=endpoint("openai-chat", "http://127.0.0.1:9/v1"))
    with pytest.raises(NoAnswer):
        await ask_window(model)


@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize(
    ("prefix", "name"),
    [
        ("together", "TOGETHER_API_KEY"),
        ("fireworks", "FIREWORKS_API_KEY"),
        ("alibaba", "ALIBABA_API_KEY"),
        ("alibaba", "DASHSCOPE_API_KEY"),
        ("vercel", "VERCEL_AI_GATEWAY_API_KEY"),
        ("sambanova", "SAMBANOVA_API_KEY"),
        ("nebius", "NEBIUS_API_KEY"),
        ("ovhcloud", "OVHCLOUD_API_KEY"),
        ("gateway/openai", "PYDANTIC_AI_GATEWAY_API_KEY"),
        ("gateway/anthropic", "PAIG_API_KEY"),
    ],
)
async def test_a_key_that_stands_in_the_keyring_reaches_its_provider(prefix: str, name: str) -> None:
    """The key is not in the process environment; it is only passed to the provider."""
    key = "pylf_v1_us_from_the_keyring"
    provider = vendor_provider(prefix, {name: key})
    async with provider:
        client = provider.client
        # The gateway expects it as a token, whatever the protocol.
        assert key in (client.api_key, getattr(client, "auth_token", None))


@pytest.mark.usefixtures("no_keys")
@pytest.mark.parametrize(
    ("typed", "first"), [("gpt-5", "openai:gpt-5"), ("claude-sonnet-4-5", "anthropic:claude-sonnet-4-5")]
)
def test_whoever_makes_a_model_is_proposed_before_a_gateway_to_it(typed: str, first: str) -> None:
    assert closest(typed)[0] == first


# A model file in this process: it answers, reports its window, and leaves nothing behind.


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cached_gguf({"tide": ["Low tide is at four."]}, tmp_path_factory.mktemp("gguf"))


async def test_it_answers_and_says_how_large_its_window_is(file: Path) -> None:
    model = build_model(f"gguf:{file}", env={})
    result = await Agent(model).run("tide")
    assert result.output.strip() == "Low tide is at four."
    assert (await ask_window(model) or 0) > 1_000
    assert isinstance(model, OpenAIChatModel)
    await model.client.close()


async def test_the_port_is_closed_to_others_and_gone_with_the_model(file: Path) -> None:
    model = build_model(f"gguf:{file}", env={})
    address = urlsplit(str(model.base_url))
    assert address.hostname == "127.0.0.1"
    with socket.create_connection((address.hostname, address.port or 0), timeout=5) as stranger:
        stranger.sendall(b"POST /v1/chat/completions HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}")
        assert b" 401 " in stranger.recv(100)
    del model
    gc.collect()
    with (
        pytest.raises(ConnectionRefusedError),
        socket.create_connection((address.hostname, address.port or 0), timeout=5),
    ):
        pass


@pytest.mark.parametrize(
    ("content", "said"), [(None, "cannot be read"), (b"hello", "is not a GGUF model file")]
)
def test_why_a_file_cannot_be_used(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UnknownModel, match=said):
        build_model(f"gguf:{path}", env={})


def test_a_damaged_file_is_told_as_one(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "half.gguf"
    path.write_bytes(file.read_bytes()[:5_000])
    with pytest.raises(UnknownModel, match="damaged"):
        build_model(f"gguf:{path}", env={})


def test_without_the_package_it_says_what_to_install(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf, "find_spec", lambda _name: None)
    with pytest.raises(ModelNotReady, match=re.escape(install_command("local"))):
        build_model(f"gguf:{file}", env={})


def test_the_sdk_comes_without_a_second_http_client() -> None:
    code = (
        "import sys\n"
        "from tui_app.agent.models import vendor_provider\n"
        "vendor_provider('openai', {'OPENAI_API_KEY': 'x'})\n"
        "print('openai' in sys.modules, 'aiohttp' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "False"]
