"""The server and its screens, as a browser uses them."""

import asyncio
import json
import signal
from pathlib import Path

import aiohttp
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from tests.web.kit import free_port, plain, serving
from tui_app.web import server
from tui_app.web.pages import HIGHEST, WIDEST, bounded_size
from tui_app.web.server import SAFETY, Answer, Gate, is_loopback, new_token, page, serve


async def screen_of(socket: aiohttp.ClientWebSocketResponse, words: str) -> str:
    """Read the output until some words are drawn."""
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
            assert first.status == 200
            room = str(first.url)
            assert room.startswith(served.base)
            assert f'"{room.replace("http", "ws")}ws"' in text
            assert "default-src 'none'" in first.headers["Content-Security-Policy"]
        for asset in ("static/js/textual.js", "static/css/xterm.css", "plimsoll.css", "plimsoll.js"):
            async with browser.get(room + asset) as answer:
                assert answer.status == 200, asset
        for elsewhere in (served.base, "http://127.0.0.1:1/", "http://127.0.0.1:1/ws"):
            assert not jar.filter_cookies(URL(elsewhere)), "no other port gets the token"
        address = f"{room}ws?width=100&height=30"
        async with browser.ws_connect(address, origin=served.base.rstrip("/")) as socket:
            await screen_of(socket, "built-in search")
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
        for path in ("", "ws", "static/js/textual.js", "?token=wrong"):
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
            await screen_of(socket, "built-in search")
            screens = served.screens()
            assert screens
            assert await served.end() == 130
        assert psutil.wait_procs(screens, timeout=30)[1] == []


@pytest.mark.parametrize("how", ["hangs", "does not read", "server is killed"])
async def test_a_program_ends_with_its_page_however_that_ends(tmp_path: Path, how: str) -> None:
    async with serving(tmp_path, "--no-token") as served, aiohttp.ClientSession() as browser:
        async with browser.ws_connect(f"{served.base}ws") as socket:
            await screen_of(socket, "built-in search")
            screens = served.screens()
            assert screens
            for each in screens if how != "server is killed" else ():
                each.suspend()
            if how == "does not read":
                await socket.send_str(json.dumps(["stdin", "a" * 3_000_000]))
            elif how == "server is killed":
                served.process.send_signal(signal.SIGKILL)
        assert await asyncio.to_thread(lambda: psutil.wait_procs(screens, timeout=30)[1]) == []


async def test_a_page_says_nothing_that_ends_or_fills_its_program(tmp_path: Path) -> None:
    odd = (
        "[",
        "{}",
        '["resize"]',
        '["resize",{"width":true,"height":-1}]',
        '["stdin",7]',
        '["blur"]',
        "[[]]",
    )
    async with (
        serving(tmp_path, "--no-token") as served,
        aiohttp.ClientSession() as browser,
        browser.ws_connect(f"{served.base}ws?width=1e9&height=0") as socket,
    ):
        await screen_of(socket, "built-in search")
        for said in (*odd, "[" * 90_000, '["resize",{"width":100000,"height":100000}]'):
            await socket.send_str(said)
        await socket.send_str(json.dumps(["stdin", "list files\r"]))
        await screen_of(socket, "list files")
        [screen] = served.screens()
        assert screen.memory_info().rss < 600 << 20


@pytest.mark.parametrize(
    ("width", "height", "size"),
    [
        (80, "24", (80, 24)), (100_000, 10**8, (WIDEST, HIGHEST)), ("1" * 5_000, 1, None), (0, 9, None),
        (-5, 9, None), (1.5, 9, None), (True, 9, None), ("²", 9, None), (None, {}, None),
    ],
)  # fmt: skip
def test_sizes_of_a_page(width: object, height: object, size: tuple[int, int] | None) -> None:
    assert bounded_size(width, height) == size


CLOSED = (ConnectionError, asyncio.IncompleteReadError)


