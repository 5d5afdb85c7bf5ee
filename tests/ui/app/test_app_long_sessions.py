"""Long sessions begin with their newest rows; the older ones come without moving what is read."""

import threading
from collections.abc import Iterator, Sequence

import pytest

from tests.ui.app.story import Story
from tests.ui.kit import Deck, Desk, shown
from tui_app.session import preview
from tui_app.session.entries import Entry
from tui_app.session.user_view import UserView, fold_user_view
from tui_app.ui.chat import session as chat_session


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Older rows are read once this is set; the newest 30 events are there at once."""
    released, read = threading.Event(), preview.all_rows

    def wait_and_read(*where: object) -> UserView:
        assert released.wait(30)
        return read(*where)  # type: ignore[arg-type]

    monkeypatch.setattr(preview, "_ROWS", 30)
    monkeypatch.setattr(chat_session, "all_rows", wait_and_read)
    yield released
    released.set()


def rows(desk: Desk, session: str) -> Sequence[Entry]:
    with desk.log() as store:
        return fold_user_view(store.heads(session)).entries


def read(deck: Deck) -> list[str]:
    """The transcript without its scroll bar."""
    return [line[:78] for line in deck.text.splitlines()]


async def whole(deck: Deck, late: threading.Event) -> None:
    late.set()
    await deck.until(lambda: not deck.app.chat.session.presenter.view.since, "the older rows")
    await deck.idle()


async def test_what_is_read_stays_where_it_is(served: Desk, late: threading.Event) -> None:
    session = served.store(Story().turns(60))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        transcript = deck.app.chat.pane.transcript
        assert 0 < len(transcript.entries) < 31
        await deck.press("tab", "up", "up", "up", "v", "pageup")
        before, marked = read(deck), transcript.cursor_entry
        assert marked is not None
        await whole(deck, late)
        assert read(deck) == before
        assert transcript.cursor_entry == marked
        assert list(transcript.entries) == list(rows(served, session))
        await deck.press("home")
        await deck.says("question 0")
        await deck.press("end")
        await deck.says("question 59")


async def test_what_happens_meanwhile_is_shown_once(served: Desk, late: threading.Event) -> None:
    session = served.store(Story().turns(60))
    async with shown(served.app(session, model="offline:extractive")) as deck:
        await deck.ready()
        await deck.send("and now?")
        await deck.idle()
        first = rows(served, session)[0].seq
        await deck.send(f"/rewind #{first}")
        await deck.until(lambda: deck.editor.text == "question 0", "the draft")
        await deck.idle()
        await whole(deck, late)
        presenter, pane = deck.app.chat.session.presenter, deck.app.chat.pane
        assert presenter.view.entries == list(rows(served, session))
        assert pane.timeline._entries == presenter.view.entries
        said = [entry for entry in presenter.view.entries if entry.kind != "checkpoint"]
        assert list(pane.transcript.entries) == said
        assert all(entry.left for entry in said if entry.kind in ("user", "assistant"))


async def test_a_message_of_the_older_rows_is_gone_to_when_it_is_there(
    served: Desk, late: threading.Event
) -> None:
    session = served.store(Story().turns(60))
    second = [entry for entry in rows(served, session) if entry.kind == "user"][1]
    late.set()
    async with shown(served.app(session)) as deck:
        await deck.ready()
        deck.app.open_session(session, at=second.seq)
        await deck.says("question 1")
        assert deck.app.chat.pane.transcript.cursor_entry == second
