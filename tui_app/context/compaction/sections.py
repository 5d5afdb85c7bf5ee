"""Sections by code next to a model's notes: deeds, the user's words, names that will be needed.

They are exact: each entry comes from the ledger, with the numbers of its messages.
"""

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from tui_app.context.ledger.facts import SEPARATOR, Entry, ledger_entries
from tui_app.context.ledger.ledger import Ledger
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
Count = Callable[[str], int]

_SHORTEST_ROOT, _FEWEST_PATHS, _MOST_OF_THEM = 12, 3, 0.6
"""Minimum characters of a folder that is abbreviated, minimum number of its paths, and their share of all."""
_ALWAYS = frozenset({"error", "live", "question"})
"""Open and running things are listed even if their message stays."""
LAST_WORDS, LAST_SAID = 400, 5
"""Characters of the assistant's last texts without a model's notes, and their number."""
STANDING = "## Where it stands"
_MOST_UNKNOWN = 8
"""Maximum number of unknown tools that are named."""


def unlike_ours(notes: str) -> str:
    """Rename headings in a model's notes that equal those of sections by code."""

    def renamed(match: re.Match[str]) -> str:
        is_ours = one_line(match[1]).casefold().strip(" :*_") in _OURS
        return f"### Notes: {match[1]}" if is_ours else match[0]

    return _HEADING.sub(renamed, notes)


def _group(entry: Entry) -> tuple[str, bool] | None:
    """Group files of the same folder, separately for those that were only read."""
    return (entry.folder, entry.text.endswith(f"{SEPARATOR}read")) if entry.kind == "file" else None


def _line(entry: Entry) -> str:
    return f"- {one_line(plain_text(entry.shown))}{_sources(entry.keys)}"


def _sources(keys: Sequence[int]) -> str:
    """Return the first and the newest message of an entry."""
    ends = tuple(dict.fromkeys((keys[0], keys[-1]) if len(keys) > 1 else keys))
    return f" ({', '.join(f'#{key}' for key in ends)})" if ends else ""


@frozen
class DeedsSection:
    """What was done, as far as there was room for it."""

    text: str = ""
    written: frozenset[tuple[str, str]] = frozenset()
    """Kind and text of the facts in it."""


def deeds_section(
    ledger: Ledger,
    budget: int,
    count: Count,
    in_sight: Collection[int] = (),
    alive: Sequence[str] | None = None,
) -> DeedsSection:
    """Write the deeds, what is open and what is running, most important first, within a budget.

    Args:
        ledger: The whole session.
        budget: Maximum tokens of the section.
        count: Tokens of a text.
        in_sight: Messages that stay: their content is not repeated.
        alive: What is running now, one line each; None if only the ledger knows.
    """
    seen = set(in_sight)
    entries = [
        entry
        for entry in ledger_entries(ledger, alive)
        if entry.rank is not None and (entry.kind in _ALWAYS or not set(entry.keys) <= seen)
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
    for entry in sorted(entries, key=lambda entry: entry.rank or 0.0):
        cost = count(f"  {_line(entry)}") + 1
        if _group(entry) not in groups:
            cost += count(f"- {_short(entry.folder, root) or _HERE}") + 1
        if cost <= left:
            left -= cost
            chosen.append(entry)
            groups.add(_group(entry))
    kept = {id(entry) for entry in chosen}
    lines = list(_lines([entry for entry in entries if id(entry) in kept], root))
    if not (lines or last):
        return DeedsSection()
    text = "\n".join([DEEDS_HEADING, *first, *lines, *last])
    return DeedsSection(text, frozenset((entry.kind, mask_secrets(entry.text)) for entry in chosen))


def _unknown_calls(ledger: Ledger) -> str:
    count = ledger.not_understood
    calls = sorted(ledger.unknown_calls().items(), key=lambda each: -len(each[1]))[:_MOST_UNKNOWN]
    tools = ", ".join(f"`{one_line(plain_text(tool))}` {len(keys)}×{_sources(keys)}" for tool, keys in calls)
    return (
        f"- {count} call{'' if count == 1 else 's'} not understood, whose effects are not told here: {tools}"
    )


def _lines(entries: Sequence[Entry], root: str) -> Iterator[str]:
    """Format the lines: files of one folder are grouped at the place of the first."""
    groups: dict[object, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(_group(entry) or id(entry), []).append(entry)
    for group in groups.values():
        first, folder = group[0], _short(group[0].folder, root)
        if len(group) == 1:
            yield f"- {folder}{_line(first).removeprefix('- ')}"
        else:
            yield f"- {folder or _HERE}"
            yield from (f"  {_line(each)}" for each in group)


def _common_root(folders: Iterable[str]) -> str:
    """Return the folder of most absolute paths that saves most if abbreviated; empty if none is worth it."""
    absolute = [folder for folder in folders if folder.startswith("/")]
    counts: dict[str, int] = {}
    for folder in absolute:
        above = folder
        while len(above) >= _SHORTEST_ROOT:
            counts[above] = counts.get(above, 0) + 1
            above = posixpath.dirname(above)
    least = max(_FEWEST_PATHS, _MOST_OF_THEM * len(absolute))
    fitting = [folder for folder, times in counts.items() if times >= least]
    return max(fitting, key=lambda folder: (counts[folder] * len(folder), len(folder)), default="")


def _short(folder: str, root: str) -> str:
    """Return the shown form of a folder before a name; empty for the session's folder."""
    if root and (folder == root or folder.startswith(f"{root}/")):
        return f"…{folder[len(root) :]}/"
    return posixpath.join(folder, "")
