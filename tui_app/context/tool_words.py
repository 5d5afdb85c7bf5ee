"""Words of tools: what those of other agents are called and do, and one line for a call and its result."""

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from tui_app.context.user_text import words
from tui_app.tool_specs import EDIT_FILE, READ_FILE, TOOLS, WRITE_FILE, BodyKind, Rows, Title, tool_spec

# Arguments.

TELLING_ARGUMENTS = (
    "command", "pattern", "query", "file_path", "filePath", "path", "url", "description", "prompt",
)  # fmt: skip
"""What a call is known by, the most telling first."""
COMMAND_ARGUMENTS = ("command", "cmd", "CommandLine", "script", "bash_command", "shell_command", "code")
PATH_ARGUMENTS = (
    "file_path", "filePath", "path", "filepath", "filename", "file_name", "notebook_path", "target_file",
    "TargetFile", "relative_path", "absolute_path", "AbsolutePath", "file", "relative_workspace_path", "uri",
)  # fmt: skip
SOURCE_ARGUMENTS = ("source", "src", "from", "old_path", "source_path", "oldPath")
"""Where a file is moved from."""
TARGET_ARGUMENTS = ("destination", "dest", "target", "to", "new_path", "destination_path", "newPath")
NEW_TEXT_ARGUMENTS = (
    "new_string", "newText", "new_text", "new_str", "newString", "replacement", "code_edit",
)  # fmt: skip
OLD_TEXT_ARGUMENTS = ("old_string", "oldText", "old_text", "old_str", "oldString")
EDIT_LIST_ARGUMENTS = ("edits", "changes", "replacements")
TASK_LIST_ARGUMENTS = ("todos", "plan", "todoList", "todo_list", "tasks", "items", "steps")

# What a tool does, by the words of its name.

TASK_WORDS = ("todo", "plan", "task")
PATCH_WORD = "patch"
_COMMAND_WORDS = ("bash", "shell", "command", "exec", "run", "terminal", "execute")
_CHANGES = re.compile(
    r"(?i)edit|writ|replace|patch|insert|update|modify|append|create|save|delete|remove|move"
)
MOVES = re.compile(r"(?i)move|rename")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SEARCHES = words(
    "grep search find list ls glob rg diagnostics directory folder tree todo todos plan screenshot image"
)
_VERBS = (
    ("deleted", words("delete remove rm unlink")),
    ("written", words("write create save put overwrite")),
    (
        "edited",
        words("edit replace patch multiedit insert update modify append change strreplace rewrite"),
    ),
    ("read", words("read view open cat show get fetch load")),
)
SUBCOMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "view": "read", "read": "read", "create": "created", "write": "written", "str_replace": "edited",
        "insert": "edited", "edit": "edited", "append": "edited", "undo_edit": "edited", "delete": "deleted",
    }
)  # fmt: skip
"""What an editor of many commands does to the file, by its command."""


def runs_commands(tool: str) -> bool:
    """Whether a tool runs command lines."""
    if (own := TOOLS.get(tool)) is not None:
        return own.rule == "command"
    name = tool.lower()
    return any(word in name for word in _COMMAND_WORDS)


def changes_files(tool: str) -> bool:
    """Whether a tool changes files."""
    if (own := TOOLS.get(tool)) is not None:
        return own.verb in ("written", "edited")
    return bool(_CHANGES.search(tool))


def verb_of_name(tool: str) -> str:
    """What a tool does to the file that it names; empty where that is not to be told, or it only searches."""
    if (own := TOOLS.get(tool)) is not None:
        return own.verb
    parts = {word.lower() for word in _WORD.findall(tool.rsplit("__", 1)[-1])}
    if parts & _SEARCHES:
        return ""
    return next((verb for verb, names in _VERBS if parts & names), "")


def work_of_name(tool: str) -> str:
    """The kind of work of a tool, by its name where it is another agent's; empty where that is unknown."""
    if (own := TOOLS.get(tool)) is not None:
        return own.editor
    parts = {word.lower() for word in _WORD.findall(tool)}
    if "__" in tool:  # of a server: its own words
        return ""
    if parts & {"todo", "todos", "plan"}:
        return "think"
    if runs_commands(tool):
        return "execute"
    if parts & _SEARCHES:
        return "search"
    verb = verb_of_name(tool)
    return "edit" if verb and verb != "read" else verb


