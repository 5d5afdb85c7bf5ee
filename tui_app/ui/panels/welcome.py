"""The view of an empty conversation: its folder, instructions and model, and three things to try."""

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui_app.chat_keys import NO_CHANGES, label_of
from tui_app.records import frozen
from tui_app.settings import OFFLINE_MODEL
from tui_app.ui.words.text import from_home, one_line, tokens, wrap_spans

if TYPE_CHECKING:
    from tui_app.conversation.message_actions import Share
    from tui_app.ui.launch import Launch
    from tui_app.usage import Breakdown

WIDE, HIGH = 100, 26
"""Columns and rows of the screen's middle from which the logo is drawn."""
_MARK = (
    "      ▄█▀▀▀█▄",
    "    ▄█       █▄",
    "━━━━█ ━━━━━━━ █━━━━━━━━",
    "    ▀█       █▀",
    "      ▀█▄▄▄█▀",
)
"""The product's logo, with the load line across it."""
_ACROSS = 2
"""The row of the line, which leads to the slogan."""
_LEFT, _LABEL, _VALUE = 10, 19, 34
"""Columns of the logo, the labels and the values, if there is space for all."""
_NARROW_VALUE = 14
"""Cells from a label to its value otherwise."""
_SENTENCE = "Long conversations that stay inside their model's window."
_VERBS = "You see it, check it and undo it."
_TRY = (
    ("what does this project do?", "", ""),
    (
        "/demo",
        "two minutes: fill a window, compact it, look inside, undo it",
        "fill a window, compact it, look inside, undo it",
    ),
    (
        "/import",
        "continue a session from Claude Code, Codex, Copilot …",
        "continue a session from Claude Code, Codex …",
    ),
)


@frozen(kw_only=True)
class Beginning:
    """How a conversation starts."""

    folder: str
    """The folder with ``~`` for the user's home, and the branch."""
    model: str
    instructions: tuple[str, ...] | None = None
    """Instruction files; None until they are read."""
    untrusted: tuple[str, ...] = ()
    """Instruction files that are used only once the folder is trusted."""
    memory: int | None = None
    """Number of entries on the repository's board; None if they cannot be counted."""


def folder_name(launch: "Launch") -> str:
    """Return the folder, with ``~`` for the user's home."""
    if launch.stage is not None:
        return f"{launch.cwd.name}, a throw-away copy"
    return from_home(launch.cwd, launch.env.get("HOME", ""))


def place_of(launch: "Launch") -> str:
    """Return folder and branch, with ``*`` for uncommitted changes; blocks on git."""
    branch = branch_of(launch, "no branch", "*", 40)
    return f"{folder_name(launch)} ({branch})" if branch else folder_name(launch)


def branch_of(launch: "Launch", none: str, changed: str, cells: int) -> str:
    """Return the branch, and whether it has uncommitted changes if git may be used; blocks on git.

    Args:
        launch: The launch, with its folder; the result is empty outside of a repository.
        none: Shown if no branch is checked out.
        changed: Added to the name if there are uncommitted changes.
        cells: Maximum width of the name.
    """
    from tui_app.memory.scope import DETACHED, scope_of
    from tui_app.system.git import Git

    if not (branch := scope_of(launch.cwd).branch):
        return ""
    is_changed = launch.trusted and Git(launch.cwd, launch.outward_env()).is_dirty()
    return f"{none if branch == DETACHED else one_line(branch, cells)}{changed if is_changed else ''}"


def look_around(launch: "Launch") -> Beginning:
    """Read the rest of the view; blocks on the disk."""
    import sqlite3

    from tui_app.agent.instructions.instructions import read_instructions
    from tui_app.conversation.memory.boards import boards_in

    trusted = launch.trusted
    follows = trusted and launch.settings.project_instructions
    files = read_instructions(launch.cwd if follows else None, config=launch.paths.config)
    brought = () if trusted else tuple(launch.brought().named.get("instructions", ()))
    memory = None
    # An unreadable log is reported when it is opened.
    with suppress(sqlite3.Error, OSError):
        exists = not isinstance(launch.database, Path) or launch.database.exists()
        boards = boards_in(launch.database)
        memory = sum(each.is_current for each in boards.entries(boards.scope(launch.cwd))) if exists else 0
    return Beginning(
        folder=place_of(launch),
        model=launch.first_model,
        untrusted=brought,
        memory=memory,
        instructions=tuple(each.path for each in files if each.text),
    )


