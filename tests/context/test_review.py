"""Reviewing a summary: accept, edit or decline; nothing changes before that."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from pydantic_ai.messages import CompactionPart

from tests.context.governor_kit import NOTES, Heard, Writer, plain_counter
from tests.context.histories import as_bytes, long_conversation
from tui_app.context.compaction.compactor import Compactor, PlainHost, State
from tui_app.context.compaction.reviews import EMPTY
from tui_app.context.history import ListHistory, Proposal
from tui_app.context.policy import PLIMSOLL, Policy
from tui_app.context.summaries.prompt import SummaryTask
from tui_app.context.views.view import to_messages
from tui_app.context.windows.windows import resolve_window
from tui_app.events import DECLINED, CompactionAwaited, CompactionComplete
from tui_app.usage import Overhead

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("no_job_left")]


ACCEPTED = "as it is"


@dataclass
class Person:
    """Scripted answers to a review, given once the gate opens."""

    answers: Sequence[str | None] = ()
    asked: list[tuple[Proposal, str]] = field(default_factory=list)
    gate: asyncio.Event | None = None

    async def __call__(self, proposal: Proposal, problem: str = "") -> str | None:
        self.asked.append((proposal, problem))
        if self.gate is not None:
            await self.gate.wait()
        answer = self.answers[len(self.asked) - 1]
        return proposal.complete.summary if answer == ACCEPTED else answer


def compactor(writer: Writer | None = None, policy: Policy = PLIMSOLL) -> Compactor:
    heard = Heard()
    history = ListHistory(plain_counter(), heard)
    history.sync(long_conversation(40))
    history.set_overhead(Overhead(resolve_window(setting=8_000)), "m")
    wrote = writer or Writer()
    return Compactor(history, policy, PlainHost((wrote,)))


def seen(made: Compactor) -> bytes:
    return as_bytes(to_messages(made.history.items()))


def own(made: Compactor) -> str:
    """Return the summary as the next compaction will find it."""
    part = made.history.items()[0].message.parts[0]
    assert isinstance(part, CompactionPart)
    return str((part.metadata or {})["plimsoll"]["summary"])


async def ended(made: Compactor, person: Person) -> CompactionComplete:
    made.start("manual", reviewer=person)
    done = await made.finish()
    assert done is not None
    return done


async def test_nothing_changes_before_it_is_accepted() -> None:
    made, person = compactor(), Person([ACCEPTED], gate=asyncio.Event())
    before = seen(made)
    made.start("manual", reviewer=person)
    assert made.state is State.RUNNING
    await made.written()
    assert made.state is State.READY
    assert made.apply_ready() is None
    assert seen(made) == before
    assert person.gate is not None
    person.gate.set()
    done = await made.finish()
    assert done is not None
    assert (done.outcome, done.edited, done.performed_by) == ("success", False, "model")
    assert own(made) == done.summary
    assert done.summary.replace(" (unchecked)", "") == NOTES
    assert made.state is State.IDLE


async def test_an_edited_summary_takes_the_place_and_is_measured_anew() -> None:
    plain = await ended(compactor(), Person([ACCEPTED]))
    made, text = compactor(), f"{NOTES}\nIt waits for the harbour." + " More about it." * 20
    person = Person([text])
    done = await ended(made, person)
    assert (done.outcome, done.edited) == ("success", True)
    assert done.summary.replace(" (unchecked)", "") == text
    assert done.title == person.asked[0][0].complete.title
    assert done.tokens["summary"] > plain.tokens["summary"]
    assert done.model == plain.model
    assert own(made) == done.summary


async def test_facts_are_looked_up_in_what_was_edited() -> None:
    bare = replace(PLIMSOLL, facts_share=0.0)  # no facts are added below the notes
    person = Person([ACCEPTED])
    await ended(compactor(policy=bare), person)
    facts = person.asked[0][0].complete.facts
    rule = next(fact for fact in facts if fact.state != "kept")
    done = await ended(compactor(policy=bare), Person([f"{NOTES}\n{rule.text}"]))
    assert [fact.state for fact in done.facts if fact.text == rule.text] == ["kept"]


async def test_what_nobody_said_is_marked_also_in_an_edit() -> None:
    text = "The user explicitly asked to delete harbour/production.sqlite of the harbour master."
    done = await ended(compactor(), Person([f"{NOTES}\n{text}"]))
    assert done.outcome == "success"
    assert done.edited
    assert f"{text} (not in the log)" in done.summary


async def test_the_person_is_told_how_much_has_a_source() -> None:
    lines = "- src/file_1.py was read.\n- src/file_2.py was edited.\n- lib/invented.py was edited."
    person = Person([None])
    await ended(compactor(Writer(lambda _: lines)), person)
    [(proposal, _)] = person.asked
    done = proposal.complete
    assert (done.lines, done.lines_sourced, done.claims_marked) == (3, 2, 1)
    assert "2 of 3 lines sourced · 1 not in the log" in done.headline()
    assert done.summary.splitlines()[1].endswith(": only read)")


@pytest.mark.parametrize(
    ("text", "problem"),
    [(" \n", EMPTY), ("word " * 9_000, "smaller"), ("word " * 6_000, "%")],
    ids=["empty", "larger", "hardly smaller"],
)
async def test_an_edit_that_cannot_be_applied_goes_back_to_the_person(text: str, problem: str) -> None:
    made, person = compactor(), Person([text, f"{NOTES}\nShort."])
    done = await ended(made, person)
    assert [bool(said) for _, said in person.asked] == [False, True]
    again, said = person.asked[1]
    assert problem in said or "fit" in said
    assert again.complete.summary == text, "nothing they wrote is lost"
    assert (done.outcome, done.edited) == ("success", True)


async def test_declining_changes_nothing_and_says_what_it_cost() -> None:
    made = compactor()
    before = seen(made)
    done = await ended(made, Person([None]))
    assert (done.outcome, done.reason) == ("discarded", DECLINED)
    assert seen(made) == before
    assert made.breaker.failure == (0, 0), "no attempt of the model has failed"
    assert (await ended(made, Person([ACCEPTED]))).outcome == "success"


async def test_cancelling_ends_the_question() -> None:
    made, person = compactor(), Person(gate=asyncio.Event())
    before = seen(made)
    made.start("manual", reviewer=person)
    await made.written()
    done = made.cancel()
    assert done is not None
    assert done.outcome == "cancelled"
    assert seen(made) == before
    assert made.state is State.IDLE


async def test_a_late_decision_about_another_view_is_discarded() -> None:
    made, person = compactor(), Person([ACCEPTED], gate=asyncio.Event())
    made.start("manual", reviewer=person)
    await made.written()
    messages = [item.message for item in made.history.items()]
    made.history.sync(messages[2:])
    assert person.gate is not None
    person.gate.set()
    done = await made.finish()
    assert done is not None
    assert (done.outcome, done.reason) == ("discarded", "the conversation changed meanwhile")


async def test_what_came_meanwhile_stays() -> None:
    made, person = compactor(), Person([ACCEPTED], gate=asyncio.Event())
    made.start("manual", reviewer=person)
    await made.written()
    messages = [item.message for item in made.history.items()]
    more = long_conversation(1)
    made.history.sync([*messages, *more])
    assert person.gate is not None
    person.gate.set()
    done = await made.finish()
    assert done is not None
    assert done.outcome == "success"
    assert [item.message for item in made.history.items()][-len(more) :] == more


async def test_a_request_that_cannot_go_on_waits_for_the_decision_and_says_so() -> None:
    made, person = compactor(), Person([ACCEPTED], gate=asyncio.Event())
    made.start("manual", reviewer=person)
    await made.written()
    waiting = asyncio.create_task(made.finish_for("blocking"))
    await asyncio.sleep(0)
    assert made.awaited
    assert isinstance(made.history, ListHistory)
    assert isinstance(made.history.listener, Heard)
    assert [event.trigger for event in made.history.listener.of(CompactionAwaited)] == ["blocking"]
    assert person.gate is not None
    person.gate.set()
    done = await waiting
    assert done is not None
    assert done.outcome == "success"


async def test_a_summary_that_failed_is_not_shown() -> None:
    def nothing(_task: SummaryTask) -> str:
        return ""

    person = Person()
    done = await ended(compactor(Writer(nothing)), person)
    assert done.outcome == "failed"
    assert person.asked == []
