"""Keeps what is shown of a huge text within bounds, and says how much is left out."""

from collections.abc import Callable

from tui_app.plurals import count

COUNTED_CHARS = 1_000_000
"""In a longer text no lines are counted."""
MAX_ARGS_CHARS = 500_000
"""Longer arguments are shown as they came."""


def clip(
    text: str, max_chars: int, max_lines: int | None, *, wash: Callable[[str], str] = str
) -> tuple[str, str, str]:
    """Keep the first three quarters of a budget and the last quarter.

    Args:
        text: Any text.
        max_chars: Budget in characters.
        max_lines: Budget in lines, or None for no limit.
        wash: What cleans a text; applied to what is kept alone, because megabytes would outlast a frame.

    Returns:
        Head, a note that counts what is left out, tail; note and tail are empty when all fits.
    """
    if len(text) <= max_chars:
        text = wash(text)
        head, tail = _clip_lines(text, "", max_lines)
        return head, _left_out(text, head, tail, len(text) - len(head) - len(tail), max_lines), tail
    first, last = max_chars * 3 // 4, max_chars // 4
    washed = wash(text[:first]), wash(text[-last:])
    head, tail = _clip_lines(*washed, max_lines)
    chars = len(text) - first - last + sum(map(len, washed)) - len(head) - len(tail)
    return head, _left_out(text, head, tail, chars, max_lines), tail


def _left_out(text: str, head: str, tail: str, chars: int, max_lines: int | None) -> str:
    """Say how much is missing; empty when nothing is."""
    lines = 0
    if chars and max_lines is not None and len(text) <= COUNTED_CHARS:
        lines = text.count("\n") - head.count("\n") - tail.count("\n")
    if lines > 1:
        return _more(lines - 1, "line")
    return _more(chars, "character") if chars else ""


def _more(number: int, thing: str) -> str:
    return f"{count(number, f'more {thing}')} {'is' if number == 1 else 'are'} not shown"


def _clip_lines(head: str, tail: str, max_lines: int | None) -> tuple[str, str]:
    if max_lines is None:
        return head, tail
    first, last = max_lines * 3 // 4, max_lines // 4
    lines = head.split("\n")
    if tail:
        return "\n".join(lines[:first]), "\n".join(tail.split("\n")[-last:])
    if len(lines) <= max_lines:
        return head, ""
    return "\n".join(lines[:first]), "\n".join(lines[-last:])


def readable_args(args: str) -> str:
    """Write the arguments of a call as ``name: value`` lines; text in them is shown as it is."""
    import json  # behind the first frame

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
    import json

    return json.dumps(value, ensure_ascii=False)
