"""The facts of a stretch of history, from which true sentences and falsehoods are made.

Derived from calls, results and prompts by code that shares nothing with the product's readers.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pydantic_ai.messages import ModelMessage

from tests.quality.text import ENDINGS, flat, leaves, sentences, steering, text_of, typed_in
from tests.quality.truth import (
    Failure,
    calls_in,
    deeds_of,
    failures_in,
    is_shell,
    looks_only,
    plain_command,
    reports_failure,
    shell_line,
)

LONGEST_COMMAND = 100
_SHORT_PROMPT = 600
"""Maximum length in characters of prompts that count as typed; longer ones often contain pastes."""
_PASSED = re.compile(r"(?<![\w.])(\d{1,5}) (?:tests? )?pass(?:ed|ing)\b|\btests? +(\d{1,5}) passed", re.I)
_RAN = re.compile(r"\bRan (\d{1,5}) tests?\b")
_COUNTS = re.compile(
    r"(?i)(\d{1,6})\W{0,3}(?:\w+ )?(?:tests?|pass\w*|fail\w*|specs?)\b|\b(?:tests?|ran)\W{1,4}(\d{1,6})"
)
_SETTING = re.compile(
    r"(?m)^\s*(?:[-+] ?)?[\"']?([A-Za-z_][A-Za-z0-9_]{4,40})[\"']?\s*"
    r"(?::\s*int)?\s*[:=]\s*(\d{1,6})\s*[,;]?\s*$"
)
_LINE = re.compile(r"(?<![\w/.-])((?:[\w.-]+/)*[\w-]+\.([a-z]{1,5})):(\d{1,5})\b")
_ERRORS = re.compile(r"(?i)\b(?:error|exception|failed|fatal|not found|traceback|panic)\b")
_NO_ERRORS = re.compile(r"(?i)\b(?:0|no) (?:errors?|failed|failures)\b")
_FLAT_COMMAND = re.compile(r"[\w ./:=@,+-]{4,}")
_PLAIN_PATH = re.compile(r"~?[\w./@+-]*[\w-]\.[A-Za-z]{1,6}")
STEERS_ELSEWHERE = re.compile(
    r"(?i)\b(?:nie|niemals|immer|nicht|keine?n?|nur|muss|jamais|toujours|seulement|doit|nunca|siempre|solo|debe"
    r"|никогда|всегда|только|нельзя)\b|不要|必须|总是|禁止|绝不|決して|必ず"
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A true fact of a stretch.

    The kind is created, edited, written, deleted, read, passed, failed, mended, open, solved, count, setting,
    line, rule, said or holds.
    """

    kind: str
    subject: str
    value: str = ""


