"""Tokens of a picture, by the vendor of the model."""

import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from math import ceil, floor, sqrt

from tui_app.system.pictures import size_of

IMAGE_TOKENS = 1_200
"""An image of about a megapixel, of an unknown size or for a model with an unknown rule."""

Rule = Callable[[int, int], int]
"""Tokens of a picture by its width and height in pixels."""


def picture_tokens(data: bytes, model: str) -> int:
    """Return the tokens of a picture as its model's vendor counts them.

    The rules are those that the vendors publish (read in November 2026, in part as quoted by others):
    Anthropic, *Vision* (platform.claude.com); OpenAI, *Images and vision*, for the detail ``auto``, which is
    what is sent (developers.openai.com); Google, *Image understanding* and *Media resolution*
    (ai.google.dev); Mistral, *Images* of mistral-common, with the sizes in its models' configurations.

    Args:
        data: The picture as it is sent.
        model: Name of the model, with or without provider prefixes.
    """
    rule = _rule_of(model)
    size = size_of(data) if rule is not None else None
    return IMAGE_TOKENS if rule is None or size is None else max(1, rule(*size))


def _claude(edge: int, most: int, width: int, height: int) -> int:
    """Count patches of 28 pixels, after scaling down until neither side nor their number is too large."""

    def patches(long: int) -> tuple[int, int]:
        short = max(1, round(long * min(width, height) / max(width, height)))
        return ceil(long / 28), ceil(short / 28)

    def fits(long: int) -> bool:
        along, across = patches(long)
        return along * 28 <= edge and along * across <= most

    low, high = 1, max(width, height) + 1
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    along, across = patches(low)
    return along * across


def _patches(times: str, edge: int, most: int, width: int, height: int) -> int:
    """Count OpenAI's patches of 32 pixels, times a factor, after scaling to a maximum side and count."""
    shrink = min(1.0, edge / max(width, height))
    wide, high = max(1, round(width * shrink)), max(1, round(height * shrink))
    if most and ceil(wide / 32) * ceil(high / 32) > most:
        shrink = sqrt(32**2 * most / (wide * high))
        across, down = wide * shrink / 32, high * shrink / 32
        shrink *= min(floor(across) / across, floor(down) / down) or 1.0
        wide, high = max(1, int(wide * shrink)), max(1, int(high * shrink))
    return ceil(ceil(wide / 32) * ceil(high / 32) * Fraction(times))


def _tiles(base: int, tile: int, width: int, height: int) -> int:
    """Count OpenAI's tiles of 512 pixels, after scaling to at most 2,048 by 768."""
    shrink = min(1.0, 2_048 / max(width, height))
    shrink *= min(1.0, 768 / (min(width, height) * shrink))
    return base + tile * ceil(int(width * shrink) / 512) * ceil(int(height * shrink) / 512)


def _gemini(width: int, height: int) -> int:
    """Count Google's tiles before Gemini 3: two thirds of the short side each, but 256 to 768 pixels."""
    unit = 384 if max(width, height) <= 384 else min(768, max(256, int(min(width, height) / 1.5)))
    return 258 * ceil(width / unit) * ceil(height / unit)


def _mistral(patch: int, edge: int, width: int, height: int) -> int:
    """Count Mistral's patches, with a token at the end of each row."""
    shrink = min(1.0, edge / max(width, height))
    wide, high = round(width * shrink), round(height * shrink)
    return (ceil(wide / patch) + 1) * max(1, ceil(high / patch))


_CLAUDE = re.compile(r"claude.*?(\d{1,2})(?:[.-](\d{1,2}))?(?!\d)")

_SHARP_CLAUDE = (4, 7)
"""Version from which on Claude sees more than 1,568 pixels."""

_RULES: tuple[tuple[str, Rule], ...] = (
    (r"gpt-4o-mini", partial(_tiles, 2_833, 5_667)),
    (r"gpt-4\.1-mini", partial(_patches, "1.62", 2_048, 6_144)),
    (r"gpt-4\.1-nano", partial(_patches, "2.46", 2_048, 1_536)),
    (r"gpt-4(o|\.1|\.5|-turbo)|chatgpt-4o", partial(_tiles, 85, 170)),
    (r"o4-mini", partial(_patches, "1.72", 2_048, 1_536)),
    (r"o[13](?![\d.])", partial(_tiles, 75, 150)),
    (r"gpt-5-mini", partial(_patches, "1.2", 2_048, 1_536)),
    (r"gpt-5-nano", partial(_patches, "1.5", 2_048, 1_536)),
    (r"gpt-5(\.1)?(?![\d.])", partial(_tiles, 70, 140)),
    (r"gpt-5\.[23](?!\d)", partial(_patches, "1.2", 2_048, 6_144)),
    (r"gpt-5\.4(?!\d)", partial(_patches, "1.2", 2_048, 2_500)),
    (r"gpt-5\.5(?!\d)", partial(_patches, "1.2", 6_000, 10_000)),
    (r"gpt-([6-9]|5\.[6-9])(?!\d)", partial(_patches, "1.2", 65_535, 0)),
    (r"gemini-[12](?!\d)", _gemini),
    (r"gemini-[3-9](?!\d)", lambda _width, _height: 1_120),
    (r"pixtral", partial(_mistral, 16, 1_024)),
    (r"(mistral-(small|medium|large)|magistral|ministral|devstral)", partial(_mistral, 28, 1_540)),
)
"""By the beginning of model names, the first match."""


@cache
def _rule_of(model: str) -> Rule | None:
    name = model.lower().rpartition("/")[2]
    if (claude := _CLAUDE.search(name)) is not None:
        sharp = (int(claude[1]), int(claude[2] or 0)) >= _SHARP_CLAUDE
        return partial(_claude, 2_576, 4_784) if sharp else partial(_claude, 1_568, 1_568)
    segments = name.split(":")
    return next((rule for begin, rule in _RULES for each in segments if re.match(begin, each)), None)
