"""Outcomes of calls, from exit codes and the report formats of test runners, compilers and linters."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from tui_app.context.ledger.effects import prints_failures
from tui_app.context.ledger.tools import Command, FileUse, HandleUse, Operation
from tui_app.context.shell_line import SimpleCommand, hides_failure, simple_commands
from tui_app.context.user_text import is_barred
from tui_app.records import frozen
from tui_app.text import cut, words

EDGE = 6_000
"""Characters read at each end of an output: totals and errors are at the top or at the bottom."""
MOST_LINES = 2
_LONGEST_LINE = 200


@frozen
class Counts:
    """Numbers in a test report."""

    passed: int = 0
    failed: int = 0
    errors: int = 0

    @property
    def is_bad(self) -> bool:
        return self.failed > 0 or self.errors > 0

    def describe(self) -> str:
        """Format as in ``3 failed, 12 passed``."""
        counts = ((self.failed, "failed"), (self.errors, "errors"), (self.passed, "passed"))
        return ", ".join(
            f"{number:,} {word.rstrip('s') if number == 1 else word}" for number, word in counts if number
        )


DECLINED = frozenset({"refused", "barred"})
"""States of a call that did not run: declined by the user, or barred by a rule, a mode, a guard or a hook."""
_PHRASES = {"refused": "you refused", "barred": "not allowed"}


@frozen
class Outcome:
    """The end of one call."""

    state: str = ""
    """``ok``, ``failed``, ``refused``, ``barred``, ``cut``, ``running``, or empty if unknown."""
    exit: int | None = None
    counts: Counts | None = None
    lines: tuple[str, ...] = ()
    """The most informative lines of a failed call's output; not masked yet."""
    handle: str = ""
    """Id of a background command."""

    @property
    def ok(self) -> bool:
        return self.state == "ok"

    def describe(self) -> str:
        """Format as in ``exit 2, 3 failed``."""
        parts = [f"exit {self.exit}"] if self.exit else []
        parts += [self.counts.describe()] if self.counts and self.counts.describe() else []
        if not parts:
            parts = [_PHRASES.get(self.state, self.state)]
        return ", ".join(filter(None, parts))


def _counted(found: Counter[str]) -> Counts:
    """Build counts by kind; what a total leaves over has passed."""
    left = found["total"] - found["failed"] - found["errors"] - found["skipped"]
    return Counts(found["passed"] or max(0, left), found["failed"], found["errors"] + found["remaining"])


def _summed(matches: list[re.Match[str]]) -> Counts:
    """Add up the named groups of all matches, or the numbers of their words."""
    found = Counter[str]()
    for match in matches:
        groups = {name: int(number or 0) for name, number in match.groupdict().items()}
        found.update(groups or _counts_in(match[0]))
    return _counted(found)


def _each(matches: list[re.Match[str]]) -> Counts:
    """Count one test per line; without tests, the failed packages."""
    each = Counter(match.lastgroup for match in matches)
    return Counts(each["passed"], each["failed"] or each["package"])


_Reader = Callable[[list[re.Match[str]]], Counts]


def _form(name: str, pattern: str, read: _Reader = _summed) -> tuple[str, re.Pattern[str], _Reader]:
    return name, re.compile(pattern, re.MULTILINE), read


