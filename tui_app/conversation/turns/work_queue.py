"""The queue of a conversation's work."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from tui_app.conversation.work import HELD_BACK, Prompt, Work
from tui_app.events import QueueChanged


@dataclass(slots=True)
class WorkQueue:
    """First in, first out. After a cancelled turn it is paused until the user sends something.

    What is sent then goes first: it is what the user wants now, while the rest was meant for another turn.
    Use it on one thread at a time: the screen's until the session is open, then the conversation's.
    """

    report: Callable[[QueueChanged], object] = field(default=lambda change: None)
    """Publishes each change."""
    paused: bool = False
    is_left: bool = False
    """Whether another process continues the work that a stop holds back."""
    _waiting: deque[Work] = field(default_factory=deque)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the queued work, oldest first."""
        return tuple(work.label for work in self._waiting)

    @property
    def prompts(self) -> tuple[str, ...]:
        """Texts of queued prompts, oldest first."""
        return tuple(work.text for work in self._waiting if isinstance(work, Prompt))

    def enqueue(self, work: Work) -> None:
        """Add work at the end. A prompt sent during a pause ends it and goes before what is held back."""
        if self.paused and isinstance(work, HELD_BACK):
            held = [each for each in self._waiting if isinstance(each, HELD_BACK)]
            commands = [each for each in self._waiting if not isinstance(each, HELD_BACK)]
            self._waiting = deque([*commands, work, *held])
            self.paused = False
        else:
            self._waiting.append(work)
        self.announce()

    def restore(self, *work: Work, paused: bool) -> None:
        """Put work from an earlier process before everything else."""
        self._waiting.extendleft(reversed(work))
        self.paused = paused and bool(work)
        self.announce()

    @property
    def held_work(self) -> tuple[Work, ...]:
        """Queued work that a stop holds back, oldest first."""
        return tuple(work for work in self._waiting if isinstance(work, HELD_BACK))

    def next(self) -> Work | None:
        """Take out the oldest piece; while paused, the oldest that is not held back."""
        holds = self.paused or self.is_left
        found = (each for each in self._waiting if not (holds and isinstance(each, HELD_BACK)))
        if (work := next(found, None)) is not None:
            self.remove(work)
        return work

    def remove(self, work: Work) -> bool:
        """Take out this very piece of work. Returns whether it was still queued."""
        place = next((at for at, each in enumerate(self._waiting) if each is work), None)
        self._take(place)
        return place is not None

    def take_last(self) -> str:
        """Take out the newest piece. Returns its label, empty if the queue is empty."""
        return self._take(len(self._waiting) - 1 if self._waiting else None)

    def take(self, place: int, label: str) -> str:
        """Take out the piece that was shown at a place. Returns its label, empty if it is gone."""
        return self._take(self._find(place, label))

    def move(self, place: int, label: str, step: int) -> None:
        """Move the piece that was shown at a place earlier (a negative step) or later."""
        if (found := self._find(place, label)) is not None:
            work = self._waiting[found]
            del self._waiting[found]
            self._waiting.insert(max(0, found + step), work)
        self.announce()

    def clear(self) -> None:
        self._waiting.clear()
        self.paused = False

    def pause(self) -> None:
        """Hold back queued work, without an event. Does nothing if the queue is empty."""
        self.paused = bool(self._waiting)

    def resume(self) -> None:
        """Stop holding work back."""
        self.paused = False
        self.announce()

    def announce(self) -> None:
        self.report(QueueChanged(prompts=self.labels, paused=self.paused))

    def _find(self, place: int, label: str) -> int | None:
        """The current place of a piece: it may have moved forward, never back on its own."""
        places = reversed(range(min(place + 1, len(self._waiting))))
        return next((at for at in places if self._waiting[at].label == label), None)

    def _take(self, place: int | None) -> str:
        label = ""
        if place is not None:
            label = self._waiting[place].label
            del self._waiting[place]
        self.paused = self.paused and bool(self._waiting)
        self.announce()
        return label
