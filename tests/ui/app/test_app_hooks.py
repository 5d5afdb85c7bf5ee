"""Hooks on the screen: nothing for one that just worked, a row for what it says, a notice when it fails."""

import os

import pytest

from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.app.test_app_compaction import BRIEF, compacted
from tests.ui.kit import Deck, Desk, shown
from tui_app.settings.tables import Hook
from tui_app.ui.timeline import Timeline


def hooked(desk: Desk, hook: str, *lines: str) -> Desk:
    desk.env["PATH"] = os.environ["PATH"]
    return desk.change(hooks={hook: tuple(Hook(command=line) for line in lines)})


def notices(deck: Deck) -> tuple[str, ...]:
    return deck.app.chat.session.state.notices


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("echo 'no \x1b[31mred' >&2; exit 7", "The preCompact hook echo ended with exit code 7: no red."),
        ("exit 2", "one that is manual cannot be vetoed."),
    ],
)
async def test_a_failing_hook_is_a_notice_and_a_row_and_the_compaction_goes_on(
    served: Desk, fake_openai: FakeOpenAI, line: str, said: str
) -> None:
    fake_openai.add(BRIEF)
    desk = hooked(served, "preCompact", line)
    async with shown(desk.app(served.store(Story().turns(6)))) as deck:
        await deck.ready()
        await deck.press("ctrl+g")
        await compacted(deck)
        assert [said in notice for notice in notices(deck)] == [True]
        assert notices(deck)[0].endswith("It changed nothing.")
        assert deck.kinds[-3:] == ["hook", "compaction", "checkpoint"]
        assert "preCompact hook" in deck.widget(Timeline)


async def test_one_that_just_worked_is_not_seen_and_what_it_prints_opens_with_enter(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(BRIEF, Text("Good."))
    desk = hooked(served, "postCompact", "cat > /dev/null", "printf 'filed\\nunder 7\\n'")
    async with shown(desk.app(served.store(Story().turns(6)))) as deck:
        await deck.ready()
        await deck.press("ctrl+g")
        await compacted(deck)
        await deck.says("postCompact hook printf · filed under 7")
        assert deck.kinds.count("hook") == 1
        assert notices(deck) == ()
        row = next(e for e in deck.app.chat.session.presenter.view.entries if e.kind == "hook")
        body = deck.app.chat.session.bodies.body(row)
        assert body.text == "filed\nunder 7"
