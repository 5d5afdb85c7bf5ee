"""Going back a long way: the screen is laid out for the rows that change together, not for each of them."""

from collections import Counter

import pytest

from tests.ui.app.story import Story
from tests.ui.kit import Desk, shown
from tui_app.ui.lists import RowList
from tui_app.ui.timeline import Timeline
from tui_app.ui.transcript.transcript import Transcript


async def work_of_a_rewind(desk: Desk, turns: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the screen is laid out, or all rows are listed anew, while a conversation goes back."""
    done = Counter[str]()
    session = desk.store(Story().turns(turns, words="a short one"))
    async with shown(desk.app(session)) as deck:
        await deck.ready()
        with monkeypatch.context() as patched:
            for owner, name in (
                (Transcript, "_place"),
                (RowList, "_place"),
                (Timeline, "_list_rows"),
                (Timeline, "_row_of"),
            ):
                work = getattr(owner, name)

                def counted(*args: object, _work: object = work, _name: str = name, **more: object) -> object:
                    done[_name] += 1
                    return _work(*args, **more)  # type: ignore[operator]

                patched.setattr(owner, name, counted)
            await deck.send("/rewind #2")
            await deck.until(lambda: deck.editor.text == "question 0", "the draft")
            await deck.idle()
        assert all(entry.left for entry in deck.app.chat.session.presenter.view.entries[:-1])
        assert "left behind · " in deck.text
    return done


async def test_many_rows_cost_no_more_layouts_than_few(served: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    few = await work_of_a_rewind(served, 5, monkeypatch)
    many = await work_of_a_rewind(served, 60, monkeypatch)
    for name, times in many.items():
        assert times <= few[name] + 6, (name, few, many)
