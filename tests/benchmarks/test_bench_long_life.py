"""What a session costs as it grows: an event costs what it adds, and opening it costs its end."""

import os
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time, thread_time

import pytest

from tests.benchmarks.measure import Comparison, in_turn
from tests.benchmarks.sessions import words, write_long_session
from tui_app.api_keys import ApiKeys
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.conversation.assembly import open_session
from tui_app.conversation.open_request import Opening
from tui_app.conversation.session_history import Archive, SessionHistory
from tui_app.conversation.work import Prompt
from tui_app.events import UserMessage
from tui_app.paths import Paths
from tui_app.session.preview import StatsReader, load_preview
from tui_app.session.sqlite_store import SqliteStore
from tui_app.session.workspace import SessionFolder
from tui_app.settings import load_settings

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(3_600)]
TURNS, BLOCK = 1_500, 250
MOST_MS = 100
ROUNDS = 25


def took(work: Callable[[], object]) -> float:
    """Milliseconds of processor time of this thread."""
    started = thread_time()
    work()
    return 1_000 * (thread_time() - started)


def compare(name: str, ours: Callable[[], object], baseline: Callable[[], object], most: float) -> None:
    measured = in_turn(lambda: took(ours), lambda: took(baseline), ROUNDS)
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
        """What the engine works on."""
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
        """Read what is painted first, what the session has cost, and the engine's view with its messages."""
        load_preview(self.paths.database, self.session)
        StatsReader(self.paths.database, self.session).read()
        self.history().items()

    def turn(self) -> None:
        """Write the events of one more turn, archives and compactions among them."""
        self.store.append_many(self.session, self._life.turn())


def test_opening_and_writing_do_not_grow_with_the_log(tmp_path: Path) -> None:
    short, long = Life(tmp_path / "short", 1_000), Life(tmp_path / "long", 32_000)
    compare("open a session of 32,000 events, against 1,000", long.open, short.open, most=1.2)
    turns = "write 50 turns behind 32,000 events, against 1,000"
    compare(turns, lambda: repeat(long.turn), lambda: repeat(short.turn), most=1.15)
    short.store.close()
    long.store.close()


def repeat(work: Callable[[], object], times: int = 50) -> None:
    for _ in range(times):
        work()


def test_a_rewind_of_thousands_of_turns(tmp_path: Path) -> None:
    """Anywhere in the conversation, and taking it back: at most a tenth of a second each."""
    life = Life(tmp_path, 26_000)
    prompts = [head.seq for head in life.store.newest(life.session, (UserMessage.TYPE,))]
    assert len(prompts) >= 3_000
    rewinds, undos = [], []
    for place in range(0, len(prompts), len(prompts) // 20):
        history = life.history()
        rewinds.append(took(lambda: history.rewind(prompts[place])))  # noqa: B023 - at once
        (cut,) = history.view.reversible
        undos.append(took(lambda: history.restore(cut)))  # noqa: B023 - at once
    life.store.close()
    for name, times in (("rewind", rewinds), ("its undo", undos)):
        print(f"\n{name} at {len(prompts):,} turns: {median(times):.1f} ms (at most {max(times):.1f})")
        assert max(times) <= MOST_MS


async def test_a_turn_late_in_a_long_session(tmp_path: Path) -> None:
    """The engine with the built-in model: processor time for each 250 turns, with tools and compactions."""
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
