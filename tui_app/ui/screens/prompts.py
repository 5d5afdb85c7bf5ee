"""Earlier prompts: search them and write one again."""

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets.option_list import Option

from tui_app.session.prompt_history import SEARCHED_CHARS, PastPrompt
from tui_app.ui.format import count, count_lines
from tui_app.ui.keys import Hint, fixed_key
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.filter_dialog import FilterDialog

_TIME_CELLS = 18


def prompt_line(prompt: PastPrompt, width: int, tz: tzinfo | None = None) -> Content:
    """One row: when it was sent, and its beginning."""
    when = (
        datetime.fromtimestamp(prompt.time, tz).strftime("%Y-%m-%d %H:%M") if prompt.time else "this session"
    )
    text = one_line(prompt.text, max(12, width - _TIME_CELLS))
    return Content.assemble((f"{when:<{_TIME_CELLS}}", "$text-muted"), text)


class PromptsScreen(FilterDialog[PastPrompt]):
    """Dismisses with the prompt to write again, or ``None``: then the draft stays as it is."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/prompts.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        fixed_key("prompts.next", "ctrl+r", "move(1)", "Next", "Go on to the next prompt found."),
    ]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "write it again", 0),
        Hint("up/down", "choose", 1),
        Hint("esc", "keep the draft", 0, "screen.close"),
    )
    NAME = "prompts"
    PLACEHOLDER = "search what you have said in this folder"
    CLASSES_OF_BOX = "dialog -full"

    def __init__(self, prompts: Sequence[PastPrompt], *, tz: tzinfo | None = None) -> None:
        """Offer prompts.

        Args:
            prompts: Newest first.
            tz: Time zone of the dates; ``None`` for that of the machine.
        """
        super().__init__()
        self._prompts = [(prompt, prompt.text.lower()) for prompt in prompts]
        self._shown: list[PastPrompt] = []
        self._tz = tz

    @property
    def title_text(self) -> str:
        """Says how many there are."""
        return f"Earlier prompts · {self.how_many}"

    @property
    def total(self) -> int:
        """All earlier prompts."""
        return len(self._prompts)

    def fill(self, wanted: str) -> None:
        """List the prompts that hold all of the words."""
        words = wanted.lower().split()
        self._shown = [prompt for prompt, text in self._prompts if all(word in text for word in words)]
        self.options.clear_options()
        width = max(40, self.size.width - 8)
        self.options.add_options([Option(prompt_line(prompt, width, self._tz)) for prompt in self._shown])
        if self._shown:
            self.options.highlighted = 0
            return
        empty = "Nothing was said in this folder yet."
        self.note("No prompt holds all of that." if self._prompts else empty)

    def explain(self, index: int) -> None:
        """How long a prompt is."""
        text = self._shown[index].text
        more = "more than " if len(text) >= SEARCHED_CHARS else ""
        lines = count_lines(text)
        self.note(f"{more}{count(len(text), 'character')}, {count(lines, 'line')}")

    def use(self, index: int) -> None:
        """Dismiss with a prompt."""
        self.dismiss(self._shown[index])
