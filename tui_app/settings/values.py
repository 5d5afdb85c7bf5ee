"""The settings in force: put together from file, environment and flags, checked, and described for the user.

Only the standard library is used, so reading them costs next to nothing before the first paint.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path

from tui_app.chat_keys import ACTION_KEYS, find_clash, find_writing_key
from tui_app.paths import Paths
from tui_app.providers import MODELS_BY_KEY, OFFLINE_MODEL
from tui_app.records import frozen
from tui_app.settings.rules import Address, Choice, Effect, Flag, Number, Refused, Text, show
from tui_app.settings.sources import Origin, SettingsError, Source, giver, merged, origin, read_sources
from tui_app.settings.spec import SETTINGS, Endpoint, Settings, shown_store
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
    """Put together what the places say, and check what only shows then.

    Args:
        sources: The lowest-ranking first.
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
    """Which values do not go together, and what would; empty where all do."""
    background, blocking = _thresholds(settings)
    if background > blocking:
        below = f"above blocking_threshold {blocking}; allowed: at most that."
        return f"background_threshold is {background}, {below}"
    keymap = settings.keymap
    if clash := find_clash(keymap):
        given = f"keymap.{clash.action} is {show(keymap[clash.action])}"
        other = f"Choose another, or give {clash.owner} another key first."
        return f"{given}, but {clash.key} is a key of {clash.owner}. {other}"
    if found := find_writing_key(keymap):
        told = (
            f"keymap.{found[0]} is {show(keymap[found[0]])}, but {found[1]} is needed to write in the prompt"
        )
        return f"{told}; allowed: keys that write nothing, such as f6 or ctrl+k."
    return ""


def resolve_model(settings: Settings, env: Mapping[str, str], held: Collection[str] = ()) -> str:
    """Name the model a new session starts with; never fails, because one model needs no key.

    Args:
        settings: What the user has set.
        env: Where keys are looked for.
        held: Names of keys that are kept elsewhere, such as in the system keyring.
    """
    if settings.model:
        return settings.model
    for key, model in MODELS_BY_KEY:
        if env.get(key, "").strip() or key in held:
            return model
    return OFFLINE_MODEL


def _thresholds(settings: Settings) -> tuple[float, float]:
    """What is in force: what the user's own policy says, else what is set, else what is built in."""
    own = settings.policies.get(settings.policy, {})
    background, blocking = thresholds(own) if own else POLICY_SHARES.get(settings.policy, (0.0, 1.0))
    if settings.background_threshold is not None and "background_threshold" not in own:
        background = settings.background_threshold
    if settings.blocking_threshold is not None and "blocking_threshold" not in own:
        blocking = settings.blocking_threshold
    return background, blocking


# Every setting as the user is told about it.


NOT_SET = "not set"


@frozen(kw_only=True)
class Entry:
    """One setting with its value in force."""

    key: str
    """Dotted, as ``plimsoll config set`` takes it."""
    value: str
    """What is in force, in words; ``not set`` for nothing."""
    origin: Origin
    help: str
    takes_effect: Effect
    allowed: str
    choices: tuple[str, ...] = ()
    """All it may be, where that is a short list."""
    is_flag: bool = False
    is_table: bool = False
    section: str = ""
    """Where the settings screen lists it."""
    otherwise: str = ""
    """What counts while it is not set, in words."""

    @property
    def is_unset(self) -> bool:
        return self.value == NOT_SET

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
    own_names = {"theme": (*THEMES, *settings.themes), "policy": (*POLICIES, *settings.policies)}
    background, blocking = _thresholds(settings)
    otherwise = {
        "model": "by your API keys",
        "summarization_model": "the session's own",
        "window": "from the model",
        "background_threshold": f"{background:.0%}",
        "blocking_threshold": f"{blocking:.0%}",
    }
    found: list[Entry] = []
    section = ""
    for key, each in SETTINGS.items():
        section = each.section or section
        value, rule = getattr(settings, key), each.rule
        choices = own_names.get(key, rule.words if isinstance(rule, Choice) else ())
        allowed = rule.allowed if isinstance(rule, Text | Number | Address) else "true or false"
        entry = Entry(
            key=key,
            value=summary(shown_store(value) if key == "store" else value),
            origin=origin(sources, key),
            help=each.help,
            takes_effect=each.takes_effect,
            allowed=f"one of {', '.join(choices)}" if choices else each.allowed or allowed,
            choices=choices,
            is_flag=isinstance(rule, Flag),
            is_table=isinstance(value, Mapping),
            section=section,
            otherwise=otherwise.get(key, ""),
        )
        found.append(entry)
    return found


def key_entries(settings: Settings, sources: Sequence[Source]) -> list[Entry]:
    """The key map: every action that can have other keys, with those in force."""
    return [
        Entry(
            key=f"keymap.{action}",
            value=settings.keymap.get(action, built_in),
            origin=origin(sources, "keymap", action),
            help="",
            takes_effect=Effect.NOW,
            allowed=f"keys such as ctrl+k, or several as ctrl+k,f5; built in: {built_in}",
        )
        for action, built_in in ACTION_KEYS.items()
    ]


def summary(value: object) -> str:
    """A value in one line; of tables the names."""
    if value in (None, ""):
        return NOT_SET
    if isinstance(value, Mapping):
        return ", ".join(value) or "none"
    # Not needed for the first frame, which loads this module.
    import json

    return json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value


def table_lines(values: Mapping[str, object]) -> list[str]:
    """A table in full, a line for each value, as the file could say it.

    Args:
        values: Values by name: a value, a table, or a list of tables.
    """
    import json

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
