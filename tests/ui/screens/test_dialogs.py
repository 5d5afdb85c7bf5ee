"""Dialogs: keys, defaults, Esc, and no dangerous action by accident."""

import asyncio
import re
import sqlite3
import threading
from collections.abc import Callable, Generator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.widgets import Button, Input, OptionList, Static, TextArea

from tests.ui.kit import ThemedApp, timed
from tests.ui.plans import CURRENT, SWITCH
from tui_app.agent.catalog import ModelChoice
from tui_app.agent.tools.tasks import TaskRow
from tui_app.session.search import Found, Searched
from tui_app.session.stats import SessionStats
from tui_app.session.stats_rows import CompactionRow
from tui_app.session.stats_rows import ModelRow as ModelStats
from tui_app.session.stores.store import SessionInfo
from tui_app.ui.colours.themes import THEMES
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.extensions.tasks import TasksScreen
from tui_app.ui.dialogs.help import HelpScreen, help_page
from tui_app.ui.dialogs.help_rows import help_rows
from tui_app.ui.dialogs.list import Asked
from tui_app.ui.dialogs.models import ModelPicker, ModelRow, SwitchDialog, fit_bar, model_note, switch_choices
from tui_app.ui.dialogs.questions import ConfirmDialog, EditDialog
from tui_app.ui.dialogs.sessions import session_search
from tui_app.ui.dialogs.sessions.session_search import SearchFailed, SearchScreen, title_of
from tui_app.ui.dialogs.sessions.sessions import SessionsScreen, last_used, spent_text
from tui_app.ui.keyboard import lone_letter, stray_keys
from tui_app.ui.keyboard.stray_keys import QUIET_S
from tui_app.ui.widgets.hint_row import HintRow
from tui_app.ui.widgets.tables import Table
from tui_app.ui.words.glyphs import UNICODE
from tui_app.usage import ContextWindow

QUESTION = 'Delete session "[/x] Tide notes"? 14 messages, cannot be undone.'


class Host(ThemedApp):
    def __init__(self, make: Callable[[], ModalScreen[Any]]) -> None:
        super().__init__()
        self._make = make
        self.results: list[object] = []
        self.answered = asyncio.Event()

    def compose(self) -> ComposeResult:
        yield Static("behind", markup=False)

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = THEMES[0].name
        self.push_screen(self._make(), self._answered)

    def _answered(self, result: object) -> None:
        self.results.append(result)
        self.answered.set()


@pytest.mark.parametrize(
    ("keys", "result"),
    [
        (["y"], True),
        (["n"], False),
        (["escape"], False),
        (["enter"], False),
        (["left", "enter"], True),
        (["tab", "enter"], True),
        (["left", "right", "enter"], False),
    ],
)
async def test_confirm_keeps_unless_told_otherwise(keys: list[str], result: bool) -> None:
    clock = Clock()
    app = Host(lambda: timed(ConfirmDialog(QUESTION), clock))
    async with app.run_test(size=(80, 24)) as pilot:
        clock.now += QUIET_S
        await pilot.press(*keys)
        assert app.results == [result]


async def test_confirm_takes_no_letter_of_a_person_who_is_still_writing() -> None:
    clock = Clock()
    shown = timed(ConfirmDialog(QUESTION), clock)
    app = Host(lambda: shown)
    async with app.run_test(size=(80, 24)) as pilot:
        clock.now += QUIET_S / 2
        for key in ("y", "e", "n", "o", "backspace", "enter", "y"):
            await pilot.press(key)
        assert app.results == []
        assert shown.typed == "yen\ny"
        clock.now += 60
        await pilot.press("y")
        assert app.results == [], "a letter behind others is written, however late it comes"
        shown.post_message(events.Paste(" pasted"))
        await pilot.press("enter")
        clock.now += QUIET_S
        await pilot.press("enter")
        assert app.results == [False]
        assert shown.typed == "yen\nyy pasted"


async def test_confirm_hears_a_letter_that_stands_alone_once_nobody_types() -> None:
    clock = Clock()
    app = Host(lambda: timed(ConfirmDialog(QUESTION), clock))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("enter")
        assert app.results == [], "the enter of the command that led here"
        clock.now += QUIET_S
        await pilot.press("backspace")
        clock.now += QUIET_S
        await pilot.press("y")
        assert app.results == [True]


