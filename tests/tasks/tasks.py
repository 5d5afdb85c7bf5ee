"""Ten small jobs in a repository: the model's steps and the expected state of the folder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.servers.behaviours import Tool, tool

FILLER = "".join(
    f"# Line {number} says that the ferry leaves the harbour on time.\n" for number in range(110)
)
"""Makes files so long that reading a few of them fills the window."""
SOURCES = tuple(f"source{number}.txt" for number in range(14))
"""Files read before the steps, only for their length."""


@dataclass(frozen=True)
class Task:
    """One job."""

    prompt: str
    steps: tuple[Tool, ...]
    """The model's tool calls; all files of ``SOURCES`` are read before the first one."""
    done: Callable[[Path], bool]
    """Whether the folder is in the expected state."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Initial files besides the sources."""


def edit(path: str, old: str, new: str) -> Tool:
    return tool("edit_file", path=path, old_text=old, new_text=new)


def write(path: str, content: str) -> Tool:
    return tool("write_file", path=path, content=content)


def run(command: str) -> Tool:
    return tool("run_command", command=command)


def holds(name: str, *words: str) -> Callable[[Path], bool]:
    return lambda folder: all(word in (folder / name).read_text() for word in words)


ADD = "def add(a, b):\n    return a - b\n"
CHECK = "from calc import add\n\nassert add(2, 3) == 5\n"
TASKS = {
    "fix a bug": Task(
        "add() is wrong. Mend it.",
        (run("python check.py"), edit("calc.py", "a - b", "a + b"), run("python check.py")),
        holds("calc.py", "return a + b"),
        {"calc.py": ADD, "check.py": CHECK},
    ),
    "add a function": Task(
        "Add double() to calc.py.",
        (edit("calc.py", ADD, ADD + "\n\ndef double(a):\n    return 2 * a\n"),),
        holds("calc.py", "def double(a):", "def add"),
        {"calc.py": ADD},
    ),
    "rename": Task(
        "Rename add to plus, everywhere.",
        (
            tool("grep", pattern="add"),
            edit("calc.py", "def add", "def plus"),
            edit("use.py", "from calc import add\n\nadd(1, 2)", "from calc import plus\n\nplus(1, 2)"),
        ),
        lambda folder: not any("add" in path.read_text() for path in folder.glob("*.py")),
        {"calc.py": ADD, "use.py": "from calc import add\n\nadd(1, 2)\n"},
    ),
    "write a test": Task(
        "Write a test of add().",
        (write("tests/test_calc.py", "def test_add():\n    assert add(2, 3) == 5\n"),),
        holds("tests/test_calc.py", "def test_add"),
        {"calc.py": ADD},
    ),
    "update the docs": Task(
        "The port is 9090 now. Say so in the docs.",
        (edit("docs/use.md", "port 8080", "port 9090"),),
        holds("docs/use.md", "port 9090"),
        {"docs/use.md": "# Use\n\nIt listens on port 8080.\n"},
    ),
    "find a value": Task(
        "Which port is configured? Put it into answer.txt.",
        (tool("grep", pattern="port ="), write("answer.txt", "7421\n")),
        holds("answer.txt", "7421"),
        {"conf/server.toml": "[server]\nport = 7421\n"},
    ),
    "a chain of edits": Task(
        "Count up, one step at a time.",
        tuple(edit("count.txt", f"at {number}", f"at {number + 1}") for number in range(5)),
        holds("count.txt", "at 5"),
        {"count.txt": "at 0\n"},
    ),
    "recover from a failing command": Task(
        "Run build.sh until it works.",
        (run("sh build.sh"), write("input.txt", "here\n"), run("sh build.sh")),
        holds("output.txt", "here"),
        {"build.sh": "cat input.txt > output.tmp && mv output.tmp output.txt\n"},
    ),
    "search what was compacted": Task(
        "The code word is periwinkle. Read all, then look up the code word and write it down.",
        (tool("search_history", query="periwinkle"), write("word.txt", "periwinkle\n")),
        holds("word.txt", "periwinkle"),
    ),
    "several files": Task(
        "Make a package with a version.",
        (
            write("pkg/__init__.py", "from pkg.version import VERSION\n"),
            write("pkg/version.py", 'VERSION = "1.0"\n'),
            edit("README.md", "No package yet.", "The package is pkg."),
        ),
        lambda folder: (folder / "pkg/version.py").is_file() and holds("README.md", "is pkg")(folder),
        {"README.md": "No package yet.\n"},
    ),
}
