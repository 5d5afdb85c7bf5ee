"""The pieces of each kind of entry: their order, their wording, and what is folded."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, assert_never

from tui_app.chat_keys import NO_CHANGES, label_of
from tui_app.context.tool_titles import work_of_name
from tui_app.next_steps import on_screen
from tui_app.session.views.entries import Body, Entry, EntryState
from tui_app.tool_specs import ASK_USER, FORK, SUB_AGENT_TOOLS, TODO, WRITE_FILE
from tui_app.ui.colours.code_colours import preload_colours
from tui_app.ui.colours.palette import Tone
from tui_app.ui.transcript.excerpts import Excerpt, Splitter, clip, readable_args, split_markdown
from tui_app.ui.transcript.lines import PROSE_CELLS
from tui_app.ui.transcript.pieces import (
    FadedPiece,
    GapPiece,
    KeysPiece,
    MarkdownPiece,
    Piece,
    RowPiece,
    RulePiece,
    TextPiece,
    change_pieces,
    prompt_pieces,
    text_pieces,
)
from tui_app.ui.words.cost_words import price_text, window_text
from tui_app.ui.words.glyphs import Glyphs
from tui_app.ui.words.text import TAB, clean, clock, count, count_lines, one_line, tokens

TOOL_LINES = 400
"""Lines of arguments, and lines of result, that an unfolded tool row shows; the others are counted."""
TOOL_CHARS = 60_000
"""Character limit for arguments and for results, head and tail together."""
_MOST_LINE = 2_000
"""Characters: an edit with a longer line is not shown as a diff."""
SHELL_LINES, SHELL_CHARS = 16, 4_000
"""Lines and characters shown of the output of a user's shell command; unfolded, it shows as much as a tool
row.
"""
INDENT = 2
"""Columns that the contents of an unfolded entry are indented by."""
LEFT = "rewound"
"""Label of a row that a rewind removed from the model's view."""
SENT_ALONG = "sent with the next prompt"
"""Shown below the output of a user's shell command; it stays true after that prompt."""
STATE_WORDS: dict[EntryState, str] = {
    "running": "running", "asking": "waits for you", "waiting": "waits for you", "ok": "",
    "failed": "failed", "denied": "denied", "cancelled": "cancelled", "undone": "undone",
    "interrupted": "interrupted", "discarded": "discarded", "vetoed": "vetoed",
}  # fmt: skip


class Wording(NamedTuple):
    """Settings that affect the words and signs of an entry."""

    glyphs: Glyphs
    plain: bool = False
    """Put the role before every message, for screen readers and terminals without colour."""
    scale: float = 1.0
    """Model tokens per locally counted token."""
    keymap: Mapping[str, str] = NO_CHANGES
    """The user's key mappings."""

    def joined(self, *facts: str) -> str:
        """Join the non-empty facts with a separator."""
        return f" {self.glyphs.separator} ".join(filter(None, facts))

    def size(self, entry: Entry) -> str:
        """Return an entry's size in model tokens; empty if it has none."""
        return tokens(round(entry.tokens * self.scale)) if entry.tokens else ""

    def key(self, action: str) -> str:
        return label_of(f"chat.{action}", self.keymap)


class Rail(NamedTuple):
    """What the model sees of the conversation, by log numbers of messages."""

    seen: frozenset[int] = frozenset()
    shortened: frozenset[int] = frozenset()
    """Messages in `seen` that the model gets in a shorter form: trimmed, archived, offloaded or replaced by a
    pointer.
    """
    since: int = 0
    """Log number of the oldest message in `seen` after the system prompt."""
    known: int = 0
    """Log number up to which `seen` is computed; newer messages are taken as seen."""
    leaving: tuple[tuple[int, int], ...] = ()
    """Inclusive ranges of messages that the running compaction would replace."""

    def sees(self, entry: Entry) -> bool:
        """Return whether the model sees an entry. Rows that are not messages are judged by their position."""
        if entry.left or entry.private:
            return False
        if entry.kind == "compaction" and entry.state == "ok" and 0 < entry.seq <= self.known:
            # A later compaction may have replaced this one's summary and left rows above it in place.
            return entry.seq in self.seen
        if entry.seq < 0 or entry.message > self.known:
            return True
        if entry.kind in _MESSAGE_KINDS:
            return entry.message in self.seen or entry.seq in self.seen
        return entry.seq >= self.since

    def sign(self, entry: Entry, glyphs: Glyphs) -> tuple[str, Tone]:
        """Return the sign and tone for an entry's first line.

        Later lines show the rail's own sign or none.
        """
        if (entry.excluded or entry.private) and not entry.left:
            return glyphs.excluded, Tone.DIM
        if not self.sees(entry):
            return "", Tone.RAIL
        if any(first <= entry.message <= last for first, last in self.leaving):
            return glyphs.leaves, Tone.RAIL
        if entry.pinned:
            return glyphs.kept, Tone.USER
        return (glyphs.part, Tone.DIM) if entry.message in self.shortened else (glyphs.mark, Tone.RAIL)


