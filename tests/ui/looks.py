"""Looks: whole screens stored as text with styles. The main ones are also stored as SVG.

See ``test_app_snapshots``. A file of ``tests/ui/app/looks`` has the looks of one test module. A look consists
of the state's name, size and themes, the lines of the screen, a legend of styles, and for each row how many
columns each style covers::

    ━━━ error 80x24 dark light
    |Hello there
    a foreground on background
    b #8ea2b3/#526573 on panel bold
    1 a5 b6 a69
    2-24 a80

Colours are named by their role in the theme; a colour without a role is written out, per theme if they
differ. A blank gets the style of the character before it if that looks the same.

``--update-looks`` stores the current screens: read the diff before you commit it.
"""

import difflib
import fcntl
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count, groupby, zip_longest
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from rich.cells import cell_len
from rich.color import Color as RichColor
from rich.style import Style
from textual._context import visible_screen_stack
from textual.app import App
from textual.pilot import Pilot
from textual.strip import Strip

from tests.ui.kit import USUAL, WIDE, Deck, unpainted
from tui_app.ui.colours.themes import THEMES

LOOKS = Path(__file__).parent / "app" / "looks"
BOTH = ("dark", "light")
ROLES = (
    *("foreground", "background", "surface", "panel", "primary", "secondary", "warning", "error", "success"),
    *dict.fromkeys(name for theme in THEMES for name in theme.variables),
)
"""Role names of colours; of roles with the same colour the first is used."""
MARKS = (
    "bold",
    "dim",
    "italic",
    "underline",
    "underline2",
    "strike",
    "overline",
    "reverse",
    "blink",
    "conceal",
)
DRAWN = ("underline", "underline2", "strike", "overline", "reverse")
"""Attributes that are visible on a blank."""
HEAD, LINE = "━━━ ", "|"
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_HEAD = re.compile(f"^{HEAD}", re.MULTILINE)
_RUN = re.compile(r"([A-Za-z]+)(\d+)")

Look = Callable[..., Awaitable[None]]
"""``look(story, scene, sizes, themes)`` of a test."""
sizes = pytest.mark.parametrize("size", [WIDE, USUAL], ids=["120x40", "80x24"])
"""For looks that depend on the size in which the screen was laid out before."""
Styles = tuple[Style, ...]
Run = tuple[str, int]
"""A style and the number of columns it covers."""


@dataclass(frozen=True)
class Screen:
    """The look of a screen: its lines, and the runs of each line."""

    lines: tuple[str, ...]
    rows: tuple[tuple[Run, ...], ...]
    legend: Mapping[str, str]
    """The letter of each style in the file."""

    @classmethod
    def of(cls, screens: "Sequence[Painted]", legend: Mapping[str, str]) -> "Screen":
        """Combine a screen's paintings in several themes: the same text, with styles named per theme.

        A style keeps the letter that it has in ``legend``.
        """
        first = screens[0]
        for other in screens[1:]:
            assert other.lines == first.lines, "text differs between themes:\n" + "\n".join(
                difflib.unified_diff(first.lines, other.lines, lineterm="", n=0)
            )
        named = cache(lambda styles, blank: _named(styles, blank, screens))
        rows = tuple(
            tuple(_runs(zip(*cells, strict=True), named))
            for cells in zip(*(screen.cells for screen in screens), strict=True)
        )
        used = dict.fromkeys(style for runs in rows for style, _ in runs)
        letters = {style: legend[style] for style in used if style in legend}
        free = (letter for letter in _letters() if letter not in letters.values())
        letters.update((style, next(free)) for style in used if style not in letters)
        return cls(tuple(line.rstrip(" ") for line in first.lines), rows, letters)

    @classmethod
    def read(cls, text: str) -> "Screen":
        lines: list[str] = []
        styles: dict[str, str] = {}
        rows: list[tuple[Run, ...]] = []
        for line in text.splitlines():
            head, _, rest = line.partition(" ")
            if line.startswith(LINE):
                lines.append(line[len(LINE) :])
            elif head.isalpha():
                styles[head] = rest
            elif head:
                first, _, last = head.partition("-")
                runs = tuple((styles[letter], int(width)) for letter, width in _RUN.findall(rest))
                rows += [runs] * (int(last or first) - int(first) + 1)
        return cls(tuple(lines), tuple(rows), {style: letter for letter, style in styles.items()})

    def write(self) -> str:
        out = [LINE + line for line in self.lines]
        out += [f"{letter} {style}" for letter, style in sorted((v, k) for k, v in self.legend.items())]
        for runs, group in groupby(enumerate(self.rows, 1), key=lambda row: row[1]):
            numbers = [number for number, _ in group]
            place = f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}"
            out.append(" ".join((place, *(f"{self.legend[style]}{width}" for style, width in runs))))
        return "\n".join(out) + "\n"

    def changes(self, now: "Screen") -> list[str]:
        """Differences: lines of text first, then styles by position."""
        out = list(difflib.unified_diff(self.lines, now.lines, "kept", "now", lineterm="", n=1))
        for number, (kept, painted) in enumerate(zip_longest(self.rows, now.rows, fillvalue=()), 1):
            if kept != painted:
                line = now.lines[number - 1] if number <= len(now.lines) else ""
                out += (f"row {number}, {change}" for change in _restyled(kept, painted, line))
        return out


