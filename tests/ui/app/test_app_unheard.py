"""Work that fails where nobody waits for it: a sentence, never silence, and nothing that waits for ever."""

import ast
import sqlite3
from importlib import import_module
from pathlib import Path

import pytest
from textual.widgets import Input

from tests.servers.behaviours import HangMidStream, Text
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import Story
from tests.ui.kit import Deck, Desk, shown
from tui_app import ui
from tui_app.ui import log_texts
from tui_app.ui.chat import unsent
from tui_app.ui.dialogs import import_export as files
from tui_app.ui.dialogs import import_export as importing
from tui_app.ui.dialogs import sessions
from tui_app.ui.dialogs.approvals import ApprovalsScreen
from tui_app.ui.dialogs.base import ConfirmDialog, DetailsScreen, EditDialog
from tui_app.ui.dialogs.import_export import ImportScreen
from tui_app.ui.dialogs.settings import SettingsScreen
from tui_app.ui.row_bodies import LateBodies
from tui_app.ui.widgets import TellsFailures


class Mishap(Exception):
    """What no one has thought of."""


def mishap(*_: object, **__: object) -> None:
    raise Mishap


def refuses(*_: object, **__: object) -> None:
    raise sqlite3.OperationalError("disk I/O error")


@pytest.fixture
def session(served: Desk) -> str:
    return served.store(Story(title="Tides").turns(2))


async def listed(deck: Deck, words: str) -> SettingsScreen:
    await deck.send(f"/settings {words}")
    await deck.until(lambda: isinstance(deck.app.screen, SettingsScreen), "the settings")
    await deck.until(lambda: deck.app.screen.query_one(Input).value == words, "the filter")
    assert isinstance(deck.app.screen, SettingsScreen)
    return deck.app.screen


async def test_a_long_text_that_cannot_be_read_says_so(served: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_app.ui.row_bodies.LONG_CHARS", 10)
    monkeypatch.setattr(log_texts, "read_body", mishap)
    async with shown(served.app(served.store(Story().turns(1)))) as deck:
        await deck.says("This text cannot be read: Mishap.")


@pytest.mark.parametrize("fails", [mishap, refuses])
async def test_a_list_of_transcripts_that_cannot_be_made_says_so(
    served: Desk, monkeypatch: pytest.MonkeyPatch, fails: object
) -> None:
    monkeypatch.setattr(importing, "_find", fails)
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("/import")
        await deck.until(lambda: isinstance(deck.app.screen, ImportScreen), "the list")
        await deck.says("The list cannot be made: ")
        assert "/import FILE takes one from anywhere" in deck.words


async def test_an_export_of_a_log_that_cannot_be_read_says_so(
    served: Desk, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "open_store", refuses)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/export")
        await deck.says("Not exported: the session cannot be read.")


async def test_a_row_that_cannot_be_read_says_so(
    served: Desk, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none(*_: object) -> None:
        return None

    async with shown(served.app(session)) as deck:
        await deck.ready()
        monkeypatch.setattr(LateBodies, "record", none)
        deck.transcript.focus()
        await deck.press("up", "ctrl+o")
        await deck.says("This row cannot be read. It is no longer in the log.")


async def test_two_quick_enters_open_one_dialog(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await listed(deck, "budget")
        await deck.hurry("enter", "enter")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen | EditDialog), "a dialog")
        await deck.press("escape")
        await deck.until(lambda: isinstance(deck.app.screen, SettingsScreen), "the list")
        await deck.press("escape", "escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")


async def test_a_file_that_was_broken_meanwhile_is_told_and_the_list_works_on(served: Desk) -> None:
    async with shown(served.app()) as deck:
        await deck.ready()
        await listed(deck, "bell_after_s")
        served.paths.config_file.parent.mkdir(parents=True, exist_ok=True)
        served.paths.config_file.write_text("bell_after_s = [\n")
        await deck.press("f8")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "what is wrong")
        await deck.press("escape")
        served.paths.config_file.write_text("bell_after_s = 7.0\n")
        await deck.press("f8")
        await deck.says("bell_after_s has its built-in value")


async def test_rules_that_were_closed_before_they_were_written_anew_cause_no_error(
    served: Desk,
) -> None:
    served.paths.config_file.parent.mkdir(parents=True, exist_ok=True)
    served.paths.config_file.write_text('[approvals]\nallow = ["run_command ls"]\n')
    served.change(approvals={"allow": ["run_command ls"]})
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("/approvals")
        await deck.until(lambda: isinstance(deck.app.screen, ApprovalsScreen), "the rules")
        await deck.says("run_command ls")
        await deck.hurry("f8", "escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")
        await deck.says("run_command ls: taken out of")


@pytest.mark.parametrize("command", ["pin", "unpin", "rewind", "fork", "copy", "compact --up-to"])
async def test_a_number_of_thousands_of_digits_is_refused_in_words(
    served: Desk, session: str, command: str
) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send(f"/{command} #{'9' * 5_000}")
        await deck.until(lambda: "number" in deck.status or "takes" in deck.status, "a refusal")
        assert "ValueError" not in deck.text


async def test_a_session_that_somebody_else_has_deleted_is_simply_gone(served: Desk, session: str) -> None:
    launch = served.launch()
    assert sessions._delete(launch, session) == ""
    assert sessions._delete(launch, session) == ""


async def test_prompts_that_the_disk_refuses_go_along_to_the_next_session(
    served: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(unsent, "keep_unsent", full)
    monkeypatch.setattr(unsent, "GATHER_S", 60.0)
    fake_openai.add(HangMidStream(), Text("Here."))
    app = served.app()
    async with shown(app) as deck:
        await deck.ready()
        await deck.send("talk")
        await (await fake_openai.request(1)).paused.wait()
        await deck.send("second")
        await deck.until(lambda: deck.queue, "the waiting prompt")
        before = deck.app.chat
        await deck.send("/new")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        await deck.press("y")
        await deck.until(lambda: deck.app.chat is not before, "the new session")
        await deck.ready()
        assert deck.editor.text == "second"
    assert "Not sent, and not kept for the next time (No space left on device):\nsecond" in app.farewell


def test_a_checkpoint_of_other_bytes_is_shown_all_the_same(tmp_path: Path) -> None:
    from tui_app.ui.dialogs.session_info import _file_text

    file = tmp_path / "compact.md"
    file.write_bytes(b"tides \xff at six")
    assert _file_text(str(file)) == "tides \ufffd at six"


def workers_of(path: Path) -> list[str]:
    """Classes of a file that start work of their own, by their own name and that of their first base."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ClassDef):
            text = ast.unparse(node)
            if "self.run_worker(" in text or "@work(" in text:
                found.append(node.name)
    return found


@pytest.mark.parametrize("path", sorted(Path(ui.__file__).parent.rglob("*.py")), ids=lambda path: path.stem)
def test_whoever_starts_work_tells_of_its_failure(path: Path) -> None:
    parts = path.relative_to(Path(ui.__file__).parent).with_suffix("").parts
    module = import_module(".".join(("tui_app.ui", *parts)).removesuffix(".__init__"))
    silent = [name for name in workers_of(path) if not issubclass(getattr(module, name), TellsFailures)]
    assert not silent
