"""Random action sequences: both views match their replay, requests are valid, and nothing is lost."""

import asyncio
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart

from tests.context.histories import complaints
from tests.conversation.logged import FIXED, WINDOW, opened, say
from tests.examples import examples
from tui_app.context.binding.forms import numbers_only
from tui_app.context.compaction.compactor import CompactionRefused, Compactor, PlainHost, State
from tui_app.context.compaction.summary_edits import editable
from tui_app.context.counting.expenses import Ledger
from tui_app.context.policy import PLIMSOLL, PRESETS, Archive, Policy, Stages, Trim
from tui_app.context.requests.builder import sendable
from tui_app.context.summaries.notes_request import SummaryFailed
from tui_app.context.summaries.prompt import SummaryTask
from tui_app.context.summaries.writer import Progress, Summary
from tui_app.context.tool_results.stage_scope import HandStage
from tui_app.context.tool_results.stages import StageHost, StageRunner
from tui_app.context.views.cuts import safe_cuts
from tui_app.context.views.view import to_messages
from tui_app.conversation.compactions.compactions import Compactions, Reviews
from tui_app.conversation.compactions.manual_edits import ManualEdits
from tui_app.conversation.compactions.summary_edits import SummaryEdits
from tui_app.conversation.files.session_files import SessionFiles
from tui_app.conversation.memory.memory_reader import messages_of
from tui_app.conversation.work import Compact
from tui_app.events import (
    AssistantMessage,
    ModelChange,
    PolicyChange,
    Record,
    SessionClear,
    SessionStart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tui_app.references import Span
from tui_app.session.event_heads import head_of
from tui_app.session.event_rows import MESSAGES
from tui_app.session.rewind_fork import fork_session
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.views.agent_view import fold_agent_view
from tui_app.session.views.user_view import UserView, fold_user_view
from tui_app.usage import Overhead

SMALL = replace(
    PLIMSOLL,
    minimum_gain=0.0,
    stages=Stages(archive=Archive(cutoff=2), trim=Trim(chars=40, keep_messages=1)),
)
"""Compacts views of any size."""
SIZES = st.sampled_from([1, 40, 200])
CHOICE = st.integers(0, 1_000)


@dataclass(slots=True)
class Writer:
    """Writes the text it is given: notes, far too much, or nothing."""

    words: str = "## Notes\nShort."
    model_name: str = "told"

    async def summarise(self, task: SummaryTask, progress: Progress, ledger: Ledger) -> Summary:
        if not self.words:
            raise SummaryFailed("nothing came back")
        return Summary(title="Notes", text=self.words)


@dataclass(slots=True)
class Dying:
    """Simulates a process that dies when writing events, before or after the write."""

    write: Callable[..., list[Record]]
    written: bool
    dead: bool = False

    def __call__(self, *args: Any) -> list[Record]:
        if self.written and not self.dead:
            self.write(*args)
        self.dead = True
        raise sqlite3.OperationalError("died")


class Session(RuleBasedStateMachine):
    """One conversation, without a model and without a screen."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.loop = asyncio.Runner()
        self.store = SqliteStore(Path(self.folder.name) / "sessions.db")
        self.session = self.store.create(SessionStart(cwd="/", model="a:b"), time=1.0)
        self.records: list[Record] = []
        self.writer, self.policy = Writer(), SMALL
        self.said: dict[int, str] = {}
        self.calls = 0
        self.parents: dict[str, list[tuple[object, ...]]] = {}
        """Sessions that were forked, with all their contents."""
        self.begin()

    def by_hand(self) -> ManualEdits:
        return ManualEdits(self.history, self.compactions, SummaryEdits(self.history, self.compactions))

    def begin(self) -> None:
        """Open what is on disk."""
        path = Path(self.folder.name)
        self.history = opened(self.store, self.session, self.records, path)
        compactor = Compactor(self.history, self.policy, PlainHost((self.writer,)))
        self.compactions = Compactions(self.history, compactor, Reviews(self.history.report))
        SessionFiles(self.history).tidy()
        self.user = UserView()
        for head in self.store.heads(self.session):
            self.user.apply(head)
        self.records.clear()

    def teardown(self) -> None:
        forked = [(self.everything(session), events) for session, events in self.parents.items()]
        self.loop.run(self.compactions.stop_jobs())
        self.loop.close()
        self.store.close()
        self.folder.cleanup()
        assert all(now == then for now, then in forked), "what was forked stays as it was"

    @property
    def compactor(self) -> Compactor:
        return self.compactions.compactor

    @property
    def prompts(self) -> list[int]:
        """Numbers of the prompts; empty after a fork before the first one."""
        return [head.seq for head in self.store.heads(self.session) if head.type == UserMessage.TYPE]

    @property
    def open(self) -> list[str]:
        """Unanswered calls of the newest response."""
        made: list[str] = []
        for head in self.store.heads(self.session):
            if head.type == AssistantMessage.TYPE:
                made = list(head.ids)
            elif head.type == ToolResult.TYPE and head.ids[0] in made:
                made.remove(head.ids[0])
            elif head.type == UserMessage.TYPE:
                made = []
        return made

    @initialize()
    def first(self) -> None:
        say(self.history, "Begin. Never stop.")

    @rule(size=SIZES)
    def prompt(self, size: int) -> None:
        say(self.history, "Go on. " * size)

    @rule(turns=st.integers(1, 4), calls=st.integers(0, 3))
    def talk(self, turns: int, calls: int) -> None:
        """Run whole turns, so that there is something to compact."""
        for _ in range(turns):
            self.prompt(200)
            self.answer(40, calls, False)
            while self.open:
                self.result(0, 200)
            self.answer(200, 0, True)

    @rule(size=SIZES, calls=st.integers(0, 3), reported=st.booleans())
    def answer(self, size: int, calls: int, reported: bool) -> None:
        ids = tuple(f"c{self.calls + number}" for number in range(calls))
        self.calls += calls
        parts = [TextPart("Done. " * size), *(ToolCallPart("ls", {}, each) for each in ids)]
        message = ModelResponse(parts=parts)
        payload = AssistantMessage(
            text="Done. " * size,
            tokens=self.history.counter.message(message).nonzero(),
            model="a:b",
            call_ids=ids,
            input_tokens=900 if reported else 0,
            output_tokens=9,
        )
        self.history.append(payload, message)
        for each in ids:
            self.history.append(ToolCall(tool_call_id=each, name="ls", args="{}"))

    @precondition(lambda self: self.open)
    @rule(choice=CHOICE, size=SIZES)
    def result(self, choice: int, size: int) -> None:
        call = self.open[choice % len(self.open)]
        message = ModelRequest(parts=[ToolReturnPart("ls", "file\n" * size, call)])
        tokens = self.history.counter.message(message).nonzero()
        self.history.append(
            ToolResult(tool_call_id=call, name="ls", text="file\n" * size, tokens=tokens), message
        )

    @rule(words=st.sampled_from(["## Notes\nShort.", "", "far too much " * 4_000]))
    def job(self, words: str) -> None:
        """Start a compaction that runs while other actions happen."""
        self.writer.words = words

        async def start() -> None:
            if self.compactor.should_start("background"):
                with suppress(CompactionRefused):
                    self.compactor.start("background")

        self.loop.run(start())

    @precondition(lambda self: self.compactor.state is not State.IDLE)
    @rule()
    def job_ends(self) -> None:
        self.loop.run(self.compactor.finish())

    @rule()
    def job_cancelled(self) -> None:
        self.compactions.cancel_job()

    @rule()
    def compact(self) -> None:
        self.writer.words = "## Notes\nShort."
        self.loop.run(self.compactions.compact(Compact()))

    @precondition(lambda self: len(self.history.items()) > 4)
    @rule(choice=CHOICE, other=CHOICE, ends=st.sampled_from(["first", "last", "both"]))
    def compact_a_part(self, choice: int, other: int, ends: str) -> None:
        """Compact up to a message, from one on, or between two; the rest must stay."""
        self.writer.words = "## Notes\nShort."
        items = self.history.items()
        keys, safe = [item.key for item in items], safe_cuts(items)
        first, last = sorted((choice % len(keys), other % len(keys)))
        span = Span(keys[first] if ends != "last" else 0, keys[last] if ends != "first" else 0)
        compactions = len(self.history.view.compactions)
        self.loop.run(self.compactions.compact(Compact(span=span)))
        now = [item.key for item in self.history.items()]
        if len(self.history.view.compactions) > compactions and ends == "first":
            # A call is removed or kept with its results, so the span may begin before the chosen message.
            begins = next(place for place in range(first, -1, -1) if safe[place])
            before = [key for key in keys[:begins] if key in now]
            assert before == now[: len(before)]

    @precondition(
        lambda self: self.history.view.compactions or self.history.view.exclusions or self.history.view.undone
    )
    @rule(undo=st.booleans())
    def restate(self, undo: bool) -> None:
        self.compactions.restate(undo=undo)

    @precondition(lambda self: self.history.view.compactions)
    @rule(
        choice=CHOICE, words=st.sampled_from(["Other notes.", "Notes. " * 30, "", "<conversation_summary>"])
    )
    def edit_summary(self, choice: int, words: str) -> None:
        """Edit a summary: only its text changes, and only in the agent view."""
        numbers = self.history.view.compactions
        number, keys = numbers[choice % len(numbers)], [item.key for item in self.history.items()]
        text = f"{words} {'abcdefghij'[choice % 10]}" if words else ""
        edits = SummaryEdits(self.history, self.compactions)
        if self.loop.run(edits.edit_summary(number, text)):
            shown = next(item for item in self.history.items() if item.key == number)
            assert numbers_only(editable(shown.message).notes) == text
        assert [item.key for item in self.history.items()] == keys

    @precondition(lambda self: self.history.view.compactions)
    @rule(choice=CHOICE)
    def bring_back(self, choice: int) -> None:
        number = self.history.view.compactions[-1]
        done = self.store.record(self.session, number).data
        if done.facts:
            fact = done.facts[choice % len(done.facts)]
            SummaryEdits(self.history, self.compactions).bring_back(number, fact.text)

    @precondition(lambda self: self.history.view.edits)
    @rule(choice=CHOICE)
    def take_an_edit_back(self, choice: int) -> None:
        edits = [each for edits in self.history.view.edits.values() for each in edits]
        assert self.compactions.restore(edits[choice % len(edits)])

    @rule()
    def make_room(self) -> None:
        policy, history = self.compactor.policy, self.history
        relief = StageRunner(policy=policy, history=history, count=history.counter.text, around=StageHost())
        relief.arrivals()
        self.loop.run(relief.make_room())

    @precondition(lambda self: self.history.view.rewrites)
    @rule(choice=CHOICE)
    def restore(self, choice: int) -> None:
        rewrites = self.history.view.rewrites
        self.compactions.restore(rewrites[choice % len(rewrites)])

    @precondition(lambda self: self.history.items())
    @rule(choice=CHOICE, pinned=st.booleans())
    def pin(self, choice: int, pinned: bool) -> None:
        items, history = self.history.items(), self.history
        key, before = items[choice % len(items)].key, history.usage().total
        self.by_hand().pin(key, pinned=pinned)
        assert history.usage().total == before

    @precondition(lambda self: self.history.items())
    @rule(choice=CHOICE, turn=st.booleans())
    def exclude(self, choice: int, turn: bool) -> None:
        """Exclude a message with everything that belongs to it; if refused, nothing changes."""
        items, hand = self.history.items(), self.by_hand()
        key, promised = items[choice % len(items)].key, hand.outlook(items[choice % len(items)].key).exclude
        keys, before = [item.key for item in items], self.history.usage().total
        if hand.exclude((key,), turn=turn):
            assert key in self.history.view.excluded
            assert self.history.usage().total <= before
            assert turn or self.history.usage().total == promised.after
        else:
            assert turn or promised.refused
            assert [item.key for item in self.history.items()] == keys

    @precondition(lambda self: self.history.view.excluded)
    @rule(choice=CHOICE)
    def include(self, choice: int) -> None:
        excluded = sorted(self.history.view.excluded)
        seq = excluded[choice % len(excluded)]
        assert self.by_hand().include((seq,))
        seen = self.history.view.seen_of(seq)
        assert seq not in self.history.view.excluded or (seen is not None and seen.kind == "tool_summary")

    @precondition(lambda self: self.history.items())
    @rule(choice=CHOICE, stage=st.sampled_from(["archive", "offload"]))
    def relieve(self, choice: int, stage: HandStage) -> None:
        items, hand = self.history.items(), self.by_hand()
        key, before = items[choice % len(items)].key, self.history.usage().total
        promised = getattr(hand.outlook(key), stage)
        if hand.relieve((key,), stage):
            assert self.history.usage().total == promised.after < before
        else:
            assert promised.refused

    @precondition(lambda self: self.prompts)
    @rule(choice=CHOICE)
    def rewind(self, choice: int) -> None:
        to = self.prompts[choice % len(self.prompts)]
        possible = self.history.view.can_rewind(to)
        assert self.compactions.rewind(to) is possible
        if possible:
            assert all(head.seq < to for head in self.history.view.visible())

    @precondition(lambda self: len(self.history.items()) > 12)
    @rule()
    def clear(self) -> None:
        self.compactions.cancel_job()
        self.history.append(SessionClear())
        assert self.history.items() == []

    @precondition(lambda self: self.history.view.reversible)
    @rule()
    def take_a_cut_back(self) -> None:
        view = self.history.view
        before = view.cuts[-1][1].visible()
        assert self.compactions.restore(view.reversible[0])
        assert view.visible() == before
        assert [item.key for item in self.history.items()] == [head.seq for head in before]

    @precondition(lambda self: len(self.history.items()) > 12)
    @rule(policy=st.sampled_from([SMALL, *PRESETS.values()]))
    def change_policy(self, policy: Policy) -> None:
        self.compactions.cancel_job()
        self.history.append(PolicyChange(old=self.policy.name, new=policy.name))
        self.policy = self.compactor.policy = policy

    @rule(model=st.sampled_from(["a:b", "c:d"]))
    def switch(self, model: str) -> None:
        """Switch the model, which makes earlier usage reports invalid."""
        self.history.append(ModelChange(old=self.history.model, new=model))
        self.history.model = model
        self.history.set_overhead(Overhead(WINDOW, FIXED), model)

    @rule()
    def reopen(self) -> None:
        self.compactions.cancel_job()
        self.follow()
        self.begin()

    @rule()
    def resume(self) -> None:
        """Close the program properly, and resume the session in a new one."""
        self.loop.run(self.compactions.stop_jobs())
        self.follow()
        path = self.store.path
        self.store.close()
        self.store = SqliteStore(path)
        self.begin()

    @rule(what=st.sampled_from(["append", "compact", "room"]), written=st.booleans())
    def crash(self, what: str, written: bool) -> None:
        """Die right before or right after writing events, before they are published."""
        self.follow()
        dying = Dying(self.store.append_many, written)
        self.store.append_many = dying  # type: ignore[method-assign]
        try:
            with suppress(sqlite3.Error, OSError):
                match what:
                    case "append":
                        self.prompt(40)
                    case "compact":
                        self.compact()
                    case _:
                        self.make_room()
        finally:
            del self.store.append_many  # type: ignore[method-assign]
        self.compactions.cancel_job()
        self.records.clear()
        self.begin()
        files = SessionFiles(self.history)
        assert (files.sweep(), files.missing()) == ([], [])

    @precondition(lambda self: len(self.history.items()) > 3 and self.prompts)
    @rule(choice=CHOICE, whole=st.booleans())
    def fork(self, choice: int, whole: bool) -> None:
        """Continue in a copy; the original must stay unchanged."""
        self.compactions.cancel_job()
        self.follow()
        heads = list(self.store.heads(self.session))
        at = None if whole else self.prompts[choice % len(self.prompts)]
        self.parents[self.session], excluded = self.everything(self.session), self.history.view.excluded
        forked = fork_session(self.store, Path(self.folder.name), self.session, at=at, now=2.0)
        before = fold_agent_view(head for head in heads if at is None or head.seq < at)
        self.session, self.said = forked.session, {}
        self.begin()
        kept = [head for head in before.visible() if head.seq not in excluded]
        assert self.history.view.visible() == kept, "what was excluded since stays excluded"

    def everything(self, session: str) -> list[tuple[object, ...]]:
        rows = self.store._db.execute("SELECT * FROM events WHERE session = ? ORDER BY seq", (session,))
        return rows.fetchall()

    @invariant()
    def follow(self) -> None:
        """Fold the published records into the user view."""
        for record in self.records:
            if record.seq:
                self.user.apply(head_of(record.seq, record.time, record.data))
        self.records.clear()

    @invariant()
    def replaying_gives_what_is_live(self) -> None:
        self.follow()
        heads = list(self.store.heads(self.session))
        assert fold_agent_view(heads) == self.history.view
        assert fold_user_view(heads) == self.user

    @invariant()
    def what_would_be_sent_is_valid_and_in_order(self) -> None:
        items = self.history.items()
        assert complaints(sendable(to_messages(items))) == []
        said = [head.seq for head in self.history.view.visible() if head.type in MESSAGES]
        assert said == sorted(set(said))
        assert [item.key for item in items] == [head.seq for head in self.history.view.visible()]

    @invariant()
    def what_is_excluded_is_handed_on_to_nobody(self) -> None:
        excluded = self.history.view.excluded.keys()
        assert not excluded & {item.key for item in (*self.history.items(), *self.history.everything())}
        assert not excluded & {item.key for item in messages_of(self.store.path, self.session)}

    @invariant()
    def counts_are_those_of_a_full_recount(self) -> None:
        again = opened(self.store, self.session, [], Path(self.folder.name))
        again.model = self.history.model
        again.set_overhead(Overhead(WINDOW, FIXED), again.model)
        assert again.usage() == self.history.usage()
        counted = sum(again.counter.message(item.message).total for item in again.items())
        assert sum(weighed.tokens.total for weighed in self.history.view.message_weights()) == counted

    @invariant()
    def nothing_is_lost(self) -> None:
        rows = {entry.seq for entry in self.user.entries} | {row.result_seq for row in self.user.entries}
        for record, message in self.store.records(self.session):
            if record.data.TYPE in MESSAGES:
                assert self.said.setdefault(record.seq, str(message)) == str(message)
                assert record.seq in rows
        assert len(self.said) == sum(head.type in MESSAGES for head in self.store.heads(self.session))


Session.TestCase.settings = settings(max_examples=examples(50), stateful_step_count=40, deadline=None)
TestSession = Session.TestCase


def test_the_machine_finds_what_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two separate checks must detect a row missing from the log."""
    machine = Session()
    try:
        machine.first()
        for _ in range(3):
            machine.answer(200, 0, False)
            machine.prompt(200)
        machine.compact()
        assert machine.history.view.compactions
        machine.replaying_gives_what_is_live()
        machine.nothing_is_lost()
        machine.store._db.execute("DELETE FROM events WHERE seq = 3")
        with pytest.raises(AssertionError):
            machine.nothing_is_lost()
        with pytest.raises(AssertionError):
            machine.replaying_gives_what_is_live()
    finally:
        machine.teardown()
