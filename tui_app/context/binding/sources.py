"""The log as an index of the occurrences of names, numbers and quotes."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial

from tui_app.context.binding.statements import Anchor
from tui_app.context.ledger.passages import Passage, Voice

_DROPPED = str.maketrans("", "", " \t\r\n\v\f\xa0`*\"'“”„‘’«»‹›「」『』\\")
_DIGITS = re.compile(r"\d{1,3}(?: \d{3})+(?![.,]?\d)|\d+(?:[.,'’\u202f\u00a0]\d+)*")
_GROUPED = re.compile(r"[ ,'’\u202f\u00a0](?=\d{3}(?!\d))")
_DOTTED = re.compile(r"\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|\d{1,3}(?:\.\d{3})+,\d+")
"""A number with dots between its groups, as in German."""
_SCALES = (1000, 60, 3600, 1024, 1_000_000, 1_048_576, 100)
_LARGER = (1, 1000, 1024, 1000**2, 1024**2, 1000**3, 1024**3)
"""By how much a unit may be larger than that of the number that was rounded to it."""
_ELLIPSIS = re.compile(r"\s*(?:…|\.\.\.|\[…\]|<[^<>]{1,40}>|\{[^{}]{0,40}\}|\*+)\s*")
_STEPS = re.compile(r"[/\\]+")
_JOINED = re.compile(r"\w{2,}|\d")
_MEASURE = re.compile(r"\d{1,15}(?:\.\d{1,15})?", re.ASCII)
_HASH = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{7,40}")
_SERIES = re.compile(r"([a-z]{2,}-?)\d+")
_LINE = re.compile(r"(?::L?\d+(?:[-–:]\d+)*|#L\d+(?:-L?\d+)?|\(\))$")
_WORD = re.compile(r"[^\W_]+")
_BETWEEN, _MOST_WORDS = 40, 16
_TELLING = 3
"""Minimum characters of a name with placeholders; a shorter one is searched for as a whole."""
_SENTENCE, _STOPS = 24, ".。!！?？;:"
"""Minimum characters of a statement that is not repeated by chance, and its possible end signs."""
_NEW_ROWS = 30
"""Numbers that rows after the last message may have: the stages write them."""
_SHORT = 8
"""Characters below which a name is searched for as a word, not inside of others."""


class Unit:
    """A message, or a call with its results."""

    def __init__(self, key: int) -> None:
        self.keys: set[int] = {key}
        self.voices: dict[int, Voice] = {}
        self._passages: list[Passage] = []

    def add(self, passage: Passage) -> None:
        self.keys.add(passage.key)
        self.voices.setdefault(passage.key, passage.voice)
        self._passages.append(passage)

    @property
    def is_message(self) -> bool:
        """Whether it is a text message rather than a call."""
        return not {"call", "result"} & set(self.voices.values())

    @property
    def plain_text(self) -> str:
        """The text of user and assistant in it, squeezed."""
        texts = (passage.text for passage in self._passages if passage.voice != "result")
        return squeeze("\x01".join(texts))

    @property
    def voice(self) -> Voice:
        """Author of the unit."""
        return self.voices[min(self.voices)]

    @property
    def newest(self) -> int:
        """The message by which it is cited: for a call its result."""
        return max(self.keys)

    @property
    def text(self) -> str:
        return "\n".join(each.text for each in self._passages)

    @cached_property
    def squeezed(self) -> str:
        """Its text in lower case, without blanks and marks."""
        return squeeze("\x01".join(each.text for each in self._passages))

    @cached_property
    def folded(self) -> str:
        return self.text.casefold()

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Every number in it without digit group separators, and the pieces that marks join."""
        pieces = re.findall(r"\d+", self.folded)
        return frozenset(map(plain_number, (*_DIGITS.findall(self.folded), *pieces)))

    @cached_property
    def measures(self) -> Sequence[float]:
        """Those that can be rounded, in order."""
        return sorted(float(each) for each in self.numbers if _MEASURE.fullmatch(each))


@lru_cache(maxsize=8_192)
def squeeze(text: str) -> str:
    """Convert a text to lower case, without blanks, quotes and emphasis marks."""
    return text.translate(_DROPPED).casefold()


def plain_number(text: str) -> str:
    """Normalize a number: no separators between groups of three, no leading or trailing zeros."""
    if not text.isascii():
        text = "".join(str(int(char)) if char.isdecimal() else char for char in text)
    whole = _GROUPED.sub("", text)
    if _DOTTED.fullmatch(whole):
        whole = whole.replace(".", "").replace(",", ".")
    if whole.count(",") == 1 and "." not in whole:
        whole = whole.replace(",", ".")
    if whole.count(".") == 1:
        whole = whole.rstrip("0").rstrip(".")
    return whole.lstrip("0") or "0" if whole.isdigit() else whole


