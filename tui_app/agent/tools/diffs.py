"""Differences between two versions of a file, as unified diffs that say what rows alone would not show."""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

from tui_app.agent.tools.replacements import same_at_start
from tui_app.text import visible

_COMPARED_LINES = 6_000
"""Maximum lines of both versions together that are compared line by line."""
_CONTEXT = 3
_NO_NEWLINE = "\n\\ No newline at end of file"
BOM = "\ufeff"


def diff_of(before: str | None, after: str | None, path: str) -> str:
    r"""The difference between two versions of a file; ``None`` for a new or deleted file.

    Only ``\n`` ends a line. A row in brackets describes what the rows alone would not show.
    """
    name, end = visible(path), "/dev/null" if after is None else f"b/{visible(path)}"
    remarks = [] if after is None else list(_remarks(before, after))
    texts = [text for text in (before, after) if text is not None]
    old, new = _rows_of(before or ""), _rows_of(after or "")
    if all(text.count("\r") == text.count("\n") == text.count("\r\n") > 0 for text in texts):
        # If all lines have it, it is reported once; otherwise each line shows its own.
        old, new = ([row.replace("\r", "") for row in rows] for rows in (old, new))
        remarks.append("[lines end in CRLF]")
    start = "/dev/null" if before is None else f"a/{name}"
    return "\n".join((f"--- {start}", f"+++ {end}", *remarks, *_hunks(old, new)))


def diff_of_bytes(before: bytes | None, after: bytes | None, path: str) -> tuple[str, str]:
    """The diff of two file contents, or their sizes if they are not text."""
    old, new = decoded(before), decoded(after)
    if (old is None) is (before is None) and (new is None) is (after is None):
        return diff_of(old, new, path), ""
    return "", f"{len(before or b''):,} to {len(after or b''):,} bytes"


def _rows_of(text: str) -> list[str]:
    rows = text.split("\n")
    if rows[-1]:
        rows[-1] += _NO_NEWLINE
        return rows
    return rows[:-1]


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    prefix = suffix = 0
    if len(old) + len(new) > _COMPARED_LINES:
        prefix = same_at_start(old, new)
        suffix = same_at_start(reversed(old[prefix:]), reversed(new[prefix:]))
    at = max(0, prefix - _CONTEXT)
    old, new = (rows[at : len(rows) - max(0, suffix - _CONTEXT)] for rows in (old, new))
    if len(old) + len(new) > _COMPARED_LINES:
        ends = max(0, min(suffix, _CONTEXT))
        first = prefix - at
        groups: Iterable[Sequence[tuple[str, int, int, int, int]]] = [
            [
                ("equal", 0, first, 0, first),
                ("replace", first, len(old) - ends, first, len(new) - ends),
                ("equal", len(old) - ends, len(old), len(new) - ends, len(new)),
            ]
        ]
    else:
        groups = SequenceMatcher(None, old, new).get_grouped_opcodes(_CONTEXT)
    for group in groups:
        _, i1, _, j1, _ = group[0]
        _, _, i2, _, j2 = group[-1]
        yield f"@@ -{_range(at + i1, i2 - i1)} +{_range(at + j1, j2 - j1)} @@"
        for kind, a, b, c, d in group:
            if kind == "equal":
                yield from (f" {row}" for row in old[a:b])
            else:
                yield from (f"-{row}" for row in old[a:b])
                yield from (f"+{row}" for row in new[c:d])


def _range(first: int, lines: int) -> str:
    return f"{first + 1 if lines else first}" + ("" if lines == 1 else f",{lines}")


def _remarks(before: str | None, after: str) -> Iterator[str]:
    """Descriptions of a change that its rows hardly show."""
    if not after:
        yield "[an empty file]" if before is None else "[nothing is left in the file]"
    if before is None:
        if after.startswith(BOM):
            yield "[begins with a byte order mark]"
        return
    if before.startswith(BOM) != after.startswith(BOM):
        yield f"[the byte order mark at the start {'comes' if after.startswith(BOM) else 'goes'}]"
    old, new = before.removeprefix(BOM), after.removeprefix(BOM)
    if old == new or not (old and new):
        return
    if old.rstrip("\n") == new.rstrip("\n"):
        yield "[only line ends at the end of the file change]"
    elif old.replace("\r\n", "\n") == new.replace("\r\n", "\n"):
        yield f"[only line ends change: {_ends_named(old)} to {_ends_named(new)}]"
    elif re.sub(r"[ \t]+", "", old) == re.sub(r"[ \t]+", "", new):
        yield "[only white space changes]"


def _ends_named(text: str) -> str:
    crlf, all_ends = text.count("\r\n"), text.count("\n")
    return "LF" if not crlf else "CRLF" if crlf == all_ends else "mixed"


def counts_of(diff: str) -> str:
    """Number of lines a diff adds and removes: ``+3 -1``."""
    rows = diff.split("\n")[2:]
    added = sum(row.startswith("+") for row in rows)
    removed = sum(row.startswith("-") for row in rows)
    return f"+{added} -{removed}"


def decoded(data: bytes | None) -> str | None:
    """What a file holds as a text; None where it is none, or where there is no file."""
    try:
        return None if data is None or b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None
