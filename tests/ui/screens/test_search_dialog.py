"""The search of all sessions: how far it is, what it finds on the way, and a way to stop it."""

import asyncio
import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from tui_app.session.search import Found, Searched
from tui_app.ui.dialogs import sessions as search
from tui_app.ui.dialogs.sessions import SearchFailed, SearchScreen, title_of


def hit(number: int) -> Found:
    return Found(
        session="s",
        seq=number,
        type="user.message",
        time=0.0,
        title="t",
        cwd="/",
        snippet="tide",
        hits=((0, 4),),
    )


class Slow:
    """A search that waits in front of each part until it is let on."""

    def __init__(self) -> None:
        self.go = threading.Semaphore(0)
        self.ended = threading.Event()
        self.stopped = self.begun = False

    def __call__(self, words: str, stopped: Callable[[], bool]) -> Generator[Searched, None, None]:
        try:
            for part in range(1, 4):
                while not self.go.acquire(timeout=0.01):
                    if stopped():
                        self.stopped = True
                        return
                self.begun = True
                yield Searched([hit(number) for number in range(part, 0, -1)], part * 10, 30)
        finally:
            self.ended.set()


class Host(App[None]):
    def __init__(self, screen: SearchScreen) -> None:
        super().__init__()
        self._first = screen
        self.results: list[object] = []

    def compose(self) -> ComposeResult:
        yield Static("behind", markup=False)

    def on_mount(self) -> None:
        self.push_screen(self._first, self.results.append)

    @property
    def title_row(self) -> str:
        return str(self.screen.query_one(".dialog-title", Static).render())

    @property
    def found(self) -> OptionList:
        return self.screen.query_one(OptionList)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "SLOW_S", 0.001)


async def until(pilot: "Pilot[None]", condition: Callable[[], object]) -> None:
    for _ in range(2_000):
        if condition():
            return
        await pilot.pause(0.005)
    raise AssertionError("never came")


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_it_says_how_far_it_is_and_stops_with_what_was_found(key: str) -> None:
    slow = Slow()
    app = Host(SearchScreen(slow))
    async with app.run_test(size=(80, 24)) as pilot:
        app.screen.query_one(Input).value = "tide"
        await until(pilot, lambda: app.title_row == "Search all sessions · searching · esc stops")
        slow.go.release()
        await until(pilot, lambda: app.title_row == "Search all sessions · 10 of 30 searched · esc stops")
        slow.go.release()
        await until(pilot, lambda: app.found.option_count == 2)
        await pilot.press("down")
        slow.go.release()
        await until(pilot, lambda: app.found.option_count == 3)
        assert app.found.highlighted == 2, "the row that was chosen stays chosen"
        await until(pilot, lambda: app.title_row == "Search all sessions")
        app.screen.query_one(Input).value = "tide and ebb"
        slow.go.release()
        await until(pilot, lambda: app.found.option_count == 1)
        slow.ended.clear()
        await pilot.press(key)
        await until(pilot, lambda: app.title_row == "Search all sessions · stopped at 10 of 30")
        await until(pilot, slow.ended.is_set)
        assert slow.stopped
        assert app.found.option_count == 1
        await pilot.press("escape")
        assert app.results == [None]


async def test_what_is_typed_meanwhile_stops_the_search_before() -> None:
    slow = Slow()
    app = Host(SearchScreen(slow))
    async with app.run_test(size=(80, 24)) as pilot:
        app.screen.query_one(Input).value = "tide"
        await until(pilot, lambda: "searching" in app.title_row)
        app.screen.query_one(Input).value = ""
        await until(pilot, slow.ended.is_set)
        assert app.title_row == "Search all sessions"


async def test_a_resize_searches_nothing_anew_and_each_search_begins_at_its_best_hit() -> None:
    searched: list[str] = []

    def quick(words: str, stopped: Callable[[], bool]) -> Generator[Searched, None, None]:
        searched.append(words)
        yield Searched([hit(1), hit(2)], 30, 30)

    app = Host(SearchScreen(quick))
    async with app.run_test(size=(80, 24)) as pilot:
        app.screen.query_one(Input).value = "tide"
        await until(pilot, lambda: app.found.option_count == 2)
        await pilot.press("down")
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: app.screen.size.width == 120)
        assert (searched, app.found.highlighted) == (["tide"], 1)
        app.screen.query_one(Input).value = "tides"
        await until(pilot, lambda: searched == ["tide", "tides"] and app.found.highlighted == 0)


async def test_stopped_before_anything_is_found_nothing_of_another_search_is_left() -> None:
    slow = Slow()
    app = Host(SearchScreen(slow))
    async with app.run_test(size=(80, 24)) as pilot:
        app.screen.query_one(Input).value = "tide"
        slow.go.release()
        await until(pilot, lambda: app.found.option_count == 1)
        slow.ended.clear()
        app.screen.query_one(Input).value = "ebb"
        await until(pilot, lambda: app.title_row == "Search all sessions · searching · esc stops")
        await pilot.press("escape")
        assert app.title_row == "Search all sessions · stopped"
        assert app.found.option_count == 0
        assert "Stopped before" in str(app.screen.query_one("#search-note", Static).render())
        await until(pilot, slow.ended.is_set)


async def test_a_failure_ends_the_search() -> None:
    def failing(words: str, stopped: Callable[[], bool]) -> Generator[Searched, None, None]:
        raise SearchFailed("The sessions cannot be searched.")
        yield Searched(())

    app = Host(SearchScreen(failing))
    async with app.run_test(size=(80, 24)) as pilot:
        app.screen.query_one(Input).value = "tide"
        note = app.screen.query_one("#search-note", Static)
        await until(pilot, lambda: "cannot be searched" in str(note.render()))
        assert app.title_row == "Search all sessions"


def test_a_server_counts_no_sessions() -> None:
    assert title_of(Searched(()), "looking") == "Search all sessions · searching · esc stops"
    assert title_of(None, "stopped") == "Search all sessions · stopped"


async def test_a_search_that_is_stopped_between_two_parts_holds_nothing_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow, made, real = Slow(), list[Generator[Searched, None, None]](), asyncio.to_thread

    def searching(words: str, stopped: Callable[[], bool]) -> Generator[Searched, None, None]:
        made.append(slow(words, stopped))
        return made[-1]

    async def first_only(*args: Any) -> Any:
        return await (asyncio.Event().wait() if slow.begun else real(*args))

    slow.go.release()
    monkeypatch.setattr(asyncio, "to_thread", first_only)
    app = Host(SearchScreen(searching))
    async with app.run_test(size=(80, 24)) as pilot:
        app.screen.query_one(Input).value = "tide"
        await until(pilot, lambda: app.found.option_count == 1)
        await pilot.press("escape")
        await until(pilot, slow.ended.is_set)
