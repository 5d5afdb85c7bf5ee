"""Sessions of other programs on this machine: found in their usual places, newest first, with a title."""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.importing import foreign
from tests.session.importing.foreign import Script, messages_of, zstd
from tui_app.events import UserMessage
from tui_app.session.event_heads import head_of
from tui_app.session.importers.books import ImportedEvent
from tui_app.session.importers.discovery import find_transcripts
from tui_app.session.importers.formats import import_file
from tui_app.session.importers.places import LocalTranscript
from tui_app.session.importers.source import ImportFormatError
from tui_app.session.importers.titles import given_title, one_line, title_of
from tui_app.session.views.user_view import UserView


def put(path: Path, content: bytes, age: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (1_772_000_000 - age, 1_772_000_000 - age))
    return path


def find(home: Path, **env: str) -> list[LocalTranscript]:
    return find_transcripts(env, home=home, cwd=home)


CODEX = foreign.jsonl(foreign.codex())
OF_PROGRAMS = [
    ("claude-code", ".claude/projects/-home-ann/s1.jsonl", "CLAUDE_CONFIG_DIR", ".claude"),
    ("codex", ".codex/sessions/2026/03/01/rollout-1.jsonl", "CODEX_HOME", ".codex"),
    ("copilot-cli", ".copilot/session-state/s1/events.jsonl", "COPILOT_HOME", ".copilot"),
    ("pi", ".pi/agent/sessions/--home-ann--/s1.jsonl", "PI_CODING_AGENT_DIR", ".pi/agent"),
    ("gemini-cli", ".gemini/tmp/abc/chats/session-1.jsonl", "GEMINI_CLI_HOME", "."),
]


@pytest.mark.parametrize(("program", "place", "variable", "root"), OF_PROGRAMS)
def test_places_and_the_variables_that_move_them(
    tmp_path: Path, program: str, place: str, variable: str, root: str
) -> None:
    path = put(tmp_path / "home" / place, CODEX)
    (found,) = find(tmp_path / "home")
    assert (found.path, found.program, found.size) == (path, program, len(CODEX))
    assert find(tmp_path / "elsewhere") == []
    moved = {variable: str(tmp_path / "home" / root)}
    assert [each.path for each in find(tmp_path / "elsewhere", **moved)] == [path]


def test_newest_first_with_title_and_folder(tmp_path: Path) -> None:
    put(tmp_path / ".codex/sessions/rollout-1.jsonl", CODEX, age=100)
    put(tmp_path / ".pi/agent/sessions/x/1.jsonl", foreign.jsonl(foreign.pi()), age=300)
    put(tmp_path / ".gemini/tmp/a/chats/session-1.json", json.dumps(foreign.gemini()).encode(), age=200)
    put(tmp_path / ".copilot/session-state/s1/events.jsonl", foreign.jsonl(foreign.copilot()), age=400)
    put(tmp_path / ".aider.chat.history.md", foreign.AIDER.encode(), age=500)
    put(tmp_path / ".claude/projects/p/agent-1.jsonl", CODEX)
    found = find(tmp_path)
    assert [each.program for each in found] == ["codex", "copilot-cli", "pi", "gemini-cli", "aider"]
    assert {each.title for each in found} == {"Fix the till"}
    assert [each.cwd for each in found if each.program in ("codex", "pi", "copilot-cli")] == [
        "/home/ann/shop",
        "/home/ann/shop",
        "/home/ann/shop",
    ]


def test_a_conversation_is_dated_and_named_by_its_end(tmp_path: Path) -> None:
    script = Script()
    script.user("Fix the till " + "and more of it " * 6_000)
    for _ in range(4):
        script.says("", {"type": "text", "text": "word " * 200_000})
    script.says("m9", {"type": "text", "text": "Fixed."})
    script.records.append({"type": "ai-title", "aiTitle": "The till", "sessionId": "s1"})
    put(tmp_path / ".claude/projects/p/s1.jsonl", b"\n".join(script.lines()))
    (found,) = find(tmp_path)
    assert (found.title, found.cwd, found.time) == ("The till", "/home/ann/shop", 1772359205.0)


def test_an_old_session_of_codex_is_found_where_it_is_compressed(tmp_path: Path) -> None:
    path = put(tmp_path / ".codex/sessions/rollout-1.jsonl.zst", zstd(CODEX))
    (found,) = find(tmp_path)
    assert (found.path, found.title, found.cwd) == (path, "Fix the till", "/home/ann/shop")
    assert found.time == max(event.time for event in import_file(path).events)