@pytest.mark.parametrize("letter", ["y", "n"])
async def test_confirm_takes_no_letter_that_begins_a_word(
    monkeypatch: pytest.MonkeyPatch, letter: str
) -> None:
    monkeypatch.setattr(lone_letter, "ALONE_S", 60.0)
    clock = Clock()
    shown = timed(ConfirmDialog(QUESTION), clock)
    app = Host(lambda: shown)
    async with app.run_test(size=(80, 24)) as pilot:
        clock.now += 60
        await pilot.press(letter, "o", "n")
        assert app.results == []
        assert shown.typed == f"{letter}on"
        clock.now += 60
        await pilot.press("escape")
        assert app.results == [False]


@pytest.mark.parametrize(
    ("keys", "results"),
    [(["y", "enter"], [True]), (["y", "escape"], [False]), (["y", "backspace"], []), (["y", "y"], [])],
)
async def test_confirm_and_what_follows_a_letter_at_once(
    monkeypatch: pytest.MonkeyPatch, keys: list[str], results: list[bool]
) -> None:
    monkeypatch.setattr(lone_letter, "ALONE_S", 60.0)
    clock = Clock()
    app = Host(lambda: timed(ConfirmDialog(QUESTION), clock))
    async with app.run_test(size=(80, 24)) as pilot:
        clock.now += QUIET_S
        await pilot.press(*keys)
        assert app.results == results


async def test_confirm_hears_a_letter_that_nothing_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lone_letter, "ALONE_S", 0.01)
    clock = Clock()
    app = Host(lambda: timed(ConfirmDialog(QUESTION), clock))
    async with app.run_test(size=(80, 24)) as pilot:
        clock.now += QUIET_S
        await pilot.press("y")
        await asyncio.wait_for(app.answered.wait(), 20)
        assert app.results == [True]


async def test_a_long_question_is_read_on_before_it_is_answered() -> None:
    clock = Clock()
    app = Host(lambda: timed(ConfirmDialog("\n".join(f"command {n}" for n in range(40))), clock))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        clock.now += QUIET_S
        await pilot.press("y")
        assert app.results == [], "its end was not seen"
        text = app.screen.query_one("#confirm-scroll")
        while text.scroll_offset.y < text.max_scroll_y:
            await pilot.press("y")
            await pilot.pause()
        assert app.screen.query_one("#confirm-keep").region.bottom <= 24
        await pilot.press("y")
        assert app.results == [True]


async def test_confirm_shows_the_text_as_it_is_and_the_verbs() -> None:
    app = Host(lambda: ConfirmDialog(QUESTION, verb="Quit", keep="Stay"))
    async with app.run_test(size=(80, 24)):
        assert str(app.screen.query_one("#confirm-text", Static).render()) == QUESTION
        assert [str(button.label) for button in app.screen.query(Button)] == ["Quit", "Stay"]
        assert app.screen.focused is app.screen.query_one("#confirm-keep")


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def late(clock: Clock) -> Host:
    """A dialog that opens while the user is typing."""
    return Host(lambda: timed(SwitchDialog(SWITCH, CURRENT), clock))


@pytest.mark.parametrize(
    ("keys", "result"),
    [
        (["enter"], "compact"),
        (["down", "enter"], "anyway"),
        (["up", "enter"], None),
        (["end", "enter"], None),
        (["escape"], None),
    ],
)
@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_switch_has_three_ways(
    late: Host, clock: Clock, keys: list[str], result: str, size: tuple[int, int]
) -> None:
    async with late.run_test(size=size) as pilot:
        clock.now += QUIET_S
        await pilot.press(*keys)
        assert late.results == [result]


async def test_switch_takes_no_key_of_a_person_who_is_still_writing(late: Host, clock: Clock) -> None:
    async with late.run_test(size=(80, 24)) as pilot:
        for key in ("c", "a", "n", "enter", "up", "enter", "space", "y", "x", "backspace", "home", "enter"):
            clock.now += QUIET_S * 0.9
            await pilot.press(key)
        assert late.results == []
        assert dialog(late).typed == "can\n\n y"
        assert late.screen.query_one(OptionList).highlighted == 0
        clock.now += QUIET_S
        await pilot.press("down", "enter")
        assert late.results == ["anyway"]


