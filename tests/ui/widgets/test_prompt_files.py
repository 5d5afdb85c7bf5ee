"""Files and pastes in the prompt: the list behind ``@``, the row that says what goes along, the chips."""

from collections.abc import Callable
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from tests.ui.widgets.test_prompt import Desk
from tui_app.ui.prompt.row import AttachedRow, Bundle, PromptRow, attached_line

BODY = "\n".join(f"line {number}" for number in range(63))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "import.py").write_text("x" * 400)
    (tmp_path / "my notes.md").write_text("tides")
    (tmp_path / "picture.png").write_bytes(b"\0\0")
    return tmp_path


async def until(pilot: Pilot[None], condition: Callable[[], object]) -> None:
    for _ in range(4000):
        if condition():
            return
        await pilot.pause(0.005)
    raise AssertionError("never came")


async def write(app: Desk, pilot: Pilot[None], text: str) -> None:
    """As typed: the list follows."""
    app.editor.insert(text)
    await pilot.pause()


async def listed(app: Desk, pilot: Pilot[None], *labels: str) -> None:
    await until(pilot, lambda: [offer.label for offer in app.slash.offers][: len(labels)] == list(labels))


def row(app: Desk) -> str:
    found = app.query_one(AttachedRow)
    return found.render_line(0).text.strip() if found.display else ""


async def test_a_list_of_files_opens_and_tab_completes(folder: Path) -> None:
    app = Desk(folder=folder)
    async with app.run_test() as pilot:
        await write(app, pilot, "fix @imp")
        await listed(app, pilot, "src/import.py")
        await pilot.press("tab")
        assert app.editor.text == "fix @src/import.py "
        await pilot.pause()
        assert not app.slash.is_open
        assert app.sent == []


async def test_enter_takes_the_marked_file_and_then_sends(folder: Path) -> None:
    app = Desk(folder=folder)
    async with app.run_test() as pilot:
        await write(app, pilot, "@")
        await listed(app, pilot, "src/", "my notes.md", "picture.png")
        await pilot.press("down", "enter")
        assert app.editor.text == '@"my notes.md" '
        assert app.sent == []
        await pilot.press("enter")
        assert app.sent == ['@"my notes.md" ']
        assert app.files == [("my notes.md",)]


async def test_a_path_written_out_is_sent_at_once(folder: Path) -> None:
    app = Desk(folder=folder)
    async with app.run_test() as pilot:
        await write(app, pilot, "read @src/import.py")
        await listed(app, pilot, "src/import.py")
        await pilot.press("enter")
        assert app.sent == ["read @src/import.py"]


async def test_a_folder_leads_on_into_it(folder: Path) -> None:
    (folder / "two words").mkdir()
    (folder / "two words" / "a.txt").write_text("a")
    app = Desk(folder=folder)
    async with app.run_test() as pilot:
        await write(app, pilot, "@two")
        await listed(app, pilot, "two words/")
        await pilot.press("tab")
        assert app.editor.text == '@"two words/"'
        await listed(app, pilot, "two words/", "two words/a.txt")
        await pilot.press("down", "enter")
        assert app.editor.text == '@"two words/a.txt" '


async def test_escape_closes_only_the_list_and_leaving_the_path_too(folder: Path) -> None:
    app = Desk(folder=folder)
    async with app.run_test() as pilot:
        await write(app, pilot, "see @imp")
        await listed(app, pilot, "src/import.py")
        await pilot.press("escape")
        assert not app.slash.is_open
        assert (app.editor.text, app.asked) == ("see @imp", [])
        await pilot.press("o")
        await listed(app, pilot, "src/import.py")
        await pilot.press("home")
        await pilot.pause()
        assert not app.slash.is_open


async def test_an_address_lists_nothing(folder: Path) -> None:
    app = Desk(folder=folder)
    async with app.run_test() as pilot:
        await write(app, pilot, "me@imp")
        await pilot.app.workers.wait_for_complete()
        assert not app.slash.is_open


async def test_what_goes_along_is_shown_and_counted(folder: Path) -> None:
    app = Desk(folder=folder)
    async with app.run_test(size=(120, 24)) as pilot:
        await write(app, pilot, "a @src/import.py b")
        await until(pilot, lambda: row(app) == "attached: src/import.py ~0.1k tok")
        assert app.query_one(PromptRow).count == 5 + 100
        await write(app, pilot, " @picture.png @gone.py ")
        await until(pilot, lambda: "gone.py" in row(app))
        assert row(app) == (
            "not attached: @picture.png: it is not text · @gone.py: there is no such file"
            " · attached: src/import.py ~0.1k tok"
        )
        app.editor.clear()
        await pilot.pause()
        assert row(app) == ""
        assert app.query_one(PromptRow).count == 0


