"""``/import``: sessions of other programs on this machine are read with progress, stopped, and continued."""

import json
import os
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input, TextArea

from tests.conversation.test_audit import RULE, claude
from tests.session.importing import foreign
from tests.ui.kit import LIMIT_S, USUAL, Deck, Desk, shown
from tui_app.conversation.imports import imports as importing
from tui_app.conversation.imports import imports as imports_module
from tui_app.events import SessionStart
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.ui.dialogs.compaction import CompactionDetail
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.questions import ConfirmDialog
from tui_app.ui.dialogs.rows import open_entry
from tui_app.ui.dialogs.sessions.import_export import ImportedDialog, ImportProgressDialog, ImportScreen
from tui_app.ui.keyboard import stray_keys

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()


@pytest.fixture(autouse=True)
def _nobody_is_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stray_keys, "QUIET_S", 0.0)


@pytest.fixture
def machine(desk: Desk, tmp_path: Path) -> Desk:
    """A home with a Codex rollout and a Gemini chat."""
    home = tmp_path / "home"
    codex = home / ".codex" / "sessions" / "2026" / "03" / "01" / "rollout-2026-03-01.jsonl"
    gemini = home / ".gemini" / "tmp" / "abc" / "chats" / "session-1.json"
    for path, content, age in (
        (codex, foreign.jsonl(foreign.codex()), 0),
        (gemini, json.dumps(foreign.gemini()).encode(), 3600),
    ):
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        os.utime(path, (NOON - age, NOON - age))
    desk.env["HOME"] = str(home)
    return desk


async def listed(deck: Deck) -> ImportScreen:
    await deck.ready()
    await deck.send("/import")
    await deck.until(lambda: isinstance(deck.app.screen, ImportScreen), "the list")
    await deck.says("codex")
    assert isinstance(deck.app.screen, ImportScreen)
    return deck.app.screen


async def came(deck: Deck, key: str = "enter") -> str:
    await deck.until(lambda: isinstance(deck.app.screen, ImportedDialog), "what came")
    text = deck.words
    await deck.press(key)
    return text


async def told(deck: Deck) -> str:
    await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the account")
    text = deck.words
    await deck.press("escape")
    return text


def sessions(desk: Desk) -> list[str]:
    if not desk.paths.database.exists():
        return []
    with desk.log() as store:
        starts = [store.record(info.id, 1) for info in store.sessions()]
    return [each.data.imported_from for each in starts if each and isinstance(each.data, SessionStart)]


async def test_one_is_chosen_from_the_list_and_gone_on_with(machine: Desk) -> None:
    async with shown(machine.app()) as deck:
        screen = await listed(deck)
        assert deck.text.index("codex") < deck.text.index("gemini-cli")
        screen.query_one(Input).value = "gemini"
        await deck.until(lambda: "codex" not in deck.text, "a narrowed list")
        await deck.press("enter")
        account = await came(deck)
        assert "4 messages, 1 tool call, 1 result from gemini-cli" in account
        assert "tokens, " in account
        assert "enter choose" in account
        assert "messages of the program (not the model) were left out" in account
        await deck.says("Fix the till")
        await deck.ready()
        kinds = deck.kinds
        assert kinds.count("tool") == 1
        await deck.send("what was fixed?")
        await deck.answered(kinds.count("assistant") + 1)
        assert deck.kinds[: len(kinds)] == kinds
    assert sessions(machine).count("gemini-cli") == 1


async def test_one_that_was_imported_is_marked_and_opened_again(machine: Desk) -> None:
    async with shown(machine.app(), USUAL) as deck:
        await listed(deck)
        await deck.press("enter")
        await came(deck)
        await deck.says("Fixed.")
        imported = deck.app.chat.session.id
        await deck.send("/new")
        await deck.until(lambda: deck.app.chat.is_ready and deck.app.chat.session.id != imported, "a new one")
        await listed(deck)
        await deck.says("imported")
        await deck.says(f"enter opens session {imported}")
        await deck.press("enter")
        await deck.until(lambda: deck.app.chat.is_ready and deck.app.chat.session.id == imported, "the same")
    assert sessions(machine).count("codex") == 1


