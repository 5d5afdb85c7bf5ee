"""HTML as text a model can read: headings, paragraphs, lists, links; no scripts, no styles."""

import re
from html.parser import HTMLParser

_SILENT = frozenset({"script", "style", "noscript", "template", "svg", "head", "iframe", "object"})
_BLOCKS = frozenset(
    {
        "p", "div", "section", "article", "main", "header", "footer", "nav", "aside", "ul", "ol", "table",
        "tr",
        "pre", "blockquote", "form", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "dl", "dt", "dd", "hr",
    }
)  # fmt: skip
_MANY_BREAKS = re.compile(r"\n{3,}")
_SPACES = re.compile(r"[ \t\f\r\n]+")


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.title = ""
        self._silent: list[str] = []
        self._in_title = False
        self._pre = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        if tag in _SILENT:
            self._silent.append(tag)
        if self._silent:
            return
        self._pre += tag == "pre"
        if tag == "br":
            self.pieces.append("\n")
        elif tag == "li":
            self.pieces.append("\n- ")
        elif tag in _BLOCKS:
            self.pieces.append("\n\n" + ("#" * int(tag[1]) + " " if re.fullmatch(r"h[1-6]", tag) else ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if tag in self._silent:
            while self._silent.pop() != tag:
                pass
            return
        if not self._silent:
            self._pre = max(0, self._pre - (tag == "pre"))
            if tag in _BLOCKS:
                self.pieces.append("\n\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._silent:
            self.pieces.append(data if self._pre else _SPACES.sub(" ", data))


def text_of_html(html: str) -> str:
    """The readable text of a page, its title first."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    lines = (line.strip(" \t") for line in "".join(reader.pieces).split("\n"))
    body = _MANY_BREAKS.sub("\n\n", "\n".join(lines)).strip()
    title = _SPACES.sub(" ", reader.title).strip()
    return f"{title}\n\n{body}".strip() if title else body
