"""Background commands, which outlive the call that started them and end with the session.

Each is a process group like that of any command, so nothing of it remains when we are killed.
"""

import asyncio
import codecs
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from tui_app.agent.tools.commands import ProcessRunner
from tui_app.agent.tools.made_places import MadePlaces
from tui_app.agent.tools.task_output import PART_BYTES, KeptOutput, Page, Part, TaskOutput
from tui_app.agent.tools.workspace import ToolProblem
from tui_app.agent.waits import first_of
from tui_app.autorun import Stamp
from tui_app.events import Payload, TaskEnded, TaskResumed, TaskStarted, how_it_ended
from tui_app.records import frozen, like
from tui_app.system import command_parent, output_drain
from tui_app.system.environment import NO_SECRETS, MaskedStream, Secrets
from tui_app.system.processes import Listener, Pipes, ProcessGroup, start_group
from tui_app.text import count
from tui_app.tool_specs import TASKS

_log = logging.getLogger(__name__)


MOST = 50
"""Maximum number running at once."""
FIRST_S = 1.5
"""Seconds to wait for the first output."""
_PORTION = 1 << 18
_PAUSE_S = 0.02
"""A command that prints without end is read with a pause after each portion: the session goes on."""
_DETACHING_S = 0.3
_FOREIGN_S = 1.0
"""Seconds between two checks of a file that another process writes."""
_KEPT = "-kept.txt"
_END_CHARS = 4_000
"""Characters logged of the end of an output."""
State = Literal["running", "exited", "stopped", "session", "kept"]


class _TaskListener(Listener):
    """Writes a command's output to its file, with known secrets masked."""

    def __init__(self, output: TaskOutput, secrets: Secrets) -> None:
        super().__init__()
        self._output, self._masked = output, MaskedStream(secrets)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._read = 0
        self.printed = asyncio.Event()
        self.transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport if isinstance(transport, asyncio.SubprocessTransport) else None

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._output.add(self._masked.add(self._decoder.decode(data)))
        self._masked.shown.clear()
        self.printed.set()
        self._read += len(data)
        if self._read >= _PORTION:
            self._read = 0
            self.read_on(pause=True)
            asyncio.get_running_loop().call_later(_PAUSE_S, self.read_on)

    def read_on(self, *, pause: bool = False) -> None:
        """Resume reading, or pause."""
        pipe = self.transport.get_pipe_transport(1) if self.transport is not None else None
        if isinstance(pipe, asyncio.ReadTransport) and not pipe.is_closing():
            with suppress(RuntimeError):  # already paused, or already reading
                (pipe.pause_reading if pause else pipe.resume_reading)()

    def finish(self) -> None:
        self._output.add(self._masked.add(self._decoder.decode(b"", True)) + self._masked.flush())


@dataclass(slots=True, kw_only=True)
class Task:
    """One background command."""

    id: str
    command: str
    output: TaskOutput
    started: float
    """Monotonic seconds."""
    state: State = "running"
    exit_code: int | None = None
    """None while it runs, or if it was killed before it had one."""
    ended: float = 0.0
    told: bool = False
    """Whether the model knows that it has ended."""
    read: int = 0
    """Number of the last complete line the model has read."""
    ending: Literal["exited", "stopped", "session", "kept"] = "exited"
    """How it ended, once it has."""
    keep: bool = False
    """Whether it continues when the session ends."""
    pid: int = 0
    """Process by which a kept command can be stopped."""
    file: str = ""
    """File of its output then."""
    group: "ProcessGroup[_TaskListener] | None" = None
    follower: "asyncio.Task[None] | None" = None

    @property
    def is_running(self) -> bool:
        return self.state == "running"

    @property
    def age_s(self) -> float:
        """Seconds it has run."""
        return (time.monotonic() if self.is_running else self.ended) - self.started

    @property
    def how(self) -> str:
        """Its state in a few words."""
        return "running" if self.state == "running" else how_it_ended(self.state, self.exit_code)

    @property
    def status_text(self) -> str:
        """Its id, state, duration, and number of lines."""
        return f"{self.id} {self.how}, {self.age_s:.0f} s, {count(self.output.total, 'line')}"


