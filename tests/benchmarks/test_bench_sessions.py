"""The cost of a growing session: opening, appending, searching, a governor pass, a replay."""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, thread_time

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse

from tests.benchmarks.measure import Comparison, in_turn
from tests.benchmarks.sessions import words, write_long_session, write_session
from tests.conversation.simulating_kit import prompt, session
from tests.conversation.simulating_kit import words as bench_replay_words
from tui_app.api_keys import ApiKeys
from tui_app.context.binding.bind import Binder
from tui_app.context.counting.encodings import NEAREST, TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.ledger.facts import session_facts
from tui_app.context.ledger.ledger import Ledger
from tui_app.context.ledger.passages import passages
from tui_app.context.policy import PLIMSOLL
from tui_app.context.views.view import Item
from tui_app.conversation.assembly import open_session
from tui_app.conversation.audits.replay import Replay
from tui_app.conversation.history.compaction_archive import Archive
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.requests.open_request import Opening
from tui_app.conversation.work import Prompt
from tui_app.events import SessionStart, UserMessage
from tui_app.paths import Paths
from tui_app.session.event_rows import row_sum
from tui_app.session.preview import StatsReader, load_preview
from tui_app.session.search import search_sessions
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.workspace import SessionFolder
from tui_app.settings import load_settings

# Opening, appending and searching, by length and number of sessions.


ROUNDS = 25


def home(folder: Path) -> Paths:
    paths = Paths.from_env({"PLIMSOLL_HOME": str(folder)})
    paths.ensure()
    return paths


def many(paths: Paths, sessions: int, messages: int = 10) -> None:
    """Write sessions of a few messages each, directly to the file."""
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
                row = (session, seq, kind, 1.0 + number, '{"t":"x"}', data, None)
                rows.append((*row, row_sum(row)))
            db.execute("BEGIN")
            db.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
            db.execute(
                "UPDATE sessions SET messages = ?, updated = ? WHERE id = ?", (messages, number, session)
            )
            db.execute("COMMIT")


def took(work: Callable[[], object]) -> float:
    """Elapsed milliseconds."""
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
    """What the UI reads before it paints a session: the newest rows, and the view with its gauge."""

    def work() -> None:
        preview = load_preview(paths.database, session)
        preview.known.usage(preview.agent_view, preview.info.model)

    return work


def listing(paths: Paths) -> Callable[[], object]:
    store = SqliteStore(paths.database)
    return store.sessions


@pytest.mark.benchmark
@pytest.mark.timeout(900)
def test_length_of_a_session(tmp_path: Path) -> None:
    """Opening reads a small row per message in the view; the cost per row must not grow."""
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


@pytest.mark.benchmark
@pytest.mark.timeout(900)
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
    lists = in_turn(lambda: took(listing(lots)), lambda: took(listing(few)), ROUNDS)
    found = Comparison(
        name="list 10,000 sessions, each, against 10",
        ours=[each / 10_000 for each in lists[0]],
        baseline=[each / 10 for each in lists[1]],
        unit="ms",
        most=2,
    )
    print(f"\n{found}")
    assert found.good


@pytest.mark.benchmark
@pytest.mark.timeout(900)
def test_a_million_messages(tmp_path: Path) -> None:
    """Every kind of query is fast enough for the user to wait for."""
    paths = home(tmp_path)
    many(paths, 10_000, messages=100)
    for query in ("only9x7", "tide hull", '"tide hull"', "tide", "tid*", "o*"):
        times = sorted(took(lambda: search_sessions(paths.database, query)) for _ in range(5))  # noqa: B023
        print(f"\n1M messages, {query}: {times[2]:.0f} ms ({times[0]:.0f} to {times[-1]:.0f})")
        assert times[2] < 2_000, query


# A growing session: the cost of an event depends on its size, and that of opening on the log's end.


TURNS, BLOCK = 1_500, 250
MOST_MS = 100


def bench_long_life_took(work: Callable[[], object]) -> float:
    """Milliseconds of this thread's CPU time."""
    started = thread_time()
    work()
    return 1_000 * (thread_time() - started)


def bench_long_life_compare(
    name: str, ours: Callable[[], object], baseline: Callable[[], object], most: float
) -> None:
    measured = in_turn(lambda: bench_long_life_took(ours), lambda: bench_long_life_took(baseline), ROUNDS)
    found = Comparison(name=name, ours=measured[0], baseline=measured[1], unit="ms", most=most)
    print(f"\n{found}")
    assert found.good


