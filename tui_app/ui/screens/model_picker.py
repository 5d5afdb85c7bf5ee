"""Choosing the model that answers next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui_app.ui.format import tokens
from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.dialog import Dialog
from tui_app.ui.widgets.gauge_text import window_text

SOURCES: dict[str, str] = {
    "setting": "from your settings",
    "learnt": "learnt from an error",
    "server": "from the server",
    "model": "from the price list",
    "default": "assumed",
}
"""Where a window size comes from, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """One model of the list."""

    name: str
    """Full name, ``provider:model``."""
    window: int
    """Tokens; 0 when not known."""
    window_source: str = "default"
    available: bool = True
    """Whether it could answer now (key set, server up)."""
    why_not: str = ""
    """What is missing, for example ``set OPENAI_API_KEY``."""
    fits: bool = True
    """Whether the present conversation fits its window."""
    price: str = ""
    """For a person, for example ``$0.25 in · $2.00 out``; empty when unknown or free."""
    current: bool = False


def model_state(row: ModelRow, conversation_tokens: int) -> str:
    """``current``, what is missing, ``fits``, or why it does not."""
    if not row.available:
        return one_line(row.why_not, 40) or "not available"
    if not row.fits:
        return f"{tokens(conversation_tokens)} will not fit: compact first"
    return "current" if row.current else "fits"


def model_line(row: ModelRow, conversation_tokens: int, name_width: int) -> Content:
    """One row: name, window, state; columns line up."""
    window = window_text(row.window) if row.window else "?"
    name = one_line(row.name, name_width)
    colour = "$text-muted" if not row.available else "$text-warning" if not row.fits else ""
    padding = " " * (name_width - Content(name).cell_length)
    text = Content.assemble(
        (name, "bold" if row.current else ""),
        padding,
        f"{window:>7}  ",
        (model_state(row, conversation_tokens), colour),
    )
    return text if row.available else text.stylize("$text-muted")


class ModelPicker(Dialog[str]):
    """Dismisses with a full model name, or ``None``. A name that is not listed can be typed."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/model_picker.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "move(1)", "Next", show=False, id="picker.down"),
        Binding("up", "move(-1)", "Previous", show=False, id="picker.up"),
        Binding("pagedown", "move(10)", "Next page", show=False, id="picker.page_down"),
        Binding("pageup", "move(-10)", "Previous page", show=False, id="picker.page_up"),
    ]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "use", 0),
        Hint("up/down", "choose", 1),
        Hint("esc", "cancel", 0, "screen.close"),
    )

    def __init__(self, choices: Sequence[ModelRow], conversation_tokens: int) -> None:
        """Offer models.

        Args:
            choices: Models; those that can answer now are shown first, else the order is kept.
            conversation_tokens: Size of the present conversation.
        """
        super().__init__()
        self._choices = sorted(choices, key=lambda row: not row.available)
        self._tokens = conversation_tokens
        self._shown: list[ModelRow | str] = []

    def compose(self) -> ComposeResult:
        """Title, search, list, the marked model in words, keys."""
        with Vertical(classes="dialog"):
            yield self.heading(f"Model · this conversation is {tokens(self._tokens)}")
            yield Input(
                placeholder="search, or type a full name: provider:model", id="picker-search", compact=True
            )
            yield OptionList(id="picker-list", compact=True, markup=False)
            yield Static(id="picker-note", classes="dialog-note", markup=False)
            yield self.hints()

    def on_mount(self) -> None:
        """Show all models, the present one marked."""
        self.query_one(OptionList).can_focus = False
        self._fill("")

    def on_resize(self, _: events.Resize) -> None:
        """Line the columns up again."""
        self._fill(self.query_one(Input).value)

    @on(Input.Changed)
    def _searched(self, event: Input.Changed) -> None:
        event.stop()
        self._fill(event.value)

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        self._use(self.query_one(OptionList).highlighted)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._use(event.option_index)

    @on(OptionList.OptionHighlighted)
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._explain(self._shown[event.option_index])

    def action_move(self, step: int) -> None:
        """Mark another model while the search box keeps the focus."""
        options = self.query_one(OptionList)
        if self._shown:
            at = (options.highlighted or 0) + step
            options.highlighted = min(len(self._shown) - 1, max(0, at))

    def _fill(self, wanted: str) -> None:
        words = wanted.lower().split()
        name = wanted.strip()
        self._shown = [row for row in self._choices if all(word in row.name.lower() for word in words)]
        if _is_full_name(name) and all(row.name != name for row in self._choices):
            self._shown.append(name)
        width = min(48, max(24, self.size.width // 2 - 10))
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options([Option(self._line(row, width)) for row in self._shown])
        if self._shown:
            options.highlighted = self._first(name)
        else:
            self._note("No model has that in its name. Type provider:model to use one that is not listed.")

    def _first(self, name: str) -> int:
        """The row to mark: the exact name, else the present model, else the first."""
        names = [row if isinstance(row, str) else row.name for row in self._shown]
        if name in names:
            return names.index(name) if isinstance(self._shown[names.index(name)], ModelRow) else 0
        current = (at for at, row in enumerate(self._shown) if isinstance(row, ModelRow) and row.current)
        return next(current, 0)

    def _line(self, row: ModelRow | str, width: int) -> Content:
        if isinstance(row, str):
            return Content(f"use {one_line(row, 60)}   not in the list")
        return model_line(row, self._tokens, width)

    def _explain(self, row: ModelRow | str) -> None:
        if isinstance(row, str):
            self._note("Its window is asked for when it is used.")
            return
        window = f"window {window_text(row.window)} ({SOURCES.get(row.window_source, row.window_source)})"
        parts = [window if row.window else "window not known", row.price, "current" if row.current else ""]
        self._note(" · ".join(one_line(part, 60) for part in parts if part))

    def _note(self, text: str) -> None:
        self.query_one("#picker-note", Static).update(Content(text))

    def _use(self, index: int | None) -> None:
        if index is None or index >= len(self._shown):
            return
        row = self._shown[index]
        if isinstance(row, str):
            self.dismiss(row)
        elif row.available:
            self.dismiss(row.name)
        else:
            why = one_line(row.why_not, 80) or "not available"
            self._note(f"{one_line(row.name, 60)} cannot answer yet: {why}.")


def _is_full_name(text: str) -> bool:
    provider, _, model = text.partition(":")
    return bool(provider and model) and not any(character.isspace() for character in text)
