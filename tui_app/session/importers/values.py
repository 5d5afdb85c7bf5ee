"""Reading values from foreign records, whatever their type."""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from tui_app.session.importers.source import Json

_LATEST = 253_402_300_799.0
_MILLISECONDS_FROM = 1e11
_MAX_COUNT = 2**53


def count(value: Any) -> int:
    """Return a token count; 0 for any other value."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MAX_COUNT:
        return 0
    return value


def seconds(value: Any, fallback: float) -> float:
    """Return a time in seconds since the epoch, from ISO 8601, seconds or milliseconds; else the fallback."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return fallback
        # A time without a zone counts as UTC: with the local zone, imports would differ between machines.
        return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return fallback
    number = float(value / 1000 if value > _MILLISECONDS_FROM else value)
    return number if 0 <= number <= _LATEST else fallback


def first_at(record: Any, *paths: str) -> Any:
    """Return the first value at these paths that is not None."""
    return next((value for path in paths if (value := value_at(record, path)) is not None), None)


def number_at(record: Any, *paths: str) -> int:
    """Return the first count at these paths that is not 0."""
    return next(filter(None, (count(value_at(record, path)) for path in paths)), 0)


def value_at(record: Any, path: str) -> Any:
    """Return the value at a dotted path; None if it is missing."""
    for key in path.split("."):
        record = record.get(key) if isinstance(record, dict) else None
    return record


def text_at(record: Any, *paths: str) -> str:
    """Return the first non-empty text at these paths, else an empty one."""
    found = (value_at(record, path) for path in paths)
    return next((value for value in found if isinstance(value, str) and value), "")


def object_at(record: Any, path: str) -> Json:
    """Return the object at a path, else an empty one."""
    value = value_at(record, path)
    return value if isinstance(value, dict) else {}


def list_at(record: Any, path: str) -> list[Any]:
    """Return the list at a path, else an empty one."""
    value = value_at(record, path)
    return value if isinstance(value, list) else []


def objects_at(record: Any, path: str) -> list[Json]:
    return [item for item in list_at(record, path) if isinstance(item, dict)]


def meets(record: Any, sign: str) -> bool:
    """Return whether a record meets all conditions of a sign, which are separated by blanks.

    A condition is a path that must exist (with a leading ``!``, must not). It may be followed by ``=`` and
    the allowed values, separated by ``|``, by ``!=`` and the disallowed ones, by ``^=`` and prefixes, or by
    ``*=`` and substrings. A path continues into the items of a list, one of which is enough.
    """
    return isinstance(record, dict) and all(_holds(record, *each) for each in _conditions(sign))


@lru_cache(maxsize=512)
def _conditions(sign: str) -> list[tuple[list[str], str, tuple[str, ...]]]:
    """Return the path, comparison and values of each condition."""
    found = (re.fullmatch(r"(!?)([^!=^*]+)([!=^*]*)(.*)", each) for each in sign.split())
    return [(each[2].split("."), each[1] or each[3], tuple(each[4].split("|"))) for each in found if each]


def _holds(record: Json, path: list[str], how: str, expected: tuple[str, ...]) -> bool:
    if path[0] not in record:
        return how == "!"
    found: list[Any] = [record]
    for key in path:
        found = [each for item in found for each in (item if isinstance(item, list) else [item])]
        found = [item[key] for item in found if isinstance(item, dict) and key in item]
    if how in ("", "!"):
        return bool(found) is not bool(how)
    texts = [each if isinstance(each, str) else str(each).lower() for each in found]
    return any(_HOW[how](text, expected) for text in texts)


_HOW: dict[str, Callable[[str, tuple[str, ...]], bool]] = {
    "=": lambda text, wanted: text in wanted, "!=": lambda text, wanted: text not in wanted,
    "^=": str.startswith, "*=": lambda text, wanted: any(part in text for part in wanted),
}  # fmt: skip


def block_list(content: Any) -> list[Any]:
    """Return a message's content as a list of blocks, from text, a list, an object or nothing."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else [content] if isinstance(content, dict) else []


def of_type(blocks: Iterable[Any], kind: str) -> list[Json]:
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]
