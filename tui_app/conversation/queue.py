"""The queue of a conversation: what waits in order, is held back after a stop, and may be taken out again."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from tui_app.conversation.work import Prompt, Work
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
    _waiting: deque[Work] = field(default_factory=deque)

    @property
    def labels(self) -> tuple[str, ...]:
        """What waits, oldest first."""
        return tuple(work.label for work in self._waiting)

    def enqueue(self, work: Work) -> None:
        """Put something at the end; a prompt sent during a pause ends it and goes before those held back."""
        if self.paused and isinstance(work, Prompt):
            prompts = [each for each in self._waiting if isinstance(each, Prompt)]
            commands = [each for each in self._waiting if not isinstance(each, Prompt)]
            self._waiting = deque([*commands, work, *prompts])
            self.paused = False
        else:
            self._waiting.append(work)
        self.announce()

    def next(self) -> Work | None:
        """Take out the oldest; while paused the oldest command, as only prompts are held back."""
        found = (each for each in self._waiting if not (self.paused and isinstance(each, Prompt)))
        work = next(found, None)
        if work is not None:
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
        """Drop everything, without a word."""
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
        """Report what waits."""
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
