"""Fake keyrings: an in-memory one for our keyring port, and a file-based backend for the keyring library."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

from tui_app.api_keys import KeyringTrouble

BACKEND = "tests.fake_keyring.FileKeyring"
"""Value for the variable ``PYTHON_KEYRING_BACKEND``."""
PLACE = "FAKE_KEYRING_FILE"


@dataclass
class FakeKeyring:
    """An in-memory implementation of our keyring port that counts reads."""

    keys: dict[str, str] = field(default_factory=dict)
    broken: bool = False
    reads: int = 0

    def read(self, name: str) -> str | None:
        self.reads += 1
        self._check()
        return self.keys.get(name)

    def write(self, name: str, key: str) -> None:
        self._check()
        self.keys[name] = key

    def erase(self, name: str) -> None:
        self._check()
        self.keys.pop(name, None)

    def _check(self) -> None:
        if self.broken:
            raise KeyringTrouble("This machine has no usable keyring: set it in the environment.")


class FileKeyring(KeyringBackend):
    """A keyring backend that keeps keys in a JSON file named by the environment, shared by processes."""

    priority = 1  # type: ignore[assignment]

    def _all(self) -> dict[str, str]:
        path = Path(os.environ[PLACE])
        if not path.exists():
            return {}
        found: dict[str, str] = json.loads(path.read_text())
        if found.get("locked"):
            raise KeyringLocked("secret service said: sk-not-to-be-shown")
        return found

    def get_password(self, service: str, username: str) -> str | None:
        return self._all().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        Path(os.environ[PLACE]).write_text(json.dumps({**self._all(), f"{service}/{username}": password}))

    def delete_password(self, service: str, username: str) -> None:
        found = self._all()
        if found.pop(f"{service}/{username}", None) is None:
            raise PasswordDeleteError("not there")
        Path(os.environ[PLACE]).write_text(json.dumps(found))
