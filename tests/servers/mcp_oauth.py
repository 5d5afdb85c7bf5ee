"""An MCP server over HTTP that wants its user to sign in, and the authorization server that it names.

The latter keeps to the rules: it registers clients, has codes proven with PKCE and takes each refresh token
once. What either does instead can be set.
"""

import hashlib
import json
import secrets
import ssl
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.servers.mcp_http import McpOverHttp, handler_of, serving

SECRETS = ("refresh_token", "code_verifier", "code=")
"""What stands in a request that only the authorization server may see."""


@dataclass
class Harbour(McpOverHttp):
    """A server with its accounts."""

    issuer: str = ""
    tokens: set[str] = field(default_factory=set)
    """Those that open the door."""
    refresh_tokens: set[str] = field(default_factory=set)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    """What each code was asked for with."""
    signed_in: int = 0
    """Times somebody has signed in."""
    seen: list[tuple[str, str]] = field(default_factory=list)
    """Who was asked what on the way to a sign-in."""
    leaked: list[str] = field(default_factory=list)
    """Paths of the MCP server to which a secret of the authorization server came."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """What the authorization server says of itself instead."""
    endless: bool = False
    """Whether its metadata never ends."""
    named: str = ""
    """Where the MCP server says that its own metadata is; empty for where it is."""
    answer: dict[str, str] = field(default_factory=dict)
    """What is brought back instead of a code."""
    token: dict[str, Any] = field(default_factory=dict)
    """What is given instead of a token."""

    @property
    def base(self) -> str:
        return self.url.removesuffix("/mcp")

    def takes(self, form: dict[str, str]) -> bool:
        """Whether a request to the token endpoint shows that it may have a token."""
        if form["grant_type"] == "refresh_token":
            known = form["refresh_token"] in self.refresh_tokens
            self.refresh_tokens.discard(form["refresh_token"])
            return known
        asked = self.codes.pop(form["code"], {})
        proof = urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest())
        same = proof.rstrip(b"=").decode() == asked.get("code_challenge")
        return same and form["redirect_uri"] == asked["redirect_uri"] and form["resource"] == self.url

    def give(self) -> dict[str, Any]:
        access, refresh = f"access-{secrets.token_hex(8)}", f"refresh-{secrets.token_hex(8)}"
        self.tokens.add(access)
        self.refresh_tokens.add(refresh)
        given = {"access_token": access, "refresh_token": refresh, "token_type": "Bearer"}
        return self.token or {**given, "expires_in": 3600}


class Issuer(McpOverHttp):
    """Where the authorization server is."""


def guarded(state: Harbour) -> type[BaseHTTPRequestHandler]:
    """What lets nobody in without a token."""

    class Handler(handler_of(state)):  # type: ignore[misc]
        def do_POST(self) -> None:
            if self.headers.get("authorization", "").removeprefix("Bearer ") in state.tokens:
                super().do_POST()
                return
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            if any(secret in body for secret in SECRETS):
                state.leaked.append(self.path)
            self.send_response(401)
            metadata = state.named or f"{state.base}/.well-known/oauth-protected-resource/mcp"
            self.send_header(
                "www-authenticate", f'Bearer resource_metadata="{metadata}", scope="boats:read crew"'
            )
            self.send_header("content-length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            state.seen.append(("server", self.path))
            if self.path.startswith("/.well-known/oauth-protected-resource"):
                about = {"resource": state.url, "authorization_servers": [state.issuer]}
                self.answer(200, json.dumps(about).encode(), "application/json")
            else:
                self.answer(404, b"", "text/plain")

    return Handler


def letting_in(state: Harbour) -> type[BaseHTTPRequestHandler]:  # noqa: C901 - one server
    """What lets users in."""

    class Handler(handler_of(state)):  # type: ignore[misc]
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            state.seen.append(("issuer", self.path))
            if self.path == "/register":
                self.say(201, {**json.loads(body), "client_id": "plimsoll"})
                return
            form = {name: values[0] for name, values in parse_qs(body).items()}
            if state.takes(form):
                self.say(200, state.give())
            else:
                self.say(400, {"error": "invalid_grant", "sent": body})

        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            state.seen.append(("issuer", asked.path))
            if asked.path == "/authorize":
                self.let_in({name: values[0] for name, values in parse_qs(asked.query).items()})
            elif asked.path != "/.well-known/oauth-authorization-server":
                self.answer(404, b"", "text/plain")
            elif state.endless:
                self.go_on()
            else:
                self.say(200, {
                    "issuer": state.issuer,
                    "authorization_endpoint": f"{state.issuer}/authorize",
                    "token_endpoint": f"{state.issuer}/token",
                    "registration_endpoint": f"{state.issuer}/register",
                    "response_types_supported": ["code"],
                    "code_challenge_methods_supported": ["S256"],
                    **state.metadata,
                })  # fmt: skip

        def go_on(self) -> None:
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                while True:
                    self.wfile.write(b" " * 65_536)

        def let_in(self, asked: dict[str, str]) -> None:
            code = secrets.token_hex(8)
            state.codes[code] = asked
            state.signed_in += 1
            words = state.answer or {"code": code}
            self.send_response(302)
            back = urlencode({**words, "state": asked["state"]})
            self.send_header("location", f"{asked['redirect_uri']}?{back}")
            self.send_header("content-length", "0")
            self.end_headers()

        def say(self, code: int, value: object) -> None:
            self.answer(code, json.dumps(value).encode(), "application/json")

    return Handler


@contextmanager
def mcp_oauth(trust: ssl.SSLContext | None = None) -> Iterator[Harbour]:
    """Both servers for the time of the block; the authorization server encrypts if it has a certificate."""
    state, issuer = Harbour(), Issuer()
    with serving(state, guarded(state)), serving(issuer, letting_in(state), trust=trust):
        state.issuer = issuer.url.removesuffix("/mcp")
        yield state
