"""What was learnt about models, kept across sessions."""

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
"""Shares of a factor outside of which a single report is no lesson: another one must say the same."""

_ALIKE = 1.25
"""Factor by which two reports that say the same differ at most."""

_GROWN = 0.5
"""Share of what a request has grown by that a lower report has to show, where nothing was dropped."""

_COUNTED_MIN = 50

_DIGITS = 4

# A file that says anything beyond these is damaged.
_Factor = Annotated[float, msgspec.Meta(ge=_FACTOR_MIN, le=_FACTOR_MAX)]

_Tokens = Annotated[int, msgspec.Meta(gt=0, le=1_000_000_000)]

_Sum = Annotated[float, msgspec.Meta(ge=-1e18, le=1e18)]

_KEPT = 0.98
"""Share of what was learnt of growth that each further answer leaves."""

_TELLING = 4
"""Answers from which on growth tells anything."""

_FIRM = 0.001
"""How firmly, by its own weight, each kind of text is held to what is likely without any lesson."""

_LIKE_TEXT = 0.67
"""Times as firmly results are held to that: they are text, and what nobody counts comes with calls."""

_LIKE_COUNTED = 15.0
"""The same of thoughts, which are counted as they are where they are sent back at all."""

_ESCAPED = 0.165
"""Tokens that what escapes lines and quotes adds to one of a result at most, until it shows by itself."""

_AT_MOST = 100.0
"""Times as firmly results are held to that."""

_LARGE = 1_000
"""Tokens above which what has come and gone weighs no more."""

_CALLS_LEAST, _CALLS_MOST = -8.0, 40.0
"""Tokens by which a counted one of a call grows a request: less than nothing where its id is no text."""

_UNSEEN = 500
"""Tokens that may come and go without being counted."""


class Grown(NamedTuple):
    """Sums of least squares over what has come and gone between two answers, by kind of text.

    What goes out around calls is not counted, and results are written otherwise than what people say: a
    single factor holds for a mixture, and a rewrite takes more of one kind than of another.
    """

    times: Annotated[float, msgspec.Meta(ge=0, le=1e18)] = 0.0
    squares: Annotated[tuple[_Sum, ...], msgspec.Meta(min_length=10, max_length=10)] = (0.0,) * 10
    """Of text, results, calls and thoughts: each with itself and those behind it."""
    told: Annotated[tuple[_Sum, ...], msgspec.Meta(min_length=4, max_length=4)] = (0.0,) * 4
    """Each with what was reported."""

    def and_then(self, change: Kinds, told: int) -> "Grown":
        """The sums with one more change.

        Args:
            change: What has come, by its counted tokens, less what has gone.
            told: Tokens by which the later report is larger.
        """
        weight = min(1.0, _LARGE / max(1, abs(change.tokens))) ** 2
        kinds = (change.text, change.results, change.calls, change.thoughts)
        squares = [weight * one * other for one, other in combinations_with_replacement(kinds, 2)]
        products = [weight * each * told for each in kinds]
        return Grown(
            self.times * _KEPT + 1,
            tuple(_KEPT * before + now for before, now in zip(self.squares, squares, strict=True)),
            tuple(_KEPT * before + now for before, now in zip(self.told, products, strict=True)),
        )

    @property
    def growth(self) -> Growth | None:
        """What it says; None while that is too little."""
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
            # What else there is comes with the calls.
            likely[1] = (_ESCAPED, _AT_MOST)
            found = _bounded(rows, self.told, likely)
        said, of_results, of_calls, of_thoughts = found
        said, of_calls = _clamp(said), min(_CALLS_MOST, max(_CALLS_LEAST, of_calls))
        of_results = _clamp(said + of_results) - said
        of_thoughts = min(_FACTOR_MAX, max(0.0, of_thoughts))
        return Growth(*(round(each, _DIGITS) for each in (said, of_results, of_calls, of_thoughts)))


def _bounded(
    rows: Sequence[Sequence[float]], told: Sequence[float], held: Sequence[tuple[float, float]]
) -> list[float]:
    """What sums of least squares say, each held to what is likely, and so many times as firmly as usual."""
    firm = [times * _FIRM * rows[place][place] + 1 for place, (_, times) in enumerate(held)]
    left = [
        [each + firm[at] * (at == place) for place, each in enumerate(row)] for at, row in enumerate(rows)
    ]
    return _solved(left, [each + firm[at] * held[at][0] for at, each in enumerate(told)])


def _solved(rows: list[list[float]], wanted: list[float]) -> list[float]:
    """Solve linear equations whose matrix is symmetric and positive."""
    left = [[*row, value] for row, value in zip(rows, wanted, strict=True)]
    for place, pivot in enumerate(left):
        for other in left:
            if other is not pivot:
                share = other[place] / pivot[place]
                other[:] = [value - share * by for value, by in zip(other, pivot, strict=True)]
    return [row[-1] / row[place] for place, row in enumerate(left)]


