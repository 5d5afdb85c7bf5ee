"""Accessibility: contrast, visible focus, text labels for colours, and small terminals."""

import importlib
import pkgutil
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from textual.actions import parse
from textual.binding import Binding
from textual.color import Color
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget

import tui_app.ui
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app import scenes
from tests.ui.app.scenes import (
    CHOICES,
    DIALOGS,
    DONE,
    MODEL,
    SCENES,
    compacted_talk,
    compared,
    long_question,
    talk,
)
from tests.ui.app.story import MODEL as SMALL_MODEL
from tests.ui.app.story import Story
from tests.ui.app.test_app_gauge import story
from tests.ui.kit import SMALL, USUAL, WIDE, Deck, Desk, Run, runs, shown, timed
from tests.ui.plans import CURRENT, SWITCH, proposed
from tui_app.agent import catalog as catalogue
from tui_app.chat_keys import ACTION_KEYS, key_labels
from tui_app.events import Error
from tui_app.ui.chat.pane import MORE_ROOM
from tui_app.ui.colours.palette import MIN_CONTRAST, STROKE_CONTRAST, contrast
from tui_app.ui.colours.themes import THEMES
from tui_app.ui.dialogs.compaction import CompactionDetail
from tui_app.ui.dialogs.dialog import Dialog
from tui_app.ui.dialogs.help_rows import help_rows
from tui_app.ui.dialogs.models import SwitchDialog
from tui_app.ui.dialogs.palette import own_bindings, palette_rows
from tui_app.ui.dialogs.review import ReviewScreen
from tui_app.ui.dialogs.sessions.rewind import PromptPicker
from tui_app.ui.keyboard.stray_keys import LEADS_ON
from tui_app.ui.slash_commands import COMMANDS
from tui_app.ui.timeline import Timeline
from tui_app.ui.transcript.transcript import Transcript
from tui_app.ui.widgets.hint_row import HintRow

DRAWN = re.compile("[\u2500-\u259f\u2800-\u28ff\U0001f300-\U0001faff]")


WITHOUT_DIALOG = frozenset(
    {
        "chat",
        "draft",
        "commands",
        "conversation",
        "unfolded",
        "timeline",
        "notice",
        "find",
        "marked",
        "question",
        "asked",
        "todo",
        "palette",
    }
)
"""Scenes that show only the chat; the palette is not available above itself either."""
WALKING = frozenset({"move", "page", "first", "last"})
"""Actions that apply only while the list has focus."""


