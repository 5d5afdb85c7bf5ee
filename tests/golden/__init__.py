"""Golden files of the program's behaviour, word for word, which show that a refactoring changes nothing.

``python -m tests.golden`` writes the files of this folder; ``test_golden.py`` compares them.
"""

from collections.abc import Mapping
from difflib import unified_diff
from itertools import islice
from pathlib import Path

HERE = Path(__file__).parent
_SHOWN_LINES = 120
_ANEW = "If this is meant, write the golden files anew: python -m tests.golden"


def kept(name: str) -> str:
    """The content of a golden file."""
    return (HERE / name).read_text(encoding="utf-8")


def kept_checksums(name: str) -> dict[str, str]:
    """The checksums in a golden file, by name."""
    return {what: made for what, _, made in (line.partition(": ") for line in kept(name).splitlines())}


def checksum_lines(found: Mapping[str, str]) -> str:
    """The content of a golden file with checksums, one per line."""
    return "".join(f"{what}: {made}\n" for what, made in sorted(found.items()))


def differences(name: str, made: str) -> str:
    """The differences between a golden file and new content; empty if there are none."""
    lines = unified_diff(kept(name).splitlines(), made.splitlines(), name, "now", lineterm="", n=8)
    shown = [line[:400] for line in islice(lines, _SHOWN_LINES)]
    return "\n".join([*shown, _ANEW]) if shown else ""
