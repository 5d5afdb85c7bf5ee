"""The program behaves as recorded in the golden files, and opens what older versions wrote."""

import gzip
import json
import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.golden import HERE, differences, kept_checksums
from tests.golden.commands import REWOUND, help_texts, played_commands, schema_text, write_files
from tests.golden.pinned import World, pinned_world
from tests.golden.plays import made_up_imports, name_of, transcript
from tests.golden.replacements import replacements
from tests.golden.tables import tables
from tests.quality.transcripts import find_files
from tui_app.session.stores.migrations import MIGRATIONS, version_of
from tui_app.session.stores.word_index import add_index_words

pytestmark = pytest.mark.timeout(300)
"""The pinned folder is shared by all processes, so parallel tests wait for it."""
TRANSCRIPTS = os.environ.get("PLIMSOLL_TRANSCRIPTS", "")
"""Read at import, because the ``plimsoll_home`` fixture removes our variables from the environment."""
FILES = find_files([Path(TRANSCRIPTS)]) if TRANSCRIPTS else []
FIRST_SCHEMA = 5
"""Schema version of the sessions file written by 0.1.0."""
OLDER = sorted(HERE.glob("sessions-*.db.gz"))


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="argparse of newer Pythons words help in another way")
def test_help_of_every_command() -> None:
    assert not (found := differences("help.txt", help_texts())), found


def test_schema_of_the_events() -> None:
    assert not (found := differences("schema.json", schema_text())), found


def test_keys_events_settings_and_policies() -> None:
    assert not (found := differences("tables.txt", tables())), found


def test_a_session_through_all_commands() -> None:
    assert not (found := differences("commands.txt", played_commands())), found


def test_what_stands_in_the_place_of_eight_sessions() -> None:
    assert not (found := differences("replacements.txt", replacements())), found


def test_imports_of_made_up_files() -> None:
    """Plays of made-up sessions are compared where they are played, in the tests of safety."""
    imported = {
        name: made for name, made in kept_checksums("made-up.txt").items() if name.startswith("import")
    }
    assert made_up_imports() == imported


@pytest.mark.transcripts
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_requests_and_imports_of_real_transcripts(path: Path) -> None:
    name = name_of(path)
    frozen = {
        what: made for what, made in kept_checksums("transcripts.txt").items() if what.split()[1] == name
    }
    if not frozen:
        pytest.skip("not among the transcripts that the golden file was written from")
    assert transcript(path) == frozen


@pytest.mark.transcripts
def test_a_folder_of_transcripts_is_named() -> None:
    assert TRANSCRIPTS, "PLIMSOLL_TRANSCRIPTS must name the folder with the transcripts"


class Older:
    """The current program with a sessions file of an older version."""

    def __init__(self, world: World) -> None:
        self.world = world
        rows = self.json("sessions", "list")["sessions"]
        # 0.1.0 gave one of them another title.
        self.ids = {row["title"].replace("Taken back", "Undone"): row["id"] for row in rows}

    def text(self, *args: str) -> str:
        code, out, err = self.world.run(*args)
        assert code == 0, err
        return out

    def json(self, *args: str) -> Any:
        return json.loads(self.text(*args, "--json"))

    def view(self, title: str) -> str:
        """The items from which the session's next request is built."""
        return self.text("export", self.ids[title], "--view", "agent")


@contextmanager
def older_world(kept: Path, schema: int = 0) -> Iterator[World]:
    """A home with only the sessions file of an older version.

    Args:
        kept: The file.
        schema: Schema version to which a later version migrated it; 0 for none.
    """
    with pinned_world() as world:
        write_files(world)
        file = world.home / "data/sessions.db"
        file.parent.mkdir(parents=True)
        file.write_bytes(gzip.decompress(kept.read_bytes()))
        with closing(sqlite3.connect(file, isolation_level=None)) as db:
            add_index_words(db)
            for number in range(version_of(db), schema):
                for statement in MIGRATIONS[number]:
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {number + 1}")
        world.made += [""] * 100  # new sessions get ids that are not in the file
        yield world


