"""The answer that is being written: cheap to add to, painted piece by piece."""

from tui_app.ui.safe_text import clean
from tui_app.ui.widgets.entry_wording import Wording
from tui_app.ui.widgets.markdown_split import Splitter
from tui_app.ui.widgets.pieces import GapPiece, MarkdownPiece, Piece
from tui_app.ui.widgets.said_pieces import role, thinking_pieces

_ESC = "\x1b"
_HELD_BACK = 64
"""At most so many characters are held back in case an escape sequence is still arriving."""


class LiveMessage:
    """Collects streamed text and thinking.

    Text is split into finished pieces and one that grows, so only the growing one is laid out again. The
    pieces are the ones that the finished entry will be made of: handing over changes nothing on screen.
    """

    def __init__(self) -> None:
        self._splitter = Splitter()
        self._pending: list[str] = []
        self._held = ""
        self._thinking: list[str] = []
        self._sealed: list[Piece] = []
        self.ended = False

    def append(self, text: str = "", thinking: str = "") -> None:
        """Add a portion; costs nothing until the next :meth:`pieces`."""
        if text:
            self._pending.append(text)
        if thinking:
            self._thinking.append(thinking)

    def end(self) -> None:
        """Say that nothing more comes."""
        self.ended = True

    @property
    def empty(self) -> bool:
        """Whether nothing has arrived."""
        return not (self._pending or self._held or self._thinking or self._splitter.pieces())

    @property
    def thinking(self) -> str:
        """All thinking so far."""
        if len(self._thinking) > 1:
            self._thinking = ["".join(self._thinking)]
        return self._thinking[0] if self._thinking else ""

    def pieces(self, wording: Wording, *, gap: int, expanded: bool) -> list[Piece]:
        """List the pieces of what has arrived, with ``gap`` blank lines above."""
        self._take()
        done = len(self._sealed)
        self._sealed += (MarkdownPiece(source, apart) for source, apart in self._splitter.sealed[done:])
        source, apart = self._splitter.open
        body = [*self._sealed, MarkdownPiece(source, apart)] if source.strip() else self._sealed
        content = [*thinking_pieces(self.thinking, wording, expanded=expanded)]
        if body:
            content += [*role(wording), *body]
        return [GapPiece(gap), *content] if gap and content else content

    def _take(self) -> None:
        """Clean what is pending; a control sequence may arrive in two portions."""
        text = self._held + "".join(self._pending)
        self._pending.clear()
        self._held = ""
        cut = text.rfind(_ESC) if not self.ended else -1
        if text.endswith("\r") and not self.ended:
            cut = len(text) - 1
        if cut >= 0 and len(text) - cut < _HELD_BACK:
            text, self._held = text[:cut], text[cut:]
        if text:
            self._splitter.feed(clean(text))