@pytest.mark.parametrize("letter", ["c", "a", "y", "space"])
async def test_no_letter_chooses_or_marks_a_way_however_late_it_comes(
    late: Host, clock: Clock, letter: str
) -> None:
    async with late.run_test(size=(80, 24)) as pilot:
        clock.now += 60
        await pilot.press(letter, "enter")
        assert late.results == []
        clock.now += 60
        await pilot.press("enter")
        assert late.results == ["compact"]


async def test_a_paste_is_kept_and_escape_needs_no_quiet(late: Host) -> None:
    async with late.run_test(size=(80, 24)) as pilot:
        shown = dialog(late)
        late.screen.query_one(OptionList).post_message(events.Paste("two\nlines"))
        await pilot.press("x", "escape")
        assert late.results == [None]
        assert shown.typed == "two\nlinesx"


def dialog(app: Host) -> SwitchDialog:
    assert isinstance(app.screen, SwitchDialog)
    return app.screen


@pytest.mark.parametrize(
    ("possible", "keys", "result"),
    [
        ({"can_truncate": False}, ["down", "enter"], None),
        ({"can_compact": False}, ["enter"], None),
        ({"can_compact": False}, ["home", "enter"], "anyway"),
        ({"can_compact": False, "can_truncate": False}, ["up", "enter"], None),
    ],
)
async def test_what_cannot_make_it_fit_is_not_offered(
    clock: Clock, possible: dict[str, bool], keys: list[str], result: str
) -> None:
    app = Host(lambda: timed(SwitchDialog(replace(SWITCH, **possible), CURRENT), clock))
    async with app.run_test(size=(80, 24)) as pilot:
        clock.now += QUIET_S
        await pilot.press(*keys)
        assert app.results == [result]


def test_a_compaction_that_cannot_help_says_why_with_both_numbers() -> None:
    window = ContextWindow(limit=32_000, source="model", reserve=4_000)
    forecast = replace(SWITCH, can_compact=False, after_compaction=33_400, window=window)
    assert switch_choices(forecast, CURRENT)[0].what == "not possible: 33.4k must be kept, only 28k fits"


def test_a_model_that_counts_otherwise_is_said_to() -> None:
    for there, said in ((140_000, "is 91.5k here, 140k with its tokenizer."), (92_000, "is 91.5k.")):
        assert str(SwitchDialog(replace(SWITCH, tokens=there), CURRENT).head).endswith(said)


async def test_switch_says_the_numbers_whole_at_80_columns() -> None:
    app = Host(lambda: SwitchDialog(SWITCH, CURRENT))
    async with app.run_test(size=(80, 24)):
        assert tuple(way.what for way in switch_choices(SWITCH, CURRENT)) == (
            "about 6k after · summary by claude-sonnet-5 · ~$0.020",
            "drops the oldest 61k from each request, keeps the last 9 turns",
            "stay on claude-sonnet-5",
        )
        title = str(app.screen.query(".dialog-title").first().render())
        assert title == "openai:gpt-5-nano holds 32k. This conversation is 91.5k."
        options = app.screen.query_one(OptionList)
        widest = max(len(line) for option in options.options for line in str(option.prompt).split("\n"))
        assert widest <= options.scrollable_content_region.width


@pytest.mark.parametrize("width", [110, 72, 30])
def test_the_page_of_help_has_all_of_every_group_and_cuts_nothing(width: int) -> None:
    rows = help_rows({})
    lines = [line.plain for line in help_page(rows, width)]
    assert max(map(len, lines)) <= width
    told = "".join("".join(lines).split())
    for row in rows:
        assert "…" in row.label or "".join(row.label.split()) in told
    heads = [line.strip() for line in lines if line.startswith(("In the prompt", "Stop and leave"))]
    assert [head.split("  ")[0] for head in heads] == ["In the prompt", "Stop and leave"]
    assert ("In the chat" in heads[0]) is (width > 100), "in two columns where there is room"


