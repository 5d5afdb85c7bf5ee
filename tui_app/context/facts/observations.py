"""One pass over the messages: what was said, what was done, and how it ended.

Every extractor works on the ``Reading`` made here, so messages of any agent are taken apart once, in linear
time, and only text that a user typed is ever called typed.
"""

import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.messages import (
    BaseToolCallPart,
    BaseToolReturnPart,
    CompactionPart,
    RetryPromptPart,
    TextContent,
    TextPart,
    UserPromptPart,
)

from tui_app.context.counting.attachments import file_name
from tui_app.context.facts.shell import last_program_of, program_of
from tui_app.context.message_marks import (
    OWN,
    is_archived,
    is_given_part,
    is_shell_part,
    mark_of,
    shell_command,
    shell_result,
)
from tui_app.context.tool_words import COMMAND_ARGUMENTS, changes_files, runs_commands
from tui_app.context.user_text import said_in_refusal, typed_text, words
from tui_app.context.view import Item
from tui_app.events import KIND_LABELS, Fact, FactKind
from tui_app.records import frozen
from tui_app.tool_specs import RUN_COMMAND

# Labels of the groups of facts that code puts below a summary, and what of them a summary may not forge.

AGREED = "Agreed"
"""What answers and decisions were called before; it says too much of a question that was passed by."""
FIRST_REQUEST = "First request"
LATEST_REQUEST = "Latest request"
LAST_DONE = "Last done: "

_LINE = re.compile(rf"(?m)^\*\*({'|'.join((*KIND_LABELS.values(), AGREED))}):?\*\*:?[ \t]{{0,40}}$")


def unlabelled(summary: str) -> str:
    """A summary whose lines cannot pass for the groups that stand below it: what a model wrote is no fact.

    Args:
        summary: Notes without the groups below them, whoever wrote them.
    """
    return _LINE.sub(r"\1:", summary)


def with_facts(summary: str, facts: str) -> str:
    """Notes and the groups of facts below them, as one text in which only those are groups.

    Args:
        summary: The notes; may be empty.
        facts: What code has put below them; may be empty.
    """
    return "\n\n".join(filter(None, (unlabelled(summary), facts)))


_NOTICE = re.compile(r"\n\[…[^\n]{0,300}\]$")
"""What a stage that has cut a result says at its end."""
_POINTER = re.compile(r"(?s)\[Not repeated here: .{1,1200}?, beginning with: (.*)…\]")


@frozen
class Said:
    """Words of one side."""

    key: int
    index: int
    """Place among the messages, from 0: what recency is judged by."""
    text: str


@frozen
class Action:
    """One tool call with its answer."""

    key: int
    """Log number of the answer; of the call while there is no answer."""
    index: int
    tool: str
    args: Mapping[str, Any]
    result: str = ""
    outcome: str = ""
    """Outcome of the tool return (``success``, ``failed``, …); empty without an answer."""


@dataclass(slots=True)
class Reading:
    """A history taken apart; every list is in order of time."""

    typed: list[Said] = field(default_factory=list)
    spoken: list[Said] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    summaries: list[str] = field(default_factory=list)
    length: int = 0
    in_sight: frozenset[int] = frozenset()
    """Keys of the messages that stay; none of them stands in the lists above."""
    beside: "Reading | None" = None
    """What stands in those messages: it is not told again, but it answers and solves."""

    def all_actions(self) -> list[Action]:
        """Every action, those in sight too, in order of time."""
        if self.beside is None:
            return self.actions
        return sorted((*self.actions, *self.beside.actions), key=_place)

    def went_on(self, index: int) -> bool:
        """Whether anybody said anything in sight after a place in the history."""
        if self.beside is None:
            return False
        return any(said.index > index for said in (*self.beside.typed, *self.beside.spoken))

    def recency(self, index: int) -> float:
        """How new a place in the history is, from 0 (oldest) to 1 (newest)."""
        return (index + 1) / max(1, self.length)


_Call = tuple[int, int, str, Mapping[str, Any]]


