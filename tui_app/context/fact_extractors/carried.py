"""What an earlier summary hands on, by section, so that a new summary updates it and never nests it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tui_app.context.fact_extractors.changes import LAST_CHANGE
from tui_app.context.fact_extractors.commands import FAILED
from tui_app.context.fact_extractors.labels import (
    AGREED,
    FIRST_REQUEST,
    LAST_DONE,
    LATEST_REQUEST,
    UNCONFIRMED,
)
from tui_app.context.fact_extractors.language import paragraphs, sentences
from tui_app.context.fact_extractors.paths import WholePaths
from tui_app.context.fact_extractors.reading import Said
from tui_app.context.fact_extractors.rules import Rule
from tui_app.context.fact_extractors.trails import Trail

INTENT = "Intent"
CONSTRAINTS = "Constraints and preferences"
DONE = "Done so far"
DECISIONS = "Decisions"
FILES = "Files and commands"
ERRORS = "Errors"
STATE = "Current state"
NEXT = "Next steps"
DETAILS = "Details to keep"
SECTIONS = (INTENT, CONSTRAINTS, DONE, DECISIONS, FILES, ERRORS, STATE, NEXT, DETAILS)
"""Headings of a summary, in order. A summary written by a model uses the same ones."""
BEFORE = "What came before"
"""Heading above what an earlier summary said under headings of its own, or under none."""
SEEN = "Seen but not opened"
"""Heading above files that came up by their names only."""
SHOWN = (INTENT, CONSTRAINTS, BEFORE, *SECTIONS[2:], SEEN)
"""Headings in the order in which a summary without a model shows them."""

_LABEL_SECTIONS = {
    "Rules": CONSTRAINTS, "Requests": INTENT, "Open errors": ERRORS, "Open questions": NEXT, "Tasks": NEXT,
    "Files": FILES, "Answers and decisions": DECISIONS, AGREED: DECISIONS, "Commands": FILES,
    "Details": DETAILS,
}  # fmt: skip
_WITH_PATHS = frozenset((FILES, DETAILS, SEEN))
_HEADING = re.compile(r"^#{1,6}\s{1,4}(?:\d{1,2}[.)]\s{1,4})?\**([^#*\n]{1,120}?)\**:?\s{0,40}$")
_LABEL = re.compile(r"^\*\*([A-Z][A-Za-z ]{2,30}):?\*\*:?$")
_BULLET = re.compile(r"^(?:[-*+]|\d{1,3}[.)]) {1,4}")
_HANDLE = re.compile(r" \(#(-?\d{1,12})\)$")
_REQUEST = re.compile(rf"(?s)^({FIRST_REQUEST}|{LATEST_REQUEST}) \(#(-?\d{{1,12}})\): (.*)$")
_WAY_BACK = "Everything before this point is kept."
_SAID = "said by the user"
"""What the program itself puts below a summary, and carries over by itself."""
_LONGEST_PIECE = 400
"""Characters of a paragraph that are carried as one; of a longer one sentences go together."""
_DEED = re.compile(r"^(created|written|edited|read|deleted|undone)(?: (\d{1,6})×)?$")


@dataclass(frozen=True, slots=True)
class Entry:
    """One bullet of a section, with the handle at its end taken off."""

    text: str
    key: int | None


@dataclass(frozen=True, slots=True)
class Carried:
    """An earlier summary, taken apart."""

    sections: dict[str, tuple[Entry, ...]]

    def entries(self, section: str) -> tuple[Entry, ...]:
        """The entries of a section, in order."""
        return self.sections.get(section, ())

    def request(self, label: str) -> Said | None:
        """The request that stands under a label, if the summary has one."""
        for entry in self.entries(INTENT):
            match = _REQUEST.match(entry.text)
            if match and match[1] == label and UNCONFIRMED not in entry.text:
                return Said(int(match[2]), -1, match[3])
        return None

    def other_intents(self) -> list[Entry]:
        """Entries about the intent that are no quoted request: a model's own words."""
        entries = self.entries(INTENT)
        return [one for one in entries if UNCONFIRMED in one.text or not _REQUEST.match(one.text)]

    def rules(self) -> list[Rule]:
        """The rules, placed before everything new."""
        return [
            Rule(Said(entry.key or 0, -1, entry.text), entry.text, 2, 1)
            for entry in self.entries(CONSTRAINTS)
        ]

    def trails(self) -> list[Trail]:
        """What had been done to files."""
        return [trail for entry in self.entries(FILES) if (trail := _trail(entry))]

    def commands(self) -> dict[str, Entry]:
        """Other lines about files and commands; commands by what was run."""
        others = [entry for entry in self.entries(FILES) if LAST_CHANGE not in entry.text]
        others += [
            replace(entry, text=entry.text.removeprefix(LAST_DONE))
            for entry in self.entries(STATE)
            if entry.text.startswith(f"{LAST_DONE}`")
        ]
        return {_ran(entry.text): entry for entry in others if not _trail(entry)}

    def changes(self) -> dict[str, Entry]:
        """What was last changed in files, by path."""
        entries = (entry for entry in self.entries(FILES) if LAST_CHANGE in entry.text)
        return {entry.text.partition(LAST_CHANGE)[0]: entry for entry in entries}

    def errors(self) -> dict[str, Entry]:
        """Open errors by what had failed."""
        return {_ran(entry.text): entry for entry in self.entries(ERRORS)}