@dataclass(frozen=True)
class Painted:
    """The screen in one theme, cell by cell."""

    lines: tuple[str, ...]
    cells: tuple[tuple[tuple[str, Style], ...], ...]
    """Character and style of each column; the cell after a double-width character is empty."""
    roles: Mapping[str, str]

    @classmethod
    def now(cls, app: "App[Any]") -> "Painted":
        rows = []
        for strip in _strips(app):
            row: list[tuple[str, Style]] = []
            for segment in strip:
                style = segment.style or Style.null()
                for sign in segment.text:
                    if width := cell_len(sign):
                        row += [(sign, style), *[("", style)] * (width - 1)]
                    else:
                        row[-1] = (row[-1][0] + sign, row[-1][1])
            rows.append(tuple(row))
        lines = tuple("".join(sign for sign, _ in row) for row in rows)
        values = app.theme_variables
        return cls(lines, tuple(rows), {name: values.get(name, "").lower() for name in ROLES})


def _letters() -> Iterator[str]:
    yield from LETTERS
    for number in count():
        yield LETTERS[number // len(LETTERS)] + LETTERS[number % len(LETTERS)]


def _runs(
    row: "Iterator[tuple[tuple[str, Style], ...]]", named: Callable[[Styles, bool], str]
) -> Iterator[Run]:
    """The runs of a row; a cell's style combines all themes."""
    covered: list[str] = []
    before: Styles = ()
    cells = ((tuple(style for _, style in cell), cell[0][0] == " ") for cell in row)
    for (styles, space), group in groupby(cells):
        blank = space and not any(map(_drawn, styles))
        if not (blank and before and all(map(_alike_on_blanks, before, styles))):
            before, style = styles, named(styles, blank)
        covered += [style for _ in group]
    for style, run in groupby(covered):
        yield style, sum(1 for _ in run)


@cache
def _drawn(style: Style) -> bool:
    return any(getattr(style, mark) for mark in DRAWN)


def _alike_on_blanks(one: Style, other: Style) -> bool:
    return one.bgcolor == other.bgcolor and not _drawn(one)


def _named(styles: Styles, blank: bool, screens: Sequence[Painted]) -> str:
    """A style as ``colour on colour attributes``."""
    ground = f"on {_colour([style.bgcolor for style in styles], screens)}"
    if blank:
        return ground
    marks = ["+".join(mark for mark in MARKS if getattr(style, mark)) for style in styles]
    told = ["/".join(mark or "plain" for mark in dict.fromkeys(marks))] if any(marks) else []
    return " ".join((_colour([style.color for style in styles], screens), ground, *told))


def _colour(colours: Sequence[RichColor | None], screens: Sequence[Painted]) -> str:
    values = [
        "default" if colour is None else colour.triplet.hex if colour.triplet else colour.name
        for colour in colours
    ]
    for role in ROLES:
        if all(screen.roles[role] == value for screen, value in zip(screens, values, strict=True)):
            return role
    return "/".join(dict.fromkeys(values))


def _restyled(kept: Sequence[Run], now: Sequence[Run], line: str) -> Iterator[str]:
    """The parts of a row whose style changed."""
    cells = zip_longest(*([style for style, width in runs for _ in range(width)] for runs in (kept, now)))
    at = 0
    for (was, is_now), group in groupby(cells):
        width = sum(1 for _ in group)
        if was != is_now:
            yield f"columns {at + 1} to {at + width} {line[at : at + width]!r}: {is_now}, was {was}"
        at += width


_LOOKS_ALIKE = 4


def _strips(app: "App[Any]") -> list[Strip]:
    """Strips of the screen and those below it, which Textual would otherwise leave empty from then on."""
    token = visible_screen_stack.set(app._background_screens)
    try:
        return app.screen._compositor.render_strips()
    finally:
        visible_screen_stack.reset(token)


@contextmanager
def painted_below() -> Iterator[None]:
    """Paint a screen once when another one opens above it."""
    push = App.push_screen

    def painted_and_pushed(app: "App[Any]", *screen: Any, **named: Any) -> Any:
        if app.screen_stack:
            app.screen._compositor.render_strips()
        return push(app, *screen, **named)

    with mock.patch.object(App, "push_screen", painted_and_pushed):
        yield


async def steady(pilot: Pilot[Any]) -> None:
    """Wait until several paintings in a row are equal, colours included: results of threads arrive later."""
    # A painting without the screens below leaves empty cells there.
    pilot.app.screen.refresh()
    same, strips = 0, _strips(pilot.app)
    while same < _LOOKS_ALIKE:
        await pilot.pause(0.01)
        before, strips = strips, _strips(pilot.app)
        same = same + 1 if strips == before else 0


def kept_looks(file: Path) -> dict[str, str]:
    """The looks in a file, by header line."""
    parts = (part.partition("\n") for part in _HEAD.split(file.read_text(encoding="utf-8"))[1:])
    return {head: body.rstrip("\n") + "\n" for head, _, body in parts}


class Looks:
    """Compares the app with its stored looks, or stores its current ones."""

    def __init__(self, file: Path, state: str, *, update: bool) -> None:
        self.file = file
        self.state = state
        self.update = update

    async def __call__(
        self,
        app: "App[Any]",
        play: Callable[[Deck], Awaitable[None]] | None = None,
        sizes: Sequence[tuple[int, int]] = (WIDE, USUAL),
        themes: Sequence[str] = BOTH,
    ) -> None:
        """Run an app and a scene, then compare or store its look in each size and theme."""
        async with app.run_test(size=sizes[0], tooltips=True, notifications=True) as pilot:
            if play is not None:
                with unpainted(), painted_below():
                    await play(Deck(app, pilot))
            for size in sizes:
                if app.size != size:
                    await pilot.resize_terminal(*size)
                screens = []
                for theme in themes:
                    app.theme = f"plimsoll-{theme}"
                    await pilot.pause()
                    await pilot.wait_for_scheduled_animations()
                    # A thread lays out long texts, again for each theme.
                    laying = [worker for worker in app.workers if worker.group == "wrap"]
                    if laying:
                        await app.workers.wait_for_complete(laying)
                    await steady(pilot)
                    screens.append(Painted.now(app))
                self.compare(f"{self.state} {size[0]}x{size[1]} {' '.join(themes)}", screens)

    def compare(self, head: str, screens: Sequence[Painted]) -> None:
        kept = kept_looks(self.file) if self.file.exists() else {}
        before = Screen.read(kept.get(head, ""))
        now = Screen.of(screens, before.legend)
        if self.update:
            self.keep(head, now)
        elif changes := before.changes(now):
            pytest.fail("\n".join((f"{head} in {self.file.name} looks different:", *changes)), pytrace=False)

    def keep(self, head: str, now: Screen) -> None:
        """Write a look to its file, safely with other processes writing to the same file."""
        with (LOOKS.parent / "conftest.py").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            kept = kept_looks(self.file) if self.file.exists() else {}
            kept[head] = now.write()
            self.file.parent.mkdir(exist_ok=True)
            text = "\n".join(f"{HEAD}{each}\n{kept[each]}" for each in sorted(kept))
            self.file.write_text(text, encoding="utf-8")
