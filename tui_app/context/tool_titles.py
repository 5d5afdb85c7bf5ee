"""One line about a tool call and what came of it, for the transcript and the timeline."""

import json
import re
from typing import Any

TITLE_CHARS = 100
"""Characters of a title; a longer one is cut in its middle argument, never in its outcome."""
_ARG_CHARS = 60
_LOOKED_AT = 8_000
"""Characters of an argument that are looked at: it may be a whole file."""
_LONG_PATH = 32
"""Characters from which an absolute path is shortened to its end."""
_TELLING = ("command", "pattern", "query", "file_path", "filePath", "path", "url", "description", "prompt")
"""Argument names of common agents' tools, the most telling first."""
_HIT = re.compile(r"^[^\n]+?:\d+: ", re.MULTILINE)
_NUMBERED = re.compile(r"^\d+\t", re.MULTILINE)
_EXIT = re.compile(r"Exit code (-?\d+)")
_FAILED_COMMAND = re.compile(r"Exit code (?!0\b)-?\d+|Timed out after |Ended by signal ")
_MESSAGE = re.compile(r"^#\d+ \w+:", re.MULTILINE)


def call_title(name: str, args_json: str) -> str:
    """Say what a call asks for: ``grep "sunday"``, ``read_file import.py 1-120``."""
    args = _arguments(args_json)
    detail = _detail(name, args) if args is not None else _plain(args_json)
    return _cut(f"{_plain(name)} {detail}".strip(), TITLE_CHARS)


def result_note(name: str, result_text: str, outcome: str = "success") -> str:
    """Say what came of a call: ``3 hits``, ``120 lines``, ``failed``."""
    return _counted(name, result_text) if outcome == "success" else _FAILED.get(outcome, outcome)


def command_failed(name: str, result_text: str) -> bool:
    """Whether a command that was run did not end well, by the first line of its result."""
    return name == "run_command" and _FAILED_COMMAND.match(result_text) is not None


_FAILED = {"error": "failed", "denied": "denied", "interrupted": "interrupted"}


def _arguments(args_json: str) -> dict[str, Any] | None:
    if not args_json.strip():
        return {}
    try:
        args = json.loads(args_json)
    except (ValueError, RecursionError):
        return None  # a call cut off while it was streamed
    return args if isinstance(args, dict) else None


def _detail(name: str, args: dict[str, Any]) -> str:
    match name:
        case "read_file":
            return f"{_plain(args.get('path', ''))}{_range(args)}"
        case "grep":
            path = _plain(args.get("path", "."))
            return f'"{_plain(args.get("pattern", ""))}"' + ("" if path in (".", "") else f" in {path}")
        case "search_history":
            return f'"{_plain(args.get("query", ""))}"{_range(args)}'
        case "ls":
            return _plain(args.get("path", "."))
        case _:
            return " ".join(_plain(_short_path(value)) for value in _telling(args))


def _telling(args: dict[str, Any]) -> list[Any]:
    """The arguments worth a title: those every agent's tools are known by, else all that are not switches."""
    known = [args[name] for name in _TELLING if isinstance(args.get(name), str) and args[name]]
    return known[:2] or [
        value for value in args.values() if value is not None and not isinstance(value, bool)
    ]


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


def _counted(name: str, text: str) -> str:
    match name:
        case "grep":
            return _number(len(_HIT.findall(text)), "hit", "[more hits exist" in text)
        case "read_file":
            return _number(len(_NUMBERED.findall(text)), "line")
        case "run_command" | "todo" | "plan" | "write_file" | "edit_file":
            return _worked(name, text)
        case "search_history":
            return _number(len(_MESSAGE.findall(text)), "message")
        case "ls":
            return _number(_rows(text), "entry", plural="entries")
        case "glob":
            return _number(_rows(text), "file", "[only the first" in text)
        case _:
            return _number(len(text.splitlines()), "line")


def _worked(name: str, text: str) -> str:
    """What came of a tool that changes something."""
    match name:
        case "run_command":
            return _ended(text)
        case "todo":
            return _number(_rows(text), "item")
        case "plan":
            return ""
        case _:
            return _plain(text.partition("\n")[0].rpartition(": ")[2])


def _ended(text: str) -> str:
    """How a command ended, by the first line of its result."""
    first, _, rest = text.partition("\n")
    code = _EXIT.match(first)
    if code is None:
        return _plain(first.partition(" and ")[0].rstrip("."))
    return _number(len(rest.splitlines()), "line") if code[1] == "0" else f"exit {code[1]}"


def _rows(text: str) -> int:
    return sum(1 for row in text.splitlines() if row and not row.startswith("["))


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
