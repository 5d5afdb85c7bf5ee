"""Calls of one answer that nobody has allowed yet, and which of them is asked about next."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tui_app.events import ApprovalsAhead, Payload


@dataclass(eq=False, slots=True)
class Place:
    """One place in the line of questions."""

    call: str
    turn: asyncio.Future[None] | None = None
    """Done when it is asked about; None while its tool works out what to ask."""


@dataclass(slots=True)
class CallsAhead:
    """Keeps the order in which tools begin, which is that of the answer.

    It does not matter how long each takes to say what it would do. A tool that began earlier must never wait
    for one that began later: neither would be asked about. Belongs to one event loop.
    """

    report: Callable[[Payload], object]
    """Shows an event."""
    watched: bool = False
    """Whether somebody is there to see it; otherwise nothing waits for anybody."""
    _held: dict[str, None] = field(default_factory=dict)
    _places: list[Place] = field(default_factory=list)
    _asked: Place | None = None

    @property
    def waiting(self) -> int:
        """How many know what to ask, and are not asked about yet."""
        return sum(place.turn is not None and place is not self._asked for place in self._places)

    def restart(self) -> None:
        """Forget the calls of the run before."""
        if self._held:
            self._held.clear()
            self._tell()

    def hold(self, call: str) -> None:
        """Note that a call must not run before it was allowed."""
        if self.watched and call and call not in self._held:
            self._held[call] = None
            self._tell()

    def holds(self, call: str) -> bool:
        """Whether a call still has to be allowed."""
        return call in self._held

    def let(self, call: str) -> None:
        """Note that a call may run, or that it is over."""
        if call in self._held:
            del self._held[call]
            self._tell()

    @contextmanager
    def begun(self, call: str) -> Iterator[None]:
        """Keep a place for a call that has to be allowed while its tool works."""
        if call not in self._held:
            yield
            return
        place = Place(call)
        self._places.append(place)
        try:
            yield
        finally:
            self.leave(place)

    def arrive(self, call: str, *, first: bool = False) -> Place:
        """Take the place that was kept for a call, or the last one; wait for its ``turn``, then leave it.

        Args:
            call: Id of the call; may be empty.
            first: Whether its tool will ask something else later: its own place is kept.
        """
        kept = self._kept(call)
        place = Place(call) if first or kept is None else kept
        if place is not kept:
            self._places.insert(len(self._places) if kept is None else self._places.index(kept), place)
        place.turn = asyncio.get_running_loop().create_future()
        self._next()
        return place

    def leave(self, place: Place) -> None:
        """Give a place up; whoever stands behind it may be next."""
        if place is self._asked:
            self._asked = None
        if place in self._places:
            self._places.remove(place)
        self._next()

    def judged(self, call: str) -> None:
        """Give up the place of a call that nobody has to be asked about any more."""
        if (kept := self._kept(call)) is not None:
            self.leave(kept)

    def _kept(self, call: str) -> Place | None:
        return next((each for each in self._places if call and each.call == call and each.turn is None), None)

    def _next(self) -> None:
        place = self._places[0] if self._places and self._asked is None else None
        if place is not None and place.turn is not None:
            self._asked = place
            if not place.turn.done():
                place.turn.set_result(None)

    def _tell(self) -> None:
        self.report(ApprovalsAhead(call_ids=tuple(self._held)))
