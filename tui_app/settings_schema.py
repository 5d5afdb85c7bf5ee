"""What a setting may be: one rule for each key, shared by the file, the environment and the flags.

A rule turns a value into the one the program uses, or refuses it with a sentence that says what is allowed.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Protocol
from urllib.parse import urlsplit

POLICIES = ("plimsoll", "off")
"""Names of the governance policies. They stand here again because settings are read before the governor."""
PROTOCOLS = ("openai-chat", "openai", "anthropic", "google")
"""What an endpoint may speak, named like the prefixes of model names; ``openai`` is the Responses API."""
TAKEN_NAMES = (
    "offline", "gguf", "openai", "openai-chat", "openai-responses", "anthropic", "google", "openrouter",
    "ollama",
)  # fmt: skip
"""Prefixes of model names that have a meaning already."""
HIDDEN = "(not shown)"

_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")


class Refused(ValueError):
    """A value breaks its rule."""

    def __init__(self, shown: str, allowed: str, inner_key: str = "") -> None:
        super().__init__(shown, allowed, inner_key)
        self.shown = shown
        """The bad value as it may be shown to a person; never a secret."""
        self.allowed = allowed
        """What would have been right."""
        self.inner_key = inner_key
        """Where in a table it stands, dotted; empty for a plain value."""


def show(value: object) -> str:
    """Write a value for an error message, at most 80 characters long and with nothing unprintable."""
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


class Rule(Protocol):
    """What one key accepts."""

    def check(self, value: object) -> object:
        """Return the value to use. Raises ``Refused``."""
        ...

    def read(self, text: str) -> object:
        """Turn the text of an environment variable into a value, checked. Raises ``Refused``."""
        ...


@dataclass(frozen=True, slots=True)
class Text:
    """A string that matches a pattern as a whole."""

    pattern: str
    allowed: str
    secret_prone: bool = False
    """Whether people paste keys here by mistake; then a bad value is not repeated."""

    def check(self, value: object) -> str:
        """See ``Rule``."""
        if isinstance(value, str) and re.fullmatch(self.pattern, value):
            return value
        raise Refused(HIDDEN if self.secret_prone else show(value), self.allowed)

    def read(self, text: str) -> str:
        """See ``Rule``."""
        return self.check(text)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]

    def check(self, value: object) -> str:
        """See ``Rule``."""
        if isinstance(value, str) and value in self.words:
            return value
        raise Refused(show(value), f"one of {', '.join(self.words)}")

    def read(self, text: str) -> str:
        """See ``Rule``."""
        return self.check(text)


@dataclass(frozen=True, slots=True)
class Flag:
    """Yes or no."""

    def check(self, value: object) -> bool:
        """See ``Rule``."""
        if isinstance(value, bool):
            return value
        raise Refused(show(value), "true or false")

    def read(self, text: str) -> bool:
        """See ``Rule``."""
        word = text.strip().lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        raise Refused(show(text), f"one of {', '.join(_TRUE + _FALSE)}")


@dataclass(frozen=True, slots=True)
class Number:
    """A number within bounds, both included."""

    low: float
    high: float
    allowed: str
    whole: bool = False

    def check(self, value: object) -> int | float:
        """See ``Rule``. A boolean is no number, and a NaN lies within no bounds."""
        right_type = isinstance(value, int) or (isinstance(value, float) and not self.whole)
        if not right_type or isinstance(value, bool) or not isinstance(value, int | float):
            raise Refused(show(value), self.allowed)
        if not self.low <= value <= self.high:
            raise Refused(show(value), self.allowed)
        return value if self.whole else float(value)

    def read(self, text: str) -> int | float:
        """See ``Rule``."""
        try:
            value = int(text) if self.whole else float(text)
        except ValueError:
            raise Refused(show(text), self.allowed) from None
        return self.check(value)


@dataclass(frozen=True, slots=True)
class Address:
    """The base URL of a server."""

    allowed: str = "an address such as http://127.0.0.1:8080/v1, without user name or password"

    def check(self, value: object) -> str:
        """See ``Rule``."""
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

    def read(self, text: str) -> str:
        """See ``Rule``."""
        return self.check(text)


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose keys a person chooses and whose values share one rule."""

    values: Rule
    names: Text

    def check(self, value: object) -> dict[str, object]:
        """See ``Rule``."""
        if not isinstance(value, Mapping):
            raise Refused(show(value), "a table")
        checked: dict[str, object] = {}
        for name, item in value.items():
            try:
                self.names.check(name)
            except Refused as refused:
                raise Refused("no good name", refused.allowed, str(name)) from None
            checked[name] = _inside(name, self.values, item)
        return checked

    def read(self, text: str) -> dict[str, object]:
        """See ``Rule``. The text is an inline table of TOML, for example ``{compact = "ctrl+k"}``."""
        try:
            value = tomllib.loads(f"value = {text}")
        except tomllib.TOMLDecodeError:
            value = {}
        if list(value) != ["value"]:
            raise Refused(show(text), "a TOML inline table, such as {name = ...}")
        return self.check(value["value"])


