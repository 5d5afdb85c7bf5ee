"""Providers of models, each declared once: names, keys, addresses, and what is known without asking.

Light enough for startup: pydantic-ai and the SDKs are imported where a model is made.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from tui_app.records import frozen

OFFLINE = "offline"
OFFLINE_MODEL = f"{OFFLINE}:extractive"
"""The built-in model: needs no key and no network."""
DEMO = "demo"
SEARCHING = frozenset({OFFLINE, DEMO})
"""Providers whose models search, or play a recording: they are not told how full the window is."""
GGUF = "gguf"
OPENAI = "openai"
OPENAI_CHAT = "openai-chat"
OPENAI_RESPONSES = "openai-responses"
ANTHROPIC = "anthropic"
GOOGLE = "google"
GROQ = "groq"
MISTRAL = "mistral"
DEEPSEEK = "deepseek"
GATEWAY = "gateway"
PROTOCOLS = (OPENAI_CHAT, OPENAI, ANTHROPIC, GOOGLE)
"""Protocols of endpoints, named like the prefixes of model names; ``openai`` is the Responses API."""


@frozen
class Provider:
    """A provider, by the prefix of its model names."""

    name: str
    keys: tuple[str, ...] = ()
    """Environment variables of its key, the usual one first."""
    key_check: str = ""
    """Address that checks a key at no cost."""
    package: str = "openai"
    """The SDK it needs."""
    sdk_reads_key: bool = False
    """Whether pydantic-ai reads the key itself, only from the process environment, and may do without."""
    url: str = ""
    """Its address, if the model is made with it."""
    url_variable: str = ""
    """Environment variable that changes the address."""
    port: int = 0
    """Default port of a server on this machine."""
    reserved: bool = False
    """Whether no endpoint may have the same name."""
    any_model: bool = False
    """Whether it serves models that are in no list."""
    start: str = ""
    """How to start its server on this machine, as a request to the user."""


_OPENAI_URL = "https://api.openai.com/v1"
_ANTHROPIC_URL = "https://api.anthropic.com"
_GOOGLE_URL = "https://generativelanguage.googleapis.com"
_openai = partial(
    Provider, keys=("OPENAI_API_KEY",), url=_OPENAI_URL, url_variable="OPENAI_BASE_URL", reserved=True
)
_ALL = (
    Provider(OFFLINE, reserved=True),
    Provider(GGUF, reserved=True),
    _openai(OPENAI, key_check=f"{_OPENAI_URL}/models"),
    _openai(OPENAI_CHAT),
    _openai(OPENAI_RESPONSES),
    Provider("openai-decisions", ("OPENAI_API_KEY",), url_variable="OPENAI_BASE_URL"),
    Provider(
        ANTHROPIC,
        ("ANTHROPIC_API_KEY",),
        f"{_ANTHROPIC_URL}/v1/models",
        "anthropic",
        url=_ANTHROPIC_URL,
        url_variable="ANTHROPIC_BASE_URL",
        reserved=True,
    ),
    Provider(
        GOOGLE,
        ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        f"{_GOOGLE_URL}/v1beta/models",
        url=_GOOGLE_URL,
        url_variable="GOOGLE_GEMINI_BASE_URL",
        reserved=True,
    ),
    Provider(
        "openrouter",
        ("OPENROUTER_API_KEY",),
        # Its list of models is public; this address checks the key.
        "https://openrouter.ai/api/v1/key",
        reserved=True,
        any_model=True,
    ),
    Provider(GROQ, ("GROQ_API_KEY",), "https://api.groq.com/openai/v1/models", "groq"),
    Provider(MISTRAL, ("MISTRAL_API_KEY",), "https://api.mistral.ai/v1/models", "mistralai"),
    Provider(DEEPSEEK, ("DEEPSEEK_API_KEY",), "https://api.deepseek.com/models"),
    Provider("xai", ("XAI_API_KEY",), "https://api.x.ai/v1/models", "xai_sdk"),
    Provider("cohere", ("CO_API_KEY",), "https://api.cohere.com/v1/models", "cohere"),
    Provider("cerebras", ("CEREBRAS_API_KEY",), "https://api.cerebras.ai/v1/models"),
    Provider("crusoe", ("CRUSOE_API_KEY",)),
    Provider("moonshotai", ("MOONSHOTAI_API_KEY",), "https://api.moonshot.ai/v1/models"),
    Provider("zai", ("ZAI_API_KEY",)),
    Provider("meta", ("META_API_KEY",)),
    Provider("huggingface", ("HF_TOKEN",), package="huggingface_hub"),
    Provider("heroku", ("HEROKU_INFERENCE_KEY",)),
    Provider("together", ("TOGETHER_API_KEY",)),
    Provider("fireworks", ("FIREWORKS_API_KEY",)),
    Provider("alibaba", ("ALIBABA_API_KEY", "DASHSCOPE_API_KEY")),
    Provider("vercel", ("VERCEL_AI_GATEWAY_API_KEY",)),
    Provider("sambanova", ("SAMBANOVA_API_KEY",)),
    Provider("nebius", ("NEBIUS_API_KEY",)),
    Provider("ovhcloud", ("OVHCLOUD_API_KEY",)),
    Provider(GATEWAY, ("PYDANTIC_AI_GATEWAY_API_KEY", "PAIG_API_KEY")),
    Provider("bedrock", package="boto3"),
    Provider("azure", ("AZURE_OPENAI_API_KEY",), sdk_reads_key=True),
    Provider("github", ("GITHUB_API_KEY",), sdk_reads_key=True),
    Provider("grok", ("XAI_API_KEY",), sdk_reads_key=True),
    Provider("litellm", ("LITELLM_API_KEY",), sdk_reads_key=True, any_model=True),
    Provider(
        "ollama",
        ("OLLAMA_API_KEY",),
        sdk_reads_key=True,
        url_variable="OLLAMA_BASE_URL",
        port=11434,
        reserved=True,
        any_model=True,
        start="Start Ollama (ollama serve)",
    ),
    Provider("lmstudio", port=1234, start="Start the server of LM Studio (lms server start)"),
    Provider("llamacpp", port=8080, start="Start llama-server"),
    Provider(
        "vllm",
        ("VLLM_API_KEY",),
        sdk_reads_key=True,
        url_variable="VLLM_BASE_URL",
        port=8000,
        any_model=True,
        start="Start vLLM (vllm serve)",
    ),
)
PROVIDERS: Mapping[str, Provider] = MappingProxyType({each.name: each for each in _ALL})
"""By name. A maker of models comes before a gateway to it."""
_UNKNOWN = Provider(name="")

LOCAL_PORTS: Mapping[str, int] = MappingProxyType({each.name: each.port for each in _ALL if each.port})
"""Default ports of local servers, by the prefix of their models."""
KEY_CHECKS: Mapping[str, str] = MappingProxyType(
    {key: each.key_check for each in _ALL if each.key_check for key in each.keys}
)
"""The address that checks a key, by the key's variable."""
SILENT_HOSTS = ("api.openai.com", "api.anthropic.com", "googleapis.com")
"""Vendors whose list of models has no context windows."""
MODELS_BY_KEY = (
    ("OPENAI_API_KEY", "openai:gpt-5-mini"),
    ("ANTHROPIC_API_KEY", "anthropic:claude-sonnet-4-5"),
)
"""The default model by the key found in the environment; first match wins."""
SHORTLIST = (
    "anthropic:claude-opus-5-5", "anthropic:claude-sonnet-5-5", "anthropic:claude-haiku-5-5",
    "openai:gpt-6.1-sol", "openai:gpt-6.1-terra", "openai:gpt-6-luna",
    "google:gemini-3.1-pro-preview", "google:gemini-3.8-flash", "google:gemini-3.5-flash-lite",
    "groq:openai/gpt-oss-120b", "mistral:mistral-large-latest", "deepseek:deepseek-flash",
)  # fmt: skip
"""A few current models per vendor; all other names work."""


