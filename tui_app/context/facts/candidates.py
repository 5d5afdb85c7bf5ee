"""Lines that an extractive summary may hold, each with its section, its tier and its weight."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from operator import attrgetter

from tui_app.context.facts.commands import (
    FAILED,
    LINE_BREAK,
    Run,
    command_facts,
    error_facts,
    latest_runs,
    solves,
    untold_runs,
)
from tui_app.context.facts.details import FILES as WORK_LINES_FILES
from tui_app.context.facts.details import chosen_lines, detail_facts, folders_of
from tui_app.context.facts.dialogue import (
    AWAITS_ANSWER,
    AWAITS_RESULT,
    SINCE_THE_LIST,
    current_todos,
    decision_facts,
    last_words,
    milestones,
    plans,
    question_facts,
    todo_facts,
    turns,
    written_since,
)
from tui_app.context.facts.files import (
    LAST_CHANGE,
    Trail,
    WholePaths,
    common_root,
    ending_of,
    file_trails,
    folder_of,
    last_changes,
    root_line,
    shortened,
)
from tui_app.context.facts.observations import (
    AGREED,
    FIRST_REQUEST,
    LAST_DONE,
    LATEST_REQUEST,
    Reading,
    Said,
    command_of,
    paragraphs,
    sentences,
)
from tui_app.context.facts.rules import REQUEST_LIMIT, Rule, clip_middle, find_rules, first_request
from tui_app.events import MARKS, Fact
from tui_app.records import frozen

# What an earlier summary hands on, by section, so that a new summary updates it and never nests it.

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
    "Rules": CONSTRAINTS, "Requests": INTENT,
    "Said by the user": INTENT, "Open errors": ERRORS, "Open questions": NEXT, "Tasks": NEXT,
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


def _is_marked(text: str) -> bool:
    return any(mark in text for mark in MARKS)


@frozen
class Entry:
    """One bullet of a section, with the handle at its end removed."""

    text: str
    key: int | None


@frozen
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
            if match and match[1] == label and not _is_marked(entry.text):
                return Said(int(match[2]), -1, match[3])
        return None

    def other_intents(self) -> list[Entry]:
        """Entries about the intent that are no quoted request: a model's own words."""
        entries = self.entries(INTENT)
        return [one for one in entries if _is_marked(one.text) or not _REQUEST.match(one.text)]

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


# One line of an extractive summary: its section, how dear it is, and its weight.


class Tier(Enum):
    """Kinds of lines, by how dear they are when there is little room."""

    REQUEST = "request"
    BEFORE = "earlier prose"
    RULE = "rule"
    ERROR = "error"
    CHANGED = "changed file"
    OPEN = "open"
    STATE = "state"
    DECISION = "decision"
    DETAIL = "detail"
    COMMAND = "command"
    READ = "read file"
    CHANGE = "last change"
    SEEN = "seen file"
    DONE = "done"
    NEXT = "next"
    PASTED = "pasted rule"


@frozen
class Candidate:
    """One line that may go into the summary."""

    section: str
    tier: Tier
    text: str
    key: int | None
    """Log number of its message; None when an earlier summary did not say."""
    weight: float
    labelled: bool = False
    """Whether the handle already stands inside the text."""
    folder: str = ""
    """The folder that the text begins with, where the line may stand below it."""
    carried: bool = False
    """Whether it comes from an earlier summary."""

    def line(self) -> str:
        """The bullet: later lines indented, so that nothing quoted can pass for a heading of ours."""
        body = "\n  ".join(line for line in self.text.splitlines() if line.strip())
        handle = "" if self.key is None or self.labelled else f" (#{self.key})"
        return f"- {body}{handle}"

    def below(self) -> str:
        """The line as it stands below its folder."""
        return f"  {self.line()[len(self.folder) + 2 :]}"

    def saying(self, text: str) -> "Candidate":
        """The same line with another text."""
        folder = self.folder if text.startswith(self.folder) else ""
        return replace(self, text=text, folder=folder)