def test_the_bar_of_a_switch_shows_what_fits() -> None:
    bar, sizes = fit_bar(SWITCH, 60).plain.split("\n")
    assert (len(bar), bar.index(UNICODE.load_mark)) == (60, 60 * 32_000 // 91_500 - 1)
    assert sizes.split()[:2] == ["32k", "fit"]
    assert sizes.endswith("91.5k")
    window = ContextWindow(limit=32_000, source="model", reserve=4_000)
    for forecast in (replace(SWITCH, window=window, tokens=30_000), replace(SWITCH, tokens=10**9)):
        assert {len(line.rstrip()) for line in fit_bar(forecast, 24).plain.split("\n")} == {24}


async def test_an_empty_list_names_no_key_that_needs_a_row() -> None:
    app = Host(lambda: SessionsScreen([]))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        assert [hint.label for hint in app.screen.key_row.hints] == ["f7", "esc"]


@pytest.mark.parametrize("key", ["escape", "question_mark", "f1"])
async def test_help_closes_with_the_key_that_opened_it(key: str) -> None:
    app = Host(lambda: HelpScreen(help_rows({})))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(key)
        assert app.results == [None]


async def test_help_lists_what_is_in_force_and_filters_it() -> None:
    app = Host(lambda: HelpScreen(help_rows({"chat.compact": "ctrl+k"})))
    async with app.run_test(size=(80, 24)) as pilot:
        options = app.screen.query_one(OptionList)
        page = [str(option.prompt) for option in options.options]
        assert any(row.split()[:2] == ["ctrl+k", "Compact"] for row in page)
        start = page.index("In a compaction")
        assert any(row.split()[:2] == ["u", "Undo"] for row in page[start:])
        assert options.highlighted is None, "a page to be read"
        await pilot.press("pagedown")
        await pilot.pause()
        assert options.scroll_offset.y == 10
        await pilot.press(*"theme")
        await pilot.pause()
        assert [str(option.prompt).split()[0] for option in options.options] == ["/theme"]
        await pilot.press("enter")
        assert [each.command.name for each in app.results] == ["theme"]


async def test_a_key_says_how_it_can_be_changed_and_is_not_run() -> None:
    app = Host(lambda: HelpScreen(help_rows({})))
    async with app.run_test(size=(80, 24)) as pilot:
        note = app.screen.query_one("#help-note", Static)
        await pilot.press(*"chat.compact", "enter")
        await pilot.pause()
        assert str(note.render()).endswith("In the settings: keymap.chat.compact")
        app.screen.query_one(Input).value = "checkpoint compaction"
        await pilot.pause()
        assert str(note.render()) == "Show the checkpoint file. This key is fixed."
        assert app.results == []


async def test_enter_is_offered_only_where_it_runs_something() -> None:
    app = Host(lambda: HelpScreen(help_rows({})))
    async with app.run_test(size=(80, 24)) as pilot:
        screen = app.screen
        assert isinstance(screen, HelpScreen)
        search = screen.query_one(Input)
        for wanted, offered in (("chat.compact", False), ("/theme", True), ("nothing like it", False)):
            search.value = wanted
            await pilot.pause()
            assert ("enter run the command" in [str(hint) for hint in screen.key_row.hints]) == offered


async def test_details_are_raw_text_without_control_characters() -> None:
    text = "[/x] **not bold** \x1b[31mred\x1b[0m\x07\nnext"
    app = Host(lambda: DetailsScreen("run [/x]", text))
    async with app.run_test(size=(80, 24)) as pilot:
        area = app.screen.query_one(TextArea)
        assert area.text == "[/x] **not bold** red\nnext"
        await pilot.press("x")
        assert area.text == "[/x] **not bold** red\nnext"
        await pilot.press("y")
        assert app.clipboard == text
        await pilot.press("ctrl+o")
        assert app.results == [None]


async def test_a_value_from_outside_is_clean_before_anything_is_typed() -> None:
    app = Host(lambda: EditDialog("Title", "What it is.", "a\x1b[31m\u202eb\nc"))
    async with app.run_test() as pilot:
        field = app.screen.query_one(Input)
        assert field.value == "a\ufffdb c"
        await pilot.press("enter")
        assert app.results == ["a\ufffdb c"]


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 12)])
async def test_what_was_copied_is_said_beside_the_keys_and_covers_nothing(size: tuple[int, int]) -> None:
    app = Host(lambda: DetailsScreen("Notices", "nothing"))
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.press("y")
        await pilot.pause()
        row = str(app.screen.query_one("#dialog-hints", HintRow).render())
        assert row.rstrip().endswith("sent to the clipboard")
        assert "esc close" in row
        assert not app.screen.query("Toast")


