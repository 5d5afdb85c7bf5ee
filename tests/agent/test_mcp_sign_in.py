"""Signing in at an MCP server over HTTP, in a browser that does what it is told."""

import urllib.request
import webbrowser
from pathlib import Path

import pytest

from tests.agent.test_mcp_servers import ENV, Ours, call, status
from tests.conversation.hook_commands import place
from tests.servers.mcp_oauth import mcp_oauth
from tui_app.agent.mcp.servers import McpServers, SeenTools
from tui_app.agent.mcp.sign_in import TokenStore
from tui_app.api_keys import ApiKeys, KeyringTrouble
from tui_app.paths import Paths
from tui_app.settings.tables import McpServer

pytest.importorskip("fastmcp")


class NoKeyring:
    """A machine without one."""

    def read(self, name: str) -> str | None:
        raise KeyringTrouble("There is no keyring.")

    def write(self, name: str, key: str) -> None:
        raise KeyringTrouble("There is no keyring.")

    def erase(self, name: str) -> None:
        raise KeyringTrouble("There is no keyring.")


class AKeyring:
    """One that works."""

    def __init__(self) -> None:
        self.held: dict[str, str] = {}

    def read(self, name: str) -> str | None:
        return self.held.get(name)

    def write(self, name: str, key: str) -> None:
        self.held[name] = key

    def erase(self, name: str) -> None:
        self.held.pop(name, None)


def keys_of(tmp_path: Path, keyring: NoKeyring | AKeyring) -> ApiKeys:
    return ApiKeys({}, Paths.from_env({"PLIMSOLL_HOME": str(tmp_path)}), keyring)


def servers_at(url: str, tmp_path: Path, tokens: TokenStore) -> McpServers:
    web = McpServer(name="web", url=url, timeout=20)
    seen = SeenTools(tmp_path / "state" / "mcp.json")
    return McpServers({"web": web}, place(tmp_path, **ENV), seen, Ours(), tokens=tokens)


@pytest.mark.parametrize("keyring", [NoKeyring(), AKeyring()])
async def test_whoever_has_signed_in_once_is_let_in_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keyring: NoKeyring | AKeyring
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda url: urllib.request.urlopen(url, timeout=20).close())
    tokens, told = TokenStore(keys_of(tmp_path, keyring), tmp_path / "state" / "sign-ins.json"), list[str]()
    with mcp_oauth() as harbour:
        first = servers_at(harbour.url, tmp_path, tokens)
        first.start()
        await first.settle(30)
        assert status(first, "web").state == "failed"
        assert "needs you to sign in: plimsoll mcp login web" in status(first, "web").error
        assert harbour.signed_in == 0, "nobody has asked for a browser"
        assert (await first.sign_in("web", told.append)).state == "ready", status(first, "web")
        assert told[0].startswith(f"{harbour.base}/authorize?")
        await first.close()

        later = servers_at(harbour.url, tmp_path, TokenStore(keys_of(tmp_path, keyring), tokens.file))
        later.start()
        await later.settle(30)
        assert await call(later, "web_echo", text="ahoy") == "ahoy"
        assert harbour.signed_in == 1
        await later.close()

        if isinstance(keyring, AKeyring):
            assert not tokens.file.exists()
        else:
            assert tokens.file.stat().st_mode & 0o777 == 0o600
        assert tokens.forget(harbour.url)
        assert not tokens.forget(harbour.url)
