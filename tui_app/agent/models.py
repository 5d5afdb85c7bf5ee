"""From a model's name to a model, and from a model to the size of its window."""

import asyncio
import ipaddress
import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

import httpx2
import pydantic_ai
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model, known_model_names
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.profiles.anthropic import anthropic_model_profile
from pydantic_ai.profiles.deepseek import deepseek_model_profile
from pydantic_ai.profiles.google import google_model_profile
from pydantic_ai.profiles.groq import groq_model_profile
from pydantic_ai.profiles.mistral import mistral_model_profile
from pydantic_ai.profiles.openai import openai_model_profile
from pydantic_ai.providers import Provider, infer_provider, infer_provider_class

from tui_app import providers
from tui_app.agent.offline.model import OfflineModel
from tui_app.api_keys import ApiKeys, key_flaw
from tui_app.context.counting.prices import PricedProfile
from tui_app.extras import install_command
from tui_app.paths import from_home
from tui_app.providers import LOCAL_PORTS
from tui_app.records import frozen
from tui_app.settings import Endpoint
from tui_app.wires.event_streams import with_plain_streams

# From a provider's name to a ready pydantic-ai provider: keys, addresses, retries.
#
# Vendor SDKs cost one to three seconds to import, so each is imported where its model is made.
#
# SDK clients repeat a failed request twice on their own. That is switched off wherever the client allows it:
# whoever runs the turn decides about retries and can show them, and the two would multiply.

NO_KEY = "not-needed"
"""Sent to a server of the user's own that asks for no key; the SDKs refuse to send none."""


def why_not(prefix: str, env: Mapping[str, str]) -> str:
    """Say what keeps a provider from being used, such as ``needs OPENAI_API_KEY``; else empty."""
    package = providers.provider_of(prefix.removeprefix(f"{providers.GATEWAY}/")).package
    if find_spec(package) is None:
        return f"needs the Python package {package}"
    provider, keys = providers.provider_of(prefix), providers.required_keys(prefix)
    if not keys or any(env.get(name) for name in (*keys, provider.url_variable) if name):
        return ""
    return f"needs {' or '.join(keys)}"


@runtime_checkable
class _Repeating(Protocol):
    """An SDK client that can be told how often to repeat a failed request."""

    max_retries: int


def vendor_provider(prefix: str, env: Mapping[str, str]) -> Provider[Any]:
    """Make the provider of a pydantic-ai model name.

    OpenAI and Anthropic take key and address from ``env``, the others their key; what else they need they
    read from the process environment as pydantic-ai documents it.
    """
    known = providers.provider_of(prefix)
    if known.url:
        make = anthropic_provider if prefix == providers.ANTHROPIC else openai_provider
        return make(env.get(known.url_variable) or known.url, env.get(known.keys[0], ""))
    names = providers.required_keys(prefix)
    key = next((env[name] for name in names if env.get(name)), "")
    if not key or any(os.environ.get(name) == key for name in names):
        return made_ready(infer_provider(prefix))
    # The key is not that of the process environment, which has no say then.
    if known.name == providers.GATEWAY:
        from pydantic_ai.providers.gateway import gateway_provider

        return made_ready(gateway_provider(prefix.removeprefix(f"{providers.GATEWAY}/"), api_key=key))
    maker: Callable[..., Provider[Any]] = infer_provider_class(prefix)
    return made_ready(maker(api_key=key))


def check_key(names: Iterable[str], env: Mapping[str, str]) -> None:
    """Refuse a key that cannot be sent, before a request stumbles over it.

    Args:
        names: Variables that may hold it; the first that is set counts.
        env: Where they are looked up.

    Raises:
        ModelNotReady: if it cannot.
    """
    name = next((name for name in names if name and env.get(name)), "")
    flaw = key_flaw(env[name]) if name else ""
    if not flaw:
        return
    source = env.source(name) if isinstance(env, ApiKeys) else "environment"
    anew = f"set {name} and start again"
    if source == "keyring":
        anew = f"keep it with `plimsoll keys set {name}`"
    elif source == "this run":
        anew = "enter it again"
    place = source if source == "this run" else f"the {source}"
    advice = f"Copy it again from the provider, then {anew}."
    raise ModelNotReady(f"The API key {name} (from {place}) cannot be sent: {flaw}. {advice}")


