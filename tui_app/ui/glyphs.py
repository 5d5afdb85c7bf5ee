"""The signs on the screen, in one Unicode and one ASCII set; no widget spells a sign itself."""

from typing import NamedTuple


class Glyphs(NamedTuple):
    """One set of signs. Every sign that stands in a column is one cell wide in both sets."""

    load_line: str
    """The mark of the product: compactions, logo, window title."""
    bullet: str
    """A prompt of the person."""
    pipe: str
    """The rail in front of what belongs to a prompt."""
    checkpoint: str
    collapsed: str
    expanded: str
    cross: str
    check: str
    recoverable: str
    """Left the context, but can be brought back."""
    gauge_full: str
    gauge_part: str
    """What the typed prompt or the streaming answer would add."""
    gauge_empty: str
    mark: str
    """Thresholds on the gauge, and the bar beside a focused row."""
    arrow: str
    down: str
    prompt: str
    dots: str
    separator: str
    """Between the facts of one row."""
    rule: str
    item: str
    """In front of a list item in an answer."""
    quote: str
    pin: str
    """In front of what stays word for word."""


UNICODE = Glyphs(
    load_line="⊖", bullet="●", pipe="│", checkpoint="◇", collapsed="▸", expanded="▾", cross="✗", check="✓",
    recoverable="↺", gauge_full="━", gauge_part="╍", gauge_empty="─", mark="┃", arrow="→", down="↓",
    prompt="›", dots="…", separator="·", rule="─", item="•", quote="▌", pin="⚑",
)  # fmt: skip
PLAIN = Glyphs(
    load_line="@", bullet="*", pipe=":", checkpoint="#", collapsed=">", expanded="v", cross="x", check="+",
    recoverable="<", gauge_full="=", gauge_part="~", gauge_empty="-", mark="|", arrow="->", down="v",
    prompt=">", dots="...", separator="-", rule="-", item="-", quote=">", pin="^",
)  # fmt: skip
