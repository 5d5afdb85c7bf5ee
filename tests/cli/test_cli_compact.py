"""``plimsoll compact`` and ``plimsoll context``."""

from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tests.servers.behaviours import Empty, Text, error
from tests.servers.fake_openai import FakeOpenAI
from tui_app.events import ModelChange
from tui_app.paths import Paths
from tui_app.session.lock import WriterLock
from tui_app.session.sqlite_store import SqliteStore
from tui_app.ui.text import tokens
from tui_app.usage import CATEGORIES

NAMES = {
    "tokens_before", "tokens_after", "messages_before", "messages_after", "tokens_removed",
    "messages_removed", "trigger", "performed_by", "retention", "checkpoint_path", "duration_s", "cost_usd",
    "model", "policy",
}  # fmt: skip


@pytest.fixture
def paths(plimsoll_home: Path) -> Paths:
    return Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)})


def log_length(paths: Paths, session: str) -> int:
    store = SqliteStore(paths.database, read_only=True)
    events = store.info(session).events
    store.close()
    return events


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FakeOpenAI:
    """A server whose model is used unless another is asked for; the test starts it."""
    server = FakeOpenAI()
    monkeypatch.setenv("PLIMSOLL_MODEL", "local:scripted")
    return server


def use(server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "PLIMSOLL_ENDPOINTS", f'{{local = {{base_url = "{server.base_url}", window = 32000}}}}'
    )


def test_compaction_by_its_names(plimsoll: Plimsoll, imported: str, paths: Paths) -> None:
    done = plimsoll("compact", imported, "--json").json
    assert set(done) >= NAMES
    assert (done["session"], done["outcome"], done["trigger"]) == (imported, "success", "headless")
    assert (done["policy"], done["model"], done["performed_by"]) == (
        "plimsoll",
        "offline:extractive",
        "heuristic",
    )
    assert done["tokens_removed"] == done["tokens_before"] - done["tokens_after"] > 0
    assert done["messages_removed"] == done["messages_before"] - done["messages_after"] > 0
    assert 0 <= done["retention"] <= 1
    assert done["cost_usd"] == 0.0, "nobody was asked"
    checkpoint = Path(done["checkpoint_path"])
    assert checkpoint.is_relative_to(paths.sessions_dir / imported / "checkpoints")
    assert checkpoint.exists()
    after = plimsoll("context", imported, "--json").json
    assert after["messages"] == done["messages_after"]
    assert after["total"] == pytest.approx(done["tokens_after"], abs=len(CATEGORIES))


def test_compaction_for_a_person(plimsoll: Plimsoll, imported: str) -> None:
    result = plimsoll("compact", imported)
    assert result.code == 0
    assert result.out.startswith("Compacted ")
    assert ", $0.00, " in result.out
    assert "Checkpoint: " in result.out


def test_dry_run_writes_nothing(plimsoll: Plimsoll, imported: str, paths: Paths) -> None:
    before = log_length(paths, imported)
    files = sorted(paths.data.rglob("*"))
    with WriterLock(paths.sessions_dir / imported / "writer.lock"):
        files = sorted(paths.data.rglob("*"))
        planned = plimsoll("compact", imported, "--dry-run", "--json").json
        text = plimsoll("compact", imported, "--dry-run").out
    assert set(planned) >= NAMES
    assert planned["dry_run"] is True
    assert planned["tokens_before"] > planned["tokens_after"] > 0
    assert planned["messages_before"] - planned["messages_removed"] == planned["messages_after"]
    assert "Nothing was written." in text
    assert log_length(paths, imported) == before
    assert [path for path in sorted(paths.data.rglob("*")) if path.suffix not in (".db-shm", ".db-wal")] == [
        path for path in files if path.suffix not in (".db-shm", ".db-wal")
    ]


def test_plan_is_kept(plimsoll: Plimsoll, imported: str) -> None:
    planned = plimsoll("compact", imported, "--dry-run", "--json").json
    done = plimsoll("compact", imported, "--json").json
    assert done["messages_after"] == planned["messages_after"]
    assert done["tokens_before"] == planned["tokens_before"]
    assert done["tokens_after"] <= planned["tokens_after"]


