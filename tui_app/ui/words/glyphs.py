"""The signs on the screen, in one Unicode and one ASCII set."""

from typing import NamedTuple


class Glyphs(NamedTuple):
    """One set of signs. Every sign in a column is one cell wide in both sets."""

    load_line: str = "⊖"
    """The mark of the product: compactions, logo, window title."""
    bullet: str = "●"
    """A prompt of the user."""
    pipe: str = "│"
    """The rail in front of what belongs to a prompt."""
    checkpoint: str = "◇"
    collapsed: str = "▸"
    expanded: str = "▾"
    cross: str = "✗"
    check: str = "✓"
    recoverable: str = "↺"
    """Left the context, but can be brought back."""
    gauge_full: str = "━"
    gauge_part: str = "╍"
    """What the typed prompt or the streaming answer would add."""
    gauge_half: str = "╾"
    """Half a cell of what is used."""
    gauge_empty: str = "─"
    mark: str = "┃"
    """Thresholds on the gauge, and the bar beside a focused row."""
    arrow: str = "→"
    down: str = "↓"
    prompt: str = "›"
    dots: str = "…"
    separator: str = "·"
    """Between the facts of one row."""
    rule: str = "─"
    item: str = "•"
    """In front of a list item in an answer."""
    quote: str = "▌"
    pin: str = "⚑"
    """In front of what stays word for word."""
    bar: str = "▐"
    """Left of the words of the user, and of a question."""
    kept: str = "▪"
    """On the rail: pinned."""
    part: str = "◦"
    """On the rail: the model sees a shorter form."""
    excluded: str = "×"
    """On the rail: the user keeps it out of the model's view."""
    leaves: str = "╱"
    """On rail and gauge: leaves with the compaction that runs."""
    load_mark: str = "╂"
    """A load line that crosses the gauge, and one that is reached."""
    search: str = "✱"
    edit: str = "✎"
    todo: str = "☐"
    subagent: str = "◈"
    fork: str = "⇉"
    """A sub-agent that begins with the conversation."""
    server: str = "⇄"
    """A tool of a server, or of another agent."""
    model: str = "◆"
    """In front of a change of model or policy."""
    branch: str = "├↳"
    """In front of a session that has left another one: two cells."""
    merge: str = "⇇"
    """In front of what a branch has brought back."""
    guard: str = "▲"
    """In front of what a guard has stopped."""
    at_work: str = "◐"
    """In front of what runs."""
    queued: str = "┆"
    """In front of a prompt that waits."""
    blocks: str = "█▓▒░"
    """What a bar is made of; without colours two neighbours differ by them."""


UNICODE = Glyphs()

PLAIN = Glyphs(
    load_line="@", bullet="*", pipe="|", checkpoint="#", collapsed=">", expanded="v", cross="x", check="+",
    recoverable="<", gauge_full="=", gauge_part="~", gauge_half="=", gauge_empty="-", mark="|", arrow="->",
    down="v", prompt=">", dots="...", separator="-", rule="-", item="-", quote=">", pin="^",
    bar=">", kept="#", part="o", excluded="x", leaves="/", load_mark="|", search="-", edit="-", todo="o",
    subagent="-", fork="+", server="-", model="=", branch="|-", merge="=", guard="!", at_work="o", queued=":",
    blocks="#%+:",
)  # fmt: skip
