"""Construction of models from their names, and the sizes of their windows."""

import os
import secrets
import ssl
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
import pydantic_ai
from genai_prices.data_snapshot import get_snapshot
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
from tui_app.agent.model_lists import Listed, NoListing, ask_listing, key_headers, local_base_url
from tui_app.agent.network.addresses import (
    SDK_VERSIONS,
    ServerAddress,
    VersionFinder,
    address_of,
    server_address,
)
from tui_app.agent.network.network import http_client, rerouted, trusted
from tui_app.agent.offline.model import OfflineModel
from tui_app.api_keys import ApiKeys, key_flaw
from tui_app.context.counting.prices import PricedProfile
from tui_app.extras import install_command
from tui_app.paths import from_home
from tui_app.records import frozen
from tui_app.refusals import Refusal
from tui_app.settings import Endpoint
from tui_app.wires.event_streams import with_plain_streams
from tui_app.wires.library import own_client

NO_KEY = "not-needed"
"""Sent to a server of the user that requires no key, because the SDKs refuse to send none."""


class UnknownModel(Refusal, ValueError):
    """No model can be built from a name; the text is a sentence for the user."""


class ModelNotReady(UnknownModel):
    """The name is right, but a key, a package or an address is missing."""


def why_not(prefix: str, env: Mapping[str, str]) -> str:
    """Why a provider cannot be used, such as ``needs OPENAI_API_KEY``; else empty."""
    package = providers.provider_of(prefix.removeprefix(f"{providers.GATEWAY}/")).package
    if find_spec(package) is None:
        return f"needs the Python package {package}"
    provider, keys = providers.provider_of(prefix), providers.required_keys(prefix)
    if not keys or any(env.get(name) for name in (*keys, provider.url_variable) if name):
        return ""
    return f"needs {' or '.join(keys)}"


def vendor_provider(prefix: str, env: Mapping[str, str]) -> Provider[Any]:
    """Build the provider of a pydantic-ai model name.

    OpenAI and Anthropic take key and address from ``env``, the others their key. Everything else they read
    from the process environment, as pydantic-ai documents.
    """
    known = providers.provider_of(prefix)
    _load_sdk(known.package)
    names = providers.required_keys(prefix)
    key = next((env[name] for name in names if env.get(name)), "")
    if known.url:
        protocol = prefix if prefix in (providers.ANTHROPIC, providers.GOOGLE) else providers.OPENAI
        address = server_address(env.get(known.url_variable) or known.url, protocol)
        return _provider(_Server(prefix, address, protocol, key))
    # Check here: other constructors do not report which variable names a missing certificate file.
    trusted()
    if not key or any(os.environ.get(name) == key for name in names):
        return prepare_provider(infer_provider(prefix))
    # The key is not from the process environment, so that is ignored.
    if known.name == providers.GATEWAY:
        from pydantic_ai.providers.gateway import gateway_provider

        return prepare_provider(gateway_provider(prefix.removeprefix(f"{providers.GATEWAY}/"), api_key=key))
    maker: Callable[..., Provider[Any]] = infer_provider_class(prefix)
    return prepare_provider(maker(api_key=key))


def _refuse_unsendable(names: Iterable[str], env: Mapping[str, str]) -> None:
    """Refuse a key that cannot be sent, before a request fails because of it.

    Args:
        names: Variables that may contain it; the first that is set counts.
        env: Where they are looked up.

    Raises:
        ModelNotReady: if it cannot be sent.
    """
    name = next((name for name in names if name and env.get(name)), "")
    flaw = key_flaw(env[name]) if name else ""
    if not flaw:
        return
    source = env.source(name) if isinstance(env, ApiKeys) else "environment"
    ways = {"keyring": f"keep it with `plimsoll keys set {name}`", "this run": "enter it again"}
    anew = ways.get(source, f"set {name} and start again")
    place = source if source == "this run" else f"the {source}"
    advice = f"Copy it again from the provider, then {anew}."
    raise ModelNotReady(f"The API key {name} (from {place}) cannot be sent: {flaw}. {advice}")


@frozen
class _Server:
    name: str
    address: ServerAddress
    protocol: str = providers.OPENAI_CHAT
    key: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


_MODELS: Mapping[str, tuple[str, str]] = {
    providers.ANTHROPIC: ("anthropic", "AnthropicModel"),
    providers.GOOGLE: ("google", "GoogleModel"),
    providers.OPENAI: ("openai", "OpenAIResponsesModel"),
    providers.OPENAI_RESPONSES: ("openai", "OpenAIResponsesModel"),
}
"""Module and class by protocol; any other protocol is OpenAI's chat."""


