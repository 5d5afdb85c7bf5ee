"""Text can be read on every ground that the themes paint."""

import pytest
from textual.color import Color
from textual.theme import Theme

from tui_app.ui.themes import THEMES

TEXTS = (
    "foreground", "text-muted", "text-disabled", "text-accent", "text-warning", "text-error", "text-success",
    "footer-key-foreground",
)  # fmt: skip
GROUNDS = ("background", "surface", "panel", "block-cursor-background", "block-cursor-blurred-background")


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
    colours = theme.to_color_system().generate()
    for text in TEXTS:
        assert contrast(Color.parse(colours[text]), Color.parse(colours[ground])) >= 4.5, text
