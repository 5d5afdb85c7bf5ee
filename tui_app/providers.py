"""Providers of models, each declared once: names, keys, addresses, what is known of them without asking.

Light enough for the start: pydantic-ai and the SDKs are loaded where a model is made.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from tui_app.records import frozen

OFFLINE = "offline"
OFFLINE_MODEL = f"{OFFLINE}:extractive"
"""The embedded model: needs no key and no network."""
DEMO = "demo"
SEARCHING = frozenset({OFFLINE, DEMO})
"""Providers whose models search, or say what was recorded: of the window they are told nothing."""
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
"""What an endpoint may speak, named like the prefixes of model names; ``openai`` is the Responses API."""


@frozen(kw_only=True)
class Provider:
    """A provider, by the prefix of its model names."""

    name: str
    keys: tuple[str, ...] = ()
    """Environment variables that hold its key, the usual one first."""
    sdk_reads_key: bool = False
    """Whether pydantic-ai reads the key itself, from the process environment alone, and may do without."""
    url: str = ""
    """Its address, where the model is made with it."""
    url_variable: str = ""
    """Environment variable that moves it somewhere else."""
    key_check: str = ""
    """Address that tells at no cost whether a key is taken."""
    package: str = "openai"
    """SDK that it needs."""
    port: int = 0
    """Where a server on this machine listens unless told otherwise."""
    reserved: bool = False
    """Whether no endpoint may be named like it."""
    any_model: bool = False
    """Whether it serves models that no list names."""
    start: str = ""
    """How its server on this machine is started, as a request to the user."""


_OPENAI_URL = "https://api.openai.com/v1"
_ANTHROPIC_URL = "https://api.anthropic.com"
_GOOGLE_URL = "https://generativelanguage.googleapis.com"
_openai = partial(
    Provider, keys=("OPENAI_API_KEY",), url=_OPENAI_URL, url_variable="OPENAI_BASE_URL", reserved=True
)
_ALL = (
    Provider(name=OFFLINE, reserved=True),
    Provider(name=GGUF, reserved=True),
    _openai(name=OPENAI, key_check=f"{_OPENAI_URL}/models"),
    _openai(name=OPENAI_CHAT),
    _openai(name=OPENAI_RESPONSES),
    Provider(name="openai-decisions", keys=("OPENAI_API_KEY",), url_variable="OPENAI_BASE_URL"),
    Provider(
        name=ANTHROPIC,
        keys=("ANTHROPIC_API_KEY",),
        url=_ANTHROPIC_URL,
        url_variable="ANTHROPIC_BASE_URL",
        key_check=f"{_ANTHROPIC_URL}/v1/models",
        package="anthropic",
        reserved=True,
    ),
    Provider(
        name=GOOGLE,
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        url=_GOOGLE_URL,
        url_variable="GOOGLE_GEMINI_BASE_URL",
        key_check=f"{_GOOGLE_URL}/v1beta/models",
        reserved=True,
    ),
    Provider(
        name="openrouter",
        keys=("OPENROUTER_API_KEY",),
        # Its list of models is open to everybody; this says whose key it is.
        key_check="https://openrouter.ai/api/v1/key",
        reserved=True,
        any_model=True,
    ),
    Provider(
        name=GROQ,
        keys=("GROQ_API_KEY",),
        key_check="https://api.groq.com/openai/v1/models",
        package="groq",
    ),
    Provider(
        name=MISTRAL,
        keys=("MISTRAL_API_KEY",),
        key_check="https://api.mistral.ai/v1/models",
        package="mistralai",
    ),
    Provider(name=DEEPSEEK, keys=("DEEPSEEK_API_KEY",), key_check="https://api.deepseek.com/models"),
    Provider(name="xai", keys=("XAI_API_KEY",), key_check="https://api.x.ai/v1/models", package="xai_sdk"),
    Provider(
        name="cohere", keys=("CO_API_KEY",), key_check="https://api.cohere.com/v1/models", package="cohere"
    ),
    Provider(name="cerebras", keys=("CEREBRAS_API_KEY",), key_check="https://api.cerebras.ai/v1/models"),
    Provider(name="crusoe", keys=("CRUSOE_API_KEY",)),
    Provider(name="moonshotai", keys=("MOONSHOTAI_API_KEY",), key_check="https://api.moonshot.ai/v1/models"),
    Provider(name="zai", keys=("ZAI_API_KEY",)),
    Provider(name="meta", keys=("META_API_KEY",)),
    Provider(name="huggingface", keys=("HF_TOKEN",), package="huggingface_hub"),
    Provider(name="heroku", keys=("HEROKU_INFERENCE_KEY",)),
    Provider(name="together", keys=("TOGETHER_API_KEY",)),
    Provider(name="fireworks", keys=("FIREWORKS_API_KEY",)),
    Provider(name="alibaba", keys=("ALIBABA_API_KEY", "DASHSCOPE_API_KEY")),
    Provider(name="vercel", keys=("VERCEL_AI_GATEWAY_API_KEY",)),
    Provider(name="sambanova", keys=("SAMBANOVA_API_KEY",)),
    Provider(name="nebius", keys=("NEBIUS_API_KEY",)),
    Provider(name="ovhcloud", keys=("OVHCLOUD_API_KEY",)),
    Provider(name=GATEWAY, keys=("PYDANTIC_AI_GATEWAY_API_KEY", "PAIG_API_KEY")),
    Provider(name="bedrock", package="boto3"),
    Provider(name="azure", keys=("AZURE_OPENAI_API_KEY",), sdk_reads_key=True),
    Provider(name="github", keys=("GITHUB_API_KEY",), sdk_reads_key=True),
    Provider(name="grok", keys=("XAI_API_KEY",), sdk_reads_key=True),
    Provider(name="litellm", keys=("LITELLM_API_KEY",), sdk_reads_key=True, any_model=True),
    Provider(
        name="ollama",
        keys=("OLLAMA_API_KEY",),
        sdk_reads_key=True,
        url_variable="OLLAMA_BASE_URL",
        port=11434,
        reserved=True,
        any_model=True,
        start="Start Ollama (ollama serve)",
    ),
    Provider(name="lmstudio", port=1234, start="Start the server of LM Studio (lms server start)"),
    Provider(name="llamacpp", port=8080, start="Start llama-server"),
    Provider(
        name="vllm",
        keys=("VLLM_API_KEY",),
        sdk_reads_key=True,
        url_variable="VLLM_BASE_URL",
        port=8000,
        any_model=True,
        start="Start vLLM (vllm serve)",
    ),
)
PROVIDERS: Mapping[str, Provider] = MappingProxyType({each.name: each for each in _ALL})
"""By name. Whoever makes a model comes before a gateway to it."""
_UNKNOWN = Provider(name="")

LOCAL_PORTS: Mapping[str, int] = MappingProxyType({each.name: each.port for each in _ALL if each.port})
"""Where local servers listen unless told otherwise, by the name their models are given here."""
KEY_CHECKS: Mapping[str, str] = MappingProxyType(
    {key: each.key_check for each in _ALL if each.key_check for key in each.keys}
)
"""What is asked for a key, by the key's variable."""
SILENT_HOSTS = ("api.openai.com", "api.anthropic.com", "googleapis.com")
"""Vendors whose listing says nothing about windows."""
MODELS_BY_KEY = (
    ("OPENAI_API_KEY", "openai:gpt-5-mini"),
    ("ANTHROPIC_API_KEY", "anthropic:claude-sonnet-4-5"),
)
"""Which model a user most likely wants when the only hint is a key in the environment; first match wins."""
SHORTLIST = (
    "anthropic:claude-opus-5-5", "anthropic:claude-sonnet-5-5", "anthropic:claude-haiku-5-5",
    "openai:gpt-6.1-sol", "openai:gpt-6.1-terra", "openai:gpt-6-luna",
    "google:gemini-3.1-pro-preview", "google:gemini-3.8-flash", "google:gemini-3.5-flash-lite",
    "groq:openai/gpt-oss-120b", "mistral:mistral-large-latest", "deepseek:deepseek-flash",
)  # fmt: skip
"""A few current models per vendor; all other names work."""


