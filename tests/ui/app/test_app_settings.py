"""Settings, key bindings and themes: shown, changed in the file, and applied at once where possible."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from rich.color import Color as RichColor
from rich.color import ColorSystem
from textual.color import Color
from textual.theme import Theme
from textual.widgets import Input, OptionList, Static

from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.kit import SMALL, USUAL, WIDE, Deck, Desk, shown
from tui_app.context.policy import PLIMSOLL, SLIDING_WINDOW
from tui_app.settings import load_settings
from tui_app.settings.entries import Entry
from tui_app.settings.rules import Effect
from tui_app.settings.sources import Origin
from tui_app.ui.colours.palette import contrast
from tui_app.ui.colours.themes import THEMES, colour_system, theme_of_256
from tui_app.ui.dialogs.choices import policy_outlook
from tui_app.ui.dialogs.compactions.context import ContextScreen
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.list import ChoiceDialog, ListDialog
from tui_app.ui.dialogs.questions import EditDialog
from tui_app.ui.dialogs.setup.settings import SettingsScreen, ThemePicker, value_text
from tui_app.ui.panels.gauge import ContextGauge
from tui_app.ui.panels.header import ChatHeader
from tui_app.ui.words.glyphs import UNICODE
from tui_app.usage import Breakdown, ContextUsage, ContextWindow

FILE = """\
# mine
theme = "plimsoll-dark" # at night
bell_after_s = 5.0

[keymap] # fingers
"chat.context" = "f6"

[policies.careful]
base = "plimsoll"
recent_share = 0.3

[[hooks.preTool]]
command = ["true"]

