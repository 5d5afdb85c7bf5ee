"""What the list of other programs' conversations and a running import look like."""

from collections.abc import Callable
from datetime import UTC
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.ui.kit import USUAL, WIDE, Deck, Desk
from tui_app.conversation import agent_setup as agents
from tui_app.ui.dialogs.imports import ImportProgressDialog, ImportScreen, TranscriptRow

Compare = Callable[..., bool]
ROWS = [
    TranscriptRow(
        path=f"~/.{program}/{number}.jsonl",
        program=program,
        title=title,
        cwd="~/ferry-timetable",
        time=1_772_360_000 - number * 90_000,
        size=size,
        session=session,
        changed=changed,
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
looks = pytest.mark.parametrize(
    ("size", "theme"),
    [(WIDE, "plimsoll-dark"), (USUAL, "plimsoll-dark"), (WIDE, "plimsoll-light"), (USUAL, "plimsoll-light")],
    ids=["120x40-dark", "80x24-dark", "120x40-light", "80x24-light"],
)


@pytest.fixture(autouse=True)
def _fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The instructions name folders of this run, and the gauge behind a dialog counts them."""
    monkeypatch.setattr(agents, "system_instructions", lambda *_, **__: "Answer questions about these files.")


@looks
def test_list(desk: Desk, snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    app = desk.change(theme=theme).app()

    async def play(pilot: "Pilot[Any]") -> None:
        deck = Deck(app, pilot)
        await deck.ready()
        screen = ImportScreen(tz=UTC)
        await app.push_screen(screen)
        screen.show(ROWS)
        await deck.press("down", "down")
        await deck.settle()

    assert snap_compare(app, terminal_size=size, run_before=play)


@looks
def test_progress(desk: Desk, snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    app = desk.change(theme=theme).app()

    async def play(pilot: "Pilot[Any]") -> None:
        deck = Deck(app, pilot)
        await deck.ready()
        dialog = ImportProgressDialog("rollout-2026-03-01.jsonl", lambda: True)
        await app.push_screen(dialog)
        dialog.show("Counting tokens: 1,250 of 3,400 events")
        await deck.settle()

    assert snap_compare(app, terminal_size=size, run_before=play)