def test_damaged_and_strange_files_do_not_end_the_search(tmp_path: Path) -> None:
    for number, content in enumerate([b"", b"\x00\xff", b"[" * 5_000, b'{"type": "user", "message": 7}']):
        put(tmp_path / f".codex/sessions/rollout-{number}.jsonl", content)
    (tmp_path / ".codex/sessions/rollout-folder.jsonl").mkdir()
    assert len(find(tmp_path)) == 4


def test_the_search_ends_when_it_is_told_to(tmp_path: Path) -> None:
    put(tmp_path / ".codex/sessions/rollout-1.jsonl", CODEX)
    assert find_transcripts({}, home=tmp_path, cwd=tmp_path, go_on=lambda: False) == []


def test_opencode_folders(tmp_path: Path) -> None:
    root = tmp_path / ".local/share/opencode/storage"
    document = foreign.opencode()
    info = document["info"] | {"projectID": "p1", "time": {"created": 1}}
    path = put(root / "session/p1/ses_1.json", json.dumps(info).encode())
    put(root / "session/p1/ses_2.json", json.dumps(info | {"id": "ses_2", "parentID": "ses_1"}).encode())
    for number, message in enumerate(document["messages"]):
        put(root / f"message/ses_1/msg_{number}.json", json.dumps(message["info"]).encode())
        for place, part in enumerate(message["parts"]):
            put(root / f"part/msg_{number}/prt_{place}.json", json.dumps(part).encode())
    put(root / "part/msg_1/prt_9.json", b"{damaged")
    (found,) = find(tmp_path)
    assert (found.path, found.title, found.cwd) == (path, "The till", "/home/ann/shop")
    imported = import_file(path)
    assert (imported.format, imported.tool_calls, imported.tool_results) == ("opencode", 2, 2)
    assert len(imported.skipped) == 1


def write_database(path: Path, *, logged: bool = False) -> sqlite3.Connection:
    """Create a database of two sessions; it stays open, since closing would merge the write-ahead log."""
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path)
    with database:
        if logged:
            database.execute("PRAGMA journal_mode = WAL")
        database.execute(
            "CREATE TABLE session (id TEXT, parent_id TEXT, title TEXT, directory TEXT, time_updated INTEGER)"
        )
        database.execute("CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT)")
        database.execute("CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT)")
        database.execute(
            "INSERT INTO session VALUES ('s1', NULL, 'The till', '/home/ann/shop', 1772359201000)"
        )
        database.execute("INSERT INTO session VALUES ('s2', 's1', 'Part of it', '/', 1)")
        for number, message in enumerate(foreign.opencode()["messages"]):
            row = (f"m{number}", "s1", number, json.dumps(message["info"]))
            database.execute("INSERT INTO message VALUES (?, ?, ?, ?)", row)
            for place, part in enumerate(message["parts"]):
                database.execute(
                    "INSERT INTO part VALUES (?, ?, 's1', ?)",
                    (f"p{number}{place:02}", f"m{number}", json.dumps(part)),
                )
    return database


def test_opencode_database(tmp_path: Path) -> None:
    path = tmp_path / ".local/share/opencode/opencode.db"
    write_database(path).close()
    (found,) = find(tmp_path)
    assert (found.path.name, found.title, found.time) == ("opencode.db#s1", "The till", 1772359201.0)
    imported = import_file(found.path)
    assert (imported.format, messages_of(imported), imported.title) == ("opencode", 4, "The till")
    assert import_file(path) == imported