[themes.dusk]
base = "plimsoll-dark"
accent = "#ffb000"
"""


@pytest.fixture
def file(desk: Desk) -> Path:
    """A settings file and the settings parsed from it."""
    desk.paths.ensure()
    desk.paths.config_file.write_text(FILE)
    desk.settings = load_settings(desk.paths, desk.env)
    return desk.paths.config_file


def text_of(file: Path) -> str:
    return file.read_text()


def spoil(file: Path) -> None:
    file.write_text("windw = 3\n")


async def open_settings(deck: Deck, words: str = "") -> None:
    await deck.ready()
    await deck.send(f"/settings {words}".rstrip())
    await deck.until(lambda: isinstance(deck.app.screen, SettingsScreen), "the settings")
    await deck.settle()


def rows(deck: Deck) -> list[str]:
    options = deck.app.screen.query_one(OptionList).options
    return [str(option.prompt) for option in options if not option.disabled]


def note(deck: Deck) -> str:
    return str(deck.app.screen.query_one("#settings-note", Static).render())


async def test_every_setting_stands_there_with_value_and_source(desk: Desk, file: Path) -> None:
    desk.env["PLIMSOLL_WINDOW"] = "9000"
    desk.env["NO_ANIMATION"] = "1"
    async with shown(desk.app(flags={"plain": None, "policy": "off"}), WIDE) as deck:
        await open_settings(deck)
        table = {row.split()[0]: " ".join(row.split()[1:]) for row in (row[10:] for row in rows(deck))}
        assert set(table) == set(desk.settings.__dataclass_fields__)
        assert table["theme"].split() == ["plimsoll-dark", "your", "file"]
        assert table["window"].split() == ["9k", "tokens", "PLIMSOLL_WINDOW"]
        assert table["animations"].split() == ["off", "NO_ANIMATION"]
        assert table["policy"].split() == ["off", "--policy"]
        assert table["model"].split() == ["by", "your", "API", "keys"]
        assert table["policies"].split() == ["careful", "your", "file"]


@pytest.mark.parametrize(
    ("env", "few"),
    [
        ({}, False),
        ({"TERM": "xterm"}, True),
        ({"TERM": "xterm-16color"}, True),
        ({"TERM": "linux", "COLORTERM": ""}, True),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-kitty"}, False),
        ({"TERM": "alacritty", "COLORTERM": "truecolor"}, False),
        ({"TERM": "xterm", "TEXTUAL_COLOR_SYSTEM": "256"}, False),
        ({"TERM": "xterm-256color", "TEXTUAL_COLOR_SYSTEM": "standard"}, True),
    ],
)
def test_which_terminals_have_colours_of_their_own_only(env: dict[str, str], few: bool) -> None:
    assert (colour_system(env) == "standard") is few


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_a_terminal_of_256_colours_has_our_grounds_and_text(theme: Theme) -> None:
    """The nearest of the 256 colours are black for two backgrounds and dark blue for the third."""
    shown = theme_of_256(theme)

    def painted(colour: str | None) -> Color:
        downgraded = RichColor.parse(str(colour)).downgrade(ColorSystem.EIGHT_BIT)
        return Color.from_rich_color(downgraded)

    grounds = [painted(shown.background), painted(shown.panel), painted(shown.surface)]
    assert len(set(grounds)) == 3, "panels are seen"
    assert all(max(ground.rgb) - min(ground.rgb) < 8 for ground in grounds), "and are grey"
    texts = ("text-muted", "text-warning", "text-error", "text-success", "code-inline", "syn-keyword")
    for name in texts:
        assert all(contrast(painted(shown.variables[name]), ground) >= 4.5 for ground in grounds), name
    for line in ("added", "removed"):
        text, row = shown.variables[f"{line}-line"], shown.variables[f"{line}-row"]
        assert contrast(painted(text), painted(row)) >= 4.5


@pytest.mark.parametrize(("theme", "painted"), [("plimsoll-light", "ansi-light"), ("nord", "ansi-dark")])
async def test_sixteen_colours_are_the_terminals(desk: Desk, theme: str, painted: str) -> None:
    desk.env["TERM"] = "xterm-16color"
    desk.change(theme=theme)
    async with shown(desk.app()) as deck:
        await deck.ready()
        assert deck.app.theme == theme
        assert deck.app.current_theme.name == painted
        assert deck.app.chat.styles.background.ansi is not None


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("retries", "4", "4 times"),
        ("retries", "1", "1 time"),
        ("retries", "0", "never"),
        ("max_steps", "200", "200 requests a turn"),
        ("explore.max_steps", "1", "1 request a turn"),
        ("window", "128000", "128k tokens"),
        ("bell_after_s", "0.0", "never"),
        ("command_timeout_s", "120.0", "120 s"),
        ("memory_limit_mb", "1024", "1,024 MB"),
        ("session_files_mb", "0", "no limit"),
        ("background_threshold", "0.8", "80%"),
        ("theme", "nord", "nord"),
    ],
)
def test_a_number_says_of_what(key: str, value: str, said: str) -> None:
    origin = Origin("default", "")
    entry = Entry(key=key, value=value, origin=origin, help="", takes_effect=Effect.NOW, allowed="")
    assert value_text(entry) == said


async def test_no_row_is_wider_than_its_list(desk: Desk) -> None:
    async with shown(desk.app(), WIDE) as deck:
        await deck.ready()
        for size, key in product((WIDE, USUAL, (60, 24), (80, 17)), ("ctrl+p", "ctrl+l", "f1")):
            await deck.pilot.resize_terminal(*size)
            await deck.press(key)
            await deck.until(lambda: isinstance(deck.app.screen, ListDialog))
            await deck.settle()
            dialog = deck.app.screen
            assert isinstance(dialog, ListDialog)
            padding = dialog.options.get_component_styles("option-list--option").padding
            room = dialog.options.scrollable_content_region.width - padding.width
            assert dialog.row_width <= room, (size, key)
            await deck.press("escape")
            await deck.until(lambda: deck.app.screen is deck.app.chat)


async def test_a_flag_toggles_and_acts_at_once(desk: Desk, file: Path) -> None:
    async with shown(desk.app(), WIDE) as deck:
        await open_settings(deck, "timeline")
        assert deck.app.chat.pane.has_class("-timeline")
        await deck.press("enter")
        await deck.until(lambda: "timeline is false" in note(deck))
        assert rows(deck)[0].split() == ["Look", "timeline", "off", "your", "file"]
        assert text_of(file) == FILE.replace("\n\n[keymap]", "\ntimeline = false\n\n[keymap]")
        assert not deck.app.chat.pane.has_class("-timeline")
        await deck.press("f8")
        await deck.until(lambda: "is at its default" in note(deck))
        assert "Written" not in note(deck)
        assert "does not set it" in note(deck)
        assert text_of(file) == FILE
        assert deck.app.chat.pane.has_class("-timeline")


async def test_a_number_is_typed_and_a_wrong_one_is_refused_with_what_is_allowed(
    desk: Desk, file: Path
) -> None:
    async with shown(desk.app(), USUAL) as deck:
        await open_settings(deck, "bell")
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, EditDialog))
        deck.app.screen.query_one(Input).value = "soon"
        await deck.press("enter")
        await deck.says("bell_after_s is 'soon'; allowed: seconds; 0 never.")
        assert deck.app.screen.query_one(Input).value == "soon"
        assert text_of(file) == FILE
        deck.app.screen.query_one(Input).value = "9"
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, SettingsScreen))
        assert text_of(file) == FILE.replace("5.0", "9.0")
        assert deck.app.terminal_title.bell_after_s == 9.0
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, EditDialog))
        await deck.press("escape")
        await deck.until(lambda: isinstance(deck.app.screen, SettingsScreen))
        await deck.until(lambda: note(deck) == "Nothing was changed.")


async def test_what_ranks_above_the_file_cannot_be_changed_here(desk: Desk, file: Path) -> None:
    desk.env["PLIMSOLL_THEME"] = "nord"
    async with shown(desk.app(), USUAL) as deck:
        await open_settings(deck, "theme nord")
        assert "PLIMSOLL_THEME sets it and overrides the file: change it there." in note(deck)
        for key in ("enter", "f8"):
            await deck.press(key)
            await deck.until(lambda: note(deck).startswith("theme: PLIMSOLL_THEME sets it"))
        assert text_of(file) == FILE


async def test_keys_are_listed_and_changed_and_a_clash_is_reported(desk: Desk, file: Path) -> None:
    async with shown(desk.app(), WIDE) as deck:
        await open_settings(deck, "keymap")
        await deck.press("enter")
        await deck.says("chat.compact")
        assert [row.split()[1:] for row in rows(deck) if "chat.context" in row] == [["f6", "your", "file"]]
        await deck.press(*"chat.compact")
        await deck.until(lambda: len(rows(deck)) == 1)
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, EditDialog))
        deck.app.screen.query_one(Input).value = "ctrl+l"
        await deck.press("enter")
        await deck.says(
            "ctrl+l is a key of chat.models. Choose another, or give chat.models another key first."
        )
        assert "command line" not in deck.text, "it was written here"
        deck.app.screen.query_one(Input).value = "ctrl+k"
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, SettingsScreen))
        assert '"chat.context" = "f6"\n"chat.compact" = "ctrl+k"\n\n[policies' in text_of(file)
        await deck.press("escape", "escape")
        await deck.until(lambda: "ctrl+k compact" in deck.hints)
        assert "f6 context" in deck.hints


TABLES = {
    "policies": ["[careful]", "recent_share = 0.3"],
    "hooks": ["[preTool]", 'command = ["true"]'],
    "themes": ["[dusk]", 'accent = "#ffb000"'],
    "endpoints": ["None yet."],
}


async def test_tables_are_shown_in_full_with_how_to_edit_them(desk: Desk, file: Path) -> None:
    async with shown(desk.app(), WIDE) as deck:
        await open_settings(deck)
        screen = deck.app.screen
        assert isinstance(screen, SettingsScreen)
        for key, words in TABLES.items():
            at = next(index for index, row in enumerate(rows(deck)) if row.split()[0] == key)
            screen.mark(at)
            await deck.press("enter")
            await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen))
            await deck.settle()
            assert [word for word in (*words, "Written in") if word not in deck.text] == []
            await deck.press("escape")
            await deck.until(lambda: deck.app.screen is screen)
            assert screen.at == at


async def test_choices_are_a_list_and_count_from_the_next_session(desk: Desk, file: Path) -> None:
    async with shown(desk.app(), USUAL) as deck:
        await open_settings(deck, "policy")
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, ChoiceDialog))
        assert {"plimsoll current", "careful"} <= set(rows(deck))
        await deck.press(*"care", "enter")
        await deck.until(lambda: isinstance(deck.app.screen, SettingsScreen))
        await deck.until(lambda: "policy is careful, from the next session" in note(deck))
        await deck.press("escape", "escape")
        await deck.send("/new")
        await deck.until(lambda: deck.app.chat.is_ready and deck.app.chat.session.state.policy == "careful")


async def test_sixteen_colours_say_why_every_dark_theme_looks_the_same(desk: Desk) -> None:
    desk.env |= {"TERM": "xterm-256color", "TEXTUAL_COLOR_SYSTEM": "standard"}
    async with shown(desk.app(), USUAL) as deck:
        await deck.ready()
        await deck.send("/theme")
        await deck.until(lambda: isinstance(deck.app.screen, ThemePicker))
        await deck.says("This terminal has 16 colours: all dark themes look the same in it.")
        await deck.press("down")
        await deck.says("all light themes look the same in it.")
        await deck.press(*"ansi-dark")
        await deck.until(lambda: deck.app.theme == "ansi-dark")
        assert "look the same" not in deck.text


async def test_themes_are_painted_while_marked_and_escape_brings_the_old_one_back(
    desk: Desk, file: Path
) -> None:
    async with shown(desk.app(), USUAL) as deck:
        await deck.ready()
        await deck.send("/theme")
        await deck.until(lambda: isinstance(deck.app.screen, ThemePicker))
        await deck.press("down")
        await deck.until(lambda: deck.app.theme == "plimsoll-light")
        await deck.says("light; text on its background")
        await deck.press("down", "escape")
        await deck.until(lambda: not isinstance(deck.app.screen, ThemePicker))
        assert deck.app.theme == "plimsoll-dark"
        assert text_of(file) == FILE
        await deck.send("/theme")
        await deck.until(lambda: isinstance(deck.app.screen, ThemePicker))
        await deck.press(*"dusk", "enter")
        await deck.says("Theme dusk, saved for the next start.")
        assert deck.app.theme == "dusk"
        assert deck.app.theme_variables["text-accent"] == "#ffb000"
        assert 'theme = "dusk" # at night' in text_of(file)


async def test_a_theme_by_name_and_one_that_is_not_there(desk: Desk, file: Path) -> None:
    async with shown(desk.app(), WIDE) as deck:
        await deck.ready()
        await deck.send("/theme nord")
        await deck.until(lambda: deck.app.theme == "nord")
        await deck.send("/theme nrd")
        await deck.says("No theme nrd. /theme lists them.")
        assert deck.app.theme == "nord"


async def test_a_theme_given_by_the_environment_is_changed_for_now_only(desk: Desk, file: Path) -> None:
    desk.env["PLIMSOLL_THEME"] = "nord"
    desk.settings = load_settings(desk.paths, desk.env)
    async with shown(desk.app(), WIDE) as deck:
        await deck.ready()
        await deck.send("/theme dusk")
        await deck.says("Theme dusk for now: PLIMSOLL_THEME gives another one at the next start.")
        assert deck.app.theme == "dusk"
        assert text_of(file) == FILE


async def test_a_file_that_went_wrong_meanwhile_is_told(desk: Desk, file: Path) -> None:
    async with shown(desk.app(), USUAL) as deck:
        await deck.ready()
        spoil(file)
        await deck.send("/settings")
        await deck.says("unknown setting 'windw'. Did you mean window?")


async def test_a_file_that_cannot_be_written_is_told(
    desk: Desk, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    async with shown(desk.app(), USUAL) as deck:
        await open_settings(deck, "timeline")
        monkeypatch.setattr("tui_app.settings.edit.write_atomic", full)
        await deck.press("enter")
        await deck.until(lambda: "cannot be written: No space left on device" in note(deck))
        assert rows(deck)[0].split()[2] == "on"


async def test_settings_at_40x12(desk: Desk, file: Path) -> None:
    async with shown(desk.app(), SMALL) as deck:
        await open_settings(deck)
        options = deck.app.screen.query_one(OptionList)
        assert options.size.height >= 3
        assert any(row.strip("│ ▸").startswith("model") and "by your API keys" in row for row in deck.rows)


# Showing and changing the policy.


MINE = {"mine": {"base": "reserve"}}


async def test_a_policy_is_picked_with_what_it_would_do_here(served: Desk) -> None:
    served.change(policies=MINE)
    async with shown(served.app(served.store(Story().turns(2)))) as deck:
        await deck.ready()
        await deck.send("/policy")
        await deck.until(lambda: isinstance(deck.app.screen, ChoiceDialog), "the policies")
        await deck.says("plimsoll current")
        await deck.says("compacts in the background at 80%")
        await deck.says("Here: compacts from")
        await deck.press(*"mine")
        await deck.says("your own, made from reserve")
        await deck.press("enter")
        await deck.says("Policy: mine")


def test_what_a_policy_would_do_with_the_conversation_at_hand() -> None:
    window = ContextWindow(limit=100_000, source="setting", reserve=10_000)
    usage = ContextUsage(parts=Breakdown(user=50_000), window=window, messages=40)
    full = replace(usage, parts=Breakdown(user=89_000))
    assert policy_outlook(PLIMSOLL, None) == f"{PLIMSOLL.about}."
    assert policy_outlook(PLIMSOLL, usage).endswith("Here: compacts from 80.0k tokens on, now 50.0k.")
    assert policy_outlook(PLIMSOLL, full).endswith("Here: compacts with the next request.")
    assert policy_outlook(SLIDING_WINDOW, replace(usage, messages=2)).endswith("Here: compacts nothing yet.")
    assert "Here" not in policy_outlook(replace(PLIMSOLL, automatic=False), full)


async def test_a_change_is_said_shown_and_kept(served: Desk) -> None:
    story = served.store(Story().turns(2))
    async with shown(served.app(story)) as deck:
        await deck.ready()
        await deck.send("/policy sliding-window")
        await deck.says("Policy: sliding-window")
        assert "sliding-window" in deck.widget(ChatHeader)
        assert UNICODE.load_mark in deck.widget(ContextGauge), "a request that does not fit waits in any case"
        await deck.press("f3")
        await deck.until(lambda: isinstance(deck.app.screen, ContextScreen), "the context screen")
        assert "compacts by the number of messages" in deck.text
    async with shown(served.app(story)) as deck:
        await deck.ready()
        assert "sliding-window" in deck.widget(ChatHeader)
        await deck.send("/policy off")
        await deck.says("Policy: off")
        assert "┃" not in deck.widget(ContextGauge)


async def test_a_name_nobody_knows_changes_nothing(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("/policy plimsol")
        await deck.says("No policy plimsol. Choose one of plimsoll,")
        assert deck.app.chat.session.state.policy == "plimsoll"


# Showing and changing the reasoning effort.


async def test_the_effort_is_shown_and_changed(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("Ebb."))
    async with shown(served.app(), WIDE) as deck:
        await deck.ready()
        await deck.send("And?")
        await deck.answered()
        assert "effort" not in deck.rows[0]
        await deck.send("/effort")
        await deck.says("default current")
        await deck.press("down", "down", "down", "down")
        await deck.says("Enough for most work.")
        await deck.press("enter")
        await deck.says("effort medium")
        await deck.send("/effort enormous")
        await deck.until(lambda: deck.status.startswith("No effort enormous."), "why not")
        await deck.send("/effort High")
        await deck.says("effort high")
        await deck.send("/status")
        await deck.says("Effort        high")
        session = deck.app.chat.session.id
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        await deck.says("effort high")
