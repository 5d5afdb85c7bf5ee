"""Whether a tool call really worked, and which line of its output says why not."""

import re
from collections.abc import Iterator

from tui_app.context.fact_extractors.language import one_line
from tui_app.context.fact_extractors.reading import Action, first_text
from tui_app.context.fact_extractors.shell import last_program_of, program_of
from tui_app.context.fact_extractors.words import words

EDGE = 6_000
"""Characters read at each end of an output: errors stand at the top or at the bottom."""
COMMAND_NAMES = ("command", "cmd", "CommandLine", "script", "bash_command", "shell_command", "code")

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
_CHANGES = re.compile(
    r"(?i)edit|writ|replace|patch|insert|update|modify|append|create|save|delete|remove|move"
)
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
    name = action.tool.lower()
    if not any(word in name for word in ("bash", "shell", "command", "exec", "run", "terminal", "execute")):
        return ""
    argv = action.args.get("command")
    if isinstance(argv, list) and argv and all(isinstance(word, str) for word in argv):
        return str(argv[-1]) if len(argv) == 3 and argv[1] in {"-c", "-lc"} else " ".join(argv)
    return first_text(action.args, COMMAND_NAMES)


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
    return bool(_FAILED_START.match(said)) or bool(
        _CHANGES.search(action.tool) and _NOT_CHANGED.search(first)
    )


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