@dataclass(slots=True)
class _Reader:
    """Pairs calls with answers while it walks; reused ids are paired in order of occurrence."""

    reading: Reading
    open: dict[str, deque[_Call]] = field(default_factory=lambda: defaultdict(deque))

    def answer(self, item: Item, index: int, part: BaseToolReturnPart | RetryPromptPart) -> None:
        waiting = self.open.get(part.tool_call_id)
        call = waiting.popleft() if waiting else (item.key, index, part.tool_name or "", {})
        retried = isinstance(part, RetryPromptPart)
        outcome = "retried" if isinstance(part, RetryPromptPart) else part.outcome
        text = _retry_text(part.content) if retried else _result_text(part)
        self.reading.actions.append(Action(item.key, index, call[2], call[3], text, outcome))
        if outcome == "denied" and (said := said_in_refusal(text)):
            self.reading.typed.append(Said(item.key, index, said))

    def part(self, item: Item, index: int, part: object) -> None:
        """Sort one part into the reading; parts that hold no words or deeds are passed over."""
        reading = self.reading
        match part:
            case UserPromptPart() if is_shell_part(part):
                args = {"command": shell_command(part)}
                text = "" if is_archived(part) else _NOTICE.sub("", shell_result(part))
                reading.actions.append(Action(item.key, index, RUN_COMMAND.name, args, text, "success"))
            case UserPromptPart() if not is_given_part(part):
                if text := "\n\n".join(filter(None, map(typed_text, _prompt_texts(part)))):
                    reading.typed.append(Said(item.key, index, text))
            case TextPart():
                if part.content.strip():
                    reading.spoken.append(Said(item.key, index, part.content.strip()))
            case BaseToolCallPart():
                call = (item.key, index, part.tool_name, part.args_as_dict())
                self.open[part.tool_call_id].append(call)
            case BaseToolReturnPart():
                self.answer(item, index, part)
            case RetryPromptPart() if part.tool_name:
                self.answer(item, index, part)
            case CompactionPart() if part.content:
                reading.summaries.append(_notes(part))

    def finish(self) -> Reading:
        """Add the calls that nothing answered, then put the actions in order."""
        for waiting in self.open.values():
            self.reading.actions += [Action(key, index, tool, args) for key, index, tool, args in waiting]
        self.reading.actions.sort(key=_place)
        return self.reading


def read_items(items: Sequence[Item], in_sight: Collection[int] = ()) -> Reading:
    """Take the messages apart.

    Args:
        items: Messages in order of time, complete or cut anywhere.
        in_sight: Keys of those that are to be read apart, as what stays.

    Returns:
        What was typed, spoken and done. Calls without an answer come last at their place, with an empty
        outcome; answers without a call have no arguments.
    """
    reader = _Reader(Reading(length=len(items)))
    for index, item in enumerate(items):
        for part in item.message.parts:
            reader.part(item, index, part)
    whole = reader.finish()
    return _apart(whole, frozenset(in_sight)) if in_sight else whole


def _apart(whole: Reading, keys: frozenset[int]) -> Reading:
    """Put what stands in some messages beside the rest."""
    beside = Reading(length=whole.length)
    rest = Reading(length=whole.length, summaries=whole.summaries, in_sight=keys, beside=beside)
    for said in whole.typed:
        (beside if said.key in keys else rest).typed.append(said)
    for said in whole.spoken:
        (beside if said.key in keys else rest).spoken.append(said)
    for action in whole.actions:
        (beside if action.key in keys else rest).actions.append(action)
    return rest


def _notes(part: CompactionPart) -> str:
    """A summary as notes to update; only our own metadata tells which groups code has put below them."""
    own = (part.metadata or {}).get(OWN)
    if isinstance(own, Mapping) and own.get("summary"):
        return with_facts(str(own["summary"]), str(own.get("facts", "")))
    return unlabelled(part.content or "")


def _place(action: Action) -> int:
    return action.index


def _prompt_texts(part: UserPromptPart) -> Iterable[str]:
    """The texts of a prompt; pictures, sound and other files hold no words for us."""
    if isinstance(part.content, str):
        return [part.content]
    texts: list[str] = []
    for piece in part.content or ():
        if isinstance(piece, str):
            texts.append(piece)
        elif isinstance(piece, TextContent) and not file_name(piece):
            texts.append(piece.content)
    return texts