@frozen
class Lesson:
    """What is known of one model."""

    factor: _Factor | None = None
    grown: Grown | None = None
    limit: _Tokens | None = None
    """Context window in tokens that an error of this model has named."""
    reserve: _Tokens | None = None
    """Tokens that an error has said are kept for the answer."""
    refuted: _Tokens | None = None
    """The user's setting that ``limit`` was named against, which was larger."""
    form: dict[str, bool | int | list[str]] = field(default_factory=dict)
    """Adjustments learned from refusals, by the names of ``WireForm``."""


_NOTHING = Lesson()


class LearntModels:
    """Per model: how its tokenizer compares with our count, and the limit an error has named.

    A model's name includes its provider. The file is shared with other running programs: every write reads
    it again and replaces only the models this object has learnt about. A file that cannot be read or written
    costs the memory of earlier sessions, never a turn.
    """

    def __init__(self, path: Path | None) -> None:
        """Read what earlier sessions learnt.

        Args:
            path: The JSON file, created (mode 0600) on the first lesson; None keeps everything in memory.
        """
        self._path = path
        self._lock = Lock()
        self._lessons = _read(path)
        self._changed: set[str] = set()
        self._doubted: dict[str, tuple[int, int]] = {}
        """By model the last count and report that lay far from its factor."""

    def lesson(self, model: str) -> Lesson:
        """What is known of a model, by its name with provider."""
        return self._lessons.get(model, _NOTHING)

    def learn(self, model: str, **known: Any) -> None:
        """Remember something of a model, by the names of a :class:`Lesson`; None forgets it."""
        with self._lock:
            self._keep(model, replace(self.lesson(model), **known))

    def factor(self, model: str) -> float:
        """Tokens the provider reports per token of our own count; 1.0 while unknown."""
        return self.lesson(model).factor or 1.0

    def observe(self, model: str, counted: int, reported: int) -> float:
        """Learn from one response, and return the new factor.

        The factor is an exponential moving average between 0.2 and 8. Requests too small to tell, and
        reports of nothing or of what no tokenizer makes of it, change nothing. One far from the factor does
        when the next says the same, and then at once: either that factor was wrong, or this is a wild one.

        Args:
            model: Name with provider.
            counted: Input tokens by our count with factor 1, that is, before any factor was applied.
            reported: Input tokens by the provider's usage, cached ones included.
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
        """By how many tokens a request grows with what is added to it; None while that is not known."""
        grown = self.lesson(model).grown
        return grown.growth if grown is not None else None

    def grew(self, model: str, change: Kinds, told: int) -> None:
        """Learn from two answered requests, one after the other.

        Args:
            model: Name with provider.
            change: What the later one has more of the messages, by their counted tokens; without any factor.
            told: Tokens by which the later report is larger.
        """
        size, by = abs(change.tokens), told if change.tokens >= 0 else -told
        if not change.tokens or not size * _FACTOR_MIN - _UNSEEN <= by <= size * _FACTOR_MAX + _UNSEEN:
            return
        with self._lock:
            lesson = self.lesson(model)
            self._keep(model, replace(lesson, grown=(lesson.grown or Grown()).and_then(change, told)))

    def limit_anywhere(self, name: str) -> int | None:
        """Window in tokens that an error has named for a model, where every server of it has named the same.

        Args:
            name: The model's name without provider and address.
        """
        named = {lesson.limit for key, lesson in self._lessons.items() if f":{name}@" in key and lesson.limit}
        return named.pop() if len(named) == 1 else None

    def factor_anywhere(self, name: str) -> float:
        """As :meth:`factor`, for a model's name without provider and address; 1.0 where servers disagree."""
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
    """Whether two counts with their reports tell of the same tokenizer.

    A server that drops the beginning of long requests reports much the same whatever they have grown by.
    """
    (counted, reported), (later, told) = before, now
    ratio = told / later
    if not 1 / _ALIKE <= ratio * counted / reported <= _ALIKE:
        return False
    return ratio > factor or (told - reported) * (later - counted) > _GROWN * ratio * (later - counted) ** 2


def _clamp(factor: float) -> float:
    return min(_FACTOR_MAX, max(_FACTOR_MIN, factor))


class _File(msgspec.Struct):
    """What is kept; a lesson is read by itself, so that a damaged one costs no other."""

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
    """Replace the file in one step, readable by its owner only.

    Raises:
        OSError: if the folder or the file cannot be written; the old file then still stands.
    """
    models = {name: msgspec.Raw(msgspec.json.encode(lesson)) for name, lesson in sorted(lessons.items())}
    write_bytes_atomic(path, msgspec.json.format(msgspec.json.encode(_File(models)), indent=1))
