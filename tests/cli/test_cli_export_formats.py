"""``plimsoll export`` in every format, files that exist, and the way back in."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Plimsoll
from tests.session.importing import foreign
from tui_app.conversation.exports import FORMATS
from tui_app.paths import Paths
from tui_app.session.agent_view import fold_agent_view
from tui_app.session.sqlite_store import SqliteStore

KEY = "sk-" + "ant-api03-" + "Ab3" * 12


def plain(messages: list[dict[str, Any]]) -> list[Any]:
    """What messages say, without times, models and figures."""
    said = []
    for message in messages:
        for part in message["parts"]:
            kept = ("part_kind", "content", "tool_name", "tool_call_id", "args")
            each = {key: part.get(key) for key in kept}
            if isinstance(each["args"], str):
                each["args"] = json.loads(each["args"])
            said.append(each)
    return said


def messages_of(plimsoll: Plimsoll, session: str) -> list[Any]:
    return plain(json.loads(plimsoll("export", session, "--no-mask").out))


def again(plimsoll: Plimsoll, session: str, format: str, folder: Path) -> str:
    file = folder / f"again.{format}"
    assert plimsoll("export", session, "--format", format, "-o", file, "--force", "--no-mask").code == 0
    result = plimsoll("import", file, "--json")
    assert result.code == 0, result.err
    assert result.json["skipped"] == []
    return str(result.json["session"])


@pytest.mark.parametrize("format", ["pydantic-ai", "openai", "jsonl"])
def test_what_is_exported_and_imported_says_the_same(
    plimsoll: Plimsoll, imported: str, tmp_path: Path, format: str
) -> None:
    assert messages_of(plimsoll, again(plimsoll, imported, format, tmp_path)) == messages_of(
        plimsoll, imported
    )


def test_events_are_the_session_again(
    plimsoll: Plimsoll, imported: str, tmp_path: Path, plimsoll_home: Path
) -> None:
    assert plimsoll("compact", imported).code == 0
    assert plimsoll("compact", imported, "--undo").code == 0
    assert plimsoll("compact", imported, "--redo").code == 0
    copy = again(plimsoll, imported, "jsonl", tmp_path)
    store = SqliteStore(Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)}).database, read_only=True)
    views = [[head.seq for head in fold_agent_view(store.heads(each)).visible()] for each in (imported, copy)]
    old, new = (
        [(record.data, message) for record, message in store.records(each)][1:] for each in (imported, copy)
    )
    store.close()
    assert views[0] == views[1]
    assert new[: len(old)] == old
    for format in ("markdown", "html", "openai"):
        agent = ("--format", format, "--view", "agent")
        assert plimsoll("export", copy, *agent).out == plimsoll("export", imported, *agent).out


def test_events_that_were_damaged_keep_their_numbers(
    plimsoll: Plimsoll, imported: str, tmp_path: Path
) -> None:
    lines = plimsoll("export", imported, "--format", "jsonl").out.splitlines()
    lines[4] = lines[4][:50]
    del lines[7]
    file = tmp_path / "damaged.jsonl"
    file.write_text("\n".join(lines))
    report = plimsoll("import", file, "--json").json
    assert [each["line"] for each in report["skipped"]] == [5]
    entries = plimsoll("sessions", "show", report["session"], "--json").json["entries"]
    lost = [entry["title"] for entry in entries if entry["kind"] == "error"]
    assert [title for title in lost if "is missing" in title] == [
        "Event #5 is missing in the imported file.",
        "Event #8 is missing in the imported file.",
    ]


def test_secrets(plimsoll: Plimsoll, tmp_path: Path) -> None:
    chat = foreign.openai()
    chat[1]["content"] = f"Fix the till with {KEY}"
    (tmp_path / "chat.json").write_text(json.dumps(chat))
    session = plimsoll("import", tmp_path / "chat.json", "--json").json["session"]
    for format in FORMATS:
        masked = plimsoll("export", session, "--format", format)
        assert KEY not in masked.out
        open_ = plimsoll("export", session, "--format", format, "--no-mask")
        assert KEY in open_.out
        assert "not masked" in open_.err
    written = plimsoll("export", session, "-o", tmp_path / "out.json")
    assert "Secrets are masked." in written.err


def test_a_file_that_exists_is_kept(
    plimsoll: Plimsoll, imported: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "out.html"
    file.write_text("mine")
    refused = plimsoll("export", imported, "--format", "html", "-o", file)
    assert (refused.code, file.read_text()) == (1, "mine")
    assert "--force" in refused.err
    for answer, code in (("n\n", 1), ("y\n", 0)):
        monkeypatch.setattr("sys.stdin", _Terminal(answer))
        assert plimsoll("export", imported, "--format", "html", "-o", file).code == code
        assert (file.read_text() == "mine") == (code == 1)
    file.write_text("mine")
    file.chmod(0o644)
    assert plimsoll("export", imported, "--format", "html", "-o", file, "--force").code == 0
    assert file.read_text().startswith("<!DOCTYPE html>")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.glob(".out*")] == []
    assert plimsoll("export", imported, "-o", "/dev/null").code == 0


class _Terminal:
    def __init__(self, answer: str) -> None:
        self._answer = answer

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        return self._answer


def test_the_log_has_no_agent_view(plimsoll: Plimsoll, imported: str) -> None:
    result = plimsoll("export", imported, "--format", "jsonl", "--view", "agent")
    assert (result.code, result.out) == (2, "")
    assert "whole log" in result.err
