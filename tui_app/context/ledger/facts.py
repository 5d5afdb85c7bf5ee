"""Facts of a session as relations that a user can read."""

import posixpath
from collections.abc import Collection, Iterator, Mapping, Sequence

from tui_app.context.ledger.files import FileTrail
from tui_app.context.ledger.ledger import Action, Decision, Ledger, Run, Task, is_look
from tui_app.context.ledger.name_lines import RankedName, names_to_carry
from tui_app.context.ledger.passages import passages
from tui_app.context.ledger.tools import OPEN, FileUse
from tui_app.context.user_text import beginning, clipped, one_line
from tui_app.context.views.view import Item
from tui_app.events import Fact, FactKind
from tui_app.records import frozen
from tui_app.system.secrets import mask_secrets

SEPARATOR = " · "
FAILED = " · failed: "
LINE_BREAK = " ¦ "
ANSWER, REFUSED = " · answer: ", "the user refused: "
NO_RESULT, NO_SUCCESS = " · no result yet", " · no success since"
COMMAND_LIMIT, TASK_LIMIT, QUESTION_LIMIT, ANSWER_LIMIT = 160, 240, 300, 300
"""Characters."""
PROMPT_LIMIT = 12_000
"""Maximum characters of a prompt in a fact; only pasted documents are longer."""
WEIGHTS: dict[FactKind, float] = {
    "request": 5.0, "said": 2.0, "error": 3.0, "live": 3.0, "question": 2.5, "file": 2.0, "todo": 1.8,
    "decision": 1.4, "command": 1.0, "rule": 4.0, "detail": 0.4,
}  # fmt: skip
_READ = 0.35
"""Weight of a file that was only read, relative to a changed one."""
_MOST_DECISIONS = 60
MOST_NAMES = 600
"""Number of names checked for being kept by a replacement."""


@frozen
class Entry:
    """A ledger item as a fact, with a line about it."""

    kind: FactKind
    text: str
    """The text of its fact."""
    keys: tuple[int, ...]
    rank: float | None
    """Priority of its line: higher ranks are dropped first; None if it has no line."""
    share: float = 1.0
    """Share of its kind's weight; 0 if it is not a fact."""
    more: str = ""
    """Additional text of its line."""
    folder: str = ""
    """Folder of a file."""

    @property
    def shown(self) -> str:
        """Text for its line, without the folder."""
        if self.kind == "file":
            return self.text.removeprefix(self.folder).lstrip("/")
        return f"{_SIGNS.get(self.kind, '')}{mask_secrets(self.text).replace(LINE_BREAK, ' / ')}{self.more}"


_SIGNS: Mapping[FactKind, str] = {"live": "▶ ", "todo": "task: "}


def ledger_facts(
    ledger: Ledger, names: Sequence[RankedName] = (), in_sight: Collection[int] = ()
) -> tuple[Fact, ...]:
    """Return the facts of a ledger, heaviest first; the same ledger gives the same facts.

    Args:
        ledger: The whole session.
        names: The names that will be needed.
        in_sight: Messages that stay visible: their content is not a fact.
    """
    kinds = list(WEIGHTS)
    facts = [
        *_prompt_facts(ledger),
        *(
            _fact(each.kind, each.text, each.keys[-1], each.share)
            for each in sorted(ledger_entries(ledger), key=lambda each: kinds.index(each.kind))
            if each.share
        ),
        *(
            Fact(kind="detail", text=_name_text(one), source=f"#{one.key}", weight=round(0.13 * one.score, 4))
            for one in names
        ),
    ]
    seen = {f"#{key}" for key in in_sight}
    unique = {(fact.kind, fact.text): fact for fact in facts if fact.source not in seen}
    return tuple(sorted(unique.values(), key=lambda fact: -fact.weight))


def ledger_entries(ledger: Ledger, alive: Sequence[str] | None = None) -> Iterator[Entry]:
    """Yield what was done, what is open and what is running, in display order.

    Args:
        ledger: The whole session.
        alive: What is running now, one line each; None if only the ledger knows.
    """
    trails = list(ledger.files().values())
    yield from (_file_entry(trail, 2.0) for trail in trails if trail.is_changed)
    yield from _run_entries(ledger)
    for action in ledger.failures():
        rank, share = (1.5, 1.0) if isinstance(action.operation, FileUse) else (3.5, 0.4)
        yield Entry("error", failure_text(action), (action.key,), rank, share, NO_SUCCESS)
    started = {live_text(live.handle, live.command): live.key for live in ledger.live()}
    for text in started if alive is None else alive:
        keys = tuple(filter(None, [started.get(text)]))
        yield Entry("live", text, keys, 0.0, more=", not seen to end" if alive is None else "")
    for task in ledger.tasks():
        is_open = task.state in OPEN
        place = 1.2 if is_open else None if task.state == "dropped" else 4.5
        yield Entry("todo", task_text(task), (task.key,), place, float(is_open))
    decisions = ledger.decisions()
    for at, each in enumerate(decisions, _MOST_DECISIONS - len(decisions)):
        yield Entry("decision", decision_text(each), (each.key,), 3.0, float(at >= 0))
    for waiting in ledger.waiting():
        yield Entry("question", f"call of {waiting.tool}{NO_RESULT}", (waiting.key,), 0.5)
    yield from (_file_entry(trail, 5.0, _READ) for trail in trails if not trail.is_changed)


