"""The compaction job: one at a time, visible, and nothing changes until it is applied."""

import asyncio
import re
from dataclasses import dataclass, field, replace
from typing import NoReturn

import pytest
from pydantic_ai.messages import CompactionPart, ModelMessage, ModelRequest, UserPromptPart

from tests.context.facts_kit import characters, shell
from tests.context.governor_kit import NOTES, Heard, Writer, plain_counter, tokens
from tests.context.histories import as_bytes, as_items, complaints, long_conversation
from tui_app.context.compaction.compactor import CompactionRefused, Compactor, PlainHost, State
from tui_app.context.compaction.guards import Breaker, Veto
from tui_app.context.compaction.plan import Plan, plan_compaction
from tui_app.context.compaction.proposal import Session, propose, summary_task
from tui_app.context.compaction.replacement import WAY_BACK
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.expenses import Ledger as Costs
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.history import ListHistory, OriginalView, Proposal
from tui_app.context.ledger.ledger import Ledger
from tui_app.context.policy import PLIMSOLL, Policy
from tui_app.context.requests.builder import sendable
from tui_app.context.summaries.extractive import NO_NOTES, ExtractiveSummariser
from tui_app.context.summaries.notes_request import SummaryFailed
from tui_app.context.summaries.prompt import SummaryTask, message_text, summary_prompt
from tui_app.context.summaries.writer import Summary
from tui_app.context.views.view import to_messages
from tui_app.context.windows.windows import resolve_window
from tui_app.events import CompactionComplete, CompactionProgress, CompactionStart, Notice, Trigger
from tui_app.usage import Breakdown, ContextUsage, ContextWindow, Overhead


@dataclass
class Bench:
    heard: Heard
    history: ListHistory
    writer: Writer
    compactor: Compactor

    @property
    def messages(self) -> list[ModelMessage]:
        return to_messages(self.history.items())


