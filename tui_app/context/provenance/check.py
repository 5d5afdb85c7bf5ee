"""Check what a summary claims against the log: what the log disproves, or does not hold, is marked.

A model that writes a summary may invent a file, turn a rule round, call a failing test green, or take a wish
out of a tool's output for the user's. Whoever reads the summary later cannot tell it from the truth, so each
statement is held against what the session really holds. This asks no model and rewrites nothing: it adds a
mark. What it leaves unmarked may still be wrong.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tui_app.context.claim_words import (
    ACTED,
    AHEAD,
    ERRORS,
    EVERYTHING,
    GERMAN,
    I_DID,
    NEWLY,
    NO_FAILURE,
    NO_MORE,
    NOT_YET,
    NOTHING_OF,
    OF_THE_PAST,
    PLANS,
    REPORTED,
    SAYS,
    SAYS_SOLVED,
    STILL,
    UNSAID,
    UNSOLVED,
    WEAKLY,
    says_outcome,
)
from tui_app.context.facts.commands import LINE_BREAK, Run, only_looks, still_open
from tui_app.context.facts.files import Trail
from tui_app.context.facts.observations import checks, command_of
from tui_app.context.facts.shell import file_effects, plainly
from tui_app.context.provenance.evidence import Evidence, bare_name
from tui_app.context.provenance.statements import (
    Name,
    Statement,
    names_in,
    numbers_in,
    statements,
    without_names,
)
from tui_app.context.provenance.users import (
    FOREIGN,
    OWN,
    goes_too_far,
    speaks_for_user,
    wish_is_unknown,
    without_quotes,
)
from tui_app.context.summaries.prompt import REPEATS, language_of, repeats, speaks
from tui_app.context.user_text import stems_of, words
from tui_app.events import MARKS, NOT_IN_LOG
from tui_app.records import frozen

_FAMILIES = ("created", "edited", "deleted", "moved")
_DIRECTLY = re.compile(
    r"[\s\x01`:]*(?:(?:the|a|an|our|whole|entire|file|module|script|large|parts?|most|some|of|up|out|down"
    r"|brand-new|new)[\s,\x01]+){0,6}"
)
_INSIDE = re.compile(
    r"[\s\x01`]*|[^.;:\x01]{0,60} (?:in|to|from|out of|of|inside|within|through|into|across|onto|throughout"
    r"|zu|aus|dans|à|en|de|a|nel|nella|em|no|na|в|из|на|w|z|i|till|från|naar|uit)(?: the| file"
    r"| module){0,2}[\s\x01`]*"
)
"""Between what was done and the file that it was done to, or in."""
_WITHIN = re.compile(
    r"(?:^|[,;.(–-])[\s*]*(?:in|inside|within|dans|en|em|nel|в|на|w|i)(?: the| der| le| el| file| datei"
    r"| fichier| archivo| файле){0,2}[\s\x01`]*$"
)
_CLAUSE = re.compile(r"[^.;:\x01]{0,60}")
"""In front of a file in which something was done, and between it and what."""
_LISTED = re.compile(r"[\s\x01`*]*[:–—-]\s+")
"""Between a file that an item of a list begins with and what was done to it."""
_STATUS = re.compile(r"([MADR])\s+(?=[\w./~-]+$)")
_STATUSES = {"M": "edited", "A": "created", "D": "deleted", "R": "moved"}
"""How git says it."""
_JOINED = re.compile(r"\w+(?:\s*,\s*\w+)*,?\s+(?:and|und|et|y|e|en|i|и)\s+")
_DONE = {
    "created": frozenset({"created", "written"}),
    "edited": frozenset({"created", "written", "edited", "undone"}),
    "deleted": frozenset({"deleted"}),
    "moved": frozenset({"deleted", "created"}),
    "changed": frozenset({"created", "written", "edited", "deleted", "undone"}),
}
_PASSIVE = re.compile(
    r"(?=(?:[^:]*|[^:]*:\s*(?:\S+\s+)?)\Z)[\s\x01)\]|:(,·—–*~-]*(?:(?:[^\W\d_]{1,6}|already|slightly"
    r"|recently|bereits|légèrement)\s+){0,5}"
)
"""What stands between a file and what was done to it: words that help a verb are short in every language.

