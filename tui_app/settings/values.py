"""Settings: one frozen value, read once from file, environment and flags, and passed to whoever needs it.

Only the standard library is used, so reading them costs next to nothing before the first paint.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal

from tui_app.paths import Paths
from tui_app.providers import MODELS_BY_KEY, OFFLINE_MODEL, OPENAI_CHAT
from tui_app.settings.hooks import Hook, build_hooks
from tui_app.settings.keys import ACTION_KEYS, THEMES, find_clash, find_writing_key
from tui_app.settings.mcp import McpServer, build_servers
from tui_app.settings.policies import POLICIES, POLICY_SHARES, thresholds
from tui_app.settings.rules import Address, Choice, Flag, Number, Refused, Rule, Text, show
from tui_app.settings.sources import Origin, SettingsError, Source, giver, merged, origin, read_sources
from tui_app.settings.spec import RULES, shown_store

ReviewMode = Literal["always", "manual", "never"]
"""Which summaries a person sees before they are applied."""
OFFLINE_WINDOW = 32_000
"""Tokens of one request to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model server that the user named; its models are called ``NAME:model``."""

    name: str
    protocol: str = OPENAI_CHAT
    """What it speaks: ``openai-chat``, ``openai`` (Responses), ``anthropic`` or ``google``."""
    base_url: str
    """Address that the protocol's own paths are appended to, without a trailing slash."""
    key_env: str = ""
    """Environment variable that holds the key; empty when the server wants none."""
    window: int | None = None
    """Context window of its models in tokens; None asks the server."""
    price_in: float | None = None
    """US dollars for a million tokens sent; counts together with ``price_out``."""
    price_out: float | None = None
    """US dollars for a million tokens written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything a person can set."""

    model: str = ""
    """Model of new sessions as ``provider:name``; empty chooses one by the keys in the environment."""
    summarization_model: str = ""
    """Model that writes automatic summaries; empty is the session's own."""
    window: int | None = None
    """Context window in tokens, over anything known about the model; None finds it out."""
    background_threshold: float | None = None
    """Share of the window at which a compaction starts in the background; None is the policy's own."""
    blocking_threshold: float | None = None
    """Share of the window at which a request waits for the compaction; None is the policy's own."""
    policy: str = "plimsoll"
    """Name of the governance policy."""
    policies: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Policies of one's own: the name to ``base``, a built-in one, and what is different (flat keys)."""
    theme: str = "plimsoll-dark"
    """Name of a colour theme: built in, or one of the person's own."""
    themes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Colour themes of one's own: the name to ``base``, one of our two, and the colours that differ."""
    plain: bool = False
    """ASCII glyphs only, nothing that moves: for screen readers and poor fonts."""
    animations: bool = True
    """Spinners and smooth scrolling."""
    color: bool = True
    """Colours; everything they say is also said in words."""
    mouse: bool = True
    """Whether the mouse is taken from the terminal."""
    terminal_title: bool = True
    """Whether the terminal's window is named after the session."""
    bell_after_s: float = 0.0
    """Seconds after which the end of a turn rings the bell; 0 never."""
    timeline: bool = True
    """Whether the timeline is open at start, where there is room for it."""
    keymap: Mapping[str, str] = field(default_factory=dict)
    """Other keys for actions: the action's name (``settings_names``) to its keys, comma-separated."""
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    """Named model servers."""
    hooks: Mapping[str, tuple[Hook, ...]] = field(default_factory=dict)
    """Commands that run when something happens: the event to its hooks, in order."""
    mcp: Mapping[str, McpServer] = field(default_factory=dict)
    """Servers that bring tools along, by name."""
    project_instructions: bool = True
    """Whether AGENTS.md and CLAUDE.md of the repository are given to the model."""
    thinking: str = "default"
    """How much models think before they answer; ``default`` leaves it to them."""
    max_steps: int = 200
    """Model requests that one turn may take."""
    retries: int = 4
    """How often a request that failed for a reason that passes is sent again by itself; 0 never."""
    fallback_models: str = ""
    """Models to go on with, comma-separated, when the session's own cannot answer; empty for none."""
    review: ReviewMode = "never"
    """Which summaries are shown, to be edited, before they are applied: ``always``, ``manual``, ``never``."""
    approvals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Which calls of tools go ahead (``allow``), are asked about (``ask``) or never go ahead (``deny``)."""
    read_only: bool = False
    """Whether tools may change nothing at all."""
    command_timeout_s: float = 120.0
    """Seconds a command of the model may take when it names none itself."""
    web_fetch: str = "off"
    """Whether the model may fetch web pages: ``off``, ``public`` addresses, or ``any``."""
    summary_timeout_s: float = 120.0
    """Seconds a summary request may take before the compaction fails."""
    memory_limit_mb: int = 1024
    """Megabytes the process may hold before caches are dropped, then the history compacted; 0 is no limit."""
    provider_compaction: bool = False
    """Whether providers that can compact a conversation by themselves are asked to."""
    budget: Mapping[str, float] = field(default_factory=dict)
    """``session_usd``: US dollars after which a session asks before each prompt; 0 is no limit."""
    memory: Mapping[str, object] = field(default_factory=dict)
    """What is remembered of repositories; see ``settings_memory``."""
    store: str = field(default="", repr=False)
    """Address of the PostgreSQL database that keeps sessions, perhaps with a password; empty is a file."""
    retention: Mapping[str, float] = field(default_factory=dict)
    """``days``, ``max_sessions`` and ``max_bytes`` that are kept; what is not given, or 0, is no limit."""
    session_files_mb: int = 512
    """Megabytes of files that a session keeps of what its log holds too; 0 is no limit."""
    explore: Mapping[str, object] = field(default_factory=dict)
    """What sub-agents may do; see ``settings_explore``."""
    answer_timeout_s: float = 600.0
    """Seconds a model's server may be silent, before or in an answer, until the request is given up."""
    telemetry: Mapping[str, str] = field(default_factory=dict)
    """``otlp_endpoint``: ``off``, ``on`` (OpenTelemetry's variables say where), or where spans are sent."""


