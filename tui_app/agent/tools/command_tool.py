"""The tools for commands, run to their end or in the background."""

import asyncio
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic_ai import ModelRetry, RunContext, ToolDenied

from tui_app.agent.approvals.command_line import prepare
from tui_app.agent.approvals.rules import Action, Gate
from tui_app.agent.tools.calls import as_model_retry, on_thread
from tui_app.agent.tools.commands import (
    CommandStopped,
    Ended,
    ProcessRunner,
    plain_shell,
    shell_command,
    unattended,
)
from tui_app.agent.tools.made_places import MadePlaces, remove_unapproved
from tui_app.agent.tools.tasks import BackgroundTasks, Task
from tui_app.agent.tools.workspace import ToolProblem
from tui_app.context.history import ignore
from tui_app.records import frozen, picked
from tui_app.sandbox import INSTALL, Confinement, refused
from tui_app.system.command_parent import parented
from tui_app.system.environment import Secrets
from tui_app.text import count
from tui_app.tool_specs import RUN_COMMAND

LONGEST_COMMAND = 20_000
"""Maximum characters."""
LONGEST_S = 3_600.0
"""Maximum seconds a model may request."""
_NO_SANDBOX = (
    'The settings require a sandbox for commands (sandbox = "require"), and there is none for this one. {}.'
)


@frozen
class CommandTool:
    """Runs commands in the workspace."""

    runner: ProcessRunner
    gate: Gate
    tasks: BackgroundTasks
    """Those that go on in the background."""
    shown: Callable[[str, str], None]
    """Called with the id of a call and what its command prints."""
    timeout_s: float = 120.0
    """Seconds for a command if the model sets none."""
    cut_short: MutableMapping[str, str] = field(default_factory=dict)
    """Receives the output of stopped commands, by the id of the call."""
    confinement: Callable[[], Confinement | None] = lambda: None
    """Returns the sandbox, determined at the first command; None if it is off."""
    required: bool = False
    """Whether no command may run without a sandbox."""

    async def run_command(
        self,
        ctx: RunContext[Any],
        command: str,
        timeout_s: float = 0.0,
        outside: bool = False,
        background: bool = False,
    ) -> str | ToolDenied:
        """Run a command line in the workspace. It has no input; what it leaves running is ended.

        Args:
            ctx: The run.
            command: The command line.
            timeout_s: Seconds it may take; 0 is the usual limit.
            outside: Without the sandbox; the user is asked.
            background: Leave it running (a server, a watcher), and see to it with `tasks`.
        """
        call = ctx.tool_call_id or ""
        with as_model_retry():
            if not command.strip() or "\0" in command or len(command) > LONGEST_COMMAND:
                raise ToolProblem(f"Give a command line of at most {LONGEST_COMMAND:,} characters.")
            limit = min(max(1.0, timeout_s or self.timeout_s), LONGEST_S)
            longer = f"at most {limit:g} s" if limit > self.timeout_s else ""
            longer = "in the background" if background else longer
            request = Action(
                tool=ctx.tool_name or RUN_COMMAND.name,
                kind="command",
                subject=command,
                note=longer,
                call=call,
            )
            admitted = await _admitted(self, request, outside=outside)
            if isinstance(admitted, str):
                return ToolDenied(admitted)
            action, inside, wrapped = admitted
            if background:
                task = await self.tasks.start(command, wrapped, call)
                if inside is not None:
                    # By the time of the question, its call has ended.
                    asked = replace(action, call="", note="")
                    self.tasks.made[task.id] = _made(self, inside, asked, "a background command")
                left = f"Runs in the background as {task.id}. " if task.is_running else ""
                return f"{left}{await read_task(task)}"
            try:
                ended = await self.runner.run(wrapped, limit, lambda text: self.shown(call, text))
            except CommandStopped as stopped:
                # Before the next wait, which may be cancelled too.
                self.cut_short[call] = stopped.printed
                if inside is not None:
                    removed = await on_thread(partial(remove_unapproved, inside))
                    self.cut_short[call] += "\n" + "\n".join(removed)
                raise
            # If the user stops the turn at a question about made files, the output is kept.
            self.cut_short[call] = result = command_result(ended, limit)
            if inside is not None:
                result = "\n".join([result, *await _made(self, inside, action, "the command").ask()])
            del self.cut_short[call]
            if inside is not None and ended.code and refused(ended.text):
                result = f"{result}\n[{inside.limits}; outside=true asks the user to run it without]"
            return result


