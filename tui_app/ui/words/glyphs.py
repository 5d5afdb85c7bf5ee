"""The signs on the screen, in a Unicode and an ASCII set."""

from typing import NamedTuple


class Glyphs(NamedTuple):
    """A set of signs. Every sign in a column is one cell wide in both sets."""

    load_line: str = "⊖"
    """The product's sign: compactions, logo, window title."""
    bullet: str = "●"
    """A prompt of the user."""
    pipe: str = "│"
    """The vertical line before everything that belongs to a prompt."""
    checkpoint: str = "◇"
    collapsed: str = "▸"
    expanded: str = "▾"
    cross: str = "✗"
    check: str = "✓"
    recoverable: str = "↺"
    """Removed from the context, but recoverable."""
    gauge_full: str = "━"
    gauge_part: str = "╍"
    """What the draft or the streaming answer would add."""
    gauge_half: str = "╾"
    """Half a cell of the used part."""
    gauge_empty: str = "─"
    mark: str = "┃"
    """Thresholds on the gauge, and the bar next to a focused row."""
    arrow: str = "→"
    down: str = "↓"
    prompt: str = "›"
    dots: str = "…"
    separator: str = "·"
    """Between the facts of a row."""
    rule: str = "─"
    item: str = "•"
    """Before a list item in an answer."""
    quote: str = "▌"
    pin: str = "⚑"
    """Before what stays word for word."""
    bar: str = "▐"
    """Left of the user's text, and of a question."""
    kept: str = "▪"
    """On the rail: pinned."""
    part: str = "◦"
    """On the rail: the model sees a shorter form."""
    excluded: str = "×"
    """On the rail: excluded from the model's view by the user."""
    leaves: str = "╱"
    """On rail and gauge: about to be removed by the running compaction."""
    load_mark: str = "╂"
    """A mark that crosses the gauge, also when it is reached."""
    search: str = "✱"
    edit: str = "✎"
    todo: str = "☐"
    subagent: str = "◈"
    fork: str = "⇉"
    """A subagent that starts with the conversation."""
    server: str = "⇄"
    """A tool of a server, or of another agent."""
    model: str = "◆"
    """Before a change of model or policy."""
    branch: str = "├↳"
    """Before a branched session: two cells."""
    merge: str = "⇇"
    """Before a merged branch."""
    guard: str = "▲"
    """Before what a guard has stopped."""
    at_work: str = "◐"
    """Before running work."""
    queued: str = "┆"
    """Before a queued prompt."""
    blocks: str = "█▓▒░"
    """Characters of a bar; without colours they distinguish neighbours."""


UNICODE = Glyphs()

PLAIN = Glyphs(
    load_line="@", bullet="*", pipe="|", checkpoint="#", collapsed=">", expanded="v", cross="x", check="+",
    recoverable="<", gauge_full="=", gauge_part="~", gauge_half="=", gauge_empty="-", mark="|", arrow="->",
    down="v", prompt=">", dots="...", separator="-", rule="-", item="-", quote=">", pin="^",
    bar=">", kept="#", part="o", excluded="x", leaves="/", load_mark="|", search="-", edit="-", todo="o",
    subagent="-", fork="+", server="-", model="=", branch="|-", merge="=", guard="!", at_work="o", queued=":",
    blocks="#%+:",
)  # fmt: skip
