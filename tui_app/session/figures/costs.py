"""Costs of a session and its present turn, as values that grow with each event."""

from collections.abc import Mapping

from tui_app.events import AssistantMessage, CompactionComplete, Paid, Payload, SubAgentStep, ToolArchived
from tui_app.records import frozen


@frozen
class Costs:
    """Tokens as providers reported them, and US dollars as far as prices are known."""

    input_tokens: int = 0
    """Includes cached tokens."""
    cached_tokens: int = 0
    """Tokens read from a cache."""
    written_tokens: int = 0
    """Tokens written to a cache."""
    output_tokens: int = 0
    usd: float | None = None
    """None until a request with a known price."""
    unpriced: int = 0
    """Requests without a known price."""
    unpriced_models: tuple[str, ...] = ()
    """Models of those requests, without duplicates."""
    unmeasured: int = 0
    """Answers whose request has no reported size: interrupted, broken off, or not reported."""

    def after(self, payload: Payload) -> "Costs":
        """Return the costs after an event: an answer, summary, digest, handoff, or reading for memory."""
        if not isinstance(payload, Paid | CompactionComplete | ToolArchived):
            return self
        is_answer = isinstance(payload, AssistantMessage | SubAgentStep)
        asked = is_answer or bool(payload.input_tokens or payload.output_tokens)
        # Work without a model has no price, whereas a model may be free.
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
    """Return whether a session has used up its budget.

    Args:
        budget: The table of the settings.
        spent: US dollars; None if nothing with a known price was requested.
    """
    limit = budget.get("session_usd", 0.0)
    return bool(limit) and (spent or 0.0) >= limit
