"""What a session has used and cost, as an editor wants to know it."""

from dataclasses import dataclass

from acp.schema import Cost, Usage

from tui_app.events import AssistantMessage, CompactionComplete, Payload, SubAgentStep


@dataclass(slots=True)
class Spending:
    """Adds up what providers reported, over all events of a session."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    usd: float = 0.0

    def note(self, payload: Payload) -> None:
        """Take one event into account."""
        match payload:
            case AssistantMessage() | CompactionComplete() | SubAgentStep():
                self.input_tokens += payload.input_tokens
                self.output_tokens += payload.output_tokens
                self.usd += payload.cost_usd or 0.0
                if not isinstance(payload, CompactionComplete):
                    self.cached_tokens += payload.cache_read_tokens

    @property
    def cost(self) -> Cost | None:
        """What is known to have been paid; None where that is nothing."""
        return Cost(amount=round(self.usd, 6), currency="USD") if self.usd else None

    @property
    def usage(self) -> Usage:
        """Tokens of all answers and summaries so far."""
        return Usage(
            total_tokens=self.input_tokens + self.output_tokens,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cached_read_tokens=self.cached_tokens,
        )
