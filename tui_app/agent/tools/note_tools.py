"""Tools for the plan and the to-do list of a session."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from tui_app.agent.tools.calls import as_model_retry, on_thread
from tui_app.agent.tools.workspace import ToolProblem
from tui_app.files import write_atomic
from tui_app.records import frozen

MAX_NOTE_CHARS = 20_000

MAX_TODOS = 100

_SIGNS = {"pending": " ", "doing": "~", "done": "x"}


class Todo(BaseModel):
    """One thing to do."""

    text: str
    state: Literal["pending", "doing", "done"] = "pending"


@frozen
class NoteTools:
    """Need no approval: they only change files of the session, and nothing leaves it."""

    plan_file: Path
    todo_file: Path

    async def todo(self, items: list[Todo]) -> str:
        """Keep the todo list of this session, all of it each time.

        Args:
            items: In order.
        """
        with as_model_retry():
            if len(items) > MAX_TODOS:
                raise ToolProblem(f"A todo list has at most {MAX_TODOS} items; merge some.")
            if not all(item.text.strip() for item in items):
                raise ToolProblem("Each item of a todo list needs a text.")
            text = "\n".join(f"- [{_SIGNS[item.state]}] {' '.join(item.text.split())}" for item in items)
            await _keep(self.todo_file, text, "A todo list")
        return text or "The todo list is empty now."

    async def plan(self, text: str) -> str:
        """Keep the plan of this session, all of it each time.

        Args:
            text: Short Markdown.
        """
        kept = text.strip()
        with as_model_retry():
            await _keep(self.plan_file, kept, "A plan")
        return "The plan is kept." if kept else "The plan is empty now."


async def _keep(file: Path, text: str, what: str) -> None:
    if len(text) > MAX_NOTE_CHARS:
        raise ToolProblem(f"{what} has at most {MAX_NOTE_CHARS:,} characters; shorten it.")
    await on_thread(lambda: write_atomic(file, f"{text}\n" if text else ""))