@pytest.mark.parametrize(
    "made",
    [
        "CREATE VIEW message AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
        "SELECT id, 's1' AS session_id, id AS time_created, '{\"role\":\"user\"}' AS data FROM n",
        "CREATE TABLE message (id TEXT, session_id TEXT DEFAULT 's1', time_created INTEGER, "
        "data TEXT GENERATED ALWAYS AS (hex(zeroblob(400000000))))",
    ],
    ids=["view", "expression"],
)
def test_a_small_database_cannot_make_up_rows(tmp_path: Path, made: str) -> None:
    path = tmp_path / "opencode.db"
    with closing(write_database(path)) as database, database:
        database.execute("DROP TABLE message")
        database.execute(made)
        if "TABLE" in made:
            database.execute("INSERT INTO message (id) VALUES ('m1')")
    with pytest.raises(ImportFormatError):
        import_file(path)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make a folder unwritable, even for root."""
    folder.chmod(0o555)
    own = os.geteuid()
    try:
        if not own:
            os.seteuid(65_534)
        yield
    finally:
        os.seteuid(own)
        folder.chmod(0o755)


@pytest.mark.parametrize("logged", [False, True])
def test_a_database_is_read_where_nothing_may_be_written(logged: bool) -> None:
    # Not in the test's own folder, which other users cannot enter.
    with TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        folder = Path(made) / "store"
        database = write_database(Path(made) / "opencode.db", logged=True)
        if not logged:
            database.close()
        folder.mkdir()
        for file in Path(made).glob("opencode.db*"):
            if not file.name.endswith("-shm"):
                copyfile(file, folder / file.name)
        database.close()
        with read_only(folder):
            assert messages_of(import_file(folder / "opencode.db")) == 4


# Titles of one line: of a text that is a whole file, only what is shown is read.


LONG = [" " * 1_024, " " * 1_023, "\x00" * 2_047]
BLANKS = st.sampled_from([" ", "  ", "\t", "\x00", "\x1b", "\u200b", "\xa0", *LONG])
BREAKS = st.sampled_from(["\n", "\r\n", "\u2028", "\x0b"])
WORDS = st.text("abé😀漢", min_size=1, max_size=12) | st.sampled_from(["x" * 59, "x" * 60, "y" * 1_024])
TEXTS = st.lists(BLANKS | BREAKS | WORDS, max_size=12).map("".join)


def read_as_a_whole(text: str, limit: int) -> str:
    starts = (line[:4_096] for line in text.splitlines())
    printable = ("".join(c if c.isprintable() else " " for c in line) for line in starts)
    line = next((clean for line in printable if (clean := " ".join(line.split()))), "")
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


@given(TEXTS, st.integers(2, 130))
def test_the_beginning_is_that_of_the_whole(text: str, limit: int) -> None:
    assert one_line(text, limit) == read_as_a_whole(text, limit)


def test_of_a_line_that_is_a_file_only_the_beginning_is_read() -> None:
    looked_at = 0

    class Counted(str):
        """Counts the characters taken from it."""

        def splitlines(self, keepends: bool = False) -> list[str]:
            return [self]

        def __iter__(self) -> Iterator[str]:
            nonlocal looked_at
            looked_at += len(self)
            return super().__iter__()

        def __getitem__(self, key: object) -> str:
            nonlocal looked_at
            piece = str.__getitem__(self, key)  # type: ignore[index]
            looked_at += len(piece)
            return piece

    assert one_line(Counted("low water " * 100_000)) == f"{'low water ' * 5}low water…"
    assert looked_at < 10_000


def test_a_title_holds_nothing_of_a_terminal_sequence() -> None:
    assert (
        one_line("\x1b[31mred \x1b[0mand \x1b]8;;https://example.org\x07a link\x1b]8;;\x07")
        == "red and a link"
    )


ISSUE = "<uploaded_files>\n/work\n</uploaded_files>\nConsider this:\n\n<issue_description>\nThe till\nbreaks."


@pytest.mark.parametrize(
    ("prompts", "title"),
    [
        (["/mode", "Read the till in full."], "Read the till in full."),
        (["<command-name>/review</command-name>", "Mend it."], "Mend it."),
        (["/review the till and mend it", "Later."], "/review the till and mend it"),
        (["/init"], "/init"),
        (["[Request interrupted by user for tool use]", "1", "Why?"], "Why?"),
        (["/home/ann/till.py is broken: mend it, please"], "/home/ann/till.py is broken: mend it, please"),
        ([ISSUE, "Error: no such command."], "The till"),
        (["We solve the following issue.\nISSUE:\nThe till\nbreaks."], "The till"),
        (
            ["Implement the following plan:\n\n# Count twice\n\nThen"],
            "Implement the following plan: Count twice",
        ),
        (["[Request interrupted by user]"], ""),
    ],
)
def test_a_title_is_what_the_person_wanted_first(prompts: list[str], title: str) -> None:
    said = [ImportedEvent(data=UserMessage(text=text), message=None, time=0.0) for text in prompts]
    assert title_of(said) == title


def test_a_title_that_only_says_when_is_none() -> None:
    assert given_title("New session - 2026-07-21T15:12:05.312Z") == ""
    assert given_title("New session - the till") == "New session - the till"


def test_an_interruption_is_shown_as_one_and_still_read_by_the_model(tmp_path: Path) -> None:
    script = Script()
    script.user("Mend it.")
    script.user([{"type": "text", "text": "[Request interrupted by user]"}])
    script.user("Stop that.")
    imported = import_file(script.write(tmp_path))
    assert sum(event.message is not None for event in imported.events) == 3
    view = UserView()
    for seq, event in enumerate(imported.events, 2):
        view.apply(head_of(seq, 0.0, event.data))
    assert [(entry.kind, entry.title) for entry in view.entries] == [
        ("user", "Mend it."),
        ("notice", "Interrupted by the user"),
        ("user", "Stop that."),
    ]
