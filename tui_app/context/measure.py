"""The running tally of a view: what the next request would cost, kept up to date message by message."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tui_app.context.usage import Breakdown, ContextUsage, ContextWindow


@dataclass(frozen=True, slots=True)
class Weighed:
    """What one visible message adds to the context."""

    key: int
    tokens: Breakdown
    reported: int = 0
    """Input plus output tokens its provider reported; 0 when nothing trustworthy was reported."""
    model: str = ""


@dataclass(slots=True)
class Tally:
    """Tokens of a view by category; adding a message costs the same whatever the view's length.

    The estimate of the next request is what the provider reported with the last answer plus the count of
    what came after it. A report counts only when it belongs to this view: it is dropped by ``reset``, which
    every rewrite of the view calls, and it is not used for another model.
    """

    parts: Breakdown = field(default_factory=Breakdown)
    messages: int = 0
    _reported: int = 0
    _reported_model: str = ""
    _after: int = 0

    def add(self, weighed: Weighed) -> None:
        """Count one more message at the end of the view."""
        self.parts = self.parts + weighed.tokens
        self.messages += 1
        if weighed.reported > 0:
            self._reported, self._reported_model, self._after = weighed.reported, weighed.model, 0
        else:
            self._after += weighed.tokens.total

    def reset(self, view: Iterable[Weighed], *, trusted_after: int) -> None:
        """Count a rewritten view anew.

        Args:
            view: The visible messages, oldest first.
            trusted_after: Log number of the last rewrite; reports of older answers measured another view.
        """
        self.parts, self.messages = Breakdown(), 0
        self._reported, self._reported_model, self._after = 0, "", 0
        for weighed in view:
            self.add(weighed)
            if weighed.key < trusted_after:
                self._reported = 0

    def usage(
        self,
        window: ContextWindow,
        fixed: Breakdown,
        *,
        model: str,
        factor: float = 1.0,
        counter_exact: bool = False,
    ) -> ContextUsage:
        """The one number behind gauge, triggers and reports.

        Args:
            window: The model's context window.
            fixed: Tokens of instructions and tool definitions, which every request carries.
            model: The model the next request goes to.
            factor: Real tokens of that model per counted token.
            counter_exact: Whether counted tokens are those of the model's own tokenizer.
        """
        parts = (self.parts + fixed).scaled(factor)
        if self._reported <= 0 or self._reported_model != model:
            return ContextUsage(
                parts=parts, window=window, messages=self.messages, is_initial=self.messages == 0
            )
        total = self._reported + round(self._after * factor)
        if parts.total > total:
            parts = parts.scaled(total / parts.total)
        return ContextUsage(
            parts=parts,
            window=window,
            messages=self.messages,
            exact=self._after == 0 or counter_exact,
            unmeasured=max(0, total - parts.total),
        )
