"""The effective settings, merged from file, environment and flags, and checked.

Only the standard library is used, so reading them costs almost nothing before the first paint.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from tui_app.keymap import find_clash, find_writing_key
from tui_app.paths import Paths
from tui_app.providers import MODELS_BY_KEY, OFFLINE_MODEL
from tui_app.settings.rules import Refused, show
from tui_app.settings.sources import SettingsError, Source, giver, merged, read_sources
from tui_app.settings.spec import Endpoint, Settings
from tui_app.settings.tables import POLICIES, POLICY_SHARES, THEMES, McpServer, build_hooks, thresholds

OFFLINE_WINDOW = 32_000
"""Tokens of one request to the embedded model."""


def load_settings(
    paths: Paths, env: Mapping[str, str], overrides: Mapping[str, object] | None = None
) -> Settings:
    """Read the settings: file, then environment, then flags, the later ones winning key by key.

    ``NO_COLOR`` and ``NO_ANIMATION`` (any non-empty value) rank between the file and ``PLIMSOLL_...``.

    Args:
        paths: Where the settings file is; it need not exist.
        env: The environment.
        overrides: Flags by setting; None for a flag that was not given.

    Raises:
        SettingsError: if a key or a value is not allowed, or the file cannot be read.
    """
    return build_settings(read_sources(paths, env, overrides or {}), paths.config_file)


def build_settings(sources: Sequence[Source], path: Path) -> Settings:
    """Merge the sources, and check the combination.

    Args:
        sources: In order of increasing precedence.
        path: The settings file, for messages.

    Raises:
        SettingsError: if a name is unknown, or values do not go together.
    """
    values = merged(sources)
    endpoints = {name: Endpoint(name=name, **entry) for name, entry in values.get("endpoints", {}).items()}
    hooks = build_hooks(values.get("hooks", {}))
    mcp = {name: McpServer(name=name, **entry) for name, entry in values.get("mcp", {}).items()}
    settings = Settings(**{**values, "endpoints": endpoints, "hooks": hooks, "mcp": mcp})
    if wrong := _mismatch(settings):
        raise SettingsError(f"{path}, environment or command line: {wrong}")
    for key, names in (("policy", (*POLICIES, *settings.policies)), ("theme", (*THEMES, *settings.themes))):
        name, source = getattr(settings, key), giver(sources, key)
        if source is not None and name not in names:
            raise source.refusal(key, Refused(show(name), f"one of {', '.join(names)}"))
    return settings


def _mismatch(settings: Settings) -> str:
    """Return which values conflict, and what is allowed; empty if none do."""
    background, blocking = threshold_shares(settings)
    if background > blocking:
        below = f"above blocking_threshold {blocking}; allowed: at most that."
        return f"background_threshold is {background}, {below}"
    keymap = settings.keymap
    if clash := find_clash(keymap):
        given = f"keymap.{clash.action} is {show(keymap[clash.action])}"
        other = f"Choose another, or give {clash.owner} another key first."
        return f"{given}, but {clash.key} is a key of {clash.owner}. {other}"
    if found := find_writing_key(keymap):
        problem = (
            f"keymap.{found[0]} is {show(keymap[found[0]])}, but {found[1]} is needed to write in the prompt"
        )
        return f"{problem}; allowed: keys that write nothing, such as f6 or ctrl+k."
    return ""


def resolve_model(settings: Settings, env: Mapping[str, str], stored: Collection[str] = ()) -> str:
    """Return the model of a new session; never fails, because one model needs no key.

    Args:
        settings: The user's settings.
        env: Environment to search for keys.
        stored: Names of keys that are kept elsewhere, such as in the system keyring.
    """
    if settings.model:
        return settings.model
    for key, model in MODELS_BY_KEY:
        if env.get(key, "").strip() or key in stored:
            return model
    return OFFLINE_MODEL


def threshold_shares(settings: Settings) -> tuple[float, float]:
    """Return the effective thresholds: of the user's own policy, or as set, or built in."""
    own = settings.policies.get(settings.policy, {})
    background, blocking = thresholds(own) if own else POLICY_SHARES.get(settings.policy, (0.0, 1.0))
    if settings.background_threshold is not None and "background_threshold" not in own:
        background = settings.background_threshold
    if settings.blocking_threshold is not None and "blocking_threshold" not in own:
        blocking = settings.blocking_threshold
    return background, blocking
