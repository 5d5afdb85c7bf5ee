"""Small values out of foreign records, whatever type they turn out to have."""

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
    """A count of tokens; 0 for everything that is none."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MAX_COUNT:
        return 0
    return value


def seconds(value: Any, fallback: float) -> float:
    """A time as seconds since the epoch, from ISO 8601 text, seconds or milliseconds; else the fallback."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return fallback
        # A time without a zone is taken as UTC: the reader's own zone would make imports differ by machine.
        return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return fallback
    number = float(value / 1000 if value > _MILLISECONDS_FROM else value)
    return number if 0 <= number <= _LATEST else fallback


def first_at(record: Any, *paths: str) -> Any:
    """The first value under one of the paths that is not None."""
    return next((value for path in paths if (value := value_at(record, path)) is not None), None)


def number_at(record: Any, *paths: str) -> int:
    """The first count under one of the paths that is not 0."""
    return next(filter(None, (count(value_at(record, path)) for path in paths)), 0)


def value_at(record: Any, path: str) -> Any:
    """What is in a record under keys with points between; None when it is not there."""
    for key in path.split("."):
        record = record.get(key) if isinstance(record, dict) else None
    return record


def text_at(record: Any, *paths: str) -> str:
    """The first text that is not empty under one of the paths; else an empty one."""
    found = (value_at(record, path) for path in paths)
    return next((value for value in found if isinstance(value, str) and value), "")


def object_at(record: Any, path: str) -> Json:
    """The object under a path; an empty one when there is none."""
    value = value_at(record, path)
    return value if isinstance(value, dict) else {}


def list_at(record: Any, path: str) -> list[Any]:
    """The list under a path; an empty one when there is none."""
    value = value_at(record, path)
    return value if isinstance(value, list) else []


def objects_at(record: Any, path: str) -> list[Json]:
    return [item for item in list_at(record, path) if isinstance(item, dict)]


def meets(record: Any, sign: str) -> bool:
    """Whether a record meets all conditions of a sign, with blanks between.

    A condition is a path, which must be there (after ``!`` must not); after ``=`` one of the values it may
    have, with ``|`` between, after ``!=`` one of those it may not have, after ``^=`` how a text begins, and
    after ``*=`` what is in one. A path goes into the items of a list: one of them is enough.
    """
    return isinstance(record, dict) and all(_holds(record, *each) for each in _conditions(sign))


@lru_cache(maxsize=512)
def _conditions(sign: str) -> list[tuple[list[str], str, tuple[str, ...]]]:
    """Path, how to compare, and what with."""
    found = (re.fullmatch(r"(!?)([^!=^*]+)([!=^*]*)(.*)", each) for each in sign.split())
    return [(each[2].split("."), each[1] or each[3], tuple(each[4].split("|"))) for each in found if each]


def _holds(record: Json, path: list[str], how: str, wanted: tuple[str, ...]) -> bool:
    if path[0] not in record:
        return how == "!"
    found: list[Any] = [record]
    for key in path:
        found = [each for item in found for each in (item if isinstance(item, list) else [item])]
        found = [item[key] for item in found if isinstance(item, dict) and key in item]
    if how in ("", "!"):
        return bool(found) is not bool(how)
    texts = [each if isinstance(each, str) else str(each).lower() for each in found]
    return any(_HOW[how](text, wanted) for text in texts)


_HOW: dict[str, Callable[[str, tuple[str, ...]], bool]] = {
    "=": lambda text, wanted: text in wanted, "!=": lambda text, wanted: text not in wanted,
    "^=": str.startswith, "*=": lambda text, wanted: any(part in text for part in wanted),
}  # fmt: skip


def block_list(content: Any) -> list[Any]:
    """A message's content as blocks, whether it was written as text, as a list or not at all."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else [content] if isinstance(content, dict) else []


def of_type(blocks: Iterable[Any], kind: str) -> list[Json]:
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]