_N = r"\d{1,7}"
FORMS = (
    _form("pytest", r"^(?:=+ )?(?:\d+ (?:(?:subtests )?(?:passed|failed)|errors?|skipped|deselected|xfailed"
          r"|xpassed|warnings?|rerun)(?:, )?)+ in [\d.:]+ ?s.*$"),
    _form("unittest", rf"^Ran (?P<total>{_N}) tests? in [\d.]+s\n+(?:OK|FAILED)(?: \((?:failures="
          rf"(?P<failed>{_N}))?(?:, )?(?:errors=(?P<errors>{_N}))?(?:, )?"
          rf"(?:skipped=(?P<skipped>{_N}))?[^)]*\))?"),
    _form("cargo", rf"^test result: \w+\. (?P<passed>{_N}) passed; (?P<failed>{_N}) failed;"),
    _form("jest", rf"^Tests: +(?:(?P<failed>{_N}) failed, )?(?:{_N} \w+, )*?(?:(?P<passed>{_N}) passed, )?"
          rf"{_N} total"),
    _form("vitest", rf"^ *Tests +(?:(?P<failed>{_N}) failed)?(?: \| )?(?:(?P<passed>{_N}) passed)?(?: \|.*)? "
          r"\(\d+\)"),
    _form("mocha", rf"^ +(?P<passed>{_N}) passing(?: \([^)]*\))?(?:\n +{_N} pending)?"
          rf"(?:\n +(?P<failed>{_N}) failing)?"),
    _form("maven", rf"^(?:\[\w+\] )*Tests run: (?P<total>{_N}), Failures: (?P<failed>{_N}), Errors: "
          rf"(?P<errors>{_N}), Skipped: (?P<skipped>{_N})$"),
    _form("dotnet", rf"^ *(?:Passed|Failed)! +- Failed: +(?P<failed>{_N}), Passed: +(?P<passed>{_N})"),
    _form("ctest", rf"^\d+% tests passed, (?P<failed>{_N}) tests? failed out of (?P<total>{_N})"),
    _form("phpunit", rf"^(?:OK \((?P<total>{_N}) tests?|Tests: {_N}, Assertions: {_N}(?:, Errors: "
          rf"(?P<errors>{_N}))?(?:, Failures: (?P<failed>{_N}))?)"),
    _form("go, tap", r"^(?:(?P<failed>--- FAIL: |not ok \d)|(?P<passed>--- PASS: |ok \d)"
          r"|(?P<package>FAIL[\t ]+\S+[\t ])|ok[\t ]+\S*\w\S*[\t ]).*$", _each),
    _form("node", rf"^[#ℹ] pass (?P<passed>{_N})\n[#ℹ] fail (?P<failed>{_N})"),
    _form("googletest", rf"^\[  PASSED  \] (?P<passed>{_N}) tests?\.(?:\n\[  FAILED  \] (?P<failed>{_N}) )?"),
    _form("flutter", rf"^[\d:]+ \+(?P<passed>{_N})(?: -(?P<failed>{_N}))?: \D+$", lambda m: _summed(m[-1:])),
    _form("eslint", rf"^✖ {_N} problems? \((?P<errors>{_N}) errors?,"),
    _form("linters", rf"^Found (?:(?P<errors>{_N}) errors?|{_N} errors? \(\d+ fixed, (?P<remaining>{_N}) "
          r"remaining\))(?: in (?:\d+ files?|the same file, starting at: .+|\S+:\d+)(?: \([^()\n]*\))?)?\.?$"
          r"(?=(?:\n.*){0,12}\Z)"),
    _form("tsc", r"^.{1,300}\berror TS\d{1,6}:", lambda matches: Counts(errors=len(matches))),
)  # fmt: skip
"""By test runner. The words are those of its own report."""
_WORD = (r"(?:pass|succe|fail|err|skip|ignor|pend|cancel|todo|total|tests?\b|runs?\b|examples?\b|doctests?\b"
         r"|assert|warn|info|broken|flaky|notrun|inconcl|complete|unexpected)[a-z()]*")  # fmt: skip
_FIRST = rf"{_N} (?:out of {_N} )?{_WORD}(?: {_WORD})?"
_PAIR = rf"(?:{_FIRST}|{_WORD}(?: {_WORD})?:? {{1,12}}{_N})"
_COUNT = re.compile(f"(?i){_PAIR}")
_SUM = re.compile(rf"(?i)(?!assert)(?:(?:.{{0,60}}?[:|\[\]]|executed)??\W{{0,8}}?"
                  rf"(?P<all>{_PAIR}(?:[ ,;|/.]{{1,4}}(?:with )?{_PAIR})+)|(?:# |all )?(?P<one>{_FIRST}))"
                  r"\W{0,8}(?:\(.{0,60}|in \d.{0,60}|duration.{0,20}|[\d.]+ ?m?s\w*)?\W{0,8}")  # fmt: skip
