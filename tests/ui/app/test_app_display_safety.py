"""Hostile text from models, tools, files and names, everywhere it is displayed."""

import unicodedata
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

import pytest

from tests.ui.app.scenes import DONE, compared
from tests.ui.app.story import MODEL, Story
from tests.ui.kit import USUAL, WIDE, Deck, Desk, shown
from tui_app.agent import catalog as catalogue
from tui_app.agent.catalog import ModelChoice
from tui_app.events import Error, Fact, MessagePinned
from tui_app.ui.dialogs.compaction import CompactionDetail
from tui_app.ui.dialogs.compactions.context import ContextScreen
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.message import MessageScreen
from tui_app.ui.dialogs.models import ModelPicker
from tui_app.ui.dialogs.pins import PinsScreen
from tui_app.ui.dialogs.sessions.rewind import PromptPicker
from tui_app.ui.dialogs.sessions.sessions import SessionsScreen
from tui_app.ui.terminal_title import window_title
from tui_app.ui.widgets.long_text import LongText
from tui_app.ui.words.text import clean, one_line

NASTY = {
    "markup": "[bold red]x[/] [/x] [@click=app.quit()]y[/] [link=file:///etc]z [",
    "ansi": "\x1b[31mred\x1b[0m\x1b[2J\x1b[999;999H\x1b[?1049l gone\x1b[",
    "osc": "\x1b]52;c;cm0gLXJm\x07\x1b]8;;http://e.vil\x1b\\link\x1b]8;;\x1b\\\x1b]2;title\x07\x1bP+q\x1b\\end",
    "c1": "\x9b31mred\x9d52;c;eA==\x9c\x85next\x90dcs\x9c\x8d",
    "bidi": "\u202eevil\u202c \u2066iso\u2069 \u200f\u061cשלום عربى\u200e",
    "zero-width": "a\u200bb\u200cc\u200dd\ufeffe\u2060f\u00adg\u034fh\u3164i\U000e0041\U000e0042",
    "wide": "漢字テスト한국어 ｆｕｌｌ 🚢🌊⚓",
    "joined": "👩‍👩‍👧‍👦 👩🏽‍🚀 ❤️ 1️⃣ 🇩🇪 🏴‍☠️",
    "flood": "z" + "\u0301\u0489\u20dd" * 300 + "algo " + "ก" + "\u0e49" * 300,
    "long": "x" * 550_000,
    "nul": "a\x00b\x07\x08\x08c\rd\x7f",
    "surrogate": "half \ud83d and \udc00 done",
}
"""Text that must not reach the terminal unchanged, by kind."""
TOGETHER = {
    "acting": ("nul", "c1", "ansi", "osc", "markup"),
    "hiding": ("zero-width", "surrogate", "bidi", "flood"),
    "wide": ("joined", "wide"),
    "long": ("long",),
}
"""Kinds shown together in one run of the app."""
Place = TypeVar("Place")
WHERE: dict[str, Callable[[Deck], Awaitable[None]]] = {}
"""Scenes that lead to each place where foreign text is shown."""


def place(scene: Callable[[Deck], Awaitable[None]]) -> Callable[[Deck], Awaitable[None]]:
    WHERE[scene.__name__] = scene
    return scene


async def at(deck: Deck, screen: type) -> None:
    await deck.until(lambda: isinstance(deck.app.screen, screen), screen.__name__)


@place
async def transcript(deck: Deck) -> None:
    deck.transcript.focus()
    await deck.press("home", "down", "down", "enter", "down", "enter", "home")


@place
async def transcript_end(deck: Deck) -> None:
    await deck.press("ctrl+end")


@place
async def timeline(deck: Deck) -> None:
    if not deck.app.chat.pane.timeline.display:
        await deck.press("ctrl+t")


@place
async def find(deck: Deck) -> None:
    await deck.press("ctrl+f", *"beacon")
    await deck.says(" of ")


@place
async def message(deck: Deck) -> None:
    deck.transcript.jump_to(4)
    deck.transcript.focus()
    await deck.press("ctrl+o")
    await at(deck, MessageScreen)
    text = deck.app.screen.query_one(LongText)
    await deck.until(lambda: text.line_count, "its text")


@place
async def message_as_json(deck: Deck) -> None:
    await message(deck)
    await deck.press("j")
    await deck.says('"type"')


@place
async def context(deck: Deck) -> None:
    await deck.press("f3")
    await at(deck, ContextScreen)


@place
async def compaction(deck: Deck) -> None:
    entries = deck.app.chat.session.presenter.view.entries
    deck.transcript.jump_to(next(entry.seq for entry in entries if entry.kind == "compaction"))
    deck.transcript.focus()
    await deck.press("enter")
    await at(deck, CompactionDetail)
    await compared(deck)


@place
async def facts(deck: Deck) -> None:
    await compaction(deck)
    await deck.press("right_square_bracket")


@place
async def what_left(deck: Deck) -> None:
    await facts(deck)
    await deck.press("right_square_bracket")


@place
async def error(deck: Deck) -> None:
    entries = deck.app.chat.session.presenter.view.entries
    deck.transcript.jump_to(next(entry.seq for entry in entries if entry.kind == "error"))
    deck.transcript.focus()
    await deck.press("enter")
    await at(deck, DetailsScreen)


@place
async def notices(deck: Deck) -> None:
    session = deck.app.chat.session
    session.report(session.state.title)
    await deck.press("f2")
    await at(deck, DetailsScreen)


@place
async def status(deck: Deck) -> None:
    session = deck.app.chat.session
    session.reply(session.state.title)


@place
async def sessions(deck: Deck) -> None:
    await deck.send("/sessions")
    await at(deck, SessionsScreen)


