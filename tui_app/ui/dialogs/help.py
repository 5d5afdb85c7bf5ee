"""Help: every key and slash command, read from the tables that define them."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, ClassVar

from rich.cells import cell_len
from textual.content import Content
from textual.widgets.option_list import Option

from tui_app.chat_keys import NO_CHANGES, in_force, key_labels
from tui_app.records import frozen
from tui_app.ui.dialogs.list import ListDialog, ListSpec
from tui_app.ui.keyboard.keys import Hint
from tui_app.ui.slash import SlashCommand
from tui_app.ui.widgets.tables import MUTED, Column, packed
from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.text import one_line, padded, wrap_spans

_GAP = 2


@frozen(kw_only=True)
class HelpRow:
    """A key or a command, as shown to the user."""

    label: str
    """Keys as shown to the user, or the command with its argument."""
    text: str
    """What it does, in a few words."""
    more: str
    """One more sentence."""
    where: str
    topic: str = ""
    """The group it is listed in; empty for the group of `where`."""
    id: str = ""
    """Name in the key map; empty if the key is fixed."""
    command: SlashCommand | None = None
    how: str = "This key is fixed."
    """How it is run, or where its key can be changed."""


COMMANDS_TOPIC = "Commands"
_FIRST = ("In the prompt", "In the chat", "Stop and leave", "In the conversation", "On a tool's question")
_TOPICS = (*_FIRST, "In the timeline", COMMANDS_TOPIC)
"""The groups that come first."""
_TWO_COLUMNS, _APART = 100, 4
"""Cells from which there are two columns, and the cells between them."""


def help_page(rows: Sequence[HelpRow], width: int) -> list[Content]:
    """Lay out all keys and commands in groups; each group goes to the shorter column."""
    groups: dict[str, list[HelpRow]] = {topic: [] for topic in _TOPICS}
    for row in rows:
        topic = row.topic or f"{row.where[:1].upper()}{row.where[1:]}"
        groups.setdefault("In the prompt" if topic == "In a prompt" else topic, []).append(row)
    columns = 2 if width >= _TWO_COLUMNS else 1
    cells = (width - _APART * (columns - 1)) // columns
    stacks: list[list[Content]] = [[] for _ in range(columns)]
    for topic, group in groups.items():
        if group:
            stack = min(stacks, key=len)
            stack += [*([Content()] if stack else []), Content.styled(topic, "bold $foreground")]
            stack += _group_lines(group, cells)
    lines = []
    for left, *right in zip_longest(*stacks, fillvalue=Content()):
        gap = " " * (cells + _APART - left.cell_length) if right else ""
        lines.append(Content("").join([left, Content(gap), *right]))
    return lines


def _group_lines(group: Sequence[HelpRow], cells: int) -> Iterator[Content]:
    column = min(max(cell_len(row.label) for row in group), cells * 2 // 5) + _GAP
    for row in group:
        label = padded(one_line(row.label, cells), column)
        if cell_len(label) > column:
            yield Content.styled(label, "$foreground")
            label = " " * column
        for start, stop, _ in wrap_spans(row.text, cells - column):
            yield Content.assemble((label, "$foreground"), (row.text[start:stop], "$text-muted"))
            label = " " * column


_NAME_CELLS = 8


def legend(width: int, keymap: Mapping[str, str]) -> Content:
    """Return the lines before the keys: signs, gauge, and how to see, check, undo and steer.

    Args:
        width: Cells of a line; what does not fit is wrapped.
        keymap: The user's key mappings.
    """
    keys, glyphs = {key.id: key_labels(key.key) for key in in_force(keymap)}, UNICODE
    line = (glyphs.load_mark, MUTED)
    load = Content.assemble(
        (glyphs.gauge_full * 12 + glyphs.gauge_part * 3, "$accent"),
        (glyphs.gauge_empty * 8, "$line-strong"), line, (glyphs.gauge_empty * 3, "$line-strong"), line,
    )  # fmt: skip
    compaction, prompt, mark, kept = (
        Content.styled(sign, "$text-accent")
        for sign in (glyphs.load_line, glyphs.bullet, glyphs.mark, glyphs.kept)
    )
    lines: Sequence[tuple[str, Sequence[tuple[str | Content, str]]]] = (
        ("signs", ((compaction, "compaction"), (prompt, "prompt"), (glyphs.checkpoint, "checkpoint"),
            (glyphs.arrow, "read"), (glyphs.search, "search"), ("$", "command"), (glyphs.edit, "edit"),
            (glyphs.todo, "todo"), (glyphs.server, "MCP"), (glyphs.subagent, "subagent"))),
        ("", ((mark, "the model sees it"), (" ", "blank: it has left"),
            (glyphs.part, "trimmed, archived, in a file"), (kept, "pinned"), (glyphs.excluded, "excluded"))),
        ("gauge", ((load, "used, draft"),
            (glyphs.load_mark, "first mark: compaction starts, second: sending waits"))),
        ("see", ((keys["chat.context"], "what fills the context"), (keys["chat.timeline"], "timeline"),
            (keys["chat.details"], "everything about a row"))),
        ("check", ((keys["chat.details"], "on a compaction: sent, facts, removed"),
            ("/compact --review", "before it is applied"))),
        ("undo", (("/undo", "compaction, rewind, /clear"), ("esc esc", "an earlier prompt"))),
        ("steer", ((keys["chat.compact"], "compacts now"), ("/compact WORDS", "says what matters"),
            ("p", "pins a row, x excludes it"), (keys["chat.mode"], "mode"))),
    )  # fmt: skip
    return Content("\n").join([_legend_line(name, pairs, width) for name, pairs in lines]) + "\n"


def _legend_line(name: str, pairs: Sequence[tuple[str | Content, str]], width: int) -> Content:
    items = [
        Content.assemble(
            Content.styled(sign, "$footer-key-foreground") if isinstance(sign, str) else sign,
            (f" {words}", "$text-muted"),
        )
        for sign, words in pairs
    ]
    name_cell = Content.styled(f"{name:<{_NAME_CELLS}}", "bold $foreground")
    parts = [Content.assemble(name_cell, items[0]), *items[1:]]
    line = packed(parts, width, lead=_NAME_CELLS)
    # With less space between the parts, if that saves a row.
    closer = packed(parts, width, gap="  ", lead=_NAME_CELLS)
    return min(line, closer, key=lambda each: each.plain.count("\n"))


class HelpScreen(ListDialog[HelpRow], place="help", size="-full"):
    """Dismisses with the row of the command to run, or ``None``."""

    SPEC: ClassVar[ListSpec[Any]] = ListSpec[HelpRow](
        name="help",
        search="filter by key, command, purpose or place",
        columns=(
            Column(lambda row: row.label, 23, "$footer-key-foreground", share=2),
            Column(lambda row: row.text, gap=2),
            Column(lambda row: row.where, 21, leaves_at=70),
        ),
        title=lambda _: "Keys and commands",
        words=lambda row: f"{row.label} {row.text} {row.more} {row.where} {row.id}",
        note=lambda row: f"{row.more} {row.how}",
        empty="No matching key or command.",
        acts_without_row=("?", "esc"),
    )

    def __init__(self, rows: Sequence[HelpRow], keymap: Mapping[str, str] = NO_CHANGES) -> None:
        """List keys and commands.

        Args:
            rows: All of them.
            keymap: The user's key mappings.
        """
        super().__init__(rows)
        self._keymap = keymap

    def fill(self, query: str) -> None:
        """List the matching rows; the key that opened help closes it."""
        # The search box gets every character before a binding could.
        if query == "?":
            self.action_close()
            return
        super().fill(query)

    def name_keys(self) -> None:
        super().name_keys()
        if not self.written:
            self.key_row.hints = (Hint("up/down", "scroll", 2), *self.spec.hints[2:])

    def list_rows(self, rows: Sequence[HelpRow]) -> None:
        """List the matching rows; without a filter show a page in groups, which has no marked row."""
        super().list_rows(rows if self.written else ())
        if not self.written:
            first = legend(self.row_width, self._keymap)
            lines = [first, *help_page(rows, self.row_width)]
            self.options.add_options(Option(line, disabled=True) for line in lines)
            self.note("Type to filter. enter runs the selected command.")

    def action_move(self, step: int) -> None:
        if self.written:
            super().action_move(step)
        else:
            self.options.scroll_relative(y=step, animate=False)

    def explain(self, row: HelpRow) -> None:
        super().explain(row)
        self.key_row.hints = self.spec.hints[row.command is None :]

    def use(self, row: HelpRow) -> None:
        if row.command is not None:
            self.dismiss(row)
