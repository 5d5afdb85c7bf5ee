"""Which settings there are, and what each may be: one rule for each key."""

import re
from collections.abc import Mapping

from tui_app.settings.approvals import APPROVALS, WEB_FETCH
from tui_app.settings.explore import EXPLORE
from tui_app.settings.hooks import HOOKS
from tui_app.settings.mcp import MCP
from tui_app.settings.memory import MEMORY
from tui_app.settings.names import ACTION_KEYS, key_pattern
from tui_app.settings.policies import OWN_POLICIES, POLICY, SHARE
from tui_app.settings.rules import Address, Choice, Flag, Group, Number, Rule, Table, Text
from tui_app.settings.store import STORE
from tui_app.settings.themes import OWN_THEMES, THEME

PROTOCOLS = ("openai-chat", "openai", "anthropic", "google")
"""What an endpoint may speak, named like the prefixes of model names; ``openai`` is the Responses API."""
TAKEN_NAMES = (
    "offline", "gguf", "openai", "openai-chat", "openai-responses", "anthropic", "google", "openrouter",
    "ollama",
)  # fmt: skip
"""Prefixes of model names that have a meaning already."""

_MODEL = Text(r"([\w.-]+:\S.*)?", "provider:name, such as openai:gpt-5-mini or offline:extractive")
_WINDOW = Number(
    256, 100_000_000, "a whole number of tokens, at most 100,000,000 and at least 256", whole=True
)
_PRICE = Number(0.0, 1_000_000.0, "US dollars for a million tokens")
_KEY = key_pattern()
_KEYS = Text(rf"{_KEY}(,{_KEY})*", "keys such as ctrl+k, or several as ctrl+k,f5")
_ENDPOINT = Group(
    {
        "protocol": Choice(PROTOCOLS),
        "base_url": Address(),
        "key_env": Text(
            r"([A-Za-z_][A-Za-z0-9_]*)?",
            "the name of the environment variable that holds the key, not the key",
            secret_prone=True,
        ),
        "window": _WINDOW,
        "price_in": _PRICE,
        "price_out": _PRICE,
    },
    required=("base_url",),
)
REVIEW_MODES = ("always", "manual", "never")

RULES: Mapping[str, Rule] = {
    "model": _MODEL,
    "summarization_model": _MODEL,
    "window": _WINDOW,
    "background_threshold": SHARE,
    "blocking_threshold": SHARE,
    "policy": POLICY,
    "policies": OWN_POLICIES,
    "theme": THEME,
    "themes": OWN_THEMES,
    "plain": Flag(),
    "animations": Flag(),
    "color": Flag(),
    "mouse": Flag(),
    "terminal_title": Flag(),
    "bell_after_s": Number(0.0, 86_400.0, "seconds; 0 never"),
    "timeline": Flag(),
    "keymap": Group(dict.fromkeys(ACTION_KEYS, _KEYS), called="action"),
    "endpoints": Table(
        _ENDPOINT,
        Text(
            rf"(?!(?:{'|'.join(map(re.escape, TAKEN_NAMES))})$)[A-Za-z][\w.-]*",
            f"a letter, then letters, digits, dot, dash or underscore, but none of {', '.join(TAKEN_NAMES)}",
        ),
    ),
    "hooks": HOOKS,
    "mcp": MCP,
    "project_instructions": Flag(),
    "thinking": Choice(("default", "off", "minimal", "low", "medium", "high", "xhigh", "max")),
    "max_steps": Number(1, 10_000, "a whole number of requests, at least 1", whole=True),
    "retries": Number(0, 20, "a whole number of tries, or 0 for none", whole=True),
    "fallback_models": Text(
        r"([\w.-]+:[^\s,]+(\s*,\s*[\w.-]+:[^\s,]+)*)?",
        "models as provider:name, separated by commas",
    ),
    "review": Choice(REVIEW_MODES),
    "approvals": APPROVALS,
    "read_only": Flag(),
    "command_timeout_s": Number(1.0, 3_600.0, "seconds from 1 to 3600"),
    "web_fetch": Choice(WEB_FETCH),
    "summary_timeout_s": Number(1.0, 86_400.0, "seconds, at least 1"),
    "memory_limit_mb": Number(0, 1_000_000, "whole megabytes, or 0 for no limit", whole=True),
    "provider_compaction": Flag(),
    "budget": Group({"session_usd": Number(0.0, 1_000_000.0, "US dollars; 0 for no limit")}),
    "memory": MEMORY,
    "store": STORE,
    "retention": Group(
        {
            "days": Number(0.0, 100_000.0, "days, or 0 for no limit"),
            "max_sessions": Number(0, 10**9, "a whole number of sessions, or 0 for no limit", whole=True),
            "max_bytes": Number(0, 10**15, "a whole number of bytes, or 0 for no limit", whole=True),
        }
    ),
    "session_files_mb": Number(0, 1_000_000, "whole megabytes, or 0 for no limit", whole=True),
    "explore": EXPLORE,
    "answer_timeout_s": Number(1.0, 86_400.0, "seconds, at least 1"),
    "telemetry": Group({"otlp_endpoint": Address(words=("off", "on"))}),
}
OLD_NAMES: Mapping[str, tuple[str, Rule, Mapping[object, object]]] = {
    "review_compactions": ("review", Flag(), {True: "manual", False: "never"}),
}
"""Names that still count: today's name, what the setting could be, and what that means now."""
