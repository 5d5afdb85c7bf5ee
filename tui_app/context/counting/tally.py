"""The running tally of a view: the tokens of the next request, kept up to date message by message."""

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
"""Share of our count, without any factor, below which no tokenizer comes: less is a report of something else,
such as the part of a request that was not cached, or a made up number."""
LARGEST_SHARE = 8.0
"""Times our count above which a report is made up: no tokenizer makes so much of it."""
_NEW_SHARE = 1.5
"""Times our count that a report of new text is at most."""
_CACHE_BLOCK = 512
"""Tokens that caches of providers leave over at most: they keep whole blocks."""
_SHARE_MOST = 1.3
"""Factor by which what a report grows and shrinks by may differ from its share."""
_STRANGE = 6.0
"""Tokens by which a counted one of another model's calls grows a request more or less, at most, than one of
the model's own: the same call has other ids, and no signed thoughts beside it."""
_COUNTED_MIN = 500
"""Tokens as which smaller requests are taken: what a server puts around them may be many times as long."""


def is_silent_truncation(counted: int, reported: int) -> bool:
    """Whether a server seems to have dropped part of a request without saying so, as Ollama does.

    Ollama keeps about half of its window, so the report falls to half of the count or less. Tokenizers
    differ by far less than that once a factor is learnt; small requests tell nothing. Nor does a report of
    only what the server had not read before, see :func:`is_uncached_only`.

    Args:
        counted: Input tokens of the request by our count, with the model's factor.
        reported: Input tokens by the provider's usage, cached ones included; 0 when it reported none.
    """
    return counted >= _TRUNCATION_MIN and 0 < reported < counted * _TRUNCATION_SHARE


def is_uncached_only(new: int, reported: int) -> bool:
    """Whether a report may be of the new part of a request alone, without what its server had in a cache.

    Args:
        new: Tokens of the request, by our count, that the one before did not have.
        reported: Input tokens by the provider's usage.
    """
    return reported <= new * _NEW_SHARE + _CACHE_BLOCK


def believable(counted: int, reported: int) -> int:
    """The input tokens a provider reported, or 0 where they cannot be true of what was sent.

    Args:
        counted: Tokens of the request as counted without any factor.
        reported: Input tokens by the provider's usage.
    """
    return reported if 0 <= reported <= max(counted, _COUNTED_MIN) * LARGEST_SHARE else 0


@frozen
class MessageWeight:
    """The tokens of one visible message."""

    key: int
    tokens: Breakdown
    reported: int = 0
    """Input plus output tokens its provider reported; 0 when nothing trustworthy was reported."""
    model: str = ""
    output: int = 0
    """Those of them that were the answer's own."""


class Asked(NamedTuple):
    """What was reported of a request alone, and the messages in it as counted."""

    input: int = 0
    """Tokens; 0 where the report did not tell them from those of the answer."""
    counted: Kinds = Kinds()
    """Without the thoughts of other models, which are sent to none but their own."""
    foreign: int = 0
    """Tokens of other models' calls in them."""


@frozen
class Report:
    """A provider's usage report, and our count of the same messages."""

    reported: int = 0
    """Input plus output tokens; 0 when nothing trustworthy was reported yet."""
    counted: Kinds = field(default_factory=Kinds)
    """The messages up to that answer as counted without any factor, less what each request carries."""
    model: str = ""
    asked: Asked = field(default_factory=Asked)


@frozen
class Authors:
    """The calls and thoughts of a view, by the model that wrote them."""

    by_model: Mapping[str, Kinds] = field(default_factory=dict)

    def and_then(self, *more: MessageWeight) -> "Authors":
        """These and those of more messages."""
        by_model = dict(self.by_model)
        for model, each in ((weighed.model, weighed.tokens) for weighed in more if weighed.model):
            if each.tool_calls + each.thinking:
                beside = AROUND_THOUGHTS * (each.thinking > 0)
                own = Kinds(each.thinking, calls=each.tool_calls, thoughts=each.thinking, around=beside)
                by_model[model] = by_model.get(model, Kinds()).plus(own)
        return Authors(by_model)

    def others(self, model: str) -> tuple[Kinds, int]:
        """Thoughts that a request to a model leaves out, and tokens of calls that go out in another form."""
        total = reduce(Kinds.plus, (own for name, own in self.by_model.items() if name != model), Kinds())
        return total._replace(calls=0), total.calls


_NO_ANSWER = MessageWeight(0, Breakdown())


