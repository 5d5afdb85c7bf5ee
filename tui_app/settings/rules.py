"""Declarations of settings, and the rules for their values shared by file, environment and flags.

A setting is a field of a dataclass: ``theme: str = setting("plimsoll-dark", THEME, "Colours.", Effect.NOW)``.
A rule converts a value to the one the program uses, or refuses it with a sentence on what is allowed. Rules
are needed before the first paint, so they are named tuples, whose classes are created faster than
dataclasses.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, field, fields
from difflib import get_close_matches
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit

T = TypeVar("T")

HIDDEN = "(not shown)"

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")


class Refused(ValueError):
    """A value violates its rule."""

    def __init__(self, shown: str, allowed: str, inner_key: str = "", *, missing: bool = False) -> None:
        super().__init__(shown, allowed, inner_key)
        self.missing = missing
        """Whether a required value is missing."""
        self.shown = shown
        """The bad value as it may be shown; never a secret."""
        self.allowed = allowed
        """What is allowed instead."""
        self.inner_key = inner_key
        """Its place in a table, dotted; empty for a plain value."""


def show(value: object) -> str:
    """Format a value for an error message, with at most 80 characters and nothing unprintable."""
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


class Rule(Protocol):
    """What one key accepts."""

    def check(self, value: object) -> object:
        """Return the value to use. Raises ``Refused``."""


class Text(NamedTuple):
    """A string that fully matches a pattern."""

    pattern: str
    allowed: str
    secret_prone: bool = False
    """Whether users paste API keys here by mistake; then a bad value is not repeated."""

    def check(self, value: object) -> str:
        if isinstance(value, str) and re.fullmatch(self.pattern, value):
            return value
        raise Refused(HIDDEN if self.secret_prone else show(value), self.allowed)


VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
"""The name of an environment variable."""
NAME = r"[A-Za-z][\w.-]*"
"""A name chosen by the user."""
_NAME = "a letter, then letters, digits, dot, dash or underscore"
FOLDER = Text(r"[^\0]*\S[^\0]*", "a folder")


def name_of(what: str) -> Text:
    return Text(NAME, f"the name of a {what}: {_NAME}")


def free_name(taken: Sequence[str], but: str = "") -> Text:
    """Return the rule for an unused name; ``but`` describes the used ones if a list would be too long."""
    pattern = rf"(?!(?:{'|'.join(map(re.escape, taken))})$){NAME}"
    return Text(pattern, f"{_NAME}, but {but or 'none of ' + ', '.join(taken)}")


def variable_name(what: str, pattern: str = VARIABLE) -> Text:
    """Return the rule for the name of a variable in place of a secret."""
    allowed = f"the name of the environment variable that holds the {what}, not the {what}"
    return Text(pattern, allowed, secret_prone=True)


class Choice(NamedTuple):
    """One of a few words."""

    words: tuple[str, ...]

    def check(self, value: object) -> str:
        if isinstance(value, str) and value in self.words:
            return value
        raise Refused(show(value), f"one of {', '.join(self.words)}")


class Flag:
    """True or false."""

    def check(self, value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise Refused(show(value), "true or false")

    def read(self, text: str) -> bool:
        word = text.strip().lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        raise Refused(show(text), f"one of {', '.join(_TRUE + _FALSE)}")


class Number(NamedTuple):
    """A number within bounds, including both."""

    low: float
    high: float
    allowed: str
    whole: bool = False

    def check(self, value: object) -> int | float:
        """Refuse everything that is not a number within the bounds, such as a boolean or NaN."""
        other = isinstance(value, bool) or (self.whole and isinstance(value, float))
        if other or not isinstance(value, int | float) or not self.low <= value <= self.high:
            raise Refused(show(value), self.allowed)
        return value if self.whole else float(value)

    def read(self, text: str) -> int | float:
        try:
            value = _integer(text) if self.whole else float(text)
        except ValueError:
            raise Refused(show(text), self.allowed) from None
        return self.check(value)


def integer(low: int, high: int, allowed: str) -> Number:
    return Number(low, high, allowed, whole=True)


def dollars(allowed: str) -> Number:
    return Number(0.0, 1_000_000.0, allowed)


def _integer(text: str) -> int:
    """Parse a whole number, also in thousands or millions: ``24k``, ``1.5M``. Raises ``ValueError``."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?) ?([kKM])", text.strip())
    if match is None:
        return int(text)
    whole, _, part = match[1].partition(".")
    zeros = 3 if match[2] in "kK" else 6
    if len(part) > zeros:
        raise ValueError(text)
    return int(whole + part.ljust(zeros, "0"))