def provider_of(model: str) -> Provider:
    """Return the provider of a model's name or prefix; an empty one if it is not listed."""
    prefix = model.partition(":")[0]
    # A gateway needs its own key, not that of the vendor.
    return PROVIDERS.get(GATEWAY if prefix.startswith(f"{GATEWAY}/") else prefix, _UNKNOWN)


def how_to_start(model: str, port: int | None) -> str:
    """Return how to start a local server, by the model's name, or else by its port."""
    by_port = next((each for each in _ALL if each.port and each.port == port), _UNKNOWN)
    return provider_of(model).start or by_port.start


def required_keys(prefix: str) -> tuple[str, ...]:
    """Return the variables of which one must have a key for a provider to be used."""
    provider = provider_of(prefix)
    return () if provider.sdk_reads_key else provider.keys


def key_variable(model: str) -> str | None:
    """Name the variable of the key for a model's provider (``openai:gpt-5``); None if unknown."""
    return next(iter(provider_of(model.lower()).keys), None)


def key_variables() -> frozenset[str]:
    """Return the names of all variables for keys of known providers."""
    return frozenset(key for each in _ALL for key in each.keys)


def providers_of(variable: str) -> tuple[str, ...]:
    """Return the names of the providers that use a variable's key; none if it is unknown."""
    return tuple(sorted(each.name for each in _ALL if variable in each.keys))
