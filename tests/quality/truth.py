"""What single tool calls did to files."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.messages import (
    BaseToolCallPart,
    BaseToolReturnPart,
    ModelMessage,
    ModelResponse,
    RetryPromptPart,
)

from tests.quality.cases import AFTER, Case
from tests.quality.text import (
    correcting,
    files_in,
    flat,
    identifiers_in,
    message_text,
    names_in,
    result_of,
    spoken_in,
    steering,
    text_of,
    typed_in,
    words,
)

SHORTEST_LINE = 24
"""Minimum length in characters of a distinctive line."""
_PATHS = ("file_path", "path", "filePath", "notebook_path", "filename", "target_file", "file")
_PATCH = re.compile(r"(?m)^\*\*\* (Add|Update|Delete) File: (.+)$")
_PATCH_VERBS = {"Add": "created", "Update": "edited", "Delete": "deleted"}
_VERBS = (
    ("deleted", ("delete", "remove")),
    ("written", ("write", "create", "save")),
    ("edited", ("edit", "replace", "patch", "insert", "append", "update")),
    ("read", ("read", "view", "open")),
)
_NOT_FILES = ("todo", "task", "plan", "search", "grep", "glob", "list", "web", "shell", "bash")
_OPERATORS = frozenset(("&&", "||", ";", "|", "&"))


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call and its result."""

    tool: str
    args: Mapping[str, Any]
    result: str
    outcome: str


def is_shell(call: Call) -> bool:
    """Whether the call ran a shell command."""
    return call.tool.lower() in {"bash", "shell", "run_command", "execute_bash", "terminal", "exec"}


def shell_line(call: Call) -> str:
    """The shell command."""
    return str(call.args.get("command") or call.args.get("cmd") or "")


def deeds_of(call: Call) -> Iterator[tuple[str, str]]:
    """Yield path and verb of every file that a call changed or read."""
    if call.outcome != "success" or call.result.startswith(("<tool_use_error>", "Error")):
        return
    for text in (value for value in call.args.values() if isinstance(value, str)):
        for kind, path in _PATCH.findall(text):
            yield path.strip(), _PATCH_VERBS[kind]
    if is_shell(call):
        yield from shell_deeds(shell_line(call))
        return
    path = next((call.args[name] for name in _PATHS if isinstance(call.args.get(name), str)), "")
    verb = _verb(call.tool)
    if path and verb == "written" and re.search(r"(?i)created", call.result[:300]):
        verb = "created"
    if path and verb:
        yield path, verb


def _verb(tool: str) -> str:
    name = tool.lower()
    if any(word in name for word in _NOT_FILES):
        return ""
    return next((verb for verb, words in _VERBS if any(word in name for word in words)), "")


def shell_deeds(command: str) -> Iterator[tuple[str, str]]:
    """Files that a command line of simple commands moves, deletes or writes."""
    folder = ""
    for line in command.split("<<", maxsplit=1)[0].splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="&|;<>")
        lexer.whitespace_split = True
        try:
            words = list(lexer)
        except ValueError:
            continue
        start = 0
        for end in [*(place for place, word in enumerate(words) if word in _OPERATORS), len(words)]:
            part = words[start:end]
            start = end + 1
            if part[:1] == ["cd"] and len(part) == 2:
                folder = part[1] if part[1].startswith("/") else f"{folder}/{part[1]}".strip("/")
                continue
            for path, verb in _simple(part):
                if re.fullmatch(r"[\w./@+~-]*\w", path) and not path.startswith("/dev/"):
                    yield (path if path.startswith(("/", "~")) or not folder else f"{folder}/{path}"), verb


def _simple(words: list[str]) -> Iterator[tuple[str, str]]:
    for place, word in enumerate(words[:-1]):
        # stderr redirected to a file is a log, and ``2>&1`` is not a file.
        if word in {">", ">>"} and (place == 0 or words[place - 1] != "2"):
            yield words[place + 1], "edited" if word == ">>" else "written"
    words = words[: words.index(">")] if ">" in words else words
    if words[:1] == ["git"] and words[1:2] in (["rm"], ["mv"]):
        words = words[1:]
    plain = [word for word in words[1:] if not word.startswith("-")]
    match words[:1]:
        case ["rm"]:
            yield from ((path, "deleted") for path in plain)
        case ["mv"] if len(plain) == 2:
            yield plain[0], "deleted"
            yield plain[1], "created"
        case ["touch"]:
            yield from ((path, "created") for path in plain)
        case ["sed"] if any(word.startswith("-i") for word in words):
            yield from ((path, "edited") for path in plain[-1:])
        case ["cp"] if len(plain) == 2 and not plain[1].endswith("/"):
            yield plain[1], "written"
        case ["tee"]:
            yield from ((path, "edited" if "-a" in words else "written") for path in plain)


# The ground truth of a history, which contexts are compared with.


_EXIT = re.compile(r"(?i)(?:exit(?:ed with)? (?:code|status)|return code)[:\s]*([1-9]\d{0,2})\b")
_ERROR = re.compile(
    r"(?m)^.*(?:[A-Za-z]*(?:Error|Exception)\b|\berror\b ?[:\[(]|\bFAIL(?:ED)?\b|\bfatal:|\bpanic:|CONFLICT"
    r"|not found|No such file|cannot |failed).*$"
)
_LOOKS = words(
    "ls cat head tail grep rg egrep find sed awk wc tree pwd echo which file stat cd jq sort view less diff"
)
_DECORATION = re.compile(r"\s*(?:2>&1|2>/dev/null|\|\s*(?:tail|head|cat)\b[^|;&]*)\s*$")
_FILTER = re.compile(r"\|\s*(?:e?grep|rg|awk|sed|wc|sort|jq)\b[^&;]*$")
"""After these filters the exit code does not show whether the command itself succeeded."""
_CD = re.compile(r"^\s*cd\s+\S+\s*(?:&&|;)\s*")


