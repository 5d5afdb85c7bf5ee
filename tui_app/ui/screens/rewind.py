"""Earlier prompts: which one to go back to, and what would leave the model's view with it."""

from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import ClassVar

from textual.content import Content
from textual.types import CSSPathType
from textual.widgets.option_list import Option

from tui_app.session.rewind_fork import RewindPoint
from tui_app.ui.format import clock, count, tokens
from tui_app.ui.keys import Hint
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.filter_dialog import FilterDialog

_TITLE_CELLS = 400


class PromptPicker(FilterDialog[int]):
    """Dismisses with the log number of a prompt, or ``None``. Nothing is lost, so it does not ask twice."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/rewind.tcss"]
    NAME = "rewind"
    PLACEHOLDER = "filter by words of the prompt"
    CLASSES_OF_BOX = "dialog -full"

    def __init__(
        self,
        points: Sequence[RewindPoint],
        title: str,
        verb: str,
        explained: Callable[[RewindPoint], str],
        *,
        unit: str = "msg",
        tz: tzinfo | None = None,
    ) -> None:
        """Offer prompts.

        Args:
            points: Newest first.
            title: What is asked for.
            verb: What enter does.
            explained: What would come of choosing one, in words; asked for the marked one only.
            unit: What the number of each row counts.
            tz: Time zone of the clock; ``None`` for that of the machine.
        """
        super().__init__()
        self._points = tuple(points)
        self._shown: list[RewindPoint] = []
        self._title, self._verb, self._explained = title, verb, explained
        self._unit, self._tz = unit, tz

    @property
    def title_text(self) -> str:
        """What is asked for, and how many there are."""
        return f"{self._title} · {self.how_many} {'prompt' if self.total == 1 else 'prompts'}"

    def on_mount(self) -> None:
        """Name the keys."""
        self.key_row.hints = (
            Hint("enter", self._verb, 0),
            Hint("up/down", "choose", 1),
            Hint("esc", "close", 0, "screen.close"),
        )

    @property
    def total(self) -> int:
        """All prompts."""
        return len(self._points)

    def fill(self, wanted: str) -> None:
        """List the prompts that hold these words in their first line."""
        words = wanted.lower().split()
        self._shown = [point for point in self._points if all(word in point.title.lower() for word in words)]
        self.options.clear_options()
        width = max(30, self.size.width - 8)
        self.options.add_options(
            [Option(prompt_line(point, width, self._tz, self._unit)) for point in self._shown]
        )
        if self._shown:
            self.options.highlighted = 0
        else:
            self.note("No prompt has these words in its first line.")

    def explain(self, index: int) -> None:
        """What would come of choosing a prompt."""
        self.note(self._explained(self._shown[index]))

    def use(self, index: int) -> None:
        """Dismiss with the prompt."""
        self.dismiss(self._shown[index].seq)


def prompt_line(point: RewindPoint, width: int, tz: tzinfo | None = None, unit: str = "msg") -> Content:
    """One row: when, the prompt, its number, and, where there is room, how many messages follow with it."""
    number = f"#{point.seq}"
    size = f"{number:>7} {point.messages:>6} {unit}" if width >= 50 else f"{number:>5}"
    room = width - len(size) - 9
    title = one_line(point.title, max(12, min(room, _TITLE_CELLS))) or "(no text)"
    padding = " " * max(0, room - Content(title).cell_length)
    return Content.assemble(
        (f"{clock(point.time, tz):<5}  ", "$text-muted"),
        (title, "bold"),
        padding,
        (f"  {size}", "$text-muted"),
    )


def leaving_words(point: RewindPoint, sizes: tuple[int, int] | None) -> str:
    """What leaves the model's view, in words.

    Args:
        point: The prompt that is gone back to.
        sizes: Tokens of the next request before and after; ``None`` while they are not known.
    """
    size = f": ~{tokens(sizes[0])} → ~{tokens(sizes[1])}" if sizes else ""
    said = [f"{count(point.messages, 'message')} would leave the model's view{size}."]
    if point.compactions:
        taken_back = count(point.compactions, "compaction")
        said.append(f"{taken_back} would be taken back: the history in front of it comes back in full.")
    if point.restored:
        comes = "comes" if point.restored == 1 else "come"
        said.append(f"{count(point.restored, 'result')} rewritten since {comes} back in full.")
    return " ".join([*said, "The prompt goes into the editor; the log keeps everything."])
