"""An MCP server over HTTP that requires a sign-in, and its authorization server.

The authorization server follows the specification: it registers clients, verifies PKCE and accepts each
refresh token once. Fields of ``Harbour`` make either server misbehave.
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
"""Parts of a request that only the authorization server may receive."""


@dataclass
class Harbour(McpOverHttp):
    """State of both servers."""

    issuer: str = ""
    tokens: set[str] = field(default_factory=set)
    """Valid access tokens."""
    refresh_tokens: set[str] = field(default_factory=set)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    """Parameters of the authorization request that each code was issued for."""
    signed_in: int = 0
    """Number of sign-ins."""
    seen: list[tuple[str, str]] = field(default_factory=list)
    """Server and path of each request made during a sign-in."""
    leaked: list[str] = field(default_factory=list)
    """Paths of requests to the MCP server that contained a secret of the authorization server."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Overrides for the authorization server's metadata."""
    endless: bool = False
    """Whether the metadata response never ends."""
    named: str = ""
    """Metadata URL that the MCP server announces; empty for the true one."""
    answer: dict[str, str] = field(default_factory=dict)
    """Query parameters of the redirect, instead of a code."""
    token: dict[str, Any] = field(default_factory=dict)
    """Token response to send instead of a valid one."""

    @property
    def base(self) -> str:
        return self.url.removesuffix("/mcp")

    def takes(self, form: dict[str, str]) -> bool:
        """Whether a token request is valid: a known refresh token, or a code with its PKCE proof."""
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
    """The authorization server."""


def guarded(state: Harbour) -> type[BaseHTTPRequestHandler]:
    """A request handler that requires an access token."""

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
    """The request handler of the authorization server."""

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
    """Run both servers for the duration of the block; with a certificate, the issuer uses TLS."""
    state, issuer = Harbour(), Issuer()
    with serving(state, guarded(state)), serving(issuer, letting_in(state), trust=trust):
        state.issuer = issuer.url.removesuffix("/mcp")
        yield state