class Address(NamedTuple):
    """The base URL of a server."""

    words: tuple[str, ...] = ()
    """Words allowed instead."""

    @property
    def allowed(self) -> str:
        address = "an address such as http://127.0.0.1:8080/v1, without user name or password"
        return " or ".join([", ".join(self.words), address]) if self.words else address

    def check(self, value: object) -> str:
        if isinstance(value, str) and value in self.words:
            return value
        if not isinstance(value, str):
            raise Refused(show(value), self.allowed)
        try:
            parts = urlsplit(value)
            # Reading the port is what validates it.
            valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            valid = False
        if "@" in value or not valid or not value.isprintable() or " " in value:
            raise Refused(HIDDEN if "@" in value else show(value), self.allowed)
        return value.rstrip("/")


class Table(NamedTuple):
    """A table whose keys the user chooses and whose values share one rule."""

    values: Rule
    names: Text

    def check(self, value: object) -> dict[str, object]:
        if not isinstance(value, Mapping):
            raise Refused(show(value), "a table")
        checked: dict[str, object] = {}
        for name, item in value.items():
            try:
                self.names.check(name)
            except Refused as refused:
                raise Refused("no good name", refused.allowed, str(name)) from None
            checked[name] = inside(name, self.values, item)
        return checked


class Group(NamedTuple):
    """A table with a fixed set of keys."""

    keys: Mapping[str, Rule]
    required: tuple[str, ...] = ()
    called: str = "key"
    """The noun for one of its keys in messages."""
    together: Callable[[dict[str, Any]], dict[str, Any]] = lambda checked: checked
    """Refuses combinations of valid values."""

    def check(self, value: object) -> dict[str, object]:
        allowed = f"a table with {', '.join(self.keys)}"
        if not isinstance(value, Mapping):
            raise Refused(show(value), allowed)
        for name, item in value.items():
            if name not in self.keys:
                shown = f"an unknown {self.called}{self._meant(str(name), item)}"
                raise Refused(shown, f"only {', '.join(self.keys)}", str(name))
        for name in self.required:
            if name not in value:
                raise Refused("missing", _allowed(self.keys[name]), name, missing=True)
        return self.together({name: inside(name, self.keys[name], item) for name, item in value.items()})

    def _meant(self, name: str, item: object) -> str:
        """Return a suggestion for an unknown key, in brackets; empty without one."""
        if isinstance(item, Mapping) and any(key.startswith(f"{name}.") for key in self.keys):
            return " (names with a dot are written in quotes)"
        close = closest(name, self.keys)
        return f" (did you mean {close}?)" if close else ""


class Items(NamedTuple):
    """A list whose items share one rule."""

    rule: Rule
    allowed: str
    is_numbered: bool = False
    """Whether a refused item is named by its number; for tables."""
    are_words: bool = False
    """Whether a variable may separate them by blanks or commas."""

    def check(self, value: object) -> tuple[object, ...]:
        if not isinstance(value, list | tuple):
            raise Refused(show(value), self.allowed)
        if self.is_numbered:
            return tuple(inside(str(number), self.rule, item) for number, item in enumerate(value, 1))
        return tuple(map(self.rule.check, value))

    def read(self, text: str) -> tuple[object, ...]:
        value, words = _value_in(text), text.replace(",", " ").split() if self.are_words else text
        return self.check(words if value is None else value)


class FileOnly(NamedTuple):
    """A setting that neither the environment nor a flag can set."""

    rule: Rule
    why: str
    by_command: bool = False
    """Whether ``plimsoll config set`` may write it into the file."""

    def check(self, value: object) -> object:
        return self.rule.check(value)

    def read(self, text: str) -> object:
        raise Refused(show(text), f"only in the settings file, because {self.why}")


