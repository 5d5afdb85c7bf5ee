"""The environment of other programs, and the secrets that no text may contain.

Commands and hooks get the variables listed in the table in this folder, and no secrets. A variable is secret
by the form of its name or value. The same rule applies to tool results.
"""

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase, translate
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tui_app.api_keys import ApiKeys
from tui_app.files import toml_beside
from tui_app.providers import key_variables
from tui_app.records import frozen
from tui_app.system.secrets import MASK, PLACEHOLDER, looks_random, mask_secrets

_PARTS = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+")
_WITHIN = re.compile(r"secret|passw|passphrase|credential|api_?key|(?:private|access)_?key|token(?!i[sz])")
_WORDS = frozenset({"key", "keys", "pass", "pwd", "pw", "pat", "cred", "creds", "jwt", "bearer", "otp"})
_PERHAPS = frozenset({"auth", "authorization", "cookie", "dsn", "sas", "signature", "webhook"})
"""Words of a name that count only if the value looks like a secret."""
_COUNTED = frozenset({"key", "keys", "token", "tokens", "pass"})
_FOLDERS = frozenset({"PWD", "OLDPWD"})
_NUMBER = re.compile(r"[0-9.,]{0,6}|true|false|yes|no|on|off", re.IGNORECASE)
"""Values of counts and switches, as of ``MAX_TOKENS``: no secret."""

_RUN = re.compile(r"[A-Za-z0-9_+=-]{16,}")
_LONG_RUN = 20
_CHANGE = re.compile(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])|(?<=[a-z])(?=[A-Z])")
_SHARE = 0.25
"""Minimum changes of kind per character: a generated run has about twice as many, one of words hardly any."""
_SHORTEST = 8
"""Shorter values occur by chance in too many texts to be masked there."""
_PLAIN_WORD = 16
"""Minimum length of a purely alphabetic word to be masked."""
_LINE = 16
"""Minimum length of a line to count as a secret in a multi-line one, as of a private key."""


def is_secret(name: str, value: str) -> bool:
    """Return whether a variable contains a secret, by the form of its name and value alone."""
    if not value.strip() or name in _FOLDERS:
        return _names_secret(name) and name not in _FOLDERS
    if mask_secrets(value) != value or _is_generated(value):
        return True
    if _names_secret(name):
        return _COUNTED.isdisjoint(_words(name)) or not _NUMBER.fullmatch(value)
    return not _PERHAPS.isdisjoint(_words(name)) and not value.startswith("/") and looks_random(value)


def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _PARTS.findall(name))


def _names_secret(name: str) -> bool:
    words = _words(name)
    if "public" in words or "pub" in words:
        return False
    return not _WORDS.isdisjoint(words) or _WITHIN.search(name.lower()) is not None


def _is_generated(value: str) -> bool:
    """Return whether a value contains a run as long and mixed as generated ones; paths do not count."""
    return not value.startswith(("/", "~", "file:")) and any(
        len(run) >= _LONG_RUN and _is_mixed(run) for run in _RUN.findall(value)
    )


def _is_mixed(run: str) -> bool:
    kinds = (any(map(test, run)) for test in (str.isupper, str.islower, str.isdigit))
    return all(kinds) and looks_random(run) and len(_CHANGE.findall(run)) >= _SHARE * len(run)


def for_programs(
    env: Mapping[str, str], named: Iterable[str] = (), passed: Iterable[str] = ()
) -> dict[str, str]:
    """Return the environment that programs get.

    Args:
        env: The environment.
        named: Variables that contain keys according to the settings.
        passed: Variables that the settings pass on, whatever they contain; ``*`` is a wildcard.
    """
    patterns = [each.strip() for each in passed]
    through = [name for name in env if any(fnmatchcase(name, each) for each in patterns)]
    kept, needed = without_keys(env, named, through), _needed()
    return {name: value for name, value in kept.items() if name in through or needed.fullmatch(name)}


@cache
def _needed() -> re.Pattern[str]:
    rows = toml_beside(__file__, "environment")
    return re.compile("|".join(translate(name) for names in rows.values() for name in names))


def without_keys(
    env: Mapping[str, str], named: Iterable[str] = (), let: Iterable[str] = ()
) -> dict[str, str]:
    """Return the environment without secrets and without variables that contain one.

    Args:
        env: The environment.
        named: Variables that contain keys according to the settings.
        let: Variables that the settings let through.
    """
    through = frozenset(let)
    known = {*key_variables(), *named}
    secret = {name for name in env if name in known or is_secret(name, env[name])} - through
    values = {env[name] for name in secret if len(env[name]) >= _SHORTEST}
    return {
        name: value
        for name, value in env.items()
        if name in through or not (name in secret or any(key in value for key in values))
    }


