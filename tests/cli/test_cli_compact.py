"""``plimsoll compact`` and ``plimsoll context``."""

import io
import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tests.servers.behaviours import Empty, Text, error
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.app.story import NOON, Story
from tui_app.events import NOT_IN_LOG, UNCHECKED, ModelChange
from tui_app.paths import Paths
from tui_app.session.lock import WriterLock
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.views.agent_view import AgentView, fold_agent_view
from tui_app.ui.words.text import tokens
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
    """A server whose model is the default; the test starts it."""
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
    assert done["messages_left"] == done["messages_removed"] + 1
    assert 0 <= done["retention"] <= 1
    assert set(done["facts"]) == {"kept", "put_back", "at_risk", "lost"}
    assert sum(done["facts"].values()) > 0
    assert done["claims_marked"] is None, "no model wrote it"
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
    assert done["messages_after"] >= planned["messages_after"], "where there is room, newest messages stay"
    assert done["tokens_before"] == planned["tokens_before"]
    assert done["tokens_after"] <= planned["tokens_after"]


def test_smaller_window_keeps_less(plimsoll: Plimsoll, imported: str) -> None:
    wide = plimsoll("compact", imported, "--dry-run", "--window", "200000", "--json").json
    narrow = plimsoll("compact", imported, "--dry-run", "--window", "9000", "--json").json
    assert narrow["messages_after"] < wide["messages_after"]


def test_nothing_to_do_is_said(plimsoll: Plimsoll, imported: str, paths: Paths) -> None:
    for flag, words in (("--undo", "Nothing to undo."), ("--redo", "Nothing to redo.")):
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


def test_how_many_lines_have_a_source_is_said(
    plimsoll: Plimsoll, imported: str, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    invented = "`harbour_master.py` was deleted."
    notes = f"## State\n- The routes were read. (#3)\n- All is well.\n- {invented}"
    server.add(*(Text(notes) for _ in range(2)))
    with server:
        use(server, monkeypatch)
        done = plimsoll("compact", imported, "--json").json
        assert (done["lines"], done["lines_sourced"], done["claims_marked"]) == (3, 1, 1)
        shown = plimsoll("export", imported, "--format", "markdown", "--view", "agent").out
        assert f"- All is well. {UNCHECKED}\n" in shown
        assert f"- {invented} {NOT_IN_LOG}\n" in shown
        assert plimsoll("compact", imported, "--undo").code == 0
        assert "1 of 3 lines sourced" in plimsoll("compact", imported).out


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
        assert plimsoll("compact", imported, "--undo").code == 0
        said = plimsoll("compact", imported).out
    assert (done["outcome"], done["performed_by"]) == ("success", "heuristic")
    assert done["cost_usd"] is None, "what the model took for its failure is not known"
    assert f"Summary by offline:extractive ({done['reason']})" in said


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
    assert f"Over by {over}: the next request must get smaller." in said, "as the gauge says it"
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
    assert "compact WARNING tui_app.context.compaction.notes a summary was not written: " in text
    assert ", status 400" in text
    assert "albatross" not in text
    assert "Traceback" not in text


# ``plimsoll compact`` on a chosen part, and with the user's own summary.


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
        (("--from", "9", "--up-to", "3"), 2, "there is nothing between"),
        (("--from", "9", "--undo"), 2, "cannot be combined with"),
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
    assert (none.code, none.err.strip()) == (1, "There is no compaction in force.")
    plimsoll("compact", imported)
    edited = plimsoll("compact", imported, "--edit-summary", "notes.md", "--json").json
    assert edited["summary"] == f"Notes of my own. {UNCHECKED}", "checked like those of a model"
    after = plimsoll("context", imported, "--json").json
    assert after["total"] == pytest.approx(edited["tokens_after"], abs=12)
    assert "Notes of my own." in plimsoll("export", imported, "--format", "markdown", "--view", "agent").out
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Piped notes.")))
    assert "Edited the summary #" in plimsoll("compact", imported, "--edit-summary", "-").out
    again = plimsoll("compact", imported, "--edit-summary", "notes.md")
    assert again.code == 0
    same = plimsoll("compact", imported, "--edit-summary", "notes.md")
    assert (same.code, same.err.strip()) == (1, "Nothing to change: the summary says that already.")
    (project / "notes.md").write_text(" ")
    empty = plimsoll("compact", imported, "--edit-summary", "notes.md")
    instead = "The summary is empty. plimsoll compact --undo undoes the compaction instead."
    assert (empty.code, empty.err.strip()) == (1, instead)


# ``plimsoll context ID --pin …``: single messages managed without the screen.


TEXT = "".join(f"{number}: the tide comes in twice a day\n" for number in range(800))
CALL, RESULT = 4, 5
"""Log numbers of a tool call and its result."""


@pytest.fixture
def session(paths: Paths) -> str:
    story = Story("tide", model="offline:extractive").user("When?")
    story.tool("read_file", '{"path": "tide.txt"}', TEXT, tokens=9_000).answer("Twice.").user("Thanks.")
    paths.ensure()
    store = SqliteStore(paths.database)
    try:
        session = store.create(story.start, time=NOON)
        store.append_many(session, story.events)
        return session
    finally:
        store.close()


def view(paths: Paths, session: str) -> AgentView:
    store = SqliteStore(paths.database, read_only=True)
    try:
        return fold_agent_view(store.heads(session))
    finally:
        store.close()


def test_each_step_is_an_event_and_the_new_size_is_printed(
    plimsoll: Plimsoll, paths: Paths, session: str
) -> None:
    before = plimsoll("context", session, "--json").json["total"]
    small = plimsoll("context", session, "--offload", f"#{RESULT}", "--json").json["total"]
    assert small < before - 5_000
    assert view(paths, session).rewrites
    assert plimsoll("context", session, "--restore", RESULT, "--json").json["total"] == before
    assert plimsoll("context", session, "--archive", CALL, "--json").json["total"] < before - 5_000
    assert plimsoll("context", session, "--restore", RESULT).code == 0
    assert plimsoll("context", session, "--window", 128_000, "--pin", RESULT, "--pin", 2).code == 0
    assert view(paths, session).pins == {RESULT, 2}
    assert plimsoll("context", session, "--unpin", CALL).code == 0, "the call's number means its result"
    assert view(paths, session).pins == {2}


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("--pin", 999), "#999 is not part of the next request."),
        (("--unpin", RESULT), f"#{RESULT} is not pinned."),
        (("--restore", RESULT), "Nothing to undo"),
        (("--archive", 2), "Only results of tools"),
    ],
)
def test_what_cannot_be_done_is_said(
    plimsoll: Plimsoll, session: str, args: tuple[object, ...], why: str
) -> None:
    refused = plimsoll("context", session, *args)
    assert refused.code == 1
    assert why in refused.err