def bullets(chosen: Sequence[Candidate]) -> Iterator[str]:
    """The lines as they are shown, with those of one folder together below it, at the place of the first."""
    folders: dict[str, list[Candidate]] = {}
    for candidate in chosen:
        folders.setdefault(candidate.folder, []).append(candidate)
    for candidate in chosen:
        together = folders[candidate.folder] if candidate.folder else []
        if len(together) < 2:
            yield candidate.line()
        elif together[0] is candidate:
            yield f"- {candidate.folder}"
            yield from (one.below() for one in together)


def kept(carried: Carried, section: str, tier: Tier, weight: float) -> Iterator[Candidate]:
    """Entries of the earlier summary as they were; the newest of them weigh most."""
    entries: tuple[Entry, ...] = carried.entries(section)
    for place, entry in enumerate(entries):
        yield Candidate(section, tier, entry.text, entry.key, weight + 0.2 * place / len(entries))


def from_fact(fact: Fact, section: str, tier: Tier) -> Candidate:
    """The line of a fact."""
    return Candidate(section, tier, fact.text, key_of(fact), fact.weight)


def key_of(fact: Fact) -> int:
    """Log number of the message a fact comes from."""
    return int(fact.source.removeprefix("#"))


# Lines about the work: files, what was last changed in them, commands, errors, and names worth keeping.

_FEW = 3
"""Errors that are told in more than one line are fewer than these."""
_FILES_IN = "files in "
"""What stood in front of the files of one folder before."""
_NAMED = (DETAILS, SEEN)
_ALWAYS = 1_000.0
"""Weight of a line that others cannot be read without."""


def file_lines(reading: Reading, trails: Sequence[Trail], root: str) -> Iterator[Candidate]:
    """Changed files first, then those only read; newest last within each."""
    if root:
        yield Candidate(FILES, Tier.CHANGED, root_line(root), None, _ALWAYS)
    for changed in (True, False):
        tier = Tier.CHANGED if changed else Tier.READ
        for trail in trails:
            if trail.changed() == changed:
                weight = 1.0 + reading.recency(trail.index) + 0.1 * min(sum(trail.counts.values()), 5)
                path = shortened(trail.path, root)
                text = f"{path} · {trail.deeds()}"
                yield Candidate(FILES, tier, text, trail.key, weight, folder=folder_of(path))


def change_lines(reading: Reading, carried: Carried, root: str) -> Iterator[Candidate]:
    """What was last changed where; a carried one goes when its file was changed since."""
    newest = {change.path: change for change in last_changes(reading)}
    names = Counter(map(ending_of, newest))
    for path, entry in carried.changes().items():
        if not any(f"/{changed}".endswith(f"/{path}") for changed in newest):
            yield Candidate(FILES, Tier.CHANGE, shortened(entry.text, root), entry.key, 0.5)
    for change in reversed(newest.values()):
        # Its line above says where it lies.
        ending = ending_of(change.path)
        name = ending if names[ending] == 1 else shortened(change.path, root)
        text = f"{name}{LAST_CHANGE}{change.line}`"
        weight = 1.0 + reading.recency(change.index)
        yield Candidate(FILES, Tier.CHANGE, text, change.key, weight)


def command_lines(reading: Reading, carried: Carried) -> Iterator[Candidate]:
    """Commands with how their latest run ended, and what a model wrote about files and commands."""
    facts = command_facts(reading)
    new = {fact.text.rpartition("` · ")[0][1:] for fact in facts}
    for what, entry in carried.commands().items():
        if what not in new:
            # A model writes about files in its own way; such a line is as dear as ours about a changed file.
            own = what != entry.text
            tier, weight = (Tier.COMMAND, 0.5) if own else (Tier.CHANGED, 1.0)
            yield Candidate(FILES, tier, entry.text, entry.key, weight)
    for fact in facts:
        yield from_fact(fact, FILES, Tier.COMMAND)