def _result_text(part: BaseToolReturnPart | RetryPromptPart) -> str:
    """The text of an answer, less what the reversible stages have put in its place."""
    if isinstance(part, RetryPromptPart):
        return _retry_text(part.content)
    if is_archived(part):
        return ""
    if isinstance(part.content, str):
        return _NOTICE.sub("", part.content) if mark_of(part) else part.content
    try:
        return part.model_response_str(wrap_if_error=False)
    except (ValueError, TypeError):
        # A result of a foreign agent may hold objects that have no JSON form.
        return str(part.content)


def _retry_text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(error.get("msg", error)) for error in content if isinstance(error, dict))
    return str(content)


def without_pointer(text: str) -> str:
    """The text of an argument; of one that a pointer stands for, the beginning that the pointer shows."""
    match = _POINTER.fullmatch(text)
    return match[1] if match else text


def argument_texts(args: Mapping[str, Any]) -> Iterable[str]:
    """Every text inside a call's arguments, nested ones too, in order.

    Args:
        args: Arguments of a tool call.

    Yields:
        The texts; numbers and flags are left out.
    """
    stack: list[Any] = list(reversed(list(args.values())))
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            yield without_pointer(value)
        elif isinstance(value, Mapping):
            stack += reversed(list(value.values()))
        elif isinstance(value, list | tuple):
            stack += reversed(value)


def first_text(args: Mapping[str, Any], names: Sequence[str]) -> str:
    """The first non-empty text among the named arguments, else an empty string."""
    for name in names:
        value = args.get(name)
        if isinstance(value, str) and value.strip():
            return without_pointer(value.strip())
    return ""


# How much a fact counts: who said it, how new it is, how often it came up.

BASE: dict[str, float] = {
    "rule": 4.0,
    "request": 4.0,
    "said": 1.6,
    "error": 3.0,
    "question": 2.5,
    "file": 2.0,
    "todo": 1.8,
    "decision": 1.4,
    "command": 1.0,
    "detail": 0.4,
}
"""Weight of each kind before source, recency and repetition; the user's own words stand above all."""


def handle(key: int) -> str:
    """The handle by which a message is got back."""
    return f"#{key}"


def make_fact(
    reading: Reading,
    kind: FactKind,
    text: str,
    *,
    key: int,
    index: int,
    factor: float = 1.0,
    times: int = 1,
) -> Fact:
    """Build a fact and weigh it.

    Args:
        reading: The history it comes from.
        kind: What it is.
        text: The relation, as a user reads it.
        key: Log number of the message.
        index: Place of the message in the history.
        factor: 1 for the usual weight of its kind; more or less where an extractor knows better.
        times: How often it came up.

    Returns:
        The fact, in state ``kept``; retention decides later.
    """
    recent = 0.6 + 0.4 * reading.recency(index)
    repeated = 1.0 + 0.1 * min(times - 1, 5)
    weight = round(BASE[kind] * factor * recent * repeated, 4)
    return Fact(kind=kind, text=text, source=handle(key), weight=weight)


# Paragraphs and sentences of what somebody wrote.
#
# They are never reworded: all that happens to them is that runs of white space become one space.

LONGEST_SENTENCE = 1_200
"""Characters; a longer run without an end is pasted material, not a sentence somebody meant as a rule."""

_FENCE = re.compile(r"^\s{0,8}(?:```|~~~)")
_BULLET = re.compile(r"^(?:[-*+•–]|\d{1,3}[.)]|[a-z][.)]|#{1,6})\s+(?:\[[ xX]\]\s+)?")
_END = re.compile(r"(?<=[.!?…])[\"')\]]{0,3}\s+(?=[^\s])|(?<=[。！？；])")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|z\.B|bzw|d\.h|p\.ex|Nr|No|approx)\.|^\d{1,3}\.)$")
_CODE = re.compile(
    r"[;{}]$|^\w*(?:Error|Exception)\b:|^(?:throw|return|const|let|var|def|func|class) \S|:\d{1,6}:\d"
    r"|^/?[\w./-]+:\d{1,6}\b"
)
_REPORTED = re.compile(
    r"(?i:(?:module|package|command|file|variable)\b[\w ,-]{0,40} not found: |failed to \w+[^.:]{0,60}: )"
    r"|(?:\w+ )?(?:[Ee]rror|[Ee]xception|ERROR|FATAL|fatal|panic): |\d{1,6} {1,4}[-+*#] "
)
"""``Warning:`` is no mark of one: people warn as well."""
_MARKED = re.compile(r"`[^`]{1,200}`")
_SPACE = re.compile(r"\s+")
_EMPHASIS = re.compile(r"(`[^`\n]{0,300}`)|\*\*(?=\S)|(?<=\S)\*\*")
"""Code first: what looks like a mark in it is code."""