@dataclass(slots=True, kw_only=True)
class BackgroundTasks:
    """The background commands of one session. Not thread-safe: use it on one event loop."""

    runner: ProcessRunner
    """Their folder and environment."""
    folder: Path
    """Folder of their output while the session is open."""
    report: Callable[[Payload], object]
    secrets: Secrets = NO_SECRETS
    made: dict[str, MadePlaces] = field(default_factory=dict)
    """For sandboxed tasks, by id: the files they make that other programs run or follow."""
    answered: dict[Path, Stamp] = field(default_factory=dict)
    written: dict[Path, str] = field(default_factory=dict)
    """Files already asked about, see ``MadePlaces``; shared by all commands of the session."""
    most: int = MOST
    tasks: dict[str, Task] = field(default_factory=dict)
    news: list[tuple[str, str]] = field(default_factory=list)
    """Ids and ends of tasks of an earlier visit that the model has not been told about."""
    _last: int = 0
    """Number of the newest id."""

    @property
    def running(self) -> list[Task]:
        return [task for task in self.tasks.values() if task.is_running]

    def resume(self, last: int, news: Sequence[tuple[str, str]], kept: Sequence[TaskEnded] = ()) -> None:
        """Continue after an earlier visit to the session.

        Args:
            last: Number of its newest task.
            news: What the model has not been told.
            kept: Tasks that continued when it ended; they are listed as long as they run.
        """
        self._last = max(self._last, last)
        self.news += news
        for ended in kept:
            path = Path(ended.file)
            # A log may be from an untrusted source: only files in our folder count as output.
            is_own = path.parent == self.folder and path.name.endswith(_KEPT)
            if is_own and (started := _runs_since(ended.pid, ended.command)) is not None:
                output = KeptOutput(self.folder, ended.id, _parts=[Part(path, 1)])
                output.page(1, 0)
                task = Task(
                    id=ended.id, command=ended.command, output=output, started=started, keep=True,
                    pid=ended.pid, file=ended.file,
                )  # fmt: skip
                self.tasks[task.id] = task
                task.follower = asyncio.create_task(self._follow_kept(task), name=f"kept {task.id}")
                self.report(TaskResumed(id=task.id, command=task.command))
        for file in self.folder.glob("*.txt"):
            # Kept commands may still be printing.
            if not file.name.endswith(_KEPT):
                file.unlink(missing_ok=True)

    async def start(self, command: str, words: Sequence[str], call: str = "") -> Task:
        """Start a command, and wait briefly for its first output.

        Args:
            command: As the model wrote it.
            words: The words to run.
            call: Id of the call.

        Raises:
            ToolProblem: if too many are running already.
            NotStarted: if it cannot be started.
        """
        if len(self.running) >= self.most:
            raise ToolProblem(
                f"{self.most} background commands are already running. "
                f"Stop one first: {TASKS.name}(action='stop')."
            )
        self._last += 1
        task_id = f"t{self._last}"
        output = TaskOutput(self.folder, task_id)
        task = Task(id=task_id, command=command, output=output, started=time.monotonic())
        # Before the first await, so that concurrent starts respect the limit.
        self.tasks[task_id] = task
        try:
            group = await start_group(
                lambda: _TaskListener(output, self.secrets),
                words,
                cwd=self.runner.cwd,
                env=self.runner.env,
                pipes=Pipes(stderr=subprocess.STDOUT),
            )
        except BaseException:
            del self.tasks[task_id]
            raise
        task.group = group
        self.report(TaskStarted(id=task_id, command=command, tool_call_id=call))
        task.follower = asyncio.create_task(self._follow(task, group), name=f"task {task_id}")
        try:
            await first_of(task.follower, group.listener.printed.wait(), timeout_s=FIRST_S)
            if task.is_running and not group.listener.printed.is_set():
                return task
            # Output that follows immediately is part of the first.
            await asyncio.wait([task.follower], timeout=FIRST_S / 5)
        except asyncio.CancelledError:
            # Its call has no result, so the model would not know of it.
            await self._end([task], "stopped")
            raise
        return task

    async def end_task(self, task_id: str) -> bool:
        """Stop a task with all its child processes. Returns whether it was running."""
        task = self.tasks.get(task_id)
        if task is None or not task.is_running or task.follower is None:
            return False
        await self._end([task], "stopped")
        return True

    async def close(self) -> None:
        """Stop all tasks at the end of the session, except those that are kept."""
        ours = [task for task in self.running if task.group is not None]
        kept = [task for task in ours if task.keep and await self._detach(task)]
        for task in [task for task in self.running if task.group is None and task.keep]:
            # It continues as before.
            if task.follower is not None:
                task.follower.cancel()
            del self.tasks[task.id]
        if kept:
            # Each is free at once, but not before it is asked.
            await asyncio.sleep(_DETACHING_S)
        await asyncio.gather(
            self._end(kept, "kept"), self._end([task for task in self.running if task not in kept], "session")
        )
        await asyncio.to_thread(self._clear)

    def _clear(self) -> None:
        """Delete all output except that of tasks that continue."""
        for task in self.tasks.values():
            if task.file and task.state != "kept":
                task.output.remove()
        # The file of a task that has just been detached may not exist yet.
        kept = any(task.state == "kept" for task in self.tasks.values())
        if not (kept or any(self.folder.glob(f"*{_KEPT}"))):
            shutil.rmtree(self.folder, ignore_errors=True)

    def keep(self, task_id: str) -> bool:
        """Toggle whether a task continues after the session. Returns the new state."""
        task = self.tasks.get(task_id)
        if task is None or not task.is_running or sys.platform != "linux":
            return False
        task.keep = not task.keep
        return task.keep

    async def _detach(self, task: Task) -> bool:
        """Detach a task so that it outlives us, with another process that reads its output."""
        group = task.group
        pipe = group.transport.get_pipe_transport(1) if group is not None else None
        if group is None or pipe is None:
            return False
        try:
            outer = group.transport.get_pid()
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            children = await asyncio.to_thread(Path(f"/proc/{outer}/task/{outer}/children").read_text)
            task.pid, task.file = int(children.split()[0]), str(self.folder / f"{task.id}{_KEPT}")
            words = (sys.executable, "-I", "-S", output_drain.__file__, task.file, str(PART_BYTES))
            reader = pipe.get_extra_info("pipe")
            nothing = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
            given = (os.POSIX_SPAWN_DUP2, reader.fileno(), 0)
            start = partial(
                os.posix_spawn, sys.executable, words, {}, file_actions=[given, *nothing], setsid=True
            )
            await asyncio.to_thread(start)
            os.kill(outer, signal.SIGUSR1)
        except (OSError, ValueError, IndexError) as error:
            _log.warning("%s could not be kept: %s", task.id, error)
            return False
        return True

    async def page(self, task_id: str, start: int, most: int) -> Page | None:
        """Some lines of a task's output; None if there is no such task."""
        task = self.tasks.get(task_id)
        return None if task is None else await asyncio.to_thread(task.output.page, start, most)

    async def wait_for_output(self, task_id: str, chars: int) -> None:
        """Wait until a task has printed more than this many characters, or has ended."""
        task = self.tasks.get(task_id)
        while task is not None and task.is_running and task.output.chars == chars:
            ends = [] if task.follower is None else [task.follower]
            if task.group is None:
                # Another process writes the file.
                await first_of(*ends, asyncio.sleep(_FOREIGN_S))
                await asyncio.to_thread(task.output.page, -1, 1)
                continue
            task.group.listener.printed.clear()
            await first_of(*ends, task.group.listener.printed.wait())

    async def ask_about_changes(self) -> None:
        """Ask about files made by tasks that other programs run or follow; the results become news."""
        for id, made in list(self.made.items()):
            is_over = not self.tasks[id].is_running
            self.news += [(id, row) for row in await made.ask()]
            if is_over:
                self.made.pop(id, None)

    def take_news(self) -> list[tuple[str, str]]:
        """Tasks that ended since the model was last told: ids, each with a short text."""
        found, self.news = self.news, []
        for task in self.tasks.values():
            if not task.is_running and not task.told:
                task.told = True
                lines = count(task.output.total, "line")
                found.append((task.id, f"{task.how} after {task.age_s:.0f} s, {lines}"))
        return found

    async def _end(self, tasks: Sequence[Task], ending: Literal["stopped", "session", "kept"]) -> None:
        for task in tasks:
            task.ending = ending
            if task.group is not None:
                task.group.kill()
            elif _runs_since(task.pid, task.command) is not None:
                with suppress(ProcessLookupError):
                    os.kill(task.pid, signal.SIGTERM)
        followers = [task.follower for task in tasks if task.follower is not None]
        if followers:
            await asyncio.wait(followers)

    async def _follow_kept(self, task: Task) -> None:
        """Wait for the end of a kept task, which is no longer our child process."""
        with suppress(ProcessLookupError):
            process = os.pidfd_open(task.pid)
            loop, ended = asyncio.get_running_loop(), asyncio.Event()
            loop.add_reader(process, ended.set)
            try:
                await ended.wait()
            finally:
                loop.remove_reader(process)
                os.close(process)
        await self._report_end(task)

    async def _follow(self, task: Task, group: "ProcessGroup[_TaskListener]") -> None:
        await group.listener.exited.wait()
        group.listener.read_on()
        await group.end()
        group.listener.finish()
        task.exit_code = group.transport.get_returncode() if task.ending == "exited" else None
        await self._report_end(task)

    async def _report_end(self, task: Task) -> None:
        """Report the end of a task."""
        task.state, task.ended = task.ending, time.monotonic()
        end = await asyncio.to_thread(task.output.page, -40, 40)
        made = self.made.get(task.id) if task.ending in ("session", "kept") else None
        left = await asyncio.to_thread(made.unapproved) if made is not None else []
        text = "\n".join([*(line for _, line in end.lines), *left])[-_END_CHARS:]
        self.report(
            like(
                TaskEnded,
                task,
                outcome=task.ending,
                duration_s=round(task.age_s, 3),
                lines=task.output.total,
                text=text,
                pid=task.pid if task.ending == "kept" else 0,
                file=task.file if task.ending == "kept" else "",
            )
        )


def _runs_since(pid: int, command: str) -> float | None:
    """Monotonic start time of a kept command; None if its process id has been reused."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
        start = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None
    own = os.fsencode(command_parent.__file__) in words
    return int(start) / os.sysconf("SC_CLK_TCK") if own and words[-1:] == [os.fsencode(command)] else None


@frozen(kw_only=True)
class TaskRow:
    """One background command in a list."""

    id: str
    command: str
    how: str
    is_running: bool
    failed: bool
    keep: bool = False
    """Whether it continues when the session ends."""
    age_s: float
    lines: int


def task_rows(tasks: BackgroundTasks | None) -> list[TaskRow]:
    """The background commands of a session, running ones first, each group with the newest first."""
    rows = [
        like(
            TaskRow,
            task,
            failed=task.exit_code not in (None, 0),
            keep=task.keep and task.is_running,
            lines=task.output.total,
        )
        for task in (tasks.tasks.values() if tasks is not None else ())
    ]
    return sorted(reversed(rows), key=lambda row: not row.is_running)
