"""Opening, appending and searching, however long a session is and however many there are."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import perf_counter

import pytest

from tests.benchmarks.measure import Comparison, in_turn
from tests.benchmarks.sessions import write_session
from tui_app.events import SessionStart, UserMessage
from tui_app.paths import Paths
from tui_app.session.preview import load_preview
from tui_app.session.search import search_sessions
from tui_app.session.sqlite_store import SqliteStore

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]
ROUNDS = 25


def home(folder: Path) -> Paths:
    paths = Paths.from_env({"PLIMSOLL_HOME": str(folder)})
    paths.ensure()
    return paths


def many(paths: Paths, sessions: int, messages: int = 10) -> None:
    """Write sessions of a few messages each, straight into the file."""
    words = ["tide", "hull", "mark", "cargo", "quay", "keel", "rope", "anchor", "chart", "wind"]
    with closing(SqliteStore(paths.database)) as store:
        db = store._db
        db.execute("PRAGMA synchronous=OFF")
        for number in range(sessions):
            session = store.create(SessionStart(cwd="/p", model="a:b", title=f"Session {number}"), time=1.0)
            rows = []
            for seq in range(2, messages + 2):
                said = " ".join(words[(number * 7 + seq * step) % 10] for step in range(30))
                data = json.dumps({"text": f"{said} only{number}x{seq}"})
                kind = ("user.message", "assistant.message")[seq % 2]
                rows.append((session, seq, kind, 1.0 + number, '{"t":"x"}', data, None))
            db.execute("BEGIN")
            db.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            db.execute(
                "UPDATE sessions SET messages = ?, updated = ? WHERE id = ?", (messages, number, session)
            )
            db.execute("COMMIT")


def took(work: Callable[[], object]) -> float:
    """Milliseconds."""
    started = perf_counter()
    work()
    return 1_000 * (perf_counter() - started)


def compare(name: str, ours: Callable[[], object], baseline: Callable[[], object], most: float) -> None:
    measured = in_turn(lambda: took(ours), lambda: took(baseline), ROUNDS)
    found = Comparison(name=name, ours=measured[0], baseline=measured[1], unit="ms", most=most)
    print(f"\n{found}")
    assert found.good


def appending(paths: Paths, session: str) -> Callable[[], object]:
    store = SqliteStore(paths.database)
    return lambda: store.append(session, UserMessage(text="and now?", tokens={"user": 3}), None, time=2.0)


def opening(paths: Paths, session: str) -> Callable[[], object]:
    """What the screen does before it paints a session: its newest rows, and the view with its gauge."""

    def work() -> None:
        preview = load_preview(paths.database, session)
        preview.known.usage(preview.agent_view, preview.info.model)

    return work


def test_length_of_a_session(tmp_path: Path) -> None:
    """Opening reads a light row for each message of the view; for each it must not become dearer."""
    short, long = home(tmp_path / "short"), home(tmp_path / "long")
    few, much = write_session(short, 100), write_session(long, 10_000)
    compare("append to 10,000 messages, against 100", appending(long, much), appending(short, few), most=1.5)
    compare(
        "search 10,000 messages, against 100",
        lambda: search_sessions(long.database, "harbourmaster"),
        lambda: search_sessions(short.database, "harbourmaster"),
        most=1.5,
    )
    measured = in_turn(lambda: took(opening(long, much)), lambda: took(opening(short, few)), ROUNDS)
    found = Comparison(
        name="opening 10,000 messages, per message, against 100",
        ours=[each / 10_000 for each in measured[0]],
        baseline=[each / 100 for each in measured[1]],
        unit="ms",
        most=1.5,
    )
    print(f"\n{found}")
    assert found.good


def test_number_of_sessions(tmp_path: Path) -> None:
    few, lots = home(tmp_path / "few"), home(tmp_path / "lots")
    many(few, 10)
    many(lots, 10_000)
    one, other = write_session(few, 100), write_session(lots, 100)
    name = "among 10,000 sessions, against 10"
    compare(f"open one {name}", opening(lots, other), opening(few, one), most=1.5)
    compare(f"append {name}", appending(lots, other), appending(few, one), most=1.5)
    compare(
        f"search for a rare word {name}",
        lambda: search_sessions(lots.database, "harbourmaster"),
        lambda: search_sessions(few.database, "harbourmaster"),
        most=2,
    )


def test_a_million_messages(tmp_path: Path) -> None:
    """Every kind of query answers while a person waits for a key to be painted."""
    paths = home(tmp_path)
    many(paths, 10_000, messages=100)
    for query in ("only9x7", "tide hull", '"tide hull"', "tide", "tid*", "o*"):
        times = sorted(took(lambda: search_sessions(paths.database, query)) for _ in range(5))  # noqa: B023
        print(f"\n1M messages, {query}: {times[2]:.0f} ms ({times[0]:.0f} to {times[-1]:.0f})")
        assert times[2] < 2_000, query
