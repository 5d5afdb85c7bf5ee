"""The plan and the todo list of a session, which the model keeps for itself and every compaction carries."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from tui_app.agent.tools.workspace import ToolProblem
from tui_app.atomic import write_atomic

MAX_NOTE_CHARS = 20_000
MAX_TODOS = 100
_SIGNS = {"pending": " ", "doing": "~", "done": "x"}


class Todo(BaseModel):
    """One thing to do."""

    text: str
    state: Literal["pending", "doing", "done"] = "pending"


@dataclass(frozen=True, slots=True)
class Notes:
    """The two files; nobody is asked before they change, because they are the session's own."""

    plan_file: Path
    todo_file: Path

    def write_plan(self, text: str) -> str:
        """Replace the plan.

        Raises:
            ToolProblem: if it is too long.
            OSError: if the disk refuses.
        """
        if len(text) > MAX_NOTE_CHARS:
            raise ToolProblem(f"A plan has at most {MAX_NOTE_CHARS:,} characters; shorten it.")
        write_atomic(self.plan_file, f"{text.strip()}\n" if text.strip() else "")
        return "The plan is kept." if text.strip() else "The plan is empty now."

    def write_todos(self, items: list[Todo]) -> str:
        """Replace the todo list.

        Raises:
            ToolProblem: if it is too long.
            OSError: if the disk refuses.
        """
        if len(items) > MAX_TODOS:
            raise ToolProblem(f"A todo list has at most {MAX_TODOS} items; put some together.")
        rows = [f"- [{_SIGNS[item.state]}] {' '.join(item.text.split())}" for item in items]
        text = "\n".join(rows)
        if len(text) > MAX_NOTE_CHARS:
            raise ToolProblem(f"A todo list has at most {MAX_NOTE_CHARS:,} characters; shorten it.")
        write_atomic(self.todo_file, f"{text}\n" if rows else "")
        return text or "The todo list is empty now."
