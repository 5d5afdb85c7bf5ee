"""Web tools. A page is fetched with GET only, bounded in time and size; private addresses are refused."""

import asyncio
import codecs
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from html import unescape
from typing import Any, cast
from urllib.parse import SplitResult, urljoin

import httpx2
from pydantic_ai import RunContext, ToolDenied
from pydantic_ai.capabilities import NativeTool
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import AgentNativeTool

from tui_app.agent.approvals.rules import Action, Gate
from tui_app.agent.network.foreign_urls import LONGEST_URL, addresses_of, is_public, pinned_request, url_parts
from tui_app.agent.network.network import NoRoute, is_untrusted
from tui_app.agent.tools.calls import as_model_retry
from tui_app.agent.tools.commands import readable
from tui_app.agent.tools.workspace import ToolProblem
from tui_app.records import frozen
from tui_app.system.hosts import origin_of
from tui_app.tool_specs import WEB_FETCH


def search_tool(ctx: RunContext[Any]) -> WebSearchTool | None:
    """The provider's own web search; None if it has none."""
    model: Any = ctx.model
    known = model.profile.get("supported_native_tools", ())
    return WebSearchTool() if WebSearchTool in known else None


@dataclass
class ProviderSearch(NativeTool[Any]):
    """Lets the provider search the web while the model answers, if it can."""

    tool: AgentNativeTool[Any] = search_tool

    def get_model_settings(self) -> ModelSettings:
        """Have OpenAI list its sources, as others do; no other provider reads this setting."""
        return cast("ModelSettings", {"openai_include_web_search_sources": True})


_SILENT = frozenset({"script", "style", "noscript", "template", "svg", "head", "iframe", "object"})
_BLOCKS = frozenset(
    {
        "p", "div", "section", "article", "main", "header", "footer", "nav", "aside", "ul", "ol", "table",
        "tr",
        "pre", "blockquote", "form", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "dl", "dt", "dd", "hr",
    }
)  # fmt: skip
_HEADINGS = {f"h{depth}": "#" * depth + " " for depth in range(1, 7)}
_MANY_BREAKS = re.compile(r"\n{3,}")
_SPACES = re.compile(r"[ \t\f\r\n]+")
_MARKUP = re.compile(r"<(?:(?P<comment>!--)|(?P<other>[!?]\[?[a-zA-Z])|(?P<end>/?)(?P<tag>[a-zA-Z][^\s/>]*))")
"""Start of a comment, a declaration or a tag."""
_COMMENT_END = re.compile(r"--!?>")
_STOP = re.compile(r"[>=]")
_QUOTED = re.compile(r"""\s*(?:"[^"]*"|'[^']*')""")
_CLOSED_AT_ONCE = re.compile(r"""(?:^|[\s"'])/\Z""")
_RAW_ENDS = {tag: re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE) for tag in ("script", "style")}
"""Within these, only the end tag is markup."""


