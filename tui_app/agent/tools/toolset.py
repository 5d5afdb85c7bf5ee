"""The tools as the model sees them: short descriptions, text results, errors it can act on."""

import asyncio
import hashlib
import threading
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from inspect import isfunction
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Protocol, TypeVar

import anyio.to_thread
from pydantic import BaseModel
from pydantic_ai import BinaryContent, ModelRetry, RunContext, Tool, ToolDenied
from pydantic_ai.toolsets import FunctionToolset

from tui_app.agent.approvals.places import obeyed
from tui_app.agent.approvals.rules import Action, Gate, Judge
from tui_app.agent.instructions import Skills, use_skill
from tui_app.agent.tools import files
from tui_app.agent.tools.commands import (
    CommandStopped,
    Ended,
    MadePlaces,
    ProcessRunner,
    Stop,
    shell_words,
    take_away,
)
from tui_app.agent.tools.edits import FileChange, carry_out, check_unchanged, plan_edit, plan_write
from tui_app.agent.tools.files import ShowsFile
from tui_app.agent.tools.history import (
    PAGE_LINES,
    HistoryHit,
    HistorySearch,
    ProjectSearch,
    Scope,
    names_message,
    read_message,
    search_history,
    search_project,
)
from tui_app.agent.tools.seen_files import SeenFiles
from tui_app.agent.tools.tasks import BackgroundTasks, Task
from tui_app.agent.tools.workspace import FileLocks, ToolProblem, Workspace
from tui_app.command_parent import parented
from tui_app.files import Refused, write_atomic
from tui_app.pictures import Picture
from tui_app.processes import NotStarted
from tui_app.records import frozen
from tui_app.sandbox import INSTALL, Confinement, refused
from tui_app.text import count
from tui_app.tool_specs import READ_FILE, RUN_COMMAND, SEARCH_HISTORY, TOOLS, USE_SKILL

# Rules about tools that only look: asked before they do, and what they leave out of a folder.


@frozen
class Looking:
    """What rules have to say before a tool looks at files, and while it does."""

    workspace: Workspace
    gate: Judge

    async def declined(self, ctx: RunContext[Any], path: str, *like: str, tool: str = "") -> str:
        """Ask whether a tool may look at a path.

        Args:
            ctx: The call.
            path: As the model gave it.
            like: Other tools that would show the same.
            tool: What looks, where that is not the tool that was called.

        Returns:
            Why it must not, for the model to read; empty when it may.
        """
        return await self.gate(await asyncio.to_thread(self._action, tool or _name(ctx), ctx, path, like))

    def shows(self, ctx: RunContext[Any], path: str, *like: str) -> ShowsFile:
        """Which files a tool that was let into a folder may show.

        What must be asked about was not asked about by opening a folder around it, unless by the same rule.
        Blocking.
        """
        opened = self.gate.judged(self._action(_name(ctx), ctx, path, like))

        def shown(file: Path) -> bool:
            verdict = self.gate.judged(_action(_name(ctx), ctx, self.workspace.display(file), (), like))
            return verdict.ruling == "allow" or (verdict.ruling, verdict.because) == (
                opened.ruling,
                opened.because,
            )

        return shown

    def _action(self, tool: str, ctx: RunContext[Any], path: str, like: tuple[str, ...]) -> Action:
        """What is asked about: where a path leads, by its own name and by the one that was given."""
        try:
            shown = self.workspace.display(self.workspace.resolve(path))
        except ToolProblem:
            # The tool says why; a rule about all of it, or about this very name, is heard before.
            shown = path
        # As seen from the workspace: rules say nothing of the folders around it.
        given = PurePosixPath(path)
        if given.is_relative_to(self.workspace.root):
            given = given.relative_to(self.workspace.root)
        spelled = () if given.is_absolute() or str(given) == shown else (str(given),)
        return _action(tool, ctx, shown, spelled, like)


def seen_files(ctx: RunContext[Any], workspace: Workspace) -> SeenFiles:
    """What whoever calls knows: a sub-agent has seen other files than the one that has sent it."""
    return SeenFiles(ctx.agent.name or "" if ctx.agent is not None else "", workspace.seen_file)


def _name(ctx: RunContext[Any]) -> str:
    return ctx.tool_name or READ_FILE.name


