"""The list of models: the user's endpoints, local servers, vendors with a key, and offline."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal

import genai_prices
import httpx2
from pydantic_ai.models import Model, known_model_names

from tui_app.agent import model_lists as discovery
from tui_app.agent.model_lists import LocalServer, NoAnswer, key_headers
from tui_app.agent.models import ModelNotReady, ask_endpoint, capabilities, why_not
from tui_app.agent.network.addresses import address_of, is_loopback, same_server
from tui_app.agent.network.network import NoRoute, http_client, is_untrusted
from tui_app.agent.offline.model import CONTEXT_WINDOW
from tui_app.context.counting.prices import priced_as
from tui_app.providers import (
    GOOGLE,
    KEY_CHECKS,
    LOCAL_PORTS,
    OFFLINE_MODEL,
    OPENAI_CHAT,
    PROVIDERS,
    SHORTLIST,
    required_keys,
)
from tui_app.records import frozen
from tui_app.settings import Endpoint

Verdict = Literal["accepted", "refused", "unknown"]
CHECK_S = 15.0
"""Timeout in seconds for the whole check."""


@frozen
class KeyCheck:
    """The result of testing a key."""

    verdict: Verdict
    reason: str = ""
    """Why the result is unknown, or the HTTP status of a refusal; never the provider's own words."""


def missing_key(model: str, env: Mapping[str, str], endpoints: Mapping[str, Endpoint]) -> str:
    """Name of the variable with a model's missing key; empty if none is missing."""
    prefix = model.partition(":")[0]
    if prefix in endpoints:
        name = endpoints[prefix].key_env
        return name if name and not env.get(name) else ""
    names = required_keys(prefix)
    return names[0] if names and why_not(prefix, env).startswith(f"needs {names[0]}") else ""


def listing_of(name: str, model: str, endpoints: Mapping[str, Endpoint]) -> str:
    """Address that tells whether a key is accepted; empty if none is known.

    Args:
        name: The key's variable.
        model: The model it is for.
        endpoints: The user's own servers.
    """
    endpoint = endpoints.get(model.partition(":")[0])
    return KEY_CHECKS.get(name, "") if endpoint is None else f"{address_of(endpoint).url}/models"


async def check_key(url: str, key: str) -> KeyCheck:
    """Ask an address with a key; whether it is accepted is all that is looked at.

    Args:
        url: A listing; empty if there is none.
        key: The key.
    """
    if not url:
        return KeyCheck("unknown", "this provider offers no free way to test a key")
    headers = key_headers(key, GOOGLE if "googleapis" in url else OPENAI_CHAT)
    try:
        async with (
            asyncio.timeout(CHECK_S),
            http_client(headers=headers, timeout=CHECK_S) as client,
            client.stream("GET", url) as response,
        ):
            status = response.status_code
    except (UnicodeEncodeError, httpx2.InvalidURL):
        return KeyCheck("refused", "it has characters that are not valid in a key")
    except (httpx2.HTTPError, OSError, TimeoutError) as error:
        why = str(error).rstrip(".") if isinstance(error, NoRoute) else "the provider did not answer"
        return KeyCheck(
            "unknown", "the provider's certificate is not trusted here" if is_untrusted(error) else why
        )
    if status in (401, 403) or ("googleapis" in url and status == 400):
        return KeyCheck("refused", f"HTTP {status}")
    if status == 200:
        return KeyCheck("accepted")
    return KeyCheck("unknown", f"the provider answered HTTP {status}")


NONE_READY: Mapping[str, Model] = MappingProxyType({})


@frozen
class ModelChoice:
    """One row of the model picker."""

    name: str
    """The model's full name."""
    label: str
    """The name for the user: the model, then where it runs."""
    window: int | None
    """Tokens of one request; None if unknown."""
    window_source: str
    """``setting``, ``server``, ``model`` or ``default``."""
    available: bool
    why_not: str = ""
    """What is missing, such as ``needs OPENAI_API_KEY``; empty if it can be used."""
    local: bool = False
    """Whether it runs on this machine."""
    needs_key: str = ""
    """Variable of the key, if only that is missing; otherwise empty."""
    price: str = ""
    """Dollars per million tokens in and out, for the user; empty if unknown."""
    price_in: float | None = None
    """US dollars per million input tokens; None if unknown."""
    price_out: float | None = None
    """US dollars per million output tokens; None if unknown."""
    tools: bool | None = None
    """Whether it can call tools; None if unknown."""
    thinking: bool | None = None
    images: bool | None = None


_FREE: Mapping[str, Any] = {"local": True, "price": "free", "price_in": 0.0, "price_out": 0.0}
"""Facts of models that run on this machine."""


async def list_models(
    *,
    env: Mapping[str, str],
    endpoints: Mapping[str, Endpoint],
    discover: bool = True,
    everything: bool = False,
    ports: Mapping[str, int] = LOCAL_PORTS,
    ready: Mapping[str, Model] = NONE_READY,
) -> list[ModelChoice]:
    """List models: the user's endpoints, local servers, offline, vendors with a key, then those without.

    A server in ``OPENAI_BASE_URL`` counts as one of the endpoints.

    Args:
        env: Keys and addresses.
        endpoints: The user's own servers, by name.
        discover: Whether to ask local servers and endpoints; otherwise nothing is contacted.
        everything: Whether to list every name that pydantic-ai knows instead of a shortlist.
        ports: Loopback ports to ask, by server name.
        ready: Models built elsewhere, by name: those of the user's own agent, or of the demo.
    """
    own: list[ModelChoice] = []
    servers: list[LocalServer] = []
    if discover:
        moved = _moved_openai(env, endpoints)
        asked = asyncio.gather(*(_endpoint_choices(each, env) for each in (*endpoints.values(), *moved)))
        servers, listed = await asyncio.gather(discovery.discover(ports=ports), asked)
        if moved and any(same_server(each.base_url, moved[0].base_url) for each in servers):
            listed.pop()
        own = [choice for choices in listed for choice in choices]
    names = known_model_names() if everything else SHORTLIST
    vendors = [_vendor_choice(name, env) for name in names if ":" in name and name not in ready]
    return [
        *(_ready_choice(name, model) for name, model in ready.items()),
        *own,
        *(
            _choice(
                f"{server.name}:{model}", f"{model} · {server.name}, this machine", window, "server", **_FREE
            )
            for server in servers
            for model, window in server.models.items()
        ),
        _OFFLINE_CHOICE,
        *sorted(vendors, key=lambda choice: not choice.available),
    ]


