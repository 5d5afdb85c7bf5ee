"""The queue of a conversation: what waits in order, is held after a stop, and may be taken out."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from tui_app.conversation.work import HELD_BACK, Prompt, Work
from tui_app.events import QueueChanged


@dataclass(slots=True)
class WorkQueue:
    """First in, first out; paused after a cancelled turn until the user sends on.

    What is sent then goes first: it is what the user wants now, and what waits was meant for another turn.
    Belongs to one thread at a time: the screen's until the session is open, the conversation's from then on.
    """

    report: Callable[[QueueChanged], object] = field(default=lambda change: None)
    """Shows each change."""
    paused: bool = False
    is_left: bool = False
    """Whether another process goes on with what is held back by a stop, too."""
    _waiting: deque[Work] = field(default_factory=deque)

    @property
    def labels(self) -> tuple[str, ...]:
        """What waits, oldest first."""
        return tuple(work.label for work in self._waiting)

    @property
    def prompts(self) -> tuple[str, ...]:
        """The texts of prompts that wait, oldest first."""
        return tuple(work.text for work in self._waiting if isinstance(work, Prompt))

    def enqueue(self, work: Work) -> None:
        """Put something at the end; what is sent during a pause ends it and goes before what is held back."""
        if self.paused and isinstance(work, HELD_BACK):
            held = [each for each in self._waiting if isinstance(each, HELD_BACK)]
            commands = [each for each in self._waiting if not isinstance(each, HELD_BACK)]
            self._waiting = deque([*commands, work, *held])
            self.paused = False
        else:
            self._waiting.append(work)
        self.announce()

    def restore(self, *work: Work, paused: bool) -> None:
        """Put what was left in an earlier process before everything."""
        self._waiting.extendleft(reversed(work))
        self.paused = paused and bool(work)
        self.announce()

    @property
    def held_work(self) -> tuple[Work, ...]:
        """What a stop holds back of what waits, oldest first."""
        return tuple(work for work in self._waiting if isinstance(work, HELD_BACK))

    def next(self) -> Work | None:
        """Take out the oldest; while paused the oldest that is not held back."""
        holds = self.paused or self.is_left
        found = (each for each in self._waiting if not (holds and isinstance(each, HELD_BACK)))
        if (work := next(found, None)) is not None:
            self.remove(work)
        return work

    def remove(self, work: Work) -> bool:
        """Take out this very piece of work; whether it still waited."""
        place = next((at for at, each in enumerate(self._waiting) if each is work), None)
        self._take(place)
        return place is not None

    def take_last(self) -> str:
        """Take the newest back; its text, empty where nothing waits."""
        return self._take(len(self._waiting) - 1 if self._waiting else None)

    def take(self, place: int, label: str) -> str:
        """Take out what stood at a place when it was shown; its text, empty when it has left since."""
        return self._take(self._find(place, label))

    def move(self, place: int, label: str, step: int) -> None:
        """Let what stood at a place when it was shown come earlier (a negative step) or later."""
        if (found := self._find(place, label)) is not None:
            work = self._waiting[found]
            del self._waiting[found]
            self._waiting.insert(max(0, found + step), work)
        self.announce()

    def clear(self) -> None:
        self._waiting.clear()
        self.paused = False

    def pause(self) -> None:
        """Hold back what waits, without a word; with nothing waiting there is nothing to hold."""
        self.paused = bool(self._waiting)

    def resume(self) -> None:
        """Hold nothing back any more."""
        self.paused = False
        self.announce()

    def announce(self) -> None:
        self.report(QueueChanged(prompts=self.labels, paused=self.paused))

    def _find(self, place: int, label: str) -> int | None:
        """The present place of something: what waits moves up, and never down by itself."""
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
