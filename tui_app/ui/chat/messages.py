"""What is told about a compaction that a person decides on."""

from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from tui_app.events import CompactionProgress, CompactionProposed, CompactionStart


class ReviewWanted(Message):
    """A summary that a person decides on is begun, goes on, or waits for the decision."""

    def __init__(self, event: "CompactionStart | CompactionProgress | CompactionProposed") -> None:
        super().__init__()
        self.event = event


class ReviewOver(Message):
    """A compaction has ended: there is nothing to decide about it any more."""

    def __init__(self, job: str) -> None:
        super().__init__()
        self.job = job
