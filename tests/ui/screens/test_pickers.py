"""Model picker and sessions: what is listed, marked, searched and chosen."""

from dataclasses import replace
from datetime import UTC

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.widgets import Input, OptionList, Static

from tui_app.session.store import SessionInfo
from tui_app.ui import type_ahead as stray_keys
from tui_app.ui.dialogs.base import ConfirmDialog
from tui_app.ui.dialogs.models import ModelPicker, ModelRow
from tui_app.ui.dialogs.sessions import SessionChoice, SessionsScreen, session_line
from tui_app.ui.widgets import HintRow

MODELS = [
    ModelRow(name="google:gemini-3-pro", window=0, available=False, why_not="set GOOGLE_API_KEY"),
    ModelRow(name="offline:extractive", window=128_000),
    ModelRow(name="anthropic:claude-sonnet-5", window=1_000_000, window_source="model", current=True),
    ModelRow(name="openai:gpt-5-nano", window=32_000, window_source="server", fits=False, price="$0.05 in"),
    *(ModelRow(name=f"local:model-{number}", window=64_000) for number in range(12)),
]
SESSIONS = [
    SessionInfo(
        id=f"885c86{number:02}",
        title=title,
        cwd=f"/home/ada/{title.split()[0]}",
        created=0.0,
        updated=1_760_000_000 - number,
        events=0,
        messages=14,
        tokens=6_200,
        model="openai:gpt-5-mini",
    )
    for number, title in enumerate(["ferry timetable", "Tide notes", "[/x] hostile \x1b[31mone"])
]


class Host(App[None]):
    def __init__(self, screen: ModelPicker | SessionsScreen) -> None:
        super().__init__()
        self._first = screen
        self.results: list[object] = []

    def compose(self) -> ComposeResult:
        yield Static("behind", markup=False)

    def on_mount(self) -> None:
        self.push_screen(self._first, self.results.append)

    @property
    def rows(self) -> list[str]:
        return [str(option.prompt) for option in self.screen.query_one(OptionList).options]


async def test_picker_shows_at_least_ten_models_at_80x24_with_search_and_keys() -> None:
    app = Host(ModelPicker(MODELS, 91_500))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        options = app.screen.query_one(OptionList)
        assert options.scrollable_content_region.height >= 10
        assert app.screen.query_one(Input).region.bottom <= options.region.y
        assert app.screen.query_one("#dialog-hints").region.bottom <= 24


async def test_esc_clears_the_filter_first_and_closes_next() -> None:
    app = Host(ModelPicker(MODELS, 91_500))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"openai")
        keys = app.screen.query_one("#dialog-hints", HintRow)
        assert len(app.rows) == 1
        assert "esc clear filter" in keys.render().plain
        await pilot.press("escape")
        assert len(app.rows) == len(MODELS)
        assert app.screen.query_one(Input).value == ""
        assert "esc cancel" in keys.render().plain
        assert app.results == []
        await pilot.press("escape")
        assert app.results == [None]


async def test_picker_says_what_is_missing_and_what_fits_with_what_answers_first() -> None:
    app = Host(ModelPicker(MODELS, 91_500))
    async with app.run_test(size=(80, 24)):
        assert "offline:extractive" in app.rows[0]
        assert app.rows[0].endswith("128k  fits")
        assert app.rows[1].endswith("1M  current")
        assert app.rows[2].endswith("32k  91.5k will not fit: compact first")
        assert app.rows[-1].endswith("?  set GOOGLE_API_KEY")
        width = app.screen.query_one(OptionList).scrollable_content_region.width
        assert all(len(row) + 2 <= width for row in app.rows)


async def test_picker_says_in_full_why_a_server_offers_nothing() -> None:
    why = "refuses access (HTTP 401): https://models.harbour.example/v1"
    rows = [*MODELS, ModelRow(name="harbour:", window=0, available=False, why_not=why)]
    app = Host(ModelPicker(rows, 91_500))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"harbour")
        assert "refuses access (HTTP 401)" in app.rows[0]
        assert why in str(app.screen.query_one("#picker-note", Static).render())
        await pilot.press("enter")
        assert f"cannot be used yet: {why}" in str(app.screen.query_one("#picker-note", Static).render())


