"""Which results of ``read_file`` no longer say what their file holds.

Compared is content: the same lines are read again and held against what the model was given.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from tui_app.agent.tools.files import read_file
from tui_app.agent.tools.workspace import ToolProblem, Workspace

READ = "read_file"
_OURS = re.compile(r"\d+\t|\[.* is empty\]$", re.DOTALL)
"""How a result of our own tool begins; what others' tools returned cannot be made again."""
Staleness = Literal["changed", "gone"]


@dataclass(frozen=True, slots=True)
class Read:
    """One call of ``read_file`` and what it returned."""

    seq: int
    """Log number of the result."""
    args: str
    """Arguments of the call, as JSON."""
    text: str


def stale_reads(reads: Iterable[Read], workspace: Workspace) -> Mapping[int, Staleness]:
    """Read files again; blocking.

    Returns:
        By the number of the result, what has become of the file; those that still say what it holds, and
        those that cannot be judged, are left out.
    """
    found = ((read.seq, _judge(read, workspace)) for read in reads)
    return {seq: state for seq, state in found if state is not None}


def _judge(read: Read, workspace: Workspace) -> Staleness | None:
    if not _OURS.match(read.text):
        return None
    try:
        args = json.loads(read.args)
        path, start, lines = str(args["path"]), int(args.get("start", 1)), int(args.get("lines", 400))
        now = read_file(workspace, path, start, lines)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    except (ToolProblem, OSError):
        return "gone"
    return "changed" if now != read.text else None