def _action(
    tool: str, ctx: RunContext[Any], shown: str, spelled: tuple[str, ...], like: tuple[str, ...]
) -> Action:
    return Action(
        tool=tool,
        kind="file",
        subject=shown,
        note="looks, changes nothing",
        call=ctx.tool_call_id or "",
        looks=True,
        like=like,
        spelled=spelled,
    )


MAX_RETRIES = 8
"""Times a model may get one tool wrong in a row before the turn fails; looking for a file can take some."""
_RECALL = (
    "Search this whole conversation, also what is no longer in your context. A handle such as `#142` as the "
    "query gives that message back; of a long one a part from line `start` on, and how to read on."
)


@frozen
class ReadTools:
    """Read-only tools over a workspace and a conversation; their docstrings are what the model reads.

    They go ahead unless a rule says otherwise of the tool or of the file. Blocking work runs on a thread
    that is told to stop when the turn is cancelled.
    """

    history: HistorySearch
    looking: Looking
    project: ProjectSearch | None = None
    """The sessions of the repository; None where only this conversation can be searched."""

    @property
    def _files(self) -> Workspace:
        return self.looking.workspace

    async def read_file(
        self, ctx: RunContext[Any], path: str, start: int = 1, lines: int = 400
    ) -> str | list[str | BinaryContent] | ToolDenied:
        """Read a text file as numbered lines, or look at a picture (PNG, JPEG, GIF, WebP).

        Args:
            ctx: The run.
            path: Path relative to the workspace, or a message's handle such as `#142`.
            start: First line, counted from 1.
            lines: How many lines, at most 1900.
        """
        like = (SEARCH_HISTORY.name,) if names_message(self.history, path) else ()
        if declined := await self.looking.declined(ctx, path, *like):
            return ToolDenied(declined)
        try:
            message = read_message(self.history, path, start, lines)
        except ToolProblem as problem:
            raise ModelRetry(str(problem)) from problem
        if message is not None:
            return message

        def noted(_: Stop) -> Picture | None:
            seen_files(ctx, self._files).remember(self._files.file(path))
            return files.read_picture(self._files, path)

        picture = await _on_thread(noted)
        if picture is not None:
            return [
                f"[picture {path}, {picture.about}]",
                BinaryContent(picture.data, media_type=picture.media_type),
            ]
        return await _on_thread(lambda stop: files.read_file(self._files, path, start, lines, stop=stop))

    async def ls(self, ctx: RunContext[Any], path: str = ".") -> str | ToolDenied:
        """List a folder; names of folders end in a slash.

        Args:
            ctx: The run.
            path: Folder relative to the workspace.
        """
        if declined := await self.looking.declined(ctx, path):
            return ToolDenied(declined)
        return await _on_thread(lambda _: files.ls(self._files, path, shows=self.looking.shows(ctx, path)))

    async def glob(self, ctx: RunContext[Any], pattern: str) -> str | ToolDenied:
        """Find files by name. Files that git ignores are left out.

        Args:
            ctx: The run.
            pattern: Such as `*.py` (any depth), `src/**/*.ts` or `docs/*.{md,rst}`.
        """
        if declined := await self.looking.declined(ctx, pattern):
            return ToolDenied(declined)
        return await _on_thread(
            lambda stop: files.glob(self._files, pattern, stop=stop, shows=self.looking.shows(ctx, pattern))
        )

    async def grep(
        self,
        ctx: RunContext[Any],
        pattern: str,
        path: str = ".",
        ignore_case: bool = False,
        limit: int = 200,
    ) -> str | ToolDenied:
        """Search text files line by line; hits come as `path:line: text`. Skips what git ignores.

        Args:
            ctx: The run.
            pattern: Regular expression.
            path: File or folder to search.
            ignore_case: Whether upper and lower case are the same.
            limit: Hits to return at most.
        """
        if declined := await self.looking.declined(ctx, path, READ_FILE.name):
            return ToolDenied(declined)

        def searched(stop: Stop) -> str:
            shows = self.looking.shows(ctx, path, READ_FILE.name)
            return files.grep(self._files, pattern, path, ignore_case, limit, stop=stop, shows=shows)

        return await _on_thread(searched)

    async def search_history(
        self,
        ctx: RunContext[Any],
        query: str,
        limit: int = 8,
        start: int = 1,
        lines: int = PAGE_LINES,
        offset: int = 0,
        *,
        scope: Scope = "session",
    ) -> str:
        """Search this whole conversation, also what is no longer in your context.

        Args:
            ctx: The run.
            query: Words to look for, or a handle such as `#142` to get that message back.
            limit: Hits to return at most.
            start: First line of a message that is too long for one result.
            lines: How many lines of it.
            offset: Characters to skip in the first.
            scope: `project` searches earlier sessions of this repository for messages with all words.
        """
        if scope == "session" or self.project is None:
            return search_history(self.history, query, limit, start, lines, offset)
        call = ctx.tool_call_id or ""
        return await search_project(self.project, query, limit, start, lines, offset, call=call)


