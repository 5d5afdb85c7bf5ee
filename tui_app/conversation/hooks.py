"""Hooks: the user's own commands that run when something happens in a session."""

import asyncio
import json
import logging
import subprocess
import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from time import monotonic
from typing import Any, TypeVar

from pydantic_ai import RunContext, ToolDenied, ToolReturn
from pydantic_ai.capabilities import AbstractCapability, WrapToolExecuteHandler, WrapToolValidateHandler
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.messages import ToolCallPart, ToolReturnPart
from pydantic_ai.tools import ToolDefinition
from pydantic_core import PydanticSerializationError, from_json, to_json

from tui_app.agent.tool_failures import NOT_RUN
from tui_app.context.compaction.guards import Veto
from tui_app.context.summaries.prompt import clip
from tui_app.context.user_text import BY_HOOK
from tui_app.conversation.threads import log_defect
from tui_app.environment import Secrets, masked
from tui_app.events import (
    ApprovalRequested,
    CompactionComplete,
    CompactionProposed,
    CompactionStart,
    HookName,
    HookOutcome,
    HookRan,
    Notice,
    Payload,
    Record,
    ServerAsked,
    SessionEnd,
    ToolCall,
    ToolResult,
    TurnEnd,
    UserMessage,
)
from tui_app.processes import Listener, NotStarted, Pipes, start_group
from tui_app.records import frozen
from tui_app.settings.tables import Hook
from tui_app.text import cut, plain_text
from tui_app.trust import NotTrusted, ProgramPlace

# What the end of a hook means: pure functions from how its process ended to the event and its effect.

_NOT_WELL = ("failed", "timeout", "missing")
VETO = 2
"""The exit code that says no."""
INSTRUCTIONS_CHARS = 4_000
"""Characters that all hooks together may add to what a summary is asked for."""
PROMPT_CHARS = 4_000
"""Characters that all hooks together may add to a prompt."""
OUTPUT_CHARS = 2_000
"""Characters of output that the event keeps."""
_REASON_CHARS = 300
_NAME_CHARS = 60


@frozen(kw_only=True)
class HookExit:
    """How a hook's process ended."""

    exit: int | None = None
    """Its exit code; None when it never started or had to be ended."""
    stdout: str = ""
    stderr: str = ""
    duration_s: float = 0.0
    limit_s: float = 0.0
    """Seconds after which it was to be ended."""
    timed_out: bool = False
    missing: str = ""
    """Why it could not be started."""
    cancelled: bool = False


@frozen
class Run:
    """One hook that ran: what is told of it, and what it said."""

    ran: HookRan
    said: str = ""
    """Its stdout when it ended well; the reason when it vetoed, or denies because it has not ended well."""

    @property
    def refuses(self) -> bool:
        """Whether what it ran before must not happen."""
        return self.ran.outcome == "vetoed" or self.ran.denies


def judge(hook: HookName, trigger: str, settings: Hook, ended: HookExit) -> Run:
    """Say what the end of a hook means."""
    out, err = plain_text(ended.stdout).strip(), plain_text(ended.stderr).strip()
    why = _one_line(err) or "it gave no reason"
    outcome, reason = _end(hook, trigger, ended, why)
    denies = settings.on_failure == "deny" and outcome in _NOT_WELL and may_veto(hook, trigger)
    ran = HookRan(
        hook=hook,
        command=name_of(settings),
        trigger=trigger,
        outcome=outcome,
        denies=denies,
        exit=ended.exit,
        duration_s=round(ended.duration_s, 3),
        reason=f"{reason}, which denies" if denies else reason,
        output=cut("\n".join(text for text in (out, err) if text), OUTPUT_CHARS),
    )
    return Run(ran, reason if denies else {"ok": out, "vetoed": why}.get(outcome, ""))


_VETOES: Mapping[str, str] = {
    "preTool": "declined {trigger}",
    "userPrompt": "refused the prompt",
    "stop": "makes the model continue",
    "preCompact": "vetoed the compaction",
}
"""What the veto of a hook means."""


def may_veto(hook: HookName, trigger: str) -> bool:
    """Whether a hook can stop what it runs before: a tool, or a compaction that need not be."""
    return hook in _VETOES and (hook != "preCompact" or trigger in ("background", "model"))


def _end(hook: HookName, trigger: str, ended: HookExit, why: str) -> tuple[HookOutcome, str]:
    """How a hook ended, and in words unless it ended well."""
    code = ended.exit or 0
    if ended.cancelled:
        return "cancelled", "was stopped"
    if ended.missing:
        return "missing", f"could not be started: {ended.missing}"
    if ended.timed_out:
        return "timeout", f"took longer than {ended.limit_s:g} s and was ended"
    if code == VETO and may_veto(hook, trigger):
        return "vetoed", f"{_VETOES[hook].format(trigger=trigger)}: {why}"
    if code == VETO and hook == "preCompact":
        kind = trigger.replace("_", " ")
        return "overruled", f"vetoed the compaction ({why}), but one that is {kind} cannot be vetoed"
    if not code:
        return "ok", ""
    end = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    return "failed", f"{end}: {why}" if ended.stderr.strip() else end


