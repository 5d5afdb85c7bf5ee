"""Plan and todo list in the replacement: only where a policy has them, within their room, and never twice."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.context.governor_kit import Writer, plain_counter
from tests.context.histories import long_conversation
from tui_app.context.compaction.compactor import Compactor, PlainHost
from tui_app.context.compaction.plan import Addition, fitted, tokens_of
from tui_app.context.history import ListHistory
from tui_app.context.policy import BACKGROUND, OFF, PLIMSOLL, PROGRESSIVE, RESERVE, SLIDING_WINDOW, Policy
from tui_app.usage import Breakdown, ContextWindow

PLAN = Addition("Current plan", "1. Sound the depth.\n2. Cast off.\n")
TODO = Addition("Todo list", "- [ ] buy rope\n- [x] mend the net\n")


@dataclass
class Host(PlainHost):
    """Adds what its list holds by then."""

    added: Sequence[Addition] = ()

    def additions(self) -> Sequence[Addition]:
        return tuple(self.added)


def text_of(view: ListHistory) -> str:
    return str(view.items()[0].message.parts[0].content)  # type: ignore[union-attr]


async def compacted(view: ListHistory, policy: Policy, additions: Sequence[Addition]) -> str:
    compactor = Compactor(view, policy, Host((Writer(),), added=additions))
    compactor.start("manual")
    complete = await compactor.finish()
    assert complete is not None
    assert complete.outcome == "success", complete.reason
    return text_of(view)


def filled(turns: int = 20, limit: int = 32_000) -> ListHistory:
    view = ListHistory(plain_counter())
    view.sync(long_conversation(turns, size=400))
    view.fix(ContextWindow(limit=limit, source="setting"), Breakdown(), "m")
    return view


@pytest.mark.parametrize(
    ("policy", "carried"),
    [
        (PLIMSOLL, True),
        (BACKGROUND, True),
        (OFF, True),
        (SLIDING_WINDOW, False),
        (RESERVE, False),
        (PROGRESSIVE, False),
    ],
    ids=lambda value: value.name if isinstance(value, Policy) else "",
)
async def test_policies_that_carry_them(policy: Policy, carried: bool) -> None:
    text = await compacted(filled(), policy, (PLAN, TODO))
    plan, todo = "1. Sound the depth.\n2. Cast off.", "- [ ] buy rope\n- [x] mend the net"
    both = f"## Current plan\n{plan}\n\n## Todo list\n{todo}"
    assert (both in text) == carried
    assert ("rope" in text) == carried


async def test_they_stand_behind_the_users_words_and_in_front_of_the_way_back() -> None:
    text = await compacted(filled(), PLIMSOLL, (PLAN, TODO))
    places = [
        text.index(words)
        for words in ("## Intent", "## Said by the user", "## Current plan", "## Todo list", "search_history")
    ]
    assert places == sorted(places)


async def test_a_second_compaction_holds_them_once_and_as_they_are_then() -> None:
    view = filled()
    await compacted(view, BACKGROUND, (PLAN, TODO))
    view.sync([*(item.message for item in view.items()), *long_conversation(20, size=400)])
    later = replace(PLAN, text="3. Home again.")
    text = await compacted(view, BACKGROUND, (later, replace(TODO, text=" \n")))
    assert text.count("## Current plan") == 1
    assert "3. Home again." in text
    assert "Cast off" not in text
    assert "Todo list" not in text


async def test_a_long_plan_leaves_room_for_the_rest() -> None:
    view = filled(limit=16_000)
    long = replace(PLAN, text="first step\n" + "and on it goes\n" * 20_000 + "last step")
    text = await compacted(view, PLIMSOLL, (long, TODO))
    assert "first step" in text
    assert "last step" in text
    assert "characters left out" in text
    assert "mend the net" in text
    assert len(text.partition("## Current plan")[2].partition("## Todo")[0]) <= 16_000 * 0.05 * 3


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=3_000)), max_size=4), st.integers(0, 4_000))
def test_what_is_kept_has_room_and_keeps_its_order(texts: list[tuple[str, str]], chars: int) -> None:
    additions = [Addition(heading, text) for heading, text in texts]
    kept = fitted(additions, chars)
    assert sum(len(each.worded) for each in kept) <= chars
    headings = [each.heading for each in additions]
    assert all(each.text.strip() for each in kept)
    places = iter(headings)
    assert all(each.heading in places for each in kept), "in their order"
    said = [each for each in additions if each.text.strip()]
    if sum(len(each.worded) for each in said) <= chars:
        assert [each.worded for each in kept] == [each.worded for each in said]


def test_size_for_budgets() -> None:
    assert tokens_of((Addition("a", "b" * 25),)) == 10
    assert tokens_of(()) == 0


async def test_nothing_is_read_after_the_start() -> None:
    """What happens while the summary is written stays behind it anyway."""
    view, now, gate = filled(), [PLAN], asyncio.Event()
    compactor = Compactor(view, BACKGROUND, Host((Writer(gate=gate),), added=now))
    compactor.start("manual")
    now[0] = TODO
    gate.set()
    await compactor.finish()
    assert "Cast off" in text_of(view)
