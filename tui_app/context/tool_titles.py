"""One-line titles of tool calls and notes on their results, for the tools of every program."""

import json
import re
from typing import Any, Literal

from tui_app.context.ledger.outcomes import report_counts
from tui_app.context.ledger.tools import PATCHES, name_parts, patched_files
from tui_app.text import cut
from tui_app.tool_specs import READ_FILE, TOOLS, EditorKind, Rows, Title, tool_spec

TELLING_ARGUMENTS = (
    "command", "pattern", "query", "file_path", "filePath", "path", "url", "description", "prompt",
)  # fmt: skip
"""Arguments that identify a call, best first."""
_PURPOSES = ("description", "prompt")
"""Arguments with the purpose of a call, used if no other identifies it."""


def work_of_name(tool: str) -> EditorKind | Literal[""]:
    """Return a tool's kind of work, by its name for another agent's tool; empty if unknown."""
    if (own := TOOLS.get(tool)) is not None:
        return own.editor
    if "__" in tool:  # of a server: its own naming
        return ""
    named = name_parts(tool)
    kinds: tuple[tuple[EditorKind, str], ...] = (
        ("think", "todo todos plan"),
        ("execute", "bash shell command cmd exec execute run terminal powershell"),
        ("search", "grep search find list ls glob rg diagnostics directory folder tree"),
        ("edit", "write create save edit replace patch insert update modify append delete remove"),
        ("read", "read view open cat show get load fetch"),
    )
    return next((kind for kind, words in kinds if named & {*words.split()}), "")


TITLE_CHARS = 100
"""Maximum characters of a title; a longer one is cut in its middle argument, never in its outcome."""
_ARG_CHARS = 60
_LOOKED_AT = 8_000
"""Characters of an argument that are read: it may be a whole file."""
_LONG_PATH = 32
"""Characters from which an absolute path is shortened to its end."""
_EXIT = re.compile(r"Exit code (-?\d+)")
_FAILED_COMMAND = re.compile(r"Exit code (?!0\b)-?\d+|Timed out after |Ended by signal ")


def call_title(name: str, args_json: str) -> str:
    """Return the title of a call: ``grep "sunday"``, ``read_file import.py 1-120``."""
    try:
        args = json.loads(args_json) if args_json.strip() else {}
    except (ValueError, RecursionError):
        args = None  # a call cut off while it was streamed
    detail = _patched(name, args_json if args is None else args)
    if not detail:
        detail = _detail(tool_spec(name).title, args) if isinstance(args, dict) else _plain(args_json)
    return cut(f"{_plain(name)} {detail}".strip(), TITLE_CHARS)


def result_note(name: str, result_text: str, outcome: str = "success") -> str:
    """Return a note on a result: ``3 hits``, ``120 lines``, ``failed``."""
    if outcome != "success":
        return _FAILED.get(outcome, outcome)
    if result_text.startswith("[picture ") and name == READ_FILE.name:
        return "picture"
    return _counted(tool_spec(name).result, result_text)


def command_failed(name: str, result_text: str) -> bool:
    """Whether a command failed, by the first line of its result."""
    return tool_spec(name).result == "exit code" and _FAILED_COMMAND.match(result_text) is not None


_FAILED = {"error": "failed", "denied": "denied", "interrupted": "interrupted"}


def _detail(title: Title | None, args: dict[str, Any]) -> str:
    if title is None:
        # Arguments that identify calls of any agent's tools, or else all that are not switches.
        known = {
            name: args[name] for name in TELLING_ARGUMENTS if isinstance(args.get(name), str) and args[name]
        }
        others = [value for value in args.values() if not (value is None or isinstance(value, bool))]
        objects = [value for name, value in known.items() if name not in _PURPOSES][:2]
        return " ".join(_plain(_short_path(value)) for value in objects or [*known.values()][:1] or others)
    if title.progress:
        return _progress(args.get(title.argument))
    shown = _plain(args.get(title.argument, title.default))
    place = _plain(args.get(title.place, ".")) if title.place else ""
    return (
        (f'"{shown}"' if title.quoted else shown)
        + ("" if place in (".", "") else f" in {place}")
        + (_range(args) if title.paged else "")
    )


def _patched(name: str, args: Any) -> str:
    """Return the files of a patch, whose text is no title; empty for every other call."""
    if not name_parts(name) & PATCHES:
        return ""
    files = dict.fromkeys(use.path for use in patched_files(args if isinstance(args, dict) else {"": args}))
    return ", ".join(_plain(_short_path(path)) for path in files)


def _progress(items: object) -> str:
    """Return the progress of a todo list, and the next item: ``1 of 3 · use it``."""
    known = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    left = [item for item in known if item.get("state") != "done"]
    following = next((item for item in left if item.get("state") == "doing"), left[0] if left else {})
    text = _plain(str(following.get("text", "")))
    return f"{len(known) - len(left)} of {len(known)}" + (f" · {text}" if text else "")


def _short_path(value: Any) -> Any:
    """Return the end of a long absolute path, which distinguishes files."""
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
                # A tool of the same name in another program, with rows in another format.
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
    """Return how a command ended, by the first line of its result."""
    first, _, rest = text.partition("\n")
    code = _EXIT.match(first)
    if code is None:
        return _plain(first.partition(" and ")[0].rstrip("."))
    counts = report_counts(rest)
    if counts is not None and counts.is_bad and code[1] != "0":
        return f"{counts.failed + counts.errors:,} failed"
    if counts is not None and counts.passed and not counts.is_bad and code[1] == "0":
        return f"{counts.passed:,} passed"
    return _number(len(rest.splitlines()), "line") if code[1] == "0" else f"exit {code[1]}"


def _rows(text: str) -> list[str]:
    return [row for row in text.splitlines() if row and not row.startswith("[")]


def _number(count: int, unit: str, more: bool = False, plural: str = "") -> str:
    word = unit if count == 1 and not more else plural or f"{unit}s"
    return f"{count:,}{'+' if more else ''} {word}"


def _plain(value: object) -> str:
    """Return one printable line of any argument; long and nested ones are cut first."""
    text = value if isinstance(value, str) else repr(value)
    # Collapse blanks before cutting: many of them must not push the rest of a command out of sight.
    words = " ".join(text[:_LOOKED_AT].split())
    if len(text) > _LOOKED_AT:
        words += " …"
    return cut("".join(char if char.isprintable() else "·" for char in words), _ARG_CHARS)
