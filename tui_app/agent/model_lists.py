"""Listings of model servers: their models, with the window of each.

Servers name the window differently: vLLM ``max_model_len``, llama.cpp ``meta.n_ctx``, OpenRouter
``context_length``, Groq ``context_window``. LM Studio and Ollama have it only in their own APIs.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx2

from tui_app.agent.network.addresses import ServerAddress, VersionFinder, is_loopback, server_address
from tui_app.agent.network.network import NoRoute, http_client, is_untrusted
from tui_app.providers import ANTHROPIC, GOOGLE, LOCAL_PORTS, OPENAI_CHAT
from tui_app.records import frozen

_MAX_BYTES = 8 * 1024 * 1024
_MAX_PAGES = 100
_WINDOW_KEYS = (
    "max_model_len",
    "loaded_context_length",
    "context_length",
    "context_window",
    "inputTokenLimit",
    "n_ctx",
)
_CEILING_KEYS = ("max_context_length", "n_ctx_train")


class NoAnswer(Exception):
    """An address does not answer now, but may later. The text is the address."""


class NoListing(Exception):
    """A server answers, but lists no models. The text tells what it does instead, for the user."""


class AccessRefused(NoListing):
    """The server requires a key, or another one."""


Listed = Mapping[str, int | None]
"""The window of each listed model in tokens.

As loaded by the server, else the model's maximum; None if unknown.
"""


@frozen
class LocalServer:
    """A server that answered on this machine."""

    name: str
    """``ollama``, ``lmstudio``, ``llamacpp`` or ``vllm``, by its port; all speak OpenAI's chat protocol."""
    base_url: str
    models: Listed


def local_base_url(port: int) -> str:
    """The OpenAI-compatible address of a server on this machine."""
    return f"http://127.0.0.1:{port}/v1"


async def discover(timeout_s: float = 0.7, *, ports: Mapping[str, int] = LOCAL_PORTS) -> list[LocalServer]:
    """Ask the usual loopback ports for models, all at once. Never raises; a silent port is left out.

    Args:
        timeout_s: Seconds after which a port counts as silent.
        ports: Port by server name.
    """

    async def asked(name: str, url: str) -> LocalServer | None:
        try:
            return LocalServer(name, url, await ask_listing(server_address(url), timeout_s=timeout_s))
        except (NoAnswer, NoListing):
            return None

    found = await asyncio.gather(*(asked(name, local_base_url(port)) for name, port in ports.items()))
    return [server for server in found if server is not None]


async def ask_listing(
    address: ServerAddress,
    *,
    protocol: str = OPENAI_CHAT,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = 2.0,
) -> Listed:
    """Ask a server for its models and their windows.

    Args:
        address: The server.
        protocol: Its protocol.
        headers: Headers with the key, if there is one.
        timeout_s: Seconds for everything together.

    Raises:
        NoAnswer: if there was no answer.
        NoListing: if the answer is no listing of models.
    """
    try:
        async with (
            asyncio.timeout(timeout_s),
            http_client(headers=headers, timeout=timeout_s, auth=VersionFinder(address)) as client,
        ):
            items = await _all_pages(client, f"{address.url}/models", protocol)
            if not items:
                raise NoListing("lists no models")
            real = {_id(item): _number(item, _WINDOW_KEYS) for item in items}
            if None in real.values() and is_loopback(address.root):
                real |= await _native_windows(client, address.root, real)
    except NoRoute as error:
        raise NoListing(str(error).rstrip(".")) from error
    except (httpx2.TransportError, OSError, TimeoutError) as error:
        if is_untrusted(error):
            raise NoListing("has a certificate that is not trusted here") from error
        raise NoAnswer(address.url) from error
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        raise NoListing("cannot list its models") from error
    ceilings = {_id(item): _number(item, _CEILING_KEYS) for item in items}
    return {name: window or ceilings[name] for name, window in real.items() if name}


def key_headers(key: str, protocol: str = OPENAI_CHAT) -> dict[str, str]:
    """Headers for a key. Google interprets a bearer as another kind of token and refuses it."""
    if protocol == GOOGLE:
        return {"x-goog-api-key": key}
    return {"Authorization": f"Bearer {key}", "x-api-key": key, "anthropic-version": "2023-06-01"}


