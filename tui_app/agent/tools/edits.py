"""Replacing a piece of a text: exactly, or where only white space differs and there is just one such place.

Nothing is ever guessed beyond white space: a piece that is not there is refused with the nearest place.
"""

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from difflib import SequenceMatcher, get_close_matches
from glob import escape
from pathlib import Path
from stat import S_IMODE
from typing import Literal

from tui_app.agent.tools.workspace import ToolProblem, Workspace, open_at, open_regular
from tui_app.files import replace_at, sync_folder
from tui_app.records import frozen
from tui_app.system.descriptors import folder_of
from tui_app.text import visible
from tui_app.tool_specs import WRITE_FILE

_NEAREST_LINES = 20_000
"""Lines of a file in which the nearest place is looked for."""
_SHOWN_LINES = 6
_SHOWN_CHARS = 200
_PLACES = 5
"""Line numbers named where a piece stands more than once."""
_END, _CRLF, _NOTHING = re.compile(r"(?:(?<!\r)\r+)?\n"), re.compile(r"\r\n"), re.compile(r"(?!)")
"""A line that was made to fit Windows twice ends in two returns and a line feed."""
_GAP = re.compile(rf"[ \t]*{_END.pattern}[ \t]*|[ \t]+")
"""White space that may differ. A text in which each gap is one character is compared as text: a pattern of
rows with such gaps between them can be tried in more ways than there is time for."""
_WORD = re.compile(r"\w")


@frozen
class Edited:
    """A text with a piece replaced."""

    text: str
    count: int
    how: Literal["exact", "white space"]


def replace_piece(text: str, old: str, new: str, *, every: bool = False) -> Edited:
    """Replace a piece of a text.

    Args:
        text: The text.
        old: The piece, which must stand in it just once.
        new: What takes its place.
        every: Replace it everywhere; then only exact matches count.

    Raises:
        ToolProblem: if it is not there, or more than once, or nothing would change.
    """
    if not old:
        raise ToolProblem(f"old_text is empty; give the text to replace, or use {WRITE_FILE.name}.")
    # The model reads lines, not their ends: each keeps its own, a new one gets that of its place.
    is_mended = "\r\n" in text and not ("\r\n" in old and old in text)
    if is_mended:
        old, new = (each.replace("\r\n", "\n") for each in (old, new))
    if old == new:
        raise ToolProblem("old_text and new_text are the same; nothing would change.")

    plain = text.replace("\r\n", "\n") if is_mended else text
    count = plain.count(old)
    if count > 1 and not every:
        places = itertools.islice(re.finditer(f"(?={re.escape(old)})", plain), _PLACES)
        lines = ", ".join(str(_line_at(plain, found.start())) for found in places)
        raise ToolProblem(
            f"old_text occurs {count} times, at lines {lines}; "
            "give more lines around the one you mean, or set every."
        )
    if every and not count:
        raise ToolProblem(f"old_text is not in the file.{nearest(text, old)}")
    if count:
        spans = [found.span() for found in re.finditer(re.escape(old), plain)]
        edges = _unfolded(text, itertools.chain.from_iterable(spans), _CRLF if is_mended else _NOTHING)
        changes = [(start, end, new) for start, end in zip(edges, edges, strict=True)]
    else:
        changes = [_loosely(text, old, new)]
    texts, at = list[str](), 0
    for start, end, piece in changes:
        put = like_lines(piece, text[start:end], _end_at(text, start)) if is_mended else piece
        texts += (text[at:start], put)
        at = end
    return Edited("".join([*texts, text[at:]]), len(changes), "exact" if count else "white space")


def like_lines(new: str, old: str, usual: str) -> str:
    """A piece with the line ends of an old one: lines that stay keep theirs, others get those of the old.

    Args:
        new: The piece, in which lines end as in Unix.
        old: What it takes the place of.
        usual: The end that lines have there, where the old one has none.
    """
    ends, rows, olds = _END.findall(old) or [usual], _END.split(new), _END.split(old)
    kept = max(len(rows) - _common_lines(reversed(rows), reversed(olds)), _common_lines(rows, olds))
    shift = len(olds) - len(rows)
    behind = (at + shift if at >= kept and at + shift >= 0 else at for at in range(len(rows) - 1))
    own = (ends[min(at, len(ends) - 1)] for at in behind)
    return "".join(row + end for row, end in zip(rows, [*own, ""], strict=True))


def _end_at(text: str, place: int) -> str:
    """How the line at a place ends, or the last one that has an end."""
    found = _END.search(text, place) or _END.search(text, max(0, text.rfind("\n") - 1))
    return found[0] if found else "\n"