def tools_of(*owners: object) -> list[Callable[..., Any]]:
    """The methods of some objects that are tools, by their names."""
    return [
        getattr(owner, name)
        for owner in owners
        for name, value in vars(type(owner)).items()
        if name in TOOLS and isfunction(value)
    ]


def build_toolset(
    ws: Workspace,
    search: HistorySearch,
    gate: Judge,
    working: Sequence[Callable[..., Any]] = (),
    project: ProjectSearch | None = None,
) -> FunctionToolset[object]:
    """Build the read-only tools over a workspace and a conversation.

    Args:
        ws: What may be read.
        search: The conversation.
        gate: Says what rules leave them to see.
        working: Further tools, which ask for themselves before they change anything.
        project: The sessions of the repository.
    """
    looking = tools_of(ReadTools(search, Looking(ws, gate), project))
    return FunctionToolset([*looking, *working], max_retries=MAX_RETRIES, docstring_format="google")


def looking_toolset(looking: Looking) -> FunctionToolset[Any]:
    """Build the read-only tools over a workspace alone, for whoever has no conversation to search."""
    tools = ReadTools(_NothingSaid(), looking)
    return FunctionToolset(
        [tools.read_file, tools.ls, tools.glob, tools.grep],
        max_retries=MAX_RETRIES,
        docstring_format="google",
    )


class _NothingSaid:
    """A conversation in which nothing was said."""

    def search(self, words: str, limit: int = 8) -> list[HistoryHit]:
        """No hits."""
        return []

    def fetch(self, seq: int, session: str = "") -> None:
        """No message."""
        return


def recall_toolset(search: HistorySearch) -> FunctionToolset[Any]:
    """Build the one tool that an agent with tools of its own needs to get back what has left its context."""

    async def look(
        query: str, limit: int = 8, start: int = 1, lines: int = PAGE_LINES, offset: int = 0
    ) -> str:
        return search_history(search, query, limit, start, lines, offset)

    return FunctionToolset(
        [Tool(look, name=SEARCH_HISTORY.name, description=_RECALL)], max_retries=MAX_RETRIES
    )


T = TypeVar("T")


async def _on_thread(work: Callable[[Stop], T]) -> T:
    """Run blocking work off the loop; on cancellation the wait ends at once and the thread soon after."""
    cancelled = threading.Event()
    stop = Stop(cancelled)
    try:
        return await anyio.to_thread.run_sync(lambda: work(stop), abandon_on_cancel=True)
    except ToolProblem as problem:
        raise ModelRetry(str(problem)) from problem
    except OSError as error:  # the file system changed under the tool
        raise ModelRetry(f"That could not be read: {error.strerror or error}.") from error
    finally:
        cancelled.set()


# The tools that change something, as the model sees them. First each asks its gate with what it would do.

LONGEST_COMMAND = 20_000
"""Characters."""
LONGEST_S = 3_600.0
"""Seconds a model may ask for."""
_RESULT_DIFF = 3_000
"""Characters of the diff that the model is shown of an edit."""


class Keeper(Protocol):
    """Keeps what a file held, so that it can be brought back."""

    async def keep(self, change: FileChange, call: str) -> None:
        """Store it and write down what is about to happen.

        Raises:
            OSError: if the disk refuses; the file must not be changed then.
        """
        ...


