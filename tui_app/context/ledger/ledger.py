"""The ledger: what happened in a session, collected message by message, without interpreting human language.

Each entry has the log numbers of its messages. Files, runs, errors, tasks and live commands are derived from
the entries on demand, so that a view that goes back needs no second reading of any text.
"""

import json
import posixpath
import re
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import wraps
from typing import Any, TypeVar, get_args

from pydantic_ai.messages import (
    BaseToolCallPart,
    BaseToolReturnPart,
    RetryPromptPart,
    TextContent,
    TextPart,
    UserPromptPart,
)

from tui_app.context.counting.attachments import file_name
from tui_app.context.ledger.effects import Effect, file_effects
from tui_app.context.ledger.files import FileDeed, FileTrail, file_trails
from tui_app.context.ledger.outcomes import DECLINED, LOOKERS, Counts, Outcome, handle_state, outcome_of
from tui_app.context.ledger.tools import (
    CHECKBOX,
    Command,
    FileUse,
    HandleUse,
    Operation,
    Question,
    TaskEntry,
    TaskState,
    TaskUpdate,
    operations,
)
from tui_app.context.message_marks import (
    is_archived,
    is_program_part,
    is_shell_part,
    mark_of,
    shell_command,
    shell_result,
)
from tui_app.context.shell_line import (
    before_last,
    folder_entered,
    leaves_running,
    producer,
    read_line,
    simple_commands,
)
from tui_app.context.user_text import is_bare_command, refusal_reason, typed_text
from tui_app.context.views.view import Item
from tui_app.records import frozen
from tui_app.text import words
from tui_app.tool_specs import RUN_COMMAND

_Ledger = TypeVar("_Ledger", bound="Ledger")
_T = TypeVar("_T")


@frozen
class Prompt:
    """A text that the user typed."""

    key: int
    text: str
    reply: bool = False
    """Whether it was typed to decline a call."""


@frozen
class AssistantText:
    """A text of the assistant."""

    key: int
    text: str
    """Only its beginning and its end, if it is long."""


@frozen
class Call:
    """A tool call."""

    key: int
    id: str
    tool: str
    operations: tuple[Operation, ...]


@frozen
class Answer:
    """The result of a call."""

    key: int
    id: str
    tool: str
    outcomes: tuple[Outcome, ...]
    """One per operation of the call; a single one if the call is not understood."""
    said: str = ""
    """The user's answer if the call was a question; the handle's state if it was about a background command.
    """


Entry = Prompt | AssistantText | Call | Answer
_STORED = {
    kind.__name__: kind for kind in (*get_args(Entry), *get_args(Operation), Outcome, Counts, TaskEntry)
}
"""Types in a dump, by name."""
_LONGEST_WORDS = 4_000
_VERSION = 4
"""Version of dumps: one made by other rules is discarded and read again."""
_NOTICE = re.compile(r"\n\[…[^\n]{0,300}\]$")
"""The notice at the end of a result that a stage has shortened."""
_CREATED = re.compile(r"(?i)\b(?:created|new file)\b")
"""How tools that write files report that the file is new."""
_NOT_RUN = frozenset({"", "refused", "barred", "running"})
_TASK_ID = re.compile(r"#?(\d{1,6})\b")
_BOXES: dict[str, TaskState] = {"x": "done", "X": "done", "~": "in progress", "-": "dropped"}
"""States by the marks of a checklist in the assistant's text."""


@frozen
class Action:
    """One operation of a call."""

    key: int
    """Log number of the result; of the call while there is no result."""
    tool: str
    operation: Operation | None
    """None if the call is not understood."""
    outcome: Outcome
    said: str = ""
    call: int = 0
    """Log number of the call."""
    id: str = ""
    """The call id."""


@frozen
class Run:
    """All runs of one command."""

    command: str
    """Its producer: lines that differ only in filters and runners are the same command."""
    actions: tuple[Action, ...]
    """Oldest first."""
    solved_by: int = 0
    """Log number of another successful run that shows this one would succeed; 0 for none."""
    hidden: int = 0
    """Log number of a later run of it with unknown outcome; 0 for none."""

    @property
    def key(self) -> int:
        return self.actions[-1].key

    @property
    def outcome(self) -> Outcome:
        return self.actions[-1].outcome

    @property
    def is_open(self) -> bool:
        """Whether its newest run failed, and nothing shows that it succeeds by now."""
        return self.outcome.state == "failed" and not self.solved_by