def _choice(
    name: str, label: str, window: int | None, source: str, why_not: str = "", **facts: Any
) -> ModelChoice:
    return ModelChoice(
        name, label, window, source if window else "default", not why_not, why_not=why_not, **facts
    )


def _ready_choice(name: str, model: Model) -> ModelChoice:
    prefix, _, short = name.partition(":")
    free = model.profile.get("price_in") == model.profile.get("price_out") == 0.0
    label = f"{short} · {prefix}"
    return _choice(name, label, model.context_window, "model", **(_FREE if free else {}))


def _moved_openai(env: Mapping[str, str], endpoints: Mapping[str, Endpoint]) -> Sequence[Endpoint]:
    """The server in ``OPENAI_BASE_URL``, unless that is OpenAI itself or already an endpoint."""
    chat = PROVIDERS[OPENAI_CHAT]
    url, key = env.get(chat.url_variable, "").rstrip("/"), chat.keys[0]
    known = (chat.url, *(endpoint.base_url for endpoint in endpoints.values()))
    if not url or OPENAI_CHAT in endpoints or any(same_server(url, each) for each in known):
        return ()
    return (Endpoint(name=OPENAI_CHAT, base_url=url, key_env=key if env.get(key) else ""),)


_OFFLINE_CHOICE = _choice(
    OFFLINE_MODEL,
    "extractive · built in, finds and quotes passages",
    CONTEXT_WINDOW,
    "model",
    tools=True,
    thinking=False,
    images=False,
    **_FREE,
)


async def _endpoint_choices(endpoint: Endpoint, env: Mapping[str, str]) -> list[ModelChoice]:
    """The models an endpoint lists, or one row that tells why there are none."""
    if endpoint.key_env and not env.get(endpoint.key_env):
        return [_closed(endpoint, f"needs {endpoint.key_env}", needs_key=endpoint.key_env)]
    where = endpoint.base_url
    try:
        models = await ask_endpoint(endpoint, env)
    except ModelNotReady as error:
        return [_closed(endpoint, str(error).rstrip("."))]
    except NoAnswer:
        return [_closed(endpoint, f"does not answer: {where}")]
    except discovery.NoListing as error:
        if isinstance(error, discovery.AccessRefused) and not endpoint.key_env:
            where = f"name its key in endpoints.{endpoint.name}.key_env"
            if endpoint.name == OPENAI_CHAT:
                where = f"set {PROVIDERS[OPENAI_CHAT].keys[0]}"
        return [_closed(endpoint, f"{error}: {where}")]
    prices = _prices(endpoint.price_in, endpoint.price_out)
    source = "setting" if endpoint.window else "server"
    return [
        _choice(
            f"{endpoint.name}:{model}",
            f"{model} · {endpoint.name}",
            endpoint.window or window,
            source,
            local=is_loopback(endpoint.base_url),
            **prices,
        )
        for model, window in models.items()
    ]


def _closed(endpoint: Endpoint, reason: str, *, needs_key: str = "") -> ModelChoice:
    name, local = endpoint.name, is_loopback(endpoint.base_url)
    return _choice(f"{name}:", name, endpoint.window, "setting", reason, needs_key=needs_key, local=local)


def _vendor_choice(name: str, env: Mapping[str, str]) -> ModelChoice:
    prefix, _, model = name.partition(":")
    window, price_in, price_out = _facts(prefix, model)
    return _choice(
        name,
        f"{model} · {prefix}",
        window,
        "model",
        why_not(prefix, env),
        needs_key=missing_key(name, env, {}),
        **capabilities(prefix, model),
        **_prices(price_in, price_out),
    )


def _facts(prefix: str, model: str) -> tuple[int | None, float | None, float | None]:
    """Window, and prices per million tokens in and out, from pydantic-ai's price data."""
    usage = genai_prices.Usage(input_tokens=1_000, output_tokens=1_000)
    # Some providers are cheaper at night (UTC): always list the daytime price.
    noon = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    for provider in priced_as(prefix):
        try:
            found = genai_prices.calc_price(usage, model, provider_id=provider, genai_request_timestamp=noon)
        except LookupError:
            continue
        prices = float(found.input_price * 1_000), float(found.output_price * 1_000)
        return found.model.context_window, *prices
    return None, None, None


def listed_window(name: str) -> int | None:
    """Window of a model by its name alone, in tokens; None if no list has it."""
    prefix, _, model = name.partition(":")
    return _facts(prefix, model)[0]


def price_text(price_in: float | None, price_out: float | None) -> str:
    """``$1.25 in, $10 out``; empty unless both are known."""
    if price_in is None or price_out is None:
        return ""
    dollars = (f"{amount:.2f}".removesuffix(".00") for amount in (price_in, price_out))
    return "${} in, ${} out".format(*dollars)


def _prices(price_in: float | None, price_out: float | None) -> dict[str, Any]:
    return {"price": price_text(price_in, price_out), "price_in": price_in, "price_out": price_out}
