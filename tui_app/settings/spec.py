"""Which settings there are, and what each may be: one rule for each key."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tui_app.providers import MODELS_BY_KEY, OFFLINE_MODEL, PROTOCOLS, PROVIDERS
from tui_app.settings.approvals import APPROVALS, WEB_FETCH, ApprovalRule
from tui_app.settings.hooks import HOOKS
from tui_app.settings.keys import ACTION_KEYS, THEMES, key_pattern
from tui_app.settings.mcp import MCP
from tui_app.settings.policies import OWN_POLICIES, POLICY, SHARE
from tui_app.settings.rules import Address, Choice, Flag, Group, Number, Rule, Table, Text
from tui_app.tool_specs import TOOLS

# Where sessions are kept, as a person sets it: the address of a server, which may hold a password.

STORE = Text(
    r"(postgres(ql)?://\S+)?",
    "postgresql://USER@HOST/DATABASE, or nothing for the file on this machine",
    secret_prone=True,
)
STORE_VARIABLE = "PLIMSOLL_STORE"
_SECRETS = ("password", "sslpassword")
"""Parts of an address behind its question mark that are secret."""


def shown_store(address: str) -> str:
    """An address as it may be shown: user, host, port and database, nothing else."""
    if not address:
        return ""
    parts = urlsplit(address)
    user, _, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    return f"{parts.scheme}://{f'{name}@' if name else ''}{host}{parts.path}"


def store_secrets(address: str) -> tuple[str, ...]:
    """The passwords in an address, as they stand there and as they are meant."""
    if not address:
        return ()
    parts = urlsplit(address)
    user = parts.netloc.rpartition("@")[0]
    found = [user.partition(":")[2], *(value for key, value in parse_qsl(parts.query) if key in _SECRETS)]
    return tuple(dict.fromkeys(each for raw in found if raw for each in (raw, unquote(raw))))


# What settings may say of colour themes: names, and the colours of a theme of one's own.

BASES = ("plimsoll-dark", "plimsoll-light")
"""Themes that one of one's own can be made from."""
_NAME = r"[A-Za-z][\w.-]*"
_COLOUR = Text(r"#(?:[0-9A-Fa-f]{3}){1,2}", "a colour such as #4fb3d9")
THEME = Text(_NAME, "the name of a theme: a letter, then letters, digits, dot, dash or underscore")
COLOURS: Mapping[str, str] = {
    "accent": "what can be acted on: keys, borders with focus, links",
    "warning": "near: a context that fills up",
    "error": "full, and what failed",
    "success": "what went well",
    "foreground": "text",
    "muted": "text that matters less",
    "background": "behind the chat",
    "surface": "behind dialogs and lists",
    "panel": "behind inputs",
    "selection": "behind the marked row",
    "border": "lines without focus, scroll bars",
}
"""Colours of ``[themes.NAME]`` and what each is for."""

_KEYS: dict[str, Rule] = {"base": Choice(BASES), **dict.fromkeys(COLOURS, _COLOUR)}
OWN_THEMES = Table(
    Group(_KEYS, required=("base",), called="colour"),
    Text(
        rf"(?!(?:{'|'.join(map(re.escape, THEMES))})$){_NAME}",
        "a letter, then letters, digits, dot, dash or underscore, but no name of a theme that is built in",
    ),
)


# What a person may set about the memory of repositories.


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """The table ``[memory]``, with what is built in."""

    enabled: bool = True
    """Whether anything is remembered by itself and given to new sessions."""
    budget_tokens: int = 1_000
    """Tokens that the board may take of a session's context; 0 gives it to none."""
    min_turns: int = 3
    """Answered prompts from which on a session is worth reading."""
    max_entries: int = 100
    """Entries that may stand on a board."""
    model: str = ""
    """Model that keeps the board; empty is the session's own."""


MEMORY = Group(
    {
        "enabled": Flag(),
        "budget_tokens": Number(0, 100_000, "a whole number of tokens; 0 for none", whole=True),
        "min_turns": Number(1, 10_000, "a whole number of prompts, at least 1", whole=True),
        "max_entries": Number(1, 10_000, "a whole number, at least 1", whole=True),
        "model": Text(r"([\w.-]+:\S.*)?", f"provider:name, such as {MODELS_BY_KEY[0][1]} or {OFFLINE_MODEL}"),
    }
)


def memory_settings(values: Mapping[str, Any]) -> MemorySettings:
    """The table with what it leaves out filled in."""
    return MemorySettings(**values)


# What a person may set about sub-agents.


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreSettings:
    """The table ``[explore]``, with what is built in."""

    enabled: bool = True
    """Whether the model may send sub-agents out."""
    model: str = ""
    """Model of sub-agents; empty is the session's own."""
    max_steps: int = 20
    """Model requests that one of them may make."""
    max_tokens: int = 500_000
    """Tokens that one of them may read and write, over all its requests."""


EXPLORE = Group(
    {
        "enabled": Flag(),
        "model": Text(r"([\w.-]+:\S.*)?", f"provider:name, such as {MODELS_BY_KEY[0][1]} or {OFFLINE_MODEL}"),
        "max_steps": Number(1, 1_000, "a whole number of requests, at least 1", whole=True),
        "max_tokens": Number(1_000, 1_000_000_000, "a whole number of tokens, at least 1000", whole=True),
    }
)


def explore_settings(values: Mapping[str, Any]) -> ExploreSettings:
    """The table with what it leaves out filled in."""
    return ExploreSettings(**values)


TAKEN_NAMES = tuple(each.name for each in PROVIDERS.values() if each.reserved)
"""Prefixes of model names that have a meaning already."""

_MODEL = Text(r"([\w.-]+:\S.*)?", f"provider:name, such as {MODELS_BY_KEY[0][1]} or {OFFLINE_MODEL}")
_WINDOW = Number(
    256, 100_000_000, "a whole number of tokens, at most 100,000,000 and at least 256", whole=True
)
_PRICE = Number(0.0, 1_000_000.0, "US dollars for a million tokens")
_KEY = key_pattern()
_SCHEMA_KEYS = Text(rf"{_KEY}(,{_KEY})*", "keys such as ctrl+k, or several as ctrl+k,f5")
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
    "keymap": Group(dict.fromkeys(ACTION_KEYS, _SCHEMA_KEYS), called="action"),
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


# Names of tools in rules: which of them can be no tool's, because they are misspelt.

UNLESS_YOURS = "Such a rule does nothing, unless an agent of yours (--agent) has a tool of that name."
_WILD = "*?["


def misnamed(rule: ApprovalRule, servers: Collection[str]) -> str:
    """What is wrong with the tool that a rule names.

    Tools of servers are known only once they run, those of a person's own agent only with that agent: this is
    a hint and no error. Rules about what looks are only about such tools.

    Args:
        rule: The rule.
        servers: Names of the servers in the settings; a tool of theirs begins with one.

    Returns:
        A sentence; empty where the name may be one.
    """
    if rule.ruling == "looks" or any(fnmatchcase(tool, rule.tool) for tool in TOOLS):
        return ""
    fixed = rule.tool[: min((rule.tool.find(sign) for sign in _WILD if sign in rule.tool), default=None)]
    wild = fixed != rule.tool
    for server in servers:
        prefix = f"{server}_"
        if fixed.startswith(prefix) or (wild and prefix.startswith(fixed)):
            return ""
    near = get_close_matches(rule.tool.lower(), sorted(TOOLS), 1)
    return f"No tool is called {rule.tool}{f': is {near[0]} meant?' if near else '.'}"
