"""``plimsoll compact`` on a named part, and with words of one's own for the summary."""

import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll


def test_up_to_a_message_and_back(plimsoll: Plimsoll, imported: str) -> None:
    before = plimsoll("context", imported, "--json").json["messages"]
    planned = plimsoll("compact", imported, "--up-to", "#20", "--dry-run", "--json").json
    whole = plimsoll("compact", imported, "--dry-run", "--json").json
    assert 0 < planned["messages_removed"] < whole["messages_removed"]
    done = plimsoll("compact", imported, "--up-to", "20", "--json").json
    assert done["outcome"] == "success"
    assert done["messages_removed"] == planned["messages_removed"]
    assert plimsoll("compact", imported, "--undo").code == 0
    assert plimsoll("context", imported, "--json").json["messages"] == before


def test_from_a_message(plimsoll: Plimsoll, imported: str) -> None:
    done = plimsoll("compact", imported, "--from", "12", "--json").json
    assert done["outcome"] == "success"
    shown = plimsoll("export", imported, "--format", "pydantic-ai", "--view", "agent").out
    kinds = [part["part_kind"] for message in json.loads(shown) for part in message["parts"]]
    assert kinds.index("compaction") > 0, "what was said before it still stands in front"


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (("--up-to", "2"), 1, "othing to compact"),
        (("--up-to", "999999"), 1, "There is no message #999999"),
        (("--up-to", "x"), 2, "the number of a message"),
        (("--from", "9", "--up-to", "3"), 2, "nothing lies between"),
        (("--from", "9", "--undo"), 2, "does not go with"),
        (("--edit-summary", "no-such-file"), 1, "cannot be read"),
    ],
)
def test_what_cannot_be_is_said(
    plimsoll: Plimsoll, imported: str, flags: tuple[str, ...], code: int, said: str
) -> None:
    ended: object
    try:
        failed = plimsoll("compact", imported, *flags)
        ended = failed.code
        assert said in failed.err
    except SystemExit as stopped:
        ended = stopped.code
    assert ended == code


def test_the_summary_is_edited_from_a_file_and_from_a_pipe(
    plimsoll: Plimsoll, imported: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "notes.md").write_text("Notes of my own.")
    none = plimsoll("compact", imported, "--edit-summary", "notes.md")
    assert (none.code, none.err.strip()) == (1, "Nothing to edit: no compaction stands.")
    plimsoll("compact", imported)
    edited = plimsoll("compact", imported, "--edit-summary", "notes.md", "--json").json
    assert edited["summary"] == "Notes of my own."
    after = plimsoll("context", imported, "--json").json
    assert after["total"] == pytest.approx(edited["tokens_after"], abs=12)
    assert "Notes of my own." in plimsoll("export", imported, "--format", "markdown", "--view", "agent").out
    monkeypatch.setattr("sys.stdin", io.StringIO("Piped notes."))
    assert "Edited the summary #" in plimsoll("compact", imported, "--edit-summary", "-").out
    again = plimsoll("compact", imported, "--edit-summary", "notes.md")
    assert again.code == 0
    same = plimsoll("compact", imported, "--edit-summary", "notes.md")
    assert (same.code, same.err.strip()) == (1, "Nothing to change: the summary says that already.")
    (project / "notes.md").write_text(" ")
    empty = plimsoll("compact", imported, "--edit-summary", "notes.md")
    instead = "The summary is empty. plimsoll compact --undo takes the compaction back instead."
    assert (empty.code, empty.err.strip()) == (1, instead)