"""A line that consists only of counts, as any runner may end with."""
_RULES = " \t│║=-─━*#"
"""Rules that runners draw around such a line."""
_KINDS = re.compile(r"(?i)(?P<failed>fail)|(?P<errors>err)|(?P<passed>pass|succ)|(?P<skipped>skip|ignor|pend)"
                    r"|(?P<total>test|total|run|example)")  # fmt: skip


def report_counts(output: str) -> Counts | None:
    """Return the counts in an output's report, by the format that matches last; None without a report."""
    text = edges(output)
    best: tuple[int, Counts] | None = None
    for _, pattern, read in FORMS:
        matches = list(pattern.finditer(text))
        if matches and (best is None or matches[-1].end() > best[0]):
            best = matches[-1].end(), read(matches)
    return best[1] if best else _sum(text.splitlines()[-60:])


def _counts_in(line: str) -> dict[str, int]:
    """Return the numbers in a line by kind."""
    counts = [(re.findall(_N, count)[0], [*_KINDS.finditer(count)]) for count in _COUNT.findall(line)]
    return {kinds[-1].lastgroup or "": int(number) for number, kinds in counts if kinds}


def _sum(lines: Sequence[str]) -> Counts | None:
    """Return the counts in lines that consist only of counts, the last of each kind.

    From the end, the first such line has to be among the last five if it has a single count.
    """
    found: dict[str, int] = {}
    for after, line in enumerate(reversed(lines)):
        match = _SUM.fullmatch(line.strip(_RULES))
        if match and (match["all"] or found or after < 5):
            found = {**_counts_in(match["all"] or match["one"]), **found}
    return _counted(Counter(found)) if found.keys() & {"passed", "failed", "errors"} else None


