"""How providers say that a request is too long, as data.

Each signal is a pattern over the whole text of an error. Named groups give the numbers: ``limit``;
``requested`` for the input, plus ``answer`` where a provider counts the room for the answer apart; ``total``
for input and that room in one number. The more telling signals come first. The wordings come from public
error reports about each provider, and from running llama.cpp.
"""

import re
from dataclasses import dataclass

NUMBER = r"\d[\d,_]*(?:[km]\b)?"
"""A number of tokens as providers write it: ``8192``, ``8,192``, ``8k``."""


@dataclass(frozen=True, slots=True)
class Signal:
    """One known wording."""

    name: str
    pattern: re.Pattern[str]


def _signal(name: str, pattern: str) -> Signal:
    numbered = pattern
    for group in ("limit", "requested", "total", "answer"):
        numbered = numbered.replace(f"<{group}>", f"(?P<{group}>{NUMBER})")
    return Signal(name, re.compile(numbered, re.IGNORECASE | re.DOTALL))


_NUMBERED: tuple[tuple[str, str], ...] = (
    ("anthropic", r"prompt is too long: <requested> tokens > <limit> maximum"),
    ("anthropic", r"exceeds? context limit: <requested> \+ <answer> > <limit>"),
    (
        "vllm",
        r"is too large: <answer>\. This model's maximum context length is <limit> tokens"
        r" and your request has <requested> input tokens",
    ),
    (
        "vllm",
        r"passed <requested> input tokens(?: and requested <answer> output tokens)?"
        r".{0,120}?context length is only <limit>",
    ),
    ("vllm", r"prompt \(length <requested>\) is longer than the maximum model length of <limit>"),
    (
        "openai",
        r"maximum context length is <limit> tokens.{0,40}?"
        r"(?:resulted in(?: over)?|your request has)(?: about)? <requested>",
    ),
    (
        "openai",
        r"maximum context length (?:is|of) <limit> tokens.{0,40}?requested(?: about| a total of)? <total>",
    ),
    (
        "openai",
        r"input tokens exceed the configured limit of <limit> tokens.{0,40}?resulted in <requested>",
    ),
    ("openai", r"maximum context (?:length|limit|window|size) (?:is|of) <limit>"),
    ("openai", r"input tokens exceed the configured limit of <limit>"),
    (
        "google",
        r"input token count \(?<requested>\)? exceeds the maximum number of tokens allowed \(?<limit>",
    ),
    ("google", r"input token count.{0,40}? exceeds the maximum number of tokens allowed \(?<limit>"),
    ("google", r"input token count is <requested> but (?:the )?model only supports up to <limit>"),
    (
        "mistral",
        r"prompt contains <requested> tokens.{0,80}?too large for model with <limit> maximum context length",
    ),
    ("mistral", r"too large for model with <limit> maximum context length"),
    ("cerebras", r"current length is <requested> while limit is <limit>"),
    ("xai", r"maximum prompt length is <limit> but the request contains <requested>"),
    ("xai", r"maximum prompt length is <limit>"),
    ("tgi", r"`max_new_tokens` must be <= <limit>\. Given: <requested> `inputs` tokens and <answer>"),
    ("tgi", r"`inputs` must have less than <limit> tokens\. Given: <requested>"),
    ("tgi", r"`inputs` (?:tokens \+ `max_new_tokens` )?must (?:be <=|have less than) <limit>"),
    ("sglang", r"\(<requested> tokens\) is longer than the model'?s context length \(<limit> tokens"),
    ("llama.cpp", r"\(<requested> tokens\) exceeds the available context size \(<limit> tokens"),
    ("llama-cpp-python", r"requested tokens(?: \(<requested>\))? exceed context window of <limit>"),
    ("lm-studio", r"n_keep:? \(?<requested>\)?\s*>=\s*n_ctx:? \(?<limit>"),
    ("lm-studio", r"first <requested> tokens when context.{0,120}?length of only <limit> tokens"),
    ("lm-studio", r"(?:context length of only|reached context length of) <limit> tokens"),
    (
        "tensorrt",
        r"prompt length \(<requested>(?:\.0)?\) and query length \([\d.]+\) max_tokens \(<answer>\)"
        r" should not exceed max_\w+ \(<limit>",
    ),
    ("tabby", r"(?:prompt|context) length <requested> is greater than max_seq_len <limit>"),
    ("mlc", r"prompt has <requested> tokens in total, larger than the model input length limit <limit>"),
    ("ds4", r"prompt has <requested> tokens?, but the configured context size is <limit>"),
    (
        "openai-compatible",
        r"input length \(?<requested>\)? exceeds (?:the )?(?:model'?s )?(?:maximum )?"
        r"(?:context|input|allowed input) length(?: of)? \(?<limit>",
    ),
    ("kimi", r"exceeded model token limit: <limit>(?: \(requested: <total>)?"),
    ("copilot", r"prompt token count(?: of <requested>)? exceeds the limit of <limit>"),
    ("fireworks", r"prompt is too long: <requested>, model maximum context length: <limit>"),
    ("github-models", r"request body too large for .{1,80}? model\. Max size: <limit> tokens"),
    ("cloudflare", r"tokens \(<total>\) exceeded this model context window limit \(<limit>"),
    ("cohere", r"tokens in the prompt cannot exceed <limit>(?: - received <requested>)?"),
    ("cohere", r"size limit exceeded by \d[\d,]* tokens.{0,80}?limit for this model is <limit>"),
    ("watsonx", r"input tokens <requested> cannot exceed the total tokens limit <limit>"),
    ("bedrock", r"max input tokens: <limit>, request input token count: <requested>"),
    ("dashscope", r"range of input length should be \[\d+, ?<limit>\]"),
    ("dashscope", r"message token length exceed model limit \(<limit>"),
)

