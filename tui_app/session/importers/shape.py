"""Shapes: where a format has its messages, their authors, times and models.

What paths cannot express is done by ``convert``, which returns the shared form: messages with a role, whose
content is text or blocks as in Anthropic's API. ``order`` selects and orders the records of a file.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any

from tui_app.records import frozen
from tui_app.session.importers.books import Imported, Timeline
from tui_app.session.importers.databases import Store
from tui_app.session.importers.message_lists import Found
from tui_app.session.importers.places import Place
from tui_app.session.importers.source import Json, Source
from tui_app.session.importers.values import value_at

Records = list[tuple[int, Json]]
"""Records with their line numbers or list places."""

ASIDE, THOUGHT, NOTE, SUMMARY, TROUBLE = "aside", "thought", "note", "summary", "trouble"
"""Roles in addition to those of a chat.

About the conversation, thinking only, not typed by the user, a summary that replaces history, and an error.
"""
USUAL: Mapping[str, str] = {
    "system": "system", "developer": "system", "user": "user", "human": "user", "assistant": "assistant",
    "model": "assistant", "agent": "assistant", "thinking": THOUGHT, "tool": "tool", "function": "tool",
    **{each: each for each in (ASIDE, THOUGHT, NOTE, SUMMARY, TROUBLE)},
}  # fmt: skip
OPENAI_TOKENS = {
    "total": "usage.prompt_tokens", "output": "usage.completion_tokens",
    "read": "usage.prompt_tokens_details.cached_tokens",
    "thought": "usage.completion_tokens_details.reasoning_tokens",
}  # fmt: skip
ANTHROPIC_TOKENS = {
    "fresh": "usage.input_tokens", "output": "usage.output_tokens",
    "read": "usage.cache_read_input_tokens", "written": "usage.cache_creation_input_tokens",
}  # fmt: skip
ABOUT = "records about the chat were left out"
SUB_AGENTS = "records of sub-agents were left out"
_MAX_UNCLOSED = 100
"""Maximum number of unclosed element names per text."""


@frozen(kw_only=True)
class Shape:
    """How one program writes conversations. Names are paths; of several, the first with a value counts."""

    name: str
    """Name of the format."""
    program: str
    """The user's name for it."""
    signs: tuple[str, ...] = ()
    """Signs (see :func:`values.meets`) of a record, or of a message in one, that only this format has."""
    fits: Callable[[Source], bool] = lambda _: False
    """Recognizes a file that can only be in this format, if a single record does not show it."""
    is_message: Callable[[Any], bool] | None = None
    """Recognizes the messages to look for inside documents of any kind."""
    is_lines: bool = True
    """Whether a file that is no single JSON value is read as JSON lines."""
    is_last: bool = False
    """Whether other formats may look like it: then it is tried last."""
    find: Callable[[Source], Found | None] = lambda _: None
    """Finds the conversation in a file with a layout of its own."""
    read_file: Callable[[Source, Timeline], Imported] | None = None
    """Reads the whole file: for the program's own events."""
    store: Store | None = None
    """The database in which the program stores conversations."""
    places: tuple[Place, ...] = ()
    """Where its transcripts are found."""
    talk: tuple[str, ...] = ()
    """Paths of a conversation's messages; if none exists, they are the lines or the list itself."""
    role: tuple[str, ...] = ("role",)
    roles: Mapping[str, str] = field(default_factory=lambda: USUAL)
    content: tuple[str, ...] = ("content",)
    calls: tuple[str, ...] = ("tool_calls", "toolCalls")
    """Calls next to the content, possibly with their results."""
    results: tuple[str, ...] = ("results",)
    files: tuple[str, ...] = ()
    """Files sent with the content."""
    quiet: tuple[str, ...] = ()
    """Prefixes of types of blocks without content."""
    block: Callable[[Any], Any] = lambda each: each
    """Converts a block of the content to the shared form."""
    message: str = ""
    """Path of the message in a record, if it is not the record itself."""
    kind: tuple[str, ...] = ("type",)
    kinds: Mapping[str, Json | Callable[[Json], Json | list[Json]]] = field(default_factory=dict)
    """Fields in the shared form (:func:`filled`) or a conversion, for each kind of record."""
    about: tuple[str, ...] = ()
    """Signs of records about the conversation."""
    noted: tuple[str, ...] = ()
    """Signs of prompts that the program wrote."""
    time: tuple[str, ...] = ("timestamp", "_metadata.timestamp", "created_at", "createdAt", "created")
    model: tuple[str, ...] = ("model",)
    finish: tuple[str, ...] = ("finish",)
    cost: tuple[str, ...] = ("cost", "usage.cost")
    """Of a message, in dollars."""
    tokens: Mapping[str, str] = field(default_factory=dict)
    """Token counts of a message, each with paths separated by blanks.

    ``total`` is the input, or ``fresh``, ``read`` and ``written`` (cache) its parts; ``output`` includes
    ``thought`` but not ``apart``.
    """
    title: tuple[str, ...] = ("title",)
    cwd: tuple[str, ...] = ("cwd",)
    models: tuple[str, ...] = ()
    """Model of a conversation, for messages that do not name one."""
    changed: tuple[str, ...] = ()
    """Last change of a conversation, for files with several."""
    links: tuple[str, str, tuple[str, ...]] | None = None
    """Id and parent of a message, and the conversation's fields that name the last message."""
    nested: str = ""
    """Path of the messages that follow a message, in files that nest the tree."""
    sidecar: str = ""
    """A file next to it with title, folder and model; ``{stem}`` is the file name without its suffix."""
    marks: tuple[str, ...] = ()
    """Texts between messages that are no messages."""
    typed: re.Pattern[str] | None = None
    """Opening of an element that contains what the user typed; its name is the group ``tag``.

    In a conversation with such an element, everything else was not typed.
    """
    note: re.Pattern[str] | None = None
    """Beginning of texts that the program wrote in the user's name."""
    frame: re.Pattern[str] | None = None
    """What the program itself writes around a summary."""
    continued: str = ""
    """Beginning of a prompt in which the program hands over a summary of another session."""
    tells_trigger: bool = False
    """Whether its files record why a compaction was made."""
    denied: tuple[str, ...] = ()
    """Beginnings of results of calls that the user denied, if no field records it."""
    stopped: tuple[str, ...] = ()
    """Beginnings of results of calls that the user stopped."""
    is_side: Callable[[Json], bool] = lambda _: False
    """Whether a record belongs to a subagent. A file of nothing else is a subagent's conversation."""
    order: Callable[[Records, Timeline], Records] = lambda records, _: records
    """Selects and orders the valid records; the others are counted as left out."""
    convert: Callable[[Json], Json | list[Json]] | None = None
    """Converts a record of any other kind to messages in the shared form."""
    take: Callable[[Any, Json], None] | None = None
    """Takes the reader and a record that is stored unchanged."""


