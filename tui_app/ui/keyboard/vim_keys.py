"""Vim keys as a pure function of text, cursor and key, without a widget."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import takewhile
from math import prod
from typing import Literal, NamedTuple

from tui_app.records import frozen

VimMode = Literal["insert", "normal", "visual", "visual line"]
Effect = Literal["", "up", "down", "undo", "redo"]
"""Effects of a key beyond the text: the previous or next prompt, undo and redo."""
Span = tuple[int, int]

ESCAPE, REDO = "\x1b", "\x12"
"""Names of esc and ctrl+r here; every other key is the character it types."""
_MOST = 1_000
"""Maximum count."""
_COMMAND = re.compile(
    r"(?P<count>[1-9]\d*)?(?P<operator>[dcy])?(?P<again>(?<=[dcy])[1-9]\d*)?(?P<rest>.*)", re.DOTALL
)
_WAITS_FOR_SIGN = frozenset("fFtTr")
_OPENERS = frozenset("/!@")
"""Characters that begin a command or a file mention in an empty prompt, where there is nothing to move over.
"""
_BRACKETS: Mapping[str, str] = {
    sign: pair for pair in ("()", "[]", "{}", "<>") for sign in pair
} | {"b": "()", "B": "{}"}  # fmt: skip
_LONGER: Mapping[str, str] = {
    "x": "dl", "X": "dh", "D": "d$", "C": "c$", "Y": "yy", "s": "cl", "S": "cc",
}  # fmt: skip
"""Commands that abbreviate an operator with a motion."""
_VISUAL: Mapping[str, VimMode] = {"v": "visual", "V": "visual line"}
_OVER_SELECTION = {"d": "d", "x": "d", "X": "d", "c": "c", "s": "c", "y": "y"}
"""Operators by key in visual mode."""


class Insertion(NamedTuple):
    """The state when insert mode began, to find out afterwards what was typed."""

    keys: str
    """The command that began it."""
    times: int
    """How often the typed text is inserted in total."""
    before: str
    behind: str


@frozen
class Vim:
    """Everything that is remembered between keys."""

    mode: VimMode = "insert"
    pending: str = ""
    """Keys of an incomplete command."""
    anchor: int = 0
    """Where visual mode began."""
    register: str = ""
    """The text deleted or copied last."""
    has_lines: bool = False
    """Whether the register has whole lines."""
    found: str = ""
    """The last ``f``, ``F``, ``t`` or ``T`` with its character."""
    repeat: str = ""
    """The last change as keys, with the text typed in it."""
    insertion: Insertion | None = None


def press(vim: Vim, text: str, cursor: int, key: str, whole: Sequence[Span] = ()) -> "Pressed":
    """Apply a key.

    Args:
        vim: The remembered state.
        text: The prompt.
        cursor: Number of characters before the cursor.
        key: The character that it types, ``ESCAPE`` or ``REDO``.
        whole: Parts of the text that are changed completely or not at all.
    """
    done = Pressed(vim, text, min(max(cursor, 0), len(text)), whole)
    done.act(key)
    if done.vim.mode != "insert":
        done.cursor = _on_a_sign(done.text, done.cursor)
    return done


def difference(before: str, after: str) -> tuple[int, int, str]:
    """Return the changed part between two texts as start and end in the first, and its replacement."""
    start = _common_prefix(before, after)
    end = _common_prefix(before[start:][::-1], after[start:][::-1])
    return start, len(before) - end, after[start : len(after) - end]


def _common_prefix(one: str, other: str) -> int:
    """Return the length of the common prefix."""
    return len([*takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))])


def put_in_insert(vim: Vim) -> Vim:
    """Return the state in which a new prompt starts."""
    return replace(vim, mode="insert", pending="", insertion=None)


@dataclass(slots=True)
class Pressed:
    """The result of a key."""

    vim: Vim
    text: str
    cursor: int
    whole: Sequence[Span] = ()
    effect: Effect = ""
    times: int = 1
    """How often to apply the effect."""
    is_given: bool = field(default=False, init=False)
    """Whether a count was typed."""

    @property
    def selection(self) -> Span:
        """Start and end of the selection; the end is where the widget shows its cursor."""
        if self.vim.mode not in ("visual", "visual line"):
            return self.cursor, self.cursor
        low, high = self._selected
        return (low, high) if self.vim.anchor <= self.cursor else (high, low)

    @property
    def _selected(self) -> Span:
        low, high = sorted((min(self.vim.anchor, len(self.text)), self.cursor))
        if self.vim.mode == "visual line":
            return _line_start(self.text, low), min(len(self.text), _line_end(self.text, high) + 1)
        return low, min(len(self.text), high + 1)

    def act(self, key: str) -> None:
        if self.vim.mode == "insert":
            self.leave_insert() if key == ESCAPE else self.write(key)
        elif key == ESCAPE:
            self.vim = replace(self.vim, mode="normal", pending="")
        else:
            self._take(key)

    def write(self, text: str) -> None:
        self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
        self.cursor += len(text)

    def begin_insert(self, keys: str, count: int = 1) -> None:
        start = Insertion(keys, count, self.text[: self.cursor], self.text[self.cursor :])
        self.vim = replace(self.vim, mode="insert", pending="", insertion=start)

    def leave_insert(self) -> None:
        """Return to normal mode, recording what was typed so that ``.`` can repeat it."""
        if (begun := self.vim.insertion) is not None:
            before, after = begun.before, begun.behind
            typed = self.text[len(before) : len(self.text) - len(after)]
            if before + typed + after != self.text:
                typed = ""  # the text around it was changed, too
            if typed and begun.times > 1:
                self.cursor = len(before) + len(typed)
                self.write(typed * (begun.times - 1))
            self.vim = replace(self.vim, repeat=f"{begun.keys}{typed}{ESCAPE}")
        if self.cursor > _line_start(self.text, self.cursor):
            self.cursor -= 1
        self.vim = replace(self.vim, mode="normal", pending="", insertion=None)

    def _take(self, key: str) -> None:
        """Add a key to the command, and run it once it is complete."""
        keys = self.vim.pending + key
        if not self.text and not self.vim.pending and key in _OPENERS:
            self.begin_insert("i")
            self.write(key)
            return
        found = _COMMAND.fullmatch(keys)
        assert found is not None
        operator, rest = found["operator"] or "", found["rest"]
        is_visual = self.vim.mode != "normal"
        if is_visual and operator:
            operator, rest = "", operator + rest
        names_object = (operator or is_visual) and rest in ("i", "a")
        if not rest or rest in _WAITS_FOR_SIGN or rest == "g" or names_object:
            self.vim = replace(self.vim, pending=keys)
            return
        counts = [int(each[:6]) for each in (found["count"], found["again"]) if each]
        self.is_given, self.vim = bool(counts), replace(self.vim, pending="")
        count = min(_MOST, prod(counts))
        if is_visual:
            self._act_on_selection(rest, count)
        elif operator or rest in _LONGER:
            whole = operator + rest if operator else _LONGER[rest]
            self._operate(whole[0], whole[1:], count, keys)
        elif (act := _COMMANDS.get(rest[0])) is not None:
            act(self, rest, count, keys)
        elif (goal := self._goal(rest, count)) is not None:
            self.cursor = goal.at
        elif rest in ("j", "k"):
            self.effect = "down" if rest == "j" else "up"

    def _goal(self, keys: str, count: int) -> "_Goal | None":
        """Return the target of a motion; None if it has none, or is unknown."""
        if keys in (";", ",") and self.vim.found:
            how, sign = self.vim.found[0], self.vim.found[1]
            how = how.swapcase() if keys == "," else how
            return _find(self.text, self.cursor, count, how, sign, again=True)
        if keys[0] in "fFtT" and len(keys) > 1:
            self.vim = replace(self.vim, found=keys)
            return _find(self.text, self.cursor, count, keys[0], keys[1])
        motion = _MOTIONS.get(keys)
        return motion(self.text, self.cursor, count, self.is_given) if motion is not None else None

    def _operate(self, operator: str, keys: str, count: int, typed: str) -> None:
        """Delete, change or copy a motion, a text object or whole lines."""
        if keys == operator:
            last = _down(self.text, self.cursor, count - 1)
            self._apply(operator, (self.cursor, last), lines=True, typed=typed)
            return
        if keys[0] in "ia" and len(keys) > 1:
            if (span := _object(self.text, self.cursor, keys[0], keys[1])) is not None:
                self._apply(operator, span, lines=False, typed=typed)
            return
        if operator == "c" and keys in ("w", "W") and self.text[self.cursor : self.cursor + 1].strip():
            keys = "e" if keys == "w" else "E"
            # On the last character of a word, that word is changed.
            goal = _word(keys, self.text, self.cursor - 1, count, self.is_given)
        elif (found := self._goal(keys, count)) is None:
            return
        else:
            goal = found
        low, high = sorted((self.cursor, goal.at))
        if goal.takes_lines:
            self._apply(operator, (low, high), lines=True, typed=typed)
            return
        if keys in ("w", "W") and (cut := self.text.rfind("\n", low + 1, high)) > low:
            # The last word of a line does not include the line's end.
            high = cut if not self.text[cut:high].strip() else high
        self._apply(operator, (low, high + goal.takes_sign), lines=False, typed=typed)

    def _apply(self, operator: str, span: Span, *, lines: bool, typed: str) -> None:
        """Apply an operator to a part of the text; ``lines`` extends it to whole lines."""
        low, high = span
        if lines:
            low, high = _line_start(self.text, low), _line_end(self.text, high)
        low, high = self._widened(low, min(high, len(self.text)))
        if low >= high and not lines:
            if operator == "c":
                self.begin_insert(typed)
            return
        taken = self.text[low:high]
        self.vim = replace(self.vim, mode="normal", register=taken, has_lines=lines)
        if operator == "y":
            self.cursor = self.cursor if lines and low <= self.cursor <= high else low
            return
        if lines and operator == "d":
            # Including the line's end, or that of the previous line if it is the last one.
            low, high = (low, high + 1) if high < len(self.text) else (max(0, low - 1), high)
        self.text = self.text[:low] + self.text[high:]
        self.cursor = min(low, len(self.text))
        if operator == "c":
            self.begin_insert(typed)
            return
        if lines:
            self.cursor = _first_sign(self.text, self.cursor)
        self.vim = replace(self.vim, repeat=typed)

    def _widened(self, low: int, high: int) -> Span:
        """Extend a part so that it contains `whole` parts completely."""
        for start, end in self.whole:
            if low < end and start < high:
                low, high = min(low, start), max(high, end)
        return low, high

    def _act_on_selection(self, keys: str, count: int) -> None:
        if keys in _VISUAL:
            mode = _VISUAL[keys]
            self.vim = replace(self.vim, mode="normal" if self.vim.mode == mode else mode)
        elif keys == "o":
            self.cursor, self.vim = self.vim.anchor, replace(self.vim, anchor=self.cursor)
        elif keys[0] in "ia" and len(keys) > 1:
            if (span := _object(self.text, self.cursor, keys[0], keys[1])) is not None and span[1] > span[0]:
                self.vim, self.cursor = replace(self.vim, anchor=span[0]), span[1] - 1
        elif (operator := _OVER_SELECTION.get(keys)) is not None:
            lines = self.vim.mode == "visual line"
            low, high = self._selected
            # Repeating applies to the same amount of text at the cursor.
            size = self.text.count("\n", low, max(low, high - 1)) + 1 if lines else high - low
            typed = f"{size}{operator}{operator if lines else ' '}"
            self.cursor = low
            self._apply(operator, (low, max(low, high - 1) if lines else high), lines=lines, typed=typed)
            if self.vim.mode != "insert":
                self.vim = replace(self.vim, mode="normal")
        elif keys in ("~", "J"):
            low, high = self._selected
            self.vim, self.cursor = replace(self.vim, mode="normal"), low
            size = high - low if keys == "~" else self.text.count("\n", low, high) + 1
            _COMMANDS[keys](self, keys, max(1, size), f"{size}{keys}")
            self.cursor = low if keys == "~" else self.cursor
        elif (goal := self._goal(keys, count)) is not None:
            self.cursor = goal.at

    # Handlers of normal mode commands get the keys after the count, the count, and all keys.

    def insert(self, keys: str, count: int, typed: str) -> None:
        """Start inserting: here, after the cursor, or at either end of the line."""
        end = _line_end(self.text, self.cursor)
        at = {"a": min(self.cursor + 1, end), "I": _first_sign(self.text, self.cursor), "A": end}
        self.cursor = at.get(keys, self.cursor)
        self.begin_insert(typed, count)

    def open_line(self, keys: str, count: int, typed: str) -> None:
        """Insert a line below or above."""
        below = keys == "o"
        self.cursor = (_line_end if below else _line_start)(self.text, self.cursor)
        self.write("\n")
        self.cursor -= not below
        self.begin_insert(typed, 1)

    def paste(self, keys: str, count: int, typed: str) -> None:
        """Insert the register after or before the cursor."""
        taken, is_after = self.vim.register, keys == "p"
        if not taken and not self.vim.has_lines:
            return
        if self.vim.has_lines:
            at = _line_end(self.text, self.cursor) if is_after else _line_start(self.text, self.cursor)
            put = (f"\n{taken}" if is_after else f"{taken}\n") * count
            self.text = self.text[:at] + put + self.text[at:]
            self.cursor = _first_sign(self.text, at + is_after)
        else:
            self.cursor = min(self.cursor + 1, _line_end(self.text, self.cursor)) if is_after else self.cursor
            self.write(taken * count)
            self.cursor -= 1
        self.vim = replace(self.vim, repeat=typed)

    def rewrite(self, keys: str, count: int, typed: str) -> None:
        """Replace as many characters as counted, if the line has that many; or swap their case."""
        last, swaps = _line_end(self.text, self.cursor), keys == "~"
        end = min(self.cursor + count, last) if swaps else self.cursor + count
        if end > last or not self._is_free(self.cursor, end):
            return
        new = self.text[self.cursor : end].swapcase() if swaps else keys[1] * count
        self.text = self.text[: self.cursor] + new + self.text[end:]
        self.cursor += len(new) - (not swaps)
        self.vim = replace(self.vim, repeat=typed)

    def join(self, keys: str, count: int, typed: str) -> None:
        """Join the line with the next, separated by a space."""
        for _ in range(max(1, count - 1)):
            end = _line_end(self.text, self.cursor)
            if end == len(self.text):
                break
            bare, rest = self.text[:end].rstrip(" \t"), self.text[end + 1 :].lstrip(" \t")
            apart = rest[:1] not in ("", "\n", ")") and bare[-1:] not in ("", "\n")
            self.text, self.cursor = f"{bare}{' ' * apart}{rest}", len(bare)
        self.vim = replace(self.vim, repeat=typed)

    def look_closer(self, keys: str, count: int, typed: str) -> None:
        """Start selecting characters or lines."""
        self.vim = replace(self.vim, mode=_VISUAL[keys], anchor=self.cursor)

    def take_back(self, keys: str, count: int, typed: str) -> None:
        self.effect, self.times = ("undo" if keys == "u" else "redo"), count

    def again(self, keys: str, count: int, typed: str) -> None:
        """Repeat the last change; a count replaces its own."""
        repeat = self.vim.repeat
        if self.is_given:
            repeat = f"{count}{repeat.lstrip('0123456789')}"
        self.vim = replace(self.vim, pending="")
        for sign in repeat:
            self.cursor = self.cursor if self.vim.mode == "insert" else _on_a_sign(self.text, self.cursor)
            self.act(sign)
        self.vim = replace(self.vim, mode="normal", pending="", insertion=None)

    def _is_free(self, low: int, high: int) -> bool:
        return (
            low < high
            and self._widened(low, high) == (low, high)
            and not any(low <= start and end <= high for start, end in self.whole)
        )


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    """Return the offset of the line's end, which belongs to the line."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _first_sign(text: str, at: int) -> int:
    start, end = _line_start(text, at), _line_end(text, at)
    line = text[start:end]
    return start + len(line) - len(line.lstrip(" \t"))