Behind a colon, more than one of them is a sentence about something else: "x.py: rows were dropped".
"""
_OBJECT = re.compile(
    r"\s+(?!(?:and|in|from|since|because|as|by|with|at|on|of|again|too|for|und|weil|wegen|aus|et|car|pour"
    r"|par|y|por|porque|и|за|из|как|по|для)\b)[\w\x01`]"
)
"""What stands behind a verb that did it to something else than the file in front of it."""
_UNSPACED = re.compile(
    r"[\s\x01`(]*[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af][\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af ]{0,11}"
)
_LINK = re.compile(
    r"^[\s\x01`:(,·—–&+\ufe0f-]*(?:(?:[^\W\d_]{1,5}|datei(?:en)?|fichiers?|archivos?|файл|within|inside"
    r"|source|config|module|script|helper|missing|landed|obsolete|unused|called|named"
    r"|following)[\s\x01`:(,-]+){0,6}$|^[\u3040-\u9fff\uac00-\ud7af]{0,3}\s?$"
)
"""The same between a verb and its file; a longer word is something else that it was done to."""


def deed_is_false(statement: Statement, bare: str, names: Sequence[Name], evidence: Evidence) -> bool:
    """Whether a statement says of a file what the log does not bear out."""
    paths = [
        name
        for name in names
        if ((name.is_path and not name.text.endswith("/")) or evidence.trails_of(name.text))
        and not NOTHING_OF.search(bare[: name.start].casefold())
    ]
    if NOT_YET.search(bare):
        return False
    if not bare.strip(_BLANK) and any(_changes_unseen(name.text, evidence) for name in names):
        return True
    return any(
        not (AHEAD.search(bare[:end]) or any(_was_done(name.text, family, evidence) for family in families))
        for name, families, end in _deeds(statement, bare, paths)
    )


def _deeds(statement: Statement, bare: str, paths: Sequence[Name]) -> Iterator[tuple[Name, set[str], int]]:
    """Each file of a statement, the families of words for what was done to it, and where that is said."""
    whole = bare.casefold().replace("\x00", "\x01")
    folded = UNSAID.sub(lambda match: " " * len(match[0]), whole)
    said = [
        (match.start(), match.end(), family)
        for family in _FAMILIES
        for match in SAYS[family].finditer(folded)
    ]
    status = _STATUS.match(statement.text)
    acted = [match.span() for match in ACTED.finditer(folded)]
    verbs = sorted({first for first, _, _ in said} | {first for first, _ in acted})
    above = _families_in(statement.label) or _families_in(statement.heading)
    for name in paths:
        behind = (
            first for first in verbs if first >= name.end and _PASSIVE.fullmatch(folded[name.end : first])
        )
        start = next(behind, name.end)
        families = _together(folded, start, said, verbs)
        if status and not families:
            families = {_STATUSES[status[1]]}
        if families and _OBJECT.match(
            folded, max((last for first, last, _ in said if first == start), default=start)
        ):
            families |= {"edited"}  # ``a.py: removed the old check``
            yield name, families, start
            continue
        if not families and (between := _UNSPACED.match(folded, name.end)):
            families = {family for first, _, family in said if name.end <= first < between.end()}
        if not families:
            before = max((last for _, last, _ in said if last <= name.start), default=-1)
            if before >= 0 and _LINK.match(folded[before : name.start]):
                families = {family for _, last, family in said if last == before}
        families = families or _otherwise(whole, folded, name, start, acted, said)
        if not families and not said and not folded[: name.start].strip(" \x01,;&·|*-"):
            families = above
        if "deleted" in families:
            # What is taken out of a file edits it; what is said of the file itself does not.
            families -= {"edited"}
        if families:
            yield name, families, max(name.end, start)


def deed_is_unheard(statement: Statement, bare: str, names: Sequence[Name], evidence: Evidence) -> bool:
    """Whether a statement tells, without a name, of something done to what came up nowhere."""
    folded = UNSAID.sub(" ", bare.casefold())
    reports = (*SAYS.values(), SAYS_SOLVED, ACTED)
    language = evidence.user.language
    if names or FOREIGN.search(bare) or AHEAD.search(bare) or not (language and speaks(bare, language)):
        return False
    if not any(pattern.search(folded) for pattern in reports):
        return False
    for pattern in reports:
        folded = pattern.sub(" ", folded)
    told = stems_of(folded) - OWN
    unheard = told - evidence.words
    return len(unheard) >= max(_LEAST_UNHEARD, _MOST_UNHEARD * len(told))


_LEAST_UNHEARD, _MOST_UNHEARD = 2, 0.6
"""Telling words that came up nowhere, and their share, from which on a statement is of something else."""


_BLANK = "\x00 \t`*.,:;|·–-✓✔✅"


def _changes_unseen(command: str, evidence: Evidence) -> bool:
    """Whether a command, told as one that was run, changes a file to which nothing of the kind was done."""
    command = command.strip("`")
    effects = file_effects(command) if " " in command else ()
    return any(
        effect.verb in _FAMILIES and not _was_done(effect.path, effect.verb, evidence) for effect in effects
    )


def _together(
    folded: str, start: int, said: Sequence[tuple[int, int, str]], verbs: Sequence[int]
) -> set[str]:
    """The families of the verb at a place, and of those that are joined to it."""
    families = {family for first, _, family in said if first == start}
    for verb in verbs:
        if start < verb and _JOINED.fullmatch(folded, start, verb):
            families |= {family for first, _, family in said if first == verb}
    return families


def _otherwise(
    whole: str,
    folded: str,
    name: Name,
    start: int,
    acted: Sequence[tuple[int, int]],
    said: Sequence[tuple[int, int, str]],
) -> set[str]:
    """What is said of a file, with a verb at ``start`` behind it, where no word is of a known family."""
    if NO_MORE.search(f"{whole[: name.start]}\x02{whole[name.end :]}"):
        return {"deleted"}
    passive = not folded[name.end : start].endswith(("is ", "are ")) and any(at == start for at, _ in acted)
    direct = any(_DIRECTLY.fullmatch(folded, end, name.start) for _, end in acted if end <= name.start)
    first = REPORTED.match(folded)
    direct |= first is not None and _INSIDE.fullmatch(folded, first.end(), name.start) is not None
    direct |= any(last <= name.start and _INSIDE.fullmatch(folded, last, name.start) for _, last, _ in said)
    direct |= _WITHIN.search(folded[: name.start]) is not None and any(
        first >= name.end and _CLAUSE.fullmatch(folded, name.end, first) for first, _, _ in said
    )
    listed = _LISTED.match(folded, name.end) if not folded[: name.start].strip(_BLANK) else None
    direct |= listed is not None and REPORTED.match(folded[listed.end() :]) is not None
    return {"changed"} if passive or direct or NEWLY.match(folded, name.end) else set()


def _families_in(label: str) -> set[str]:
    folded = label.casefold()
    if not label or AHEAD.search(label):
        return set()
    found = {family for family in _FAMILIES if SAYS[family].search(folded)}
    return found if len(found) < 3 else set()


def _was_done(name: str, family: str, evidence: Evidence) -> bool:
    trails = evidence.trails_of(name)
    if any(_done_to(trail) & _DONE[family] for trail in trails):
        return True
    ending = bare_name(name).rpartition("/")[2]
    # What git tells, or the user did themselves.
    told = [line.casefold() for line in evidence.lines_with(name) if _OF_GIT.match(line)]
    told += [each for each in evidence.prose if ending.casefold() in each and I_DID.search(each)]
    if any(SAYS[family].search(UNSAID.sub(" ", line.replace(ending.casefold(), " "))) for line in told):
        return True
    # A script may have done it; what builds or checks has not.
    return not trails and any(
        ending in command and not (only_looks(command) or checks(command))
        for command in map(command_of, evidence.outputs())
    )


_OF_GIT = re.compile(r"^\s*(?:modified|deleted|new file|renamed|(?:create|delete|rename) mode|rename)\b")


def _done_to(trail: Trail) -> set[str]:
    return {*trail.counts, *trail.settled, *(("undone",) if trail.undone else ())} - {"read"}


# Commands and tests: whether they ended as a statement says.

_KINDS = {
    "test": (
        re.compile(
            r"(?i)(?<!\w)(?:unit ?)?(?:test\w{0,4}|suite|pruebas?|тест\w*)(?!\w)|测试|測試|テスト|테스트"
            r"|اختبار|בדיק|ทดสอบ"
        ),
        words("pytest unittest test tests jest vitest mocha tox nox rspec phpunit ctest"),
    ),
    "build": (
        re.compile(r"(?i)(?<!\w)(?:build|builds|compil\w+|сборк\w+)(?!\w)|构建|ビルド|빌드"),
        words("build make cmake ninja tsc cargo gradle mvn go gcc"),
    ),
    "lint": (
        re.compile(r"(?i)(?<!\w)(?:lint\w*|type ?checks?|type-checking)(?!\w)"),
        words("ruff eslint flake8 lint biome pylint mypy pyright tsc"),
    ),
}
_WORD = re.compile(r"[\w-]+")
_NAMED_TESTS = re.compile(r"(?<![\w/.-])test_\w+(?![\w.])|(?<![\w/])Test[A-Z]\w+")
_CHECKERS = words(
    "pytest unittest jest vitest mocha tox nox rspec phpunit ruff eslint flake8 mypy pyright tsc biome cargo"
)


def outcome_is_false(statement: Statement, bare: str, names: Sequence[Name], evidence: Evidence) -> bool:
    """Whether a statement says that a command worked which fails, or failed which never did."""
    folded = bare.casefold().replace("\x00", " ")
    if AHEAD.search(bare) or AHEAD.search(statement.label):
        return False
    failed, worked = (says_outcome(folded, failed=each) for each in (True, False))
    command = ""
    if not (failed or worked) and (above := statement.label or statement.heading):
        # Below a label there may stand the bare command.
        failed, worked = (says_outcome(above.casefold(), failed=each) for each in (True, False))
        command = statement.text
    if failed == worked:
        return False
    runs = _runs_of(statement, command, folded, names, evidence)
    if runs is None:
        return False
    sums = {_is_sum(number, evidence) for number, _, _ in numbers_in(statement.text)}
    if worked and sums == {True, False}:
        return False  # so many of so many
    if worked:
        return not any(run.ok or run.fixed for run in runs)
    still = STILL.search(folded)
    return bool(runs) and not any(not run.ok or (run.was_broken and not still) for run in runs)


def _runs_of(
    statement: Statement, command: str, folded: str, names: Sequence[Name], evidence: Evidence
) -> list[Run] | None:
    """The runs that a statement is about; None where it is about none.

    Args:
        statement: The statement.
        command: Its text, where it may be a bare command.
        folded: Its words without names.
        names: The names in it.
        evidence: The session.
    """
    commands = [run for run in evidence.runs if command_of(run.action)]
    told = plainly(statement.text)
    if meant := [run for run in commands if " " in (what := plainly(run.what)) and what in told]:
        return meant
    for text in filter(None, (command.strip(" .`"), *(name.text for name in names))):
        wanted = plainly(text.strip("`"))
        if " " in wanted or any(plainly(run.what).split(" ")[0] == wanted for run in commands):
            meant = [run for run in commands if wanted in plainly(run.what)]
            if meant:
                return meant
    meant = [run for run in commands if checks(run.what) and _programs(run.what) & set(_WORD.findall(folded))]
    # A test is named, of which the newest run tells.
    tests = {test for name in names for test in _NAMED_TESTS.findall(name.text)}
    meant = meant or [
        run
        for run in commands
        if not run.ok and checks(run.what) and tests & set(_NAMED_TESTS.findall(run.error))
    ]
    if meant:
        return meant
    for said, programs in _KINDS.values():
        if said.search(folded) and not WEAKLY.search(folded):
            meant = [
                run
                for run in commands
                if programs & set(_WORD.findall(run.what.casefold())) or said.search(run.what)
            ]
            # The newest run of all counts: the suite, of which others ran a part.
            return meant[-1:] if meant else []
    if EVERYTHING.search(folded) and not names:
        checked = [run for run in commands if checks(run.what)]
        return [run for run in checked if not run.ok][-1:] or checked[-1:] or None
    return None


def _programs(command: str) -> set[str]:
    """The programs of a command that nobody takes for a word of prose."""
    return set(_WORD.findall(command.casefold())[:4]) & _CHECKERS


def log_words(statement: Statement, evidence: Evidence) -> str:
    """What the log holds instead of a false claim, such as ``1 failed #190``; empty where that is unknown."""
    names = names_in(statement.text)
    if not all(evidence.knows(name.text) for name in names):
        return ""
    bare = without_names(statement.text, names)
    if wish_is_unknown(statement, bare, evidence.user):
        return "no such message"
    runs = _runs_of(statement, statement.text, bare.casefold().replace("\x00", " "), names, evidence)
    if runs:
        run = runs[-1]
        counts = next(
            filter(None, map(_COUNTS.findall, reversed(run.action.result[-2_000:].splitlines()))), []
        )
        ended = ", ".join(counts) or f"{run.what[:_MOST_TOLD]} {'succeeded' if run.ok else 'failed'}"
        return f"{ended} #{run.action.key}"
    for name in names:
        for trail in evidence.trails_of(name.text):
            done = _done_to(trail)
            told = ", ".join(sorted(done)) if done else "only read" if trail.counts else ""
            if told:
                return f"{trail.path.rpartition('/')[2]} {told} #{trail.key}"
    return ""