def provider_of(model: str) -> Provider:
    """Look up the provider of a model's name or prefix; of one that is not listed nothing is known."""
    prefix = model.partition(":")[0]
    # Behind the gateway stands the vendor, whose key is not asked for.
    return PROVIDERS.get(GATEWAY if prefix.startswith(f"{GATEWAY}/") else prefix, _UNKNOWN)


def how_to_start(model: str, port: int | None) -> str:
    """How the server of a model on this machine is started, by the model's name, else by the usual port."""
    by_port = next((each for each in _ALL if each.port and each.port == port), _UNKNOWN)
    return provider_of(model).start or by_port.start


def required_keys(prefix: str) -> tuple[str, ...]:
    """Variables of which one must hold a key for a provider to be used."""
    provider = provider_of(prefix)
    return () if provider.sdk_reads_key else provider.keys


def key_variable(model: str) -> str | None:
    """Name the variable that holds the key of a model's provider (``openai:gpt-5``); None if unknown."""
    return next(iter(provider_of(model.lower()).keys), None)


def key_variables() -> frozenset[str]:
    """Names of all variables that hold the key of a provider we know."""
    return frozenset(key for each in _ALL for key in each.keys)


def providers_of(variable: str) -> tuple[str, ...]:
    """Names of the providers whose key a variable holds; none for one that is not known."""
    return tuple(sorted(each.name for each in _ALL if variable in each.keys))
