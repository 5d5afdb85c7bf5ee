"""Storage of OAuth tokens, each with its issuer."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tui_app.api_keys import ApiKeys, KeyringTrouble
from tui_app.files import object_in, read_object, write_atomic

_KEYRING_NAME = "mcp sign-ins"
_SECRET = ("access_token", "refresh_token", "id_token", "client_secret", "registration_access_token")
"""OAuth's names of secret values."""


@dataclass(slots=True)
class TokenStore:
    """Tokens by the server's address: in the system keyring, else in a file that only the user may read.

    Invalid entries are ignored, so that the user signs in again. Calls may block.
    """

    keys: ApiKeys = field(repr=False)
    file: Path
    secrets: set[str] = field(default_factory=set, repr=False)
    """Every token seen here, to mask it in all texts."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def read(self, url: str) -> dict[str, Any]:
        """The entry of a server; empty if the user has not signed in."""
        entry = self._read().get(url)
        return entry if isinstance(entry, dict) else {}

    def keep(self, url: str, entry: Mapping[str, Any]) -> bool:
        """Replace the entry of a server; an empty one removes it. Returns whether there was one."""
        with self._lock:
            known = self._read()
            there = bool(known.pop(url, None))
            text = json.dumps({**known, url: entry} if entry else known)
            self.conceal(*_secrets_in(entry))
            try:
                self.keys.keyring.write(_KEYRING_NAME, text)
            except KeyringTrouble:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(self.file, text)
            else:
                # Remove what an earlier run without a keyring has written.
                self.file.unlink(missing_ok=True)
        return there

    def conceal(self, *secrets: str) -> None:
        self.secrets.update(secrets)
        self.keys.conceal(secrets)

    def conceal_in(self, text: bytes) -> None:
        """Conceal the tokens in a JSON object."""
        self.conceal(*_secrets_in(object_in(text)))

    def _read(self) -> dict[str, Any]:
        text = None
        with suppress(KeyringTrouble):
            text = self.keys.keyring.read(_KEYRING_NAME)
        known = read_object(self.file) if text is None else object_in(text) or {}
        self.conceal(*_secrets_in(known))
        return known


def _secrets_in(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            if name in _SECRET and isinstance(each, str):
                yield each
            yield from _secrets_in(each)
