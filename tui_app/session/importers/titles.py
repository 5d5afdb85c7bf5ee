"""The title of a conversation: the program's own, or else from the first prompt with a request."""

import re
from collections.abc import Sequence

from tui_app.context.user_text import own_text
from tui_app.events import UserMessage
from tui_app.session.importers.books import ImportedEvent
from tui_app.session.views.user_view import is_interruption
from tui_app.text import plain_line, without_sequences

MAX_TITLE = 60
"""Maximum characters of a title taken from a prompt."""

PLACEHOLDER = re.compile(r"(New|Child) session - \d{4}-\d\d-\d\dT[\d:.]+Z?")
"""OpenCode's name for a conversation that has no title yet."""
_BARE_COMMAND = re.compile(r"\s*/[\w:.-]+(\s+\S+){0,2}\s*")
"""A slash command with at most two words: it names a command, not the user's goal."""
_ISSUE = re.compile(
    r"<(?:issue|pr)_description>\s*(?P<tagged>.{1,2000})"
    r"|^ISSUE:\s*(?P<plain>.{1,2000})"
    r"|The description is:\s*(?P<challenge>.{1,2000})",
    re.DOTALL | re.MULTILINE,
)
"""The task in a benchmark harness' prompt, after its own text about the workspace."""
_LOOKED_AT = 20_000
"""Characters of a prompt in which the task is searched."""
_LINE = 4_096
"""Maximum characters read from a line."""


def one_line(text: str, limit: int = MAX_TITLE) -> str:
    """Return the first non-empty line, at most ``limit`` characters, without control sequences."""
    # Line by line, and only the start of each: a line may be as long as the whole file.
    shown = (without_sequences(line[:_LINE]) for line in text.splitlines())
    cleaned = (" ".join("".join(c if c.isprintable() else " " for c in line).split()) for line in shown)
    line = next(filter(None, cleaned), "")
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def title_of(events: Sequence[ImportedEvent]) -> str:
    """Return a title from the first prompt with a request, or else from a slash command."""
    texts = [event.data.text for event in events if isinstance(event.data, UserMessage)]
    commands = (text for text in texts if not is_interruption(text) and not text.startswith("<"))
    title = next(filter(None, map(prompt_title, texts)), "")[:_LOOKED_AT].lstrip("#").lstrip()
    first, _, rest = title.partition("\n")
    if first.rstrip().endswith(":"):
        # A first line that ends with a colon only introduces the request.
        request = rest.lstrip("# \r\n")
        title = f"{first.strip()} {request}"
    return plain_line(one_line(title or next(filter(None, commands), "")))


def given_title(text: str) -> str:
    """Return the program's title as one line; empty for a placeholder."""
    return "" if PLACEHOLDER.fullmatch(text.strip()) else one_line(text)


def prompt_title(prompt: str) -> str:
    """Return the user's request in a prompt; empty for bare commands, markers and texts by a program."""
    if task := _ISSUE.search(prompt[:_LOOKED_AT]):
        return str(next(filter(None, task.groups())))
    text = own_text(prompt).strip()
    is_marker = is_interruption(text) or text.startswith("<") or _BARE_COMMAND.fullmatch(text)
    # A text without letters, such as a number, answers a question that a title does not show.
    return text if not is_marker and any(map(str.isalpha, text)) else ""