def test_smaller_window_keeps_less(plimsoll: Plimsoll, imported: str) -> None:
    wide = plimsoll("compact", imported, "--dry-run", "--window", "200000", "--json").json
    narrow = plimsoll("compact", imported, "--dry-run", "--window", "9000", "--json").json
    assert narrow["messages_after"] < wide["messages_after"]


def test_nothing_to_do_is_said(plimsoll: Plimsoll, imported: str, paths: Paths) -> None:
    for flag, words in (("--undo", "No compaction to undo."), ("--redo", "Nothing to redo.")):
        result = plimsoll("compact", imported, flag)
        assert (result.code, result.out, result.err.strip()) == (1, "", words)
    for flags in ((), ("--dry-run",)):
        result = plimsoll("compact", imported, "--window", "256", *flags)
        assert (result.code, result.out) == (1, "")
        assert result.err


def test_undo_and_redo_tell_the_sizes(plimsoll: Plimsoll, imported: str) -> None:
    done = plimsoll("compact", imported, "--json").json
    undone = plimsoll("compact", imported, "--undo", "--json").json
    assert (undone["messages_before"], undone["messages_after"]) == (
        done["messages_after"],
        done["messages_before"],
    )
    assert undone["tokens_after"] == done["tokens_before"]
    redone = plimsoll("compact", imported, "--redo", "--json").json
    assert redone["redone"] == undone["undone"]
    assert (redone["tokens_before"], redone["tokens_after"]) == (
        undone["tokens_after"],
        undone["tokens_before"],
    )


@pytest.mark.parametrize("flags", [("--undo", "--redo"), ("--undo", "--focus", "x"), ("--dry-run", "--undo")])
def test_flags_that_do_not_go_together(plimsoll: Plimsoll, imported: str, flags: tuple[str, ...]) -> None:
    result = plimsoll("compact", imported, *flags)
    assert (result.code, result.out) == (2, "")


