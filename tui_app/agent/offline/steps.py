"""Which tools the offline assistant calls next: at most three rounds, decided by rules alone."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from tui_app.agent.offline.turn import Found, Passage, Question, Turn, passages, ranked, term_pattern
from tui_app.tool_specs import GLOB, GREP, LS, READ_FILE, RUN_COMMAND, SEARCH_HISTORY, WRITE_FILE

MAX_ROUNDS = 3
_GREPS = 3
"""Terms that get a search of their own."""
_HITS = 60
"""Hits asked for per term: enough to rank, and small beside the window."""
_AROUND = 12
"""Lines read around a good hit."""
_HEAD = 80
"""Lines read of a file that is looked at as a whole."""
_PAGE = 200
"""Lines read when a file was asked for without a range."""
_MANIFESTS = (
    "pyproject.toml",
    "package.json",
    "cargo.toml",
    "go.mod",
    "composer.json",
    "pom.xml",
    "setup.py",
)
_OPAQUE = (
    ".png",
    ".jpg",
    ".jpeg",
    ".gif",
    ".ico",
    ".pdf",
    ".zip",
    ".gz",
    ".db",
    ".sqlite",
    ".pyc",
    ".so",
    ".whl",
)
_HIT = re.compile(r"#(?P<seq>\d+) (?P<role>\S+): (?P<text>.+?)(?: …)?")
"""One hit of a search of the conversation; a longer text is shown by its beginning."""
_LEGAL = ("license", "licence", "copying", "notice", "changelog", "requirements")
_PROSE = (".md", ".rst", ".txt", ".adoc", ".org")


@dataclass(frozen=True, slots=True)
class Step:
    """One tool call to make."""

    tool: str
    args: dict[str, Any]


def next_steps(question: Question, turn: Turn, tools: Collection[str]) -> list[Step]:
    """Return the calls of the next round; none means that it is time to answer."""
    if turn.rounds >= MAX_ROUNDS:
        return []
    return [step for step in _planned(question, turn) if step.tool in tools]


def _planned(question: Question, turn: Turn) -> list[Step]:
    match question.kind:
        case "list":
            return _once(turn, Step(LS.name, {"path": question.path}))
        case "find":
            return _once(turn, Step(GLOB.name, {"pattern": question.pattern}))
        case "search":
            return _once(
                turn, Step(GREP.name, {"pattern": question.pattern, "ignore_case": True, "limit": _HITS})
            )
        case "run" | "write":
            return _once(turn, _ordered(question))
        case "read":
            return _reading(question, turn)
        case "overview":
            return _overview(turn)
        case "conversation":
            return _conversation(question, turn)
        case "general":
            return _general(question, turn)


def _ordered(question: Question) -> Step:
    """The one call that an order asks for."""
    if question.kind == "run":
        return Step(RUN_COMMAND.name, {"command": question.pattern})
    return Step(WRITE_FILE.name, {"path": question.path, "content": question.pattern})


def _once(turn: Turn, step: Step) -> list[Step]:
    return [step] if turn.rounds == 0 else []


def _reading(question: Question, turn: Turn) -> list[Step]:
    """Read the files; where there is none of a path, look for its name and read what is found."""
    lines = question.lines or _PAGE
    if turn.rounds == 0:
        return [_read(path, question.start, lines) for path in question.files]
    missing = [path for path in question.files if not _was_read(path, turn)]
    if turn.rounds == 1:
        return [Step(GLOB.name, {"pattern": _by_its_name(path)}) for path in missing]
    found = [path for each in missing for path in named_files(tried(each, turn))[:1]]
    return [_read(path, question.start, lines) for path in dict.fromkeys(found)]


def _by_its_name(path: str) -> str:
    return f"**/{PurePosixPath(path).name}*"


def _was_read(path: str, turn: Turn) -> bool:
    """Whether a file was read, or reading it was refused."""
    return any(each.tool == READ_FILE.name and (each.ok or each.denied) for each in tried(path, turn))


def tried(path: str, turn: Turn) -> list[Found]:
    """What came of reading a file that was asked for, and of looking for its name."""
    pattern = _by_its_name(path)
    return [
        each
        for each in turn.found
        if (each.tool == READ_FILE.name and each.arg("path") == path)
        or (each.tool == GLOB.name and each.arg("pattern") == pattern)
    ]


def _overview(turn: Turn) -> list[Step]:
    """List the folder, then read what introduces it; a folder of folders is searched for such files."""
    if turn.rounds == 0:
        return [Step(LS.name, {"path": "."}), Step(GLOB.name, {"pattern": "**/README*"})]
    if turn.rounds == 1:
        telling = telling_files(listed_files(turn.found) + named_files(turn.found))
        return [_read(path, 1, _HEAD) for path in telling[:3]] or [Step(GLOB.name, {"pattern": "**/*"})]
    if any(found.tool == READ_FILE.name for found in turn.found):
        return []
    return [_read(path, 1, _HEAD) for path in telling_files(named_files(turn.found))[:3]]


def _conversation(question: Question, turn: Turn) -> list[Step]:
    if turn.rounds == 0:
        query = question.handle or " ".join(question.terms)
        searching = [Step(SEARCH_HISTORY.name, {"query": query})] if query else []
        return [*(_read(path, 1, _HEAD) for path in question.mentioned), *searching]
    if turn.rounds == 1 and not question.handle and not history_rows(turn):
        return list(_greps(question))
    return []


def _general(question: Question, turn: Turn) -> list[Step]:
    if turn.rounds == 0:
        return [*(_read(path, 1, _HEAD) for path in question.files), *_greps(question)]
    best = ranked(passages(turn.found), question.terms)
    if turn.rounds == 1:
        known = any(_was_read(path, turn) for path in question.mentioned)
        return _around(best) if best else [] if known else _by_name(question)
    if best or any(found.ok and found.tool == READ_FILE.name for found in turn.found):
        return []
    return [_read(path, 1, _HEAD) for path in named_files(turn.found)[:2]]


def _greps(question: Question) -> Iterator[Step]:
    for term in question.terms[:_GREPS]:
        yield Step(GREP.name, {"pattern": term_pattern(term), "ignore_case": True, "limit": _HITS})


def _by_name(question: Question) -> list[Step]:
    names = [re.sub(r"[^\w.-]", "", PurePosixPath(term).name) for term in question.terms[:_GREPS]]
    steps = [Step(GLOB.name, {"pattern": f"**/*{name}*"}) for name in dict.fromkeys(names) if name]
    if question.terms:
        steps.append(Step(SEARCH_HISTORY.name, {"query": " ".join(question.terms)}))
    return steps


def _around(best: list[Passage]) -> list[Step]:
    """Read around the best hit of each of the two best files, for the lines that belong to it."""
    first: dict[str, int] = {}
    for passage in best:
        first.setdefault(passage.path, passage.line)
    return [_read(path, max(1, line - _AROUND // 2), _AROUND) for path, line in list(first.items())[:2]]


def _read(path: str, start: int, lines: int) -> Step:
    return Step(READ_FILE.name, {"path": path, "start": start, "lines": lines})


def named_files(found: Collection[Found]) -> list[str]:
    """Paths that ``glob`` found in this turn, nearest to the top first."""
    rows = [row for each in found if each.tool == GLOB.name and each.ok for row in each.text.splitlines()]
    paths = dict.fromkeys(row for row in rows if row and not row.startswith("["))
    return sorted(paths, key=lambda path: (path.count("/"), path))


def listed_files(found: Collection[Found]) -> list[str]:
    """Files that ``ls`` showed in this turn."""
    rows = [row for each in found if each.tool == LS.name and each.ok for row in each.text.splitlines()]
    return [row.rsplit("  ", 1)[0] for row in rows if row.endswith(" bytes")]


def telling_files(paths: list[str]) -> list[str]:
    """Order paths by how much they usually say about a project: introduction, manifest, prose, then code."""

    def kind(path: str) -> int:
        name = PurePosixPath(path).name.lower()
        if name.startswith("readme"):
            return 0
        if name in _MANIFESTS:
            return 1
        if name.startswith(_LEGAL):
            return 6
        if name.endswith(_PROSE):
            return 2
        return 5 if name.endswith((".lock", ".json", ".csv")) else 4

    def order(path: str) -> tuple[int, int, str]:
        depth = path.count("/")
        return (kind(path) + (3 if depth else 0), depth, path)

    readable = {path for path in paths if not path.lower().endswith(_OPAQUE)}
    open_ones = {path for path in readable if not PurePosixPath(path).name.startswith(".")}
    return sorted(open_ones or readable, key=order)


def history_rows(turn: Turn) -> list[str]:
    """What was found in the conversation before the turn under way, whose own question always fits best."""
    texts = [found.text for found in turn.found if found.tool == SEARCH_HISTORY.name and found.ok]
    blocks = [block for text in texts if text.startswith("#") for block in text.split("\n\n")]
    hits = [(block, _HIT.fullmatch(block)) for block in blocks]
    asked = " ".join(turn.question.split())
    own = [
        int(hit["seq"]) for _, hit in hits if hit and hit["role"] == "user" and asked.startswith(hit["text"])
    ]
    begun = max(own, default=0)
    earlier = [block for block, hit in hits if not (begun and hit and int(hit["seq"]) >= begun)]
    return "\n\n".join(earlier).splitlines()
