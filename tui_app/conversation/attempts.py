"""One turn, tried again by itself while a provider is out of reach for a moment."""

import asyncio
import random
from dataclasses import dataclass, field

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model

from tui_app.agent.errors import describe_error
from tui_app.agent.retry import RetryRules, pause_before
from tui_app.agent.turn import TurnResult, TurnRunner
from tui_app.context.view import to_messages
from tui_app.conversation.fallback import Fallback
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.stopping import Stop, Stopped
from tui_app.conversation.switching import ModelSwitch
from tui_app.events import Error, SessionRewind, TurnRetry
from tui_app.settings import Settings


@dataclass(slots=True)
class Attempts:
    """Runs turns; what failed for a reason that passes is sent once more, after a pause that is shown."""

    history: SessionHistory
    runner: TurnRunner
    fallback: Fallback
    stop: Stop
    rules: RetryRules = field(default_factory=RetryRules)
    _pause: "asyncio.Task[None] | None" = None
    _steered: bool = False

    @property
    def running(self) -> bool:
        """Whether a turn is under way, pauses between its tries included."""
        return self.runner.running or self._pause is not None

    def cancel(self) -> None:
        """Stop the turn at once."""
        self.runner.cancel()
        if self._pause is not None:
            self._pause.cancel()

    def steer(self) -> None:
        """End the turn as soon as the step under way is done, or now if it waits for another try."""
        self.runner.steer()
        if self._pause is not None:
            self._steered = True
            self._pause.cancel()

    async def run(self, model: Model) -> TurnResult:
        """Run a turn whose prompt ends the agent view, to its end or its last failure.

        Each try goes on from what the log holds by then: tools that have run are not run again.
        """
        failed, tried, self._steered = 0, set[str](), False
        while True:
            before = max((item.key for item in self.history.items()), default=0)
            result = await self.runner.run(to_messages(self.history.items()), model)
            if result.error is None:
                return result
            # Something was answered since: the provider is well enough to start counting anew.
            failed = 1 if self._answered(before) else failed + 1
            told = describe_error(result.error, model=self.history.model)
            pause = pause_before(result.error, told, attempt=failed, rules=self.rules, jitter=random.random())
            if pause is None:
                try:
                    other = await self.stop.unless(self.fallback.next(told, tried))
                except Stopped:
                    return TurnResult(cancelled=True)
                if other is None:
                    return result
                model, failed = other, 0
                self._take_partial()
                continue
            self._take_partial()
            if not await self._waited(told, failed, pause):
                return TurnResult(cancelled=not self._steered)

    def _answered(self, before: int) -> bool:
        later = (item.message for item in self.history.items() if item.key > before)
        return any(isinstance(message, ModelResponse) and not _is_partial(message) for message in later)

    def _take_partial(self) -> None:
        """Leave out an answer that broke off: the next try writes it anew. The log and the chat keep it."""
        newest = self.history.items()[-1]
        if _is_partial(newest.message):
            self.history.append(SessionRewind(to=newest.key, failed=True))

    async def _waited(self, told: Error, failed: int, pause: float) -> bool:
        """Whether the pause was waited for, and not given up by the person."""
        self.history.append(
            TurnRetry(
                attempt=failed + 1,
                attempts=self.rules.retries + 1,
                wait_s=round(pause, 3),
                reason=told.message,
            )
        )
        self._pause = asyncio.create_task(asyncio.sleep(pause), name="pause before a retry")
        try:
            await asyncio.wait([self._pause])
            return not self._pause.cancelled()
        finally:
            # Also where the turn itself is taken away from under it.
            self._pause.cancel()
            self._pause = None


def _is_partial(message: ModelMessage) -> bool:
    return isinstance(message, ModelResponse) and message.state != "complete"


def attempts(settings: Settings, runner: TurnRunner, models: ModelSwitch) -> Attempts:
    """The turns of a conversation, with the patience and the other models that the settings give them."""
    names = [name.strip() for name in settings.fallback_models.split(",") if name.strip()]
    fallback = Fallback(models.history, models, names)
    return Attempts(models.history, runner, fallback, Stop(), RetryRules(retries=settings.retries))
