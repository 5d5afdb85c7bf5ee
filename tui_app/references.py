"""Files that a text names, ``@path`` or ``@"a path"`` where the path holds spaces, and ranges of log numbers.

The screen, the command line and the offline model read them alike.
"""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from tui_app.records import frozen

SIGN = r"""(?:^|(?<=[\s(\[{<'"`]))@"""
"""An ``@`` that begins a word; one inside a word belongs to an address."""
MENTION = re.compile(rf'{SIGN}(?:"([^"\n]+)"|([^\s"]+))', re.MULTILINE)
AFTER = ".,;:!?)]}>'`"
"""Signs behind a path that belong to the sentence."""


def mentions(text: str) -> tuple[str, ...]:
    """The paths that a prompt names, each once, in order."""
    found = (quoted or bare.rstrip(AFTER) for quoted, bare in MENTION.findall(text))
    return tuple(dict.fromkeys(path for path in found if path))


_OPEN = re.compile(rf'{SIGN}(?:"([^"\n]*)|([^\s"]*))$')


class Mention(NamedTuple):
    """A path that is being written."""

    start: int
    """Column of the ``@``."""
    end: int
    """Column behind its last character."""
    wanted: str
    """What stands between the ``@`` and the cursor, without a quotation mark."""


def mention_at(line: str, column: int) -> Mention | None:
    """The path in which the cursor stands, if it stands in one."""
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
    """Whether a path can be named at all: one line, nothing hidden in it, no quotation mark."""
    return path.isprintable() and '"' not in path


def written(path: str) -> str:
    """A path as it stands in a prompt, quoted where it must be."""
    bare = not any(sign.isspace() for sign in path) and not path.endswith(tuple(AFTER))
    return f"@{path}" if bare else f'@"{path}"'


_DRAGGED = re.compile(r"""(?:["']?(?:/|~/|file://))[^\n]{1,4000}""")


def dropped(text: str, wanted: Callable[[str], bool]) -> tuple[Path, ...]:
    """The paths that a terminal pastes where files are dragged onto it; none for other text.

    Args:
        text: What was pasted: paths that are quoted or escaped as for a shell, or addresses of files.
        wanted: Says of a path whether it is a file of the kind that is meant; all of them must be.
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
    return paths if all(wanted(path.name) and path.is_file() for path in paths) else ()


_DIGITS = 18
"""So many digits no log has; Python itself refuses to read some thousands of them."""


def log_number(text: str) -> int | None:
    """The number a text stands for; None where it is none, or none that a log could have.

    Args:
        text: What was written, with or without the sign and blanks around it.
    """
    digits = text.strip().removeprefix("#")
    if not (digits.isascii() and digits.isdigit()) or len(digits) > _DIGITS:
        return None
    return int(digits)


@frozen
class Span:
    """A range of messages to summarise, by log number, both ends included; 0 leaves an end open."""

    first: int = 0
    last: int = 0

    @property
    def named(self) -> bool:
        """Whether the user has named an end."""
        return bool(self.first or self.last)

    @property
    def text(self) -> str:
        """``from #4 up to #12``; empty where no end is named."""
        ends = (f"from #{self.first}" if self.first else "", f"up to #{self.last}" if self.last else "")
        return " ".join(filter(None, ends))


WHOLE = Span()
"""All that the policy lets go."""
