"""Every setting, declared once: type, default, allowed values, purpose and when a change takes effect."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl, unquote, urlsplit

from tui_app.chat_keys import ACTION_KEYS
from tui_app.keymap import key_pattern
from tui_app.modes import MODES
from tui_app.providers import MODELS_BY_KEY, OFFLINE_MODEL, OPENAI_CHAT, PROTOCOLS, PROVIDERS
from tui_app.records import frozen
from tui_app.settings.rules import (
    REQUIRED,
    VARIABLE,
    Address,
    Choice,
    Effect,
    Flag,
    Group,
    Number,
    Rule,
    Setting,
    Table,
    Text,
    declared,
    dollars,
    flag,
    free_name,
    group_of,
    integer,
    setting,
    variable_name,
)
from tui_app.settings.tables import (
    APPROVALS,
    HEADERS,
    HOOKS,
    LANGUAGE_SERVERS,
    MCP,
    OWN_POLICIES,
    OWN_THEMES,
    POLICY,
    SHARE,
    THEME,
    TOOL_ROOM,
    WEB_FETCH,
    Hook,
    McpServer,
    free_text,
)

STORE = Text(
    r"(postgres(ql)?://\S+)?",
    "postgresql://USER@HOST/DATABASE, or nothing for the file on this machine",
    secret_prone=True,
)
STORE_VARIABLE = "PLIMSOLL_STORE"
_SECRETS = ("password", "sslpassword")
"""Secret query parameters of an address."""


def shown_store(address: str) -> str:
    """Return the shareable part of an address: user, host, port and database, nothing else."""
    if not address:
        return ""
    parts = urlsplit(address)
    user, _, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    return f"{parts.scheme}://{f'{name}@' if name else ''}{host}{parts.path}"


_MODEL = Text(r"([\w.-]+:\S.*)?", f"provider:name, such as {MODELS_BY_KEY[0][1]} or {OFFLINE_MODEL}")
_WINDOW = integer(256, 100_000_000, "a whole number of tokens, at most 100,000,000 and at least 256")
_PRICE = dollars("US dollars for a million tokens")
_TRIES = integer(0, 20, "a whole number of tries, or 0 for none")
_FOLDERS = Text(r"[^\n\0]*", "folders, separated by commas")
_PREFIX = Text(r"/?[\w.~/-]*", "a path such as v1beta, or nothing for none")
_ON_OFF, _CACHED = Choice(("on", "off")), Choice(("auto", "1h", "off"))
_BUDGET = Group({"session_usd": dollars("US dollars; 0 for no limit")})
_TIMEOUT = Number(1.0, 3_600.0, "seconds from 1 to 3600")
_REQUESTS = "a whole number of requests, at least 1"
_SECONDS = Number(1.0, 86_400.0, "seconds, at least 1")
_NAME = rf"{VARIABLE}\*?"
_VARIABLES = "names of environment variables, separated by commas; NAME* for all that begin so"
_FALLBACKS = Text(
    r"([\w.-]+:[^\s,]+(\s*,\s*[\w.-]+:[^\s,]+)*)?", "models as provider:name, separated by commas"
)
_KEYS = Text(rf"{key_pattern()}(,{key_pattern()})*", "keys such as ctrl+k, or several as ctrl+k,f5")
_MEGABYTES = integer(0, 1_000_000, "whole megabytes, or 0 for no limit")
TAKEN_NAMES = tuple(each.name for each in PROVIDERS.values() if each.reserved)
"""Prefixes of model names that are already in use."""
_RETENTION = {
    "days": Number(0.0, 100_000.0, "days, or 0 for no limit"),
    "max_sessions": integer(0, 10**9, "a whole number of sessions, or 0 for no limit"),
    "max_bytes": integer(0, 10**15, "a whole number of bytes, or 0 for no limit"),
}
EFFORTS = ("default", "off", "minimal", "low", "medium", "high", "xhigh", "max")
"""Reasoning efforts, lowest first; ``default`` leaves it to the model."""
ReviewMode = Literal["always", "manual", "never"]
"""Which summaries the user reviews before they are applied."""
RepeatManner = Literal["tell", "answer", "off"]


@frozen(kw_only=True)
class Endpoint:
    """A model server that the user named; its models are called ``NAME:model``."""

    name: str
    protocol: str = setting(OPENAI_CHAT, Choice(PROTOCOLS))
    base_url: str = setting(REQUIRED, Address())
    """Address that the protocol's own paths are appended to; as pasted, with or without version."""
    path_prefix: str | None = setting(None, _PREFIX)
    """Replaces the protocol's version; None for the version known for the server."""
    key_env: str = setting("", variable_name("key", rf"({VARIABLE})?"))
    """Empty if the server needs no key."""
    headers_env: Mapping[str, str] = setting({}, HEADERS)
    """Headers of its requests, each with the environment variable that has its value."""
    window: int | None = setting(None, _WINDOW)
    """Context window of its models in tokens; None asks the server."""
    price_in: float | None = setting(None, _PRICE)
    """US dollars per million input tokens; needs ``price_out`` too."""
    price_out: float | None = setting(None, _PRICE)
    """US dollars per million output tokens."""


