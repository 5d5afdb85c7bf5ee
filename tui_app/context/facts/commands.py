"""Commands that were run, each with how its latest run ended, and the errors that nothing has fixed since."""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tui_app.context.facts.files import target_of, verb_of
from tui_app.context.facts.observations import (
    Action,
    Reading,
    Said,
    checks,
    clip,
    command_of,
    error_lines,
    failed,
    make_fact,
    one_line,
    refused,
    sentences,
)
from tui_app.context.facts.shell import normal_command, plainly, producer, program_of, same_in_folder
from tui_app.context.user_text import words
from tui_app.events import Fact
from tui_app.records import frozen

# Failures that the user says to have mended, where they name the failure so that it can be no other.

_FIXED = re.compile(
    r"(?i)^(?:(?:ok(?:ay)?|thanks|thank you|no worries|fyi|hi|alright|so|well|done)[,.:!]?\s{1,3}){0,2}"
    r"(?:I(?:['’]ve| have)?(?: just| already| now| myself| meanwhile){0,2}"
    r" (?:fixed|solved|resolved|repaired|corrected)\s{1,2}(?:up\s|all\s){0,1}"
    r"(?:that|the|this|your|it:?|those)\s{1,2}(?P<what>.{3,120}?)"
    r"|(?:ich habe|hab ich|ich hab) (?:den|die|das|diesen|dieses|diese)\s{1,2}(?P<german>.{3,120}?)"
    r"\s(?:schon |bereits |gerade |selbst |inzwischen ){0,3}(?:behoben|gelöst|repariert|korrigiert))"
    r"(?=[,.;:!]|\s(?:myself|already|by hand|on my (?:side|own|end)|now|and)\b|$)"
)
_DOUBT = re.compile(r"(?i)\?|\b(?:but|still|except|not|n['’]t|partly|try|almost|aber|nicht|noch|fast)\b")
_FAILURE = words(
    "error errors failure failures problem problems issue issues bug crash exception fehler problem absturz"
)
_KINDS = {
    "build": words("make cmake ninja gcc cc clang tsc cargo gradle gradlew mvn dotnet go javac docker build"),
    "compile": words("make cmake ninja gcc cc clang tsc cargo gradle mvn dotnet go javac compile"),
    "test": words("pytest tox nox jest vitest mocha rspec phpunit ctest unittest test tests"),
    "lint": words("eslint ruff flake8 biome pylint lint golangci-lint"),
    "type": words("mypy tsc pyright tsgo"),
    "install": words("pip pip3 npm pnpm yarn poetry uv install ci"),
}
"""What a kind of failure is called, and what shows that a command is of that kind."""
_SAME = {"builds": "build", "compiler": "compile", "tests": "test", "typing": "type", "linter": "lint"}
_EMPTY = words("that the this your a an of in with from for to and myself failing failed broken one last new")
_WORD = re.compile(r"[\w./-]{2,80}")


def fixed_failure(text: str, failures: Sequence[str]) -> int | None:
    """Which failure a message of the user says to be mended.

    Args:
        text: What the user typed.
        failures: Those that were open then, as the command and what it said.

    Returns:
        The place of the one that is meant; None where none is, or where it could be another.
    """
    for sentence in sentences(text):
        match = _FIXED.match(sentence.strip())
        if match and not _DOUBT.search(sentence):
            named = match["what"] or match["german"]
            found = [place for place, failure in enumerate(failures) if _means(named, failure)]
            if len(found) == 1:
                return found[0]
    return None


def _means(named: str, failure: str) -> bool:
    """Whether every telling word of a name fits a failure, and there is one."""
    telling = _words(named.casefold().replace("-fehler", "")) - _EMPTY - _FAILURE
    known = _words(failure.casefold())
    return bool(telling) and all(_fits(word, known, failure.casefold()) for word in telling)


def _words(text: str) -> set[str]:
    return {word.strip(".-/") for word in _WORD.findall(text)}


def _fits(word: str, known: set[str], failure: str) -> bool:
    kind = _KINDS.get(_SAME.get(word, word))
    return (kind is not None and bool(kind & known)) or word in known or (len(word) > 4 and word in failure)


COMMAND_LIMIT = 160
LINE_LIMIT = 200
MOST_LINES = 2
FAILED = " · failed: "
LINE_BREAK = " ¦ "
"""Stands between two lines of one error."""
SOLVED = "solved: "
NO_OUTPUT = "no output"
USER_FIXED = "failed, user says fixed"

_LOOKERS = words(
    "ls cat head tail grep rg egrep find sed awk wc tree pwd echo which file stat du df date whoami sleep "
    "jq sort cd env printenv view less true"
)
"""Programs that only look: their runs are no facts worth carrying."""
_UNSURE = re.compile(r"[;|]")
"""Operators after which the outcome of the whole says nothing about the parts."""
_LOOK_BACK = 50
"""Open failures a success is compared with: bounds the work, and older ones have been left behind."""
_GIT_LOOKS = re.compile(
    r"^git\s+(?:-\S+\s+\S+\s+)?(?:status|diff|log|show|branch|ls-files|remote|rev-parse|blame|grep|fetch)\b"
)


@frozen
class Run:
    """The latest run of one command, or the latest use of one tool on one target."""

    action: Action
    what: str
    """The command, or tool and target, on one line."""
    ok: bool
    times: int
    was_broken: bool
    """Whether an earlier run of the same failed."""
    error: str = ""
    """Lines of the newest failure."""
    fixed: bool = False
    """Whether the user said since that they mended it."""


def run_key(action: Action) -> str:
    """What makes two calls the same one: the command without its decoration, or tool kind and target."""
    if command := command_of(action):
        return "$ " + plainly(producer(command))
    verb = verb_of(action)
    changes = verb not in {"", "read"}
    return f"{'change' if changes else verb or action.tool} {target_of(action.args)}"


