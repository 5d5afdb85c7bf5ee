"""How providers say that a request is too long, as data.

Each signal is a pattern over the whole text of an error. Named groups give the numbers: ``limit``, and
``requested`` (plus ``answer`` where a provider counts the room for the answer apart). The more telling
signals come first. The wordings come from public error reports about each provider, and from running
llama.cpp.
"""

import re
from dataclasses import dataclass

_N = r"[\d,_]*\d"


@dataclass(frozen=True, slots=True)
class Signal:
    """One known wording."""

    name: str
    pattern: re.Pattern[str]


def _signal(name: str, pattern: str) -> Signal:
    numbered = pattern
    for group in ("limit", "requested", "answer"):
        numbered = numbered.replace(f"<{group}>", f"(?P<{group}>{_N})")
    return Signal(name, re.compile(numbered, re.IGNORECASE | re.DOTALL))


SIGNALS: tuple[Signal, ...] = (
    _signal("anthropic", r"prompt is too long: <requested> tokens > <limit> maximum"),
    _signal("anthropic", r"exceeds? context limit: <requested> \+ <answer> > <limit>"),
    _signal(
        "vllm",
        r"is too large: <answer>\. This model's maximum context length is <limit> tokens"
        r" and your request has <requested> input tokens",
    ),
    _signal(
        "openai",
        r"maximum context length is <limit> tokens.{0,40}?"
        r"(?:resulted in|you requested|your request has|requested)(?: about)? <requested>",
    ),
    _signal(
        "openai", r"input tokens exceed the configured limit of <limit> tokens.{0,40}?resulted in <requested>"
    ),
    _signal("openai", r"maximum context length (?:is|of) <limit>"),
    _signal("openai", r"input tokens exceed the configured limit of <limit>"),
    _signal(
        "google",
        r"input token count \(?<requested>\)? exceeds the maximum number of tokens allowed \(?<limit>",
    ),
    _signal("google", r"input token count.{0,40}? exceeds the maximum number of tokens allowed \(?<limit>"),
    _signal("google", r"input token count is <requested> but (?:the )?model only supports up to <limit>"),
    _signal(
        "mistral",
        r"prompt contains <requested> tokens.{0,80}?too large for model with <limit> maximum context length",
    ),
    _signal("mistral", r"too large for model with <limit> maximum context length"),
    _signal("cerebras", r"current length is <requested> while limit is <limit>"),
    _signal("xai", r"maximum prompt length is <limit> but the request contains <requested>"),
    _signal("xai", r"maximum prompt length is <limit>"),
    _signal("tgi", r"`max_new_tokens` must be <= <limit>\. Given: <requested> `inputs` tokens and <answer>"),
    _signal("tgi", r"`inputs` (?:tokens \+ `max_new_tokens` )?must (?:be <=|have less than) <limit>"),
    _signal("vllm", r"prompt \(length <requested>\) is longer than the maximum model length of <limit>"),
    _signal("vllm", r"passed <requested> input tokens.{0,120}?context length is only <limit>"),
    _signal("vllm", r"longer than the maximum model length(?: of <limit>)?"),
    _signal("sglang", r"\(<requested> tokens\) is longer than the model'?s context length \(<limit> tokens"),
    _signal("sglang", r"is longer than the model'?s context length"),
    _signal("llama.cpp", r"\(<requested> tokens\) exceeds the available context size \(<limit> tokens"),
    _signal("llama.cpp", r"exceeds the available context size"),
    _signal("llama.cpp", r"context size has been exceeded"),
    _signal("lm-studio", r"greater than the context length \(n_keep: <requested>\s*>=\s*n_ctx: <limit>"),
    _signal("lm-studio", r"first <requested> tokens when context.{0,120}?length of only <limit> tokens"),
    _signal("lm-studio", r"greater than the context length|context length of only <limit> tokens"),
    _signal("lm-studio", r"input length <requested> exceeds context length <limit>"),
    _signal("kimi", r"exceeded model token limit: <limit> \(requested: <requested>"),
    _signal("kimi", r"exceeded model token limit"),
    _signal("copilot", r"prompt token count of <requested> exceeds the limit of <limit>"),
    _signal("fireworks", r"prompt is too long: <requested>, model maximum context length: <limit>"),
    _signal("github-models", r"request body too large for .{1,80}? model\. Max size: <limit> tokens"),
    _signal("dashscope", r"range of input length should be \[\d+, ?<limit>\]"),
    _signal("ollama", r"prompt too long; exceeded (?:max )?context length"),
    _signal("ollama", r"input length.{0,40}? exceeds (?:the )?(?:model'?s )?context length"),
    _signal("bedrock", r"input is too long for requested model|input tokens exceeded"),
    _signal("minimax", r"context window exceeds limit"),
    _signal("openai", r"exceeds the (?:model'?s )?context window"),
    _signal("anthropic", r"prompt is too long|exceeds? context limit"),
    _signal("groq", r"reduce the length of the (?:input )?messages"),
    _signal("z.ai", r"model_context_window_exceeded"),
    _signal("litellm", r"ContextWindowExceededError"),
    _signal("code", r"context[_ ]length[_ ]exceeded|exceed_context_size_error"),
)
"""Known wordings; the first that matches names the signal, the first with a limit gives the numbers."""

ANSWER_INCLUDED = re.compile(rf"(?P<answer>{_N}) in the (?:completion|output)", re.IGNORECASE)
"""How much of what was requested is room for the answer, where a provider says so (OpenAI's format)."""

RATE_LIMIT = re.compile(
    r"tokens? per (?:min|minute|hour|day)\b|requests? per (?:min|minute|hour|day)\b|\b[TR]P[MD]\b"
    r"|too many requests|rate[ _-]?limit(?:ed|s|_exceeded|ing)?\b|throttl|too many tokens, please wait"
    r"|insufficient_quota",
    re.IGNORECASE,
)
"""Words of a limit over time: the same request may be fine a minute later, so nothing is too long."""

SIZE_WORDS = re.compile(
    r"too (?:large|long)|context (?:length|window|size)|maximum (?:prompt|context)|token (?:count|limit)",
    re.IGNORECASE,
)
"""Words without which an error code alone does not mean a length: Mistral's 3051 also says other things."""

OVERFLOW_CODES = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded"}
)
"""Machine-readable codes that mean nothing but this."""

OTHER_STATUSES = frozenset({401, 402, 403, 404, 405, 408, 409, 429, 502, 503, 504, 529})
"""HTTP statuses that say what is wrong by themselves; their text is not searched."""

FINISH_REASONS = frozenset({"model_context_window_exceeded", "context_window_exceeded"})
"""Why an answer ended when the window was full (Anthropic, z.ai)."""
