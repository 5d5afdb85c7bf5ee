"""The offline assistant's answers: quoted lines with where they stand, and nothing that was not found."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tui_app.agent.offline.steps import history_rows, named_files, tried
from tui_app.agent.offline.turn import INTRODUCTION, Found, Passage, Question, Turn, passages, ranked
from tui_app.tool_specs import GLOB, GREP, LS, READ_FILE, SEARCH_HISTORY

MAX_BLOCKS = 6
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


@dataclass(frozen=True, slots=True)
class _Block:
    """Neighbouring lines of one file."""

    lines: tuple[Passage, ...]

    def render(self) -> str:
        first, last = self.lines[0], self.lines[-1]
        place = f"{first.path}:{first.line}" + (f"-{last.line}" if last.line > first.line else "")
        cut = "" if all(line.whole for line in self.lines) else " (the start of a longer line)"
        return f"`{place}`{cut}\n{_fenced([line.text[:_QUOTE_CHARS] for line in self.lines])}"


def answer(question: Question, turn: Turn) -> str:
    """Write the answer in Markdown from what the tools found in this turn."""
    body = _body(question, turn)
    return body if turn.introduced else f"{INTRODUCTION}\n\n{body}"


def _body(question: Question, turn: Turn) -> str:
    match question.kind:
        case "list" | "find":
            return _listing(turn)
        case "run" | "write":
            return _done(turn)
        case "read":
            parts = [_missing(question, turn), _pages(turn)]
            return "\n\n".join(part for part in parts if part) or _nothing(question, turn)
        case "overview":
            return _overview(turn) or _nothing(question, turn)
        case "search":
            return _best(question, turn, passages(turn.found)) or _nothing(question, turn)
        case "conversation" | "general":
            parts = [_history(turn), *_fitting(question, turn)]
            if not any(parts):
                parts = [_heads(turn) or _nothing(question, turn)]
            return "\n\n".join(part for part in (_missing(question, turn), *parts) if part)


def _done(turn: Turn) -> str:
    """What came of an order, in the tool's own words."""
    if not turn.found:
        return _NOT_HERE
    rows = turn.found[-1].text.splitlines()
    more = f"\n\n{len(rows) - _LIST_ROWS:,} more rows are in the tool's result." if rows[_LIST_ROWS:] else ""
    return _fenced([row[:_QUOTE_CHARS] for row in rows[:_LIST_ROWS]]) + more


def _listing(turn: Turn) -> str:
    if not turn.found:
        return _NO_TOOLS
    if trouble := _trouble(turn.found[-1:]):
        return trouble
    rows = turn.found[-1].text.splitlines()
    more = (
        f"\n\n{len(rows) - _LIST_ROWS:,} more rows are in the tool's result."
        if len(rows) > _LIST_ROWS
        else ""
    )
    return _fenced(rows[:_LIST_ROWS]) + more


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
    order = ranked(passages(turn.found), question.terms)
    mentioned = dict.fromkeys(path.removeprefix("./") for path in question.mentioned)
    parts: list[str] = []
    for path in mentioned:
        fits = [line for line in order if line.path == path]
        parts.append(_best(question, turn, fits) or _beginning(path, turn))
    return [*parts, _best(question, turn, [line for line in order if line.path not in mentioned])]


def _beginning(path: str, turn: Turn) -> str:
    read = passages(found for found in turn.found if found.tool == READ_FILE.name)
    lines = [line for line in read if line.path == path]
    blocks = [block.render() for block in _joined(_introducing(lines) or lines[:_INTRO_LINES])]
    return "\n\n".join([f"This is how {_quoted([path])} begins:", *blocks]) if blocks else ""


def _overview(turn: Turn) -> str:
    """Quote how the project introduces itself, then what lies at its top."""
    blocks: list[str] = []
    for found in turn.found:
        if found.tool == READ_FILE.name and found.ok:
            blocks.extend(block.render() for block in _joined(_introducing(passages([found]))))
    parts = ["The project introduces itself like this:", *blocks[: MAX_BLOCKS * 2]] if blocks else []
    for found in turn.found:
        if found.tool == LS.name and found.ok:
            parts += ["At its top are:", _fenced(found.text.splitlines()[:_LIST_ROWS])]
    return "\n\n".join(parts)


def _heads(turn: Turn) -> str:
    """The first lines of files whose names fit, when no line of any file does."""
    blocks: list[str] = []
    for found in turn.found:
        if found.tool == READ_FILE.name and found.ok:
            blocks.extend(block.render() for block in _joined(_introducing(passages([found])))[:2])
    return "\n\n".join(["No line fits, but a file does by its name:", *blocks]) if blocks else ""


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
    head = f"{len(order):,} {'line fits' if len(order) == 1 else 'lines fit'} {_quoted(question.terms)}."
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


def _history(turn: Turn) -> str:
    rows = "\n".join(history_rows(turn))[:_HISTORY_CHARS].splitlines()
    return f"From this conversation:\n\n{_fenced(rows)}" if rows else ""


_NOT_HERE = "I have no tool for that here: in read-only mode nothing is written or run."
_NO_TOOLS = "None of my tools for this is available here, so I could not look."


def _nothing(question: Question, turn: Turn) -> str:
    trouble = _trouble(turn.found)
    if trouble and question.kind == "read":
        return trouble
    if not turn.found and not question.terms and not question.path.strip("."):
        return "Ask me about words that stand in this folder's files, or type `list files` or `read PATH`."
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