def open_error_lines(reading: Reading, carried: Carried, runs: dict[str, Run]) -> Iterator[Candidate]:
    """Open errors; carried ones go when the same was run since, and one error is told once.

    All but the newest are told in one line.
    """
    since = {run.what for run in runs.values()} | {
        _target(run.what) for run in runs.values() if run.ok and _target(run.what)
    }
    worked = [run.what for run in runs.values() if run.ok]
    earlier = carried.errors()
    for what, entry in earlier.items():
        gone = what in since or _target(what) in since or any(solves(command, what) for command in worked)
        if not gone:
            text = entry.text if len(earlier) < _FEW else entry.text.split(LINE_BREAK)[0]
            yield Candidate(ERRORS, Tier.ERROR, text, entry.key, 1.0)
    told: set[str] = set()
    for fact in sorted(error_facts(reading), key=key_of, reverse=True):
        line = fact.text.split(LINE_BREAK)[0]
        first = line.partition(FAILED)[2]
        if fact.kind == "error" and first not in told:
            told.add(first)
            yield from_fact(fact, ERRORS, Tier.ERROR).saying(fact.text if len(told) < _FEW else line)


def _target(what: str) -> str:
    """The path of a tool's use (``Edit a.py``), so that another tool that changed it counts as well."""
    tool, separator, path = what.partition(" ")
    return path if separator and " " not in path and tool[:1].isalpha() else ""


def detail_lines(
    details: Sequence[Fact], carried: Carried, root: str, budget: int, count: Callable[[str], int]
) -> Iterator[Candidate]:
    """Values and names by the file they belong to, and files by their folder, some to a line."""
    known = " ".join(entry.text for name in _NAMED for entry in carried.entries(name))
    for name in _NAMED:
        for entry in kept(carried, name, Tier.DETAIL, 0.5):
            yield _named(shortened(entry.text, root), entry.key, entry.weight, seen=name == SEEN)
    facts = [fact for fact in details if fact.text.partition(" · ")[0].strip("`") not in known]
    for text, part in chosen_lines(facts, budget, count):
        weight = sum(fact.weight for fact in part) / len(part)
        yield _named(shortened(text, root), max(map(key_of, part)), weight)


def _named(text: str, key: int | None, weight: float, *, seen: bool = False) -> Candidate:
    """A line of names: those of files that were never opened stand apart."""
    if seen or text.startswith((WORK_LINES_FILES, _FILES_IN)):
        folder = text.removeprefix(_FILES_IN).removeprefix(WORK_LINES_FILES)
        return Candidate(SEEN, Tier.SEEN, folder, key, weight)
    return Candidate(DETAILS, Tier.DETAIL, text, key, weight)


_MANY = 8
"""Files that came up by their names only, below which their common folder is not worth a line of its own."""
_MOST_DECISIONS = 500
"""More than fit; which of them are taken is for weight and focus to say."""


def candidates(
    reading: Reading, carried: Carried, names_budget: int, count: Callable[[str], int]
) -> list[Candidate]:
    """Collect every line a summary could hold.

    Args:
        reading: The history.
        carried: The earlier summary, empty when there is none.
        names_budget: Tokens that lines of names may take.
        count: Tokens of a text.

    Returns:
        Lines in the order in which they are to be shown within their sections.
    """
    runs = latest_runs(reading)
    trails = file_trails(reading, carried.trails())
    details = detail_facts(reading)
    root = common_root(trail.path for trail in trails) or common_root(folders_of(details), fewest=_MANY)
    return [
        *_requests(reading, carried),
        *_rules(reading, carried),
        *kept(carried, BEFORE, Tier.BEFORE, 1.0),
        *_done(reading, carried),
        *_decisions(reading, carried),
        *file_lines(reading, trails, root),
        *change_lines(reading, carried, root),
        *command_lines(reading, carried),
        *open_error_lines(reading, carried, runs),
        *_state(reading, carried, root),
        *_open(reading, carried),
        *detail_lines(details, carried, root, names_budget, count),
    ]


def _requests(reading: Reading, carried: Carried) -> Iterator[Candidate]:
    first, latest = _first(reading, carried), carried.request(LATEST_REQUEST)
    if reading.typed:
        latest = reading.typed[-1]
    for entry in carried.other_intents():
        yield Candidate(INTENT, Tier.REQUEST, entry.text, entry.key, 2.0)
    for label, said in ((FIRST_REQUEST, first), (LATEST_REQUEST, latest)):
        repeated = (
            label == LATEST_REQUEST and first is not None and said is not None and said.key == first.key
        )
        if said is not None and not repeated:
            text = f"{label} (#{said.key}): {clip_middle(said.text, REQUEST_LIMIT)}"
            request = Candidate(INTENT, Tier.REQUEST, text, said.key, 4.0, labelled=True)
            yield replace(request, carried=said.index < 0)


