"""Completion in the prompt: files, paths, and the list above it."""

import asyncio
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import ComposeResult

from tests.ui.kit import ThemedApp
from tui_app.references import Mention, dropped, is_writable, mention_at, mentions, written
from tui_app.system.pictures import is_picture_name
from tui_app.ui.prompt import completion as file_finder
from tui_app.ui.prompt.completion import FileFinder, Offer, OfferList, rank, scan

# The list above the prompt.


@pytest.mark.parametrize("label", ["/undo", "/" + "x" * 23, "/copy [text|code] [n|#number]"])
async def test_a_summary_stands_apart_from_its_command(label: str) -> None:
    class Desk(ThemedApp):
        def compose(self) -> ComposeResult:
            yield OfferList()

    app = Desk()
    async with app.run_test() as pilot:
        offers = app.query_one(OfferList)
        offers.offers = (Offer(label, "Copy a message"),)
        await pilot.pause()
        assert label in str(offers.render())
        assert str(offers.render()).split(label)[1].startswith(" ")


class Listing(ThemedApp):
    def compose(self) -> ComposeResult:
        yield OfferList()


@pytest.mark.parametrize("height", [8, 3])
async def test_more_offers_than_rows_say_so_and_all_are_reached(height: int) -> None:
    app = Listing()
    async with app.run_test() as pilot:
        offers = app.query_one(OfferList)
        offers.styles.max_height = height
        offers.offers = tuple(Offer(f"/{number}") for number in range(35))
        await pilot.pause()
        lines = str(offers.render()).splitlines()
        assert len(lines) == offers.size.height == height
        assert lines[-1].strip() == f"1-{height - 1} of 35   up/down shows the others"
        for number in range(35):
            marked = [line for line in str(offers.render()).splitlines() if not line.startswith(" ")]
            assert marked == [f"› /{number}"]
            offers.move(1)
        assert str(offers.render()).splitlines()[-1].strip().startswith("1-")


async def test_offers_that_all_have_room_are_not_counted() -> None:
    app = Listing()
    async with app.run_test() as pilot:
        offers = app.query_one(OfferList)
        offers.offers = tuple(Offer(f"/{number}") for number in range(8))
        await pilot.pause()
        assert len(str(offers.render()).splitlines()) == 8
        assert " of " not in str(offers.render())


# File search: candidates, their order, and no pointless waiting.


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


# Paths in a prompt: detection, where they end, and quoting.


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("fix @import.py", ("import.py",)),
        ("@a.py, @b.py and @a.py.", ("a.py", "b.py")),
        ("(see @src/a.py)", ("src/a.py",)),
        ('read @"my notes.md" now', ("my notes.md",)),
        ("two\n@lines.txt\n", ("lines.txt",)),
        ("mail me@example.org", ()),
        ("@ alone, and @, too", ()),
        ('@"not closed', ()),
        ("@src/", ("src/",)),
    ],
)
def test_what_a_prompt_names(text: str, paths: tuple[str, ...]) -> None:
    assert mentions(text) == paths


@pytest.mark.parametrize(
    ("line", "column", "found"),
    [
        ("fix @imp", 8, Mention(4, 8, "imp")),
        ("fix @import.py now", 8, Mention(4, 14, "imp")),
        ("fix @import.py now", 18, None),
        ("@", 1, Mention(0, 1, "")),
        ('@"my no', 7, Mention(0, 7, "my no")),
        ('@"my notes/" x', 11, Mention(0, 12, "my notes/")),
        ('@"my notes" ', 12, None),
        ("me@example", 10, None),
    ],
)
def test_where_the_cursor_stands(line: str, column: int, found: Mention | None) -> None:
    assert mention_at(line, column) == found


@given(st.text(min_size=1).filter(is_writable).filter(str.strip))
def test_every_path_that_can_be_written_is_read_again(path: str) -> None:
    assert mentions(f"look at {written(path)} please") == (path,)


def test_hostile_names_are_not_offered() -> None:
    assert not is_writable('a"b')
    assert not is_writable("a\nb")
    assert not is_writable("a\x1b[31mb")
    assert not is_writable("abc\u202etxt")


def test_pictures_that_are_dragged_onto_the_terminal_are_recognised(tmp_path: Path) -> None:
    shot, plain, other = (tmp_path / name for name in ("Shot at 1.55\u202fPM (2).png", "b.jpg", "c.txt"))
    for file in (shot, plain, other):
        file.write_bytes(b"")
    escaped = str(shot).replace(" ", "\\ ").replace("(", "\\(").replace(")", "\\)")
    for pasted in (f"{escaped} ", f"'{shot}'", f'"{shot}"', shot.as_uri()):
        assert dropped(pasted, is_picture_name) == (shot,)
    assert dropped(f"{escaped} {plain}\n", is_picture_name) == (shot, plain)
    for text in (str(other), f"{plain} {other}", f"look at {plain}", f"{plain}\n{plain}", "/no.png", "/'"):
        assert dropped(text, is_picture_name) == ()
