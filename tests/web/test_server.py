"""The server and the screens it starts, as a browser talks to them."""

import json
from pathlib import Path

import aiohttp
import psutil

from tests.web.kit import plain, serving
from tui_app.web.server import SAFETY, page


async def screen_of(socket: aiohttp.ClientWebSocketResponse, words: str) -> str:
    """Read what is drawn until some words are there."""
    seen = b""
    while words not in plain(seen):
        message = await socket.receive()
        assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), message
        if message.type is aiohttp.WSMsgType.BINARY:
            seen += message.data
    return plain(seen)


async def test_a_prompt_is_answered_and_nothing_is_left_behind(tmp_path: Path) -> None:
    (tmp_path / "tides.txt").write_text("Low water on Sunday is at nine.\n")
    jar = aiohttp.CookieJar(unsafe=True)
    async with serving(tmp_path) as served, aiohttp.ClientSession(cookie_jar=jar) as browser:
        async with browser.get(served.address) as first:
            text = await first.text()
            assert (first.status, str(first.url)) == (200, served.base)
            assert f'"{served.base.replace("http", "ws")}ws"' in text
            assert "default-src 'none'" in first.headers["Content-Security-Policy"]
        for asset in ("static/js/textual.js", "static/css/xterm.css", "plimsoll.css", "plimsoll.js"):
            async with browser.get(served.base + asset) as answer:
                assert answer.status == 200, asset
        address = f"{served.base}ws?width=100&height=30"
        async with browser.ws_connect(address, origin=served.base.rstrip("/")) as socket:
            await screen_of(socket, "offline:extractive")
            await socket.send_str(json.dumps(["stdin", "when is low water?\r"]))
            await screen_of(socket, "tides.txt:1")
            screens = served.screens()
            assert screens
        gone, alive = psutil.wait_procs(screens, timeout=30)
        assert not alive
        assert gone
        assert await served.end() == 130


async def test_strangers_are_refused(tmp_path: Path) -> None:
    async with serving(tmp_path) as served, aiohttp.ClientSession() as stranger:
        for path in ("", "ws", "static/js/textual.js", "download/x", "?token=wrong"):
            async with stranger.get(served.base + path) as answer:
                assert (answer.status, "lacks its token" in await answer.text()) == (403, True), path
        async with stranger.get(served.address, headers={"Host": "evil.example"}) as answer:
            assert answer.status == 403
        headers = {"Origin": "http://evil.example", "Cookie": f"x={served.address.partition('=')[2]}"}
        async with stranger.get(f"{served.base}ws", headers=headers) as answer:
            assert answer.status == 403
        assert served.screens() == []


async def test_an_interrupted_server_ends_its_screens(tmp_path: Path) -> None:
    async with serving(tmp_path, "--no-token") as served, aiohttp.ClientSession() as browser:
        assert "token" not in served.address
        async with browser.ws_connect(f"{served.base}ws") as socket:
            await screen_of(socket, "offline:extractive")
            screens = served.screens()
            assert screens
            assert await served.end() == 130
        assert psutil.wait_procs(screens, timeout=30)[1] == []


def test_the_page_loads_nothing_from_elsewhere_and_writes_no_markup() -> None:
    text = page('x"><script>', 16)
    assert "<script>" not in text
    assert text.count("<script") == 2
    assert "//" not in text.replace('data-session-websocket-url="ws://', "")
    assert "frame-ancestors 'none'" in SAFETY["Content-Security-Policy"]