class Sources:
    """All texts of a session, by unit, and knowledge outside of them.

    Args:
        texts: The whole session.
        beside: What the model was given outside of the messages: circumstances, instructions, attachments.
        counted: Numbers that can be counted in the log, such as how many files were edited.
        together: Messages about one thing, such as all that read or changed a file.
    """

    def __init__(
        self,
        texts: Iterable[Passage],
        extras: Sequence[str] = (),
        counted: Iterable[int] = (),
        together: Iterable[Iterable[int]] = (),
    ) -> None:
        self.units: list[Unit] = []
        self._by_key: dict[int, int] = {}
        self._found: dict[Anchor, frozenset[int]] = {}
        by_unit: dict[int, int] = {}
        for passage in texts:
            place = by_unit.setdefault(passage.unit, len(self.units))
            if place == len(self.units):
                self.units.append(Unit(passage.unit))
            self.units[place].add(passage)
            self._by_key[passage.key] = place
            self._by_key.setdefault(passage.unit, place)
        self._keys = sorted(self._by_key)
        self._beside = Unit(0)
        for text in extras:
            self._beside.add(Passage(0, "program", text))
        self._counted = frozenset(map(str, counted))
        places = (map(self.place, keys) for keys in together)
        self._together = [frozenset(each for each in known if each is not None) for known in places]

    def place(self, key: int) -> int | None:
        """Return the index of a message's unit; None if there is no such message.

        Log numbers that are not of a message, such as of a call's row or of a digest after the last message,
        belong to the message before.
        """
        if key not in self._by_key and self._keys and self._keys[0] < key < self._keys[-1] + _NEW_ROWS:
            key = self._keys[bisect_right(self._keys, key) - 1]
        return self._by_key.get(key)

    def having(self, anchor: Anchor) -> frozenset[int]:
        """Return the indices of the units in which an anchor occurs."""
        if anchor not in self._found:
            looks = _Look(anchor)
            found = frozenset(place for place, unit in enumerate(self.units) if looks.in_unit(unit))
            if not found and anchor.kind == "code" and len(looks.parts) > 1:
                found = frozenset().union(*filter(partial(self._has_all, looks.parts), self._together))
            self._found[anchor] = found
        return self._found[anchor]

    def _has_all(self, parts: Sequence[str], places: frozenset[int]) -> bool:
        """Whether units have all parts between them: a line that was read, and then changed."""
        return all(any(_as_word(part, self.units[place]) for place in places) for part in parts)

    def has_others(self, anchor: Anchor) -> bool:
        """Whether the log has others of its series: SHIP-412 for SHIP-413."""
        series = _SERIES.fullmatch(anchor.text.casefold()) if anchor.kind == "name" else None
        other = re.compile(rf"\b{series[1]}\d") if series else None
        return other is not None and any(map(other.search, (unit.folded for unit in self.units)))

    def rounded(self, anchor: Anchor) -> frozenset[int]:
        """Indices of the units with a number in a smaller unit that an anchor is when it is rounded."""
        looks = _Look(anchor)
        scales = _LARGER if anchor.kind == "number" and anchor.has_unit else ()
        return frozenset(
            place for place, unit in enumerate(self.units) if any(looks.rounds(unit, each) for each in scales)
        )

    def in_call(self, anchor: Anchor) -> bool:
        """Whether a call contains an anchor, whatever its result."""
        return any("call" in self.units[place].voices.values() for place in self.having(anchor))

    def copied(self, text: str) -> int | None:
        """Return the unit whose result contains a statement that neither user nor assistant wrote."""
        needle = squeeze(text).strip(_STOPS)
        if len(needle) < _SENTENCE or (" " not in text.strip() and text.isascii()):
            return None
        holding = [place for place, unit in enumerate(self.units) if needle in unit.squeezed]
        if not holding or any(needle in self.units[place].plain_text for place in holding):
            return None
        return holding[-1]

    def around(self, places: frozenset[int]) -> frozenset[int]:
        """Return the units and their neighbours, if one of the two is only text."""
        near = ((place, other) for place in places for other in (place - 1, place + 1))
        inside = (pair for pair in near if 0 <= pair[1] < len(self.units))
        return places | {pair[1] for pair in inside if any(self.units[each].is_message for each in pair)}

    def knows(self, anchor: Anchor) -> bool:
        """Whether an anchor occurs anywhere, whole or composed of what occurs."""
        if self.having(anchor) or self.beside(anchor) or self.counts(anchor) or self.rounded(anchor):
            return True
        # The unit may be a word of any language.
        return anchor.kind == "number" and bool(self.having(replace(anchor, has_unit=True)))

    def counts(self, anchor: Anchor) -> bool:
        """Whether it is a number that can be counted in the log."""
        return anchor.kind == "number" and plain_number(anchor.text) in self._counted

    def beside(self, anchor: Anchor) -> bool:
        """Whether an anchor occurs in the knowledge outside of the messages."""
        return _Look(anchor).in_unit(self._beside)


