"""Looks of dialogs."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, Static, TextArea

from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.scenes import (
    CHOICES,
    DONE,
    EDIT,
    FILES,
    IMPORTED,
    RUN,
    SKILLS,
    VIEW,
    Scene,
    compacted_talk,
    context_screen,
    opens,
    search,
    servers,
    talk,
)
from tests.ui.app.story import Story
from tests.ui.kit import USUAL, WIDE, Deck, Desk, ThemedApp, runs
from tests.ui.looks import Look, Looks, sizes
from tui_app.agent import catalog as catalogue
from tui_app.agent.catalog import ModelChoice
from tui_app.events import ApprovalRequested, Error, MessagePinned, ToolTrimmed
from tui_app.session.importers.places import LocalTranscript
from tui_app.ui.approvals import ApprovalBox
from tui_app.ui.colours.palette import MIN_CONTRAST, contrast
from tui_app.ui.colours.themes import THEMES
from tui_app.ui.dialogs.compactions.checkpoints import CheckpointsScreen
from tui_app.ui.dialogs.extensions.approvals import ApprovalsScreen
from tui_app.ui.dialogs.extensions.queue import QueueScreen
from tui_app.ui.dialogs.extensions.skills import SkillsScreen
from tui_app.ui.dialogs.help import HelpScreen
from tui_app.ui.dialogs.message import MessageScreen
from tui_app.ui.dialogs.message_actions import ExcludeScreen
from tui_app.ui.dialogs.models import ModelPicker, SwitchDialog
from tui_app.ui.dialogs.pins import PinsScreen
from tui_app.ui.dialogs.questions import ConfirmDialog
from tui_app.ui.dialogs.sessions.import_export import (
    ImportedDialog,
    ImportProgressDialog,
    ImportScreen,
    TranscriptRow,
)
from tui_app.ui.dialogs.sessions.prompts import PromptsScreen
from tui_app.ui.dialogs.sessions.rewind import PromptPicker, rewind_files
from tui_app.ui.dialogs.sessions.sessions import SessionsScreen
from tui_app.ui.dialogs.setup.key_entry import KeyDialog
from tui_app.ui.dialogs.stats import StatsScreen


@sizes
async def test_switch_dialog(desk: Desk, look: Look, size: tuple[int, int]) -> None:
    with FakeOpenAI(max_model_len=32_000) as dinghy:
        desk.serve(dinghy, window=None, name="dinghy")

        async def scene(deck: Deck) -> None:
            await deck.send("/model dinghy:scripted")
            await deck.until(lambda: isinstance(deck.app.screen, SwitchDialog), "the dialog")

        await look(talk().turns(6, tokens=14_000).answer("Done.", reported=91_500), scene, [size])


async def test_model_picker(look: Look) -> None:
    await look(talk(91_500), opens(ModelPicker, "ctrl+l"))


async def test_sessions(desk: Desk, look: Look) -> None:
    for title in (
        "Tide notes",
        "[/x] 潮汐表 for the harbour",
        "A name that is long enough to be cut off somewhere",
    ):
        desk.store(Story(title).user(title).answer("Noted.").measured(4_200))
    await look(talk(), opens(SessionsScreen, command="/sessions"))


async def test_search(desk: Desk, look: Look) -> None:
    desk.store(Story("潮汐表").user("Low water on Sunday, at the [b]harbour[/b]?").answer("Sunday: 09:40."))
    await look(talk(), search)


async def test_checkpoints(look: Look) -> None:
    await look(talk().compacted(DONE), opens(CheckpointsScreen, command="/session checkpoints"))


@sizes
async def test_context(look: Look, size: tuple[int, int]) -> None:
    await look(compacted_talk(), context_screen, [size])


async def test_stats(look: Look) -> None:
    story = compacted_talk().measured(9_000, kept=1.0).measured(9_700, kept=0.42)
    story.add(ToolTrimmed(tokens_removed=12_400)).add(
        replace(DONE, outcome="failed", reason="no", trigger="manual")
    )
    story.add(Error(kind="rate_limit", message="Too many requests."))
    await look(story, opens(StatsScreen, command="/stats"))


async def test_rewind(look: Look) -> None:
    async def scene(deck: Deck) -> None:
        await deck.send("/rewind")
        await deck.until(lambda: isinstance(deck.app.screen, PromptPicker), "the prompts")
        await deck.says("would leave")

    await look(Story().turns(5), scene)


async def test_help(look: Look) -> None:
    await look(talk(), opens(HelpScreen, "question_mark"))


async def test_earlier_prompts(desk: Desk, look: Look) -> None:
    desk.store(Story("tides", cwd=str(desk.cwd)).user("Compare\nthe [b]tides[/b]").answer("Done."))
    desk.store(Story("ferry", cwd=str(desk.cwd)).user("When does the ferry leave? " * 12).answer("At ten."))
    await look(talk(), opens(PromptsScreen, *"draft", "ctrl+r"))


@sizes
async def test_queue(look: Look, size: tuple[int, int]) -> None:
    async def scene(deck: Deck) -> None:
        session = deck.app.chat.session
        waiting = ("second, which is longer " * 8, "third\nwith [b]two[/b] lines", "/compact")
        session.presenter.update(replace(session.state, queue=waiting, paused=True))
        await opens(QueueScreen, command="/queue")(deck)
        await deck.press("down")

    await look(talk(), scene, [size])


async def test_pins(look: Look) -> None:
    story = talk().add(MessagePinned(seq=2)).add(MessagePinned(seq=9))
    await look(story, opens(PinsScreen, command="/pin"))


async def test_asking_for_models(monkeypatch: pytest.MonkeyPatch, look: Look) -> None:
    async def list_models(*, discover: bool, **_: object) -> list[ModelChoice]:
        await (asyncio.Event().wait() if discover else asyncio.sleep(0))
        return CHOICES

    monkeypatch.setattr(catalogue, "list_models", list_models)

    async def scene(deck: Deck) -> None:
        await deck.press("ctrl+l")
        await deck.says("esc lists the others")

    await look(talk(), scene)


async def test_a_message_as_json(look: Look) -> None:
    async def scene(deck: Deck) -> None:
        deck.transcript.jump_to(4)
        deck.transcript.focus()
        await opens(MessageScreen, "ctrl+o")(deck)
        await deck.press("j")
        await deck.says('"type": "tool.call"')

    await look(talk(), scene)


TIDES = "".join(f"{number}\tthe tide comes in twice a day at the northern pier\n" for number in range(1, 400))


def large_results() -> Story:
    story = Story("tide").user("When is the tide?")
    for name in ("north.txt", "south.txt", "east.txt", "west.txt"):
        story.tool("read_file", f'{{"path": "{name}"}}', TIDES, tokens=6_000)
    return story.answer("Twice a day.").user("Thank you.").answer("Welcome.")


def saving(deck: Deck) -> str:
    """The progress message of an export."""
    return deck.app.screen.query_one("#context-saved", TextArea).text


async def saved(deck: Deck) -> None:
    """One tool result is offloaded, one archived, and a third is selected."""
    await context_screen(deck)
    for key, told in (("o", "offload"), ("a", "archive")):
        await deck.says("this row   o ")
        await deck.press(key)
        await deck.until(lambda told=told: told in saving(deck), told)  # type: ignore[misc]
        # Actions that were applied already are not offered again.
        await deck.until(lambda: "this row   o " not in deck.text, "what can be done now")
        await deck.press("home")
    await deck.says("this row   o ")


async def by_age(deck: Deck) -> None:
    await saved(deck)
    await deck.press("s")
    await deck.says("(oldest first)")


async def searched(deck: Deck) -> None:
    await saved(deck)
    await deck.press("s", "s", "slash", *"tool result")
    await deck.says("with 'tool result'")


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("scene", [saved, by_age, searched])
async def test_context_items(look: Look, scene: Scene) -> None:
    await look(large_results(), scene)


ROWS = [
    TranscriptRow(
        LocalTranscript(
            path=Path(f"~/.{program}/{number}.jsonl"),
            program=program,
            title=title,
            cwd="~/ferry-timetable",
            time=1_772_360_000 - number * 90_000,
            size=size,
        ),
        session,
        changed,
    )
    for number, (program, title, size, session, changed) in enumerate(
        [
            ("codex", "Why are the Sunday rows late?", 48_200, "", False),
            (
                "claude-code",
                "Implement the following plan: read the holidays from a table",
                1_604_000,
                "",
                False,
            ),
            ("opencode", "Tide notes", 0, "885c8680", False),
            ("gemini-cli", "フェリーの時刻表を直して", 812, "885c8681", True),
            ("pi", "[/x] hostile \x1b[31mone", 19_100, "", False),
            ("aider", "", 65_600, "", False),
        ]
    )
]


async def test_list(desk: Desk, looks: Looks) -> None:
    async def play(deck: Deck) -> None:
        await deck.ready()
        screen = ImportScreen()
        await deck.app.push_screen(screen)
        screen.show(ROWS)
        await deck.press("down", "down")
        await deck.settle()

    await looks(desk.app(), play)


async def test_progress(desk: Desk, looks: Looks) -> None:
    async def play(deck: Deck) -> None:
        await deck.ready()
        dialog = ImportProgressDialog("rollout-2026-03-01.jsonl", lambda: True)
        await deck.app.push_screen(dialog)
        dialog.show("Counting tokens: 1,250 of 3,400 events")
        await deck.settle()

    await looks(desk.app(), play)


async def test_exclude(look: Look) -> None:
    await look(talk(), opens(ExcludeScreen, command="/exclude"))


@sizes
async def test_imported(desk: Desk, looks: Looks, size: tuple[int, int]) -> None:
    async def play(deck: Deck) -> None:
        await deck.ready()
        await deck.app.push_screen(ImportedDialog(IMPORTED, 101_100, 128_000))
        await deck.settle()

    await looks(desk.app(), play, [size])


def showing(screen: Screen[Any], *keys: str) -> Scene:
    async def scene(deck: Deck) -> None:
        await deck.ready()
        await deck.app.push_screen(screen)
        await deck.press(*keys)
        await deck.settle()

    return scene


async def test_key_dialog(desk: Desk, looks: Looks) -> None:
    refused = "The provider rejected this key (HTTP 401). It was not saved."
    screen = KeyDialog("openai:gpt-5.4-mini", "OPENAI_API_KEY", refused)
    await looks(desk.app(), showing(screen, *"hidden"))


async def test_where_to_keep_it(desk: Desk, looks: Looks) -> None:
    text = "The key works. Keep OPENAI_API_KEY in the system keyring? "
    text += "Otherwise it is used until Plimsoll is closed."
    screen = ConfirmDialog(text, verb="Keep it", keep="This run only")
    await looks(desk.app(), showing(screen))


BEHIND = "The conversation."
"""Shown dimmed below every screen."""


class Host(ThemedApp):
    """An approval above a line of text, or one screen."""

    CSS = "#rest { height: 1fr; }"

    def __init__(self, shown: "ApprovalRequested | Screen[Any]", theme: str = "plimsoll-dark") -> None:
        super().__init__()
        self._wanted, self._shown = theme, shown

    def compose(self) -> ComposeResult:
        yield Static(BEHIND, id="rest", markup=False)
        yield ApprovalBox(clock=iter(range(0, 10_000, 10)).__next__)
        yield Input(compact=True)

    def on_mount(self) -> None:
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = self._wanted
        if isinstance(self._shown, ApprovalRequested):
            box = self.query_one(ApprovalBox)
            box.question = self._shown
            box.focus()
        else:
            self.push_screen(self._shown)


@pytest.mark.parametrize("asked", [EDIT, RUN], ids=["edit", "command"])
async def test_question(looks: Looks, asked: ApprovalRequested) -> None:
    await looks(Host(asked))


async def test_reason(looks: Looks) -> None:
    async def reason(deck: Deck) -> None:
        await deck.press("n", *"no")

    await looks(Host(EDIT), reason)


async def test_rules_and_decisions(looks: Looks) -> None:
    await looks(Host(ApprovalsScreen(VIEW)))


async def test_files_of_a_rewind(looks: Looks) -> None:
    await looks(Host(rewind_files(FILES)))


@pytest.mark.parametrize("theme", ["plimsoll-dark", "plimsoll-light"])
@pytest.mark.parametrize("size", [WIDE, USUAL, (40, 12)], ids=["120x40", "80x24", "40x12"])
async def test_everything_can_be_read(theme: str, size: tuple[int, int]) -> None:
    for shown in (EDIT, RUN, ApprovalsScreen(VIEW), rewind_files(FILES)):
        app = Host(shown, theme)
        async with app.run_test(size=size) as pilot:
            await _settled(pilot)
            faint = [
                run
                for run in runs(app)
                if run.text not in BEHIND
                and run.says_something
                and contrast(run.fore, run.back) < MIN_CONTRAST
            ]
            assert faint == []


async def _settled(pilot: "Pilot[Any]") -> None:
    for _ in range(3):
        await pilot.pause(0)


async def test_mcp_servers(desk: Desk, looks: Looks) -> None:
    screen = servers()
    show = showing(screen, *["down"] * 4)

    async def failed_one(deck: Deck) -> None:
        await show(deck)
        await deck.until(lambda: screen.options.highlighted == 4, "the row")
        await deck.says("exited with status 7. It said")

    await looks(desk.app(), failed_one)


async def test_skills(desk: Desk, looks: Looks) -> None:
    await looks(desk.app(), showing(SkillsScreen(SKILLS)))