def _on_a_sign(text: str, at: int) -> int:
    """Return the cursor of normal mode, which is on a character and not after the last one of a line."""
    at = min(max(at, 0), len(text))
    start, end = _line_start(text, at), _line_end(text, at)
    return max(start, end - 1) if at >= end else at


_WORDS = {False: r"\w+|[^\w\s]+", True: r"\S+"}
"""Patterns of words: characters of one kind, or everything that is not white space."""


class _Goal(NamedTuple):
    """The target of a motion, and what an operator includes."""

    at: int
    takes_sign: bool = False
    """Whether the character at the target is included."""
    takes_lines: bool = False


_Motion = Callable[[str, int, int, bool], _Goal | None]


def _down(text: str, at: int, count: int) -> int:
    """Return the same column some lines below, or above for a negative count, within the text."""
    column = at - _line_start(text, at)
    for _ in range(abs(count)):
        start = _line_end(text, at) + 1 if count > 0 else _line_start(text, at) - 1
        if not 0 <= start <= len(text):
            break
        at = start
    start = _line_start(text, at)
    return min(start + column, max(start, _line_end(text, at) - 1))


def _lines(step: int, text: str, at: int, count: int, _given: bool) -> _Goal | None:
    is_last = _line_end(text, at) == len(text) if step > 0 else _line_start(text, at) == 0
    return None if is_last else _Goal(_down(text, at, step * count), takes_lines=True)