@frozen
class Task:
    """One task of the list, in its current state."""

    text: str
    state: TaskState
    key: int
    id: str = ""


@frozen
class LiveCommand:
    """A background command that has not been seen to end."""

    handle: str
    command: str
    key: int


@frozen
class Decision:
    """A choice of the user, identified by structure: an answer to a question, or a refused call or plan."""

    text: str
    answer: str
    """Empty if it was refused."""
    key: int


def _derived(work_out: Callable[[_Ledger], _T]) -> Callable[[_Ledger], _T]:
    """Cache the result of a method until the entries change."""

    @wraps(work_out)
    def known(self: _Ledger) -> _T:
        if work_out not in self.derived:
            self.derived[work_out] = work_out(self)
        found: _T = self.derived[work_out]
        return found

    return known


@dataclass
class Ledger:
    """What happened in a session, as entries; see the module."""

    entries: list[Entry] = field(default_factory=list)
    _keys: list[int] = field(default_factory=list)
    """Log numbers of the included messages, in order."""
    _open: dict[str, deque[Call]] = field(default_factory=lambda: defaultdict(deque))
    _known: dict[int, tuple[Entry, ...]] = field(default_factory=dict)
    """Entries of all messages ever read, including those that are not in the view now."""
    derived: dict[Callable[..., Any], Any] = field(default_factory=dict, repr=False)
    """Cached results by method."""

    @classmethod
    def from_items(cls, items: Sequence[Item]) -> "Ledger":
        """Read a history in one pass."""
        ledger = cls()
        ledger.grow(items)
        return ledger

    def catch_up(self, keys: Sequence[int], read: Callable[[Sequence[int]], Iterable[Item]]) -> "Ledger":
        """Become the ledger of these messages.

        Args:
            keys: Their log numbers, oldest first.
            read: Loads messages; called only for those that were never read before.
        """
        same = 0
        while same < min(len(keys), len(self._keys)) and keys[same] == self._keys[same]:
            same += 1
        if same < len(self._keys):
            self._back_to(same)
        fresh = {item.key: item for item in read([key for key in keys[same:] if key not in self._known])}
        for key in keys[same:]:
            self._fold(key, self._known[key] if key in self._known else tuple(self._read(fresh[key])))
        return self

    def grow(self, items: Iterable[Item]) -> None:
        """Add the messages that are not included yet; messages removed from a list stay included."""
        for item in items:
            if item.key not in self._known:
                self._fold(item.key, tuple(self._read(item)))

    def dump(self, without: Collection[int] = ()) -> dict[str, Any]:
        """Return the entries and the log numbers of their messages as JSON.

        Args:
            without: Log numbers of messages that will be read again under other numbers.
        """
        keys, starts, entries = list[int](), list[int](), list[Entry]()
        for key in self._keys:
            if key not in without:
                keys.append(key)
                starts.append(len(entries))
                entries += self._known[key]
        return {
            "version": _VERSION,
            "keys": keys,
            "starts": starts,
            "entries": [_plain(entry) for entry in entries],
        }

    def knows(self, key: int) -> bool:
        """Whether a message is included, even if it can no longer be read."""
        return key in self._known

    @classmethod
    def load(cls, data: dict[str, Any]) -> "Ledger":
        """Load a dump.

        Raises:
            KeyError, TypeError, ValueError: if it is invalid.
        """
        if data["version"] != _VERSION:
            raise ValueError("a dump of another version")
        ledger, entries = cls(), [_restored(entry) for entry in data["entries"]]
        ends = [*data["starts"], len(entries)][1:]
        for key, start, end in zip(data["keys"], data["starts"], ends, strict=True):
            ledger._fold(int(key), tuple(entries[start:end]))
        return ledger

    @classmethod
    def loaded(cls, text: str) -> "Ledger":
        """Load a dump from text; an empty ledger if it is damaged or of another version."""
        try:
            return cls.load(json.loads(text)) if text else cls()
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            return cls()

    def _fold(self, key: int, entries: tuple[Entry, ...]) -> None:
        self._keys.append(key)
        self._known[key] = entries
        for entry in entries:
            self.entries.append(entry)
            if isinstance(entry, Call):
                _wait_for(entry, self._open)
            elif isinstance(entry, Answer) and (waiting := self._open.get(entry.id)):
                waiting.popleft()
        self.derived.clear()

    def _back_to(self, count: int) -> None:
        keys = self._keys[:count]
        self.entries, self._keys, self._open = [], [], defaultdict(deque)
        self.derived.clear()
        for key in keys:
            self._fold(key, self._known[key])

    def _read(self, item: Item) -> Iterator[Entry]:
        calls: dict[str, Call] = {}
        for part in item.message.parts:
            match part:
                case UserPromptPart() if is_shell_part(part):
                    yield from self._shell(item.key, part)
                case UserPromptPart() if not is_program_part(part):
                    if text := "\n\n".join(filter(None, map(typed_text, prompt_texts(part)))):
                        yield Prompt(item.key, text)
                case TextPart():
                    if text := part.content.strip():
                        is_long, half = len(text) > _LONGEST_WORDS, _LONGEST_WORDS // 2
                        shown = f"{text[:half]}\n…\n{text[-half:]}" if is_long else text
                        yield AssistantText(item.key, shown)
                case BaseToolCallPart():
                    done = operations(part.tool_name, part.args_as_dict())
                    calls[part.tool_call_id] = call = Call(item.key, part.tool_call_id, part.tool_name, done)
                    yield call
                case BaseToolReturnPart() | RetryPromptPart() if part.tool_name:
                    yield from self._answer(item.key, part, calls)
                case _:
                    pass

    def _shell(self, key: int, part: UserPromptPart) -> Iterator[Entry]:
        call = Call(key, f"shell-{key}", RUN_COMMAND.name, (Command(shell_command(part)),))
        text = "" if is_archived(part) else _NOTICE.sub("", shell_result(part))
        yield call
        yield Answer(key, call.id, call.tool, (outcome_of(call.operations[0], text, "success"),))

    def _answer(
        self, key: int, part: BaseToolReturnPart | RetryPromptPart, calls: dict[str, Call]
    ) -> Iterator[Entry]:
        waiting = self._open.get(part.tool_call_id)
        call = waiting[0] if waiting else calls.get(part.tool_call_id)
        state = "retried" if isinstance(part, RetryPromptPart) else part.outcome
        text = result_text(part)
        done = call.operations if call is not None else ()
        outcomes = tuple(outcome_of(each, text, state) for each in (done or (None,)))
        if len(outcomes) > 1 and sum(isinstance(each, Command) for each in done) > 1:
            # One result for several commands does not show which of them it is about.
            last = max(place for place, operation in enumerate(done) if isinstance(operation, Command))
            outcomes = tuple(
                Outcome() if isinstance(operation, Command) and (outcome.ok or place < last) else outcome
                for place, (operation, outcome) in enumerate(zip(done, outcomes, strict=True))
            )
        excerpt = ""
        for operation in done:
            match operation:
                case Question():
                    excerpt = text[:_LONGEST_WORDS]
                case HandleUse():
                    excerpt = handle_state(text)
                case TaskUpdate(whole=False) | FileUse(verb="written"):
                    excerpt = text[:300]
                case _:
                    pass
        yield Answer(key, part.tool_call_id, part.tool_name or "", outcomes, excerpt)
        is_refused = all(outcome.state == "refused" for outcome in outcomes)
        if is_refused and (typed := refusal_reason(text)):
            yield Prompt(key, typed, reply=True)

    @_derived
    def actions(self) -> Sequence[Action]:
        """Return every operation in order of the results; calls without a result have an empty outcome."""
        found: list[Action] = []
        abandoned: list[Call] = []
        waiting: dict[str, deque[Call]] = defaultdict(deque)
        for entry in self.entries:
            if isinstance(entry, Call):
                abandoned += _wait_for(entry, waiting)
            elif isinstance(entry, Answer):
                call = waiting[entry.id].popleft() if waiting.get(entry.id) else None
                done: Sequence[Operation | None] = call.operations if call and call.operations else (None,)
                asked = call.key if call else 0
                found += [
                    Action(entry.key, entry.tool, operation, outcome, entry.said, asked, entry.id)
                    for operation, outcome in zip(done, entry.outcomes, strict=False)
                ]
        for calls in (abandoned, *waiting.values()):
            for call in calls:
                found += [
                    Action(call.key, call.tool, operation, Outcome(), call=call.key, id=call.id)
                    for operation in (call.operations or (None,))
                ]
        return sorted(found, key=lambda action: action.key)

    @_derived
    def prompts(self) -> Sequence[Prompt]:
        """Return what the user typed, oldest first, without bare slash commands."""
        typed = (one for one in self.entries if isinstance(one, Prompt))
        return [one for one in typed if one.reply or not is_bare_command(one.text)]

    @_derived
    def assistant_texts(self) -> Sequence[AssistantText]:
        """Return the assistant's texts, oldest first."""
        return [one for one in self.entries if isinstance(one, AssistantText)]

    @property
    def not_understood(self) -> int:
        """Number of calls that may have done anything."""
        return sum(map(len, self.unknown_calls().values()))

    def unknown_calls(self) -> Mapping[str, Sequence[int]]:
        """Return the messages of calls that may have done anything, by tool."""
        found: dict[str, list[int]] = {}
        for entry in self.entries:
            if isinstance(entry, Call) and not entry.operations:
                found.setdefault(entry.tool, []).append(entry.key)
        return found

    @_derived
    def files(self) -> dict[str, FileTrail]:
        """Return what was done to each file, by path, in order of first use."""
        return file_trails(self._deeds())

    def _deeds(self) -> Iterator[FileDeed]:
        for action in self.actions():
            if isinstance(action.operation, Command) and action.outcome.state == "failed":
                # Test counts of a failure show that everything before the test run succeeded.
                line = before_last(action.operation.line) if action.outcome.counts else ""
                for effect in file_effects(line, self.folder(action.operation)):
                    yield FileDeed(effect, action.key, action.tool)
            if not action.outcome.ok:
                continue
            match action.operation:
                case FileUse(path=path, verb=verb, to=to, size=size):
                    is_new = verb == "written" and _CREATED.search(action.said[:300]) is not None
                    effect = Effect(path, "created" if is_new else verb, to)
                    yield FileDeed(effect, action.key, action.tool, size)
                case Command(line=line) as command:
                    for effect in file_effects(line, self.folder(command)):
                        yield FileDeed(effect, action.key, action.tool)
                case _:
                    pass

    def folder(self, command: Command) -> str:
        """Return where a command is run, relative to the usual folder."""
        if not (usual := self._usual_folder()):
            return command.folder
        return "" if command.folder == usual else command.folder.removeprefix(f"{usual.rstrip('/')}/")

    @_derived
    def _usual_folder(self) -> str:
        """Return the first command's folder if every call states its folder; otherwise empty."""
        done = [each.operation.folder for each in self.actions() if isinstance(each.operation, Command)]
        return done[0] if done and all(done) else ""

    @_derived
    def runs(self) -> dict[str, Run]:
        """Return every command that was run, by its producer, in order of the newest run."""
        runs: dict[str, Run] = {}
        started: dict[str, Command] = {}
        folders: dict[str, str] = {}
        for action in self.actions():
            operation = action.operation
            if isinstance(operation, HandleUse) and action.said == "over":
                # The end of a background command is the end of its run.
                operation = started.get(operation.handle)
            if isinstance(operation, Command) and action.outcome.handle:
                started[action.outcome.handle] = operation
            if not isinstance(operation, Command) or action.outcome.state in _NOT_RUN - {""}:
                continue
            command = _in_its_folder(operation.line, self.folder(operation), folders)
            if not action.outcome.state:
                if command in runs:
                    runs[command] = replace(runs[command], hidden=action.key)
                continue
            earlier = runs.pop(command, None)
            runs[command] = Run(command, (*(earlier.actions if earlier else ()), action))
            if action.outcome.ok:
                for other, run in runs.items():
                    if run.is_open and _shows(command, other, action):
                        runs[other] = replace(run, solved_by=action.key)
        return runs

    @_derived
    def test_commands(self) -> Collection[str]:
        """Return the producers of commands whose output contained test counts."""
        return {name for name, run in self.runs().items() if any(map(_counts_tests, run.actions))}

    def tested(self, commands: Collection[str]) -> int:
        """Return the log number of the newest test run; 0 for none.

        Args:
            commands: Producers that reported tests at least once: each of their runs counts, whatever it
                prints.
        """
        runs = (
            action.key
            for action in self.actions()
            if _counts_tests(action)
            or (
                isinstance(action.operation, Command)
                and action.outcome.state not in _NOT_RUN
                and producer(action.operation.line) in commands
            )
        )
        return max(runs, default=0)

    def changed(self, since: int) -> Mapping[str, int]:
        """Return the files changed after a log number, with the newest change of each."""
        trails = ((path, trail, max(trail.keys, default=0)) for path, trail in self.files().items())
        return {
            path: key for path, trail, key in trails if trail.is_changed and not trail.undone and key > since
        }

    def failures(self) -> Sequence[Action]:
        """Return failed uses of other tools with no later success on the same target, oldest first."""
        open_now: dict[tuple[str, str], Action] = {}
        for action in self.actions():
            path = action.operation.path if isinstance(action.operation, FileUse) else ""
            if isinstance(action.operation, Command | Question | HandleUse) or not action.outcome.state:
                continue
            changes = isinstance(action.operation, FileUse) and action.operation.verb != "read"
            target = ("change" if changes else action.tool, path)
            if action.outcome.state == "failed":
                open_now.pop(target, None)
                open_now[target] = action
            elif action.outcome.ok:
                open_now.pop(target, None)
        # A failed read leaves nothing to fix.
        return [
            action
            for action in open_now.values()
            if action.operation is None
            or (isinstance(action.operation, FileUse) and action.operation.verb != "read")
        ]

    @_derived
    def tasks(self) -> Sequence[Task]:
        """Return the current tasks of any program's task tool, or else the newest checklist in a response."""
        tasks: dict[str, Task] = {}
        for action in self.actions():
            update = action.operation
            if not isinstance(update, TaskUpdate) or not action.outcome.ok:
                continue
            if update.whole:
                tasks = {each.text: _task(each, action.key, tasks.get(each.text)) for each in update.entries}
                continue
            for each in update.entries:
                if each.text:
                    match = _TASK_ID.search(action.said)
                    id = each.id or (match[1] if match else str(len(tasks) + 1))
                    tasks[id] = _task(each, action.key, None, id)
                elif each.id in tasks:
                    tasks[each.id] = replace(tasks[each.id], state=each.state, key=action.key)
        for reply in () if tasks else reversed(self.assistant_texts()):
            if boxes := CHECKBOX.findall(reply.text):
                return [Task(text, _BOXES.get(mark, "open"), reply.key) for mark, text in boxes]
        return list(tasks.values())

    def live(self) -> Sequence[LiveCommand]:
        """Return background commands that have not been seen to end."""
        found: dict[str, LiveCommand] = {}
        for action in self.actions():
            match action.operation:
                case Command(line=line) if action.outcome.state == "running" or (
                    action.outcome.state not in DECLINED and leaves_running(line)
                ):
                    handle = action.outcome.handle
                    found[handle or f"#{action.key}"] = LiveCommand(handle, line, action.key)
                case HandleUse(handle=handle, stops=stops) if (
                    stops and action.outcome.ok
                ) or action.said == "over":
                    found.pop(handle, None)
                case _:
                    pass
        return list(found.values())

    def decisions(self) -> Sequence[Decision]:
        """Return the user's choices, oldest first."""
        found: list[Decision] = []
        for action in self.actions():
            match action.operation:
                case Question(text=text) if action.outcome.state == "refused":
                    found.append(Decision(text, "", action.key))
                case Question(text=text) if action.outcome.ok and action.said:
                    found.append(Decision(text, action.said, action.key))
                case Command(line=line) if action.outcome.state == "refused":
                    found.append(Decision(f"`{producer(line)}`", "", action.key))
                case FileUse(path=path) if action.outcome.state == "refused":
                    found.append(Decision(f"{action.tool} {path}", "", action.key))
                case _:
                    pass
        return found

    def waiting(self) -> Sequence[Action]:
        """Return the newest calls without a result."""
        return [each for each in self.actions()[-8:] if each.key == each.call == self.last_key]

    @property
    def last_key(self) -> int:
        """Log number of its newest message; 0 for none."""
        return self._keys[-1] if self._keys else 0


