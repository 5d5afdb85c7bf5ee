"""``plimsoll run``: one turn without a screen, printed as text or as JSON lines."""

import argparse
import asyncio
import contextlib
import math
import os
import sqlite3
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tui_app.cli.core.command import FAILED, OK, CommandFailed, Program, WrongUsage, place_of, read_goal
from tui_app.cli.core.failures import with_shell_wording
from tui_app.cli.core.output import print_json, say, tell
from tui_app.cli.core.signals import run_until_signal
from tui_app.cli.core.stdin import NO_PROMPT, named_files, read_piped, read_prompt
from tui_app.cli.sessions.background import FOREGROUND, Foreground, Outcome, leave_running, place_of_run
from tui_app.context.storage_errors import storage_error
from tui_app.context.tool_titles import call_title, result_note
from tui_app.conversation.requests.open_request import Opening
from tui_app.conversation.work import Prompt, Pursue
from tui_app.events import (
    AgentOutput,
    ApprovalDecided,
    AssistantDelta,
    AssistantMessage,
    CallRepeated,
    CompactionComplete,
    Error,
    GoalChecked,
    GoalEnded,
    GoalSet,
    GuardBroken,
    GuardSet,
    HookRan,
    MemoryPressure,
    ModeChange,
    Notice,
    Payload,
    QuestionAsked,
    Record,
    TaskEnded,
    ToolCall,
    ToolResult,
    ToolSwitch,
    TurnEnd,
    TurnRetry,
)
from tui_app.paths import from_home
from tui_app.providers import OFFLINE_MODEL
from tui_app.settings.tables import ApprovalRule, misnamed, parse_rule
from tui_app.system.project_files import Refused
from tui_app.text import count
from tui_app.ui.slash import find_commands, is_command, named, prompt_of, split_arguments
from tui_app.ui.slash_commands import reserved_names
from tui_app.ui.words.text import clean, one_line

if TYPE_CHECKING:
    from tui_app.agent.answer_schema import AnswerSchema
    from tui_app.conversation.assembly import OpenSession

_QUESTION_CELLS = 300
_PATH_CELLS = 200
"""Cells of a recorded path that are shown; it may be from a foreign file."""


MOST_ROUNDS = 3
"""How often the model continues with results of background subagents."""
GOES_ON = "Continue: what you sent to the background has ended."
NO_SHELL = "The prompt begins with ! and is sent as it is: plimsoll run does not run shell commands."


def execute(program: Program, args: argparse.Namespace) -> int:
    """Send a prompt, print what happens, and end when the turn does."""
    if args.background:
        return leave_running(program, args)
    place = place_of_run(args)
    answers = read_schema(args)
    goal = read_goal(args)
    argument, prompt = _argument(args, goal, place)
    piped = "" if argument == "-" else read_piped()
    flags = {"policy": args.policy, "mode": args.mode, "read_only": args.read_only}
    settings = program.settings(window=args.window, **flags)
    cwd, session = _place(program, args)
    paths, notice = (program.paths, "") if session else program.paths.writable()
    if notice:
        tell(notice)
    opening = replace(program, paths=paths).opening(settings, args, session)
    opening = replace(
        opening,
        cwd=cwd,
        allow=tuple(args.allow),
        yes=args.yes,
        answers=answers,
        guards=tuple(args.guard),
        tools=tuple(args.tool),
        # In the background, a question ends the run and waits for the user.
        attended=place.is_background and not args.yes,
        goes_on=place.is_background,
    )
    if prompt.startswith("!"):
        tell(NO_SHELL)
    if not args.agent:
        _name_unknown(args, settings.mcp)
    view = JsonView() if args.json else AnswerView(only_result=answers is not None)
    if argument != "-" and is_command(prompt):
        prompt = command_prompt(opening, prompt)
    message = Prompt(prompt, named_files(argument, prompt), piped)
    work = run_turn(
        opening, message, view, goal, drop_goal=args.goal == "off", waits=not args.no_wait, place=place
    )
    return run_until_signal(work)


def _argument(args: argparse.Namespace, goal: GoalSet | None, place: Foreground) -> tuple[str, str]:
    """Return the source of the prompt, and the prompt.

    Raises:
        WrongUsage: if there is none.
    """
    if place.goes_on:
        return "", ""
    given = args.prompt if goal is None else goal.text
    if given is None and (sys.stdin is None or sys.stdin.isatty()):
        raise WrongUsage(NO_PROMPT)
    argument = "-" if given is None else given
    return argument, read_prompt(argument)


