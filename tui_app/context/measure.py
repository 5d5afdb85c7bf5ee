"""The running tally of a view: what the next request would cost, kept up to date message by message."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tui_app.context.usage import Breakdown, ContextUsage, ContextWindow, sum_breakdowns

_TRUNCATION_MIN = 2_000
_TRUNCATION_SHARE = 0.6
SMALLEST_SHARE = 0.2
"""Share of our count, without any factor, below which no tokenizer comes: less is a report of something else,
such as the part of a request that was not cached, or a made up number."""
_LARGEST_SHARE = 50
"""Times our count above which a report is made up: no tokenizer comes near."""
_COUNTED_MIN = 500
"""Tokens as which smaller requests are taken: what a server puts around them may be many times as long."""


def is_silent_truncation(counted: int, reported: int) -> bool:
    """Whether a server seems to have dropped part of a request without saying so, as Ollama does.

    Ollama keeps about half of its window, so the report falls to half of the count or less. Tokenizers
    differ by far less than that once a factor is learnt; small requests tell nothing.

    Args:
        counted: Input tokens of the request by our count, with the model's factor.
        reported: Input tokens by the provider's usage, cached ones included; 0 when it reported none.
    """
    return counted >= _TRUNCATION_MIN and 0 < reported < counted * _TRUNCATION_SHARE


def believable(counted: int, reported: int) -> int:
    """The input tokens a provider reported, or 0 where they cannot be true of what was sent.

    Args:
        counted: Tokens of the request as counted without any factor.
        reported: Input tokens by the provider's usage.
    """
    return reported if 0 <= reported <= max(counted, _COUNTED_MIN) * _LARGEST_SHARE else 0


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
    every rewrite of the view calls, it is not used for another model, and not when it is so far below the
    count that the server must have dropped part of the request.
    """

    parts: Breakdown = field(default_factory=Breakdown)
    messages: int = 0
    _reported: int = 0
    _reported_model: str = ""
    _after: int = 0

    def add(self, weighed: Weighed) -> None:
        """Count one more message at the end of the view."""
        self.parts = self.parts + weighed.tokens
        self._note(weighed)

    def reset(self, view: Iterable[Weighed], *, trusted_after: int) -> None:
        """Count a rewritten view anew.

        Args:
            view: The visible messages, oldest first.
            trusted_after: Log number of the last rewrite; reports of older answers measured another view.
        """
        every = list(view)
        self.parts, self.messages = sum_breakdowns(weighed.tokens for weighed in every), 0
        self._reported, self._reported_model, self._after = 0, "", 0
        for weighed in every:
            self._note(weighed if weighed.key >= trusted_after else replace(weighed, reported=0))

    def _note(self, weighed: Weighed) -> None:
        self.messages += 1
        if weighed.reported > 0:
            self._reported, self._reported_model, self._after = weighed.reported, weighed.model, 0
        else:
            self._after += weighed.tokens.total

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
        after = round(self._after * factor)
        before = (self.parts + fixed).total - self._after
        if not self._trusted(model, before, parts.total - after, window.limit):
            return ContextUsage(
                parts=parts, window=window, messages=self.messages, is_initial=self.messages == 0
            )
        total = self._reported + after
        if parts.total > total:
            parts = parts.scaled(total / parts.total)
        return ContextUsage(
            parts=parts,
            window=window,
            messages=self.messages,
            exact=self._after == 0 or counter_exact,
            unmeasured=max(0, total - parts.total),
        )

    def _trusted(self, model: str, plain: int, counted: int, limit: int) -> bool:
        """Whether the last report describes this view, whose count up to that answer is given.

        Args:
            model: The model the next request goes to.
            plain: The count without any factor.
            counted: The same with the model's factor.
            limit: The model's window in tokens; in a large one hidden thoughts may count for much.
        """
        if self._reported <= 0 or self._reported_model != model:
            return False
        if plain >= _TRUNCATION_MIN and self._reported < plain * SMALLEST_SHARE:
            return False
        if self._reported > limit and self._reported > max(plain, _COUNTED_MIN) * _LARGEST_SHARE:
            return False
        return not is_silent_truncation(counted, self._reported)
