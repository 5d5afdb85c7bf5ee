"""Repeated calls: whether a call does what was done before, where the model can no longer see it."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any

from tui_app.context.ledger.effects import FOLDERS, file_effects
from tui_app.context.ledger.ledger import Action, Ledger, is_look
from tui_app.context.ledger.outcomes import DECLINED
from tui_app.context.ledger.tools import OPEN, Command, FileUse, Question, TaskState, TaskUpdate, operations
from tui_app.context.shell_line import producer, program_words, read_line, simple_commands
from tui_app.context.user_text import beginning, one_line
from tui_app.events import RepeatKind
from tui_app.records import frozen
from tui_app.tool_specs import SUB_AGENT_TOOLS

_TOLD_CHARS, _MOST_TASKS = 160, 3
_KEPT = frozenset({"added", "committed"})
"""Deeds that git records without changing files."""


@frozen
class Repeat:
    """Something that was done before."""

    kind: RepeatKind
    key: int
    """Log number of its result."""
    text: str
    """In words: ``ran at #142: exit 1, 3 failed``."""
    call: str = ""
    """Id of the earlier call."""
    session: str = ""
    """Session of the earlier call; empty for this one."""
    told: str = ""
    """Outcome of an earlier command."""
    sure: bool = False
    """Whether nothing that ran since can have written anything, as far as the log shows."""
    exact: bool = False
    """Whether the calls are identical."""


@frozen
class Past:
    """What happened in one session that the model continues."""

    ledger: Ledger
    unseen: Callable[[int], bool] = lambda _key: True
    """Whether a message is out of the model's view, or was never in it."""
    session: str = ""

    def place(self, key: int) -> str:
        return f"{self.session[:8]}#{key}"


@frozen(kw_only=True)
class Knowledge:
    """Knowledge about commands and answers outside the ledger."""

    only_looks: Callable[[str], bool] = is_look
    """Whether a shell line is read-only."""
    kinds: Callable[[str], Collection[str]] = lambda _line: ()
    """Risks of a line: ``network``, ``packages``, ``deletes`` …"""
    answer: Callable[[str], str] = lambda said: said
    """The user's own words in the answer to a question; empty if there was no answer."""
    running: Collection[str] = ()
    """Handles of the background commands that run now."""
    unrun: Collection[str] = field(default_factory=tuple)
    """Ids of calls that were answered from the log without being run."""


def repeat_of(
    tool: str, args: Mapping[str, Any], pasts: Sequence[Past], known: Knowledge, call: str = ""
) -> Repeat | None:
    """Find what a call would repeat.

    Whether files have changed since is not checked: for a command or an edit the caller has to.

    Args:
        tool: Name of the tool.
        args: Arguments of the call.
        pasts: This session, then those that were handed over to it, newest first.
        known: Knowledge outside the ledger.
        call: Id of the call, which may already be in the log.

    Returns:
        None if nothing of it was done before, something it depends on has happened since, or the model can
        see that it was done.
    """
    for operation in operations(tool, args):
        match operation:
            case Command():
                found = _command(operation, pasts, known, call)
            case FileUse(digest=digest) if digest:
                found = _edit(operation, pasts, known, call)
            case Question(text=text, plan=False) if text:
                found = _question(text, pasts, known)
            case TaskUpdate():
                found = _tasks(operation, pasts)
            case _:
                found = None
        if found is not None:
            return found
    return None


def _backwards(pasts: Sequence[Past]) -> Iterator[tuple[Past, Action]]:
    for past in pasts:
        for action in reversed(past.ledger.actions()):
            yield past, action


def _command(command: Command, pasts: Sequence[Past], known: Knowledge, call: str) -> Repeat | None:
    line = command.line
    if "network" in known.kinds(line) or (is_look(line) and not _written(line)):
        return None  # its output may differ by now, and costs nothing
    name, sure, changed = _name(line), True, False
    for past, action in _backwards(pasts):
        done = action.operation
        if action.id == call and not action.outcome.state:
            continue
        is_same = (
            isinstance(done, Command)
            and action.outcome.state
            and _name(done.line) == name
            and past.ledger.folder(done) == past.ledger.folder(command)
        )
        if is_same and not past.unseen(action.key):
            return None
        if action.id in known.unrun or action.outcome.state == "barred":
            continue
        if is_same and isinstance(done, Command):
            exact = line.strip() == done.line.strip()
            return _judged(command, past, action, known, exact=exact, sure=sure, changed=changed)
        writes = "surely" if changed else _writes(action, known)
        changed = writes == "surely"
        sure = sure and writes == "no"
    return None


def _written(line: str) -> Sequence[str]:
    paths = (path for each in simple_commands(line) for path, _ in each.writes)
    return [path for path in paths if not path.startswith("/dev/")]


def _name(line: str) -> str:
    """Return a key that lines doing the same have in common."""
    commands = simple_commands(line)
    moves = any(each.program in FOLDERS or each.reads for each in commands)
    # Variables that it is run with, and texts that are not among its words.
    words = (
        word.text for each in commands for word in each.parts if word.text not in program_words(each.words)
    )
    if moves or any("=" in word for word in words) or read_line(line).texts or _written(line):
        return " ".join(line.split())
    return producer(line)


