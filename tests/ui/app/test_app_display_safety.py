"""Text of models, tools, files and names, as bad as it gets, in every place that shows it."""

import asyncio
import os
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from textual.events import Paste
from textual.widgets import Input, OptionList, TextArea

from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.signals import Signal
from tests.ui.app.scenes import DONE, compared
from tests.ui.app.story import MODEL, Story
from tests.ui.app.test_app_approvals import asked
from tests.ui.kit import SMALL, USUAL, WIDE, Deck, Desk, shown
from tui_app.agent import catalog as catalogue
from tui_app.agent.catalog import ModelChoice
from tui_app.conversation.file_snapshots import FileOutlook
from tui_app.events import ApprovalDecided, CompactionProgress, CompactionProposed, Error, Fact, MessagePinned
from tui_app.settings.tables import ApprovalRule
from tui_app.text import visible
from tui_app.ui import approvals as approval_box
from tui_app.ui import type_ahead as stray_keys
from tui_app.ui.chat import pane as chat_pane
from tui_app.ui.chat.pane import OutputTail
from tui_app.ui.dialogs.approvals import ApprovalsScreen, ApprovalsView, Decided
from tui_app.ui.dialogs.base import DetailsScreen
from tui_app.ui.dialogs.compaction import CompactionDetail
from tui_app.ui.dialogs.context import ContextScreen
from tui_app.ui.dialogs.message import MessageScreen
from tui_app.ui.dialogs.models import ModelPicker
from tui_app.ui.dialogs.pins import PinsScreen
from tui_app.ui.dialogs.prompts import PromptsScreen
from tui_app.ui.dialogs.review import ReviewScreen
from tui_app.ui.dialogs.rewind import PromptPicker, RewindFiles
from tui_app.ui.dialogs.session_info import CheckpointsScreen, StatsScreen
from tui_app.ui.dialogs.sessions import SearchScreen, SessionsScreen
from tui_app.ui.long_text import LongText
from tui_app.ui.terminal_title import window_title
from tui_app.ui.text import clean, one_line

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
    "long": "x" * 1_000_000,
    "nul": "a\x00b\x07\x08\x08c\rd\x7f",
    "surrogate": "half \ud83d and \udc00 done",
}
"""What must not reach the terminal as it is, by what it is."""
TOGETHER = {
    "acting": ("nul", "c1", "ansi", "osc", "markup"),
    "hiding": ("zero-width", "surrogate", "bidi", "flood"),
    "wide": ("joined", "wide"),
    "long": ("long",),
}
"""What is shown in one run of the program."""
WHERE: dict[str, Callable[[Deck], Awaitable[None]]] = {}
"""Places that show foreign text, and the way there."""


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
    session.say(session.state.title)


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


async def assert_intact(deck: Deck, size: tuple[int, int], where: str) -> None:
    await deck.settle()
    rows = deck.rows
    assert len(rows) == size[1], where
    assert not [row for row in rows if not safe(row)], where
    wrong = {row: cells(row) for row in rows if cells(row) != size[0]}
    assert not wrong, f"{where} at {size}"


def story(text: str) -> Story:
    """A session with the text in every place that a log has for one."""
    words = f"beacon {text}"
    done = replace(DONE, summary=words, title=words, facts=(Fact(kind="file", text=words, state="lost"),))
    lost = Error(kind="provider", message=words, hint=words, detail=words)
    told = Story(words).user(words).tool(f"grep {text[:60]}", words, words).answer(words)
    return told.add(MessagePinned(seq=2)).user(words).answer("so").compacted(done).user(words).add(lost)


def safe(row: str) -> bool:
    """Whether a painted row holds nothing that acts, hides or reorders."""
    allowed = {"\u200c"}
    return not [
        sign for sign in row if unicodedata.category(sign) in ("Cc", "Cf", "Cs") and sign not in allowed
    ]


