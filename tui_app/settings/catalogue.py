"""Every setting as a person is told about it: what it is for, what it may be, when a change counts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from enum import Enum

from tui_app.settings.names import ACTION_KEYS, THEMES
from tui_app.settings.policies import POLICIES
from tui_app.settings.rules import Address, Choice, Flag, Number, Rule, Text
from tui_app.settings.schema import RULES
from tui_app.settings.sources import Origin, Source, origin
from tui_app.settings.store import shown_store
from tui_app.settings.values import Settings


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
