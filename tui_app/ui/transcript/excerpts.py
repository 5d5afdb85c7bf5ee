"""Clipped and split texts: what is shown of huge texts, and counts of what is left out."""

import re
from collections.abc import Callable

from tui_app.records import frozen
from tui_app.text import count

COUNTED_CHARS = 1_000_000
"""Characters: in a longer text lines are not counted."""

MAX_ARGS_CHARS = 500_000
"""Characters: longer arguments are shown unformatted."""


def clip(
    text: str, max_chars: int, max_lines: int | None, *, wash: Callable[[str], str] = str
) -> tuple[str, str, str]:
    """Keep the first three quarters of a budget and the last quarter.

    Args:
        text: Any text.
        max_chars: Budget in characters.
        max_lines: Budget in lines, or None for no limit.
        wash: Cleans a text; applied only to what is kept, because megabytes would take longer than a frame.

    Returns:
        Head, a note that counts what is left out, tail; note and tail are empty if everything fits.
    """
    first, last = max_chars * 3 // 4, max_chars // 4
    cut = max(0, len(text) - first - last) if len(text) > max_chars else 0
    head, tail = (wash(text[:first]), wash(text[-last:])) if cut else (wash(text), "")
    text = text if cut else head
    chars, lines = cut + len(head) + len(tail), head.split("\n")
    if max_lines is not None and (cut or len(lines) > max_lines):
        head = "\n".join(lines[: max_lines * 3 // 4])
        tail = "\n".join((tail.split("\n") if cut else lines)[-(max_lines // 4) :])
    chars -= len(head) + len(tail)
    counted = chars and max_lines is not None and len(text) <= COUNTED_CHARS
    missing = text.count("\n") - head.count("\n") - tail.count("\n") if counted else 0
    number, thing = chars, "character"
    # For very long lines a line count would be misleading, so characters are counted.
    if missing > 1 and chars <= missing * _LONGEST_LINE:
        number, thing = missing - 1, "line"
    verb = "is" if number == 1 else "are"
    return head, f"{count(number, f'more {thing}')} {verb} not shown" if chars else "", tail


_LONGEST_LINE = 500
"""Average characters per line up to which the missing part is counted in lines."""


def readable_args(args: str) -> str:
    """Write the arguments of a call as ``name: value`` lines, with strings unquoted."""
    import json  # after the first frame

    try:
        values = json.loads(args) if len(args) <= MAX_ARGS_CHARS else None
    except (ValueError, RecursionError):
        return args
    if not isinstance(values, dict):
        return args
    lines = []
    for name, value in values.items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines.append(f"{name}: {shown}" if "\n" not in shown else f"{name}: \n{shown}")
    return "\n".join(lines)


@frozen
class Excerpt:
    """The part of a text around a hit that is too far inside to be painted."""

    text: str
    at: int
    """Offset of the hit in the excerpt."""
    offset: int
    """Offset of the hit in the whole text."""
    length: int
    """Length of the whole text in characters."""


SOFT_CHARS = 200
"""Characters from which a piece ends at the next possible place."""

FENCE_CHARS = 1_200
"""Characters per piece of fenced code, the most expensive to lay out because it is highlighted."""

FENCE_LINES = 40

TABLE_LINES = 30

LIST_COST = 3_600

TEXT_COST = 6_000
"""Limits in characters, where a character that may begin inline markup counts as nine."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")

_TABLE_RULE = re.compile(r" {0,3}\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?\s*$")

_ITEM = re.compile(r"[-*+]\s|\d{1,9}[.)]\s")

_SIGN = re.compile(r"[*_`\[\]!<&~>]")

_SIGN_COST = 8

_MAX_CARRY = 400
"""Longest table head or fence line, in characters, that is repeated in the next piece."""

_NEAR_SPACE = 80


class Splitter:
    """Cuts a growing Markdown text into pieces, independent of how it is chunked."""

    def __init__(self) -> None:
        self.sealed: list[tuple[str, bool]] = []
        """Finished pieces: text, and whether a blank line precedes it."""
        self._lines: list[str] = []
        self._chars = 0
        self._cost = 0
        self._partial = ""
        self._gap = False
        self._fence = ""
        self._fence_line = ""
        self._table_head = ""
        self._in_list = False
        self._blank_before = False

    def feed(self, text: str) -> None:
        """Add text; complete lines are assigned to pieces at once."""
        *complete, rest = (self._partial + text).split("\n")
        for line in complete:
            self._add(self._cut(line) + "\n")
        self._partial = self._cut(rest)

    @property
    def open(self) -> tuple[str, bool]:
        """The piece that may still change: text, and whether a blank line precedes it."""
        return "".join(self._lines) + self._partial, self._gap

    def pieces(self) -> list[tuple[str, bool]]:
        """Return all pieces, including the open one if it is not empty."""
        text, gap = self.open
        return [*self.sealed, (text, gap)] if text.strip() else list(self.sealed)

    def _cut(self, line: str) -> str:
        """Add the pieces of an overlong line that are complete, and return the rest."""
        limit = FENCE_CHARS if self._fence else TEXT_COST
        start = 0
        while len(line) - start > limit // (_SIGN_COST + 1):
            # One character more than the limit allows is enough to see whether the line must be cut.
            head = line[start : start + limit + 1]
            end = _affordable(head, limit)
            if end == len(head):
                break
            self._add(head[:end])
            start += end
        return line[start:]

    def _add(self, line: str) -> None:
        blank = not line.strip()
        item = _ITEM.match(line) is not None and not self._fence
        cost = len(line) if self._fence else len(line) + _SIGN_COST * len(_SIGN.findall(line))
        if self._chars >= SOFT_CHARS and not self._fence and not blank:
            if self._in_list and item:
                self._seal(gap=False)
            elif self._blank_before and not line[0].isspace() and not item:
                self._seal(gap=True)
        if self._fence:
            full = self._chars + cost > FENCE_CHARS or len(self._lines) >= FENCE_LINES
        elif self._table_head:
            full = len(self._lines) >= TABLE_LINES
        else:
            full = self._cost + cost > (LIST_COST if self._in_list else TEXT_COST)
        if self._lines and full:
            self._seal(gap=self._blank_before and not self._fence and not self._in_list)
        self._track(line, item=item, blank=blank)
        self._lines.append(line)
        self._chars += len(line)
        self._cost += cost
        self._blank_before = blank

    def _seal(self, *, gap: bool) -> None:
        text = "".join(self._lines)
        carry = ""
        if self._fence:
            carry, text = self._fence_line, f"{text.rstrip(chr(10))}\n{self._fence}\n"
        elif self._table_head and not gap:
            carry = self._table_head
        if text.strip():
            self.sealed.append((text, self._gap))
        self._gap = gap
        self._lines = [carry] if 0 < len(carry) <= _MAX_CARRY else []
        self._chars = self._cost = sum(map(len, self._lines))

    def _track(self, line: str, *, item: bool, blank: bool) -> None:
        match = _FENCE.match(line)
        if self._fence:
            if match and match[1].startswith(self._fence) and not match[2].strip():
                self._fence = ""
            return
        if match and not (match[1][0] == "`" and "`" in match[2]):
            self._fence, self._fence_line = match[1], line
        if "|" not in line:
            self._table_head = ""
        elif _TABLE_RULE.match(line) and self._lines and "|" in self._lines[-1]:
            self._table_head = self._lines[-1] + line
        if item:
            self._in_list = True
        elif self._blank_before and not blank and not line[0].isspace():
            self._in_list = False


def _affordable(line: str, limit: int) -> int:
    """Return where to cut a line: at a space near the end of what the limit allows."""
    end = limit
    for number, sign in enumerate(_SIGN.finditer(line), start=1):
        if sign.start() + number * _SIGN_COST >= limit:
            end = min(end, sign.start() + 1)
            break
        end = limit - number * _SIGN_COST
    if end >= len(line):
        return len(line)
    end = max(1, end)
    space = line.rfind(" ", max(1, end - _NEAR_SPACE), end)
    return space + 1 if space > 0 else end


def split_markdown(text: str) -> list[tuple[str, bool]]:
    """Cut a complete text into the same pieces as feeding it in chunks."""
    splitter = Splitter()
    splitter.feed(text)
    return splitter.pieces()
