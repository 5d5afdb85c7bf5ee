"""The key table: unique, without keys reserved by terminals, and the same in help and footer."""

import re

import pytest
from textual.app import ComposeResult
from textual.binding import Binding

from tests.ui.kit import ThemedApp
from tui_app.chat_keys import KEYS
from tui_app.ui.dialogs.help import HelpScreen, legend
from tui_app.ui.dialogs.help_rows import help_rows
from tui_app.ui.keyboard.keys import Hint, as_bindings, footer_hints
from tui_app.ui.panels.gauge import background_forms
from tui_app.ui.slash import ParsedCommand, parse
from tui_app.ui.slash_commands import COMMANDS
from tui_app.ui.widgets.hint_row import HintRow, fit_hints, notice_text
from tui_app.ui.widgets.tables import Table

TAKEN = re.compile(r"ctrl\+(b|n|x|s|i|m|h|\[)$|alt\+.*|ctrl\+shift\+.*")


HELP = Table(HelpScreen.SPEC.columns)


def test_ids_are_unique_and_keys_do_not_clash_within_a_scope() -> None:
    assert len({key.id for key in KEYS}) == len(KEYS)
    for scope in ("chat", "pane", "prompt", "app"):
        keys = [one for key in KEYS if key.scope == scope for one in key.key.split(",")]
        assert len(keys) == len(set(keys))


def test_no_line_of_the_legend_is_cut_at_60_columns() -> None:
    assert "…" not in legend(52, {}).plain


def test_no_key_that_terminals_tmux_or_the_editor_take() -> None:
    assert [one for key in KEYS for one in key.key.split(",") if TAKEN.match(one)] == []


def test_every_binding_has_id_tooltip_and_description() -> None:
    for binding in as_bindings("chat"):
        assert isinstance(binding, Binding)
        assert binding.id
        assert binding.tooltip
        assert binding.description


def test_every_slash_command_that_a_key_stands_for_is_one() -> None:
    texts = [key.command or key.action.removeprefix("slash('").removesuffix("')") for key in KEYS]
    commands = [text for text in texts if text.startswith("/")]
    assert commands
    assert [text for text in commands if not isinstance(parse(text), ParsedCommand)] == []


def test_help_names_every_key_and_command() -> None:
    lines = "\n".join(HELP.line(row, 110).plain for row in help_rows({}))
    assert [key.id for key in KEYS if key.label not in lines or key.description not in lines] == []
    told = "\n".join(f"{row.label} {row.more}" for row in help_rows({}))
    assert [name for command in COMMANDS for name in command.names if f"/{name}" not in told] == []


def test_only_keys_that_act_above_dialogs_are_said_to_act_everywhere() -> None:
    everywhere = [row.id for row in help_rows({}) if row.where == "everywhere"]
    assert everywhere == [key.id for key in KEYS if key.priority]


def test_help_writes_signs_as_signs_and_keeps_its_columns_apart() -> None:
    rows = help_rows({})
    assert [row.label for row in rows if re.search(r"\w_|slash|underscore", row.label)] == []
    for width in (70, 72, 110):
        touching = [
            line for row in rows if not (line := HELP.line(row, width).plain).endswith(f"  {row.where}")
        ]
        assert touching == []


def test_footer_drops_whole_hints_and_keeps_help() -> None:
    hints = footer_hints()
    for width in range(6, 120):
        shown = fit_hints(hints, width)
        text = "   ".join(map(str, shown))
        assert len(text) <= width
        assert all(hint in hints for hint in shown)
    assert [str(hint) for hint in fit_hints(hints, 10)] == ["? help"]
    assert [str(hint) for hint in fit_hints(hints, 30)] == ["ctrl+g compact", "? help"]


def test_notices_are_counted_in_words() -> None:
    assert notice_text(0) == ""
    assert notice_text(1) == "⚠ 1 notice · f2"
    assert notice_text(3) == "⚠ 3 notices · f2"


class Meanwhile(ThemedApp):
    def compose(self) -> ComposeResult:
        yield HintRow(footer_hints())


@pytest.mark.parametrize(
    ("width", "way_out", "note"),
    [
        (120, "", "? help  ⊖ compacting in the background · 40%  timeline 7"),
        (120, "esc cancels", "⊖ compacting in the background · 40% · esc cancels  timeline 7"),
        (80, "", "⊖ compacting 40%  timeline 7"),
        (76, "esc cancels", "⊖ compacting 40% · esc cancels  timeline 7"),
        (40, "", "⊖  timeline 7"),
    ],
)
async def test_a_compaction_in_the_background_leaves_room_for_hints(
    width: int, way_out: str, note: str
) -> None:
    app = Meanwhile()
    async with app.run_test(size=(width, 5)) as pilot:
        row = app.query_one(HintRow)
        row.folded, row.meanwhile = "timeline 7", background_forms(0.4, way_out)
        await pilot.pause()
        shown = str(row.render())
        assert shown.endswith(note), shown
        assert shown.startswith("ctrl+g compact")


class Footer(ThemedApp):
    def __init__(self) -> None:
        super().__init__()
        self.ran: list[str] = []

    def compose(self) -> ComposeResult:
        yield HintRow((Hint("f8", "delete", 0, "app.delete"), Hint("up", "choose")))

    def action_delete(self) -> None:
        self.ran.append("delete")


async def test_a_click_on_a_hint_does_what_its_key_does() -> None:
    app = Footer()
    async with app.run_test(size=(40, 5)) as pilot:
        await pilot.click(HintRow, offset=(4, 0))
        assert app.ran == ["delete"]
        await pilot.click(HintRow, offset=(14, 0))
        assert app.ran == ["delete"]