def openai_provider(base_url: str, key: str) -> Provider[Any]:
    """Make a provider for OpenAI or a proxy in front of it."""
    from pydantic_ai.providers.openai import OpenAIProvider

    return made_ready(OpenAIProvider(base_url=base_url, api_key=key or NO_KEY))


def compatible_provider(name: str, base_url: str, key: str) -> Provider[Any]:
    """Make a provider for a server of another maker that speaks OpenAI's protocols."""
    try:
        from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
    except ImportError:
        # Before pydantic-ai 2.63 the provider of OpenAI has one name only.
        from pydantic_ai.providers.openai import OpenAIProvider

        class NamedProvider(OpenAIProvider):
            @property
            def name(self) -> str:
                return name

        return made_ready(NamedProvider(base_url=base_url, api_key=key or NO_KEY))
    return made_ready(OpenAICompatibleProvider(name, base_url=base_url, api_key=key or NO_KEY))


def anthropic_provider(base_url: str, key: str) -> Provider[Any]:
    """Make a provider for Anthropic or a server that speaks its protocol."""
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return made_ready(AnthropicProvider(base_url=base_url, api_key=key or NO_KEY))


def google_provider(base_url: str, key: str) -> Provider[Any]:
    """Make a provider for a server that speaks the Gemini protocol; its SDK does not repeat by itself."""
    from pydantic_ai.providers.google import GoogleProvider

    return made_ready(GoogleProvider(base_url=base_url, api_key=key or NO_KEY))


def made_ready(provider: Provider[Any]) -> Provider[Any]:
    """Switch off the SDK client's own repeating, where it has any, and let it read streams of all servers."""
    client = provider.client
    if isinstance(client, _Repeating):
        client.max_retries = 0
    return with_plain_streams(provider)


# A model file of the user's own, run in this process by llama.cpp (the extra ``local``).

_QUIET = -1
"""llama.cpp would print to the terminal that the screen is drawn on."""
_MAGIC = b"GGUF"


class UnusableFile(ValueError):
    """A path leads to no model file that can be run; the text is a sentence for the user."""


class NoLlama(ValueError):
    """llama.cpp is not installed."""


def gguf_model(path: Path) -> Model[Any]:
    """Load a model file and serve it on a loopback port that only this process has the key of.

    The window is as large as the file allows and the memory takes. Blocks while the file is read.

    Args:
        path: The file.

    Raises:
        NoLlama: if the package for it is not installed.
        UnusableFile: if there is no such file, or llama.cpp cannot run it.
    """
    if find_spec("xllamacpp") is None:
        raise NoLlama(f"Model files need llama.cpp. To install it: {install_command('local')}")
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise UnusableFile(f"The model file {path} cannot be read ({error.strerror}).") from error
    if magic != _MAGIC:
        raise UnusableFile(f"{path} is not a GGUF model file.")
    key = secrets.token_urlsafe(24)
    server = _start(path, key)
    from pydantic_ai.models.openai import OpenAIChatModel

    class LoadedFile(OpenAIChatModel):
        """Keeps the server for as long as the model is used; it stops with it."""

        loaded = server

    provider: Provider[Any] = compatible_provider(providers.GGUF, f"{server.listening_address}/v1", key)
    return LoadedFile(path.stem, provider=provider)


def _start(path: Path, key: str) -> Any:
    import xllamacpp  # type: ignore[import-untyped]

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = [path.stem]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.n_ctx = 0
    params.n_parallel = 1
    params.fit_params = True
    params.use_jinja = True
    params.warmup = False
    params.verbosity = _QUIET
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise UnusableFile(
            f"llama.cpp cannot run {path}: it is damaged, or there is not enough memory."
        ) from error


# The terminal belongs to the program: what the library beneath it would say of itself is left out.


def keep_library_quiet() -> None:
    """Let no run of this process begin with pydantic-ai's banner, which goes to stderr.

    A variable of the environment would do it too, but what tools and hooks run would inherit that.
    """
    pydantic_ai.BANNER_ENABLED = False