class Life:
    """A session of so many events, and what windows do with it."""

    def __init__(self, folder: Path, events: int) -> None:
        self.paths = Paths.from_env({"PLIMSOLL_HOME": str(folder)})
        self.session, self._life = write_long_session(self.paths, events)
        self.store = SqliteStore(self.paths.database)
        self.store._db.execute("PRAGMA synchronous=OFF")

    def history(self) -> SessionHistory:
        """The engine's history."""
        history = SessionHistory(
            store=self.store,
            session=self.session,
            archive=Archive(SessionFolder(self.paths.sessions_dir / self.session)),
            counter=TokenCounter(TextCounter(None)),
            publish=lambda _: None,
            model="offline:extractive",
        )
        history.load()
        return history

    def open(self) -> None:
        """Read what is painted first, the session's costs, and the engine's view with its messages."""
        load_preview(self.paths.database, self.session)
        StatsReader(self.paths.database, self.session).read()
        self.history().items()

    def turn(self) -> None:
        """Write the events of one more turn, including archives and compactions."""
        self.store.append_many(self.session, self._life.turn())


@pytest.mark.benchmark
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("events", "most"), [(32_000, 1.2), (100_000, 2.5)])
def test_opening_and_writing_do_not_grow_with_the_log(tmp_path: Path, events: int, most: float) -> None:
    """Except for the one line that is read per compaction."""
    short, long = Life(tmp_path / "short", 1_000), Life(tmp_path / "long", events)
    name = f"open a session of {events:,} events, against 1,000"
    bench_long_life_compare(name, long.open, short.open, most=most)
    turns = f"write 50 turns behind {events:,} events, against 1,000"
    bench_long_life_compare(turns, lambda: repeat(long.turn), lambda: repeat(short.turn), most=1.15)
    short.store.close()
    long.store.close()


def repeat(work: Callable[[], object], times: int = 50) -> None:
    for _ in range(times):
        work()


