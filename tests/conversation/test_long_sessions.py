"""Three hundred turns on each kind of server: no refusal, no hang, and an accurate gauge."""

import json
import time
from collections.abc import Iterator

import pytest

from tests.conversation.driving import Desk, done, of, turn
from tests.conversation.jobs import prompt_number
from tests.servers.strict import WIRES, Strict, strict_server
from tui_app.context.counting.encodings import TextCounter
from tui_app.conversation.conversation import Conversation
from tui_app.conversation.work import Restore, Rewind, Switch
from tui_app.events import (
    CompactionComplete,
    Error,
    Record,
    ToolResult,
    ToolSuperseded,
    Truncation,
    TurnEnd,
    UsageInfo,
)
from tui_app.session.rewind_fork import fork_session
from tui_app.settings import Endpoint

WINDOW, NEAR = 24_000, 0.03
"""Window of each model in tokens, and the allowed relative error of the gauge."""
SETTLED = 2
"""Turns after which a model's way of counting is known."""
SUMMARY = """Title: Boats in the harbour

## Intent
The user has the boats of the harbour counted, turn by turn.

## Done so far
README.md was read in each turn.

## Next steps
Go on counting."""


@pytest.fixture
def strict() -> Iterator[Strict]:
    with strict_server() as made:
        made.calls, made.call, made.summary = True, ("read_file", {"path": "README.md"}), SUMMARY
        text = TextCounter("o200k_base")
        text.load()
        made.count = lambda sent: round(1.2 * text.count(sent))
        yield made


class Sailing:
    """Runs prompts of one session, and checks the gauge after each."""

    def __init__(self, strict: Strict) -> None:
        self.strict, self.turns, self.compactions = strict, 0, 0
        self.off: list[str] = []
        """Turns with a wrong gauge, apart from the first few that may be off."""
        self.unsettled = SETTLED

    async def sail(self, conversation: Conversation, turns: int) -> None:
        for _ in range(turns):
            self.turns += 1
            self.strict.text = f"Turn {self.turns}: " + "the ferry leaves the quay at nine. " * 30
            records = await turn(
                conversation, f"Turn {self.turns}: count the boats, and say when the ferry leaves."
            )
            self._judge(records)

    def _judge(self, records: list[Record]) -> None:
        assert of(records, Error) == []
        assert [end.outcome for end in of(records, TurnEnd) if isinstance(end, TurnEnd)] == ["done"]
        assert of(records, Truncation) == []
        self.compactions += len(of(records, CompactionComplete))
        shown = [each.usage["total"] for each in of(records, UsageInfo) if isinstance(each, UsageInfo)]
        told = self.strict.reported[-len(shown) :]
        if self.unsettled:
            self.unsettled -= 1
            return
        self.off += [
            f"turn {self.turns}: {one:,} shown, {other:,} told"
            for one, other in zip(shown, told, strict=True)
            if abs(one - other) > NEAR * other
        ]


def served(desk: Desk, strict: Strict, window: int = WINDOW) -> None:
    (desk.cwd / "README.md").write_text("The sea is below, the sky is above.\n" * 40)
    for name, kind in WIRES.items():
        base = f"{strict.url}/{name}" + ("" if name in ("anthropic", "google") else "/v1")
        desk.endpoints[name] = Endpoint(
            name=name, protocol=kind.protocol, base_url=base, key_env="", window=window
        )


async def test_what_a_template_refuses_is_learnt_once_for_all_sessions(desk: Desk, strict: Strict) -> None:
    served(desk, strict)

    async def session() -> int:
        """Run a session whose user prompts right after a tool result; returns the refusals so far."""
        async with desk.session(model="alternating:keen-1", max_steps=1) as opened:
            for prompt in ("Look.", "Go on."):
                records = await turn(opened.conversation, prompt)
                assert len(of(records, ToolResult)) == 1
        return len(strict.refused)

    assert [await session(), await session()] == [1, 1]
    # Files in the working folder must not be read as learned facts.
    learnt = desk.opening().paths.learnt_file
    assert '"alternating": true' in learnt.read_text()
    for name in (learnt.name, f".plimsoll/{learnt.name}", f"state/{learnt.name}"):
        (desk.cwd / name).parent.mkdir(exist_ok=True)
        (desk.cwd / name).write_bytes(learnt.read_bytes())
    learnt.unlink()
    assert await session() == 2