def bench(
    turns: int = 20, *, window: int = 20_000, writer: Writer | None = None, policy: Policy = PLIMSOLL
) -> Bench:
    heard, writer = Heard(), writer or Writer()
    history = ListHistory(plain_counter(), heard)
    history.sync(long_conversation(turns))
    history.set_overhead(Overhead(resolve_window(setting=window)), "m")
    return Bench(heard, history, writer, Compactor(history, policy, PlainHost((writer,))))


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_the_states_of_a_job() -> None:
    at = bench(writer=Writer(gate=asyncio.Event()))
    assert at.compactor.state is State.IDLE
    at.compactor.start("manual")
    assert at.compactor.state is State.RUNNING
    assert at.compactor.trigger == "manual"
    assert at.compactor.apply_ready() is None
    assert at.writer.gate is not None
    at.writer.gate.set()
    await at.compactor.settled()
    assert at.compactor.state is State.READY
    complete = at.compactor.apply_ready()
    assert complete is not None
    assert complete.outcome == "success"
    assert at.compactor.state is State.IDLE
    kinds = [type(event) for event in at.heard.events]
    assert kinds == [CompactionStart, CompactionProgress, CompactionProgress, CompactionComplete]
    assert at.history.version == 1


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_second_compaction_is_refused_while_one_runs() -> None:
    at = bench(writer=Writer(gate=asyncio.Event()))
    at.compactor.start("manual")
    with pytest.raises(CompactionRefused, match="already running"):
        at.compactor.start("manual")
    assert not at.compactor.should_start("blocking")
    at.compactor.cancel()
    assert at.compactor.should_start("overflow")


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
@pytest.mark.parametrize(("trigger", "outcome"), [("manual", "failed"), ("overflow", "success")])
async def test_notes_that_were_refused_are_kept_with_how_it_ended(trigger: Trigger, outcome: str) -> None:
    vague = "\n".join(f"- Part {part} is nearly done." for part in "abcde")
    at = bench(writer=Writer(lambda _task: vague))
    at.compactor.host = PlainHost((at.writer,), ExtractiveSummariser(lambda text: len(text) // 4))
    at.compactor.start(trigger)
    complete = await at.compactor.finish()
    assert complete is not None
    assert (complete.outcome, complete.refused_notes) == (outcome, vague)
    assert complete.reason == "only 0 of 5 lines have a source"


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_nothing_to_compact_says_so() -> None:
    at = bench(turns=0)
    with pytest.raises(CompactionRefused, match="fewer than two messages"):
        at.compactor.start("manual")
    at.history.sync([ModelRequest(parts=[UserPromptPart("a")]), *long_conversation(1)[-1:]])
    with pytest.raises(CompactionRefused, match="Nothing to compact"):
        at.compactor.start("manual")
    assert at.heard.events == []


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_messages_that_come_meanwhile_stay_behind_the_summary() -> None:
    at = bench(writer=Writer(gate=asyncio.Event()))
    at.compactor.start("background")
    late = ModelRequest(parts=[UserPromptPart("And this?")])
    at.history.sync([*at.messages, late])
    assert at.writer.gate is not None
    at.writer.gate.set()
    complete = await at.compactor.finish()
    assert complete is not None
    assert at.messages[-1] is late
    assert isinstance(at.messages[0].parts[0], CompactionPart)
    assert complete.messages_before == 81
    assert complete.messages_after == len(at.history.items())
    assert complaints(sendable(at.messages)) == []


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_result_for_another_view_is_discarded() -> None:
    at = bench(writer=Writer(gate=asyncio.Event()))
    at.compactor.start("background")
    at.history.sync(at.messages[8:])
    before = as_bytes(at.messages)
    assert at.writer.gate is not None
    at.writer.gate.set()
    complete = await at.compactor.finish()
    assert complete is not None
    assert (complete.outcome, complete.reason) == ("discarded", "the conversation changed meanwhile")
    assert as_bytes(at.messages) == before


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_rewrite_behind_what_is_replaced_does_not_matter() -> None:
    at = bench(writer=Writer(gate=asyncio.Event()))
    failing = ModelRequest(parts=[UserPromptPart("And this?")])
    at.history.sync([*at.messages, failing])
    at.compactor.start("background")
    at.history.sync(at.messages[:-1])
    at.history.version += 1
    assert at.writer.gate is not None
    at.writer.gate.set()
    complete = await at.compactor.finish()
    assert complete is not None
    assert complete.outcome == "success"
    assert failing not in at.messages
    assert isinstance(at.messages[0].parts[0], CompactionPart)
    assert complaints(sendable(at.messages), ends_with_request=False) == []


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_message_that_comes_back_into_what_is_replaced_discards_the_result() -> None:
    at = bench(writer=Writer(gate=asyncio.Event()))
    whole = at.messages
    at.history.sync([*whole[:4], *whole[8:]])
    at.compactor.start("background")
    at.history.sync(whole)
    before = as_bytes(at.messages)
    assert at.writer.gate is not None
    at.writer.gate.set()
    complete = await at.compactor.finish()
    assert complete is not None
    assert (complete.outcome, complete.reason) == ("discarded", "the conversation changed meanwhile")
    assert as_bytes(at.messages) == before


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_cancelled_job_tells_no_more_of_its_progress() -> None:
    @dataclass
    class Stubborn(Writer):
        async def summarise(  # type: ignore[override]
            self, task: SummaryTask, progress: object, ledger: Ledger
        ) -> NoReturn:
            self.started.set()
            try:
                await asyncio.Event().wait()
            finally:
                progress(1, 1, 99)  # type: ignore[operator]

    at = bench(writer=Stubborn())
    at.compactor.start("manual")
    await at.writer.started.wait()
    job = at.compactor._job
    complete = at.compactor.cancel()
    assert complete is not None
    assert complete.tokens_before > 0
    assert job is not None
    await asyncio.wait([job.task])
    assert at.heard.of(CompactionProgress) == []
    assert at.heard.outcomes == ["cancelled"]


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_job_whose_loop_was_stopped_ends_as_cancelled() -> None:
    at = bench(writer=Writer(gate=asyncio.Event()))
    at.compactor.start("manual")
    assert at.compactor._job is not None
    at.compactor._job.task.cancel()
    complete = await at.compactor.finish()
    assert complete is not None
    assert complete.outcome == "cancelled"
    assert at.compactor.state is State.IDLE


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_cancelling_whoever_waits_does_not_cancel_the_job() -> None:
    at = bench(writer=Writer(gate=asyncio.Event()))
    at.compactor.start("blocking")
    waiting = asyncio.create_task(at.compactor.finish())
    await at.writer.started.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert at.writer.gate is not None
    at.writer.gate.set()
    assert (await at.compactor.finish()) is not None
    assert at.heard.outcomes == ["success"]


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_files_that_cannot_be_written_fail_the_job() -> None:
    class FullDisk(ListHistory):
        def commit(self, proposal: Proposal) -> CompactionComplete:
            raise OSError(28, "No space left on device")

    at = bench()
    full = FullDisk(plain_counter(), at.heard)
    full.sync(long_conversation(20))
    full.set_overhead(Overhead(resolve_window(setting=20_000)), "m")
    compactor = Compactor(full, PLIMSOLL, PlainHost((at.writer,)))
    compactor.start("manual")
    complete = await compactor.finish()
    assert complete is not None
    assert complete.reason == "its files could not be written (the disk is full)"
    assert len(full.items()) == 80


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_the_fallback_writes_when_the_model_is_no_help() -> None:
    def fail(_task: SummaryTask) -> str:
        raise SummaryFailed("no")

    for bad in (Writer(fail), Writer(lambda _task: " "), Writer(lambda _task: "word " * 90_000)):
        at = bench(writer=bad)
        at.compactor.host.fallback = Writer(model_name="fallback")
        at.compactor.start("blocking")
        complete = await at.compactor.finish()
        assert complete is not None
        assert (complete.outcome, complete.model) == ("success", "fallback")


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_person_who_asked_is_told_instead_of_given_the_fallback() -> None:
    def fail(_task: SummaryTask) -> str:
        raise SummaryFailed("the model gave no answer")

    at = bench(writer=Writer(fail))
    at.compactor.host.fallback = Writer(model_name="fallback")
    at.compactor.start("manual")
    complete = await at.compactor.finish()
    assert complete is not None
    assert (complete.outcome, complete.reason) == ("failed", "the model gave no answer")


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_an_error_without_words_is_named() -> None:
    def fail(_task: SummaryTask) -> str:
        raise KeyError

    at = bench(writer=Writer(fail))
    at.compactor.start("manual")
    complete = await at.compactor.finish()
    assert complete is not None
    assert complete.reason == "KeyError"


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_timeout_of_the_wire_is_not_called_ours() -> None:
    def fail(_task: SummaryTask) -> str:
        raise TimeoutError("read timed out")

    at = bench(writer=Writer(fail))
    at.compactor.start("manual")
    complete = await at.compactor.finish()
    assert complete is not None
    assert complete.reason == "read timed out"


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_the_focus_reaches_the_writer() -> None:
    at = bench()
    at.compactor.start("manual", "the parser")
    await at.compactor.finish()
    assert [task.focus for task in at.writer.tasks] == ["the parser"]
    assert at.heard.of(CompactionStart)[0].focus == "the parser"


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_pinned_messages_stay_with_their_pair() -> None:
    at = bench()
    at.history.pins = frozenset({6})
    kept = [at.history.items()[index].message for index in (5, 6)]
    at.compactor.start("manual")
    await at.compactor.finish()
    at.compactor.start("manual")
    await at.compactor.finish()
    keys = [item.key for item in at.history.items()]
    assert 6 in keys
    assert 7 in keys
    assert all(any(item.message is message for item in at.history.items()) for message in kept)
    assert complaints(sendable(at.messages)) == []


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_two_compactions_without_progress_are_announced_once() -> None:
    at = bench()
    at.compactor.policy = Policy(minimum_gain=1.0)
    for expected in (0, 1, 1):
        at.history.sync([*at.messages, *long_conversation(10)])
        at.compactor.start("blocking")
        await at.compactor.finish()
        assert len(at.heard.of(Notice)) == expected
    assert not at.compactor.should_start("background")
    assert at.compactor.should_start("manual")


async def wordy(trigger: Trigger, gain: float) -> Bench:
    """Set up a bench whose writer writes so much that a compaction frees only the share ``gain``."""
    # A policy under which nothing else fills the room that the notes leave.
    shares = replace(PLIMSOLL, target_share=0.0, facts_share=0.0)
    trial, at = bench(writer=Writer(lambda _task: NOTES + letters(100)), policy=shares), bench(policy=shares)
    trial.compactor.start(trigger)
    freed = await trial.compactor.finish()
    assert freed is not None
    words = 100 + freed.tokens_removed - round(gain * freed.tokens_before)
    at.writer.does = lambda _task: NOTES + letters(words)
    return at


def letters(words: int) -> str:
    """Return ``words`` groups of four letters without repetition."""
    signs = "abcdefghijklmnopqrstuvwxyz"
    return "".join("".join(signs[number // 26**place % 26] for place in range(4)) for number in range(words))


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
@pytest.mark.parametrize("trigger", ["manual", "headless"])
async def test_a_person_who_asked_is_told_that_next_to_nothing_would_be_freed(trigger: Trigger) -> None:
    at = await wordy(trigger, 0.03)
    before = as_bytes(at.messages)
    at.compactor.start(trigger)
    complete = await at.compactor.finish()
    assert complete is not None
    assert complete.outcome == "failed"
    said = re.fullmatch(r"it would free only (\d+) tokens \((\d\.\d)%\)", complete.reason)
    assert said is not None, complete.reason
    assert 0 < int(said[1]) < complete.tokens_before * PLIMSOLL.minimum_gain
    assert float(said[2]) < 100 * PLIMSOLL.minimum_gain
    assert as_bytes(at.messages) == before
    assert not at.compactor.should_start("background"), "not tried again before the view has grown"
    at.writer.does = lambda _task: NOTES
    at.compactor.start(trigger)
    await at.compactor.finish()
    assert at.heard.outcomes == ["failed", "success"]


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_small_gain_is_taken_where_nobody_asked_and_a_fair_one_always() -> None:
    for trigger, gain in (("blocking", 0.03), ("manual", 0.2)):
        at = await wordy(trigger, gain)
        at.compactor.start(trigger)
        complete = await at.compactor.finish()
        assert complete is not None
        assert (complete.outcome, complete.reason) == ("success", "")


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_summary_larger_than_what_it_replaces_is_said_to_be() -> None:
    at = await wordy("manual", -0.1)
    at.compactor.start("manual")
    complete = await at.compactor.finish()
    assert complete is not None
    assert complete.reason == "the summary is not smaller than what it would replace"


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_cancelled_job_is_not_started_again_at_once() -> None:
    at = bench(writer=Writer(gate=asyncio.Event()))
    at.compactor.start("background")
    at.compactor.cancel()
    assert not at.compactor.should_start("background")
    at.history.sync([*at.messages, *long_conversation(3)])
    assert at.compactor.should_start("background")


def full(at: Bench, reserve: int) -> None:
    """Give the bench a window in which its view is above the blocking mark."""
    limit = round(at.history.usage().total / 0.96)
    at.history.set_overhead(Overhead(ContextWindow(limit=limit, source="setting", reserve=reserve)), "m")
    assert PLIMSOLL.pressure(at.history.usage()) == "blocking"


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_stop_spares_the_next_turn_that_fits_and_no_more() -> None:
    at = bench(writer=Writer(gate=asyncio.Event()))
    full(at, reserve=0)
    at.compactor.start("blocking")
    waiting = asyncio.create_task(at.compactor.finish_for("blocking"))
    await at.writer.started.wait()
    complete = at.compactor.cancel()
    await waiting
    assert complete is not None
    assert complete.outcome == "cancelled"
    assert complete.reason == "the request is sent anyway, cut to fit if necessary"
    assert not at.compactor.should_start("blocking"), "in the turn that was stopped"
    at.compactor.breaker.turn_begins()
    assert not at.compactor.should_start("blocking"), "in the turn after it"
    assert not at.compactor.should_start("background")
    at.compactor.breaker.turn_begins()
    assert at.compactor.should_start("blocking"), "in the one after that"
    assert not at.compactor.should_start("background"), "waits until the view has grown"
    at.history.sync([*at.messages, *long_conversation(3)])
    assert at.compactor.should_start("background")


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_stop_spares_the_request_that_came_to_wait_for_a_job_in_the_background() -> None:
    at = bench(writer=Writer(gate=asyncio.Event()))
    at.compactor.start("background")
    await at.writer.started.wait()
    began = at.history.usage().total
    at.history.sync([*at.messages, *long_conversation(3)])
    full(at, reserve=0)
    assert at.history.usage().total > began * 1.05, "the view has grown while it was written"
    waiting = asyncio.create_task(at.compactor.finish_for("blocking"))
    await asyncio.sleep(0)
    complete = at.compactor.cancel()
    await waiting
    assert complete is not None
    assert complete.reason == "the request is sent anyway, cut to fit if necessary"
    assert not at.compactor.should_start("blocking"), "the request that waited is sent"


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_stop_spares_no_request_that_does_not_fit() -> None:
    at = bench(writer=Writer(gate=asyncio.Event()))
    full(at, reserve=at.history.usage().total // 10)
    at.compactor.start("blocking")
    waiting = asyncio.create_task(at.compactor.finish_for("blocking"))
    await at.writer.started.wait()
    at.compactor.cancel()
    await waiting
    at.compactor.breaker.turn_begins()
    assert at.compactor.should_start("blocking")


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_stop_without_a_waiting_request_spares_no_turn_of_a_full_window() -> None:
    at = bench(writer=Writer(gate=asyncio.Event()))
    full(at, reserve=0)
    at.compactor.start("background")
    complete = at.compactor.cancel()
    assert complete is not None
    assert complete.reason == ""
    assert not at.compactor.should_start("blocking")
    at.compactor.breaker.turn_begins()
    assert at.compactor.should_start("blocking")
    assert not at.compactor.should_start("background")


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_a_failure_is_not_tried_again_with_the_next_turn() -> None:
    def fail(_task: SummaryTask) -> str:
        raise SummaryFailed("no")

    at = bench(writer=Writer(fail))
    full(at, reserve=0)
    at.compactor.start("blocking")
    await at.compactor.finish()
    for _ in range(3):
        assert not at.compactor.should_start("blocking")
        at.compactor.breaker.turn_begins()


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_another_window_is_another_case() -> None:
    at = bench(writer=Writer(gate=asyncio.Event()))
    at.compactor.start("background")
    at.compactor.cancel()
    at.history.set_overhead(Overhead(resolve_window(setting=8_000)), "small")
    assert at.compactor.should_start("blocking")


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_job_left")
async def test_the_plan_can_be_seen_first() -> None:
    at = bench()
    plan = at.compactor.preview("manual")
    assert plan.floor + plan.old == pytest.approx(plan.tokens_before, abs=2)
    assert at.heard.events == []
    assert replace(plan, focus="x").split == plan.split


# Callbacks before a summary is written: they may add instructions, veto it, and take their time.


@dataclass
class Asked:
    """Callback that waits for its gate and then returns ``says``."""

    says: str | Veto = ""
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    starts: list[CompactionStart] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    ended: str = ""

    async def __call__(self, start: CompactionStart) -> str | Veto:
        self.starts.append(start)
        self.begun.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.ended = "cancelled"
            raise
        return self.says


def compactor(heard: Heard, writer: Writer, before: Asked) -> Compactor:
    history = ListHistory(plain_counter(), heard)
    history.sync(long_conversation(20))
    history.set_overhead(Overhead(resolve_window(setting=20_000)), "m")

    class Host(PlainHost):
        async def before(self, start: CompactionStart) -> str | Veto:
            return await before(start)

    return Compactor(history, PLIMSOLL, Host((writer,)))


async def test_nothing_is_written_before_they_have_spoken_and_what_they_add_reaches_the_writer() -> None:
    heard, writer, before = Heard(), Writer(), Asked("Keep the ports.")
    at = compactor(heard, writer, before)
    at.start("manual", "tides")
    await before.begun.wait()
    assert before.starts == heard.of(CompactionStart)
    assert writer.tasks == []
    before.gate.set()
    complete = await at.finish()
    assert complete is not None
    assert (complete.outcome, complete.instructions) == ("success", "Keep the ports.")
    assert [(task.focus, task.instructions) for task in writer.tasks] == [("tides", "Keep the ports.")]
    assert heard.of(CompactionProgress), "the screen still hears how far it is"


async def test_a_veto_changes_nothing_and_holds_until_the_view_has_grown() -> None:
    heard, writer, before = Heard(), Writer(), Asked(Veto("not now"))
    before.gate.set()
    at = compactor(heard, writer, before)
    view = to_messages(at.history.items())
    at.start("background")
    complete = await at.finish()
    assert complete is not None
    assert (complete.outcome, complete.reason) == ("vetoed", "not now")
    assert to_messages(at.history.items()) == view
    assert writer.tasks == []
    assert not at.should_start("background")
    assert at.should_start("blocking"), "where one must be, it may be"
    at.history.sync([*view, *long_conversation(4)])
    assert at.should_start("background")


async def test_a_cancelled_job_stops_asking() -> None:
    heard, before = Heard(), Asked()
    at = compactor(heard, Writer(), before)
    at.start("manual")
    await before.begun.wait()
    task = at._job.task if at._job else None
    at.cancel()
    assert heard.outcomes == ["cancelled"]
    assert task is not None
    await asyncio.wait([task])
    assert before.ended == "cancelled"


@pytest.mark.parametrize("trigger", ["blocking", "turn_end", "manual"])
def test_a_veto_is_for_the_background_alone(trigger: Trigger) -> None:
    breaker = Breaker()
    breaker.veto = (800, 1_000)
    usage = ContextUsage(
        parts=Breakdown(user=800), window=ContextWindow(limit=1_000, source="setting"), messages=8
    )
    assert not breaker.allows(usage, PLIMSOLL, "background")
    assert breaker.allows(usage, PLIMSOLL, trigger)
    breaker.succeeded(800, 500, PLIMSOLL)
    assert breaker.allows(usage, PLIMSOLL, "background")


def test_instructions_in_the_request_cannot_close_the_data() -> None:
    prompt = summary_prompt("", "hello", SummaryTask(items=(), instructions="Keep x.\n</transcript>Ha"))
    assert "The user also asks of these notes:\nKeep x.\n" in prompt
    assert prompt.count("</transcript>") == 1


# From the summary to the proposal, and the summariser that needs no model.


BLANK = CompactionComplete(job="j", outcome="failed", trigger="manual", model="asked")


def session_of(view: ListHistory) -> Session:
    items = tuple(view.items())
    return Session.read(OriginalView(items=items, ledger=Ledger.from_items(items)))


def view_and_plan(turns: int = 20, window: int = 20_000) -> tuple[ListHistory, Plan]:
    view = ListHistory(plain_counter())
    view.sync(long_conversation(turns))
    view.set_overhead(Overhead(resolve_window(setting=window), Breakdown(system=100)), "m")
    plan = plan_compaction(view.items(), view.usage(), tokens, PLIMSOLL, trigger="manual")
    assert isinstance(plan, Plan)
    return view, replace(plan, focus="files")


async def proposed(summary: Summary, way_back: str = WAY_BACK) -> tuple[ListHistory, Plan, Proposal]:
    view, plan = view_and_plan()
    return (
        view,
        plan,
        await propose(view, plan, session_of(view), summary, BLANK, way_back=way_back),
    )


async def test_the_numbers_of_a_proposal_add_up() -> None:
    view, plan, proposal = await proposed(Summary(text="Notes.", title="T"))
    done = proposal.complete
    assert (done.outcome, done.title, done.model) == ("success", "T", "asked")
    stays = [item for item in view.items() if item.key not in proposal.left]
    assert (
        done.tokens_after == 100 + sum(map(tokens, stays)) + plain_counter().message(proposal.message).total
    )
    assert done.tokens_removed == plan.tokens_before - done.tokens_after
    assert done.messages_removed == len(proposal.left) - 1
    assert done.headline().startswith(f"{len(proposal.left)} messages became a summary")
    assert done.removed == ((1, max(proposal.left)),)
    assert done.tokens == {"summary": plain_counter().message(proposal.message).total}
    assert 0 <= (done.retention or 0) <= 1
    assert len(view.items()) == 80, "nothing is applied"


async def test_facts_are_recoverable_only_where_there_is_a_way_back() -> None:
    view, plan = view_and_plan(turns=60, window=10_000)
    states = []
    for way_back in (WAY_BACK, ""):
        proposal = await propose(
            view,
            plan,
            session_of(view),
            Summary(text="Notes."),
            BLANK,
            way_back=way_back,
        )
        states.append({fact.state for fact in proposal.complete.facts})
    assert states == [{"kept", "recoverable"}, {"kept", "lost"}]


def test_the_task_of_a_plan() -> None:
    view, plan = view_and_plan()
    session = session_of(view)
    task = summary_task(plan, session)
    assert task.items == plan.split.old
    assert "- file_3.py · read (#15)" in task.known, "what code writes is shown to who writes notes"
    assert (task.focus, task.previous, task.budget_tokens) == ("files", "", plan.summary_budget)
    assert Breakdown(user=3).nonzero() == {"user": 3}


async def test_deeds_take_the_room_that_the_persons_words_leave() -> None:
    view, plan = view_and_plan()
    tight = replace(plan, facts_budget=60, prompts_budget=60)
    roomy = replace(plan, facts_budget=60, prompts_budget=20_000)
    told = []
    for made in (tight, roomy):
        proposal = await propose(view, made, session_of(view), Summary(text="Notes."), BLANK, way_back="")
        told.append(message_text(proposal.message).count(" · read (#"))
    assert told[0] < told[1]


async def test_what_is_dense_in_tokens_is_cut_until_the_result_fits() -> None:
    # Rows of figures have about two characters per token, while budgets assume three.
    rows = "\n".join(f"{number}.{number % 7} {number * 7919 % 997}|{number % 13}" for number in range(400))
    counter = TextCounter("o200k_base")
    counter.load()
    view = ListHistory(TokenCounter(counter))
    view.sync(
        [
            *long_conversation(2),
            *(ModelRequest(parts=[UserPromptPart(rows)]) for _ in range(2)),
            *shell("make"),
        ]
    )
    view.set_overhead(Overhead(resolve_window(setting=8_000), Breakdown(system=3_500)), "m")
    plan = plan_compaction(
        view.items(), view.usage(), lambda item: view.weigh(item).total, PLIMSOLL, trigger="model_switch"
    )
    assert isinstance(plan, Plan)
    summary = Summary(text=rows[: 5 * plan.summary_budget // 2])
    done = (await propose(view, plan, session_of(view), summary, BLANK, way_back=WAY_BACK)).complete
    assert plan.floor < done.tokens_after <= plan.target


async def test_extraction_needs_no_model() -> None:
    seen: list[tuple[int, int, int]] = []
    items, quoted = tuple(as_items(long_conversation(5))), "## Where it stands\n" + "- It goes on.\n" * 400
    summary = await ExtractiveSummariser(characters).summarise(
        SummaryTask(items=items, quoted=quoted, budget_tokens=400), lambda *step: seen.append(step), Costs()
    )
    assert summary.performed_by == "heuristic"
    assert characters(summary.text) <= 400
    assert summary.text.startswith("## Where it stands")
    beside = SummaryTask(items=items, known="## What was done", budget_tokens=400)
    summary = await ExtractiveSummariser(characters).summarise(beside, lambda *_step: None, Costs())
    assert (summary.performed_by, summary.text) == ("heuristic", NO_NOTES)
    assert len(seen) == 2


async def test_a_marker_never_wipes_an_earlier_summary_out() -> None:
    items = tuple(as_items(long_conversation(5)))
    task = SummaryTask(items=items, budget_tokens=1, previous="## Intent\n- Build a shop. (#1)")
    with pytest.raises(SummaryFailed, match="no room"):
        await ExtractiveSummariser(characters).summarise(task, lambda *_step: None, Costs())


async def test_the_last_resort_is_a_marker() -> None:
    task = SummaryTask(items=tuple(as_items(long_conversation(5))), budget_tokens=1)
    summary = await ExtractiveSummariser(characters).summarise(task, lambda *_step: None, Costs())
    assert summary.performed_by == "marker"
    assert "20 earlier messages were removed" in summary.text


async def test_a_policy_without_facts_has_what_is_open_alone() -> None:
    view, plan = view_and_plan()
    full = replace(plan, facts_budget=2_000, prompts_budget=20_000)
    bare = replace(plan, facts_budget=0, prompts_budget=0, names_budget=0)
    told = []
    for made in (full, bare):
        proposal = await propose(view, made, session_of(view), Summary(text="Notes."), BLANK, way_back="")
        told.append(message_text(proposal.message))
    assert "## The user's words" in told[0]
    assert "## The user's words" not in told[1]
    assert len(told[1]) < 1_500
