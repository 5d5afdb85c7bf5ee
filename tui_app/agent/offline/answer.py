"""Steps of the offline model: at most three rounds of tool calls, then an answer that quotes."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from pathlib import PurePosixPath

from tui_app.agent.offline.turn import (
    HITS,
    INTRODUCTION,
    Found,
    Passage,
    Question,
    Step,
    Turn,
    exact_pattern,
    passages,
)
from tui_app.agent.tools.files import NOTHING_LISTED
from tui_app.tool_specs import GLOB, GREP, LS, READ_FILE, SEARCH_HISTORY

_ROUNDS = 3
_AROUND, _HEAD = 12, 80
"""Lines read around a good match, and of a file that may match."""


def next_steps(turn: Turn, tools: Collection[str]) -> list[Step]:
    """The calls of the next round; empty if it is time to answer.

    Args:
        turn: The prompt and the results so far.
        tools: Names of the available tools.
    """
    order = turn.question.order
    if order is None:
        planned = list(_searching(turn))
    elif turn.rounds == 0:
        planned = [order]
    elif order.tool == READ_FILE.name and not any(each.ok or each.denied for each in turn.found):
        # There is no such path: search for its name.
        planned = [Step(GLOB.name, {"pattern": f"**/{PurePosixPath(order.args['path']).name}*"})]
    else:
        planned = [Step(READ_FILE.name, {**order.args, "path": path}) for path in _named(turn)[:1]]
        planned = planned if order.tool == READ_FILE.name else []
    # A compaction during the turn may hide earlier rounds: do not repeat calls.
    done = [Step(each.tool, each.args) for each in turn.found]
    left = (step for step in planned if step.tool in tools and step not in done)
    return list(left) if turn.rounds < _ROUNDS else []


def _searching(turn: Turn) -> Iterator[Step]:
    asked = turn.question
    if turn.rounds == 0:
        yield from (_read(path, 1, _HEAD) for path in asked.files)
        for pattern in filter(None, [*map(term_pattern, asked.terms), _phrases(asked)]):
            yield Step(GREP.name, {"pattern": pattern, "ignore_case": True, "limit": HITS})
    elif turn.rounds == 1 and (fitting := [line for line in _ranked(turn) if _fits(line.text, asked)]):
        # Read the lines around the best match of each of the two best files.
        best = {line.path: line.line for line in reversed(fitting)}
        around = [path for path in reversed(best) if path not in turn.attached][:2]
        yield from (_read(path, max(1, best[path] - _AROUND // 2), _AROUND) for path in around)
        if not (turn.attached or _is_informative(turn)):
            yield Step(GLOB.name, {"pattern": _ABOUT})
    elif turn.rounds == 1 and not (turn.attached or any(turn.results(READ_FILE.name))):
        # Nothing matches: try the folder's README, file names, or the conversation.
        names = [name for term in asked.terms if (name := re.sub(r"[^\w.-]", "", term))][:2]
        patterns = [_ABOUT, *(f"**/*{name}*" for name in names)]
        yield from (Step(GLOB.name, {"pattern": pattern}) for pattern in patterns)
        yield Step(LS.name, {"path": "."})
        yield Step(SEARCH_HISTORY.name, {"query": " ".join(asked.terms)})
    elif turn.rounds == 2 and any(each.tool == GLOB.name for each in turn.found):
        listed = [row.rpartition("  ")[0] for each in turn.results(LS.name) for row in each.splitlines()]
        # A file with exactly that name comes before the README, one with a similar name after it.
        named = sorted(_named(turn), key=lambda path: PurePosixPath(path).stem.lower() not in asked.terms)
        # Hidden files are for programs, and describe nothing.
        found = dict.fromkeys([*named, *(each for each in listed if each and not each.startswith("."))])
        yield from (_read(path, 1, _HEAD if listed else _AROUND) for path in [*found][:2])


def _read(path: str, start: int, lines: int) -> Step:
    return Step(READ_FILE.name, {"path": path, "start": start, "lines": lines})


def _named(turn: Turn) -> list[str]:
    """For each search by ``glob``, the path nearest to the top."""
    rows = (text.splitlines() for text in turn.results(GLOB.name) if not text.startswith("["))
    return list(dict.fromkeys(min(each, key=lambda path: (path.count("/"), path)) for each in rows))


_DEFINES = re.compile(
    r"\s*(?:(?:export|pub|async|public|static)\s+)*(?:def|class|func|function|fn|type|#+)\s"
)
_DEFINITION, _PHRASE, _EXACT, _COVERED = 1.3, 2.5, 1.5, 0.5
"""Factors: a definition or heading, a phrase, a term as written, each further term."""
_FITS = 3
"""A line matches if it has at least one in this many of the terms."""
_LONG = 5
"""Minimum letters of a word that may tell what a question is about."""
_FEW = 3
"""Maximum files in which a rare word occurs."""
_ABOUT = "**/README*"
"""The file that describes a folder."""


def term_pattern(term: str) -> str:
    """A regular expression for a term. For a plain word it also matches other forms."""
    if len(term) <= 3:
        return rf"\b{re.escape(term)}\b"
    plain = re.fullmatch(r"[^\W\d_]+", term)
    return exact_pattern(term[: max(4, len(term) - 3)] if plain else term)


def _contains(text: str, term: str) -> bool:
    return re.search(term_pattern(term), text, re.IGNORECASE) is not None


def _count_terms(text: str, asked: Question) -> int:
    return sum(_contains(text, term) for term in asked.terms)


def _fits(text: str, asked: Question) -> bool:
    return _FITS * _count_terms(text, asked) >= len(asked.terms) > 0


def _is_informative(turn: Turn) -> bool:
    """Whether a line answers: two long words, or one that is rare or defined there."""
    asked, order, flooded = turn.question, _ranked(turn), _flooded(turn)
    long = [term for term in asked.terms if len(term) >= _LONG or not term.isalpha()] or list(asked.terms)
    files = {term: {line.path for line in order if _contains(line.text, term)} for term in long}
    rare = {term for term in long if len(files[term]) <= _FEW and term_pattern(term) not in flooded}

    def tells(line: Passage) -> bool:
        matches = {term for term in long if _contains(line.text, term)}
        return len(matches) > 1 or bool(matches & rare) or bool(matches and _DEFINES.match(line.text))

    return any(_fits(line.text, asked) and tells(line) for line in order)


def _phrases(asked: Question) -> str:
    """A regular expression for two adjacent terms, in prose or in a name."""
    pairs = (pair for pair in pairwise(asked.words) if set(pair) <= set(asked.terms))
    return "|".join(rf"{term_pattern(one)}[^\W_]*[\s_-]*{term_pattern(two)}" for one, two in pairs)


def _flooded(turn: Turn) -> set[str]:
    return {str(each.args.get("pattern")) for each in turn.found if "[more hits exist" in each.text}


def _ranked(turn: Turn) -> list[Passage]:
    lines = passages(turn.found, turn.attached)
    prompt = turn.prompt.casefold()
    if turn.question.order is None and prompt and not prompt[-1].isalnum():
        # A line with the same question is no answer, unless it is a heading.
        lines = [line for line in lines if prompt not in line.text.casefold() or _DEFINES.match(line.text)]
    return ranked(lines, turn.question, _flooded(turn))


def ranked(candidates: Sequence[Passage], asked: Question, flooded: Collection[str] = ()) -> list[Passage]:
    """Sort the lines with a term, those with the rarest terms first; ties keep file order.

    Args:
        candidates: The lines.
        asked: The question.
        flooded: Patterns with more matches than were returned: a word that is everywhere says little.
    """
    matches = {line: [term for term in asked.terms if _contains(line.text, term)] for line in candidates}
    count, lines = len(candidates), Counter(chain.from_iterable(matches.values()))
    lines |= Counter({term: count for term in asked.terms if term_pattern(term) in flooded})
    rarity = {term: math.log(1.0 + (count - each + 0.5) / (each + 0.5)) for term, each in lines.items()}
    words = "|".join(map(re.escape, asked.terms))
    factors = [
        (_DEFINITION, _DEFINES),
        (_EXACT, re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])", re.IGNORECASE)),
        (_PHRASE, re.compile(_phrases(asked) or r"(?!)", re.IGNORECASE)),
    ]

    def score(line: Passage) -> float:
        value = sum(map(rarity.__getitem__, matches[line]))
        value *= math.prod(factor for factor, form in factors if form.search(line.text))
        return value * (1.0 + _COVERED * (len(matches[line]) - 1))

    return sorted((line for line in candidates if matches[line]), key=score, reverse=True)


HINT = "Try a word from the files here, `list files` or `read PATH`."
_NO_TOOLS = "None of my tools for this is available here, so I could not look."
_BLOCKS, _PER_FILE, _BLOCK_LINES, _BEGINNING = 4, 3, 4, 8
"""Few, and the best first: the chat shows the end of an answer."""
_QUOTE_CHARS, _ROWS, _HISTORY_ROWS = 2_000, 200, 40
_ITEM = re.compile(r"#(?P<seq>\d+) (?P<role>\S+): (?P<text>.+?)(?: …)?")
"""One hit of a conversation search; a longer text is cut at its end."""


def answer(turn: Turn) -> str:
    """Write the answer in Markdown from attachments and tool results."""
    order = turn.question.order
    if order is None or order.tool == GREP.name:
        parts = _search_result(turn)
    elif order.tool == READ_FILE.name:
        parts = _beginnings(turn.found, _ROWS) or [_trouble(turn.found)]
    else:
        # The result in the tool's own words.
        parts = [_rows(each.text) if each.ok else _trouble([each]) for each in turn.found[-1:]]
    body = "\n\n".join(filter(None, parts)) or (_nothing(turn) if turn.found else _NO_TOOLS)
    return _clean(body if turn.introduced else f"{INTRODUCTION}\n\n{body}")


def _search_result(turn: Turn) -> list[str]:
    asked, order = turn.question, _ranked(turn)
    lines = passages(turn.found, turn.attached)
    named = [*turn.attached, *(path.removeprefix("./") for path in asked.files)]
    # A decorator that was mistaken for a path appears in some line.
    text = "\n".join(line.text for line in lines)
    parts = [_trouble(each for each in turn.found if str(each.args.get("path")) not in text)]
    for path in named:
        # Quote something of each named file, at least its start.
        fits = [line for line in order if line.path == path]
        read = [each for each in turn.found if str(each.args.get("path")).removeprefix("./") == path]
        own = [line for line in lines if line.path == path][:_BEGINNING]
        parts += [_best(turn, fits)] if fits else [_block(own)] if own else _beginnings(read, _BEGINNING)
    others = [line for line in order if line.path not in named]
    fitting = any(_fits(line.text, asked) or line.path in named for line in lines)
    if turn.attached:
        # The attachments were asked about: the folder counts only if it matches better.
        most = max(_count_terms(line.text, asked) for line in passages((), turn.attached))
        others = [line for line in others if _count_terms(line.text, asked) > most]
    elif not fitting:
        # Of weak matches, keep only lines with one of the two most telling words.
        others = [line for line in others if any(_contains(line.text, term) for term in asked.terms[:2])]
    # A description of the folder comes before weak matches.
    if not fitting and asked.order is None:
        listed = [_rows(text) for text in turn.results(LS.name) if not text.endswith(NOTHING_LISTED)]
        parts += _beginnings(turn.found, _BEGINNING) or listed or ["This folder has no files to search."]
    elif about := _named(turn):
        starts = (each for each in turn.found if each.args.get("start") == 1)
        parts += _beginnings((each for each in starts if each.args.get("path") in about), _BEGINNING)
    parts.append(_best(turn, others))
    if rows := _history(turn):
        parts.append(f"From this conversation:\n\n{_fenced(rows)}")
    return [*parts, "" if fitting or others or asked.order else _nothing(turn)]


def _beginnings(found: Iterable[Found], most: int) -> list[str]:
    """The first lines of each file that was read."""
    read = ((passages([it]), it.text.strip("[]")) for it in found if it.tool == READ_FILE.name and it.ok)
    return [_block(lines[:most]) if lines else f"{text}." for lines, text in read]


def _best(turn: Turn, order: Sequence[Passage]) -> str:
    if not order:
        return ""
    known = {(line.path, line.line): line for line in passages(turn.found, turn.attached)}
    blocks: list[list[Passage]] = []
    for best in order:
        same_file = sum(block[0].path == best.path for block in blocks)
        room = len(blocks) < _BLOCKS and same_file < _PER_FILE
        if not room or known.pop((best.path, best.line), None) is None:
            continue
        block = [best]
        for number in range(best.line + 1, best.line + _BLOCK_LINES):
            after = known.pop((best.path, number), None)
            if after is None or not after.text.strip():
                break
            block.append(after)
        blocks.append(block)
    terms = [term for term in turn.question.terms if any(_contains(line.text, term) for line in order)]
    text = _quoted(terms)
    head = f"{len(order):,} lines match {text}. Best first:" if len(order) > 1 else f"1 line matches {text}."
    return "\n\n".join([head, *map(_block, blocks)])


def _block(lines: Sequence[Passage]) -> str:
    first, last = lines[0], lines[-1]
    place = f"{first.path}:{first.line}" + (f"-{last.line}" if last.line > first.line else "")
    return f"`{place}`\n{_fenced([line.text[:_QUOTE_CHARS] for line in lines])}"


def _history(turn: Turn) -> list[str]:
    """Matches in the conversation before the current turn, whose own prompt would always match best."""
    blocks = [block for text in turn.results(SEARCH_HISTORY.name) for block in text.split("\n\n")]
    hits = [(block, hit) for block in blocks if (hit := _ITEM.fullmatch(block))]
    asked = " ".join(turn.prompt.split())
    own = [int(hit["seq"]) for _, hit in hits if hit["role"] == "user" and asked.startswith(hit["text"])]
    earlier = [block for block, hit in hits if int(hit["seq"]) < max(own, default=1 << 62)]
    fitting = [block for block in earlier if _fits(block, turn.question)]
    return "\n\n".join(fitting).splitlines()[:_HISTORY_ROWS]


def _nothing(turn: Turn) -> str:
    rows = (row for each in turn.found for row in each.text.splitlines())
    notes = [row.strip("[]") for row in rows if row.startswith("[files")]
    instead = ", so I quote how files here begin" if any(turn.results(READ_FILE.name)) else ""
    terms = f"I found nothing for {_quoted(turn.question.terms)}{instead}." if turn.question.terms else ""
    return " ".join(filter(None, [terms, _sentences(note.capitalize() for note in notes), HINT]))


def _trouble(found: Iterable[Found]) -> str:
    """The tools' error messages."""
    return _sentences(each.text.strip() for each in found if not each.ok)


def _sentences(texts: Iterable[str]) -> str:
    """The start of each text, without the advice to a model that follows it."""
    starts = (re.split(r"; |\.(?=\s)|\n", text)[0].rstrip(".") for text in texts if text)
    return " ".join(f"{each}." for each in dict.fromkeys(starts))


def _rows(text: str) -> str:
    rows = [row[:_QUOTE_CHARS] for row in text.splitlines()]
    more = f"\n\n{len(rows) - _ROWS:,} more rows are in the tool's result." if len(rows) > _ROWS else ""
    return _fenced(rows[:_ROWS]) + more


def _quoted(terms: Sequence[str]) -> str:
    return ", ".join(f"`{term.replace('`', '')}`" for term in terms)


def _fenced(rows: Sequence[str]) -> str:
    """Quote rows unchanged; the fence is longer than any run of backticks in them."""
    text = "\n".join(rows)
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}"


def _clean(text: str) -> str:
    return "".join(
        char if char.isprintable() or char in "\t\n" else "\N{REPLACEMENT CHARACTER}" for char in text
    )
