"""Choosing the model that answers next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.content import Content
from textual.types import CSSPathType
from textual.widgets.option_list import Option

from tui_app.ui.format import tokens
from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.filter_dialog import FilterDialog
from tui_app.ui.widgets.gauge_text import window_text

SOURCES: dict[str, str] = {
    "setting": "from your settings",
    "learnt": "learnt from an error",
    "server": "from the server",
    "model": "the model's own",
    "default": "assumed",
}
"""Where a window size comes from, in words."""


_WITH_RATES = 100
"""Columns of the screen from which on prices stand in the rows as well."""


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
    needs_key: str = ""
    """Variable of the key that is all it lacks: it is asked for when the model is chosen."""
    fits: bool = True
    """Whether the present conversation fits its window."""
    price: str = ""
    """For a person, for example ``$0.25 in · $2.00 out``; empty when unknown or free."""
    too_small: bool = False
    """Whether it would not fit even after a compaction."""
    rates: str = ""
    """Price in and out in few cells, ``0.25/2.00``; empty when unknown."""
    can: tuple[str, ...] = ()
    """What it is known to do: ``tools``, ``thinking``, ``images``."""
    current: bool = False


def model_state(row: ModelRow, conversation_tokens: int) -> str:
    """``current``, what is missing, ``fits``, or why it does not."""
    if not row.available:
        return one_line(row.why_not, 40) or "not available"
    if not row.fits:
        even = "too large even compacted" if row.too_small else "will not fit: compact first"
        return f"{tokens(conversation_tokens)} {even}"
    return "current" if row.current else "fits"


def model_line(
    row: ModelRow,
    conversation_tokens: int,
    name_width: int,
    *,
    with_state: bool = True,
    with_rates: bool = False,
) -> Content:
    """One row: name, window, and its state unless it is said elsewhere; columns line up."""
    window = window_text(row.window) if row.window else "?"
    name = one_line(row.name, name_width)
    colour = "$text-muted" if not row.available else "$text-warning" if not row.fits else ""
    padding = " " * (name_width - Content(name).cell_length)
    text = Content.assemble(
        (name, "bold" if row.current else ""),
        padding,
        f"{window:>7}  ",
        f"{row.rates:>11}  " if with_rates else "",
        (model_state(row, conversation_tokens) if with_state else "", colour),
    )
    return text if row.available else text.stylize("$text-muted")


class ModelPicker(FilterDialog[str]):
    """Dismisses with a full model name, or ``None``. A name that is not listed can be typed."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/model_picker.tcss"]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "use", 0),
        Hint("up/down", "choose", 1),
        Hint("esc", "cancel", 0, "screen.close"),
    )
    NAME = "picker"
    PLACEHOLDER = "search, or type a full name: provider:model"

    def __init__(self, choices: Sequence[ModelRow], conversation_tokens: int, *, asked: bool = True) -> None:
        """Offer models.

        Args:
            choices: Models; those that can answer now are shown first, else the order is kept.
            conversation_tokens: Size of the present conversation.
            asked: Whether servers were asked to the end; else their models are missing.
        """
        super().__init__()
        self._choices = sorted(choices, key=lambda row: not row.available)
        self._tokens = conversation_tokens
        self._asked = asked
        self._shown: list[ModelRow | str] = []

    @property
    def title_text(self) -> str:
        """Says how large the conversation is."""
        missing = "" if self._asked else " · without models of servers"
        return f"Model · this conversation is {tokens(self._tokens)}{self.narrowed}{missing}"

    @property
    def total(self) -> int:
        """All models that are offered."""
        return len(self._choices)

    @property
    def found(self) -> int:
        """Models that the filter leaves, without a name that is not in the list."""
        return sum(isinstance(row, ModelRow) for row in self._shown)

    def fill(self, wanted: str) -> None:
        """List the models with these words in their names; a full name that is not listed is offered."""
        words = wanted.lower().split()
        name = wanted.strip()
        self._shown = [row for row in self._choices if all(word in row.name.lower() for word in words)]
        if _is_full_name(name) and all(row.name != name for row in self._choices):
            self._shown.append(name)
        width = min(48, max(24, self.size.width // 2 - 10))
        self.options.clear_options()
        self.options.add_options([Option(self._line(row, width)) for row in self._shown])
        if self._shown:
            self.options.highlighted = self._first(name)
        else:
            self.note("No model has that in its name. Type provider:model to use one that is not listed.")

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
        wide = self.size.width >= _WITH_RATES
        return model_line(row, self._tokens, width, with_state=not self._is_narrow, with_rates=wide)

    @property
    def _is_narrow(self) -> bool:
        """Whether the state of a model has no room in its row: the note below the list says it then."""
        return self.size.width < 60

    def explain(self, index: int) -> None:
        """Window, its source and the price of a model."""
        row = self._shown[index]
        if isinstance(row, str):
            self.note("Its window is asked for when it is used.")
            return
        window = f"window {window_text(row.window)} ({SOURCES.get(row.window_source, row.window_source)})"
        state = "current" if row.current else ""
        if self._is_narrow:
            state = model_state(row, self._tokens)
        price = f"{row.price} per million" if row.price.startswith("$") else row.price or "price not known"
        can = ", ".join(row.can)
        parts = [window if row.window else "window not known", price, can, state]
        if row.why_not:
            parts = [row.why_not, window if row.window else "", price if row.price else ""]
        self.note(" · ".join(one_line(part, 160) for part in parts if part))

    def use(self, index: int) -> None:
        """Dismiss with a model that can answer; say what is missing for one that cannot."""
        row = self._shown[index]
        if isinstance(row, str):
            self.dismiss(row)
        elif row.available or row.needs_key:
            self.dismiss(row.name)
        else:
            why = one_line(row.why_not, 160) or "not available"
            self.note(f"{one_line(row.name, 60)} cannot be used yet: {why}")


def _is_full_name(text: str) -> bool:
    provider, _, model = text.partition(":")
    return bool(provider and model) and not any(character.isspace() for character in text)
