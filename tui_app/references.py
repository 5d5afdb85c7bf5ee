"""References in texts: files as ``@path`` or ``@"a path"`` with spaces, and ranges of log numbers.

Shared by the screen, the command line and the offline model.
"""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from tui_app.records import frozen

SIGN = r"""(?:^|(?<=[\s(\[{<'"`]))@"""
"""An ``@`` at the start of a word; one inside a word belongs to an address."""
MENTION = re.compile(rf'{SIGN}(?:"([^"\n]+)"|([^\s"]+))', re.MULTILINE)
AFTER = ".,;:!?)]}>'`"
"""Punctuation after a path that belongs to the sentence."""


def mentions(text: str) -> tuple[str, ...]:
    """Return the paths mentioned in a prompt, in order, without duplicates."""
    found = (quoted or bare.rstrip(AFTER) for quoted, bare in MENTION.findall(text))
    return tuple(dict.fromkeys(path for path in found if path))


_OPEN = re.compile(rf'{SIGN}(?:"([^"\n]*)|([^\s"]*))$')


class Mention(NamedTuple):
    """A path that is being written."""

    start: int
    """Column of the ``@``."""
    end: int
    """Column after its last character."""
    wanted: str
    """Text between the ``@`` and the cursor, without a quotation mark."""


def mention_at(line: str, column: int) -> Mention | None:
    """Return the path at the cursor; None if there is none."""
    found = _OPEN.search(line[:column])
    if found is None:
        return None
    quoted, bare = found.groups()
    rest = line[column:]
    if quoted is None:
        end = column + len(re.split(r'[\s"]', rest, maxsplit=1)[0])
    else:
        end = column + rest.index('"') + 1 if '"' in rest else column
    return Mention(found.start(), end, bare if quoted is None else quoted)


def is_writable(path: str) -> bool:
    """Return whether a path can be mentioned: a single line without hidden characters or quotation marks."""
    return path.isprintable() and '"' not in path


def written(path: str) -> str:
    """Return a path as written in a prompt, quoted if necessary."""
    bare = not any(sign.isspace() for sign in path) and not path.endswith(tuple(AFTER))
    return f"@{path}" if bare else f'@"{path}"'


_DRAGGED = re.compile(r"""(?:["']?(?:/|~/|file://))[^\n]{1,4000}""")


def dropped(text: str, accepts: Callable[[str], bool]) -> tuple[Path, ...]:
    """Return the paths that a terminal pastes when files are dragged onto it; none for other text.

    Args:
        text: The pasted text: paths quoted or escaped as for a shell, or addresses of files.
        accepts: Whether a file name is of the wanted kind; all of them must be.
    """
    if not _DRAGGED.fullmatch(text.strip()):
        return ()
    try:
        words = shlex.split(text.strip())
    except ValueError:
        return ()
    paths = tuple(
        Path(unquote(word.removeprefix("file://")) if word.startswith("file://") else word).expanduser()
        for word in words
    )
    return paths if all(accepts(path.name) and path.is_file() for path in paths) else ()


_DIGITS = 18
"""Maximum digits of a log number. Python itself refuses to parse thousands of them."""


def log_number(text: str) -> int | None:
    """Parse a log number; None if the text is none, or too large.

    Args:
        text: The number, with or without its sign and surrounding blanks.
    """
    digits = text.strip().removeprefix("#")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > _DIGITS:
        return None
    return int(digits)


@frozen
class Span:
    """A range of messages to summarize, by log number, inclusive; 0 for an open end."""

    first: int = 0
    last: int = 0

    @property
    def named(self) -> bool:
        """Whether the user has named an end."""
        return bool(self.first or self.last)

    @property
    def text(self) -> str:
        """``from #4 up to #12``; empty if no end is named."""
        ends = (f"from #{self.first}" if self.first else "", f"up to #{self.last}" if self.last else "")
        return " ".join(filter(None, ends))


WHOLE = Span()
"""Everything that the policy allows to summarize."""
