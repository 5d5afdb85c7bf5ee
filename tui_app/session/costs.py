"""What a session has cost so far, and what its present turn has, as values that grow with each event."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    MemoryConsolidated,
    Payload,
    SubAgentStep,
    ToolArchived,
)

_Paid = AssistantMessage | SubAgentStep | CompactionComplete | ToolArchived | MemoryConsolidated


@dataclass(frozen=True, slots=True)
class Costs:
    """Tokens as providers reported them, and US dollars as far as prices are known."""

    input_tokens: int = 0
    """Cached ones included."""
    cached_tokens: int = 0
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
        """The costs behind an event: an answer, a summary, a digest, or a reading for memory."""
        match payload:
            case AssistantMessage() | SubAgentStep():
                grown = self._plus(payload, payload.cost_usd, asked=True)
                unmeasured = bool(payload.output_tokens and not payload.input_tokens)
                return replace(
                    grown,
                    cached_tokens=self.cached_tokens + payload.cache_read_tokens,
                    unmeasured=self.unmeasured + unmeasured,
                )
            case CompactionComplete() | ToolArchived() | MemoryConsolidated():
                asked = bool(payload.input_tokens or payload.output_tokens)
                # What was made without a model costs nothing and is no sum either.
                return self._plus(payload, payload.cost_usd or None, asked=asked)
            case _:
                return self

    def _plus(self, paid: _Paid, usd: float | None, *, asked: bool) -> "Costs":
        unpriced = asked and usd is None
        new = (paid.model,) if unpriced and paid.model not in self.unpriced_models else ()
        return replace(
            self,
            input_tokens=self.input_tokens + paid.input_tokens,
            output_tokens=self.output_tokens + paid.output_tokens,
            usd=self.usd if usd is None else (self.usd or 0.0) + usd,
            unpriced=self.unpriced + unpriced,
            unpriced_models=(*self.unpriced_models, *new),
        )


def is_over(budget: Mapping[str, float], spent: float | None) -> bool:
    """Whether a session has used its budget up.

    Args:
        budget: The table of the settings.
        spent: US dollars; None where nothing with a known price was asked.
    """
    limit = budget.get("session_usd", 0.0)
    return bool(limit) and (spent or 0.0) >= limit
