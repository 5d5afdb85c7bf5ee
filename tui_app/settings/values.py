"""Settings: one frozen value, read once from file, environment and flags, and passed to whoever needs it.

Only the standard library is used, so reading them costs next to nothing before the first paint.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tui_app.paths import Paths
from tui_app.settings.hooks import Hook, build_hooks
from tui_app.settings.mcp import McpServer, build_servers
from tui_app.settings.names import THEMES, find_clash, find_writing_key
from tui_app.settings.policies import POLICIES, POLICY_SHARES, thresholds
from tui_app.settings.rules import Refused, show
from tui_app.settings.sources import SettingsError, Source, giver, merged, read_sources

ReviewMode = Literal["always", "manual", "never"]
"""Which summaries a person sees before they are applied."""
OFFLINE_MODEL = "offline:extractive"
OFFLINE_WINDOW = 32_000
"""Tokens of one request to it."""
"""The embedded model: needs no key and no network."""
MODELS_BY_KEY = (
    ("OPENAI_API_KEY", "openai:gpt-5-mini"),
    ("ANTHROPIC_API_KEY", "anthropic:claude-sonnet-4-5"),
)
"""Which model a person most likely wants when the only hint is a key in the environment; first match wins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model server that the user named; its models are called ``NAME:model``."""

    name: str
    protocol: str = "openai-chat"
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