async def test_what_another_window_imports_meanwhile_is_opened(
    machine: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importing.import_file

    def overtaken(path: Path, format: str) -> Any:
        monkeypatch.setattr(importing, "import_file", real)
        with closing(SqliteStore(machine.paths.database)) as other:
            imports_module.import_session(path, store=other, cwd=machine.cwd, now=time.time())
        return real(path, format)

    monkeypatch.setattr(importing, "import_file", overtaken)
    async with shown(machine.app()) as deck:
        await listed(deck)
        await deck.press("enter")
        await deck.says("Fixed.")
        with machine.log() as store:
            assert store.record(deck.app.chat.session.id, 1).data.imported_from == "codex"  # type: ignore[union-attr]
    assert sessions(machine).count("codex") == 1


async def test_a_file_anywhere(machine: Desk) -> None:
    (machine.cwd / "old chat.json").write_text(json.dumps(foreign.openai()))
    async with shown(machine.app()) as deck:
        await deck.ready()
        await deck.send('/import "old chat.json"')
        await came(deck, "escape")
        await deck.says("/resume opens it.")
        assert "Fixed." not in deck.text, "it is kept for later"
        await deck.send('/import "old chat.json"')
        await came(deck, "ctrl+g")
        await deck.says("Compaction failed")


@pytest.mark.parametrize(
    ("name", "why"), [("gone.json", "No such file"), ("README.md", "has no known format")]
)
async def test_a_file_that_is_none(machine: Desk, name: str, why: str) -> None:
    async with shown(machine.app()) as deck:
        await deck.ready()
        await deck.send(f"/import {name}")
        account = await told(deck)
        assert "Not imported" in account
        assert why in account
    assert not any(sessions(machine))


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_a_key_stops_an_import_and_nothing_is_left_of_it(
    machine: Desk, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    gate, read = threading.Event(), importing.import_file

    def slow(*args: Any) -> Any:
        assert gate.wait(LIMIT_S)
        return read(*args)

    monkeypatch.setattr(importing, "import_file", slow)
    async with shown(machine.app()) as deck:
        await listed(deck)
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, ImportProgressDialog), "the progress")
        await deck.says("Reading the file")
        await deck.press(key)
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")
        await deck.says("Stopping the import…")
        gate.set()
        await deck.says("Import stopped. Nothing was imported.")
    assert not any(sessions(machine))


@pytest.mark.parametrize("ends", ["before it is shown", "under a question"])
async def test_the_progress_closes_whenever_the_import_ends(machine: Desk, ends: str) -> None:
    closed: list[bool | None] = []
    async with shown(machine.app()) as deck:
        await deck.ready()
        dialog = ImportProgressDialog("a.jsonl", lambda: False)
        if ends == "before it is shown":
            dialog.end()
        deck.app.push_screen(dialog, closed.append)
        if ends == "under a question":
            await deck.app.push_screen(ConfirmDialog("Trust it?", verb="Trust", keep="Not now"))
            dialog.end()
            await deck.settle()
            await deck.press("escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")
    assert closed == [True]


async def test_nothing_found(desk: Desk, tmp_path: Path) -> None:
    desk.env["HOME"] = str(tmp_path / "empty")
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.send("/import")
        await deck.says("No transcripts of other tools were found.")
        await deck.press("escape")
        await deck.until(lambda: deck.app.screen is deck.app.chat, "the chat")


async def test_the_audit_of_an_imported_session(desk: Desk, tmp_path: Path) -> None:
    path = claude(tmp_path)
    async with shown(desk.app(), USUAL) as deck:
        await deck.ready()
        await deck.send(f"/import {path}")
        await came(deck)
        await deck.says("Going on.")
        await deck.ready()
        await deck.send("/audit")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the reader")
        await deck.says("1 compaction")
        text = deck.app.screen.query_one(TextArea).text
        assert RULE in text
        assert "sliding-window" in text
        await deck.press("escape")
        (compacted,) = (entry for entry in deck.transcript.entries if entry.kind == "compaction")
        deck.app.chat.work(open_entry(deck.app, deck.app.chat.session, compacted))
        await deck.until(lambda: isinstance(deck.app.screen, CompactionDetail), "the details")
        await deck.press("left_square_bracket")
        await deck.says("Your words lost: ")


async def test_it_goes_on_with_the_model_that_it_was_measured_by(machine: Desk) -> None:
    machine.env["OPENAI_API_KEY"] = "sk-test"
    async with shown(machine.app()) as deck:
        await deck.ready()
        usual = deck.app.chat.session.state.model
        await deck.send("/model openai:gpt-4o")
        await deck.until(lambda: deck.app.chat.session.state.model == "openai:gpt-4o", "another model")
        assert usual != "openai:gpt-4o"
        await deck.press(*"/import", "enter")
        await deck.until(lambda: isinstance(deck.app.screen, ImportScreen), "the list")
        await deck.says("codex")
        await deck.press("enter")
        assert " of 128k" in await came(deck)
        await deck.says("Fixed.")
        await deck.ready()
        assert deck.app.chat.session.state.model == "openai:gpt-4o"
