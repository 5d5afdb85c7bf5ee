"""Knowledge about models, kept across sessions."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field, replace
from itertools import combinations_with_replacement
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, NamedTuple

import msgspec

from tui_app.context.counting.tally import LARGEST_SHARE, SMALLEST_SHARE
from tui_app.files import write_bytes_atomic
from tui_app.records import frozen
from tui_app.usage import Growth, Kinds

_log = logging.getLogger(__name__)

_WEIGHT = 0.3

_FACTOR_MIN, _FACTOR_MAX = SMALLEST_SHARE, LARGEST_SHARE

_FAR_BELOW, _FAR_ABOVE = 0.6, 2.0
"""Range around a known factor outside of which a single report is ignored until the next one agrees."""

_ALIKE = 1.25
"""Maximum ratio of two reports that agree."""

_GROWN = 0.5
"""Minimum share of a request's growth that a lower report has to show, or something was dropped."""

_COUNTED_MIN = 50

_DIGITS = 4

# A file with anything beyond these is damaged.
_Factor = Annotated[float, msgspec.Meta(ge=_FACTOR_MIN, le=_FACTOR_MAX)]

_Tokens = Annotated[int, msgspec.Meta(gt=0, le=1_000_000_000)]

_Sum = Annotated[float, msgspec.Meta(ge=-1e18, le=1e18)]

_KEPT = 0.98
"""Decay of learnt growth with each further answer."""

_TELLING = 4
"""Minimum answers before growth is used."""

_FIRM = 0.001
"""Strength, relative to its own weight, with which each kind of text is held to its prior."""

_LIKE_TEXT = 0.67
"""Relative strength for results: they are text, and uncounted tokens come with calls."""

_LIKE_COUNTED = 15.0
"""Relative strength for thinking, which is counted as it is if it is sent back at all."""

_ESCAPED = 0.165
"""Maximum tokens that escaping lines and quotes adds per token of a result, unless proven otherwise."""

_AT_MOST = 100.0
"""Relative strength with which results are held to that maximum."""

_LARGE = 1_000
"""Tokens above which a change gets no more weight."""

_CALLS_LEAST, _CALLS_MOST = -8.0, 40.0
"""Range of tokens per counted token of a call; negative because some ids are not sent as text."""

_UNSEEN = 500
"""Tokens that may be added or removed without being counted."""


class Grown(NamedTuple):
    """Least-squares sums over the changes between two answers, by kind of text.

    Framing around calls is not counted, and results are encoded differently from prompts: a single factor
    only fits one mixture, and a rewrite removes more of one kind than of another.
    """

    times: Annotated[float, msgspec.Meta(ge=0, le=1e18)] = 0.0
    squares: Annotated[tuple[_Sum, ...], msgspec.Meta(min_length=10, max_length=10)] = (0.0,) * 10
    """Products of text, results, calls and thinking, each with itself and the later ones."""
    told: Annotated[tuple[_Sum, ...], msgspec.Meta(min_length=4, max_length=4)] = (0.0,) * 4
    """Products of each with the reported change."""

    def and_then(self, change: Kinds, increase: int) -> "Grown":
        """Return the sums with one more change.

        Args:
            change: Added minus removed text, in counted tokens.
            increase: Tokens by which the later report is larger.
        """
        weight = min(1.0, _LARGE / max(1, abs(change.tokens))) ** 2
        kinds = (change.text, change.results, change.calls, change.thoughts)
        squares = [weight * one * other for one, other in combinations_with_replacement(kinds, 2)]
        products = [weight * each * increase for each in kinds]
        return Grown(
            self.times * _KEPT + 1,
            tuple(_KEPT * before + now for before, now in zip(self.squares, squares, strict=True)),
            tuple(_KEPT * before + now for before, now in zip(self.told, products, strict=True)),
        )

    @property
    def growth(self) -> Growth | None:
        """Solve for the growth; None while there is too little data."""
        kinds = range(len(self.told))
        pairs = dict(zip(combinations_with_replacement(kinds, 2), self.squares, strict=True))
        rows = [[pairs[min(one, other), max(one, other)] for other in kinds] for one in kinds]
        # Results are text, too.
        whole = sum(rows[one][other] for one in (0, 2, 3) for other in (0, 2, 3))
        if self.times < _TELLING * _KEPT**_TELLING or whole <= 0:
            return None
        mean = (self.told[0] + self.told[2] + self.told[3]) / whole
        likely = [(mean, 1.0), (0.0, _LIKE_TEXT), (mean, 1.0), (mean, _LIKE_COUNTED)]
        found = _bounded(rows, self.told, likely)
        if found[1] > _ESCAPED:
            # Attribute the rest to the calls.
            likely[1] = (_ESCAPED, _AT_MOST)
            found = _bounded(rows, self.told, likely)
        of_text, of_results, of_calls, of_thoughts = found
        of_text, of_calls = _clamp(of_text), min(_CALLS_MOST, max(_CALLS_LEAST, of_calls))
        of_results = _clamp(of_text + of_results) - of_text
        of_thoughts = min(_FACTOR_MAX, max(0.0, of_thoughts))
        return Growth(*(round(each, _DIGITS) for each in (of_text, of_results, of_calls, of_thoughts)))


