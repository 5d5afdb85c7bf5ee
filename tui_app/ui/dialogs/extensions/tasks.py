"""Background commands: list them, read their output, stop them."""

import asyncio
from collections.abc import Awaitable, Callable
from operator import methodcaller
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from textual import work
from textual.app import ComposeResult
from textual.widgets import Static, TextArea

from tui_app.agent.tools.task_output import Page
from tui_app.agent.tools.tasks import TaskRow, task_rows
from tui_app.refusals import Refusal
from tui_app.text import count
from tui_app.tool_specs import RUN_COMMAND
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.dialog import Dialog
from tui_app.ui.dialogs.list import NARROW, Asked, ListSpec, OpenList
from tui_app.ui.dialogs.parts import readable, reading_area
from tui_app.ui.panels.status import StatusRow
from tui_app.ui.widgets.tables import MUTED, Column
from tui_app.ui.words.text import duration, one_line

if TYPE_CHECKING:
    from tui_app.ui.host import Host

PAGE_LINES = 500
"""Lines of an output that are shown at once."""

NOTHING = f"No background commands. The model starts one with {RUN_COMMAND.name}(background=true)."

_APART_S = 0.2
"""Seconds between two reads of a growing output."""

Ask = Callable[[Callable[[Any], Any]], Awaitable[Any]]


def how_text(row: TaskRow) -> str:
    """Return a command's state, and whether it outlives the session."""
    return f"{row.how}, kept" if row.keep else row.how


def task_tone(row: TaskRow) -> str:
    return "$text-error" if row.failed else "$text-accent" if row.is_running else MUTED


def task_note(row: TaskRow) -> str:
    """Describe the size of its output, and what can be done."""
    what = "ctrl+u stops it and everything it started." if row.is_running else "It has ended."
    if row.keep:
        what = "It keeps running after the session ends."
    return f"{count(row.lines, 'line')} of output. {what}"


class TasksScreen(OpenList[TaskRow], place="tasks"):
    """Requests to show a command's output, to ``stop`` it, or to ``keep`` it when the session ends."""

    SPEC: ClassVar[ListSpec[Any]] = ListSpec[TaskRow](
        name="tasks",
        search="filter by words of the command",
        columns=(
            Column(lambda row: row.id, 5),
            Column(how_text, 22, task_tone, leaves_at=NARROW),
            Column(how_text, 11, task_tone, comes_below=NARROW),
            Column(lambda row: duration(int(row.age_s)), 13, leaves_at=NARROW),
            Column(lambda row: row.command, tone=""),
        ),
        title=lambda it: f"Background commands · {sum(row.is_running for row in it.rows)} running",
        words=lambda row: f"{row.id} {row.command} {row.how}",
        note=task_note,
        empty="No matching command.",
    )

    def answer(self, asked: Asked[TaskRow]) -> None:
        if asked.what == "enter" or (asked.row is not None and asked.row.is_running):
            super().answer(asked)


class TaskScreen(Dialog[None], place="task", style="details", size="-full"):
    """The output of one command, a page of lines at a time, from its end; new output appears automatically.

    Args:
        row: The command.
        ask: Runs a function with the commands, on the engine's thread.
    """

    def __init__(self, row: TaskRow, ask: "Ask") -> None:
        super().__init__(one_line(f"{row.id} · {row.command}", 200))
        self._row, self._ask, self._looked = row, ask, monotonic()
        self._page: Page | None = None
        self._start = 0
        """Number of the first line shown; 0 follows the end."""

    def body(self) -> ComposeResult:
        yield Static(id="task-where", markup=False)
        yield reading_area("", id="task-text")

    def on_mount(self) -> None:
        self.run_worker(self._follow(), group="follow")
        self.set_interval(1.0, self._say_where)  # updates the running time

    async def _follow(self) -> None:
        """Show new output while the command runs; an earlier page stays in place."""
        await self._show()
        while self._row.is_running and self._page is not None:
            await self._ask(methodcaller("wait_for_output", self._row.id, self._page.chars))
            await asyncio.sleep(_APART_S)
            await self._show()

    async def _show(self) -> None:
        id, start = self._row.id, self._start or -PAGE_LINES
        self._row = next((row for row in await self._ask(task_rows) if row.id == id), self._row)
        page: Page | None = await self._ask(methodcaller("page", id, start, PAGE_LINES))
        self._page, self._looked = page, monotonic()
        if page is None:
            return
        self._say_where()
        text = "\n".join(line for _, line in page.lines)
        if text != self.whole:
            area = self.query_one("#task-text", TextArea)
            self.whole, area.text = text, readable(text)
            if not self._start:
                area.scroll_end(animate=False)

    def _say_where(self) -> None:
        page = self._page
        if page is None:
            return
        where = "no output"
        if lines := page.lines:
            where = f"lines {lines[0][0]:,} to {lines[-1][0]:,} of {page.total:,}"
        low, high = page.missing
        missing = f"lines {low:,} to {high:,} are no longer kept" if low else ""
        age = self._row.age_s + (monotonic() - self._looked if self._row.is_running else 0.0)
        parts = filter(None, (self._row.how, duration(int(age)) or "0 s", where, missing, page.problem))
        self.query_one("#task-where", Static).update(" · ".join(parts))

    def action_page(self, step: Literal[-1, 1]) -> None:
        """Go to the next or previous page; after the last one the end is followed again."""
        if (page := self._page) is None or not page.lines:
            return
        first, after = page.lines[0][0], page.lines[-1][0] + 1
        if step < 0:
            self._start = max(1, first - PAGE_LINES)
        else:
            self._start = after if after <= page.total - PAGE_LINES else 0
        self.run_worker(self._show(), exclusive=True)

    @work(group="stop")
    async def action_stop(self) -> None:
        await self._ask(methodcaller("end_task", self._row.id))
        await self._show()


async def show_tasks(app: "Host", session: ChatSession) -> None:
    """List the background commands and show the chosen one's output, then return to the list."""

    async def ask(do: Callable[[Any], Any]) -> Any:
        return await session.ask(lambda opened: do(opened.conversation.tooling.tasks))

    if not (found := await ask(task_rows)):
        raise Refusal(NOTHING)
    screen = TasksScreen(found)
    await app.push_screen(screen)

    async def follow() -> None:
        screen.show(await ask(task_rows))

    def begun_or_ended() -> None:
        app.chat.work(follow, group="read")

    screen.watch(app.chat.query_one(StatusRow), "tasks", begun_or_ended, init=False)
    while (wish := await screen.next_request()) and (row := wish.row):
        if wish.what == "enter":
            await app.push_screen_wait(TaskScreen(row, ask))
        else:
            await ask(methodcaller("end_task" if wish.what == "stop" else "keep", row.id))
        await follow()
