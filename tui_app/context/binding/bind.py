"""Bind each statement of a model's notes to its source messages, with the ledger's knowledge.

Only message numbers and the names, numbers, paths, commands and quotes in a statement are read: no word of
any language has an effect. A source shows where a line comes from, not that it is right.

After attributed generation: ALCE (Gao et al. 2023), ALiiCE (arXiv 2406.13375), arXiv 2509.21557.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Literal

from tui_app.context.binding.forms import numbers_only
from tui_app.context.binding.sources import Sources
from tui_app.context.binding.statements import Anchor, Statement, statements
from tui_app.context.binding.states import COPIED, NewStates, State, is_path_of, is_run_of
from tui_app.context.ledger.ledger import Ledger
from tui_app.context.ledger.passages import Passage, passages
from tui_app.context.summaries.prompt import REPEATS, repeats
from tui_app.context.views.view import Item
from tui_app.events import NOT_IN_LOG, UNCHECKED
from tui_app.records import frozen

Form = Literal["bound", "unchecked", "not in the log"]
STATES_SHARE, _STATES_LEAST = 0.15, 60
"""Share of the notes' tokens that states may cost, and a minimum of tokens."""
_REFUSED_FROM = 4
"""Minimum statements before notes can be refused for lack of sources."""
_TERSE = 160
"""Characters of an answer without sections and sources that contains nothing of the session."""
_Source = tuple[list[int], tuple[int, ...]]
"""Units, and the messages by which they are cited."""
NOTHING = "nothing in the answer has a source in the log"
_HEADED = re.compile(r"(?m)^\s{0,3}(?:#{1,6}\s|\*\*|[-*] )")
INTENT = "Intent"
"""The section of the notes that speaks for the user."""


@frozen
class BoundLine:
    """A statement with its source."""

    statement: Statement
    form: Form
    keys: tuple[int, ...] = ()
    states: tuple[State, ...] = ()
    copied: bool = False
    """Whether it is copied from a tool result, and in no message of the user or the assistant."""

    @property
    def suffix(self) -> str:
        """The form at its end."""
        if self.form == "bound":
            numbers = ", ".join(f"#{key}" for key in self.keys)
            states = "; ".join(state.text for state in self.states)
            form = ": ".join(filter(None, (numbers, states)))
            return f"({form})" if form else ""
        return UNCHECKED if self.form == "unchecked" else NOT_IN_LOG


@frozen
class BoundNotes:
    """Notes with a form at the end of each statement."""

    text: str
    lines: tuple[BoundLine, ...] = ()
    notes: str = ""
    """The original notes."""

    @property
    def sourced(self) -> int:
        return sum(line.form == "bound" and not line.copied for line in self.lines)

    @property
    def not_in_log(self) -> int:
        return sum(line.form == "not in the log" for line in self.lines)

    @property
    def lacking(self) -> tuple[str, ...]:
        """The statements without a source."""
        return tuple(line.statement.text for line in self.lines if line.form != "bound" or line.copied)

    @property
    def refusal(self) -> str:
        """Why these notes cannot be used; empty if they can."""
        if repeats(self.notes):
            return REPEATS
        if not (self.sourced or _HEADED.search(self.notes)) and len(self.notes) < _TERSE:
            return NOTHING
        if not self.lines:
            return NOTHING
        if len(self.lines) >= _REFUSED_FROM and self.sourced * 2 < len(self.lines):
            return f"only {self.sourced} of {len(self.lines)} lines have a source"
        return ""


def written_out(notes: str, lines: Sequence[BoundLine]) -> str:
    """Append its form to each statement; existing forms are replaced."""
    text, end = "", 0
    for line in lines:
        form, statement = line.suffix, line.statement
        text += f"{notes[end : statement.start]}{statement.text}{f' {form}' if form else ''}"
        end = statement.end
    return text + notes[end:]


