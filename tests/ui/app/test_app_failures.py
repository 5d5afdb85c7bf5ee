"""Failures show a message with advice, are never silent, and lose no text of the user."""

import ast
import asyncio
import logging
import sqlite3
import threading
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from tests.servers.behaviours import CutStream, Failure, HangMidStream, Text, error, too_long
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import WORDS, Story
from tests.ui.kit import LIMIT_S, Deck, Desk, shown
from tui_app import ui
from tui_app.conversation.assembly import OpenSession
from tui_app.session import preview
from tui_app.session.preview import StatsReader
from tui_app.session.stats import SessionStats
from tui_app.session.stores.store import SessionNotFound
from tui_app.ui import screen as chat
from tui_app.ui.chat import log_reader as persistence
from tui_app.ui.chat import unsent
from tui_app.ui.chat.presenter import Presenter
from tui_app.ui.dialogs import session_info as stats
from tui_app.ui.dialogs import stats as stats_module
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.extensions import approvals as approvals_list
from tui_app.ui.dialogs.extensions.approvals import ApprovalsScreen
from tui_app.ui.dialogs.questions import ConfirmDialog, EditDialog
from tui_app.ui.dialogs.sessions import export as files
from tui_app.ui.dialogs.sessions import import_export as importing
from tui_app.ui.dialogs.sessions import session_choice
from tui_app.ui.dialogs.sessions.import_export import ImportScreen
from tui_app.ui.dialogs.sessions.sessions import SessionsScreen
from tui_app.ui.dialogs.setup.settings import SettingsScreen
from tui_app.ui.prompt import row as prompt_row
from tui_app.ui.prompt.completion import FileFinder
from tui_app.ui.row_bodies import LateBodies
from tui_app.ui.transcript.transcript import Transcript
from tui_app.ui.widgets.hint_row import TellsFailures

# Failing workers: a message on the screen, a traceback in the log file, and no lost text.


class Mishap(Exception):
    """An unexpected error."""


async def mishap(*_: object) -> None:
    raise Mishap("inner words")


def mishap_at_once(*_: object) -> None:
    raise Mishap


async def test_a_command_that_fails_says_so(
    served: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stats, "show_status", mishap)
    async with shown(served.app(served.store(Story().turns(1)))) as deck:
        await deck.ready()
        await deck.send("/status")
        await deck.says("That did not work: Mishap.")
        assert "inner words" not in deck.text
        assert [record.levelno for record in caplog.records if record.exc_info] == [logging.ERROR]


async def test_work_of_a_dialog_that_fails_says_so(served: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats_module.StatsScreen, "_follow", mishap)
    async with shown(served.app(served.store(Story().turns(1)))) as deck:
        await deck.ready()
        await deck.send("/stats")
        await deck.until(lambda: isinstance(deck.app.screen, stats_module.StatsScreen), "the dialog")
        await deck.press("escape")
        await deck.says("That did not work: Mishap.")