def latest_runs(reading: Reading) -> dict[str, Run]:
    """The newest run of everything, by key, in order of the newest run.

    Args:
        reading: The history.

    Returns:
        Runs with how they ended, those in sight too. Refused and unanswered calls are left out: nothing
        happened.
    """
    runs: dict[str, Run] = {}
    open_runs: deque[str] = deque(maxlen=_LOOK_BACK)
    beside = reading.beside.typed if reading.beside else []
    said = deque(sorted((*reading.typed, *beside), key=lambda said: said.index))
    for action in reading.all_actions():
        while said and said[0].index < action.index:
            _take_in_fix(runs, said.popleft())
        if refused(action):
            continue
        key, broken = run_key(action), failed(action)
        earlier = runs.pop(key, None)
        if not broken and _filtered(action):
            # What a filter found nothing in may have failed all the same.
            runs[key] = (
                replace(earlier, times=earlier.times + 1) if earlier else _run(action, None, broken=False)
            )
            continue
        runs[key] = _run(action, earlier, broken=broken)
        if broken:
            open_runs.append(key)
        elif open_runs and (command := command_of(action)):
            _solve_others(runs, open_runs, command)
    for words_after in said:
        _take_in_fix(runs, words_after)
    return runs


def _take_in_fix(runs: dict[str, Run], said: Said) -> None:
    """Close the failure that the user says to have mended."""
    open_now = [key for key, run in runs.items() if still_open(run)]
    told = [f"{runs[key].what} {runs[key].error}" for key in open_now]
    place = fixed_failure(said.text, told) if open_now else None
    if place is not None:
        runs[open_now[place]] = replace(runs[open_now[place]], fixed=True)


def untold_runs(reading: Reading) -> list[Run]:
    """The newest runs, in their order, less those that can be seen where they stand."""
    return [run for run in latest_runs(reading).values() if run.action.key not in reading.in_sight]


def _run(action: Action, earlier: Run | None, *, broken: bool) -> Run:
    error = _error_text(action) if broken else earlier.error if earlier else ""
    was_broken = earlier is not None and (earlier.was_broken or not earlier.ok)
    return Run(action, _what(action), not broken, earlier.times + 1 if earlier else 1, was_broken, error)


def _filtered(action: Action) -> bool:
    command = command_of(action)
    return bool(command) and producer(command) != normal_command(command)


def _solve_others(runs: dict[str, Run], open_runs: Iterable[str], command: str) -> None:
    normal = normal_command(command)
    for key in open_runs:
        run = runs[key]
        if run.ok or not key.startswith("$ "):
            continue
        if solves(normal, key.removeprefix("$ ")) or same_in_folder(command, command_of(run.action)):
            runs[key] = replace(run, ok=True, was_broken=True)


def solves(command: str, broken: str) -> bool:
    """Whether a command that worked means that a broken one works as well.

    A chain ``a && b`` that worked means that each part did, and a whole check that its parts work. What only
    runs a program, such as ``python -m`` or ``uv run``, makes no difference.
    """
    if _UNSURE.search(command):
        return False
    whole, part = plainly(command), plainly(broken)
    within = part.startswith(whole + " ") and (checks(command) or checks(whole))
    return part in whole.split(" && ") or within


def command_facts(reading: Reading) -> list[Fact]:
    """Facts ``command · ok`` for commands that do something; failed ones are told as errors."""
    facts: list[Fact] = []
    for run in untold_runs(reading):
        command = command_of(run.action)
        if command and not only_looks(command):
            text = f"`{run.what}` · {'ok' if run.ok else USER_FIXED if run.fixed else 'failed'}"
            action = run.action
            facts.append(
                make_fact(reading, "command", text, key=action.key, index=action.index, times=run.times)
            )
    return facts


def error_facts(reading: Reading) -> list[Fact]:
    """Errors still open, and, light and marked, those that a later run of the same solved."""
    facts: list[Fact] = []
    for run in untold_runs(reading):
        action = run.action
        place = {"key": action.key, "index": action.index}
        if still_open(run):
            factor = 1.0 if command_of(action) or verb_of(action) else 0.4
            facts.append(
                make_fact(reading, "error", f"`{run.what}`{FAILED}{run.error}", factor=factor, **place)
            )
        elif run.ok and run.was_broken and command_of(action) and run.error:
            first = run.error.split(LINE_BREAK)[0]
            facts.append(make_fact(reading, "detail", f"{SOLVED}`{run.what}` · {first}", factor=0.4, **place))
        elif run.fixed:
            text = f"user says fixed: `{run.what}` · {run.error.split(LINE_BREAK)[0]}"
            facts.append(make_fact(reading, "detail", text, factor=0.4, **place))
    return facts


def only_looks(command: str) -> bool:
    """Whether a command changes and checks nothing."""
    return program_of(command) in _LOOKERS or bool(_GIT_LOOKS.match(normal_command(command)))


def still_open(run: Run) -> bool:
    """Whether a run failed and has left something to mend."""
    command = command_of(run.action)
    # A look-up that failed has left nothing to mend.
    looked = only_looks(command) if command else verb_of(run.action) == "read"
    return not (run.ok or run.fixed or looked)


def _what(action: Action) -> str:
    command = command_of(action)
    if command:
        return clip(producer(command), COMMAND_LIMIT)
    return one_line(f"{action.tool} {clip(target_of(action.args), COMMAND_LIMIT)}")


def _error_text(action: Action) -> str:
    lines = error_lines(action.result, MOST_LINES)
    return LINE_BREAK.join(clip(line, LINE_LIMIT) for line in lines) or NO_OUTPUT
