"""What the offline assistant does with a question: which tools it calls, and what it answers.

It calls tools in at most three rounds, decided by rules alone. The answer is quoted lines with where they
are, and nothing that was not found.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from tui_app.agent.offline.manual import from_manual
from tui_app.agent.offline.turn import (
    DATA,
    INTRODUCTION,
    LEGAL,
    PROSE,
    Found,
    Passage,
    Question,
    Turn,
    passages,
    ranked,
    term_pattern,
)
from tui_app.agent.tools.files import CUT_BEFORE, NOTHING_LISTED
from tui_app.records import frozen
from tui_app.tool_specs import GLOB, GREP, LS, READ_FILE, RUN_COMMAND, SEARCH_HISTORY, WRITE_FILE

# The calls of the next round.

_MINOR = (*LEGAL, "changelog", "requirements")
"""Beginnings of the names of files that do not introduce a project."""
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
_CUT = "[more hits exist"
_HIT = re.compile(r"#(?P<seq>\d+) (?P<role>\S+): (?P<text>.+?)(?: …)?")
"""One hit of a search of the conversation; a longer text is shown by its beginning."""


@frozen
class Step:
    """One tool call to make."""

    tool: str
    args: dict[str, Any]


def next_steps(question: Question, turn: Turn, tools: Collection[str], told: str = "") -> list[Step]:
    """Return the calls of the next round; none means that it is time to answer.

    Args:
        question: The prompt as it was understood.
        turn: What was done for it.
        tools: Names of those that are there.
        told: What the pages about this program say to it.
    """
    if turn.rounds >= MAX_ROUNDS:
        return []
    match question.kind:
        case _ if told:
            # What a folder has of it besides, where the program was not named.
            asked = turn.rounds == 0 and question.about == "asked"
            planned = list(_greps(question)) if asked else []
        case "read":
            planned = _reading(question, turn)
        case "overview":
            planned = _overview(turn)
        case "conversation":
            planned = _conversation(question, turn)
        case "general":
            planned = _general(question, turn)
        case _:
            planned = [_order(question)] if turn.rounds == 0 else []
    return [step for step in planned if step.tool in tools]


def _order(question: Question) -> Step:
    """The one call of a plain order."""
    match question.kind:
        case "list":
            return Step(LS.name, {"path": question.path})
        case "find":
            return Step(GLOB.name, {"pattern": question.pattern})
        case "search":
            return Step(GREP.name, {"pattern": question.pattern, "ignore_case": True, "limit": _HITS})
        case "run":
            return Step(RUN_COMMAND.name, {"command": question.pattern})
        case "write":
            return Step(WRITE_FILE.name, {"path": question.path, "content": question.pattern})
        case _:
            return Step(LS.name, {"path": "."})


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
    best = ranked(passages(turn.found), question.terms, question.phrases)
    if turn.rounds > 1:
        if best or any(found.ok and found.tool == READ_FILE.name for found in turn.found):
            return []
        return [_read(path, 1, _HEAD) for path in named_files(turn.found)[:2]]
    if best:
        # The lines around the best hit of each of the two best files belong to it.
        first: dict[str, int] = {}
        for passage in best:
            first.setdefault(passage.path, passage.line)
        around = [_read(path, max(1, line - _AROUND // 2), _AROUND) for path, line in list(first.items())[:2]]
        heads = [_read(path, 1, _AROUND) for path in subject_files(question, turn)]
        return [*around, *(head for head in heads if head not in around), *_narrower(question, turn)]
    if any(_was_read(path, turn) for path in question.mentioned):
        return []
    names = [re.sub(r"[^\w.-]", "", PurePosixPath(term).name) for term in question.terms[:_GREPS]]
    steps = [Step(GLOB.name, {"pattern": f"**/*{name}*"}) for name in dict.fromkeys(names) if name]
    if question.terms:
        steps.append(Step(SEARCH_HISTORY.name, {"query": " ".join(question.terms)}))
    return steps


def _narrower(question: Question, turn: Turn) -> Iterator[Step]:
    """Where a search was cut, look for what would rank first: lines with two terms, headings, definitions."""
    if not any(found.tool == GREP.name and _CUT in found.text for found in turn.found):
        return
    terms = [term_pattern(term) for term in question.terms[:_GREPS]]
    pairs = [f"{one}.*{two}" for one in terms for two in terms if one != two]
    heads = rf"^\s*(?:#+|(?:\w+ )*(?:def|class|func|function|fn|type))\s.*(?:{'|'.join(terms)})"
    yield Step(GREP.name, {"pattern": "|".join([*pairs, heads]), "ignore_case": True, "limit": _HITS})


def subject_files(question: Question, turn: Turn) -> list[str]:
    """The file with hits that is called just like a term: importer.py for a question about the importer."""
    stems = {term_pattern(term).lower() for term in question.terms[:2] if re.fullmatch(r"\w{4,}", term)}
    paths = dict.fromkeys(passage.path for passage in passages(turn.found))
    exact = [path for path in paths if term_pattern(PurePosixPath(path).stem.lower()) in stems]
    return exact if len(exact) == 1 else []


def _greps(question: Question) -> Iterator[Step]:
    for term in question.terms[:_GREPS]:
        yield Step(GREP.name, {"pattern": term_pattern(term), "ignore_case": True, "limit": _HITS})


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
        if _is_minor(path):
            return 6
        if name.endswith(PROSE):
            return 2
        return 5 if name.endswith(DATA) else 4

    def order(path: str) -> tuple[int, int, str]:
        depth = path.count("/")
        return (kind(path) + (3 if depth else 0), depth, path)

    readable = {path for path in paths if not path.lower().endswith(_OPAQUE)}
    open_ones = {path for path in readable if not PurePosixPath(path).name.startswith(".")}
    ordered = sorted(open_ones or readable, key=order)
    # What stands in every project says nothing of this one, unless there is nothing else.
    return [path for path in ordered if not _is_minor(path)] or ordered


def _is_minor(path: str) -> bool:
    return PurePosixPath(path).name.lower().startswith(_MINOR)


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


# The answer.

GREETING = "I can search this folder. Try a word from its files"
MAX_BLOCKS = 4
"""Best first, and few: the chat shows the end of an answer."""
_PER_FILE = 3
_BLOCK_LINES = 4
_INTRO_LINES = 8
"""Lines quoted per file when a whole project is asked about."""
_PAGE_LINES = 200
_QUOTE_CHARS = 2_000
_LIST_ROWS = 100
_HISTORY_CHARS = 4_000
_DECORATION = re.compile(r"^\s*(?:[-=*_#~`<>|+]*|!?\[.*\]\(.*\)|<[^>]*>.*|\[!\[.*|```.*)\s*$")
_ADVICE = re.compile(r"(?:; (?:find|give|list|put|read|start|use) |\. Do not try the same ).*$")
_LEFT_OUT = re.compile(r"^\[(files left out by rules of the user: [\d,]+)", re.MULTILINE)
_EMPTY = re.compile(r"\[(.+ is empty)\]")
_KEY = re.compile(r"""\s*["']?(?:name|description|summary|about)["']?\s*[:=]""", re.IGNORECASE)


@frozen
class _Block:
    """Neighbouring lines of one file."""

    lines: tuple[Passage, ...]

    def render(self) -> str:
        first, last = self.lines[0], self.lines[-1]
        place = f"{first.path}:{first.line}" + (f"-{last.line}" if last.line > first.line else "")
        cut = "" if all(line.whole for line in self.lines) else " (the start of a longer line)"
        if any(CUT_BEFORE.match(line.text) for line in self.lines):
            cut = " (a part of a longer line)"
        return f"`{place}`{cut}\n{_fenced([line.text[:_QUOTE_CHARS] for line in self.lines])}"


def answer(question: Question, turn: Turn, told: str = "") -> str:
    """Write the answer in Markdown from what the tools found in this turn, and from the program's pages."""
    match question.kind:
        case "list" | "find":
            body = _listing(turn)
        case "run" | "write":
            # What came of the order, in the tool's own words.
            body = _NOT_HERE
            if turn.found:
                rows = turn.found[-1].text.splitlines()
                body = _shown_rows([row[:_QUOTE_CHARS] for row in rows[:_LIST_ROWS]], len(rows))
        case "read":
            parts = [_missing(question, turn), _pages(turn)]
            body = "\n\n".join(filter(None, parts)) or _nothing(question, turn)
        case "overview":
            body = _overview_text(turn) or _nothing(question, turn)
        case "greeting":
            first = next(iter(telling_files(listed_files(turn.found))), "")
            read = f", `read {first}`" if first else ""
            body = (
                f"{GREETING}, `list files`{read}, or ask `what does this project do?`"
                " I also answer questions about Plimsoll, such as `how do I undo a compaction?`"
            )
        case "search":
            body = _best(question, turn, passages(turn.found)) or _nothing(question, turn)
        case "conversation" | "general":
            body = _found_text(question, turn, told)
    return body if turn.introduced else f"{INTRODUCTION}\n\n{body}"


def _found_text(question: Question, turn: Turn, told: str) -> str:
    """What the pages about this program, the conversation and the folder have for a question."""
    if told:
        lines = ranked(passages(turn.found), question.terms, question.phrases)
        whole = [line for line in lines if _holds_all(line, question.terms)]
        return "\n\n".join(filter(None, [told, _best(question, turn, whole)]))
    rows = "\n".join(history_rows(turn))[:_HISTORY_CHARS].splitlines()
    parts = [f"From this conversation:\n\n{_fenced(rows)}" if rows else "", *_fitting(question, turn)]
    if not any(parts):
        # No line matches; the names of files that were read do.
        heads = _introductions(turn, 2)
        parts = ["No line matches, but a file name does:", *heads] if heads else []
        parts = parts or [from_manual(question) or _nothing(question, turn)]
    return "\n\n".join(filter(None, (_missing(question, turn), *parts)))


def _holds_all(line: Passage, terms: Sequence[str]) -> bool:
    return all(re.search(term_pattern(term), line.text, re.IGNORECASE) for term in terms)


def _listing(turn: Turn) -> str:
    if not turn.found:
        return _NO_TOOLS
    if trouble := _trouble(turn.found[-1:]):
        return trouble
    rows = turn.found[-1].text.splitlines()
    return _shown_rows(rows[:_LIST_ROWS], len(rows))


def _shown_rows(rows: Sequence[str], total: int) -> str:
    left = total - len(rows)
    return _fenced(rows) + (f"\n\n{left:,} more rows are in the tool's result." if left else "")


def _pages(turn: Turn) -> str:
    """The files that were read, as far as they were."""
    pages: list[str] = []
    for lines in (passages([found]) for found in turn.found if found.tool == READ_FILE.name):
        if lines:
            more = "\n\nThe tool's result holds more lines." if len(lines) > _PAGE_LINES else ""
            pages.append(_Block(tuple(lines[:_PAGE_LINES])).render() + more)
    return "\n\n".join(pages)


def _missing(question: Question, turn: Turn) -> str:
    """Which files that were asked for are empty, or neither could be read nor found by their names."""
    lines = [line.text.lstrip() for line in passages(turn.found)]
    said: list[str] = []
    for path in question.files:
        looked = tried(path, turn)
        said += [f"{empty[1]}." for found in looked if found.ok and (empty := _EMPTY.fullmatch(found.text))]
        decorates = path in question.mentioned and any(line.startswith(f"@{path}") for line in lines)
        if (trouble := _trouble(looked)) and not decorates and not named_files(looked):
            nowhere = any(found.tool == GLOB.name for found in looked) and question.kind == "read"
            said.append(f"{trouble} No file here has that name." if nowhere else trouble)
    return "\n\n".join(dict.fromkeys(said))


def _fitting(question: Question, turn: Turn) -> list[str]:
    """What fits a question: from each file that it mentions, else how that begins; then from all others."""
    order = ranked(passages(turn.found), question.terms, question.phrases)
    mentioned = dict.fromkeys(path.removeprefix("./") for path in question.mentioned)
    read = passages(found for found in turn.found if found.tool == READ_FILE.name)
    parts: list[str] = []
    for path in mentioned:
        fits = [line for line in order if line.path == path]
        if not (part := _best(question, turn, fits)):
            lines = [line for line in read if line.path == path]
            blocks = [block.render() for block in _joined(_introducing(lines) or lines[:_INTRO_LINES])]
            part = "\n\n".join([f"This is how {_quoted([path])} begins:", *blocks]) if blocks else ""
        parts.append(part)
    for path in subject_files(question, turn):
        lines = _introducing([line for line in read if line.path == path])
        if lines and path not in mentioned:
            shown = _joined(lines[:_BLOCK_LINES])
            # Of code only what it says of itself: behind that come its imports.
            shown = shown if path.endswith(PROSE) else shown[:1]
            parts.append("\n\n".join(block.render() for block in shown))
    return [*parts, _best(question, turn, [line for line in order if line.path not in mentioned])]


def _overview_text(turn: Turn) -> str:
    """Quote how the project introduces itself, then what lies at its top."""
    blocks = _introductions(turn)
    parts = ["The project describes itself like this:", *blocks[: MAX_BLOCKS * 2]] if blocks else []
    for found in turn.found:
        if found.tool == LS.name and found.ok:
            empty = found.text.endswith(NOTHING_LISTED)
            listed = ["At the top level:", _fenced(found.text.splitlines()[:_LIST_ROWS])]
            parts += [_NO_FILES] if empty and not blocks else listed
    return "\n\n".join(parts)


_NO_FILES = (
    "This folder has no files that I could search. `/model` chooses a language model, which can begin"
    " something here; `/demo` plays a recorded session."
)


def _introductions(turn: Turn, most: int | None = None) -> list[str]:
    """How the files that were read say what they are, in so many blocks each at most."""
    read = [found for found in turn.found if found.tool == READ_FILE.name and found.ok]
    return [block.render() for found in read for block in _joined(_introducing(passages([found])))[:most]]


def _introducing(lines: Sequence[Passage]) -> list[Passage]:
    """The lines of a file that say what it is: its name and description keys, else its first real lines."""
    keyed = [line for line in lines if _KEY.match(line.text)]
    prose = [line for line in lines if line.text.startswith("# ") or not _DECORATION.match(line.text)]
    manifest = lines and lines[0].path.lower().endswith((".toml", ".json", ".xml", ".mod"))
    return (keyed if manifest and keyed else prose)[:_INTRO_LINES]


def _best(question: Question, turn: Turn, order: Sequence[Passage]) -> str:
    if not order:
        return ""
    known = {(line.path, line.line): line for line in passages(turn.found)}
    blocks: list[_Block] = []
    used: set[tuple[str, int]] = set()
    for best in order:
        if len(blocks) == MAX_BLOCKS:
            break
        same_file = sum(block.lines[0].path == best.path for block in blocks)
        if (best.path, best.line) not in used and same_file < _PER_FILE:
            block = _grown(best, known, used)
            used.update((line.path, line.line) for line in block.lines)
            blocks.append(block)
    terms = [term for term in question.terms if any(_holds_all(line, [term]) for line in order)]
    head = f"{len(order):,} {'line matches' if len(order) == 1 else 'lines match'} {_quoted(terms)}."
    lead = f"{head} Best first:" if len(order) > 1 else head
    return "\n\n".join([lead, *(block.render() for block in blocks)])


def _grown(best: Passage, known: dict[tuple[str, int], Passage], used: set[tuple[str, int]]) -> _Block:
    """Take the lines that follow a good one as far as they are known and belong to the same paragraph."""
    lines = [best]
    while len(lines) < _BLOCK_LINES:
        place = (best.path, lines[-1].line + 1)
        after = known.get(place)
        if after is None or place in used or not after.text.strip():
            break
        lines.append(after)
    return _Block(tuple(lines))


def _joined(lines: Sequence[Passage]) -> list[_Block]:
    blocks: list[list[Passage]] = []
    for line in lines:
        if blocks and blocks[-1][-1].line + 1 == line.line:
            blocks[-1].append(line)
        else:
            blocks.append([line])
    return [_Block(tuple(block)) for block in blocks]


_NOT_HERE = "I have no tool for that here: in read-only mode nothing is written or run."
_NO_TOOLS = "None of my tools for this is available here, so I could not look."


def _nothing(question: Question, turn: Turn) -> str:
    trouble = _trouble(turn.found)
    if trouble and question.kind == "read":
        return trouble
    if not turn.found and not question.terms and not question.path.strip("."):
        return f"{GREETING}, `list files` or `read PATH`."
    if not turn.found:
        return _NO_TOOLS
    where = {
        GREP.name: "in the files",
        GLOB.name: "among the file names",
        SEARCH_HISTORY.name: "in this conversation",
    }
    places = [
        where[tool] for tool in where if any(each.tool == tool and not each.denied for each in turn.found)
    ]
    looked = f" I looked {_listed(places)}." if places else ""
    wanted = _quoted(question.terms) if question.terms else "anything that says so"
    denied = _trouble(found for found in turn.found if found.denied)
    left = next((said[1] for each in turn.found if (said := _LEFT_OUT.search(each.text))), "")
    kept = f" {left[:1].upper()}{left[1:]}." if left else ""
    nothing = f"I found nothing for {wanted}.{looked}{kept} Other words, or `read PATH`, may help."
    return f"{denied} {nothing}".lstrip()


def _trouble(found: Iterable[Found]) -> str:
    """The first thing that a tool could not do, without the advice to a model that stands behind it."""
    said = next((each.text for each in found if not each.ok and each.text.strip()), "")
    return _clean(_ADVICE.sub(".", said.strip().splitlines()[0])) if said else ""


def _quoted(terms: Sequence[str]) -> str:
    return _listed([f"`{_clean(term).replace('`', '')}`" for term in terms])


def _listed(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""


def _fenced(rows: Sequence[str]) -> str:
    """Quote rows as they are; the fence is longer than any run of backticks in them."""
    text = "\n".join(_clean(row) for row in rows)
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _clean(text: str) -> str:
    return "".join(
        char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text
    )