_COUNTS = re.compile(r"\b\d+ (?:failed|passed|skipped|errors?|failures?)\b")
_MOST_TOLD = 40
"""Characters of a command that are told."""


# Errors: whether what is called solved still fails.

_WORDS = re.compile(r"[^\W\d]\w+")
_SHAPED = re.compile(r"[a-z][A-Z]|[A-Za-z]\d")


def solved_is_false(statement: Statement, bare: str, names: Sequence[Name], evidence: Evidence) -> bool:
    """Whether a statement calls an error solved that is still open."""
    folded = UNSOLVED.sub(" ", UNSAID.sub(" ", bare.casefold()))
    above = SAYS_SOLVED.search(statement.heading) and not UNSOLVED.search(statement.heading)
    labelled = SAYS_SOLVED.search(statement.label) or OF_THE_PAST.search(bare)
    said_here = bool(SAYS_SOLVED.search(folded) or labelled or NO_FAILURE.search(folded))
    if AHEAD.search(bare) or not (said_here or above):
        return False
    quoted, told = " ".join(statement.text.split()), plainly(statement.text)
    still = [
        run
        for run in evidence.runs
        if still_open(run)
        and run.error
        and (
            (said_here and (checks(run.what) or checks(command_of(run.action))))
            or (" " in run.what and plainly(run.what) in told)
            or _quotes_error(quoted, run)
        )
    ]
    if not still:
        return False
    if EVERYTHING.search(bare) and ERRORS.search(bare):
        return True
    said, stems = _telling(statement.text), stems_of(statement.text)
    for run in still:
        named = any(len(name.text) >= _COMMAND and name.text.strip("`") in run.what for name in names)
        known = named or said & _telling(f"{run.what} {run.error}") or _quotes_error(quoted, run)
        if known or len(stems & stems_of(run.error)) >= _SHARED:
            # What worked since, of the same name, is not this error.
            return not any(
                other.ok and other.was_broken and said & _telling(f"{other.what} {other.error}")
                for other in evidence.runs
            )
    return False


