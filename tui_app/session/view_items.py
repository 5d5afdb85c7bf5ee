"""One message of the agent view, and small questions about heads."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from tui_app.context.counting.tally import Report, Weighed
from tui_app.context.counting.usage import CATEGORIES, Breakdown
from tui_app.session.heads import Head
from tui_app.session.visibility import LEADING

ALONE = -1
"""Place of the message in an event that carries just one; see ``Head.form``."""


@dataclass(frozen=True, slots=True)
class ViewItem:
    """One message of the view and whether it is visible."""

    head: Head
    hidden_by: int = 0
    """Log number of the event that took it out of the view; 0 while it is visible."""
    forms: tuple[Head, ...] = ()
    """Other forms that stand, the newest last."""

    @property
    def visible(self) -> bool:
        """Whether the next request holds it."""
        return self.hidden_by == 0

    @property
    def shown(self) -> Head:
        """The form that the next request holds."""
        return self.forms[-1] if self.forms else self.head


@dataclass(slots=True)
class Reports:
    """The newest report of a provider, whatever has happened to the view since; kept along with the fold."""

    newest: Report = field(default_factory=Report)
    _counted: int | None = 0
    """Tokens of the view; None where they have to be counted anew."""

    def add(self, head: Head, visible: Callable[[], Iterable[Head]]) -> None:
        """Follow one more message at the end of the view."""
        if self._counted is not None:
            self._counted += sum(head.tokens.values())
        if head.reported > 0:
            if self._counted is None:
                self._counted = sum(sum(each.tokens.values()) for each in visible())
            self.newest = Report(head.reported, self._counted, head.model)

    def rewritten(self) -> None:
        """The view has another size now."""
        self._counted = None


def in_ranges(seq: int, ranges: Iterable[tuple[int, int]]) -> bool:
    """Whether a log number lies in one of some inclusive ranges."""
    return any(low <= seq <= high for low, high in ranges)


def place_behind(items: Sequence[ViewItem], seq: int) -> int:
    """The place behind a message; without one, behind the system prompts that lead what is visible."""
    place = 0
    if seq:
        place = next((at for at, item in enumerate(items, 1) if item.head.seq == seq), 0)
    if place:
        return place
    for index, item in enumerate(items):
        if item.visible and item.head.type not in LEADING:
            break
        if item.visible:
            place = index + 1
    return place


def without(items: Iterable[ViewItem], rewrite: int) -> list[ViewItem]:
    """The messages as they are without what one rewrite made of them, and without its own."""
    return [
        replace(item, forms=tuple(form for form in item.forms if form.form[0] != rewrite))
        for item in items
        if item.head.seq != rewrite
    ]


def weighed(head: Head) -> Weighed:
    """Size of one message in the form it has, from its head."""
    tokens = Breakdown(**{name: head.tokens[name] for name in CATEGORIES if name in head.tokens})
    return Weighed(head.seq, tokens, head.reported, head.model)