def elements(text: str, opening: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str, int]]:
    """Iterate over the elements whose opening matches: the match, the content, and the end.

    Unlike with one pattern for whole elements, a text of nothing but openings takes no longer than another.
    """
    unclosed: set[str] = set()
    at = 0
    for match in opening.finditer(text):
        tag = match["tag"]
        if match.start() < at or tag in unclosed:
            continue
        end = text.find(f"</{tag}>", match.end())
        if end < 0:
            unclosed.add(tag)
            if len(unclosed) > _MAX_UNCLOSED:
                return
            continue
        at = end + len(tag) + 3
        yield match, text[match.end() : end], at


def filled(table: Json, record: Json) -> Json:
    """Fill in a message's fields: paths in the record begin with a point; the first with a value counts."""

    def value(given: Any) -> Any:
        if isinstance(given, list):
            return [filled(each, record) for each in given]
        if not isinstance(given, str) or not given.startswith("."):
            return given
        found = (value_at(record, path[1:]) for path in given.split())
        return next((each for each in found if each not in (None, "")), None)

    return {name: value(given) for name, given in table.items()}


def side_record(left: str = ABOUT, **fields: Any) -> Json:
    """Return a record about the conversation, with the sentence under which it is counted."""
    return {"role": ASIDE, "left": left, **fields}
