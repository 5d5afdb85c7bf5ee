"""Markdown files with a few values in front, as skills and commands have them.

Only what such files use of YAML is read: names with a text behind them, on a line, in quotes, or as a block.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_FENCE = "---"
_QUOTED = re.compile(r"(?s)\".*\"|'.*'")


@dataclass(frozen=True, slots=True)
class Document:
    """A file taken apart."""

    values: Mapping[str, str] = field(default_factory=dict)
    """What stands in front, names in lower case."""
    body: str = ""


def read_document(text: str) -> Document:
    """Take a file apart; one without anything in front is all body."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].strip() != _FENCE:
        return Document(body="\n".join(lines).strip())
    end = next((at for at, line in enumerate(lines[1:], 1) if line.strip() == _FENCE), 0)
    if not end:
        return Document(body="\n".join(lines).strip())
    return Document(_values(lines[1:end]), "\n".join(lines[end + 1 :]).strip())


def _values(lines: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        inside = line[:1] in (" ", "\t", "-")
        key, colon, rest = line.partition(":")
        if not inside and colon and key.strip():
            name = key.strip().lower()
            # The signs of a block say how its lines are joined; here they are always joined by spaces.
            found[name] = [] if rest.strip() in ("|", ">", "|-", ">-", "|+", ">+") else [rest.strip()]
        elif inside and name and line.strip():
            found[name].append(line.strip())
    values = {key: " ".join(filter(None, words)) for key, words in found.items()}
    return {key: text[1:-1] if _QUOTED.fullmatch(text) else text for key, text in values.items()}
