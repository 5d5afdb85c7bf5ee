"""Commands that were run, each with how its latest run ended, and the errors that nothing has fixed since."""

import re
from dataclasses import dataclass, replace

from tui_app.context.events import Fact
from tui_app.context.fact_extractors.files import target_of, verb_of
from tui_app.context.fact_extractors.language import clip, one_line
from tui_app.context.fact_extractors.outcomes import command_of, error_lines, failed, refused
from tui_app.context.fact_extractors.ranking import make_fact
from tui_app.context.fact_extractors.reading import Action, Reading
from tui_app.context.fact_extractors.shell import normal_command, program_of
from tui_app.context.fact_extractors.words import words

COMMAND_LIMIT = 160
LINE_LIMIT = 240
FAILED = " · failed: "
LINE_BREAK = " ¦ "
"""Stands between two lines of one error."""
SOLVED = "solved: "
NO_OUTPUT = "no output"

_LOOKERS = words(
    "ls cat head tail grep rg egrep find sed awk wc tree pwd echo which file stat du df date whoami sleep "
    "jq sort cd env printenv view less true"
)
"""Programs that only look: their runs are no facts worth carrying."""
_UNSURE = re.compile(r"[;|]")
"""Operators after which the outcome of the whole says nothing about the parts."""
_GIT_LOOKS = re.compile(
    r"^git\s+(?:-\S+\s+\S+\s+)?(?:status|diff|log|show|branch|ls-files|remote|rev-parse|blame|grep|fetch)\b"
)


@dataclass(frozen=True, slots=True)
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


def run_key(action: Action) -> str:
    """What makes two calls the same one: the command without its decoration, or tool kind and target."""
    if command := command_of(action):
        return "$ " + normal_command(command)
    verb = verb_of(action)
    changes = verb not in {"", "read"}
    return f"{'change' if changes else verb or action.tool} {target_of(action.args)}"


def latest_runs(reading: Reading) -> dict[str, Run]:
    """The newest run of everything, by key, in order of the newest run.

    Args:
        reading: The history.

    Returns:
        Runs with how they ended. Refused and unanswered calls are left out: nothing happened.
    """
    runs: dict[str, Run] = {}
    for action in reading.actions:
        if refused(action):
            continue
        key, broken = run_key(action), failed(action)
        if not broken:
            _solve_parts(runs, action)
        earlier = runs.pop(key, None)
        error = _error_text(action) if broken else earlier.error if earlier else ""
        was_broken = earlier is not None and (earlier.was_broken or not earlier.ok)
        times = earlier.times + 1 if earlier else 1
        runs[key] = Run(action, _what(action), not broken, times, was_broken, error)
    return runs


def _solve_parts(runs: dict[str, Run], action: Action) -> None:
    """A chain ``a && b`` that worked means that each of its parts did."""
    parts = normal_command(command_of(action)).split(" && ")
    for part in parts if len(parts) > 1 and not _UNSURE.search(" ".join(parts)) else ():
        if (run := runs.get("$ " + part)) and not run.ok:
            runs["$ " + part] = replace(run, ok=True, was_broken=True)


def command_facts(reading: Reading) -> list[Fact]:
    """Facts ``command · ok`` for commands that do something; failed ones are told as errors."""
    facts: list[Fact] = []
    for run in latest_runs(reading).values():
        command = command_of(run.action)
        if command and not (run.ok and only_looks(command)):
            text = f"`{run.what}` · {'ok' if run.ok else 'failed'}"
            action = run.action
            facts.append(
                make_fact(reading, "command", text, key=action.key, index=action.index, times=run.times)
            )
    return facts


def error_facts(reading: Reading) -> list[Fact]:
    """Errors still open, and, light and marked, those that a later run of the same solved."""
    facts: list[Fact] = []
    for run in latest_runs(reading).values():
        action = run.action
        place = {"key": action.key, "index": action.index}
        if not run.ok:
            factor = 0.4 if _was_only_looking(action) else 1.0
            facts.append(
                make_fact(reading, "error", f"`{run.what}`{FAILED}{run.error}", factor=factor, **place)
            )
        elif run.was_broken and command_of(action) and run.error:
            first = run.error.split(LINE_BREAK)[0]
            facts.append(make_fact(reading, "detail", f"{SOLVED}`{run.what}` · {first}", factor=0.4, **place))
    return facts


def only_looks(command: str) -> bool:
    """Whether a command changes and checks nothing."""
    return program_of(command) in _LOOKERS or bool(_GIT_LOOKS.match(normal_command(command)))


def _was_only_looking(action: Action) -> bool:
    """A failed look-up matters less than a failed change, build or test."""
    command = command_of(action)
    return only_looks(command) if command else verb_of(action) in {"", "read"}


def _what(action: Action) -> str:
    command = command_of(action)
    if command:
        return clip(normal_command(command), COMMAND_LIMIT)
    return one_line(f"{action.tool} {clip(target_of(action.args), COMMAND_LIMIT)}")


def _error_text(action: Action) -> str:
    lines = error_lines(action.result)
    return LINE_BREAK.join(clip(line, LINE_LIMIT) for line in lines) or NO_OUTPUT