def load_settings(
    paths: Paths, env: Mapping[str, str], overrides: Mapping[str, object] | None = None
) -> Settings:
    """Read the settings: file, then environment, then flags, the later ones winning key by key.

    ``NO_COLOR`` and ``NO_ANIMATION`` (any non-empty value) rank between the file and ``PLIMSOLL_...``.

    Args:
        paths: Where the settings file is; it need not exist.
        env: The environment.
        overrides: Flags by setting; None stands for a flag that was not given.

    Raises:
        SettingsError: if a key or a value is not allowed, or the file cannot be read.
    """
    return build_settings(read_sources(paths, env, overrides or {}), paths.config_file)


def build_settings(sources: Sequence[Source], path: Path) -> Settings:
    """Put together what the places say, and check what only shows then.

    Args:
        sources: The lowest-ranking first.
        path: The settings file, for messages.

    Raises:
        SettingsError: if a name is unknown, or values do not go together.
    """
    settings = _build(merged(sources), path)
    _known(sources, "policy", settings.policy, (*POLICIES, *settings.policies))
    _known(sources, "theme", settings.theme, (*THEMES, *settings.themes))
    return settings


def resolve_model(settings: Settings, env: Mapping[str, str], held: Collection[str] = ()) -> str:
    """Name the model a new session starts with; never fails, because one model needs no key.

    Args:
        settings: What a person has set.
        env: Where keys are looked for.
        held: Names of keys that are kept elsewhere, such as in the system keyring.
    """
    if settings.model:
        return settings.model
    for key, model in MODELS_BY_KEY:
        if env.get(key, "").strip() or key in held:
            return model
    return OFFLINE_MODEL


def _build(values: dict[str, Any], path: Path) -> Settings:
    endpoints = {name: Endpoint(name=name, **entry) for name, entry in values.get("endpoints", {}).items()}
    hooks = build_hooks(values.get("hooks", {}))
    mcp = build_servers(values.get("mcp", {}))
    settings = Settings(**{**values, "endpoints": endpoints, "hooks": hooks, "mcp": mcp})
    background, blocking = _thresholds(settings)
    if background > blocking:
        raise SettingsError(
            f"{path}, environment or command line: background_threshold is {background}, "
            f"above blocking_threshold {blocking}; allowed: at most that."
        )
    if clash := find_clash(settings.keymap):
        raise SettingsError(
            f"{path}, environment or command line: keymap.{clash.action} is "
            f"{show(settings.keymap[clash.action])}, but {clash.key} is a key of {clash.owner}. "
            f"Choose another, or give {clash.owner} another key first."
        )
    if found := find_writing_key(settings.keymap):
        action, key = found
        raise SettingsError(
            f"{path}, environment or command line: keymap.{action} is {show(settings.keymap[action])}, but "
            f"{key} is needed to write in the prompt; allowed: keys that write nothing, such as f6 or ctrl+k."
        )
    return settings