def _line_number(text: str, number: int) -> _Goal:
    starts = [0, *(place.end() for place in re.finditer("\n", text))]
    return _Goal(_first_sign(text, starts[min(max(1, number), len(starts)) - 1]), takes_lines=True)


def _word(key: str, text: str, at: int, count: int, _given: bool) -> _Goal:
    """Move to the start of a word or an empty line with ``w`` and ``b``, to the end of a word with ``e``."""
    end, back = key in "eE", key in "bB"
    found = re.finditer(_WORDS[key.isupper()] + ("" if end else r"|(?<=\n)(?=\n)"), text)
    places = [each.end() - 1 if end else each.start() for each in found]
    ahead = [place for place in reversed(places) if place < at] if back else [p for p in places if p > at]
    beyond = 0 if back else max(0, len(text) - end)
    return _Goal(ahead[count - 1] if count <= len(ahead) else beyond, takes_sign=end)


def _find(text: str, at: int, count: int, how: str, sign: str, *, again: bool = False) -> _Goal | None:
    """Find a character in the cursor's line: ``f`` on it, ``t`` before it, backwards with F and T."""
    forward, stops_short = how.islower(), how in "tT"
    low, high = _line_start(text, at), _line_end(text, at)
    place = at + (1 if forward else -1) * (again and stops_short)
    for _ in range(count):
        place = text.find(sign, place + 1, high) if forward else text.rfind(sign, low, max(low, place))
        if place < 0:
            return None
    if stops_short:
        place -= 1 if forward else -1
    return _Goal(place, takes_sign=forward)


