"""One prompt from the queue to its answer: logged, run, and closed whatever happens."""

from dataclasses import dataclass
from time import monotonic

from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import Model

from tui_app.agent.errors import describe_error
from tui_app.agent.turn import TurnRunner, open_calls
from tui_app.context.events import Error, SessionRewind, TurnEnd, TurnStart, UserMessage
from tui_app.context.items import Item, to_messages
from tui_app.context.proposing import nonzero
from tui_app.conversation.session_history import SessionHistory


@dataclass(slots=True)
class Turns:
    """Runs the turns of one conversation."""

    history: SessionHistory
    runner: TurnRunner

    async def run(self, text: str, model: Model) -> TurnEnd:
        """Send a prompt and follow it to its end; every outcome is an event.

        A prompt that got no answer at all leaves the view again and is handed back with the end.
        """
        started = monotonic()
        history = self.history
        history.append(TurnStart(text=text))
        request = ModelRequest(parts=[UserPromptPart(text)])
        if (error := self._too_large(request)) is not None:
            history.append(error)
            return self._end("failed", started, prompt=text)
        tokens = nonzero(history.counter.message(request))
        prompt = history.append(UserMessage(text=text, tokens=tokens), request)
        result = await self.runner.run(to_messages(history.items()), model)
        self.runner.close_calls(open_calls([item.message for item in history.items()]))
        if result.error is not None:
            return self._failed(result.error, text, prompt.seq, started)
        return self._end("cancelled" if result.cancelled else "done", started)

    def _failed(self, error: Exception, text: str, prompt: int, started: float) -> TurnEnd:
        self.history.append(describe_error(error, model=self.history.model))
        answered = any(item.key > prompt and item.model for item in self.history.items())
        if answered:
            return self._end("failed", started)
        self.history.append(SessionRewind(to=prompt, failed=True))
        return self._end("failed", started, prompt=text)

    def _too_large(self, request: ModelRequest) -> Error | None:
        """Refuse, before anything is sent, a prompt that cannot fit even alone."""
        usage = self.history.usage()
        needed = self.history.weigh(Item(0, request)).total + usage.parts.system + usage.parts.tools
        if needed <= usage.window.effective:
            return None
        return too_large(usage.window.limit, needed)

    def _end(self, outcome: str, started: float, prompt: str = "") -> TurnEnd:
        duration = round(monotonic() - started, 3)
        match outcome:
            case "done":
                return TurnEnd(outcome="done", duration_s=duration)
            case "cancelled":
                return TurnEnd(outcome="cancelled", duration_s=duration)
            case _:
                return TurnEnd(outcome="failed", duration_s=duration, prompt=prompt)


def too_large(limit: int, requested: int) -> Error:
    """The error for a request that cannot fit, with both numbers."""
    return Error(
        kind="context_overflow",
        message=f"This needs {requested:,} tokens and the model takes {limit:,}.",
        hint="Shorten the prompt, compact with ctrl+g, or choose a larger model with /model.",
        limit=limit,
        requested=requested,
    )