_MESSAGE_KINDS = frozenset({"system", "user", "assistant", "tool", "shell"})


def tool_sign(title: str, glyphs: Glyphs) -> str:
    """Return the sign for what a tool does, from the tool name at the start of the row."""
    name = title.partition(" ")[0]
    if name in (ASK_USER.name, FORK.name):
        return "?" if name == ASK_USER.name else glyphs.fork
    match work_of_name(name):
        case "read" | "fetch":
            return glyphs.arrow[0] if glyphs.arrow.isascii() else glyphs.arrow
        case "search":
            return glyphs.subagent if name in SUB_AGENT_TOOLS else glyphs.search
        case "edit":
            return glyphs.edit
        case "execute":
            return "$"
        case "think":
            return glyphs.todo
    return glyphs.server


def mark_text(entry: Entry, wording: Wording) -> str:
    """Return sign and word for a pinned or excluded entry; empty for others."""
    if entry.excluded and not entry.left:
        return f"{wording.glyphs.excluded} excluded"
    return f"{wording.glyphs.pin} pinned" if entry.pinned else ""


def clipped(text: str, wording: Wording, tone: Tone, part: str) -> Iterator[Piece]:
    """List the pieces of a text in an unfolded entry: head and tail if it is long.

    Args:
        text: The text as received.
        wording: Signs and words.
        tone: The text's colour.
        part: Which text of the entry it is, for selections.
    """
    # Tabs align to columns, as after line numbers.
    head, note, tail = clip(text, TOOL_CHARS, TOOL_LINES, wash=shell_output)
    yield from text_pieces(head, tone, INDENT, part=part)
    if note:
        yield TextPiece(f"{wording.glyphs.dots} {note}", Tone.WARNING, indent=INDENT)
        yield from text_pieces(tail, tone, INDENT, part="tail")


BODY_CHARS = 300_000
"""Characters shown of a longer prompt or answer, as head and tail; the rest is counted."""


def prompt(entry: Entry, body: Body, wording: Wording, *, sunk: bool) -> Iterator[Piece]:
    right = wording.joined(LEFT if entry.left else "", mark_text(entry, wording), clock(entry.time))
    if wording.plain:
        yield RowPiece("", "You:", Tone.STRONG, ornament=True)
    head, note, tail = clip(body.text, BODY_CHARS, None, wash=clean)
    yield from prompt_pieces(head, right, sunk=sunk)
    if note:
        yield RowPiece(wording.glyphs.dots, note, Tone.DIM)
        yield from prompt_pieces(tail, "", sunk=sunk, part="tail")
    yield GapPiece(half="" if sunk else "under")


def command(entry: Entry, body: Body, wording: Wording, *, expanded: bool, sunk: bool) -> Iterator[Piece]:
    """List the pieces of a user's shell command: its exit state at the right, its output below."""
    title, _, ended = entry.title.rpartition(" · ") if entry.result_seq else (entry.title, "", "")
    state, kept = ended or STATE_WORDS[entry.state], "not sent" if entry.private else wording.size(entry)
    right = wording.joined(LEFT if entry.left else "", mark_text(entry, wording), state, kept)
    typed = shell_line(body.args or title, private=entry.private)
    yield from prompt_pieces(typed, right, sunk=sunk, part="args")
    yield GapPiece(half="" if sunk else "under")
    if expanded:
        yield from clipped(body.text, wording, Tone.DIM, "text")
    else:
        head, note, tail = clip(body.text, SHELL_CHARS, SHELL_LINES, wash=shell_output)
        if head.strip():
            yield from text_pieces(head, Tone.DIM)
        if note:
            yield RowPiece(wording.glyphs.dots, note, Tone.DIM, fold=True)
            yield from text_pieces(tail, Tone.DIM, part="tail")
    if entry.result_seq and not entry.private and not entry.left:
        yield TextPiece(SENT_ALONG, Tone.FAINT)