_EXIT = re.compile(
    r"(?i)[\[<(]?(?:error: )?(?:(?:the )?(?:command|process)\b.{0,200}? |shellid: \S{1,60} )?"
    r"(?:(?:completed|finished|exited|ended|executed|failed) with )?"
    r"(?:exit[ _]?(?:code|status)|return[ _]?code|code)[ :=]{1,3}(-?\d{1,10})"
    r"(?: after [\d.]{1,12} s)?[.\])>]{0,3}"
    r"|\S{1,40} exit (-?\d{1,10}), \d+ s\b.*|<exit_code>(-?\d{1,10})</exit_code>"
)
"""A line of the frame that a program puts around an output."""
_FRAME = re.compile(r"[\[<(].{1,300}[\])>]|[A-Z][\w ]{1,30}: .{0,300}")
"""Other lines of such frames, before an output or at its end."""
_FRAME_LINES = 8
_FRAME_SIZE = 2_000
_MAKE = re.compile(r"(?m)^make(?:\[\d+\])?: \*\*\* .*Error (\d{1,3})$")
_SIGNAL = re.compile(r"(?m)\A(?:Timed out after |Ended by signal |Command timed out after )")
_CUT = re.compile(
    r"(?i)\W?(?:request interrupted by user(?: for tool use)?|(?:the )?command (?:was )?aborted"
    r"(?: by user)?|operation aborted|<tool_use_error>sibling tool call errored</tool_use_error)\W?\s*"
)
_REFUSED = re.compile(
    r"(?s)(?:The user doesn['\u2019]t want to (?:proceed with this tool use|take this action right now)\."
    r"(?: (?:The tool use was rejected \(|STOP what you are doing |To tell you how to proceed, ).*)?"
    r"|Claude requested permissions to [^\n]{1,500}, but you haven['\u2019]t granted (?:it|them) yet\."
    r"|Not run: the user(?:'s preTool hook \S+)? declined this call\b.*|Declined by the user\.)"
)
"""Complete results by which programs report a refusal."""
_FAILED_START = re.compile(
    r"(?i)\A\s*(?:<tool_use_error>|\{\s{0,4}\"error\"(?!\s?:\s?(?:null|false|\"\"))"
    r"|(?:fatal |internal |tool )?error\s{0,2}[:(\n](?! ?\(none\))"
    r"|traceback \(most|no replacement was|string to replace not found|(?-i:E[A-Z]{3,12}): "
    r"|apply_patch verification failed|file already exists at|no edit history|invalid `\w+` param)"
)
_BROKEN = re.compile(
    r"(?m)^(?:E   |FAILED |FAIL\b|--- FAIL|Result: FAIL\b|error(?:\[\w{1,12}\])?:|ERROR:"
    r"|Error:(?! \(none\)$)|fatal:|npm ERR!|npm error|make(?:\[\d\])?: \*\*\*|panic:"
    r"|Traceback \(most recent|.{0,200}: error(?: TS\d+)?:"
    r"|✗ |BUILD FAILED|BUILD FAILURE|.{0,80}: command not found$|[A-Z]\w{2,40} {2,}Traceback \(most recent)"
)
"""Line beginnings that compilers and runners print for failures only."""
_GIT_BROKEN = re.compile(r"(?m)^(?:fatal|error): |^CONFLICT \(")
"""The same for git, which also shows lines of other programs."""
_HANDLE = re.compile(
    r"(?i)\W{0,3}(?:(?:the |your )?(?:command|process|terminal|shell)\b[^\n]{0,60}?\b(?:running|started|moved"
    r"|backgrounded)\b|(?:runs|running|started|moved) (?:in|to) (?:the )?(?=background|terminal)"
    r"|background (?=pid))[^\n]{0,60}?(?:\b(?:shell|session|task|process|terminal)?[ _-]?(?:id|pids?)"
    r"[:=# ]{1,3}|\bbackground as |\bin terminal (?=\d))[`\"']?(\w[\w-]{0,60})"
)
"""A line of a frame that reports a running command, with its handle."""
_STILL = re.compile(
    r"(?i)<status>running</status>|\bstatus\"?: \"?running\b|\bstill running\b|^\S+ running\b"
)
_ENDED_BADLY = re.compile(r"(?i)<status>(?:failed|killed)</status>")
_TASK_OVER = re.compile(r"\S{1,40} (?:was stopped|stopped|had ended|ended|no longer running|exit \d)")
"""Wording of our own tool."""
_OVER = re.compile(r"(?i)<status>(?:completed|failed|killed)</status>|\bstatus\"?: \"?(?:completed|exited)\b")


def outcome_of(operation: Operation | None, result: str, state: str) -> Outcome:
    """Determine how a call ended.

    Args:
        operation: What the call did; None if unknown.
        result: Its result.
        state: The outcome that the program itself recorded: ``success``, ``failed``, ``retried``, ``denied``,
            ``interrupted``, or empty.
    """
    whole = result.strip()
    # Text that was read or printed may contain the same words: a recorded success was not declined.
    speaks = state != "success" or (isinstance(operation, FileUse) and operation.verb != "read")
    if state == "denied" or (speaks and _REFUSED.fullmatch(whole)):
        return Outcome("barred" if is_barred(whole) else "refused")
    if state == "interrupted" or _CUT.fullmatch(whole):
        return Outcome("cut")
    failed = state in {"failed", "retried", "error"}
    if isinstance(operation, HandleUse):
        code, counts = exit_code(result), report_counts(result)
        ended_badly = _ENDED_BADLY.search(result) is not None
        bad = failed or bool(code) or (counts is not None and counts.is_bad) or ended_badly
        return Outcome("failed" if bad else "ok", code, counts, tuple(error_lines(result)) if bad else ())
    if not isinstance(operation, Command):
        bad = failed or _FAILED_START.match(result[:300]) is not None
        return Outcome("failed", lines=tuple(error_lines(result))) if bad else Outcome("ok")
    code, counts = exit_code(result), report_counts(result)
    handle = background_handle(result)
    goes_on = any(each.left for each in simple_commands(operation.line)[-1:])
    left = (operation.background or goes_on) and not (code or _TASK_OVER.match(result))
    if not failed and (handle or left):
        return Outcome("running", handle=handle)
    return _ended(operation.line, result, code, counts, failed=failed)


