"""The dialogs and questions among the scenes; together with the others, every screen there is."""

from collections.abc import Callable, Mapping
from datetime import UTC

from textual.command import CommandPalette
from textual.screen import Screen
from textual.widgets import TextArea

from tests.ui.app import scenes
from tests.ui.app.scenes import Scene, opens
from tests.ui.app.test_app_extras import SERVERS, SKILLS, ask_nobody, same_servers
from tests.ui.app.test_app_looks import queue
from tests.ui.app.test_app_snapshots import DONE
from tests.ui.app.test_app_steering_snapshots import found, long_question, one_message
from tests.ui.app.test_approvals_snapshots import FILES, VIEW
from tests.ui.kit import Deck
from tests.ui.plans import SWITCH, proposed
from tui_app.events import CompactionProgress
from tui_app.ui.dialogs.api_keys import KeyDialog
from tui_app.ui.dialogs.approvals import ApprovalsScreen
from tui_app.ui.dialogs.compaction import CheckpointsScreen, SummaryEditor
from tui_app.ui.dialogs.imports import ImportProgressDialog
from tui_app.ui.dialogs.mcp import McpScreen
from tui_app.ui.dialogs.message import MessageScreen
from tui_app.ui.dialogs.models import SwitchDialog
from tui_app.ui.dialogs.pins import PinsScreen
from tui_app.ui.dialogs.prompts import PromptsScreen
from tui_app.ui.dialogs.queue import QueueScreen
from tui_app.ui.dialogs.review import ReviewScreen
from tui_app.ui.dialogs.rewind import PromptPicker, RewindFiles
from tui_app.ui.dialogs.skills import SkillsScreen
from tui_app.ui.dialogs.stats import StatsScreen
from tui_app.ui.screen import ChatScreen


def asks(dialog: Callable[[], Screen[object]]) -> Scene:
    """A dialog that comes up by itself, behind work that a scene has no time for."""

    async def scene(deck: Deck) -> None:
        await deck.app.push_screen(dialog())

    return scene


async def writing(deck: Deck) -> None:
    """A summary of which the beginning is there."""
    screen = ReviewScreen(None, job="j")
    await deck.app.push_screen(screen)
    screen.hear(
        CompactionProgress(job="j", part=2, parts=3, tokens_written=30, model="m", text=DONE.summary[:120])
    )
    await deck.until(lambda: screen.query_one(TextArea).text, "the text")


async def summary(deck: Deck) -> None:
    await scenes.compaction(deck)
    await opens(SummaryEditor, "e")(deck)


async def pins(deck: Deck) -> None:
    await deck.send("/pin last")
    await deck.says("Pinned #12")
    await opens(PinsScreen, command="/pin")(deck)


async def marked(deck: Deck) -> None:
    """Lines of the conversation, to be copied."""
    deck.transcript.jump_to(2)
    deck.transcript.focus()
    await deck.press("v", "shift+down", "shift+down")
    await deck.says("3 marked")


DIALOGS: Mapping[str, tuple[type[Screen[object]], Scene]] = {
    "review": (ReviewScreen, asks(lambda: ReviewScreen(proposed(DONE), clock=lambda: 0.0))),
    "writing": (ReviewScreen, writing),
    "summary": (SummaryEditor, summary),
    "switch": (SwitchDialog, asks(lambda: SwitchDialog(SWITCH, clock=lambda: 0.0))),
    "rewind": (PromptPicker, opens(PromptPicker, command="/rewind")),
    "files": (RewindFiles, asks(lambda: RewindFiles(FILES))),
    "pins": (PinsScreen, pins),
    "message": (MessageScreen, one_message),
    "find": (ChatScreen, found),
    "marked": (ChatScreen, marked),
    "stats": (StatsScreen, opens(StatsScreen, command="/stats")),
    "checkpoints": (CheckpointsScreen, opens(CheckpointsScreen, command="/session checkpoints")),
    "question": (ChatScreen, long_question),
    "approvals": (ApprovalsScreen, asks(lambda: ApprovalsScreen(VIEW, tz=UTC))),
    "palette": (CommandPalette, opens(CommandPalette, "ctrl+p")),
    "queue": (QueueScreen, queue),
    "prompts": (PromptsScreen, opens(PromptsScreen, "ctrl+r")),
    "key": (KeyDialog, asks(lambda: KeyDialog("openai:gpt-5-mini", "OPENAI_API_KEY", "It is empty."))),
    "importing": (ImportProgressDialog, asks(lambda: ImportProgressDialog("a.jsonl", lambda: True))),
    "servers": (McpScreen, asks(lambda: McpScreen(SERVERS, same_servers, ask_nobody))),
    "skills": (SkillsScreen, asks(lambda: SkillsScreen(SKILLS))),
}
"""What shows each dialog, and which it is."""

SCENES: Mapping[str, Scene] = {**scenes.SCENES, **{name: play for name, (_, play) in DIALOGS.items()}}