def _bounded(
    rows: Sequence[Sequence[float]], products: Sequence[float], priors: Sequence[tuple[float, float]]
) -> list[float]:
    """Solve the least-squares sums with a prior (value, relative strength) for each kind."""
    firm = [times * _FIRM * rows[place][place] + 1 for place, (_, times) in enumerate(priors)]
    left = [
        [each + firm[at] * (at == place) for place, each in enumerate(row)] for at, row in enumerate(rows)
    ]
    return _solved(left, [each + firm[at] * priors[at][0] for at, each in enumerate(products)])


def _solved(rows: list[list[float]], values: list[float]) -> list[float]:
    """Solve linear equations whose matrix is symmetric and positive."""
    left = [[*row, value] for row, value in zip(rows, values, strict=True)]
    for place, pivot in enumerate(left):
        for other in left:
            if other is not pivot:
                share = other[place] / pivot[place]
                other[:] = [value - share * by for value, by in zip(other, pivot, strict=True)]
    return [row[-1] / row[place] for place, row in enumerate(left)]


@frozen
class Lesson:
    """Knowledge about one model."""

    factor: _Factor | None = None
    grown: Grown | None = None
    limit: _Tokens | None = None
    """Context window in tokens, named by an error of this model."""
    reserve: _Tokens | None = None
    """Tokens reserved for the answer, named by an error."""
    refuted: _Tokens | None = None
    """The user's larger window setting that ``limit`` disproved."""
    form: dict[str, bool | int | list[str]] = field(default_factory=dict)
    """Adjustments learned from refusals, by the names of ``WireForm``."""


_NOTHING = Lesson()


