"""Goals: after each turn the goal is checked, and the model continues until it is reached."""

import math
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from pydantic_ai import Tool, ToolDefinition
from pydantic_ai.toolsets import FunctionToolset

from tui_app.agent.tools.command_tool import CommandTool, run_check
from tui_app.agent.tools.commands import Ended
from tui_app.context.compaction.plan import Addition
from tui_app.conversation.attachments import CHECKED, GOAL, AttachedFile
from tui_app.conversation.consent.guards import guards_in
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.stoppable_step import StoppableStep, Stopped
from tui_app.conversation.work import Prompt
from tui_app.events import GoalChecked, GoalEnded, GoalOutcome, GoalSet, GuardSet, Notice
from tui_app.session.measurement import Goal
from tui_app.session.model_state import active_goal
from tui_app.session.stores.store import SessionStore
from tui_app.settings.rules import Refused, show
from tui_app.system.processes import NotStarted
from tui_app.tool_specs import END_GOAL

USAGE = 'TEXT --check "COMMAND" (or --count N), and --turns N, --tokens N, --money X'
MOST_TURNS = 20
"""Maximum turns of a goal without its own budget."""
_SHOWN = 4_000
"""Characters of a check's output, from its end, that are logged and shown to the model."""
_NUMBERS: Mapping[str, Callable[[str | int], float]] = {
    "turns": int,
    "tokens": int,
    "count": int,
    "money": float,
}
_OPTIONS = re.compile(r"\s--(?=(?:check|count|turns|tokens|money)\s)")


def parse_goal(text: str) -> GoalSet:
    """Parse a goal: its words, followed by options. Raises ``Refused``."""
    goal, options = text, dict[str, str]()
    if (first := _OPTIONS.search(text)) is not None:
        goal = text[: first.start()]
        try:
            words = shlex.split(text[first.start() :])
        except ValueError:
            raise Refused(show(text), USAGE) from None
        if len(words) % 2 or not all(word.startswith("--") for word in words[::2]):
            raise Refused(show(text), USAGE)
        names = (word.removeprefix("--") for word in words[::2])
        options = dict(zip(names, words[1::2], strict=True))
    return make_goal(goal, options)


def make_goal(text: str, options: Mapping[str, str]) -> GoalSet:
    """A goal from words and options by name; it needs a check or a count. Raises ``Refused``."""
    numbers = {name: _number(name, options.get(name, "")) for name in _NUMBERS}
    turns, tokens, steps = (int(numbers[name]) for name in ("turns", "tokens", "count"))
    check = options.get("check", "").strip()
    if unknown := next((name for name in options if name not in ("check", *_NUMBERS)), ""):
        raise Refused(f"--{unknown}", ", ".join(f"--{name}" for name in ("check", *_NUMBERS)))
    if not text.strip() or bool(check) == bool(steps):
        raise Refused(show(text), USAGE)
    # Without a price, a model would never use up a money budget, so turns are limited too.
    turns = turns if turns or tokens else max(steps, MOST_TURNS)
    words, usd = text.strip(), numbers["money"]
    return GoalSet(text=words, check=check, count=steps, most_turns=turns, most_tokens=tokens, most_usd=usd)


def _number(name: str, text: str) -> float:
    """The value of an option; 0 if it is missing."""
    try:
        value = _NUMBERS[name](text or 0)
    except ValueError:
        value = -1
    if text and not 0 < value < math.inf:
        raise Refused(f"--{name} {text}", "a number above 0")
    return value


def refusal(refused: Refused, command: str) -> str:
    """What is wrong with a goal, for the user who typed the command."""
    if refused.allowed == USAGE:
        return f"A goal needs a check that code can run: {command} {USAGE}."
    return f"{refused.shown} is not possible. Allowed: {refused.allowed}."


def goal_additions(store: SessionStore, session: str) -> Iterable[Addition]:
    """The goal, as every compaction and handoff keeps it."""
    if (goal := active_goal(store, session)) is not None:
        text = f"{goal.data.text}\nReached {goal.data.condition}; {goal.turns} turns taken so far."
        yield Addition("Goal", text)


def in_force(store: SessionStore, session: str) -> list[GuardSet | GoalSet]:
    """The guards and the goal of a session, for a session it is handed over to."""
    active = guards_in(store, session).values()
    goal = active_goal(store, session)
    guards = [replace(each, session=each.session or session) for each in active]
    return [*guards, *([goal.data] if goal is not None else [])]


