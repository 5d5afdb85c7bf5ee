"""Which environment variable holds the key of which provider."""

_VARIABLES = {
    "alibaba": "ALIBABA_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "azure": "AZURE_OPENAI_API_KEY",
    "cerebras": "CEREBRAS_API_KEY",
    "cohere": "CO_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "fireworks": "FIREWORKS_API_KEY",
    "github": "GITHUB_API_KEY",
    "google": "GOOGLE_API_KEY",
    "grok": "XAI_API_KEY",
    "groq": "GROQ_API_KEY",
    "huggingface": "HF_TOKEN",
    "litellm": "LITELLM_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "moonshotai": "MOONSHOTAI_API_KEY",
    "ollama": "OLLAMA_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openai-chat": "OPENAI_API_KEY",
    "openai-responses": "OPENAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "together": "TOGETHER_API_KEY",
    "vllm": "VLLM_API_KEY",
    "xai": "XAI_API_KEY",
    "zai": "ZAI_API_KEY",
}
_ALSO = {
    "CRUSOE_API_KEY": "crusoe",
    "GEMINI_API_KEY": "google",
    "HEROKU_INFERENCE_KEY": "heroku",
    "META_API_KEY": "meta",
    "PAIG_API_KEY": "gateway",
    "PYDANTIC_AI_GATEWAY_API_KEY": "gateway",
}
"""Further variables, with whose key they hold."""


def key_variable(model: str) -> str | None:
    """Name the variable that holds the key of a model's provider (``openai:gpt-5``); None if unknown."""
    return _VARIABLES.get(model.partition(":")[0].lower())


def key_variables() -> frozenset[str]:
    """Names of all variables that hold the key of a provider we know."""
    return frozenset((*_VARIABLES.values(), *_ALSO))


def providers_of(variable: str) -> tuple[str, ...]:
    """Names of the providers whose key a variable holds; none for one that is not known."""
    also = (_ALSO[variable],) if variable in _ALSO else ()
    return (*(name for name, known in _VARIABLES.items() if known == variable), *also)
