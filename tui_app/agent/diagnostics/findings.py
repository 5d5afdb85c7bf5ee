"""What language servers find in files, in plain values."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from tui_app.records import frozen
from tui_app.text import cut, plain_text

MOST_FINDINGS = 1_000
"""Kept of one file."""
_MESSAGE_CHARS, _NAME_CHARS = 300, 60
_SEVERITIES = {1: "error", 2: "warning", 3: "note", 4: "hint"}
WARNING = 2
Key = tuple[int, str, str, str]
"""What makes two findings the same wherever they are: lines move with every edit."""


class ServerUnavailable(Exception):
    """A language server cannot be used any more. The message is part of a sentence."""


@frozen
class Finding:
    """One diagnostic; its texts are plain and short, but the words of a foreign program."""

    line: int
    column: int
    severity: int
    source: str
    code: str
    message: str

    @property
    def key(self) -> Key:
        return self.severity, self.source, self.code, self.message

    def row(self, path: str, server: str) -> str:
        """As compilers write it, with who says so."""
        severity = _SEVERITIES.get(self.severity, "note")
        by = " ".join(filter(None, (self.source or server, self.code)))
        return f"{path}:{self.line}:{self.column}: {severity}: {self.message} [{by}]"


def finding_of(said: Any) -> Finding:
    """Make one of a ``Diagnostic`` of the protocol; without a severity it counts as an error."""
    start = said.range.start
    return Finding(
        start.line + 1,
        start.character + 1,
        int(said.severity or 1),
        _one_line(said.source or "", _NAME_CHARS),
        _one_line("" if said.code is None else str(said.code), _NAME_CHARS),
        _one_line(said.message, _MESSAGE_CHARS),
    )


def new_findings(now: Iterable[Finding], known: "Counter[Key]") -> list[Finding]:
    """Those that are not among the known ones, each as often as it is too many."""
    left = known.copy()
    found: list[Finding] = []
    for each in now:
        if left[each.key]:
            left[each.key] -= 1
        else:
            found.append(each)
    return found


def _one_line(text: str, limit: int) -> str:
    # Looked at before it is cleaned: a message may be megabytes.
    return cut(" ".join(plain_text(text[: 10 * limit]).split()), limit)