async def _admitted(
    tool: CommandTool, request: Action, *, outside: bool = False
) -> tuple[Action, Confinement | None, Sequence[str]] | str:
    """Ask whether a command may run.

    Args:
        tool: The tool that runs it.
        request: The command, with its note.
        outside: Whether to run it without the sandbox.

    Returns:
        The action that was asked about, its sandbox and the words to run; or why it must not run, for the
        model.

    Raises:
        ToolProblem: if it needs a sandbox and there is none.
    """
    await asyncio.to_thread(prepare)
    kept = await asyncio.to_thread(tool.confinement)
    has_sandbox = kept is not None and kept.is_kept_in
    inside, leaves = kept if has_sandbox and not outside else None, has_sandbox and outside
    if tool.required and inside is None:
        raise ToolProblem(_NO_SANDBOX.format(INSTALL))
    where = "outside the sandbox" if leaves else "" if kept is None else kept.limits
    guarded = "always asked: it leaves the sandbox" if leaves else ""
    note = ", ".join(filter(None, (where, request.note)))
    action = replace(request, note=note, guarded=guarded)
    if declined := await tool.gate(action):
        return declined
    inside = await asyncio.to_thread(inside.found) if inside is not None else None
    words = shell_command(action.subject)
    wrapped = parented(words) if inside is None else await asyncio.to_thread(inside.wrap_command, words)
    return action, inside, wrapped


def _made(tool: CommandTool, inside: Confinement, action: Action, by: str) -> MadePlaces:
    """Tracks the files a command makes that other programs run or follow."""
    known = picked(tool.tasks, "answered written")
    return MadePlaces(gate=tool.gate, inside=inside, command=action, by=by, **known)


async def run_check(tool: CommandTool, command: str) -> Ended | str:
    """Run a command that the model did not request, under the same rules. Returns why if it may not run."""
    request = Action(tool=RUN_COMMAND.name, kind="command", subject=command, note="checks the goal")
    try:
        admitted = await _admitted(tool, request)
    except ToolProblem as problem:
        return str(problem)
    if isinstance(admitted, str):
        return f"`{command}` may not run: {admitted}"
    action, inside, wrapped = admitted
    ended = await tool.runner.run(wrapped, tool.timeout_s, ignore)
    if inside is not None:
        await _made(tool, inside, action, "the check").ask()
    return ended


def command_result(ended: Ended, limit_s: float = 0.0) -> str:
    """How a command ended, and its output."""
    if ended.timed_out:
        how = f"Timed out after {limit_s:g} s and was stopped, with everything it had started."
    elif ended.code is not None and ended.code < 0:
        how = f"Ended by signal {-ended.code} after {ended.duration_s:.1f} s."
    else:
        how = f"Exit code {ended.code} after {ended.duration_s:.1f} s."
    return f"{how}\n{ended.text}".rstrip("\n")


TASK_LINES, MOST_TASK_LINES = 200, 1_000


@frozen
class TaskTool:
    """Lists, reads and stops background commands. They were approved when they started."""

    background: BackgroundTasks

    async def tasks(
        self,
        _ctx: RunContext[Any],
        action: Literal["list", "read", "stop"] = "list",
        id: str = "",
        start: int = 0,
        lines: int = TASK_LINES,
    ) -> str:
        """See to background commands.

        Args:
            _ctx: The run.
            action: What to do.
            id: Which one, such as `t1`.
            start: First line to read; 0 is what is new since you read last, -50 the last 50.
            lines: How many, at most 1000.
        """
        every = self.background.tasks
        if action == "list":
            rows = []
            for each in every.values():
                each.told = each.told or not each.is_running
                rows.append(f"{each.status_text}: {each.command}")
            return "\n".join(rows) or "There are no background commands."
        task = every.get(id)
        if task is None:
            known = ", ".join(every) or "none"
            raise ModelRetry(f"There is no background command {id!r}. There are: {known}.")
        if action == "stop":
            stopped = await self.background.end_task(id)
            task.told = True
            return (
                f"{id} was stopped, with everything it had started."
                if stopped
                else f"{id} had ended: {task.how}."
            )
        return await read_task(task, start, lines)


async def read_task(task: Task, start: int = 0, lines: int = TASK_LINES) -> str:
    """Lines of a task for the model, which are then marked as read."""
    running = task.is_running
    begin = start or task.read + 1
    page = await asyncio.to_thread(task.output.page, begin, min(max(1, lines), MOST_TASK_LINES))
    task.told = task.told or not running
    head = f"{task.id} {task.how}, {task.age_s:.0f} s"
    if not page.lines:
        nothing = "No output there" if start else "No new output"
        return f"{head}. {nothing}, {count(page.total, 'line')} in all."
    first, last = page.lines[0][0], page.lines[-1][0]
    # An incomplete line is returned again next time.
    task.read = max(task.read, last - (last == page.total and running and task.output.open_line))
    rows = [f"{head}. Lines {first:,} to {last:,} of {page.total:,}:"]
    low, high = page.missing
    for number, line in page.lines:
        if low and number == high + 1 and (number > first or begin < number):
            rows.append(f"[lines {low:,} to {high:,} are no longer kept]")
        rows.append(line)
    if page.problem:
        rows.append(f"[{page.problem}]")
    return "\n".join(rows)


def command_runner(cwd: Path, env: Mapping[str, str], secrets: Secrets) -> ProcessRunner:
    """The runner of the model's commands: without input, and with a shell that reads only the line."""
    return ProcessRunner(cwd, unattended(plain_shell(env)), secrets)
