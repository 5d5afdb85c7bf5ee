"""Background commands: a list of them, and the output of each, page by page. ``/tasks``."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import Static, TextArea

from tui_app.agent.tools.tasks import Page
from tui_app.conversation.tasks import TaskRow, task_rows
from tui_app.text import count
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.clipboard import copy
from tui_app.ui.dialogs.base import Dialog, readable, reading_area
from tui_app.ui.dialogs.filter import FilterDialog
from tui_app.ui.keys import place_bindings, place_hints
from tui_app.ui.text import duration, one_line, padded

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.host import Host

PAGE_LINES = 500
"""Lines of an output that are shown at once."""
NOTHING = "No command runs in the background. The model starts one with run_command(background=true)."
_HOW_CELLS, _AGE_CELLS, _ID_CELLS = 22, 9, 5
_READ_AGAIN_S = 1.0
"""Seconds behind which a list or a page that may have changed is read again."""


class TasksScreen(FilterDialog[TaskRow, str]):
    """Dismisses with the id of the command whose output is wanted, or ``None``.

    Args:
        rows: What there is.
        read: Reads it again.
        stop: Ends a command.
    """

    BINDINGS = place_bindings("tasks")
    HINTS = place_hints("tasks")
    NAME = "tasks"
    PLACEHOLDER = "filter by words of the command"

    def __init__(
        self,
        rows: Sequence[TaskRow],
        read: Callable[[], Awaitable[list[TaskRow]]],
        stop: Callable[[str], Awaitable[bool]],
    ) -> None:
        super().__init__()
        self._read, self._stop = read, stop
        self.offer(rows)

    @property
    def title_text(self) -> str:
        running = sum(row.is_running for row in self._rows)
        return f"Background commands · {running} running · {self.how_many}"

    def text_of(self, row: TaskRow) -> str:
        return f"{row.id} {row.command} {row.how}"

    def line(self, row: TaskRow, width: int) -> Content:
        return task_line(row, width)

    @property
    def nothing(self) -> str:
        return "No background command has these words."

    def explain(self, row: TaskRow) -> None:
        lines = count(row.lines, "line")
        what = "ctrl+u stops it with all it has started." if row.is_running else "It has ended."
        self.note(f"{lines} of output. {what}")

    def use(self, row: TaskRow) -> None:
        self.dismiss(row.id)

    def action_stop(self) -> None:
        if (row := self.marked) is not None and row.is_running:
            self.run_worker(self._end(row.id), exclusive=True, exit_on_error=False)

    async def _end(self, id: str) -> None:
        await self._stop(id)
        self.offer(await self._read())


def task_line(row: TaskRow, width: int) -> Content:
    """One row: id, how it is, how long, the command."""
    room = max(10, width - _ID_CELLS - _HOW_CELLS - _AGE_CELLS)
    colour = "$text-error" if row.failed else "$text-accent" if row.is_running else "$text-muted"
    return Content.assemble(
        (f"{row.id:<{_ID_CELLS}}", "$text-muted"),
        (f"{one_line(row.how, _HOW_CELLS - 1):<{_HOW_CELLS}}", colour),
        (f"{duration(int(row.age_s)):<{_AGE_CELLS}}", "$text-muted"),
        padded(one_line(row.command, room), room),
    )


class TaskScreen(Dialog[None]):
    """The output of one command, so many lines at a time, from its end; what is new appears by itself.

    Args:
        row: The command.
        read: Reads lines from a number on, negative from the end.
        look: Says how it is now.
        stop: Ends it.
    """

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/details.tcss"]
    BINDINGS = place_bindings("task")
    HINTS = place_hints("task")

    def __init__(
        self,
        row: TaskRow,
        read: Callable[[int, int], Awaitable[Page | None]],
        look: Callable[[], Awaitable[TaskRow | None]],
        stop: Callable[[], Awaitable[bool]],
    ) -> None:
        super().__init__()
        self._row, self._read, self._look, self._stop = row, read, look, stop
        self._start = 0
        """Number of the first line that is shown; 0 follows the end."""
        self._first = self._last = self._total = 0
        self._text = ""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -full"):
            yield self.heading(one_line(f"{self._row.id} · {self._row.command}", 200))
            yield Static(id="task-where", markup=False)
            yield reading_area("", id="task-text")
            yield self.hints()

    def on_mount(self) -> None:
        self._show_soon()
        self.set_interval(_READ_AGAIN_S, self._follow)

    def _show_soon(self) -> None:
        self.run_worker(self._show(), exclusive=True, exit_on_error=False)

    def _follow(self) -> None:
        """Show what is new, where the end is shown and something still runs."""
        if self._row.is_running and not self._start:
            self._show_soon()

    async def _show(self) -> None:
        self._row = await self._look() or self._row
        page = await self._read(self._start or -PAGE_LINES, PAGE_LINES)
        if page is None:
            return
        self._total = page.total
        self._first = page.lines[0][0] if page.lines else 0
        self._last = page.lines[-1][0] if page.lines else 0
        where = f"lines {self._first:,} to {self._last:,} of {page.total:,}" if page.lines else "no output"
        low, high = page.missing
        gone = f"lines {low:,} to {high:,} are no longer kept" if low else ""
        said = filter(
            None, (self._row.how, duration(int(self._row.age_s)) or "0 s", where, gone, page.problem)
        )
        self.query_one("#task-where", Static).update(" · ".join(said))
        text = "\n".join(line for _, line in page.lines)
        if text != self._text:
            area = self.query_one("#task-text", TextArea)
            self._text, area.text = text, readable(text)
            if not self._start:
                area.scroll_end(animate=False)

    def action_page(self, step: Literal[-1, 1]) -> None:
        """Go a page on, or back; behind the last one the end is followed again."""
        if step < 0:
            self._start = max(1, (self._first or 1) - PAGE_LINES)
        else:
            self._start = self._last + 1 if self._last + 1 <= self._total - PAGE_LINES else 0
        self._show_soon()

    def action_stop(self) -> None:
        self.run_worker(self._end(), exit_on_error=False, group="stop")

    async def _end(self) -> None:
        await self._stop()
        await self._show()

    async def action_copy_all(self) -> None:
        self.key_row.said = await copy(self.app, self._text)


async def show_tasks(app: "Host", session: ChatSession) -> None:
    """List the background commands; a chosen one shows its output, and leads back to the list."""

    async def rows(opened: "OpenSession") -> list[TaskRow]:
        return task_rows(opened.conversation.tooling.tasks)

    def stop(id: str) -> Callable[["OpenSession"], Awaitable[bool]]:
        async def end(opened: "OpenSession") -> bool:
            tasks = opened.conversation.tooling.tasks
            return tasks is not None and await tasks.stop(id)

        return end

    def page(id: str, start: int, most: int) -> Callable[["OpenSession"], Awaitable[Page | None]]:
        async def read(opened: "OpenSession") -> Page | None:
            tasks = opened.conversation.tooling.tasks
            return None if tasks is None else await tasks.page(id, start, most)

        return read

    while True:
        found = await session.ask(rows)
        if not found:
            session.say(NOTHING)
            return
        list_ = TasksScreen(found, lambda: session.ask(rows), lambda id: session.ask(stop(id)))
        chosen = await app.push_screen_wait(list_)
        row = next((each for each in await session.ask(rows) if each.id == chosen), None)
        if row is None:
            return
        one = row.id

        async def look(id: str = one) -> TaskRow | None:
            return next((each for each in await session.ask(rows) if each.id == id), None)

        await app.push_screen_wait(
            TaskScreen(
                row,
                lambda start, most, id=one: session.ask(page(id, start, most)),  # type: ignore[misc]
                look,
                lambda id=one: session.ask(stop(id)),  # type: ignore[misc]
            )
        )
