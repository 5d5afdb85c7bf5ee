"""Asking model servers what they serve and how large its window is. No key leaves for a host it is not for.

Servers name the window differently: vLLM ``max_model_len``, llama.cpp ``meta.n_ctx``, OpenRouter
``context_length``, Groq ``context_window``. LM Studio and Ollama say it only in their own interfaces.
"""

import asyncio
import ipaddress
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import httpx2

USUAL_PORTS: Mapping[str, int] = MappingProxyType(
    {"ollama": 11434, "lmstudio": 1234, "llamacpp": 8080, "vllm": 8000}
)
"""Where local servers listen unless told otherwise, by the name their models are given here."""

_MAX_BYTES = 8 * 1024 * 1024
_WINDOW_KEYS = ("max_model_len", "loaded_context_length", "context_length", "context_window")
_CEILING_KEYS = ("max_context_length", "n_ctx_train")


class NoAnswer(Exception):
    """Nobody answers at an address now; later somebody may. The text is the address."""


class NoListing(Exception):
    """A server answers, but lists no models. The text says what it does instead, in words for a person."""


class AccessRefused(NoListing):
    """It wants a key, or another one."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that a server lists."""

    id: str
    window: int | None
    """Tokens of one request as the server has it loaded, else at most as the model allows; None if unsaid."""


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that answered on this machine."""

    name: str
    """``ollama``, ``lmstudio``, ``llamacpp`` or ``vllm``, by its port; all speak OpenAI's chat protocol."""
    base_url: str
    models: tuple[LocalModel, ...]


def local_base_url(port: int) -> str:
    """The OpenAI-compatible address of a server on this machine."""
    return f"http://127.0.0.1:{port}/v1"


async def discover(timeout_s: float = 0.7, *, ports: Mapping[str, int] = USUAL_PORTS) -> list[LocalServer]:
    """Ask the usual loopback ports for models, all at once. Never raises; a silent port is left out.

    Args:
        timeout_s: Seconds after which a port counts as silent.
        ports: Port by server name.
    """
    urls = {name: local_base_url(port) for name, port in ports.items()}
    found = await asyncio.gather(*(listing(url, timeout_s=timeout_s) for url in urls.values()))
    return [
        LocalServer(name, url, tuple(models))
        for (name, url), models in zip(urls.items(), found, strict=True)
        if models
    ]


async def listing(
    base_url: str, *, headers: Mapping[str, str] | None = None, timeout_s: float = 2.0
) -> list[LocalModel] | None:
    """Ask a server for its models and their windows.

    Args:
        base_url: Address with or without the protocol's ``/v1``.
        headers: Sent with every question; carries the key if there is one.
        timeout_s: Seconds for everything together.

    Returns:
        None when it did not answer, or not with a model listing.
    """
    try:
        return await ask_listing(base_url, headers=headers, timeout_s=timeout_s)
    except (NoAnswer, NoListing):
        return None


async def ask_listing(
    base_url: str, *, headers: Mapping[str, str] | None = None, timeout_s: float = 2.0
) -> list[LocalModel]:
    """As ``listing``, for who wants to know why there is none.

    Raises:
        NoAnswer: if nobody answered.
        NoListing: if the answer is no listing of models.
    """
    base = base_url.rstrip("/")
    try:
        async with asyncio.timeout(timeout_s), _client(base, headers) as client:
            items = _items(await _listed(client, f"{base}{'' if _versioned(base) else '/v1'}/models"))
            if not items:
                raise NoListing("lists no models")
            real = {_id(item): _number(item, _WINDOW_KEYS) or _meta(item, "n_ctx") for item in items}
            if None in real.values() and is_loopback(base):
                real |= await _told_elsewhere(client, base.removesuffix("/v1"), real)
    except (httpx2.TransportError, OSError, TimeoutError) as error:
        raise NoAnswer(base) from error
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        raise NoListing("cannot be asked for its models") from error
    return [LocalModel(_id(item), real[_id(item)] or _ceiling(item)) for item in items if _id(item)]


