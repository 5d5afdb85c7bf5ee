"""Whether a session really says what a model wants remembered of it.

A model may invent a rule, widen one, or take a sentence out of a file for the user's. So each entry names
the message it comes from, and only what the user typed, the assistant said, or a tool really did can bear it:
what tools and files print bears nothing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tui_app.context.facts.files import file_trails
from tui_app.context.facts.observations import Reading, Said, command_of, read_items, sentences, worked
from tui_app.context.facts.shell import normal_command
from tui_app.context.view import Item
from tui_app.memory.entries import EntryKind
from tui_app.memory.guard import NotRemembered, gives_orders

_WORD = re.compile(r"[^\W_]{3,60}")
_NAME = re.compile(r"`([^`]{1,200})`|(?<![\w/.])([\w.-]*[/\\][\w./\\-]+)|(?<!\w)(\d[\w.]*)")
"""What must stand in the source letter by letter: names in code marks, paths, numbers."""
_NEGATION = re.compile(
    r"(?i)\b(?:not|never|no|don['’]?t|avoid|without|stop|cannot|can['’]?t|nicht|kein\w*|nie|pas|jamais|nunca)\b"
)
_RULE = 0.75
_OTHER = 0.6
"""Share of an entry's words that its source must hold."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a session holds that can bear an entry."""

    typed: Mapping[int, str]
    """By the number of its message, what the user typed."""
    spoken: Mapping[int, str]
    commands: Sequence[str]
    """Commands that worked, without their decoration."""
    files: frozenset[str]
    """Paths that something was done to."""

    def check(self, text: str, kind: EntryKind, source: int) -> None:
        """Make sure that an entry is borne by the message it names.

        Raises:
            NotRemembered: if it is not; the message says what is missing.
        """
        match kind:
            case "rule":
                self._rule(text, source)
            case "command":
                said = normal_command(_named(text) or text)
                if not any(_same_command(said, known) for known in self.commands):
                    raise NotRemembered("no command of this session that worked is that one")
            case "file":
                if not any(_in_text(path, text) for path in self.files):
                    raise NotRemembered("this session did nothing to a file of that name")
                self._said(text, source, needed=0.0)
            case _:
                self._said(text, source, needed=_OTHER)

    def _rule(self, text: str, source: int) -> None:
        said = self.typed.get(source)
        if said is None:
            raise NotRemembered(f"#{source} is no message in which the user says anything")
        wanted, negated = _words(text), bool(_NEGATION.search(text))
        for sentence in (*sentences(said), said):
            if _share(wanted, sentence) >= _RULE and bool(_NEGATION.search(sentence)) == negated:
                _names(text, said)
                return
        raise NotRemembered(f"the user does not say that in #{source}; quote their own words")

    def _said(self, text: str, source: int, *, needed: float) -> None:
        said = self.typed.get(source) or self.spoken.get(source)
        if said is None and needed:
            raise NotRemembered(f"#{source} is no message in which the user or the assistant says anything")
        if said is not None and needed:
            if gives_orders(said) and gives_orders(text):
                raise NotRemembered("it repeats an order that stands in the transcript")
            if _share(_words(text), said) < needed:
                raise NotRemembered(f"#{source} does not say that")
            _names(text, said)


def evidence_of(items: Sequence[Item]) -> Evidence:
    """Collect what a session holds."""
    return evidence_in(read_items(items))


def evidence_in(reading: Reading) -> Evidence:
    """Collect what a session holds that has been taken apart already."""
    commands = (normal_command(command_of(action)) for action in reading.actions if worked(action))
    return Evidence(
        typed=_by_key(reading.typed),
        spoken=_by_key(reading.spoken),
        commands=tuple(dict.fromkeys(filter(None, commands))),
        files=frozenset(trail.path for trail in file_trails(reading)),
    )


def _by_key(said: Sequence[Said]) -> dict[int, str]:
    texts: dict[int, str] = {}
    for one in said:
        texts[one.key] = f"{texts[one.key]}\n{one.text}" if one.key in texts else one.text
    return texts


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))


def _share(wanted: frozenset[str], said: str) -> float:
    return len(wanted & _words(said)) / len(wanted) if wanted else 0.0


def _names(text: str, said: str) -> None:
    folded = said.casefold()
    for match in _NAME.finditer(text):
        name = next(filter(None, match.groups())).rstrip(".")
        if name.casefold() not in folded:
            raise NotRemembered(f"its source does not name {name}")


def _named(text: str) -> str:
    match = re.search(r"`([^`]{1,400})`", text)
    return match[1] if match else ""


def _same_command(said: str, known: str) -> bool:
    return bool(said) and (said == known or said in known.split(" && "))


def _in_text(path: str, text: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    return bool(name) and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text) is not None
