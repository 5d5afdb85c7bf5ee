"""A conversation as an HTML page: no scripts or requests, everything escaped."""

import base64
import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from tui_app.events import Record
from tui_app.session.exports.markdown import Block, safe, sections

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^`\n]*$", re.MULTILINE)


def export_html(
    records: Sequence[Record],
    *,
    title: str,
    mask: bool = True,
    shown: Mapping[int, str] | None = None,
    excluded: Collection[int] = (),
) -> str:
    """Write a conversation as a page for reading.

    Args:
        records: The log, in order.
        title: Heading of the page.
        mask: Whether secrets are masked.
        shown: What the model gets instead of an event's own text, by log number.
        excluded: Log numbers of messages that the user excluded from the context.
    """
    articles: list[str] = []
    for seq, moment, (kind, heading, blocks) in sections(records, mask, shown or {}, excluded):
        time = f'<time datetime="{moment.isoformat()}">{moment:%Y-%m-%d %H:%M:%S} UTC</time>'
        head = f"<header><h2>{escape(_plain(heading))}</h2><span>#{seq} · {time}</span></header>"
        articles.append(f'<article class="{kind}" id="e{seq}">{head}{"".join(map(_block, blocks))}</article>')
    secrets = "Secrets are masked." if mask else "Secrets are not masked."
    return page(
        safe(title, mask).strip() or "Conversation", "\n".join(articles), f"Exported by Plimsoll. {secrets}"
    )


def page(title: str, body: str, footer: str, *styles: str) -> str:
    """Return a whole page that loads, runs and sends nothing.

    Args:
        title: Heading, as text.
        body: Content below it, as HTML.
        footer: Last line, as text.
        styles: Names of CSS files in addition to that of all pages.
    """
    files = (Path(__file__).with_name(name) for name in ("page.css", *styles))
    heading, css = escape(title), "".join(f"\n{file.read_text('utf-8')}" for file in files)
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{heading}</title>\n<style>{css}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{heading}</h1>\n{body}\n</main>\n<footer>{escape(footer)}</footer>\n"
        "</body>\n</html>\n"
    )


def _block(block: Block) -> str:
    """Return a block as HTML; long ones are folded."""
    match block.kind:
        case "prose" | "said" if not block.label:
            return _prose(block.text)
        case "line":
            return f"<p>{escape(block.text)}</p>"
        case "sh":
            return f"<pre>{escape(block.text)}</pre>"
        case "thinking" if not block.text.strip():
            return ""
    lines = block.text.count("\n") + 1
    size = f"{lines:,} {'line' if lines == 1 else 'lines'}, {len(block.text):,} characters"
    folded = f"<pre>{escape(block.text)}</pre>"
    return f"<details><summary>{escape(block.label or size)}</summary>{folded}</details>"


def _plain(heading: str) -> str:
    """Remove the Markdown escapes of a heading."""
    return re.sub(r"\\([\\`*_\[\]<>#|])", r"\1", heading).replace("`", "")


def _prose(text: str) -> str:
    """Return the text as written, with code blocks set apart."""
    return "".join(
        f"<pre>{escape(piece)}</pre>" if is_code else f'<div class="prose">{escape(piece)}</div>'
        for is_code, piece in _pieces(text)
        if piece.strip()
    )


def _pieces(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the text outside and inside of fences, in order. An unclosed fence ends with the text."""
    place, fence = 0, ""
    for mark in _FENCE.finditer(text):
        if fence and not mark[1].startswith(fence):
            continue
        yield bool(fence), text[place : mark.start()].strip("\n")
        place, fence = mark.end(), "" if fence else mark[1]
    yield bool(fence), text[place:].strip("\n")