@frozen
class FileTools:
    """Writing and editing files; the docstrings of the tools are what the model reads."""

    workspace: Workspace
    gate: Judge
    keeper: Keeper
    written: MutableMapping[Path, str] = field(default_factory=dict)
    """SHA-256 of what was written, for whoever asks about what others write."""
    locks: FileLocks = field(default_factory=FileLocks)
    arriving: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def write_file(self, ctx: RunContext[Any], path: str, content: str) -> str | ToolDenied:
        """Write a whole file.

        Args:
            ctx: The run.
            path: Path relative to the workspace.
            content: All that it is to hold.
        """
        return await self._change(ctx, path, partial(plan_write, self.workspace, path, content))

    async def edit_file(
        self, ctx: RunContext[Any], path: str, old_text: str, new_text: str, every: bool = False
    ) -> str | ToolDenied:
        """Replace one piece of a file.

        Args:
            ctx: The run.
            path: Path relative to the workspace.
            old_text: The piece exactly as it stands there, and stands only once.
            new_text: What takes its place.
            every: Replace it wherever it stands.
        """
        plan = partial(plan_edit, self.workspace, path, old_text, new_text, every=every)
        return await self._change(ctx, path, plan)

    async def _change(
        self, ctx: RunContext[Any], path: str, plan: Callable[[], FileChange]
    ) -> str | ToolDenied:
        with told():
            # In the order of the calls: whoever comes later is asked about later, and must not hold the file.
            async with self.arriving:
                real: Path = await on_thread(lambda: self.workspace.writable(path))
            # Held while the user thinks: the next change of this file is planned on what comes of this one.
            async with self.locks.hold(real):
                # What the model is told of a change shows what the file held before.
                looking = Looking(self.workspace, self.gate)
                there = await on_thread(real.exists)
                if there and (declined := await looking.declined(ctx, path, tool=READ_FILE.name)):
                    return ToolDenied(declined)
                change = await on_thread(plan)
                seen = seen_files(ctx, self.workspace)
                await on_thread(lambda: seen.check(change))
                action = file_action(change, ctx.tool_name or "", ctx.tool_call_id or "", path)
                if declined := await self.gate(action):
                    return ToolDenied(declined)
                await on_thread(lambda: check_unchanged(self.workspace, change))
                await self.keeper.keep(change, ctx.tool_call_id or "")
                await on_thread(lambda: carry_out(self.workspace, change))
                await on_thread(lambda: seen.remember_change(change))
                self.written[change.path] = hashlib.sha256(change.after).hexdigest()
        shown = change.diff if change.before is not None else ""
        if len(shown) > _RESULT_DIFF:
            shown = f"{shown[:_RESULT_DIFF]}\n[the rest of the diff is left out]"
        return f"{change.shown}: {change.note}\n{shown}".rstrip()


def file_action(change: FileChange, tool: str, call: str, given: str) -> Action:
    """What a change of a file is asked about as: by its own name, and by the one that was given."""
    place = obeyed(change.shown)
    return Action(
        tool=tool,
        kind="file",
        subject=change.shown,
        detail=change.diff,
        note=change.note,
        guarded=f"always asked: programs obey {place}" if place else "",
        call=call,
        spelled=(given,) if given != change.shown and not PurePosixPath(given).is_absolute() else (),
    )


_NO_SANDBOX = (
    'The settings require a sandbox for commands (sandbox = "require"), and there is none for this one. {}.'
)