_QUOTE = re.compile(r"[\"“„«「](.{8,400}?)…?[\"”“»」]")
_QUOTED = 20
"""Characters from which on a line of output is known again."""
_COMMAND = 8
"""Characters from which on a name in a statement may be a command."""
_SHARED = 3
"""Telling words by which an error is known where nothing names it."""


def _quotes_error(said: str, run: Run) -> bool:
    """Whether a statement holds a line of what a command printed when it failed, or the beginning of one."""
    lines = (" ".join(line.split()).rstrip("…") for line in run.error.split(LINE_BREAK))
    if any(len(line) >= _QUOTED and line in said for line in lines):
        return True
    printed = " ".join(run.action.result.split())
    return any(len(quote) >= _QUOTED and quote.strip() in printed for quote in _QUOTE.findall(said))


def _telling(text: str) -> set[str]:
    """The words by which an error is known: names of code, of files, and of its kind."""
    return {
        word.casefold()
        for word in _WORDS.findall(text)
        if "_" in word or _SHAPED.search(word) or word.endswith(("Error", "Exception", "Failure"))
    }


# The check of a whole summary.

_MARK = re.compile(rf"[ \t]?(?:{'|'.join(map(re.escape, MARKS))})")
_LATIN = re.compile(r"(?<=\S\s)[A-Z][A-Za-z-]{3,}|(?<=[^\x00-\x7f])[A-Z][A-Za-z-]{3,}")
"""A word of another script stands there for its own sake, like a name."""
_PROPER = re.compile(r"(?<![\w*-])([a-z][a-z'’-]*),? (?![A-Z]{1,5}s?\b)([A-Z][A-Za-z]{3,})(?![\w'’-])")
"""A word written as a name, behind one of the session's language: not all languages write names so."""
_TAIL = re.compile(r"\s*\(#-?\d{1,12}\)\s*$")
_OMITTED = re.compile(r"…\[\d{1,12} characters omitted\](?:…)?")
_LEAST_SHARED_ABROAD = 0.6
"""Share of the telling words of a sentence in another language that must have come up."""