def _first(reading: Reading, carried: Carried) -> Said | None:
    carries = carried.request(FIRST_REQUEST)
    return carries or (first_request(reading.typed) if reading.typed and not carried.sections else None)


def _rules(reading: Reading, carried: Carried) -> Iterator[Candidate]:
    """Rules word for word; what only reads like one comes behind them."""
    latest = carried.request(LATEST_REQUEST)
    # What was the latest request then may leave the summary now; its rules must not leave with it.
    before = find_rules(Reading(typed=[latest])) if latest else []
    rules = [rule for rule in find_rules(reading, [*carried.rules(), *before]) if not rule.replaced]
    for rule in sorted(rules, key=attrgetter("pasted")):
        weight = rule.strength + 0.5 * reading.recency(rule.said.index)
        tier = Tier.PASTED if rule.pasted else Tier.RULE
        yield Candidate(CONSTRAINTS, tier, rule.text, rule.said.key or None, weight)


def _done(reading: Reading, carried: Carried) -> Iterator[Candidate]:
    yield from kept(carried, DONE, Tier.DONE, 0.5)
    for todo in current_todos(reading):
        if todo.state == "done":
            yield Candidate(DONE, Tier.DONE, f"{todo.text} · done", todo.key, 1.0)
    first = _first(reading, carried)
    told = [(turn, 1.2) for turn in turns(reading, FIRST_REQUEST if first else "", first.key if first else 0)]
    words = last_words(reading)
    said = "\n".join([*(turn.text for turn, _ in told), words.text if words else ""])
    told += [(step, 0.8) for step in reversed(list(milestones(reading))) if step.text not in said]
    for step, weight in sorted(told, key=lambda each: each[0].index):
        yield Candidate(DONE, Tier.DONE, step.text, step.key, weight + reading.recency(step.index))


def _decisions(reading: Reading, carried: Carried) -> Iterator[Candidate]:
    yield from kept(carried, DECISIONS, Tier.DECISION, 0.8)
    for fact in sorted(decision_facts(reading, _MOST_DECISIONS), key=key_of):
        yield from_fact(fact, DECISIONS, Tier.DECISION)


def _state(reading: Reading, carried: Carried, root: str) -> Iterator[Candidate]:
    words, runs = last_words(reading), untold_runs(reading)
    if words is None and not runs:
        yield from kept(carried, STATE, Tier.STATE, 1.0)
    if words is not None:
        yield Candidate(STATE, Tier.STATE, f"Last said: {words.text}", words.key, 2.0)
    if runs:
        run = runs[-1]
        shown = f"`{run.what}`" if command_of(run.action) else shortened(run.what, root)
        text = f"{LAST_DONE}{shown} · {'ok' if run.ok else 'failed'}"
        yield Candidate(STATE, Tier.STATE, text, run.action.key, 1.5)


def _open(reading: Reading, carried: Carried) -> Iterator[Candidate]:
    """What waits: tasks, questions, and what the assistant said it would do next."""
    todos = todo_facts(reading)
    listed = bool(current_todos(reading))
    moved_on = bool(reading.typed or reading.spoken or reading.actions)
    for entry in carried.entries(NEXT):
        if entry.text.startswith(SINCE_THE_LIST) and listed:
            continue
        waits = entry.text.endswith((AWAITS_ANSWER, AWAITS_RESULT))
        task = entry.text.endswith((" · open", " · in progress"))
        if not (waits and moved_on) and not (task and listed):
            yield Candidate(NEXT, Tier.OPEN if task else Tier.NEXT, entry.text, entry.key, 0.8)
    for fact in (*todos, *question_facts(reading)):
        yield from_fact(fact, NEXT, Tier.OPEN)
    if todos:
        typed = ((said.key, said.text) for said in reading.typed)
        listed_at = max(todo.key for todo in current_todos(reading))
        for key, sentence in written_since(typed, listed_at, " ".join(fact.text for fact in todos)):
            yield Candidate(NEXT, Tier.OPEN, f"{SINCE_THE_LIST}{sentence}", key, 1.0)
    for plan in plans(reading):
        yield Candidate(NEXT, Tier.NEXT, plan.text, plan.key, 1.0)