@dataclass(slots=True)
class Failure:
    """The newest failure of a command."""

    command: str
    line: str
    solved: bool


@dataclass(slots=True)
class Truth:
    """Everything the scores need about a case."""

    needed_files: set[str] = field(default_factory=set)
    needed_identifiers: set[str] = field(default_factory=set)
    needed_lines: set[str] = field(default_factory=set)
    """Lines of results that later calls contain verbatim."""
    rare: set[str] = field(default_factory=set)
    """Names in at most four messages."""
    frequency: Counter[str] = field(default_factory=Counter)
    """Number of messages that contain each name."""
    touched: dict[str, list[str]] = field(default_factory=dict)
    """Changed files with what was done to them, in order."""
    read: set[str] = field(default_factory=set)
    rules: list[str] = field(default_factory=list)
    corrections: list[str] = field(default_factory=list)
    typed: list[str] = field(default_factory=list)
    first: str = ""
    latest: str = ""
    failures: list[Failure] = field(default_factory=list)
    source: str = ""


def truth_of(case: Case) -> Truth:
    truth = Truth(source=text_of(case.before))
    for message in case.before:
        truth.frequency.update(names_in(message_text(message, labels=False)))
    future = spoken_in(case.after, AFTER)
    truth.needed_files = files_in(future) & truth.frequency.keys()
    truth.needed_identifiers = identifiers_in(future) & truth.frequency.keys()
    truth.rare = {name for name, messages in truth.frequency.items() if messages <= 4}
    calls = list(calls_in(case.before))
    later = flat(spoken_in(case.after, AFTER, calls_only=True))
    results = (flat(line) for call in calls for line in call.result.splitlines())
    truth.needed_lines = {line for line in results if len(line) >= SHORTEST_LINE and line in later}
    for call in calls:
        for path, verb in deeds_of(call):
            if verb == "read":
                truth.read.add(path)
            else:
                truth.touched.setdefault(path, []).append(verb)
    typed = truth.typed = typed_in(case.before)
    truth.rules, truth.corrections = steering(typed), correcting(typed)
    asked = [text for text in typed if not re.fullmatch(r"/[\w:-]+", text)]
    truth.first, truth.latest = (asked[0], typed[-1]) if asked else ("", "")
    truth.failures = list(failures_in(calls))
    return truth


def calls_in(messages: Sequence[ModelMessage]) -> Iterator[Call]:
    """The calls of a history with their results, in the order of the results."""
    open_calls: dict[str, BaseToolCallPart] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(message, ModelResponse) and isinstance(part, BaseToolCallPart):
                open_calls[part.tool_call_id] = part
            elif isinstance(part, BaseToolReturnPart | RetryPromptPart):
                asked = open_calls.pop(part.tool_call_id, None)
                if asked is not None:
                    outcome = "failed" if isinstance(part, RetryPromptPart) else part.outcome
                    yield Call(asked.tool_name, asked.args_as_dict(), result_of(part), outcome)


def failures_in(calls: Sequence[Call]) -> Iterator[Failure]:
    """The newest failure of each command with an effect, and whether the command succeeded later."""
    open_now: dict[str, Failure] = {}
    for call in calls:
        if not is_shell(call) or call.outcome in {"denied", "interrupted"}:
            continue
        command = plain_command(shell_line(call))
        if not command or looks_only(command):
            continue
        bad = reports_failure(call)
        if not bad and "|" in shell_line(call) and _ERROR.search(call.result):
            # The end of a pipe does not show whether its beginning failed, and the output mentions errors.
            continue
        if bad and (line := _error_line(call.result)):
            open_now[command] = Failure(command, line, solved=False)
        elif not bad:
            for failure in open_now.values():
                failure.solved = failure.solved or same_work(failure.command, command)
    yield from open_now.values()


def looks_only(command: str) -> bool:
    """Whether a command neither changes nor checks anything, or hides whether it succeeded."""
    return bool(_FILTER.search(command)) or command.split(maxsplit=1)[0].rsplit("/", 1)[-1] in _LOOKS


def reports_failure(call: Call) -> bool:
    """Whether a command's result reports a failure."""
    return call.outcome == "failed" or bool(_EXIT.search(call.result[:200] + call.result[-200:]))


def _error_line(result: str) -> str:
    lines = [flat(match[0]) for match in _ERROR.finditer(result)]
    return lines[0] if lines else ""


def plain_command(command: str) -> str:
    """A command without its leading ``cd`` and without what only shortens its output."""
    text = command.strip().split("<<")[0]
    while match := _CD.match(text):
        text = text[match.end() :]
    while match := _DECORATION.search(text):
        text = text[: match.start()]
    return flat(text)


def same_work(failed: str, later: str) -> bool:
    """Whether success of ``later`` means that ``failed`` works: the same, a step of it, or a narrower run."""
    parts = [flat(part) for part in later.split("&&")]
    return failed in (later, *parts) or failed.startswith(later + " ")