@frozen
class CommandTool:
    """Running commands in the workspace."""

    runner: ProcessRunner
    gate: Gate
    shown: Callable[[str, str], None]
    """Is handed what a command prints, behind the id of its call."""
    timeout_s: float = 120.0
    """Seconds a command may take when the model names none."""
    cut_short: MutableMapping[str, str] = field(default_factory=dict)
    """Where is noted, by the id of its call, what a command had printed that was stopped."""

    confinement: Callable[[], Confinement | None] = lambda: None
    """How commands are kept in, found out when the first one comes; None where that is switched off."""
    required: bool = False
    """Whether no command runs that cannot be kept in."""
    tasks: BackgroundTasks | None = None
    """Those that go on in the background; None where none may."""

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
        with told():
            if not command.strip() or "\0" in command or len(command) > LONGEST_COMMAND:
                raise ToolProblem(f"Give a command line of at most {LONGEST_COMMAND:,} characters.")
            limit = min(max(1.0, timeout_s or self.timeout_s), LONGEST_S)
            kept = await asyncio.to_thread(self.confinement)
            inside = kept if kept is not None and kept.is_kept_in and not outside else None
            if self.required and inside is None:
                raise ToolProblem(_NO_SANDBOX.format(INSTALL))
            leaves = outside and kept is not None and kept.is_kept_in
            where = "outside the sandbox" if leaves else "" if kept is None else kept.limits
            longer = f"at most {limit:g} s" if limit > self.timeout_s else ""
            longer = "in the background" if background else longer
            action = Action(
                tool=ctx.tool_name or RUN_COMMAND.name,
                kind="command",
                subject=command,
                note=", ".join(filter(None, (where, longer))),
                guarded="always asked: it leaves the sandbox" if leaves else "",
                call=call,
            )
            if declined := await self.gate(action):
                return ToolDenied(declined)
            inside = await asyncio.to_thread(inside.found) if inside is not None else None
            words = shell_words(command)
            wrapped = parented(words) if inside is None else await asyncio.to_thread(inside.words, words)
            if background and self.tasks is not None:
                task = await self.tasks.start(command, wrapped, call)
                if inside is not None:
                    # Its call is over when somebody asks about that.
                    by = "a background command"
                    made = self._made(inside, replace(action, call="", note=""), by)
                    self.tasks.made[task.id] = made
                left = f"Runs in the background as {task.id}. " if task.is_running else ""
                return f"{left}{await read_task(task)}"
            try:
                ended = await self.runner.run(wrapped, limit, lambda text: self.shown(call, text))
            except CommandStopped as stopped:
                gone = await on_thread(partial(take_away, inside)) if inside is not None else []
                self.cut_short[call] = "\n".join([stopped.printed, *gone])
                raise
            result = command_result(ended, limit)
            if inside is not None:
                result = "\n".join([result, *await self._made(inside, action, "the command").ask()])
            if inside is not None and ended.code and refused(ended.text):
                result = f"{result}\n[{inside.limits}; outside=true asks the user to run it without]"
            return result

    def _made(self, inside: Confinement, action: Action, by: str) -> MadePlaces:
        made = MadePlaces(gate=self.gate, inside=inside, command=action, by=by)
        if self.tasks is not None:
            made.answered, made.written = self.tasks.answered, self.tasks.written
        return made


def command_result(ended: Ended, limit_s: float = 0.0) -> str:
    """How a command ended, and what it printed."""
    if ended.timed_out:
        how = f"Timed out after {limit_s:g} s and was stopped, with everything it had started."
    elif ended.code is not None and ended.code < 0:
        how = f"Ended by signal {-ended.code} after {ended.duration_s:.1f} s."
    else:
        how = f"Exit code {ended.code} after {ended.duration_s:.1f} s."
    return f"{how}\n{ended.text}".rstrip("\n")


@contextmanager
def told() -> Iterator[None]:
    """Turn what a tool cannot do into what the model reads about it.

    Raises:
        ModelRetry: for what was wrong with the call, and for what the disk or the system refuses.
    """
    try:
        yield
    except ToolProblem as problem:
        raise ModelRetry(str(problem)) from problem
    except NotStarted as problem:
        raise ModelRetry(f"The command cannot be started: {problem}.") from problem
    except OSError as error:
        raise ModelRetry(f"That could not be done: {error.strerror or error}.") from error


async def on_thread(work: Callable[[], T]) -> T:
    """Run short blocking work off the loop; when cancelled it is waited for: a file is never half ours."""
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait([working])
        raise


# Background commands, as the model sees to them.

TASK_LINES, MOST_TASK_LINES = 200, 1_000


@frozen
class TaskTool:
    """Listing, reading and stopping background commands; they were asked about when they began."""

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
                rows.append(f"{each.words}: {each.command}")
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
    """Lines of a task for the model; it has read them then."""
    running = task.is_running
    begin = start or task.read + 1
    page = await asyncio.to_thread(task.output.page, begin, min(max(1, lines), MOST_TASK_LINES))
    task.told = task.told or not running
    head = f"{task.id} {task.how}, {task.age_s:.0f} s"
    if not page.lines:
        nothing = "No output there" if start else "No new output"
        return f"{head}. {nothing}, {count(page.total, 'line')} in all."
    first, last = page.lines[0][0], page.lines[-1][0]
    # A line that is not whole yet is read once more.
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


