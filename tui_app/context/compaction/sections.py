"""The sections that code writes beside a model's notes: deeds, the user's words, names that will be needed.

They are exact: each entry comes from the ledger, with the numbers of its messages.
"""

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from tui_app.context.ledger.facts import (
    LINE_BREAK,
    NO_RESULT,
    SEPARATOR,
    decision_text,
    error_text,
    failure_text,
    file_told,
    live_text,
    run_text,
    task_text,
    telling_runs,
)
from tui_app.context.ledger.files import FileTrail
from tui_app.context.ledger.ledger import Ledger, Run, is_look
from tui_app.context.ledger.tools import OPEN, FileUse
from tui_app.context.user_text import one_line
from tui_app.records import frozen
from tui_app.system.secrets import mask_secrets
from tui_app.text import plain_text

DEEDS_HEADING = "## What was done, and where it stands"
WORDS_HEADING = "## The user's words, whole"
CLIPPED_HEADING = "## The user's words"
RULES_HEADING = "## The user's rules, word for word"
NAMES_HEADING = "## Names that came up"
_HERE = "files here"
_HEADING = re.compile(r"(?m)^\s{0,3}#{1,6}\s+(.*?)[ \t#]*$")
_OURS = frozenset(
    heading.removeprefix("## ").casefold()
    for heading in (DEEDS_HEADING, WORDS_HEADING, CLIPPED_HEADING, RULES_HEADING, NAMES_HEADING)
)
NO_SUCCESS = " · no success since"
Count = Callable[[str], int]

_SHORTEST_ROOT, _FEWEST_PATHS, _MOST_OF_THEM = 12, 3, 0.6
"""Characters of a folder that is worth naming once, the paths that it must save, and their share of all."""
_ALWAYS = frozenset({"error", "live", "question"})
"""What is open or alive is told also where its message stays."""
LAST_WORDS, LAST_SAID = 400, 5
"""Characters of the assistant's last words, where no model writes notes, and how many of them."""
STANDING = "## Where it stands"
_MOST_UNKNOWN = 8
"""Tools that nobody understands, of which the names are told."""


def unlike_ours(notes: str) -> str:
    """A model's notes in which no heading is that of a section of code."""

    def renamed(match: re.Match[str]) -> str:
        is_ours = one_line(match[1]).casefold().strip(" :*_") in _OURS
        return f"### Notes: {match[1]}" if is_ours else match[0]

    return _HEADING.sub(renamed, notes)


@frozen
class Entry:
    """One line about one thing of the ledger."""

    kind: str
    text: str
    """As its fact says it."""
    shown: str
    keys: tuple[int, ...] = ()
    rank: float = 0.0
    """The lower it is, the later it is left out."""
    folder: str = ""

    @property
    def group(self) -> tuple[str, bool] | None:
        """Files that stand together: those of a folder, and of them those that were only read."""
        return (self.folder, self.text.endswith(f"{SEPARATOR}read")) if self.kind == "file" else None

    @property
    def line(self) -> str:
        return f"- {one_line(plain_text(self.shown))}{_sources(self.keys)}"


def _sources(keys: Sequence[int]) -> str:
    """Where an entry comes from: its first and its newest message."""
    ends = tuple(dict.fromkeys((keys[0], keys[-1]) if len(keys) > 1 else keys))
    return f" ({', '.join(f'#{key}' for key in ends)})" if ends else ""


@frozen
class DeedsSection:
    """What was done, as far as there was room for it."""

    text: str = ""
    written: frozenset[tuple[str, str]] = frozenset()
    """Kind and text of the facts that stand in it."""


def deeds_section(
    ledger: Ledger,
    budget: int,
    count: Count,
    in_sight: Collection[int] = (),
    alive: Sequence[str] | None = None,
) -> DeedsSection:
    """Write down the deeds, what is open and what is alive, the dearest first within a budget.

    Args:
        ledger: The whole session.
        budget: Tokens that the section may take.
        count: Tokens of a text.
        in_sight: Messages that stay: what only stands there is not said again.
        alive: What is alive now, a line each; None where only the ledger can say.
    """
    seen = set(in_sight)
    entries = [
        entry for entry in _entries(ledger, alive) if entry.kind in _ALWAYS or not set(entry.keys) <= seen
    ]
    root = _common_root(entry.folder for entry in entries)
    first, last, unknown = [f"…/ stands for {root}/"] if root else [], list[str](), ledger.not_understood
    if unknown:
        last.append(_unknown_calls(ledger))
    left = budget - sum(count(line) + 1 for line in (*first, *last)) - count(DEEDS_HEADING)
    if left < 0:
        return DeedsSection()
    chosen: list[Entry] = []
    groups: set[tuple[str, bool] | None] = {None}
    for entry in sorted(entries, key=lambda entry: entry.rank):
        cost = count(f"  {entry.line}") + 1
        if entry.group not in groups:
            cost += count(f"- {_short(entry.folder, root) or _HERE}") + 1
        if cost <= left:
            left -= cost
            chosen.append(entry)
            groups.add(entry.group)
    kept = {id(entry) for entry in chosen}
    lines = list(_lines([entry for entry in entries if id(entry) in kept], root))
    if not (lines or last):
        return DeedsSection()
    text = "\n".join([DEEDS_HEADING, *first, *lines, *last])
    return DeedsSection(text, frozenset((entry.kind, mask_secrets(entry.text)) for entry in chosen))