# Model picker and session list: entries, marks, search and choice.


def choice(name: str, window: int | None, **known: Any) -> ModelChoice:
    return ModelChoice(**{"name": name, "label": name, "window": window, "window_source": "default",
                          "available": True, **known})  # fmt: skip


MODELS = [
    ModelRow(choice("google:gemini-3-pro", None, available=False, why_not="set GOOGLE_API_KEY")),
    ModelRow(choice("offline:extractive", 128_000)),
    ModelRow(choice("anthropic:claude-sonnet-5", 1_000_000, window_source="model"), current=True),
    ModelRow(choice("openai:gpt-5-nano", 32_000, window_source="server", price="$0.05 in"), "compact"),
    *(ModelRow(choice(f"local:model-{number}", 64_000)) for number in range(12)),
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


class PickersHost(ThemedApp):
    def __init__(self, screen: ModelPicker | SessionsScreen) -> None:
        super().__init__()
        self._first = screen
        self.results: list[Any] = []

    def compose(self) -> ComposeResult:
        yield Static("behind", markup=False)

    def on_mount(self) -> None:
        self.push_screen(self._first, self.results.append)

    @property
    def asked(self) -> list[tuple[str, str]]:
        """The requested action and its session."""
        sessions = (each for each in self.results if each is not None)
        return [
            (each.what, each.row.id) if isinstance(each, Asked) else ("open", each.id) for each in sessions
        ]

    @property
    def rows(self) -> list[str]:
        options = self.screen.query_one(OptionList).options
        return [str(option.prompt) for option in options if not option.disabled]


async def test_picker_shows_at_least_ten_models_at_80x24_with_search_and_keys() -> None:
    app = PickersHost(ModelPicker(MODELS, 91_500))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        options = app.screen.query_one(OptionList)
        assert options.scrollable_content_region.height >= 10
        assert app.screen.query_one(Input).region.bottom <= options.region.y
        assert app.screen.query_one("#dialog-hints").region.bottom <= 24


async def test_where_a_model_counts_otherwise_the_picker_names_both_sizes() -> None:
    row = MODELS[1]._replace(tokens=120_000)
    app = PickersHost(ModelPicker([row], 91_500))
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        note = str(app.screen.query_one("#picker-note", Static).render())
        assert "91.5k here, 120k with its tokenizer" in note
        assert "94%" in app.rows[0]
        assert "its tokenizer" not in model_note(MODELS[1], 91_500)


async def test_esc_clears_the_filter_first_and_closes_next() -> None:
    app = PickersHost(ModelPicker(MODELS, 91_500))
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
    app = PickersHost(ModelPicker(MODELS, 91_500))
    async with app.run_test(size=(80, 24)):
        assert "offline:extractive" in app.rows[0]
        assert app.rows[0].rstrip().endswith("71%")
        assert app.rows[1].endswith("9%  current")
        assert app.rows[2].endswith("over  compacts first")
        assert app.rows[-1].endswith("?  set GOOGLE_API_KEY")
        width = app.screen.query_one(OptionList).scrollable_content_region.width
        assert all(len(row) + 2 <= width for row in app.rows)


async def test_picker_says_in_full_why_a_server_offers_nothing() -> None:
    why = "refuses access (HTTP 401): https://models.harbour.example/v1"
    rows = [*MODELS, ModelRow(choice("harbour:", None, available=False, why_not=why))]
    app = PickersHost(ModelPicker(rows, 91_500))
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
    app = PickersHost(ModelPicker(MODELS, 91_500))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*["minus" if key == "-" else key for key in keys])
        await pilot.pause()
        assert [row and row.name for row in app.results] == [result]


async def test_a_full_name_that_is_part_of_another_is_offered_as_typed() -> None:
    app = PickersHost(ModelPicker(MODELS, 91_500))
    async with app.run_test(size=(80, 24)) as pilot:
        app.screen.query_one(Input).value = "openai:gpt-5"
        await pilot.pause()
        assert app.rows[-1].startswith("use openai:gpt-5 ")
        await pilot.press("down", "enter")
        assert [row and row.name for row in app.results] == ["openai:gpt-5"]