class Binder:
    """Binds notes on one session.

    Args:
        ledger: What happened in it.
        texts: All its texts.
        beside: What the model was given outside of the messages.
        count: Tokens of a text.
    """

    @classmethod
    def over(cls, items: Sequence[Item], extras: Sequence[str] = ()) -> "Binder":
        """Return a binder over some messages."""
        return cls(Ledger.from_items(items), list(passages(items)), extras)

    def __init__(
        self,
        ledger: Ledger,
        texts: Sequence[Passage],
        extras: Sequence[str] = (),
        count: Callable[[str], int] = lambda text: -(-len(text) // 4),
    ) -> None:
        self.ledger, self.count = ledger, count
        trails = ([*trail.keys, *trail.reads] for trail in ledger.files().values())
        self.sources = Sources(texts, extras, _counts(ledger), trails)

    def bind(self, notes: str) -> BoundNotes:
        """Find the source of each statement and append it."""
        notes = numbers_only(notes)
        new = NewStates(self.ledger, self.sources)
        lines = [self._bound(statement, new) for statement in statements(notes)]
        lines = list(self._affordable(notes, lines))
        return BoundNotes(written_out(notes, lines), tuple(lines), notes)

    def _bound(self, statement: Statement, new: NewStates) -> BoundLine:
        sources, anchors = self.sources, statement.anchors
        if (copied := sources.copied(statement.text)) is not None:
            state = State(COPIED, f"copied {statement.start}", 10)
            return BoundLine(statement, "bound", (sources.units[copied].newest,), (state,), copied=True)
        known = [anchor for anchor in anchors if sources.knows(anchor)]
        given = [key for key in statement.sources if sources.place(key) is not None]
        literal = [anchor for anchor in anchors if anchor.strict or sources.has_others(anchor)]
        unknown = [anchor for anchor in literal if anchor not in known]
        never_run = new.never_run(unknown)
        # Without a log, removed messages are known to the ledger only.
        left = [key for key in statement.sources if key not in given and self.ledger.knows(key)]
        if len(never_run) < len(unknown) or len(given) + len(left) < len(statement.sources):
            return BoundLine(statement, "not in the log")
        if never_run:
            return BoundLine(statement, "bound", tuple(given), tuple(never_run))
        if left and not given:
            old_states = tuple(new.look_up(statement, (), left, intent=False, found=False))
            return BoundLine(statement, "bound", tuple(left), old_states)
        # A digit by itself occurs in messages that have nothing to do with the statement.
        telling = known if len(known) > 1 or any(len(each.text) > 1 for each in known) else ()
        found = (self._cited_units(statement, given) if given else None) or self._found(telling)
        if found is None:
            return BoundLine(statement, "unchecked")
        places, keys = found
        intent = statement.heading.casefold().startswith(INTENT.casefold())
        states = tuple(new.look_up(statement, places, keys, intent=intent, found=not given))
        return BoundLine(statement, "bound", keys, states)

    def _cited_units(self, statement: Statement, given: Sequence[int]) -> _Source | None:
        """The messages that a statement gives, if they bear out its anchors."""
        places = [place for key in given if (place := self.sources.place(key)) is not None]
        if not statement.anchors and {self.sources.units[place].voice for place in places} == {"program"}:
            return None  # text by the program is no evidence
        near = {each for place in places for each in (place - 1, place, place + 1)}
        for anchor in statement.anchors:
            having = self.sources.having(anchor) or self.sources.rounded(anchor)
            if near.isdisjoint(having) and not self._is_circumstance(anchor):
                return None
        return places, tuple(given)

    def _is_circumstance(self, anchor: Anchor) -> bool:
        """Whether an anchor is confirmed outside the messages: by circumstances, or a count."""
        return self.sources.beside(anchor) or (
            not self.sources.having(anchor) and (not anchor.strict or self.sources.counts(anchor))
        )

    def _found(self, known: Sequence[Anchor]) -> _Source | None:
        """Return the best unit in which all anchors of a statement occur together."""
        anchors = [anchor for anchor in known if self.sources.having(anchor)]
        if not anchors:
            # Only circumstances, or a count that the ledger has.
            return ([], ()) if any(map(self._is_circumstance, known)) else None
        places = [self.sources.having(anchor) for anchor in anchors]
        # What was said about a call stands in the message before or behind it.
        near, holders = map(self.sources.around, places), frozenset[int]().union(*places)
        together = frozenset.intersection(*places) or frozenset.intersection(*near) & holders
        if not together:
            return None
        deeds = self._deeds(anchors)
        best = max(together, key=lambda place: (self._weight(place, deeds), place))
        unit = self.sources.units[best]
        return [best], (unit.newest,)

    def _deeds(self, anchors: Sequence[Anchor]) -> frozenset[int]:
        """Return the messages in which a named file was changed, or a named command was run."""
        paths = [anchor.text for anchor in anchors if anchor.kind == "path"]
        lines = [anchor.text for anchor in anchors if anchor.kind == "code"]
        trails, runs = self.ledger.files().values(), self.ledger.runs().values()
        done = [trail.keys for trail in trails if any(is_path_of(each, trail.path) for each in paths)]
        run = [run.key for run in runs if any(is_run_of(each, run.command) for each in lines)]
        return frozenset(chain(run, *done))

    def _weight(self, place: int, deeds: frozenset[int]) -> int:
        """Rank a unit: deeds on what is named, the user's words, then outputs."""
        unit = self.sources.units[place]
        voices = set(unit.voices.values())
        done = not deeds.isdisjoint(unit.keys)
        return 3 if done else 2 if "user" in voices else 1 if voices & {"call", "result"} else 0

    def _affordable(self, notes: str, lines: Sequence[BoundLine]) -> Iterator[BoundLine]:
        """Drop states until they cost no more than their share, harmless ones first.

        Each line gets one before a line gets a second; bad news has priority.
        """
        bare = written_out(notes, [replace(line, states=()) for line in lines])
        left = max(_STATES_LEAST, int(self.count(bare) * STATES_SHARE))
        forms = [
            (number, state, replace(state, text=state.short or state.text, short=""))
            for number, line in enumerate(lines)
            for state in line.states
        ]
        costs = {each: self.count(f": {each.text}") for _, *both in forms for each in both}
        forms.sort(key=lambda form: (not form[1].is_bad, costs[form[2]], -form[1].weight))
        kept: dict[tuple[int, str], State] = {}

        def keep(number: int, state: State, form: State) -> None:
            nonlocal left
            thing = number, state.subject
            more = costs[form] - (costs[kept[thing]] if thing in kept else 0)
            if more <= left:
                left -= more
                kept[thing] = form

        for number, state, short in forms:
            if state.weight >= 1 and not any(line == number for line, _ in kept):
                keep(number, state, short)
        for number, state, _ in [form for form in forms if (form[0], form[1].subject) in kept]:
            keep(number, state, state)
        numbers = {line for line, _ in kept}
        for number, state, short in sorted(forms, key=lambda form: form[0] in numbers):
            keep(number, state, short)
            keep(number, state, state)
        for number, line in enumerate(lines):
            states = tuple(filter(None, (kept.get((number, state.subject)) for state in line.states)))
            # A single name with many occurrences is a source only together with a state.
            lone = not states and not line.statement.sources and not _are_distinctive(line.statement.anchors)
            yield replace(
                line, states=states, form="unchecked" if lone and line.form == "bound" else line.form
            )


def _are_distinctive(anchors: Collection[Anchor]) -> bool:
    """Whether the anchors of a statement without citation identify its source."""
    return len(anchors) > 1 or any(anchor.kind in {"quote", "address"} for anchor in anchors)


def _counts(ledger: Ledger) -> Iterator[int]:
    """Yield numbers that can be counted in the log but are not in it."""
    trails = ledger.files().values()
    for deed in ("created", "written", "edited", "deleted", "moved"):
        yield sum(bool(trail.counts.get(deed)) for trail in trails)
        yield from (trail.counts.get(deed, 0) for trail in trails)
    runs, tasks = ledger.runs().values(), ledger.tasks()
    yield from Counter(trail.is_changed for trail in trails).values()
    yield from (len(run.actions) for run in runs)
    yield from Counter(task.state for task in tasks).values()
    yield from map(len, (trails, runs, ledger.prompts(), tasks))
    for action in ledger.actions():
        if counts := action.outcome.counts:
            each = counts.passed, counts.failed, counts.errors
            yield from (*each, sum(each))
            yield from (round(100 * number / sum(each)) for number in each if number)