def paragraphs(text: str) -> Iterator[str]:
    """Yield the prose lines of a text: fenced code left out, hard-wrapped lines joined, bullets removed.

    Args:
        text: What somebody wrote.

    Yields:
        Lines without leading bullet or number, white space normalised.
    """
    fenced = False
    buffer: list[str] = []
    for raw in text.splitlines():
        if _FENCE.match(raw):
            fenced = not fenced
            continue
        line = _SPACE.sub(" ", raw).strip()
        if fenced or not line:
            yield from _flush(buffer)
        elif buffer and _continues(buffer[-1], line):
            buffer.append(line)
        else:
            yield from _flush(buffer)
            buffer.append(_BULLET.sub("", line))
    yield from _flush(buffer)


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, verbatim but for white space.

    Args:
        text: What somebody wrote; code in fences is passed over.

    Yields:
        Sentences of at most ``LONGEST_SENTENCE`` characters; longer runs are pasted data and left out.
    """
    for paragraph in paragraphs(text):
        start = 0
        for match in _END.finditer(paragraph):
            if _ABBREVIATION.search(paragraph[max(start, match.start() - 8) : match.start()]):
                continue
            yield from _short(paragraph[start : match.end()])
            start = match.end()
        yield from _short(paragraph[start:])


def looks_pasted(line: str) -> bool:
    """Whether a line is program output or code rather than prose: few letters, or marks of a log or diff."""
    if line.startswith(("$ ", "> ", "➜", "at ", 'File "', "| ", "+ ", "├", "│", "└", "<", "{", "import ")):
        return True
    sample = _MARKED.sub("", line[:300])
    if _CODE.search(sample):
        return True
    letters = sum(char.isalpha() or char in " _-,." for char in sample)
    return letters < 0.6 * len(sample)


def reads_reported(line: str) -> bool:
    """Whether a line is a program's report, or the line of a diff with its number, though worded as prose."""
    return _REPORTED.match(line) is not None


def unmarked(text: str) -> str:
    """The text without marks of emphasis, which say nothing once a line stands alone.

    Where one has no counterpart it may be anything, and all stay.
    """
    marks = sum(match[1] is None for match in _EMPHASIS.finditer(text))
    return text if marks % 2 else _EMPHASIS.sub(lambda match: match[1] or "", text)


def one_line(text: str) -> str:
    """The text with every run of white space as one space."""
    return _SPACE.sub(" ", text).strip()


def clip(text: str, limit: int) -> str:
    """Cut a line at a word boundary and say how much is missing.

    Args:
        text: One line.
        limit: Characters to keep at most.

    Returns:
        The text itself when it is short enough, or when the mark is no shorter than what it stands for; else
        its head with ``…[N characters omitted]…``. A word is never cut in two, so no name appears that was
        not in the source.
    """
    if len(text) <= limit:
        return text
    head = text[: max(0, limit) + 1]
    space = max(head.rfind(" "), head.rfind("\n"))
    kept = head[:space].rstrip() if space > 0 else ""
    shown = f"{kept} …[{len(text) - len(kept)} characters omitted]…".strip()
    return shown if len(shown) < len(text) else text


def _continues(previous: str, line: str) -> bool:
    """Whether a line goes on with the sentence of the line before, as in hard-wrapped text."""
    return (
        len(previous) >= 50
        and line[0].islower()
        and previous[-1] not in ".!?:;。！？"
        and not _BULLET.match(line)
    )


def _flush(buffer: list[str]) -> Iterator[str]:
    if buffer:
        yield " ".join(buffer)
        buffer.clear()


