"""One pass over the messages: what was said, what was done, and how it ended.

Every extractor works on the ``Reading`` made here, so messages of any agent are taken apart once, in linear
time, and only text that a person typed is ever called typed.
"""

import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.messages import (
    BaseToolCallPart,
    BaseToolReturnPart,
    CompactionPart,
    RetryPromptPart,
    TextContent,
    TextPart,
    UserPromptPart,
)

from tui_app.context.counting.attachments import file_name
from tui_app.context.fact_extractors.labels import unlabelled, with_facts
from tui_app.context.fact_extractors.typed import said_in_refusal, typed_text
from tui_app.context.inbox import is_inbox_part
from tui_app.context.items import Item
from tui_app.context.stages.marks import OWN, is_digest_part, mark_of
from tui_app.context.stages.results import is_archived

_NOTICE = re.compile(r"\n\[…[^\n]{0,300}\]$")
"""What a stage that has cut a result says at its end."""
_POINTER = re.compile(r"(?s)\[Not repeated here: .{1,1200}?, beginning with: (.*)…\]")


@dataclass(frozen=True, slots=True)
class Said:
    """Words of one side."""

    key: int
    index: int
    """Place among the messages, from 0: what recency is judged by."""
    text: str


@dataclass(frozen=True, slots=True)
class Action:
    """One tool call with its answer."""

    key: int
    """Log number of the answer; of the call while there is no answer."""
    index: int
    tool: str
    args: Mapping[str, Any]
    result: str = ""
    outcome: str = ""
    """Outcome of the tool return (``success``, ``failed``, …); empty without an answer."""


@dataclass(slots=True)
class Reading:
    """A history taken apart; every list is in order of time."""

    typed: list[Said] = field(default_factory=list)
    spoken: list[Said] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    summaries: list[str] = field(default_factory=list)
    length: int = 0
    in_sight: frozenset[int] = frozenset()
    """Keys of the messages that stay; none of them stands in the lists above."""
    beside: "Reading | None" = None
    """What stands in those messages: it is not told again, but it answers and solves."""

    def all_actions(self) -> list[Action]:
        """Every action, those in sight too, in order of time."""
        if self.beside is None:
            return self.actions
        return sorted((*self.actions, *self.beside.actions), key=_place)

    def went_on(self, index: int) -> bool:
        """Whether anybody said anything in sight after a place in the history."""
        if self.beside is None:
            return False
        return any(said.index > index for said in (*self.beside.typed, *self.beside.spoken))

    def recency(self, index: int) -> float:
        """How new a place in the history is, from 0 (oldest) to 1 (newest)."""
        return (index + 1) / max(1, self.length)


_Call = tuple[int, int, str, Mapping[str, Any]]


@dataclass(slots=True)
class _Reader:
    """Pairs calls with answers while it walks; reused ids are paired in order of occurrence."""

    reading: Reading
    open: dict[str, deque[_Call]] = field(default_factory=lambda: defaultdict(deque))

    def answer(self, item: Item, index: int, part: BaseToolReturnPart | RetryPromptPart) -> None:
        waiting = self.open.get(part.tool_call_id)
        call = waiting.popleft() if waiting else (item.key, index, part.tool_name or "", {})
        retried = isinstance(part, RetryPromptPart)
        outcome = "retried" if isinstance(part, RetryPromptPart) else part.outcome
        text = _retry_text(part.content) if retried else _result_text(part)
        self.reading.actions.append(Action(item.key, index, call[2], call[3], text, outcome))
        if outcome == "denied" and (said := said_in_refusal(text)):
            self.reading.typed.append(Said(item.key, index, said))

    def part(self, item: Item, index: int, part: object) -> None:
        """Sort one part into the reading; parts that hold no words or deeds are passed over."""
        reading = self.reading
        match part:
            case UserPromptPart() if not (is_digest_part(part) or is_inbox_part(part)):
                if text := "\n\n".join(filter(None, map(typed_text, _prompt_texts(part)))):
                    reading.typed.append(Said(item.key, index, text))
            case TextPart():
                if part.content.strip():
                    reading.spoken.append(Said(item.key, index, part.content.strip()))
            case BaseToolCallPart():
                call = (item.key, index, part.tool_name, part.args_as_dict())
                self.open[part.tool_call_id].append(call)
            case BaseToolReturnPart():
                self.answer(item, index, part)
            case RetryPromptPart() if part.tool_name:
                self.answer(item, index, part)
            case CompactionPart() if part.content:
                reading.summaries.append(_notes(part))

    def finish(self) -> Reading:
        """Add the calls that nothing answered, then put the actions in order."""
        for waiting in self.open.values():
            self.reading.actions += [Action(key, index, tool, args) for key, index, tool, args in waiting]
        self.reading.actions.sort(key=_place)
        return self.reading


