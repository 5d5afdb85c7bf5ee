"""Text copied from messages: plain text, code blocks, or Markdown. Pure functions over texts."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tui_app.session.views.entries import Body, Entry
from tui_app.text import plain_text
from tui_app.ui.transcript.entries import shell_line
from tui_app.ui.transcript.excerpts import readable_args

Format = Literal["text", "code", "markdown"]
Message = tuple[Entry, Body]
_TICKS = re.compile(r"`{3,}")
_ENDS_BLOCK = frozenset(
    {"paragraph_close", "heading_close", "fence", "code_block", "html_block", "table_close"}
)


def copied(messages: Sequence[Message], form: Format) -> str:
    """Return the text to copy, without control characters; empty if there is none in this form."""
    match form:
        case "code":
            blocks = [block for entry, body in messages for block in code_of(entry, body)]
            return "\n\n".join(block.rstrip("\n") for block in blocks)
        case "text":
            return "\n\n".join(filter(None, (_plain(entry, body) for entry, body in messages)))
        case "markdown" if len(messages) == 1:
            return _markdown(*messages[0])
        case "markdown":
            parts = []
            for entry, body in messages:
                title = _title(entry)
                heads = {
                    "user": "You",
                    "assistant": "Model",
                    "tool": f"Tool: {title}",
                    "shell": f"Command: {title}",
                }
                parts.append(f"## {heads.get(entry.kind, title)}\n\n{_markdown(entry, body)}".strip())
            return "\n\n".join(parts)


def code_of(entry: Entry, body: Body) -> list[str]:
    """Return the code blocks of a message; tool results have none."""
    if entry.kind not in ("user", "assistant"):
        return []
    tokens = _parser().parse(plain_text(body.text))
    return [token.content for token in tokens if token.type in ("fence", "code_block")]


def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table").enable("strikethrough")


def _title(entry: Entry) -> str:
    return plain_text(entry.title).replace("\n", " ")


def _plain(entry: Entry, body: Body) -> str:
    if entry.kind == "assistant":
        return without_markup(plain_text(body.text))
    # As shown when it is unfolded.
    if entry.kind == "user":
        return plain_text(body.text).strip("\n")
    title = _title(entry)
    if entry.kind == "shell":
        typed = shell_line(body.args, private=entry.private)
        return "\n".join(filter(None, (typed, plain_text(body.text).strip("\n"))))
    if entry.kind != "tool":
        return title
    parts = (title, plain_text(readable_args(body.args)), plain_text(body.text).strip("\n"))
    return "\n".join(filter(None, parts))


def _markdown(entry: Entry, body: Body) -> str:
    if entry.kind in ("user", "assistant"):
        return plain_text(body.text).strip("\n")
    return fenced(plain_text(body.text).strip("\n")) if entry.kind in ("tool", "shell") else ""


def fenced(text: str) -> str:
    """Fence a code block so that its text cannot end it."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}\n{text}\n{ticks}"


def without_markup(source: str) -> str:
    """Return a Markdown text without markup; code and the marks of list items are kept."""
    out: list[str] = []
    numbers: list[int | None] = []
    lead = ""
    for token in _parser().parse(source):
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                numbers.append(int(token.attrGet("start") or 1) if token.type[0] == "o" else None)
            case "bullet_list_close" | "ordered_list_close":
                numbers.pop()
                out.append("")
            case "list_item_open":
                number = numbers[-1]
                numbers[-1] = number + 1 if number is not None else None
                lead = "  " * (len(numbers) - 1) + ("- " if number is None else f"{number}. ")
            case "inline":
                out.append(lead + _inline(token.children or ()))
                lead = ""
            case "fence" | "code_block" | "html_block":
                out.append(lead + token.content.rstrip("\n"))
                lead = ""
        if token.type in _ENDS_BLOCK and not (numbers and token.hidden) and not token.hidden:
            out.append("")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip("\n")


def _inline(children: Iterable[Token]) -> str:
    text, target = "", ""
    for child in children:
        match child.type:
            case "softbreak" | "hardbreak":
                text += "\n"
            case "link_open":
                target = str(child.attrGet("href") or "")
            case "link_close":
                text += f" ({target})" if target and target not in text else ""
            case _:
                text += child.content
    return text
