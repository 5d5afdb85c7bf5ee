"""What single tool calls did to files."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

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
    """One tool call with its answer."""

    tool: str
    args: Mapping[str, Any]
    result: str
    outcome: str


def is_shell(call: Call) -> bool:
    """Whether the call ran a command line."""
    return call.tool.lower() in {"bash", "shell", "run_command", "execute_bash", "terminal", "exec"}


def shell_line(call: Call) -> str:
    """The command line."""
    return str(call.args.get("command") or call.args.get("cmd") or "")


def deeds_of(call: Call) -> Iterator[tuple[str, str]]:
    """Yield path and verb for every file a call has changed or read."""
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
        # An error stream that goes to a file is a log, and ``2>&1`` none at all.
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
