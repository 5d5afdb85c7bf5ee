"""States: the ledger's knowledge about the subjects of a statement, appended to it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import filter as filter_names
from functools import lru_cache

from tui_app.context.binding.sources import Sources, plain_number, squeeze
from tui_app.context.binding.statements import Anchor, Statement
from tui_app.context.ledger.files import FileTrail
from tui_app.context.ledger.ledger import Action, Ledger, Prompt, Run, Task, is_look
from tui_app.context.ledger.names import is_file_name
from tui_app.context.ledger.outcomes import DECLINED
from tui_app.context.ledger.tools import OPEN, Command, FileUse, Look, Question, TaskUpdate
from tui_app.context.shell_line import producer
from tui_app.context.user_text import own_words, sentences
from tui_app.records import frozen

_WORD = re.compile(r"[^\W_]{2,40}")
_REPORTED = re.compile(
    r"[:：]\s{0,3}(?:“[^“”]{8,}”|„[^„“”]{8,}[“”]|«[^«»]{8,}»|「[^「」]{4,}」|\"(?=\S)[^\"]{8,}\")"
)
"""Quoted speech after a colon, which is not the user's own."""
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MOST_QUOTED, _LONGEST_HEAD, _SHORT_QUOTE = 24, 10, 12
_MOST_STATES = 2
_LONGEST_PROMPT, _LONGEST_SENTENCE = 40_000, 600
"""Maximum characters of a prompt, and of one of its sentences, that are compared with a line."""
_BRACKETS = str.maketrans("", "", "()\n")
"""Characters that would end a form."""
COPIED, LOOKED, END_HIDDEN = "tool result", "only read", "end hidden"
_BAD = 6
_SAME_TASK = 0.5
"""Share of a task's words that a statement about it has; both if there are only two."""
_NUMBERS = re.compile(r"\d+(?:\.\d+)?")


@frozen
class State:
    """Knowledge about one subject."""

    text: str
    subject: str
    """The subject, whose state a line shows once."""
    weight: float
    """Importance: bad news most, the expected least."""
    short: str = ""
    """A shorter text for when there is little room; empty for none."""

    @property
    def is_bad(self) -> bool:
        return self.weight >= _BAD