# Which arguments hold text that is in a file afterwards.

FILE_ARGUMENTS = (WRITE_FILE.body_argument, "contents", "file_text")
PIECE_ARGUMENTS = (
    EDIT_FILE.body_argument, "new_string", "new_str", "newText", "newString", "insert_text", "replacement",
)  # fmt: skip
PIECE_LIST_ARGUMENT = "edits"
PATCH_ARGUMENTS = ("patch", "input", "patch_text", "patchText", "diff")
_BODIES: Mapping[str, BodyKind | Literal["patch", "by command", ""]] = MappingProxyType(
    {
        **{spec.name: spec.body for spec in TOOLS.values() if spec.body is not None},
        **dict.fromkeys(("create_file", "write", "create", "write_to_file"), "file"),
        **dict.fromkeys(
            ("edit", "multiedit", "multi_edit", "str_replace", "search_replace", "replace"), "piece"
        ),
        **dict.fromkeys(("apply_patch", "applypatch"), "patch"),
        **dict.fromkeys(("str_replace_editor", "str_replace_based_edit_tool"), "by command"),
    }
)


def body_kind(tool: str, command: object) -> BodyKind | Literal["patch", ""]:
    """What a call writes to its file; empty for tools that write none.

    Args:
        tool: Its name.
        command: Its argument ``command``, which an editor of many commands has.
    """
    kind = _BODIES.get(tool.rsplit("__", 1)[-1].lower(), "")
    if kind == "by command":
        return "file" if command == "create" else "piece"
    return kind


TITLE_CHARS = 100
"""Characters of a title; a longer one is cut in its middle argument, never in its outcome."""
_ARG_CHARS = 60
_LOOKED_AT = 8_000
"""Characters of an argument that are looked at: it may be a whole file."""
_LONG_PATH = 32
"""Characters from which an absolute path is shortened to its end."""
_EXIT = re.compile(r"Exit code (-?\d+)")
_FAILED_COMMAND = re.compile(r"Exit code (?!0\b)-?\d+|Timed out after |Ended by signal ")


def call_title(name: str, args_json: str) -> str:
    """Say what a call asks for: ``grep "sunday"``, ``read_file import.py 1-120``."""
    try:
        args = json.loads(args_json) if args_json.strip() else {}
    except (ValueError, RecursionError):
        args = None  # a call cut off while it was streamed
    detail = _detail(tool_spec(name).title, args) if isinstance(args, dict) else _plain(args_json)
    return _cut(f"{_plain(name)} {detail}".strip(), TITLE_CHARS)


def result_note(name: str, result_text: str, outcome: str = "success") -> str:
    """Say what came of a call: ``3 hits``, ``120 lines``, ``failed``."""
    if outcome != "success":
        return _FAILED.get(outcome, outcome)
    if result_text.startswith("[picture ") and name == READ_FILE.name:
        return "picture"
    return _counted(tool_spec(name).result, result_text)


def command_failed(name: str, result_text: str) -> bool:
    """Whether a command that was run did not end well, by the first line of its result."""
    return tool_spec(name).result == "exit code" and _FAILED_COMMAND.match(result_text) is not None


_FAILED = {"error": "failed", "denied": "denied", "interrupted": "interrupted"}


def _detail(title: Title | None, args: dict[str, Any]) -> str:
    if title is None:
        # What every agent's tools are known by, else all that are not switches.
        known = [args[name] for name in TELLING_ARGUMENTS if isinstance(args.get(name), str) and args[name]]
        others = (value for value in args.values() if not (value is None or isinstance(value, bool)))
        return " ".join(_plain(_short_path(value)) for value in known[:2] or others)
    if title.progress:
        return _progress(args.get(title.argument))
    shown = _plain(args.get(title.argument, title.default))
    place = _plain(args.get(title.place, ".")) if title.place else ""
    return (
        (f'"{shown}"' if title.quoted else shown)
        + ("" if place in (".", "") else f" in {place}")
        + (_range(args) if title.paged else "")
    )


def _progress(items: object) -> str:
    """How far a list of things to do is, and what is next: ``1 of 3 · use it``."""
    known = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    left = [item for item in known if item.get("state") != "done"]
    following = next((item for item in left if item.get("state") == "doing"), left[0] if left else {})
    text = _plain(str(following.get("text", "")))
    return f"{len(known) - len(left)} of {len(known)}" + (f" · {text}" if text else "")