@frozen(kw_only=True)
class MemorySettings:
    """The table ``[memory]``: memory of repositories."""

    enabled: bool = flag(True)
    """Whether memory is written automatically and given to new sessions."""
    budget_tokens: int = setting(1_000, integer(0, 100_000, "a whole number of tokens; 0 for none"))
    """Maximum tokens of the board in a session's context; 0 leaves it out."""
    min_turns: int = setting(3, integer(1, 10_000, "a whole number of prompts, at least 1"))
    """Answered prompts from which a session is worth reading."""
    max_entries: int = setting(100, integer(1, 10_000, "a whole number, at least 1"))
    """Maximum entries of a board."""
    model: str = setting("", _MODEL)
    """Model that updates the board; empty for the session's own."""


@frozen(kw_only=True)
class ExploreSettings:
    """The table ``[explore]``: limits of subagents."""

    enabled: bool = flag(True)
    """Whether the model may start subagents."""
    model: str = setting("", _MODEL)
    """Model of subagents; empty for the session's own."""
    max_steps: int = setting(20, integer(1, 1_000, _REQUESTS))
    """Maximum model requests of one subagent."""
    max_tokens: int = setting(
        500_000, integer(1_000, 1_000_000_000, "a whole number of tokens, at least 1000")
    )
    """Maximum tokens of one subagent, input and output over all its requests, without cached ones."""


@frozen(kw_only=True)
class CacheSettings:
    """The table ``[cache]``: handling of the provider's prompt cache."""

    warn_usd: float = setting(0.5, dollars("US dollars; 0 for never"))
    """Price from which a turn on a cold cache asks first, once per session; 0 never asks."""
    compact_idle: bool = flag(False)
    """Whether an idle conversation is compacted shortly before its cache expires."""