_MOTIONS: Mapping[str, _Motion] = {
    "h": lambda text, at, count, given: _Goal(max(_line_start(text, at), at - count)),
    "l": lambda text, at, count, given: _Goal(min(_line_end(text, at), at + count)),
    " ": lambda text, at, count, given: _Goal(min(len(text), at + count)),
    "j": partial(_lines, 1),
    "k": partial(_lines, -1),
    **{key: partial(_word, key) for key in "wWbBeE"},
    "0": lambda text, at, count, given: _Goal(_line_start(text, at)),
    "^": lambda text, at, count, given: _Goal(_first_sign(text, at)),
    "_": lambda text, at, count, given: _Goal(_first_sign(text, at)),
    "$": lambda text, at, count, given: _Goal(_line_end(text, _down(text, at, count - 1))),
    "gg": lambda text, at, count, given: _line_number(text, count),
    "G": lambda text, at, count, given: _line_number(text, count if given else len(text) + 1),
}
_COMMANDS: Mapping[str, Callable[[Pressed, str, int, str], None]] = {
    **dict.fromkeys("iaIA", Pressed.insert),
    **dict.fromkeys("oO", Pressed.open_line),
    **dict.fromkeys("pP", Pressed.paste),
    **dict.fromkeys("vV", Pressed.look_closer),
    **dict.fromkeys(("u", REDO), Pressed.take_back),
    **dict.fromkeys("r~", Pressed.rewrite),
    "J": Pressed.join,
    ".": Pressed.again,
}