def _name_unknown(args: argparse.Namespace, servers: Mapping[str, Any]) -> None:
    """Report tools in rules and switches that do not exist."""
    for rule in args.allow:
        if wrong := misnamed(parse_rule("allow", rule, "command line"), servers):
            tell(f"--allow {one_line(rule, 200)}: {wrong}")
    for name, _ in args.tool:
        if wrong := misnamed(ApprovalRule("deny", name), servers):
            tell(f"--tool {one_line(name, 200)}: {wrong}")


def command_prompt(opening: Opening, typed: str) -> str:
    """Return the prompt of a command defined in a file; other text is returned unchanged.

    Raises:
        WrongUsage: if the file cannot be used.
    """
    may_read, name = opening.may_read(), typed.split(maxsplit=1)[0]
    folder = opening.cwd if opening.trusted else None
    found = named(find_commands(folder, opening.paths.config, reserved_names(), may_read), typed)
    if found is None:
        if name[1:].lower() in reserved_names():
            tell(f"{name} is a command of the screen: the prompt is sent as it is.")
        elif not opening.trusted and named(
            find_commands(opening.cwd, opening.paths.config, reserved_names(), may_read), typed
        ):
            tell(f"{name} is a command of this folder, which is not trusted: the prompt is sent as it is.")
            tell("To use it: plimsoll trust, or --trust for this run.")
        return typed
    try:
        text = prompt_of(*found, may_read)
    except Refused as refused:
        raise WrongUsage(f"{name} cannot be used: {refused}.") from None
    if not text.strip():
        raise WrongUsage(f"{name} has no text: {found[0].file} is empty.")
    return text


async def served_prompt(opened: "OpenSession", prompt: Prompt) -> Prompt:
    """Return the prompt of an MCP server named as ``/SERVER:NAME``; other prompts are returned unchanged.

    Raises:
        CommandFailed: if the server does not provide it.
    """
    name, _, argument = prompt.text.partition(" ")
    servers = opened.extras.servers
    if not is_command(prompt.text) or name[1:].partition(":")[0] not in servers.defined:
        return prompt
    await servers.gather()
    offered = [each for status in servers.statuses() for each in status.prompts]
    found = next((each for each in offered if each.command == name[1:].lower()), None)
    if found is None:
        there = ", ".join(f"/{each.command}" for each in offered) or "none"
        raise CommandFailed(f"No server has a prompt {one_line(name, 80)}. There are: {there}.")
    try:
        text = await servers.prompt_text(found, split_arguments(argument))
    except Refused as refused:
        raise CommandFailed(f"{one_line(name, 80)} cannot be used: {refused}.") from None
    # A text from a server must not attach files of the user.
    return replace(prompt, text=text, files=())


def read_schema(args: argparse.Namespace) -> "AnswerSchema | None":
    """Read the schema for answers; None if there is none.

    Raises:
        WrongUsage: if it cannot be used.
    """
    if not args.schema:
        return None
    if args.agent:
        raise WrongUsage("--schema cannot be combined with --agent: your own agent defines its output.")
    from tui_app.agent.answer_schema import AnswerSchema, BadSchema

    name = one_line(args.schema, _PATH_CELLS)
    try:
        return AnswerSchema.from_text(from_home(args.schema).read_text(encoding="utf-8"))
    except BadSchema as error:
        raise WrongUsage(f"The schema {name} cannot be used: {one_line(str(error), 300)}.") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise WrongUsage(f"The schema {name} cannot be read: {why}.") from error


def _place(program: Program, args: argparse.Namespace) -> tuple[Path, str]:
    """Return the folder to work in, and the full id of the session to continue; empty for a new one."""
    cwd = program.folder(args.cwd)
    if not args.session:
        return place_of(program, cwd, args, ""), ""
    info = program.session(args.session)
    if args.cwd is not None and info.cwd:
        return cwd, info.id
    cwd = place_of(program, cwd, args, info.cwd)
    # Of a path it raises for a name that no disk can hold, or that may not be looked at.
    if args.cwd is None and not os.path.isdir(info.cwd or "."):  # noqa: PTH112
        folder = one_line(info.cwd, _PATH_CELLS)
        tell(f"The folder of this session, {folder}, does not exist. Working in {cwd}.")
    return cwd, info.id


