"""The mode of a conversation: how it changes, what the model is told, how a plan becomes work."""

from dataclasses import dataclass

from pydantic_ai.models import ModelRequestContext

from tui_app.context.message_marks import mode_text, noted_mode
from tui_app.conversation.approvals import Approvals
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.events import ModeChange, ModeTold
from tui_app.modes import Mode
from tui_app.providers import SEARCHING
from tui_app.tool_specs import PLAN

ACCEPTED = "The plan is accepted. Carry it out now, step by step, and keep the todo list up to date."
"""The prompt that starts work on a plan."""

NO_PLAN = f"There is no plan yet: the model has not kept one with its tool {PLAN.name}. Ask it for one."
NOT_PLANNING = "There is no plan to accept: the session is in {} mode. /mode plan asks the model for one."


@dataclass(slots=True)
class ModeSwitch:
    """Changes the mode of one conversation at once, even during a turn, and logs it."""

    history: SessionHistory
    approvals: Approvals

    @property
    def current(self) -> Mode:
        return self.approvals.mode

    def change(self, mode: Mode) -> None:
        if mode == (old := self.current):
            self.history.refuse(f"The mode is already {mode}.")
            return
        self.history.report(ModeChange(old=old, new=mode))
        self.approvals.change_mode(mode)

    def accept(self, mode: Mode) -> str:
        """Leave plan mode for another one, if there is a plan.

        Returns:
            The prompt that starts the work; empty, with a notice, if there is nothing to accept.
        """
        folder = self.history.archive.folder
        if self.current != "plan":
            self.history.refuse(NOT_PLANNING.format(self.current))
        elif not folder.read_note(folder.plan_file).strip():
            self.history.refuse(NO_PLAN)
        else:
            self.change(mode)
            return ACCEPTED
        return ""

    async def add_mode_note(self, request: ModelRequestContext) -> None:
        """Tell the model of the mode, in one line after the newest message, where it knows of another one.

        Without such a line, the model assumes ``ask``. It is told again after a compaction has removed the
        line.
        """
        # The built-in search takes the last message for the question.
        if request.model.system in SEARCHING:
            return
        known = (mode for item in reversed(self.history.items()) if (mode := noted_mode(item.message)))
        if self.current != next(known, "ask"):
            self.history.write_note(ModeTold(text=mode_text(self.current), mode=self.current))
