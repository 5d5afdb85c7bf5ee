"""What a session and its present turn have cost, as values that grow with each event."""

from collections.abc import Mapping

from tui_app.events import AssistantMessage, CompactionComplete, Paid, Payload, SubAgentStep, ToolArchived
from tui_app.records import frozen


@frozen
class Costs:
    """Tokens as providers reported them, and US dollars as far as prices are known."""

    input_tokens: int = 0
    """Cached ones included."""
    cached_tokens: int = 0
    """Read from a cache."""
    written_tokens: int = 0
    """Written into one."""
    output_tokens: int = 0
    usd: float | None = None
    """None until something with a known price was asked."""
    unpriced: int = 0
    """Requests whose price is not known."""
    unpriced_models: tuple[str, ...] = ()
    """Whom those requests went to, each once."""
    unmeasured: int = 0
    """Answers whose request has no reported size: it was cut, broken off, or nothing was reported."""

    def after(self, payload: Payload) -> "Costs":
        """The costs after an event: an answer, a summary, a digest, a brief, or a reading for memory."""
        if not isinstance(payload, Paid | CompactionComplete | ToolArchived):
            return self
        is_answer = isinstance(payload, AssistantMessage | SubAgentStep)
        asked = is_answer or bool(payload.input_tokens or payload.output_tokens)
        # What was made without a model costs nothing and is no sum either; a model may be free.
        usd = payload.cost_usd if asked else payload.cost_usd or None
        unpriced = asked and usd is None
        new = (payload.model,) if unpriced and payload.model not in self.unpriced_models else ()
        read, written = (getattr(payload, f"cache_{way}_tokens", 0) for way in ("read", "write"))
        unmeasured = is_answer and payload.output_tokens > 0 and not payload.input_tokens
        return Costs(
            input_tokens=self.input_tokens + payload.input_tokens,
            cached_tokens=self.cached_tokens + read,
            written_tokens=self.written_tokens + written,
            output_tokens=self.output_tokens + payload.output_tokens,
            usd=self.usd if usd is None else (self.usd or 0.0) + usd,
            unpriced=self.unpriced + unpriced,
            unpriced_models=(*self.unpriced_models, *new),
            unmeasured=self.unmeasured + unmeasured,
        )


def is_over(budget: Mapping[str, float], spent: float | None) -> bool:
    """Whether a session has used its budget up.

    Args:
        budget: The table of the settings.
        spent: US dollars; None where nothing with a known price was asked.
    """
    limit = budget.get("session_usd", 0.0)
    return bool(limit) and (spent or 0.0) >= limit