async def _all_pages(client: httpx2.AsyncClient, url: str, protocol: str) -> list[dict[str, Any]]:
    """Read all pages of a listing. A later page that fails, or has nothing new, ends it."""
    items: dict[str, dict[str, Any]] = {}
    page = httpx2.URL(url)
    for number in range(_MAX_PAGES):
        try:
            answer, link = await _listed(client, page)
        except (httpx2.TransportError, NoAnswer, NoListing):
            if number:
                break
            raise
        known = len(items)
        items |= {_id(item) or str(at): item for at, item in enumerate(_items(answer) or [], known)}
        following = _next_page(httpx2.URL(url), answer, link, protocol)
        if following is None or len(items) == known:
            break
        page = following
    return list(items.values())


def _next_page(url: httpx2.URL, answer: Any, link: str, protocol: str) -> httpx2.URL | None:
    """The next page in an answer: by a token, its last model, or a link on the same server."""
    if isinstance(answer, dict):
        if token := answer.get("nextPageToken"):
            return url.copy_merge_params({"pageToken": str(token)})
        if answer.get("has_more") and (last := answer.get("last_id")):
            return url.copy_merge_params({"after_id" if protocol == ANTHROPIC else "after": str(last)})
    page = url.join(link)
    return page if page != url and (page.scheme, page.netloc) == (url.scheme, url.netloc) else None


async def _listed(client: httpx2.AsyncClient, url: httpx2.URL) -> tuple[Any, str]:
    """Return a page of a listing, and the link to the next one.

    Raises:
        NoAnswer: if the server is still loading its model (503).
        AccessRefused: if it requires a key, or another one.
        NoListing: if it answers otherwise.
    """
    async with client.stream("GET", url) as response:
        status = response.status_code
        if status == httpx2.codes.SERVICE_UNAVAILABLE:
            raise NoAnswer(str(url))
        if status in (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN):
            raise AccessRefused(f"refuses access (HTTP {status})")
        if response.is_redirect:
            raise NoListing(f"redirects to {response.headers.get('location', 'nowhere'):.200}")
        if status != httpx2.codes.OK:
            raise NoListing(f"lists no models (HTTP {status})")
        return await _body(response), response.links.get("next", {}).get("url", "")


async def _body(response: httpx2.Response) -> Any:
    """The JSON of an answer; None if it is nested too deeply, or larger than 8 MB."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _MAX_BYTES:
            return None
    try:
        return json.loads(body)
    except RecursionError:
        return None


async def _native_windows(
    client: httpx2.AsyncClient, root: str, known: Mapping[str, int | None]
) -> dict[str, int | None]:
    """Windows from the APIs of LM Studio, Ollama and llama.cpp, for models without one so far."""
    answers: list[Any] = []
    for path in ("/api/v0/models", "/api/ps", "/props"):
        async with client.stream("GET", root + path, auth=None) as response:
            answers.append(await _body(response) if response.status_code == httpx2.codes.OK else None)
    rows = (item for answer in answers[:2] for item in _items(answer) or [])
    windows = {_id(item): _number(item, _WINDOW_KEYS) for item in rows}
    settings = answers[2].get("default_generation_settings") if isinstance(answers[2], dict) else None
    fallback = _number(settings, ("n_ctx",)) if isinstance(settings, dict) else None
    return {name: window or windows.get(name) or fallback for name, window in known.items()}


def _items(answer: Any) -> list[dict[str, Any]] | None:
    rows = (answer.get("data") or answer.get("models")) if isinstance(answer, dict) else answer
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else None


def _id(item: Mapping[str, Any]) -> str:
    name = item.get("id") or item.get("name") or item.get("model")
    # Google prefixes its models as in the paths of its requests.
    return name.removeprefix("models/") if isinstance(name, str) else ""


def _number(item: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    # llama.cpp has the values of a file one level below.
    known = {**meta, **item} if isinstance(meta := item.get("meta"), dict) else item
    values = (known.get(key) for key in keys)
    return next((value for value in values if isinstance(value, int) and value > 1), None)