def _common_lines(one: Iterable[str], other: Iterable[str]) -> int:
    """How many lines both begin with."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _loosely(text: str, old: str, new: str) -> tuple[int, int, str]:
    """From where to where a piece stands apart from white space, and what comes there."""
    rows = [_folded(line) for line in old.strip("\r\n").split("\n")]
    folded = _GAP.sub(lambda gap: "\n" if "\n" in gap.group() else " ", text)
    found = _places(folded, rows)
    if len(found) > 1:
        lines = ", ".join(str(_line_at(folded, at)) for at in found[:_PLACES])
        raise ToolProblem(
            f"old_text is not in the file; apart from white space it occurs at lines {lines}. "
            "Give it exactly as it is, with more lines around it."
        )
    if not found:
        raise ToolProblem(f"old_text is not in the file.{nearest(text, old)}")
    start, end = _unfolded(text, (found[0], found[0] + len("\n".join(rows))), _GAP)
    if not rows[0]:
        start = text.rfind("\n", 0, start) + 1
    begin, piece = _fitted(text, start, end, old, new)
    return begin, end, piece


def _places(folded: str, rows: Sequence[str]) -> list[int]:
    """Up to six places of a folded text at which these rows stand, those that overlap included."""
    if not any(rows):
        return []
    piece = "\n".join(rows)
    found: list[int] = []
    at = -1
    while len(found) <= _PLACES and (at := folded.find(piece, at + 1)) >= 0:
        before, after = folded[at - 1 : at] if at else "", folded[at + len(piece) : at + len(piece) + 1]
        if _parted(before, rows[0][:1]) and _parted(after, rows[-1][-1:]):
            found.append(at)
    return found


def _parted(outer: str, edge: str) -> bool:
    """Whether a piece may begin or end here: not inside a word, and an empty row only as an empty line."""
    if not edge:
        return outer in ("", "\n")
    return not (_WORD.match(outer) and _WORD.match(edge))


def _unfolded(text: str, places: Iterable[int], gaps: re.Pattern[str]) -> Iterator[int]:
    """Where places of a text in which each gap is one character are in the text itself; places in order."""
    found, dropped = gaps.finditer(text), 0
    gap = next(found, None)
    for at in places:
        while gap is not None and gap.start() - dropped < at:
            dropped += len(gap.group()) - 1
            gap = next(found, None)
        yield at + dropped


def _fitted(text: str, start: int, end: int, old: str, new: str) -> tuple[int, str]:
    """Where the replaced piece begins, and the new one with the depth that the place has.

    Raises:
        ToolProblem: if its lines are not all shifted alike, so that their depth would be a guess.
    """
    begin = text.rfind("\n", 0, start) + 1
    there = text[begin:start]
    given = _indent(old.lstrip("\r\n"))
    new = new.removeprefix("\n") if old.startswith("\n") else new
    if old.endswith("\n") and new.endswith("\n"):
        new = new[:-1].removesuffix("\r")
    if there.strip():
        # The middle of a line: there is no depth to keep.
        if "\n" in text[start:end]:
            raise ToolProblem(f"old_text begins inside line {_line_at(text, begin)}; give whole lines.")
        return start, new.strip(" \t")
    olds = old.strip("\r\n").split("\n")
    theirs = text[begin:end].split("\n")
    for one, other in zip(olds, theirs, strict=True):
        if one.strip() and _indent(other) != _shifted(_indent(one), given, there):
            raise ToolProblem(
                f"Near line {_line_at(text, begin)} the lines are indented differently from old_text; "
                "give them exactly as they are."
            )
    lines = new.split("\n")
    for at, line in enumerate(lines):
        if line.strip():
            indent = _shifted(_indent(line), given, there)
            if indent is None:
                raise ToolProblem("new_text is indented less than old_text; give old_text exactly as it is.")
            lines[at] = indent + line.lstrip(" \t")
    return begin, "\n".join(lines)


def _shifted(indent: str, given: str, there: str) -> str | None:
    return there + indent[len(given) :] if indent.startswith(given) else None


def nearest(text: str, old: str) -> str:
    """The place that is most like a piece, as a sentence with its lines; empty where none is."""
    lines = text.replace("\r\n", "\n").split("\n")[:_NEAREST_LINES]
    wanted = [_folded(line) for line in old.split("\n") if line.strip()]
    if not lines or not wanted:
        return ""
    at = _likeliest([_folded(line) for line in lines], wanted)
    if at is None:
        return ""
    shown = lines[at : at + min(_SHOWN_LINES, max(1, len(wanted)))]
    quoted = "\n".join(f"{at + number}\t{line[:_SHOWN_CHARS]}" for number, line in enumerate(shown, 1))
    return f" The nearest place is line {at + 1}:\n{quoted}"


def _likeliest(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Where most of the wanted lines stand as they are, else where the longest one nearly does."""
    telling = max(wanted, key=len)
    place = wanted.index(telling)
    known = set(wanted)
    equal = {line: number for number, line in reversed(list(enumerate(lines))) if line in known}
    if equal:
        best = max(equal, key=len)
        if len(best) > 3:
            return max(0, equal[best] - wanted.index(best))
    shown = [line[:_SHOWN_CHARS] for line in lines]
    close = get_close_matches(telling[:_SHOWN_CHARS], dict.fromkeys(shown), n=1)
    return max(0, shown.index(close[0]) - place) if close else None


