"""Scores of a context against the truth: shares from 0 to 1, or None if there is nothing to measure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import mean

from tests.quality.contexts import Context, Count, name_list, raw_tail
from tests.quality.text import files_in, flat, identifiers_in, names_in, places_of, right_verb
from tests.quality.truth import Truth

_CLAIM = re.compile(
    r"^- (?P<path>[^`\n]+?) · (?P<deeds>(?:created|written|edited|read|deleted)[^()\n]*)", re.MULTILINE
)
_ROOT = re.compile(r"(?m)^…/ stands for (\S+/)$")
_BELOW = re.compile(r"(?m)^- (\S+/)\n((?:  - \S.* · .*(?:\n|\Z))+)")
_URL = re.compile(r"https?://[^\s<>\"'`)\]]+")
_NUMBER = re.compile(r"(?<![\w.#])\d[\d.,]*\d(?![\w×])")
_OWN_NUMBERS = re.compile(r"#-?\d+|\d+ (?:characters omitted|characters left out|more|×)|\d+×")
_ERRORS = re.compile(r"(?m)^- (.* · no success since.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """One row of the report."""

    size: float
    written: float | None
    files: float | None
    identifiers: float | None
    hard: float | None
    lines: float | None
    """Share of result lines that appear again in later calls."""
    density: float | None
    touched: float | None
    verbs: float | None
    false_claims: float | None
    """Share of false claims among all claims about files."""
    rules: float | None
    first: float | None
    latest: float | None
    prompts: float | None
    corrections: float | None
    open_errors: float | None
    solved_listed: float | None
    """Share of solved errors that are listed as open."""
    invented: float | None


def score(context: Context, truth: Truth, source_tokens: int, count: Count) -> Scores:
    """Score one context.

    Args:
        context: What was kept.
        truth: What really happened.
        source_tokens: Size of the whole history.
        count: Counts the tokens of a text.
    """
    if context.ours:
        context = replace(context, text=spelt_out(context.text), written=spelt_out(context.written))
    text = flat(context.text)
    names = names_in(context.text)
    changed = truth.touched
    found = {path: places_of(path, context.text, changed) for path in changed}
    right = sum(right_verb(found[path], verbs) for path, verbs in changed.items())
    still_open = [failure.line[:200] for failure in truth.failures if not failure.solved]
    return Scores(
        size=context.tokens / source_tokens,
        written=context.written_tokens / source_tokens if context.written else None,
        files=_share(truth.needed_files, files_in(context.text)),
        identifiers=_share(truth.needed_identifiers, identifiers_in(context.text)),
        hard=_share(_hard(context, truth, count), names),
        lines=_verbatim(truth.needed_lines, text),
        density=_density(context, names, truth, count),
        touched=sum(map(bool, found.values())) / len(changed) if changed else None,
        verbs=right / len(changed) if changed else None,
        false_claims=false_claims(context.written, truth) if context.ours else None,
        rules=_verbatim(truth.rules, text),
        first=_verbatim(filter(None, [truth.first]), text),
        latest=_verbatim(filter(None, [truth.latest]), text),
        prompts=_verbatim(truth.typed, text),
        corrections=_verbatim(truth.corrections, text),
        open_errors=_verbatim(still_open, text),
        solved_listed=_solved_listed(context, truth),
        invented=len(invented(context.written, truth.source)) / max(1, len(_claimed(context.written)))
        if context.written
        else None,
    )


def spelt_out(text: str) -> str:
    """Our text with full paths instead of file names below a folder."""
    for root in _ROOT.findall(text):
        text = _ROOT.sub("", text, count=1).replace("…/", root)
    return _BELOW.sub(lambda group: re.sub(r"(?m)^  - ", lambda _: f"- {group[1]}", group[2]), text)


def average(rows: Sequence[Scores]) -> dict[str, float | None]:
    """Mean of each column, over the rows that have a value."""
    means: dict[str, float | None] = {}
    for name in Scores.__dataclass_fields__:
        values = [value for row in rows if (value := getattr(row, name)) is not None]
        means[name] = mean(values) if values else None
    return means


def _share(wanted: set[str], kept: set[str]) -> float | None:
    return len(wanted & kept) / len(wanted) if wanted else None


def _verbatim(wanted: Iterable[str], flat_text: str) -> float | None:
    found = [flat(text) in flat_text for text in wanted]
    return sum(found) / len(found) if found else None


def _hard(context: Context, truth: Truth, count: Count) -> set[str]:
    """Needed names that are rare and not in a tail of the same length."""
    tail = names_in(
        raw_tail([], 0, count).text if not context.tokens else _tail(truth, context.tokens, count)
    )
    needed = truth.needed_files | truth.needed_identifiers
    return (needed & truth.rare) - tail


def _tail(truth: Truth, tokens: int, count: Count) -> str:
    low, high = 0, min(len(truth.source), tokens * 12)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(truth.source[-middle:]) <= tokens else (low, middle - 1)
    return truth.source[-low:] if low else ""


def _density(context: Context, names: set[str], truth: Truth, count: Count) -> float | None:
    """Share of needed names among those listed, relative to plain lists of 1/4 and 1/2 of the size."""
    needed = truth.needed_files | truth.needed_identifiers
    if not needed or not names:
        return None
    lists = [set(name_list(truth.frequency, context.tokens // part, count).split()) for part in (4, 2)]
    usual = mean(len(needed & listed) / max(1, len(listed)) for listed in lists)
    return len(needed & names) / len(names) / usual if usual else None


def false_claims(written: str, truth: Truth) -> float | None:
    """Share of claims ``path · deeds`` that the calls do not support."""
    claims = list(_CLAIM.finditer(spelt_out(written)))
    return sum(not _true(claim, truth) for claim in claims) / len(claims) if claims else None


def wrong_claims(written: str, truth: Truth) -> list[str]:
    """The unsupported claims themselves, for inspection."""
    return [claim[0] for claim in _CLAIM.finditer(spelt_out(written)) if not _true(claim, truth)]


def _true(claim: re.Match[str], truth: Truth) -> bool:
    path = claim["path"]
    verbs = {verb for known, done in truth.touched.items() if _same(path, known) for verb in done}
    read = any(_same(path, known) for known in truth.read)
    said = {deed.split()[0] for deed in claim["deeds"].split(", ") if deed.strip()}
    if "read" in said:
        return read
    allowed = verbs | ({"written"} if verbs & {"created", "edited"} else set())
    return said <= allowed | ({"created", "edited"} if "written" in verbs else set())


def _same(path: str, known: str) -> bool:
    shorter, longer = sorted((path.removeprefix("…/"), known.removeprefix("./")), key=len)
    return longer == shorter or longer.endswith("/" + shorter)


def _solved_listed(context: Context, truth: Truth) -> float | None:
    solved = [failure for failure in truth.failures if failure.solved]
    if not context.ours or not solved:
        return None
    listed = flat("\n".join(match[1] for match in _ERRORS.finditer(context.written)))
    return sum(flat(f.line)[:80] in listed or f"`{f.command}`" in listed for f in solved) / len(solved)


def _claimed(written: str) -> set[str]:
    bare = _OWN_NUMBERS.sub(" ", written)
    return names_in(bare) | set(_URL.findall(bare)) | set(_NUMBER.findall(bare))


def invented(written: str, source: str) -> list[str]:
    """Names, addresses and numbers in a written text that do not occur in the history."""
    return sorted(piece for piece in _claimed(written) if piece.rstrip(".,;:") not in source)
