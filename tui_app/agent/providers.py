"""From a provider's name to a ready pydantic-ai provider: keys, addresses, retries.

Vendor SDKs cost one to three seconds to import, so each is imported where its model is made.

SDK clients repeat a failed request twice on their own. That is switched off wherever the client allows it:
whoever runs the turn decides about retries and can show them, and the two would multiply.
"""

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

from pydantic_ai.providers import Provider, infer_provider, infer_provider_class

NO_KEY = "not-needed"
"""Sent to a server of the user's own that asks for no key; the SDKs refuse to send none."""
OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"

KEYS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "openai": ("OPENAI_API_KEY",),
        "openai-chat": ("OPENAI_API_KEY",),
        "openai-responses": ("OPENAI_API_KEY",),
        "openai-decisions": ("OPENAI_API_KEY",),
        "anthropic": ("ANTHROPIC_API_KEY",),
        "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        "openrouter": ("OPENROUTER_API_KEY",),
        "groq": ("GROQ_API_KEY",),
        "mistral": ("MISTRAL_API_KEY",),
        "deepseek": ("DEEPSEEK_API_KEY",),
        "xai": ("XAI_API_KEY",),
        "cohere": ("CO_API_KEY",),
        "cerebras": ("CEREBRAS_API_KEY",),
        "crusoe": ("CRUSOE_API_KEY",),
        "moonshotai": ("MOONSHOTAI_API_KEY",),
        "zai": ("ZAI_API_KEY",),
        "meta": ("META_API_KEY",),
        "huggingface": ("HF_TOKEN",),
        "heroku": ("HEROKU_INFERENCE_KEY",),
        "together": ("TOGETHER_API_KEY",),
        "fireworks": ("FIREWORKS_API_KEY",),
        "alibaba": ("ALIBABA_API_KEY", "DASHSCOPE_API_KEY"),
        "vercel": ("VERCEL_AI_GATEWAY_API_KEY",),
        "sambanova": ("SAMBANOVA_API_KEY",),
        "nebius": ("NEBIUS_API_KEY",),
        "ovhcloud": ("OVHCLOUD_API_KEY",),
        "gateway": ("PYDANTIC_AI_GATEWAY_API_KEY", "PAIG_API_KEY"),
    }
)
"""Environment variables that hold a provider's key, by the prefix of its model names."""
_BASE_URLS = MappingProxyType({"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"})
_PACKAGES = MappingProxyType(
    {
        "anthropic": "anthropic", "groq": "groq", "mistral": "mistralai", "cohere": "cohere",
        "xai": "xai_sdk", "bedrock": "boto3", "huggingface": "huggingface_hub",
    }
)  # fmt: skip
"""What a provider needs beyond the OpenAI SDK, by the prefix of its model names."""


def why_not(prefix: str, env: Mapping[str, str]) -> str:
    """Say what keeps a provider from being used, such as ``needs OPENAI_API_KEY``; else empty."""
    package = _PACKAGES.get(prefix.removeprefix("gateway/"), "openai")
    if find_spec(package) is None:
        return f"needs the Python package {package}"
    family = "gateway" if prefix.startswith("gateway/") else prefix
    keys = KEYS.get(family, ())
    url = _BASE_URLS.get(family.partition("-")[0], "")
    if not keys or any(env.get(key) for key in keys) or (url and env.get(url)):
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
    if prefix in ("openai", "openai-chat", "openai-responses"):
        return openai_provider(env.get("OPENAI_BASE_URL") or OPENAI_URL, env.get("OPENAI_API_KEY", ""))
    if prefix == "anthropic":
        address = env.get("ANTHROPIC_BASE_URL") or ANTHROPIC_URL
        return anthropic_provider(address, env.get("ANTHROPIC_API_KEY", ""))
    return without_retries(_keyed(prefix, env) or infer_provider(prefix))


def _keyed(prefix: str, env: Mapping[str, str]) -> Provider[Any] | None:
    """A provider whose key stands elsewhere than in the process environment, which has no say then."""
    key = next((env[name] for name in KEYS.get(prefix, ()) if env.get(name)), "")
    if not key or any(os.environ.get(name) == key for name in KEYS[prefix]):
        return None
    maker: Callable[..., Provider[Any]] = infer_provider_class(prefix)
    return maker(api_key=key)


def openai_provider(base_url: str, key: str) -> Provider[Any]:
    """Make a provider for OpenAI or a proxy in front of it."""
    from pydantic_ai.providers.openai import OpenAIProvider

    return without_retries(OpenAIProvider(base_url=base_url, api_key=key or NO_KEY))


def compatible_provider(name: str, base_url: str, key: str) -> Provider[Any]:
    """Make a provider for a server of another maker that speaks OpenAI's protocols."""
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    return without_retries(OpenAICompatibleProvider(name, base_url=base_url, api_key=key or NO_KEY))


def anthropic_provider(base_url: str, key: str) -> Provider[Any]:
    """Make a provider for Anthropic or a server that speaks its protocol."""
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return without_retries(AnthropicProvider(base_url=base_url, api_key=key or NO_KEY))


def google_provider(base_url: str, key: str) -> Provider[Any]:
    """Make a provider for a server that speaks the Gemini protocol; its SDK does not repeat by itself."""
    from pydantic_ai.providers.google import GoogleProvider

    return GoogleProvider(base_url=base_url, api_key=key or NO_KEY)


def without_retries(provider: Provider[Any]) -> Provider[Any]:
    """Switch off the SDK client's own repeating, where it has any."""
    client = provider.client
    if isinstance(client, _Repeating):
        client.max_retries = 0
    return provider
