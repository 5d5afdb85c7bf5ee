"""The user's guards, and the origin of what calls act on. Both work whatever the model still remembers."""

import asyncio
import math
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from tui_app.agent.approvals.guards import shown_path
from tui_app.agent.approvals.programs import known_programs
from tui_app.agent.approvals.reach import reach_of
from tui_app.agent.approvals.rules import Action
from tui_app.context.ledger.ledger import Ledger
from tui_app.context.ledger.origins import Origin, Origins, first_origin
from tui_app.context.shell_line import producer, simple_commands
from tui_app.context.tool_titles import call_title
from tui_app.context.user_text import own_words, sentences
from tui_app.conversation.approvals import Approvals
from tui_app.conversation.consent.repeats import handed_over
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.events import (
    AssistantMessage,
    GuardBroken,
    GuardKind,
    GuardLifted,
    GuardOffered,
    GuardSet,
    Record,
    UserMessage,
)
from tui_app.session.stores.store import SessionStore
from tui_app.settings.rules import Refused, show

USAGE = "edits PATH, command WORDS, writes, or tests"
_MARKED = re.compile(r"`([^`\n]{2,120})`")
_SLASHED = re.compile(r"(?<![\w:/@.\-`])(?:[\w.*?~\-]+/)+(?:[\w.*?\-]*[\w*?])?(?![\w/`])")
_WORDS = re.compile(r"[\w.\-]+")
_AT_ONCE = 20
"""Messages read in one step of reading ahead; other tasks run between steps."""


def parse_guard(text: str) -> GuardSet:
    """Parse a guard such as ``edits legacy/`` or ``writes``. Raises ``Refused``."""
    word, _, what = " ".join(text.split()).partition(" ")
    kinds: tuple[GuardKind, ...] = ("edits", "command", "writes", "tests")
    kind = next((each for each in kinds if each == word), None)
    if kind is None or bool(what) == (kind in ("writes", "tests")):
        raise Refused(show(text), USAGE)
    return GuardSet(forbids=kind, what=what.strip("`"))


def guards_in(store: SessionStore, session: str) -> dict[int, GuardSet]:
    """The guards in force in a session, by the log number at which each was set."""
    found: dict[int, GuardSet] = {}
    heads = list(store.newest(session, (GuardSet.TYPE, GuardLifted.TYPE)))
    for record in (store.record(session, head.seq) for head in reversed(heads)):
        match record:
            case Record(data=GuardSet() as guard, seq=seq):
                found[seq] = guard
            case Record(data=GuardLifted(guard=seq)):
                found.pop(seq, None)
            case _:
                pass
    return found


def checkable(
    text: str, source: int, exists: Callable[[str], bool], tests: Collection[str] = ()
) -> Iterator[GuardSet]:
    """Guards that the user's sentences suggest: paths, globs and commands, found by their form alone.

    Args:
        text: What the user typed.
        source: Its log number.
        exists: Whether a path exists.
        tests: Known test commands, by their producers.
    """
    programs = {(name.split()[0],) for name in known_programs()}
    for quote in sentences(own_words(text)):
        marked = _MARKED.findall(quote)
        slashed = [each for each in _SLASHED.findall(quote) if each[-1] == "/" or "*" in each or exists(each)]
        pairs = [" ".join(pair) for pair in pairwise(_WORDS.findall(_MARKED.sub("\0", quote)))]
        for what in dict.fromkeys((*marked, *slashed, *pairs)):
            found = simple_commands(what) if what in marked else ()
            is_command = len(found) == 1 and found[0].words[:1] in programs
            is_path = what in slashed or (what in marked and " " not in what and bool({"/", "*"} & {*what}))
            if what in marked and producer(what) in tests:
                yield GuardSet(forbids="tests", quote=quote, source=source)
            if is_path or (what in marked and exists(what)):
                yield GuardSet(forbids="edits", what=what, quote=quote, source=source)
            elif is_command or (what in pairs and what in known_programs()):
                yield GuardSet(forbids="command", what=what, quote=quote, source=source)


def _moment(history: SessionHistory, key: int) -> tuple[float, float]:
    """When a message was written, comparable between sessions."""
    record = history.store.record(history.session, key) if key else None
    return (record.time if record is not None else 0.0, key)