async def test_what_cannot_be_loaded_ends_the_program_and_keeps_what_was_written(
    served: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = threading.Event()

    def fails() -> None:
        typed.wait(LIMIT_S)
        raise Mishap

    monkeypatch.setattr(chat, "_load", fails)
    app = served.app()
    async with shown(app) as deck:
        await deck.pilot.press(*"thought")
        await deck.until(lambda: deck.editor.text or app._held, "the keys")
        typed.set()
        await deck.until(lambda: not app._running or app._exit, "the end")
    assert app.return_code == 1
    assert app.farewell.startswith("1 prompt was not sent")


async def test_a_session_that_cannot_be_shown_ends_the_program(
    served: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StatsReader, "read", mishap_at_once)
    app = served.app(served.store(Story().turns(1)))
    async with shown(app) as deck:
        await deck.until(lambda: not app._running or app._exit, "the end")
    assert app.return_code == 1


async def test_sessions_that_cannot_be_read_are_no_list_to_choose_from(
    served: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.paths.ensure()
    served.paths.database.write_bytes(b"no database at all " * 99)
    gate = threading.Event()
    monkeypatch.setattr(chat, "_load", lambda: gate.wait(LIMIT_S))
    app = served.app(pick_session=True)
    async with shown(app) as deck:
        await deck.until(lambda: not app._running or app._exit, "the end")
        gate.set()
    assert app.return_code == 1
    happened, why, *what_to_do = app.ended_by.split(". ")
    assert happened == "Plimsoll could not start"
    assert str(served.paths.database) in why
    assert what_to_do[0] == "Nothing was deleted"
    assert what_to_do[-1].endswith("start again.")


@pytest.mark.parametrize("times", [1, 9])
async def test_a_log_that_refuses_while_a_turn_runs_hides_no_answer(
    served: Desk,
    fake_openai: FakeOpenAI,
    slow_start: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
    times: int,
) -> None:
    monkeypatch.setattr(persistence, "PAUSES_S", (0.0, 0.0))
    read, refusals = StatsReader.read, [sqlite3.OperationalError("database is locked")] * times

    def fails(reader: StatsReader) -> SessionStats:
        if refusals:
            # A prompt that no turn has taken yet would return to the editor.
            fake_openai.request_in_thread(1)
            raise refusals.pop()
        return read(reader)

    monkeypatch.setattr(StatsReader, "read", fails)
    fake_openai.add(Text("Here I am."))
    async with shown(served.app(served.store(Story().turns(1)))) as deck:
        await deck.until(lambda: deck.app.chat.is_ready, "the chat")
        await deck.send("are you there?")
        slow_start.set()
        if times == 1:
            await deck.says("Here I am.")
        else:
            await deck.says("database is locked")
            await deck.until(lambda: not deck.app.chat.session.engine._thread.is_alive(), "its end")
            await deck.send("another")
            await deck.says("database is locked")
            assert deck.editor.text == "another"


async def test_files_behind_an_at_that_cannot_be_listed_are_said(
    served: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FileFinder, "find", mishap)
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.press("@", "R")
        await deck.says("That did not work: Mishap.")
        assert deck.editor.text == "@R"


async def test_a_failure_before_there_is_a_session_is_said_and_ends_nothing(
    served: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    monkeypatch.setattr(chat, "_load", lambda: gate.wait(LIMIT_S))
    monkeypatch.setattr(prompt_row, "weigh", mishap_at_once)
    app = served.app()
    async with shown(app) as deck:
        await deck.type("look at @README.md please")
        await deck.says("That did not work: Mishap.")
        assert not app.chat.is_ready
        gate.set()
        await deck.ready()
        assert deck.editor.text == "look at @README.md please"


async def test_a_session_that_fails_later_did_start(served: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    app = served.app(served.store(Story().turns(1)))
    async with shown(app) as deck:
        await deck.ready()
        monkeypatch.setattr(Presenter, "present", mishap_at_once)
        await deck.send("Is anybody there?")
        await deck.until(lambda: not app._running or app._exit, "the end")
    assert app.return_code == 1
    assert app.ended_by.startswith("Plimsoll quit because it can no longer display this session.")
    assert "--resume" in app.farewell


async def test_a_reason_that_anyone_may_meet_is_told_in_words(
    served: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: object) -> None:
        raise SessionNotFound("There is no session with the id 'abc'.")

    monkeypatch.setattr(stats, "show_status", refused)
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("/status")
        await deck.says("There is no session with the id 'abc'.")
        assert "SessionNotFound" not in deck.text


# Errors in the chat: one sentence with advice, the prompt restored, raw text only on demand.


RAW = "raw words of the provider 4711"
LIBRARY_NAMES = ("ModelHTTPError", "ModelAPIError", "openai.", "pydantic", "Traceback", "httpx")


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(error(401, RAW, code="invalid_api_key"), id="401"),
        pytest.param(error(400, RAW), id="400"),
        pytest.param(error(404, RAW, code="model_not_found"), id="404"),
        pytest.param(error(413, RAW), id="413"),
        pytest.param(error(429, RAW), id="429"),
        pytest.param(error(500, RAW), id="500"),
    ],
)
async def test_one_sentence_the_prompt_back_and_details(
    served: Desk, fake_openai: FakeOpenAI, failure: Failure
) -> None:
    fake_openai.fallback = failure
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("why does the import fail?")
        await deck.until(lambda: "error" in deck.kinds, "an error row")
        await deck.idle()
        error_row = deck.app.chat.session.presenter.view.entries[-1]
        sentence = error_row.title
        assert not any(name in sentence for name in LIBRARY_NAMES)
        assert "{" not in sentence
        assert deck.editor.text == "why does the import fail?"
        assert deck.app.focused is deck.editor
        assert "enter sends the prompt again" in deck.words
        assert not deck.app.screen.query("Toast")
        deck.transcript.focus()
        await deck.press("up", "enter")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "the details")
        assert RAW in deck.text


async def test_what_failed_can_be_sent_again_and_the_model_sees_it_once(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(error(403, "no"), Text("Now it works."))
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("try this")
        await deck.until(lambda: deck.editor.text == "try this", "the prompt back")
        await deck.press("enter")
        await deck.answered()
        assert "Now it works." in deck.text
        said = [message for message in fake_openai.journal[-1]["messages"] if message["role"] == "user"]
        assert [message["content"] for message in said] == ["try this"]


async def test_a_prompt_that_cannot_fit_is_refused_with_both_numbers(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    desk.serve(fake_openai, window=2_048)
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.send("long " * 3_000)
        await deck.until(lambda: "error" in deck.kinds, "an error row")
        await deck.idle()
        assert "2,048" in deck.text
        assert deck.editor.draft == "long " * 3_000
        assert "[pasted" in deck.editor.text or len(deck.editor.text) > 10_000
        assert fake_openai.journal == []


async def test_an_overflow_the_provider_reports_ends_in_a_compaction_and_an_answer(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.add(too_long(4_096, 9_000))
    fake_openai.fallback = Text("Fits now.", usage=(0, 0))
    async with shown(served.app(served.store(Story().turns(6)))) as deck:
        await deck.ready()
        await deck.send("hello")
        await deck.answered(7)
        await deck.says("Fits now.")
        assert "compaction" in deck.kinds
        assert "error" not in deck.kinds
        assert "of 4.1k" in deck.gauge


async def test_a_stream_that_breaks_off_keeps_what_was_written(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.fallback = CutStream()
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("go on")
        await deck.until(lambda: "error" in deck.kinds, "an error row")
        await deck.idle()
        assert "esc stops" not in deck.status
        assert deck.app.focused is deck.editor


async def test_a_pause_before_the_next_try_is_seen_and_escape_ends_it(
    served: Desk, fake_openai: FakeOpenAI
) -> None:
    fake_openai.fallback = Failure(429, {"error": {"message": "Rate limit reached"}}, {"retry-after": "90"})
    async with shown(served.change(retries=4).app()) as deck:
        await deck.ready()
        await deck.send("when is low tide?")
        await deck.until(lambda: "Trying again in" in deck.text, "the pause")
        assert "try 2 of 5" in deck.text
        assert "esc stops" in deck.text
        await deck.press("escape")
        await deck.idle()
        assert "Stopped. Nothing was lost." in deck.text
        assert len(fake_openai.journal) == 1


# Failing background work: a message, never silence, and nothing that waits for ever.


def unheard_mishap(*_: object, **__: object) -> None:
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
    monkeypatch.setattr(preview, "read_body", unheard_mishap)
    async with shown(served.app(served.store(Story().turns(1)))) as deck:
        await deck.says("This text cannot be read: Mishap.")


@pytest.mark.parametrize("fails", [unheard_mishap, refuses])
async def test_a_list_of_transcripts_that_cannot_be_made_says_so(
    served: Desk, monkeypatch: pytest.MonkeyPatch, fails: object
) -> None:
    monkeypatch.setattr(importing, "_find", fails)
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.send("/import")
        await deck.until(lambda: isinstance(deck.app.screen, ImportScreen), "the list")
        await deck.says("The transcripts cannot be listed: ")
        assert "/import FILE imports any file" in deck.words


async def test_an_export_of_a_log_that_cannot_be_read_says_so(
    served: Desk, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "open_store", refuses)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.send("/export")
        await deck.says("/export did not work. ")


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
        await deck.says("bell_after_s is at its default")


async def test_rules_that_were_closed_before_they_were_written_anew_cause_no_error(
    served: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant, closed = approvals_list._grant, asyncio.Event()

    async def until_closed(*args: Any) -> str:
        said = await grant(*args)
        await closed.wait()
        return said

    monkeypatch.setattr(approvals_list, "_grant", until_closed)
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
        closed.set()
        await deck.says("run_command ls: removed from")


async def test_a_number_of_thousands_of_digits_is_refused_in_words(served: Desk, session: str) -> None:
    async with shown(served.app(session)) as deck:
        await deck.ready()
        for command in ("pin", "unpin", "rewind", "fork", "copy", "compact --up-to"):
            deck.app.chat.session.reply(f"Next is {command}.")
            await deck.until(lambda: deck.status.startswith("Next is"), "no refusal")
            await deck.send(f"/{command} #{'9' * 5_000}")
            await deck.until(lambda: "number" in deck.status or "takes" in deck.status, command)
            assert "ValueError" not in deck.text
            await deck.back()


async def test_a_session_that_somebody_else_has_deleted_is_simply_gone(served: Desk, session: str) -> None:
    launch = served.launch()
    session_choice._delete(launch, session)
    session_choice._delete(launch, session)
    with served.log() as store, pytest.raises(SessionNotFound):
        store.info(session)


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
    from tui_app.ui.dialogs.details import file_text

    file = tmp_path / "compact.md"
    file.write_bytes(b"tides \xff at six")
    assert file_text(file) == "tides \ufffd at six"


def workers_of(path: Path) -> list[str]:
    """Classes in a file that start workers, by name, with their first base class."""
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


# Unreadable rows of a log and unreadable files are reported in place, and everything else keeps working.


def spoil(desk: Desk, session: str, seq: int) -> None:
    """Write a row that is not an event."""
    with closing(sqlite3.connect(desk.paths.database)) as db:
        db.execute("UPDATE events SET data = '[]' WHERE session = ? AND seq = ?", (session, seq))
        db.commit()


async def test_an_event_that_is_damaged_is_said_where_it_stands_and_when_it_is_opened(served: Desk) -> None:
    session = served.store(Story().user("how late?").answer("At eleven."))
    with served.log() as store:
        [seq] = [head.seq for head in store.heads(session) if head.type == "assistant.message"]
    spoil(served, session, seq)
    async with shown(served.app(session)) as deck:
        await deck.ready()
        await deck.says("how late?")
        await deck.says(f"Event {seq} of session {session} is damaged")
        deck.transcript.focus()
        await deck.press("up", "ctrl+o")
        await deck.says("This row cannot be read.")


# A session that was deleted in another window: every action reports that.


async def gone_listed(deck: Deck) -> None:
    await deck.ready()
    await deck.send("/resume")
    await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the list")
    await deck.says("how late?")


def delete(desk: Desk, session: str) -> None:
    with desk.log() as store:
        store.delete(session)


async def test_a_listed_session_that_is_gone_is_not_renamed(served: Desk) -> None:
    session = served.store(Story().user("how late?").answer("At eleven."))
    async with shown(served.app()) as deck:
        await gone_listed(deck)
        await deck.press("f6")
        await deck.until(lambda: isinstance(deck.app.screen, EditDialog), "the question")
        delete(served, session)
        deck.app.screen.query_one(Input).value = "Ferries"
        await deck.press("enter")
        await deck.until(lambda: isinstance(deck.app.screen, DetailsScreen), "why not")
        assert f"There is no session with the id '{session}'" in deck.words
        await deck.press("escape")
        await deck.until(lambda: isinstance(deck.app.screen, SessionsScreen), "the list")
        assert "how late?" not in deck.text


async def test_the_board_of_a_session_that_is_gone(served: Desk) -> None:
    session = served.store(Story().user("how late?").answer("At eleven."))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        delete(served, session)
        await deck.send("/memory")
        await deck.says(f"There is no session with the id '{session}'")


# A full disk, and a sessions file that is not a database: reported with advice.


LONG = "The sea is below and the sky above. " * 1_000


async def fill(opened: Any) -> None:
    """Leave no room for another database page."""
    pages = opened.store._db.execute("PRAGMA page_count").fetchone()[0]
    opened.store._db.execute(f"PRAGMA max_page_count = {pages}")


async def test_full_disk(served: Desk, fake_openai: FakeOpenAI) -> None:
    fake_openai.fallback = Text("Never asked.")
    async with shown(served.app()) as deck:
        await deck.ready()
        await deck.app.chat.session.ask(fill)
        await deck.send(LONG)
        await deck.until(lambda: deck.app.chat.session.state.notices, "a notice")
        await deck.idle()
        assert deck.editor.draft == LONG
        await deck.press("f2")
        await deck.says("The disk is full: the sessions file could not be written.")
        assert "Everything saved before is kept." in deck.text
        assert fake_openai.journal == []


def spoiled(desk: Desk) -> Path:
    """Replace the sessions file with something else."""
    desk.paths.ensure()
    desk.paths.database.write_text("no database " * 500)
    return desk.paths.database


@pytest.mark.parametrize("resumed", [False, True], ids=["new", "resumed"])
async def test_file_that_is_no_database(served: Desk, resumed: bool) -> None:
    session = served.store(Story().turns(2)) if resumed else ""
    database = spoiled(served)
    async with shown(served.app(session)) as deck:
        await deck.until(lambda: deck.app.chat.is_ready and deck.app.chat.session.read_only, "a refusal")
        (notice,) = deck.app.chat.session.state.notices
        assert notice.startswith(f"Not a readable Plimsoll database: {database}")
        assert "Nothing was deleted. Move it away" in notice
        assert "Not a readable Plimsoll database" in deck.status
        assert "no session is open" in deck.text
        assert "loading model" not in deck.text
        await deck.send("Is anybody there?")
        assert deck.editor.text == "Is anybody there?"


async def test_sessions_list_of_a_file_that_is_no_database(served: Desk) -> None:
    spoiled(served)
    async with shown(served.app()) as deck:
        await deck.until(lambda: deck.app.chat.is_ready and deck.app.chat.session.read_only, "a refusal")
        await deck.send("/resume")
        await deck.says("/resume did not work. Not a readable Plimsoll database")


# Memory runs short while a long session is shown.


def many_turns(count: int) -> Story:
    story = Story("Ferries")
    for number in range(count):
        story.user(f"question {number}").answer(f"answer {number} {WORDS}")
    return story


async def _short(opened: OpenSession) -> str:
    """Set the limit to one megabyte, and check it."""
    opened.memory.limit_mb = 1
    return await opened.memory.look()


async def test_lines_far_from_the_window_are_dropped_and_nothing_moves(served: Desk) -> None:
    session = served.change(memory_limit_mb=0).store(many_turns(60))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        pages, height = deck.transcript._pages, deck.transcript.size.height
        for _ in range(25):
            deck.transcript.action_page(-1)
        await deck.settle()
        painted, rows = pages._lines.size, deck.widget(Transcript)
        assert painted > 8 * height
        assert await deck.app.chat.session.ask(_short) == "drop"
        await deck.says("Memory is short")
        assert 0 < pages._lines.size <= 6 * height
        assert deck.widget(Transcript) == rows
        deck.transcript.scroll_lines(-5)
        deck.transcript.scroll_lines(5)
        await deck.settle()
        assert deck.widget(Transcript) == rows
        assert deck.app.chat.session.state.notices[-1].endswith("1 MB): caches were dropped.")


async def test_what_is_on_screen_stays_when_nothing_above_was_ever_painted(served: Desk) -> None:
    session = served.change(memory_limit_mb=0).store(Story("Ferries").turns(6))
    async with shown(served.app(session)) as deck:
        await deck.ready()
        rows = deck.widget(Transcript)
        assert "word399" in rows
        assert await deck.app.chat.session.ask(_short) == "drop"
        await deck.says("Memory is short")
        deck.transcript.refresh()
        await deck.settle()
        assert deck.widget(Transcript) == rows
