"""Operations of tool calls by any agent program: one table of how tools pass commands and paths."""

import json
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from operator import itemgetter
from typing import Any, Literal

from tui_app.context.shell_line import simple_commands
from tui_app.records import frozen
from tui_app.text import words
from tui_app.tool_specs import (
    ASK_USER,
    EDIT_FILE,
    PLAN,
    READ_FILE,
    RUN_COMMAND,
    TASKS,
    TODO,
    TOOLS,
    WRITE_FILE,
)

COMMAND_ARGUMENTS = ("command", "cmd", "CommandLine", "script", "bash_command", "shell_command")
CODE_ARGUMENTS = ("code", "input", "source", "script", "javascript")
PATH_ARGUMENTS = (
    "file_path", "filePath", "path", "filepath", "filename", "file_name", "notebook_path", "target_file",
    "TargetFile", "relative_path", "absolute_path", "AbsolutePath", "file", "relative_workspace_path", "uri",
    "pathInProject",
)  # fmt: skip
SOURCE_ARGUMENTS = ("source", "src", "from", "old_path", "source_path", "oldPath")
"""Source of a moved file."""
TARGET_ARGUMENTS = ("destination", "dest", "target", "to", "new_path", "destination_path", "newPath")
NEW_TEXT_ARGUMENTS = (
    "new_string", "newText", "new_text", "new_str", "newString", "replacement", "replace", "code_edit",
)  # fmt: skip
OLD_TEXT_ARGUMENTS = ("old_string", "oldText", "old_text", "old_str", "oldString")
TASK_LIST_ARGUMENTS = ("todos", "plan", "todoList", "todo_list", "task_list", "tasks", "items", "steps")
_TASK_TEXTS = ("content", "step", "title", "text", "subject", "description", "task", "name")
_STATE_ARGUMENTS = ("state", "status", "progress")
_HANDLE_ARGUMENTS = (
    "bash_id", "shell_id", "session_id", "sessionId", "shellId", "process_id", "handle", "id", "task_id",
    "taskId", "terminal_id", "CommandId",
)  # fmt: skip
_BACKGROUND_ARGUMENTS = ("background", "run_in_background", "is_background", "isBackground")
_FOLDER_ARGUMENTS = (
    "workdir", "cwd", "Cwd", "working_directory", "workingDirectory", "dir_path", "directory",
)  # fmt: skip
"""Folder of a command."""
FILE_ARGUMENTS = (WRITE_FILE.body_argument, "contents", "file_text")
"""Arguments with text that becomes a file."""