def _object(text: str, at: int, which: str, what: str) -> Span | None:
    """Return the word, quotation or brackets around the cursor: ``i`` inside, ``a`` with delimiters."""
    if what in ("w", "W"):
        return _word_object(text, at, around=which == "a", big=what == "W")
    if what in "\"'`":
        return _quoted(text, at, what, around=which == "a")
    if what in _BRACKETS:
        return _bracketed(text, at, *_BRACKETS[what], around=which == "a")
    return None


def _word_object(text: str, at: int, *, around: bool, big: bool) -> Span | None:
    start, end = _line_start(text, at), _line_end(text, at)
    runs = [found.span() for found in re.compile(rf"{_WORDS[big]}|\s+").finditer(text, start, end)]
    place = next((place for place, (_, high) in enumerate(runs) if high > min(at, end - 1)), None)
    if place is None:
        return None
    low, high = runs[place]
    is_blank = [text[first].isspace() for first, _ in runs]
    if around and (is_blank[place] or any(is_blank[place + 1 : place + 2])) and place + 1 < len(runs):
        high = runs[place + 1][1]
    elif around and place and is_blank[place - 1]:
        low = runs[place - 1][0]
    return low, high


def _quoted(text: str, at: int, sign: str, *, around: bool) -> Span | None:
    start, end = _line_start(text, at), _line_end(text, at)
    places = [start + place.start() for place in re.finditer(rf"(?<!\\){sign}", text[start:end])]
    for low, high in zip(places[::2], places[1::2], strict=False):
        if at <= high:
            if not around:
                return low + 1, high
            blanks = len(text[high + 1 : end]) - len(text[high + 1 : end].lstrip(" \t"))
            return low, high + 1 + blanks
    return None


def _bracketed(text: str, at: int, left: str, right: str, *, around: bool) -> Span | None:
    """Return the innermost brackets: the first closed pair around the cursor."""
    opened: list[int] = []
    for high, sign in enumerate(text):
        if sign == left:
            opened.append(high)
        elif sign == right and opened and (low := opened.pop()) <= at <= high:
            return (low, high + 1) if around else (low + 1, high)
    return None