def _judged(
    command: Command, past: Past, action: Action, known: Knowledge, *, exact: bool, sure: bool, changed: bool
) -> Repeat | None:
    place, outcome = past.place(action.key), action.outcome
    here = partial(Repeat, key=action.key, call=action.id, session=past.session)
    if outcome.state == "refused":
        return here("refused", text=f"refused by the user at {place}")
    if outcome.state == "running":
        runs = here("running", text=f"runs since {place} as {outcome.handle}")
        return runs if outcome.handle and outcome.handle in known.running else None
    # A failure without counts may be temporary.
    has_ended = outcome.ok or (outcome.state == "failed" and outcome.counts is not None)
    if changed or command.background or not has_ended:
        return None
    if known.only_looks(command.line) and outcome.counts is None:
        return None
    result = outcome.describe()
    return here("command", text=f"ran at {place}: {result}", told=result, sure=sure, exact=exact)


def _writes(action: Action, known: Knowledge) -> str:
    """Return whether a call may have changed what a command depends on: ``no``, ``perhaps`` or ``surely``."""
    state, done = action.outcome.state, action.operation
    if state in DECLINED:
        return "no"
    if done is None:
        return "surely"
    if isinstance(done, FileUse):
        return "no" if done.verb == "read" or state == "failed" else "surely"
    if not isinstance(done, Command):
        return "perhaps" if action.tool in SUB_AGENT_TOOLS else "no"
    if known.only_looks(done.line) or action.outcome.counts is not None:
        return "no"  # a test run only checks
    deeds = {effect.deed for effect in file_effects(done.line)}
    if deeds and deeds <= _KEPT and all(each.program == "git" for each in simple_commands(done.line)):
        return "no"
    is_known = bool(deeds - _KEPT - {"read"}) or {"packages", "deletes"} & {*known.kinds(done.line)}
    return "surely" if is_known else "perhaps"


def _edit(edit: FileUse, pasts: Sequence[Past], known: Knowledge, call: str) -> Repeat | None:
    for past, action in _backwards(pasts):
        done = action.operation
        is_same = isinstance(done, FileUse) and (done.path, done.digest) == (edit.path, edit.digest)
        if not is_same or (action.id == call and not action.outcome.state):
            continue
        if not past.unseen(action.key):
            return None
        if action.id in known.unrun:
            continue
        place, state = past.place(action.key), action.outcome.state
        if state not in ("ok", "refused"):
            return None
        if state == "refused":
            return Repeat("refused", action.key, f"refused by the user at {place}", action.id, past.session)
        text = f"done at {place}, and it stands"
        return Repeat("edit", action.key, text, action.id, past.session, sure=True, exact=True)
    return None


def _question(text: str, pasts: Sequence[Past], known: Knowledge) -> Repeat | None:
    asked = one_line(text).casefold()
    for past, action in _backwards(pasts):
        done = action.operation
        if not isinstance(done, Question) or done.plan or one_line(done.text).casefold() != asked:
            continue
        answer = known.answer(action.said) if action.outcome.ok else ""
        if answer and not past.unseen(action.key):
            return None
        if not answer or action.id in known.unrun:
            continue
        report = f'answered at {past.place(action.key)}: "{beginning(one_line(answer), _TOLD_CHARS)}"'
        return Repeat("question", action.key, report, action.id, past.session, sure=True, exact=True)
    return None


_Known = tuple[TaskState, Past, int]
"""State of a task, and where it was recorded."""


def _tasks(update: TaskUpdate, pasts: Sequence[Past]) -> Repeat | None:
    """Find tasks that are open again although they were done, or removed from the list."""
    over: dict[str, _Known] = {}
    ids: dict[str, str] = {}
    for past in reversed(pasts):
        for action in past.ledger.actions():
            if isinstance(action.operation, TaskUpdate) and action.outcome.ok:
                _follow(action.operation, past, action.key, over, ids)
    found: list[tuple[int, str]] = []
    for entry in update.entries:
        known = over.get(entry.text or ids.get(entry.id, ""))
        if known is None or entry.state not in OPEN or known[0] in OPEN or not known[1].unseen(known[2]):
            continue
        state, past, key = known
        ended = "done" if state == "done" else "taken off the list"
        text = one_line(entry.text or ids.get(entry.id, ""))
        found.append((key, f'"{beginning(text, _TOLD_CHARS)}" was {ended} at {past.place(key)}'))
    if not found:
        return None
    more = f"; and {len(found) - _MOST_TASKS} more" if len(found) > _MOST_TASKS else ""
    return Repeat("task", found[0][0], "; ".join(text for _, text in found[:_MOST_TASKS]) + more)


def _follow(update: TaskUpdate, past: Past, key: int, over: dict[str, _Known], ids: dict[str, str]) -> None:
    for entry in update.entries:
        text = entry.text or ids.get(entry.id, "")
        if entry.id and entry.text:
            ids[entry.id] = entry.text
        if text and (text not in over or over[text][0] != entry.state):
            over[text] = entry.state, past, key
    listed = {entry.text for entry in update.entries}
    for text in over.keys() - listed if update.whole else ():
        if over[text][0] in OPEN:
            over[text] = "dropped", past, key
