"""OAuth sign-in at an MCP server over HTTP, in the browser. Only the user can start it.

The protocol's library does the steps. Each of its requests passes here: it is bounded, goes only to addresses
that the server itself could reach, and sends a token only to its issuer.
"""

import asyncio
import secrets
import webbrowser
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.utils import extract_field_from_www_auth
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl

from tui_app.agent.error_sentences import connection_trouble
from tui_app.agent.mcp.status import Consent
from tui_app.agent.mcp.tokens import TokenStore
from tui_app.agent.network.foreign_urls import addresses_of, is_public, pinned_request, url_parts
from tui_app.text import plain_text

WAIT_S = 300.0
"""Seconds the user has to sign in."""
ANSWER_BYTES = 256 * 1024
ANSWER_S = 20.0
_HEAD_S = 10.0
"""Seconds a browser has for the head of its request."""
_WORDS_CHARS = 500
_UNAUTHORIZED, _FORBIDDEN = 401, 403


class SignInFailed(Exception):
    """A sign-in failed. The message is sentences for the user."""


class Auth(OAuthClientProvider):
    """Signs requests to a server with the user's tokens, and runs the sign-in if the user asked for it.

    Args:
        url: The server's address.
        tokens: Stored tokens.
        asked: Receives the consent to show, with the callback for the browser; None if not requested.
    """

    def __init__(
        self, url: str, tokens: TokenStore, asked: "tuple[Callable[[Consent], None], _Callback] | None" = None
    ) -> None:
        self.is_needed = False
        """Whether the server requires a sign-in that the user has not asked for."""
        self._url, self._tokens, self._asked = url, tokens, asked
        self._client: OAuthClientInformationFull | None = None
        about = OAuthClientMetadata(
            client_name="Plimsoll",
            redirect_uris=[AnyUrl(asked[1].address if asked is not None else "http://127.0.0.1/callback")],
            token_endpoint_auth_method="none",
        )
        super().__init__(url.rstrip("/"), about, self, self._open_browser, self._answer)

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        for may_renew in (True, False):
            async with aclosing(super().async_auth_flow(request)) as flow:
                try:
                    outgoing = await anext(flow)
                    while outgoing is not request or self._asked is not None:
                        response = (yield request) if outgoing is request else await self._fetched(outgoing)
                        outgoing = await flow.asend(response)
                except StopAsyncIteration:
                    self.is_needed = False
                    return
            # The library lets one request through at a time, until it is answered: a long call would keep
            # all others waiting. So only what gets a token is left to it.
            response = yield request
            self.is_needed = self._needs_sign_in(response)
            is_refused = self.is_needed and response.status_code == _UNAUTHORIZED
            if not (is_refused and may_renew and self.context.can_refresh_token()):
                return
            # Refused before it expired: refresh it.
            self.context.token_expiry_time = 1.0

    def _needs_sign_in(self, response: httpx2.Response) -> bool:
        too_little = extract_field_from_www_auth(response, "error") == "insufficient_scope"
        return response.status_code == _UNAUTHORIZED or (response.status_code == _FORBIDDEN and too_little)

    async def _fetched(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request to the issuer, or one that finds the issuer."""
        if request.method != "GET" and self.context.oauth_metadata is None:
            raise SignInFailed(
                f"{self._url:.200} does not say who signs users in. "
                "If it gives out keys, put one into a header with headers_env."
            )
        form = dict(parse_qsl(request.content.decode("utf-8", "replace")))
        names = ("code", "code_verifier", "client_secret", "refresh_token")
        self._tokens.conceal(*(form[name] for name in names if name in form))
        response = await (await network_of(self._url)).fetch(request)
        self._tokens.conceal_in(response.content)
        return response

    async def get_tokens(self) -> OAuthToken | None:
        """Stored tokens, with their issuer; None if the user is to sign in again."""
        if self._asked is not None:
            return None
        kept, context = await asyncio.to_thread(self._tokens.read, self._url), self.context
        try:
            found = OAuthToken.model_validate(kept["tokens"])
            context.oauth_metadata = OAuthMetadata.model_validate(kept["issuer"])
            context.protected_resource_metadata = (
                ProtectedResourceMetadata.model_validate(kept["resource"]) if kept["resource"] else None
            )
            self._client = OAuthClientInformationFull.model_validate(kept["client"])
            context.token_expiry_time = kept["expires_at"] and float(kept["expires_at"])
        except (KeyError, ValueError, TypeError):
            return None
        return found

    async def set_tokens(self, tokens: OAuthToken) -> None:
        context = self.context
        known = {
            "tokens": tokens,
            "client": context.client_info,
            "issuer": context.oauth_metadata,
            "resource": context.protected_resource_metadata,
        }
        entry: dict[str, Any] = {"expires_at": context.token_expiry_time}
        entry |= {
            name: each and each.model_dump(mode="json", exclude_none=True) for name, each in known.items()
        }
        # One sign-in per request of the user.
        self._asked = None
        await asyncio.to_thread(self._tokens.keep, self._url, entry)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Does nothing: it is stored with the tokens."""

    async def _open_browser(self, address: str) -> None:
        assert self._asked is not None
        announce, callback = self._asked
        parts, _ = await (await network_of(self._url)).checked(address)
        methods = self.context.oauth_metadata and self.context.oauth_metadata.code_challenge_methods_supported
        if methods and "S256" not in methods:
            without = "without the proof (PKCE, S256) that keeps the code of a user from others"
            raise SignInFailed(f"{parts.hostname} signs users in {without}.")
        words = dict(parse_qsl(parts.query))
        callback.state = words["state"]
        announce(Consent(address, parts.hostname or "", tuple(words.get("scope", "").split())))
        await asyncio.to_thread(webbrowser.open, address)

    async def _answer(self) -> AuthorizationCodeResult:
        assert self._asked is not None
        try:
            words = await asyncio.wait_for(self._asked[1].answered, WAIT_S)
        except TimeoutError:
            raise SignInFailed(f"Nobody signed in within {WAIT_S:g} seconds.") from None
        if "code" not in words:
            reason = plain_text(": ".join(filter(None, map(words.get, ("error", "error_description")))))
            raise SignInFailed(f"The sign-in was refused: {reason[:_WORDS_CHARS] or 'no code came'}.")
        return AuthorizationCodeResult(code=words["code"], state=words["state"], iss=words.get("iss"))


@asynccontextmanager
async def auth_of(
    url: str, tokens: TokenStore, announce: Callable[[Consent], None] | None
) -> AsyncIterator[Auth]:
    """Signs requests to a server while it is in use.

    Args:
        url: The server's address.
        tokens: Stored tokens.
        announce: Receives the consent to show; None if no sign-in was requested.
    """
    if announce is None:
        yield Auth(url, tokens)
        return
    callback = _Callback()
    server = await asyncio.start_server(callback.serve, "127.0.0.1", 0)
    callback.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/callback"
    try:
        yield Auth(url, tokens, (announce, callback))
    finally:
        server.close()


class _Callback:
    """Receives the browser's redirect. Requests without our state are ignored, errors included."""

    def __init__(self) -> None:
        self.address = self.state = ""
        self.answered: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_HEAD_S):
                head = await reader.readuntil(b"\r\n\r\n")
            method, target, _ = head.split(b"\r\n", 1)[0].decode("ascii").split(" ")
            words = dict(parse_qsl(urlsplit(target).query))
            is_ours = (method, urlsplit(target).path) == ("GET", "/callback") and bool(self.state)
            same = secrets.compare_digest(words.get("state", "").encode(), self.state.encode())
            status, message = "400 Bad Request", "This does not answer a sign-in that is under way."
            if is_ours and same and not self.answered.done():
                self.answered.set_result(words)
                status, message = "200 OK", "Back to Plimsoll: you can close this tab."
            page = f"<!doctype html><title>Plimsoll</title><p>{message}".encode()
            kind = f"Content-Type: text/html\r\nContent-Length: {len(page)}\r\nConnection: close"
            writer.write(f"HTTP/1.1 {status}\r\n{kind}\r\n\r\n".encode() + page)
            await writer.drain()
        except (OSError, ValueError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()


@dataclass(slots=True)
class Network:
    """Addresses a server may refer to: encrypted public ones; for a local server also its neighbours."""

    host: str
    """The server's own host."""
    is_near: bool
    """Whether the server is on this machine or its networks."""

    async def checked(self, url: str) -> tuple[SplitResult, str]:
        """The parts of an address, and the IP address to connect to. Raises ``SignInFailed``."""
        parts = _parts(url)
        if parts.scheme != "https" and not self.is_near:
            raise SignInFailed(f"{url:.200} is not encrypted: it must begin with https.")
        found = await _resolved(parts)
        # A name that resolved to a neighbour before must not give its rights to a public host.
        has_moved = self.is_near and parts.hostname == self.host and any(map(is_public, found))
        if has_moved or not all(
            is_public(each) or (self.is_near and not _is_link_local(each)) for each in found
        ):
            raise SignInFailed(
                f"The server names {url:.200}, an address of this machine or its networks: not asked."
            )
        return parts, found[0]

    async def fetch(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; redirects are not followed. Raises ``SignInFailed``."""
        url = str(request.url)
        parts, address = await self.checked(url)
        method, sent = request.method, request.content or None
        headers = {**request.headers, "accept-encoding": "identity"}
        body = bytearray()
        try:
            async with (
                asyncio.timeout(ANSWER_S),
                pinned_request(
                    method, parts, address, headers=headers, content=sent, timeout_s=ANSWER_S
                ) as answer,
            ):
                async for piece in answer.aiter_bytes():
                    body += piece
                    if len(body) > ANSWER_BYTES:
                        raise SignInFailed(f"{url:.200} sent more than {ANSWER_BYTES >> 10} KB: not read.")
        except TimeoutError:
            raise SignInFailed(f"{url:.200} did not answer within {ANSWER_S:g} seconds.") from None
        except httpx2.HTTPError as error:
            trouble = "{} {}, then try again.".format(*connection_trouble(error, address="address"))
            raise SignInFailed(f"{url:.200} cannot be reached. {trouble}") from None
        return httpx2.Response(answer.status_code, content=bytes(body), request=request)


async def network_of(url: str) -> Network:
    parts = _parts(url)
    return Network(parts.hostname or "", not any(map(is_public, await _resolved(parts))))


def _parts(url: str) -> SplitResult:
    if (parts := url_parts(url)) is None:
        raise SignInFailed(f"{plain_text(url):.200} is no address of a web server.")
    return parts


async def _resolved(parts: SplitResult) -> list[str]:
    try:
        async with asyncio.timeout(ANSWER_S):
            return await addresses_of(parts.hostname or "")
    except (OSError, UnicodeError, TimeoutError):
        raise SignInFailed(f"There is no host {parts.hostname:.200}.") from None


def _is_link_local(address: str) -> bool:
    """Whether an address is link-local: clouds serve a machine's keys there."""
    ip: Any = ip_address(address)
    return bool((getattr(ip, "ipv4_mapped", None) or ip).is_link_local)
