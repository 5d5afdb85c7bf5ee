"""A change of a file as a unified diff, in bounded time and size."""

from difflib import unified_diff

from tui_app.plurals import count

_COMPARED_LINES = 6_000
"""Lines of both versions together up to which they are compared line by line."""
DIFF_LINES = 600
DIFF_CHARS = 40_000


def diff_of(before: str | None, after: str, path: str) -> str:
    """The difference between two versions of a file; ``None`` before is a new file."""
    old, new = (before or "").splitlines(), after.splitlines()
    prefix = 0
    if len(old) + len(new) > _COMPARED_LINES:
        old, new, prefix = _without_equal_ends(old, new)
    if len(old) + len(new) > _COMPARED_LINES:
        rows = [f"[{len(old):,} lines from line {prefix + 1} on are replaced by {len(new):,}]"]
        rows += [f"+{line}" for line in new]
    else:
        start = "/dev/null" if before is None else f"a/{path}"
        rows = list(unified_diff(old, new, start, f"b/{path}", lineterm=""))
        if prefix:
            rows.insert(2, f"[line numbers count from line {prefix + 1}]")
    return _bounded(rows)


def counts_of(diff: str) -> str:
    """How many lines a diff adds and takes away: ``+3 -1``."""
    rows = [row for row in diff.splitlines() if not row.startswith(("+++", "---"))]
    added = sum(row.startswith("+") for row in rows)
    removed = sum(row.startswith("-") for row in rows)
    return f"+{added} -{removed}"


def _without_equal_ends(old: list[str], new: list[str]) -> tuple[list[str], list[str], int]:
    prefix = 0
    while prefix < min(len(old), len(new)) and old[prefix] == new[prefix]:
        prefix += 1
    suffix = 0
    while suffix < min(len(old), len(new)) - prefix and old[-1 - suffix] == new[-1 - suffix]:
        suffix += 1
    return old[prefix : len(old) - suffix], new[prefix : len(new) - suffix], prefix


def _bounded(rows: list[str]) -> str:
    shown: list[str] = []
    room = DIFF_CHARS
    for row in rows[:DIFF_LINES]:
        room -= len(row) + 1
        if room < 0:
            break
        shown.append(row)
    if len(shown) < len(rows):
        left = len(rows) - len(shown)
        verb = "is" if left == 1 else "are"
        shown.append(f"[{count(left, 'more line')} of this change {verb} not shown]")
    return "\n".join(shown)