async def test_f6_makes_a_model_the_default_of_new_sessions_and_one_that_cannot_answer_says_why() -> None:
    chosen: list[str] = []

    def make_default(name: str) -> str:
        chosen.append(name)
        return f"New sessions begin with {name}."

    app = PickersHost(ModelPicker(MODELS, 91_500, make_default=make_default))
    async with app.run_test(size=(100, 30)) as pilot:
        assert "f6 default for new sessions" in app.screen.query_one("#dialog-hints", HintRow).render().plain
        note = app.screen.query_one("#picker-note", Static)
        await pilot.press("f6")
        assert str(note.render()) == "New sessions begin with anthropic:claude-sonnet-5."
        await pilot.press(*"gemini", "f6")
        assert "cannot be used yet: set GOOGLE_API_KEY" in str(note.render())
        assert (chosen, app.results) == (["anthropic:claude-sonnet-5"], [])


async def test_a_model_that_cannot_answer_says_why_and_stays() -> None:
    app = PickersHost(ModelPicker(MODELS, 91_500))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"gemini", "enter")
        assert app.results == []
        note = str(app.screen.query_one("#picker-note", Static).render())
        assert note == "google:gemini-3-pro cannot be used yet: set GOOGLE_API_KEY"


async def test_nothing_found_says_how_to_go_on() -> None:
    app = PickersHost(ModelPicker(MODELS, 91_500))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"zzz", "enter")
        assert app.results == []
        assert "provider:model" in str(app.screen.query_one("#picker-note", Static).render())


async def test_sessions_open_the_marked_one() -> None:
    app = PickersHost(SessionsScreen(SESSIONS))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("down", "enter")
        assert app.asked == [("open", "885c8601")]


async def test_sessions_filter_by_title() -> None:
    app = PickersHost(SessionsScreen(SESSIONS))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"tide")
        await pilot.pause()
        assert len(app.rows) == 1
        await pilot.press("enter")
        assert app.asked == [("open", "885c8601")]


