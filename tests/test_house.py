"""Rules of the house that no review needs to repeat: sizes, directions of imports, start-up, no strays."""

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tui_app.ui.chat.screen import BEHIND

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tui_app"
FILE_LINES, FUNCTION_LINES, SCREEN_METHODS = 300, 40, 15
SCREENS = re.compile(r"(App|Screen|ModalScreen)\b")

SCREEN_LIBRARIES = ("textual", "rich")
AGENT_LIBRARIES = ("pydantic_ai", "tiktoken", "openai", "anthropic", "google.genai")
CORE_ROOMS = ("conversation", "agent", "session", "context", "settings", "paths")
LIGHT_MODULES = (
    "tui_app.ui.app",
    *BEHIND,
    "tui_app.settings",
    "tui_app.session.store",
    "tui_app.session.user_view",
    "tui_app.session.entries",
    "tui_app.context",
    "tui_app.events",
    "tui_app.usage",
    "tui_app.context.policy",
)
"""What is loaded before the first paint, or on the screen's loop right behind it: none of it may wait for the
agent side."""


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def core_modules() -> list[str]:
    names = [module_name(path) for path in sources()]
    return [name for name in names if name.partition(".")[2].partition(".")[0] in CORE_ROOMS]


def definitions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def is_screen(node: ast.ClassDef) -> bool:
    return any(
        SCREENS.match(ast.unparse(base).rpartition(".")[2] or ast.unparse(base)) for base in node.bases
    )


def loaded_by(modules: list[str], unwanted: tuple[str, ...]) -> dict[str, list[str]]:
    """Import modules one after the other in a fresh process; which unwanted ones has each brought in?"""
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
    """Files of the repository as git sees them, new ones included; every file where there is no git."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        return [path for path in sources() if path.is_file()]
    listing = [git, "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


@pytest.mark.parametrize("path", sources(), ids=module_name)
def test_sizes(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    lines = len(text.splitlines())
    assert lines <= FILE_LINES, f"{path.name} has {lines} lines"
    long = {
        f"{node.name}:{node.lineno}": node.end_lineno - node.lineno + 1
        for node in definitions(tree)
        if node.end_lineno and node.end_lineno - node.lineno + 1 > FUNCTION_LINES
    }
    assert not long, "functions over the limit"
    crowded = {
        node.name: methods
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and is_screen(node)
        for methods in [sum(isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) for item in node.body)]
        if methods > SCREEN_METHODS
    }
    assert not crowded, "apps and screens with too many methods"


def test_size_rules_see_what_they_should() -> None:
    tree = ast.parse("class A(textual.app.App[None]): ...\nclass B(Screen): ...\nclass C(Widget): ...\n")
    assert [is_screen(node) for node in tree.body if isinstance(node, ast.ClassDef)] == [True, True, False]


def test_core_never_loads_the_screen() -> None:
    assert core_modules()
    assert loaded_by(core_modules(), SCREEN_LIBRARIES) == {}


@pytest.mark.parametrize("module", LIGHT_MODULES)
def test_what_is_painted_first_waits_for_no_agent(module: str) -> None:
    assert loaded_by([module], AGENT_LIBRARIES) == {}


def test_the_first_frame_does_without_what_comes_right_behind_it() -> None:
    first = ["tui_app.cli.program", "tui_app.cli.screen", "tui_app.ui.run", "tui_app.ui.app"]
    behind = (
        "tui_app.events",
        "tui_app.context.policy",
        "tui_app.conversation.work",
        "tomllib",
        *BEHIND,
    )
    assert loaded_by(first, behind) == {}


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
    # Put together here, so that this file does not find itself.
    homes = re.compile(rb"(?<![\w.])/(?:" + b"|".join((b"wo" + b"rk", b"ro" + b"ot")) + rb")/")
    suspects = {
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked_files()
        if path.suffix not in {".tiktoken", ".png"}
        for number, line in enumerate(path.read_bytes().splitlines(), 1)
        if homes.search(line)
    }
    assert suspects == set()
