"""Keeps what is shown of a huge text within bounds, and says how much is left out."""

import json

MAX_ARGS_CHARS = 500_000
"""Longer arguments are shown as they came."""


def clip(text: str, max_chars: int, max_lines: int | None) -> tuple[str, str, str]:
    """Keep the first three quarters of a budget and the last quarter.

    Args:
        text: Clean text.
        max_chars: Budget in characters.
        max_lines: Budget in lines, or None for no limit.

    Returns:
        Head, a note that counts what is left out, tail; note and tail are empty when all fits.
    """
    head, tail = text, ""
    if len(text) > max_chars:
        head, tail = text[: max_chars * 3 // 4], text[-(max_chars // 4) :]
    if max_lines is not None:
        head, tail = _clip_lines(head, tail, max_lines)
    if len(head) == len(text):
        return text, "", ""
    lines = text.count("\n") - head.count("\n") - tail.count("\n")
    if lines > 1 and max_lines is not None:
        return head, f"{lines - 1:,} more lines are not shown", tail
    return head, f"{len(text) - len(head) - len(tail):,} more characters are not shown", tail


def _clip_lines(head: str, tail: str, max_lines: int) -> tuple[str, str]:
    first, last = max_lines * 3 // 4, max_lines // 4
    lines = head.split("\n")
    if tail:
        return "\n".join(lines[:first]), "\n".join(tail.split("\n")[-last:])
    if len(lines) <= max_lines:
        return head, ""
    return "\n".join(lines[:first]), "\n".join(lines[-last:])


def readable_args(args: str) -> str:
    """Write the arguments of a call as ``name: value`` lines; text in them is shown as it is."""
    try:
        values = json.loads(args) if len(args) <= MAX_ARGS_CHARS else None
    except (ValueError, RecursionError):
        return args
    if not isinstance(values, dict):
        return args
    return "\n".join(f"{name}: {_value(value)}" for name, value in values.items())


def _value(value: object) -> str:
    if isinstance(value, str):
        return f"\n{value}" if "\n" in value else value
    return json.dumps(value, ensure_ascii=False)
