"""The plan and the todo list as tools."""

from dataclasses import dataclass

from tui_app.agent.tools.notes import Notes, Todo
from tui_app.agent.tools.working import on_thread, told


@dataclass(frozen=True, slots=True)
class NoteTools:
    """Nobody is asked before they change: they are files of the session and say nothing to the outside."""

    notes: Notes

    async def todo(self, items: list[Todo]) -> str:
        """Keep the todo list of this session, all of it each time.

        Args:
            items: In order.
        """
        with told():
            return await on_thread(lambda: self.notes.write_todos(items))

    async def plan(self, text: str) -> str:
        """Keep the plan of this session, all of it each time.

        Args:
            text: Short Markdown.
        """
        with told():
            return await on_thread(lambda: self.notes.write_plan(text))
