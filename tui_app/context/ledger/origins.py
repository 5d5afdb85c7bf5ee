"""Where the words of a call first stood: with the user, with the model, or in a text that neither wrote."""

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
"""Authors; any other one is how somebody else's text is told."""
_WORD = re.compile(r"\w+")
_BREAKS = {sign: " " for sign in range(128) if not _WORD.match(chr(sign))}
_MOST_FOUND = 1_000
"""Operands of which it is kept where they stand."""
_BOUNDS: Mapping[OperandKind, tuple[str, str]] = {
    "address": (r"(?<![\w.-])", r"(?![\w-]|\.\w)"),
    "path": (r"(?<![\w./~-])", r"(?![\w-]|[./]\w)"),
    "command": (r"(?<![\w./-])", r"(?![\w-]|[./=:]\w)"),
}
"""What may not stand beside it."""


@frozen
class Operand:
    """What a call acts on or with, in the spellings by which it is looked for."""

    kind: OperandKind
    forms: tuple[str, ...]
    """Of a command its words without options: those may differ."""
    exact: str = ""
    """Of a command all of it: only that is the user's where they wrote it."""

    def is_in(self, text: str) -> bool:
        """Whether a text has one of the forms, with nothing beside it that would make it another."""
        before, after = _BOUNDS[self.kind]
        between = r"(?: -\S+)* " if self.exact else " "
        for form in self.forms:
            first, *rest = form.split(" ")
            # Where the rest is in no place the many places of the first need no look.
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
    """Its log number; 0 where it is not known."""
    told: str
    """What it is: a call whose result it is, a file, the memory."""
    session: str = ""
    """The session it stands in; empty for this one."""

    @property
    def text(self) -> str:
        """``#45 read_file README.md``."""
        return f"{self.session[:8]}#{self.key} {self.told}" if self.key else self.told


@dataclass(slots=True)
class Origins:
    """The texts of one session, folded message by message, each with who wrote it."""

    title: Callable[[str, str], str]
    """How a call is told, by its tool and its arguments as JSON."""
    session: str = ""
    """Empty for the one that goes on."""
    _texts: dict[int, Sequence[tuple[str, str]]] = field(default_factory=dict)
    _calls: dict[str, str] = field(default_factory=dict)
    """Who writes the answer of each call, by its id."""
    _places: dict[int, int] = field(default_factory=dict)
    """By log number, where each message that counts stands among them."""
    _words: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """By word, the messages that have it, each once; by none, all."""
    _found: dict[Operand, dict[int, Sequence[str]]] = field(default_factory=dict)
    """By what was looked for, who wrote it in each message that was read for it."""
    mark: tuple[int, int] = (-1, 0)
    """The version of the view whose messages count, and how many there were to see."""

    unread: set[int] = field(default_factory=set)
    """Log numbers of the messages that count and were never read."""

    def count(self, keys: Collection[int], *, more: bool = False) -> None:
        """Let these messages count, oldest first.

        Args:
            keys: Their log numbers.
            more: Whether those that counted before go on to count, in front of them.
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
        """Who wrote it, in order of the messages."""
        if len(self._found) >= _MOST_FOUND:
            self._found.clear()
        known, having = self._found.setdefault(operand, {}), set[int]()
        for form in operand.forms:
            # Bounds never stand within a word: a message that lacks one of a form has not the form.
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
    """Where something first stood, if neither user nor model had it first, and the user never wrote it.

    Args:
        lineage: This session, behind those that were handed over to it.
        operand: What is looked for.
        agent: The sub-agent that acts: what it reads stands in none of these logs.
    """
    found = [(each.session, key, who) for each in lineage for key, who in each.authors(operand)]
    if any(who == _USER for _, _, who in found):
        return None
    if not found:
        # Whole commands are its own, as those of the model are.
        return Origin(0, f"what agent {agent} read") if agent and not operand.exact else None
    session, key, who = found[0]
    return None if who == _MODEL else Origin(key, who, session)


def normal(text: str) -> str:
    """A text as it is compared: without quotes and case, in one kind of letters, with single blanks."""
    plain = unicodedata.normalize("NFKC", text.replace("\\\n", " ")).translate(_SIGNS)
    return " ".join(plain.replace("[.]", ".").casefold().split())


def _words(text: str) -> list[str]:
    # Most of a session is ASCII, where this takes a tenth of the time.
    return text.translate(_BREAKS).split() if text.isascii() else _WORD.findall(text)


_SIGNS: Mapping[int, None] = dict.fromkeys(map(ord, "`'\"\u200b\u200c\u200d\u2060\ufeff\u00ad"))
