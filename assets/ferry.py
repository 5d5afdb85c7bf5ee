"""The invented conversation of the screenshots: a small ferry timetable and its missing Sundays."""

from dataclasses import dataclass

MODEL = "harbour:deck-14b"
WINDOW = 32_000
NOON = 1_767_268_800
"""2026-01-01 12:00 UTC, when the conversation begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call and what came back."""

    tool: str
    args: dict[str, object]
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A prompt, the calls it led to, and the answer."""

    minute: int
    """Minutes after noon."""
    prompt: str
    calls: tuple[Call, ...]
    answer: str


_HARBOURS = ("Alder Quay", "Bishop's Landing", "Cormorant Rock", "Dunmouth", "East Mole", "Fennel Strand")


def _timetable(days: range) -> str:
    """A file of sailings as ``read_file`` prints it, numbered."""
    rows = []
    for day in days:
        for trip in range(18):
            harbour = _HARBOURS[(day + trip) % len(_HARBOURS)]
            target = _HARBOURS[(day * 2 + trip + 1) % len(_HARBOURS)]
            rows.append(
                f"{day},{6 + trip // 2:02d}:{(trip * 17) % 60:02d},{harbour},{target},{90 + trip * 3}"
            )
    return _numbered("\n".join(rows))


def _numbered(text: str, first: int = 1) -> str:
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(text.split("\n"), first))


_PARSER = '''def sailings(rows):
    """Sailings of a table; rows that miss something are left out."""
    for row in rows:
        if not row.harbour or not row.time:
            continue
        # Weekdays count from Sunday, as the harbour office prints them.
        weekday = row.weekday

        if not weekday:
            log.warning("row without weekday: %s", row)
            continue
        yield Sailing(weekday, row.time, row.harbour)'''

_SUNDAY_HITS = """\
timetable/parser.py:85:        # Weekdays count from Sunday, as the harbour office prints them.
tests/test_parser.py:41:    # sunday rows: see the note of the harbour office
docs/format.md:12:Sunday is weekday 0, Saturday is 6."""

_LOW_WATER_HITS = """\
timetable/tides.py:17:def low_water(day):
timetable/board.py:52:    if low_water(day):"""

TURNS = (
    Turn(
        minute=2,
        prompt="What is in this project? Never touch the files under legacy/.",
        calls=(
            Call(
                tool="ls",
                args={"path": "."},
                result="README.md\ndata/\ndocs/\nlegacy/\ntests/\ntides.txt\ntimetable/",
            ),
            Call(
                tool="read_file",
                args={"path": "data/summer.csv", "lines": 400},
                result=_timetable(range(7, 29)),
            ),
        ),
        answer="It prints the timetable of the harbour ferries. `data/summer.csv` holds the sailings by "
        "weekday, `tides.txt` the low waters at which none leaves, and `timetable/` reads both. "
        "I leave `legacy/` alone.",
    ),
    Turn(
        minute=6,
        prompt="How does it treat low water?",
        calls=(
            Call(
                tool="grep",
                args={"pattern": "low_water", "path": "timetable"},
                result=_LOW_WATER_HITS,
            ),
            Call(
                tool="read_file",
                args={"path": "data/spring.csv", "lines": 300},
                result=_timetable(range(51, 67)),
            ),
            Call(
                tool="read_file",
                args={"path": "data/winter.csv", "lines": 400},
                result=_timetable(range(29, 51)),
            ),
        ),
        answer="`timetable/board.py:52` leaves out every sailing within 40 minutes of a low water. "
        "The winter table has one sailing less a day because of it.",
    ),
    Turn(
        minute=9,
        prompt="Why does the import drop the sailings on Sundays?",
        calls=(
            Call(tool="grep", args={"pattern": "sunday", "path": "."}, result=_SUNDAY_HITS),
            Call(
                tool="read_file",
                args={"path": "timetable/parser.py", "start": 80, "lines": 12},
                result=_numbered(_PARSER, 80),
            ),
        ),
        answer="The parser drops rows whose weekday is `0`, because the check in `timetable/parser.py:88` "
        "takes zero for missing, and Sunday **is** zero (`docs/format.md:12`):\n\n"
        "```python\nif not weekday:\n    continue\n```\n\n"
        "Ask for `None` instead:\n\n"
        "```python\nif weekday is None:\n    continue\n```\n\n"
        "- `tests/test_parser.py:41` has a note about it, but no test.\n"
        "- The warning names the row, so the log already lists all that were lost.",
    ),
)

DRAFT = "and which other checks take zero for missing?"

SUMMARY = """\
## Intent

- Find out why the import drops the sailings on Sundays. (#21)

## Findings

- `timetable/parser.py:88` says `if not weekday`, and Sunday is weekday 0 (`docs/format.md:12`).
- `timetable/board.py:52` leaves out every sailing within 40 minutes of a low water.
- The warning names the row, so the log lists all sailings that were lost. (#28)

## Where it stands

- Nothing is changed yet; the check should be `if weekday is None`.

## Next

- Look for other checks that take zero for missing. (#28)
- Add the test that `tests/test_parser.py:41` has only a note about. (#24)"""
SUMMARY_TITLE = "Sundays in the ferry import"
