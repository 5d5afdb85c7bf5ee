"""What a format is: where messages are, who said them, when, and with which model.

What names cannot say, ``convert`` puts in the spelling that all share: messages with a role, whose content is
text or blocks as Anthropic's API has them. ``order`` says which records of a file stand, in which order.
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
"""Records with their lines, or with their places in a list."""

ASIDE, THOUGHT, NOTE, SUMMARY, TROUBLE = "aside", "thought", "note", "summary", "trouble"
"""Roles beside those of a chat: about the conversation, thinking alone, what nobody typed, what took the
place of a history, and an error."""
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
"""Names of elements without an end that are looked for in one text."""


@frozen(kw_only=True)
class Shape:
    """How one program writes conversations. Names are paths; of several the first that holds something."""

    name: str
    """Of the format."""
    program: str
    """What the user calls it."""
    signs: tuple[str, ...] = ()
    """Tell (see :func:`values.meets`) what can only be in this format: a record, or a message in one."""
    fits: Callable[[Source], bool] = lambda _: False
    """Whether a file can only be in this format, where no record alone tells it."""
    is_message: Callable[[Any], bool] | None = None
    """Tells the messages that are looked for inside of documents of any kind."""
    is_lines: bool = True
    """Whether what is no JSON value is JSON a line."""
    is_last: bool = False
    """Whether others may look like it: it is asked when nobody else knows the file."""
    find: Callable[[Source], Found | None] = lambda _: None
    """The conversation in a file that keeps it as nobody else does."""
    read_file: Callable[[Source, Timeline], Imported] | None = None
    """Reads a file for itself: the program's own events."""
    store: Store | None = None
    """A database in which it keeps them."""
    places: tuple[Place, ...] = ()
    """Where its transcripts are found."""
    talk: tuple[str, ...] = ()
    """The messages of a conversation; where none is there, they are the lines or the list itself."""
    role: tuple[str, ...] = ("role",)
    roles: Mapping[str, str] = field(default_factory=lambda: USUAL)
    content: tuple[str, ...] = ("content",)
    calls: tuple[str, ...] = ("tool_calls", "toolCalls")
    """Beside the content: calls, each perhaps with what the tool answered."""
    results: tuple[str, ...] = ("results",)
    files: tuple[str, ...] = ()
    """Beside the content: files that were sent with it."""
    quiet: tuple[str, ...] = ()
    """How types of blocks begin that say nothing."""
    block: Callable[[Any], Any] = lambda each: each
    """A block of the content in the shared spelling."""
    message: str = ""
    """Where in a record the message is, if it is not the record itself."""
    kind: tuple[str, ...] = ("type",)
    kinds: Mapping[str, Json | Callable[[Json], Json | list[Json]]] = field(default_factory=dict)
    """What records of each kind are: fields in the shared spelling (:func:`filled`), or what turns them."""
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
    """Of a message, each under paths with blanks between: ``total`` input, or what of it is ``fresh``,
    ``read`` and ``written`` (cache); ``output``, and what of it was ``thought``, or ``apart`` from it."""
    title: tuple[str, ...] = ("title",)
    cwd: tuple[str, ...] = ("cwd",)
    models: tuple[str, ...] = ()
    """Of a conversation, for messages that do not say it."""
    changed: tuple[str, ...] = ()
    """When a conversation was last written, for files of several."""
    links: tuple[str, str, tuple[str, ...]] | None = None
    """Id and parent of a message, and where a conversation says which message is the last."""
    nested: str = ""
    """Where a message has those that follow it, in files that write the tree as one."""
    sidecar: str = ""
    """A file beside it with title, folder and model; ``{stem}`` is the name without its end."""
    marks: tuple[str, ...] = ()
    """What is among messages and is none."""
    typed: re.Pattern[str] | None = None
    """How an element begins in which the program puts what the user typed; its name is the group ``tag``.
    In a conversation that has one, nothing else was typed."""
    note: re.Pattern[str] | None = None
    """How texts begin that the program wrote in the user's name."""
    frame: re.Pattern[str] | None = None
    """What the program itself writes around a summary."""
    continued: str = ""
    """How a prompt begins with which the program hands over what another session was about."""
    tells_trigger: bool = False
    """Whether its files say why a compaction was made."""
    denied: tuple[str, ...] = ()
    """How results begin of calls that the user did not allow, where no field says so."""
    stopped: tuple[str, ...] = ()
    """How results begin of calls that the user stopped."""
    is_side: Callable[[Json], bool] = lambda _: False
    """Whether a record is of a sub-agent; a file of nothing else is the conversation of one."""
    order: Callable[[Records, Timeline], Records] = lambda records, _: records
    """The records that were not undone, in their order; the others are counted in the notes."""
    convert: Callable[[Json], Json | list[Json]] | None = None
    """A record of any other kind as messages in the shared spelling."""
    take: Callable[[Any, Json], None] | None = None
    """Takes a record for itself, where it is kept as it is; it is given the reader."""


def elements(text: str, opening: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str, int]]:
    """The elements in a text whose opening a pattern tells: each with what is inside of it, and its end.

    Unlike with one pattern for all of it, a text of nothing but openings takes no longer than another.
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
    """Fields of a message: paths in the record begin with a point; the first that says something counts."""

    def value(given: Any) -> Any:
        if isinstance(given, list):
            return [filled(each, record) for each in given]
        if not isinstance(given, str) or not given.startswith("."):
            return given
        found = (value_at(record, path[1:]) for path in given.split())
        return next((each for each in found if each not in (None, "")), None)

    return {name: value(given) for name, given in table.items()}


def side_record(left: str = ABOUT, **fields: Any) -> Json:
    """A record about the conversation, with the sentence that counts it."""
    return {"role": ASIDE, "left": left, **fields}
