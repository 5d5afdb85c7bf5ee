"""The program's own tools, each declared once for rules, titles, facts, stages and editors.

The functions are in ``agent/tools``: ``lookup.py``, ``command_tool.py``, ``toolset.py``; a method there with
the name of a tool is one.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from tui_app.records import frozen

ActionKind = Literal["file", "command", "address", "other"]
"""What a rule's pattern is compared with: a path, a command line, a host, or the arguments as JSON."""
FileVerb = Literal["read", "written", "edited", ""]
BodyKind = Literal["file", "piece"]
"""A whole file, or a piece of one. A patch counts as a piece that no file contains literally."""
EditorKind = Literal["read", "edit", "search", "execute", "think", "fetch", "other"]
"""Kind of a call in the Agent Client Protocol."""


@frozen
class Rows:
    """A result described by its number of rows."""

    unit: str
    row: str = ""
    """Regular expression of a row; empty to count every line except remarks in brackets."""
    more: str = ""
    """Text in a result that was cut."""
    plural: str = ""


@frozen(kw_only=True)
class Title:
    """How a call is shown in one line, after its name."""

    argument: str
    default: str = ""
    quoted: bool = False
    place: str = ""
    """Argument with the path searched; not shown for the whole workspace."""
    paged: bool = False
    """Whether ``start`` and ``lines`` select a part."""
    progress: bool = False
    """Whether the argument is a todo list, shown by its progress and next item."""


@frozen(kw_only=True)
class ToolSpec:
    """One tool."""

    name: str
    rule: ActionKind = "other"
    changes: bool = False
    """Whether it changes files or acts outside, and so needs approval; others read or take notes."""
    verb: FileVerb = ""
    """What it does to the file that it names."""
    body: BodyKind | None = None
    """What of a file it gets to write."""
    body_argument: str = ""
    recalls: Literal["always", "by handle", "never"] = "never"
    """Whether it returns content that has left the context."""
    editor: EditorKind = "other"
    title: Title | None = None
    """None to show the most informative arguments."""
    result: Rows | Literal["lines", "last words", "exit code", "nothing"] = "lines"
    """How the line of a call describes a result."""


READ_FILE = ToolSpec(
    name="read_file",
    rule="file",
    verb="read",
    recalls="by handle",
    editor="read",
    title=Title(argument="path", paged=True),
    result=Rows("line", r"^\d+\t"),
)
LS = ToolSpec(
    name="ls",
    rule="file",
    editor="search",
    title=Title(argument="path", default="."),
    result=Rows("entry", plural="entries"),
)
GLOB = ToolSpec(name="glob", rule="file", editor="search", result=Rows("file", more="[only the first"))
GREP = ToolSpec(
    name="grep",
    rule="file",
    editor="search",
    title=Title(argument="pattern", quoted=True, place="path"),
    result=Rows("hit", r"^[^\n]+?:\d+: ", more="[more hits exist"),
)
SEARCH_HISTORY = ToolSpec(
    name="search_history",
    recalls="always",
    editor="search",
    title=Title(argument="query", quoted=True, paged=True),
    result=Rows("message", r"^[0-9a-f]*#\d+ \w+:"),
)
WRITE_FILE = ToolSpec(
    name="write_file",
    rule="file",
    changes=True,
    verb="written",
    body="file",
    body_argument="content",
    editor="edit",
    result="last words",
)
EDIT_FILE = ToolSpec(
    name="edit_file",
    rule="file",
    changes=True,
    verb="edited",
    body="piece",
    body_argument="new_text",
    editor="edit",
    result="last words",
)
RUN_COMMAND = ToolSpec(name="run_command", rule="command", changes=True, editor="execute", result="exit code")
TASKS = ToolSpec(name="tasks", editor="execute", title=Title(argument="action", default="list"))
WEB_FETCH = ToolSpec(name="web_fetch", rule="address", changes=True, verb="read", editor="fetch")
TODO = ToolSpec(name="todo", editor="think", title=Title(argument="items", progress=True), result="nothing")
PLAN = ToolSpec(name="plan", editor="think", result="nothing")
ASK_USER = ToolSpec(name="ask_user", title=Title(argument="question", quoted=True), result="last words")
END_GOAL = ToolSpec(name="end_goal", editor="think", title=Title(argument="reason"), result="nothing")
COMPACT_CONTEXT = ToolSpec(
    name="compact_context", editor="think", title=Title(argument="reason", quoted=True), result="nothing"
)
DIAGNOSTICS = ToolSpec(
    name="diagnostics",
    rule="file",
    editor="search",
    title=Title(argument="path", default="."),
    result="last words",
)
USE_SKILL = ToolSpec(name="use_skill")
EXPLORE = ToolSpec(name="explore", editor="search")
DELEGATE = ToolSpec(name="delegate", editor="search")
FORK = ToolSpec(name="fork", title=Title(argument="task"))
SUB_AGENT_TOOLS = frozenset({EXPLORE.name, DELEGATE.name, FORK.name})
"""Names of the tools that start subagents."""
AGENTS = ToolSpec(name="agents", title=Title(argument="action", default="list"))
"""Manages the subagents that were started."""

TOOLS: Mapping[str, ToolSpec] = MappingProxyType(
    {spec.name: spec for spec in tuple(globals().values()) if isinstance(spec, ToolSpec)}
)
"""The tools above by name: the tools of a conversation, including those switched off."""
FILE_LOOKERS = frozenset(spec.name for spec in TOOLS.values() if spec.rule == "file" and not spec.changes)
"""Names of the tools that read files. Each checks the rules for the file itself."""
FILE_CHANGERS = frozenset({WRITE_FILE.name, EDIT_FILE.name})
"""Names of the tools that change files: each can do what the other does."""
CONTEXT_BOARD = "context_board"
"""The only tool of the agent that maintains a repository's memory."""
_OTHER = ToolSpec(name="")


def tool_spec(name: str) -> ToolSpec:
    """Look up a tool; an empty specification for those of servers and other agents."""
    return TOOLS.get(name, _OTHER)