class RecordView(Protocol):
    """Shows the events of a turn."""

    def show(self, record: Record) -> None:
        """Show one event."""


class JsonView:
    """Every stored event, notices, questions, retries and the turn's end, as JSON lines."""

    def show(self, record: Record) -> None:
        data = with_shell_wording(record.data)
        if data.STORED or isinstance(data, Notice | TurnEnd | TurnRetry | QuestionAsked):
            print_json(replace(record, data=data).to_json())
        if isinstance(data, Notice | MemoryPressure):
            tell(_stderr_text(data))


@dataclass(slots=True)
class AnswerView:
    """The answer on stdout while it is written; tools and problems on stderr."""

    only_result: bool = False
    """Whether stdout is for the structured result only, without the model's other text."""
    _streamed: bool = False
    _calls: dict[str, str] = field(default_factory=dict)
    """Titles of the tool calls without a result yet, by id."""

    def show(self, record: Record) -> None:
        match with_shell_wording(record.data):
            case AssistantDelta() | AssistantMessage() if self.only_result:
                pass
            case AssistantDelta(text=text) if text:
                self._streamed = True
                print(clean(text), end="", flush=True)
            case AssistantMessage(text=text):
                # A streamed answer is completed with a line break; any other is printed as a whole.
                if self._streamed or text:
                    say("" if self._streamed else text)
                self._streamed = False
            case AgentOutput(text=text):
                say(text)
            case ToolCall(tool_call_id=call, name=name, args=args):
                self._calls[call] = call_title(name, args)
            case ToolResult(tool_call_id=call, name=name, text=text, outcome=outcome):
                words = (self._calls.pop(call, name), result_note(name, text, outcome))
                tell(f"  {', '.join(filter(None, words))}")
            case other:
                if note := _stderr_text(other):
                    tell(note)


def _stderr_text(payload: Payload) -> str:
    """Return the line for stderr about an event that is no part of the answer; empty for most."""
    match payload:
        case CompactionComplete():
            return f"Compaction {payload.outcome}: {payload.headline()}"
        case Error():
            return f"{payload.message} {payload.hint}".strip()
        case ApprovalDecided(decision="denied"):
            can_be = payload.by == "unattended" and not payload.origin
            how = "; allow it with --allow or --yes" if can_be else ""
            return f"  {payload.headline()}{how}"
        case HookRan(outcome=outcome) if outcome != "ok":
            return f"  {payload.headline()}"
        case TurnRetry(attempt=attempt, attempts=attempts):
            pause = f"{math.ceil(payload.wait_s)} s"
            return f"{payload.reason} Trying again in {pause}, try {attempt} of {attempts}."
        case QuestionAsked(question=question):
            return f"  The model asks: {one_line(question, _QUESTION_CELLS)} There is no user to answer."
        case Notice():
            return payload.text
        case MemoryPressure() | TaskEnded() | GuardSet() | GuardBroken() | CallRepeated() | ToolSwitch():
            return payload.headline()
        case GoalSet() | GoalChecked() | GoalEnded():
            return payload.headline()
        case _:
            return ""


@dataclass(slots=True)
class Verdict:
    """The outcome of a turn, from its events."""

    done: bool = False
    troubled: bool = False
    missed: bool = False
    """Whether a goal was set and not reached."""
    advice: set[str] = field(default_factory=set)
    """Hints of all errors that were shown."""

    def note(self, record: Record) -> None:
        if isinstance(record.data, TurnEnd):
            self.done = record.data.outcome == "done"
        elif isinstance(record.data, GoalSet | GoalChecked | GoalEnded):
            self.missed = not (isinstance(record.data, GoalEnded) and record.data.outcome in ("met", "off"))
        elif isinstance(record.data, Error):
            self.troubled = True
            self.advice.add(record.data.hint)

    def has_reported(self, error: Exception) -> bool:
        """Return whether an error is a disk problem that was already reported."""
        trouble = storage_error(error)
        return trouble is not None and any(trouble.hint in hint for hint in self.advice)

    @property
    def code(self) -> int:
        return OK if self.done and not self.troubled and not self.missed else FAILED