def _counts_tests(action: Action) -> bool:
    """Whether an output counts tests; compilers and linters only count errors."""
    counts = action.outcome.counts
    return counts is not None and bool(counts.passed or counts.failed)


def _wait_for(call: Call, waiting: dict[str, deque[Call]]) -> Sequence[Call]:
    """Add a call to those without a result; return the calls of an earlier message with the same id."""
    earlier = waiting[call.id]
    dead = [each for each in earlier if each.key != call.key]
    waiting[call.id] = deque(each for each in earlier if each.key == call.key)
    waiting[call.id].append(call)
    return dead


def _task(entry: TaskEntry, key: int, before: Task | None, id: str = "") -> Task:
    """Build a task with the message in which it got its state."""
    same = before is not None and before.state == entry.state
    return Task(entry.text, entry.state, before.key if before and same else key, id or entry.id)


def _in_its_folder(line: str, folder: str, folders: dict[str, str]) -> str:
    """Return the name of a run: its producer, with a script it reads, and its folder if that differs."""
    command, entered = producer(line), folder_entered(line)
    if "<<" in line and (scripts := read_line(line).texts):
        command = f"{command} << {' '.join(' '.join(scripts).split())}"
    if folder or (entered and folders.setdefault(command, entered) != entered):
        return f"cd {posixpath.join(folder, entered).rstrip('/')} && {command}"
    return command


