"""Path patterns as in a shell and in ``.gitignore``, matched in linear time.

A pattern is matched segment by segment with a greedy algorithm, so no pattern can cause exponential time.
"""

import fnmatch
import re
from collections.abc import Sequence
from functools import lru_cache

from tui_app.records import frozen

_MAX_ALTERNATIVES = 32
_ANY_DEPTH = None
"""Marker for ``**``: any number of folders, including none."""


@frozen
class PathPattern:
    """One pattern over the parts of a relative path."""

    segments: tuple[re.Pattern[str] | None, ...]

    def matches(self, parts: Sequence[str]) -> bool:
        """Whether the whole path, given as its parts, matches."""
        at = retry_segment = retry_part = 0
        seen_star = False
        part = 0
        while part < len(parts):
            segment = self.segments[at] if at < len(self.segments) else re.compile(r"(?!)")
            if segment is _ANY_DEPTH:
                seen_star, retry_segment, retry_part = True, at + 1, part
                at += 1
            elif segment.match(parts[part]):
                at, part = at + 1, part + 1
            elif seen_star:
                retry_part += 1
                at, part = retry_segment, retry_part
            else:
                return False
        return all(segment is _ANY_DEPTH for segment in self.segments[at:])


def compile_path(pattern: str) -> PathPattern:
    """Compile a pattern such as ``src/**/*.py``; ``*`` and ``?`` do not match a slash."""
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    return PathPattern(tuple(_ANY_DEPTH if part == "**" else _segment(part) for part in parts))


def expand_braces(pattern: str) -> list[str]:
    """Expand ``*.{ts,tsx}`` to one pattern each; at most 32, nested braces included."""
    done: list[str] = []
    waiting = [pattern]
    while waiting and len(done) < _MAX_ALTERNATIVES:
        current = waiting.pop(0)
        found = re.search(r"\{([^{}]*,[^{}]*)\}", current)
        if found is None or len(waiting) >= _MAX_ALTERNATIVES:
            done.append(current)
            continue
        head, tail = current[: found.start()], current[found.end() :]
        waiting.extend(head + choice + tail for choice in found.group(1).split(","))
    return done


@frozen
class IgnoreRule:
    """One line of a ``.gitignore``."""

    pattern: PathPattern
    negated: bool
    folders_only: bool


def parse_ignore(text: str) -> tuple[IgnoreRule, ...]:
    """Parse the rules of a ``.gitignore`` as git documents them; invalid lines are skipped."""
    rules: list[IgnoreRule] = []
    for line in map(str.rstrip, text.splitlines()[:2000]):
        negated = line.startswith("!")
        body = line[1:] if negated or line.startswith("\\") else line
        anchored = "/" in body.rstrip("/")
        pattern = compile_path(body if anchored else f"**/{body}")
        if line.startswith("#") or all(segment is _ANY_DEPTH for segment in pattern.segments):
            continue
        rules.append(IgnoreRule(pattern, negated, body.endswith("/")))
    return tuple(rules)


def verdict(rules: Sequence[IgnoreRule], parts: Sequence[str], folder: bool) -> bool | None:
    """Whether the last matching rule ignores the path; None if no rule matches."""
    for rule in reversed(rules):
        if (folder or not rule.folders_only) and rule.pattern.matches(parts):
            return not rule.negated
    return None


@lru_cache(maxsize=512)
def _segment(part: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(part))