def cells(row: str) -> int:
    """How wide a row is in a terminal that joins nothing: signs one by one."""
    wide = {"W", "F"}
    bare = [sign for sign in row if unicodedata.category(sign) not in ("Mn", "Me", "Cf")]
    return sum(2 if unicodedata.east_asian_width(sign) in wide else 1 for sign in bare)


@pytest.fixture
def offering(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let the picker offer a model with a bad name."""

    def offer(text: str) -> None:
        async def list_models(**_: object) -> list[ModelChoice]:
            bad = ModelChoice(f"x:beacon {text}", text, 8_000, "server", available=True, price=text)
            return [ModelChoice(MODEL, "scripted", 128_000, "setting", available=True), bad]

        monkeypatch.setattr(catalogue, "list_models", list_models)

    return offer


@pytest.mark.parametrize("size", [WIDE, USUAL])
@pytest.mark.parametrize("kinds", TOGETHER)
async def test_shown_safely_with_the_layout_intact(
    served: Desk, offering: Callable[[str], None], kinds: str, size: tuple[int, int]
) -> None:
    text = " ".join(NASTY[name] for name in TOGETHER[kinds])
    offering(text)
    # The log takes no half of a pair.
    session = served.store(story(text.encode("utf-8", "replace").decode()))
    async with shown(served.app(session), size) as deck:
        await deck.ready()
        for where, scene in WHERE.items():
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
        deck.editor.give_back("look \x1b]52;c;cHduZWQ=\x07\x1b[2J here")
        await deck.settle()
        assert deck.editor.text == "look  here"
        deck.editor.give_back("a\tfamily 👩‍👧")
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


# The same bad text where a person is asked, or rules: reviews, approvals, files of a rewind.


DISPLAY_SAFETY_ASKING_WHERE: dict[str, Callable[[Deck, str], Awaitable[None]]] = {}
"""What asks, brought up with the text in every place it shows."""


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every key is meant for the dialog: nobody is still writing here."""
    monkeypatch.setattr(stray_keys, "QUIET_S", 0.0)


def display_safety_asking_place(
    scene: Callable[[Deck, str], Awaitable[None]],
) -> Callable[[Deck, str], Awaitable[None]]:
    DISPLAY_SAFETY_ASKING_WHERE[scene.__name__] = scene
    return scene


def proposal(text: str, problem: str = "") -> CompactionProposed:
    words = f"beacon {text}"
    states = ("lost", "recoverable", "lost")
    facts = tuple(
        Fact(kind="file", text=f"{words} {n}", source=words, state=each) for n, each in enumerate(states)
    )
    return CompactionProposed(job="1", summary=words[:10_000], retention=0.5, facts=facts, problem=problem)


async def review(deck: Deck, proposed: CompactionProposed) -> ReviewScreen:
    screen = ReviewScreen(proposed)
    await deck.app.push_screen(screen)
    return screen


@display_safety_asking_place
async def streamed(deck: Deck, text: str) -> None:
    screen = ReviewScreen(None, job="1")
    await deck.app.push_screen(screen)
    # Sequences are cut in two by how they arrive.
    for number, piece in enumerate((f"beacon {text[:5]}", text[5:9], text[9:])):
        screen.hear(
            CompactionProgress(job="1", part=1, parts=1, tokens_written=number + 1, model=text, text=piece)
        )
    await deck.until(lambda: screen.query_one(TextArea).text.startswith("beacon"), "the text so far")


@display_safety_asking_place
async def proposed(deck: Deck, text: str) -> None:
    screen = await review(deck, proposal(text))
    assert safe(screen.query_one(TextArea).text.replace("\n", ""))


@display_safety_asking_place
async def refused(deck: Deck, text: str) -> None:
    await review(deck, proposal(text, problem=f"beacon {text}"))


@display_safety_asking_place
async def edited(deck: Deck, text: str) -> None:
    screen = await review(deck, proposal(text))
    await deck.press("e", *"More ")
    await deck.until(lambda: screen.query_one(TextArea).text.startswith("More "), "what was typed")


@display_safety_asking_place
async def pasted(deck: Deck, text: str) -> None:
    screen = await review(deck, proposal("plain"))
    await deck.press("e")
    screen.query_one(TextArea).post_message(Paste(text[:10_000]))
    await deck.settle()


@display_safety_asking_place
async def fact_kept(deck: Deck, text: str) -> None:
    screen = await review(deck, proposal(text))
    screen.query_one("#review-facts", OptionList).focus()
    text_area = screen.query_one(TextArea)
    await deck.press("enter", "down", "enter")
    assert safe(text_area.text.replace("\n", ""))


def decided(text: str, reason: str) -> Decided:
    event = ApprovalDecided(
        id="1", tool_call_id="1", tool=f"tool {text[:90]}", subject=text, decision="denied", by="person",
        reason=reason,
    )  # fmt: skip
    return Decided(0.0, event)


@display_safety_asking_place
async def approvals(deck: Deck, text: str) -> None:
    rules = tuple(
        ApprovalRule("deny", f"beacon{text[:80]}", text, source)
        for source in ("settings", "session", "built in")
    )
    await deck.app.push_screen(ApprovalsScreen(ApprovalsView(rules, (decided(text, text),))))
    await deck.says("Approvals")


@display_safety_asking_place
async def approval_explained(deck: Deck, text: str) -> None:
    await approvals(deck, text)
    await deck.press("end")


@display_safety_asking_place
async def approvals_filtered(deck: Deck, text: str) -> None:
    await approvals(deck, text)
    deck.app.screen.query_one(Input).post_message(Paste(text[:2_000]))
    await deck.settle()


@display_safety_asking_place
async def approvals_answered(deck: Deck, text: str) -> None:
    await approvals(deck, text)
    screen = deck.app.screen
    assert isinstance(screen, ApprovalsScreen)
    screen.show(ApprovalsView((ApprovalRule("allow", "x", text),)), f"{text}: written to {text}")


@display_safety_asking_place
async def files(deck: Deck, text: str) -> None:
    fates = ("restore", "remove", "changed")
    outlooks = [FileOutlook(path=f"{n}{text}", fate=each, target="a") for n, each in enumerate(fates)]
    await deck.app.push_screen(RewindFiles(outlooks))


@pytest.mark.usefixtures("_at_once")
def test_a_letter_without_a_shape_is_written_out() -> None:
    assert visible("rm\u3164-rf \u034fé漢") == r"rm\u3164-rf \u034fé漢"


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize(
    ("kinds", "size"),
    # What is long takes its time at each size, and is cut alike at all of them.
    [(kinds, size) for kinds in TOGETHER for size in (USUAL, WIDE, SMALL)[: 1 if kinds == "long" else None]],
)
async def test_display_safety_asking_shown_safely_with_the_layout_intact(
    served: Desk, kinds: str, size: tuple[int, int]
) -> None:
    text = " ".join(NASTY[name] for name in TOGETHER[kinds])
    async with shown(served.app(), size) as deck:
        await deck.ready()
        for where, scene in DISPLAY_SAFETY_ASKING_WHERE.items():
            await scene(deck, text)
            await assert_intact(deck, size, where)
            while deck.app.screen is not deck.app.chat:
                deck.app.pop_screen()
                await deck.settle()


# The same bad text in lists of what was said before, and while it arrives: answers, output of a command.


NASTY_BYTES = b"\xff\xfe half \xf0\x9f and \xed\xa0\xbd"
"""No text at all in the encoding that is expected."""


async def has_rows(deck: Deck) -> None:
    options = deck.app.screen.query_one(OptionList)
    await deck.until(lambda: options.option_count, "the rows")


@place
async def search(deck: Deck) -> None:
    await deck.send("/sessions")
    await at(deck, SessionsScreen)
    await deck.press("f7")
    await at(deck, SearchScreen)
    deck.app.screen.query_one(Input).value = "beacon"
    await has_rows(deck)


@place
async def stats(deck: Deck) -> None:
    await deck.send("/stats")
    await at(deck, StatsScreen)
    await deck.says("beacon")


@place
async def earlier_prompts(deck: Deck) -> None:
    await deck.press("ctrl+r")
    await at(deck, PromptsScreen)
    await has_rows(deck)


@place
async def fork(deck: Deck) -> None:
    await deck.send("/fork")
    await at(deck, PromptPicker)
    await has_rows(deck)


@place
async def checkpoints(deck: Deck) -> None:
    await deck.send("/session checkpoints")
    await at(deck, CheckpointsScreen)
    await has_rows(deck)


def storable(kinds: str) -> str:
    """All texts of some kinds; neither a log nor a server takes half of a pair."""
    return " ".join(NASTY[name] for name in TOGETHER[kinds]).encode("utf-8", "replace").decode()


@pytest.mark.parametrize("size", [WIDE, USUAL], ids=["120x40", "80x24"])
@pytest.mark.parametrize("kinds", TOGETHER)
async def test_lists_are_safe_with_the_layout_intact(served: Desk, kinds: str, size: tuple[int, int]) -> None:
    told = story(storable(kinds))
    # Earlier prompts are those of the folder one is in.
    told.start = replace(told.start, cwd=str(served.cwd))
    told.model = f"beacon {storable(kinds)}"[:300]
    told.answer("By a model with such a name.")
    async with shown(served.app(served.store(told)), size) as deck:
        await deck.ready()
        for where, scene in WHERE.items():
            await scene(deck)
            assert "beacon" in deck.text, where
            await assert_intact(deck, size, where)
            while deck.app.screen is not deck.app.chat:
                await deck.press("escape")
            deck.editor.focus()


@pytest.mark.parametrize("kinds", TOGETHER)
async def test_an_answer_is_safe_while_it_arrives(served: Desk, fake_openai: FakeOpenAI, kinds: str) -> None:
    go_on = Signal()
    # Pieces of their own size cut sequences and signs that belong together.
    text = f"beacon {storable(kinds)}"
    fake_openai.add(Text(text, chunks=41, hold=go_on, hold_after=20))
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await deck.send("Go on.")
        await (await fake_openai.request(1)).paused.wait()
        if kinds != "long":
            await deck.says("beacon")
        await assert_intact(deck, USUAL, "in the middle")
        go_on.set()
        await deck.answered()
        await assert_intact(deck, USUAL, "at the end")


@pytest.mark.parametrize("size", [WIDE, USUAL], ids=["120x40", "80x24"])
@pytest.mark.parametrize("kinds", TOGETHER)
async def test_the_output_of_a_command_is_safe_while_it_runs(
    served: Desk, fake_openai: FakeOpenAI, kinds: str, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    served.change(read_only=False)
    monkeypatch.setattr(approval_box, "QUIET_S", 0.0)
    monkeypatch.setattr(chat_pane, "QUIET_S", 0.01)
    fake_openai.add(tool("run_command", command="cat told.txt; read x < pipe"), Text("Done."))
    os.mkfifo(served.cwd / "pipe")
    told = b"beacon\n" + NASTY_BYTES + b"\n" + storable(kinds).encode() + b"\nlighthouse\n"
    (served.cwd / "told.txt").write_bytes(told)
    async with shown(served.app(), size) as deck:
        await deck.ready()
        await asked(deck)
        await deck.press("y")
        tail = deck.app.chat.query_one(OutputTail)
        await deck.until(lambda: tail.display and "lighthouse" in tail.output, "the output")
        assert "lighthouse" in deck.text
        await assert_intact(deck, size, "while it runs")
        await asyncio.to_thread((served.cwd / "pipe").write_text, "go\n")
        await deck.answered()
        await assert_intact(deck, size, "its result")
