"""``plimsoll doctor``, ``plimsoll config`` and ``plimsoll models``."""

import io
import re
import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tui_app.agent import model_lists
from tui_app.agent.model_lists import LocalServer
from tui_app.cli.setup.doctor import check_encoding, check_terminal, check_tmux
from tui_app.events import CompactionComplete
from tui_app.ui import terminal_input

KEY = "sk-" + "b2" * 20


@pytest.fixture(autouse=True)
def _no_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers that happen to run on this machine must not matter."""

    async def discover(**_ports: object) -> list[LocalServer]:
        return []

    monkeypatch.setattr(model_lists, "discover", discover)


def states(plimsoll: Plimsoll) -> dict[str, str]:
    report = plimsoll("doctor", "--json").json
    assert report["ok"] == all(check["state"] != "fail" for check in report["checks"])
    return {check["name"]: check["state"] for check in report["checks"]}


def test_fresh_machine(plimsoll: Plimsoll, plimsoll_home: Path) -> None:
    found = states(plimsoll)
    assert "fail" not in found.values()
    assert found["keys"] == "warn"
    assert set(found) >= {
        "python",
        "terminal",
        "tmux",
        "encoding",
        "folders",
        "sessions",
        "tokenizer",
        "servers",
    }
    assert list(plimsoll_home.iterdir()) == [], "looking must not create anything"
    text = plimsoll("doctor").out
    assert "Set OPENAI_API_KEY or ANTHROPIC_API_KEY" in text


def test_keys_by_name_only(plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    result = plimsoll("doctor")
    assert "OPENAI_API_KEY" in result.out
    assert KEY not in result.out + result.err


def test_endpoint_without_its_key(plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "PLIMSOLL_ENDPOINTS", '{own = {base_url = "http://127.0.0.1:9/v1", key_env = "OWN_SECRET"}}'
    )
    assert states(plimsoll)["keys"] == "warn"
    assert "missing: OWN_SECRET" in plimsoll("doctor").out


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ({"PLIMSOLL_MODEL": "openai:gpt-5"}, "openai:gpt-5 needs OPENAI_API_KEY."),
        ({"PLIMSOLL_MODEL": "google:gemini-2.5-pro"}, "GOOGLE_API_KEY or GEMINI_API_KEY"),
        (
            {
                "PLIMSOLL_MODEL": "own:big",
                "PLIMSOLL_ENDPOINTS": '{own = {base_url = "http://127.0.0.1:9/v1", key_env = "OWN_SECRET"}}',
            },
            "needs a key in OWN_SECRET",
        ),
        ({"PLIMSOLL_MODEL": "nonesuch:model"}, "There is no model 'nonesuch:model'."),
    ],
)
def test_model_that_cannot_be_used(
    plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch, env: dict[str, str], words: str
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert states(plimsoll)["model"] == "warn"
    result = plimsoll("doctor")
    (line,) = [line for line in result.out.splitlines() if line.split()[:2] == ["warn", "model"]]
    assert words in line
    assert "plimsoll models lists them" in result.out
    assert result.code == 0, "a warning is no failure"


def test_model_that_can_be_used(plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch) -> None:
    assert states(plimsoll)["model"] == "ok"
    assert "summaries" not in states(plimsoll), "nothing was set for them"
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert states(plimsoll)["model"] == "ok"
    assert "new sessions use openai:" in plimsoll("doctor").out


def test_model_for_summaries_that_cannot_be_used(plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIMSOLL_SUMMARIZATION_MODEL", "anthropic:claude-haiku-4-5")
    found = states(plimsoll)
    assert (found["model"], found["summaries"]) == ("ok", "warn")
    assert "ANTHROPIC_API_KEY" in plimsoll("doctor").out


def test_a_file_in_the_place_of_the_sessions_folder(
    plimsoll: Plimsoll, imported: str, plimsoll_home: Path
) -> None:
    folder = plimsoll_home / "data" / "sessions"
    folder.rename(folder.with_name("moved"))
    folder.write_text("not a folder", "utf-8")
    assert states(plimsoll)["folders"] == "fail"
    told = plimsoll("doctor")
    assert told.code == 1
    assert f"{folder} is not a folder" in told.out
    assert "Move it away" in told.out
    refused = plimsoll("doctor", "--repair")
    assert refused.code == 1
    assert refused.err == (
        f"{folder} is not a folder, and session files go into a folder of this name. "
        "Move it away, then: plimsoll doctor --repair. It rewrites the missing files. "
        "Nothing was changed.\n"
    )
    folder.unlink()
    assert plimsoll("doctor", "--repair").code == 0
    assert states(plimsoll)["folders"] == "ok"


def test_a_link_to_a_sessions_folder_that_is_gone(
    plimsoll: Plimsoll, imported: str, plimsoll_home: Path, tmp_path: Path
) -> None:
    folder = plimsoll_home / "data" / "sessions"
    folder.rename(folder.with_name("moved"))
    folder.symlink_to(tmp_path / "unplugged")
    assert states(plimsoll)["folders"] == "fail"
    told = plimsoll("doctor", "--repair")
    assert told.code == 1
    assert f"Bring back {tmp_path / 'unplugged'}, or remove the link." in told.err


def test_sessions_file_whole_damaged_and_too_new(
    plimsoll: Plimsoll, imported: str, plimsoll_home: Path
) -> None:
    assert imported
    assert states(plimsoll)["sessions"] == "ok"
    database = plimsoll_home / "data" / "sessions.db"
    with sqlite3.connect(database) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    result = plimsoll("doctor")
    assert result.code == 1
    assert "newer version (schema 99)" in result.out
    database.write_bytes(b"SQLite format 3\0" + b"\xff" * 5_000)
    assert states(plimsoll)["sessions"] == "fail"


def test_wrong_settings_fail(plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIMSOLL_WINDOW", "ten")
    assert states(plimsoll)["settings"] == "fail"
    assert plimsoll("doctor").code == 1


def test_terminal_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_terminal({"TERM": "xterm"}).state == "ok"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LINES", "30")
    assert check_terminal({"TERM": "xterm"}).text == "xterm, 100 columns, 30 lines"
    assert check_terminal({"TERM": "dumb"}).state == "warn"
    monkeypatch.setenv("COLUMNS", "30")
    assert check_terminal({"TERM": "xterm"}).state == "warn"


def test_encoding_check(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_encoding({}).state == "ok"
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), "latin-1"))
    assert check_encoding({"LANG": "de_DE"}).state == "warn"


def test_tmux_that_holds_keys_back(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_tmux({}).text == "not used"
    options = {"extended-keys": "off", "escape-time": "500"}
    monkeypatch.setattr(terminal_input, "tmux_option", lambda name: options[name])
    check = check_tmux({"TMUX": "/tmp/tmux"})
    assert check.state == "warn"
    assert "extended-keys on" in check.hint
    assert "escape-time 10" in check.hint
    options |= {"extended-keys": "on", "escape-time": "10"}
    assert check_tmux({"TMUX": "/tmp/tmux"}).state == "ok"


def test_config_path_and_show(
    plimsoll: Plimsoll, plimsoll_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert plimsoll("config", "path").out == f"{plimsoll_home / 'config' / 'config.toml'}\n"
    places = plimsoll("config", "path", "--json").json
    assert places["database"] == str(plimsoll_home / "data" / "sessions.db")
    monkeypatch.setenv("PLIMSOLL_WINDOW", "9000")
    monkeypatch.setenv("PLIMSOLL_ENDPOINTS", '{own = {base_url = "http://127.0.0.1:9/v1"}}')
    shown = plimsoll("config", "show", "--json").json
    assert (shown["window"], shown["model"]) == (9000, "")
    assert shown["model_in_use"] == "offline:extractive"
    assert shown["endpoints"]["own"]["base_url"] == "http://127.0.0.1:9/v1"
    text = plimsoll("config").out
    assert "new sessions use offline:extractive" in text


def test_models_as_table_and_json(plimsoll: Plimsoll) -> None:
    models = plimsoll("models", "--json").json["models"]
    names = [model["name"] for model in models]
    assert "offline:extractive" in names
    usable = [model["available"] for model in models]
    assert usable == sorted(usable, reverse=True)
    table = plimsoll("models").out
    assert re.search(r"offline:extractive +32k +free", table), "as the picker writes it"
    assert "offline:extractive" in table
    assert "needs OPENAI_API_KEY" in table
    assert len(plimsoll("models", "--all", "--json").json["models"]) > len(models)


def spoken(plimsoll: Plimsoll, imported: str, plimsoll_home: Path) -> Path:
    """Compact the session, and return the data folder."""
    model, window = "offline:extractive", "2500"
    assert plimsoll("compact", imported, "--model", model, "--window", window, "--json").code == 0
    return plimsoll_home / "data"


def test_repair_of_a_damaged_file(plimsoll: Plimsoll, imported: str, plimsoll_home: Path) -> None:
    data = spoken(plimsoll, imported, plimsoll_home)
    raw = bytearray((data / "sessions.db").read_bytes())
    raw[8 * 4096 : 9 * 4096] = b"\xa5" * 4096
    (data / "sessions.db").write_bytes(raw)
    assert states(plimsoll)["sessions"] == "fail"
    assert "plimsoll doctor --repair" in plimsoll("doctor").out
    repaired = plimsoll("doctor", "--repair", "--json").json["repaired"]
    assert "The damaged one is kept" in repaired[0]
    assert states(plimsoll)["sessions"] == "ok"
    assert plimsoll("doctor", "--repair").out == "Nothing to repair.\n"
    assert plimsoll("sessions", "show", imported).code == 0
    assert plimsoll("context", imported, "--model", "offline:extractive").code == 0


@pytest.mark.parametrize("payload", ["[]", '{"te'])
def test_repair_leaves_a_row_for_an_event_that_is_lost(
    plimsoll: Plimsoll, imported: str, plimsoll_home: Path, payload: str
) -> None:
    folder = spoken(plimsoll, imported, plimsoll_home)
    for checkpoint in (folder / "sessions" / imported / "checkpoints").iterdir():
        checkpoint.unlink()
    with sqlite3.connect(folder / "sessions.db") as db:
        db.execute("UPDATE events SET data = ? WHERE type = ?", (payload, CompactionComplete.TYPE))
    db.close()
    assert f"of session {imported}" in plimsoll("doctor").out
    (told,) = plimsoll("doctor", "--repair", "--json").json["repaired"]
    assert "1 event could not be read" in told
    # Its checkpoint proves the compaction, so files written before it are not leftovers of a crash.
    assert len(list((folder / "sessions" / imported / "conversation_history").iterdir())) == 2
    assert "(session.compaction_complete) was damaged" in plimsoll("sessions", "show", imported).out
    exported = plimsoll("export", imported, "--format", "pydantic-ai", "--view", "agent")
    assert (exported.code, len(list((folder / "set-aside").iterdir()))) == (0, 1)
    assert states(plimsoll)["sessions"] == "ok"


@pytest.mark.parametrize("empty", [False, True])
def test_a_sessions_file_that_is_gone(
    plimsoll: Plimsoll, imported: str, plimsoll_home: Path, empty: bool
) -> None:
    """Only the files written by compactions are left, and become a session again."""
    data = spoken(plimsoll, imported, plimsoll_home)
    (data / "sessions.db").unlink()
    if empty:
        (data / "sessions.db").touch()
    assert "1 session folder" in plimsoll("doctor").out
    assert states(plimsoll)["sessions"] == "fail"
    moved, revived = plimsoll("doctor", "--repair", "--json").json["repaired"][:2]
    assert imported in moved
    session = revived.split()[1]
    assert "ferries" in plimsoll("export", session).out.lower()
    assert states(plimsoll)["sessions"] == "ok"


def test_repair_writes_missing_files_anew(plimsoll: Plimsoll, imported: str, plimsoll_home: Path) -> None:
    folder = spoken(plimsoll, imported, plimsoll_home) / "sessions" / imported
    paths = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]
    files = {path: path.read_bytes() for path in paths}
    assert len(files) >= 5
    for path in files:
        path.unlink()
    (folder / "checkpoints" / "002-never.md").write_text("half")
    repaired = plimsoll("doctor", "--repair", "--json").json["repaired"]
    assert [text.split(": ")[1] for text in repaired] == [
        "1 unfinished file of a crash is deleted",
        "rewritten",
    ]
    assert {path: path.read_bytes() for path in files} == files
    assert not (folder / "checkpoints" / "002-never.md").exists()


@pytest.mark.parametrize(
    "gone",
    ["checkpoints/index.md", "workspace.yaml", "checkpoints", "."],
    ids=["index", "count", "all", "folder"],
)
def test_repair_brings_back_the_index_and_whole_folders(
    plimsoll: Plimsoll, imported: str, plimsoll_home: Path, gone: str
) -> None:
    folder = spoken(plimsoll, imported, plimsoll_home) / "sessions" / imported
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.stat().st_size}
    lost = folder / gone
    if lost.is_dir():
        shutil.rmtree(lost)
    else:
        lost.unlink()
    (told,) = plimsoll("doctor", "--repair", "--json").json["repaired"]
    assert told.startswith(f"{imported}: rewritten: ")
    assert told.endswith("index.md")
    assert {path: path.read_bytes() for path in before} == before
    assert plimsoll("doctor", "--repair").out == "Nothing to repair.\n"


def test_repair_needs_no_settings_that_are_right(
    plimsoll: Plimsoll, imported: str, plimsoll_home: Path
) -> None:
    folder = spoken(plimsoll, imported, plimsoll_home) / "sessions" / imported
    shutil.rmtree(folder)
    (plimsoll_home / "config" / "config.toml").write_text("windw = 3\n")
    result = plimsoll("doctor", "--repair")
    assert (result.code, result.out.count("rewritten")) == (0, 1), result.err


def test_repair_keeps_its_hands_off_an_open_session(
    plimsoll: Plimsoll, imported: str, plimsoll_home: Path
) -> None:
    from tui_app.session.lock import WriterLock

    with WriterLock(plimsoll_home / "data" / "sessions" / imported / "writer.lock"):
        result = plimsoll("doctor", "--repair")
    assert result.code == 1
    assert f"Session {imported} is open in another window" in result.err


def test_repair_where_there_is_nothing(plimsoll: Plimsoll, plimsoll_home: Path) -> None:
    assert plimsoll("doctor", "--repair").out == "Nothing to repair.\n"
    assert list(plimsoll_home.iterdir()) == []
