"""Origin of a call's words: the user, the model, or a text written by neither."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from pydantic_ai.messages import (
    BaseToolCallPart,
    BaseToolReturnPart,
    CompactionPart,
    RetryPromptPart,
    TextContent,
    TextPart,
    UserPromptPart,
)

from tui_app.context.counting.attachments import file_name, file_text
from tui_app.context.ledger.ledger import result_text
from tui_app.context.ledger.passages import LONGEST
from tui_app.context.ledger.tools import argument_texts, asks_user
from tui_app.context.message_marks import (
    is_inbox_part,
    is_program_part,
    is_shell_part,
    shell_command,
    shell_result,
)
from tui_app.context.user_text import refusal_reason, typed_text
from tui_app.context.views.view import Item
from tui_app.records import frozen

OperandKind = Literal["address", "path", "command"]
_USER, _MODEL = "user", "model"
"""Authors; any other value describes a text from elsewhere."""
_WORD = re.compile(r"\w+")
_BREAKS = {sign: " " for sign in range(128) if not _WORD.match(chr(sign))}
_MOST_FOUND = 1_000
"""Operands whose locations are cached."""
_BOUNDS: Mapping[OperandKind, tuple[str, str]] = {
    "address": (r"(?<![\w.-])", r"(?![\w-]|\.\w)"),
    "path": (r"(?<![\w./~-])", r"(?![\w-]|[./]\w)"),
    "command": (r"(?<![\w./-])", r"(?![\w-]|[./=:]\w)"),
}
"""Characters that must not be adjacent."""


@frozen
class Operand:
    """What a call acts on or with, in the spellings that are searched for."""

    kind: OperandKind
    forms: tuple[str, ...]
    """For a command, its words without options, because those may differ."""
    exact: str = ""
    """For a command, the complete text: it counts as the user's only if they wrote all of it."""

    def is_in(self, text: str) -> bool:
        """Whether a text contains one of the forms as a separate word or path."""
        before, after = _BOUNDS[self.kind]
        between = r"(?: -\S+)* " if self.exact else " "
        for form in self.forms:
            first, *rest = form.split(" ")
            # Skip the many places of the first word if another word is missing.
            if all(word in text for word in rest):
                whole = re.compile(f"{before}{between.join(map(re.escape, (first, *rest)))}{after}")
                at = text.find(first)
                while at >= 0:
                    if whole.match(text, at):
                        return True
                    at = text.find(first, at + 1)
        return False


@frozen
class Origin:
    """A text that neither the user nor the model wrote."""

    key: int
    """Its log number; 0 if unknown."""
    told: str
    """Description: the call it is the result of, a file, the memory."""
    session: str = ""
    """The session it is in; empty for this one."""

    @property
    def text(self) -> str:
        """Format as in ``#45 read_file README.md``."""
        return f"{self.session[:8]}#{self.key} {self.told}" if self.key else self.told


