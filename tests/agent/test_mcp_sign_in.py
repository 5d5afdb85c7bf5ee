"""Signing in to an MCP server over HTTP, with a scripted browser."""

import asyncio
import threading
import urllib.error
import urllib.request
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.agent.test_mcp_servers import ENV, NO_KEYRING, Ours, call, sign_ins, status
from tests.conversation.hook_commands import place
from tests.servers.mcp_oauth import Harbour, mcp_oauth
from tui_app.agent.mcp import oauth
from tui_app.agent.mcp.oauth import SignInFailed, network_of
from tui_app.agent.mcp.seen_tools import SeenTools
from tui_app.agent.mcp.servers import McpServers
from tui_app.agent.mcp.status import CallFailed, Consent, McpStatus
from tui_app.agent.mcp.tokens import TokenStore
from tui_app.api_keys import Keyring
from tui_app.settings.tables import McpServer

pytest.importorskip("mcp")


class AKeyring:
    """A working keyring."""

    def __init__(self) -> None:
        self.held: dict[str, str] = {}

    def read(self, name: str) -> str | None:
        return self.held.get(name)

    def write(self, name: str, key: str) -> None:
        self.held[name] = key

    def erase(self, name: str) -> None:
        self.held.pop(name, None)


@asynccontextmanager
async def servers_at(url: str, tmp_path: Path, tokens: TokenStore) -> AsyncIterator[McpServers]:
    web = McpServer(name="web", url=url, timeout=20)
    seen = SeenTools(tmp_path / "state" / "mcp.json")
    servers = McpServers({"web": web}, place(tmp_path, **ENV), seen, Ours(), tokens=tokens)
    try:
        yield servers
    finally:
        await servers.close()


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses the browser was sent to; it follows them right away."""
    opened = list[str]()

    def browse(url: str) -> None:
        opened.append(url)
        urllib.request.urlopen(url, timeout=20).close()

    monkeypatch.setattr(webbrowser, "open", browse)
    return opened


async def signed_in(
    harbour: Harbour, tmp_path: Path, told: list[Consent] | None = None, tokens: TokenStore | None = None
) -> McpStatus:
    told = [] if told is None else told
    async with servers_at(harbour.url, tmp_path, tokens or sign_ins(tmp_path)) as servers:
        return await servers.sign_in("web", told.append)


@pytest.mark.parametrize("keyring", [NO_KEYRING, AKeyring()])
async def test_whoever_has_signed_in_once_is_let_in_again(
    tmp_path: Path, browser: list[str], keyring: Keyring
) -> None:
    tokens, told = sign_ins(tmp_path, keyring), list[Consent]()
    with mcp_oauth() as harbour:
        assert (await signed_in(harbour, tmp_path, told, tokens)).state == "ready"
        assert browser == [told[0].address]
        assert told[0].address.startswith(f"{harbour.issuer}/authorize?")
        assert told[0].scopes == ("boats:read", "crew")
        assert "Sign in at 127.0.0.1 in your browser. It will be asked for: boats:read, crew." in told[0].text
        asked = parse_qs(urlsplit(browser[0]).query)
        assert asked["code_challenge_method"] == ["S256"]
        assert len(asked["state"][0]) > 30

        async with servers_at(harbour.url, tmp_path, sign_ins(tmp_path, keyring)) as later:
            later.start()
            await later.settle(30)
            assert await call(later, "web_echo", text="ahoy") == "ahoy"
        assert harbour.signed_in == 1
        assert harbour.leaked == []
        if isinstance(keyring, AKeyring):
            assert not tokens.file.exists()
        else:
            assert tokens.file.stat().st_mode & 0o777 == 0o600
        assert tokens.keep(harbour.url, {})
        assert not tokens.keep(harbour.url, {})


async def test_calls_of_a_signed_in_user_run_side_by_side(tmp_path: Path, browser: list[str]) -> None:
    tokens = sign_ins(tmp_path)
    with mcp_oauth() as harbour:
        await signed_in(harbour, tmp_path, tokens=tokens)
        async with servers_at(harbour.url, tmp_path, tokens) as later:
            later.start()
            await later.settle(30)
            harbour.meeting = threading.Barrier(2)
            said = await asyncio.gather(*(call(later, "web_echo", text=text) for text in ("one", "two")))
    assert said == ["one", "two"]


async def test_nothing_is_asked_of_anybody_before_the_user_signs_in(
    tmp_path: Path, browser: list[str]
) -> None:
    with mcp_oauth() as harbour:
        harbour.named = f"{harbour.issuer}/anywhere"
        async with servers_at(harbour.url, tmp_path, sign_ins(tmp_path)) as servers:
            servers.start()
            await servers.settle(30)
            assert status(servers, "web").state == "failed"
            assert "needs you to sign in: plimsoll mcp login web" in status(servers, "web").error
        assert harbour.seen == browser == []


@pytest.mark.parametrize("revoked", [False, True])
async def test_a_token_is_renewed_by_the_issuer_that_gave_it(
    tmp_path: Path, browser: list[str], revoked: bool
) -> None:
    with mcp_oauth() as harbour:
        tokens = sign_ins(tmp_path)
        assert (await signed_in(harbour, tmp_path, tokens=tokens)).state == "ready"
        for _ in range(2):
            if not revoked:
                tokens.keep(harbour.url, {**tokens.read(harbour.url), "expires_at": 1.0})
            harbour.tokens.clear()
            harbour.seen.clear()
            async with servers_at(harbour.url, tmp_path, sign_ins(tmp_path)) as servers:
                servers.start()
                await servers.settle(30)
                assert status(servers, "web").state == "ready", status(servers, "web")
            assert [where for where in harbour.seen if where != ("server", "/mcp")] == [("issuer", "/token")]
        assert (harbour.leaked, len(browser)) == ([], 1)


async def test_without_a_valid_refresh_token_the_user_signs_in_again(
    tmp_path: Path, browser: list[str]
) -> None:
    with mcp_oauth() as harbour:
        await signed_in(harbour, tmp_path)
        harbour.tokens.clear()
        harbour.refresh_tokens.clear()
        async with servers_at(harbour.url, tmp_path, sign_ins(tmp_path)) as servers:
            servers.start()
            await servers.settle(30)
            assert "needs you to sign in" in status(servers, "web").error
        assert (harbour.leaked, len(browser)) == ([], 1)
        assert (await signed_in(harbour, tmp_path)).state == "ready"


async def test_a_sign_in_that_ends_later_opens_no_browser_by_itself(
    tmp_path: Path, browser: list[str]
) -> None:
    with mcp_oauth() as harbour:
        async with servers_at(harbour.url, tmp_path, sign_ins(tmp_path)) as servers:
            assert (await servers.sign_in("web", lambda _consent: None)).state == "ready"
            harbour.tokens.clear()
            harbour.refresh_tokens.clear()
            with pytest.raises(CallFailed, match="needs you to sign in"):
                await call(servers, "web_echo", text="ahoy")
            harbour.session += 1
            await servers.reload()
            await servers.settle(30)
            assert "needs you to sign in" in status(servers, "web").error
        assert len(browser) == 1


async def test_a_page_that_does_not_know_the_state_neither_ends_a_sign_in_nor_answers_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = list[int]()

    def browse(url: str) -> None:
        back = parse_qs(urlsplit(url).query)["redirect_uri"][0]
        for words in ("error=access_denied", "code=theirs&state=theirs", "code=theirs", "error=no&state="):
            with pytest.raises(urllib.error.HTTPError) as raised:
                urllib.request.urlopen(f"{back}?{words}", timeout=20)
            refused.append(raised.value.code)
            raised.value.close()
        urllib.request.urlopen(url, timeout=20).close()

    monkeypatch.setattr(webbrowser, "open", browse)
    with mcp_oauth() as harbour:
        assert (await signed_in(harbour, tmp_path)).state == "ready"
    assert refused == [400] * 4


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"endless": True}, "sent more than 256 KB"),
        ({"metadata": {"issuer": "https://evil.example"}}, "issuer mismatch"),
        (
            {"metadata": {"token_endpoint": "http://169.254.169.254/token"}},
            "machine or its networks: not asked",
        ),
        ({"metadata": {"authorization_endpoint": "ftp://127.0.0.1/"}}, "does not say who signs users in"),
        ({"metadata": {"code_challenge_methods_supported": ["plain"]}}, "without the proof (PKCE, S256)"),
        ({"answer": {"error": "access_denied", "error_description": "no\x1b[31m"}}, "access_denied: no"),
        ({"answer": {"code": "1", "iss": "https://evil.example"}}, "iss mismatch"),
        ({"named": "http://169.254.169.254/latest"}, "machine or its networks: not asked"),
    ],
)
async def test_a_hostile_server_gets_nothing(
    tmp_path: Path, browser: list[str], changed: dict[str, Any], told: str
) -> None:
    with mcp_oauth() as harbour:
        for name, value in changed.items():
            setattr(harbour, name, value)
        found = await signed_in(harbour, tmp_path)
    assert found.state == "failed"
    assert told in found.error
    assert "\x1b" not in found.error
    assert (harbour.tokens, harbour.leaked) == (set(), [])


async def test_no_token_is_echoed(tmp_path: Path, browser: list[str]) -> None:
    tokens = sign_ins(tmp_path)
    with mcp_oauth() as harbour:
        harbour.token = {"access_token": "tide-acc3ss-token", "token_type": "mac"}
        found = await signed_in(harbour, tmp_path, tokens=tokens)
    assert found.state == "failed"
    assert "tide-acc3ss-token" not in found.error
    assert "tide-acc3ss-token" in tokens.secrets


@pytest.mark.parametrize(
    ("server", "named", "goes"),
    [
        ("192.0.2.1", "", False),
        ("93.184.216.34", "https://93.184.216.35/", True),
        ("93.184.216.34", "http://93.184.216.35/", False),
        ("93.184.216.34", "https://127.0.0.1/", False),
        ("93.184.216.34", "https://[::ffff:10.0.0.1]/", False),
        ("93.184.216.34", "https://user@93.184.216.35/", False),
        ("127.0.0.1", "http://127.0.0.1:9/", True),
        ("10.0.0.1", "http://10.0.0.2/", True),
        ("127.0.0.1", "https://93.184.216.35/", True),
        ("127.0.0.1", "http://169.254.169.254/", False),
        ("127.0.0.1", "http://[::ffff:169.254.169.254]/", False),
        ("127.0.0.1", "file:///etc/passwd", False),
    ],
)
async def test_a_server_names_no_address_that_it_could_not_reach_itself(
    server: str, named: str, goes: bool
) -> None:
    network = await network_of(f"http://{server}/mcp")
    if goes:
        assert (await network.checked(named))[1]
    else:
        with pytest.raises(SignInFailed):
            await network.checked(named or "https:///")


async def test_a_name_that_moves_to_another_network_lends_it_no_rights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    means = ["127.0.0.1"]

    async def resolved(_parts: object) -> list[str]:
        return means

    monkeypatch.setattr(oauth, "_resolved", resolved)
    network = await network_of("http://harbour.example/mcp")
    assert (await network.checked("http://harbour.example/token"))[1] == "127.0.0.1"
    means[:] = ["93.184.216.34"]
    with pytest.raises(SignInFailed):
        await network.checked("http://harbour.example/token")
