"""The title of a conversation: the program's own, else what the user wanted first."""

import re
from collections.abc import Sequence

from tui_app.context.user_text import own_text
from tui_app.events import UserMessage
from tui_app.session.importers.books import ImportedEvent
from tui_app.session.views.user_view import is_interruption
from tui_app.text import plain_first_line, without_sequences

MAX_TITLE = 60
"""Characters of a title that is taken from the first prompt."""

PLACEHOLDER = re.compile(r"(New|Child) session - \d{4}-\d\d-\d\dT[\d:.]+Z?")
"""What OpenCode calls a conversation that it has not named yet."""
_BARE_COMMAND = re.compile(r"\s*/[\w:.-]+(\s+\S+){0,2}\s*")
"""A slash command with hardly a word after it: it says what was to be run, not what was wanted."""
_ISSUE = re.compile(
    r"<(?:issue|pr)_description>\s*(?P<tagged>.{1,2000})"
    r"|^ISSUE:\s*(?P<plain>.{1,2000})"
    r"|The description is:\s*(?P<challenge>.{1,2000})",
    re.DOTALL | re.MULTILINE,
)
"""Where a harness for benchmarks puts the task, after its own words about the workspace."""
_LOOKED_AT = 20_000
"""Characters of a prompt in which that is looked for."""
_LINE = 4_096
"""Characters of a line that are looked at."""


def one_line(text: str, limit: int = MAX_TITLE) -> str:
    """The first line of a text, ``limit`` characters at most, without terminal and control sequences."""
    # Line by line, and of each no more than can be shown: one may hold all of a file.
    shown = (without_sequences(line[:_LINE]) for line in text.splitlines())
    cleaned = (" ".join("".join(c if c.isprintable() else " " for c in line).split()) for line in shown)
    line = next(filter(None, cleaned), "")
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def title_of(events: Sequence[ImportedEvent]) -> str:
    """A title from the first prompt that says what was wanted; where none does, from a slash command."""
    texts = [event.data.text for event in events if isinstance(event.data, UserMessage)]
    commands = (text for text in texts if not is_interruption(text) and not text.startswith("<"))
    title = next(filter(None, map(prompt_title, texts)), "")[:_LOOKED_AT].lstrip("#").lstrip()
    first, _, rest = title.partition("\n")
    if first.rstrip().endswith(":"):
        # What a first line only announces comes after it.
        told = rest.lstrip("# \r\n")
        title = f"{first.strip()} {told}"
    return plain_first_line(one_line(title or next(filter(None, commands), "")))


def given_title(text: str) -> str:
    """The title that a program gave, as one line; empty for one that only says when it began."""
    return "" if PLACEHOLDER.fullmatch(text.strip()) else one_line(text)


def prompt_title(prompt: str) -> str:
    """What the user wanted with a prompt; empty for bare commands, marks and what a program wrote."""
    if task := _ISSUE.search(prompt[:_LOOKED_AT]):
        return str(next(filter(None, task.groups())))
    said = own_text(prompt).strip()
    told = is_interruption(said) or said.startswith("<") or _BARE_COMMAND.fullmatch(said)
    # A number or a yes by its first letter answers a question that a title does not show.
    return said if not told and any(map(str.isalpha, said)) else ""