def shell_line(text: str, *, private: bool) -> str:
    """Return a user's shell command as it was typed."""
    return clean(f"{'!!' if private else '!'} {text}")


def shell_output(text: str) -> str:
    """Return the output of a command or tool as it is shown."""
    return clean(text.expandtabs(len(TAB))).strip("\n")


def answer(text: str, thinking: str, wording: Wording, *, expanded: bool) -> Iterator[Piece]:
    yield from thinking_pieces(thinking, wording, expanded=expanded)
    head, note, tail = clip(text, BODY_CHARS, None, wash=clean)
    if not head.strip():
        return
    yield from role(wording)
    yield from (MarkdownPiece(source, gap) for source, gap in split_markdown(head))
    if note:
        yield RowPiece(wording.glyphs.dots, note, Tone.DIM)
        yield from (MarkdownPiece(source, gap, "tail") for source, gap in split_markdown(tail))


def role(wording: Wording) -> Iterator[Piece]:
    """Yield the role before an answer; only in plain mode, elsewhere the layout shows it."""
    if wording.plain:
        yield RowPiece("", "Model:", Tone.STRONG, ornament=True)


def thinking_pieces(thinking: str, wording: Wording, *, expanded: bool) -> Iterator[Piece]:
    """List the row for the thinking before an answer, and the thinking itself if unfolded."""
    if not thinking.strip():
        return
    lines = count_lines(thinking)
    sign = wording.glyphs.expanded if expanded else wording.glyphs.collapsed
    yield RowPiece(sign, wording.joined("thinking", count(lines, "line")), Tone.DIM, fold=True)
    if expanded:
        yield from clipped(thinking, wording, Tone.DIM, "thinking")


def stopped(entry: Entry, wording: Wording) -> Iterator[Piece]:
    """Yield the row below an interrupted answer."""
    if entry.state in ("interrupted", "cancelled", "failed"):
        yield RowPiece(wording.glyphs.cross, STATE_WORDS[entry.state], Tone.WARNING)


_TITLE_CELLS = 400
_ROW_KINDS = frozenset((
    "tool", "system", "hook", "memory", "rewrite", "truncation", "model", "checkpoint", "clear", "notice",
    "approval", "files", "merge",
))  # fmt: skip
_FOLDED_KINDS = frozenset({"tool", "system", "hook", "memory", "merge"})


_PANELS = ("user", "shell", "merge")
"""Kinds of entries that begin with text typed by the user."""


def foldable(entry: Entry) -> bool:
    """Return whether enter unfolds and folds this entry in place."""
    return entry.kind in _FOLDED_KINDS or entry.kind in ("assistant", "shell")


def has_lines(entry: Entry) -> bool:
    """Return whether an entry is painted at all; an answer that only calls tools is not."""
    return entry.kind != "assistant" or bool(entry.chars)


def has_details(entry: Entry) -> bool:
    """Return whether enter opens a separate screen for this entry."""
    return entry.kind in ("compaction", "error")


SAYS_MORE = ("user", "assistant", "error", "shell", "merge")
"""Kinds of entries that are painted from their full text even when folded."""


def distance(entry: Entry, before: Entry | None) -> int:
    """Return the number of blank lines above an entry; rows of equal weight are not separated."""
    if not has_lines(entry):
        return 0
    if entry.kind in _PANELS:
        return 1  # half of it belongs to the prompt's own edge, even at the top
    if before is None or before.kind == "user":
        return 0
    return 0 if entry.kind in _ROW_KINDS and (before.kind in _ROW_KINDS or before.kind == "assistant") else 1


def gap_before(entry: Entry, before: Entry | None) -> int:
    """Return the number of blank lines above an entry in copied text.

    A prompt's two half lines count as one.
    """
    return 1 if before is not None and before.kind == "user" else distance(entry, before)