async def test_one_message_is_one() -> None:
    async with PickersHost(SessionsScreen([replace(SESSIONS[0], messages=1)])).run_test(
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
    app = PickersHost(SessionsScreen(SESSIONS))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("down", "f8")
        await pilot.pause()
        assert isinstance(app.screen, ConfirmDialog)
        text = str(app.screen.query_one("#confirm-text", Static).render())
        assert text == 'Delete session "Tide notes"? 14 messages, cannot be undone.'
        await pilot.press(key)
        await pilot.pause()
        assert app.asked == ([("delete", "885c8601")] if deleted else [])
        assert isinstance(app.screen, SessionsScreen) is not deleted


async def test_no_session_yet_is_said() -> None:
    app = PickersHost(SessionsScreen([]))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f8", "enter", "down")
        note = app.screen.query_one("#sessions-note", Static)
        assert str(note.render()) == "There is no other session yet."
        await pilot.press("escape")
        assert app.results == [None]


@pytest.mark.parametrize(
    ("day", "said"),
    [
        (14, "09:40"),
        (13, "yesterday"),
        (8, "Sunday"),
        (7, "2026-03-07"),
        (15, "2026-03-15"),
    ],
)
def test_when_a_session_was_last_used_is_said_as_a_user_would(day: int, said: str) -> None:
    now = datetime(2026, 3, 14, 0, 5, tzinfo=UTC)
    assert last_used(datetime(2026, 3, day, 9, 40, tzinfo=UTC), now) == said


@pytest.mark.parametrize("width", [72, 112])
def test_session_rows_line_up_and_are_clean(width: int) -> None:
    screen = SessionsScreen(SESSIONS)
    lines = [screen.line(row, width) for row in SESSIONS]
    assert lines[0].plain.startswith("ferry timetable")
    assert "10-09" in lines[0].plain
    assert "[/x] hostile one" in lines[2].plain
    assert len({line.cell_length for line in lines}) == 1
    assert all(line.cell_length <= width for line in lines)


SPENT = SessionStats(
    turns=38,
    models=(ModelStats(model="m", cost_usd=1.2),),
    compactions=(
        CompactionRow(trigger="manual", outcome="success", count=4, undone=1, cost_usd=0.7),
        CompactionRow(trigger="manual", outcome="cancelled", count=2),
    ),
)


@pytest.mark.parametrize(
    ("stats", "said"),
    [
        (None, ("", "")),
        (SessionStats(), ("", "")),
        (SPENT, ("3×", "$1.90")),
        (replace(SPENT, models=(ModelStats(model="m", cost_usd=1.2, unpriced=1),)), ("3×", "$1.90+")),
        (SessionStats(models=(ModelStats(model="m", unpriced=2),)), ("", "?")),
    ],
)
def test_what_a_session_has_spent_is_said_where_it_is_known(
    stats: SessionStats | None, said: tuple[str, str]
) -> None:
    assert spent_text(stats) == said


@pytest.mark.parametrize("wide", [True, False])
async def test_sessions_say_how_often_they_were_compacted_and_what_they_cost(wide: bool) -> None:
    def read(session: str) -> SessionStats:
        return SPENT if session == "885c8601" else SessionStats(turns=2)

    app = PickersHost(SessionsScreen(SESSIONS, stats=read))
    async with app.run_test(size=(120, 40) if wide else (80, 24)) as pilot:
        await pilot.press("down")
        await until(pilot, lambda: not wide or "3×" in app.rows[1])
        header = str(app.screen.query_one(".dialog-header", Static).render())
        assert ("context  compacted     cost  " in header) == wide
        assert re.search(r"Tide notes +38 +6\.2k +3× +\$1\.90 +2025", app.rows[1]) or not wide
        assert re.search(r"ferry timetable +2 +6\.2k +2025", app.rows[0]) or not wide
        assert ("$" in app.rows[1]) == wide
        assert {cell_len(row) for row in app.rows} == {cell_len(header)}
        await pilot.press("enter")
    assert app.asked == [("open", "885c8601")]


async def test_sessions_stand_under_their_folders_this_one_first() -> None:
    rows = [replace(SESSIONS[at], cwd=f"/home/ada/{name}") for at, name in enumerate(("a", "b", "a"))]
    app = PickersHost(SessionsScreen(rows, here="/home/ada/b", home="/home/ada"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        title = str(app.screen.query_one(".dialog-title", Static).render())
        assert title.split("  ")[:2] == ["Sessions", "~/b"]
        assert title.endswith("   3")
        options = app.screen.query_one(OptionList)
        seen = [options.render_line(y).text.strip() for y in range(4)]
        assert seen[0].startswith("▸ Tide notes")
        assert seen[1:3] == ["", "~/a"]
        assert seen[3].startswith("ferry timetable")
        await pilot.press("down", "enter")
    assert app.asked == [("open", "885c8600")]


async def test_sessions_whose_figures_cannot_be_read_are_listed_all_the_same() -> None:
    def read(session: str) -> SessionStats:
        raise sqlite3.OperationalError("no such table")

    app = PickersHost(SessionsScreen(SESSIONS, stats=read))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*"tide", "enter")
    assert app.asked == [("open", "885c8601")]


@pytest.mark.parametrize("kind", ["models", "sessions"])
async def test_typing_faster_than_the_list_is_filled_does_no_harm(kind: str) -> None:
    screen = ModelPicker(MODELS, 0) if kind == "models" else SessionsScreen(SESSIONS)
    app = PickersHost(screen)
    async with app.run_test(size=(80, 24)) as pilot:
        search = app.screen.query_one(Input)
        for key in "zz":  # both in one read of the terminal
            search.post_message(events.Key(key, key))
        await pilot.pause()
        assert app.screen.query_one(OptionList).option_count == 0
        await pilot.press("enter", "down", "escape", "escape")
    assert app.results == [None]


def test_what_a_row_is_about_keeps_its_room_in_a_narrow_window() -> None:
    found = replace(hit(1), snippet="the tide turns at noon", hits=((4, 8),), title="harbour")
    task = TaskRow(
        id="t1", command="npm run dev", how="running", is_running=True, failed=False, age_s=754, lines=1
    )
    hits, tasks = SearchScreen(lambda _, __: iter(())).table, Table(TasksScreen.SPEC.columns)
    for width in (28, 30, 64):
        assert "tide" in hits.line(found, width).plain
        assert "npm run" in tasks.line(task, width).plain
        assert len(tasks.line(task, width).plain) <= width
    assert "12 min 34 s  npm" in tasks.line(task, 64).plain


# Searching all sessions: progress, partial results, and cancelling.


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
    """A search that waits before each part until it is released."""

    def __init__(self) -> None:
        self.go = threading.Semaphore(0)
        self.ended = threading.Event()
        self.begun = False

    def __call__(self, words: str, stopped: Callable[[], bool]) -> Generator[Searched, None, None]:
        try:
            for part in range(1, 4):
                while not self.go.acquire(timeout=0.01):
                    if stopped():
                        return
                self.begun = True
                yield Searched([hit(number) for number in range(part, 0, -1)], part * 10, 30)
        finally:
            self.ended.set()


class SearchDialogHost(ThemedApp):
    def __init__(self, screen: SearchScreen) -> None:
        super().__init__()
        self._first = screen
        self.results: list[Any] = []

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


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_search, "SLOW_S", 0.001)


async def until(pilot: "Pilot[None]", condition: Callable[[], object]) -> None:
    for _ in range(2_000):
        if condition():
            return
        await pilot.pause(0.005)
    raise AssertionError("never came")


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_it_says_how_far_it_is_and_stops_with_what_was_found(key: str) -> None:
    slow = Slow()
    app = SearchDialogHost(SearchScreen(slow))
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
        assert app.found.option_count == 1
        await pilot.press("escape")
        await until(pilot, lambda: app.results == [None])


@pytest.mark.usefixtures("_at_once")
async def test_what_is_typed_meanwhile_stops_the_search_before() -> None:
    slow = Slow()
    app = SearchDialogHost(SearchScreen(slow))
    async with app.run_test(size=(80, 24)) as pilot:
        app.screen.query_one(Input).value = "tide"
        await until(pilot, lambda: "searching" in app.title_row)
        app.screen.query_one(Input).value = ""
        await until(pilot, slow.ended.is_set)
        assert app.title_row == "Search all sessions"


@pytest.mark.usefixtures("_at_once")
async def test_a_resize_searches_nothing_anew_and_each_search_begins_at_its_best_hit() -> None:
    searched: list[str] = []

    def quick(words: str, stopped: Callable[[], bool]) -> Generator[Searched, None, None]:
        searched.append(words)
        yield Searched([hit(1), hit(2)], 30, 30)

    app = SearchDialogHost(SearchScreen(quick))
    async with app.run_test(size=(80, 24)) as pilot:
        app.screen.query_one(Input).value = "tide"
        await until(pilot, lambda: app.found.option_count == 2)
        await pilot.press("down")
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: app.screen.size.width == 120)
        assert (searched, app.found.highlighted) == (["tide"], 1)
        app.screen.query_one(Input).value = "tides"
        await until(pilot, lambda: searched == ["tide", "tides"] and app.found.highlighted == 0)


