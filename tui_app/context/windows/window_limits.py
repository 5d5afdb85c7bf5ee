"""Windows and calibration factors of models, from settings, servers, errors and usage reports."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai.models import Model

from tui_app.context.windows.learnt_models import LearntModels
from tui_app.context.windows.windows import SMALLEST_WINDOW, Ceiling, answer_reserve, resolve_window
from tui_app.usage import Breakdown, ContextWindow, Overhead
from tui_app.wires.overflow import ContextOverflow

_STEPS = (0.90, 0.80, 0.60, 0.50)
"""Share that a retry keeps after "too long" without numbers: each request whose retry was refused too moves
one step down, to half at most, and each answer one step up.
"""
_MARGIN = 0.95
"""Safety factor for a size computed from an error's own numbers."""
_TOKENIZERS = 8
"""Maximum factor between tokenizers: a provider's count further from ours counts something else."""
_ANY_WINDOW = 2_048
"""Window, in tokens, that any model may be served with."""
_LOWERED = 256
"""Maximum factor between the announced window and a named one below ``_ANY_WINDOW``."""
_LOWERED_AGAIN = 2
"""Maximum factor by which a learnt window may be lowered without a second report."""
_DISPROVED = 1.05
"""Multiple of a learnt window from which an answered request disproves it; below, counts differ."""
_ANSWERS = 5
"""Answered requests before a larger one is tried again."""


class ContextTooLarge(Exception):
    """A request that cannot fit, whatever is dropped. Raised before it is sent, or after the one retry.

    Attributes:
        limit: Tokens the model takes by the best source; fewer may fit after a refusal without numbers.
        requested: Tokens of the smallest possible request, including room for the answer.
        carried: Sizes of tools and instructions if they fill most of it; otherwise empty.
    """

    def __init__(self, limit: int, requested: int, carried: str = "") -> None:
        super().__init__(f"the request needs {requested} tokens and the model takes {limit}")
        self.limit = limit
        self.requested = requested
        self.carried = carried


@dataclass(slots=True)
class _Seen:
    """Observations of one model's server in this run, not kept across sessions."""

    ceiling: Ceiling | None = None
    failures: int = 0
    """Requests whose retry was refused too, minus one for each answer since."""
    answered: int = 0
    """Input tokens of the longest answered request."""
    doubted: int = 0
    """The last reported limit that was not believed at once."""
    suspected: int = 0
    """A limit from a single refusal that did not state the length of the request."""
    kept_to: int = 0
    """Requests answered since; after some of them a larger one is tried, until the limit is reported again.
    """