def _short(sentence: str) -> Iterator[str]:
    stripped = sentence.strip()
    if 0 < len(stripped) <= LONGEST_SENTENCE:
        yield stripped


# Whether a tool call really worked, and which line of its output says why not.

EDGE = 6_000
"""Characters read at each end of an output: errors stand at the top or at the bottom."""

_EXIT = re.compile(
    r"(?i)(?:exit(?:ed)?(?:[ _-]?(?:with))?(?:[ _-]?(?:code|status))?|return[ _]?code|\"exit_code\")[\"']?"
    r"[\s:=]{0,3}(-?\d{1,10})\b"
)
_REFUSED = re.compile(
    r"(?i)^\s*(?:the user (?:doesn['’]t want|declined|denied|rejected)|claude requested permissions"
    r"|user (?:denied|rejected)"
    r"|permission denied by|tool call (?:was )?(?:denied|rejected|cancelled)|interrupted by user"
    r"|not run\b\s{0,2}[:.(]|(?:declined|denied|rejected|cancelled) by (?:the )?user"
    r"|command aborted|operation aborted|\[?request interrupted|<tool_use_error>sibling tool call)"
)
_FAILED_START = re.compile(
    r"(?i)^\s*(?:<tool_use_error>|\{\s{0,4}\"error\"|(?:fatal |internal |tool )?error\b\s{0,2}[:(\n]"
    r"|error$|failed to\b|failure:"
    r"|traceback \(most|no replacement was|string to replace not found|eisdir\b|enoent\b"
    r"|file (?:does not exist|not found|has not been read)"
    r"|path does not exist|no such file|invalid (?:parameter|argument|input)|could not |cannot "
    r"|permission denied|patch failed)"
)
_NOT_CHANGED = re.compile(
    r"(?i)\b(?:nothing (?:was|has been|is|were) (?:changed|written|edited|replaced|modified|applied)"
    r"|no (?:changes?|replacements?|edits?) (?:(?:was|were|has been|have been) )?(?:made|performed|applied)"
    r"|(?:old_(?:text|string|str)|oldtext|oldstring|search (?:text|string|block)|(?:string|text) to replace)"
    r"\b.{0,80}?\b(?:not found|did not (?:appear|match)|does not (?:exist|match)|not unique)"
    r"|(?:must be|(?:is|was) not) unique|file (?:is |was |left )?unchanged|did not appear verbatim)"
)
"""What an editing tool says that has changed nothing, though its call counts as done."""
_CHECKERS = words(
    "pytest py.test tox nox unittest go cargo npm npx pnpm yarn bun deno make cmake ninja tsc tsgo eslint "
    "biome ruff mypy pyright flake8 black gradle gradlew mvn dotnet swift javac gcc g++ clang python "
    "python3 node ruby rake rspec php composer phpunit jest vitest mocha playwright uv poetry hatch pip "
    "pip3 docker terraform ansible-playbook pre-commit golangci-lint mix bundle rails xcodebuild just "
    "task bazel ctest tsx"
)
_OUTPUT_FAILED = re.compile(
    r"(?m)^(?:E   |FAILED |FAIL\b|--- FAIL|error(?:\[\w{1,12}\])?:|ERROR:|Error:|fatal:|npm ERR!"
    r"|npm error|make(?:\[\d\])?: \*\*\*|panic:"
    r"|Traceback \(most recent)|\b[1-9]\d{0,5} (?:tests? )?(?:failed|failing)\b"
    r"|\bFound [1-9]\d{0,5} errors?\b|: error(?: TS\d+)?:"
    r"|\bTest Suites: [1-9]|^✗ |\bBUILD FAILED\b|\bcommand not found$"
)
_ERROR_LINE = re.compile(
    r"\w(?:Error|Exception|Failure)\b\s{0,2}[:(]|\berror\s{0,2}(?:\[\w{1,12}\]|TS\d{1,6})?:|\berror TS\d"
    r"|^E \S|^FAILED |^--- FAIL|^FAIL\b"
    r"|^fatal:|^panic:|^CONFLICT|\bERR!|: \*\*\* |^Error:|^ERROR\b|(?i:not found|no such file"
    r"|permission denied|cannot |can't |failed|denied"
    r"|undefined:|unresolved|does not exist|has not been read|illegal operation|mismatch|\berror\b)"
)
_TAIL_FIRST = re.compile(r"Traceback \(most recent call last\)")
_EMPTY_LINE = re.compile(
    r"(?i)^(?:\(?no output\)?|(?:command )?exit(?:ed)?(?: with)?(?: code| status)?[ :]{0,2}-?\d{1,6}\.?"
    r"|stderr:?|stdout:?|output:?|\W{0,40})$"
)
_NOISE = re.compile(r"(?i)^(?:npm warn|warning:|\(node:|debugger attached|waiting for the debugger|> )")
_QUIET_ONE = frozenset({"grep", "rg", "egrep", "diff", "test", "[", "cmp", "which", "pgrep", "git"})
"""Programs whose exit code 1 without output is an answer ("nothing found") and no error."""