@frozen
class Checked:
    """A summary with marks, and what the check came upon."""

    text: str
    claims: tuple[str, ...] = ()
    """Statements behind which a mark stands."""
    held: tuple[str, ...] = ()
    """What the log holds instead of each; empty where that is not known."""
    statements: int = 0
    """All there are, marked or not."""
    refusal: str = ""
    """Why it is no summary of this session; empty when it may be taken."""

    @property
    def marked(self) -> int:
        """How many statements are marked."""
        return len(self.claims)


def check_summary(summary: str, evidence: Evidence, *, titled: bool = False) -> Checked:
    """Mark what the log disproves or does not hold.

    Args:
        summary: Notes in Markdown; marks that stand in it already are judged anew.
        evidence: The whole session.
        titled: Whether it was given a title, as whoever refuses or goes on gives none.

    Returns:
        The summary with its marks. The same input gives the same text, and checking a checked text again
        changes nothing.
    """
    text = _MARK.sub("", summary)
    every = list(statements(text))
    marked = [statement for statement in every if is_false(statement, evidence)]
    checked = text
    for statement in reversed(marked):
        checked = f"{checked[: statement.end]} {NOT_IN_LOG}{checked[statement.end :]}"
    claims = tuple(statement.text for statement in marked)
    held = tuple(log_words(statement, evidence) for statement in marked)
    return Checked(checked, claims, held, len(every), refusal_of(text, evidence, titled=titled))


