"""The plan and the todo list as tools."""

from dataclasses import dataclass

from tui_app.agent.tools.notes import Notes, Todo
from tui_app.agent.tools.working import on_thread, told


@dataclass(frozen=True, slots=True)
class NoteTools:
    """Nobody is asked before they change: they are files of the session and say nothing to the outside."""

    notes: Notes

    async def todo(self, items: list[Todo]) -> str:
        """Keep a todo list for work of several steps; it outlives every summary. Give all of it each time.

        Args:
            items: What is to be done, in order, each with its state.
        """
        with told():
            return await on_thread(lambda: self.notes.write_todos(items))

    async def plan(self, text: str) -> str:
        """Keep the plan of the work in hand; it outlives every summary. Give all of it each time.

        Args:
            text: The plan, in short Markdown.
        """
        with told():
            return await on_thread(lambda: self.notes.write_plan(text))