@pytest.mark.parametrize("wire", WIRES)
async def test_views_with_superseded_reads_are_refused_by_nobody(
    desk: Desk, strict: Strict, wire: str
) -> None:
    """Old reads become notes and old thinking is dropped; then undone, with another server in between."""
    served(desk, strict)
    strict.count = lambda sent: len(sent) // 4
    names = list(WIRES)
    home, abroad = (f"{each}:{WIRES[each].model}" for each in (wire, names[names.index(wire) - 1]))
    eager = {"eager": {"base": "background", "superseded": True, "superseded_batch": 1}}

    async def talk(conversation: Conversation, turns: int) -> list[tuple[int, ToolSuperseded]]:
        """Run turns, none of which may fail, and return their rewrites with log numbers."""
        records = [each for _ in range(turns) for each in await turn(conversation, "Count the boats.")]
        assert of(records, Error) == []
        return [(each.seq, each.data) for each in records if isinstance(each.data, ToolSuperseded)]

    async with desk.session(model=home, policy="eager", policies=eager) as opened:
        conversation = opened.conversation
        made = await talk(conversation, 4)
        notes = {change.note for _, each in made for change in each.changes}
        thought = set() if wire == "mistral" else {"thinking of an earlier turn"}
        assert notes == {"README.md was read again"} | thought
        for model in (abroad, home):
            await done(conversation, Restore(made[-1][0]))
            await talk(conversation, 2)
            await done(conversation, Switch(model))
            made = await talk(conversation, 3)
            assert made
        assert "[Superseded: README.md was read again below" in json.dumps(strict.bodies[-1])
    assert len(strict.refused) <= ("alternating" in home + abroad)


@pytest.mark.parametrize(("home", "abroad"), [("google", "anthropic"), ("anthropic", "google")])
async def test_a_compaction_behind_a_switch_leaves_the_gauge_true(
    desk: Desk, strict: Strict, home: str, abroad: str
) -> None:
    """The removed messages are another model's, whose calls are encoded differently."""
    served(desk, strict, 20_000)
    async with desk.session(model=f"{home}:{WIRES[home].model}") as opened:
        sailing = Sailing(strict)
        await sailing.sail(opened.conversation, 20)
        before = sailing.compactions
        await done(opened.conversation, Switch(f"{abroad}:{WIRES[abroad].model}"))
        sailing.unsettled = SETTLED
        await sailing.sail(opened.conversation, 12)
    assert sailing.compactions > before
    assert "\n".join(sailing.off) == ""


@pytest.mark.endurance
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("wire", WIRES)
async def test_three_hundred_turns(desk: Desk, strict: Strict, wire: str) -> None:
    served(desk, strict)
    names = list(WIRES)
    home, abroad = (f"{each}:{WIRES[each].model}" for each in (wire, names[names.index(wire) - 1]))
    sailing = Sailing(strict)
    async with desk.session(model=home) as opened:
        conversation = opened.conversation
        await sailing.sail(conversation, 100)
        for model in (abroad, home):
            await done(conversation, Switch(model))
            sailing.unsettled = SETTLED
            await sailing.sail(conversation, 40)
        await done(conversation, Rewind(prompt_number(conversation, "Turn 171:")))
        await sailing.sail(conversation, 40)
        at = prompt_number(conversation, "Turn 211:")
        session, store = conversation.session, conversation.history.store
        fork = fork_session(store, opened.folder.path.parent, session, at=at, now=time.time())
    async with desk.session(session=fork.session, model="") as opened:
        sailing.unsettled = SETTLED
        await sailing.sail(opened.conversation, 80)
    assert sailing.turns == 300
    assert sailing.compactions >= 5
    # A template is learned once, also for the fork.
    assert len(strict.refused) <= ("alternating" in home + abroad)
    assert "\n".join(sailing.off) == ""
