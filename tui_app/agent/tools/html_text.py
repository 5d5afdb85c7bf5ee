"""HTML as text a model can read: headings, paragraphs, lists, links; no scripts, no styles.

A page is read once from its beginning to its end, whatever is wrong with it. The parser of Python's library
looks again and again at what has no end, and fails at some declarations. What is no markup is text.
"""

import re
from collections import Counter
from html import unescape

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
"""The beginning of a comment, a declaration or a tag."""
_COMMENT_END = re.compile(r"--!?>")
_STOP = re.compile(r"[>=]")
_QUOTED = re.compile(r"""\s*(?:"[^"]*"|'[^']*')""")
_CLOSED_AT_ONCE = re.compile(r"""(?:^|[\s"'])/\Z""")
_RAW_ENDS = {tag: re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE) for tag in ("script", "style")}
"""Inside these nothing is markup but their end."""


class _Page:
    """The text of a page, as far as it has been read."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._title: list[str] = []
        self._in_title = False
        self._silent: list[str] = []
        self._open = Counter[str]()
        """How often each tag is among the silent ones."""
        self._pre = 0

    def opens(self, tag: str) -> None:
        """A tag begins."""
        if tag == "title":
            self._in_title = True
        elif tag == "body":
            # The end of the head may be left out.
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
        """A tag ends, and with it the silent ones that began in it."""
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
        """Something stands between two tags."""
        if self._in_title:
            self._title.append(_plain(data))
        elif not self._silent:
            data = _plain(data)
            self._pieces.append(data if self._pre else _SPACES.sub(" ", data))

    def text(self) -> str:
        """All of it, the title first."""
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
            # Nothing ends any more: the rest is no markup.
            at = found.start()
            break
        at = end if found["tag"] is None else _after_tag(html, found, end, page)
    page.says(html[at:])
    return page.text()


def _end_of(html: str, found: re.Match[str]) -> int | None:
    """Where a comment, a declaration or a tag ends; a comment does so at the latest with the page."""
    if found["comment"] is not None:
        # The dashes that begin it may end it as well.
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
    """Take a tag in; where to go on."""
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
        # The number of a character may have more digits than Python reads.
        return data