def _run_entries(ledger: Ledger) -> Iterator[Entry]:
    telling = telling_runs(ledger)
    for run in ledger.runs().values():
        if is_look(run.command):
            continue
        if run.is_open:
            result = f", {run.outcome.describe()}" if run.outcome.counts or run.outcome.exit else ""
            since = (
                f"{SEPARATOR}run again since (#{run.hidden}), its end is hidden" if run.hidden else NO_SUCCESS
            )
            yield Entry("error", error_text(run), (run.key,), 1.0, more=f"{result}{since}")
        elif run in telling:
            yield Entry("command", run_text(run), (run.key,), 4.0, more=_solved(run))
        else:
            yield Entry("command", run_text(run), (run.key,), None, _SILENT)


def _solved(run: Run) -> str:
    """Return a note that an earlier run failed, with its error, or that another run shows success since."""
    if run.solved_by:
        return f", worked since #{run.solved_by}"
    failed = [action for action in run.actions if action.outcome.state == "failed"]
    if not failed or not run.outcome.ok:
        return ""
    lines = failed[-1].outcome.lines
    return f", after {failed[-1].outcome.describe()}" + (f": {mask_secrets(lines[0])}" if lines else "")


def _file_entry(trail: FileTrail, rank: float, share: float = 1.0) -> Entry:
    keys = tuple(trail.keys or trail.reads[-1:])
    # The newest first if there is not enough room for all.
    rank += 0.9 * (1 - 1 / (1 + keys[-1] / 1000)) * -1 + 0.9
    text = f"{trail.path}{SEPARATOR}{file_text(trail)}"
    return Entry("file", text, keys, rank, share, folder=posixpath.dirname(trail.path))


def session_facts(items: Sequence[Item], in_sight: Collection[int] = ()) -> tuple[Fact, ...]:
    """Return the facts of a whole session, including names that will be needed; see :func:`ledger_facts`."""
    ledger = Ledger.from_items(items)
    names = names_to_carry(list(passages(items)), ledger.files().values(), in_sight)[:MOST_NAMES]
    return ledger_facts(ledger, names, in_sight)


def _fact(kind: FactKind, text: str, key: int, factor: float = 1.0) -> Fact:
    return Fact(kind=kind, text=mask_secrets(text), source=f"#{key}", weight=round(WEIGHTS[kind] * factor, 4))


def _prompt_facts(ledger: Ledger) -> Iterator[Fact]:
    prompts = ledger.prompts()
    ends = {0, len(prompts) - 1}
    for place, prompt in enumerate(prompts):
        kind: FactKind = "request" if place in ends else "said"
        yield _fact(kind, clipped(prompt.text, PROMPT_LIMIT), prompt.key)


def file_text(trail: FileTrail) -> str:
    return trail.describe() if trail.is_changed else "read"


def run_text(run: Run) -> str:
    """Format a run with its last outcome: ``pytest -x · exit 1, 1 failed``."""
    return f"`{beginning(one_line(run.command), COMMAND_LIMIT)}`{SEPARATOR}{run.outcome.describe()}"


_NEWEST_RUNS = 8
"""Number of the newest single runs without a report that are shown."""
_SILENT = 0.2
"""Relative weight of the others."""


def telling_runs(ledger: Ledger) -> Collection[Run]:
    """Return the runs worth showing: with a report, repeated ones, and the newest of the others."""
    runs = list(ledger.runs().values())
    others = [
        run for run in runs if not is_look(run.command) and not run.outcome.counts and len(run.actions) == 1
    ]
    left_out = set(others[:-_NEWEST_RUNS])
    return [run for run in runs if run not in left_out]


def error_text(run: Run) -> str:
    """Format a failed run with its most informative output."""
    lines = LINE_BREAK.join(run.outcome.lines) or run.outcome.describe()
    return f"`{beginning(one_line(run.command), COMMAND_LIMIT)}`{FAILED}{lines}"


def failure_text(action: Action) -> str:
    """Format a failed tool use with its most informative output."""
    path = action.operation.path if isinstance(action.operation, FileUse) else ""
    lines = LINE_BREAK.join(action.outcome.lines) or "no output"
    return f"`{f'{action.tool} {path}'.strip()}`{FAILED}{lines}"


def task_text(task: Task) -> str:
    return f"{beginning(one_line(task.text), TASK_LIMIT)}{SEPARATOR}{task.state}"


def live_text(handle: str, command: str) -> str:
    text = f"`{beginning(one_line(command), COMMAND_LIMIT)}`{SEPARATOR}running"
    return f"{text} as {handle}" if handle else text


def decision_text(decision: Decision) -> str:
    """Format a choice of the user: a question with its answer, or what they refused."""
    asked = beginning(one_line(decision.text), QUESTION_LIMIT)
    if not decision.answer:
        return f"{REFUSED}{asked}"
    return f"{asked}{ANSWER}{beginning(one_line(decision.answer), ANSWER_LIMIT)}"


def _name_text(one: RankedName) -> str:
    where = f"{one.place}/" if one.is_file and one.place else one.place
    origin = f"{SEPARATOR}{'defined ' if one.defined else ''}in {where}" if where else ""
    return f"`{one.name}`{origin}"
