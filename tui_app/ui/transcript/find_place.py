"""Where the row for finding words opens. Most sessions do without it: it is made when it is first wanted."""

from typing import TYPE_CHECKING

from textual.containers import Vertical

from tui_app.ui.transcript.transcript import Transcript

if TYPE_CHECKING:
    from tui_app.ui.transcript.find import FindRow
    from tui_app.ui.transcript.search import Searchable


class FindPlace(Vertical):
    """Has no height until somebody looks for words. The row's ``Closed`` comes through here.

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
        """The row in which one says what to look for, once it was opened."""

    async def open(self, words: str = "") -> None:
        """Show the row; with words, look for them at once."""
        # The first paint does not wait for it.
        from tui_app.ui.transcript.find import FindRow

        if self.row is None:
            self.row = FindRow(self._transcript, self._bodies, id="find")
            self.row.separator = self._separator
            await self.mount(self.row)
        self.row.open(words)

    def close(self) -> bool:
        """Hide the row; whether it was there."""
        if self.row is None or not self.row.is_open:
            return False
        self.row.close()
        return True