def _short_path(value: Any) -> Any:
    """The end of a long absolute path, which is what tells files apart."""
    if not isinstance(value, str) or not value.startswith("/") or len(value) < _LONG_PATH or " " in value:
        return value
    return f"…/{'/'.join(value.rsplit('/', 2)[-2:])}"


def _range(args: dict[str, Any]) -> str:
    start, count = args.get("start"), args.get("lines")
    if not isinstance(start, int) and not isinstance(count, int):
        return ""
    first = start if isinstance(start, int) else 1
    return f" {first}-{first + count - 1}" if isinstance(count, int) else f" {first}-"


def _counted(result: Rows | str, text: str) -> str:
    match result:
        case Rows(unit, row, more, plural):
            rows = re.findall(row, text, re.MULTILINE) if row else _rows(text)
            if not rows and _rows(text):
                # A tool of the same name in another program, whose rows look otherwise.
                return _number(len(text.splitlines()), "line")
            return _number(len(rows), unit, bool(more) and more in text, plural)
        case "exit code":
            return _ended(text)
        case "last words":
            return _plain(text.partition("\n")[0].rpartition(": ")[2])
        case "nothing":
            return ""
        case _:
            return _number(len(text.splitlines()), "line")


def _ended(text: str) -> str:
    """How a command ended, by the first line of its result."""
    first, _, rest = text.partition("\n")
    code = _EXIT.match(first)
    if code is None:
        return _plain(first.partition(" and ")[0].rstrip("."))
    if tests := _tests(rest, ended_well=code[1] == "0"):
        return tests
    return _number(len(rest.splitlines()), "line") if code[1] == "0" else f"exit {code[1]}"


_SUMMARY_ROWS = 6
"""Rows at the end of an output in which the sum of a test run stands."""
_COUNT = re.compile(r"\b(\d{1,7}) (passed|failed)\b")
_RAN = re.compile(r"Ran (\d{1,7}) tests? in ")
_BROKEN = re.compile(r"FAILED \((?:failures=(\d{1,7}))?(?:, )?(?:errors=(\d{1,7}))?")
_NOT_RUN = re.compile(r"\b(?:skipped|expected failures)=(\d{1,7})")
"""How Python's own unittest says it, in two rows."""


def _tests(output: str, *, ended_well: bool) -> str:
    """``1 failed`` or ``215 passed``, where an output ends with the sum of a test run; empty elsewhere."""
    rows = output.rstrip().splitlines()[-_SUMMARY_ROWS:]
    if ran := next(filter(None, map(_RAN.match, rows)), None):
        broken = next(filter(None, map(_BROKEN.match, rows)), None)
        failed = sum(int(number) for number in broken.groups(default="0")) if broken else 0
        if failed and not ended_well:
            return f"{failed:,} failed"
        passed = int(ran[1]) - sum(map(int, _NOT_RUN.findall(rows[-1])))
        return f"{passed:,} passed" if ended_well and rows[-1].startswith("OK") and passed > 0 else ""
    for row in reversed(rows):
        counts = {word: int(number) for number, word in _COUNT.findall(row)}
        failed, passed = counts.get("failed", 0), counts.get("passed", 0)
        if failed and not ended_well:
            return f"{failed:,} failed"
        if passed and ended_well and not failed:
            return f"{passed:,} passed"
    return ""


def _rows(text: str) -> list[str]:
    return [row for row in text.splitlines() if row and not row.startswith("[")]


def _number(count: int, unit: str, more: bool = False, plural: str = "") -> str:
    word = unit if count == 1 and not more else plural or f"{unit}s"
    return f"{count:,}{'+' if more else ''} {word}"


def _plain(value: object) -> str:
    """One printable line of any argument; long and nested ones are cut before they are looked at closely."""
    text = value if isinstance(value, str) else repr(value)
    # Blanks go before anything is cut: many of them must not push the rest of a command out of sight.
    words = " ".join(text[:_LOOKED_AT].split())
    if len(text) > _LOOKED_AT:
        words += " …"
    return _cut("".join(char if char.isprintable() else "·" for char in words), _ARG_CHARS)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"