class Effect(Enum):
    """When a changed setting takes effect."""

    NOW = "at once"
    NEXT_SESSION = "from the next session"
    NEXT_START = "from the next start"


class Setting(NamedTuple):
    """The declaration of a setting; name, type and default are those of its field."""

    rule: Rule
    help: str
    """Its purpose, in a sentence on the settings screen."""
    takes_effect: Effect
    allowed: str
    """Allowed values, if its rule does not describe them."""
    section: str = ""
    """Section of the settings screen; empty for that of the previous declaration."""
    is_required: bool = False
    """Whether a table must have it."""


_TABLE = "a table; edit it in the file"
REQUIRED: Any = MISSING
"""Default of a required key."""


def setting(
    default: T,
    rule: Rule,
    help: str = "",
    takes_effect: Effect = Effect.NEXT_SESSION,
    *,
    allowed: str = "",
    section: str = "",
    is_shown: bool = True,
) -> T:
    """Declare a setting as the default of a dataclass field.

    Args:
        default: The built-in value; `REQUIRED` for none.
        rule: Allowed values.
        help: Its purpose.
        takes_effect: When a change takes effect.
        allowed: Allowed values, if the rule does not describe them.
        section: Section of the settings screen, also for the following declarations.
        is_shown: Whether the value appears in the dataclass's ``repr``.
    """
    is_table = isinstance(default, dict)
    built_in: dict[str, Any] = {"default_factory": dict} if is_table else {"default": default}
    allowed = allowed or (_TABLE if is_table else "")
    spec = Setting(rule, help, takes_effect, allowed, section, is_required=default is MISSING)
    made: T = field(**built_in, repr=is_shown, metadata={"setting": spec})
    return made


def flag(default: bool, help: str = "", takes_effect: Effect = Effect.NEXT_SESSION) -> bool:
    return setting(default, Flag(), help, takes_effect)


def declared(cls: type) -> dict[str, Setting]:
    """Return the settings that a dataclass declares, by name, in order."""
    return {each.name: each.metadata["setting"] for each in fields(cls) if "setting" in each.metadata}


def group_of(cls: type) -> Group:
    """Return the rule of a table whose keys a dataclass declares."""
    found = declared(cls)
    required = tuple(name for name, each in found.items() if each.is_required)
    return Group({name: each.rule for name, each in found.items()}, required)


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; the parser is not loaded for an empty text.

    Raises:
        ValueError: if it is not TOML; the message has the position.
    """
    if not text.strip():
        return {}
    import tomllib

    return tomllib.loads(text)


def read_text(rule: Rule, text: str) -> object:
    """Convert the text of an environment variable to a checked value; a table is an inline one of TOML.

    Raises:
        Refused: if it is not allowed.
    """
    if (own := getattr(rule, "read", None)) is not None:
        return own(text)
    if not (isinstance(rule, Table | Group) or isinstance(getattr(rule, "keys", None), Group)):
        return rule.check(text)
    if (value := _value_in(text)) is None:
        raise Refused(show(text), "a TOML inline table, such as {name = ...}")
    return rule.check(value)


def _value_in(text: str) -> object:
    """Parse a TOML value; None if it is invalid."""
    try:
        found = parse_toml(f"value = {text}")
    except ValueError:
        return None
    return found["value"] if list(found) == ["value"] else None


def inside(name: str, rule: Rule, value: object) -> object:
    """Check one item of a table, so that a refusal includes its place in the table."""
    try:
        return rule.check(value)
    except Refused as refused:
        path = f"{name}.{refused.inner_key}" if refused.inner_key else name
        raise Refused(refused.shown, refused.allowed, path, missing=refused.missing) from None


def _allowed(rule: Rule) -> str:
    """Return what a rule allows, in its own words."""
    try:
        rule.check(None)
    except Refused as refused:
        return refused.allowed
    return "anything"


def closest(name: str, known: Iterable[str]) -> str:
    """Return the known name closest to a mistyped one; empty if there is none.

    One with the same letters has priority, because swapped letters are a common typo.
    """
    names, letters = list(known), sorted(name.casefold())
    same = [each for each in names if sorted(each.casefold()) == letters]
    return next(iter(same or get_close_matches(name, names, n=1)), "")
