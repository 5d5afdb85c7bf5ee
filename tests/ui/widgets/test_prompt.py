"""The prompt: what sends it, what does not, and what is kept."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Static

import tui_app.ui.slash_commands  # noqa: F401 - declares the slash commands
from tests.ui.kit import ThemedApp
from tui_app.text import is_large
from tui_app.ui.prompt.completion import FileFinder, OfferList
from tui_app.ui.prompt.editor import Chips, PromptEditor
from tui_app.ui.prompt.row import AttachedRow, Bundle, PromptRow, attached_line
from tui_app.ui.widgets.scroll_bars import WrittenArea, WrittenLine

NOWHERE = Path("no-such-folder")
"""A workspace without files."""


class Around(Screen[None]):
    """What the editor requests of its screen."""

    def __init__(self, asked: list[str]) -> None:
        super().__init__()
        self._asked = asked

    def action_go_on(self) -> None:
        self._asked.append("next")

    def action_slash(self, text: str) -> None:
        self._asked.append(text.removeprefix("/"))


class Desk(ThemedApp):
    BINDINGS = (
        ("escape", "escape", "Escape"),
        ("pageup", "page", "Page"),
        ("ctrl+c", "interrupt", "Interrupt"),
    )

    def __init__(self, prompts: list[str] | None = None, folder: Path = NOWHERE) -> None:
        super().__init__()
        self._folder = folder
        self.sent: list[str] = []
        self.files: list[tuple[str, ...]] = []
        self.typed: list[str] = []
        self.asked: list[str] = []
        self._prompts = prompts

    def compose(self) -> ComposeResult:
        yield Static("chat", markup=False)
        row = PromptRow(self._folder)
        row.editor.prompts.extend(self._prompts or ())
        yield row

    def on_mount(self) -> None:
        self.editor.focus()

    @property
    def editor(self) -> PromptEditor:
        return self.query_one(PromptRow).editor

    @property
    def slash(self) -> OfferList:
        return self.query_one(OfferList)

    def on_prompt_editor_submitted(self, event: PromptEditor.Submitted) -> None:
        self.sent.append(event.text)
        self.files.append(event.files)

    def on_prompt_editor_typed(self, event: PromptEditor.Typed) -> None:
        self.typed.append(self.query_one(PromptEditor).draft)

    def get_default_screen(self) -> Screen[None]:
        return Around(self.asked)

    def action_escape(self) -> None:
        self.asked.append("escape")

    def action_page(self) -> None:
        self.asked.append("page")

    def action_interrupt(self) -> None:
        self.asked.append("interrupt")


async def type_text(pilot: Pilot[None], text: str, *, slowly: bool = False) -> None:
    names = {" ": "space", "/": "slash", "?": "question_mark", ":": "colon"}
    keys = [names.get(sign, sign) for sign in text]
    if slowly:
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
    else:
        await pilot.press(*keys)


def burst(app: Desk, text: str) -> None:
    """Queue keys at once, as one write of the terminal does."""
    for sign in text:
        key = {"/": "slash", "\r": "enter", " ": "space"}.get(sign, sign)
        app.post_message(events.Key(key, None if key == "enter" else sign))


async def test_tabs_of_a_paste_are_sent_as_tabs() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        app.editor.post_message(events.Paste("all:\n\tgcc x\n"))
        await pilot.press("enter")
        assert app.sent == ["all:\n\tgcc x\n"]


async def test_enter_sends_and_ctrl_j_starts_a_line() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press("h", "i", "ctrl+j", "y", "o", "enter")
        assert app.sent == ["hi\nyo"]
        assert app.editor.is_empty


async def test_enter_in_the_same_write_sends() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        burst(app, "hello\r")
        await pilot.pause()
        await pilot.pause()
        assert app.sent == ["hello"]


async def test_empty_prompt_sends_nothing_but_asks_for_the_queue() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press("enter")
        await pilot.press("space", "enter")
        assert app.sent == []
        assert app.asked == ["next", "next"]


@pytest.mark.parametrize("slowly", [True, False])
async def test_exact_name_runs_at_any_typing_speed(slowly: bool) -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await type_text(pilot, "/compact", slowly=slowly)
        await pilot.press("enter")
        assert app.sent == ["/compact"]


async def test_exact_name_runs_when_typed_in_one_write() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        burst(app, "/compact\r")
        await pilot.pause()
        await pilot.pause()
        assert app.sent == ["/compact"]


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_prefix_is_completed_not_run(at_once: bool) -> None:
    app = Desk()
    async with app.run_test() as pilot:
        if at_once:
            burst(app, "/compac\r")
            await pilot.pause()
            await pilot.pause()
        else:
            await type_text(pilot, "/compac")
            await pilot.press("enter")
        assert app.sent == []
        assert app.editor.text == "/compact "
        await pilot.press("enter")
        assert app.sent == ["/compact "]


@pytest.mark.parametrize("at_once", [True, False])
async def test_unknown_command_is_named_and_stays_in_the_prompt(at_once: bool) -> None:
    app = Desk()
    async with app.run_test() as pilot:
        if at_once:
            burst(app, "/foo\r")
            await pilot.pause()
            await pilot.pause()
        else:
            await type_text(pilot, "/foo")
            await pilot.press("enter")
        assert app.sent == []
        assert app.editor.text == "/foo"
        assert app.slash.message == "No command /foo. /help lists all."
        await pilot.press("backspace")
        await pilot.pause()
        assert app.slash.message == ""


async def test_a_path_is_a_prompt() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await type_text(pilot, "/etc/hosts")
        await pilot.press("enter")
        assert app.sent == ["/etc/hosts"]


async def test_list_shows_tab_completes_and_escape_closes_only_the_list() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await type_text(pilot, "/co")
        await pilot.pause()
        assert [offer.label for offer in app.slash.offers] == [
            "/compact [focus]",
            "/context",
            "/copy [text|code] [n|#number]",
            "/commit [hint]",
        ]
        await pilot.press("escape")
        assert not app.slash.is_open
        assert app.editor.text == "/co"
        assert app.asked == []
        await pilot.press("n")
        await pilot.press("tab")
        assert app.editor.text == "/context"
        assert app.editor.has_focus


async def test_a_choice_made_with_the_arrows_runs() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await type_text(pilot, "/co")
        await pilot.pause()
        await pilot.press("down", "enter")
        assert app.sent == ["/context"]


async def test_escape_and_page_keys_are_left_to_the_screen() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press("a", "escape", "pageup")
        assert app.asked == ["escape", "page"]
        assert app.editor.text == "a"


async def test_history_walks_and_keeps_the_draft() -> None:
    app = Desk(["first", "second\nline"])
    async with app.run_test() as pilot:
        await pilot.press("d")
        await pilot.press("up")
        assert app.editor.text == "second\nline"
        await pilot.press("up", "up")
        assert app.editor.text == "first"
        await pilot.press("up")
        assert app.editor.text == "first"
        await pilot.press("down")
        await pilot.press("down")
        assert app.editor.text == "d"


async def test_a_recalled_command_does_not_trap_the_arrows() -> None:
    app = Desk(["one", "/compact"])
    async with app.run_test() as pilot:
        await pilot.press("up")
        await pilot.pause()
        assert app.editor.text == "/compact"
        await pilot.press("up")
        await pilot.pause()
        assert app.editor.text == "one"


async def test_large_paste_is_a_chip_and_is_sent_in_full() -> None:
    body = "\n".join(f"line {number}" for number in range(63))
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press("a")
        app.editor.post_message(events.Paste(body.replace("\n", "\r")))
        await pilot.pause()
        assert app.editor.text == "a[pasted 63 lines]"
        assert app.sent == []
        await pilot.press("z", "enter")
        assert app.sent == [f"a{body}z"]
        app.editor.restore_prompt(app.sent[0])
        assert app.editor.text == "a[pasted 63 lines]z"
        assert app.editor.draft == app.sent[0]


async def test_two_pastes_of_one_size_stay_apart() -> None:
    first, second = "a\n" * 30, "b\n" * 30
    app = Desk()
    async with app.run_test() as pilot:
        app.editor.post_message(events.Paste(first))
        app.editor.post_message(events.Paste(second))
        await pilot.pause()
        assert app.editor.text == "[pasted 30 lines][pasted 30 lines #2]"
        assert app.editor.draft == first + second


async def test_small_paste_is_text_and_its_newlines_never_send() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        app.editor.post_message(events.Paste("one\r\ntwo\x1b[31m\r\n"))
        await pilot.pause()
        assert app.sent == []
        assert app.editor.text == "one\ntwo\n"
        assert app.editor.cursor_location == (2, 0)


async def test_typed_text_is_posted_for_counting() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press("h", "i")
        await pilot.pause()
        assert app.typed[-1] == "hi"
        app.query_one(PromptRow).count = 8
        await pilot.pause()
        assert str(app.query_one("#prompt-count", Static).render()) == "~8 tokens"


async def test_question_mark_and_ctrl_d_mean_something_only_when_empty() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press("question_mark", "ctrl+d")
        assert app.asked == ["help", "quit"]
        await pilot.press("a", "question_mark", "home", "ctrl+d")
        assert app.editor.text == "?"
        assert app.asked == ["help", "quit"]


async def test_a_cleared_draft_comes_back_and_ctrl_c_is_the_screen_s() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press("a", "b", "ctrl+c")
        assert app.asked == ["interrupt"]
        assert app.editor.clear_draft()
        assert not app.editor.clear_draft()
        await pilot.press("up")
        assert app.editor.text == "ab"


async def test_give_back_does_not_lose_what_was_typed_meanwhile() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press("n", "e", "w")
        app.editor.restore_prompt("not sent")
        assert app.editor.text == "not sent\nnew"


async def test_grows_from_one_row_to_eight() -> None:
    app = Desk()
    async with app.run_test(size=(80, 24)) as pilot:
        assert app.editor.size.height == 1
        await pilot.press("a", "ctrl+j", "b")
        await pilot.pause()
        assert app.editor.size.height == 2
        await pilot.press(*["ctrl+j"] * 20)
        await pilot.pause()
        assert app.editor.size.height == 8
        await pilot.press("enter")
        await pilot.pause()
        assert app.editor.size.height == 1


async def test_tab_moves_the_focus_when_no_list_is_open() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press("a", "tab")
        assert app.editor.text == "a"


def test_one_endless_line_becomes_a_chip_too() -> None:
    chips = Chips()
    body = "x" * 400_000
    assert is_large(body)
    chip = chips.add(body)
    assert chip == "[pasted 400,000 characters]"
    assert chips.expand(f"look: {chip}") == f"look: {body}"


# Files and pastes in the prompt: the list after ``@``, the row of attachments, the chips.


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
    """Type the text, so that the list follows."""
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


@pytest.mark.parametrize(("typed", "counted"), [("/comp", 0), ("/no-such thing", 0), ("/etc/hosts says", 4)])
async def test_only_what_can_be_a_prompt_is_counted(typed: str, counted: int) -> None:
    app = Desk()
    async with app.run_test(size=(120, 24)) as pilot:
        await write(app, pilot, typed)
        assert app.query_one(PromptRow).count == counted


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


# Pastes shown as chips, undone and redone in any order.


LARGE = "\n".join(f"line {number}" for number in range(63))
OTHER = "\n".join(f"row {number} of another text" for number in range(40))
SMALL = "\n".join(f"entry {number}" for number in range(15))
PASTES = {"paste large": LARGE, "paste other": OTHER, "paste small": SMALL}
KEYS = (
    *("ctrl+o", "ctrl+underscore", "ctrl+y", "a", "space", "backspace", "delete"),
    *("home", "end", "up", "left", "ctrl+k", "shift+up", "shift+home"),
)


class ChipAreaDesk(ThemedApp):
    BINDINGS = [("ctrl+o", "expand", "Expand")]  # noqa: RUF012 (declared so by Textual)

    def compose(self) -> ComposeResult:
        self.offers = OfferList()
        yield self.offers
        yield PromptEditor(self.offers, FileFinder(Path.cwd()))

    @property
    def area(self) -> PromptEditor:
        return self.query_one(PromptEditor)

    def action_expand(self) -> None:
        self.area.action_expand()

    async def do(self, pilot: Pilot[None], *steps: str) -> None:
        for step in steps:
            if body := PASTES.get(step):
                self.area.post_message(events.Paste(body))
            else:
                await pilot.press(step)
            await pilot.pause()


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 12)])
@pytest.mark.parametrize("before", ["", "look at "])
async def test_an_expanded_paste_can_be_taken_back_and_done_again(size: tuple[int, int], before: str) -> None:
    app = ChipAreaDesk()
    async with app.run_test(size=size) as pilot:
        app.area.insert(before)
        await app.do(pilot, "paste large", "ctrl+o")
        assert app.area.text == before + LARGE
        await app.do(pilot, "ctrl+underscore")
        assert app.area.text == f"{before}[pasted 63 lines]"
        assert app.area.cursor_location == (0, len(app.area.text))
        await app.do(pilot, "ctrl+y")
        assert app.area.text == before + LARGE
        await app.do(pilot, "ctrl+underscore", "ctrl+underscore")
        assert app.area.text == before
        await app.do(pilot, "ctrl+y")
        assert app.area.draft == before + LARGE


async def test_a_paste_taller_than_the_prompt_can_be_taken_back() -> None:
    app = ChipAreaDesk()
    async with app.run_test() as pilot:
        await app.do(pilot, "paste small", "ctrl+underscore")
        assert app.area.text == ""
        await app.do(pilot, "ctrl+y")
        assert app.area.text == SMALL


class Form(ThemedApp):
    def compose(self) -> ComposeResult:
        yield WrittenArea()


async def test_so_can_one_in_a_field_without_chips() -> None:
    app = Form()
    async with app.run_test(size=(40, 12)) as pilot:
        area = app.query_one(WrittenArea)
        area.post_message(events.Paste(LARGE))
        await pilot.pause()
        assert area.text == LARGE
        await pilot.press("ctrl+z")
        assert area.text == ""


async def walk(steps: list[str]) -> None:
    app = ChipAreaDesk()
    async with app.run_test(size=(40, 12)) as pilot:
        await app.do(pilot, *steps)
        area = app.area
        assert ["".join(sections) for sections in area.wrapped_document.lines] == area.text.split("\n")
        assert area.clamp_visitable(area.cursor_location) == area.cursor_location
        done = area.text
        for _ in steps:
            area.undo()
            await pilot.pause()
        assert area.text == ""
        for _ in steps:
            area.redo()
            await pilot.pause()
        assert area.text == done or "ctrl+underscore" in steps


@settings(max_examples=8, deadline=None)
@given(st.lists(st.sampled_from([*PASTES, *PASTES, *KEYS]), max_size=10))
@example(["paste large", "space", "paste other", "ctrl+o", "home", "ctrl+o", "a"])
@example(["paste large", "ctrl+o", "shift+up", "delete", *["ctrl+underscore"] * 3])
def test_any_order_of_steps_can_be_taken_back(steps: list[str]) -> None:
    asyncio.run(walk(steps))


@pytest.mark.parametrize(
    ("key", "left"),
    [("ctrl+u", ["first", "lock " * 20 + "end", "last"]), ("ctrl+k", ["first", "tide " * 20, "last"])],
)
async def test_a_wrapped_line_is_deleted_as_the_line_it_is(key: str, left: list[str]) -> None:
    app = Form()
    async with app.run_test(size=(40, 12)) as pilot:
        area = app.query_one(WrittenArea)
        area.text = "\n".join(["first", "tide " * 20 + "lock " * 20 + "end", "last"])
        area.move_cursor((1, 100))
        await pilot.press(key)
        assert area.text.split("\n") == left
        area.undo()
        assert area.cursor_location == (1, 100)


async def test_at_the_start_of_a_line_it_is_joined_to_the_one_before() -> None:
    app = Form()
    async with app.run_test() as pilot:
        area = app.query_one(WrittenArea)
        area.text = "one\ntwo"
        area.move_cursor((1, 0))
        await pilot.press("ctrl+u")
        assert area.text == "onetwo"


# Text fields: keys apply in order, and pasted text is unchanged.


class WrittenDesk(ThemedApp):
    def compose(self) -> ComposeResult:
        yield WrittenLine()
        yield WrittenArea()


def written_burst(app: App[None], *keys: str) -> None:
    """Queue keys at once, as a connection that stalled for a moment does."""
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))


@pytest.mark.parametrize("kind", [WrittenLine, WrittenArea])
@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ((*"abc", "backspace", "backspace", *"xyz"), "axyz"),
        ((*"hello", "left", "left", *"XX"), "helXXlo"),
        ((*"hello", "ctrl+w", *"YY"), "YY"),
        ((*"zzzz", "ctrl+u", *"queued"), "queued"),
        ((*"bc", "home", "a"), "abc"),
    ],
)
async def test_keys_act_in_the_order_they_were_typed(
    kind: type[WrittenLine | WrittenArea], keys: tuple[str, ...], text: str
) -> None:
    app = WrittenDesk()
    async with app.run_test() as pilot:
        field = app.query_one(kind)
        field.focus()
        await pilot.pause()
        written_burst(app, *keys)
        await pilot.pause()
        await pilot.pause()
        assert (field.value if isinstance(field, WrittenLine) else field.text) == text


async def test_tabs_of_a_paste_stay_tabs() -> None:
    app = WrittenDesk()
    async with app.run_test() as pilot:
        area = app.query_one(WrittenArea)
        area.post_message(events.Paste("all:\n\tgcc \x1b[31m-o x\u202e\n"))
        await pilot.pause()
        assert area.text == "all:\n\tgcc -o x\ufffd\n"


# Vim's keys


def mode_of(app: Desk) -> str:
    return str(app.query_one("#prompt-count", Static).render())


async def test_vim_keys_edit_undo_and_send() -> None:
    app = Desk(prompts=["older"])
    async with app.run_test() as pilot:
        app.editor.vim_keys = True
        await type_text(pilot, "one two")
        await pilot.press("escape", "0", "d", "w")
        assert (app.editor.text, app.editor.cursor_location) == ("two", (0, 0))
        assert "normal" in mode_of(app)
        await pilot.press("u")
        assert app.editor.text == "one two"
        await pilot.press("ctrl+r", "A", "!")
        assert app.editor.text == "two!"
        assert "insert" in mode_of(app)
        await pilot.press("escape", "v", "b")
        assert app.editor.selected_text == "two!"
        assert "visual" in mode_of(app)
        await pilot.press("y", "P", "enter")
        assert app.sent == ["two!two!"]
        assert "insert" in mode_of(app), "a new prompt begins in insert mode"
        await pilot.press("escape", "k", "k")
        assert app.editor.text == "older"
        await pilot.press("j")
        assert app.editor.text == "two!two!"


async def test_escape_keeps_its_meanings_in_normal_mode() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        app.editor.vim_keys = True
        await pilot.press("escape")
        assert app.asked == []
        await pilot.press("d", "escape")
        assert app.asked == [], "ends the command that was begun"
        await pilot.press("escape")
        assert app.asked == ["escape"]
        await pilot.press("question_mark", "slash")
        assert app.asked == ["escape", "help"]
        assert app.slash.is_open, "a slash begins a command on an empty prompt"
        await pilot.press("escape")
        assert not app.slash.is_open
        assert app.editor.vim.mode == "insert"


async def test_vim_keys_take_a_pasted_text_as_one() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        app.editor.vim_keys = True
        app.editor.post_message(events.Paste("line\n" * 300))
        await pilot.press("escape", "x", "p", "enter")
        assert app.sent == ["line\n" * 300]


async def test_without_the_setting_keys_type_and_escape_goes_on() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        app.editor.vim_keys = True
        await pilot.press("escape")
        app.editor.vim_keys = False
        await pilot.press("x", "escape")
        assert (app.editor.text, app.asked) == ("x", ["escape"])
        assert "insert" not in mode_of(app)


@pytest.mark.parametrize("text", ["", "one\ntwo\nthree", "!ls"])
async def test_the_bar_is_as_high_as_the_panel(text: str) -> None:
    """Includes half rows: a border's corners use the colour of the adjacent rows."""
    app = Desk()
    async with app.run_test(size=(80, 24)) as pilot:
        app.editor.text = text
        await pilot.pause()
        line = app.query_one("#prompt-line")
        rows = app.screen._compositor.render_strips()[line.region.y : line.region.bottom]
        edge = [next(iter(row.crop(line.region.x, line.region.x + 1))) for row in rows]
        assert "".join(cell.text for cell in edge) == f"▗{'▐' * (len(rows) - 2)}▝"
        assert len({cell.style.color for cell in edge if cell.style}) == 1