@dataclass(eq=False)
class Happenings:
    """The facts of a stretch, in order of the messages."""

    deeds: dict[str, list[str]] = field(default_factory=dict)
    """What was done to each file, reading included."""
    runs: dict[str, list[bool]] = field(default_factory=dict)
    """Commands with an effect: whether each run succeeded. Runs without a clear result are left out."""
    counts: list[tuple[str, int]] = field(default_factory=list)
    settings: dict[str, dict[str, str]] = field(default_factory=dict)
    """Values of each setting by name, with the file of each value."""
    lines: list[tuple[str, int]] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    typed: list[str] = field(default_factory=list)
    text: str = ""

    @cached_property
    def changed(self) -> dict[str, list[str]]:
        """What was done to each changed file, without reads."""
        without = ((path, [verb for verb in verbs if verb != "read"]) for path, verbs in self.deeds.items())
        return {path: verbs for path, verbs in without if verbs}

    @cached_property
    def only_read(self) -> list[str]:
        return [path for path in self.deeds if path not in self.changed]

    @cached_property
    def rules(self) -> list[str]:
        """The user's rules (what must or must not be done), in all supported languages."""
        foreign = [each for each in self.prose if STEERS_ELSEWHERE.search(each) and not each.endswith("?")]
        return list(dict.fromkeys([*steering(self.typed), *foreign]))

    @cached_property
    def prose(self) -> list[str]:
        """The sentences of all short prompts."""
        short = (text for text in self.typed if len(text) <= _SHORT_PROMPT)
        return list(dict.fromkeys(sentence for text in short for sentence in sentences(text)))

    @cached_property
    def still_open(self) -> list[Failure]:
        return [failure for failure in self.failures if not failure.solved]

    @cached_property
    def told_counts(self) -> set[int]:
        """Every number next to a word about tests."""
        return {int(first or second) for first, second in _COUNTS.findall(self.text)}

    @cached_property
    def lines_of_text(self) -> list[str]:
        return self.text.splitlines()

    def beside(self, name: str, value: str) -> bool:
        """Whether a line of the log contains both."""
        number = re.compile(rf"(?<![\w.]){re.escape(value)}(?![\w])")
        return any(name in line and number.search(line) for line in self.lines_of_text)

    @cached_property
    def facts(self) -> dict[Fact, None]:
        """All facts of which sentences can be made."""
        return dict.fromkeys(self._facts())

    def _facts(self) -> Iterator[Fact]:
        yield from (Fact("rule", rule) for rule in self.rules)
        yield from (Fact("said", said) for said in self.prose if said not in self.rules)
        for failure in self.failures:
            if fair(failure.command):
                yield Fact("solved" if failure.solved else "open", failure.command, failure.line[:120])
        for path, verbs in self.changed.items():
            if _PLAIN_PATH.fullmatch(path):
                last = verbs[-1] == "deleted"
                yield from (Fact(verb, path) for verb in dict.fromkeys(verbs) if (verb == "deleted") == last)
        for command, outcomes in self.runs.items():
            if fair(command):
                mended = outcomes[-1] and not all(outcomes)
                yield Fact("mended" if mended else "passed" if outcomes[-1] else "failed", command)
        last = dict(self.counts)
        yield from (Fact("count", command, str(number)) for command, number in last.items() if fair(command))
        for name, values in self.settings.items():
            if len(values) == 1:
                yield from (Fact("setting", name, f"{value}|{file}") for value, file in values.items())
        yield from (Fact("line", path, str(number)) for path, number in dict.fromkeys(self.lines))
        yield from (Fact("read", path) for path in self.only_read if _PLAIN_PATH.fullmatch(path))


def fair(command: str) -> bool:
    """Whether a command can be quoted in a sentence."""
    return len(command) <= LONGEST_COMMAND and bool(_FLAT_COMMAND.fullmatch(command))


def happenings_of(messages: Sequence[ModelMessage]) -> Happenings:
    """Extract the facts of a stretch."""
    found = Happenings(typed=typed_in(messages), text=text_of(messages))
    calls = list(calls_in(messages))
    found.failures = list(failures_in(calls))
    for call in calls:
        for path, verb in deeds_of(call):
            found.deeds.setdefault(path, []).append(verb)
        if is_shell(call) and call.outcome not in {"denied", "interrupted"}:
            _run(found, plain_command(shell_line(call)), call.result, bad=reports_failure(call))
        elif call.outcome == "success":
            file = next((path for path, verb in deeds_of(call) if verb != "read"), "")
            for text in leaves(dict(call.args)) if file else ():
                for name, value in _SETTING.findall(text):
                    found.settings.setdefault(name, {})[value] = file
    return found


def _run(found: Happenings, command: str, result: str, *, bad: bool) -> None:
    if not command or looks_only(command):
        return
    if bad:
        found.runs.setdefault(command, []).append(False)
    elif not _ERRORS.search(_NO_ERRORS.sub(" ", result)):
        found.runs.setdefault(command, []).append(True)
    else:
        found.runs.pop(command, None)  # the result of the command is unknown
    numbers = [int(match[1] or match[2]) for match in _PASSED.finditer(result)]
    numbers += map(int, _RAN.findall(result))
    if len(set(numbers)) == 1:
        found.counts.append((command, numbers[0]))
    found.lines += [
        (flat(path), int(number))
        for path, ending, number in _LINE.findall(result[:4_000])[:6]
        if ending in ENDINGS and int(number) > 1
    ]
