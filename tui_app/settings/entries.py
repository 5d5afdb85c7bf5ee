"""Settings as they are presented to the user."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass

from tui_app.chat_keys import ACTION_KEYS
from tui_app.records import frozen
from tui_app.settings.rules import Address, Choice, Effect, Flag, Number, Text
from tui_app.settings.sources import Origin, Source, origin
from tui_app.settings.spec import SETTINGS, Settings, shown_store
from tui_app.settings.tables import POLICIES, THEMES
from tui_app.settings.values import threshold_shares

NOT_SET = "not set"


@frozen(kw_only=True)
class Entry:
    """One setting with its effective value."""

    key: str
    """Dotted, as for ``plimsoll config set``."""
    value: str
    """The effective value in words; ``not set`` for none."""
    origin: Origin
    help: str
    takes_effect: Effect
    allowed: str
    choices: tuple[str, ...] = ()
    """All allowed values, if there are only a few."""
    is_flag: bool = False
    is_table: bool = False
    section: str = ""
    """Section of the settings screen."""
    otherwise: str = ""
    """What applies while it is not set, in words."""

    @property
    def is_unset(self) -> bool:
        return self.value == NOT_SET

    @property
    def source(self) -> str:
        """Source of the value, in a word or by the name of the variable or flag."""
        return self.origin.name or {"default": "built in", "file": "your file"}.get(self.origin.kind, "")


def entries(settings: Settings, sources: Sequence[Source]) -> list[Entry]:
    """Return every setting, in the order of the documentation.

    Args:
        settings: The effective settings.
        sources: Their sources.
    """
    own_names = {"theme": (*THEMES, *settings.themes), "policy": (*POLICIES, *settings.policies)}
    background, blocking = threshold_shares(settings)
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
    """Return the key map: every action with configurable keys, and its effective keys."""
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
    """Format a value in one line; for tables the names."""
    if value in (None, ""):
        return NOT_SET
    if isinstance(value, Mapping):
        return ", ".join(value) or "none"
    # Not needed for the first frame, which loads this module.
    import json

    return json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value


def table_lines(values: Mapping[str, object]) -> list[str]:
    """Format a table in full, one line per value, as in the file.

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
                fields = {key: item for key, item in inside.items() if item not in (None, "", (), [])}
                lines += [f"[{name}]", *(f"  {key} = {json.dumps(item)}" for key, item in fields.items()), ""]
            else:
                lines.append(f"{name} = {json.dumps(inside)}")
    return lines