# The plan and the todo list of a session, which the model keeps for itself and every compaction carries.

MAX_NOTE_CHARS = 20_000
MAX_TODOS = 100
_SIGNS = {"pending": " ", "doing": "~", "done": "x"}


class Todo(BaseModel):
    """One thing to do."""

    text: str
    state: Literal["pending", "doing", "done"] = "pending"


@frozen
class NoteTools:
    """Nobody is asked before they change: they are files of the session and say nothing to the outside."""

    plan_file: Path
    todo_file: Path

    async def todo(self, items: list[Todo]) -> str:
        """Keep the todo list of this session, all of it each time.

        Args:
            items: In order.
        """
        with told():
            if len(items) > MAX_TODOS:
                raise ToolProblem(f"A todo list has at most {MAX_TODOS} items; merge some.")
            if not all(item.text.strip() for item in items):
                raise ToolProblem("Each item of a todo list needs a text.")
            text = "\n".join(f"- [{_SIGNS[item.state]}] {' '.join(item.text.split())}" for item in items)
            if len(text) > MAX_NOTE_CHARS:
                raise ToolProblem(f"A todo list has at most {MAX_NOTE_CHARS:,} characters; shorten it.")
            await on_thread(lambda: write_atomic(self.todo_file, f"{text}\n" if text else ""))
        return text or "The todo list is empty now."

    async def plan(self, text: str) -> str:
        """Keep the plan of this session, all of it each time.

        Args:
            text: Short Markdown.
        """
        with told():
            if len(text) > MAX_NOTE_CHARS:
                raise ToolProblem(f"A plan has at most {MAX_NOTE_CHARS:,} characters; shorten it.")
            kept = text.strip()
            await on_thread(lambda: write_atomic(self.plan_file, f"{kept}\n" if kept else ""))
        return "The plan is kept." if kept else "The plan is empty now."


# Asking the user, who answers in words or by choosing.

_QUESTION_CHARS, _CHOICE_CHARS = 1_000, 200
_CHOICES = range(2, 7)


class Asker(Protocol):
    """Puts a question to the user."""

    async def ask(self, question: str, choices: Sequence[str], call: str) -> str:
        """Wait for the answer.

        Returns:
            What the model reads of it, whatever came of the question.
        """
        ...


@frozen
class AskTool:
    """Nobody is asked before it runs: it is the question."""

    asker: Asker

    async def ask_user(self, ctx: RunContext[Any], question: str, choices: Sequence[str] = ()) -> str:
        """Ask the user what only they can decide; look things up yourself.

        Args:
            ctx: The run.
            question: One short question.
            choices: 2 to 6 answers to choose from; leave it out to ask for words.
        """
        with told():
            asked = question.strip()
            offered = [" ".join(choice.split()) for choice in choices]
            if not asked or len(asked) > _QUESTION_CHARS:
                raise ToolProblem(f"A question has 1 to {_QUESTION_CHARS:,} characters.")
            if offered and (len(offered) not in _CHOICES or len(set(offered)) < len(offered)):
                raise ToolProblem("Give 2 to 6 different choices, or none for a free answer.")
            if not all(0 < len(choice) <= _CHOICE_CHARS for choice in offered):
                raise ToolProblem(f"A choice has 1 to {_CHOICE_CHARS} characters.")
        return await self.asker.ask(asked, offered, ctx.tool_call_id or "")


# The tool that loads a skill.

_ABOUT = "Load the instructions of a skill by its name, as listed under skills, and follow them."


def skill_toolset(skills: Callable[[], Skills]) -> FunctionToolset[Any]:
    """Build the one tool; without skills there is none."""

    async def use(name: str) -> str:
        try:
            return await asyncio.to_thread(use_skill, skills, name)
        except Refused as refused:
            raise ModelRetry(f"{refused}.") from refused

    tools = [Tool(use, name=USE_SKILL.name, description=_ABOUT)] if skills().found else []
    return FunctionToolset(tools, max_retries=4)
