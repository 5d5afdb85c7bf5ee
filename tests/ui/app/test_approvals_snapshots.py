"""How a tool's question, the rules and the question about files look."""

from collections.abc import Callable
from datetime import UTC
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, Static

from tests.ui.kit import USUAL, WIDE
from tests.ui.render import runs
from tui_app.conversation.file_snapshots import FileOutlook
from tui_app.events import ApprovalDecided, ApprovalRequested
from tui_app.settings.approvals import parse_rule
from tui_app.ui.approvals import ApprovalBox
from tui_app.ui.dialogs.approvals import ApprovalsScreen, ApprovalsView, Decided
from tui_app.ui.dialogs.rewind import RewindFiles
from tui_app.ui.plain_lines import MIN_CONTRAST, contrast
from tui_app.ui.themes import THEMES

Compare = Callable[..., bool]
BEHIND = "The conversation."
"""Stands behind every screen, and is dimmed there."""
DIFF = """--- a/ferry/import.py
+++ b/ferry/import.py
@@ -85,7 +85,7 @@
 def parse(row):
     weekday = row.weekday
-    if not weekday:
+    if weekday is None:
         return None
     return weekday"""
EDIT = ApprovalRequested(
    id="1.1", tool_call_id="1", tool="edit_file", kind="file", subject="ferry/import.py", detail=DIFF,
    note="+1 -1", pattern="edit_file ferry/import.py", because="asks unless a rule allows it", waiting=1,
)  # fmt: skip
RUN = ApprovalRequested(
    id="2.1", tool_call_id="2", tool="run_command", kind="command", subject="pytest -q | tail -5",
    detail="in /home/me/ferry", note="through a shell, at most 120 s", because="asks unless a rule allows it",
)  # fmt: skip
VIEW = ApprovalsView(
    rules=(
        parse_rule("deny", "run_command rm -rf"),
        parse_rule("ask", "write_file *.lock"),
        parse_rule("allow", "run_command pytest"),
        parse_rule("allow", "edit_file ferry/**", "session"),
    ),
    decisions=(
        Decided(
            43_380.0,
            ApprovalDecided(
                id="2.1", tool_call_id="2", tool="run_command", subject="git push", decision="denied",
                by="person", reason="not before the review",
            ),
        ),
        Decided(
            43_320.0,
            ApprovalDecided(
                id="1.1", tool_call_id="1", tool="edit_file", subject="ferry/import.py", decision="allowed",
                by="person", scope="always", rule="edit_file ferry/**",
            ),
        ),
    ),
)  # fmt: skip
FILES = [
    FileOutlook(path="ferry/import.py", fate="restore", target="a"),
    FileOutlook(path="ferry/holidays.py", fate="remove", target=""),
    FileOutlook(path="README.md", fate="changed", target="b"),
]
looks = pytest.mark.parametrize(
    ("size", "theme"),
    [(WIDE, "plimsoll-dark"), (USUAL, "plimsoll-dark"), (WIDE, "plimsoll-light"), (USUAL, "plimsoll-light")],
    ids=["120x40-dark", "80x24-dark", "120x40-light", "80x24-light"],
)


class Host(App[None]):
    """One question above a line, or one screen."""

    CSS = "#rest { height: 1fr; }"

    def __init__(self, theme: str, shown: "ApprovalRequested | Screen[Any]") -> None:
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


@looks
@pytest.mark.parametrize("asked", [EDIT, RUN], ids=["edit", "command"])
def test_question(snap_compare: Compare, size: tuple[int, int], theme: str, asked: ApprovalRequested) -> None:
    assert snap_compare(Host(theme, asked), terminal_size=size)


@looks
def test_reason(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    assert snap_compare(Host(theme, EDIT), terminal_size=size, press=["n", *"no"])


@looks
def test_rules_and_decisions(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    assert snap_compare(Host(theme, ApprovalsScreen(VIEW, tz=UTC)), terminal_size=size)


@looks
def test_files_of_a_rewind(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    assert snap_compare(Host(theme, RewindFiles(FILES)), terminal_size=size)


@pytest.mark.parametrize("theme", ["plimsoll-dark", "plimsoll-light"])
@pytest.mark.parametrize("size", [WIDE, USUAL, (40, 12)], ids=["120x40", "80x24", "40x12"])
async def test_everything_can_be_read(theme: str, size: tuple[int, int]) -> None:
    for shown in (EDIT, RUN, ApprovalsScreen(VIEW, tz=UTC), RewindFiles(FILES)):
        app = Host(theme, shown)
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
