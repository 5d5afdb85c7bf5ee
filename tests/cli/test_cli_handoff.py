"""``plimsoll handoff``: a new session with a brief, without a screen."""

import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tui_app.paths import Paths
from tui_app.session.stores.sqlite_store import SqliteStore

RULE = "Never touch the legacy importer."


def log(home: Path, session: str) -> list[object]:
    store = SqliteStore(Paths.from_env({"PLIMSOLL_HOME": str(home)}).database, read_only=True)
    try:
        return [store.info(session), *store.records(session), len(store.sessions())]
    finally:
        store.close()


def test_a_new_session_begins_with_the_brief(
    plimsoll: Plimsoll, imported: str, plimsoll_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = log(plimsoll_home, imported)
    shown = plimsoll("handoff", imported, "Describe", "route 3", "--dry-run")
    assert (shown.code, shown.err) == (0, "No session was started.\n")
    assert shown.out.startswith("## Goal\nDescribe route 3\n")
    assert RULE in shown.out
    assert log(plimsoll_home, imported) == before
    dry = plimsoll("handoff", imported, "Describe route 3", "--dry-run", "--json").json
    assert (dry["session"], dry["from"], dry["performed_by"]) == (None, imported, "heuristic")
    assert dry["brief"] == shown.out.removesuffix("\n")
    assert 0 < dry["tokens"] <= 4_000

    made = plimsoll("handoff", imported, "Describe route 3", "--json").json
    assert set(made) == {
        "session", "from", "goal", "title", "brief", "tokens", "left_out", "performed_by", "model",
        "claims_marked", "reason", "cost_usd",
    }  # fmt: skip
    assert log(plimsoll_home, imported)[:-1] == before[:-1]
    listed = {each["id"]: each["title"] for each in plimsoll("sessions", "--json").json["sessions"]}
    assert listed[made["session"]] == "Describe route 3"
    assert f"handed over from {imported}" in plimsoll("sessions", "show", made["session"]).out

    edited = f"## Goal\nDescribe route 3\n\n{RULE} Mine."
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(edited.encode())))
    told = plimsoll("handoff", imported, "Describe route 3", "--brief", "-")
    new = told.out.partition("New session ")[2].split(".")[0]
    events = [json.loads(line) for line in plimsoll("export", new, "--format", "jsonl").out.splitlines()]
    brief = next(event["data"] for event in events if event["type"] == "session.handoff")
    assert edited in brief["text"]
    assert (brief["edited"], brief["from_session"]) == (True, imported)


@pytest.mark.parametrize("data", [b"caf\xe9", b"a\0b"])
def test_a_brief_that_is_not_text_is_refused(
    plimsoll: Plimsoll,
    imported: str,
    plimsoll_home: Path,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    data: bytes,
) -> None:
    before = log(plimsoll_home, imported)
    (project / "brief.md").write_bytes(data)
    for name, subject in (("-", "The piped input"), ("brief.md", "brief.md")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data), errors="surrogateescape"))
        failed = plimsoll("handoff", imported, "Go on", "--brief", name)
        assert (failed.code, failed.err) == (1, f"{subject} is not UTF-8 text. Nothing changed.\n")
    assert log(plimsoll_home, imported) == before


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["handoff", "ID"], 2, "What is the new session for? plimsoll handoff"),
        (["handoff", "ID", "  "], 2, "What is the new session for?"),
        (["handoff", "nowhere", "Go on"], 1, "no session with the id"),
        (["handoff", "ID", "Go on", "--brief", "missing.md"], 1, "missing.md cannot be read"),
        (["handoff", "ID", "Go on", "--brief", "x", "--dry-run"], 2, "cannot be combined with --dry-run"),
        (["handoff", "ID", "Go on", "--model", "nobody:at-all"], 1, "nobody"),
    ],
)
def test_bad_input_is_a_sentence_and_changes_nothing(
    plimsoll: Plimsoll, imported: str, plimsoll_home: Path, args: list[str], code: int, words: str
) -> None:
    before = log(plimsoll_home, imported)
    failed = plimsoll(*[imported if arg == "ID" else arg for arg in args])
    assert failed.code == code
    assert words in failed.err
    assert failed.out == ""
    assert log(plimsoll_home, imported) == before


async def test_a_model_writes_notes(
    plimsoll: Plimsoll, imported: str, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio

    monkeypatch.setenv(
        "PLIMSOLL_ENDPOINTS", f'{{local = {{base_url = "{fake_openai.base_url}", window = 32000}}}}'
    )
    fake_openai.add(
        Text("Title: Routes\n## State\n- Route 3 calls at all its stops.\n- ghost.py was deleted.")
    )
    made = (
        await asyncio.to_thread(plimsoll, "handoff", imported, "Go on", "--model", "local:scripted", "--json")
    ).json
    assert (made["performed_by"], made["model"], made["claims_marked"]) == ("model", "local:scripted", 1)
    assert "ghost.py was deleted. (not in the log)" in made["brief"]
