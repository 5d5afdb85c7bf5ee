"""Fetching pages reaches no address of this machine or its networks, and always ends."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from pydantic_ai import ModelRetry, ToolDenied

from tui_app.agent.approvals.rules import Action
from tui_app.agent.network.foreign_urls import is_public
from tui_app.agent.tools import web
from tui_app.agent.tools.web import WebTool, text_of_html


class Call:
    tool_name = "web_fetch"
    tool_call_id = "call"


async def let(_action: Action) -> str:
    return ""


@asynccontextmanager
async def site(*answers: bytes) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A loopback server with these responses, one per connection."""
    asked: list[bytes] = []
    left = list(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(left.pop(0))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://site.test:{server.sockets[0].getsockname()[1]}", asked
    finally:
        server.close()
        await server.wait_closed()


def page(body: bytes, kind: str = "text/html", status: str = "200 OK", more: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n{more}\r\n".encode() + body


def tool(**named: list[str]) -> WebTool:
    async def resolve(host: str) -> list[str]:
        return named.get(host.replace(".", "_"), ["127.0.0.1"])

    return WebTool(let, private=True, resolve=resolve)


async def fetched(one: WebTool, url: str) -> Any:
    return await one.web_fetch(Call(), url)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "0.0.0.0", "100.64.0.1",
        "224.0.0.1", "::1", "::", "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1",
        "2002:7f00:1::", "not an address",
        "fec0::1", "64:ff9b:1::1", "64:ff9b:1::101:101", "::127.0.0.1", "::10.1.2.3", "::ffff:0:127.0.0.1",
        "::ffff:0:192.168.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "2002:a00:1::1",
        "2002:c0a8:1::1", "2001:0:7f00:1::", "2001:0:102:304:0:0:f5ff:fffe", "3fff::1",
        "5f00::1", "255.255.255.255",
    ],
)  # fmt: skip
def test_addresses_of_this_machine_and_its_networks_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1"])
def test_addresses_of_the_internet_are(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://[::1]/", "http://localhost/",
        "file:///etc/passwd", "ftp://x/", "http://", "http://a b/", "http://user:pass@example.org/", "gopher://x",
    ],
)  # fmt: skip
async def test_private_addresses_and_other_protocols_are_refused(url: str) -> None:
    with pytest.raises(ModelRetry):
        await fetched(WebTool(let), url)


async def test_one_private_address_among_public_ones_is_enough() -> None:
    async def resolve(_host: str) -> list[str]:
        return ["1.1.1.1", "10.0.0.1"]

    with pytest.raises(ModelRetry, match="its networks"):
        await fetched(WebTool(let, resolve=resolve), "http://site.test/")


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "localtest.example"])
async def test_other_ways_to_write_an_address_are_resolved_first(host: str) -> None:
    async def resolve(_host: str) -> list[str]:
        return ["127.0.0.1"]

    with pytest.raises(ModelRetry, match="its networks"):
        await fetched(WebTool(let, resolve=resolve), f"http://{host}/")


async def test_a_page_is_read_as_text_from_the_address_that_was_checked() -> None:
    html = b"<title>Sea</title><script>alert(1)</script><h1>Tides</h1><p>high &amp; low</p><li>one"
    async with site(page(html)) as (url, asked):
        text = await fetched(tool(), f"{url}/a?b=c#d")
    assert text.endswith("Sea\n\n# Tides\n\nhigh & low\n\n- one")
    assert asked[0].startswith(b"GET /a?b=c HTTP/1.1")
    assert b"host: site.test" in asked[0].lower()


async def test_a_redirection_is_asked_about_where_scheme_host_or_port_change() -> None:
    questions: list[str] = []

    async def ask(action: Action) -> str:
        questions.append(action.subject)
        return "Not done." if "away" in action.subject else ""

    resolver = tool().resolve
    async with site(page(b"elsewhere")) as (other, other_asked):
        same = page(b"", status="302 Found", more="Location: /next\r\n")
        port = page(b"", status="307 Found", more=f"Location: {other}/next\r\n")
        async with site(same, port) as (url, asked):
            text = await fetched(WebTool(ask, private=True, resolve=resolver), url)
        assert (questions, len(asked), len(other_asked)) == ([url, f"{other}/next"], 2, 1)
        assert text.endswith("elsewhere")
    for leads in ("http://away.test/", "https://site.test/away", "http://169.254.169.254/away"):
        away = page(b"", status="302 Found", more=f"Location: {leads}\r\n")
        async with site(away) as (url, asked):
            assert isinstance(await fetched(WebTool(ask, private=True, resolve=resolver), url), ToolDenied)
        assert questions[-1] == leads


async def test_a_redirection_without_end_ends() -> None:
    again = page(b"", status="302 Found", more="Location: /again\r\n")
    async with site(*[again] * 10) as (url, asked):
        with pytest.raises(ModelRetry, match="more than"):
            await fetched(tool(), url)
    assert len(asked) == web.MAX_REDIRECTS + 1