# Asking model servers what they serve and how large its window is. No key leaves for a host it is not for.
#
# Servers name the window differently: vLLM ``max_model_len``, llama.cpp ``meta.n_ctx``, OpenRouter
# ``context_length``, Groq ``context_window``. LM Studio and Ollama say it only in their own interfaces.

_MAX_BYTES = 8 * 1024 * 1024
_WINDOW_KEYS = ("max_model_len", "loaded_context_length", "context_length", "context_window")
_CEILING_KEYS = ("max_context_length", "n_ctx_train")


class NoAnswer(Exception):
    """An address does not answer now, but may later. The text is the address."""


class NoListing(Exception):
    """A server answers, but lists no models. The text says what it does instead, in words for the user."""


class AccessRefused(NoListing):
    """It wants a key, or another one."""


@frozen
class LocalModel:
    """A model that a server lists."""

    id: str
    window: int | None
    """Tokens of one request as the server has it loaded, else at most as the model allows; None if unsaid."""


@frozen
class LocalServer:
    """A server that answered on this machine."""

    name: str
    """``ollama``, ``lmstudio``, ``llamacpp`` or ``vllm``, by its port; all speak OpenAI's chat protocol."""
    base_url: str
    models: tuple[LocalModel, ...]


def local_base_url(port: int) -> str:
    """The OpenAI-compatible address of a server on this machine."""
    return f"http://127.0.0.1:{port}/v1"


async def discover(timeout_s: float = 0.7, *, ports: Mapping[str, int] = LOCAL_PORTS) -> list[LocalServer]:
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


async def listing(base_url: str, *, timeout_s: float = 2.0) -> list[LocalModel] | None:
    """Ask a server for its models and their windows.

    Args:
        base_url: Address with or without the protocol's ``/v1``.
        timeout_s: Seconds for everything together.

    Returns:
        None when it did not answer, or not with a model listing.
    """
    try:
        return await ask_listing(base_url, timeout_s=timeout_s)
    except (NoAnswer, NoListing):
        return None


async def ask_listing(
    base_url: str, *, headers: Mapping[str, str] | None = None, timeout_s: float = 2.0
) -> list[LocalModel]:
    """As ``listing``, for who wants to know why there is none; ``headers`` carry the key if there is one.

    Raises:
        NoAnswer: if nobody answered.
        NoListing: if the answer is no listing of models.
    """
    base = base_url.rstrip("/")
    try:
        # The client keeps clear of proxies for this machine's own servers.
        async with (
            asyncio.timeout(timeout_s),
            httpx2.AsyncClient(headers=dict(headers or {}), trust_env=not is_loopback(base)) as client,
        ):
            versioned = re.fullmatch(r"v\d.*", base.rsplit("/", 1)[-1], re.DOTALL)
            items = _items(await _listed(client, f"{base}{'' if versioned else '/v1'}/models"))
            if not items:
                raise NoListing("lists no models")
            real = {_id(item): _number(item, _WINDOW_KEYS) or _meta(item, "n_ctx") for item in items}
            if None in real.values() and is_loopback(base):
                real |= await _told_elsewhere(client, base.removesuffix("/v1"), real)
    except (httpx2.TransportError, OSError, TimeoutError) as error:
        raise NoAnswer(base) from error
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        raise NoListing("cannot list its models") from error
    ceilings = {_id(item): _number(item, _CEILING_KEYS) or _meta(item, "n_ctx_train") for item in items}
    return [LocalModel(name, real[name] or ceilings[name]) for name in map(_id, items) if name]


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
    answers: list[Any] = []
    for path in ("/api/v0/models", "/api/ps", "/props"):
        async with client.stream("GET", root + path) as response:
            answers.append(await _body(response) if response.status_code == httpx2.codes.OK else None)
    lmstudio, ollama, llamacpp = answers
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


BY_BLOCK = ModelProfile(supports_auto_cache=False)
"""Prompt caching is asked for at the blocks themselves: not every server that speaks Anthropic's protocol
knows the newer way."""
NO_ENDPOINTS: Mapping[str, Endpoint] = MappingProxyType({})


class UnknownModel(ValueError):
    """No model can be made from a name; the text is a sentence for the user."""


class ModelNotReady(UnknownModel):
    """The name is right, but a key, a package or an address is missing."""


