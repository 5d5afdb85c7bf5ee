"""Handover of a session to another process, and continuing one that was handed over."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic_ai.messages import ToolCallPart

from tui_app.agent.turn import open_calls
from tui_app.context.counting.attachments import PIPED
from tui_app.conversation.agents.subagents import SubAgents
from tui_app.conversation.approvals import Approvals
from tui_app.conversation.attachments import AttachedFile
from tui_app.conversation.turns.turns import Turns
from tui_app.conversation.work import GoOn, Prompt, Pursue, Shell, Work, asked_command
from tui_app.events import (
    ApprovalDecided,
    ApprovalRequested,
    BackgroundStep,
    LeftPrompt,
    QuestionAsked,
    QuestionClosed,
    Record,
    ServerAsked,
    SessionBackground,
    ToolCall,
    ToolResult,
)
from tui_app.session.background import newest_step, waiting_prompts
from tui_app.text import plain_line
from tui_app.tool_specs import AGENTS


@dataclass(slots=True)
class Background:
    """What one conversation hands over, and what was handed over to it. Use it on one event loop.

    Questions cannot be answered in a background process. One ends it as soon as nothing else of the step is
    running, and the process that continues asks it again.
    """

    turns: Turns
    approvals: Approvals
    agents: SubAgents
    is_inside: bool = False
    """Whether this process is the one in the background."""
    sends_held: bool = True
    """Whether it also sends work that was held back for the user; otherwise that stays held back."""
    is_shared: bool = False
    """Whether others may write the log. A command of the user found in it then waits for the user."""
    _held: tuple[Work, ...] = ()
    question: str = ""
    """The open question the turn was interrupted for; empty for none."""
    _asked: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Open questions by id, each with its call and text; a question of a server has no call."""

    def __post_init__(self) -> None:
        self.turns.keeps = lambda call: call in self._waiting or self.approvals.ahead.needs_approval(call)
        self.agents.moved = self._break_off_unattended

    @property
    def _waiting(self) -> set[str]:
        """Calls that wait for an answer, or for another call's answer."""
        return {call for call, _ in self._asked.values() if call} | self.approvals.ahead.arrived

    @property
    def step(self) -> Literal["left", "waiting"]:
        """The state in which the session is handed over."""
        return "waiting" if self.question else "left"

    def hand_over(self) -> None:
        """Stop at the next safe point and start nothing more."""
        self.turns.queue.is_left = True
        self.turns.leaving = True
        self.turns.steer()
        self.agents.changed.set()
        self._break_off()

    def cancel_detach(self) -> None:
        """Cancel the handover and continue here."""
        self.turns.queue.is_left = self.turns.leaving = self.approvals.is_left = False
        self.question = ""

    def track(self, record: Record) -> None:
        """Track open questions. In the background, stop when only they are left."""
        match record.data:
            case ApprovalRequested(id=id, tool_call_id=call, tool=tool, subject=subject):
                self._asked[id] = (call, plain_line(f"{tool} {subject}"))
            case QuestionAsked(id=id, tool_call_id=call, question=question, attended=True):
                self._asked[id] = (call, plain_line(question))
            case ServerAsked(id=id, message=message):
                self._asked[id] = ("", plain_line(message))
            case QuestionClosed(id=id) if not self.turns.leaving:
                self._asked.pop(id, None)
            case ApprovalDecided(tool_call_id=call) | ToolResult(tool_call_id=call):
                over = (call,) if open_calls(self.turns.history.newest()) else (call, "")
                self._asked = {id: each for id, each in self._asked.items() if each[0] not in over}
            case ToolCall(name=AGENTS.name):
                pass
            case _:
                return
        self._break_off_unattended()

    def _break_off_unattended(self) -> None:
        if self.is_inside or self.turns.leaving:
            self._break_off()

    def _break_off(self) -> None:
        """Interrupt the turn if everything open in its step, subagents included, waits for an answer."""
        waiting, still_open = self._waiting, open_calls(self.turns.history.newest())
        stuck = [found for call in still_open if (found := self._waited_for(call, waiting))]
        servers = sum(not call for call, _ in self._asked.values())
        if (stuck or servers) and len(still_open) <= len(stuck) + servers:
            calls = {"", *(each for found in stuck for each in found)}
            self.question = next((question for call, question in self._asked.values() if call in calls), "")
            self.turns.queue.is_left = self.approvals.is_left = True
            # Nothing of the turn or of its goal's check is running now, apart from what waits for an answer.
            self.turns.leaving = True
            self.turns.runner.cancel()
            if self.turns.goals is not None and self.turns.goals.cancel():
                self.turns.is_left = True

    def _waited_for(self, call: ToolCallPart, waiting: Collection[str]) -> Collection[str]:
        """The waiting calls that this call cannot end without; empty if it may end."""
        if call.tool_call_id in waiting:
            return {call.tool_call_id}
        begun = [each.open_calls for each in self.agents.awaited(call) if each.turns is not None]
        if not all(calls and calls <= set(waiting) for calls in begun):
            return ()
        return {each for calls in begun for each in calls}

    def write_down(self, step: BackgroundStep) -> None:
        """Log the state in which the session is left, with the work still to do."""
        # A goal about to be set writes its own event.
        is_left, waiting = self.turns.queue.is_left, self.turns.queue.held_work
        unsaid = (GoOn,) if is_left else (GoOn, Pursue)
        prompts = [_left(self._prompt(work)) for work in waiting if not isinstance(work, unsaid)]
        prompts += [replace(_left(self._prompt(work)), held=True) for work in self._held]
        turn = self.turns.is_left or any(isinstance(work, GoOn) for work in waiting)
        question = self.question if step == "waiting" else ""
        event = SessionBackground(step=step, question=question, turn=turn, prompts=tuple(prompts))
        self.turns.history.append(event)

    def take_up(self) -> bool:
        """Queue the work that was left. Returns whether a turn continues; stopped work waits for the user."""
        found = newest_step(self.turns.history.store, self.turns.history.session)
        if found is None or found[1].step == "attached":
            return False
        seq, left, is_newest = found
        is_stopped = not is_newest or left.step in ("failed", "stopped")
        work: list[Work] = []
        held: list[Work] = []
        for prompt in waiting_prompts(self.turns.history.store, self.turns.history.session, seq, left):
            each = _work(prompt)
            unsure = prompt.held or (self.is_shared and isinstance(each, Shell))
            (held if is_stopped or unsure else work).append(each)
        if turn := left.turn and is_newest:
            (held if is_stopped else work).insert(0, GoOn())
        if not self.sends_held:
            self._held = tuple(each for each in held if not isinstance(each, GoOn))
            held, turn = [], turn and not is_stopped
        if not self.is_inside:
            self.turns.queue.is_left = False
            again = tuple(_left(each) for each in (*work, *held) if isinstance(each, Prompt))
            self.turns.history.append(SessionBackground(step="attached", prompts=again))
        if work or held:
            self.turns.queue.restore(*work, *held, paused=bool(held))
        return turn

    def _prompt(self, work: Work) -> Prompt:
        if isinstance(work, Pursue) and self.turns.goals is not None:
            return self.turns.goals.set(work.goal)
        return work if isinstance(work, Prompt) else Prompt(work.label)


def _left(prompt: Prompt) -> LeftPrompt:
    texts = {each.path: each.text for each in prompt.brought if not each.picture}
    if prompt.piped:
        texts[PIPED] = prompt.piped
    return LeftPrompt(text=prompt.text, files=prompt.files, told=texts)


def _work(left: LeftPrompt) -> Prompt | Shell:
    command = asked_command(left.text) if not left.files and not left.told else None
    brought = tuple(AttachedFile(name, text) for name, text in left.told.items() if name != PIPED)
    return command or Prompt(left.text, left.files, left.told.get(PIPED, ""), brought=brought)