def test_model_writes_the_summary_and_hears_the_focus(
    plimsoll: Plimsoll, imported: str, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.add(Text("## Intent\nThe routes of the ferries were looked at."))
    with server:
        use(server, monkeypatch)
        done = plimsoll("compact", imported, "--focus", "the harbour dues", "--json").json
        request = str(server.journal[0])
    assert (done["performed_by"], done["model"]) == ("model", "local:scripted")
    assert "the harbour dues" in request


def test_model_of_a_compaction_is_not_that_of_the_session(
    plimsoll: Plimsoll, imported: str, server: FakeOpenAI, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    def recorded() -> tuple[str, list[ModelChange]]:
        store = SqliteStore(paths.database, read_only=True)
        model = store.info(imported).model
        events = [record.data for record, _ in store.records(imported)]
        store.close()
        return model, [event for event in events if isinstance(event, ModelChange)]

    server.add(*(Text("## Intent\nThe routes of the ferries were looked at.") for _ in range(2)))
    with server:
        use(server, monkeypatch)
        for flags in ((), ("--undo",)):
            assert plimsoll("compact", imported, *flags).code == 0
        assert recorded() == ("", []), "an imported session has none until something is said in it"
        plimsoll("run", "Which routes?", "--session", imported, "--model", "offline:extractive")
        assert recorded() == ("offline:extractive", [])
        done = plimsoll("compact", imported, "--model", "local:scripted", "--json").json
        assert (done["performed_by"], done["model"]) == ("model", "local:scripted")
        assert plimsoll("compact", imported, "--undo", "--model", "local:scripted").code == 0
        assert plimsoll("compact", imported, "--redo", "--model", "local:scripted").code == 0
    assert recorded() == ("offline:extractive", [])
    assert plimsoll("context", imported, "--json").json["model"] == "offline:extractive"


@pytest.mark.parametrize("behaviour", [Empty(), error(500, "out of order")])
def test_failed_summary_falls_back_and_says_by_whom(
    plimsoll: Plimsoll, imported: str, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch, behaviour: Empty
) -> None:
    server.fallback = behaviour
    with server:
        use(server, monkeypatch)
        done = plimsoll("compact", imported, "--json").json
    assert (done["outcome"], done["performed_by"]) == ("success", "heuristic")
    assert done["cost_usd"] is None, "what the model took for its failure is not known"


def test_model_without_its_key_compacts_nothing(plimsoll: Plimsoll, imported: str) -> None:
    before = plimsoll("context", imported, "--json").json
    result = plimsoll("compact", imported, "--model", "openai:gpt-5")
    assert (result.code, result.out) == (1, "")
    assert "OPENAI_API_KEY" in result.err
    assert plimsoll("context", imported, "--json").json == before


def test_open_session_is_measured_but_not_compacted(plimsoll: Plimsoll, imported: str, paths: Paths) -> None:
    with WriterLock(paths.sessions_dir / imported / "writer.lock"):
        assert plimsoll("context", imported, "--json").code == 0
        for flags in ((), ("--undo",)):
            result = plimsoll("compact", imported, *flags)
            assert (result.code, result.out) == (1, "")
            assert result.err.startswith("The session is open in another window ")


def test_context_adds_up(plimsoll: Plimsoll, imported: str) -> None:
    usage = plimsoll("context", imported, "--json").json
    assert sum(usage[name] for name in CATEGORIES) + usage["unmeasured"] == usage["total"]
    assert (usage["session"], usage["model"]) == (imported, "offline:extractive")
    assert usage["tools"] > 100, "tool definitions are part of every request"
    assert sum(usage["tools_by_server"].values()) == usage["tools"]
    assert usage["tool_results"] > usage["user"] > 0


def test_context_for_another_window_and_model(plimsoll: Plimsoll, imported: str) -> None:
    small = plimsoll("context", imported, "--window", "4096", "--json").json
    assert (small["limit"], small["limit_source"]) == (4096, "setting")
    assert small["utilization"] > 1
    over = tokens(small["total"] - 4096)
    said = plimsoll("context", imported, "--window", "4096").out
    assert f"Over by {over}: the next request has to be made smaller." in said, "as the gauge says it"
    room = small["total"] + 100
    assert "No room is left" in plimsoll("context", imported, "--window", str(room)).out
    almost = plimsoll("context", imported, "--window", str(small["total"] * 1000 // 547)).out
    assert ": 55% of " in almost, "rounded as on the gauge"
    keyless = plimsoll("context", imported, "--model", "openai:gpt-5", "--json")
    assert keyless.code == 0
    assert keyless.json["limit"] > 128_000
    assert "needs OPENAI_API_KEY" in keyless.err
    unknown = plimsoll("context", imported, "--model", "nonesuch:model")
    assert (unknown.code, unknown.out) == (1, "")
    assert "There is no model 'nonesuch:model'" in unknown.err


def test_context_as_a_table(plimsoll: Plimsoll, imported: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = plimsoll("context", imported).out.splitlines()
    assert "~" in lines[0]
    assert lines[-1].startswith("total")
    assert any(line.startswith("tool results") and line.endswith("█" * 30) for line in lines)
    monkeypatch.setenv("PLIMSOLL_PLAIN", "1")
    assert plimsoll("context", imported).out.isascii()


def test_a_failed_summary_is_a_line_in_the_log_and_quotes_nothing(
    plimsoll: Plimsoll, imported: str, server: FakeOpenAI, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server:
        use(server, monkeypatch)
        server.fallback = error(400, "no such thing: 'the albatross'")
        done = plimsoll("compact", imported, "--policy", "reserve")
    assert "WARNING" not in done.err
    text = paths.log_file.read_text()
    assert "compact WARNING tui_app.context.compaction.proposal a summary was not written: " in text
    assert ", status 400" in text
    assert "albatross" not in text
    assert "Traceback" not in text