@dataclass(slots=True)
class Tally:
    """Tokens of a view by category; adding a message costs the same whatever the view's length.

    The estimate of the next request is what the provider reported with the last answer plus the count of
    what came after it. A report counts only when it belongs to this view: it is dropped by ``reset``, which
    every rewrite of the view calls, it is not used for another model, and not when it is so far below the
    count that the server must have dropped part of the request. What was dropped still says how the provider
    counts: a rewritten view is measured on its scale, or a smaller one could look larger than before.
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
        """Count one more message at the end of the view."""
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
        """Count a rewritten view anew.

        Args:
            view: The visible messages, oldest first.
            trusted: Whether the answer of a key measured this view; reports of the others are of another one.
            newest: The newest report there was, whatever view it measured.
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
        """The one number behind gauge, triggers and reports.

        Args:
            overhead: What the next request carries, and in which window.
            model: The model that it goes to.
            counter_exact: Whether counted tokens are those of the model's own tokenizer.
        """
        window, fixed, factor, growth = overhead.window, overhead.fixed, overhead.factor, overhead.growth
        newest = self.newest
        before = newest.counted.plus(fixed.kinds)
        trusted = _is_trusted(newest, model, before.tokens, round(before.scaled(factor)), window.limit)
        said, parts, exact = self.parts, self.parts + fixed, False
        if trusted and self._answer.reported:
            total = self._answer.reported + round(self._after.kinds.scaled(factor))
            if self._after.total:
                total = round(self._as_grown(newest, total, growth, fixed))
            parts = parts.scaled(factor)
            if parts.total > total:
                share = total / parts.total
                parts, factor = parts.scaled(share, share), factor * share
                # What rounding adds is removed where it shows least: the total is the provider's own.
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
            is_initial=not (said.summary or said.assistant or said.thinking or said.tool_calls),
            scale=factor,
        )

    def _as_reported(self, report: Report, plain: Kinds, factor: float) -> tuple[float, int]:
        """Share of a rewritten view's count, and tokens beyond it, on the scale of a report of another view.

        Args:
            report: What was reported of that view.
            plain: Its count without any factor, with what each request carries.
            factor: Real tokens per counted token, as learnt.
        """
        counted = plain.scaled(factor)
        if report.reported <= counted:
            # A longer view than that may have been cut short by the report's server without a word.
            least = _TRUNCATION_SHARE if self.parts.total > report.counted.tokens else 0.0
            return max(least, report.reported / counted), 0
        # What no count explains goes with the messages it came with; more of it is not made up.
        share = min(1.0, self.parts.total / max(1, report.counted.tokens))
        return 1.0, round((report.reported - counted) * share)

    def _as_grown(self, report: Report, share: float, growth: Growth | None, fixed: Breakdown) -> float:
        """The same total by what the request of a report has grown or shrunk by since, within reason.

        A mean factor holds for a mixture as it was: a rewrite takes more of some kinds than of others, and
        what goes out around an answer is more than what its provider reports of it.

        Args:
            report: The report.
            share: The total by a mean factor.
            growth: By how much a request grows; None while that is not known.
            fixed: What every request carries.
        """
        asked, (unsent, foreign) = report.asked, self._authors.others(report.model)
        if growth is None or not asked.input:
            return share
        grown = asked.input + growth.of(self.parts.kinds.plus(unsent, -1).plus(asked.counted, -1))
        if (gone := asked.foreign - foreign) > 0:
            # What stands around another model's calls nobody learns: it is what nothing else explains.
            # Instructions and schemas have as much to escape as results.
            carried = fixed.kinds._replace(results=fixed.total)
            most, unexplained = _STRANGE * asked.foreign, asked.input - growth.of(asked.counted.plus(carried))
            grown -= min(most, max(-most, unexplained)) * gone / asked.foreign
        return min(share * _SHARE_MOST, max(share / _SHARE_MOST, grown))


def _is_trusted(report: Report, model: str, plain: int, counted: int, limit: int) -> bool:
    """Whether a report describes a request, whose count is given.

    Args:
        report: What was reported.
        model: The model the next request goes to.
        plain: The count without any factor.
        counted: The same with the model's factor.
        limit: The model's window in tokens; in a large one hidden thoughts may count for much.
    """
    if report.reported <= 0 or report.model != model:
        return False
    if plain >= _TRUNCATION_MIN and report.reported < plain * SMALLEST_SHARE:
        return False
    measurable = report.reported > limit or plain >= _TRUNCATION_MIN
    if measurable and not believable(plain, report.reported):
        return False
    return not is_silent_truncation(counted, report.reported)
