"""``plimsoll stats``."""

from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tui_app.events import AssistantMessage, CompactionComplete, SessionStart, ToolTrimmed, UserMessage
from tui_app.paths import Paths
from tui_app.session.sqlite_store import SqliteStore


@pytest.fixture
def paths(plimsoll_home: Path) -> Paths:
    paths = Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)})
    paths.ensure()
    return paths


def begin(paths: Paths, time: float = 1_000.0, model: str = "harbour:scripted") -> str:
    store = SqliteStore(paths.database)
    session = store.create(SessionStart(cwd="/tmp", model=""), time=time)
    done = CompactionComplete(
        job="1",
        outcome="success",
        trigger="model_switch",
        tokens_removed=85_300,
        retention=0.98,
        cost_usd=0.004,
    )
    events = [
        UserMessage(text="hello"),
        AssistantMessage(text="Hi.", model=model, input_tokens=91_500, output_tokens=20, cost_usd=0.42),
        ToolTrimmed(tokens_removed=1_200),
        done,
    ]
    store.append_many(session, [(event, None, time) for event in events])
    store.close()
    return session


def test_tables_for_a_person(plimsoll: Plimsoll, paths: Paths) -> None:
    session = begin(paths)
    lines = plimsoll("stats", session[:4]).out.splitlines()
    assert lines[0] == session
    assert "  1 turn, 1 request, 0 tool calls" in lines
    assert "  $0.42 with summaries" in lines
    assert "  harbour:scripted        1    91.5k        0       20    $0.42" in lines
    assert "  model switch  success        1    85.3k    0.0 s   $0.004" in lines
    assert "  facts kept by weight: 98 % on average, 98 % at least" in lines
    assert "  compact        1             85.3k" in lines
    assert max(map(len, lines)) < 80


def test_json_of_the_last_session(plimsoll: Plimsoll, paths: Paths) -> None:
    begin(paths, time=1_000.0)
    session = begin(paths, time=2_000.0)
    stats = plimsoll("stats", "--json").json
    assert stats["session"] == session
    assert stats["models"][0]["input_tokens"] == 91_500
    assert [row["tokens_removed"] for row in stats["stages"]] == [1_200, 85_300]
    assert stats["cost_usd"] == pytest.approx(0.424)
    assert stats["retention"] == 0.98
    assert stats["cache_share"] == 0.0


def test_no_session(plimsoll: Plimsoll, paths: Paths) -> None:
    for arguments in (("stats",), ("stats", "abc")):
        gone = plimsoll(*arguments)
        assert gone.code == 1
        assert gone.err.startswith("There ")
        assert gone.out == ""
    SqliteStore(paths.database).close()
    assert plimsoll("stats").err.startswith("There are no sessions yet.")


def test_names_out_of_the_log_drive_no_terminal(plimsoll: Plimsoll, paths: Paths) -> None:
    session = begin(paths, model="\x1b]0;owned\x07\x9b31m" + "long" * 30)
    out = plimsoll("stats", session).out
    assert not {"\x1b", "\x9b", "\x07"} & set(out)
    assert max(map(len, out.splitlines())) < 80