def _load_sdk(package: str) -> None:
    """Import OpenAI's SDK without its optional second HTTP client: 8 MB that nothing here uses."""
    if package != providers.OPENAI or package in sys.modules or (second := "aiohttp") in sys.modules:
        return
    sys.modules[second] = cast("ModuleType", None)
    try:
        import_module(package)
    finally:
        del sys.modules[second]


def _model_class(protocol: str) -> Callable[..., Model[Any]]:
    module, name = _MODELS.get(protocol, ("openai", "OpenAIChatModel"))
    _load_sdk(module)
    found: Callable[..., Model[Any]] = getattr(import_module(f"pydantic_ai.models.{module}"), name)
    return found


def _model(name: str, server: _Server, profile: ModelProfile | None = None) -> Model[Any]:
    return _model_class(server.protocol)(name, provider=_provider(server), profile=profile)


def _provider(server: _Server) -> Provider[Any]:
    """Build the provider of a server, whether a vendor's or another one with the same protocol."""
    sent = next(iter(SDK_VERSIONS.get(server.protocol, ())), None)
    # Google documents that answers of its models may take that long.
    timeout = httpx2.Timeout(1_200.0 if server.protocol == providers.GOOGLE else 600.0, connect=5.0)

    def make() -> httpx2.AsyncClient:
        return http_client(
            timeout=timeout,
            auth=VersionFinder(server.address, sent),
            always=server.headers,
            tells_redirects=True,
        )

    client, key = make(), server.key or NO_KEY
    url = server.address.root if sent else server.address.url
    if server.protocol == providers.GOOGLE:
        from google.genai import Client
        from google.genai.types import HttpOptions
        from pydantic_ai.providers.google import GoogleProvider

        # The SDK creates further clients that are never used: they must not read the environment.
        nothing = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        options = HttpOptions(
            base_url=url,
            api_version=sent.strip("/") if sent else None,
            httpx_async_client=client,
            client_args={"trust_env": False, "verify": nothing},
            async_client_args={"ssl": nothing},
            timeout=1_200_000,
        )
        google = Client(vertexai=False, api_key=key, http_options=options)
        return prepare_provider(GoogleProvider(client=google), client, make)
    return prepare_provider(_maker(server)(base_url=url, api_key=key, http_client=client), client, make)


def _maker(server: _Server) -> Callable[..., Provider[Any]]:
    """The provider class for Anthropic's or OpenAI's protocol; other servers keep their own name."""
    if server.protocol == providers.ANTHROPIC:
        return infer_provider_class(providers.ANTHROPIC)
    of_openai = infer_provider_class(providers.OPENAI)
    if providers.provider_of(server.name).url:
        return of_openai
    try:
        from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
    except ImportError:
        # Before pydantic-ai 2.63, OpenAI's provider has only one name.
        return type("NamedProvider", (of_openai,), {"name": server.name})
    return partial(OpenAICompatibleProvider, server.name)


def prepare_provider(
    provider: Provider[Any],
    client: httpx2.AsyncClient | None = None,
    make: Callable[[], httpx2.AsyncClient] | None = None,
) -> Provider[Any]:
    """Turn off the retries of the SDK's client, and let it read the streams of all servers.

    Args:
        provider: A new provider.
        client: The HTTP client it was given; None if it has created its own, whose requests are then
            rerouted.
        make: Creates another client like it.
    """
    if hasattr(provider.client, "max_retries"):
        provider.client.max_retries = 0
    own_client(provider, rerouted, client, make)
    return with_plain_streams(provider)


_QUIET = -1
"""Otherwise llama.cpp would print to the terminal that shows the screen."""
_MAGIC = b"GGUF"


