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
from tui_app.settings_schema import RULES, Refused, Rule, show

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


class SettingsError(Exception):
    """A setting is unknown or wrong. The message names its source, the key, the value and what is allowed."""


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
    background_threshold: float = 0.8
    """Share of the window at which a compaction starts in the background."""
    blocking_threshold: float = 0.95
    """Share of the window at which a request waits for the compaction."""
    policy: str = "plimsoll"
    """Name of the governance policy."""
    theme: str = "plimsoll-dark"
    plain: bool = False
    """ASCII glyphs only, nothing that moves: for screen readers and poor fonts."""
    animations: bool = True
    """Spinners and smooth scrolling."""
    color: bool = True
    """Colours; everything they say is also said in words."""
    mouse: bool = True
    """Whether the mouse is taken from the terminal."""
    timeline: bool = True
    """Whether the timeline is open at start, where there is room for it."""
    keymap: Mapping[str, str] = field(default_factory=dict)
    """Other keys for actions: the action's name to its keys, comma-separated."""
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    """Named model servers."""
    summary_timeout_s: float = 120.0
    """Seconds a summary request may take before the compaction fails."""


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
    _merge(values, _from_flags(overrides or {}))
    return _build(values, paths.config_file)


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
            raise _unknown("environment", name, [f"{ENV_PREFIX}{known.upper()}" for known in RULES])
        try:
            values[key] = RULES[key].read(env[name])
        except Refused as refused:
            raise _refusal("environment", name, refused) from None
    return values


def _from_flags(overrides: Mapping[str, object]) -> dict[str, Any]:
    source, values = "command line", {}
    for key, value in overrides.items():
        flag = f"--{key.replace('_', '-')}"
        if key not in RULES:
            raise _unknown(source, flag, [f"--{known.replace('_', '-')}" for known in RULES])
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
    settings = Settings(**{**values, "endpoints": endpoints})
    if settings.background_threshold > settings.blocking_threshold:
        raise SettingsError(
            f"{path}, environment or command line: background_threshold is {settings.background_threshold}, "
            f"above blocking_threshold {settings.blocking_threshold}; allowed: at most that."
        )
    return settings


def _unknown(source: str, key: str, known: list[str]) -> SettingsError:
    close = get_close_matches(key, known, n=1)
    meant = f" Did you mean {close[0]}?" if close else ""
    return SettingsError(f"{source}: unknown setting {show(key)}.{meant} Allowed: {', '.join(known)}.")


def _refusal(source: str, key: str, refused: Refused) -> SettingsError:
    """Say what is wrong. An unknown key inside a table gets a suggestion as well."""
    where = f"{key}.{refused.inner_key}" if refused.inner_key else key
    return SettingsError(f"{source}: {where} is {refused.shown}; allowed: {refused.allowed}.")
