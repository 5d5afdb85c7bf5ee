"""API keys: from the environment, from the system keyring, or typed in for this run alone.

Light enough for the start: only the names that the keyring holds are read from a file; a key itself is read
when a model is first made with it, off the screen's thread.
"""

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal, Protocol

from tui_app.files import write_atomic
from tui_app.paths import Paths
from tui_app.refusals import Refusal

SERVICE = "plimsoll"
"""What entries are filed under."""


class KeyringTrouble(Refusal):
    """The keyring cannot be used; the text is a sentence for the user and holds no key."""


class Keyring(Protocol):
    """Where keys are kept between runs. Calls may block, for example until the user has unlocked it."""

    def read(self, name: str) -> str | None:
        """The key of that name; None when there is none."""

    def write(self, name: str, key: str) -> None: ...

    def erase(self, name: str) -> None:
        """Forget a key; one that is not there is no trouble."""


class SystemKeyring:
    """Keychain, Credential Locker, Secret Service or KWallet, whichever this machine has."""

    def read(self, name: str) -> str | None:
        """The key of that name; None when there is none.

        Raises:
            KeyringTrouble: if the keyring cannot be used.
        """
        import keyring

        with _explained(name):
            return keyring.get_password(SERVICE, name)

    def write(self, name: str, key: str) -> None:
        """Keep a key.

        Raises:
            KeyringTrouble: if the keyring cannot be used.
        """
        import keyring

        with _explained(name):
            keyring.set_password(SERVICE, name, key)

    def erase(self, name: str) -> None:
        """Forget a key; one that is not there is no trouble.

        Raises:
            KeyringTrouble: if the keyring cannot be used.
        """
        import keyring
        from keyring.errors import PasswordDeleteError

        with _explained(name), suppress(PasswordDeleteError):
            keyring.delete_password(SERVICE, name)


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Say what happened and what to do; a backend's own words may say anything and are left out."""
    from keyring.errors import KeyringLocked, NoKeyringError

    try:
        yield
    except Exception as error:  # a backend raises whatever its service does
        why = f"The system keyring cannot be used ({type(error).__name__}):"
        if isinstance(error, NoKeyringError):
            why = "This machine has no usable keyring:"
        elif isinstance(error, KeyringLocked):
            why = "The system keyring is locked: unlock it and try again, or"
        raise KeyringTrouble(f"{why} set {name} in the environment instead.") from None


KeySource = Literal["environment", "this run", "keyring", ""]


def key_flaw(key: str) -> str:
    """Say what keeps a key from being sent, as a clause; empty where nothing does.

    Keys travel in headers of HTTP, which hold plain ASCII.
    """
    if key != key.strip():
        return "it begins or ends with a space or a line break"
    for place, sign in enumerate(key, 1):
        if not (sign.isascii() and sign.isprintable()):
            named = f"{sign} (U+{ord(sign):04X})" if sign.isprintable() else f"U+{ord(sign):04X}"
            return f"character {place} is {named}, and keys are plain ASCII"
    return ""


def stored_names(paths: Paths) -> frozenset[str]:
    """Names of the keys that Plimsoll has put into the system keyring; a damaged file counts as empty."""
    try:
        text = paths.keyring_names.read_text(encoding="utf-8")
        import json  # not for the first frame where there is no key

        names = json.loads(text)
    except (OSError, ValueError):
        return frozenset()
    return (
        frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()
    )


@dataclass(slots=True, eq=False)
class ApiKeys(Mapping[str, str]):
    """The environment, with the keys that do not stand in it.

    It goes to what makes models and nowhere else: child processes and hooks get the environment itself.
    """

    env: Mapping[str, str] = field(repr=False)
    paths: Paths
    keyring: Keyring = field(default_factory=SystemKeyring, repr=False)
    _typed: dict[str, str] = field(default_factory=dict, repr=False)
    _read: dict[str, str] = field(default_factory=dict, repr=False)
    _others: set[str] = field(default_factory=set, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def __getitem__(self, name: str) -> str:
        """A key or any other variable. A key in the keyring is read the first time, which may take a while.

        Raises:
            KeyError: if there is none of that name.
            KeyringTrouble: if the keyring holds it, but cannot be read.
        """
        if self.env.get(name, "").strip():
            return self.env[name]
        if value := self._typed.get(name):
            return value
        if name in self.stored and (value := self._from_keyring(name)):
            return value
        return self.env[name]

    def __iter__(self) -> Iterator[str]:
        return iter({*self.env, *self._typed, *self.stored})

    def __len__(self) -> int:
        return len({*self.env, *self._typed, *self.stored})

    @property
    def stored(self) -> frozenset[str]:
        """Names of the keys in the keyring; the keyring is not touched."""
        return stored_names(self.paths)

    @property
    def names(self) -> frozenset[str]:
        """Names of the keys that do not stand in the environment; the keyring is not touched."""
        return self.stored | self._typed.keys()

    @property
    def secrets(self) -> Collection[str]:
        """The keys beside the environment, as far as they were needed: no text may carry them."""
        with self._lock:
            return frozenset((*self._typed.values(), *self._read.values(), *self._others))

    def conceal(self, secrets: Iterable[str]) -> None:
        """Let no text carry these either, which are no keys of models."""
        with self._lock:
            self._others.update(secrets)

    def source(self, name: str) -> KeySource:
        """Where a key comes from; the keyring is not touched."""
        if self.env.get(name, "").strip():
            return "environment"
        if name in self._typed:
            return "this run"
        return "keyring" if name in self.stored else ""

    def readable(self) -> dict[str, str]:
        """Everything as a plain dictionary; a key that cannot be read is left out."""
        found = dict(self.env)
        for name in {*self._typed, *self.stored}:
            try:
                found[name] = self[name]
            except (KeyError, KeyringTrouble):
                found.pop(name, None)
        return found

    def use_temporarily(self, name: str, key: str) -> None:
        """Use a key until the program ends; it is written nowhere."""
        with self._lock:
            self._typed[name] = key

    def store(self, name: str, key: str) -> None:
        """Put a key into the system keyring.

        Raises:
            KeyringTrouble: if there is none, or it refuses.
            OSError: if the list of names cannot be written.
        """
        with self._lock:
            self.keyring.write(name, key)
            self._write_names(self.stored | {name})
            self._typed.pop(name, None)
            self._read[name] = key

    def erase(self, name: str) -> bool:
        """Take a key out of the keyring and out of this run; whether there was one.

        Raises:
            KeyringTrouble: if the keyring cannot be used.
            OSError: if the list of names cannot be written.
        """
        with self._lock:
            held = name in self.stored
            if held:
                self.keyring.erase(name)
                self._write_names(self.stored - {name})
            typed = self._typed.pop(name, None)
            self._read.pop(name, None)
            return held or typed is not None

    def _from_keyring(self, name: str) -> str:
        with self._lock:
            if name not in self._read and (value := self.keyring.read(name)):
                self._read[name] = value
            return self._read.get(name, "")

    def _write_names(self, names: Collection[str]) -> None:
        import json

        self.paths.ensure()
        write_atomic(self.paths.keyring_names, json.dumps(sorted(names)) + "\n")