class NewStates:
    """Lookup of states, in order of the statements."""

    def __init__(self, ledger: Ledger, sources: Sources) -> None:
        self.ledger, self.sources = ledger, sources
        self._actions: dict[int, list[Action]] = {}
        for action in ledger.actions():
            for key in {action.key, action.call}:
                self._actions.setdefault(key, []).append(action)
        self._runs = {
            (done.key, done.operation): run for run in ledger.runs().values() for done in run.actions
        }
        self._prompts: dict[int, list[Prompt]] = {}
        answers = [
            Prompt(each.key, each.said)
            for each in ledger.actions()
            if isinstance(each.operation, Question) and each.outcome.ok
        ]
        for prompt in (*ledger.prompts(), *answers):
            self._prompts.setdefault(prompt.key, []).append(prompt)
        operations = (action.operation for action in ledger.actions() if action.outcome.state not in DECLINED)
        self._started = {producer(each.line) for each in operations if isinstance(each, Command)}
        """Every command, including those with unknown outcome."""
        self._programs = {command.split()[0] for command in self._started if command.split()}

    def look_up(
        self, statement: Statement, places: Sequence[int], keys: Sequence[int], *, intent: bool, found: bool
    ) -> list[State]:
        """Return the states of one statement, most important first.

        Args:
            statement: The statement.
            places: The units that it is bound to.
            keys: The messages that it cites, or that were found for it.
            intent: Whether it is in the section that speaks for the user.
            found: Whether code found its source.
        """
        every = [key for place in places for key in sorted(self.sources.units[place].keys)]
        states = [*self._named(statement, keys)]
        for key in dict.fromkeys((*keys, *every)):
            states += self._prompt(statement, key)
            if not found or not states:
                for action in self._actions.get(key, ()):
                    states += self._action(statement, action)
        outputs = ["result" in self.sources.units[place].voices.values() for place in places]
        if intent and not any(key in self._prompts for key in every) and outputs and all(outputs):
            states.append(State(COPIED, f"intent {statement.start}", 8))
        unique = {state.subject: state for state in reversed(states)}
        return sorted(unique.values(), key=lambda state: -state.weight)[:_MOST_STATES]

    def never_run(self, anchors: Iterable[Anchor]) -> list[State]:
        """Return states for commands that occur nowhere although their programs were run."""
        commands = [anchor.text for anchor in anchors if anchor.kind == "code"]
        return [
            State("never run", f"run {each}", _BAD)
            for each in commands
            if len(words := producer(each).split()) > 1 and words[0] in self._programs
        ]

    def _named(self, statement: Statement, keys: Sequence[int]) -> Iterator[State]:
        """Yield states of files, commands and tasks that a statement names."""
        for anchor in statement.anchors:
            if anchor.kind == "path":
                trails = [
                    trail for trail in self.ledger.files().values() if is_path_of(anchor.text, trail.path)
                ]
                if len(trails) == 1:
                    yield self._file(trails[0])
                elif not trails and is_file_name(anchor.text) and not self.sources.in_call(anchor):
                    yield State("not opened", f"file {anchor.text}", 1)
            elif anchor.kind == "code":
                named = [run for line, run in self.ledger.runs().items() if is_run_of(anchor.text, line)]
                if named:
                    yield self._run(statement, named[-1], None)
                elif not any(is_run_of(anchor.text, line) for line in self._started):
                    yield from self.never_run([anchor])
        for task in self.ledger.tasks():
            if _share(task.text, statement.text) >= (_SAME_TASK if len(_words(task.text)) > 2 else 1):
                yield _task_state(task)

    def _prompt(self, statement: Statement, key: int) -> Iterator[State]:
        for prompt in self._prompts.get(key, ()):
            if quoted := _nearest(prompt.text, statement.text):
                # A word that reverses the sentence's meaning is often at its beginning.
                head = quoted[: quoted.find(" ", _SHORT_QUOTE)].rstrip(" …")
                short = f'"{head}…"' if len(head) + 2 < len(quoted) else ""
                yield State(f'"{quoted}"', f"words {key} {quoted}", 5, short)

    def _action(self, statement: Statement, action: Action) -> Iterator[State]:
        if action.outcome.state in DECLINED:
            yield State(action.outcome.describe(), f"action {action.key}", 9)
            return
        match action.operation:
            case Command():
                yield from self._command(statement, action)
            case FileUse(path=path):
                for trail in self.ledger.files().values():
                    if trail.path == path or trail.path.endswith(f"/{path.removeprefix('./')}"):
                        yield self._file(trail)
                        break
            case TaskUpdate() if tasks := self.ledger.tasks():
                best = max(tasks, key=lambda task: _share(task.text, statement.text))
                if _share(best.text, statement.text) > 0:
                    yield _task_state(best)
            case None if action.outcome.state == "failed":
                yield State("failed", f"action {action.key}", 7)
            case Look():
                yield _looked(statement, action)
            case _:
                pass

    def _command(self, statement: Statement, action: Action) -> Iterator[State]:
        if run := self._runs.get((action.key, action.operation)):
            telling = run.is_open or run.outcome.counts or not is_look(run.command)
            yield self._run(statement, run, action) if telling else _looked(statement, action)
        elif not action.outcome.describe():
            yield State(END_HIDDEN, f"end {action.key}", 1)

    def _file(self, trail: FileTrail) -> State:
        text = trail.describe().translate(_BRACKETS)
        return State(text, f"file {trail.path}", 3 if "deleted" in text or "undone" in text else 2)

    def _run(self, statement: Statement, run: Run, cited: Action | None) -> State:
        newest = run.outcome
        text = newest.describe()
        if cited is not None and cited.key != run.key and cited.outcome.describe() != text:
            text = f"{cited.outcome.describe()}; now {text}"
        if len(run.actions) > 1:
            text = f"{text}, run {len(run.actions)}×"
        looks = is_look(run.command)
        numbers = {plain_number(anchor.text) for anchor in statement.anchors if anchor.kind == "number"}
        differs = bool(numbers and newest.counts and not numbers & set(_NUMBERS.findall(text)))
        weight = 7.0 if run.is_open and not looks else 4.0 if differs else 0.5 if looks else 2.5
        return State(text, f"run {run.command}", weight)