def gguf_model(path: Path) -> Model[Any]:
    """Load a model file and serve it on a loopback port whose key only this process knows.

    The window is as large as the file allows and memory permits. Blocks while the file is loaded.

    Args:
        path: The file.

    Raises:
        ModelNotReady: if the package for it is not installed.
        UnknownModel: if there is no such file, or llama.cpp cannot run it.
    """
    if find_spec("xllamacpp") is None:
        raise ModelNotReady(f"Model files need llama.cpp. To install it: {install_command('local')}")
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise UnknownModel(f"The model file {path} cannot be read ({error.strerror}).") from error
    if magic != _MAGIC:
        raise UnknownModel(f"{path} is not a GGUF model file.")
    key = secrets.token_urlsafe(24)
    server = _start(path, key)
    from pydantic_ai.models.openai import OpenAIChatModel

    class LoadedFile(OpenAIChatModel):
        """Keeps the server alive as long as the model; the server stops with it."""

        loaded = server

    address = server_address(f"{server.listening_address}/v1")
    return LoadedFile(path.stem, provider=_provider(_Server(providers.GGUF, address, key=key)))


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
        raise UnknownModel(
            f"llama.cpp cannot run {path}: it is damaged, or there is not enough memory."
        ) from error


def keep_library_quiet() -> None:
    """Prevent pydantic-ai's banner, which it prints to stderr.

    An environment variable would do that too, but the programs of tools and hooks would inherit it.
    """
    pydantic_ai.BANNER_ENABLED = False


BY_BLOCK = ModelProfile(supports_auto_cache=False)
"""Mark prompt caching on the blocks: not every server with Anthropic's protocol knows the newer way."""
NO_ENDPOINTS: Mapping[str, Endpoint] = MappingProxyType({})


def build_model(
    name: str, *, env: Mapping[str, str], endpoints: Mapping[str, Endpoint] = NO_ENDPOINTS
) -> Model[Any]:
    """Build a model by its name.

    Args:
        name: ``offline:extractive``, ``gguf:PATH``, ``ENDPOINT:model``, a local server's such as
            ``lmstudio:model``, or any pydantic-ai name such as ``openai:gpt-5.2``.
        env: Keys and addresses.
        endpoints: The user's own servers, by name. They take precedence over the same prefix elsewhere.

    Raises:
        ModelNotReady: if a key, a package or an address is missing.
        UnknownModel: if there is no such model.
    """
    prefix, _, rest = name.partition(":")
    if name == providers.OFFLINE_MODEL:
        return OfflineModel()
    if prefix == providers.GGUF and rest:
        return gguf_model(from_home(rest))
    if prefix in endpoints and rest:
        return _endpoint_model(endpoints[prefix], rest, env)
    local = providers.provider_of(prefix)
    if local.port and rest and not env.get(local.url_variable):
        # If a variable sets another address for a local server, pydantic-ai reads it itself.
        server = _Server(prefix, server_address(local_base_url(local.port)))
        return _model(rest, server, PricedProfile(price_in=0.0, price_out=0.0))
    return _vendor_model(name, prefix, env, endpoints)


async def ask_window(
    model: Model[Any], endpoint: Endpoint | None = None, env: Mapping[str, str] = os.environ
) -> int | None:
    """Ask the model's own server for the size of its window.

    Args:
        model: The model; only servers with a listing answer.
        endpoint: The user's own server that serves it, if one does.
        env: Key and headers of that server.

    Returns:
        Tokens of one request, or None if the server does not list them.

    Raises:
        NoAnswer: if the server did not answer.
    """
    provider = model.provider
    url = provider.base_url if provider is not None else ""
    host = urlsplit(url).hostname or ""
    if provider is None or not host or (endpoint is None and host.endswith(providers.SILENT_HOSTS)):
        return None
    try:
        if endpoint is not None:
            models = await ask_endpoint(endpoint, env)
        else:
            key = getattr(provider.client, "api_key", None)
            headers = key_headers(key) if isinstance(key, str) else None
            models = await ask_listing(server_address(url), protocol=provider.name, headers=headers)
    except (NoListing, ModelNotReady):
        return None
    # A server with a single model may use another name for it.
    only = next(iter(models.values())) if len(models) == 1 else None
    return models.get(model.model_name, only)


async def ask_endpoint(endpoint: Endpoint, env: Mapping[str, str]) -> Listed:
    """Ask a server of the user for its models.

    Raises:
        ModelNotReady: if a variable named in the settings is not set.
        NoAnswer: if there was no answer.
        NoListing: if the answer is no listing of models.
    """
    key = env.get(endpoint.key_env, "") if endpoint.key_env else NO_KEY
    headers = key_headers(key, endpoint.protocol) | endpoint_headers(endpoint, env)
    return await ask_listing(address_of(endpoint), protocol=endpoint.protocol, headers=headers)