def estimate(entry: Entry, before: Entry | None, width: int) -> int:
    """Estimate the height in lines of a folded entry that was never painted."""
    rows = entry.chars // min(width, PROSE_CELLS)
    match entry.kind:
        case "user":
            own = 2 + rows
        case "assistant":
            own = 1 + entry.chars * 3 // (width * 2) if entry.chars else 0
        case "shell":
            own = 2 + min(SHELL_LINES, rows)
        case _:
            own = 2 if has_details(entry) or entry.repeats else 1
    return distance(entry, before) + own


def pieces(
    entry: Entry,
    before: Entry | None,
    body: Body,
    wording: Wording,
    *,
    expanded: bool,
    excerpt: Excerpt | None = None,
    sunk: bool = False,
    last: bool = False,
) -> list[Piece]:
    """List the pieces of an entry.

    Args:
        entry: The row.
        before: The visible entry above it, if any.
        body: Its full text; empty for a folded row of a kind that does not need it.
        wording: Signs and words.
        expanded: Whether the user unfolded it.
        excerpt: Part of a clipped text around a search hit.
        sunk: Whether the model no longer sees it.
        last: Whether it is the last entry.

    Returns:
        Pieces from top to bottom; empty if there is nothing to show.
    """
    content = list(_content(entry, body, wording, expanded=expanded, sunk=sunk))
    if last and entry.kind == "error":
        # Logs of earlier versions have key names in their sentences.
        text = f"{entry.title} {body.text[:4_000]}"
        usual = ("models",) if "resend" in body.actions else ("retry", "models")
        ways = on_screen(("details", *body.actions, *usual), wording.keymap)
        content.append(KeysPiece(tuple(each for each in ways if each[0] not in text)))
    if excerpt is not None:
        where = f"found at character {excerpt.offset + 1:,} of {excerpt.length:,}"
        content.append(TextPiece(f"{wording.glyphs.dots} {where}", Tone.WARNING, indent=INDENT))
        content += text_pieces(excerpt.text, Tone.TEXT, INDENT, part="excerpt")
        content.append(TextPiece(wording.glyphs.dots, Tone.WARNING, indent=INDENT))
    if sunk:
        content = [FadedPiece(piece) for piece in content]
    gap = distance(entry, before)
    if not (gap and content):
        return content
    return [GapPiece(gap, "over" if entry.kind in _PANELS and not sunk else ""), *content]


def _content(entry: Entry, body: Body, wording: Wording, *, expanded: bool, sunk: bool) -> Iterator[Piece]:
    match entry.kind:
        case "user":
            yield from prompt(entry, body, wording, sunk=sunk)
        case "assistant":
            if state := mark_text(entry, wording):
                yield RowPiece("", state, Tone.ACCENT, ornament=True)
            yield from answer(body.text, body.thinking, wording, expanded=expanded)
            yield from stopped(entry, wording)
        case "shell":
            yield from command(entry, body, wording, expanded=expanded, sunk=sunk)
        case "tool" | "system" | "hook" | "memory":
            yield from _folded(entry, body, wording, expanded=expanded)
        case "merge":
            yield from _merge(entry, body, wording, expanded=expanded, sunk=sunk)
        case "compaction":
            yield from _compaction(entry, wording, sunk=sunk)
        case "error":
            yield from _error(entry, body, wording)
        case "rewrite" | "truncation" | "model" | "checkpoint" | "clear" | "notice" | "approval" | "files":
            yield _row(entry, wording)
        case _:
            assert_never(entry.kind)


def sub_agent_figures(entry: Entry) -> list[str]:
    """Return the activity, usage and cost of a call's subagent; empty for any other row."""
    return [
        *([f"{entry.cached}% cached"] if entry.cached > 0 else []),
        *([count(entry.calls, "call")] if entry.calls else []),
        *([f"{tokens(entry.used)} used"] if entry.used else []),
        *([price_text(entry.cost, 0)] if entry.cost else []),
    ]


_GAUGE_CELLS = 30