_COMMANDS = words("bash shell command cmd exec execute run terminal powershell pwsh process action")
_CODE = words("python ipython notebook cell code repl js javascript")
TASK_TOOLS = words("todo todos plan task tasks checklist todowrite")
_HANDLES = words("output kill stop stdin poll wait status")
_VERBS: tuple[tuple["FileVerb", frozenset[str]], ...] = (
    ("moved", words("move rename")),
    ("deleted", words("delete remove rm unlink")),
    ("written", words("write create save put overwrite")),
    (
        "edited",
        words("edit editor replace multiedit insert update modify append change strreplace rewrite apply"),
    ),
    ("read", words("read view open cat show get load")),
)
_LOOKS = words(
    "grep search find list ls glob rg diagnostics directory folder tree screenshot image fetch web "
    "browse browser think thought ask question agent task subagent delegate explore research skill "
    "finish memory todoread webfetch websearch codesearch history compact lookup docs "
    "definition references hover symbols intent lsp analyze"
)
_QUESTIONS = words(
    "askuser askuserquestion askfollowupquestion askquestion question requestuserinput exitplanmode "
    "presentplan planmoderespond"
)
"""Names, reduced to letters, of tools that the user answers; no tool of another server is one of them."""
_AS_ANY = frozenset(each.name for each in (READ_FILE, WRITE_FILE, EDIT_FILE, RUN_COMMAND, TODO, ASK_USER))
"""Our own tools that are read like any program's."""
PATCHES = words("patch diff")
"""Names of tools that apply a patch."""
_PATCHERS = words("apply_patch applypatch cd cat echo")
"""Programs of a shell line that are the patch, or print it."""
_NO_LETTER = re.compile(r"[^a-z]")
_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
SUBCOMMANDS: Mapping[str, "FileVerb"] = {
    "view": "read", "read": "read", "create": "created", "write": "written", "str_replace": "edited",
    "insert": "edited", "edit": "edited", "append": "edited", "undo_edit": "edited", "delete": "deleted",
}  # fmt: skip
"""What an editor with several commands does to the file, by command."""
_STATES: Mapping[str, "TaskState"] = {
    **dict.fromkeys(("completed", "complete", "done", "finished", "closed", "resolved"), "done"),
    **dict.fromkeys(("cancelled", "canceled", "deleted", "skipped", "dropped", "abandoned"), "dropped"),
    **dict.fromkeys(("in progress", "active", "doing", "started", "running", "working"), "in progress"),
}
"""Values of the state field of tasks."""
_BOXES: Mapping[str, "TaskState"] = {"x": "done", "X": "done", "~": "in progress", "-": "in progress"}
CHECKBOX = re.compile(r"(?m)^[ \t]{0,12}(?:[-*+] )?\[([ xX~-])\] (.{1,400})$")
_PATCH_LINE = re.compile(r"(?m)^\*\*\* (Add File|Update File|Delete File|Move to): (.{1,500})$")
_PATCH_VERBS: Mapping[str, "FileVerb"] = {
    "Add File": "created", "Update File": "edited", "Delete File": "deleted", "Move to": "created",
}  # fmt: skip
_DIFF_FILE = re.compile(r"(?m)^\+\+\+ (?:b/)?([^\t\n]{1,500})")
_POINTER = re.compile(r"(?s)\[Not repeated here: .{1,1200}?, beginning with: (.*)…\]")

FileVerb = Literal["created", "written", "edited", "deleted", "moved", "read"]
TaskState = Literal["open", "in progress", "done", "dropped"]
OPEN = frozenset[TaskState]({"open", "in progress"})


@frozen
class Command:
    """A shell line is run."""

    line: str
    background: bool = False
    folder: str = ""
    """Folder according to the call; empty if it has none."""


@frozen
class FileUse:
    """A file is changed or read."""

    path: str
    verb: FileVerb
    to: str = ""
    """Where it is moved to."""
    size: int = 0
    """Characters written."""
    digest: str = ""
    """Digest of all arguments: two calls with the same one are the same edit."""


@frozen
class TaskEntry:
    """One new task, or a new state of a known one."""

    text: str
    state: TaskState
    id: str = ""


@frozen
class TaskUpdate:
    """The whole list of tasks, or changes to single ones."""

    entries: tuple[TaskEntry, ...]
    whole: bool = True


@frozen
class HandleUse:
    """A background command is checked or stopped."""

    handle: str
    stops: bool = False


@frozen
class Question:
    """The user is asked, or shown a plan to accept."""

    text: str
    plan: bool = False


@frozen
class Look:
    """A lookup, search or thought that changes nothing."""


Operation = Command | FileUse | TaskUpdate | HandleUse | Question | Look


def operations(tool: str, args: Mapping[str, Any]) -> tuple[Operation, ...]:
    """Return what a call does, in order.

    Args:
        tool: The tool's name in any program.
        args: Its arguments.

    Returns:
        Nothing if the call is not understood: it may have done anything.
    """
    named = name_parts(tool)
    if own := _own_tool(tool, args):
        return own
    if (short := _NO_LETTER.sub("", tool.lower())) in _QUESTIONS:
        return (Question(_question(args), plan="plan" in short),)
    return tuple(_runs(named, args)) or tuple(_others(named, args))


