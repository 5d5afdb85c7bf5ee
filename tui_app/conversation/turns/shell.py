"""Commands outside of turns: the user's own in shell mode, and results of background commands."""

import asyncio
import os
import sqlite3
import uuid
from dataclasses import dataclass, field, replace
from pathlib import Path

from tui_app.agent.tools.command_tool import command_result
from tui_app.agent.tools.commands import CommandStopped, Ended, ProcessRunner, shell
from tui_app.agent.tools.tasks import BackgroundTasks
from tui_app.context.compaction.compactor import Compactor
from tui_app.context.message_marks import shell_message, tasks_text
from tui_app.context.tool_results.stages import StageHost, StageRunner
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.work import Shell
from tui_app.events import (
    ShellCommand,
    ShellResult,
    TaskEnded,
    TaskStarted,
    TaskTold,
    ToolOutput,
    data_of,
    how_it_ended,
)
from tui_app.system.command_parent import parented
from tui_app.system.processes import NotStarted

INTERRUPTED = "Interrupted: the program ended first."


@dataclass(slots=True)
class UserShell:
    """Runs the user's own commands, one at a time. Not thread-safe: use it on one event loop.

    They run as the user: with their shell and environment, and outside of the sandbox. Rules apply only to
    the model's calls, not to these.
    """

    compactor: Compactor
    """Its policy limits the size of a result."""
    history: SessionHistory
    runner: ProcessRunner
    """Masks secrets in the output."""
    _running: "asyncio.Task[Ended] | None" = field(default=None, init=False)

    @property
    def is_running(self) -> bool:
        return self._running is not None

    async def run(self, work: Shell) -> None:
        """Run a command to its end. Any outcome is logged as an event."""
        id = uuid.uuid4().hex
        self.history.append(ShellCommand(id=id, text=work.command, private=work.private))

        def show(text: str) -> None:
            self.history.append(ToolOutput(tool_call_id=id, text=text))

        # The user's own shell, if there is one.
        own = self.runner.env.get("SHELL", "")
        program = own if Path(own).is_absolute() and os.access(own, os.X_OK) else shell()
        words = parented((program, "-c", work.command))
        self._running = asyncio.create_task(self.runner.run(words, None, show), name="shell")
        try:
            ended = await self._running
            text, took = command_result(ended), round(ended.duration_s, 3)
            result = ShellResult(id=id, text=text, exit_code=ended.code, duration_s=took)
        except CommandStopped as stopped:
            text = f"Stopped by the user.\n{stopped.printed}".rstrip("\n")
            result = ShellResult(id=id, text=text, outcome="stopped")
        except asyncio.CancelledError:
            result = ShellResult(id=id, text="Stopped by the user.", outcome="stopped")
        except (NotStarted, OSError, ValueError) as error:
            text = f"The command cannot be started: {error}."
            result = ShellResult(id=id, text=text, outcome="not started")
        finally:
            self._running = None
        self._report(work, result)

    def cancel(self) -> None:
        """Kill the running command with all its children."""
        if self._running is not None:
            self._running.cancel()

    def close_open(self) -> None:
        """If the newest command was killed together with the program, log that."""
        events = self.history.newest_events(ShellCommand, ShellResult)
        if (command := data_of(next(events, None), ShellCommand)) is not None:
            result = ShellResult(id=command.id, text=INTERRUPTED, outcome="interrupted")
            self._report(Shell(command.text, command.private), result)

    def _report(self, work: Shell, result: ShellResult) -> None:
        history = self.history
        message = shell_message(work.command, result.text, result.id)
        tokens = {} if work.private else history.counter.message(message).nonzero()
        result = replace(result, private=work.private, tokens=tokens)
        before = history.view.last
        try:
            history.append(result, message)
        except sqlite3.Error:
            # The screen must not wait for an end that has already happened; the next visit logs it.
            history.report(result)
            raise
        if not work.private:
            # At once, because the gauge must not show what no request would contain.
            policy, count = self.compactor.policy, history.counter.text
            StageRunner(policy, history, count, around=StageHost(), looked_at=before).arrivals()


async def add_task_notes(tasks: BackgroundTasks, history: SessionHistory, _request: object) -> None:
    """Tell the model, after the newest message, which background commands have ended.

    The user is asked about files they made that other programs run or follow.
    """
    await tasks.ask_about_changes()
    if news := tasks.take_news():
        history.write_note(TaskTold(text=tasks_text(news), ids=tuple(id for id, _ in news)))


def resume_tasks(tasks: BackgroundTasks, history: SessionHistory) -> None:
    """Log tasks lost with a killed program, and list those kept and those not reported to the model."""
    open_: dict[str, TaskStarted] = {}
    untold: dict[str, str] = {}
    kept: dict[str, TaskEnded] = {}
    last = 0
    for record in reversed([*history.newest_events(TaskStarted, TaskEnded, TaskTold)]):
        match record.data:
            case TaskStarted(id=id) as started:
                open_[id], last = started, max(last, int(id[1:]) if id[1:].isdecimal() else 0)
            case TaskEnded(id=id) as ended:
                open_.pop(id, None)
                kept.pop(id, None)
                if ended.outcome == "kept":
                    kept[id] = ended
                untold[id] = ended.how
            case TaskTold(ids=ids):
                for id in ids:
                    untold.pop(id, None)
    for id, started in open_.items():
        history.append(TaskEnded(id=id, command=started.command, outcome="lost"))
        untold[id] = how_it_ended("lost", None)
    tasks.resume(last, list(untold.items()), list(kept.values()))
