"""Search of the whole conversation, including messages that have left the model's context."""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from tui_app.agent.tools.workspace import ToolProblem
from tui_app.context.tool_results.cuts import byte_count, first_bytes
from tui_app.records import frozen
from tui_app.tool_specs import READ_FILE, SEARCH_HISTORY

PAGE_LINES = 1_900
"""Maximum lines of one page; with the text around it, a page stays within the limits of tool output."""
PAGE_BYTES = 48_000
"""Maximum UTF-8 bytes of one page, for the same reason."""
_WORTH_BEGINNING = 1_000
"""Bytes that must be left on a page to start a line that fits no page."""


class Page(NamedTuple):
    """A part of a message."""

    rows: list[str]
    first: int
    """Line of the message with the first row, counted from 1."""
    total: int
    """Number of lines of the message."""
    next: tuple[int, int] | None
    """Line, and character in it, at which the next page begins; None at the end of the message."""


def page_of(text: str, start: int, lines: int, offset: int = 0, *, numbered: bool = False) -> Page | None:
    """Cut one page out of a message.

    Args:
        text: The message.
        start: First line, counted from 1.
        lines: Maximum number of lines.
        offset: Characters to skip in the first line; more than it has continue in the following lines.
        numbered: Whether rows begin with the number of their line and a tab.

    Returns:
        The page, with at least one row; None if the message ends before it.
    """
    source = text.split("\n")
    if len(source) > 1 and not source[-1]:
        # As elsewhere, a line break at the end starts no further line.
        source.pop()
    first, skip = max(1, start), max(0, offset)
    while first <= len(source) and skip > len(source[first - 1]):
        skip -= len(source[first - 1]) + 1
        first += 1
    if first > len(source):
        return None
    rows: list[str] = []
    room, following = PAGE_BYTES, None
    for number, whole in enumerate(source[first - 1 :], first):
        begin = skip if number == first else 0
        prefix, line = f"{number}\t" if numbered else "", whole[begin:]
        size = len(prefix) + byte_count(line) + 1
        full = size > room and (size <= PAGE_BYTES or room < _WORTH_BEGINNING)
        if rows and (full or len(rows) >= min(lines, PAGE_LINES)):
            following = (number, 0)
            break
        left = room - len(prefix)
        fits = line if size <= room else first_bytes(line[:left], left)
        rows.append(f"{prefix}{fits}")
        room -= size
        if len(fits) < len(line):
            following = (number, begin + len(fits))
            break
    return Page(rows, first, len(source), following)


MOST_HITS = 50
HIT_CHARS = 600
"""Maximum characters of one hit in a list."""
_HANDLE = re.compile(r"(?:([0-9a-f]{4,32})?#)?(\d{1,12})")
"""Handle of a message: its number, after the id of its session if that is another one."""
Scope = Literal["session", "project"]
"""What to search: this conversation and those handed over to it, or the whole repository."""


@frozen
class HistoryHit:
    """One message of the conversation."""

    seq: int
    """Its log number; the handle is this number with a ``#`` before it."""
    role: str
    """Who wrote it, for example ``user``, ``assistant`` or ``tool``."""
    text: str
    line: int = 0
    """Line of the match, if ``text`` is a part from within the message; else 0."""
    lines: int = 0
    """Lines of the whole message, if ``line`` is set."""
    session: str = ""
    """Id of its session, if that is another one."""

    @property
    def handle(self) -> str:
        """The handle that brings it back."""
        return f"{self.session}#{self.seq}"


class HistorySearch(Protocol):
    """The conversation as the search tool sees it.

    Both methods are called on the event loop and must return within a few milliseconds.
    """

    def search(self, words: str, limit: int = 8) -> Sequence[HistoryHit]:
        """Return the messages that match the words best, at most ``limit`` of them, best first."""

    def fetch(self, seq: int, session: str = "") -> HistoryHit | None:
        """Return one message. Other sessions must have been handed over to this one, or merged into it."""


class ProjectSearch(Protocol):
    """All sessions of a repository; the user may be asked first."""

    async def search(self, words: str, limit: int, call: str) -> tuple[Sequence[HistoryHit], str]:
        """Return the messages with all the words, best first, and why some are left out.

        Args:
            words: The words.
            limit: Maximum number of messages.
            call: Id of the tool call.
        """

    async def fetch(self, session: str, seq: int, call: str) -> HistoryHit | str | None:
        """Return one message, or why it may not be shown; None if this repository has no such message."""