def is_false(statement: Statement, evidence: Evidence) -> bool:
    """Whether the log disproves a statement, or what it names came up nowhere."""
    above = f"{statement.label} {statement.heading}"
    if evidence.repeats(_TAIL.sub("", statement.text)) and not _claims(above):
        bare = without_names(statement.text, names_in(statement.text))
        return speaks_for_user(statement, bare, evidence.user) and (
            wish_is_unknown(statement, bare, evidence.user) or goes_too_far(statement, bare, evidence.user)
        )
    statement = replace(statement, text=_OMITTED.sub(" ", statement.text))
    names = names_in(statement.text)
    if any(not evidence.knows(name.text) for name in names):
        return True
    bare = without_names(statement.text, names)
    claimed = without_quotes(bare, evidence.user)  # what somebody said is no claim of the summary's
    if FOREIGN.search(claimed) and not all(map(evidence.knows_word, _LATIN.findall(claimed))):
        return True
    proper = () if GERMAN.search(claimed) else _PROPER.findall(claimed)
    if any(
        evidence.knows_word(before)
        and not (evidence.knows_word(word) or evidence.knows_word(word.rstrip("s")))
        for before, word in proper
    ):
        return True
    if number_is_unknown(statement, names, evidence) or wish_is_unknown(statement, bare, evidence.user):
        return True
    if not names and (
        goes_too_far(statement, claimed, evidence.user)
        or (claimed == bare and _is_of_no_session(bare, evidence))
    ):
        return True
    if PLANS.search(statement.heading) and not SAYS_SOLVED.search(statement.heading):
        return False
    checks: Sequence[Callable[[Statement, str, list[Name], Evidence], bool]] = (
        deed_is_unheard,
        deed_is_false,
        outcome_is_false,
        solved_is_false,
    )
    return any(check(statement, claimed, names, evidence) for check in checks)