def _looked(statement: Statement, action: Action) -> State:
    """Return the state of a lookup, which cannot be the source of what a line counts."""
    counts = any(anchor.kind in {"number", "code"} for anchor in statement.anchors)
    return State(LOOKED, f"look {action.key}", 1 if counts else 0.1)


def _task_state(task: Task) -> State:
    return State(task.state, f"task {task.text}", 6 if task.state in OPEN else 3)


def is_run_of(named: str, command: str) -> bool:
    """Whether a named command is one that was run, perhaps with more options."""
    terms, words = producer(named).split(), command.split()
    if not terms or not words or not all(each in words or filter_names(words, each) for each in terms):
        return False
    return len(terms) > 1 or words[0] == terms[0]


def is_path_of(name: str, path: str) -> bool:
    bare = (
        re.sub(r":L?\d+(?:[-–:]\d+)*$", "", name).removeprefix("./").removeprefix("…/").rstrip("/").casefold()
    )
    folded = path.casefold()
    is_end = folded == bare if bare.startswith(("/", "~")) else f"/{folded}".endswith(f"/{bare}")
    return is_end or bare.endswith(f"/{folded}")


def _words(text: str) -> set[str]:
    """Return the words of a text in lower case; for scripts without spaces, pairs of characters."""
    folded = text.casefold()
    words = {word for word in _WORD.findall(folded) if not _UNSPACED.search(word)}
    signs = "".join(_UNSPACED.findall(folded))
    return words | {signs[at : at + 2] for at in range(len(signs) - 1)}


def _share(text: str, other: str) -> float:
    """Return the share of a text's words that another text has."""
    words = _words(text)
    if not words or squeeze(text) in squeeze(other):
        return float(bool(words))
    return len(words & _words(other)) / len(words)


@lru_cache(maxsize=512)  # each line that cites a prompt calls this
def _user_sentences(prompt: str) -> Sequence[str]:
    """Return the user's own sentences in a prompt."""
    own = [
        sentence
        for sentence in sentences(_REPORTED.sub(": “ … ”", own_words(prompt[:_LONGEST_PROMPT])))
        if any(map(str.isalpha, sentence))
    ]
    return [sentence[:_LONGEST_SENTENCE] for sentence in own] or [
        " ".join(prompt[:_LONGEST_SENTENCE].split())
    ]


def _nearest(prompt: str, statement: str) -> str:
    """Return the user's sentence closest to a statement, shortened to its beginning and the common part."""
    pool, words = _user_sentences(prompt), _words(statement)
    # In another language nothing is shared: then the longest is the most informative.
    shared = {sentence: len(words & _words(sentence)) for sentence in pool}
    best = max(pool, key=lambda sentence: (shared[sentence], len(sentence) * (-1 if shared[sentence] else 1)))
    best = best.translate(_BRACKETS).strip(" .。")
    if len(best) <= _MOST_QUOTED:
        return best
    first, *pieces = best.split(" ")
    if len(pieces) < 2:
        return f"{best[: _MOST_QUOTED - 1]}…"
    # A word that reverses the sentence's meaning is often at its beginning.
    head = first if len(first) <= _LONGEST_HEAD else f"{first[:_LONGEST_HEAD]}…"

    def stretch(start: int) -> str:
        taken = ""
        for piece in pieces[start:]:
            if len(head) + len(taken) + len(piece) + 2 > _MOST_QUOTED:
                break
            taken = f"{taken} {piece}".strip()
        return taken

    start = max(range(len(pieces)), key=lambda at: (len(words & _words(stretch(at))), -at))
    shown = f"{head}{' … ' if start else ' '}{stretch(start)}".rstrip()
    return shown if best.endswith(shown) else f"{shown}…"
