"""The list above the prompt: commands or files that fit what is typed. It shows; the prompt decides."""

from collections.abc import Callable, Coroutine, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget
from textual.worker import Worker

from tui_app.ui.failing import TellsFailures
from tui_app.ui.glyphs import UNICODE, Glyphs
from tui_app.ui.safe_text import cut_cells, one_line, padded

MAX_ROWS = 8
_GROUP = "offers"


class Offer(NamedTuple):
    """One row that can be chosen; texts must be clean."""

    label: str
    summary: str = ""
    aside: str = ""
    """Shown behind the summary where there is room."""


class OfferList(TellsFailures, Widget):
    """What fits what is typed, one row of it marked; or one sentence when nothing does."""

    DEFAULT_CSS = """
    OfferList { height: auto; max-height: 8; padding: 0 2; background: $panel; display: none; }
    OfferList.-open { display: block; }
    """

    offers: reactive[tuple[Offer, ...]] = reactive((), layout=True)
    marked: reactive[int] = reactive(0)
    message: reactive[str] = reactive("", layout=True)
    """Shown instead of offers: ``No command /foo. Closest: /compact``."""
    glyphs: reactive[Glyphs] = reactive(UNICODE)

    @property
    def is_open(self) -> bool:
        """Whether offers or a message are on screen."""
        return bool(self.offers or self.message)

    def show(self, offers: Sequence[Offer]) -> None:
        """Show the offers, the first one marked; none closes the list."""
        if tuple(offers) != self.offers:
            self.offers = tuple(offers)
            self.marked = 0
        self.message = ""

    def say(self, message: str) -> None:
        """Show one sentence in place of the offers."""
        self.offers = ()
        self.message = message

    def close(self) -> None:
        """Take the list off the screen."""
        self.offers, self.message = (), ""

    def look(self, search: Callable[[], Coroutine[None, None, None]]) -> None:
        """Begin the work that finds the next offers, in place of what looked for others."""
        # What makes a coroutine: the next letter may cancel a worker before it has begun.
        _looking: Worker[None] = self.run_worker(search, group=_GROUP, exclusive=True, exit_on_error=False)

    def look_no_more(self) -> None:
        """Give up what is being looked for."""
        self.workers.cancel_group(self, _GROUP)

    def move(self, step: int) -> None:
        """Mark the next or previous offer, round the ends."""
        if self.offers:
            self.marked = (self.marked + step) % len(self.offers)

    def watch_offers(self) -> None:
        """Open or close with the content."""
        self.set_class(self.is_open, "-open")

    def watch_message(self) -> None:
        """Open or close with the content."""
        self.set_class(self.is_open, "-open")

    def render(self) -> Content:
        """One row per offer: mark, label, summary; where there are more than rows, the last says which."""
        if not self.offers:
            return Content.styled(one_line(self.message, max(20, self.size.width)), "$text-warning")
        total, rows = len(self.offers), min(MAX_ROWS, self.size.height or MAX_ROWS)
        room = rows if total <= rows else max(1, rows - 1)
        first = max(0, min(self.marked - room + 1, total - room))
        lines = [self._row(first + at, each) for at, each in enumerate(self.offers[first : first + room])]
        if room < rows:
            where = f"  {first + 1}-{first + room} of {total}   up/down shows the others"
            lines.append(Content.styled(cut_cells(where, max(1, self.size.width)), "$text-muted"))
        return Content("\n").join(lines)

    def _row(self, index: int, offer: Offer) -> Content:
        pointer = self.glyphs.prompt if index == self.marked else " "
        style = "bold $text-accent" if index == self.marked else ""
        text = (
            f"{pointer} {padded(offer.label, 23)} {offer.summary}"
            if offer.summary
            else f"{pointer} {offer.label}"
        )
        longer = f"{text}  {offer.aside}"
        if offer.aside and cell_len(longer) <= self.size.width:
            text = longer
        return Content.styled(cut_cells(text, max(1, self.size.width)), style)

    def get_content_height(self, *_: object) -> int:
        """Rows needed, at most eight."""
        return min(MAX_ROWS, max(1, len(self.offers)))