def _is_of_no_session(bare: str, evidence: Evidence) -> bool:
    """Whether a statement in another language than the session's holds next to nothing that came up in it.

    What is said of an outcome is looked up as such.
    """
    language, said = evidence.user.language, stems_of(bare) - OWN
    if not language or not said or speaks(bare, language) or any(map(str.isdigit, bare)):
        return False
    folded = bare.casefold()
    if any(SAYS[ended].search(folded) for ended in ("failed", "worked")) or SAYS_SOLVED.search(bare):
        return False
    return len(said & evidence.stems) < _LEAST_SHARED_ABROAD * len(said)


def _claims(above: str) -> bool:
    """Whether a label or heading says of what stands below it that it was done, or how it ended."""
    folded = above.casefold()
    return any(pattern.search(folded) for pattern in SAYS.values()) or bool(SAYS_SOLVED.search(above))


# Numbers: each must have come up, and with what it counts.

_DERIVED = re.compile(
    r"(?i)^×|^\W*(?:\w+\W+){0,2}(?:files?|messages?|steps?|edits?|commands?|changes?|turns?|calls?"
    r"|functions?|classes|modules?|places?|occurrences?|times|sections?|parts?|things?|points?|ways?"
    r"|options?|users?|days?|dateien|schritte|fichiers|étapes|archivos|pasos|个|つ|個|개)"
)
"""What somebody who sums up counts for themselves."""
_TIES = 25
"""Characters between a name and its value."""
_SMALL = 12
_NEAR = 45
"""Characters on either side of a number in which a statement says what it counts."""
_TESTS = re.compile(r"(?i)tests?|cases|specs|prueba|тест|测试|測試|テスト|테스트|اختبار|בדיק|ทดสอบ")
_PASSED = re.compile(r"(?i)\W{0,3}(?:passed|passing|failed|failing|green|ok|bestanden|réussi|прошл)")
_TALLY = re.compile(r"(?i) (?:passed|passing|failed|failing|success(?:es)?|failures?)(?:\W*$|,| and| in \d)")
"""Behind a number as test runners print it."""
_TIED = re.compile(r"(?i)(?:[=:]|\b(?:to|from|is|now|was|of|at|auf|von|à|de|est|a|es|на|=))\s*[`'\"]?$")
_UNIT = re.compile(r"(?i)^\s?(?:ms|s|sec\w*|min\w*|h|hours?|[kmg]i?b|bytes|px|%|tokens?|x)\b")
_LINE = re.compile(r"(?i)\b(?:lines?|zeilen?|lignes?|líneas?|строк\w*|righ[ae])\b\W*$|:$|行\W*$|第\s*$")
_COUNTED = re.compile(
    r"\d+(?= (?:failed|passed|skipped|errors?|failures?|xfailed|warnings?|deselected|tests?)\b)"
)


def number_is_unknown(statement: Statement, names: Sequence[Name], evidence: Evidence) -> bool:
    """Whether a statement holds a number that came up nowhere, or only ever with something else."""
    text, language = _without_plain(statement.text, names), evidence.user.language
    abroad = bool(language) and not speaks(text, language)  # there only names and numbers can be compared
    for number, start, end in numbers_in(text):
        before, behind = text[max(0, start - _NEAR) : start], text[end : end + _NEAR]
        tests = bool(
            _TESTS.search(before[-30:])
            or _TESTS.search(behind[:30])
            or (_TESTS.search(statement.heading) and _PASSED.match(behind))
            or _TALLY.match(behind)
        )
        if (not tests and _DERIVED.match(behind)) or (tests and _is_sum(number, evidence)):
            continue
        places = evidence.around(number)
        if not number.strip("0."):
            continue
        if tests and any(_counts_tests(place, number) for place in places):
            continue
        if tests and _says_ran(statement):
            return True
        lines = _LINE.search(before[-_TIES:])
        if not places and (not number.isdigit() or int(number) > _SMALL or lines):
            return True
        plain = [name for name in names if not (name.is_path or lines) and 0 <= start - name.end <= _TIES]
        tied = tests or _TIED.search(before) or _UNIT.match(behind) or lines or plain
        # What has the value is named: nothing else makes it true.
        context = stems_of("" if plain or abroad else f"{before} {behind}")
        context = context.union(*(stems_of(name.text) for name in plain or names))
        apart = context and not any(context & stems_of(place) for place in places)
        if tied and apart and evidence.gives_another(context, number):
            return True
    return False