@dataclass(frozen=True, slots=True)
class Group:
    """A table with a fixed set of keys."""

    keys: Mapping[str, Rule]
    required: tuple[str, ...] = ()

    def check(self, value: object) -> dict[str, object]:
        """See ``Rule``."""
        allowed = f"a table with {', '.join(self.keys)}"
        if not isinstance(value, Mapping):
            raise Refused(show(value), allowed)
        for name in value:
            if name not in self.keys:
                close = get_close_matches(str(name), self.keys, n=1)
                meant = f" (did you mean {close[0]}?)" if close else ""
                raise Refused(f"an unknown key{meant}", f"only {', '.join(self.keys)}", str(name))
        for name in self.required:
            if name not in value:
                raise Refused("missing", f"always {name}", name)
        return {name: _inside(name, self.keys[name], item) for name, item in value.items()}

    def read(self, text: str) -> dict[str, object]:
        """See ``Rule``; a group on its own is never an environment variable."""
        raise Refused(show(text), "a table in the settings file")


def _inside(name: str, rule: Rule, value: object) -> object:
    """Check one item of a table, so that a refusal says where in the table it stands."""
    try:
        return rule.check(value)
    except Refused as refused:
        path = f"{name}.{refused.inner_key}" if refused.inner_key else name
        raise Refused(refused.shown, refused.allowed, path) from None


_MODEL = Text(r"([\w.-]+:\S.*)?", "provider:name, such as openai:gpt-5-mini or offline:extractive")
_WINDOW = Number(256, 100_000_000, "a whole number of tokens, at least 256", whole=True)
_SHARE = Number(0.01, 1.0, "a share of the window from 0.01 to 1.0, such as 0.8")
_ENDPOINT = Group(
    {
        "protocol": Choice(PROTOCOLS),
        "base_url": Address(),
        "key_env": Text(
            r"([A-Za-z_][A-Za-z0-9_]*)?",
            "the name of the environment variable that holds the key, not the key",
            secret_prone=True,
        ),
        "window": _WINDOW,
    },
    required=("base_url",),
)

RULES: Mapping[str, Rule] = {
    "model": _MODEL,
    "summarization_model": _MODEL,
    "window": _WINDOW,
    "background_threshold": _SHARE,
    "blocking_threshold": _SHARE,
    "policy": Choice(POLICIES),
    "theme": Text(r"[\w.-]+", "the name of a theme, such as plimsoll-dark"),
    "plain": Flag(),
    "animations": Flag(),
    "color": Flag(),
    "mouse": Flag(),
    "timeline": Flag(),
    "keymap": Table(
        Text(r"[^\s,]+(,[^\s,]+)*", "keys such as ctrl+k, or several as ctrl+k,f5"),
        Text(r"[\w.-]+", "letters, digits, dot, dash and underscore"),
    ),
    "endpoints": Table(
        _ENDPOINT,
        Text(
            rf"(?!(?:{'|'.join(map(re.escape, TAKEN_NAMES))})$)[A-Za-z][\w.-]*",
            f"a letter, then letters, digits, dot, dash or underscore, but none of {', '.join(TAKEN_NAMES)}",
        ),
    ),
    "summary_timeout_s": Number(1.0, 86_400.0, "seconds, at least 1"),
}
