"""Settings: one frozen value, read once from file, environment and flags, and passed to whoever needs it.

Only the standard library is used, so reading them costs next to nothing before the first paint.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tui_app.paths import Paths
from tui_app.settings_hooks import FILE_ONLY, Hook, build_hooks
from tui_app.settings_names import find_clash
from tui_app.settings_policies import POLICIES, POLICY_SHARES, thresholds
from tui_app.settings_rules import Refused, Rule, show
from tui_app.settings_schema import RULES

ENV_PREFIX = "PLIMSOLL_"
NOT_SETTINGS = frozenset({"PLIMSOLL_HOME", "PLIMSOLL_COMMAND"})
"""Variables with the prefix that say where the settings are and how the program was called."""
OFFLINE_MODEL = "offline:extractive"
"""The embedded model: needs no key and no network."""
MODELS_BY_KEY = (
    ("OPENAI_API_KEY", "openai:gpt-5-mini"),
    ("ANTHROPIC_API_KEY", "anthropic:claude-sonnet-4-5"),
)
"""Which model a person most likely wants when the only hint is a key in the environment; first match wins."""
_ANYWHERE = tuple(key for key in RULES if key not in FILE_ONLY)
"""Settings that the file, the environment and flags may give."""


class SettingsError(Exception):
    """A setting is unknown or wrong. The message names its source, the key, the value and what is allowed."""


class WrongFlag(SettingsError):
    """The setting that is wrong was given on the command line."""


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
    review_compactions: bool = False
    """Whether the summary of a compaction by hand is shown, to be edited, before it is applied."""
    summary_timeout_s: float = 120.0
    """Seconds a summary request may take before the compaction fails."""
    memory_limit_mb: int = 1024
    """Megabytes the process may hold before caches are dropped, then the history compacted; 0 is no limit."""
    provider_compaction: bool = False
    """Whether providers that can compact a conversation by themselves are asked to."""
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
    values = _from_file(paths.config_file)
    _merge(values, _from_switches(env))
    _merge(values, _from_env(env))
    flags = _from_flags(overrides or {})
    _merge(values, flags)
    settings = _build(values, paths.config_file)
    _known_policy(settings, paths.config_file, env, flags)
    return settings


def resolve_model(settings: Settings, env: Mapping[str, str]) -> str:
    """Name the model a new session starts with; never fails, because one model needs no key."""
    if settings.model:
        return settings.model
    for key, model in MODELS_BY_KEY:
        if env.get(key, "").strip():
            return model
    return OFFLINE_MODEL


def _from_file(path: Path) -> dict[str, Any]:
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: not valid TOML: the file is not UTF-8 text") from None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from None
    return {key: _checked(str(path), key, _rule(str(path), key), value) for key, value in raw.items()}


def _from_switches(env: Mapping[str, str]) -> dict[str, Any]:
    """Conventions that many terminal programs share; any non-empty value counts."""
    switches = {"NO_COLOR": "color", "NO_ANIMATION": "animations"}
    return {key: False for name, key in switches.items() if env.get(name)}


def _from_env(env: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in sorted(env):
        if not name.startswith(ENV_PREFIX) or name in NOT_SETTINGS or not env[name]:
            continue
        key = name.removeprefix(ENV_PREFIX).lower()
        if key not in RULES or name != name.upper():
            raise _unknown("environment", name, [f"{ENV_PREFIX}{known.upper()}" for known in _ANYWHERE])
        try:
            values[key] = RULES[key].read(env[name])
        except Refused as refused:
            raise _refusal("environment", name, refused) from None
    return values


def _from_flags(overrides: Mapping[str, object]) -> dict[str, Any]:
    source, values = "command line", {}
    for key, value in overrides.items():
        flag = f"--{key.replace('_', '-')}"
        if key not in _ANYWHERE:
            raise _unknown(source, flag, [f"--{known.replace('_', '-')}" for known in _ANYWHERE])
        if value is not None:
            values[key] = _checked(source, flag, RULES[key], value)
    return values


def _rule(source: str, key: str) -> Rule:
    if key not in RULES:
        raise _unknown(source, key, list(RULES))
    return RULES[key]


def _checked(source: str, key: str, rule: Rule, value: object) -> Any:
    try:
        return rule.check(value)
    except Refused as refused:
        raise _refusal(source, key, refused) from None


def _merge(values: dict[str, Any], later: Mapping[str, Any]) -> None:
    """Later values win; tables are merged entry by entry, so that one more endpoint hides no other."""
    for key, value in later.items():
        values[key] = {**values.get(key, {}), **value} if isinstance(value, dict) else value


def _build(values: dict[str, Any], path: Path) -> Settings:
    endpoints = {name: Endpoint(name=name, **entry) for name, entry in values.get("endpoints", {}).items()}
    hooks = build_hooks(values.get("hooks", {}))
    settings = Settings(**{**values, "endpoints": endpoints, "hooks": hooks})
    background, blocking = _thresholds(settings)
    if background > blocking:
        raise SettingsError(
            f"{path}, environment or command line: background_threshold is {background}, "
            f"above blocking_threshold {blocking}; allowed: at most that."
        )
    if clash := find_clash(settings.keymap):
        raise SettingsError(
            f"{path}, environment or command line: keymap.{clash.action} is "
            f"{show(settings.keymap[clash.action])}, but {clash.key} is a key of {clash.owner}; "
            f"allowed: keys of no other action."
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


def _known_policy(
    settings: Settings, path: Path, env: Mapping[str, str], flags: Mapping[str, object]
) -> None:
    """Refuse the name of a policy that is neither built in nor the person's own."""
    names = (*POLICIES, *settings.policies)
    if settings.policy in names:
        return
    refused = Refused(show(settings.policy), f"one of {', '.join(names)}")
    if "policy" in flags:
        raise WrongFlag(str(_refusal("command line", "--policy", refused)))
    variable = f"{ENV_PREFIX}POLICY"
    raise (
        _refusal("environment", variable, refused)
        if env.get(variable)
        else _refusal(str(path), "policy", refused)
    )


def _unknown(source: str, key: str, known: list[str]) -> SettingsError:
    close = get_close_matches(key, known, n=1)
    meant = f" Did you mean {close[0]}?" if close else ""
    return SettingsError(f"{source}: unknown setting {show(key)}.{meant} Allowed: {', '.join(known)}.")


def _refusal(source: str, key: str, refused: Refused) -> SettingsError:
    """Say what is wrong. An unknown key inside a table gets a suggestion as well."""
    where = f"{key}.{refused.inner_key}" if refused.inner_key else key
    return SettingsError(f"{source}: {where} is {refused.shown}; allowed: {refused.allowed}.")