def _ended(line: str, result: str, code: int | None, counts: Counts | None, *, failed: bool) -> Outcome:
    commands, text = simple_commands(line), edges(result)
    last = commands[-1].program if commands else ""
    # "Nothing found" is a valid answer.
    quiet = code in {1, None} and last in _QUIET_ONE and not any(map(_telling, _lines(result)))
    bad = (failed or (code or 0) != 0 or _SIGNAL.match(result) is not None) and not quiet
    # Output of a read-only program is the report of another run.
    shows = LOOKERS | {"git"}
    looks = bool(commands) and all(each.program in shows for each in commands if each.joint != "|")
    if counts is not None:
        bad = bad or (counts.is_bad and not looks)
    elif code is None or hides_failure(line):
        bad = bad or _complains(commands, text) or (not looks and _BROKEN.search(text) is not None)
    if made := _MAKE.search(text):
        code = code or int(made[1])
    if bad:
        return Outcome("failed", code, counts, tuple(error_lines(result)))
    # Without evidence, a missing failure does not mean success.
    answers = LOOKERS | _QUIET_ONE
    proof = (
        counts
        or (quiet and code)
        or all(each.program in answers or prints_failures(each.words) for each in _hidden(commands))
    )
    return Outcome("ok" if proof else "", code, counts)


def _hidden(commands: Sequence[SimpleCommand]) -> Iterator[SimpleCommand]:
    """Yield the commands of a line whose failure the line's own exit code can hide."""
    covered, next_joint = False, ""
    for command in reversed(commands):
        covered = covered or next_joint in {";", "||", "&"}
        if covered or command.nested or next_joint == "|":
            yield command
        next_joint = command.joint


def _complains(commands: Sequence[SimpleCommand], text: str) -> bool:
    """Whether a program that prefixes its errors with its name did so."""
    # ``mkdir -v`` reports created folders in the same form.
    names = {re.escape(each.program) for each in commands if prints_failures(each.words)} - {"", "mkdir"}
    pattern = rf"(?m)^(?:\S{{0,40}}sh: (?:line \d{{1,5}}: )?)?(?:{'|'.join(sorted(names))}): \S"
    git = any(each.program == "git" for each in commands) and _GIT_BROKEN.search(text)
    return bool(git or (names and re.search(pattern, text)))


def handle_state(result: str) -> str:
    """Return ``running`` or ``over`` as a result about a background command states; empty if it does not."""
    start = result[:2_000]
    still = background_handle(result) or _STILL.search(start)
    if _OVER.search(start) or (not still and exit_code(result) is not None) or _TASK_OVER.match(start):
        return "over"
    return "running" if still else ""


_QUIET_ONE = words("grep rg egrep diff test [ [[ cmp which pgrep git")
"""Programs whose exit code 1 without output is an answer, not an error."""
LOOKERS = words(
    "ls cat head tail grep rg egrep find sed awk wc tree pwd echo which file stat du df date whoami "
    "sleep jq sort cd env printenv view less true type command printf basename dirname realpath nl "
    "cut tr uniq column diff cmp od xxd hexdump ps"
)
"""Read-only programs: their runs are not carried over, and their output may be text from elsewhere."""


def exit_code(result: str) -> int | None:
    """Return the exit code stated in the frame of an output."""
    if result.startswith("{"):
        return _recorded_exit(result)
    head, tail = _frame(result)
    found = (match for line in (*tail, *head) if (match := _EXIT.fullmatch(line)))
    stated = next((int(match[match.lastindex or 1]) for match in found), None)
    # A script prints the result of the command that it ran.
    return stated if stated is not None else _recorded_exit(result.rstrip().rpartition("\n")[2])