@dataclass(slots=True)
class Origins:
    """The texts of one session with their authors, collected message by message."""

    title: Callable[[str, str], str]
    """Formats a call by its tool and its arguments as JSON."""
    session: str = ""
    """Empty for the current session."""
    _texts: dict[int, Sequence[tuple[str, str]]] = field(default_factory=dict)
    _calls: dict[str, str] = field(default_factory=dict)
    """Author of each call's result, by call id."""
    _places: dict[int, int] = field(default_factory=dict)
    """Position of each included message, by log number."""
    _words: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """By word, the messages that contain it, each once; all messages by the empty word."""
    _found: dict[Operand, dict[int, Sequence[str]]] = field(default_factory=dict)
    """By operand, its authors in each message that was searched for it."""
    mark: tuple[int, int] = (-1, 0)
    """The version of the view whose messages are included, and their number."""

    unread: set[int] = field(default_factory=set)
    """Log numbers of included messages that were never read."""

    def count(self, keys: Collection[int], *, more: bool = False) -> None:
        """Include these messages, oldest first.

        Args:
            keys: Their log numbers.
            more: Whether to add them after those already included.
        """
        if not more:
            self._places.clear()
            self.unread.clear()
        self._places.update(zip(keys, count(len(self._places)), strict=False))
        self.unread.update(key for key in keys if key not in self._texts)

    def grow(self, items: Iterable[Item]) -> None:
        for item in items:
            texts = [(who, normal(text[:LONGEST])) for who, text in self._read(item) if text]
            self._texts[item.key] = texts
            self.unread.discard(item.key)
            for word in {""}.union(*(_words(text) for _, text in texts)):
                self._words[word].append(item.key)

    def _read(self, item: Item) -> Iterator[tuple[str, str]]:
        for part in item.message.parts:
            match part:
                case BaseToolCallPart():
                    title = self.title(part.tool_name, part.args_as_json_str())
                    self._calls[part.tool_call_id] = _USER if asks_user(part.tool_name) else title
                    yield _MODEL, "\n".join(argument_texts(part.args_as_dict()))
                case BaseToolReturnPart() | RetryPromptPart() if part.tool_name:
                    text = result_text(part)
                    if isinstance(part, BaseToolReturnPart) and part.outcome == "denied":
                        yield _USER, refusal_reason(text)
                    else:
                        yield self._calls.get(part.tool_call_id, part.tool_name), text
                case TextPart(content=text):
                    yield _MODEL, text
                case CompactionPart(content=str(text)):
                    yield "a summary", text
                case UserPromptPart():
                    yield from _prompt(part)
                case _:
                    pass

    def authors(self, operand: Operand) -> Iterator[tuple[int, str]]:
        """Yield the authors of an operand, in order of the messages."""
        if len(self._found) >= _MOST_FOUND:
            self._found.clear()
        known, having = self._found.setdefault(operand, {}), set[int]()
        for form in operand.forms:
            # Bounds never fall inside a word: a message without one of a form's words does not contain the
            # form.
            words = dict.fromkeys(_WORD.findall(form)) or ("",)
            rarest, *others = sorted((self._words.get(word, ()) for word in words), key=len)
            having |= set(rarest).intersection(*others)
        for key in having - known.keys():
            known[key] = [
                who
                for who, text in self._texts[key]
                if (who != _USER or operand.exact in text) and operand.is_in(text)
            ]
        for key in sorted(having & self._places.keys(), key=self._places.__getitem__):
            yield from ((key, who) for who in known[key])


def _prompt(part: UserPromptPart) -> Iterator[tuple[str, str]]:
    if is_shell_part(part):
        yield _USER, shell_command(part)
        yield "a command of yours", shell_result(part)
        return
    given = "a note of the program" if is_program_part(part) else ""
    given = "the memory" if is_inbox_part(part) else given
    for piece in [part.content] if isinstance(part.content, str) else part.content:
        if name := file_name(piece):
            yield name, file_text(piece)
            continue
        text = piece.content if isinstance(piece, TextContent) else piece
        if isinstance(text, str):
            yield _USER, "" if given else typed_text(text)
            yield given or "what programs wrote into a prompt", text


def first_origin(lineage: Sequence[Origins], operand: Operand, agent: str = "") -> Origin | None:
    """Return where something first occurred; None if the user ever wrote it or the model had it first.

    Args:
        lineage: This session, preceded by those that were handed over to it.
        operand: What is searched for.
        agent: The subagent that acts; what it reads is in none of these logs.
    """
    found = [(each.session, key, who) for each in lineage for key, who in each.authors(operand)]
    if any(who == _USER for _, _, who in found):
        return None
    if not found:
        # Complete commands are the subagent's own, like those of the model.
        return Origin(0, f"what agent {agent} read") if agent and not operand.exact else None
    session, key, who = found[0]
    return None if who == _MODEL else Origin(key, who, session)


def normal(text: str) -> str:
    """Normalize a text for comparison: no quotes, case folded, NFKC, single spaces."""
    plain = unicodedata.normalize("NFKC", text.replace("\\\n", " ")).translate(_SIGNS)
    return " ".join(plain.replace("[.]", ".").casefold().split())


def _words(text: str) -> list[str]:
    # Most of a session is ASCII, where this takes a tenth of the time.
    return text.translate(_BREAKS).split() if text.isascii() else _WORD.findall(text)


_SIGNS: Mapping[int, None] = dict.fromkeys(map(ord, "`'\"\u200b\u200c\u200d\u2060\ufeff\u00ad"))