def _runs(named: frozenset[str], args: Mapping[str, Any]) -> Iterator[Operation]:
    if (code := first_text(args, CODE_ARGUMENTS)) and "tools." in code and named & (_COMMANDS | _CODE):
        yield from _script(code)
    elif patches := list(_patches(named, args)):
        yield from patches
        others = [each for each in simple_commands(command_line(args)) if each.program not in _PATCHERS]
        if others:
            yield Command(" && ".join(each.text for each in others), folder=_folder(args))
    elif (
        named & (_HANDLES | _COMMANDS)
        and not command_line(args)
        and (handle := _id(args, _HANDLE_ARGUMENTS if named & _HANDLES else _HANDLE_ARGUMENTS[:-3]))
    ):
        yield HandleUse(handle, stops=bool(named & {"kill", "stop"}))
    elif named & _CODE and (code := first_text(args, CODE_ARGUMENTS)):
        yield from _cell(code)
    elif named & _COMMANDS and (line := command_line(args)):
        left = any(args.get(name) is True for name in _BACKGROUND_ARGUMENTS)
        yield Command(line, left, _folder(args))


def _others(named: frozenset[str], args: Mapping[str, Any]) -> Iterator[Operation]:
    if named & TASK_TOOLS and (update := task_update(named, args)):
        yield update
    elif moved := _move(named, args):
        yield moved
    elif (paths := target_paths(args)) and (verb := _file_verb(named, args)):
        size = len(first_text(args, (*FILE_ARGUMENTS, *NEW_TEXT_ARGUMENTS)))
        given = json.dumps(args, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
        digest = "" if verb == "read" else blake2b(given, digest_size=6).hexdigest()
        yield from (FileUse(path, verb, size=size, digest=digest) for path in paths)
    elif named & _LOOKS:
        yield Look()
    elif line := first_text(args, ("command", "cmd")):
        yield Command(line)


def _folder(args: Mapping[str, Any]) -> str:
    return posixpath.normpath(folder) if (folder := first_text(args, _FOLDER_ARGUMENTS)) else ""


def asks_user(tool: str) -> bool:
    """Whether a tool's result is the user's answer."""
    return any(isinstance(each, Question) for each in operations(tool, {}))


def name_parts(tool: str) -> frozenset[str]:
    """Return the words of a tool's name in lower case, without the server that offers it."""
    return frozenset(word.lower() for word in _NAME_WORD.findall(re.split(r"__|[./:]", tool)[-1]))


def _own_tool(tool: str, args: Mapping[str, Any]) -> tuple[Operation, ...]:
    if tool == TASKS.name:
        return (HandleUse(_id(args), stops=args.get("action") == "stop"),)
    if tool == PLAN.name:
        return (Question(first_text(args, ("text", "plan", "content")), plan=True),)
    return (Look(),) if tool in TOOLS and tool not in _AS_ANY else ()


def first_text(args: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the first non-empty text among the named arguments, or an empty string."""
    for name in names:
        value = args.get(name)
        if isinstance(value, str) and value.strip():
            return without_pointer(value.strip())
    return ""


def without_pointer(text: str) -> str:
    """Return an argument's text; if a pointer replaced it, the beginning that the pointer shows."""
    match = _POINTER.fullmatch(text)
    return match[1] if match else text


def argument_texts(args: Mapping[str, Any]) -> Iterator[str]:
    """Yield every text in a call's arguments in order, also nested; numbers and flags with their names."""
    stack: list[Any] = [args]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            yield without_pointer(value)
        elif isinstance(value, Mapping):
            stack += reversed(
                [
                    f"{name}: {json.dumps(each)}" if isinstance(each, int | float) else each
                    for name, each in value.items()
                ]
            )
        elif isinstance(value, list | tuple):
            stack += reversed(value)


def target_path(args: Mapping[str, Any]) -> str:
    """Return the path a call is about, or an empty string."""
    path = first_text(args, PATH_ARGUMENTS).removeprefix("file://")
    return path if "\n" not in path and len(path) < 500 else ""


def target_paths(args: Mapping[str, Any]) -> list[str]:
    """Return the paths a call is about, including those in a list of paths, or of records with one."""
    found = [target_path(args)]
    for name, value in args.items():
        one = "path" if name == "include" else name.removesuffix("s")
        for each in value if isinstance(value, list) else ():
            found.append(target_path(each if isinstance(each, Mapping) else {one: each}))
    return list(dict.fromkeys(filter(None, found)))


def command_line(args: Mapping[str, Any]) -> str:
    """Return the shell line of a call: a text, or the words after ``bash -lc``."""
    for name in COMMAND_ARGUMENTS:
        words = args.get(name)
        if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
            is_shell = len(words) == 3 and words[1] in {"-c", "-lc", "-ic"}
            return str(words[-1]) if is_shell else shlex.join(words)
    return first_text(args, COMMAND_ARGUMENTS)


def _id(args: Mapping[str, Any], names: Sequence[str] = _HANDLE_ARGUMENTS) -> str:
    return next((str(args[name]) for name in names if args.get(name) not in (None, "")), "")


def _file_verb(named: frozenset[str], args: Mapping[str, Any]) -> FileVerb | None:
    subcommand = args.get("command")
    if isinstance(subcommand, str) and subcommand in SUBCOMMANDS:
        return SUBCOMMANDS[subcommand]
    if named & _LOOKS - {"directory"} and not (first_text(args, NEW_TEXT_ARGUMENTS) or "replace" in named):
        return None
    verb = next((verb for verb, words in _VERBS if named & words), None)
    return "edited" if verb == "moved" else verb  # a move is already handled


def _move(named: frozenset[str], args: Mapping[str, Any]) -> FileUse | None:
    old, new = first_text(args, SOURCE_ARGUMENTS), first_text(args, TARGET_ARGUMENTS)
    is_move = named & _VERBS[0][1] and old and new and "\n" not in old + new
    return FileUse(old, "moved", to=new) if is_move else None


def _patches(named: frozenset[str], args: Mapping[str, Any]) -> list[FileUse]:
    """Return the files of an applied patch; one that is only written into a file changes nothing."""
    # The program and its patch may be two words of one command.
    run = named & (_COMMANDS | _CODE) and any("apply_patch" in text for text in argument_texts(args))
    return patched_files(args) if named & PATCHES or run else []


def patched_files(args: Mapping[str, Any]) -> list[FileUse]:
    """Return the files of the patches among a call's arguments."""
    found: list[FileUse] = []
    for text in argument_texts(args):
        if "*** " in text:
            for kind, path in _PATCH_LINE.findall(text):
                if kind == "Move to" and found:
                    found[-1] = FileUse(found[-1].path, "moved", to=path.strip())
                else:
                    found.append(FileUse(path.strip(), _PATCH_VERBS[kind]))
        elif text.startswith(("--- ", "diff --git ")):
            found += [FileUse(path.strip(), "edited") for path in _DIFF_FILE.findall(text)]
    return found


def task_update(named: frozenset[str], args: Mapping[str, Any]) -> TaskUpdate | None:
    for name in TASK_LIST_ARGUMENTS:
        value = args.get(name)
        if isinstance(value, list):
            entries = (
                _task(entry) if isinstance(entry, Mapping) else TaskEntry(str(entry).strip(), "open")
                for entry in value
            )
            return TaskUpdate(tuple(entry for entry in entries if entry.text))
        if isinstance(value, str) and (boxes := CHECKBOX.findall(value)):
            return TaskUpdate(tuple(TaskEntry(text, _BOXES.get(mark, "open")) for mark, text in boxes))
    # Tools that create and change tasks one by one.
    if named & {"create", "add", "new"} and (text := first_text(args, _TASK_TEXTS)):
        return TaskUpdate((TaskEntry(text, "open"),), whole=False)
    if named & {"update", "complete", "set"} and (id := _id(args)):
        state = _state(args)
        return TaskUpdate((TaskEntry("", state, id),) if state else (), whole=False)
    return None


def _task(entry: Mapping[str, Any]) -> TaskEntry:
    return TaskEntry(first_text(entry, _TASK_TEXTS), _state(entry) or "open", str(entry.get("id", "")))


def _state(entry: Mapping[str, Any]) -> TaskState | None:
    if any(entry.get(name) is True for name in ("done", "completed", "complete", "checked", "finished")):
        return "done"
    word = first_text(entry, _STATE_ARGUMENTS).casefold().replace("_", " ").replace("-", " ")
    return _STATES.get(word, "open") if word else None


def _question(args: Mapping[str, Any]) -> str:
    asked = first_text(args, ("question", "text", "plan", "message", "prompt"))
    questions = args.get("questions")
    if not asked and isinstance(questions, list):
        asked = " ".join(first_text(each, ("question",)) for each in questions if isinstance(each, Mapping))
    return asked


_CELL_COMMAND = re.compile(r"(?m)^[ \t]*[!%](?:sx |system |bash )?[ \t]*([^\n]+)$")


def _cell(code: str) -> Iterator[Operation]:
    """Yield the operations of a notebook cell: its shell lines are parsed, the rest is run as it is."""
    if code.lstrip().startswith("%%bash"):
        yield Command(code.lstrip().partition("\n")[2])
        return
    lines = _CELL_COMMAND.findall(code)
    yield from map(Command, lines)
    if not lines:
        yield Command(f"python -c {' '.join(code.split())[:200]!r}")


_TOOL_CALL = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`"
    r"|\btools\.([A-Za-z_]\w*)\s*\(",
    re.DOTALL,
)
"""A call, outside of comments and texts."""


def _script(code: str) -> Iterator[Operation]:
    found: list[Operation] = []
    for match in filter(itemgetter(1), _TOOL_CALL.finditer(code)):
        try:
            value = _literal(code, match.end())
        except (ValueError, RecursionError):
            return  # computed while the program runs: the effect is unknown
        args = value if isinstance(value, dict) else {"input": value}
        inner = operations(match[1], args)
        if not inner:
            return
        found += inner
    yield from found


_TOKEN = re.compile(
    r"(?s)(?P<blank>\s+|//[^\n]*|/\*.*?\*/)|(?P<word>[A-Za-z_$][\w$]*)|(?P<number>-?\d+(?:\.\d+)?)"
    r"|(?P<text>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`(?:[^`\\$]|\\.|\$(?!\{))*`)|(?P<sign>[{}\[\](),:])"
)
_NAMED = re.compile(r"(?s)(?:\s|//[^\n]*|/\*.*?\*/)*+:")
_CONSTANTS = {"true": "true", "false": "false", "null": "null", "undefined": "null"}


def _literal(code: str, at: int) -> Any:
    """Parse the JavaScript literal that is the first argument of a call.

    Args:
        code: The program.
        at: Index of the beginning of the arguments.

    Raises:
        ValueError: if there is anything else, such as a variable.
    """
    written, depth = list[str](), 0
    while at < len(code):
        if (token := _TOKEN.match(code, at)) is None:
            raise ValueError(code[at : at + 20])
        at, text = token.end(), token[0]
        match token.lastgroup:
            case "sign" if text in "),:" and not depth:
                break
            case "sign":
                depth += (text in "{[") - (text in "}]")
                if text in "}]" and written[-1:] == [","]:
                    written.pop()
                written.append(text)
            case "word" if not _NAMED.match(code, at):
                written.append(_CONSTANTS.get(text, "?"))  # a variable, which is invalid JSON
            case "word" | "text":
                written.append(json.dumps(text if token.lastgroup == "word" else _unescaped(text)))
            case "number":
                written.append(str(float(text)))
    return json.loads("".join(written))


def _unescaped(quoted: str) -> str:
    inner = quoted[1:-1]
    if quoted[0] != '"':
        inner = re.sub(r"\\(['`$])", r"\1", inner).replace('"', '\\"')
    try:
        return str(json.loads(f'"{inner}"', strict=False))
    except ValueError:
        return inner
