"""Whether a key is missing, and whether one that was typed in is taken, by one request that costs nothing."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import httpx2

from tui_app.agent.discovery import is_loopback
from tui_app.agent.providers import ANTHROPIC_URL, KEYS, OPENAI_URL, why_not
from tui_app.settings import Endpoint

Verdict = Literal["accepted", "refused", "unknown"]
CHECK_S = 15.0
"""Seconds for the whole question."""
_LISTINGS: Mapping[str, str] = MappingProxyType(
    {
        "OPENAI_API_KEY": f"{OPENAI_URL}/models",
        "ANTHROPIC_API_KEY": f"{ANTHROPIC_URL}/v1/models",
        "GOOGLE_API_KEY": "https://generativelanguage.googleapis.com/v1beta/models",
        "GEMINI_API_KEY": "https://generativelanguage.googleapis.com/v1beta/models",
        # Its list of models is open to everybody; this says whose key it is.
        "OPENROUTER_API_KEY": "https://openrouter.ai/api/v1/key",
        "GROQ_API_KEY": "https://api.groq.com/openai/v1/models",
        "MISTRAL_API_KEY": "https://api.mistral.ai/v1/models",
        "DEEPSEEK_API_KEY": "https://api.deepseek.com/models",
        "XAI_API_KEY": "https://api.x.ai/v1/models",
        "CEREBRAS_API_KEY": "https://api.cerebras.ai/v1/models",
        "CO_API_KEY": "https://api.cohere.com/v1/models",
        "MOONSHOTAI_API_KEY": "https://api.moonshot.ai/v1/models",
    }
)
"""What is asked for a key, by the key's variable."""


@dataclass(frozen=True, slots=True)
class KeyCheck:
    """What came of trying a key."""

    verdict: Verdict
    reason: str = ""
    """Why nothing is known, or the number a refusal carried; never words of the provider's."""


def missing_key(model: str, env: Mapping[str, str], endpoints: Mapping[str, Endpoint]) -> str:
    """Name the variable whose key a model lacks; empty when it lacks none."""
    prefix = model.partition(":")[0]
    if prefix in endpoints:
        name = endpoints[prefix].key_env
        return name if name and not env.get(name) else ""
    names = KEYS.get(prefix, ())
    return names[0] if names and why_not(prefix, env).startswith(f"needs {names[0]}") else ""


def listing_of(name: str, model: str, endpoints: Mapping[str, Endpoint]) -> str:
    """Address that tells whether a key is taken; empty where nobody knows one.

    Args:
        name: The key's variable.
        model: The model that it is for.
        endpoints: The user's own servers.
    """
    endpoint = endpoints.get(model.partition(":")[0])
    if endpoint is None:
        return _LISTINGS.get(name, "")
    base = endpoint.base_url.rstrip("/")
    last = base.rsplit("/", 1)[-1]
    version = "" if last[:1] == "v" and last[1:2].isdigit() else "/v1"
    return f"{base}{version}/models"


async def check_key(url: str, key: str, *, timeout_s: float = CHECK_S) -> KeyCheck:
    """Ask an address with a key; whether it is taken is all that is looked at.

    Args:
        url: A listing; empty where there is none to ask.
        key: The key.
        timeout_s: Seconds for everything together.
    """
    if not url:
        return KeyCheck("unknown", "this provider has nothing to ask that costs nothing")
    headers = {
        "Authorization": f"Bearer {key}",
        "x-api-key": key,
        "x-goog-api-key": key,
        "anthropic-version": "2023-06-01",
    }
    if "googleapis" in url:
        # A bearer there is taken for a token of another kind and refused.
        del headers["Authorization"]
    try:
        async with (
            asyncio.timeout(timeout_s),
            httpx2.AsyncClient(trust_env=not is_loopback(url)) as client,
            client.stream("GET", url, headers=headers) as response,
        ):
            return _judged(response.status_code, google="googleapis" in url)
    except (UnicodeEncodeError, httpx2.InvalidURL):
        return KeyCheck("refused", "it has characters that no key has")
    except (httpx2.HTTPError, OSError, TimeoutError):
        return KeyCheck("unknown", "the provider did not answer")


def _judged(status: int, *, google: bool) -> KeyCheck:
    if status in (401, 403) or (google and status == 400):
        return KeyCheck("refused", f"HTTP {status}")
    if status == 200:
        return KeyCheck("accepted")
    return KeyCheck("unknown", f"the provider answered HTTP {status}")