class Welcome(Widget):
    """Shown instead of an empty conversation."""

    beginning: reactive[Beginning | None] = reactive(None)
    shares: "reactive[tuple[Share, ...]]" = reactive(())
    """Sizes of parts of the next request, on the gauge's scale; empty until it is measured."""
    keymap: reactive[Mapping[str, str]] = reactive(NO_CHANGES)

    def measure(self, shares: "Iterable[Share]", parts: "Breakdown") -> None:
        """Set the sizes of instructions, on the gauge's scale."""
        from tui_app.conversation.message_actions import on_scale

        self.shares = on_scale(shares, parts)

    def render(self) -> Content:
        """Draw the logo with the slogan, and below it the facts and what to try."""
        width, height = self.size
        if self.beginning is None or not width:
            return Content("")
        drawn = width >= WIDE and height >= HIGH and not self.app.has_class("-plain")
        label, value = (_LABEL, _VALUE) if drawn else (4, 4 + _NARROW_VALUE)
        if drawn:
            head = _drawn_mark()
        else:
            wrapped = wrap_spans(_SENTENCE, max(1, width - 6))
            slogan = [(_SENTENCE[start:stop], "bold $foreground") for start, stop, _ in wrapped]
            head = [Content.assemble(" " * 4, row) for row in (*slogan, (_VERBS, "$text-muted"))]
        rows = [*head, Content(""), *self._facts(label, value, width)]
        above = max(0, (height - len(rows)) // 2 - 1) if drawn else min(1, max(0, height - len(rows)))
        return Content("\n").join([*[Content("")] * above, *rows])

    def _facts(self, label: int, value: int, width: int) -> list[Content]:
        about = self.beginning
        assert about is not None
        room = width - value - 2
        offline = about.model == OFFLINE_MODEL
        model = "built-in search, no key needed" if offline else about.model
        models = label_of("chat.models", self.keymap)
        change = "picks a model or adds a key" if offline else "picks another"
        files = about.instructions
        known = "…" if files is None else "none" if not files and not about.untrusted else ""
        shown: list[tuple[str, str]] = [(known, "$foreground")] if known else []
        sizes = {each.name: f" {tokens(each.tokens)} tokens" for each in self.shares}
        for number, name in enumerate(files or ()):
            shown += [(", " if number else "", "$text-muted"), (one_line(name, 40), "$foreground")]
            shown.append((sizes.get(name, ""), "$text-muted"))
        if about.untrusted:
            shown += [
                (", " if files else "", "$text-muted"),
                (one_line(", ".join(about.untrusted), 40), "$foreground"),
            ]
            shown += [(" not trusted yet · ", "$text-muted"), ("/trust", "$foreground")]
        memory = "…" if files is None else "?" if about.memory is None else str(about.memory or "none")
        noted = " note" if about.memory == 1 else " notes" if about.memory else ""
        rows = [
            ("folder", Content.styled(one_line(about.folder, room), "$foreground")),
            ("instructions", Content.assemble(*shown)[:room]),
            ("memory", Content.assemble((memory, "$foreground"), (noted, "$text-muted"))),
            ("model", Content.styled(one_line(model, room), "$foreground")),
            ("", Content.assemble((models, "$foreground"), (f" {change}", "$text-muted"))),
            ("", Content("")),
        ]
        for number, (typed, long, short) in enumerate(_TRY):
            what = long if cell_len(long) + 10 <= room else short
            fact = Content.assemble((f"{typed:<10}" if what else typed, "$accent"), (what, "$text-muted"))
            rows.append(("try" if not number else "", fact))
        gap = value - label
        return [Content.assemble(" " * label, (f"{name:<{gap}}", "$text-muted"), fact) for name, fact in rows]


def _drawn_mark() -> list[Content]:
    rows: list[Content] = []
    for number, row in enumerate(_MARK):
        gap = " " * (_VALUE - _LEFT - len(row))
        if number == _ACROSS:
            line = ((part, "$accent" if part == "█" else "$foreground") for part in re.split("(█)", row))
            rows.append(Content.assemble(" " * _LEFT, *line, gap, (_SENTENCE, "bold $foreground")))
        else:
            verbs = f"{gap}{_VERBS}" if number == _ACROSS + 1 else ""
            rows.append(Content.assemble(" " * (_LEFT + 2), (row[2:], "$accent"), (verbs, "$text-muted")))
    return [*rows, Content("")]