def build_model(
    name: str, *, env: Mapping[str, str], endpoints: Mapping[str, Endpoint] = NO_ENDPOINTS
) -> Model[Any]:
    """Make the model that a name stands for.

    Args:
        name: ``offline:extractive``, ``gguf:PATH``, ``ENDPOINT:model``, a local server's such as
            ``lmstudio:model``, or any pydantic-ai name such as ``openai:gpt-5.2``.
        env: Where keys and addresses are looked up.
        endpoints: The user's own servers, by name. They go before names of the same prefix.

    Raises:
        ModelNotReady: if a key, a package or an address is missing.
        UnknownModel: if there is no such model.
    """
    prefix, _, rest = name.partition(":")
    if name == providers.OFFLINE_MODEL:
        return OfflineModel()
    if prefix == providers.GGUF and rest:
        try:
            return gguf_model(from_home(rest))
        except NoLlama as error:
            raise ModelNotReady(str(error)) from error
        except UnusableFile as error:
            raise UnknownModel(str(error)) from error
    if prefix in endpoints and rest:
        return _endpoint_model(endpoints[prefix], rest, env)
    local = providers.provider_of(prefix)
    if local.port and rest and not env.get(local.url_variable):
        # An address that moves a local server somewhere else is read by pydantic-ai itself.
        return _compatible(prefix, local_base_url(local.port), "", rest, None)
    return _vendor_model(name, prefix, env, endpoints)


async def ask_window(model: Model[Any]) -> int | None:
    """Ask the model's own server how large its window is.

    Args:
        model: The model to ask for; only servers with an OpenAI-like listing answer.

    Returns:
        Tokens of one request, or None when the server does not say.

    Raises:
        NoAnswer: if the server did not answer.
    """
    provider = model.provider
    url = provider.base_url if provider is not None else ""
    host = urlsplit(url).hostname or ""
    if provider is None or not host or host.endswith(providers.SILENT_HOSTS):
        return None
    headers: dict[str, str] = {}
    client = provider.client
    if isinstance(client, _Keyed) and isinstance(client.api_key, str):
        # The headers that OpenAI's and Anthropic's protocols carry a key in.
        headers = {"Authorization": f"Bearer {client.api_key}", "x-api-key": client.api_key}
    try:
        models = await ask_listing(url, headers=headers)
    except NoListing:
        return None
    named = [each.window for each in models if each.id == model.model_name]
    return named[0] if named else models[0].window if len(models) == 1 else None


@runtime_checkable
class _Keyed(Protocol):
    """An SDK client that knows its key."""

    api_key: str | None


def _endpoint_model(endpoint: Endpoint, model: str, env: Mapping[str, str]) -> Model[Any]:
    key = env.get(endpoint.key_env, "") if endpoint.key_env else ""
    if endpoint.key_env and not key:
        raise ModelNotReady(
            f"The endpoint {endpoint.name} needs a key in {endpoint.key_env}, which is not set."
        )
    check_key([endpoint.key_env or ""], env)
    # What the user has set about the models of a server; None leaves all to what is known.
    own = PricedProfile()
    if endpoint.window:
        own["context_window"] = endpoint.window
    if endpoint.price_in is not None and endpoint.price_out is not None:
        own["price_in"], own["price_out"] = endpoint.price_in, endpoint.price_out
    profile = own or None
    match endpoint.protocol:
        case providers.ANTHROPIC:
            from pydantic_ai.models.anthropic import AnthropicModel

            own["supports_auto_cache"] = False
            return AnthropicModel(model, provider=anthropic_provider(endpoint.base_url, key), profile=own)
        case providers.GOOGLE:
            from pydantic_ai.models.google import GoogleModel

            return GoogleModel(model, provider=google_provider(endpoint.base_url, key), profile=profile)
        case providers.OPENAI | providers.OPENAI_RESPONSES:
            from pydantic_ai.models.openai import OpenAIResponsesModel

            provider = compatible_provider(endpoint.name, endpoint.base_url, key)
            return OpenAIResponsesModel(model, provider=provider, profile=profile)
        case _:
            return _compatible(endpoint.name, endpoint.base_url, key, model, profile)