@dataclass(slots=True)
class Limits:
    """Windows and tokenizer factors by model; learnt values are kept across sessions."""

    learnt: LearntModels
    setting: int | None = None
    """Window set by the user, in tokens."""
    server: dict[str, int] = field(default_factory=dict)
    """Window listed by each server, by ``model_key``."""
    own: set[str] = field(default_factory=set)
    """Keys of windows that the user set for an endpoint."""
    _seen: dict[str, _Seen] = field(default_factory=dict)
    """Observations by key of learnt values, which are void once the server lists another window."""

    def model_key(self, model: Model) -> str:
        """Return the key for knowledge about a model: provider, model and address."""
        return f"{model.system}:{model.model_name}@{model.base_url or ''}"

    def is_set(self, model: Model) -> bool:
        """Whether a model's current window is from the user's settings."""
        source = self.window(model).source
        return source == "setting" or (source == "server" and self.model_key(model) in self.own)

    def _learnt_key(self, model: Model) -> str:
        # A server restarted with another window lists another number, which voids what was learnt.
        key = self.model_key(model)
        return f"{key}#{self.server.get(key, '')}"

    def _of(self, key: str) -> _Seen:
        return self._seen.setdefault(key, _Seen())

    def form(self, model: Model) -> Mapping[str, Any]:
        """Return what the model's server has refused about the form of requests."""
        return self.learnt.lesson(self._learnt_key(model)).form

    def learn_form(self, model: Model, form: Mapping[str, Any]) -> None:
        """Remember the form that the model's server answered after refusing another."""
        # Some requirements only apply to some requests.
        if form:
            self.learnt.learn(self._learnt_key(model), form=dict(form))

    def window(self, model: Model) -> ContextWindow:
        """Resolve the window of a model; after an overflow without numbers it is smaller than announced."""
        window = self._announced(model)
        ceiling = self._of(self.model_key(model)).ceiling
        if ceiling is None or ceiling.tokens >= window.effective:
            return window
        # The ceiling is a request size, so the answer's reserve must not be subtracted again.
        limit = ceiling.tokens + answer_reserve(ceiling.tokens)
        return ContextWindow(
            limit=limit, source="learnt", reserve=limit - ceiling.tokens, announced=window.limit
        )

    def _announced(self, model: Model) -> ContextWindow:
        key = self._learnt_key(model)
        seen = self._of(key)
        is_kept_to = seen.suspected and seen.kept_to < _ANSWERS
        named = seen.suspected if is_kept_to else self.learnt.lesson(key).limit
        # A file may have limits from when smaller windows were still believed.
        learnt = named if named is not None and named >= SMALLEST_WINDOW else None
        server, setting = self.server.get(self.model_key(model)), self.setting
        if setting and learnt and learnt < setting and self.learnt.lesson(key).refuted == setting:
            setting = None
        return resolve_window(
            setting=setting,
            learnt=learnt,
            server=server,
            model=model.context_window,
            reserve=self.learnt.lesson(key).reserve,
        )

    def factor(self, model: Model) -> float:
        """Return the real tokens per counted token."""
        return self.learnt.factor(self.model_key(model))

    def overhead(self, model: Model, fixed: Breakdown) -> Overhead:
        """Return what each request to a model carries, with its window, factor and growth."""
        growth = self.learnt.growth(self.model_key(model))
        return Overhead(self.window(model), fixed, self.factor(model), growth)

    def observe(self, model: Model, counted: int, reported: int, *, plain: bool = True) -> float:
        """Learn from an answered request.

        Args:
            model: The model that answered.
            counted: Tokens of the request, without factor.
            reported: Input tokens by the provider's usage; 0 if not reported.
            plain: Whether it was text only: the cost of files is a guess that does not calibrate a tokenizer.
        """
        key = self.model_key(model)
        seen = self._of(key)
        seen.failures = max(0, seen.failures - 1)
        if seen.ceiling is not None:
            size = reported or round(counted * self.factor(model))
            seen.ceiling = seen.ceiling.answered(size, self._announced(model).effective)
        self._prove(model, reported)
        return self.learnt.observe(key, counted, reported) if plain else self.learnt.factor(key)

    def _prove(self, model: Model, reported: int) -> None:
        """Raise a learnt window that an answered request exceeded, or drop a wrong one."""
        key = self._learnt_key(model)
        seen = self._of(key)
        seen.answered, seen.kept_to = max(reported, seen.answered), seen.kept_to + 1
        if reported > seen.doubted:
            seen.doubted = 0
        if reported > seen.suspected * _DISPROVED:
            seen.suspected = 0
        known = self.learnt.lesson(key).limit
        if known is None or reported <= known:
            return
        if reported > known * _DISPROVED:
            self.learnt.learn(key, limit=None, refuted=None)
        else:
            self.learnt.learn(key, limit=reported)

    def learn(
        self, model: Model, overflow: ContextOverflow, counted: int, *, plain: bool = True
    ) -> ContextOverflow:
        """Learn from an overflow: tokenizer and limit if it has numbers, and a smaller next attempt.

        Args:
            model: The model that refused.
            overflow: The recognised error; numbers that cannot be true of the request are ignored.
            counted: Tokens of the refused request, without factor.
            plain: Whether it was text only.

        Returns:
            The believable part of it.
        """
        key = self.model_key(model)
        seen = self._of(key)
        size = round(counted * self.factor(model))
        valid = believable(overflow, size, self._announced(model).limit)
        if valid.input and counted and plain:
            self.learnt.observe(key, counted, valid.input)
        if valid.limit:
            self._named(model, valid, valid.limit, size)
            # Room for the answer explains a refusal only if the input alone would have fitted.
            if valid.answer and valid.requested and (valid.input or 0) <= valid.limit < valid.requested:
                self.learnt.learn(self._learnt_key(model), reserve=valid.answer)
        before, seen.ceiling = seen.ceiling, self._refused(model, valid, counted) or seen.ceiling
        if before is not None and before.retrying:
            # The retry was refused too, and there is no third attempt.
            seen.failures = min(seen.failures + 1, len(_STEPS) - 1)
            self.end_retry(model)
        return valid

    def _named(self, model: Model, overflow: ContextOverflow, limit: int, size: int) -> None:
        """Keep a limit that explains a refusal by the provider's own count, or that is reported twice.

        Args:
            model: The model.
            overflow: The overflow.
            limit: The limit in it.
            size: Tokens of the refused request by our estimate.
        """
        key = self._learnt_key(model)
        seen = self._of(key)
        again, seen.suspected = seen.suspected == limit, 0
        if again and size <= limit and not overflow.requested:
            # The request respected the limit and was refused all the same, for another reason.
            return
        if not again and (overflow.requested or 0) <= limit and limit != self.learnt.lesson(key).limit:
            seen.suspected, seen.kept_to = limit, 0
            return
        # A limit that contradicts an answer or an earlier limit is believed when it is reported again.
        doubtful = max(seen.answered, (self.learnt.lesson(key).limit or 0) // _LOWERED_AGAIN)
        if limit < doubtful and seen.doubted != limit:
            seen.doubted = limit
            return
        seen.answered = 0
        against = {"refuted": self.setting} if self.setting and limit < self.setting else {}
        self.learnt.learn(key, limit=limit, **against)

    def end_retry(self, model: Model) -> None:
        """Forget the size of a retry, because the next request may be larger.

        Args:
            model: The model of the next request.
        """
        seen = self._of(self.model_key(model))
        if seen.ceiling is not None and seen.ceiling.retrying:
            lasting = seen.ceiling.lasting
            seen.ceiling = Ceiling(lasting, lasting, retrying=False) if lasting else None

    def _refused(self, model: Model, overflow: ContextOverflow, counted: int) -> Ceiling | None:
        """Return the ceiling after a refusal; None if the window alone makes the next request smaller."""
        believed, announced = round(counted * self.factor(model)), self._announced(model).effective
        window = self.window(model).effective
        # The largest request, in estimated tokens, that is worth sending.
        if overflow.limit and overflow.requested and overflow.requested > overflow.limit:
            room = min(resolve_window(setting=overflow.limit, reserve=overflow.answer).effective, announced)
            counted_there = overflow.input if overflow.answer and overflow.input else overflow.requested
            target = int(believed * min(1.0, room / counted_there) * _MARGIN)
        else:
            target = int(min(believed, window) * _STEPS[self._of(self.model_key(model)).failures])
        if target >= window:
            return None
        # A limit that the request respected by our count explains nothing: the reserve must grow then.
        return Ceiling.refused(target, announced, named=overflow.limit is not None and believed > announced)


def most(window: ContextWindow) -> int:
    """Return the tokens a request may use by known limits, ignoring refusals without numbers.

    Args:
        window: The window as resolved; an unconfirmed ceiling makes it smaller than announced.
    """
    if not window.announced:
        return window.effective
    return max(window.effective, window.announced - answer_reserve(window.announced))


def believable(overflow: ContextOverflow, size: int, announced: int) -> ContextOverflow:
    """Drop numbers of an overflow that cannot be true, so that a wrong one does not shrink a window.

    Args:
        overflow: The recognised error.
        size: Tokens of the refused request by our estimate.
        announced: Window known before, in tokens.
    """
    limit, requested = overflow.limit, overflow.requested
    smallest = max(SMALLEST_WINDOW, min(_ANY_WINDOW, announced // _LOWERED))
    if limit is not None and not smallest <= limit <= max(announced, size * _TOKENIZERS):
        limit = None
    counts = overflow.input if overflow.input is not None else requested
    if counts is not None and not size <= counts * _TOKENIZERS <= size * _TOKENIZERS**2:
        requested = None
    return replace(overflow, limit=limit, requested=requested)