def handle_of(query: str) -> tuple[str, int] | None:
    """Session and number in a query; the session is empty for this one."""
    found = _HANDLE.fullmatch(query.strip())
    return (found[1] or "", int(found[2])) if found else None


def search_history(
    history: HistorySearch,
    query: str,
    limit: int = 8,
    start: int = 1,
    lines: int = PAGE_LINES,
    offset: int = 0,
) -> str:
    """Search the conversation by words, or return one message by its handle, such as ``#142``.

    Args:
        history: The conversation.
        query: Words, or a handle.
        limit: Maximum hits.
        start: Of a message, the first line to return, counted from 1.
        lines: Of a message, the number of lines; no more than fit one answer.
        offset: Characters to skip in the line ``start``.
    """
    if handle := handle_of(query):
        hit = history.fetch(handle[1], handle[0])
        if hit is None:
            return f"[the conversation has no message {query.strip():.50}]"
        return paged(hit, start, lines, offset)
    hits = history.search(query, min(max(1, limit), MOST_HITS))
    return listed(hits) if hits else f"[nothing in the conversation matches {query!r:.200}]"


async def search_project(
    project: ProjectSearch, query: str, limit: int, start: int, lines: int, offset: int, *, call: str
) -> str:
    """Search all sessions of the repository, as :func:`search_history` does with one conversation.

    Args:
        project: Its sessions.
        query: Words, or the handle of a message with its session, such as ``9f3c1a2b#142``.
        limit: Maximum hits.
        start: Of a message, the first line to return.
        lines: Of a message, the number of lines.
        offset: Characters to skip in the line ``start``.
        call: Id of the tool call, for a question to the user.
    """
    handle = handle_of(query)
    if handle and handle[0]:
        hit = await project.fetch(*handle, call)
        if hit is None:
            return f"[this repository has no message {query.strip():.50}]"
        return f"[{hit}]" if isinstance(hit, str) else paged(hit, start, lines, offset)
    hits, left_out = await project.search(query, min(max(1, limit), MOST_HITS), call)
    found = listed(hits) if hits else f"[no session of this repository has all of {query!r:.200}]"
    return f"{found}\n\n[{left_out}]" if left_out else found


def paged(hit: HistoryHit, start: int, lines: int, offset: int) -> str:
    """One message, or the requested page of it."""
    page = page_of(hit.text, start, lines, offset)
    head = f"{hit.handle} {hit.role}:"
    if page is None:
        return f"[{hit.handle} ends before line {start}, character {offset}; start=1 gives its beginning]"
    if page.first == 1 and offset <= 0 and page.next is None:
        return f"{head}\n{hit.text}"
    title = f"{head} lines {page.first}-{page.first + len(page.rows) - 1} of {page.total}"
    return "\n".join([title, *page.rows, *_footer(hit, page, f"{SEARCH_HISTORY.name}(query")])


def listed(hits: Sequence[HistoryHit]) -> str:
    """The start of each message, with its handle."""
    shown: list[str] = []
    for hit in hits:
        text = " ".join(hit.text[: HIT_CHARS * 2].split())
        more = len(text) > HIT_CHARS or len(hit.text) > HIT_CHARS * 2
        place = f"[line {hit.line} of {hit.lines}] " if hit.line else ""
        shown.append(f"{hit.handle} {hit.role}: {place}{text[:HIT_CHARS]}{' …' if more else ''}")
    return "\n\n".join(shown)


def named_message(history: HistorySearch | None, path: str) -> HistoryHit | None:
    """The message for a path such as ``#142``; None if it is no handle of one."""
    if history is None or "#" not in path or not (handle := handle_of(path)):
        return None
    return history.fetch(handle[1], handle[0])


def read_message(hit: HistoryHit, start: int, lines: int) -> str:
    """Return lines of a message, numbered as those of a file.

    Raises:
        ToolProblem: if the message ends before ``start``.
    """
    page = page_of(hit.text, start, lines, numbered=True)
    if page is None:
        raise ToolProblem(f"{hit.handle} ends before line {start}; start at 1 or lower.")
    return "\n".join([*page.rows, *_footer(hit, page, f"{READ_FILE.name}(path")])


def _footer(hit: HistoryHit, page: Page, tool: str) -> list[str]:
    """How to read on. Only the search tool can start in the middle of a line."""
    if page.next is None:
        return []
    line, offset = page.next
    if offset:
        return [f'[read on with {SEARCH_HISTORY.name}(query="{hit.handle}", start={line}, offset={offset})]']
    return [f'[more lines follow, {page.total} in all; read on with {tool}="{hit.handle}", start={line})]']
