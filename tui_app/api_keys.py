"""API keys: from the environment, from the system keyring, or typed in for this run only.

Light enough for startup: only the names of the keys in the keyring are read, from a file. A key is read when
a model first needs it, outside of the screen's thread.
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
"""Name under which the entries are stored."""


class KeyringTrouble(Refusal):
    """Raised when the keyring cannot be used; the text is a sentence for the user, without keys."""


class Keyring(Protocol):
    """A store of keys between runs. Calls may block, for example until the user has unlocked it."""

    def read(self, name: str) -> str | None:
        """Return the key with a name; None if there is none."""

    def write(self, name: str, key: str) -> None: ...

    def erase(self, name: str) -> None:
        """Delete a key; a missing one is no error."""


class SystemKeyring:
    """Keychain, Credential Locker, Secret Service or KWallet, depending on the machine."""

    def read(self, name: str) -> str | None:
        """Return the key with a name; None if there is none.

        Raises:
            KeyringTrouble: if the keyring cannot be used.
        """
        import keyring

        with _explained(name):
            return keyring.get_password(SERVICE, name)

    def write(self, name: str, key: str) -> None:
        """Store a key.

        Raises:
            KeyringTrouble: if the keyring cannot be used.
        """
        import keyring

        with _explained(name):
            keyring.set_password(SERVICE, name, key)

    def erase(self, name: str) -> None:
        """Delete a key; a missing one is no error.

        Raises:
            KeyringTrouble: if the keyring cannot be used.
        """
        import keyring
        from keyring.errors import PasswordDeleteError

        with _explained(name), suppress(PasswordDeleteError):
            keyring.delete_password(SERVICE, name)


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Explain an error of the keyring. A backend's own message may contain anything and is left out."""
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
    """Return why a key cannot be sent, as a clause; empty if it can.

    Keys are sent in HTTP headers, which allow only ASCII.
    """
    if key != key.strip():
        return "it begins or ends with a space or a line break"
    for place, sign in enumerate(key, 1):
        if not (sign.isascii() and sign.isprintable()):
            named = f"{sign} (U+{ord(sign):04X})" if sign.isprintable() else f"U+{ord(sign):04X}"
            return f"character {place} is {named}, and keys are plain ASCII"
    return ""


def stored_names(paths: Paths) -> frozenset[str]:
    """Return the names of keys that Plimsoll put into the keyring; a damaged file counts as empty."""
    try:
        text = paths.keyring_names.read_text(encoding="utf-8")
        import json  # not for the first frame when there is no key

        names = json.loads(text)
    except (OSError, ValueError):
        return frozenset()
    return (
        frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()
    )


@dataclass(slots=True, eq=False)
class ApiKeys(Mapping[str, str]):
    """The environment together with the keys that are stored elsewhere.

    Only code that makes models gets it: child processes and hooks get the environment itself.
    """

    env: Mapping[str, str] = field(repr=False)
    paths: Paths
    keyring: Keyring = field(default_factory=SystemKeyring, repr=False)
    _typed: dict[str, str] = field(default_factory=dict, repr=False)
    _read: dict[str, str] = field(default_factory=dict, repr=False)
    _others: set[str] = field(default_factory=set, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def __getitem__(self, name: str) -> str:
        """Return a key or any other variable. The first read of a key in the keyring may take a while.

        Raises:
            KeyError: if there is none with that name.
            KeyringTrouble: if it is in the keyring, but cannot be read.
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
        """Names of the keys in the keyring, which is not accessed."""
        return stored_names(self.paths)

    @property
    def names(self) -> frozenset[str]:
        """Names of the keys that are not in the environment; the keyring is not accessed."""
        return self.stored | self._typed.keys()

    @property
    def secrets(self) -> Collection[str]:
        """The keys outside of the environment that were needed so far: no text may contain them."""
        with self._lock:
            return frozenset((*self._typed.values(), *self._read.values(), *self._others))

    def conceal(self, secrets: Iterable[str]) -> None:
        """Conceal further secrets, which are no keys of models."""
        with self._lock:
            self._others.update(secrets)

    def source(self, name: str) -> KeySource:
        """Return the source of a key; the keyring is not accessed."""
        if self.env.get(name, "").strip():
            return "environment"
        if name in self._typed:
            return "this run"
        return "keyring" if name in self.stored else ""

    def readable(self) -> dict[str, str]:
        """Return all variables and keys as a dictionary; a key that cannot be read is left out."""
        found = dict(self.env)
        for name in {*self._typed, *self.stored}:
            try:
                found[name] = self[name]
            except (KeyError, KeyringTrouble):
                found.pop(name, None)
        return found

    def use_temporarily(self, name: str, key: str) -> None:
        """Use a key until the program ends, without storing it."""
        with self._lock:
            self._typed[name] = key

    def store(self, name: str, key: str) -> None:
        """Store a key in the system keyring.

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
        """Delete a key from the keyring and from this run; return whether there was one.

        Raises:
            KeyringTrouble: if the keyring cannot be used.
            OSError: if the list of names cannot be written.
        """
        with self._lock:
            is_stored = name in self.stored
            if is_stored:
                self.keyring.erase(name)
                self._write_names(self.stored - {name})
            typed = self._typed.pop(name, None)
            self._read.pop(name, None)
            return is_stored or typed is not None

    def _from_keyring(self, name: str) -> str:
        with self._lock:
            if name not in self._read and (value := self.keyring.read(name)):
                self._read[name] = value
            return self._read.get(name, "")

    def _write_names(self, names: Collection[str]) -> None:
        import json

        self.paths.ensure()
        write_atomic(self.paths.keyring_names, json.dumps(sorted(names)) + "\n")
