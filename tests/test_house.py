"""House rules, one test each: dependencies between files, names, sizes, and what start-up may import."""

import ast
import io
import json
import re
import shutil
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tui_app.ui.screen import deferred_modules

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tui_app"
FILE_LINES, MOST_IMPORTS, MOST_OWNERS = 1_000, 25, 8

# Each list below may only shrink: an entry that is no longer needed fails too.
ALLOWED_TAILS: set[str] = {
    # imports the MCP library, so it is loaded only when the first server starts
    "agent.mcp.connection",
    "agent.mcp.program",
    "agent.diagnostics.connection",
    "agent.diagnostics.server",
    # one of several kinds, imported by the module that selects one
    "cli.sessions.plot",
    "cli.setup.repair",
    "context.tool_results.pointers",
    "context.tool_results.stale_reads",
    "context.tool_results.trim",
    "editors.menus",
    "session.exports.message_json",
    "session.queries",
    "session.stores.postgres_follower",
    "session.stores.sqlite_follower",
    "system.process_guard",
    "ui.chat.follower",
    "ui.dialogs.help_rows",
    "ui.dialogs.message",
    "ui.dialogs.sessions.rewind",
    "ui.dialogs.sessions.session_search",
    "ui.dialogs.sessions.sessions",
    "ui.question_page",
    "ui.transcript.highlights",
    # parts of one component that would be too long for one file
    "agent.mcp.server",
    "agent.offline.answer",
    "context.tool_results.normalise",
    "conversation.telemetry",
    "editors.session",
    "events.conversation",
    "events.rewrites",
    "events.session",
    "memory.evidence",
    "ui.app",
    "ui.dialogs.help",
    "ui.screen",
}
"""Modules that only one neighbouring module imports."""
FIELD_MAPS = "session.importers."
"""One module per file format, imported only by the list of formats."""
HOW_VALUES_ARE_DECLARED = "tui_app.records"
"""A decorator like ``dataclass``. Importing it adds no knowledge of the rest of the program."""
ALLOWED_BUSY: set[str] = {
    "conversation.agents.agent_sessions",
    "conversation.assembly",
}
"""Modules with more imports of our own than `MOST_IMPORTS`."""
ALLOWED_METHODS: set[str] = {
    "add",
    "ask",
    "check",
    "close",
    "lines",
    "read",
    "show",
    "text",
    "to_json",
}
"""Public method names that more than `MOST_OWNERS` classes define."""
LIBRARY_METHODS = {
    *("compose", "on_mount", "on_resize", "render", "action_close", "check_action"),
    *("before_model_request", "get_ordering", "write"),
}
"""Method names that Textual and pydantic-ai call."""
NO_NOUN = re.compile(r"(ing|ed|ly)$")
ALLOWED_WORDS = {"assembly", "binding", "counting", "tally"}

MOST_CODE = {
    "agent": 8_255,  # what a model reads of a failed tool is masked in each of its forms
    "cli": 3_305,  # two imports of one file at a moment
    "context": 11_275,  # the title of a patch names its files
    "conversation": 7_636,  # an option that a goal has not is named
    "demo": 204,  # each day of the tour has its rule
    "editors": 1_015,
    "events": 1_203,  # a refused request is told apart from an answer
    "memory": 778,
    "session": 8_465,  # the sub-agents of a session, read off its log; compactions of Goose
    "settings": 1_278,  # own tools can be switched off
    "ui": 16_092,  # a review restores its first text, counts follow dropped lines
    "web": 318,
    "the ground floor": 3_547,  # places that programs obey, hosts of rules, what errors offer, refusals
    "wires": 1_818,  # a server that fails twice at a new file is asked without it
}
"""Maximum lines of code per package."""
NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}

SCREEN_LIBRARIES = ("textual",)
"""Without Rich, which a library may import itself; an import contract keeps our core from importing it."""
AGENT_LIBRARIES = ("pydantic_ai", "tiktoken", "openai", "anthropic", "google.genai")
CORE_ROOMS = ("conversation", "agent", "session", "context", "wires", "settings", "system")
LIGHT_MODULES = (
    "tui_app.ui.app",
    *deferred_modules(),
    "tui_app.settings",
    "tui_app.session.stores.sqlite_store",
    "tui_app.session.views.user_view",
    "tui_app.context",
    "tui_app.events",
    "tui_app.usage",
    "tui_app.context.policy",
)
"""Modules loaded before the first paint, or on the UI's event loop right after it. They must not import the
agent.
"""


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def core_modules() -> list[str]:
    names = [module_name(path) for path in sources()]
    return [name for name in names if name.partition(".")[2].partition(".")[0] in CORE_ROOMS]