@place
async def models(deck: Deck) -> None:
    await deck.press("ctrl+l")
    await at(deck, ModelPicker)
    await deck.says("beacon")


@place
async def rewind(deck: Deck) -> None:
    await deck.send("/rewind")
    await at(deck, PromptPicker)


@place
async def pins(deck: Deck) -> None:
    await deck.send("/pin")
    await at(deck, PinsScreen)


async def each_in_a_size(
    deck: Deck, places: Iterable[Place], sizes: Sequence[tuple[int, int]], kinds: str
) -> AsyncIterator[tuple[tuple[int, int], Place]]:
    """Yield every place with a size; the sizes rotate with the kinds of text.

    Kind of text, place and terminal size are independent. So every place is tested with all kinds and with
    all sizes, and every kind with all sizes, but not all combinations of the three.
    """
    turn, known = [*TOGETHER].index(kinds), [*places]
    for number, size in enumerate(sizes):
        if size != deck.app.size:
            await deck.pilot.resize_terminal(*size)
        for at, each in enumerate(known):
            if (at + turn) % len(sizes) == number:
                yield size, each


async def assert_intact_at_all(deck: Deck, sizes: Sequence[tuple[int, int]], where: str) -> None:
    """Check one place in terminals of several sizes; it opens in the previous place's size."""
    now = deck.app.size
    for size in sorted(sizes, key=lambda each: each != now):
        if size != deck.app.size:
            await deck.pilot.resize_terminal(*size)
        await assert_intact(deck, size, where)


async def assert_intact(deck: Deck, size: tuple[int, int], where: str) -> None:
    await deck.settle()
    rows = deck.rows
    assert len(rows) == size[1], where
    assert not [row for row in rows if not safe(row)], where
    wrong = {row: cells(row) for row in rows if cells(row) != size[0]}
    assert not wrong, f"{where} at {size}"


def story(text: str) -> Story:
    """A session with the text in every field of the log that accepts it."""
    words = f"beacon {text}"
    done = replace(DONE, summary=words, title=words, facts=(Fact(kind="file", text=words, state="lost"),))
    lost = Error(kind="provider", message=words, hint=words, detail=words)
    told = Story(words).user(words).tool(f"grep {text[:60]}", words, words).answer(words)
    return told.add(MessagePinned(seq=2)).user(words).answer("so").compacted(done).user(words).add(lost)


def safe(row: str) -> bool:
    """Whether a painted row contains nothing that controls the terminal, hides text or reorders it."""
    allowed = {"\u200c"}
    return not [
        sign for sign in row if unicodedata.category(sign) in ("Cc", "Cf", "Cs") and sign not in allowed
    ]


def cells(row: str) -> int:
    """Width of a row in a terminal that does not combine characters."""
    wide = {"W", "F"}
    bare = [sign for sign in row if unicodedata.category(sign) not in ("Mn", "Me", "Cf")]
    return sum(2 if unicodedata.east_asian_width(sign) in wide else 1 for sign in bare)


@pytest.fixture
def offering(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make the picker offer a model with a hostile name."""

    def offer(text: str) -> None:
        async def list_models(**_: object) -> list[ModelChoice]:
            bad = ModelChoice(f"x:beacon {text}", text, 8_000, "server", available=True, price=text)
            return [ModelChoice(MODEL, "scripted", 128_000, "setting", available=True), bad]

        monkeypatch.setattr(catalogue, "list_models", list_models)

    return offer


@pytest.mark.parametrize("kinds", TOGETHER)
async def test_shown_safely_with_the_layout_intact(
    served: Desk, offering: Callable[[str], None], kinds: str
) -> None:
    text = " ".join(NASTY[name] for name in TOGETHER[kinds])
    offering(text)
    # The log rejects lone surrogates.
    session = served.store(story(text.encode("utf-8", "replace").decode()))
    async with shown(served.app(session), WIDE) as deck:
        await deck.ready()
        async for size, (where, scene) in each_in_a_size(deck, WHERE.items(), (WIDE, USUAL), kinds):
            await scene(deck)
            await assert_intact(deck, size, where)
            while deck.app.screen is not deck.app.chat:
                await deck.press("escape")
            deck.app.chat.pane.step_back()
            deck.editor.focus()
            await deck.press("ctrl+end")


async def test_a_prompt_that_comes_back_holds_nothing_a_terminal_acts_on(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        deck.editor.restore_prompt("look \x1b]52;c;cHduZWQ=\x07\x1b[2J here")
        await deck.settle()
        assert deck.editor.text == "look  here"
        deck.editor.restore_prompt("a\tfamily 👩‍👧")
        assert deck.editor.text == "a\tfamily 👩‍👧\nlook  here", "what a person wrote comes back as it was"


@pytest.mark.parametrize("name", NASTY)
def test_the_title_of_the_window_is_one_clean_line(served: Desk, name: str) -> None:
    from tui_app.ui.chat.state import ChatState

    title = window_title(ChatState(title=NASTY[name]))
    assert safe(title)
    assert len(title) < 300
    title.encode()


@pytest.mark.parametrize("name", NASTY)
def test_cleaned_text_is_as_wide_as_it_is_counted(name: str) -> None:
    from rich.cells import cell_len

    text = one_line(NASTY[name], 70)
    assert cell_len(text) == cells(text)
    assert clean(clean(NASTY[name])) == clean(NASTY[name])


def test_joining_signs_stay_where_writing_needs_them() -> None:
    assert clean("می\u200cخواهم é ñ ก้ำ") == "می\u200cخواهم é ñ ก้ำ"
    assert clean("👩‍👧 👍🏽 ❤️") == "👩👧 👍 ❤"
    assert len(clean("z" + "\u0301" * 99)) == 5