def endpoint_headers(endpoint: Endpoint, env: Mapping[str, str]) -> dict[str, str]:
    """Headers of every request to an endpoint. Raises ``ModelNotReady`` if a variable is not set."""
    lacking = next((name for name in endpoint.headers_env.values() if not env.get(name)), "")
    if lacking:
        raise ModelNotReady(f"The endpoint {endpoint.name} needs a header in {lacking}, which is not set.")
    _refuse_unsendable(endpoint.headers_env.values(), env)
    return {header: env[name] for header, name in endpoint.headers_env.items()}


def _endpoint_model(endpoint: Endpoint, model: str, env: Mapping[str, str]) -> Model[Any]:
    key = env.get(endpoint.key_env, "") if endpoint.key_env else ""
    if endpoint.key_env and not key:
        raise ModelNotReady(
            f"The endpoint {endpoint.name} needs a key in {endpoint.key_env}, which is not set."
        )
    _refuse_unsendable([endpoint.key_env or ""], env)
    # The user's settings for the models of a server; None to use only known facts.
    own = PricedProfile()
    if endpoint.window:
        own["context_window"] = endpoint.window
    if endpoint.price_in is not None and endpoint.price_out is not None:
        own["price_in"], own["price_out"] = endpoint.price_in, endpoint.price_out
    if endpoint.protocol == providers.ANTHROPIC:
        own["supports_auto_cache"] = False
    headers = endpoint_headers(endpoint, env)
    server = _Server(endpoint.name, address_of(endpoint), endpoint.protocol, key, headers)
    return _model(model, server, own or None)


def _vendor_model(
    name: str, prefix: str, env: Mapping[str, str], endpoints: Mapping[str, Endpoint]
) -> Model[Any]:
    lacking = why_not(prefix, env)
    if not name.partition(":")[2] and name != "test":
        raise UnknownModel(_unknown(name, endpoints))
    if lacking:
        raise ModelNotReady(f"{name} {lacking}.")
    _refuse_unsendable(providers.provider_of(prefix).keys, env)
    try:
        if prefix == providers.ANTHROPIC:
            maker = _model_class(prefix)
            return maker(name.partition(":")[2], provider=vendor_provider(prefix, env), profile=BY_BLOCK)
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
    """Up to three names of existing models most similar to ``name``, best first."""
    # The names of older models are only in the price list.
    priced = (f"{maker.id}:{model.id}" for maker in get_snapshot().providers for model in maker.models)
    # The maker of a model comes before a gateway to it.
    ranks = {each: at for at, each in enumerate(filter(providers.required_keys, providers.PROVIDERS))}
    vendors = dict.fromkeys(
        each for each in (*known_model_names(), *priced) if each.partition(":")[0] in ranks
    )
    ranked = sorted(vendors, key=lambda each: ranks[each.partition(":")[0]])
    names = [providers.OFFLINE_MODEL, *(f"{endpoint}:" for endpoint in endpoints), *ranked]
    provider = name.rstrip(":")
    begun = [each for each in names if provider and each.startswith(f"{provider}:")]
    if begun:
        return begun[:3]
    if exact := [each for each in names if each.partition(":")[2] == name]:
        return exact[:3]
    bare = {each.partition(":")[2]: each for each in reversed(names)}
    direct = get_close_matches(name, names, n=3, cutoff=0.7)
    return direct or [bare[each] for each in get_close_matches(name, list(bare), n=3, cutoff=0.7)]


_FAMILIES: Mapping[str, Callable[[str], ModelProfile | None]] = {
    providers.ANTHROPIC: anthropic_model_profile,
    providers.DEEPSEEK: deepseek_model_profile,
    providers.GOOGLE: google_model_profile,
    providers.GROQ: groq_model_profile,
    providers.MISTRAL: mistral_model_profile,
    providers.OPENAI: openai_model_profile,
}
_SEEING = ("claude-", "gemini-", "gpt-4o", "gpt-4.1", "gpt-5", "gpt-6", "o3", "o4")
"""Prefixes of models whose makers document that they accept pictures."""


def capabilities(prefix: str, model: str) -> dict[str, bool | None]:
    """Capabilities of a vendor's model: tools, thinking and images; empty if unknown.

    Args:
        prefix: The vendor, the part before the colon.
        model: The part after the colon.
    """
    family = _FAMILIES.get(prefix.partition("-")[0])
    profile = family(model) if family is not None else None
    if profile is None:
        return {}
    tools, thinking = profile.get("supports_tools", True), profile.get("supports_thinking", False)
    return {"tools": tools, "thinking": thinking, "images": True if model.startswith(_SEEING) else None}