def background_handle(result: str) -> str:
    """Return the handle of a running command from the frame of an output; empty if it has none."""
    head, tail = _frame(result)
    found = (match for line in (*head, *tail) if (match := _HANDLE.match(line)))
    return next((match[1] for match in found), "")


def _frame(result: str) -> tuple[list[str], list[str]]:
    """Return the frame lines before an output, and those at its end, last one first."""
    first = result[:_FRAME_SIZE].strip().splitlines()[:_FRAME_LINES]
    last = result[-_FRAME_SIZE:].strip().splitlines()[-_FRAME_LINES:]
    return _framing(first), _framing(last[::-1])


def _framing(lines: Sequence[str]) -> list[str]:
    """Return the lines at an edge up to the first that may be output."""
    inside = next((at for at, line in enumerate(lines) if not _FRAME.fullmatch(line.strip())), len(lines))
    return [line.strip() for line in lines[: inside + 1]]


def _recorded_exit(result: str) -> int | None:
    """Return the exit code of an output that is recorded as JSON."""
    try:
        data = json.loads(result) if result.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not data.keys() & {"output", "stdout"}:
        return None
    places = (data.get("metadata"), data)
    codes = (place.get("exit_code") for place in places if isinstance(place, dict))
    return next((code for code in codes if isinstance(code, int)), None)


_ERROR_FORMS = (
    re.compile(
        r"^E {1,3}\S|^(?:FAILED|ERROR) \S|^--- FAIL|^FAIL\b\S*\s\S|^error(?:\[\w{1,12}\])?: |\berror TS\d"
    ),
    re.compile(r"^[\w.]*(?:Error|Exception|Failure|Panic)\b\s{0,2}[:(]|^(?:fatal|panic|Error|ERROR)\b:?"),
    re.compile(r"^[^\s:]{1,200}:\d{1,6}(?::\d{1,6})?:? \S|^CONFLICT|\bERR!|^\S{1,60}: .{0,120}: \S"),
)
"""Forms of error lines, most informative first."""
_EMPTY_LINE = re.compile(
    r"(?i)^(?:\(?no output\)?|[\w ]{1,30}: \(none\)"
    r"|\[?(?:error: |(?:the )?command |completed with |process ){0,3}exit(?:ed)?"
    r"(?: with)?(?: code| status)?[ :]{0,2}-?\d{1,6}\.?\]?"
    r"|std(?:err|out):?|output:?|</?[\w-]+>|\W{0,80}|make(?:\[\d+\])?: .*|At line:\d+.*)$"
)


def error_lines(result: str, most: int = MOST_LINES) -> list[str]:
    """Return the lines that show what went wrong, most informative first; empty if there are none."""
    lines = [line for line in _lines(result) if _telling(line)]
    for form in _ERROR_FORMS:
        if found := [line for line in lines if form.search(line[:400])]:
            if "Traceback (most recent call last)" in result:
                found.reverse()
            return list(dict.fromkeys(found))[:most]
    return lines[-1:] if lines else []


def _telling(line: str) -> bool:
    return _EMPTY_LINE.match(line) is None


_LABEL = re.compile(r"(?i)^(?:error|fatal|failed|failure):$")
"""A line that only introduces the next one."""


def _lines(result: str) -> Iterator[str]:
    label = ""
    for line in edges(result).splitlines():
        flat = " ".join(line.replace("<tool_use_error>", "").replace("</tool_use_error>", "").split())
        if _LABEL.match(flat):
            label = flat
            continue
        flat, label = f"{label} {flat}".strip(), ""
        yield cut(flat, _LONGEST_LINE)


_COLOUR = re.compile(r"\x1b\[[\d;]{0,20}m")


def edges(text: str) -> str:
    """Return the beginning and the end of a long text, without terminal colors."""
    text = text if len(text) <= 2 * EDGE else f"{text[:EDGE]}\n{text[-EDGE:]}"
    return _COLOUR.sub("", text)
