"""Failures end in a sentence: never a traceback, never a secret."""

import re
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agent.test_errors import CASES
from tests.cli.conftest import Plimsoll
from tui_app.agent.error_sentences import disk_trouble
from tui_app.agent.errors import describe_error
from tui_app.agent.model_shelf import why_unavailable
from tui_app.agent.models import ModelNotReady, UnknownModel
from tui_app.cli import program
from tui_app.cli.core.failures import explain
from tui_app.cli.run import AnswerView, JsonView
from tui_app.context.storage_errors import StorageError
from tui_app.conversation.models.retry_advice import too_large
from tui_app.events import Error, Notice, Payload, Record, TurnRetry
from tui_app.next_steps import STEPS, screen_text, shell_text
from tui_app.paths import Paths
from tui_app.session.lock import Overtaken
from tui_app.session.stores.store import SessionDeleted
from tui_app.usage import ContextWindow

KEY = "sk-" + "a1" * 20


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Make every command fail with the given exception."""

    def fail_with(error: BaseException) -> None:
        def execute(_argv: object) -> int:
            raise error

        monkeypatch.setattr(program, "execute", execute)

    return fail_with


def test_unexpected_error_goes_to_the_log(
    plimsoll: Plimsoll, failing: Callable[[BaseException], None], plimsoll_home: Path
) -> None:
    failing(RuntimeError(f"boom {KEY}\nsecond line"))
    result = plimsoll("sessions")
    log = Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)}).log_file
    assert result.code == 1
    first, second = result.err.splitlines()
    assert first.startswith("Something unexpected went wrong: boom")
    assert second == f"The details are in {log}"
    written = log.read_text()
    assert "Traceback (most recent call last)" in written
    assert "second line" in written
    assert KEY not in result.err + written
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_log_that_cannot_be_written(plimsoll: Plimsoll, failing: Callable[[BaseException], None]) -> None:
    failing(RuntimeError("boom"))
    home = Path(program.os.environ["PLIMSOLL_HOME"])
    (home / "state").write_text("a file where the folder should be")
    result = plimsoll("sessions")
    assert (result.code, result.err) == (1, "Something unexpected went wrong: boom\n")


def test_error_without_words(failing: Callable[[BaseException], None], plimsoll: Plimsoll) -> None:
    failing(ValueError())
    assert "Something unexpected went wrong: ValueError" in plimsoll("sessions").err


def test_ctrl_c_outside_of_a_turn(failing: Callable[[BaseException], None], plimsoll: Plimsoll) -> None:
    failing(KeyboardInterrupt())
    result = plimsoll("sessions")
    assert (result.code, result.err) == (130, "")


def test_wrong_setting_is_named(plimsoll: Plimsoll, plimsoll_home: Path) -> None:
    config = plimsoll_home / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("windw = 3\n")
    result = plimsoll("run", "x")
    assert (result.code, result.out) == (1, "")
    assert str(config) in result.err
    assert "Did you mean window?" in result.err


@pytest.mark.parametrize(
    "args",
    [
        ["sessions"], ["sessions", "show", "abcd"], ["sessions", "delete", "abcd", "--yes"],
        ["--continue"], ["--resume", "abcd"], ["run", "hello"], ["run", "hello", "--session", "abcd"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_damaged_sessions_file(
    plimsoll: Plimsoll, plimsoll_home: Path, monkeypatch: pytest.MonkeyPatch, args: list[str]
) -> None:
    monkeypatch.setenv("TEXTUAL_DRIVER", "stands:in")  # poses as a terminal; the screen is never reached
    database = plimsoll_home / "data" / "sessions.db"
    database.parent.mkdir(parents=True)
    database.write_text("not a database at all, but long enough to be taken for one " * 20)
    before = database.read_bytes()
    result = plimsoll(*args)
    assert result.code == 1
    assert result.err == (
        f"Not a readable Plimsoll database: {database} (file is not a database). Nothing was deleted. "
        "Move it away, with any -wal and -shm file next to it, and start again.\n"
    )
    assert database.read_bytes() == before


def test_sessions_file_damaged_in_the_middle(plimsoll: Plimsoll, imported: str, plimsoll_home: Path) -> None:
    """The file's header is intact, so that it opens."""
    database = plimsoll_home / "data" / "sessions.db"
    content = database.read_bytes()
    database.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    result = plimsoll("sessions", "show", imported)
    assert result.code == 1
    assert result.err.startswith(f"Not a readable Plimsoll database: {database} (")
    assert "Move it away" in result.err


