"""An MCP server over HTTP that wants its user to sign in, with the authorization server in it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.servers.mcp_http import McpOverHttp, handler_of, serving


@dataclass
class Harbour(McpOverHttp):
    """A server with its accounts."""

    tokens: set[str] = field(default_factory=set)
    """Those that open the door."""
    signed_in: int = 0
    """Times somebody has signed in."""

    @property
    def base(self) -> str:
        return self.url.removesuffix("/mcp")


def resource(state: Harbour) -> object:
    """Who lets users in."""
    return {"resource": state.url, "authorization_servers": [state.base]}


def authorization(state: Harbour) -> object:
    """Where each step is taken."""
    return {
        "issuer": state.base,
        "authorization_endpoint": f"{state.base}/authorize",
        "token_endpoint": f"{state.base}/token",
        "registration_endpoint": f"{state.base}/register",
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
    }


PAGES: dict[str, Callable[[Harbour], object]] = {
    "/.well-known/oauth-protected-resource": resource,
    "/.well-known/oauth-protected-resource/mcp": resource,
    "/.well-known/oauth-authorization-server": authorization,
}


def guarded(state: Harbour) -> type[BaseHTTPRequestHandler]:
    """What lets nobody in without a token."""

    class Handler(handler_of(state)):  # type: ignore[misc]
        def do_POST(self) -> None:
            if self.path == "/register":
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self.say(201, {**asked, "client_id": "plimsoll"})
            elif self.path == "/token":
                self.rfile.read(int(self.headers["content-length"]))
                state.tokens.add("fair-winds-token")
                self.say(
                    200, {"access_token": "fair-winds-token", "token_type": "Bearer", "expires_in": 3600}
                )
            elif self.headers.get("authorization", "").removeprefix("Bearer ") in state.tokens:
                super().do_POST()
            else:
                self.rfile.read(int(self.headers["content-length"]))
                self.refuse()

        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            if asked.path in PAGES:
                self.say(200, PAGES[asked.path](state))
            elif asked.path == "/authorize":
                words = {name: values[0] for name, values in parse_qs(asked.query).items()}
                state.signed_in += 1
                back = urlencode({"code": "c-1", "state": words["state"]})
                self.send_response(302)
                self.send_header("location", f"{words['redirect_uri']}?{back}")
                self.send_header("content-length", "0")
                self.end_headers()
            else:
                self.answer(404, b"", "text/plain")

        def refuse(self) -> None:
            self.send_response(401)
            metadata = f"{state.base}/.well-known/oauth-protected-resource"
            self.send_header("www-authenticate", f'Bearer resource_metadata="{metadata}"')
            self.send_header("content-length", "0")
            self.end_headers()

        def say(self, code: int, value: object) -> None:
            self.answer(code, json.dumps(value).encode(), "application/json")

    return Handler


@contextmanager
def mcp_oauth() -> Iterator[Harbour]:
    """A server for the time of the block."""
    state = Harbour()
    with serving(state, guarded(state)):
        yield state
