"""Who wrote which passage of a replacement."""

import json
from collections.abc import Mapping
from typing import Any

from tui_app.events import Origin

BY: dict[Origin, str] = {"model": "written by the model", "user": "your words", "code": "added by Plimsoll"}


def passages(message: str | None) -> list[tuple[Origin, str]]:
    """The replacement of a compaction as the model gets it, in passages by who they are from.

    Args:
        message: The message as JSON text; None where the log holds none.

    Returns:
        Origin and text of each; empty where the message does not say, as in logs of earlier versions.
    """
    parts = json.loads(message)["parts"] if message else []
    if len(parts) != 1:
        return []
    return by_origin(str(parts[0].get("content") or ""), parts[0].get("metadata"))


def by_origin(text: str, metadata: Mapping[str, Any] | None) -> list[tuple[Origin, str]]:
    """The same of the one part of such a message: its text, and what is noted beside it."""
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
