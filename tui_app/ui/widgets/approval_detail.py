"""What a tool would do, below its question: as much of it as there is room for, the rest by scrolling."""

from typing import TYPE_CHECKING

from textual.app import ComposeResult

from tui_app.ui.approval_text import question_detail, question_title
from tui_app.ui.glyphs import UNICODE, Glyphs
from tui_app.ui.widgets.grown_scroll import ExactStatic, GrownScroll

if TYPE_CHECKING:
    from tui_app.events import ApprovalRequested


class ApprovalDetail(GrownScroll):
    """Shows a diff, a command or arguments."""

    def __init__(self, *, id: str | None = None) -> None:
        """Create it empty.

        Args:
            id: Textual id.
        """
        super().__init__(id=id)
        # Joins the tree a moment after this has.
        self._text = ExactStatic(id="approval-detail", markup=False)
        self._asked: ApprovalRequested | None = None
        self._glyphs = UNICODE
        self._bare: bool | None = None

    def compose(self) -> ComposeResult:
        """The text."""
        yield self._text

    def show(self, asked: "ApprovalRequested", glyphs: Glyphs) -> None:
        """Show what is asked about.

        Args:
            asked: The question.
            glyphs: Signs that the question is drawn with.
        """
        self._asked, self._glyphs, self._bare = asked, glyphs, None
        self._fit()

    def move(self, lines: int, *, pages: bool) -> None:
        """Scroll.

        Args:
            lines: How far down; up when negative.
            pages: Whether to count in what is seen at once.
        """
        self.scroll_relative(y=lines * (self.size.height if pages else 1), animate=False)

    def on_resize(self) -> None:
        """Show as much as there is room for now."""
        self._fit()

    def _fit(self) -> None:
        """Leave out the names of the file where there is little room, and the title has the name whole."""
        if self._asked is None:
            return
        whole = question_title(self._asked, self._glyphs).cell_length <= self.screen.size.width
        bare = whole and self.screen.has_class("-short")
        if bare is not self._bare:
            self._bare = bare
            self._text.update(question_detail(self._asked, bare=bare))