def _compatible(name: str, base_url: str, key: str, model: str, profile: ModelProfile | None) -> Model[Any]:
    from pydantic_ai.models.openai import OpenAIChatModel

    provider = compatible_provider(name, base_url, key)
    return OpenAIChatModel(model, provider=provider, profile=profile)


def _vendor_model(
    name: str, prefix: str, env: Mapping[str, str], endpoints: Mapping[str, Endpoint]
) -> Model[Any]:
    lacking = why_not(prefix, env)
    if not name.partition(":")[2] and name != "test":
        raise UnknownModel(_unknown(name, endpoints))
    if lacking:
        raise ModelNotReady(f"{name} {lacking}.")
    check_key(providers.provider_of(prefix).keys, env)
    try:
        if prefix == providers.ANTHROPIC:
            from pydantic_ai.models.anthropic import AnthropicModel

            return AnthropicModel(
                name.partition(":")[2], provider=vendor_provider(prefix, env), profile=BY_BLOCK
            )
        return infer_model(name, lambda provider: vendor_provider(provider, env))
    except ImportError as error:
        raise ModelNotReady(f"{name} needs a Python package that is not installed: {error}") from error
    except (UserError, ValueError) as error:
        known = {each.partition(":")[0] for each in known_model_names()}
        if prefix in known or providers.provider_of(prefix).any_model:
            raise ModelNotReady(f"{name} is not ready: {' '.join(str(error).split())}") from error
        raise UnknownModel(_unknown(name, endpoints)) from error


def _unknown(name: str, endpoints: Mapping[str, Endpoint]) -> str:
    close = closest(name, endpoints)
    hint = f" Did you mean {' or '.join(close)}?" if close else " `plimsoll models` lists them."
    return f"There is no model {name!r:.200}.{hint}"


def closest(name: str, endpoints: Mapping[str, Endpoint] = NO_ENDPOINTS) -> Sequence[str]:
    """Names of existing models that look most like ``name``, best first, at most three."""
    # Whoever makes a model comes before a gateway to it.
    ranks = {each: at for at, each in enumerate(filter(providers.required_keys, providers.PROVIDERS))}
    vendors = [each for each in known_model_names() if ":" in each]
    vendors.sort(key=lambda each: ranks.get(each.partition(":")[0], len(ranks)))
    names = [providers.OFFLINE_MODEL, *(f"{endpoint}:" for endpoint in endpoints), *vendors]
    provider = name.rstrip(":")
    begun = [each for each in names if provider and each.startswith(f"{provider}:")]
    if begun:
        return begun[:3]
    if exact := [each for each in names if each.partition(":")[2] == name]:
        return exact[:3]
    bare = {each.partition(":")[2]: each for each in reversed(names)}
    direct = get_close_matches(name, names, n=3, cutoff=0.7)
    return direct or [bare[each] for each in get_close_matches(name, list(bare), n=3, cutoff=0.7)]


# What a model can do, as far as its family is known; no vendor's SDK is loaded for it.

_FAMILIES: Mapping[str, Callable[[str], ModelProfile | None]] = MappingProxyType(
    {
        providers.ANTHROPIC: anthropic_model_profile,
        providers.DEEPSEEK: deepseek_model_profile,
        providers.GOOGLE: google_model_profile,
        providers.GROQ: groq_model_profile,
        providers.MISTRAL: mistral_model_profile,
        providers.OPENAI: openai_model_profile,
    }
)
_SEEING = ("claude-", "gemini-", "gpt-4o", "gpt-4.1", "gpt-5", "gpt-6", "o3", "o4")
"""Beginnings of the names of models whose makers say that they take pictures."""


@frozen
class Capabilities:
    """What is known about a model; None where nothing is."""

    tools: bool | None = None
    thinking: bool | None = None
    images: bool | None = None


def capabilities(prefix: str, model: str) -> Capabilities:
    """Look up what a vendor's model can do.

    Args:
        prefix: The vendor, as in front of the model's name.
        model: The name behind it.
    """
    family = _FAMILIES.get(prefix.partition("-")[0])
    profile = family(model) if family is not None else None
    if profile is None:
        return Capabilities()
    images = True if model.startswith(_SEEING) else None
    return Capabilities(profile.get("supports_tools", True), profile.get("supports_thinking", False), images)