def _shows(worked: str, failed: str, action: Action) -> bool:
    """Whether a successful command shows that a failed one would succeed: it included the same work."""
    if worked == failed:
        return False
    line = action.operation.line if isinstance(action.operation, Command) else ""
    hidden = any(each.joint in {"|", "||"} for each in simple_commands(line)[1:])
    if hidden and action.outcome.exit is None:
        return False
    parts = [*worked.split(" && "), worked.rpartition("; ")[2]] if not worked.startswith("cd ") else [worked]
    return not is_look(worked) and (
        failed.startswith(f"{worked} ") or _operands(failed) in map(_operands, parts)
    )


def _operands(command: str) -> list[str]:
    """Return the words without options: runs that differ only in options do the same work."""
    return [word for word in command.split() if not word.startswith("-")]


def is_look(command: str) -> bool:
    """Whether a command is read-only and checks nothing."""
    commands = simple_commands(command)
    return bool(commands) and all(
        each.program in LOOKERS | {"cd", "pushd"}
        or (each.program == "git" and each.words[1:2] and _looks(each.words))
        for each in commands
    )


_GIT_LOOKS = words("status diff log show branch ls-files remote rev-parse blame grep fetch describe")


def _looks(words: Sequence[str]) -> bool:
    rest = [word for word in words[1:] if not word.startswith("-")]
    return bool(rest) and rest[0] in _GIT_LOOKS