@frozen(kw_only=True)
class Settings:
    """All settings, in the order of the documentation."""

    model: str = setting(
        "", _MODEL, "Model of new sessions. Not set: chosen by the keys in the environment.", section="Model"
    )
    summarization_model: str = setting(
        "", _MODEL, "Model that writes automatic summaries. Not set: the session's own."
    )
    fallback_models: str = setting(
        "", _FALLBACKS, "Fallback models, in this order, when the session's own cannot answer."
    )
    """Comma-separated."""
    endpoints: Mapping[str, Endpoint] = setting(
        {}, Table(group_of(Endpoint), free_name(TAKEN_NAMES)), "Your own model servers."
    )
    """By name."""
    thinking: str = setting(
        "default",
        Choice(EFFORTS),
        "Reasoning effort for models that support it. /effort changes it for a session.",
    )
    """``default`` leaves it to the models."""
    prompt_cache: str = setting(
        "auto", _CACHED, "Ask for the provider's prompt cache: for minutes, for an hour, or not."
    )
    cache: Mapping[str, Any] = setting(
        {}, group_of(CacheSettings), "What is asked and done before a provider's prompt cache goes cold."
    )
    """See ``CacheSettings``."""
    retries: int = setting(4, _TRIES, "How often a failed request is retried automatically.")
    """0 for never."""
    policy: str = setting(
        "plimsoll",
        POLICY,
        "Context policy for new sessions. /policy changes the current session.",
        section="Context",
    )
    policies: Mapping[str, Mapping[str, object]] = setting(
        {}, OWN_POLICIES, "Your own policies, each based on a built-in one."
    )
    """The name to ``base``, a built-in one, and the differences (flat keys)."""
    background_threshold: float | None = setting(
        None, SHARE, "Share of the window at which a compaction starts in the background."
    )
    """None for the policy's own."""
    blocking_threshold: float | None = setting(
        None, SHARE, "Share of the window at which a request waits; less where the answer needs the room."
    )
    """None for the policy's own."""
    window: int | None = setting(
        None, _WINDOW, "Context window in tokens, overriding what is known about the model."
    )
    """None detects it."""
    review: ReviewMode = setting(
        "never",
        Choice(get_args(ReviewMode)),
        "Which summaries you review before they are applied; manual: those you ask for.",
        Effect.NOW,
    )
    summary_instructions: str = setting(
        "", free_text(4_000), "Extra instructions for every summary, such as names it must keep."
    )
    tell_fullness: bool = flag(
        True, "Tell the model when its window is 50% and 70% full, and at the load line."
    )
    repeats: RepeatManner = setting(
        "tell",
        Choice(get_args(RepeatManner)),
        "When the model does again what it can no longer see: tell it so, let the log answer, or neither.",
    )
    provider_compaction: bool = flag(
        False, "Let the provider compact conversations where it can, instead of Plimsoll."
    )
    project_instructions: bool = flag(True, "Follow AGENTS.md and CLAUDE.md of the repository.")
    memory: Mapping[str, Any] = setting(
        {}, group_of(MemorySettings), "What is remembered about repositories and given to new sessions."
    )
    """See ``MemorySettings``."""
    theme: str = setting(
        "plimsoll-dark",
        THEME,
        "Colours. /theme shows each as you go through them.",
        Effect.NOW,
        section="Look",
    )
    themes: Mapping[str, Mapping[str, str]] = setting(
        {}, OWN_THEMES, "Your own colour themes, each based on a built-in one."
    )
    """The name to ``base``, one of our two, and the colours that differ."""
    plain: bool = flag(False, "ASCII only, no motion: for screen readers and limited fonts.")
    animations: bool = flag(True, "Smooth scrolling and anything else that moves.", Effect.NOW)
    color: bool = flag(True, "Colours. Everything they say is also said in words.", Effect.NEXT_START)
    mouse: bool = flag(True, "Use the mouse; off leaves it to the terminal.", Effect.NEXT_START)
    terminal_title: bool = flag(True, "Name the terminal's window after the session.", Effect.NEXT_START)
    bell_after_s: float = setting(
        0.0,
        Number(0.0, 86_400.0, "seconds; 0 never"),
        "Ring the bell and notify when a turn longer than this ends, or a question waits.",
        Effect.NOW,
    )
    notify: str = setting(
        "unfocused",
        Choice(("unfocused", "always", "off")),
        "When to notify: while the terminal is not focused, always, or never.",
        Effect.NOW,
    )
    timeline: bool = flag(True, "Show the timeline where there is room for it.", Effect.NOW)
    keymap: Mapping[str, str] = setting(
        {},
        Group(dict.fromkeys(ACTION_KEYS, _KEYS), called="action"),
        "Your own keys for actions.",
        Effect.NOW,
        allowed="keys for each action; enter lists them",
    )
    """The action's name to its keys, comma-separated."""
    vim_keys: bool = flag(
        False, "Vim's keys in the prompt: esc leaves insert mode, i returns to it.", Effect.NOW
    )
    approvals: Mapping[str, Any] = setting(
        {}, APPROVALS, "What tools may do without being asked about. /approvals shows it.", section="Tools"
    )
    """Rules by ruling: ``allow``, ``ask``, ``deny``, ``looks``."""
    mode: str = setting(
        "ask",
        Choice(MODES),
        "Mode of new sessions: edits and commands ask, edits go ahead, or only a plan. shift+tab changes it.",
    )
    read_only: bool = flag(False, "Read-only: nothing is written, run or fetched.")
    add_dirs: str = setting(
        "", _FOLDERS, "Further folders in which tools and commands may read and write, in every session."
    )
    """Comma-separated."""
    sandbox: str = setting(
        "auto",
        Choice(("auto", "require", "off")),
        "Run the model's commands in a sandbox: where this machine can, always, or never.",
    )
    sandbox_network: bool = flag(False, "Give commands in the sandbox network access.")
    sandbox_unasked: bool = flag(False, "Run commands in the sandbox unasked, unless a rule asks or denies.")
    pass_variables: str = setting(
        "",
        Text(rf"({_NAME}(\s*,\s*{_NAME})*)?", _VARIABLES),
        "Further variables that commands and hooks get, also if they look like secrets.",
    )
    """Comma-separated."""
    web_fetch: str = setting(
        "off", Choice(WEB_FETCH), "Web pages the model may fetch: none, public ones, or any address."
    )
    web_search: bool = flag(False, "Let providers search the web for the model; they charge for each search.")
    diagnostics: str = setting(
        "on", _ON_OFF, "Tell the model what installed language servers find wrong after its edits."
    )
    language_servers: Mapping[str, str] = setting(
        {}, LANGUAGE_SERVERS, "Command lines of language servers, or off for those that are not to run."
    )
    """By name, as in the table of known servers."""
    mcp: Mapping[str, McpServer] = setting({}, MCP, "MCP servers. /mcp shows their state.")
    """By name."""
    tools: Mapping[str, Any] = setting(
        {},
        TOOL_ROOM,
        "Tools that are switched off, and when tools are found by searching and not sent with each request.",
    )
    """``off`` and ``search`` name own tools; ``defer_above``: see ``defer_above``."""
    hooks: Mapping[str, tuple[Hook, ...]] = setting({}, HOOKS, "Your own commands that run on events.")
    """The event to its hooks, in order."""
    explore: Mapping[str, Any] = setting(
        {}, group_of(ExploreSettings), "Sub-agents: their model, and how far one may go."
    )
    """See ``ExploreSettings``."""
    max_steps: int = setting(
        200, integer(1, 10_000, _REQUESTS), "Maximum model requests per turn.", section="Limits"
    )
    command_timeout_s: float = setting(120.0, _TIMEOUT, "Seconds a command of the model may take by default.")
    answer_timeout_s: float = setting(
        600.0, _SECONDS, "Seconds a model may be silent before the request is given up."
    )
    summary_timeout_s: float = setting(
        120.0, _SECONDS, "Seconds a model may take for each part of a summary it writes."
    )
    memory_limit_mb: int = setting(
        1024, _MEGABYTES, "Megabytes the process may use before it frees memory; 0 is no limit."
    )
    budget: Mapping[str, float] = setting(
        {}, _BUDGET, "Cost of a session above which each prompt asks first."
    )
    """``session_usd``; 0 for no limit."""
    store: str = setting(
        "",
        STORE,
        "PostgreSQL database that keeps the sessions. Not set: a file on this machine.",
        Effect.NEXT_START,
        is_shown=False,
        section="Data",
    )
    """May contain a password."""
    session_files_mb: int = setting(
        512, _MEGABYTES, "Megabytes of files derived from its log that a session keeps; 0 is no limit."
    )
    retention: Mapping[str, Any] = setting(
        {},
        Group(_RETENTION),
        "What plimsoll sessions prune keeps. Nothing is deleted automatically.",
        Effect.NOW,
    )
    """``days``, ``max_sessions`` and ``max_bytes`` to keep; missing or 0 for no limit."""
    telemetry: Mapping[str, str] = setting(
        {}, Group({"otlp_endpoint": Address(words=("off", "on"))}), "Where spans of compactions are sent."
    )
    """``otlp_endpoint``: ``off``, ``on`` (configured by OpenTelemetry's variables), or the address for spans.
    """


SETTINGS: Mapping[str, Setting] = declared(Settings)
OLD_NAMES: Mapping[str, tuple[str, Rule, Mapping[object, object]]] = {
    "review_compactions": ("review", Flag(), {True: "manual", False: "never"})
}
"""Earlier names that are still accepted: current name, old rule, and meaning of old values."""


@frozen
class SessionServer:
    """A PostgreSQL database that several machines share."""

    url: str = field(repr=False)
    """Its address; may contain a password."""

    @property
    def shown(self) -> str:
        return shown_store(self.url)

    @property
    def secrets(self) -> tuple[str, ...]:
        # The passwords in an address, as written and decoded.
        if not self.url:
            return ()
        parts = urlsplit(self.url)
        user = parts.netloc.rpartition("@")[0]
        found = [user.partition(":")[2], *(value for key, value in parse_qsl(parts.query) if key in _SECRETS)]
        return tuple(dict.fromkeys(each for raw in found if raw for each in (raw, unquote(raw))))
