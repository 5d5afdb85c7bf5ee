"""The reasoning effort of a conversation."""

from dataclasses import replace

from tui_app.agent.turn import TurnRunner
from tui_app.conversation.models.model_switch import ModelSwitch
from tui_app.events import EffortChange, Notice
from tui_app.records import frozen
from tui_app.settings.spec import EFFORTS


@frozen
class EffortSwitch:
    """Changes the reasoning effort of one conversation's model, and logs it."""

    models: ModelSwitch
    runner: TurnRunner

    @property
    def current(self) -> str:
        return self.runner.manner.thinking

    async def change(self, effort: str) -> None:
        """Change the effort from the next request on; an unknown level changes nothing."""
        history, old = self.models.history, self.current
        if effort not in EFFORTS or effort == old:
            levels = f"There is no effort {effort!r:.40}. Choose one of {', '.join(EFFORTS)}."
            history.refuse(f"The effort is already {old}." if effort == old else levels)
            return
        self.runner.manner = replace(self.runner.manner, thinking=effort)
        history.append(EffortChange(old=old, new=effort))
        await self.report_change(old)

    async def report_change(self, before: str) -> None:
        """Warn if the effort has changed but does not apply to this model."""
        history = self.models.history
        if self.current == before:
            return
        try:
            profile = (await self.models.current()).profile
        except Exception:  # whatever an SDK raises; the next prompt reports it
            return
        always = profile.get("thinking_always_enabled")
        if always and self.current == "off":
            text = f"{history.model} cannot answer without thinking: it thinks as little as it can."
            history.append(Notice(text=text))
        elif not (always or profile.get("supports_thinking")):
            text = f"{history.model} is not known to think: effort applies to models that do."
            history.append(Notice(text=text))