def _folded(line: str) -> str:
    return " ".join(re.split(r"[ \t\r]+", line.strip(" \t\r")))


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line_at(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


_COMPARED_LINES = 6_000
"""Lines of both versions together up to which they are compared line by line."""
_CONTEXT = 3
_NO_NEWLINE = "\n\\ No newline at end of file"
_BOM = "\ufeff"


def diff_of(before: str | None, after: str | None, path: str) -> str:
    r"""The difference between two versions of a file; ``None`` is none: a new file, or one that was deleted.

    Only ``\n`` ends a line. What rows alone would not show is said in a row in brackets.
    """
    name, end = visible(path), "/dev/null" if after is None else f"b/{visible(path)}"
    remarks = [] if after is None else list(_remarks(before, after))
    texts = [text for text in (before, after) if text is not None]
    old, new = _rows_of(before or ""), _rows_of(after or "")
    if all(text.count("\r") == text.count("\n") == text.count("\r\n") > 0 for text in texts):
        # As all of them do, it is said once; where some do not, each line shows its own.
        old, new = ([row.replace("\r", "") for row in rows] for rows in (old, new))
        remarks.append("[lines end in CRLF]")
    start = "/dev/null" if before is None else f"a/{name}"
    return "\n".join((f"--- {start}", f"+++ {end}", *remarks, *_hunks(old, new)))


def diff_of_bytes(before: bytes | None, after: bytes | None, path: str) -> tuple[str, str]:
    """The same of what files hold, or how large it is, where that is no text."""
    old, new = _decoded(before), _decoded(after)
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
        prefix = _common_lines(old, new)
        suffix = _common_lines(reversed(old[prefix:]), reversed(new[prefix:]))
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
    """What a change is that its rows would hardly show."""
    if not after:
        yield "[an empty file]" if before is None else "[nothing is left in the file]"
    if before is None:
        if after.startswith(_BOM):
            yield "[begins with a byte order mark]"
        return
    if before.startswith(_BOM) != after.startswith(_BOM):
        yield f"[the byte order mark at the start {'comes' if after.startswith(_BOM) else 'goes'}]"
    old, new = before.removeprefix(_BOM), after.removeprefix(_BOM)
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
    """How many lines a diff adds and takes away: ``+3 -1``."""
    rows = diff.split("\n")[2:]
    added = sum(row.startswith("+") for row in rows)
    removed = sum(row.startswith("-") for row in rows)
    return f"+{added} -{removed}"


MAX_BYTES = 4_000_000
"""A file that is written or edited may be this large."""
CHANGED = "{} has changed since you read it; read it again before you change it."


@frozen(kw_only=True)
class FileChange:
    """What is to become of one file."""

    path: Path
    """Resolved."""
    shown: str
    """Relative to the workspace."""
    before: bytes | None = None
    """None for a file that does not exist yet."""
    after: bytes = b""
    mode: int | None = None
    """Rights of the file as it is."""
    diff: str = ""
    note: str = ""
    whole: bool = False
    """Whether nothing stays of what it holds now."""


def plan_write(ws: Workspace, path: str, content: str) -> FileChange:
    """Plan to give a file a content, whatever it holds now.

    Raises:
        ToolProblem: if the path is none that may be written.
    """
    now = _present(ws, path)
    text = _decoded(now.before)
    content = content if text is None else like_before(text, content)
    after = _encoded(content)
    if now.before == after:
        raise ToolProblem(f"{now.shown} already has exactly this content; nothing was written.")
    diff = diff_of(text, content, now.shown)
    note = "new file" if now.before is None else f"overwrites, {counts_of(diff)}"
    if now.before is not None and text is None:
        note = f"replaces a binary file of {len(now.before):,} bytes"
    return replace(now, after=after, diff=diff, note=note, whole=True)


def like_before(before: str, content: str) -> str:
    """A new content with the line ends and the mark at the start of the old one, which no model is shown.

    Lines that stay keep their ends; a content that has such ends itself is taken as it is.
    """
    if before.startswith(_BOM) and not content.startswith(_BOM):
        content = _BOM + content
    if "\r" in content or "\r\n" not in before:
        return content
    return like_lines(content, before, "\r\n")


def plan_edit(ws: Workspace, path: str, old: str, new: str, *, every: bool = False) -> FileChange:
    """Plan to replace a piece of a file; see ``replace_piece``.

    Raises:
        ToolProblem: if there is no such file, or no such piece in it.
    """
    now = _present(ws, path)
    if now.before is None:
        raise ToolProblem(f"There is no file {path!r:.200} to edit; create it with {WRITE_FILE.name}.")
    text = _decoded(now.before)
    if text is None:
        raise ToolProblem(f"{now.shown} is not UTF-8 text and cannot be edited.")
    edited = replace_piece(text, old, new, every=every)
    diff = diff_of(text, edited.text, now.shown)
    loose = ", white space ignored" if edited.how == "white space" else ""
    times = f", {edited.count} times" if edited.count > 1 else ""
    return replace(now, after=_encoded(edited.text), diff=diff, note=f"{counts_of(diff)}{times}{loose}")


def check_unchanged(change: FileChange) -> None:
    """See that a file is still what a plan saw.

    Raises:
        ToolProblem: if it is not.
    """
    with _folder_of(change.path, make=False) as folder:
        if (None if folder is None else _read_at(folder, change.path.name)) != change.before:
            raise ToolProblem(CHANGED.format(change.shown))


def carry_out(change: FileChange) -> None:
    """Write a file as planned: whole or not at all, with the rights it had.

    Raises:
        ToolProblem: if it is not what the plan saw any more, or a link stands where a folder was.
        OSError: if the disk refuses.
    """
    put_bytes(change.path, change.after, expected=change.before, mode=change.mode, shown=change.shown)


def put_bytes(
    path: Path, data: bytes | None, *, expected: bytes | None, mode: int | None, shown: str
) -> None:
    """Replace a file that holds what is expected; ``None`` stands for no file, before and after.

    Raises:
        ToolProblem: if it holds something else, or a link stands where a folder was.
        OSError: if the disk refuses.
    """
    with _folder_of(path, make=data is not None) as folder:
        present = None if folder is None else _read_at(folder, path.name)
        if present != expected:
            raise ToolProblem(CHANGED.format(shown))
        if folder is None:
            return
        if data is not None:
            replace_at(folder, path.name, data, mode)
            return
        with suppress(FileNotFoundError):
            os.unlink(path.name, dir_fd=folder)
        sync_folder(folder)


def remove_halves(path: Path) -> None:
    """Remove what a killed process has left beside a file that it was replacing."""
    for each in path.parent.glob(f".{escape(path.name[:50])}.{'[0-9a-f]' * 12}.tmp"):
        each.unlink(missing_ok=True)


@contextmanager
def _folder_of(path: Path, *, make: bool) -> Iterator[int | None]:
    """The open folder of a resolved path; None where it does not exist and is not to be made."""
    with ExitStack() as stack:
        try:
            folder, _ = stack.enter_context(folder_of(path, make=make))
        except FileNotFoundError:
            yield None
            return
        except NotADirectoryError as error:
            raise ToolProblem(f"{path.parent.name!r:.200} is no longer a folder.") from error
        yield folder


def _read_at(folder: int, name: str) -> bytes | None:
    """The bytes of a regular file in an open folder; None where there is none.

    Raises:
        ToolProblem: if something else stands there.
    """
    try:
        with open_at(folder, name) as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ToolProblem(f"{name!r:.200} cannot be written: {error.strerror or error}.") from error


def _present(ws: Workspace, path: str) -> FileChange:
    """What a file holds and its rights, without anything planned.

    Raises:
        ToolProblem: if it is no file that can be changed.
    """
    real = ws.writable(path)
    now = FileChange(path=real, shown=ws.display(real))
    if not os.path.lexists(real):
        return now
    with open_regular(real) as file:
        mode = S_IMODE(os.fstat(file.fileno()).st_mode)
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ToolProblem(f"{real.name!r:.200} is larger than {MAX_BYTES:,} bytes and is not changed.")
    return replace(now, before=data, mode=mode)


def _encoded(text: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise ToolProblem("The text contains half a character and cannot be written as UTF-8.") from error
    if len(data) > MAX_BYTES:
        raise ToolProblem(f"That is larger than {MAX_BYTES:,} bytes; write it in several files.")
    return data


def _decoded(data: bytes | None) -> str | None:
    """What a file holds as a text; None where it is none, or where there is no file."""
    """Text; None where there is none."""
    try:
        return None if data is None or b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None
