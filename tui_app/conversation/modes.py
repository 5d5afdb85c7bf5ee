"""The mode of a conversation: changing it, telling the model, and turning a plan into work."""

from dataclasses import dataclass
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import ModelRequestContext

from tui_app.context.attempts import OutermostCapability
from tui_app.context.message_marks import mode_text, mode_told
from tui_app.conversation.approvals import Approvals
from tui_app.conversation.session_history import SessionHistory
from tui_app.events import ModeChange, ModeTold, Notice
from tui_app.modes import Mode
from tui_app.providers import SEARCHING
from tui_app.tool_specs import PLAN

ACCEPTED = "The plan is accepted. Carry it out now, step by step, and keep the todo list up to date."
"""The prompt that turns a plan into work."""
NOT_PLANNING = "There is no plan to accept: the session is in {} mode. /mode plan asks the model for one."
NO_PLAN = f"There is no plan yet: the model has not kept one with its tool {PLAN.name}. Ask it for one."


@dataclass(slots=True)
class ModeSwitch:
    """Changes the mode of one conversation at once, also in the middle of a turn; the log remembers it."""

    history: SessionHistory
    approvals: Approvals

    @property
    def current(self) -> Mode:
        return self.approvals.mode

    def change(self, mode: Mode) -> None:
        if mode == (old := self.current):
            self.history.append(Notice(text=f"The mode is already {mode}.", passing=True))
            return
        self.history.report(ModeChange(old=old, new=mode))
        self.approvals.change_mode(mode)

    def accept(self, mode: Mode) -> str:
        """Leave plan mode for another one, if there is a plan.

        Returns:
            The prompt that begins the work; empty where there is nothing to accept, which is reported.
        """
        folder = self.history.archive.folder
        if self.current != "plan":
            self.history.append(Notice(text=NOT_PLANNING.format(self.current), passing=True))
        elif not folder.read_note(folder.plan_file).strip():
            self.history.append(Notice(text=NO_PLAN, passing=True))
        else:
            self.change(mode)
            return ACCEPTED
        return ""


class ModeNotes(OutermostCapability):
    """Tells the model of the mode, in one line behind the newest message, where it knows of another one.

    What it knows is read off the view, so it is told again once a compaction has taken the line along.
    """

    def __init__(self, history: SessionHistory, approvals: Approvals) -> None:
        self._history, self._approvals = history, approvals

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        # The built-in search takes whatever is last for what it is asked.
        if request_context.model.system in SEARCHING:
            return request_context
        history, mode = self._history, self._approvals.mode
        known = (told for item in reversed(history.items()) if (told := mode_told(item.message)))
        if mode != next(known, "ask"):
            text = mode_text(mode)
            message = ModelRequest(parts=[UserPromptPart(text)])
            tokens = history.counter.message(message).nonzero()
            history.append(ModeTold(text=text, mode=mode, tokens=tokens), message)
        return request_context