class _Page:
    """The text of a page read so far."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._title: list[str] = []
        self._in_title = False
        self._silent: list[str] = []
        self._open = Counter[str]()
        """Count of each tag among the silent ones."""
        self._pre = 0

    def opens(self, tag: str) -> None:
        if tag == "title":
            self._in_title = True
        elif tag == "body":
            # The end tag of the head may be missing.
            self.closes("head")
        if tag in _SILENT:
            self._silent.append(tag)
            self._open[tag] += 1
        if self._silent:
            return
        self._pre += tag == "pre"
        if tag == "br":
            self._pieces.append("\n")
        elif tag == "li":
            self._pieces.append("\n- ")
        elif tag in _BLOCKS:
            self._pieces.append("\n\n" + _HEADINGS.get(tag, ""))

    def closes(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if self._open[tag]:
            inner = ""
            while inner != tag:
                inner = self._silent.pop()
                self._open[inner] -= 1
        elif not self._silent:
            self._pre = max(0, self._pre - (tag == "pre"))
            if tag in _BLOCKS:
                self._pieces.append("\n\n")

    def says(self, data: str) -> None:
        if self._in_title:
            self._title.append(_plain(data))
        elif not self._silent:
            data = _plain(data)
            self._pieces.append(data if self._pre else _SPACES.sub(" ", data))

    def text(self) -> str:
        """The whole text, the title first."""
        lines = (line.strip(" \t") for line in "".join(self._pieces).split("\n"))
        body = _MANY_BREAKS.sub("\n\n", "\n".join(lines)).strip()
        title = _SPACES.sub(" ", "".join(self._title)).strip()
        return f"{title}\n\n{body}".strip() if title else body


def text_of_html(html: str) -> str:
    """The readable text of a page, its title first."""
    page = _Page()
    at = 0
    while (found := _MARKUP.search(html, at)) is not None:
        page.says(html[at : found.start()])
        end = _end_of(html, found)
        if end is None:
            # No end follows: the rest is no markup.
            at = found.start()
            break
        at = end if found["tag"] is None else _after_tag(html, found, end, page)
    page.says(html[at:])
    return page.text()


def _end_of(html: str, found: re.Match[str]) -> int | None:
    """The end of a comment, a declaration or a tag; a comment may extend to the end of the page."""
    if found["comment"] is not None:
        # The dashes that begin a comment may also end it.
        over = _COMMENT_END.search(html, found.start() + 2)
        return over.end() if over is not None else len(html)
    if found["tag"] is None:
        return html.find(">", found.end()) + 1 or None
    at = found.end()
    while (stop := _STOP.search(html, at)) is not None:
        if stop.group() == ">":
            return stop.end()
        value = _QUOTED.match(html, stop.end())
        at = value.end() if value is not None else stop.end()
    return None


def _after_tag(html: str, found: re.Match[str], end: int, page: _Page) -> int:
    """Process a tag. Returns where to continue."""
    tag = found["tag"].lower()
    if found["end"]:
        page.closes(tag)
        return end
    page.opens(tag)
    if _CLOSED_AT_ONCE.search(html[found.end() : end - 1]):
        page.closes(tag)
    elif (raw := _RAW_ENDS.get(tag)) is not None:
        over = raw.search(html, end)
        return over.start() if over is not None else len(html)
    return end


def _plain(data: str) -> str:
    try:
        return unescape(data)
    except ValueError:
        # A character reference may have more digits than Python parses.
        return data


MAX_BYTES = 2_000_000
TIMEOUT_S = 20.0
MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ACCEPT = "text/html, text/*, application/json;q=0.9"
_TEXTUAL = ("text/", "application/json", "application/xml", "application/xhtml", "application/javascript")
_NOT_OF_PAGES = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"})
"""Codecs that Python counts as text encodings, but pages do not use."""
Resolver = Callable[[str], Awaitable[list[str]]]
"""Returns the IP addresses of a host."""


@frozen
class WebTool:
    """Fetches pages."""

    gate: Gate
    private: bool = False
    """Whether addresses of this machine and its networks are allowed too."""
    resolve: Resolver = addresses_of

    async def web_fetch(self, ctx: RunContext[Any], url: str) -> str | ToolDenied:
        """Fetch a web page and return its text.

        Args:
            ctx: The run.
            url: An http or https address.
        """
        with as_model_retry():
            allowed, answer = None, url
            for _ in range(MAX_REDIRECTS + 1):
                _parts(url)
                origin = origin_of(url)
                # An approval covers only its scheme, host and port.
                if allowed is None or origin is None or not allowed.asks_same(origin):
                    if declined := await self.gate(self._action(ctx, url, answer)):
                        return ToolDenied(declined)
                    allowed = origin
                try:
                    async with asyncio.timeout(TIMEOUT_S):
                        text, following = await self._fetched(url)
                except TimeoutError as error:
                    raise ToolProblem(f"{url:.200} did not answer within {TIMEOUT_S:g} s.") from error
                except NoRoute as error:
                    raise ToolProblem(f"{url:.200} cannot be fetched: {error}") from error
                except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                    why = type(error).__name__
                    why = "its certificate is not trusted here" if is_untrusted(error) else why
                    raise ToolProblem(f"{url:.200} cannot be fetched: {why}.") from error
                if not following:
                    return text
                answer, url = url, following
            raise ToolProblem(f"{url:.200} redirects more than {MAX_REDIRECTS} times.")

    @staticmethod
    def _action(ctx: RunContext[Any], url: str, before: str) -> Action:
        parts = _parts(url)
        # Letters of other scripts may imitate another host.
        note = "GET" if url.isascii() else f"GET from {parts.hostname}"
        return Action(
            tool=ctx.tool_name or WEB_FETCH.name,
            kind="address",
            subject=url,
            note=note if url == before else f"{note}, redirected from {_parts(before).hostname}",
            call=ctx.tool_call_id or "",
        )

    async def _fetched(self, url: str) -> tuple[str, str]:
        """The text of a page, or the address it redirects to; the other one is empty."""
        parts = _parts(url)
        address = await self._address(parts)
        headers = {"Accept": _ACCEPT}
        async with pinned_request("GET", parts, address, headers=headers, timeout_s=TIMEOUT_S) as answer:
            if answer.status_code not in _REDIRECTS or "location" not in answer.headers:
                return await _text(url, answer), ""
            location = answer.headers["location"]
        try:
            return "", urljoin(url, location)
        except ValueError as error:
            raise ToolProblem(
                f"{url:.200} leads to {location!r:.200}, which is not a valid address."
            ) from error

    async def _address(self, parts: SplitResult) -> str:
        """The IP address to connect to.

        Raises:
            ToolProblem: if one of the host's addresses is not allowed.
        """
        host = parts.hostname or ""
        try:
            found = await self.resolve(host)
        except (OSError, UnicodeError) as error:
            raise ToolProblem(f"There is no host {host:.200}.") from error
        for address in found:
            if not self.private and not is_public(address):
                raise ToolProblem(f"{host:.200} is an address of this machine or its networks: not fetched.")
        return found[0]


def _parts(url: str) -> SplitResult:
    if (parts := url_parts(url)) is None:
        raise ToolProblem(
            "Give an http or https address, without user name and password, "
            f"of at most {LONGEST_URL:,} characters."
        )
    return parts


async def _text(url: str, answer: httpx2.Response) -> str:
    kind = answer.headers.get("content-type", "text/plain").lower()
    if not kind.startswith(_TEXTUAL):
        raise ToolProblem(f"{url:.200} is {kind:.60}, not text.")
    data = bytearray()
    cut = False
    async for piece in answer.aiter_bytes():
        data += piece[: MAX_BYTES - len(data)]
        if cut := len(data) >= MAX_BYTES:
            break
    text = data.decode("utf-8", "replace")
    # The server's encoding, or UTF-8 if that is no encoding of pages.
    with suppress(LookupError, ValueError):
        name = answer.charset_encoding or "utf-8"
        if codecs.lookup(name).name not in _NOT_OF_PAGES:
            text = data.decode(name, "replace")
    # In a thread, so that cancellation and the timeout still work.
    text = await asyncio.to_thread(text_of_html if "html" in kind else readable, text)
    note = f"\n[only the first {MAX_BYTES:,} bytes were read]" if cut else ""
    return f"{url} answered {answer.status_code}\n\n{text}{note}"