@dataclass(slots=True)
class Guards:
    """Sets, lifts and offers the guards of one conversation. Not thread-safe: use it on one event loop."""

    history: SessionHistory
    approvals: Approvals
    sent: Callable[[float], Iterable[tuple[SessionHistory, Ledger]]] = lambda _since: ()
    """Views and ledgers of subagents that have made tool calls since a time."""
    _lineage: list[tuple[SessionHistory, Origins]] = field(default_factory=list)
    """This session, after those handed over to it, each with its origins."""

    def __post_init__(self) -> None:
        self.approvals.traced = self.traced
        self._renew()

    @property
    def active(self) -> dict[int, GuardSet]:
        """The guards in force, by log number."""
        return guards_in(self.history.store, self.history.session)

    def offers(self, before: int = 0) -> list[GuardSet]:
        """Guards suggested by the user's words that are not set yet, the newest first.

        Args:
            before: Only prompts before this log number; 0 for all.
        """
        folder, active = self.approvals.folder.root or Path(), {each.text for each in self.active.values()}
        found: dict[str, GuardSet] = {}
        ledger = self.history.ledger()
        for prompt in ledger.prompts():
            if not before or prompt.key < before:
                for each in checkable(
                    prompt.text, prompt.key, lambda path: (folder / path).exists(), ledger.test_commands()
                ):
                    found.setdefault(each.text, each)
        return [each for each in reversed(found.values()) if each.text not in active]

    def set(self, *guards: GuardSet) -> None:
        """Set guards, except those already in force."""
        active = {each.text for each in self.active.values()}
        for guard in guards:
            if guard.text not in active:
                self.history.report(guard)
        self._renew()

    def lift(self, seq: int) -> bool:
        """Lift a guard by its log number. Returns whether it was in force."""
        if (guard := self.active.get(seq)) is not None:
            self.history.report(GuardLifted(guard=seq, text=guard.text))
            self._renew()
        return guard is not None

    def untested(self, since: int) -> str:
        """Check the guard that wants tests. Returns its words, and logs it, if changes were not tested.

        Only changes after the log number count. Changes by subagents count from the last answer of the
        previous turn on: what one does in the background is for the following turn to test.
        """
        guards = [(seq, each) for seq, each in self.active.items() if each.forbids == "tests"]
        for seq, guard in guards[:1]:
            paths = [shown_path(each, self.approvals.folder) for each in self._untested(since)]
            if files := tuple(each for each in paths if not each.startswith(("/", ".."))):
                self.history.report(GuardBroken(guard=seq, words=guard.words, files=files))
                return guard.words
        return ""

    def _untested(self, since: int) -> Iterable[str]:
        answers = self.history.store.newest(self.history.session, (AssistantMessage.TYPE,))
        before = next((head.time for head in answers if head.seq <= since), 0.0)
        own = self.history.ledger()
        known = [(self.history, own), *self.sent(before)]
        tests = {name for _, ledger in known for name in ledger.test_commands()}
        tested = max(_moment(history, ledger.tested(tests)) for history, ledger in known)
        changed = (
            (path, history, key)
            for history, ledger in known
            for path, key in ledger.changed(since if ledger is own else 0).items()
        )
        begun = (before, math.inf)
        return dict.fromkeys(
            path
            for path, history, key in changed
            if (done := _moment(history, key)) > tested and (history is self.history or done > begun)
        )

    def on_record(self, record: Record) -> None:
        """Offer the guards a new prompt suggests, after all its other listeners, and read ahead."""
        if isinstance(record.data, UserMessage) and record.seq:
            loop = asyncio.get_running_loop()
            loop.call_soon(self._offer, record.seq)
            loop.call_soon(self._read_ahead, loop)

    def _offer(self, seq: int) -> None:
        known = {each.text for each in self.offers(seq)}
        new = [each for each in self.offers() if each.source == seq and each.text not in known]
        for quote in dict.fromkeys(each.quote for each in reversed(new)):
            self.history.report(GuardOffered(quote=quote, source=seq))

    def _read_ahead(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read messages in small steps, so that the first question need not wait for all of them."""
        # What the log cannot provide now is read when a call is decided.
        with suppress(sqlite3.Error):
            if not all(history.inform(origins, _AT_ONCE) for history, origins in self._with_origins()):
                loop.call_soon(self._read_ahead, loop)

    def _with_origins(self) -> Sequence[tuple[SessionHistory, Origins]]:
        if not self._lineage:
            earlier = reversed(list(handed_over(self.history)))
            self._lineage = [(each, Origins(call_title, each.session)) for each in earlier]
            self._lineage.append((self.history, Origins(call_title)))
        return self._lineage

    def _renew(self) -> None:
        self.approvals.guards = self.active

    def traced(self, action: Action) -> Action:
        """Add the origin to an action whose target the user never wrote.

        If the action also reaches out, no rule covers it.
        """
        reach = reach_of(action, self.approvals.folder)
        if not reach.operands:
            return action
        for history, origins in self._with_origins():
            history.inform(origins)
        found: dict[Origin, dict[str, None]] = {}
        lineage = [origins for _, origins in self._lineage]
        for operand in reach.operands:
            origin = first_origin(lineage, operand, action.agent if reach.why else "")
            if origin is not None:
                found.setdefault(origin, {})[operand.kind] = None
        if not found:
            return action
        origin, kinds = max(found.items(), key=lambda each: len(each[1]))
        key, what = 0 if origin.session else origin.key, " and ".join(kinds)
        traced = replace(action, origin=origin.text, origin_key=key, traced=what, reaches=reach.why)
        guarded = "; ".join(filter(None, (action.guarded, f"not from you: {origin.text}")))
        return replace(traced, guarded=guarded) if reach.why else traced
