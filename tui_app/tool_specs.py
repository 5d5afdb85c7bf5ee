"""The program's own tools, each declared once: what rules, titles, facts, stages and editors know of it.

The functions that do the work are in ``agent/tools``: ``lookup.py``, ``command_tool.py``, ``toolset.py``;
a method there that has the name of a tool is one.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from tui_app.records import frozen

ActionKind = Literal["file", "command", "address", "other"]
"""What a rule's pattern is compared with: a path, a command line, a host, or the arguments as JSON."""
FileVerb = Literal["read", "written", "edited", ""]
BodyKind = Literal["file", "piece"]
"""A whole file, or a piece put into one. A patch counts as a piece, which no file holds as it stands."""
EditorKind = Literal["read", "edit", "search", "execute", "think", "fetch", "other"]
"""Kind of a call in the Agent Client Protocol."""


@frozen
class Rows:
    """A result that is told by its number of rows."""

    unit: str
    row: str = ""
    """Regular expression that finds a row; empty where every line counts that is no remark in brackets."""
    more: str = ""
    """Words in a result that was cut."""
    plural: str = ""


@frozen(kw_only=True)
class Title:
    """How a call is shown in one line, behind its name."""

    argument: str
    default: str = ""
    quoted: bool = False
    place: str = ""
    """Argument with the path that is searched; not shown for the whole workspace."""
    paged: bool = False
    """Whether ``start`` and ``lines`` choose a part."""
    progress: bool = False
    """Whether the argument is a list of things to do: it is told by how far it is, and what is next."""


@frozen(kw_only=True)
class ToolSpec:
    """One tool."""

    name: str
    rule: ActionKind = "other"
    changes: bool = False
    """Whether it acts on files or the outside, so that it is asked about; the others look or keep notes."""
    verb: FileVerb = ""
    """What it does to the file that it names."""
    body: BodyKind | None = None
    """What of a file it is given, to write."""
    body_argument: str = ""
    recalls: Literal["always", "by handle", "never"] = "never"
    """Whether it brings back what has left the context."""
    editor: EditorKind = "other"
    title: Title | None = None
    """None where the most telling arguments are shown."""
    result: Rows | Literal["lines", "last words", "exit code", "nothing"] = "lines"
    """What the line about a call says of a result."""


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
"""Names of the tools that send sub-agents."""
AGENTS = ToolSpec(name="agents", title=Title(argument="action", default="list"))
"""Sees to those that were sent."""

TOOLS: Mapping[str, ToolSpec] = MappingProxyType(
    {spec.name: spec for spec in tuple(globals().values()) if isinstance(spec, ToolSpec)}
)
"""Those above by name: the tools of a conversation, those among them that are switched off."""
FILE_LOOKERS = frozenset(spec.name for spec in TOOLS.values() if spec.rule == "file" and not spec.changes)
"""Names of the tools that look at files. Each asks for itself what rules say of the file."""
FILE_CHANGERS = frozenset({WRITE_FILE.name, EDIT_FILE.name})
"""Names of the tools that change files: each can do what the other does."""
CONTEXT_BOARD = "context_board"
"""The one tool of the agent that keeps the memory of a repository."""
_OTHER = ToolSpec(name="")


def tool_spec(name: str) -> ToolSpec:
    """Look a tool up; of those of servers and of other agents nothing is known."""
    return TOOLS.get(name, _OTHER)
