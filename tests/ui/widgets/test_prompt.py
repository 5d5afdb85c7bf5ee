"""The prompt: what sends, what does not, and what is kept."""

from pathlib import Path

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Static

from tui_app.ui.prompt.completion import OfferList
from tui_app.ui.prompt.editor import Chips, PromptEditor, is_large
from tui_app.ui.prompt.row import PromptRow

NOWHERE = Path("no-such-folder")
"""A workspace without files."""


class Desk(App[None]):
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
        yield PromptRow(self._folder, prompts=self._prompts)

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
        self.typed.append(event.editor.draft)

    def on_prompt_editor_help_wanted(self) -> None:
        self.asked.append("help")

    def on_prompt_editor_quit_wanted(self) -> None:
        self.asked.append("quit")

    def on_prompt_editor_next_wanted(self) -> None:
        self.asked.append("next")

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
    """Put keys into the queue at once, as one write to the terminal does."""
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
        assert app.slash.message.startswith("No command /foo. Closest: /")
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
        app.editor.give_back(app.sent[0])
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
        assert str(app.query_one("#prompt-count", Static).render()) == "~8 tok"


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
        app.editor.give_back("not sent")
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
