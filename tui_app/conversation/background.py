"""Leaving a session for another process to go on with, and taking up what was left."""

from dataclasses import dataclass, field, replace
from typing import Literal

from tui_app.agent.turn import open_calls
from tui_app.context.counting.attachments import PIPED
from tui_app.conversation.approvals import Approvals
from tui_app.conversation.attachments import AttachedFile
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.turns import Turns
from tui_app.conversation.work import GoOn, Prompt, Pursue, Shell, Work, WorkQueue, asked_command
from tui_app.events import (
    ApprovalDecided,
    ApprovalRequested,
    BackgroundStep,
    LeftPrompt,
    QuestionAsked,
    Record,
    ServerAsked,
    SessionBackground,
    ToolResult,
)
from tui_app.session.background import newest_step, prompts_left
from tui_app.text import words_of


@dataclass(slots=True, kw_only=True)
class Background:
    """What one conversation leaves, and what was left in it. Belongs to one event loop.

    Nobody answers a process in the background: a question ends it once nothing else of the step runs, and is
    asked again by the process that goes on.
    """

    history: SessionHistory
    queue: WorkQueue
    turns: Turns
    approvals: Approvals
    is_inside: bool = False
    """Whether this process is the one in the background."""
    sends_held: bool = True
    """Whether it sends also what waits for the user; else that is left as it is."""
    _held: tuple[Work, ...] = ()
    _asked: dict[str, str] = field(default_factory=dict)
    """What waits for an answer, by the id of its call."""
    _behind: int = 0
    """Calls that wait behind the one that is asked about."""

    def __post_init__(self) -> None:
        self.turns.keeps = lambda call: call in self._asked or self.approvals.ahead.holds(call)

    @property
    def question(self) -> str:
        """What waits for an answer; empty for nothing."""
        return next(iter(self._asked.values()), "")

    @property
    def step(self) -> Literal["left", "waiting"]:
        """How it is left."""
        return "waiting" if self.question else "left"

    def hand_over(self) -> None:
        """Let what is under way come to the next safe point; nothing more is begun."""
        self.queue.is_left = True
        self.turns.hand_over()
        self._break_off()

    def stay(self) -> None:
        """Go on here after all."""
        self.queue.is_left = self.turns.leaving = self.approvals.is_left = False

    def track(self, record: Record) -> None:
        """Follow what is asked; leave where nobody will answer."""
        match record.data:
            case ApprovalRequested(tool_call_id=call, tool=tool, subject=subject):
                self._behind = record.data.waiting
                self._asked[call] = words_of(f"{tool} {subject}")
            case QuestionAsked(tool_call_id=call, question=question, attended=True):
                self._asked[call] = words_of(question)
            case ServerAsked(id=call, message=message):
                self._asked[call] = words_of(message)
            case ApprovalDecided(tool_call_id=call) | ToolResult(tool_call_id=call):
                self._asked.pop(call, None)
                if not open_calls(self.history.newest()):
                    self._asked.clear()
            case _:
                return
        if self.is_inside or self.turns.leaving:
            self._break_off()

    def _break_off(self) -> None:
        """Leave the turn if all that is open of its step waits for an answer."""
        if self._asked and len(open_calls(self.history.newest())) <= len(self._asked) + self._behind:
            self.queue.is_left = self.approvals.is_left = True
            self.turns.break_off()

    def write_down(self, step: BackgroundStep) -> None:
        """Say in the log how the session is left, with what is still to be done."""
        # A goal that is about to be set says so itself.
        is_left, waiting = self.queue.is_left, self.queue.held_back
        unsaid = (GoOn,) if is_left else (GoOn, Pursue)
        prompts = [_left(self._prompt(work)) for work in waiting if not isinstance(work, unsaid)]
        prompts += [replace(_left(self._prompt(work)), held=True) for work in self._held]
        self.history.append(
            SessionBackground(
                step=step,
                question=self.question if step == "waiting" else "",
                turn=self.turns.is_left or any(isinstance(work, GoOn) for work in waiting),
                prompts=tuple(prompts),
            )
        )

    def take_up(self) -> bool:
        """Put what was left in the queue; whether a turn goes on. What was stopped waits for the user."""
        found = newest_step(self.history.store, self.history.session)
        if found is None or found[1].step == "attached":
            return False
        seq, left, is_newest = found
        is_stopped = not is_newest or left.step in ("failed", "stopped")
        work: list[Work] = []
        held: list[Work] = []
        for prompt in prompts_left(self.history.store, self.history.session, seq, left):
            (held if is_stopped or prompt.held else work).append(_work(prompt))
        if turn := left.turn and is_newest:
            (held if is_stopped else work).insert(0, GoOn())
        if not self.sends_held:
            self._held = tuple(each for each in held if not isinstance(each, GoOn))
            held, turn = [], turn and not is_stopped
        if not self.is_inside:
            self.queue.is_left = False
            again = tuple(_left(each) for each in (*work, *held) if isinstance(each, Prompt))
            self.history.append(SessionBackground(step="attached", prompts=again))
        if work or held:
            self.queue.restore(*work, *held, paused=bool(held))
        return turn

    def _prompt(self, work: Work) -> Prompt:
        if isinstance(work, Pursue) and self.turns.goals is not None:
            return self.turns.goals.set(work.goal)
        return work if isinstance(work, Prompt) else Prompt(work.label)


def _left(prompt: Prompt) -> LeftPrompt:
    told = {each.path: each.text for each in prompt.brought if not each.picture}
    if prompt.piped:
        told[PIPED] = prompt.piped
    return LeftPrompt(text=prompt.text, files=prompt.files, told=told)


def _work(left: LeftPrompt) -> Prompt | Shell:
    command = asked_command(left.text) if not left.files and not left.told else None
    brought = tuple(AttachedFile(name, text) for name, text in left.told.items() if name != PIPED)
    return command or Prompt(left.text, left.files, left.told.get(PIPED, ""), brought=brought)
