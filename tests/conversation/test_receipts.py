"""Request receipts add up to the bill, and every cache miss has a cause."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.benchmarks.receipts import misses, play, script_of
from tests.context.facts_kit import call, says, user
from tests.conversation.driving import Desk, done, turn
from tests.conversation.test_prompt_cache import NOTES, PRICED, SAID
from tests.servers.caching import CachingAnthropic, PromptCache
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.requests.project_context import DATE_VARIABLE
from tui_app.conversation.work import Compact, Exclude, Rewind, Switch
from tui_app.events import Record, UserMessage
from tui_app.session.figures.cache_forecast import rule_of
from tui_app.session.figures.receipts import Receipt, lost_by_cause, read_receipts, receipt_of, receipts
from tui_app.session.preview import StatsReader
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.settings import Endpoint, Settings


@pytest.fixture
def server(desk: Desk) -> Iterator[CachingAnthropic]:
    """A server with a prompt cache and its own clock, in place of a vendor with known prices."""

    def answer(body: dict[str, object]) -> str:
        return NOTES if "notes" in str(body["messages"])[-3_000:] else f"Noted. {SAID}"

    with CachingAnthropic(answer) as server:
        server.cache.least = 512
        desk.endpoints["anthropic"] = Endpoint(
            name="anthropic", protocol="anthropic", base_url=server.base_url, window=100_000
        )
        yield server


@dataclass
class Told:
    """The receipts of a session, and the cache misses that its server recorded for answers."""

    receipts: Sequence[Receipt]
    spent: float
    misses: list[bool] = field(default_factory=list)

    @property
    def answers(self) -> list[Receipt]:
        return [each for each in self.receipts if each.kind == "answer"]

    def check(self, *causes: str) -> None:
        """Assert that the misses have these causes, no other request has one, and the sum is the bill."""
        assert [each.broken_by for each in self.answers] == list(causes)
        missed = [bool(each.broken_by) for each in self.answers]
        assert missed == self.misses
        assert sum(each.cost_usd or 0.0 for each in self.receipts) == pytest.approx(self.spent, rel=0.01)
        assert all(each.lost_usd for each in self.answers if each.cause in ("front", "view", "pause"))


def told(desk: Desk, server: CachingAnthropic, session: str, paused: int = 0, pause_s: float = 0.0) -> Told:
    """Read the receipts of a session; events from number ``paused`` on are delayed by ``pause_s``."""
    with closing(SqliteStore(desk.opening().paths.database, read_only=True)) as store:
        found = read_receipts(store, session, settings := Settings(endpoints=desk.endpoints))
        if paused:
            heads = [
                replace(each, time=each.time + pause_s * (each.seq >= paused))
                for each in store.heads(session)
            ]
            figures = {seq: data for seq, _, data in store.figures(session)}
            found = receipts(heads, figures, lambda model: rule_of(model, settings))
    spent = StatsReader(desk.opening().paths.database, session).read().cost_usd
    return Told(found, spent, misses(found, server.bill))


async def ask(opened: OpenSession, times: int = 1) -> list[Record]:
    """Run turns with prompts that all differ."""
    last = opened.conversation.history.view.last
    return [
        each for at in range(times) for each in await turn(opened.conversation, f"{last + at}: When? {SAID}")
    ]


def instructions(cwd: Path, last: str) -> None:
    (cwd / "AGENTS.md").write_text(f"# Ferries\n\nThe pier is wet.\n{last}\n" + "Mind the gap.\n" * 40)


async def test_what_a_compaction_and_an_exclusion_do(desk: Desk, server: CachingAnthropic) -> None:
    async with desk.session(model=PRICED) as opened:
        records = await ask(opened, 3)
        prompt = next(each.seq for each in records if isinstance(each.data, UserMessage))
        await done(opened.conversation, Exclude((prompt,), turn=True))
        await ask(opened)
        await done(opened.conversation, Compact())
        await ask(opened, 2)
        session = opened.conversation.session
    found = told(desk, server, session)
    excluded, compacted = (each for each in found.answers if each.cause)
    found.check("", "", "", f"the exclusion, #{excluded.source}", f"the compaction, #{compacted.source}", "")
    assert [each.kind for each in found.receipts].count("summary") == 1
    assert (excluded.broken.part, excluded.broken.how) == ("message 1: user-prompt", "changed")  # type: ignore[union-attr]
    assert "When?" in compacted.title
    assert receipt_of(found.receipts, excluded.asked) is receipt_of(found.receipts, excluded.seq) is excluded


async def test_whose_bytes_are_in_front_of_the_messages(desk: Desk, server: CachingAnthropic) -> None:
    instructions(desk.cwd, "Boats leave at nine.")
    desk.env[DATE_VARIABLE] = str(int(datetime(2026, 5, 1, tzinfo=UTC).timestamp()))
    async with desk.session(model=PRICED) as opened:
        await ask(opened, 2)
        instructions(desk.cwd, "Boats leave at ten.")
        await done(opened.conversation, Compact())
        await ask(opened, 2)
        session = opened.conversation.session
    instructions(desk.cwd, "Boats leave at noon.")
    async with desk.session(model=PRICED, session=session) as opened:
        await ask(opened, 2)
    desk.env[DATE_VARIABLE] = str(int(datetime(2026, 5, 2, tzinfo=UTC).timestamp()))
    async with desk.session(model=PRICED, session=session) as opened:
        await ask(opened, 2)
    found = told(desk, server, session)
    byte = len(b"# Ferries\n\nThe pier is wet.\nBoats leave at ")
    found.check(
        *("", ""),
        *(f"AGENTS.md changed, byte {byte}", ""),
        *("AGENTS.md changed", ""),
        *("clock changed", ""),
    )
    assert [each.broken.line for each in found.answers if each.broken] == [4]
    assert lost_by_cause(found.receipts).keys() == {"front"}
    assert {part.name for part in found.answers[0].parts} >= {"tools", "system prompt", "AGENTS.md", "clock"}


async def test_another_model_and_a_rewind(desk: Desk, server: CachingAnthropic) -> None:
    async with desk.session(model=PRICED) as opened:
        records = await ask(opened, 2)
        *_, last = [each.seq for each in records if isinstance(each.data, UserMessage)]
        await done(opened.conversation, Rewind(last))
        await ask(opened)
        await done(opened.conversation, Switch("anthropic:claude-haiku-4-5"))
        server.cache = PromptCache(512)  # each model has its own
        await ask(opened, 2)
        session = opened.conversation.session
    found = told(desk, server, session)
    rewound = found.answers[2].source
    found.check("", "", f"the rewind, #{rewound}", "another model: anthropic:claude-sonnet-5 before", "")


@pytest.mark.parametrize(("minutes", "said"), [(71, "the cache was cold after 71 minutes"), (1, "")])
async def test_a_pause_is_told_from_a_change(
    desk: Desk, server: CachingAnthropic, minutes: int, said: str
) -> None:
    async with desk.session(model=PRICED) as opened:
        await ask(opened, 2)
        server.now += minutes * 60
        paused = opened.conversation.history.view.last + 1
        await ask(opened)
        session = opened.conversation.session
    found = told(desk, server, session, paused, minutes * 60)
    found.check("", "", said)
    assert found.answers[-1].cause == ("pause" if said else "")


def test_they_come_to_the_bill_of_a_played_transcript(tmp_path: Path) -> None:
    shown = [
        *says("I look."),
        *call("Read", {"file_path": "quay.py"}, f"def leave(): ... # {SAID}"),
        *says("Nine."),
    ]
    days = [[*user(f"When on day {day}? {SAID}"), *shown] for day in range(16)]
    outcome = asyncio.run(play(script_of([message for day in days for message in day]), tmp_path))
    assert outcome.causes.keys() == {"view", "pause", "front", "model"}
    assert outcome.named == list(outcome.missed)
    assert outcome.paid == pytest.approx(outcome.bill, rel=0.01)