_COUNT = (
    r"(?<![\w/.-])(?:tests?|pass(?:ed|ing)?|fail(?:ed|ing)?|ok|cases|specs?|examples|assertions?|suites?"
    r"|succe\w+|collected|items|total|skipped|тест\w*|pruebas?)(?![\w/-]|\.\w)|[✓✔✅✗]|测试|通过|テスト"
    r"|테스트"
)


def _counts_tests(place: str, number: str) -> bool:
    """Whether a number counts tests where it stands, and does not number a line or count something else."""
    shown = place.lstrip()
    if shown.startswith(number) and shown[len(number) :].lstrip(" ").startswith(("→", ":", "\t", "|")):
        return False
    behind = rf"(?<!\d){number}\W{{0,4}}(?:\w+\W+){{0,2}}?(?:{_COUNT})"
    return re.search(rf"(?i)(?:{_COUNT})\W{{0,12}}(?:\w+\W+)?{number}(?!\d)|{behind}", place) is not None


def _says_ran(statement: Statement) -> bool:
    folded = f"{statement.text} {statement.heading}".casefold()
    return any(says_outcome(folded, failed=each) for each in (True, False))


def _without_plain(text: str, names: Sequence[Name]) -> str:
    """Blank the names that are no piece of code with spaces or signs: digits in them are parts of a name."""
    for name in names:
        if not re.search(r"[ =:]", name.text):
            text = text[: name.start] + " " * (name.end - name.start) + text[name.end :]
    return text


def _is_sum(number: str, evidence: Evidence) -> bool:
    """Whether a test run counted as many in parts, such as ``1 failed, 3 passed``."""
    for action in evidence.outputs():
        for line in action.result[-2_000:].splitlines():
            counts = [int(count) for count in _COUNTED.findall(line)]
            if len(counts) > 1 and str(sum(counts)) == number:
                return True
    return False


# Whether a text is a summary of this session at all.

_MOST_UNKNOWN = 0.5
_FEW_NAMES = 2
_LEAST = 2
"""Telling words of the session without which a text says nothing of it."""
_TERSE = 160
"""Characters of an answer that says it goes on, or will not."""
_TELLING, _LEAST_SHARED, _SHARED_OF_TERSE = 12, 0.25, 0.5
"""Telling words from which on a text says much, and the share of them that the session must hold."""
_HEADED = re.compile(r"(?m)^\s{0,3}(?:#{1,6}\s|\*\*|[-*] )")


def refusal_of(summary: str, evidence: Evidence, *, titled: bool = False) -> str:
    """Say why a text is no summary of this session; empty when it may be one.

    One in another language is: it names the same files.

    Args:
        summary: Notes without marks.
        evidence: The whole session.
        titled: Whether it was given a title.
    """
    if repeats(summary):
        return REPEATS
    names = {name.text for statement in statements(summary) for name in names_in(statement.text)}
    known = {name for name in names if evidence.knows(name)}
    if len(names) >= _FEW_NAMES and (not known or len(known) < len(names) * _MOST_UNKNOWN):
        return "most names in the summary do not occur in the conversation"
    said = stems_of(summary)
    shared = said & evidence.stems
    same = language_of([summary]) == evidence.user.language
    if known or titled or _HEADED.search(summary):
        invented = not known and len(said) >= _TELLING and len(shared) < _LEAST_SHARED * len(said)
        return "the summary is not about this conversation" if invented and same else ""
    # A refusal, or a promise to go on, says little of what the conversation is about.
    terse = len(summary) < _TERSE
    least = max(_LEAST, len(said) * (_SHARED_OF_TERSE if terse else _LEAST_SHARED))
    return "the model wrote no summary" if len(shared) < least and (same or terse) else ""