def before_compaction(runs: Sequence[Run]) -> str | Veto:
    for run in runs:
        if run.refuses:
            return Veto(f"{run.said.rstrip('.')} (preCompact hook {run.ran.command})")
    return cut("\n".join(run.said for run in runs if run.said), INSTRUCTIONS_CHARS)


def before_tool(runs: Sequence[Run]) -> str:
    """What the model is told instead of a result; empty when the tool may run."""
    declined = next((run for run in runs if run.refuses), None)
    if declined is None:
        return ""
    return f"{BY_HOOK}{declined.ran.command} declined this call: {declined.said}"


def changed_arguments(run: Run) -> dict[str, Any] | None:
    """The arguments that a preTool hook wants a tool to be called with; None where it leaves them alone.

    It prints a JSON object ``{"args": {…}}``; whatever else it prints is no wish.
    """
    if run.ran.outcome != "ok" or not run.said.startswith("{"):
        return None
    try:
        args = json.loads(run.said)["args"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return args if isinstance(args, dict) else None


def name_of(hook: Hook) -> str:
    """The program's name; arguments are left out, for they may hold anything."""
    if isinstance(hook.command, str):
        words = [word for word in hook.command.split() if "=" not in word]
        program = words[0] if words else "sh"
    else:
        program = hook.command[0]
    return _one_line(plain_text(PurePath(program).name))[:_NAME_CHARS] or "command"


def _one_line(text: str) -> str:
    return cut(" ".join(text.split()), _REASON_CHARS)


# What a hook reads on stdin: the event as ``plimsoll schema`` has it, with which hook it is and why.

RESULT_CHARS = 50_000
"""Characters of a tool's result that a hook is given; of a longer one head and tail."""


def stdin_of(hook: HookName, trigger: str, record: Record, keys: Iterable[str]) -> bytes:
    """One line of JSON.

    Args:
        hook: Which hook runs.
        trigger: What ``match`` is compared with.
        record: The event.
        keys: Secrets that must not be in it.
    """
    if isinstance(record.data, ToolResult):
        record = replace(record, data=replace(record.data, text=clip(record.data.text, RESULT_CHARS)))
    event = {"hook": hook, "trigger": trigger, **record.to_json()}
    # Escaped as ASCII: whatever the text holds, half surrogates too, is JSON that every program can read.
    return masked(json.dumps(event), (json.dumps(key)[1:-1] for key in keys)).encode("ascii") + b"\n"


# Running a hook's command: bounded in time and output, in a process group that leaves nobody behind.

OUTPUT_BYTES = 64 * 1024
"""Bytes kept of each of stdout and stderr; what comes after is read and dropped, so that nobody blocks."""


class _Output(Listener):
    """Collects what a process says."""

    def __init__(self) -> None:
        super().__init__()
        self.said = {1: bytearray(), 2: bytearray()}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what there is room for."""
        self.said[fd] += data[: OUTPUT_BYTES - len(self.said[fd])]

    def text(self, fd: int) -> str:
        """What was said, whatever the bytes are."""
        return self.said[fd].decode("utf-8", "replace")


@frozen
class Runner:
    """Runs commands where the user's own programs start."""

    place: ProgramPlace
    """With an environment that holds no keys."""

    async def run_command(self, hook: Hook, stdin: bytes, timeout_s: float) -> HookExit:
        """Run a command to its end; when cancelled, end it with all its children and return at once.

        Args:
            hook: What to run.
            stdin: What it is given to read.
            timeout_s: Seconds after which it is ended.
        """
        started = monotonic()
        timed_out = False
        try:
            words = ("/bin/sh", "-c", hook.command) if isinstance(hook.command, str) else hook.command
            pipes = Pipes(stdin=subprocess.PIPE)
            cwd, env = self.place.start_folder(hook.cwd), self.place.environment()
            group, cancelled = await start_group(_Output, words, cwd=cwd, env=env, pipes=pipes)
        except NotTrusted as error:
            return HookExit(missing=str(error))
        except NotStarted as error:
            return HookExit(missing=error.why, cancelled=error.cancelled)
        try:
            pipe = group.transport.get_pipe_transport(0)
            if isinstance(pipe, asyncio.WriteTransport):
                # As far as the process reads it.
                pipe.write(stdin)
                pipe.close()
            async with asyncio.timeout(0 if cancelled else timeout_s):
                await group.listener.exited.wait()
        except TimeoutError:
            timed_out = not cancelled
        except asyncio.CancelledError:
            # Whoever cancelled hears of it from the outcome: the event must still be written.
            cancelled = True
        finally:
            cancelled = await group.end() or cancelled
        return HookExit(
            exit=None if timed_out or cancelled else group.transport.get_returncode(),
            stdout=group.listener.text(1),
            stderr=group.listener.text(2),
            duration_s=monotonic() - started,
            limit_s=timeout_s,
            timed_out=timed_out,
            cancelled=cancelled,
        )


# The hooks of one conversation: which of them run when, and what they may change.

END_S = 1.5
"""Seconds that hooks have at the end of a session, all together: nobody who leaves waits any longer."""
T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Hooks:
    """Runs hooks on the conversation's loop; every one that ran is an event."""

    defined: Mapping[str, Sequence[Hook]]
    runner: Runner
    keys: Collection[str]
    """Secrets that no hook is told."""
    session: str
    resumed: bool
    """Whether the session was there before it was opened."""
    report: Callable[[Payload], object]
    _tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    _waited: set[str] = field(default_factory=set)
    """Ids of the questions that hooks were told of."""
    _started: bool = False
    _stopped: bool = False

    async def run_hooks(self, hook: HookName, trigger: str, event: Payload | Record) -> list[Run]:
        """Run the hooks that are meant for this, one after the other, up to the first veto.

        Cancelling this ends the command that runs, with its children; ``settle`` waits for that.
        """
        runs: list[Run] = []
        for settings in self._meant(hook, trigger):
            run = await self._one(hook, trigger, event, settings, settings.timeout_s)
            runs.append(run)
            if run.refuses:
                break
        return runs

    async def before_prompt(self, text: str, files: Sequence[str]) -> tuple[str, str]:
        """What hooks add to a prompt, and why it must not be sent; each empty for nothing."""
        runs = await self.run_hooks("userPrompt", "", UserMessage(text=text, attachments=tuple(files)))
        for run in runs:
            if run.refuses:
                why = run.said.rstrip(".")
                return "", f"The userPrompt hook {run.ran.command} refused the prompt: {why}."
        return cut("\n".join(run.said for run in runs if run.said), PROMPT_CHARS), ""

    async def before_stop(self, end: TurnEnd) -> str:
        """What the model is told when a hook wants it to go on; empty where the turn may end."""
        runs = await self.run_hooks("stop", "", end)
        return next((run.said for run in runs if run.refuses), "")

    def notify_waiting(self, trigger: str, event: Payload | Record) -> None:
        """Something waits for the user."""
        self._begin("waiting", trigger, event)

    async def before_compaction(self, start: CompactionStart) -> str | Veto:
        return before_compaction(await self.run_hooks("preCompact", start.trigger, start))

    def on_record(self, record: Record) -> None:
        match record.data:
            case CompactionComplete(trigger=trigger):
                self._begin("postCompact", trigger, record)
            case TurnEnd(outcome=outcome):
                self._begin("turnEnd", outcome, record)
            case ApprovalRequested(id=id) | ServerAsked(id=id) if id not in self._waited:
                # It is said again when more calls wait.
                self._waited.add(id)
                self.notify_waiting(
                    "approval" if isinstance(record.data, ApprovalRequested) else "question", record
                )
            case CompactionProposed():
                self.notify_waiting("review", record)

    def started(self, start: Record) -> None:
        """Run what the user wants when a session is opened; ``start`` is the first event of its log."""
        if not self._started:
            self._started = True
            self._begin("sessionStart", "resume" if self.resumed else "new", start)

    async def settle(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)

    def stop(self) -> None:
        """Begin no hook by itself any more."""
        self._stopped = True

    async def end(self) -> None:
        """End what still runs, and give the hooks of the session's end their time, all of them at once."""
        self._stopped = True
        for task in self._tasks:
            _cancel(task)
        await self.settle()
        ends = (
            self._one("sessionEnd", "", SessionEnd(), hook, min(hook.timeout_s, END_S))
            for hook in self._meant("sessionEnd", "")
        )
        await asyncio.gather(*ends)

    def _meant(self, hook: HookName, trigger: str) -> list[Hook]:
        return [settings for settings in self.defined.get(hook, ()) if settings.fits(trigger)]

    def _begin(self, hook: HookName, trigger: str, event: Payload | Record) -> None:
        if not self._stopped and self._meant(hook, trigger):
            self._track(self.run_hooks(hook, trigger, event)).add_done_callback(
                log_defect(_log, "running a hook failed")
            )

    async def _one(
        self, hook: HookName, trigger: str, event: Payload | Record, settings: Hook, timeout_s: float
    ) -> Run:
        """Run one command, in a task that is known here: whoever waits for it may be cancelled any time."""
        if not isinstance(event, Record):
            event = Record(seq=0, time=time.time(), session=self.session, data=event)
        stdin = stdin_of(hook, trigger, event, self.keys)

        async def reported() -> Run:
            run = judge(hook, trigger, settings, await self.runner.run_command(settings, stdin, timeout_s))
            self.report(run.ran)
            if run.ran.outcome == "cancelled":
                raise asyncio.CancelledError
            return run

        task = self._track(reported())
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            _cancel(task)
            raise

    def _track(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work, name="hook")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _cancel(task: "asyncio.Task[Any]") -> None:
    """Cancel a task once, however often whoever waits for it is: it must see its process end."""
    if not task.cancelling():
        task.cancel()


# Hooks around tools, as a capability of the agent: they may decline a call, and hear of each result.


class ChangedArguments(dict[str, Any]):
    """Arguments that a hook has put in place of the model's: who asks about the call must ask about these."""

    def __init__(self, args: Mapping[str, Any], *, said: Mapping[str, Any]) -> None:
        super().__init__(args)
        self.said = dict(said)
        """As the hook wrote them."""


class ToolHooks(AbstractCapability[Any]):
    """Runs a conversation's preTool and postTool hooks around every tool."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._validators: dict[str, WrapToolValidateHandler] = {}
        """By the id of a call, what checks arguments of its tool."""

    async def wrap_tool_validate(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: str | dict[str, Any],
        handler: WrapToolValidateHandler,
    ) -> dict[str, Any]:
        """Keep what checks arguments: a hook may change them."""
        validated = await handler(args)
        self._validators[call.tool_call_id] = handler
        return validated

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Ask before a tool runs, and tell what came of it; the model goes on when both are done."""
        asked = ToolCall(tool_call_id=call.tool_call_id, name=call.tool_name, args=call.args_as_json_str())
        validate = self._validators.pop(call.tool_call_id, None)
        runs = await self._hooks.run_hooks("preTool", call.tool_name, asked)
        if declined := before_tool(runs):
            return ToolDenied(declined)
        for run in runs:
            if validate is None or (changed := changed_arguments(run)) is None:
                continue
            try:
                args = ChangedArguments(await validate(changed), said=changed)
            except Exception as error:  # whatever a validation raises: the model did not write these
                why = _one_line(plain_text(str(error)))
                told = f"{BY_HOOK}{run.ran.command} changed its arguments into what the "
                return ToolDenied(f"{told}tool does not take: {why}")
            self._hooks.report(
                Notice(
                    text=f"preTool hook {run.ran.command} changed the arguments of {call.tool_name}: "
                    f"{cut(plain_text(json.dumps(changed, ensure_ascii=False)), OUTPUT_CHARS)}"
                )
            )
        started = monotonic()
        try:
            result = await handler(args)
        except NOT_RUN:
            raise
        except Exception as error:
            # A tool's own error and its wish to be called again alike: the model sees this text.
            await self._tell(call, ToolReturnPart(call.tool_name, str(error), outcome="failed"), started)
            raise
        if not isinstance(result, ToolDenied):
            value = result.return_value if isinstance(result, ToolReturn) else result
            await self._tell(call, ToolReturnPart(call.tool_name, value), started)
        return result

    async def _tell(self, call: ToolCallPart, part: ToolReturnPart, started: float) -> None:
        told = ToolResult(
            tool_call_id=call.tool_call_id,
            name=call.tool_name,
            text=part.model_response_str(wrap_if_error=False),
            outcome="success" if part.outcome == "success" else "error",
            duration_s=round(monotonic() - started, 3),
        )
        await self._hooks.run_hooks("postTool", call.tool_name, told)


class MaskedResults(AbstractCapability[Any]):
    """Takes the program's keys and withheld variables out of what tools return, before anybody else has it.

    Everything that keeps, shows, exports or sends a result comes behind this.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        """Mask a result, or what a tool raises."""
        try:
            result = await handler(args)
        except NOT_RUN:
            raise
        except Exception as error:
            # The same one goes on: whoever handles it asks whether it was the tool's.
            error.args = self._secrets.masked(error.args)
            if isinstance(error, ModelRetry):
                error.message = self._secrets.masked(error.message)
            raise
        if isinstance(result, ToolReturn):
            value, content = self._masked(result.return_value), self._secrets.masked(result.content)
            return replace(result, return_value=value, content=content)
        return self._masked(result)

    def _masked(self, value: Any) -> Any:
        if value is None or isinstance(value, str | dict | list | tuple | bytes | ToolDenied):
            return self._secrets.masked(value)
        try:
            text = to_json(value).decode()
        except (PydanticSerializationError, ValueError):
            return value
        # As the model would read it; what holds no secret stays what it is.
        return self._secrets.masked(from_json(text)) if masked(text, self._secrets) != text else value