async def test_size_is_bounded_and_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "MAX_BYTES", 1_000)
    async with site(page(b"x" * 50_000, "text/plain"), page(b"\0", "image/png")) as (url, _):
        text = await fetched(tool(), url)
        assert len(text) < 1_200
        assert "only the first 1,000 bytes" in text
        with pytest.raises(ModelRetry, match="image/png"):
            await fetched(tool(), url)


async def test_nothing_is_asked_before_the_gate_has_let_it() -> None:
    async def refuse(_action: Action) -> str:
        return "Not done."

    async with site() as (url, asked):
        denied = await fetched(WebTool(refuse, private=True), url.replace("site.test", "127.0.0.1"))
    assert denied.message == "Not done."
    assert asked == []


def test_hostile_html_is_read_in_the_end() -> None:
    assert text_of_html("<div>" * 20_000 + "deep") == "deep"
    assert text_of_html("<script>never closed") == ""
    assert text_of_html("</p></x>sea<!-- no -->") == "sea"


async def test_reading_a_page_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, reading, release = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def slow(_html: str) -> str:
        loop.call_soon_threadsafe(reading.set)
        assert release.wait(10), "the loop stood still meanwhile"
        return "read"

    monkeypatch.setattr(web, "text_of_html", slow)
    async with site(page(b"<p>sea"), page(b"<p>sea")) as (url, _):
        cancelled = asyncio.create_task(fetched(tool(), url))
        await reading.wait()
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        release.set()
        assert (await fetched(tool(), url)).endswith("read")


@pytest.mark.parametrize(
    "charset",
    [
        "idna",
        "undefined",
        "punycode",
        "unicode_escape",
        "raw_unicode_escape",
        "hex",
        "no-such",
        "a\0b",
        "utf-16",
    ],
)
async def test_a_page_in_no_charset_of_texts_is_read_all_the_same(charset: str) -> None:
    async with site(page(b"tide \\x \xff", f"text/plain; charset={charset}")) as (url, _):
        with suppress(ModelRetry):
            assert "answered 200" in await fetched(tool(), url)


async def test_an_unknown_charset_is_read_as_usual() -> None:
    async with site(page("Gezeiten \u2013 Ebbe".encode(), "text/plain; charset=punycode")) as (url, _):
        assert "Gezeiten \u2013 Ebbe" in await fetched(tool(), url)


@pytest.mark.parametrize(
    "location",
    [
        "http://[::1",
        "http://site.test:99999/",
        "file:///etc/passwd",
        "http://\xff/",
        "//[",
        "http://site.test/" + "a" * 9_000,
    ],
    ids=["bracket", "port", "file", "bytes", "open", "long"],
)
async def test_where_a_server_leads_nowhere_the_model_is_told(location: str) -> None:
    away = page(b"", status="302 Found", more=f"Location: {location}\r\n")
    async with site(away) as (url, _):
        with pytest.raises(ModelRetry):
            await fetched(tool(), url)


@pytest.mark.parametrize(
    "url",
    [
        "http://site.test/" + "a" * 70_000,
        "http://[::1",
        "http://" + "\u00fc" * 70 + ".test/",
        "http://a..b\u00fc/",
        "http://\u2100/",
    ],
    ids=["long", "bracket", "long label", "empty label", "sign"],
)
async def test_an_address_that_cannot_be_is_told(url: str) -> None:
    with pytest.raises(ModelRetry):
        await fetched(tool(), url)


@pytest.mark.parametrize(
    ("host", "asked_for"),
    [
        ("b\u00fccher.test", b"xn--bcher-kva.test"),
        ("B\u00dcCHER.test", b"xn--bcher-kva.test"),
        ("xn--bcher-kva.test", b"xn--bcher-kva.test"),
        ("\uff53ite.test", b"site.test"),
        ("site.test.", b"site.test"),
    ],
)
async def test_a_host_in_other_letters_is_fetched(host: str, asked_for: bytes) -> None:
    resolved: list[str] = []

    async def resolve(name: str) -> list[str]:
        resolved.append(name)
        return ["127.0.0.1"]

    async with site(page(b"", status="302 Found", more="Location: /b\xe4r\r\n"), page(b"ahoy")) as (
        url,
        asked,
    ):
        text = await fetched(WebTool(let, private=True, resolve=resolve), url.replace("site.test", host))
    assert text.endswith("ahoy")
    assert b"host: " + asked_for + b":" in asked[1].lower()
    assert resolved == [asked_for.decode()] * 2


async def test_whoever_is_asked_sees_what_host_other_letters_mean() -> None:
    seen: list[Action] = []

    async def gate(action: Action) -> str:
        seen.append(action)
        return "no"

    await fetched(WebTool(gate), "https://b\u00fccher.test/")
    assert seen[0].note == "GET from xn--bcher-kva.test"