class _Look:
    def __init__(self, anchor: Anchor) -> None:
        self.anchor = anchor
        text = _LINE.sub("", anchor.text) if anchor.kind != "number" else anchor.text
        pieces = [squeeze(piece) for piece in _ELLIPSIS.split(text)]
        telling = [piece for piece in pieces if any(map(str.isalnum, piece))]
        self.pieces = telling if sum(map(len, telling)) >= _TELLING else [squeeze(text)]
        self.numbers = frozenset(_converted(anchor)) if anchor.kind == "number" else frozenset[str]()
        self.words = [word.casefold() for word in _WORD.findall(text)]
        split = _STEPS.split(text) if anchor.kind == "path" else _JOINED.findall(text)
        self.parts = [part.casefold() for part in split if part.strip(".~…")]

    def in_unit(self, unit: Unit) -> bool:
        match self.anchor.kind:
            case "number":
                found = not self.numbers.isdisjoint(unit.numbers) or self.rounds(unit)
                return found or unit.numbers.issuperset(self.anchor.text.split())
            case "path":
                return self._path(unit)
            case "quote" if len(self.words) > 2:
                return self._whole(unit) or self._scattered(unit.folded)
            case "code" if len(self.parts) > 1:
                return self._whole(unit) or all(_as_word(part, unit) for part in self.parts)
            case _:
                return self._whole(unit)

    def rounds(self, unit: Unit, scale: int = 0) -> bool:
        """Whether the log has it with more digits: ``72.345`` for 72.3, ``1.70.2`` for 1.70.

        Args:
            unit: The unit.
            scale: How much larger the unit of measure is; 0 for the same number with more digits.
        """
        whole, dot, digits = self.anchor.text.lstrip("-~≈").partition(".")
        if not (dot or scale) or not (whole + digits).isdecimal():
            return False
        exact, size = f"{whole}.{digits}", scale or 1
        low, high = ((float(exact) + sign / 2 / 10 ** len(digits)) * size for sign in (-1, 1))
        at = bisect_left(unit.measures, low)
        rounds = at < len(unit.measures) and unit.measures[at] <= high
        return rounds or (not scale and any(each.startswith(f"{exact}.") for each in unit.numbers))

    def _scattered(self, text: str) -> bool:
        """Whether the words of a quote occur in order, with little between them."""
        first, *rest = self.words[:_MOST_WORDS]
        start = -1
        while (start := text.find(first, start + 1)) >= 0:
            end = start + len(first)
            for word in rest:
                place = text.find(word, end, end + _BETWEEN + len(word))
                if place < 0:
                    break
                end = place + len(word)
            else:
                return True
        return False

    def _whole(self, unit: Unit) -> bool:
        if not all(piece in unit.squeezed for piece in self.pieces):
            return False
        if _HASH.fullmatch(self.pieces[0]):
            return True  # a commit is identified by its beginning
        is_cut = len(self.pieces) > 1 or "*" in self.anchor.text
        short = not is_cut and len(self.pieces[0]) < _SHORT and self.anchor.kind != "quote"
        return not short or _as_word(self.anchor.text.casefold().removesuffix("()"), unit)

    def _path(self, unit: Unit) -> bool:
        """Match as written, by the end of an absolute path, or as separate folder and names."""
        whole = "/".join(self.parts)
        if _as_word(whole, unit):
            return True
        if len(self.parts) > 2 and _as_word("/".join(self.parts[-2:]), unit):
            return True
        return len(self.parts) > 1 and all(_as_word(part, unit) for part in self.parts)


def _as_word(word: str, unit: Unit) -> bool:
    place = unit.folded.find(word)
    while place >= 0:
        before, after = unit.folded[place - 1 : place], unit.folded[place + len(word) : place + len(word) + 1]
        if not (_joins(before) and _joins(word[:1])) and not (_joins(after) and _joins(word[-1:])):
            return True
        place = unit.folded.find(word, place + 1)
    return False


def _joins(char: str) -> bool:
    return char.isascii() and (char.isalnum() or char == "_")


def _converted(anchor: Anchor) -> Iterator[str]:
    """Yield a number in the forms it may have in the log, including other units if a unit follows it."""
    number = plain_number(anchor.text.lstrip("-~≈"))
    yield number
    for scale in _SCALES if anchor.has_unit and _MEASURE.fullmatch(number) else ():
        for each in (float(number) * scale, float(number) / scale):
            if each == round(each, 6):
                yield plain_number(f"{each:.6f}")
