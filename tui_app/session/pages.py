"""Reading a SQLite file page by page: every record that is still readable, even if its trees are damaged."""

import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

Value = int | float | bytes | None
"""A value of a record. Texts are bytes, which need not be valid UTF-8."""
Values = tuple[Value, ...]

PAGE = 4_096
"""Page size in bytes if the file does not give a valid one."""
_INDEX_INTERIOR, _INTERIOR, _INDEX_LEAF, _LEAF = 2, 5, 10, 13
"""First byte of a page of each kind of tree."""
_INTERIORS = (_INDEX_INTERIOR, _INTERIOR)
_TREES = (*_INTERIORS, _INDEX_LEAF, _LEAF)
_SIZES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)
"""Bytes of values other than texts, by serial type."""
_LONGEST_HEADER = 60
_FRAME, _WAL_HEADER = 24, 32


class Frame(NamedTuple):
    """One page in a write-ahead log."""

    page: int
    commits: bool
    at: int
    """Offset of the page in the log."""
    sound: bool
    """Whether its checksum is right."""


def log_frames(log: bytes) -> list[Frame]:
    """Return the frames of a write-ahead log up to its last commit, damaged or not.

    Each frame has a checksum over all frames so far. So a damaged frame can be distinguished from those after
    it, which SQLite would drop as well.
    """
    if len(log) < _WAL_HEADER + _FRAME:
        return []
    size = int.from_bytes(log[8:12], "big")
    size = size if _is_size(size) else PAGE
    big = bool(log[3] & 1)
    seed = struct.unpack(">2I", log[24:32])
    trusted = _checksum(log[:24], big=big) == seed
    salts = log[16:24] if trusted else log[_WAL_HEADER + 8 : _WAL_HEADER + 16]
    frames: list[Frame] = []
    for at in range(_WAL_HEADER, len(log) - _FRAME - size + 1, _FRAME + size):
        head, page = log[at : at + _FRAME], log[at + _FRAME : at + _FRAME + size]
        number, commit = struct.unpack(">2I", head[:8])
        found = struct.unpack(">2I", head[16:24])
        # Frames from before the log was restarted have other salts and come after all valid ones. A checksum
        # that continues the previous one shows that the salt itself is damaged.
        fits = trusted and _checksum(head[:8] + page, big=big, seed=seed) == found
        ours = head[8:16] == salts
        frames.append(Frame(number, (ours or fits) and commit > 0, at + _FRAME, fits and ours))
        seed = found
    last = max((place for place, frame in enumerate(frames) if frame.commits), default=-1)
    return frames[: last + 1]


def _checksum(data: bytes, *, big: bool, seed: Sequence[int] = (0, 0)) -> tuple[int, int]:
    one, two = seed
    words = struct.unpack(f"{'>' if big else '<'}{len(data) // 4}I", data)
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return one, two


def _is_size(size: int) -> bool:
    return 512 <= size <= 65_536 and not size & (size - 1)