async def test_a_path_that_is_being_written_is_no_mistake(folder: Path) -> None:
    app = Desk(folder=folder)
    async with app.run_test() as pilot:
        await write(app, pilot, "a @zzz")
        await pilot.app.workers.wait_for_complete()
        assert row(app) == ""
        await pilot.press("space")
        await until(pilot, lambda: row(app) == "not attached: @zzz: there is no such file")


async def test_a_file_named_in_a_paste_does_not_go_along(folder: Path) -> None:
    app = Desk(folder=folder)
    async with app.run_test() as pilot:
        app.editor.post_message(events.Paste(f"@src/import.py\n{BODY}"))
        await pilot.pause()
        await pilot.press("enter")
        assert app.files == [()]


async def pasted(app: Desk, pilot: Pilot[None]) -> None:
    await pilot.press("a")
    app.editor.post_message(events.Paste(BODY))
    await pilot.pause()
    assert app.editor.text == "a[pasted 63 lines]"


async def test_a_paste_shows_its_tokens_and_its_keys() -> None:
    app = Desk()
    async with app.run_test(size=(120, 24)) as pilot:
        await pasted(app, pilot)
        assert row(app) == ("attached: [pasted 63 lines] ~0.1k tok · ctrl+o expands, backspace removes")
        assert app.query_one(PromptRow).count == -(-len(f"a{BODY}") // 4)
        await pilot.press("home")
        assert row(app).endswith("~0.1k tok · ctrl+o at its mark expands")
        await pilot.press("end")
        assert row(app).endswith("ctrl+o expands, backspace removes")
        await pilot.press("space", "b")
        assert row(app).endswith("ctrl+o at its mark expands")


async def test_a_paste_is_expanded_where_the_cursor_is() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pasted(app, pilot)
        await pilot.press("home", "ctrl+o")
        assert app.editor.text == "a[pasted 63 lines]", "the cursor is not at it"
        await pilot.press("end", "ctrl+o")
        assert app.editor.text == f"a{BODY}"
        assert app.editor.cursor_location == (62, len("line 62"))
        assert app.query_one(AttachedRow).display is False or row(app) == ""


@pytest.mark.parametrize("keys", [["backspace"], ["left", "backspace"], ["home", "right", "delete"]])
async def test_a_paste_is_removed_as_a_whole(keys: list[str]) -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pasted(app, pilot)
        await pilot.press(*keys)
        await pilot.pause()
        assert app.editor.text == "a"
        assert row(app) == ""
        await pilot.press("enter")
        assert app.sent == ["a"]


async def test_only_the_letter_beside_a_paste_is_deleted() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pasted(app, pilot)
        await pilot.press("home", "right", "backspace")
        assert app.editor.text == "[pasted 63 lines]"
        await pilot.press("end", "b", "left", "delete")
        assert app.editor.text == "[pasted 63 lines]"


@pytest.mark.parametrize("width", [20, 40, 78, 118])
def test_the_row_never_runs_over(width: int) -> None:
    bundles = [
        Bundle("a\x1b[31m" + "long" * 30, 3),
        Bundle("[pasted 63 lines]", 400),
        Bundle("x", why_not="no"),
    ]
    line = attached_line(bundles, width, keys="ctrl+o expands")
    assert len(line) <= width
    assert "\x1b" not in line


@pytest.mark.parametrize("width", [40, 60])
def test_what_goes_along_is_seen_behind_a_long_refusal_too(width: int) -> None:
    bundles = [Bundle("x", why_not="it is a picture of 8 MB, and 5 MB is the most"), Bundle("a.md", 400)]
    line = attached_line(bundles, width)
    assert line.startswith("1 attached ~0.4k tok · not attached: @x")


async def test_the_size_of_a_draft_is_that_of_its_bytes_as_everywhere(folder: Path) -> None:
    app = Desk(folder=folder)
    async with app.run_test() as pilot:
        await write(app, pilot, "潮汐什么时候来" * 4)
        assert app.query_one(PromptRow).count == 7 * 4 * 3 // 4