def loaded_by(modules: list[str], unwanted: tuple[str, ...]) -> dict[str, list[str]]:
    """Import modules one after the other in a fresh process; return the unwanted modules that each loaded."""
    code = (
        "import importlib, json, sys\n"
        "found = {}\n"
        f"for name in {modules!r}:\n"
        "    importlib.import_module(name)\n"
        f"    found[name] = [bad for bad in {unwanted!r} if bad in sys.modules]\n"
        "print(json.dumps({name: bad for name, bad in found.items() if bad}))\n"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def tracked_files() -> list[Path]:
    """Files known to git, untracked ones included; all files where there is no git."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        return [path for path in sources() if path.is_file()]
    listing = [git, "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


@cache
def own_imports() -> dict[str, set[str]]:
    """Map each module to our modules that it imports, including imports in functions and for types."""
    known = set(trees())
    found: dict[str, set[str]] = {name: set() for name in known}
    for name, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                named = {f"{node.module}.{alias.name}" for alias in node.names}
                found[name] |= {each if each in known else node.module for each in named} & known
            elif isinstance(node, ast.Import):
                found[name] |= {alias.name for alias in node.names} & known
        found[name].discard(name)
    return found


def circles(graph: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """Strongly connected groups of nodes (import cycles)."""
    reach: dict[str, set[str]] = {}
    for start in graph:
        seen, todo = set[str](), [start]
        while todo:
            new = graph.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        reach[start] = seen
    return {frozenset(other for other in reach[node] if node in reach.get(other, ())) for node in graph} - {
        frozenset()
    }


def place(name: str) -> str:
    """The module itself for a file directly in a package, else the folder that contains it."""
    parts = FILES[name].relative_to(PACKAGE).parts
    return "/".join(parts[:2])


@cache
def trees() -> dict[str, ast.Module]:
    """Syntax trees of all modules, parsed once and only when a test needs them."""
    return {module_name(path): ast.parse(path.read_text(encoding="utf-8")) for path in sources()}


FILES = {module_name(path): path for path in sources()}


def test_no_circle_of_files() -> None:
    assert circles(own_imports()) == set()


def test_no_circle_of_folders() -> None:
    rooms: dict[str, set[str]] = {}
    for name, targets in own_imports().items():
        room = name.split(".")[1:2]
        inside = {place(target) for target in targets if target.split(".")[1:2] == room}
        if FILES[name].name != "__init__.py":
            rooms.setdefault(place(name), set()).update(inside - {place(name)})
    assert circles(rooms) == set()


def test_a_module_serves_more_than_its_neighbour() -> None:
    importers: dict[str, set[str]] = {}
    for name, targets in own_imports().items():
        for target in targets:
            importers.setdefault(target, set()).add(name)
    tails = {
        name.removeprefix("tui_app.")
        for name, by in importers.items()
        if len(by) == 1
        and not name.startswith(f"tui_app.{FIELD_MAPS}")
        and FILES[name].name != "__init__.py"
        and FILES[name].parent == FILES[next(iter(by))].parent
    }
    assert tails == ALLOWED_TAILS


def test_a_file_names_few_others() -> None:
    busy = {
        name.removeprefix("tui_app.")
        for name, targets in own_imports().items()
        if len(targets - {HOW_VALUES_ARE_DECLARED}) > MOST_IMPORTS
    }
    assert busy == ALLOWED_BUSY


def test_public_methods_have_exact_names() -> None:
    methods: dict[str, set[str]] = {}
    bases: dict[str, set[str]] = {}
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                own = {
                    item.name
                    for item in node.body
                    if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)
                }
                methods.setdefault(node.name, set()).update(name for name in own if name[0] != "_")
                bases[node.name] = {
                    ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases
                }
    protocols = {name for name, above in bases.items() if "Protocol" in above}
    owners: dict[str, set[str]] = {}
    for name in methods.keys() - protocols:
        above = list(bases[name])
        for base in above:
            above += bases.get(base, set()) - set(above)
        inherited = set.union(set(), *(methods.get(base, set()) for base in above))
        for method in methods[name] - inherited - LIBRARY_METHODS:
            owners.setdefault(method, set()).add(name)
    assert {name for name, classes in owners.items() if len(classes) > MOST_OWNERS} == ALLOWED_METHODS


def test_modules_are_named_by_nouns() -> None:
    words = {name for path in sources() for name in path.relative_to(PACKAGE).with_suffix("").parts}
    assert {word for word in words if NO_NOUN.search(word)} == ALLOWED_WORDS


def test_no_file_is_too_long() -> None:
    long = {
        name: lines
        for name, path in FILES.items()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > FILE_LINES
    }
    assert long == {}


def code_lines(text: str) -> int:
    """Count lines of code without imports, docstrings, comments and blank lines."""
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.Import | ast.ImportFrom) or (is_text and isinstance(node.value.value, str)):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - left_out)


def test_a_file_has_no_chapters() -> None:
    """A file that needs section headings should be two files."""
    chapter = re.compile(r"\n\n# [^\n]+\n(# [^\n]+\n)*\n")
    assert {str(path) for path in sources() if chapter.search(path.read_text("utf-8"))} == set()


def test_no_room_grows() -> None:
    """A package that shrank lowers its limit. One that must grow says why in its row."""
    sizes = Counter[str]()
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).parts
        room = "/".join(parts[:2]) if "/".join(parts[:2]) in MOST_CODE else parts[0]
        sizes[room if room in MOST_CODE else "the ground floor"] += code_lines(path.read_text("utf-8"))
    assert {room: size for room, size in sizes.items() if size > MOST_CODE[room]} == {}


def test_circles_are_seen() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == {frozenset("bc")}


def test_core_never_loads_the_screen() -> None:
    assert core_modules()
    assert loaded_by(core_modules(), SCREEN_LIBRARIES) == {}


def test_what_is_painted_first_waits_for_no_agent() -> None:
    assert loaded_by([*LIGHT_MODULES], AGENT_LIBRARIES) == {}, "the first one brings it in"


def test_the_first_frame_does_without_what_comes_right_behind_it() -> None:
    first = ["tui_app.cli.program", "tui_app.ui.run", "tui_app.ui.app"]
    later = (
        "tui_app.events",
        "tui_app.context.policy",
        "tui_app.conversation.work",
        "tomllib",
        *deferred_modules(),
    )
    assert loaded_by(first, later) == {}


def test_import_check_would_notice() -> None:
    assert loaded_by(["json", "textual.geometry"], ("json", "textual")) == {
        "json": ["json"],
        "textual.geometry": ["json", "textual"],
    }


def test_directions_of_imports() -> None:
    code = "from importlinter.cli import lint_imports_command as run; run()"
    command = [sys.executable, "-c", code, "--no-cache"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_path_of_a_developer_machine() -> None:
    # Built from parts, so that this file does not match itself.
    homes = re.compile(rb"(?<![\w.])/(?:" + b"|".join((b"wo" + b"rk", b"ro" + b"ot")) + rb")/")
    suspects = {
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked_files()
        if path.suffix not in {".tiktoken", ".png"}
        for number, line in enumerate(path.read_bytes().splitlines(), 1)
        if homes.search(line)
    }
    assert suspects == set()


def test_a_name_is_given_once_in_a_module() -> None:
    """A second import, constant, function or class of the same name would hide the first one."""
    twice = {}
    for module, tree in trees().items():
        names: list[str] = []
        body = [each for node in tree.body for each in (node.body if isinstance(node, ast.Try) else [node])]
        for node in body:
            match node:
                case ast.FunctionDef(decorator_list=[ast.Name(id="overload")]):
                    pass
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    names.append(name)
                case ast.Assign(targets=targets):
                    places = [place for each in targets for place in getattr(each, "elts", [each])]
                    names += [place.id for place in places if isinstance(place, ast.Name)]
                case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                    names += [each.asname or each.name for each in aliases if each.name != "*"]
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                    names.append(name)
        if again := {name for name in names if names.count(name) > 1}:
            twice[module] = again
    assert twice == {}