def take_apart(summary: str) -> Carried:
    """Read a summary back into its entries.

    Args:
        summary: A summary with the headings of ``SECTIONS``, written by this program or by a model, with or
            without the groups of facts below it, joined by ``with_facts``. Anything else, such as a
            summary in plain prose, becomes the paragraphs of ``BEFORE``.

    Returns:
        The entries; texts of several lines keep their line breaks, without indentation.
    """
    found: dict[str, list[list[str]]] = {}
    prose: dict[str, list[str]] = {}
    section, title = BEFORE, ""
    paths = WholePaths()
    for line in summary.splitlines():
        if (heading := _section(line)) is not None:
            section, title = heading or BEFORE, _title(line)
        elif section == BEFORE:
            prose.setdefault("" if title == BEFORE else title, []).append(line)
        else:
            whole = paths.line(line) if section in _WITH_PATHS else line
            if whole.strip():
                _take_line(found.setdefault(section, []), whole)
    found[BEFORE] = [
        [piece]
        for title, lines in prose.items()
        if not title.casefold().startswith(_SAID)
        for piece in _pieces(title, lines)
    ]
    entries = {name: tuple(_entries(blocks)) for name, blocks in found.items()}
    return Carried({name: kept for name, kept in entries.items() if kept})


def _title(line: str) -> str:
    match = _HEADING.match(line)
    return match[1].strip() if match else ""


def _pieces(title: str, lines: Iterable[str]) -> Iterator[str]:
    """The paragraphs of prose, long ones in pieces; the first says under which heading they stood."""
    lead = f"{title}: " if title else ""
    for paragraph in paragraphs("\n".join(lines)):
        if paragraph.startswith(_WAY_BACK):
            continue
        for piece in _short(paragraph):
            yield f"{lead}{piece}"
            lead = ""


def _short(paragraph: str) -> Iterator[str]:
    if len(paragraph) <= _LONGEST_PIECE:
        yield paragraph
        return
    taken = ""
    for sentence in sentences(paragraph):
        if taken and len(taken) + len(sentence) > _LONGEST_PIECE:
            yield taken
            taken = ""
        taken = f"{taken} {sentence}".strip()
    if taken:
        yield taken


def _section(line: str) -> str | None:
    """The section that a heading or a label opens: empty for an unknown one, None for other lines."""
    if _HEADING.match(line):
        title = _title(line).casefold()
        return next((name for name in SHOWN if title.startswith(name.casefold().split(" ")[0])), "")
    if match := _LABEL.match(line):
        return _LABEL_SECTIONS.get(match[1])
    return None


def _take_line(blocks: list[list[str]], line: str) -> None:
    """A bullet or an unindented line starts an entry, an indented line goes on with it."""
    if line.startswith("  ") and blocks:
        blocks[-1].append(line[2:])
    else:
        blocks.append([_BULLET.sub("", line.strip())])


def _entries(blocks: Iterable[list[str]]) -> Iterable[Entry]:
    seen: set[str] = set()
    for block in blocks:
        text = "\n".join(block).strip()
        match = _HANDLE.search(text)
        text = text[: match.start()] if match else text
        if text and text not in seen:
            seen.add(text)
            yield Entry(text, int(match[1]) if match else None)


def _trail(entry: Entry) -> Trail | None:
    path, separator, deeds = entry.text.rpartition(" · ")
    matches = [_DEED.match(deed) for deed in deeds.split(", ")]
    if not separator or path.startswith("`") or not all(matches):
        return None
    trail = Trail(path)
    for match in matches:
        if match:
            trail.add(match[1], entry.key or 0, -1, int(match[2] or 1))
    return trail


def _ran(text: str) -> str:
    """What an entry about a command or an error is about: the marked words at its head."""
    for end in (f"`{FAILED}", "` · "):
        if text.startswith("`") and end in text:
            return text[1 : text.index(end)]
    return text