def _plain(value: Any) -> Any:
    """Convert a value to JSON: an object becomes its type name and its fields, without trailing defaults."""
    if is_dataclass(value):
        known = fields(value)
        values = [_plain(getattr(value, each.name)) for each in known]
        while values and getattr(value, known[len(values) - 1].name) == known[len(values) - 1].default:
            values.pop()
        return {type(value).__name__: values}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        ((kind, values),) = value.items()
        return _STORED[kind](*map(_restored, values))
    return tuple(map(_restored, value)) if isinstance(value, list) else value


def prompt_texts(part: UserPromptPart) -> Collection[str]:
    """Return the texts of a prompt; pictures, sound and other files have none."""
    if isinstance(part.content, str):
        return [part.content]
    return [
        piece if isinstance(piece, str) else piece.content
        for piece in part.content or ()
        if isinstance(piece, str) or (isinstance(piece, TextContent) and not file_name(piece))
    ]


def result_text(part: BaseToolReturnPart | RetryPromptPart) -> str:
    """Return the text of a result, without what a reversible stage put in its place or added."""
    if isinstance(part, RetryPromptPart):
        return part.content if isinstance(part.content, str) else part.model_response()
    if is_archived(part):
        return ""
    if isinstance(part.content, str):
        return _NOTICE.sub("", part.content) if mark_of(part) else part.content
    try:
        return part.model_response_str(wrap_if_error=False)
    except (ValueError, TypeError, RecursionError):
        # A result of a foreign agent may contain objects that have no JSON form.
        try:
            return str(part.content)
        except RecursionError:
            return ""