def is_loopback(url: str) -> bool:
    """Whether an address names this machine."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def same_server(one: str, other: str) -> bool:
    """Whether two addresses lead to the same server, with or without the protocol's ``/v1``."""
    return _place(one) == _place(other)


def _place(url: str) -> tuple[str, int | None, str]:
    """Host, port and path of an address; this machine has many names."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return url, None, ""
    host = "localhost" if is_loopback(url) else parts.hostname or ""
    return host, port, parts.path.rstrip("/").removesuffix("/v1")


@asynccontextmanager
async def _client(base: str, headers: Mapping[str, str] | None) -> AsyncIterator[httpx2.AsyncClient]:
    """A client that keeps clear of proxies for this machine's own servers."""
    async with httpx2.AsyncClient(headers=dict(headers or {}), trust_env=not is_loopback(base)) as client:
        yield client


async def _listed(client: httpx2.AsyncClient, url: str) -> Any:
    """Return what a server lists.

    Raises:
        NoAnswer: if it is still loading its model (503).
        AccessRefused: if it wants a key, or another one.
        NoListing: if it answers otherwise.
    """
    async with client.stream("GET", url) as response:
        status = response.status_code
        if status == httpx2.codes.SERVICE_UNAVAILABLE:
            raise NoAnswer(url)
        if status in (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN):
            raise AccessRefused(f"refuses access (HTTP {status})")
        if status != httpx2.codes.OK:
            raise NoListing(f"lists no models (HTTP {status})")
        return await _body(response)


async def _json(client: httpx2.AsyncClient, url: str) -> Any:
    """Return the JSON behind an address, None unless it answers 200."""
    async with client.stream("GET", url) as response:
        return await _body(response) if response.status_code == httpx2.codes.OK else None


async def _body(response: httpx2.Response) -> Any:
    """Return the JSON of an answer; None where it is nested too deeply, or more than 8 MB."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > _MAX_BYTES:
            return None
    try:
        return json.loads(body)
    except RecursionError:
        return None


async def _told_elsewhere(
    client: httpx2.AsyncClient, root: str, known: Mapping[str, int | None]
) -> dict[str, int | None]:
    """Windows from the interfaces of LM Studio, Ollama and llama.cpp, for the models not known yet."""
    lmstudio, ollama, llamacpp = [
        await _json(client, root + path) for path in ("/api/v0/models", "/api/ps", "/props")
    ]
    told = {_id(item): _number(item, _WINDOW_KEYS) for item in _items(lmstudio) or []}
    told |= {_id(item): _number(item, _WINDOW_KEYS) for item in _items(ollama) or []}
    settings = llamacpp.get("default_generation_settings") if isinstance(llamacpp, dict) else None
    fallback = _number(settings, ("n_ctx",)) if isinstance(settings, dict) else None
    return {name: window or told.get(name) or fallback for name, window in known.items()}


def _items(answer: Any) -> list[dict[str, Any]] | None:
    rows = (answer.get("data") or answer.get("models")) if isinstance(answer, dict) else answer
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else None


def _id(item: Mapping[str, Any]) -> str:
    name = item.get("id") or item.get("name") or item.get("model")
    return name if isinstance(name, str) else ""


def _number(item: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    values = (item.get(key) for key in keys)
    return next((value for value in values if isinstance(value, int) and value > 1), None)


def _meta(item: Mapping[str, Any], key: str) -> int | None:
    meta = item.get("meta")
    return _number(meta, (key,)) if isinstance(meta, dict) else None


def _ceiling(item: Mapping[str, Any]) -> int | None:
    return _number(item, _CEILING_KEYS) or _meta(item, "n_ctx_train")


def _versioned(base: str) -> bool:
    last = base.rsplit("/", 1)[-1]
    return last[:1] == "v" and last[1:2].isdigit()
