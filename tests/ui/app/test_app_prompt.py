"""The prompt in the app: files, pastes, earlier prompts, external editor."""

import io
import os
from pathlib import Path

import pytest
from PIL import Image
from textual import events
from textual.events import Paste
from textual.widgets import Input, OptionList

from tests.servers.behaviours import HangMidStream, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.app.test_app_approvals import asked, box, decisions, write
from tests.ui.kit import USUAL, Deck, Desk, shown, write_files
from tui_app.session.prompts import PastPrompt
from tui_app.ui import approvals as approval_box
from tui_app.ui.chat import pane as chat_pane
from tui_app.ui.dialogs.sessions.prompts import PromptsScreen, listed
from tui_app.ui.outside_editor import NO_EDITOR, EditorProblem, edited, editor_command
from tui_app.ui.panels.gauge import ContextGauge
from tui_app.ui.prompt.completion import OfferList
from tui_app.ui.widgets.tables import Table

# Files and pastes from the prompt to the model: counted first, sent in full, named in the transcript.


async def test_a_named_file_is_sent_with_the_prompt_and_counted_before(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    # The request contains the folder's name, so the token count must not depend on the text's length.
    fake_openai.add(Text("Read.", usage=(1_200, 2)))
    write_files(served.cwd, {"tides.md": "The tide turns at noon. " * 100})
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.type("What is in @tides.md ?")
        await deck.says("attached: tides.md ~0.6k tok")
        assert deck.app.chat.query_one(ContextGauge).load.pending == 606
        await deck.press("enter")
        await deck.answered()
        assert deck.app.chat.query_one(ContextGauge).load.pending == 0
        assert "attached:" not in deck.text
        assert "What is in @tides.md ?" in deck.text
        usage = deck.app.chat.session.state.usage
        assert usage is not None
        assert usage.parts.attachments > 400
    text, file = fake_openai.journal[0]["messages"][-1]["content"]
    assert text["text"] == "What is in @tides.md ?"
    assert "The tide turns at noon." in file["text"]


async def test_a_missing_file_stays_text_and_a_notice_says_why(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(Text("I see."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("Ask @alice about @gone.md ")
        await deck.answered()
        notices = deck.app.chat.session.state.notices
        assert notices == ("@gone.md is not attached: there is no such file.",)
    assert fake_openai.journal[0]["messages"][-1]["content"] == "Ask @alice about @gone.md "


async def test_a_queued_prompt_takes_its_file_along_as_it_is_then(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(HangMidStream(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("first")
        await (await fake_openai.request(1)).paused.wait()
        await deck.send("then @README.md ")
        await deck.until(lambda: deck.queue == ["then @README.md   1 of 1 queued"], "the waiting prompt")
        write_files(served.cwd, {"README.md": "Changed meanwhile."})
        await deck.type("x")
        await deck.press("escape")
        await deck.idle()
        await deck.press("backspace", "enter")
        await deck.until(lambda: len(fake_openai.journal) == 2, "the second request")
        await deck.answered(2)
    assert "Changed meanwhile." in str(fake_openai.journal[1]["messages"][-1]["content"])


async def test_a_prompt_taken_back_opens_no_list(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(HangMidStream())
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("first")
        await (await fake_openai.request(1)).paused.wait()
        await deck.send("then @README.md ")
        await deck.until(lambda: deck.queue, "the waiting prompt")
        await deck.press("up")
        await deck.until(lambda: deck.editor.text == "then @README.md ", "the prompt")
        await deck.says("attached: README.md")
        assert not deck.app.chat.query_one(OfferList).is_open


async def test_plain_words_only(desk: Desk) -> None:
    desk.change(plain=True)
    async with shown(desk.app(), USUAL) as deck:
        await deck.ready()
        await deck.type("see @README.md and @im")
        await deck.until(lambda: deck.app.chat.query_one(OfferList).is_open, "the list")
        await deck.says("attached: README.md")
        assert "> import.py" in deck.text
        await deck.press("tab")
        deck.editor.post_message(Paste("a\n" * 30))
        await deck.says("[pasted 30 lines]")
        assert not any("\u2500" <= sign <= "\u257f" or "\u2800" <= sign <= "\u28ff" for sign in deck.text)
        assert " - [pasted 30 lines]" in deck.text


# Pastes, and drafts being sent, while another widget has focus: nothing is lost or left waiting.


@pytest.fixture
def _at_once(served: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    served.change(read_only=False)
    monkeypatch.setattr(approval_box, "QUIET_S", 0.0)
    monkeypatch.setattr(chat_pane, "QUIET_S", 0.01)


async def paste(deck: Deck, text: str) -> None:
    """Paste into the focused widget, as a terminal does."""
    deck.app.post_message(events.Paste(text))
    await deck.settle()


@pytest.mark.usefixtures("_at_once")
async def test_a_paste_while_a_tool_asks_goes_to_the_prompt(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        await paste(deck, "the next thing")
        await deck.until(lambda: deck.editor.text == "the next thing", "the paste")
        assert deck.editor.has_focus
        assert box(deck).question is not None


@pytest.mark.usefixtures("_at_once")
async def test_a_paste_for_the_reason_stays_there(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await asked(deck)
        await deck.press("n")
        await paste(deck, "not now")
        await deck.press("enter")
        await deck.says("Done.")
        assert deck.editor.is_empty
    assert [each.reason for each in decisions(served)] == ["not now"]


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("key", ["ctrl+t", "tab"])
async def test_a_paste_while_rows_have_the_keys_goes_to_the_prompt(served: Desk, key: str) -> None:
    async with shown(served.app(served.store(Story().turns(3))), (80, 24)) as deck:
        await deck.ready()
        await deck.press(key)
        await deck.until(lambda: not deck.editor.has_focus, "the rows")
        await paste(deck, "one\ntwo")
        await deck.until(lambda: deck.editor.text == "one\ntwo", "the paste")


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("key", ["enter", "ctrl+c"])
async def test_a_question_takes_the_keys_once_the_draft_is_gone(
    served: Desk, fake_openai: FakeOpenAI, key: str
) -> None:
    fake_openai.add(write(), Text("Done."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("Do it.")
        await deck.type("any")
        await deck.says("f12 answer")
        await deck.press(key)
        await deck.until(lambda: deck.editor.is_empty, "an empty prompt")
        await deck.until(lambda: box(deck).has_focus, "the keys")


# ctrl+r: earlier prompts of this folder, from this session and others.


def rows(deck: Deck) -> list[str]:
    return [str(option.prompt)[18:] for option in deck.app.screen.query_one(OptionList).options]


async def search(deck: Deck, *keys: str) -> None:
    await deck.press("ctrl+r")
    await deck.until(lambda: isinstance(deck.app.screen, PromptsScreen), "the search")
    await deck.press(*keys)
    await deck.settle()


def earlier(desk: Desk) -> None:
    """Sessions of this folder and of another."""
    here = str(desk.cwd)
    desk.store(Story("ferry", cwd=here).user("When does the ferry leave?").answer("At ten."))
    desk.store(Story("tides", cwd=here).user("Compare\nthe tides").answer("Done."))
    desk.store(Story("other", cwd="/elsewhere").user("Never shown here").answer("Right."))


async def test_prompts_of_earlier_sessions_come_back_into_the_prompt(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    earlier(served)
    fake_openai.add(Text("Noted."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("and on Sundays?")
        await deck.answered()
        await search(deck)
        assert rows(deck)[0] == "and on Sundays?"
        assert sorted(rows(deck)[1:]) == ["Compare the tides", "When does the ferry leave?"]
        await deck.press(*"tides", "enter")
        await deck.until(lambda: deck.editor.text == "Compare\nthe tides", "the prompt")
        assert deck.editor.has_focus
        assert len(fake_openai.journal) == 1, "it is written, not sent"


async def test_escape_gives_the_draft_back_and_choosing_keeps_it_one_step_away(served: Desk) -> None:
    earlier(served)
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.type("a draft")
        await search(deck, *"tides", "escape")
        assert deck.editor.text == "a draft"
        await search(deck, *"tides", "enter")
        await deck.until(lambda: deck.editor.text == "Compare\nthe tides", "the prompt")
        await deck.press("up", "up")
        assert deck.editor.text == "a draft"


async def test_cleared_drafts_are_found_too(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.type("never sent")
        await deck.press("ctrl+c")
        await search(deck)
        assert rows(deck) == ["never sent"]
        assert "this session" in deck.text
        await deck.press("enter")
        await deck.until(lambda: deck.editor.text == "never sent", "the draft")


async def test_nothing_found_is_said_and_enter_does_nothing(served: Desk) -> None:
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await search(deck)
        assert "Nothing was said in this folder yet." in deck.text
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, PromptsScreen))
    earlier(served)
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await search(deck, *"zzz", "enter")
        assert "No results." in deck.text


async def test_the_command_and_the_search_box(served: Desk) -> None:
    earlier(served)
    async with shown(served.app(), USUAL) as deck:
        await deck.ready()
        await deck.send("/prompts")
        await deck.until(lambda: isinstance(deck.app.screen, PromptsScreen), "the search")
        assert deck.app.screen.query_one(Input).has_focus
        assert deck.app.screen.query_one("#dialog-hints").region.bottom <= 24


def test_what_is_in_the_log_is_not_listed_twice() -> None:
    logged = [PastPrompt(text="b", time=2.0), PastPrompt(text="a", time=1.0)]
    assert [prompt.text for prompt in listed(["a", "/copy", "b", "/copy"], logged)] == ["/copy", "b", "a"]


@pytest.mark.parametrize("width", [40, 72, 112])
def test_rows_are_clean_and_fit(width: int) -> None:
    hostile = PastPrompt(text="\x1b[31m[bold]\n" + "long " * 50, time=1_760_000_000)
    line = Table(PromptsScreen.SPEC.columns).line(hostile, width)
    assert line.cell_length <= width
    assert "[bold] long" in line.plain
    assert "\x1b" not in line.plain


# An external editor that cannot be opened is reported, and the draft stays.


def script(folder: Path, body: str) -> list[str]:
    path = folder / "my editor"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)
    return [str(path)]


@pytest.mark.parametrize("keys", [["f4"], [*"/editor", "enter"]])
async def test_without_a_terminal_it_says_that_it_cannot(desk: Desk, keys: list[str]) -> None:
    desk.env["EDITOR"] = "true"
    async with shown(desk.app()) as deck:
        await deck.ready()
        if keys == ["f4"]:
            await deck.type("a draft")
        await deck.press(*keys)
        await deck.says("There is no terminal for an editor here.")
        assert deck.editor.text == ("a draft" if keys == ["f4"] else "")


async def test_without_an_editor_it_says_how_to_set_one(desk: Desk) -> None:
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.send("/editor what I began with")
        await deck.says(NO_EDITOR)
        assert deck.editor.text == "what I began with"


def test_visual_comes_first_and_arguments_are_understood() -> None:
    assert editor_command({"VISUAL": "code --wait 'a b'", "EDITOR": "ed"}) == ["code", "--wait", "a b"]
    assert editor_command({"VISUAL": "", "EDITOR": "ed"}) == ["ed"]
    with pytest.raises(EditorProblem, match="cannot be parsed"):
        editor_command({"EDITOR": "nano 'open"})


def test_the_file_is_the_persons_alone_and_gone_afterwards(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    command = script(tmp_path, f'ls -l "$1" > "{seen}"; echo "$1" >> "{seen}"; printf "new\\n" > "$1"')
    assert edited(command, "old", dict(os.environ), tmp_path) == "new"
    rights, name = seen.read_text().splitlines()
    assert rights.startswith("-rw-------")
    assert not Path(name).exists()


def test_what_is_not_changed_comes_back_as_it_was(tmp_path: Path) -> None:
    for text in ("", "one", "one\n", "ä\ntwo"):
        assert edited(script(tmp_path, "true"), text, dict(os.environ), tmp_path) == text


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("exit 3", "my editor ended with an error (3), so what it saved is not used. The draft is kept."),
        ('rm "$1"', "my editor could not be used: No such file or directory. The draft is kept."),
    ],
)
def test_failures_are_sentences(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(EditorProblem) as error:
        edited(script(tmp_path, body), "text", dict(os.environ), tmp_path)
    assert str(error.value) == said


def test_an_editor_that_is_not_there(tmp_path: Path) -> None:
    before = set(Path(os.environ.get("TMPDIR", "/tmp")).glob("plimsoll-*.md"))
    with pytest.raises(EditorProblem, match="no-such-editor could not be used"):
        edited(["no-such-editor"], "text", {"PATH": str(tmp_path)}, tmp_path)
    assert set(Path(os.environ.get("TMPDIR", "/tmp")).glob("plimsoll-*.md")) <= before


async def test_a_picture_is_pasted_as_a_chip_sent_and_kept_in_the_history(
    served: Desk, fake_openai: FakeOpenAI, tmp_path: Path
) -> None:
    programs, out = tmp_path / "programs", io.BytesIO()
    programs.mkdir()
    Image.new("RGB", (40, 20), "navy").save(out, "PNG")
    (programs / "shot.png").write_bytes(out.getvalue())
    reader = programs / "wl-paste"
    reader.write_text(f"#!/bin/sh\ncat {programs}/shot.png\n")
    reader.chmod(0o755)
    served.env.update(WAYLAND_DISPLAY="wayland-1", PATH=f"{programs}:/usr/bin:/bin")
    fake_openai.add(Text("A navy flag."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.type("What is this:")
        await deck.press("ctrl+v")
        await deck.until(lambda: deck.editor.text == "What is this: [picture 1] ", "the chip")
        await deck.says("attached: [picture 1] ~1.2k tok")
        deck.editor.post_message(Paste(""))
        await deck.until(
            lambda: deck.editor.text.count("[picture 1]") == 2, "the same picture, the same chip"
        )
        await deck.press("backspace", "backspace", "enter")
        await deck.answered()
        await deck.press("up")
        await deck.until(lambda: deck.editor.text == "What is this: [picture 1] ", "from the history")
        session = deck.app.chat.session.id
    asked = str(fake_openai.journal[0]["messages"])
    assert asked.count("data:image/png;base64,iVBOR") == 1
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.press("up")
        await deck.until(lambda: deck.editor.text == "What is this: [picture 1] ", "after a restart")
        await deck.says("attached: [picture 1] ~1.2k tok")
        await deck.press("ctrl+c")
        served.env.pop("WAYLAND_DISPLAY")
        await deck.press("ctrl+v")
        await deck.says("No clipboard reader found")
        deck.editor.post_message(Paste(f"'{programs}/shot.png' "))
        await deck.until(lambda: deck.editor.text == "[picture 1] ", "a file that was dragged here")
