"""From a model's name to a model, and from a model to the size of its window."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model, known_model_names
from pydantic_ai.profiles import ModelProfile

from tui_app.agent.discovery import USUAL_PORTS, NoAnswer, NoListing, ask_listing, local_base_url
from tui_app.agent.gguf import NoLlama, UnusableFile, gguf_model
from tui_app.agent.offline.model import OfflineModel
from tui_app.agent.providers import (
    KEYS,
    anthropic_provider,
    compatible_provider,
    google_provider,
    vendor_provider,
    why_not,
)
from tui_app.agent.quiet import keep_library_quiet
from tui_app.context.counting.prices import PricedProfile
from tui_app.paths import from_home
from tui_app.settings import Endpoint

OFFLINE = "offline:extractive"
NO_ENDPOINTS: Mapping[str, Endpoint] = MappingProxyType({})
_OWN_VARIABLE = MappingProxyType({"ollama": "OLLAMA_BASE_URL", "vllm": "VLLM_BASE_URL"})
"""Variables that move a local server somewhere else; pydantic-ai reads them itself."""
_SILENT_HOSTS = ("api.openai.com", "api.anthropic.com", "googleapis.com")
"""Vendors whose listing says nothing about windows."""


class UnknownModel(ValueError):
    """No model can be made from a name; the text is a sentence for a person."""


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
    keep_library_quiet()
    prefix, _, rest = name.partition(":")
    if name == OFFLINE:
        return OfflineModel()
    if prefix == "gguf" and rest:
        return _file_model(from_home(rest))
    if prefix in endpoints and rest:
        return _endpoint_model(endpoints[prefix], rest, env)
    if prefix in USUAL_PORTS and rest and not env.get(_OWN_VARIABLE.get(prefix, ""), ""):
        return _compatible(prefix, local_base_url(USUAL_PORTS[prefix]), "", rest, None)
    return _vendor_model(name, prefix, env, endpoints)


def _file_model(path: Path) -> Model[Any]:
    try:
        return gguf_model(path)
    except NoLlama as error:
        raise ModelNotReady(str(error)) from error
    except UnusableFile as error:
        raise UnknownModel(str(error)) from error


def known_window(model: Model[Any]) -> int | None:
    """Tokens of one request as pydantic-ai and its price data know them; None when they do not."""
    return model.context_window


async def server_window(model: Model[Any], *, timeout_s: float = 2.0) -> int | None:
    """Ask the model's own server how large its window is. Never raises.

    Args:
        model: The model to ask for; only servers with an OpenAI-like listing answer.
        timeout_s: Seconds after which the question is given up.

    Returns:
        Tokens of one request, or None when the server does not say.
    """
    try:
        return await ask_window(model, timeout_s=timeout_s)
    except NoAnswer:
        return None


async def ask_window(model: Model[Any], *, timeout_s: float = 2.0) -> int | None:
    """As ``server_window``, for who asks again when nobody answered.

    Args:
        model: The model to ask for; only servers with an OpenAI-like listing answer.
        timeout_s: Seconds after which the question is given up.

    Returns:
        Tokens of one request, or None when the server does not say.

    Raises:
        NoAnswer: if the server did not answer.
    """
    provider = model.provider
    url = provider.base_url if provider is not None else ""
    host = urlsplit(url).hostname or ""
    if provider is None or not host or host.endswith(_SILENT_HOSTS):
        return None
    try:
        models = await ask_listing(url, headers=_credentials(provider.client), timeout_s=timeout_s)
    except NoListing:
        return None
    named = [each.window for each in models if each.id == model.model_name]
    return named[0] if named else models[0].window if len(models) == 1 else None


@runtime_checkable
class _Keyed(Protocol):
    """An SDK client that knows its key."""

    api_key: str | None


def _credentials(client: object) -> dict[str, str]:
    """The headers that OpenAI's and Anthropic's protocols carry a key in."""
    if not isinstance(client, _Keyed) or not isinstance(client.api_key, str):
        return {}
    return {"Authorization": f"Bearer {client.api_key}", "x-api-key": client.api_key}


def _endpoint_model(endpoint: Endpoint, model: str, env: Mapping[str, str]) -> Model[Any]:
    key = env.get(endpoint.key_env, "") if endpoint.key_env else ""
    if endpoint.key_env and not key:
        raise ModelNotReady(
            f"The endpoint {endpoint.name} needs a key in {endpoint.key_env}, which is not set."
        )
    profile = _profile(endpoint)
    match endpoint.protocol:
        case "anthropic":
            from pydantic_ai.models.anthropic import AnthropicModel

            return AnthropicModel(model, provider=anthropic_provider(endpoint.base_url, key), profile=profile)
        case "google":
            from pydantic_ai.models.google import GoogleModel

            return GoogleModel(model, provider=google_provider(endpoint.base_url, key), profile=profile)
        case "openai" | "openai-responses":
            from pydantic_ai.models.openai import OpenAIResponsesModel

            provider = compatible_provider(endpoint.name, endpoint.base_url, key)
            return OpenAIResponsesModel(model, provider=provider, profile=profile)
        case _:
            return _compatible(endpoint.name, endpoint.base_url, key, model, profile)


def _compatible(name: str, base_url: str, key: str, model: str, profile: ModelProfile | None) -> Model[Any]:
    from pydantic_ai.models.openai import OpenAIChatModel

    provider = compatible_provider(name, base_url, key)
    return OpenAIChatModel(model, provider=provider, profile=profile)


def _profile(endpoint: Endpoint) -> ModelProfile | None:
    """What a person has set about the models of a server; None leaves all to what is known."""
    profile = PricedProfile()
    if endpoint.window:
        profile["context_window"] = endpoint.window
    if endpoint.price_in is not None and endpoint.price_out is not None:
        profile["price_in"], profile["price_out"] = endpoint.price_in, endpoint.price_out
    return profile or None


def _vendor_model(
    name: str, prefix: str, env: Mapping[str, str], endpoints: Mapping[str, Endpoint]
) -> Model[Any]:
    lacking = why_not(prefix, env)
    if not name.partition(":")[2] and name != "test":
        raise UnknownModel(_unknown(name, endpoints))
    if lacking:
        raise ModelNotReady(f"{name} {lacking}.")
    try:
        return infer_model(name, lambda provider: vendor_provider(provider, env))
    except ImportError as error:
        raise ModelNotReady(f"{name} needs a Python package that is not installed: {error}") from error
    except (UserError, ValueError) as error:
        if _known_prefix(prefix):
            raise ModelNotReady(f"{name} is not ready: {' '.join(str(error).split())}") from error
        raise UnknownModel(_unknown(name, endpoints)) from error


def _known_prefix(prefix: str) -> bool:
    known = {each.partition(":")[0] for each in known_model_names()}
    return prefix in known or prefix in ("openrouter", "ollama", "vllm", "litellm")


def _unknown(name: str, endpoints: Mapping[str, Endpoint]) -> str:
    close = closest(name, endpoints)
    hint = f" Did you mean {' or '.join(close)}?" if close else " `plimsoll models` lists what there is."
    return f"There is no model {name!r:.200}.{hint}"


def _rank(name: str) -> int:
    """Whoever makes a model comes before a gateway to it."""
    prefix = name.partition(":")[0]
    return list(KEYS).index(prefix) if prefix in KEYS else len(KEYS)


def closest(name: str, endpoints: Mapping[str, Endpoint] = NO_ENDPOINTS) -> Sequence[str]:
    """Names of existing models that look most like ``name``, best first, at most three."""
    vendors = sorted((each for each in known_model_names() if ":" in each), key=_rank)
    names = [OFFLINE, *(f"{endpoint}:" for endpoint in endpoints), *vendors]
    provider = name.rstrip(":")
    begun = [each for each in names if provider and each.startswith(f"{provider}:")]
    if begun:
        return begun[:3]
    if exact := [each for each in names if each.partition(":")[2] == name]:
        return exact[:3]
    bare = {each.partition(":")[2]: each for each in reversed(names)}
    direct = get_close_matches(name, names, n=3, cutoff=0.7)
    return direct or [bare[each] for each in get_close_matches(name, list(bare), n=3, cutoff=0.7)]