async def run_turn(
    opening: Opening,
    prompt: Prompt,
    view: RecordView,
    goal: GoalSet | None = None,
    *,
    drop_goal: bool = False,
    waits: bool = True,
    place: Foreground = FOREGROUND,
) -> int:
    """Open a session, send one prompt, and close the session when no work is left.

    Cancelling stops the turn, shows its end, and closes the session.

    Args:
        opening: The session.
        prompt: The prompt.
        view: Shows what happens.
        goal: The goal to work for, instead of the prompt.
        drop_goal: End the session's present goal before.
        waits: Wait for background subagents, and let the model continue with their results.
        place: The actions around the turn, in the foreground or background.

    Returns:
        The exit code.

    Raises:
        SessionLocked: if another process writes the session.
        CommandFailed: if the model does not support structured output.
        BrokenPipeError: if the output is closed; the turn is stopped then.
    """
    # Imported here: loading the agent side takes a second.
    from tui_app.conversation.assembly import open_session

    opened = open_session(opening)
    opened.named = bool(opening.session) or isinstance(view, JsonView)
    verdict = Verdict()
    follower = Follower(opened, view, verdict)
    outcome: Outcome = "stopped"
    try:
        place.enter(opened)
        # A new session's first event was written before the listener was added.
        if not opening.session and (start := opened.store.record(opened.conversation.session, 1)):
            view.show(start)
        opened.bus.listen(follower.hear)
        await opened.prepare()
        follower.is_ready = True
        if follower.broken is not None:
            raise follower.broken
        if opening.answers is not None and opened.conversation.history.model == OFFLINE_MODEL:
            raise CommandFailed(
                "The built-in search cannot give structured output. Choose a model with --model."
            )
        if drop_goal:
            opened.goals.end("off")
        work = Pursue(goal) if goal is not None else await served_prompt(opened, prompt)
        place.begin(opened, work)
        follower.watch_pipe()
        await _settle(opened, verdict, waits=waits and goal is None and opening.answers is None)
        outcome = "done" if verdict.code == OK else "failed"
    finally:
        trouble: Exception | None = None
        try:
            await place.finish(opened, outcome)
            await opened.close()
        except (sqlite3.Error, OSError) as error:
            trouble = error
        place.release()
        trouble = follower.broken or trouble
        # A full disk that ended the turn also prevents the session's last event.
        if trouble is not None and not verdict.has_reported(trouble):
            raise trouble
    return verdict.code


async def _settle(opened: "OpenSession", verdict: Verdict, *, waits: bool) -> None:
    """Wait until no work is left. The model continues a few times with results of background subagents."""
    conversation = opened.conversation
    await conversation.settle()
    for _ in range(MOST_ROUNDS if waits else 0):
        is_over = not verdict.done or verdict.missed
        if not is_over and (working := len(conversation.agents.working)):
            tell(f"Waiting for {count(working, 'sub-agent')} in the background.")
        if is_over or not await conversation.agents.settle(lambda: opened.turns.queue.is_left):
            return
        conversation.submit(Prompt(GOES_ON))
        await conversation.settle()


_EARLY = Notice | ModeChange | GuardSet | ToolSwitch
"""Events shown while the session is prepared. The turn repeats an early error that matters."""


@dataclass(slots=True)
class Follower:
    """Shows events, and stops the turn when the output is closed."""

    opened: "OpenSession"
    view: RecordView
    verdict: Verdict
    is_ready: bool = False
    """Whether the session is prepared."""
    broken: Exception | None = None
    """Why nothing is shown any more."""

    def hear(self, record: Record) -> None:
        try:
            if self.broken is None and (self.is_ready or isinstance(record.data, _EARLY)):
                self.verdict.note(record)
                self.view.show(record)
        except Exception as error:  # the event bus must go on; the command fails at its end
            self.broken = error
        if isinstance(self.broken, BrokenPipeError):
            # Not while it is told: a turn that is just beginning could not be stopped yet.
            asyncio.get_running_loop().call_soon(self.opened.conversation.cancel)

    def watch_pipe(self) -> None:
        """Stop the turn as soon as a pipe is closed, also while there is nothing to write."""
        with contextlib.suppress(OSError, ValueError):
            if Path(f"/dev/fd/{sys.stdout.fileno()}").is_fifo():
                asyncio.get_running_loop().add_reader(sys.stdout.fileno(), self._closed)

    def _closed(self) -> None:
        asyncio.get_running_loop().remove_reader(sys.stdout.fileno())
        self.broken = self.broken or BrokenPipeError()
        self.opened.conversation.cancel()