@pytest.mark.usefixtures("_at_once")
async def test_stopped_before_anything_is_found_nothing_of_another_search_is_left() -> None:
    slow = Slow()
    app = SearchDialogHost(SearchScreen(slow))
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


@pytest.mark.usefixtures("_at_once")
async def test_a_failure_ends_the_search() -> None:
    def failing(words: str, stopped: Callable[[], bool]) -> Generator[Searched, None, None]:
        raise SearchFailed("The sessions cannot be searched.")
        yield Searched(())

    app = SearchDialogHost(SearchScreen(failing))
    async with app.run_test(size=(80, 24)) as pilot:
        app.screen.query_one(Input).value = "tide"
        note = app.screen.query_one("#search-note", Static)
        await until(pilot, lambda: "cannot be searched" in str(note.render()))
        assert app.title_row == "Search all sessions"


@pytest.mark.usefixtures("_at_once")
def test_a_server_counts_no_sessions() -> None:
    assert title_of(Searched(()), "looking") == "Search all sessions · searching · esc stops"
    assert title_of(Searched(()), "stopped") == "Search all sessions · stopped"


@pytest.mark.usefixtures("_at_once")
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
    app = SearchDialogHost(SearchScreen(searching))
    async with app.run_test(size=(80, 24)) as pilot:
        app.screen.query_one(Input).value = "tide"
        await until(pilot, lambda: app.found.option_count == 1)
        await pilot.press("escape")
        await until(pilot, slow.ended.is_set)
