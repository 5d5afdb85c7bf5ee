"""Passages of a compaction's replacement, by author."""

import json
from collections.abc import Mapping
from typing import Any

from tui_app.events import Origin

BY: dict[Origin, str] = {"model": "written by the model", "user": "your words", "code": "added by Plimsoll"}


def passages(message: str | None) -> list[tuple[Origin, str]]:
    """Split the replacement of a compaction, as the model gets it, into passages by author.

    Args:
        message: The message as JSON text; None if the log has none.

    Returns:
        Origin and text of each; empty if the message does not record it, as in logs of earlier versions.
    """
    parts = json.loads(message)["parts"] if message else []
    if len(parts) != 1:
        return []
    return by_origin(str(parts[0].get("content") or ""), parts[0].get("metadata"))


def by_origin(text: str, metadata: Mapping[str, Any] | None) -> list[tuple[Origin, str]]:
    """Like ``passages``, for the text and metadata of the message's only part."""
    start = 0
    found: list[tuple[Origin, str]] = []
    for origin, length in ((metadata or {}).get("plimsoll") or {}).get("origins") or ():
        passage = text[start : start + length].strip("\n")
        start += length
        if not passage.strip() or origin not in BY:
            continue
        if found and found[-1][0] == origin:
            found[-1] = origin, f"{found[-1][1]}\n\n{passage}"
        else:
            found.append((origin, passage))
    return found if start == len(text) else []
