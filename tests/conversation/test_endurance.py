"""Long sessions: nothing is refused, everything is counted, and no turn costs more than the first."""

import gc
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import psutil
import pytest

from tests.conversation.driving import Desk, done, of, turn
from tests.conversation.test_long_sessions import SUMMARY, WINDOW, served
from tests.servers.strict import WIRES, Strict, strict_server
from tui_app.context.views.view import to_messages
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.work import Restate
from tui_app.events import CompactionComplete, Error, ToolResult, Truncation, TurnEnd
from tui_app.session.preview import StatsReader

POLICIES: dict[str, dict[str, object]] = {
    "plimsoll": {},
    "by-code": {"base": "plimsoll", "summary_by": "heuristic"},
}
"""One policy whose summaries are written by the model, and one that never asks a model."""
OLLAMA = "ollama"
"""Has its own provider class, unlike the models of endpoints."""
LONG = [
    pytest.param(wire, policy, 300, WINDOW, marks=pytest.mark.endurance)
    for wire in (*WIRES, OLLAMA)
    for policy in POLICIES
]
SHORT = [
    ("anthropic", "plimsoll", 16, 9_000),
    ("responses", "by-code", 16, 9_000),
    (OLLAMA, "plimsoll", 16, 9_000),
]
"""Turns, and the window in tokens."""
WARM, SPAN = 50, 50
"""Turns until everything is loaded, and turns whose times are taken together."""
GROWTH_MB, SLOWER = 24, 1.5
"""Limits: megabytes of growth in 250 turns, and how much slower the last turns may be than the first.

A session whose turns slowed down with the size of its log would be three times slower.
"""


@pytest.fixture
def strict() -> Iterator[Strict]:
    with strict_server() as made:
        made.calls, made.call, made.summary = True, ("read_file", {"path": "README.md"}), SUMMARY
        made.text = "The ferry leaves the quay at nine. " * 40
        yield made


@dataclass(slots=True)
class Voyage:
    """Runs turns of one session and records their times and requests."""

    opened: OpenSession
    strict: Strict
    largest: int = 0
    """Tokens of the largest request."""
    asked: int = 0
    """Tokens of all requests."""
    requests: int = 0
    seconds: list[float] = field(default_factory=list)
    megabytes: dict[int, float] = field(default_factory=dict)
    """Process size in megabytes, by turn."""

    def __post_init__(self) -> None:
        self.strict.count = self._counted

    def _counted(self, sent: str) -> int:
        size = len(sent) // 4
        self.largest, self.asked, self.requests = (
            max(self.largest, size),
            self.asked + size,
            self.requests + 1,
        )
        return size

    async def go(self, turns: int) -> None:
        for number in range(len(self.seconds) + 1, len(self.seconds) + turns + 1):
            began = time.process_time()
            records = await turn(self.opened.conversation, f"Turn {number}: count the boats.")
            self.seconds.append(time.process_time() - began)
            assert of(records, Error, Truncation) == []
            assert [each.outcome for each in of(records, TurnEnd, ToolResult)] == ["success", "done"]  # type: ignore[attr-defined]
            # The server's journal must not count as growth of the process.
            self.strict.bodies.clear()
            if number % SPAN == 0:
                gc.collect()
                self.megabytes[number] = psutil.Process().memory_info().rss / 2**20


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize(("wire", "policy", "turns", "window"), [*SHORT, *LONG])
async def test_long_sessions_stay_whole_and_cost_the_same(  # noqa: PLR0917
    desk: Desk,
    strict: Strict,
    monkeypatch: pytest.MonkeyPatch,
    wire: str,
    policy: str,
    turns: int,
    window: int,
) -> None:
    served(desk, strict, window)
    address = f"{strict.url}/openai-chat/v1"
    # The provider reads the process environment, and the program the one it was started with.
    monkeypatch.setenv("OLLAMA_BASE_URL", address)
    desk.env["OLLAMA_BASE_URL"] = address
    model = "ollama:keen-1" if wire == OLLAMA else f"{wire}:{WIRES[wire].model}"
    own = {name: keys for name, keys in POLICIES.items() if keys}
    async with desk.session(model=model, policy=policy, policies=own, window=window) as opened:
        voyage = Voyage(opened, strict)
        await voyage.go(turns)
        conversation, history = opened.conversation, opened.conversation.history
        payloads = [record.data for record, _ in history.store.records(conversation.session)]
        compactions = [each for each in payloads if isinstance(each, CompactionComplete)]
        assert {each.outcome for each in compactions} == {"success"}
        assert len(compactions) > turns // 100
        assert all(bool(each.output_tokens) == (policy == "plimsoll") for each in compactions)
        # The template's requirement is learned from one refusal.
        assert len(strict.refused) <= (wire == "alternating")
        assert voyage.largest <= window

        figures = StatsReader(desk.opening().database, conversation.session).read()
        paid = [*figures.models, *figures.compactions, *figures.sides]
        assert sum(row.input_tokens for row in paid) == voyage.asked

        for _ in compactions:
            await done(conversation, Restate(undo=True))
        back = str(to_messages(history.items()))
        assert [number for number in range(1, turns + 1) if f"Turn {number}: count" not in back] == []
        await voyage.go(1)
        assert voyage.largest <= window

    if turns > WARM + SPAN:
        # The 20th percentile, which other processes disturb least.
        first, last = (sorted(voyage.seconds[end - SPAN : end])[SPAN // 5] for end in (WARM + SPAN, turns))
        grown = voyage.megabytes[turns] - voyage.megabytes[WARM]
        print(
            f"\n| {wire} | {policy} | {voyage.requests:,} | {len(compactions)} | {len(strict.refused)} "
            f"| {voyage.largest:,} | {voyage.megabytes[WARM]:.0f} | {voyage.megabytes[turns]:.0f} "
            f"| {first * 1e3:.0f} | {last * 1e3:.0f} |"
        )
        assert grown <= GROWTH_MB
        assert last <= SLOWER * first
