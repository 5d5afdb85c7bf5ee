"""Plain mode: same width, ASCII signs, scroll bars; and themes with readable text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.theme import Theme

from tui_app.ui.colours.themes import THEMES
from tui_app.ui.widgets.scroll_bars import PlainBars
from tui_app.ui.widgets.widgets import DRAWING, SIGNS

# Lines in plain mode: same width, our signs in ASCII, everything else unchanged.


BLACK = Color(0, 0, 0)


def painted(*parts: str) -> str:
    segments = SIGNS.apply([Segment(part) for part in parts], BLACK)
    assert [cell_len(each.text) for each in segments] == [cell_len(part) for part in parts]
    return "".join(each.text for each in segments)


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("71% of 128k · ~91.5k · ok", "71% of 128k - ~91.5k - ok"),
        ("91.5k → 6.2k", "91.5k > 6.2k"),
        ("12\u00a0tok", "12 tok"),
        ("reading …    ", "reading ...  "),
        ("and the rest of i…", "and the rest of..."),
        ("and the rest of i…  ", "and the rest of...  "),
        ("loading the window …  ", "loading the window ..."),
        ("and the rest… 12:04", "and the re... 12:04"),
        ("12:04   … found here", "12:04 ... found here"),
        ("Here … is", "Here … is"),
        ("船舶…", "船舶…"),
        ("…", "…"),
    ],
)
def test_signs(line: str, plain: str) -> None:
    assert painted(line) == plain
    assert painted(*line) == plain, "wherever a style ends"


@given(st.lists(st.text(alphabet="a b…·→├⠋船\u0301", max_size=9), max_size=5))
def test_a_line_keeps_its_width(parts: list[str]) -> None:
    painted(*parts)
    drawn = DRAWING.apply([Segment(part) for part in parts], BLACK)
    assert [cell_len(each.text) for each in drawn] == [cell_len(part) for part in parts]
    assert not set("├⠋") & set("".join(each.text for each in drawn))


# Scroll bars in plain mode.


@pytest.mark.parametrize("vertical", [True, False])
@pytest.mark.parametrize("position", [0, 3, 7.3, 41, 60])
def test_no_block_sign_is_drawn(position: float, *, vertical: bool) -> None:
    drawn = PlainBars.render_bar(17, 77, 17, position, vertical=vertical)
    cells = [segment for segment in drawn.segments if isinstance(segment, Segment)]
    assert {sign for segment in cells for sign in segment.text} <= {" ", "\n"}
    assert any(segment.style is not None and segment.style.reverse for segment in cells), "it is seen"


# Text is readable on every background that the themes use.


TEXTS = (
    "foreground", "text-muted", "text-disabled", "text-accent", "text-warning", "text-error", "text-success",
    "footer-key-foreground",
)  # fmt: skip
GROUNDS = ("background", "surface", "panel", "block-cursor-background", "block-cursor-blurred-background")


def colours_of(theme: Theme) -> dict[str, str]:
    """Colours as the app passes them to its styles: names of the theme take precedence."""
    return {**theme.to_color_system().generate(), **theme.variables}


def luminance(color: Color) -> float:
    def linear(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.03928 else ((share + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


def contrast(one: Color, other: Color) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
@pytest.mark.parametrize("ground", GROUNDS)
def test_contrast_is_at_least_four_and_a_half(theme: Theme, ground: str) -> None:
    colours = colours_of(theme)
    for text in TEXTS:
        assert contrast(Color.parse(colours[text]), Color.parse(colours[ground])) >= 4.5, text


PAGE = ("background", "panel", "surface")
LISTED = (*PAGE, "block-cursor-background")
CHANGED = ("added-row", "removed-row")
USED: tuple[tuple[tuple[str, ...], tuple[str, ...], float], ...] = (
    (("foreground",), (*LISTED, *CHANGED), 7),
    (("text-muted",), (*LISTED, *CHANGED), 4.5),
    (("text-faint",), (*PAGE, *CHANGED), 3),
    (("accent", "text-accent", "code-inline", "text-warning", "text-error", "text-success"), LISTED, 4.5),
    (("accent-soft", "warning", "error"), PAGE, 3),
    (("added",), ("panel", "surface", "added-row"), 4.5),
    (("removed",), ("panel", "surface", "removed-row"), 4.5),
    (("syn-keyword", "syn-string", "syn-number"), (*PAGE, *CHANGED), 4.5),
    (("rail-seen",), ("background",), 3),
    (
        tuple(
            f"kind-{name}"
            for name in ("system", "tools", "memory", "summary", "you", "answers", "calls", "results")
        ),
        ("background",),
        3,
    ),
)
"""Every colour on every background it is used on, with the minimum contrast: 4.5 for words, 7 for body text,
3 for lines and small figures.
"""


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_every_colour_keeps_its_contrast_on_every_ground_it_is_used_on(theme: Theme) -> None:
    colours = colours_of(theme)
    faint = [
        (name, ground, ratio)
        for names, grounds, least in USED
        for name in names
        for ground in grounds
        if (ratio := contrast(Color.parse(colours[name]), Color.parse(colours[ground]))) < least
    ]
    assert faint == []