def keys_in(env: Mapping[str, str], named: Iterable[str] = (), store: str = "") -> frozenset[str]:
    """Return the secrets themselves, so that texts do not reveal them where the variables are withheld.

    Args:
        env: The environment.
        named: Variables that contain keys according to the settings.
        store: Address of the session database, which may contain a password.
    """
    kept, known = without_keys(env, named), {*key_variables(), *named}
    found = {store, *_inside(store)}
    for name, value in env.items():
        if name not in kept:
            found |= {*_inside(value), *([value] if name in known or _is_telling(value) else ())}
    return frozenset(each for each in found if len(each) >= _SHORTEST)


def _is_telling(value: str) -> bool:
    """Return whether a value can only be a secret in a text. Paths and plain words occur otherwise, too."""
    return not (PLACEHOLDER.match(value) or (value.isalpha() and len(value) < _PLAIN_WORD))


def _inside(value: str) -> Iterator[str]:
    """Yield the secret parts of a value: an address' password, a key's lines, a bearer token."""
    if "://" in value:
        try:
            parts = urlsplit(value)
            given = [
                parts.password or "",
                *(text for key, text in parse_qsl(parts.query) if _names_secret(key)),
            ]
        except ValueError:
            given = []
        yield from (each for raw in given if raw for each in (raw, unquote(raw)) if _is_telling(each))
    elif value[:7].lower() == "bearer ":
        yield value[7:].strip()
    elif "\n" in value or "\\n" in value:
        lines = value.replace("\\n", "\n").splitlines()
        yield from (line for line in lines if len(line) >= _LINE and not line.startswith("-----"))


@frozen
class Secrets(Collection[str]):
    """All secrets known so far: a model may get its key during the session."""

    fixed: frozenset[str] = field(repr=False)
    """Secrets in the environment."""
    keys: ApiKeys | None = field(repr=False)
    """Source of the other keys; None if there is none."""

    def _all(self) -> frozenset[str]:
        later = () if self.keys is None else self.keys.secrets
        return self.fixed | {key for key in later if len(key) >= _SHORTEST}

    def __contains__(self, text: object) -> bool:
        return text in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def masked(self, value: Any) -> Any:
        """Mask the secrets in a text, or in all texts of a JSON value."""
        match value:
            case str():
                return masked(value, self)
            case dict():
                return {self.masked(key): self.masked(each) for key, each in value.items()}
            case list():
                return [self.masked(each) for each in value]
            case tuple():
                return tuple(self.masked(each) for each in value)
            case _:
                return value

    def open_end(self, text: str) -> int:
        """Return the number of characters at the end of a text that may be the beginning of a secret."""
        return max((_overlap(text, key) for key in self), default=0)


NO_SECRETS = Secrets(frozenset(), None)


@dataclass(slots=True)
class MaskedStream:
    """Masks secrets in a text that comes in pieces, including those split between two pieces."""

    secrets: Secrets
    shown: list[str] = field(default_factory=list)
    held: str = ""
    """The end of the text, if it may be the beginning of a secret."""

    def add(self, text: str) -> str:
        """Add a piece and return what can be shown so far."""
        known = masked(self.held + text, self.secrets)
        cut = len(known) - self.secrets.open_end(known)
        self.held = known[cut:]
        self.shown.append(known[:cut])
        return known[:cut]

    def flush(self) -> str:
        """Return what was held back, at the end."""
        rest, self.held = self.held, ""
        self.shown.append(rest)
        return rest


def masked(text: str, keys: Iterable[str]) -> str:
    for key in sorted(keys, key=len, reverse=True):
        if key in text:
            text = text.replace(key, MASK)
    return text


def _overlap(text: str, key: str) -> int:
    return next((size for size in range(min(len(text), len(key) - 1), 0, -1) if text.endswith(key[:size])), 0)


def hide_environment(names: Collection[str]) -> None:
    """Keep the user's other programs from reading variables of this process; on Linux only.

    A command that a rule allows could read them in ``/proc``. So the process is closed to others of its user,
    and the values are overwritten where the kernel reads them, which also stops root.

    Args:
        names: The variables. They keep their values for this process.
    """
    if sys.platform != "linux":
        return
    import ctypes  # takes 16 ms, so not at startup
    import os
    from contextlib import suppress

    with suppress(OSError, ValueError, IndexError, AttributeError):
        with open("/proc/self/stat", encoding="ascii", errors="replace") as stat:  # noqa: PTH123
            start, end = map(int, stat.read().rpartition(")")[2].split()[47:49])
        block = ctypes.string_at(start, end - start) if 0 < start < end else b""
        for found in re.finditer(rb"([^=\0]+)=([^\0]+)", block):
            name = os.fsdecode(found[1])
            if name not in names:
                continue
            # First give the C library a copy of its own: libraries still read the variable.
            if name in os.environ:
                os.putenv(name, os.environ[name])
            else:
                os.unsetenv(name)
            ctypes.memset(start + found.start(2), 0, len(found[2]))
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


_PR_SET_DUMPABLE = 4
