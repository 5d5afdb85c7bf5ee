"""What fills the context: tokens by category, and the biggest messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui_app.context.usage import CATEGORIES, Breakdown, ContextUsage
from tui_app.ui.format import tokens
from tui_app.ui.glyphs import UNICODE, Glyphs
from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.dialog import Dialog
from tui_app.ui.widgets.gauge_text import (
    BACKGROUND,
    BLOCKING,
    gauge_text,
    percent_text,
    threshold_text,
    unmarked_text,
    window_text,
)

NAMES: dict[str, str] = {
    "system": "system prompt",
    "tools": "tool definitions",
    "memory": "memory",
    "summary": "summaries",
    "user": "you",
    "assistant": "answers",
    "thinking": "thinking",
    "tool_calls": "tool calls",
    "tool_results": "tool results",
    "attachments": "attachments",
}
"""Categories as a person reads them."""
UNMEASURED = "not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRow:
    """One of the biggest messages."""

    tokens: int
    kind: str
    what: str
    seq: int
    """Log number."""


@dataclass(frozen=True, slots=True)
class CategoryRow:
    """Tokens of one category."""

    name: str
    tokens: int


def category_rows(usage: ContextUsage) -> list[CategoryRow]:
    """Categories that hold anything; together with ``not measured`` they sum to the total."""
    held = _by_category(usage.parts)
    rows = [CategoryRow(NAMES[name], count) for name, count in held if count]
    if usage.unmeasured:
        rows.append(CategoryRow(UNMEASURED, usage.unmeasured))
    return rows


def _by_category(parts: Breakdown) -> list[tuple[str, int]]:
    figures = (
        parts.system, parts.tools, parts.memory, parts.summary, parts.user, parts.assistant, parts.thinking,
        parts.tool_calls, parts.tool_results, parts.attachments,
    )  # fmt: skip
    return list(zip(CATEGORIES, figures, strict=True))


def category_lines(usage: ContextUsage, bar_width: int, glyphs: Glyphs) -> Content:
    """One row per category: name, exact tokens, share of the window, bar; then the total."""
    rows = category_rows(usage)
    limit = max(1, usage.window.limit)
    biggest = max((row.tokens for row in rows), default=1)
    lines = []
    for row in rows:
        cells = max(1, round(bar_width * row.tokens / max(1, biggest))) if row.tokens > 0 else 0
        lines.append(
            Content.assemble(
                f"{row.name:<17}{row.tokens:>11,} {_share(row.tokens, limit):>5}  ",
                (glyphs.gauge_full * cells, "$text-accent"),
            )
        )
    total = f"{'total':<17}{usage.total:>11,} {_share(usage.total, limit):>5}"
    return Content("\n").join([*lines, Content.styled(total, "bold")])


def _share(count: int, limit: int) -> str:
    return percent_text(count, limit) if count >= 0 else ""


class ContextScreen(Dialog[int]):
    """Dismisses with the log number of the message to show, or ``None``."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/context.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "f3",
            "close",
            "Close",
            show=False,
            id="context.close",
            tooltip="The key that opened it closes it.",
        ),
    ]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "show in the chat", 1),
        Hint("up/down", "choose", 2),
        Hint("esc", "close", 0, "screen.close"),
    )

    def __init__(
        self,
        usage: ContextUsage | None,
        biggest: Sequence[ItemRow] = (),
        *,
        background: float = BACKGROUND,
        blocking: float = BLOCKING,
        floor: int = 0,
        glyphs: Glyphs = UNICODE,
    ) -> None:
        """Show a measurement.

        Args:
            usage: The measured context; ``None`` while nothing is known.
            biggest: Largest messages first.
            background: Share of the window at which compaction starts by itself; 0 for never.
            blocking: Share of the window at which sending waits for it; 0 for never.
            floor: Tokens below which no compaction can bring the context; 0 when not known.
            glyphs: Signs to draw with.
        """
        super().__init__()
        self._usage, self._biggest = usage, tuple(biggest)
        self._background, self._blocking = background, blocking
        self._floor, self._glyphs = floor, glyphs

    def compose(self) -> ComposeResult:
        """Figures, categories, biggest messages, keys."""
        with Vertical(classes="dialog -full"):
            yield self.heading(self._headline())
            yield Static(Content(self._limits()), classes="dialog-note", markup=False)
            if self._usage is not None:
                bars = category_lines(self._usage, max(8, self.app.size.width - 44), self._glyphs)
                yield Static(bars, id="context-categories", markup=False)
            yield Static(Content("    tok  kind          what"), id="context-head", markup=False)
            yield OptionList(*map(self._item, self._biggest), id="context-items", compact=True, markup=False)
            yield self.hints()

    def on_mount(self) -> None:
        """The list has the focus."""
        self.query_one(OptionList).focus()

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._biggest[event.option_index].seq)

    def _headline(self) -> str:
        words = gauge_text(self._usage, background=self._background, blocking=self._blocking)
        return f"Context   {words}"

    def _limits(self) -> str:
        usage = self._usage
        if usage is None:
            return "Nothing is measured yet."
        parts = [f"{usage.messages} messages"]
        if usage.window.reserve:
            parts.append(f"reserve {window_text(usage.window.reserve)}")
        parts.append(threshold_text(self._background) or unmarked_text(self._background, self._blocking))
        if self._floor:
            parts.append(f"floor {tokens(self._floor)}: cannot go lower")
        return f" {self._glyphs.separator} ".join(parts)

    @staticmethod
    def _item(row: ItemRow) -> Option:
        text = Content.assemble(
            f"{tokens(row.tokens):>6}  ",
            (f"{one_line(row.kind, 12):<12}  ", "$text-muted"),
            one_line(row.what, 200),
        )
        return Option(text.append(Content.styled(f"  #{row.seq}", "$text-muted")))