def command_of(action: Action) -> str:
    """The command line a call ran, or an empty string when the tool runs none."""
    if not runs_commands(action.tool):
        return ""
    argv = action.args.get("command")
    if isinstance(argv, list) and argv and all(isinstance(word, str) for word in argv):
        return str(argv[-1]) if len(argv) == 3 and argv[1] in {"-c", "-lc"} else " ".join(argv)
    return first_text(action.args, COMMAND_ARGUMENTS)


def checks(command: str) -> bool:
    """Whether a command builds, tests or checks: what works as a whole then works in its parts."""
    return program_of(command) in _CHECKERS


def refused(action: Action) -> bool:
    """Whether the call was declined or interrupted, so that nothing happened and nothing went wrong."""
    return action.outcome in {"denied", "interrupted", ""} or bool(_REFUSED.match(action.result[:300]))


def failed(action: Action) -> bool:
    """Whether the call ended in an error, by its outcome, its exit code or what it printed.

    A pipe hides the exit code, so the output of compilers and test runners is read as well; the output of
    anything else is not, because a search may find the word error in a file.
    """
    if refused(action):
        return False
    command = command_of(action)
    code = exit_code(action.result)
    if action.outcome in {"failed", "retried"}:
        return not _nothing_found(command, action.result, code)
    if command:
        if code is not None and code != 0:
            return not _nothing_found(command, action.result, code)
        return checks(command) and bool(_OUTPUT_FAILED.search(_edges(action.result)))
    said = action.result[:300]
    # In the lines that follow, the file itself may be shown.
    first = said.lstrip().partition("\n")[0]
    return bool(_FAILED_START.match(said)) or bool(changes_files(action.tool) and _NOT_CHANGED.search(first))


def worked(action: Action) -> bool:
    """Whether the call was answered and did what it says."""
    return not refused(action) and not failed(action)


def exit_code(result: str) -> int | None:
    """The exit code an output states in its first or last lines, or None."""
    for piece in (result[:200], result[-200:]):
        if match := _EXIT.search(piece):
            return int(match[1])
    return None


def error_lines(result: str, limit: int = 3) -> list[str]:
    """The lines that say what went wrong, most telling first.

    Args:
        result: Output of a failed call.
        limit: Lines to return at most.

    Returns:
        Lines with white space normalised; empty when the output says nothing.
    """
    lines = [line for line in _lines(result) if not _EMPTY_LINE.match(line)]
    telling = [line for line in lines if _ERROR_LINE.search(line[:400]) and not _NOISE.match(line)]
    if not telling:
        telling = [line for line in lines if not _NOISE.match(line)] or lines
    if _TAIL_FIRST.search(result[:EDGE]) or _TAIL_FIRST.search(result[-EDGE:]):
        telling.reverse()
    return list(dict.fromkeys(telling))[:limit]


def _lines(result: str) -> Iterator[str]:
    for line in _edges(result).splitlines():
        yield one_line(line.replace("<tool_use_error>", "").replace("</tool_use_error>", ""))


def _edges(result: str) -> str:
    if len(result) <= 2 * EDGE:
        return result
    return f"{result[:EDGE]}\n{result[-EDGE:]}"


def _nothing_found(command: str, result: str, code: int | None) -> bool:
    silent = all(_EMPTY_LINE.match(line) for line in _lines(result))
    return silent and code in {1, None} and last_program_of(command) in _QUIET_ONE
