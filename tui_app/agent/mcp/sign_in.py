"""Signing in at an MCP server over HTTP: OAuth in the browser, with tokens that are kept for later starts."""

import asyncio
import json
import threading
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_app.api_keys import ApiKeys, KeyringTrouble
from tui_app.files import write_atomic

if TYPE_CHECKING:
    from fastmcp.client.auth.oauth import OAuth
    from mcp.shared.auth import AuthorizationCodeResult

WAIT_S = 300.0
"""Seconds the user has to sign in."""
_LONGEST = 1_000_000
_KEYRING_NAME = "mcp sign-ins"
_SECRET = frozenset(
    {"access_token", "refresh_token", "id_token", "client_secret", "registration_access_token"}
)
"""What OAuth calls the values that let whoever has them in."""


@dataclass(slots=True)
class TokenStore:
    """What servers have given for later: in the system keyring, else in a file that only the user may read.

    It has the form that the client library asks of a store. Whatever is wrong with what was kept is as if it
    were not there: the user signs in again. No text carries a token that went through it.
    """

    keys: ApiKeys = field(repr=False)
    file: Path
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    async def get(self, key: str, *, collection: str | None = None) -> dict[str, Any] | None:
        """What was kept under a name; None where nothing was."""
        value = (await asyncio.to_thread(self._read)).get(f"{collection}/{key}")
        return value if isinstance(value, dict) else None

    async def put(
        self, key: str, value: Mapping[str, Any], *, collection: str | None = None, ttl: object = None
    ) -> None:
        """Keep something; servers say for themselves when it is too old."""
        await asyncio.to_thread(self._change, {f"{collection}/{key}": dict(value)})

    async def delete(self, key: str, *, collection: str | None = None) -> bool:
        """Forget something; whether it was there."""
        return await asyncio.to_thread(self._change, {f"{collection}/{key}": None})

    def forget(self, url: str) -> bool:
        """Forget all of one server; whether there was anything."""
        names = [name for name in self._read() if name.partition("/")[2].startswith(f"{url.rstrip('/')}/")]
        return self._change(dict.fromkeys(names))

    def _change(self, changes: Mapping[str, dict[str, Any] | None]) -> bool:
        with self._lock:
            known = self._read()
            there = any(name in known for name in changes)
            merged = {**known, **changes}
            kept = {name: value for name, value in merged.items() if value is not None}
            text = json.dumps(kept)
            self.keys.conceal(_secrets_in(kept))
            try:
                self.keys.keyring.write(_KEYRING_NAME, text)
            except KeyringTrouble:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(self.file, text)
            else:
                # What a start without a keyring had written must not outlive it.
                self.file.unlink(missing_ok=True)
        return there

    def _read(self) -> dict[str, Any]:
        try:
            text = self.keys.keyring.read(_KEYRING_NAME)
        except KeyringTrouble:
            text = None
        try:
            if text is None:
                with self.file.open("rb") as stream:
                    text = stream.read(_LONGEST).decode()
            known = json.loads(text)
        except (OSError, ValueError, RecursionError):
            return {}
        self.keys.conceal(_secrets_in(known))
        return known if isinstance(known, dict) else {}


def _secrets_in(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, each in value.items():
            if name in _SECRET and isinstance(each, str):
                yield each
            yield from _secrets_in(each)


@dataclass(slots=True, kw_only=True)
class SignIn:
    """How one start of a server may sign in."""

    tokens: TokenStore
    announce: Callable[[str], None] | None = None
    """Told the address at which the user signs in, which is opened in the browser as well; None where
    nobody has asked for it: then only what was kept is used."""
    is_needed: bool = False
    """Whether the server wants the user to sign in, and nobody was asked to."""

    @property
    def wait_s(self) -> float:
        """Seconds by which a start may take longer."""
        return WAIT_S if self.announce is not None else 0.0

    def client(self, url: str) -> "OAuth":
        """What signs requests, and signs in where it has to; the client library must be loaded."""
        from fastmcp.client.auth.oauth import OAuth

        from tui_app.agent.network import http_client

        sign_in = self

        class Client(OAuth):
            address = ""

            async def redirect_handler(self, authorization_url: str) -> None:
                if sign_in.announce is None:
                    sign_in.is_needed = True
                    raise RuntimeError("no sign-in is under way")
                self.address = authorization_url

            async def callback_handler(self) -> "AuthorizationCodeResult":
                opening = asyncio.create_task(self.open_browser())
                try:
                    return await super().callback_handler()
                finally:
                    opening.cancel()

            async def open_browser(self) -> None:
                """Send the user to the server once somebody listens for the answer."""
                for _ in range(200):
                    with suppress(OSError):
                        _, writer = await asyncio.open_connection("127.0.0.1", self.redirect_port)
                        writer.close()
                        break
                    await asyncio.sleep(0.05)
                if sign_in.announce is not None:
                    sign_in.announce(self.address)
                await asyncio.to_thread(webbrowser.open, self.address)

        tokens: Any = self.tokens
        return Client(
            url,
            client_name="Plimsoll",
            token_storage=tokens,
            callback_host="127.0.0.1",
            callback_timeout=WAIT_S,
            httpx_client_factory=http_client,
        )