async def test_connections_that_ask_nothing_lock_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, listens = Gate(host="127.0.0.1", port=free_port(), token=""), asyncio.Event()
    running = asyncio.create_task(serve(gate, ("true",), listens.set))
    await asyncio.wait_for(listens.wait(), 30)
    opened = []
    for _ in range(150):
        reader, writer = await asyncio.open_connection(gate.host, gate.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: ")
        opened.append((reader, writer))
    with pytest.raises(CLOSED):
        await asyncio.wait_for(opened[0][0].readexactly(1), 30)
    async with aiohttp.ClientSession() as browser, browser.get(gate.address) as answer:
        assert answer.status == 200
        # A connection that continues within its timeout is served, and one that does not is closed.
        opened[-1][1].write(f"127.0.0.1:{gate.port}\r\n\r\n".encode())
        assert (await asyncio.wait_for(opened[-1][0].readline(), 30)).endswith(b"200 OK\r\n")
    monkeypatch.setattr(server, "HEAD_S", 0.0)
    late, half = await asyncio.open_connection(gate.host, gate.port)
    half.write(b"GET / HT")
    with pytest.raises(CLOSED):
        await asyncio.wait_for(late.readexactly(1), 30)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    for _, writer in [*opened, (late, half)]:
        writer.close()


def test_the_page_loads_nothing_from_elsewhere_and_writes_no_markup() -> None:
    text = page('x"><script>', 16)
    assert "<script>" not in text
    assert text.count("<script") == 2
    assert 'src="/' not in text
    assert "//" not in text.replace('data-session-websocket-url="ws://', "")
    assert "frame-ancestors 'none'" in SAFETY["Content-Security-Policy"]


# Access to the served screen.


TOKEN = "t0ken-of-the-server"
GATE = Gate(host="127.0.0.1", port=8420, token=TOKEN)
HERE = {"Host": "127.0.0.1:8420"}
INSIDE = {"plimsoll-8420": TOKEN}


@pytest.mark.parametrize(
    ("headers", "query", "cookies", "answer"),
    [
        (HERE, {}, INSIDE, Answer.SERVE),
        (HERE, {"token": TOKEN}, {}, Answer.SIGN_IN),
        (HERE, {"token": TOKEN}, {"plimsoll-8420": "old"}, Answer.SIGN_IN),
        (HERE, {}, {}, Answer.NO_TOKEN),
        (HERE, {"token": TOKEN[:-1]}, {}, Answer.NO_TOKEN),
        (HERE, {"token": ""}, {"plimsoll-8420": ""}, Answer.NO_TOKEN),
        (HERE, {}, {"plimsoll-8421": TOKEN}, Answer.NO_TOKEN),
        (HERE, {"token": "tökén"}, {}, Answer.NO_TOKEN),
        (HERE, {"token": "\udcff"}, {"plimsoll-8420": "\udcff"}, Answer.NO_TOKEN),
        ({**HERE, "Origin": "http://["}, {}, INSIDE, Answer.WRONG_ORIGIN),
        ({**HERE, "Origin": ""}, {}, INSIDE, Answer.WRONG_ORIGIN),
        ({**HERE, "Origin": "http://127.0.0.1:8420.evil.example"}, {}, INSIDE, Answer.WRONG_ORIGIN),
        ({"Host": "evil.example@127.0.0.1:8420"}, {}, INSIDE, Answer.WRONG_HOST),
        ({"Host": "127.0.0.1:8420#x"}, {}, INSIDE, Answer.WRONG_HOST),
        ({"Host": "127.0.0.1:8420/x"}, {}, INSIDE, Answer.WRONG_HOST),
        ({"Host": "localhost:8420"}, {}, INSIDE, Answer.SERVE),
        ({"Host": "[::1]:8420"}, {}, INSIDE, Answer.SERVE),
        ({"Host": "evil.example:8420"}, {"token": TOKEN}, INSIDE, Answer.WRONG_HOST),
        ({"Host": "127.0.0.1:9000"}, {}, INSIDE, Answer.WRONG_HOST),
        ({"Host": "127.0.0.1:no"}, {}, INSIDE, Answer.WRONG_HOST),
        ({"Host": "127.0.0.1"}, {}, INSIDE, Answer.WRONG_HOST),
        ({}, {}, INSIDE, Answer.WRONG_HOST),
        ({**HERE, "Origin": "http://127.0.0.1:8420"}, {}, INSIDE, Answer.SERVE),
        ({**HERE, "Origin": "http://127.0.0.1:3000"}, {}, INSIDE, Answer.WRONG_ORIGIN),
        ({**HERE, "Origin": "null"}, {}, INSIDE, Answer.WRONG_ORIGIN),
    ],
)
def test_judgement(
    headers: dict[str, str], query: dict[str, str], cookies: dict[str, str], answer: Answer
) -> None:
    assert GATE.judge(headers, query, cookies) is answer


@pytest.mark.parametrize(
    ("host", "named", "served"),
    [
        ("0.0.0.0", "192.168.1.20:8420", True),
        ("0.0.0.0", "localhost:8420", True),
        ("0.0.0.0", "evil.example:8420", False),
        ("::", "[fe80::1]:8420", True),
        ("192.168.1.20", "192.168.1.20:8420", True),
        ("192.168.1.20", "192.168.1.21:8420", False),
        ("harbour.local", "HARBOUR.local:8420", True),
        ("harbour.local", "localhost:8420", False),
    ],
)
def test_names_of_other_addresses(host: str, named: str, served: bool) -> None:
    answer = Gate(host=host, port=8420, token="").judge({"Host": named}, {}, {})
    assert (answer is Answer.SERVE) is served


@given(st.text(), st.text())
def test_nobody_comes_in_without_the_token(token: str, cookie: str) -> None:
    if TOKEN not in (token, cookie):
        assert GATE.judge(HERE, {"token": token}, {"plimsoll-8420": cookie}) is Answer.NO_TOKEN


def test_address_and_token() -> None:
    assert GATE.address == f"http://127.0.0.1:8420/?token={TOKEN}"
    assert Gate(host="::1", port=1, token="").address == "http://[::1]:1/"
    assert len(GATE.room) > 32
    assert TOKEN not in GATE.room
    assert len({new_token() for _ in range(100)}) == 100
    assert min(len(new_token()) for _ in range(100)) == 32


@pytest.mark.parametrize(("host", "alone"), [("127.9.9.9", True), ("LOCALHOST", True), ("0.0.0.0", False)])
def test_loopback(host: str, alone: bool) -> None:
    assert is_loopback(host) is alone
