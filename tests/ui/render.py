"""What stands on the screen: text with the two colours it is painted in."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich.color import Color as RichColor
from textual.app import App
from textual.color import Color


@dataclass(frozen=True)
class Run:
    """A piece of a row in one style."""

    text: str
    fore: Color
    back: Color
    y: int
    x: int

    @property
    def says_something(self) -> bool:
        """Whether it holds letters or signs that are read, rather than lines and bars."""
        return any(sign.isalnum() or sign in "?!/+%" for sign in self.text)


def runs(app: "App[Any]") -> Iterator[Run]:
    """All text on the screen, with its colours as they reach the terminal."""
    for y, strip in enumerate(app.screen._compositor.render_strips()):
        x = 0
        for segment in strip:
            if segment.style is not None and segment.text.strip():
                style = segment.style
                fore, back = _colour(style.color, app), _colour(style.bgcolor, app)
                if style.reverse:
                    fore, back = back, fore
                if style.dim:
                    fore = fore.blend(back, 0.5)
                yield Run(segment.text, fore, back, y, x)
            x += segment.cell_length


def _colour(colour: RichColor | None, app: "App[Any]") -> Color:
    assert colour is not None, "every cell is painted"
    assert not colour.is_default, "every cell has a colour of the theme"
    return Color(*colour.get_truecolor(app.ansi_theme))
