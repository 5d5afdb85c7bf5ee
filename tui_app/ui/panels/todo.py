"""The todo list of a session as a panel: what is done, in progress and pending."""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui_app.ui.widgets.tables import spread
from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.text import clean, one_line

TodoState = Literal["pending", "doing", "done"]
_ROW = re.compile(r"- \[([ ~x])\] (.+)")
_STATES: dict[str, TodoState] = {" ": "pending", "~": "doing", "x": "done"}


class TodoItem(NamedTuple):
    """One item of the list."""

    text: str
    state: TodoState = "pending"


def read_todos(text: str) -> tuple[TodoItem, ...]:
    """Parse a list as its tool writes it; other lines are skipped."""
    rows = (_ROW.fullmatch(line.strip()) for line in text.splitlines())
    return tuple(TodoItem(row[2].strip(), _STATES[row[1]]) for row in rows if row)


def is_open(items: Sequence[TodoItem]) -> bool:
    """Return whether any item is not done yet."""
    return any(item.state != "done" for item in items)


def todo_lines(items: Sequence[TodoItem], width: int, rows: int) -> list[Content]:
    """Return the title and the items around the next one, in a limited number of rows.

    Args:
        items: All items.
        width: Cells.
        rows: Number of rows, including the title.
    """
    done, room = sum(item.state == "done" for item in items), max(0, rows - 1)
    count = f"{done} of {len(items)}"
    lines = [spread(Content.styled("Todo", "bold"), Content.styled(count, "$text-muted"), width)]
    shown = list(items)
    counted = len(items) > room > 1
    if len(items) > room:
        # If there is space, a row has the number of the other items.
        room -= counted
        following = next((at for at, item in enumerate(items) if item.state != "done"), len(items) - 1)
        first = max(0, min(following - 1, len(items) - room)) if room > 1 else following
        shown = list(items[first : first + room])
    signs = {"done": UNICODE.check, "doing": UNICODE.bullet, "pending": UNICODE.todo}
    for item in shown:
        text = one_line(clean(item.text, keep_newlines=False), max(1, width - 2))
        colours = ("$text-accent", "") if item.state == "doing" else ("$text-muted", "$text-muted")
        lines.append(Content.assemble((f"{signs[item.state]} ", colours[0]), (text, colours[1])))
    if counted:
        lines.append(Content.styled(f"  {len(items) - len(shown)} more", "$text-muted"))
    return lines


class TodoPanel(Widget):
    """Shows the todo list; takes no space without one."""

    items: reactive[tuple[TodoItem, ...]] = reactive((), layout=True)
    is_wanted: reactive[bool] = reactive(False, layout=True)

    def watch_items(self) -> None:
        self.set_class(self.is_wanted and bool(self.items), "-listing")

    watch_is_wanted = watch_items

    def get_content_height(self, *_: object) -> int:
        return len(self.items) + 1

    def render(self) -> Content:
        width, rows = max(1, self.size.width), max(1, self.size.height)
        return Content("\n").join(todo_lines(self.items, width, rows))