@pytest.mark.benchmark
@pytest.mark.timeout(3600)
def test_a_rewind_of_thousands_of_turns(tmp_path: Path) -> None:
    """At any point of the conversation, and its undo: at most a tenth of a second each."""
    life = Life(tmp_path, 26_000)
    prompts = [head.seq for head in life.store.newest(life.session, (UserMessage.TYPE,))]
    assert len(prompts) >= 3_000
    rewinds, undos = [], []
    for place in range(0, len(prompts), len(prompts) // 20):
        history = life.history()
        rewinds.append(bench_long_life_took(lambda: history.rewind(prompts[place])))  # noqa: B023 - at once
        (cut,) = history.view.reversible
        undos.append(bench_long_life_took(lambda: history.restore(cut)))  # noqa: B023 - at once
    life.store.close()
    for name, times in (("rewind", rewinds), ("its undo", undos)):
        print(f"\n{name} at {len(prompts):,} turns: {median(times):.1f} ms (at most {max(times):.1f})")
        assert max(times) <= MOST_MS


@pytest.mark.benchmark
@pytest.mark.timeout(3600)
async def test_a_turn_late_in_a_long_session(tmp_path: Path) -> None:
    """The engine with the built-in model: CPU time per 250 turns, with tools and compactions."""
    env = {**os.environ, "PLIMSOLL_HOME": str(tmp_path / "home")}
    work = tmp_path / "work"
    work.mkdir()
    for number in range(7):
        lines = (f"quay {number} line {line}: {words(line, 4)}\n" for line in range(120))
        (work / f"quay{number}.txt").write_text("".join(lines))
    paths = Paths.from_env(env)
    opened = open_session(
        Opening(
            settings=load_settings(paths, env, {}), paths=paths, env=env, keys=ApiKeys(env, paths), cwd=work,
            model="offline:extractive",
        )
    )  # fmt: skip
    await opened.prepare()
    blocks = []
    for block in range(TURNS // BLOCK):
        started = process_time()
        for number in range(block * BLOCK, (block + 1) * BLOCK):
            opened.conversation.submit(Prompt(asked(number)))
            await opened.conversation.settle()
        blocks.append(process_time() - started)
    await opened.close()
    print(f"\n{BLOCK} turns each: {', '.join(f'{seconds:.1f} s' for seconds in blocks)}")
    found = Comparison(
        name=f"turns {TURNS - BLOCK + 1} to {TURNS}, against the first {BLOCK}",
        ours=blocks[-1:],
        baseline=blocks[:1],
        unit="s",
        most=1.15,
    )
    print(found)
    assert found.good


def asked(number: int) -> str:
    if number % 10 == 3:
        return f"read quay{number % 7}.txt"
    rule = f"Never touch the file quay{number}.cfg. " if number % 40 == 5 else ""
    return f"{rule}What about number {number}? {words(number, 110)}"


# The cost of a governor pass and of a whole replay, by length of the conversation.


BENCH_REPLAY_TURNS = [(300, 200, 400), (250, 150), (), (500, 300), (60,), (350, 350, 350)]
"""About 14,000 tokens."""
MILLION = 73
"""Number of repetitions of the turns that makes a million tokens."""
WINDOW = 8_000
"""Small enough that the shortest conversation is compacted too."""


@pytest.fixture(scope="module")
def text() -> TextCounter:
    loaded = TextCounter(NEAREST)
    loaded.load()
    return loaded


def fresh(text: TextCounter, window: int) -> Replay:
    return Replay(PLIMSOLL, window, TokenCounter(text))


async def one_pass(replay: Replay, new: Sequence[ModelMessage]) -> float:
    """Milliseconds of CPU time for a request with some new messages."""
    started = process_time()
    for message in new:
        replay.history.append(message)
    await replay.ask(bench_replay_words("."))
    return 1_000 * (process_time() - started)


@pytest.mark.benchmark
@pytest.mark.timeout(900)
async def test_a_pass_with_one_new_message(text: TextCounter) -> None:
    messages = [*session(BENCH_REPLAY_TURNS * MILLION), prompt("Go on.")]
    colds, warms = [], []
    for _ in range(3):
        replay = fresh(text, 4_000_000)
        colds.append(await one_pass(replay, messages))
        assert replay.requests[-1].tokens >= 1_000_000
        for number in range(30):
            replay.history.append(bench_replay_words(f"Done {number}."))
            warms.append(await one_pass(replay, [prompt(f"And berth {number}? Look at all its lines.")]))
    found = Comparison(
        name="pass with one new message over 1M tokens, against a first pass",
        ours=warms,
        baseline=colds,
        unit="ms",
        most=1 / 100,
    )
    print(f"\n{found}")
    assert found.good


async def per_million(text: TextCounter, turns: int, rounds: int) -> list[float]:
    """Seconds of CPU time of a replay per million tokens."""
    messages, took = session(BENCH_REPLAY_TURNS * turns), []
    for _ in range(rounds):
        replay = fresh(text, WINDOW)
        started = process_time()
        await replay.play(messages)
        seconds = process_time() - started
        took.append(seconds * 1_000_000 / sum(replay.counter.message(message).total for message in messages))
        assert len(replay.requests) == sum(isinstance(message, ModelResponse) for message in messages)
    return took


@pytest.mark.benchmark
@pytest.mark.timeout(900)
async def test_a_replay_grows_with_the_conversation_and_no_faster(text: TextCounter) -> None:
    await per_million(text, 2, 1)
    short, middle, long = (
        await per_million(text, 1, 9),
        await per_million(text, 7, 5),
        await per_million(text, MILLION, 3),
    )
    for name, baseline in (("14k", short), ("100k", middle)):
        found = Comparison(
            name=f"replay of 1M tokens in a window of 8k, per million tokens, against {name}",
            ours=long,
            baseline=baseline,
            unit="s",
            most=2,
        )
        print(f"\n{found}")
        assert found.good


NOTES = "\n".join(f"- `words{n}.py` was read, and {n} rows are in it. (#{n})" for n in range(1, 40))


def per_message(turns: int) -> float:
    """Seconds of CPU time per message to fold a session and check notes about it."""
    items = [Item(key, message) for key, message in enumerate(session(turns), 1)]
    started = process_time()
    session_facts(items)
    Binder(Ledger.from_items(items), list(passages(items))).bind(NOTES)
    return (process_time() - started) / len(items)


@pytest.mark.benchmark
def test_facts_and_sources_grow_with_the_session_and_no_faster() -> None:
    turns = 2 * BENCH_REPLAY_TURNS
    ours, baseline = in_turn(lambda: per_message(8 * turns), lambda: per_message(turns), 5)
    found = Comparison(
        name="facts and sources of a session eight times as long, per message",
        ours=ours,
        baseline=baseline,
        unit="s",
        most=2,
    )
    print(f"\n{found}")
    assert found.good
