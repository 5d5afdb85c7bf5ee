"""Looking for files: what is offered, in which order, and that nobody waits for it in vain."""

import asyncio
import threading
from pathlib import Path

import pytest

from tui_app.ui.prompt import completion as file_finder
from tui_app.ui.prompt.completion import FileFinder, rank, scan

PATHS = (
    "src/",
    "src/deep/",
    "import.py",
    "README.md",
    "src/import_all.py",
    "src/deep/reimport.py",
    "src/deep/index.ts",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("src/deep/a.py", "src/b.py", "node_modules/x.js", "build/out.o", ".git/config", 'odd"name'):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / ".gitignore").write_text("build/\n")
    (tmp_path / "away").symlink_to("/")
    return tmp_path


@pytest.mark.parametrize(
    ("wanted", "first"),
    [
        ("", ["src/", "README.md", "import.py"]),
        ("import", ["import.py", "src/import_all.py", "src/deep/reimport.py"]),
        ("IMPORT.PY", ["import.py", "src/deep/reimport.py"]),
        ("src", ["src/", "src/deep/", "src/import_all.py"]),
        ("src/", ["src/", "src/deep/", "src/import_all.py"]),
        ("sdi", ["src/deep/index.ts", "src/deep/reimport.py"]),
        ("./rea", ["README.md"]),
        ("nothing here", []),
    ],
)
def test_order(wanted: str, first: list[str]) -> None:
    assert sorted(rank(PATHS, wanted)[: len(first)]) == sorted(first)
    if wanted:
        assert rank(PATHS, wanted)[: len(first)] == first


def test_the_number_is_limited() -> None:
    assert len(rank([f"{number}.py" for number in range(1000)], "py")) == file_finder.SHOWN


def test_what_git_ignores_and_what_leads_away_is_left_out(folder: Path) -> None:
    found = scan(folder, threading.Event())
    assert set(found) == {"src/", "src/deep/", "src/deep/a.py", "src/b.py", ".gitignore"}


async def test_a_walk_is_kept_for_a_while(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finder = FileFinder(folder)
    assert await finder.find("new") == []
    (folder / "new.py").write_text("")
    assert await finder.find("new") == []
    monkeypatch.setattr(file_finder, "KEPT_S", -1.0)
    assert await finder.find("new") == ["new.py"]


async def test_typing_on_does_not_start_another_walk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, walks = threading.Event(), []

    def slow(root: Path, cancelled: threading.Event) -> tuple[str, ...]:
        walks.append(cancelled)
        assert gate.wait(20)
        return scan(root, cancelled)

    monkeypatch.setattr(file_finder, "scan", slow)
    finder = FileFinder(folder)
    first = asyncio.create_task(finder.find("a"))
    await asyncio.sleep(0)
    first.cancel()
    second = asyncio.create_task(finder.find("a.p"))
    await asyncio.sleep(0)
    gate.set()
    assert await second == ["src/deep/a.py"]
    assert len(walks) == 1


async def test_a_walk_that_nobody_wants_ends(folder: Path) -> None:
    cancelled = threading.Event()
    cancelled.set()
    assert scan(folder, cancelled) == ()
    finder = FileFinder(folder)
    waiting = asyncio.create_task(finder.find("a"))
    await asyncio.sleep(0)
    finder.end_walk()
    await waiting
    assert await finder.find("a.p") == ["src/deep/a.py"]
