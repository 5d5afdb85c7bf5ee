"""Resolve a model's window and tokenizer factor from settings, servers, errors and usage reports."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai.models import Model

from tui_app.context.windows.learnt_models import LearntModels
from tui_app.context.windows.windows import SMALLEST_WINDOW, Ceiling, answer_reserve, resolve_window
from tui_app.usage import Breakdown, ContextWindow, Overhead
from tui_app.wires.overflow import ContextOverflow

_STEPS = (0.90, 0.80, 0.60, 0.50)
"""Share that a retry keeps when an error says no more than "too long": with each request whose retry was
refused as well twice the room is left free, up to half, and with each answer less again."""
_MARGIN = 0.95
"""Safety below a size worked out from an error's own numbers."""
_TOKENIZERS = 8
"""Factor by which tokenizers differ at most: a provider's count further from ours counts something else."""
_ANY_WINDOW = 2_048
"""Window, in tokens, that every model may be served with."""
_LOWERED = 256
"""Factor by which a window smaller than the first of these is believed to be lowered at most."""
_LOWERED_AGAIN = 2
"""Factor by which a window that was named before is believed at once to be lowered at most."""
_DISPROVED = 1.05
"""Share of a learnt window from which on an answered request proves it wrong; below, counts differ."""
_ANSWERS = 5
"""Answered requests after which a larger one is tried again."""


class ContextTooLarge(Exception):
    """A request cannot fit, whatever is left out. Raised before it is sent, or after the one retry.

    Attributes:
        limit: Tokens the model takes, by whoever knows it; less may fit after a refusal without numbers.
        requested: Tokens the smallest possible request needs, room for the answer included.
        carried: What fills most of it by sizes, where that is tools and instructions; else empty.
    """

    def __init__(self, limit: int, requested: int, carried: str = "") -> None:
        super().__init__(f"the request needs {requested} tokens and the model takes {limit}")
        self.limit = limit
        self.requested = requested
        self.carried = carried


@dataclass(slots=True)
class _Seen:
    """What this run has seen of one model's server; none of it is kept across sessions."""

    ceiling: Ceiling | None = None
    failures: int = 0
    """Requests whose retry was refused too, less one for each answer since."""
    answered: int = 0
    """Input tokens of the longest request that was answered."""
    doubted: int = 0
    """The last limit that was named and not believed at once."""
    suspected: int = 0
    """A limit that one refusal named without saying how long the request was."""
    kept_to: int = 0
    """Requests answered since; after some of them a larger one is tried, until it is named again."""