@pytest.mark.parametrize(
    "args",
    [[], ["run", "hi"], ["sessions"], ["acp"], ["serve"]],
    ids=["screen", "run", "sessions", "acp", "serve"],
)
def test_a_current_folder_that_is_gone_is_named(
    plimsoll: Plimsoll, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: list[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    monkeypatch.setenv("PWD", str(gone))
    gone.rmdir()
    result = plimsoll(*args)
    assert (result.code, result.out) == (1, "")
    assert result.err == (
        f"The current folder, {gone}, is gone: it was deleted, moved or unmounted. "
        "Change to another folder (cd ~), then try again.\n"
    )
    monkeypatch.setenv("PWD", str(tmp_path))  # as set by a shell
    assert plimsoll(*args).err.startswith("The current folder is gone: ")


def test_a_current_folder_that_may_not_be_looked_at(
    plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> Path:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "cwd", refuse)
    assert plimsoll("sessions").err == (
        "The current folder cannot be used: Permission denied. "
        "Change to another folder (cd ~), then try again.\n"
    )


def test_full_disk_is_called_that() -> None:
    env = {"PLIMSOLL_HOME": "/nowhere"}
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    text, code = explain(error, env)
    assert text.startswith(
        "The disk is full: the sessions file /nowhere/data/sessions.db could not be written."
    )
    assert "Everything saved before is kept. Free some disk space" in text
    assert code == 1
    text, _ = explain(OSError(28, "No space left on device", "/mnt/notes.md"), env)
    assert text.startswith("The disk is full: /mnt/notes.md could not be written.")


def test_database_errors_and_files_are_named() -> None:
    env = {"PLIMSOLL_HOME": "/nowhere"}
    text, code = explain(sqlite3.OperationalError("database is locked"), env)
    assert (text, code) == (
        "The sessions file /nowhere/data/sessions.db cannot be used: database is locked.",
        1,
    )
    text, _ = explain(PermissionError(13, "Permission denied", "/etc/shadow"), env)
    assert text == "/etc/shadow: Permission denied."


def test_ctrl_c_while_the_program_still_loads() -> None:
    """A module that raises KeyboardInterrupt while it is imported simulates the key press."""
    code = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'tui_app.cli.program':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from tui_app.__main__ import main\n"
        "sys.exit(main(['--version']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


LOGS = """
import logging, sys
from tui_app.cli import program

class Full(logging.Handler):
    def emit(self, record):
        try:
            raise OSError(28, "No space left on device")
        except OSError:
            self.handleError(record)

def execute(argv):
    if argv:
        logging.getLogger().addHandler(Full())
    try:
        1 / 0
    except ZeroDivisionError:
        logging.getLogger("tui_app.some").exception("Prompt failed")
    return 0

program.execute = execute
sys.exit(program.run(sys.argv[1:]))
"""


@pytest.mark.parametrize("argv", [(), ("full",)], ids=["nobody takes it", "it cannot be written"])
def test_what_is_logged_never_ends_on_stderr(argv: tuple[str, ...]) -> None:
    """In a separate process, because pytest captures all logs in this one."""
    done = subprocess.run([sys.executable, "-c", LOGS, *argv], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


# Advice of errors in a shell: commands and flags, never keys of the screen.


SCREEN = re.compile(r"ctrl\+|alt\+|\bf\d+\b|(?<![\w/])/[a-z]+\b|\b[Pp]ress\b")
"""Matches keys and slash commands."""
ERRORS = {
    **{name: describe_error(case[0], model="openai:gpt-5") for name, case in CASES.items()},
    "prompt too large": too_large(ContextWindow(limit=1_000, source="setting", reserve=100), 2_000),
    "not ready": why_unavailable(ModelNotReady("openai:gpt-5 needs OPENAI_API_KEY."), model="openai:gpt-5"),
    "no such model": why_unavailable(UnknownModel("There is no model 'x'."), model="x"),
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS.keys())
def test_no_key_of_the_screen_is_named(error: Error, capsys: pytest.CaptureFixture[str]) -> None:
    record = Record(seq=1, time=1.0, session="s", data=error)
    AnswerView().show(record)
    JsonView().show(record)
    shown = capsys.readouterr()
    said = shell_text(error.hint, error.actions)
    assert not SCREEN.search(said), said
    assert said in shown.err
    assert error.message in shown.err
    assert not SCREEN.search(error.message)
    assert '"kind"' in shown.out
    assert not SCREEN.search(shown.out.replace(error.detail, "")), shown.out


@pytest.mark.parametrize(
    ("said", "shell"),
    [
        (
            Notice(text="own:a did not answer. own:b answers now.", actions=("models",)),
            "own:a did not answer. own:b answers now. --model picks another model.",
        ),
        (
            Notice(text="MCP server broken: It could not be started.", actions=("servers",)),
            "MCP server broken: It could not be started.",
        ),
        (Notice(text="Memory: 2 remembered. /memory shows the board."), "plimsoll memory shows the board."),
        (
            Error(kind="input", message="Too long for a model.", actions=("compact", "models")),
            "Too long for a model. plimsoll compact shortens the conversation, --model picks another model.",
        ),
        (
            TurnRetry(attempt=2, attempts=3, wait_s=1.0, reason="It is silent; see /model."),
            "It is silent; see --model. Trying again in 1 s",
        ),
        (
            Error(kind="internal", message="Interrupted.", actions=("retry", "of a later version")),
            "Interrupted. plimsoll run sends it again.",
        ),
        (SessionDeleted("a1b2"), "Start a new one with plimsoll run."),
        (Overtaken("another window, on ada"), "Open the session again with plimsoll --resume to continue."),
    ],
    ids=["fallback", "server", "memory", "message", "retry", "unanswered", "deleted", "overtaken"],
)
def test_whatever_is_said_on_the_way_speaks_to_the_shell(
    said: Payload | StorageError, shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    payload = disk_trouble(said) if isinstance(said, StorageError) else said
    record = Record(seq=0, time=1.0, session="s", data=payload)
    AnswerView().show(record)
    err = capsys.readouterr().err
    assert shell in err
    assert not SCREEN.search(err)
    JsonView().show(record)
    assert not SCREEN.search(capsys.readouterr().out)


def test_pattern_would_notice() -> None:
    assert all(SCREEN.search(screen_text("", [name], {})) for name in STEPS if name != "resend")


def test_commands_speak_to_the_shell(plimsoll: Plimsoll, imported: str, tmp_path: Path) -> None:
    results = [
        plimsoll("run", "Hello", "--model", "openai:gpt-5"),
        plimsoll("run", "Hello", "--model", "openai:gpt-5", "--json"),
        plimsoll("run", "Hello", "--session", imported, "--model", "openai:gpt-5"),
        plimsoll("run", "word " * 3_000, "--model", "offline:extractive", "--window", "2000"),
        plimsoll("compact", imported, "--model", "openai:gpt-5"),
        plimsoll("sessions", "show", imported),
        plimsoll("sessions", "show", imported, "--json"),
    ]
    assert all("--model" in result.out + result.err for result in results[:5])
    for result in results:
        said = (result.out + result.err).replace(str(tmp_path), "")
        assert "/model" not in said
        assert "ctrl+" not in said


# ``plimsoll serve``: what it refuses. What it serves is tested in ``tests/web``.


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--port", "0"), 2, "1 to 65535"),
        (("--port", "http"), 2, "1 to 65535"),
        (("--host", "0.0.0.0", "--no-token"), 2, "for loopback only"),
        (("nowhere",), 2, "There is no folder nowhere."),
        (("--host", "203.0.113.7", "--port", "8421"), 1, "Cannot listen on 203.0.113.7"),
        (("--policy", "nonsense"), 2, "nonsense"),
    ],
)
def test_refusals(plimsoll: Plimsoll, arguments: tuple[str, ...], code: int, words: str) -> None:
    done = plimsoll("serve", *arguments)
    assert (done.code, words in done.err) == (code, True), done