@dataclass(slots=True)
class Goals:
    """Sets, checks and ends the goal of one conversation. Not thread-safe: use it on one event loop."""

    history: SessionHistory
    command: CommandTool | None
    """Runs the check under the rules, approvals and sandbox of commands; None in read-only mode."""
    is_copy: bool = False
    """Whether the goal belongs to another session, so that this fork cannot end it."""
    _checking: StoppableStep = field(default_factory=StoppableStep, init=False)

    @property
    def active(self) -> Goal | None:
        return active_goal(self.history.store, self.history.session)

    def set(self, goal: GoalSet) -> Prompt:
        """Set a goal, replacing any other. Returns the prompt that starts it."""
        self.history.report(goal)
        how = f"This is a goal: after each turn it is checked, and it is reached {goal.condition}."
        # The program's text is kept apart from the user's words, which become rules and memories.
        note = f"{how} If it cannot be reached, call `{END_GOAL.name}` with the reason."
        return Prompt(goal.text, brought=(AttachedFile(GOAL, note),))

    def end(self, outcome: GoalOutcome, reason: str = "") -> bool:
        """End the goal. Returns whether there was one."""
        if (goal := self.active) is not None:
            self.cancel()
            self.history.report(GoalEnded(goal=goal.seq, outcome=outcome, reason=reason))
        return goal is not None

    def cancel(self) -> bool:
        """Stop the running check. Returns whether there was one."""
        return self._checking.interrupt()

    async def next_prompt(self) -> Prompt | None:
        """Check the goal after a turn. Returns the prompt to continue with; None if there is none."""
        if (goal := self.active) is None:
            return None
        turn, data = goal.turns + 1, goal.data
        if not data.check:
            is_met = turn >= data.count
            checked, note = GoalChecked(goal=goal.seq, turn=turn, held=is_met), ""
        else:
            ended = await self._check(data.check)
            if ended is None or self.active is None:
                return None
            if isinstance(ended, str):
                self.end("not checked", ended)
                return None
            is_met, text = ended.code == 0 and not ended.timed_out, ended.text[-_SHOWN:]
            checked = GoalChecked(goal=goal.seq, turn=turn, held=is_met, exit_code=ended.code, text=text)
            how = "timed out" if ended.timed_out else f"exits with {ended.code}"
            note = f"The goal is not reached yet: `{data.check}` {how}.\n{text}".rstrip()
        self.history.report(checked)
        outcome = "met" if checked.held else self._used_up(goal.seq, data, turn)
        if outcome:
            self.end(outcome)
            return None
        return Prompt("Continue.", brought=(AttachedFile(CHECKED, note),) if note else ())

    async def _check(self, command: str) -> Ended | str | None:
        """The result of the check, or why it could not run; None if the user stopped it."""
        if self.command is None:
            return "no command may run in read-only mode"
        self.history.report(Notice(text=f"Checking the goal: {command}", passing=True))
        try:
            return await self._checking.wait_for(run_check(self.command, command))
        except Stopped:
            return None
        except (NotStarted, OSError, ValueError) as error:
            return f"the check cannot be started: {error}"

    def _used_up(self, since: int, goal: GoalSet, turn: int) -> GoalOutcome | None:
        """The budget of the goal that is used up, if any."""
        if goal.most_turns and turn >= goal.most_turns:
            return "turns"
        if not (goal.most_tokens or goal.most_usd):
            return None
        paid = [each for _, _, each in self.history.store.figures(self.history.session, since)]
        tokens = sum((each["input_tokens"] or 0) + (each["output_tokens"] or 0) for each in paid)
        if goal.most_tokens and tokens >= goal.most_tokens:
            return "tokens"
        # A request of unknown price may have cost anything.
        unknown = any(each["input_tokens"] and each["cost_usd"] is None for each in paid)
        spent = sum(each["cost_usd"] or 0.0 for each in paid)
        return "money" if goal.most_usd and (unknown or spent >= goal.most_usd) else None

    async def end_goal(self, reason: str) -> str:
        """Say that the goal of this session cannot be reached, and end it.

        Args:
            reason: Why not; the user reads it.
        """
        if self.is_copy:
            return "Not ended: the goal is that of the assistant that sent you. Say in your answer why not."
        return "The goal is ended." if self.end("given up", " ".join(reason.split())) else "There is no goal."


class GoalTools(FunctionToolset[None]):
    """Offers the model a tool to give up the goal, while there is one."""

    def __init__(self, goals: Goals) -> None:
        async def prepared(_ctx: object, tool: ToolDefinition) -> ToolDefinition | None:
            return tool if goals.active is not None else None

        super().__init__([Tool(goals.end_goal, prepare=prepared)], docstring_format="google")