def _thresholds(settings: Settings) -> tuple[float, float]:
    """What is in force: what the person's own policy says, else what is set, else what is built in."""
    own = settings.policies.get(settings.policy, {})
    background, blocking = thresholds(own) if own else POLICY_SHARES.get(settings.policy, (0.0, 1.0))
    if settings.background_threshold is not None and "background_threshold" not in own:
        background = settings.background_threshold
    if settings.blocking_threshold is not None and "blocking_threshold" not in own:
        blocking = settings.blocking_threshold
    return background, blocking


def _known(sources: Sequence[Source], key: str, name: str, names: tuple[str, ...]) -> None:
    """Refuse a name that is neither built in nor the person's own."""
    source = giver(sources, key)
    if source is not None and name not in names:
        raise source.refusal(key, Refused(show(name), f"one of {', '.join(names)}"))


# Every setting as a person is told about it: what it is for, what it may be, when a change counts.


class Effect(Enum):
    """When a changed setting counts."""

    NOW = "at once"
    NEXT_SESSION = "from the next session"
    NEXT_START = "from the next start"


@dataclass(frozen=True, slots=True)
class About:
    """What a person is told about a setting."""

    text: str
    effect: Effect = Effect.NEXT_SESSION
    allowed: str = ""
    """What it may be, where its rule has no words for it."""


_START = Effect.NEXT_START
_TABLE = "a table; edit it in the file"
ABOUT: Mapping[str, About] = {
    "model": About("Model of new sessions. Not set: chosen by the keys in the environment."),
    "summarization_model": About("Model that writes automatic summaries. Not set: the session's own."),
    "window": About("Context window in tokens, over anything known about the model."),
    "background_threshold": About("Share of the window at which a compaction starts in the background."),
    "blocking_threshold": About("Share of the window at which a request waits for a compaction."),
    "policy": About("What governs the context of new sessions. /policy changes it for this one."),
    "policies": About("Policies of your own, each made from a built-in one.", allowed=_TABLE),
    "theme": About("Colours. /theme shows each as you go through them.", Effect.NOW),
    "themes": About("Colour themes of your own, each made from one of ours.", allowed=_TABLE),
    "plain": About("Signs and frames in ASCII, nothing that moves: for screen readers and poor fonts."),
    "animations": About("Smooth scrolling and anything else that moves.", Effect.NOW),
    "color": About("Colours. Everything they say is also said in words.", Effect.NEXT_START),
    "mouse": About("Whether the mouse is taken from the terminal.", Effect.NEXT_START),
    "terminal_title": About("Name the terminal's window after the session.", Effect.NEXT_START),
    "bell_after_s": About("Ring the bell when a turn that took so long ends.", Effect.NOW),
    "timeline": About("Whether the timeline is open, where there is room for it.", Effect.NOW),
    "keymap": About("Other keys for actions.", Effect.NOW, "keys for each action; enter lists them"),
    "endpoints": About("Model servers of your own.", allowed=_TABLE),
    "hooks": About("Commands of your own that run when something happens.", allowed=_TABLE),
    "mcp": About("Servers that bring tools along. /mcp shows how they do.", allowed=_TABLE),
    "project_instructions": About("Whether AGENTS.md and CLAUDE.md of the repository are followed."),
    "thinking": About("How much models that can think do so before they answer."),
    "max_steps": About("Model requests that one turn may take before it is stopped."),
    "retries": About("How often a request is sent again by itself while a provider cannot answer."),
    "fallback_models": About("Models that go on, in this order, when the session's own cannot answer."),
    "review": About(
        "Which summaries you see, and may edit, before they count; manual: your own.", Effect.NOW
    ),
    "approvals": About("What tools may do without being asked about. /approvals shows it.", allowed=_TABLE),
    "read_only": About("Nothing is written, run or fetched; the model can only look."),
    "command_timeout_s": About("Seconds a command of the model may take when it names none itself."),
    "web_fetch": About("Whether the model may fetch web pages: never, public ones, or any address."),
    "summary_timeout_s": About("Seconds a model may take for each part of a summary it writes."),
    "memory_limit_mb": About("Megabytes the process may hold before memory is made; 0 is no limit."),
    "provider_compaction": About("Whether a provider that can compacts conversations instead of Plimsoll."),
    "budget": About("What a session may cost before it asks ahead of each prompt.", allowed=_TABLE),
    "memory": About("What is remembered of repositories, and given to new sessions.", allowed=_TABLE),
    "store": About("PostgreSQL database that keeps the sessions. Not set: a file of this machine.", _START),
    "retention": About(
        "What plimsoll sessions prune keeps. Nothing goes by itself.", Effect.NOW, allowed=_TABLE
    ),
    "session_files_mb": About("Megabytes of files a session keeps of what its log holds too; 0 is no limit."),
    "explore": About("Sub-agents that look around for the model in a context of their own.", allowed=_TABLE),
    "answer_timeout_s": About("Seconds a model may be silent, before or in an answer, until it is given up."),
    "telemetry": About("Where spans of compactions are sent.", allowed=_TABLE),
}
"""What each setting is for, in the order of the rules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One setting as it stands."""

    key: str
    """Dotted, as ``plimsoll config set`` takes it."""
    value: str
    """What is in force, in words; ``not set`` for nothing."""
    origin: Origin
    about: About
    allowed: str
    choices: tuple[str, ...] = ()
    """All it may be, where that is a short list."""
    is_flag: bool = False
    is_table: bool = False

    @property
    def source(self) -> str:
        """Where the value comes from, in a word or by the name of the variable or flag."""
        return self.origin.name or {"default": "built in", "file": "your file"}.get(self.origin.kind, "")


