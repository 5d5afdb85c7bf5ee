"""pydantic-ai's private parts are as the one file that uses them expects."""

import re
from pathlib import Path

import httpx2
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.openai import OpenAIProvider

from tui_app.wires.library import new_messages_from, own_client

ROOT = Path(__file__).parents[2]
HOME = ROOT / "tui_app" / "wires" / "library.py"
PRIVATE = re.compile(
    r"from pydantic_ai[\w.]* import [^\n]*\b_|pydantic_ai\._|\b_(own_http_client|http_client_factory)\b"
)


def test_no_other_file_names_what_is_private() -> None:
    files = [path for path in (ROOT / "tui_app").rglob("*.py") if path != HOME]
    assert [path.name for path in files if PRIVATE.search(path.read_text("utf-8"))] == []
    assert PRIVATE.search(HOME.read_text("utf-8"))


async def test_each_client_of_a_provider_is_changed_but_none_of_somebody_else() -> None:
    seen: list[httpx2.AsyncClient] = []

    def noted(client: httpx2.AsyncClient) -> httpx2.AsyncClient:
        seen.append(client)
        return client

    provider = OpenAIProvider(base_url="http://127.0.0.1:1/v1", api_key="x")
    own_client(provider, noted)
    assert len(seen) == 1
    async with provider:
        pass
    async with provider:
        pass
    assert len(set(map(id, seen))) >= 2, "a closed client is replaced by one that is changed as well"
    async with httpx2.AsyncClient() as given:
        own_client(OpenAIProvider(base_url="http://127.0.0.1:1/v1", api_key="x", http_client=given), noted)
    assert given not in seen


async def test_a_run_says_where_its_messages_begin() -> None:
    result = await Agent(TestModel()).run("Look.")
    new_messages_from(result, 1)
    assert result.new_messages() == result.all_messages()[1:]
