"""What the tools of other agents and their arguments are called, for imported sessions and brought agents.

Our own tools are declared in ``tui_app.tool_specs``; a name that is there is not looked up here.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from tui_app.context.user_text import words
from tui_app.tool_specs import EDIT_FILE, TOOLS, WRITE_FILE, BodyKind

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
