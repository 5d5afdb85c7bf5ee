"""Findings of language servers, as plain values."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from tui_app.records import frozen
from tui_app.text import cut, plain_text

MOST_FINDINGS = 1_000
"""Maximum findings kept per file."""
_MESSAGE_CHARS, _NAME_CHARS = 300, 60
_SEVERITIES = {1: "error", 2: "warning", 3: "note", 4: "hint"}
WARNING = 2
Key = tuple[int, str, str, str]
"""Identifies a finding wherever it is in the file: lines move with every edit."""


class ServerUnavailable(Exception):
    """A language server can no longer be used. The message is part of a sentence."""


@frozen
class Finding:
    """One diagnostic. Its texts are plain and short, but written by another program."""

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
        """The finding as compilers print it, with its source."""
        severity = _SEVERITIES.get(self.severity, "note")
        by = " ".join(filter(None, (self.source or server, self.code)))
        return f"{path}:{self.line}:{self.column}: {severity}: {self.message} [{by}]"


def finding_of(diagnostic: Any) -> Finding:
    """Convert a ``Diagnostic`` of the protocol. Without a severity it counts as an error."""
    start = diagnostic.range.start
    return Finding(
        start.line + 1,
        start.character + 1,
        int(diagnostic.severity or 1),
        _one_line(diagnostic.source or "", _NAME_CHARS),
        _one_line("" if diagnostic.code is None else str(diagnostic.code), _NAME_CHARS),
        _one_line(diagnostic.message, _MESSAGE_CHARS),
    )


def new_findings(now: Iterable[Finding], known: "Counter[Key]") -> list[Finding]:
    """Findings that are not among the known ones; duplicates count separately."""
    left = known.copy()
    found: list[Finding] = []
    for each in now:
        if left[each.key]:
            left[each.key] -= 1
        else:
            found.append(each)
    return found


def _one_line(text: str, limit: int) -> str:
    # Cut before it is cleaned: a message may be megabytes.
    return cut(" ".join(plain_text(text[: 10 * limit]).split()), limit)
