"""What a session keeps in files of its folder and every compaction carries along: plan and todo list."""

from dataclasses import dataclass

from tui_app.context.compaction.plan import Addition
from tui_app.session.workspace import SessionFolder


@dataclass(frozen=True, slots=True)
class StandingFiles:
    """Reads them as they are now."""

    folder: SessionFolder

    def __call__(self) -> tuple[Addition, ...]:
        """The plan, then the todo list; what is not there is empty."""
        return (
            Addition("Current plan", self.folder.read_note(self.folder.plan_file)),
            Addition("Todo list", self.folder.read_note(self.folder.todo_file)),
        )