@dataclass(slots=True)
class Limits:
    """Windows and tokenizer factors by model; what is learnt is kept across sessions."""

    learnt: LearntModels
    setting: int | None = None
    """Window the user has set, in tokens."""
    server: dict[str, int] = field(default_factory=dict)
    """Window each server listed for a model, by ``model_key``."""
    own: set[str] = field(default_factory=set)
    """Those of them that the user has set for an endpoint."""
    _seen: dict[str, _Seen] = field(default_factory=dict)
    """Ceilings and failures by ``model_key``; named limits are void where the server lists another."""

    def model_key(self, model: Model) -> str:
        """Name under which knowledge is kept: provider, model and address."""
        return f"{model.system}:{model.model_name}@{model.base_url or ''}"

    def is_set(self, model: Model) -> bool:
        """Whether the window of a model, as it is now, stands in the user's settings."""
        source = self.window(model).source
        return source == "setting" or (source == "server" and self.model_key(model) in self.own)

    def _learnt_key(self, model: Model) -> str:
        # A server started anew with another window lists another number, and what was learnt is void.
        key = self.model_key(model)
        return f"{key}#{self.server.get(key, '')}"

    def _of(self, key: str) -> _Seen:
        return self._seen.setdefault(key, _Seen())

    def form(self, model: Model) -> Mapping[str, Any]:
        """What the model's server has refused about the form of requests."""
        return self.learnt.lesson(self._learnt_key(model)).form

    def learn_form(self, model: Model, form: Mapping[str, Any]) -> None:
        """Remember the form in which the model's server has answered, where one was refused before."""
        # Not everything that is wanted is wanted of each request.
        if form:
            self.learnt.learn(self._learnt_key(model), form=dict(form))

    def window(self, model: Model) -> ContextWindow:
        """Resolve the window of a model; after an overflow without numbers it is smaller than announced."""
        window = self._announced(model)
        ceiling = self._of(self.model_key(model)).ceiling
        if ceiling is None or ceiling.tokens >= window.effective:
            return window
        # The ceiling is a size of requests, so room for the answer does not come off it again.
        limit = ceiling.tokens + answer_reserve(ceiling.tokens)
        return ContextWindow(
            limit=limit, source="learnt", reserve=limit - ceiling.tokens, announced=window.limit
        )

    def _announced(self, model: Model) -> ContextWindow:
        key = self._learnt_key(model)
        seen = self._of(key)
        is_kept_to = seen.suspected and seen.kept_to < _ANSWERS
        named = seen.suspected if is_kept_to else self.learnt.lesson(key).limit
        # A file may hold what was believed when smaller windows still were.
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
        """Real tokens per counted token."""
        return self.learnt.factor(self.model_key(model))

    def overhead(self, model: Model, fixed: Breakdown) -> Overhead:
        """What each request to a model carries, and what is known of its window and tokenizer."""
        growth = self.learnt.growth(self.model_key(model))
        return Overhead(self.window(model), fixed, self.factor(model), growth)

    def observe(self, model: Model, counted: int, reported: int, *, plain: bool = True) -> float:
        """Learn from an answered request.

        Args:
            model: The model that answered.
            counted: Tokens of the request as counted without any factor.
            reported: Input tokens by the provider's usage; 0 when it reported none.
            plain: Whether it was text alone: what files cost is a guess that says nothing of a tokenizer.
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
        """Raise a learnt window that an answered request did not fit in, or forget one that was wrong."""
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
        """Learn from an overflow: tokenizer and limit where it gives numbers, and a smaller next try.

        Args:
            model: The model that refused.
            overflow: The recognised error; numbers that cannot be true of the request teach nothing.
            counted: Tokens of the refused request as counted without any factor.
            plain: Whether it was text alone.

        Returns:
            What of it is believed.
        """
        key = self.model_key(model)
        seen = self._of(key)
        size = round(counted * self.factor(model))
        told = believable(overflow, size, self._announced(model).limit)
        if told.input and counted and plain:
            self.learnt.observe(key, counted, told.input)
        if told.limit:
            self._named(model, told, told.limit, size)
            # Room for the answer is a reason only where the input alone would have fitted.
            if told.answer and told.requested and (told.input or 0) <= told.limit < told.requested:
                self.learnt.learn(self._learnt_key(model), reserve=told.answer)
        before, seen.ceiling = seen.ceiling, self._refused(model, told, counted) or seen.ceiling
        if before is not None and before.retrying:
            # The retry was refused too, and there is no third.
            seen.failures = min(seen.failures + 1, len(_STEPS) - 1)
            self.end_retry(model)
        return told

    def _named(self, model: Model, told: ContextOverflow, limit: int, size: int) -> None:
        """Believe a limit for good once it explains a refusal, by the provider's own count or a second time.

        Args:
            model: The model.
            told: What was said.
            limit: The limit in it.
            size: Tokens of the refused request by our estimate.
        """
        key = self._learnt_key(model)
        seen = self._of(key)
        again, seen.suspected = seen.suspected == limit, 0
        if again and size <= limit and not told.requested:
            # The request kept to it and was refused all the same: that was not the reason.
            return
        if not again and (told.requested or 0) <= limit and limit != self.learnt.lesson(key).limit:
            seen.suspected, seen.kept_to = limit, 0
            return
        # One that answers or an earlier one speak against is believed when it is named again.
        doubtful = max(seen.answered, (self.learnt.lesson(key).limit or 0) // _LOWERED_AGAIN)
        if limit < doubtful and seen.doubted != limit:
            seen.doubted = limit
            return
        seen.answered = 0
        against = {"refuted": self.setting} if self.setting and limit < self.setting else {}
        self.learnt.learn(key, limit=limit, **against)

    def end_retry(self, model: Model) -> None:
        """Forget how small a retry had to be: what comes next is another request, which may be larger.

        Args:
            model: The model that is asked next.
        """
        seen = self._of(self.model_key(model))
        if seen.ceiling is not None and seen.ceiling.retrying:
            lasting = seen.ceiling.lasting
            seen.ceiling = Ceiling(lasting, lasting, retrying=False) if lasting else None

    def _refused(self, model: Model, told: ContextOverflow, counted: int) -> Ceiling | None:
        """The ceiling after a refusal; None where the window alone makes the next request smaller."""
        believed, announced = round(counted * self.factor(model)), self._announced(model).effective
        window = self.window(model).effective
        # The largest request, in tokens of our estimate, that is worth sending.
        if told.limit and told.requested and told.requested > told.limit:
            room = min(resolve_window(setting=told.limit, reserve=told.answer).effective, announced)
            counted_there = told.input if told.answer and told.input else told.requested
            target = int(believed * min(1.0, room / counted_there) * _MARGIN)
        else:
            target = int(min(believed, window) * _STEPS[self._of(self.model_key(model)).failures])
        if target >= window:
            return None
        # A limit that the request kept to by our count explains nothing: then the room must grow.
        return Ceiling.refused(target, announced, named=told.limit is not None and believed > announced)


def most(window: ContextWindow) -> int:
    """Tokens a request may use by what is known of the model, whatever refusals without numbers suggest.

    Args:
        window: The window as resolved; a size that is only believed makes it smaller than announced.
    """
    if not window.announced:
        return window.effective
    return max(window.effective, window.announced - answer_reserve(window.announced))


def believable(told: ContextOverflow, size: int, announced: int) -> ContextOverflow:
    """Drop numbers of an overflow that cannot be true, so that a wrong one costs no model its window.

    Args:
        told: The recognised error.
        size: Tokens of the refused request by our estimate.
        announced: Window, in tokens, by whoever knew the model before.
    """
    limit, requested = told.limit, told.requested
    smallest = max(SMALLEST_WINDOW, min(_ANY_WINDOW, announced // _LOWERED))
    if limit is not None and not smallest <= limit <= max(announced, size * _TOKENIZERS):
        limit = None
    counts = told.input if told.input is not None else requested
    if counts is not None and not size <= counts * _TOKENIZERS <= size * _TOKENIZERS**2:
        requested = None
    return replace(told, limit=limit, requested=requested)