@pytest.fixture
def full(desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A desk with a server, and with settings that are also in a file."""

    async def list_models(**_: object) -> list[Any]:
        return CHOICES

    monkeypatch.setattr(catalogue, "list_models", list_models)
    return desk.serve(fake_openai).change(model=MODEL)


def everything(desk: Desk) -> str:
    """A session with tool calls, a compaction and an error."""
    error = Error(kind="auth", message="The key was refused.", hint="Set OPENAI_API_KEY.", detail="401")
    desk.store(talk())
    return desk.store(talk(125_000).compacted(DONE).user("and holidays").add(error))


IN_TURN = ("chat", "draft", "commands", "palette", "conversation", "unfolded", "timeline", "notice")
"""Chat scenes run one after another. What one changes (such as expanded rows) stays in the next."""
ALONE = (WITHOUT_DIALOG | {"brief"}) - {*IN_TURN}
"""Scenes that need their own app, because what they change or store would remain."""
DIALOG_SCENES = [scene for scene in SCENES if scene not in ALONE and scene not in IN_TURN]
WALKS = [
    IN_TURN,
    *((scene,) for scene in SCENES if scene in ALONE),
    *(tuple(DIALOG_SCENES[start : start + 8]) for start in range(0, len(DIALOG_SCENES), 8)),
]
"""Scenes shown by one app in turn: each dialog is closed before the next scene."""
walks = pytest.mark.parametrize("walk", WALKS, ids=[f"{walk[0]} to {walk[-1]}" for walk in WALKS])


async def at(deck: Deck, scene: str, size: tuple[int, int] = WIDE) -> None:
    """Run a scene in a ready app, wherever the previous scene ended."""
    await deck.back()
    await in_size(deck, size)
    await SCENES[scene](deck)
    if scene in DIALOGS:
        await deck.until(lambda: isinstance(deck.app.screen, DIALOGS[scene][0]), "the dialog")
    await deck.settle()


async def in_size(deck: Deck, size: tuple[int, int]) -> None:
    """Resize and lay out the app only if its size differs."""
    if deck.app.size != size:
        await deck.pilot.resize_terminal(*size)
    await deck.settle()


@walks
async def test_text_has_contrast_focus_is_seen_keys_are_in_the_palette_and_all_fits(
    full: Desk, walk: Sequence[str]
) -> None:
    async with shown(full.app(everything(full)), WIDE) as deck:
        await deck.ready()
        for scene in walk:
            await at(deck, scene)
            await in_colour_and_at_all_sizes(deck, scene, *([LARGE] if scene == walk[-1] else []))


IN_COLOUR, OF_THE_TERMINAL = ("plimsoll-dark", "plimsoll-light"), "ansi-dark"


LARGE = (200, 60)
"""A size with the same layout classes as the wide one, so one scene of each walk is enough."""


async def in_colour_and_at_all_sizes(deck: Deck, scene: str, *more: tuple[int, int]) -> None:
    """Check every theme, starting with the current one; the next scene starts with the last."""
    order = sorted((*IN_COLOUR, OF_THE_TERMINAL), key=lambda name: name != deck.app.theme)
    looks = []
    for theme in order:
        deck.app.theme = theme
        await deck.settle()
        looks.append(painted(deck))
        if theme == OF_THE_TERMINAL:
            assert unseen(deck) == set()
        else:
            assert faint(deck) == set()
            await the_focus_is_seen(deck)
    assert all(one != other for one, other in combinations(looks, 2))
    if scene not in WITHOUT_DIALOG:
        await keys_are_offered(deck)
    for size in (WIDE, SMALL, USUAL, *more):
        await in_size(deck, size)
        await fits(deck, size)
        if isinstance(screen := deck.app.screen, Dialog):
            assert screen.is_seen, f"no key may decide anything in {scene} at {size}"
    await no_key_decides_what_is_not_seen(deck, scene)


async def no_key_decides_what_is_not_seen(deck: Deck, scene: str) -> None:
    """In a terminal too small for a dialog, its keys may only navigate or close it."""
    screen = deck.app.screen
    if not isinstance(screen, Dialog):
        return
    await in_size(deck, (24, 1))
    before = deck.app.chat.session.presenter.last
    deciding = ["enter", *(key for key in screen.active_bindings if key not in LEADS_ON | SHOWING)]
    await deck.press(*deciding)
    await deck.settle()
    assert deck.app.screen is screen, f"a key in {scene} has decided what nobody sees: one of {deciding}"
    assert deck.app.chat.session.presenter.last == before


SHOWING = frozenset({"ctrl+p", "f1", "f2", "f3", "f12", "ctrl+backslash"})
"""Keys that only show something."""


def unseen(deck: Deck) -> set[str]:
    """Text in the terminal's default foreground on a custom background, which may be the same colour."""
    return {
        each.text.strip()
        for strip in painted(deck)
        for each in strip
        if each.text.strip() and (style := each.style) is not None and not style.reverse
        if style.bgcolor is not None and not style.bgcolor.is_default
        if style.color is None or style.color.is_default
    }


async def keys_are_offered(deck: Deck) -> None:
    """Above a dialog, the palette offers the dialog's available actions."""
    screen = deck.app.screen
    assert isinstance(screen, Dialog)
    for widget in (screen.focused, *screen.focus_chain):
        screen.set_focus(widget)
        await deck.settle()
        acting = {binding.description for binding in can_act(deck)}
        assert "Close" in acting or len(acting) > 1, "the check would notice"
        offered = [row.title for row in palette_rows(screen)]
        assert acting - set(offered) == set(), widget
        assert len(offered) == len(set(offered)), widget


def can_act(deck: Deck) -> list[Binding]:
    """Our keys that are available now, without those whose action is disabled at the moment.

    Textual's own keys (text cursor, next focus) have no descriptions.
    """
    every = deck.app.screen.active_bindings.values()
    ours = [active.binding for active in every if active.enabled and active.binding.tooltip]
    return [binding for binding in ours if parse(binding.action)[1] not in (*WALKING, "command_palette")]


SMALL_FIGURES = {Color.parse(theme.variables["text-faint"]).hex for theme in THEMES}
"""The colour of times and sizes."""


def faint(deck: Deck) -> set[str]:
    """Text of the current screen whose contrast is too low."""
    top = [run for run in runs(deck.app) if run.says_something and on_top(deck, run)]
    assert len(top) > 3
    return {
        f"{contrast(run.fore, run.back):.1f} {run.fore.hex} on {run.back.hex}: {run.text.strip()[:30]}"
        for run in top
        if contrast(run.fore, run.back) < (STROKE_CONTRAST if run.fore.hex in SMALL_FIGURES else MIN_CONTRAST)
    }


def on_top(deck: Deck, run: Run) -> bool:
    """Whether a cell belongs to the current screen and not to the dimmed one below."""
    widget, _ = deck.app.screen.get_widget_at(run.x, run.y)
    return widget is not deck.app.screen or deck.app.screen is deck.app.chat


async def the_focus_is_seen(deck: Deck) -> None:
    """Focus is visible on every focusable widget, unless there is only one."""
    screen, had = deck.app.screen, deck.app.screen.focused
    if len(screen.focus_chain) < 2:
        return
    for widget in screen.focus_chain:
        # The transcript has no cursor until a row is selected; until then only the key hints show its focus.
        looks = painted if isinstance(widget, Transcript) else beside_hints
        screen.set_focus(widget)
        await deck.settle()
        assert screen.focused is widget
        before = looks(deck)
        screen.set_focus(None)
        await deck.settle()
        assert looks(deck) != before, f"{widget} looks the same without focus"
    screen.set_focus(had)
    await deck.settle()


def beside_hints(deck: Deck) -> list[Any]:
    """The screen without the key hints: changed hints do not show where the focus is."""
    rows = {y for each in deck.app.screen.query(HintRow) for y in range(each.region.y, each.region.bottom)}
    return [strip for y, strip in enumerate(painted(deck)) if y not in rows]


def painted(deck: Deck) -> list[Any]:
    return [list(strip) for strip in deck.app.screen._compositor.render_strips()]


@walks
async def test_without_colour_there_is_none_and_the_focus_is_seen(
    full: Desk, walk: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    full.change(color=False)
    async with shown(full.app(everything(full)), WIDE) as deck:
        await deck.ready()
        for scene in walk:
            await at(deck, scene)
            styles = [each.style for strip in painted(deck) for each in strip if each.style is not None]
            colours = {colour for style in styles for colour in (style.color, style.bgcolor)} - {None}
            assert all(colour.is_default for colour in colours), f"the terminal's own in {scene}"
            await the_focus_is_seen(deck)


async def fits(deck: Deck, size: tuple[int, int]) -> None:
    """Whether all inputs and focusable widgets are inside the screen."""
    screen = deck.app.screen
    for widget in screen.query("HintRow, Input, PromptEditor, ContextGauge, OptionList, Button, TextArea"):
        if all(node.display for node in widget.ancestors_with_self if isinstance(node, Widget)):
            in_sight(widget, size)
    for widget in screen.focus_chain:
        screen.set_focus(widget)
        await deck.settle()
        in_sight(widget, size)
        assert widget.region.height >= 1, widget


def in_sight(widget: Widget, size: tuple[int, int]) -> None:
    width, height = size
    assert widget.region.right <= width, widget
    assert widget.region.bottom <= height, widget


def test_every_screen_is_among_the_scenes() -> None:
    for module in pkgutil.walk_packages(tui_app.ui.__path__, "tui_app.ui."):
        importlib.import_module(module.name)
    shown_by = Path(scenes.__file__).read_text(encoding="utf-8")
    seen = {kind.__name__ for kind, _ in DIALOGS.values()} | set(re.findall(r"\b[A-Z]\w+\b", shown_by))
    bases = {
        "Chat",
        "Dialog",
        "ListDialog",
        "OpenList",
        "ChoiceDialog",
        "DetailedChoice",
    }
    assert {kind.__name__ for kind in screens_below(Screen)} - bases - seen == set()


def screens_below(kind: type[Screen[Any]]) -> set[type[Screen[Any]]]:
    """Our own screen classes."""
    below = {found for each in kind.__subclasses__() for found in screens_below(each)}
    return below | ({kind} if kind.__module__.startswith("tui_app.") else set())


async def test_with_less_room_one_sentence_asks_for_more_and_nothing_is_lost(full: Desk) -> None:
    async with shown(full.app(everything(full)), SMALL) as deck:
        await deck.ready()
        await deck.type("half a thought")
        for size, key in {(39, 12): "s", (40, 11): "o", (20, 5): "n"}.items():
            draft = deck.editor.text
            await deck.pilot.resize_terminal(*size)
            await deck.settle()
            assert " ".join(deck.text.split()) == MORE_ROOM, size
            await deck.press(key)
            await deck.pilot.resize_terminal(*SMALL)
            await deck.settle()
            assert MORE_ROOM not in " ".join(deck.text.split())
            assert deck.editor.text == draft + key


def test_every_binding_says_what_it_does_and_is_in_help_with_its_place() -> None:
    for module in pkgutil.walk_packages(tui_app.ui.__path__, "tui_app.ui."):
        importlib.import_module(module.name)
    listed = {(row.label, row.text) for row in help_rows({})}
    for owner in with_bindings(DOMNode):
        for binding in own_bindings(owner):
            assert binding.description, (owner, binding)
            assert binding.tooltip, (owner, binding)
            assert binding.id, (owner, binding)
            assert (key_labels(binding.key), binding.description) in listed, (owner, binding)


def with_bindings(kind: type[DOMNode]) -> set[type[DOMNode]]:
    """Our own widgets and screens with key bindings."""
    below = {found for each in kind.__subclasses__() for found in with_bindings(each)}
    own = kind.__module__.startswith("tui_app.") and "BINDINGS" in kind.__dict__
    return below | {kind} if own else below


def test_every_key_is_changed_by_its_name_or_documented_as_fixed() -> None:
    changeable, fixed = (
        [row for row in help_rows({}) if row.command is None and bool(row.id) is wanted]
        for wanted in (True, False)
    )
    assert [row.id for row in changeable] == list(ACTION_KEYS)
    page = (Path(__file__).parents[3] / "docs" / "keys.md").read_text(encoding="utf-8")
    chapter = page[page.index("## Fixed keys") :]
    assert fixed
    # A description that begins with the row's first word is listed without the row's text.
    said = {
        row: row.more if row.more.startswith(row.text.split(maxsplit=1)[0]) else f"{row.text}: {row.more}"
        for row in fixed
    }
    assert [row for row in fixed if f"| `{row.label}` | {said[row]} | {row.where} |" not in chapter] == []


async def test_every_command_is_in_the_palette(full: Desk) -> None:
    app = full.app()
    async with shown(app, WIDE) as deck:
        await deck.ready()
        offered = {command.title for command in palette_rows(app.screen)}
        assert {f"/{command.name}" for command in COMMANDS} - offered == set()


OURS = re.compile("[·…→↓✓✗▸⊖•]")
WRITTEN = "wait… a · b → c • d ✓ ├── ⠋"
"""Text of a user, model or tool. In plain mode only our drawing characters are replaced, not these."""


@walks
async def test_plain_spells_our_own_signs_in_ascii_and_draws_nothing(full: Desk, walk: Sequence[str]) -> None:
    full.change(plain=True)
    async with shown(full.app(everything(full)), USUAL) as deck:
        await deck.ready()
        # A brief is shown exactly as the model receives it.
        for scene in [each for each in walk if each != "brief"]:
            await at(deck, scene, now := deck.app.size)
            # A scene opens in the size of the previous one.
            for size in (now, USUAL if now == WIDE else WIDE):
                await in_size(deck, size)
                drawn = [row for row in deck.rows if OURS.search(row) or DRAWN.search(row)]
                assert drawn == [], scene


async def test_plain_keeps_what_somebody_wrote(full: Desk) -> None:
    full.change(plain=True)
    story = Story().user(f"my {WRITTEN}").tool("ls", "{}", f"out {WRITTEN}").answer(f"its {WRITTEN}")
    painted = WRITTEN.replace("├──", "+--").replace("⠋", ".")
    async with shown(full.app(full.store(story)), WIDE) as deck:
        await deck.ready()
        deck.transcript.focus()
        await deck.press("up", "up", "enter")
        await deck.says(f"out {painted}")
        assert f"my {painted}" in deck.text
        assert f"its {painted}" in deck.text
        await deck.type(f"draft {WRITTEN}")
        await deck.says(f"draft {painted}")
        assert deck.editor.text == f"draft {WRITTEN}"
        await deck.press("ctrl+c")
        await deck.send("/copy")
        await deck.says("Sent ")
        assert deck.app.clipboard == f"its {WRITTEN}"


async def test_plain_asks_with_the_very_words_of_a_command(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.serve(fake_openai).change(plain=True, read_only=False)
    fake_openai.add(tool("run_command", command=f"echo '{WRITTEN}'"), Text("Done."))
    async with shown(desk.app(), WIDE) as deck:
        await deck.ready()
        await deck.send("Do it.")
        await deck.says("echo 'wait… a · b → c • d ✓ +-- .'")
        await deck.press("escape")
        await deck.idle()


# Contrast with the gauge near the limit, full and over it, at both usual sizes.


FILLED = {82: (104_960, "near"), 97: (124_160, "full"), 102: (131_072, "over by")}
"""Percent to (tokens reported for a window of 128,000, the gauge's word)."""


@pytest.mark.parametrize("percent", FILLED)
async def test_a_gauge_that_warns_can_be_read(desk: Desk, fake_openai: FakeOpenAI, percent: int) -> None:
    """Every scene in every theme. Sizes rotate, so each size is checked at one of the percentages."""
    reported, word = FILLED[percent]
    desk.serve(fake_openai)
    scenes = ("chat", "draft", "commands", "timeline", "context", "status")
    async with shown(desk.app(desk.store(story(reported))), USUAL) as deck:
        await deck.ready()
        for number, scene in enumerate(scenes, [*FILLED].index(percent)):
            await deck.pilot.resize_terminal(*(USUAL, WIDE)[number % 2])
            await SCENES[scene](deck)
            await deck.settle()
            assert word in deck.gauge
            for theme in THEMES:
                deck.app.theme = theme.name
                await deck.settle()
                assert faint(deck) == set(), (scene, theme.name)
            while deck.app.screen is not deck.app.chat:
                await deck.press("escape")
            deck.editor.focus()
            deck.editor.text = ""
            await deck.settle()


# The smallest terminal: the essentials are complete, visible and usable.


FORECAST = replace(SWITCH, target="dinghy:scripted")
PROPOSED = proposed(DONE)


@pytest.fixture
def small(desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return desk.serve(fake_openai).change(model=SMALL_MODEL)


async def compaction(deck: Deck, undone: bool = False) -> None:
    await SCENES["compaction"](deck)
    if undone:
        screen = deck.app.screen
        assert isinstance(screen, CompactionDetail)
        view = replace(screen._view, undone=True, original="Other words.")
        await deck.press("escape")
        await deck.app.push_screen(CompactionDetail(view))
        await compared(deck)


@pytest.mark.parametrize("undone", [False, True], ids=["stands", "edited and undone"])
async def test_a_compaction_shows_its_parts_and_keys(small: Desk, undone: bool) -> None:
    async with shown(small.app(small.store(compacted_talk())), SMALL) as deck:
        await deck.ready()
        await compaction(deck, undone)
        for number, name in enumerate(("Sent", "Facts", "Removed 4", "Kept", "Diff", "Numbers"), 1):
            await deck.says(f"< {number} of 6 >  {name}")
            assert "esc close" in deck.text
            assert ("undone" in deck.text) is undone
            assert deck.app.screen.focused is not None
            assert deck.app.screen.focused.region.height >= 3
            assert deck.app.screen.focused.region.bottom < 12
            await deck.press("right_square_bracket")
        await deck.says("< 1 of 6 >")


async def test_every_tab_of_a_compaction_has_its_name_where_there_is_little_room(small: Desk) -> None:
    async with shown(small.app(small.store(compacted_talk())), (64, 24)) as deck:
        await deck.ready()
        await compaction(deck)
        (names,) = [row for row in deck.rows if "Facts" in row and "Diff" in row]
        assert names.strip(" │").split("  ")[-1] == "Numbers"
        await deck.pilot.resize_terminal(100, 24)
        await deck.says("Removed 4")
        await deck.pilot.resize_terminal(*SMALL)
        await deck.says("< 1 of 6 >")


async def test_a_long_draft_leaves_the_gauge_and_its_own_last_line(small: Desk) -> None:
    async with shown(small.app(), SMALL) as deck:
        await deck.ready()
        await deck.type("\n".join(f"line {number}" for number in range(1, 10)))
        await deck.says("line 9")
        assert deck.rows[-2].strip().endswith("ok")
        assert "? help" in deck.rows[-1]


async def test_the_timeline_over_the_chat_begins_at_its_left_edge(small: Desk) -> None:
    async with shown(small.app(small.store(compacted_talk())), SMALL) as deck:
        await deck.ready()
        await SCENES["timeline"](deck)
        assert any(row.lstrip(" │").startswith("Timeline") for row in deck.rows)


async def test_the_context_shows_its_items_and_keys(small: Desk) -> None:
    async with shown(small.app(small.store(compacted_talk())), SMALL) as deck:
        await deck.ready()
        await SCENES["context"](deck)
        await deck.press("down")
        await deck.settle()
        assert "esc close" in deck.rows[11]
        assert deck.app.screen.query_one("#context-items").region.height >= 4


async def test_a_question_shows_what_would_be_written_and_scrolls_by_pages(small: Desk) -> None:
    async with shown(small.app(small.store(talk())), SMALL) as deck:
        await deck.ready()
        await long_question(deck)
        await deck.says("+ ferry 0")
        for words in ("y read on", "n no", "199 below"):
            assert words in deck.text
        await deck.press("pagedown", "pagedown", "pagedown")
        await deck.says("+ ferry 3")
        assert "+ ferry 0" not in deck.text
        await deck.press("home")
        await deck.says("+ ferry 0")
        await deck.press("end")
        await deck.says("y yes")


async def test_a_name_that_is_cut_off_stands_in_the_diff(small: Desk) -> None:
    async with shown(small.app(small.store(talk())), SMALL) as deck:
        await deck.ready()
        await long_question(deck)
        session = deck.app.chat.session
        assert session.state.question is not None
        name = "a/folder/with/a/very/long/name/ferries.txt"
        session.presenter.update(
            replace(session.state, question=replace(session.state.question, id="2.1", subject=name))
        )
        await deck.says("a/folder/with/a/very/long/name/")
        await deck.says("ferries.txt")


async def test_every_way_is_seen(small: Desk) -> None:
    async with shown(small.app(small.store(talk())), SMALL) as deck:
        await deck.ready()
        await deck.app.push_screen(timed(SwitchDialog(FORECAST, CURRENT), lambda: 0.0))
        await deck.settle()
        for way in ("Compact and switch", "Switch anyway", "Cancel"):
            assert any(row.strip(" │▸").startswith(way) for row in deck.rows), deck.text
        keys = deck.app.screen.query_one(HintRow)
        assert keys.region.bottom <= 12
        assert "enter choose" in deck.text


async def test_the_keys_of_a_review_are_seen(small: Desk) -> None:
    async with shown(small.app(small.store(talk())), SMALL) as deck:
        await deck.ready()
        await deck.app.push_screen(timed(ReviewScreen(PROPOSED), lambda: 0.0))
        await deck.says("enter apply   e edit   esc discard")
        assert deck.app.screen.query_one(HintRow).region.bottom <= 12


async def test_the_marked_way_says_in_full_what_it_does(small: Desk) -> None:
    async with shown(small.app(small.store(talk())), SMALL) as deck:
        await deck.ready()
        await deck.app.push_screen(timed(SwitchDialog(FORECAST, CURRENT), iter(range(0, 1000, 10)).__next__))
        await deck.press("end")
        await deck.says("stay on claude-sonnet-5")
        await deck.press("up")
        await deck.says("drops the oldest 61k from each request, keeps the last 9 turns")


@pytest.mark.parametrize("plain", [False, True])
async def test_the_rewind_list_has_the_room_there_is(small: Desk, plain: bool) -> None:
    app = small.change(plain=plain).app(small.store(Story().turns(9)))
    async with shown(app, SMALL) as deck:
        await deck.ready()
        await deck.send("/rewind")
        await deck.until(lambda: isinstance(deck.app.screen, PromptPicker), "the prompts")
        assert sum("question" in row for row in deck.rows) >= 7
        assert "would leave the model's" in " ".join(deck.text.split())
        assert "enter rewind   esc close" in deck.text


async def test_a_timeline_over_the_chat_has_the_room_there_is(small: Desk) -> None:
    async with shown(small.app(small.store(Story().turns(9))), SMALL) as deck:
        await deck.ready()
        await deck.press("ctrl+t")
        await deck.settle()
        assert deck.app.chat.query_one(Timeline).size.height >= 8
        assert sum("question" in row or "answer" in row for row in deck.rows) >= 7
        assert deck.editor.region.height == 1
        await deck.press("ctrl+t")
        await deck.settle()
        assert not deck.app.chat.query_one(Timeline).region.height, "the chat has its room back"
