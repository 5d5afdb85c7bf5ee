"""How well one colour can be told from another (WCAG 2.2, "contrast ratio")."""

from textual.color import Color

MIN_CONTRAST = 4.5
"""Ratio that WCAG 2.2 (1.4.3, level AA) asks for text."""


def contrast(one: Color, other: Color) -> float:
    """The ratio of two opaque colours, from 1 (the same) to 21 (black and white)."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