def _gauge(context: int, window: int, glyphs: Glyphs) -> str:
    used = min(_GAUGE_CELLS, max(1, _GAUGE_CELLS * context // window))
    bar = glyphs.gauge_full * used + glyphs.gauge_empty * (_GAUGE_CELLS - used)
    return f"{bar}  {tokens(context)} of {window_text(window)}"


def _merge(entry: Entry, body: Body, wording: Wording, *, expanded: bool, sunk: bool) -> Iterator[Piece]:
    name, _, figures = one_line(entry.title, _TITLE_CELLS).removeprefix("merged ").rpartition(": ")
    yield from prompt_pieces(f"/merge {name}", clock(entry.time), sunk=sunk, part="")
    yield GapPiece(half="" if sunk else "under")
    state = LEFT if entry.left else STATE_WORDS[entry.state]
    right = wording.joined(state, mark_text(entry, wording), f"brief {wording.size(entry)}")
    yield RowPiece(wording.glyphs.merge, name, Tone.TEXT, right, fold=True, note=figures)
    if expanded:
        yield from clipped(body.text, wording, Tone.TEXT, "text")
        return
    for part, lines in _SECTIONS.findall(body.text):
        if items := ", ".join(re.findall("^- (.*)", lines, re.MULTILINE)):
            named = part.replace("The user's", "Your")
            yield RowPiece("", f"  {named:<13}  {one_line(items, _TITLE_CELLS)}", Tone.DIM)


_SECTIONS = re.compile(r"^## ([^,\n]*).*\n((?:(?!## ).*\n?)*)", re.MULTILINE)
"""Sections of a brief: the heading up to its first comma, and its lines."""


def _below(entry: Entry, wording: Wording, figures: Sequence[str]) -> Iterator[Piece]:
    if entry.at_work and entry.gauge[1]:
        yield RowPiece("", f"  {_gauge(*entry.gauge, wording.glyphs)}", Tone.DIM, wording.joined(*figures))
    if words := one_line(entry.words, _TITLE_CELLS):
        rule = f": {words}" if words.startswith('"') else f" ({words.replace(': ', '): ', 1)}"
        yield TextPiece(f"Your rule{rule}", Tone.DIM, indent=INDENT)
        yield KeysPiece((("u", "lifts the guard"), (wording.key("context"), "shows all")))
    if entry.repeats:
        yield TextPiece(f"{one_line(entry.repeats, _TITLE_CELLS)}.", Tone.DIM, indent=INDENT)


def _folded(entry: Entry, body: Body, wording: Wording, *, expanded: bool) -> Iterator[Piece]:
    glyphs = wording.glyphs
    bad = entry.state in ("failed", "denied", "cancelled", "interrupted")
    figures = sub_agent_figures(entry)
    state = "" if bad or entry.left else STATE_WORDS[entry.state]
    right = wording.joined(
        state or ("at work" if entry.at_work else ""),
        ("from the log" if entry.answered else "told") if entry.repeats else "",
        LEFT if entry.left else "",
        mark_text(entry, wording),
        *(() if entry.at_work and entry.gauge[1] else figures),
        wording.size(entry),
    )
    title = one_line(entry.title, _TITLE_CELLS) or ("system prompt" if entry.kind == "system" else "tool")
    title, _, note = title.partition(" · ") if entry.kind == "tool" else (title, "", "")
    sign = glyphs.expanded if expanded else glyphs.collapsed
    if entry.kind == "tool":
        sign = tool_sign(title, glyphs)
        # The sign alone identifies a shell command and the todo list.
        is_said = sign == "$" or title.startswith(f"{TODO.name} ")
        title = title.partition(" ")[2] or title if is_said else title
    bad = bad or (note.startswith("exit ") and note != "exit 0")
    # A success has no colour, except for passed tests.
    passed = not bad and note.endswith(" passed")
    ill = f"{glyphs.cross} {note or STATE_WORDS[entry.state]}"
    mark = "stopped" if entry.words else ill if bad else f"{glyphs.check} {note}" if passed else ""
    # The row is narrow, so a number alone is shown where there is one.
    place = entry.origin.partition(" ")[0] if "#" in entry.origin else entry.origin
    note = wording.joined("" if mark else note, f"from {place}" if place else "")
    ended = Tone.OK if passed else Tone.ERROR
    tone = Tone.ERROR if entry.words else Tone.WARNING if entry.state == "asking" else Tone.TOOL
    yield RowPiece(sign, title, tone, right, fold=True, mark=mark, mark_tone=ended, note=note)
    yield from _below(entry, wording, figures)
    if not expanded:
        if entry.kind == "tool" and sign == glyphs.edit:
            preload_colours(title.partition(" ")[2])
        return
    if body.args.strip():
        whole = title.startswith(f"{WRITE_FILE.name} ")
        changes = _changes(body.args, whole=whole) if entry.kind == "tool" and sign == glyphs.edit else []
        yield from changes or clipped(readable_args(body.args), wording, Tone.DIM, "args")
    if body.text.strip():
        yield from clipped(body.text, wording, Tone.TEXT, "text")
    elif entry.kind in ("tool", "hook"):
        state = {"running": "(still running)", "asking": "(not begun)", "waiting": "(not begun)"}.get(
            entry.state, "(no output)"
        )
        yield TextPiece(state, Tone.DIM, indent=INDENT)


def _changes(args: str, *, whole: bool) -> list[Piece]:
    """Return the arguments of an edit with removed and added text as diff lines.

    Args:
        args: The arguments as JSON.
        whole: Whether the call writes a whole file.

    Returns:
        Empty if there is no such text, or too much of it.
    """
    from json import dumps, loads  # after the first frame

    from tui_app.context.ledger.tools import NEW_TEXT_ARGUMENTS, OLD_TEXT_ARGUMENTS, PATH_ARGUMENTS

    try:
        values = loads(args) if len(args) <= TOOL_CHARS else None
    except (ValueError, RecursionError):
        return []
    if not isinstance(values, dict):
        return []
    puts_in = {**dict.fromkeys(OLD_TEXT_ARGUMENTS, False), **dict.fromkeys(NEW_TEXT_ARGUMENTS, True)}
    if whole:
        puts_in[WRITE_FILE.body_argument] = True
    texts = [line for name, text in values.items() if name in puts_in for line in str(text).split("\n")]
    if not texts or len(texts) > TOOL_LINES or max(map(len, texts)) > _MOST_LINE:
        return []
    path = next((str(values[name]) for name in PATH_ARGUMENTS if values.get(name)), "")
    found, at = list[Piece](), 0
    for name, value in values.items():
        shown = value if isinstance(value, str) else dumps(value, ensure_ascii=False)
        label = f"{name}: \n" if "\n" in shown else f"{name}: "
        text = shell_output(shown)
        if name not in puts_in:
            pieces = text_pieces(label + text, Tone.DIM, INDENT, part="args")
            found += (replace(piece, start=at + piece.start) for piece in pieces)
        elif text:
            found += change_pieces(text, path, added=puts_in[name], at=at + len(label))
        at += len(label) + len(shown) + 1
    return found


def _compaction(entry: Entry, wording: Wording, *, sunk: bool) -> Iterator[Piece]:
    glyphs = wording.glyphs
    title = one_line(entry.title, _TITLE_CELLS)
    between = f" {glyphs.separator} "
    if entry.state not in ("ok", "undone"):
        if not title.lower().startswith("compaction "):
            word = STATE_WORDS[entry.state]  # also the title of one that ended without a reason
            detail = f"{between}{title}" if title not in ("", word) else ". Nothing changed."
            title = f"Compaction {word}{detail}"
        yield TextPiece(title, Tone.WARNING, sign=glyphs.load_line)
        yield TextPiece(f"{wording.key('details')} shows details", Tone.DIM)
        return
    what, *figures = title.split(" · ") if title else ("Conversation compacted",)
    sizes = tuple(f"{between}{each}" for each in figures[:2])
    tone = Tone.ACCENT if entry.state == "ok" else Tone.DIM
    yield RulePiece(what, what.partition(" became ")[0], sizes, tone)
    if rest := figures[2:]:
        # The "×" for repetitions is written with the sign for excluded entries, which has an ASCII form.
        detail = between.join(rest).replace("×", glyphs.excluded)
        marked = next((each for each in rest if each.endswith(" not in the log")), "")
        yield TextPiece(detail, Tone.DIM, apart=between, warns=marked)
    if entry.state == "ok" and not sunk:
        yield KeysPiece(((wording.key("details"), "shows the summary"), ("/undo", "")))
    elif entry.state == "undone":
        text = f"undone: the full history is back{between}{wording.key('details')} shows what it was"
        yield TextPiece(text, Tone.DIM, apart=between)


def _error(entry: Entry, body: Body, wording: Wording) -> Iterator[Piece]:
    title = one_line(entry.title, 4 * _TITLE_CELLS)
    lines = [one_line(line, 4 * _TITLE_CELLS) for line in body.text[:4_000].splitlines() if line.strip()]
    # The title is the beginning of the text, so it is shown once, in full.
    if lines and lines[0].startswith(title.removesuffix("…")):
        title, *lines = lines
    problem, _, advice = title.partition(". ")
    if entry.left:
        problem += f" {wording.glyphs.separator} {LEFT}"
    # Only the sign is red, so that the sentence stays easy to read.
    end = "." if advice else ""
    yield TextPiece(f"{problem}{end}", Tone.TEXT, sign=wording.glyphs.cross, sign_tone=Tone.ERROR)
    yield from (TextPiece(line, Tone.DIM) for line in (advice, *lines[:1]) if line)


def _row(entry: Entry, wording: Wording) -> Piece:
    glyphs = wording.glyphs
    signs = {"model": glyphs.model, "checkpoint": glyphs.checkpoint}
    signs |= dict.fromkeys(("truncation", "rewrite"), glyphs.load_line)
    title = one_line(entry.title, _TITLE_CELLS)
    if entry.kind == "clear" and entry.state == "undone":
        title = f"{title or 'Conversation cleared'} · undone"
    elif entry.kind == "clear" and not title:
        title = "Conversation cleared. The model starts fresh; nothing above is lost."
    if entry.kind == "rewrite" or (entry.kind == "files" and "undone" not in title):
        title += " · undone" if entry.state == "undone" else " · u undoes it"
    return TextPiece(title, Tone.DIM, sign=signs.get(entry.kind, glyphs.separator))


_ESC = "\x1b"
_HELD_BACK = 64
"""Characters: at most this many are held back while an escape sequence may still be incomplete."""


class LiveMessage:
    """The streaming answer: text and thinking, cheap to append to.

    Text is split into finished pieces and one that still grows, so only that one is laid out again. The
    finished entry is made of the same pieces, so replacing the live answer by it changes nothing on screen.
    """

    def __init__(self) -> None:
        self._splitter = Splitter()
        self._pending: list[str] = []
        self._held = ""
        self._thinking: list[str] = []
        self._sealed: list[Piece] = []
        self.ended = False

    def append(self, text: str = "", thinking: str = "") -> None:
        """Append streamed text; no work is done until the next :meth:`pieces`."""
        if text:
            self._pending.append(text)
        if thinking:
            self._thinking.append(thinking)

    @property
    def empty(self) -> bool:
        return not (self._pending or self._held or self._thinking or self._splitter.pieces())

    @property
    def thinking(self) -> str:
        if len(self._thinking) > 1:
            self._thinking = ["".join(self._thinking)]
        return self._thinking[0] if self._thinking else ""

    def pieces(self, wording: Wording, *, gap: int, expanded: bool) -> list[Piece]:
        """List the pieces of what has arrived, with ``gap`` blank lines above."""
        text = self._held + "".join(self._pending)
        self._pending.clear()
        self._held = ""
        # A control sequence may be split between two chunks.
        cut = text.rfind(_ESC) if not self.ended else -1
        if text.endswith("\r") and not self.ended:
            cut = len(text) - 1
        if cut >= 0 and len(text) - cut < _HELD_BACK:
            text, self._held = text[:cut], text[cut:]
        if text:
            self._splitter.feed(clean(text))
        done = len(self._sealed)
        self._sealed += (MarkdownPiece(source, apart) for source, apart in self._splitter.sealed[done:])
        source, apart = self._splitter.open
        body = [*self._sealed, MarkdownPiece(source, apart)] if source.strip() else self._sealed
        content = [*thinking_pieces(self.thinking, wording, expanded=expanded)]
        if body:
            content += [*role(wording), *body]
        return [GapPiece(gap), *content] if gap and content else content