def _unknown_calls(ledger: Ledger) -> str:
    """What was called that nobody understands: it may have changed anything."""
    count = ledger.not_understood
    calls = sorted(ledger.unknown_calls().items(), key=lambda each: -len(each[1]))[:_MOST_UNKNOWN]
    told = ", ".join(f"`{one_line(plain_text(tool))}` {len(keys)}×{_sources(keys)}" for tool, keys in calls)
    return (
        f"- {count} call{'' if count == 1 else 's'} not understood, whose effects are not told here: {told}"
    )


def _entries(ledger: Ledger, alive: Sequence[str] | None) -> Iterator[Entry]:
    """Every entry in the order in which it is shown, with its rank."""
    trails = list(ledger.files().values())
    yield from (_file_entry(trail, 2.0) for trail in trails if trail.is_changed)
    yield from _run_entries(ledger)
    for action in ledger.failures():
        text = failure_text(action)
        shown = mask_secrets(f"{text.replace(LINE_BREAK, ' / ')}{NO_SUCCESS}")
        rank = 1.5 if isinstance(action.operation, FileUse) else 3.5
        yield Entry("error", text, shown, (action.key,), rank)
    started = {live_text(live.handle, live.command): live.key for live in ledger.live()}
    ended = ", not seen to end" if alive is None else ""
    for text in started if alive is None else alive:
        keys = tuple(filter(None, [started.get(text)]))
        yield Entry("live", text, f"▶ {mask_secrets(text)}{ended}", keys, 0.0)
    for task in ledger.tasks():
        if task.state != "dropped":
            text, rank = task_text(task), 1.2 if task.state in OPEN else 4.5
            yield Entry("todo", text, f"task: {mask_secrets(text)}", (task.key,), rank)
    decisions = ((decision_text(each), each.key) for each in ledger.decisions())
    yield from (Entry("decision", text, mask_secrets(text), (key,), 3.0) for text, key in decisions)
    waiting = ((f"call of {each.tool}{NO_RESULT}", each.key) for each in ledger.waiting())
    yield from (Entry("question", text, text, (key,), 0.5) for text, key in waiting)
    yield from (_file_entry(trail, 5.0) for trail in trails if not trail.is_changed)


def _run_entries(ledger: Ledger) -> Iterator[Entry]:
    telling = telling_runs(ledger)
    for run in ledger.runs().values():
        if is_look(run.command):
            continue
        if run.is_open:
            shown = mask_secrets(error_text(run)).replace(LINE_BREAK, " / ")
            told = f", {run.outcome.describe()}" if run.outcome.counts or run.outcome.exit else ""
            since = (
                f"{SEPARATOR}run again since (#{run.hidden}), its end is hidden" if run.hidden else NO_SUCCESS
            )
            yield Entry("error", error_text(run), f"{shown}{told}{since}", (run.key,), 1.0)
        elif run in telling:
            shown = f"{mask_secrets(run_text(run))}{_solved(run)}"
            yield Entry("command", run_text(run), shown, (run.key,), 4.0)


def _solved(run: Run) -> str:
    """That an earlier run of it failed, with what it said then, or that it would work by now."""
    if run.solved_by:
        return f", worked since #{run.solved_by}"
    failed = [action for action in run.actions if action.outcome.state == "failed"]
    if not failed or not run.outcome.ok:
        return ""
    lines = failed[-1].outcome.lines
    return f", after {failed[-1].outcome.describe()}" + (f": {mask_secrets(lines[0])}" if lines else "")


def _file_entry(trail: FileTrail, rank: float) -> Entry:
    folder, name = posixpath.split(trail.path)
    keys = tuple(trail.keys or trail.reads[-1:])
    told = file_told(trail)
    # The newest first where not all have room.
    rank += 0.9 * (1 - 1 / (1 + keys[-1] / 1000)) * -1 + 0.9
    return Entry("file", f"{trail.path}{SEPARATOR}{told}", f"{name}{SEPARATOR}{told}", keys, rank, folder)


def _lines(entries: Sequence[Entry], root: str) -> Iterator[str]:
    """Lines as they are shown: files of one folder below it, at the place of the first."""
    groups: dict[object, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.group or id(entry), []).append(entry)
    for group in groups.values():
        first, folder = group[0], _short(group[0].folder, root)
        if len(group) == 1:
            yield f"- {folder}{first.line.removeprefix('- ')}"
        else:
            yield f"- {folder or _HERE}"
            yield from (f"  {each.line}" for each in group)


def _common_root(folders: Iterable[str]) -> str:
    """The folder of most absolute paths that saves most when told short; empty when none is worth it."""
    absolute = [folder for folder in folders if folder.startswith("/")]
    counts: dict[str, int] = {}
    for folder in absolute:
        above = folder
        while len(above) >= _SHORTEST_ROOT:
            counts[above] = counts.get(above, 0) + 1
            above = posixpath.dirname(above)
    wanted = max(_FEWEST_PATHS, _MOST_OF_THEM * len(absolute))
    fitting = [folder for folder, times in counts.items() if times >= wanted]
    return max(fitting, key=lambda folder: (counts[folder] * len(folder), len(folder)), default="")


def _short(folder: str, root: str) -> str:
    """A folder as it is shown in front of a name; empty for that of the session."""
    if root and (folder == root or folder.startswith(f"{root}/")):
        return f"…{folder[len(root) :]}/"
    return posixpath.join(folder, "")
