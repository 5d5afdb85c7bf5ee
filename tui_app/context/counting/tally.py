"""The running tally of a view: the tokens of the next request, updated message by message."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import NamedTuple

from tui_app.records import frozen
from tui_app.usage import (
    AROUND_THOUGHTS,
    CATEGORIES,
    Breakdown,
    ContextUsage,
    Growth,
    Kinds,
    Overhead,
    sum_breakdowns,
)

_TRUNCATION_MIN = 2_000
_TRUNCATION_SHARE = 0.6
SMALLEST_SHARE = 0.2
"""Share of our count, without factor, that every tokenizer exceeds. A lower report is about something else,
such as the uncached part of a request, or made up.
"""
LARGEST_SHARE = 8.0
"""Multiple of our count above which a report is made up: no tokenizer needs so many tokens."""
_NEW_SHARE = 1.5
"""Maximum report for new text, as a multiple of our count."""
_CACHE_BLOCK = 512
"""Maximum tokens that providers' caches leave out, because they cache whole blocks."""
_SHARE_MOST = 1.3
"""Factor by which a total from growth may differ from the one by mean factor."""
_STRANGE = 6.0
"""Maximum difference in tokens, per counted token, between another model's calls and the model's own in a
request: the same call has other ids, and no signed thinking next to it.
"""
_COUNTED_MIN = 500
"""Minimum size assumed for a request: the server's own framing may be many times as long as a short one."""


def is_silent_truncation(counted: int, reported: int) -> bool:
    """Whether a server seems to have dropped part of a request silently, as Ollama does.

    Ollama keeps about half of its window, so the report falls to half of the count or less. Tokenizers differ
    by far less once a factor is learnt; small requests prove nothing. Neither does a report of only what the
    server had not read before, see :func:`is_uncached_only`.

    Args:
        counted: Input tokens of the request by our count, with the model's factor.
        reported: Input tokens by the provider's usage, including cached ones; 0 if not reported.
    """
    return counted >= _TRUNCATION_MIN and 0 < reported < counted * _TRUNCATION_SHARE


def is_uncached_only(new: int, reported: int) -> bool:
    """Whether a report may cover only the uncached part of a request.

    Args:
        new: Tokens of the request, by our count, that the previous one did not have.
        reported: Input tokens by the provider's usage.
    """
    return reported <= new * _NEW_SHARE + _CACHE_BLOCK


def believable(counted: int, reported: int) -> int:
    """Return the reported input tokens, or 0 if they cannot be true of the request.

    Args:
        counted: Tokens of the request, without factor.
        reported: Input tokens by the provider's usage.
    """
    return reported if 0 <= reported <= max(counted, _COUNTED_MIN) * LARGEST_SHARE else 0


@frozen
class MessageWeight:
    """The tokens of one visible message."""

    key: int
    tokens: Breakdown
    reported: int = 0
    """Input plus output tokens reported by its provider; 0 without a trustworthy report."""
    model: str = ""
    output: int = 0
    """Output tokens among them."""


class Asked(NamedTuple):
    """The report on a request without its answer, and the counted messages in it."""

    input: int = 0
    """Reported input tokens; 0 if not reported separately."""
    counted: Kinds = Kinds()
    """Without the thinking of other models, which is only sent to the model that wrote it."""
    foreign: int = 0
    """Tokens of other models' calls among them."""


@frozen
class Report:
    """A provider's usage report, and our count of the same messages."""

    reported: int = 0
    """Input plus output tokens; 0 without a trustworthy report so far."""
    counted: Kinds = field(default_factory=Kinds)
    """The messages up to that answer, without factor and without what each request carries."""
    model: str = ""
    asked: Asked = field(default_factory=Asked)


