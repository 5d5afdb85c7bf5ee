"""Trying a key costs one request and says no more than whether it is taken."""

from collections.abc import Iterator

import pytest

from tests.servers.fake_openai import FakeOpenAI
from tui_app.agent.catalog import KeyCheck, check_key, listing_of, missing_key
from tui_app.settings import Endpoint


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        server.key = "right"
        yield server


def endpoints(url: str) -> dict[str, Endpoint]:
    return {"dinghy": Endpoint(name="dinghy", base_url=url, key_env="DINGHY_KEY")}


@pytest.mark.parametrize(
    ("key", "verdict"), [("right", "accepted"), ("wrong", "refused"), ("ключ", "refused")]
)
async def test_the_listing_decides(server: FakeOpenAI, key: str, verdict: str) -> None:
    check = await check_key(listing_of("DINGHY_KEY", "dinghy:scripted", endpoints(server.base_url)), key)
    assert check.verdict == verdict
    assert key not in check.reason
    assert server.journal == []


async def test_nobody_there_and_nothing_to_ask_are_no_refusals() -> None:
    away = await check_key("http://127.0.0.1:9/v1/models", "any", timeout_s=2)
    assert away == KeyCheck("unknown", "the provider did not answer")
    assert (await check_key("", "any")).verdict == "unknown"


async def test_another_status_is_no_refusal(server: FakeOpenAI) -> None:
    url = server.base_url.replace("/v1", "/elsewhere")
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
