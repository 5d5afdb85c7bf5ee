"""Whether a line says what was done to a file. Shares no code and no words with what it judges."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

_SAID = {
    "created": re.compile(
        r"(?i)(?<![\w/-])(?:created|creates|wrote|written|writes|added|new files?|renamed|moved"
        r"|copied)(?!\w|\.\w)"
    ),
    "edited": re.compile(
        r"(?i)(?<![\w/-])(?:edited|edits|modified|modifications|modifies|updated|updates|changed|changes|fixed"
        r"|replaced|rewritten|rewrote|patched|refactored|wrote|written)(?!\w|\.\w)"
    ),
    "deleted": re.compile(r"(?i)(?<![\w/-])(?:deleted|removed|renamed|moved|deletes|removes)(?!\w|\.\w)"),
}
"""A report; what only could or should be done is none."""
_DENIED = re.compile(r"(?i)\b(?:not|never|n['’]t|be)(?: yet| been| being)? \w+")
_TOOLS = {
    "created": re.compile(r"(?i)write|create|save"),
    "edited": re.compile(r"(?i)edit|replace|patch|insert|append|update|write"),
    "deleted": re.compile(r"(?i)delete|remove"),
}
_BEFORE = {
    "created": re.compile(
        r"(?:\S ?(?<![-=\d>&])> ?|\b(?:touch|tee|cp|mv) [^;&|>]*|\*\*\* (?:Add File|Move to): )[\"']?$"
    ),
    "edited": re.compile(r"(?:>> ?|\b(?:sed -i|tee -a)[^;&|]*|\*\*\* Update File: )[\"']?$"),
    "deleted": re.compile(r"(?:\b(?:rm|mv) [^;&|]*|\*\*\* Delete File: )[\"']?$"),
}
"""Commands and lines of patches that end in the path."""
_ACCEPTED = {
    "created": ("created",),
    "edited": ("edited",),
    "written": ("created", "edited"),
    "deleted": ("deleted",),
}
_CALL = re.compile(r"^(\w+) (\w+): ")
_PATHS = frozenset(["file_path", "path", "filePath", "notebook_path", "filename", "target_file", "file"])
_HEADING = re.compile(r"^(?:#|\*\*).*|.*:\s*(?:\*\*)?$")
_LONGEST = 1_000


@dataclass(frozen=True, slots=True)
class Place:
    """A file's name where it stands: its line before and after it, and the heading above."""

    before: str
    after: str
    heading: str


def places_of(path: str, text: str, others: Iterable[str]) -> list[Place]:
    """Every line that names a file, by its bare name only where no other file has that name."""
    parts = path.rsplit("/", 2)
    endings = [path, "/".join(parts[-2:])]
    if sum(other.rsplit("/", 1)[-1] == parts[-1] for other in others) < 2:
        endings.append(parts[-1])
    pattern = re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, endings)) + r")(?![\w-])")
    found: list[Place] = []
    heading = ""
    for line in text.splitlines():
        matches = list(pattern.finditer(line))
        found += (_place(line, match, heading) for match in matches)
        if not matches and _HEADING.match(line):
            heading = line[:200]
    return found


def _place(line: str, match: re.Match[str], heading: str) -> Place:
    start = max(line.rfind(mark, 0, match.start()) for mark in " \t\"'`(>") + 1
    return Place(line[:start][-_LONGEST:], line[match.end() :][:_LONGEST], heading)


def right_verb(places: Sequence[Place], verbs: Sequence[str]) -> bool:
    """Whether any place says one of the things that were done; the deletion, when that was the last."""
    wanted = ["deleted"] if verbs[-1] == "deleted" else [kind for verb in verbs for kind in _ACCEPTED[verb]]
    return any(_says(place, kind) for place in places for kind in set(wanted))


def _says(place: Place, kind: str) -> bool:
    if _BEFORE[kind].search(place.before):
        return True
    if call := _CALL.match(place.before):
        return call[2] in _PATHS and not place.before[call.end() :] and bool(_TOOLS[kind].search(call[1]))
    return any(_SAID[kind].search(said) for said in _reports(place))


def _reports(place: Place) -> Iterator[str]:
    for said in (f"{place.before} {place.after}", place.heading):
        yield _DENIED.sub(" ", said)
