"""The task list as it stands: what is done, what is being worked on, what waits."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tui_app.context.fact_extractors.language import clip, one_line
from tui_app.context.fact_extractors.outcomes import worked
from tui_app.context.fact_extractors.ranking import make_fact
from tui_app.context.fact_extractors.reading import Action, Reading, first_text
from tui_app.events import Fact

TODO_LIMIT = 240

_LISTS = ("todos", "plan", "todoList", "todo_list", "tasks", "items", "steps")
_TEXTS = ("content", "step", "title", "text", "subject", "description", "task", "name")
_CHECKBOX = re.compile(r"(?m)^[ \t]{0,12}[-*+] \[([ xX~-])\] (.{1,400})$")
_TASK_ID = re.compile(r"(?i)task\s{0,2}#?(\d{1,6})")
_STATES = {
    "completed": "done", "complete": "done", "done": "done", "finished": "done", "cancelled": "dropped",
    "canceled": "dropped", "deleted": "dropped",
    "in_progress": "in progress", "in-progress": "in progress", "active": "in progress",
}  # fmt: skip
_BOXES = {"x": "done", "X": "done", "~": "in progress", "-": "dropped"}


@dataclass(frozen=True, slots=True)
class Todo:
    """One task of the list."""

    text: str
    state: str
    """``open``, ``in progress``, ``done`` or ``dropped``."""
    key: int
    index: int


def current_todos(reading: Reading) -> list[Todo]:
    """The newest task list: from the newest list a tool was given, tasks made one by one, or a checklist.

    Args:
        reading: The history.

    Returns:
        Tasks in their order; empty when nobody kept a list.
    """
    tasks: dict[str, Todo] = {}
    whole: list[Todo] = []
    for action in reading.all_actions():
        if not worked(action):
            continue
        if listed := list(_listed(action)):
            whole = listed
        _task_by_task(action, tasks)
    if not whole and not tasks:
        whole = _checklist(reading)
    return [*whole, *tasks.values()]


def todo_facts(reading: Reading) -> list[Fact]:
    """Facts ``task · state`` for the tasks that are not done."""
    return [
        make_fact(reading, "todo", f"{todo.text} · {todo.state}", key=todo.key, index=todo.index)
        for todo in current_todos(reading)
        if todo.state in {"open", "in progress"}
    ]


def _listed(action: Action) -> Iterator[Todo]:
    name = action.tool.lower()
    if not any(word in name for word in ("todo", "plan", "task")):
        return
    for argument in _LISTS:
        value = action.args.get(argument)
        if isinstance(value, list):
            for entry in value:
                if isinstance(entry, Mapping) and (todo := _entry(action, entry)):
                    yield todo
            return
        if isinstance(value, str) and (boxes := _CHECKBOX.findall(value)):
            for mark, text in boxes:
                yield _todo(text, _BOXES.get(mark, "open"), action.key, action.index)
            return


def _entry(action: Action, entry: Mapping[str, Any]) -> Todo | None:
    text = first_text(entry, _TEXTS)
    state = str(entry.get("status", "done" if entry.get("done") is True else "open"))
    return _todo(text, _STATES.get(state, "open"), action.key, action.index) if text else None


def _task_by_task(action: Action, tasks: dict[str, Todo]) -> None:
    """Follow tools that make and update single tasks, as ``TaskCreate`` and ``TaskUpdate`` do."""
    name = action.tool.lower().replace("_", "")
    if name.endswith("taskcreate") or name.endswith("createtask"):
        match = _TASK_ID.search(action.result[:300])
        number = match[1] if match else str(len(tasks) + 1)
        if text := first_text(action.args, _TEXTS[2:]):
            tasks[number] = _todo(text, "open", action.key, action.index)
    elif name.endswith("taskupdate") or name.endswith("updatetask"):
        number = str(action.args.get("taskId", action.args.get("task_id", "")))
        if number in tasks and isinstance(action.args.get("status"), str):
            state = _STATES.get(str(action.args["status"]), "open")
            tasks[number] = _todo(tasks[number].text, state, action.key, action.index)


def _checklist(reading: Reading) -> list[Todo]:
    for said in reversed(reading.spoken):
        if boxes := _CHECKBOX.findall(said.text):
            return [_todo(text, _BOXES.get(mark, "open"), said.key, said.index) for mark, text in boxes]
    return []


def _todo(text: str, state: str, key: int, index: int) -> Todo:
    return Todo(clip(one_line(text), TODO_LIMIT), state, key, index)