class PageReader:
    """Reads the records of a file and its write-ahead log.

    Args:
        file: The file. It may be missing, or have a damaged header.
    """

    def __init__(self, file: Path) -> None:
        self._data = file.read_bytes() if file.exists() else b""
        log = file.with_name(f"{file.name}-wal")
        self._log = log.read_bytes() if log.exists() else b""
        self._frames = {frame.page: frame.at for frame in log_frames(self._log)}
        self._size = self._page_size()
        # A page number in the log may be damaged too, so not every number up to the highest exists.
        self._pages = sorted({*range(1, len(self._data) // self._size + 1), *self._frames})
        self._chained: set[int] = set()
        """Overflow pages of long records."""

    def _page_size(self) -> int:
        if self._frames:
            found = int.from_bytes(self._log[8:12], "big")
            return found if _is_size(found) else PAGE
        found = int.from_bytes(self._data[16:18], "big")

        def trees(size: int) -> int:
            return sum(kind in _TREES for kind in self._data[size::size])

        return max([size for size in (found, PAGE) if _is_size(size)], key=trees)

    def page(self, number: int) -> bytes:
        """Return a page as last committed; empty if there is none."""
        if (at := self._frames.get(number)) is not None:
            return self._log[at : at + self._size]
        return self._data[(number - 1) * self._size : number * self._size] if number > 0 else b""

    def records(self, is_row: Callable[[Values], bool], *, free: bool) -> Iterator[tuple[int, Values]]:
        """Iterate over row number and values of every record.

        The number is 0 for a record of an index, or if it is lost.

        Args:
            is_row: Whether values are a wanted row, for records that are recognized only by their values.
            free: Read the unused pages, which may still have old content, instead of the others.
        """
        unused, torn, others = self._free(), list[int](), list[int]()
        for number in self._pages:
            page, base = self.page(number), 100 if number == 1 else 0
            if len(page) < self._size or (number in unused) is not free:
                continue
            if page[base] not in _TREES:
                others.append(number)
                continue
            found, whole = self._cells(page, base)
            if whole:
                yield from ((key, values) for key, values, _ in found)
            else:
                torn.append(number)
        for number in [*torn, *(each for each in others if each not in self._chained)]:
            yield from self._scanned(number, is_row)

    def _pointers(self, page: bytes, base: int) -> list[int]:
        count = int.from_bytes(page[base + 3 : base + 5], "big")
        first = base + (12 if page[base] in _INTERIORS else 8)
        if first + 2 * count > len(page):
            return []
        return list(struct.unpack(f">{count}H", page[first : first + 2 * count]))

    def _free(self) -> set[int]:
        free: set[int] = set()
        trunk = int.from_bytes(self.page(1)[32:36], "big")
        while trunk > 0 and trunk not in free:
            free.add(trunk)
            page = self.page(trunk)
            count = min(int.from_bytes(page[4:8], "big"), self._size // 4 - 2)
            free.update(struct.unpack(f">{count}I", page[8 : 8 + 4 * count]))
            trunk = int.from_bytes(page[:4], "big")
        return free

    def _cells(self, page: bytes, base: int) -> tuple[list[tuple[int, Values, tuple[int, int]]], bool]:
        """Return key, values and place of the records listed on a page; whether that is all of them."""
        kind, found = page[base], list[tuple[int, Values, tuple[int, int]]]()
        taken, whole, key = 0, True, 0
        for start in (places := self._pointers(page, base)):
            at = start + 4 if kind in _INTERIORS else start
            try:
                size, at = (0, at) if kind == _INTERIOR else _varint(page, at)
                key, at = _varint(page, at) if kind in (_INTERIOR, _LEAF) else (0, at)
            except IndexError:
                whole = False
                continue
            if kind == _INTERIOR:
                taken += max(4, at - start)
                continue
            record = self._record(page, at, leaf=kind == _LEAF)
            if record is None or record[2] != size:
                whole = False
                continue
            values, end, _ = record
            taken += max(4, end - start)
            found.append((key, values, (start, end)))
        content = int.from_bytes(page[base + 5 : base + 7], "big") or len(page)
        named = int.from_bytes(page[base + 3 : base + 5], "big") == len(places)
        free = self._freed(page, base) + page[base + 7]
        return found, whole and named and taken + free == len(page) - content

    def _freed(self, page: bytes, base: int) -> int:
        """Return the number of free bytes within a page."""
        at, total = int.from_bytes(page[base + 1 : base + 3], "big"), 0
        while 0 < at < len(page) - 4 and total <= len(page):
            total += int.from_bytes(page[at + 2 : at + 4], "big")
            at = int.from_bytes(page[at : at + 2], "big")
        return total

    def _scanned(self, number: int, is_row: Callable[[Values], bool]) -> Iterator[tuple[int, Values]]:
        """Yield the rows on a page whose list of records is damaged."""
        page, base = self.page(number), 100 if number == 1 else 0
        found, _ = self._cells(page, base)
        spans = {start: end for key, values, (start, end) in found if is_row(values)}
        yield from ((key, values) for key, values, (start, _) in found if start in spans)
        at = base + 8
        while at < len(page) - 2:
            if at in spans:
                at = spans[at]
                continue
            leaf = 2 < page[at] < _LONGEST_HEADER
            record = self._record(page, at, leaf=True) if leaf else None
            if record is not None and is_row(record[0]):
                yield 0, record[0]
                at = record[1]
            else:
                at += 1

    def _record(self, page: bytes, at: int, *, leaf: bool) -> tuple[Values, int, int] | None:
        """Return a record's values, its end on this page, and its size in bytes; None if there is none."""
        try:
            length, place = _varint(page, at)
            kinds: list[int] = []
            while place < at + length < len(page) and length < _LONGEST_HEADER:
                kind, place = _varint(page, place)
                kinds.append(kind)
        except IndexError:
            return None
        if not kinds or place != at + length or any(kind in (10, 11) for kind in kinds):
            return None
        sizes = [_SIZES[kind] if kind < 12 else (kind - 12) // 2 for kind in kinds]
        size = length + sum(sizes)
        local = self._local(size, leaf=leaf)
        end = at + local + (4 if local < size else 0)
        if end > len(page):
            return None
        body = page[at : at + local]
        if local < size:
            body += self._chain(int.from_bytes(page[end - 4 : end], "big"), size - local)
        if len(body) < size:
            return None
        values: list[Value] = []
        place = length
        for kind, wide in zip(kinds, sizes, strict=True):
            values.append(_value(kind, body[place : place + wide]))
            place += wide
        return tuple(values), end, size

    def _local(self, size: int, *, leaf: bool) -> int:
        """Return the bytes of a record that are on its own page."""
        usable = self._size
        most = usable - 35 if leaf else (usable - 12) * 64 // 255 - 23
        if size <= most:
            return size
        least = (usable - 12) * 32 // 255 - 23
        fits = least + (size - least) % (usable - 4)
        return fits if fits <= most else least

    def _chain(self, number: int, size: int) -> bytes:
        parts: list[bytes] = []
        seen: set[int] = set()
        while size > 0 and number > 0 and number not in seen:
            seen.add(number)
            page = self.page(number)
            parts.append(page[4 : 4 + size])
            size -= len(page) - 4
            number = int.from_bytes(page[:4], "big")
        if size <= 0:
            self._chained |= seen
        return b"".join(parts)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(at, at + 8):
        value = value << 7 | data[place] & 0x7F
        if data[place] < 0x80:
            return value, place + 1
    return value << 8 | data[at + 8], at + 9


def _value(kind: int, data: bytes) -> Value:
    match kind:
        case 0:
            return None
        case 7:
            return float(struct.unpack(">d", data)[0])
        case 8 | 9:
            return kind - 8
        case _ if kind < 7:
            return int.from_bytes(data, "big", signed=True)
        case _:
            return data