@pytest.fixture(params=OLDER, ids=lambda path: path.name)
def older(request: pytest.FixtureRequest) -> Iterator[Older]:
    with older_world(request.param) as world:
        yield Older(world)


def test_an_older_sessions_file_lists_shows_and_exports(older: Older) -> None:
    assert set(older.ids) == {"Tide times", "Compacted", "Undone", "Fork of Tide times"}
    for session in older.ids.values():
        assert older.json("sessions", "show", session)["entries"]
        assert older.json("context", session)["total"] > 0
        assert older.json("stats", session)["tool_calls"] > 0
        for form in ("pydantic-ai", "openai", "markdown", "html", "jsonl"):
            assert older.text("export", session, "--format", form)
    found = older.json("sessions", "search", "pilot")["results"]
    assert {row["session"] for row in found} >= {older.ids["Tide times"], older.ids["Fork of Tide times"]}
    kept = [entry["text"] for entry in older.json("memory", "list")["entries"]]
    assert sorted(kept) == ["Never touch the legacy importer.", "The tests need Redis"]


def test_an_older_session_resumes_after_its_rewind_compacts_and_undoes(older: Older) -> None:
    session = older.ids["Tide times"]
    assert REWOUND in older.text("export", session)
    assert REWOUND not in older.view("Tide times")
    assert "what does the pilot do?" in older.view("Tide times")
    for _ in range(2):
        assert "notes.md" in older.text("run", "what does the pilot do?", "--session", session)
    whole = older.view("Tide times")
    done = older.json("compact", session, "--window", "9000")
    assert (done["outcome"], done["tokens_after"] < done["tokens_before"]) == ("success", True)
    assert older.view("Tide times") != whole
    older.text("compact", session, "--undo")
    assert older.view("Tide times") == whole


@pytest.mark.parametrize("schema", range(FIRST_SCHEMA, len(MIGRATIONS) + 1))
def test_a_file_of_every_form_since_the_first_version_goes_on(schema: int) -> None:
    """A sessions file migrated by an intermediate version and not opened since."""
    with older_world(OLDER[0], schema) as world:
        older = Older(world)
        test_an_older_session_resumes_after_its_rewind_compacts_and_undoes(older)
        with closing(sqlite3.connect(world.home / "data/sessions.db")) as db:
            assert version_of(db) == len(MIGRATIONS)


def test_an_older_compaction_is_undone_and_redone(older: Older) -> None:
    session, compacted = older.ids["Compacted"], older.view("Compacted")
    assert "stop3x119" not in compacted
    assert "when is high water?" in compacted
    back = older.json("compact", session, "--undo")
    assert back["messages_after"] > back["messages_before"]
    assert "stop3x119" in older.view("Compacted")
    older.text("compact", session, "--redo")
    assert older.view("Compacted") == compacted
    assert "tides.txt" in older.text("run", "when is low water?", "--session", session)


def test_older_pins_and_files_are_taken_back(older: Older) -> None:
    session = older.ids["Compacted"]
    older.text("compact", session, "--undo")
    before = older.json("context", session)["total"]
    assert (
        older.json("context", session, "--unpin", "3", "--restore", "6", "--restore", "11")["total"] > before
    )
    assert "stop0x119" in older.view("Compacted")
    assert "stop1x119" in older.view("Compacted")


def test_an_older_summary_that_was_edited_and_undone_stands_again(older: Older) -> None:
    session, whole = older.ids["Undone"], older.view("Undone")
    assert "stop3x119" in whole
    older.text("compact", session, "--redo")
    redone = older.view("Undone")
    assert "Look at all routes; never touch the legacy importer." in redone
    assert "stop3x119" not in redone
    older.text("compact", session, "--undo")
    assert older.view("Undone") == whole
