"""A question about a tool in the protocol's words: what would be done, and what may be answered. Pure."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acp import helpers
from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    PermissionOption,
    TerminalToolCallContent,
    ToolCallLocation,
    ToolCallUpdate,
    ToolKind,
)

from tui_app.context.visible_text import visible
from tui_app.editors.hunks import hunks, remarks
from tui_app.events import ApprovalRequested

_TITLE_CHARS, _RULE_CHARS, _TEXT_CHARS = 100, 200, 40_000
_TICKS = re.compile("`+")
Content = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A call that waits to be allowed."""

    id: str
    """Names the question in the conversation."""
    call: ToolCallUpdate
    """What would be done."""
    options: tuple[PermissionOption, ...]
    pattern: str = ""
    """The rule that "always" adds; empty where only this one call can be allowed."""


def question_of(asked: ApprovalRequested, cwd: Path, *, kind: ToolKind, args: Any = None) -> Question:
    """Word a question.

    Args:
        asked: What the conversation asks.
        cwd: Folder of the session; the protocol names files by their whole path.
        kind: What kind of tool it is.
        args: The call's arguments, if they are known.
    """
    places = [ToolCallLocation(path=str(cwd / asked.subject))] if asked.kind == "file" else None
    call = ToolCallUpdate(
        tool_call_id=asked.tool_call_id or asked.id,
        title=_title(asked),
        kind=kind,
        status="pending",
        content=_content(asked, cwd),
        locations=places,
        raw_input=args,
    )
    return Question(id=asked.id, call=call, options=_options(asked.pattern), pattern=asked.pattern)


def _options(pattern: str) -> tuple[PermissionOption, ...]:
    once = PermissionOption(option_id="once", name="Allow", kind="allow_once")
    no = PermissionOption(option_id="no", name="Do not allow", kind="reject_once")
    if not pattern:
        return once, no
    name = f"Allow in this session: {_cut(visible(pattern), _RULE_CHARS)}"
    return once, PermissionOption(option_id="always", name=name, kind="allow_always"), no


def _title(asked: ApprovalRequested) -> str:
    """In one line, as the call is named elsewhere; the content has all of it."""
    subject = "" if asked.kind == "other" else asked.subject
    title = _cut(visible(f"{asked.tool} {subject}".rstrip()), _TITLE_CHARS)
    return f"{title}, {visible(asked.note)}" if asked.note and asked.kind == "file" else title


def _content(asked: ApprovalRequested, cwd: Path) -> list[Content]:
    """The diff, the command or the arguments whole, then what else is to be known."""
    shown: list[Content] = []
    facts = [asked.note, asked.because]
    if asked.kind == "file":
        path = str(cwd / asked.subject)
        for hunk in hunks(asked.detail):
            old = None if hunk.old is None else _lines(hunk.old)
            shown.append(helpers.tool_diff_content(path, _lines(hunk.new), old))
        facts = [*(remarks(asked.detail) if shown else [asked.detail]), *facts]
    else:
        shown.append(_fenced(f"$ {asked.subject}" if asked.kind == "command" else asked.subject))
        facts = [asked.detail, *facts]
    return [*shown, _fenced("\n".join(filter(None, facts)))]


def _fenced(text: str) -> ContentToolCallContent:
    """Text that an editor shows as it is, whatever signs of Markdown stand in it."""
    left = len(text) - _TEXT_CHARS
    more = f"\n[{left:,} more characters are not shown]" if left > 0 else ""
    shown = _lines(text[:_TEXT_CHARS]) + more
    fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(shown)), default=0))
    return helpers.tool_content(helpers.text_block(f"{fence}\n{shown}\n{fence}"))


def _lines(text: str) -> str:
    """Text with every hidden sign written out; lines and tabs stay what they are."""
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
