"""The place of the search row: it is made when it is first wanted, so that the first paint need not wait."""

from typing import TYPE_CHECKING

from textual.containers import Vertical

from tui_app.ui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from tui_app.ui.transcript.find import FindRow, Searchable


class FindPlace(Vertical):
    """The place of the search row, which is made when it is first wanted; most sessions do without it.

    The row's ``Closed`` comes through here.

    Args:
        transcript: Shows the places.
        bodies: Where words are looked for.
        separator: Sign between two things that the row says.
        id: Textual id.
    """

    DEFAULT_CSS = "FindPlace { height: auto; }"

    def __init__(
        self, transcript: Transcript, bodies: "Searchable", separator: str, *, id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self._transcript, self._bodies, self._separator = transcript, bodies, separator
        self.row: FindRow | None = None
        """The row, once it was opened."""

    async def open(self, words: str = "") -> None:
        """Show the row; with words, search for them at once."""
        # The first paint does not wait for it.
        from tui_app.ui.transcript.find import FindRow

        if self.row is None:
            self.row = FindRow(self._transcript, self._bodies, id="find")
            self.row.separator = self._separator
            await self.mount(self.row)
        self.row.open(words)

    def hide(self) -> bool:
        """Hide the row; returns whether it was open."""
        if self.row is None or not self.row.is_open:
            return False
        self.row.hide()
        return True
