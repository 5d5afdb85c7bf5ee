"""Writing mentions of files, which ``tui_app.mentioned`` reads."""

import re
from typing import NamedTuple

from tui_app.mentioned import AFTER, SIGN

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