def test_a_number_is_asked_for(plimsoll: Plimsoll, session: str) -> None:
    refused = plimsoll("context", session, "--pin", "newest")
    assert refused.code == 2
    assert "the number of a message" in refused.err


def test_context_says_what_the_next_turn_costs(
    plimsoll: Plimsoll, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story("Sunday", model="openai:gpt-5").user("Why?").answer("Zero counts.", reported=9_000)
    paths.ensure()
    store = SqliteStore(paths.database)
    try:
        session = store.create(story.start, time=NOON)
        store.append_many(session, story.events)
    finally:
        store.close()
    monkeypatch.setattr("tui_app.cli.sessions.context.time.time", lambda: NOON + 100)
    cache = plimsoll("context", session, "--json").json["cache"]
    assert (cache["warm_until"], cache["last_read"]) == (NOON + 60 + 300, 0)
    assert cache["predicted_tokens"] > 1_024
    assert 0 < cache["warm_usd"] < cache["cold_usd"]
    said = plimsoll("context", session).out.splitlines()[-1]
    assert re.fullmatch(r"Next turn \$0\.0\d+ warm, \$0\.0\d+ cold · warm until \d\d:\d\d\.", said)
    cold = plimsoll("context", session, "--model", "anthropic:claude-sonnet-4-5", "--json").json["cache"]
    assert (cold["warm_until"], cold["predicted_tokens"]) == (None, 0)


# ``plimsoll exclude``: messages hidden from the model.


def test_messages_are_excluded_and_brought_back(plimsoll: Plimsoll, paths: Paths, session: str) -> None:
    before = plimsoll("context", session, "--json").json["total"]
    done = plimsoll("exclude", session, f"#{CALL}", "--json").json
    assert done["excluded"] == [RESULT - 2, RESULT], "the answer that called leaves with the result"
    assert done["tokens_before"] == before > done["tokens_after"] + 5_000
    assert plimsoll("context", session, "--json").json["total"] == done["tokens_after"]
    assert plimsoll("exclude", session, RESULT).err.strip() == f"#{RESULT} is already excluded."
    assert "twice a day" not in plimsoll("export", session, "--view", "agent").out
    assert "(excluded)" in plimsoll("export", session, "--format", "markdown").out
    back = plimsoll("exclude", session, RESULT, "--undo")
    assert back.out.startswith(f"Included #{RESULT - 2} #{RESULT}: ")
    assert not view(paths, session).excluded
    assert plimsoll("exclude", session, 2, "--turn", "--json").json["excluded"] == [2, 3, 5, 6]
    assert plimsoll("exclude", session, 2, "--undo", "--json").json["included"] == [2, 3, 5, 6]


@pytest.mark.parametrize(
    ("args", "code", "why"),
    [
        ((7,), 1, "The newest prompt stays"),
        ((2, 999), 1, "#999 is not part of the next request."),
        ((2, "--undo"), 1, "#2 is not excluded."),
        (("two",), 2, "the number of a message"),
        ((2, "--undo", "--turn"), 2, "not allowed with"),
    ],
)
def test_what_cannot_be_excluded_is_said(
    plimsoll: Plimsoll, paths: Paths, session: str, args: tuple[object, ...], code: int, why: str
) -> None:
    refused = plimsoll("exclude", session, *args)
    assert (refused.code, refused.out) == (code, "")
    assert why in refused.err
    assert not view(paths, session).excluded
