"""The queue of a conversation, shown to everybody who watches it."""

from dataclasses import dataclass, field

from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.work import Work, WorkQueue
from tui_app.events import QueueChanged


@dataclass(slots=True)
class Waiting:
    """What waits until the work under way is done; every change of it is an event."""

    history: SessionHistory
    queue: WorkQueue = field(default_factory=WorkQueue)

    def add(self, work: Work, *, held: bool) -> None:
        """Put something where its turn comes; prompts may stay ``held`` back."""
        self.queue.add(work)
        self.queue.paused = held
        self.show()

    def go_on(self) -> None:
        """Hold nothing back any more."""
        self.queue.paused = False
        self.show()

    def pause(self) -> None:
        """Hold back what waits."""
        self.queue.pause()
        self.show()

    def next(self) -> Work | None:
        """Take out what comes next; None where nothing may go on."""
        work = self.queue.next()
        if work is not None:
            self.show()
        return work

    def drop(self, work: Work) -> bool:
        """Take out this very piece of work; whether it still waited."""
        found = self.queue.remove(work)
        self.show()
        return found

    def take_back(self) -> str:
        """Take out the newest; its text, empty where nothing waits."""
        return self._text_of(self.queue.take_last())

    def take(self, place: int, label: str) -> str:
        """Take out what was shown at a place; its text, empty when it has left since."""
        return self._text_of(self.queue.take(place, label))

    def move(self, place: int, label: str, step: int) -> None:
        """Let what was shown at a place come earlier or later."""
        self.queue.move(place, label, step)
        self.show()

    def show(self) -> None:
        """Tell everybody what waits."""
        self.history.append(QueueChanged(prompts=self.queue.labels, paused=self.queue.paused))

    def _text_of(self, work: Work | None) -> str:
        self.show()
        return work.label if work is not None else ""