@pytest.mark.parametrize(
    ("keys", "result"),
    [
        (["enter"], "anthropic:claude-sonnet-5"),
        (["down", "enter"], "openai:gpt-5-nano"),
        (["up", "enter"], "offline:extractive"),
        ([*"nano", "enter"], "openai:gpt-5-nano"),
        ([*"vendor", "colon", *"new", "enter"], "vendor:new"),
        ([*"local", "colon", *"model-1", "enter"], "local:model-1"),
        (["escape"], None),
    ],
)
async def test_picker_chooses(keys: list[str], result: str | None) -> None:
    app = Host(ModelPicker(MODELS, 91_500))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*["minus" if key == "-" else key for key in keys])
        await pilot.pause()
        assert app.results == [result]


async def test_a_full_name_that_is_part_of_another_is_offered_as_typed() -> None:
    app = Host(ModelPicker(MODELS, 91_500))
    async with app.run_test(size=(80, 24)) as pilot:
        app.screen.query_one(Input).value = "openai:gpt-5"
        await pilot.pause()
        assert app.rows[-1].startswith("use openai:gpt-5 ")
        await pilot.press("down", "enter")
        assert app.results == ["openai:gpt-5"]


async def test_a_model_that_cannot_answer_says_why_and_stays() -> None:
    app = Host(ModelPicker(MODELS, 91_500))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"gemini", "enter")
        assert app.results == []
        note = str(app.screen.query_one("#picker-note", Static).render())
        assert note == "google:gemini-3-pro cannot be used yet: set GOOGLE_API_KEY"


async def test_nothing_found_says_how_to_go_on() -> None:
    app = Host(ModelPicker(MODELS, 91_500))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"zzz", "enter")
        assert app.results == []
        assert "provider:model" in str(app.screen.query_one("#picker-note", Static).render())


async def test_sessions_open_the_marked_one() -> None:
    app = Host(SessionsScreen(SESSIONS, tz=UTC))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("down", "enter")
        assert app.results == [SessionChoice("open", "885c8601")]


async def test_sessions_filter_by_title() -> None:
    app = Host(SessionsScreen(SESSIONS, tz=UTC))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"tide")
        await pilot.pause()
        assert len(app.rows) == 1
        await pilot.press("enter")
        assert app.results == [SessionChoice("open", "885c8601")]


async def test_one_message_is_one() -> None:
    async with Host(SessionsScreen([replace(SESSIONS[0], messages=1)], tz=UTC)).run_test(
        size=(80, 24)
    ) as pilot:
        await pilot.press("f8")
        await pilot.pause()
        text = str(pilot.app.screen.query_one("#confirm-text", Static).render())
        assert "? 1 message, cannot be undone." in text


@pytest.mark.parametrize(("key", "deleted"), [("y", True), ("enter", False), ("escape", False), ("n", False)])
async def test_delete_asks_first_and_keeps_by_default(
    key: str, deleted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stray_keys, "QUIET_S", 0.0)
    app = Host(SessionsScreen(SESSIONS, tz=UTC))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("down", "f8")
        await pilot.pause()
        assert isinstance(app.screen, ConfirmDialog)
        text = str(app.screen.query_one("#confirm-text", Static).render())
        assert text == 'Delete session "Tide notes"? 14 messages, cannot be undone.'
        await pilot.press(key)
        await pilot.pause()
        assert app.results == ([SessionChoice("delete", "885c8601")] if deleted else [])
        assert isinstance(app.screen, SessionsScreen) is not deleted


async def test_no_session_yet_is_said() -> None:
    app = Host(SessionsScreen([]))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f8", "enter", "down")
        note = app.screen.query_one("#sessions-note", Static)
        assert str(note.render()) == "There is no other session yet."
        await pilot.press("escape")
        assert app.results == [None]


@pytest.mark.parametrize("width", [72, 112])
def test_session_rows_line_up_and_are_clean(width: int) -> None:
    lines = [session_line(row, width, UTC) for row in SESSIONS]
    assert lines[0].plain.startswith("2025-10-09 08:53  ferry timetable")
    assert "[/x] hostile one" in lines[2].plain
    assert len({line.plain.index(" msg") for line in lines}) == 1
    assert all(line.cell_length <= width for line in lines)


@pytest.mark.parametrize("kind", ["models", "sessions"])
async def test_typing_faster_than_the_list_is_filled_does_no_harm(kind: str) -> None:
    screen = ModelPicker(MODELS, 0) if kind == "models" else SessionsScreen(SESSIONS)
    app = Host(screen)
    async with app.run_test(size=(80, 24)) as pilot:
        search = app.screen.query_one(Input)
        for key in "zz":  # both in one read of the terminal
            search.post_message(events.Key(key, key))
        await pilot.pause()
        assert app.screen.query_one(OptionList).option_count == 0
        await pilot.press("enter", "down", "escape", "escape")
    assert app.results == [None]
