"""Every way through the dialogs: keys, defaults, Esc, and that nothing dangerous happens by accident."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.screen import ModalScreen
from textual.widgets import Button, Input, OptionList, Static, TextArea

from tests.ui.plans import SWITCH
from tui_app.ui import type_ahead as lone_letter
from tui_app.ui.dialogs.base import ConfirmDialog, DetailsScreen, EditDialog
from tui_app.ui.dialogs.help import HelpScreen, help_rows
from tui_app.ui.dialogs.models import WAYS, SwitchDialog, size_text, switch_lines
from tui_app.ui.themes import THEMES
from tui_app.ui.type_ahead import QUIET_S
from tui_app.ui.widgets import HintRow

QUESTION = 'Delete session "[/x] Tide notes"? 14 messages, cannot be undone.'


class Host(App[None]):
    def __init__(self, make: Callable[[], ModalScreen[Any]]) -> None:
        super().__init__()
        self._make = make
        self.results: list[object] = []

    def compose(self) -> ComposeResult:
        yield Static("behind", markup=False)

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = THEMES[0].name
        self.push_screen(self._make(), self.results.append)


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
    app = Host(lambda: ConfirmDialog(QUESTION, clock=clock))
    async with app.run_test(size=(80, 24)) as pilot:
        clock.now += QUIET_S
        await pilot.press(*keys)
        assert app.results == [result]


async def test_confirm_takes_no_letter_of_a_person_who_is_still_writing() -> None:
    clock = Clock()
    shown = ConfirmDialog(QUESTION, clock=clock)
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
    app = Host(lambda: ConfirmDialog(QUESTION, clock=clock))
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
    shown = ConfirmDialog(QUESTION, clock=clock)
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
    app = Host(lambda: ConfirmDialog(QUESTION, clock=clock))
    async with app.run_test(size=(80, 24)) as pilot:
        clock.now += QUIET_S
        await pilot.press(*keys)
        assert app.results == results


async def test_confirm_hears_a_letter_that_nothing_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lone_letter, "ALONE_S", 0.01)
    clock = Clock()
    app = Host(lambda: ConfirmDialog(QUESTION, clock=clock))
    async with app.run_test(size=(80, 24)) as pilot:
        clock.now += QUIET_S
        await pilot.press("y")
        while not app.results:
            await pilot.pause(0.005)
        assert app.results == [True]


async def test_confirm_shows_the_text_as_it_is_and_the_verbs() -> None:
    app = Host(lambda: ConfirmDialog(QUESTION, verb="Quit", keep="Stay"))
    async with app.run_test(size=(80, 24)):
        assert str(app.screen.query_one("#confirm-text", Static).render()) == QUESTION
        assert [str(button.label) for button in app.screen.query(Button)] == ["Quit", "Stay"]
        assert app.screen.focused is app.screen.query_one("#confirm-keep")


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def late(clock: Clock) -> Host:
    """The dialog as it comes up while a person writes."""
    return Host(lambda: SwitchDialog(SWITCH, clock=clock))


@pytest.mark.parametrize(
    ("keys", "result"),
    [
        (["enter"], "cancel"),
        (["up", "enter"], "anyway"),
        (["up", "up", "enter"], "compact"),
        (["home", "enter"], "compact"),
        (["escape"], "cancel"),
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
        assert late.screen.query_one(OptionList).highlighted == WAYS.index("cancel")
        clock.now += QUIET_S
        await pilot.press("up", "enter")
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
        assert late.results == ["cancel"]


async def test_a_paste_is_kept_and_escape_needs_no_quiet(late: Host) -> None:
    async with late.run_test(size=(80, 24)) as pilot:
        shown = dialog(late)
        late.screen.query_one(OptionList).post_message(events.Paste("two\nlines"))
        await pilot.press("x", "escape")
        assert late.results == ["cancel"]
        assert shown.typed == "two\nlinesx"


def dialog(app: Host) -> SwitchDialog:
    assert isinstance(app.screen, SwitchDialog)
    return app.screen


@pytest.mark.parametrize(
    ("possible", "keys", "result"),
    [
        ({"can_truncate": False}, ["up", "enter"], "compact"),
        ({"can_compact": False}, ["up", "up", "enter"], "cancel"),
        ({"can_compact": False}, ["home", "enter"], "anyway"),
        ({"can_compact": False, "can_truncate": False}, ["up", "enter"], "cancel"),
    ],
)
async def test_what_cannot_make_it_fit_is_not_offered(
    clock: Clock, possible: dict[str, bool], keys: list[str], result: str
) -> None:
    app = Host(lambda: SwitchDialog(replace(SWITCH, **possible), clock=clock))
    async with app.run_test(size=(80, 24)) as pilot:
        clock.now += QUIET_S
        await pilot.press(*keys)
        assert app.results == [result]


def test_a_compaction_that_cannot_help_says_why_with_both_numbers() -> None:
    plan = replace(SWITCH, can_compact=False, estimate_after=33_400, usable=28_000)
    assert switch_lines(plan)[0] == "not possible: 33.4k must stay, 28k fit beside the answer"


def test_a_model_that_counts_otherwise_is_said_to() -> None:
    plan = replace(SWITCH, tokens=140_000, tokens_now=91_500)
    assert size_text(plan) == "91.5k, which it counts as about 140k"
    assert size_text(replace(plan, tokens=92_000)) == "91.5k"


async def test_switch_says_the_numbers_whole_at_80_columns() -> None:
    app = Host(lambda: SwitchDialog(SWITCH))
    async with app.run_test(size=(80, 24)):
        assert switch_lines(SWITCH) == (
            "about 6k after · summary by claude-sonnet-5 · ~$0.20",
            "drops the oldest 61k for each request, keeps the last 9 turns",
            "stay on claude-sonnet-5",
        )
        title = str(app.screen.query(".dialog-title").first().render())
        assert title == "openai:gpt-5-nano holds 32k. This conversation is 91.5k."
        options = app.screen.query_one(OptionList)
        widest = max(len(line) for option in options.options for line in str(option.prompt).split("\n"))
        assert widest <= options.scrollable_content_region.width


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
        everything = [str(option.prompt) for option in options.options]
        assert any(row.split()[:2] == ["ctrl+k", "Compact"] for row in everything)
        assert any(row.split()[:2] == ["u", "Undo"] and "in a compaction" in row for row in everything)
        await pilot.press(*"theme")
        await pilot.pause()
        assert [str(option.prompt).split()[0] for option in options.options] == ["/theme"]
        await pilot.press("enter")
        assert [each.name for each in app.results] == ["theme"]


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
        assert row.rstrip().endswith("copied all")
        assert "esc close" in row
        assert not app.screen.query("Toast")
