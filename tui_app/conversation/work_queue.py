"""What waits its turn: in order, held back after a cancelled turn, and a person may take it out again."""

from collections import deque
from dataclasses import dataclass, field

from tui_app.conversation.work import Prompt, Work


@dataclass(slots=True)
class WorkQueue:
    """First in, first out; paused after a cancelled turn until the person sends on.

    What is sent then goes first: it is what the person wants now, and what waits was meant for another turn.
    """

    paused: bool = False
    _waiting: deque[Work] = field(default_factory=deque)

    @property
    def labels(self) -> tuple[str, ...]:
        """What waits, oldest first."""
        return tuple(work.label for work in self._waiting)

    def add(self, work: Work) -> None:
        """Put something at the end; a prompt that is sent during a pause in front of those held back."""
        if self.paused and isinstance(work, Prompt):
            prompts = [each for each in self._waiting if isinstance(each, Prompt)]
            commands = [each for each in self._waiting if not isinstance(each, Prompt)]
            self._waiting = deque([*commands, work, *prompts])
        else:
            self._waiting.append(work)

    def next(self) -> Work | None:
        """Take the oldest; while paused the oldest command, because only prompts are held back."""
        if not self.paused:
            return self._waiting.popleft() if self._waiting else None
        command = next((work for work in self._waiting if not isinstance(work, Prompt)), None)
        if command is not None:
            self.remove(command)
        return command

    def remove(self, work: Work) -> bool:
        """Take out this very piece of work; whether it still waited."""
        waiting = [each for each in self._waiting if each is not work]
        found = len(waiting) < len(self._waiting)
        self._waiting = deque(waiting)
        self.paused = self.paused and bool(waiting)
        return found

    def take_last(self) -> Work | None:
        """Take the newest back."""
        if not self._waiting:
            return None
        work = self._waiting.pop()
        self.paused = self.paused and bool(self._waiting)
        return work

    def take(self, place: int, label: str) -> Work | None:
        """Take out what stood at a place when somebody looked; nothing when it has left since."""
        if (found := self._find(place, label)) is None:
            return None
        work = self._waiting[found]
        del self._waiting[found]
        self.paused = self.paused and bool(self._waiting)
        return work

    def move(self, place: int, label: str, step: int) -> None:
        """Let something that stood at a place come earlier (a negative step) or later."""
        if (found := self._find(place, label)) is not None:
            work = self._waiting[found]
            del self._waiting[found]
            self._waiting.insert(max(0, found + step), work)

    def _find(self, place: int, label: str) -> int | None:
        """Where something stands by now: what waits moves up, and never down by itself."""
        places = reversed(range(min(place + 1, len(self._waiting))))
        return next((at for at in places if self._waiting[at].label == label), None)

    def clear(self) -> None:
        """Nothing waits any more."""
        self._waiting.clear()
        self.paused = False

    def pause(self) -> None:
        """Hold back what waits; with nothing waiting there is nothing to hold."""
        self.paused = bool(self._waiting)