@frozen
class Authors:
    """The calls and thinking in a view, by the model that wrote them."""

    by_model: Mapping[str, Kinds] = field(default_factory=dict)

    def and_then(self, *more: MessageWeight) -> "Authors":
        """Return them with those of more messages."""
        by_model = dict(self.by_model)
        for model, each in ((weighed.model, weighed.tokens) for weighed in more if weighed.model):
            if each.tool_calls + each.thinking:
                framing = AROUND_THOUGHTS * (each.thinking > 0)
                own = Kinds(each.thinking, calls=each.tool_calls, thoughts=each.thinking, around=framing)
                by_model[model] = by_model.get(model, Kinds()).plus(own)
        return Authors(by_model)

    def others(self, model: str) -> tuple[Kinds, int]:
        """Return other models' thinking, which is dropped, and tokens of their calls, which are converted."""
        total = reduce(Kinds.plus, (own for name, own in self.by_model.items() if name != model), Kinds())
        return total._replace(calls=0), total.calls


_NO_ANSWER = MessageWeight(0, Breakdown())


@dataclass(slots=True)
class Tally:
    """Tokens of a view by category; adding a message takes constant time.

    The estimate of the next request is what the provider reported with the last answer plus the count of what
    came after it. A report counts only if it belongs to this view: it is dropped by ``reset``, which every
    rewrite of the view calls, and ignored for another model, and if it is so far below the count that the
    server must have dropped part of the request. A dropped report still shows how the provider counts: a
    rewritten view is measured on its scale, or a smaller one could look larger than before.
    """

    parts: Breakdown = field(default_factory=Breakdown)
    messages: int = 0
    _answer: MessageWeight = _NO_ANSWER
    """The newest one with a report."""
    _after: Breakdown = field(default_factory=Breakdown)
    _authors: Authors = field(default_factory=Authors)
    _dropped: Report = field(default_factory=Report)

    @property
    def newest(self) -> Report:
        """The newest report, dropped or not."""
        answer = self._answer
        if not answer.reported:
            return self._dropped
        counted, asked = self.parts.kinds.plus(self._after.kinds, -1), Asked()
        if answer.output:
            sent = counted.plus(answer.tokens.kinds, -1)
            unsent, foreign = self._authors.others(answer.model)
            asked = Asked(answer.reported - answer.output, sent.plus(unsent, -1), foreign)
        return Report(answer.reported, counted, answer.model, asked)

    def add(self, weighed: MessageWeight) -> None:
        """Add a message at the end of the view."""
        self.parts, self.messages = self.parts + weighed.tokens, self.messages + 1
        self._authors = self._authors.and_then(weighed)
        if weighed.reported > 0:
            self._answer, self._after = weighed, Breakdown()
        else:
            self._after = self._after + weighed.tokens

    def reset(
        self,
        view: Iterable[MessageWeight],
        *,
        trusted: Callable[[int], bool] = lambda _key: True,
        newest: Report | None = None,
    ) -> None:
        """Count a rewritten view.

        Args:
            view: The visible messages, oldest first.
            trusted: Whether the report of an answer, by key, measured this view.
            newest: The newest report, whatever view it measured.
        """
        every = list(view)
        reports = (at for at in reversed(range(len(every))) if every[at].reported > 0)
        last = next((at for at in reports if trusted(every[at].key)), -1)
        self._dropped, self.messages = newest or Report(), len(every)
        self._answer = _NO_ANSWER if last < 0 else every[last]
        self.parts = sum_breakdowns(weighed.tokens for weighed in every)
        self._after = sum_breakdowns(weighed.tokens for weighed in every[last + 1 :])
        self._authors = Authors().and_then(*every)

    def usage(self, overhead: Overhead, *, model: str, counter_exact: bool = False) -> ContextUsage:
        """Return the context usage for gauge, triggers and reports.

        Args:
            overhead: What the next request carries, and its window.
            model: The model it is sent to.
            counter_exact: Whether tokens are counted by the model's own tokenizer.
        """
        window, fixed, factor, growth = overhead.window, overhead.fixed, overhead.factor, overhead.growth
        newest = self.newest
        before = newest.counted.plus(fixed.kinds)
        trusted = _is_trusted(newest, model, before.tokens, round(before.scaled(factor)), window.limit)
        own, parts, exact = self.parts, self.parts + fixed, False
        if trusted and self._answer.reported:
            total = self._answer.reported + round(self._after.kinds.scaled(factor))
            if self._after.total:
                total = round(self._as_grown(newest, total, growth, fixed))
            parts = parts.scaled(factor)
            if parts.total > total:
                share = total / parts.total
                parts, factor = parts.scaled(share, share), factor * share
                # Remove what rounding adds from the largest category: the total is the provider's own.
                most = max(CATEGORIES, key=lambda name: int(getattr(parts, name)))
                excess = max(0, parts.total - total)
                parts = replace(parts, **{most: getattr(parts, most) - excess})
            exact, beyond = self._after.total == 0 or counter_exact, max(0, total - parts.total)
        else:
            of_text, beyond, rest = factor, 0, 1.0
            if trusted:
                rest, beyond = self._as_reported(newest, before, factor)
            if trusted and parts.total:
                known = parts.kinds.scaled(of_text) * rest
                grown = self._as_grown(newest, known + beyond, growth, fixed)
                rest *= max(0.0, grown - beyond) / known
            factor = of_text * rest
            parts = parts.scaled(factor, rest)
        return ContextUsage(
            parts=parts,
            window=window,
            messages=self.messages,
            exact=exact,
            unmeasured=beyond,
            is_initial=not (own.summary or own.assistant or own.thinking or own.tool_calls),
            scale=factor,
        )

    def _as_reported(self, report: Report, plain: Kinds, factor: float) -> tuple[float, int]:
        """Scale a rewritten view by a report of another view.

        Args:
            report: The report of that view.
            plain: Count of that view without factor, with what each request carries.
            factor: Real tokens per counted token, as learnt.

        Returns:
            Share of this view's count, and tokens beyond it.
        """
        counted = plain.scaled(factor)
        if report.reported <= counted:
            # The server may have silently truncated a view longer than that.
            least = _TRUNCATION_SHARE if self.parts.total > report.counted.tokens else 0.0
            return max(least, report.reported / counted), 0
        # Tokens no count explains are shared with the messages they came with, and never increased.
        share = min(1.0, self.parts.total / max(1, report.counted.tokens))
        return 1.0, round((report.reported - counted) * share)

    def _as_grown(self, report: Report, share: float, growth: Growth | None, fixed: Breakdown) -> float:
        """Correct a total by how much the request of a report has grown or shrunk since, within limits.

        A mean factor only fits the mixture it was learnt from: a rewrite removes more of some kinds than of
        others, and framing around an answer is more than what its provider reports for it.

        Args:
            report: The report.
            share: The total by a mean factor.
            growth: Learnt growth of a request; None while unknown.
            fixed: What every request carries.
        """
        asked, (unsent, foreign) = report.asked, self._authors.others(report.model)
        if growth is None or not asked.input:
            return share
        grown = asked.input + growth.of(self.parts.kinds.plus(unsent, -1).plus(asked.counted, -1))
        if (removed := asked.foreign - foreign) > 0:
            # The framing of another model's calls cannot be learnt: it is what nothing else explains.
            # Instructions and schemas have as much to escape as results.
            carried = fixed.kinds._replace(results=fixed.total)
            most, unexplained = _STRANGE * asked.foreign, asked.input - growth.of(asked.counted.plus(carried))
            grown -= min(most, max(-most, unexplained)) * removed / asked.foreign
        return min(share * _SHARE_MOST, max(share / _SHARE_MOST, grown))


def _is_trusted(report: Report, model: str, plain: int, counted: int, limit: int) -> bool:
    """Whether a report fits the count of its request.

    Args:
        report: The report.
        model: The model the next request is sent to.
        plain: The count without factor.
        counted: The count with the model's factor.
        limit: The model's window in tokens; in a large one hidden thinking may count for much.
    """
    if report.reported <= 0 or report.model != model:
        return False
    if plain >= _TRUNCATION_MIN and report.reported < plain * SMALLEST_SHARE:
        return False
    measurable = report.reported > limit or plain >= _TRUNCATION_MIN
    if measurable and not believable(plain, report.reported):
        return False
    return not is_silent_truncation(counted, report.reported)