_WORDED: tuple[tuple[str, str], ...] = (
    ("vllm", r"longer than the maximum model length"),
    ("vllm", r"max_tokens must be at least 1, got -"),
    ("sglang", r"is longer than the model'?s context length"),
    ("llama.cpp", r"exceeds the available context size|context size has been exceeded"),
    ("lm-studio", r"greater than the context length|cannot truncate prompt with n_keep"),
    ("kimi", r"exceeded model token limit"),
    ("ollama", r"prompt too long; exceeded (?:max )?context length"),
    ("ollama", r"input length.{0,40}? exceeds (?:the )?(?:model'?s )?(?:maximum )?context length"),
    ("bedrock", r"input is too long for requested model|input tokens exceeded"),
    ("bedrock", r"number of input tokens exceeds|too many input tokens"),
    ("minimax", r"context window exceeds limit"),
    ("openai", r"exceeds the (?:model'?s )?(?:maximum )?context (?:window|length|limit)"),
    ("anthropic", r"prompt is too long|exceeds? context limit|request_too_large"),
    ("groq", r"reduce the length of the (?:input )?messages"),
    ("google", r"request payload size exceeds the limit"),
    ("z.ai", r"model_context_window_exceeded|tokens in request more than max tokens allowed"),
    ("z.ai", r"prompt (?:exceeds max(?:imum)? length|超长)"),
    ("dashscope", r"message token length exceed model limit|input length exceeds the maximum length"),
    ("volcengine", r"exceed max message tokens"),
    ("qianfan", r"prompt tokens too long"),
    ("chinese", r"(?:超出|超过)了?.{0,20}?(?:上下文|最大长度|最大\s?token)|上下文.{0,10}?(?:超出|超过|过长)"),
    ("litellm", r"ContextWindowExceededError"),
    ("code", r"context[_ ](?:length|window)[_ ]exceeded|exceed_context_size_error"),
)

SIGNALS: tuple[Signal, ...] = tuple(_signal(name, text) for name, text in (*_NUMBERED, *_WORDED))
"""Known wordings; the first that matches names the signal, the first with a limit gives the numbers."""

ANSWER_INCLUDED = re.compile(
    rf"(?P<answer>{NUMBER})(?: tokens)? (?:in|for) the (?:completion|output)", re.IGNORECASE
)
"""How much of what was requested is room for the answer, where a provider says so (OpenAI's format)."""

RATE_LIMIT = re.compile(
    r"(?:tokens?|requests?)[ _]per[ _](?:sec|second|min|minute|hour|day)(?:\b|_)|\b[TR]P[MD]\b"
    r"|too many requests|\brate[ _-]?limit|throttl|too many tokens, please wait|insufficient_quota",
    re.IGNORECASE,
)
"""Words of a limit over time: the same request may be fine a minute later, so nothing is too long."""

SIZE_WORDS = re.compile(
    r"too (?:large|long)|context (?:length|window|size)|maximum (?:prompt|context)|token (?:count|limit)",
    re.IGNORECASE,
)
"""Words without which an error code alone does not mean a length: Mistral's 3051 also says other things."""

_FILE = r"\b(?:image|picture|photo|file|audio|video|document|attachment|pdf)s?\b"
_SIZE = r"(?:too (?:large|big)|exceed|maximum|larger than)"
ONE_FILE = re.compile(rf"{_FILE}.{{0,80}}?{_SIZE}|{_SIZE}.{{0,80}}?{_FILE}", re.IGNORECASE)
"""Words of a single file that is too large, which a shorter conversation does not mend."""

OVERFLOW_CODES = frozenset(
    {
        "context_length_exceeded",
        "exceed_context_size_error",
        "max_prompt_tokens_exceeded",
        "model_context_window_exceeded",
        "model_max_prompt_tokens_exceeded",
        "request_too_large",
        "tokens_limit_reached",
        "tokens_too_long",
    }
)
"""Machine-readable codes that mean nothing but this."""

OTHER_STATUSES = frozenset({401, 402, 403, 404, 405, 408, 409, 429})
"""HTTP statuses that say what is wrong by themselves; their text is not searched."""

GATEWAY_STATUSES = frozenset({502, 503, 504, 529})
"""HTTP statuses of a server that is down; gateways also wrap a refusal so, which then names the limit."""

FINISH_REASONS = frozenset({"model_context_window_exceeded", "context_window_exceeded"})
"""Why an answer ended when the window was full (Anthropic, Bedrock, z.ai)."""