def read_items(items: Sequence[Item], in_sight: Collection[int] = ()) -> Reading:
    """Take the messages apart.

    Args:
        items: Messages in order of time, complete or cut anywhere.
        in_sight: Keys of those that are to be read apart, as what stays.

    Returns:
        What was typed, spoken and done. Calls without an answer come last at their place, with an empty
        outcome; answers without a call have no arguments.
    """
    reader = _Reader(Reading(length=len(items)))
    for index, item in enumerate(items):
        for part in item.message.parts:
            reader.part(item, index, part)
    whole = reader.finish()
    return _apart(whole, frozenset(in_sight)) if in_sight else whole


def _apart(whole: Reading, keys: frozenset[int]) -> Reading:
    """Put what stands in some messages beside the rest."""
    beside = Reading(length=whole.length)
    rest = Reading(length=whole.length, summaries=whole.summaries, in_sight=keys, beside=beside)
    for said in whole.typed:
        (beside if said.key in keys else rest).typed.append(said)
    for said in whole.spoken:
        (beside if said.key in keys else rest).spoken.append(said)
    for action in whole.actions:
        (beside if action.key in keys else rest).actions.append(action)
    return rest


def _notes(part: CompactionPart) -> str:
    """A summary as notes to update; only our own metadata tells which groups code has put below them."""
    own = (part.metadata or {}).get(OWN)
    if isinstance(own, Mapping) and own.get("summary"):
        return with_facts(str(own["summary"]), str(own.get("facts", "")))
    return unlabelled(part.content or "")


def _place(action: Action) -> int:
    return action.index


def _prompt_texts(part: UserPromptPart) -> Iterable[str]:
    """The texts of a prompt; pictures, sound and other files hold no words for us."""
    if isinstance(part.content, str):
        return [part.content]
    texts: list[str] = []
    for piece in part.content or ():
        if isinstance(piece, str):
            texts.append(piece)
        elif isinstance(piece, TextContent) and not file_name(piece):
            texts.append(piece.content)
    return texts


def _result_text(part: BaseToolReturnPart | RetryPromptPart) -> str:
    """The text of an answer, less what the reversible stages have put in its place."""
    if isinstance(part, RetryPromptPart):
        return _retry_text(part.content)
    if is_archived(part):
        return ""
    if isinstance(part.content, str):
        return _NOTICE.sub("", part.content) if mark_of(part) else part.content
    try:
        return part.model_response_str(wrap_if_error=False)
    except (ValueError, TypeError):
        # A result of a foreign agent may hold objects that have no JSON form.
        return str(part.content)


def _retry_text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(error.get("msg", error)) for error in content if isinstance(error, dict))
    return str(content)


def without_pointer(text: str) -> str:
    """The text of an argument; of one that a pointer stands for, the beginning that the pointer shows."""
    match = _POINTER.fullmatch(text)
    return match[1] if match else text


def argument_texts(args: Mapping[str, Any]) -> Iterable[str]:
    """Every text inside a call's arguments, nested ones too, in order.

    Args:
        args: Arguments of a tool call.

    Yields:
        The texts; numbers and flags are left out.
    """
    stack: list[Any] = list(reversed(list(args.values())))
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            yield without_pointer(value)
        elif isinstance(value, Mapping):
            stack += reversed(list(value.values()))
        elif isinstance(value, list | tuple):
            stack += reversed(value)


def first_text(args: Mapping[str, Any], names: Sequence[str]) -> str:
    """The first non-empty text among the named arguments, else an empty string."""
    for name in names:
        value = args.get(name)
        if isinstance(value, str) and value.strip():
            return without_pointer(value.strip())
    return ""