def entries(settings: Settings, sources: Sequence[Source]) -> list[Entry]:
    """Every setting, in the order of the documentation.

    Args:
        settings: What is in force.
        sources: What it was put together from.
    """
    return [_entry(key, rule, settings, sources) for key, rule in RULES.items()]


def _entry(key: str, rule: Rule, settings: Settings, sources: Sequence[Source]) -> Entry:
    value, about = getattr(settings, key), ABOUT[key]
    choices = _choices(key, rule, settings)
    return Entry(
        key=key,
        value=summary(shown_store(value) if key == "store" else value),
        origin=origin(sources, key),
        about=about,
        allowed=f"one of {', '.join(choices)}" if choices else about.allowed or _allowed(rule),
        choices=choices,
        is_flag=isinstance(rule, Flag),
        is_table=isinstance(value, Mapping),
    )


def _choices(key: str, rule: Rule, settings: Settings) -> tuple[str, ...]:
    if key == "theme":
        return (*THEMES, *settings.themes)
    if key == "policy":
        return (*POLICIES, *settings.policies)
    return rule.words if isinstance(rule, Choice) else ()


def _allowed(rule: Rule) -> str:
    match rule:
        case Text() | Number() | Address():
            return rule.allowed
        case _:
            return "true or false"


def key_entries(settings: Settings, sources: Sequence[Source]) -> list[Entry]:
    """The key map: every action that can have other keys, with those in force."""
    return [
        Entry(
            key=f"keymap.{action}",
            value=settings.keymap.get(action, built_in),
            origin=origin(sources, "keymap", action),
            about=About("", Effect.NOW),
            allowed=f"keys such as ctrl+k, or several as ctrl+k,f5; built in: {built_in}",
        )
        for action, built_in in ACTION_KEYS.items()
    ]


def summary(value: object) -> str:
    """A value in one line; of tables the names."""
    if value in (None, ""):
        return "not set"
    if isinstance(value, Mapping):
        return ", ".join(value) or "none"
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value


def table_lines(values: Mapping[str, object]) -> list[str]:
    """A table in full, a line for each value, as the file could say it.

    Args:
        values: Names with what they stand for: a value, a table, or a list of tables.
    """
    lines: list[str] = []
    for name, value in values.items():
        parts = value if isinstance(value, tuple | list) else [value]
        for part in parts:
            inside = asdict(part) if is_dataclass(part) and not isinstance(part, type) else part
            if isinstance(inside, Mapping):
                said = {key: item for key, item in inside.items() if item not in (None, "", (), [])}
                lines += [f"[{name}]", *(f"  {key} = {json.dumps(item)}" for key, item in said.items()), ""]
            else:
                lines.append(f"{name} = {json.dumps(inside)}")
    return lines