class LearntModels:
    """Learnt tokenizer factors, growth, limits and request forms by model.

    A model's name includes its provider. The file is shared with other running programs: every write reads it
    again and replaces only the models this object has learnt about. A file that cannot be read or written
    loses knowledge of earlier sessions, but never fails a turn.
    """

    def __init__(self, path: Path | None) -> None:
        """Read what earlier sessions learnt.

        Args:
            path: The JSON file, created (mode 0600) with the first lesson; None keeps everything in memory.
        """
        self._path = path
        self._lock = Lock()
        self._lessons = _read(path)
        self._changed: set[str] = set()
        self._doubted: dict[str, tuple[int, int]] = {}
        """By model, the last count and report that were far from its factor."""

    def lesson(self, model: str) -> Lesson:
        """Return the knowledge about a model, by its name with provider."""
        return self._lessons.get(model, _NOTHING)

    def learn(self, model: str, **known: Any) -> None:
        """Update fields of a model's :class:`Lesson`; None clears one."""
        with self._lock:
            self._keep(model, replace(self.lesson(model), **known))

    def factor(self, model: str) -> float:
        """Return the reported tokens per token of our own count; 1.0 while unknown."""
        return self.lesson(model).factor or 1.0

    def observe(self, model: str, counted: int, reported: int) -> float:
        """Learn from one response, and return the new factor.

        The factor is an exponential moving average between 0.2 and 8. Small requests, missing reports and
        ratios beyond any tokenizer change nothing. A ratio far from the factor is ignored until the next one
        agrees, and then used at once, because either the factor or the report was wrong.

        Args:
            model: Name with provider.
            counted: Input tokens by our count with factor 1, that is, before any factor was applied.
            reported: Input tokens by the provider's usage, including cached ones.
        """
        if counted < _COUNTED_MIN or not _FACTOR_MIN <= (ratio := reported / counted) <= _FACTOR_MAX:
            return self.factor(model)
        with self._lock:
            lesson = self.lesson(model)
            known, before = lesson.factor, self._doubted.pop(model, None)
            if known is None:
                factor = ratio
            elif known * _FAR_BELOW <= ratio <= known * _FAR_ABOVE:
                factor = known + _WEIGHT * (ratio - known)
            elif before is not None and _agree(before, (counted, reported), known):
                factor = ratio
            else:
                self._doubted[model] = (counted, reported)
                return known
            self._keep(model, replace(lesson, factor=round(factor, _DIGITS)))
        return self.factor(model)

    def growth(self, model: str) -> Growth | None:
        """Return the learnt growth of a model's requests; None while unknown."""
        grown = self.lesson(model).grown
        return grown.growth if grown is not None else None

    def grew(self, model: str, change: Kinds, increase: int) -> None:
        """Learn from two consecutive answered requests.

        Args:
            model: Name with provider.
            change: Messages of the later one minus those of the earlier one, in counted tokens without
                factor.
            increase: Tokens by which the later report is larger.
        """
        size, by = abs(change.tokens), increase if change.tokens >= 0 else -increase
        if not change.tokens or not size * _FACTOR_MIN - _UNSEEN <= by <= size * _FACTOR_MAX + _UNSEEN:
            return
        with self._lock:
            lesson = self.lesson(model)
            self._keep(model, replace(lesson, grown=(lesson.grown or Grown()).and_then(change, increase)))

    def limit_anywhere(self, name: str) -> int | None:
        """Return a model's window in tokens if all its servers named the same in errors.

        Args:
            name: The model's name without provider and address.
        """
        named = {lesson.limit for key, lesson in self._lessons.items() if f":{name}@" in key and lesson.limit}
        return named.pop() if len(named) == 1 else None

    def factor_anywhere(self, name: str) -> float:
        """Return :meth:`factor` by a model's name without provider and address; 1.0 if servers disagree."""
        named = {each.factor for key, each in self._lessons.items() if f":{name}@" in key and each.factor}
        return named.pop() or 1.0 if len(named) == 1 else 1.0

    def _keep(self, model: str, lesson: Lesson) -> None:
        if self._lessons.get(model) == lesson:
            return
        self._lessons[model] = lesson
        self._changed.add(model)
        if self._path is None:
            return
        mine = {name: self._lessons[name] for name in self._changed}
        self._lessons = _read(self._path) | mine
        try:
            _write(self._path, self._lessons)
        except OSError as error:
            _log.warning("Could not keep what was learnt about %s: %s", model, error)


def _agree(before: tuple[int, int], now: tuple[int, int], factor: float) -> bool:
    """Whether two counts with their reports show the same tokenizer.

    A server that drops the beginning of long requests reports about the same however much they grow.
    """
    (counted, reported), (later, report) = before, now
    ratio = report / later
    if not 1 / _ALIKE <= ratio * counted / reported <= _ALIKE:
        return False
    return ratio > factor or (report - reported) * (later - counted) > _GROWN * ratio * (later - counted) ** 2


def _clamp(factor: float) -> float:
    return min(_FACTOR_MAX, max(_FACTOR_MIN, factor))


class _File(msgspec.Struct):
    """File format; each lesson is decoded separately, so that a damaged one costs no other."""

    models: dict[str, msgspec.Raw]
    version: int = 1


def _read(path: Path | None) -> dict[str, Lesson]:
    if path is None:
        return {}
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=_File).models
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        _log.warning("Starting without what was learnt earlier: %s: %s", path, error)
        return {}
    lessons: dict[str, Lesson] = {}
    for name, lesson in kept.items():
        with suppress(ValueError, RecursionError):
            lessons[name] = msgspec.json.decode(lesson, type=Lesson)
    return lessons


def _write(path: Path, lessons: dict[str, Lesson]) -> None:
    """Replace the file atomically, readable by its owner only.

    Raises:
        OSError: if the folder or the file cannot be written; the old file is kept then.
    """
    models = {name: msgspec.Raw(msgspec.json.encode(lesson)) for name, lesson in sorted(lessons.items())}
    write_bytes_atomic(path, msgspec.json.format(msgspec.json.encode(_File(models)), indent=1))
