"""What a user waits for on the screen: start, keys, streaming, the gauge; and idle memory."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, perf_counter

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, UserPromptPart

from tests.benchmarks.measure import (
    HELLO,
    HELLO_PAINTED,
    PLIMSOLL,
    PROMPT_PAINTED,
    ROOT,
    Comparison,
    Lab,
    in_turn,
    memory,
    percentile,
    settle,
)
from tests.benchmarks.sessions import LAST_WORD, turn, words, write_long_session, write_session
from tests.benchmarks.stream_server import ANSWER_S, ANSWER_TOKENS_PER_S, number_of
from tests.pty.terminal import Child
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tui_app.context.counting.encodings import NEAREST, TextCounter
from tui_app.context.counting.tally import MessageWeight, Tally
from tui_app.context.counting.tokens import TokenCounter
from tui_app.paths import Paths
from tui_app.usage import ContextWindow, Overhead

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]


# Time until the user can type, and until an old conversation is shown.


ROUNDS = 15


def test_prompt_ready(lab: Lab) -> None:
    ours, baseline = in_turn(
        lambda: lab.seconds_to_paint(PROMPT_PAINTED, *PLIMSOLL),
        lambda: lab.seconds_to_paint(HELLO_PAINTED, *HELLO),
        ROUNDS,
    )
    found = Comparison(
        name="prompt ready, against a bare Textual app", ours=ours, baseline=baseline, unit="s", most=1.6
    )
    print(f"\n{found}")
    assert found.good


def test_open_a_long_session(lab: Lab, paths: Paths) -> None:
    """A session without compactions, so that all of it is in the agent view."""
    long, short = write_session(paths, 10_000), write_session(paths, 200)
    ours, baseline = in_turn(
        lambda: lab.seconds_to_paint(LAST_WORD.encode(), *PLIMSOLL, "--resume", long),
        lambda: lab.seconds_to_paint(LAST_WORD.encode(), *PLIMSOLL, "--resume", short),
        ROUNDS,
    )
    found = Comparison(
        name="opening 10,000 messages, against 200", ours=ours, baseline=baseline, unit="s", most=1.5
    )
    print(f"\n{found}")
    assert found.good


def test_open_a_session_with_a_long_life(lab: Lab, paths: Paths) -> None:
    """A session with tools, archives and compactions: the amount read does not grow with its log."""
    (long, _), (short, _) = write_long_session(paths, 32_000), write_long_session(paths, 1_000)
    ours, baseline = in_turn(
        lambda: lab.seconds_to_paint(LAST_WORD.encode(), *PLIMSOLL, "--resume", long),
        lambda: lab.seconds_to_paint(LAST_WORD.encode(), *PLIMSOLL, "--resume", short),
        ROUNDS,
    )
    found = Comparison(
        name="opening 32,000 events, against 1,000", ours=ours, baseline=baseline, unit="s", most=1.2
    )
    print(f"\n{found}")
    assert found.good


# Time from a key to the screen, with a short and a very long conversation above the prompt.


KEYS = 60
REST_S = 6.0
BETWEEN_PAGES_S = 0.3
"""Long enough to paint everything that the previous page caused."""
PAGE_UP = "\x1b[5~"


class Typist:
    """Types one letter at a time, and waits for each to be painted."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._draft = ""

    def type(self) -> float:
        """Seconds from the next letter's key until it is painted."""
        self._draft += chr(ord("a") + len(self._draft) % 26)
        before = len(self._child.output)
        started = monotonic()
        self._child.write(self._draft[-1])
        # The row is repainted up to the cursor, so the output contains the whole draft in one piece.
        return self._child.read_until(self._draft.encode(), since=before) - started


class Reader:
    """Scrolls up by pages, and waits until each is painted completely."""

    def __init__(self, child: Child) -> None:
        self._child = child

    def turn(self) -> float:
        """Seconds from the key to the end of the frame that shows another page."""
        settle(self._child, BETWEEN_PAGES_S)
        before = len(self._child.output)
        started = monotonic()
        self._child.write(PAGE_UP)
        return self._child.read_until(b"Answer", since=before) - started


def test_key_to_screen(lab: Lab, paths: Paths) -> None:
    long, short = write_session(paths, 10_000), write_session(paths, 200)
    with (
        lab.start(*PLIMSOLL, "--resume", long) as long_child,
        lab.start(*PLIMSOLL, "--resume", short) as short_child,
    ):
        for child in (long_child, short_child):
            child.read_until(LAST_WORD.encode())
            settle(child, REST_S)
        ours, baseline = in_turn(Typist(long_child).type, Typist(short_child).type, KEYS)
        paged_ours, paged_baseline = in_turn(Reader(long_child).turn, Reader(short_child).turn, 15)
    typed = compare("a key on the screen at 10,000 messages, against 200", ours, baseline)
    paged = compare("a page up at 10,000 messages, against 200", paged_ours, paged_baseline)
    print(f"\n{typed}\n{paged}")
    assert typed.good
    assert paged.good


def compare(name: str, ours: list[float], baseline: list[float]) -> Comparison:
    """Compare the two, in milliseconds."""
    in_ms = [[1_000 * each for each in samples] for samples in (ours, baseline)]
    return Comparison(name=name, ours=in_ms[0], baseline=in_ms[1], unit="ms", most=1.3)


# A fast answer while history is compacted in the background: frames per second, and a responsive loop.


MESSAGES, WINDOW = 600, 172_000
"""About 145,000 tokens: above the threshold where compaction starts, below the one where sending waits."""
LEAST_FPS, LONGEST_GAP_MS = 25, 40
WORD = re.compile(rb"\bx[0-9a-z]{3}\b")
BENCH_STREAMING_ROUNDS = 3
WARM_UP_S = 1.0
"""Excluded from the measurement, because the connection is being opened."""


@pytest.fixture
def steady_server() -> Iterator[str]:
    """Address of a server in its own process."""
    command = [sys.executable, "-m", "tests.benchmarks.stream_server"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        server.terminate()


@contextmanager
def idle_loop_beside() -> Iterator[list[float]]:
    """Fill the list, at the end, with the delays in milliseconds of an idle loop that runs meanwhile."""
    command = [sys.executable, "-m", "tests.benchmarks.idle_loop"]
    delays: list[float] = []
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as idle:
        yield delays
        delays += json.loads(idle.communicate()[0])


def stream_frames(child: Child) -> list[float]:
    """Times at which new words were painted, until the answer ends."""
    frames, newest, seen = [], -1, len(child.output)
    last = int(ANSWER_TOKENS_PER_S * ANSWER_S) - 1
    until = monotonic() + 4 * ANSWER_S
    while newest < last:
        assert monotonic() < until, f"the answer stands at word {newest} of {last}"
        if not child.read(0.25):
            continue
        # Half a word at the end of a read is matched again with the next.
        numbers = [number_of(found.decode()) for found in WORD.findall(child.output, max(0, seen - 6))]
        seen = len(child.output)
        if numbers and max(numbers) > newest:
            newest = max(numbers)
            frames.append(monotonic())
    return frames


def run_once(lab: Lab, paths: Paths, address: str, notes: Path) -> tuple[list[float], list[list[float]]]:
    """Run one answer in a nearly full conversation; returns its frames and the probe's records."""
    session = write_session(paths, MESSAGES, length=280, model="openai-chat:steady")
    env = {
        "OPENAI_API_KEY": "test-key",
        "OPENAI_BASE_URL": address,
        "PLIMSOLL_WINDOW": str(WINDOW),
    }
    command = (sys.executable, "-m", "tests.benchmarks.probed", str(notes), "--resume", session)
    with lab.start(*command, env=env) as child:
        child.read_until(LAST_WORD.encode())
        settle(child, 6.0)
        child.write("go on\r")
        frames = stream_frames(child)
        # Unlike quitting, a signal needs no confirmation while an answer is running.
        child.kill(signal.SIGTERM)
        until = monotonic() + 20
        while child.process.poll() is None and monotonic() < until:
            child.read(0.1)
    return frames, json.loads(notes.read_text())


def test_streaming_beside_a_compaction(lab: Lab, paths: Paths, steady_server: str, tmp_path: Path) -> None:
    rates, gaps, idle, together = [], [], [], 0.0
    for number in range(BENCH_STREAMING_ROUNDS):
        with idle_loop_beside() as delays:
            frames, notes = run_once(lab, paths, steady_server, tmp_path / f"notes-{number}.json")
        idle += delays
        begin, end = frames[0] + WARM_UP_S, frames[-1]
        rates.append(sum(begin <= frame <= end for frame in frames) / (end - begin))
        streaming = [row for row in notes if begin <= row[0] <= end]
        gaps += [1_000 * row[1] for row in streaming]
        compacting = [row[0] for row in streaming if row[3]]
        together += compacting[-1] - compacting[0] if compacting else 0.0
    rate, gap = sorted(rates)[BENCH_STREAMING_ROUNDS // 2], percentile(gaps, 0.99)
    print(
        f"\nstreaming {ANSWER_TOKENS_PER_S} tokens/s, {together:.0f} s of it beside a compaction: "
        f"{rate:.1f} frames/s ({min(rates):.1f} to {max(rates):.1f}, at least {LEAST_FPS}); loop gap "
        f"median {percentile(gaps, 0.5):.1f} ms, p99 {gap:.1f} ms (at most {LONGEST_GAP_MS}), "
        f"longest {max(gaps):.0f} ms, n={len(gaps):,}; "
        f"an idle loop beside it: p99 {percentile(idle, 0.99):.1f} ms, longest {max(idle):.0f} ms"
    )
    assert together > BENCH_STREAMING_ROUNDS, "hardly any compaction ran beside the answer"
    assert rate >= LEAST_FPS
    assert gap <= LONGEST_GAP_MS


# The cost of one more message for the gauge, whatever the conversation's length.


BENCH_GAUGE_MESSAGES, LENGTH = 4_200, 430
"""About a million tokens."""
BENCH_GAUGE_WINDOW = ContextWindow(limit=2_000_000, source="setting")
TOKENS = 1_000_000


def add_one(tally: Tally, counter: TokenCounter, number: int) -> float:
    """Seconds to count one more message and update the estimate."""
    request = ModelRequest(parts=[UserPromptPart(f"And what about the {words(number, 200)}?")])
    started = perf_counter()
    tally.add(MessageWeight(key=BENCH_GAUGE_MESSAGES + number, tokens=counter.message(request)))
    usage = tally.usage(Overhead(BENCH_GAUGE_WINDOW), model="openai:scripted")
    took = perf_counter() - started
    assert usage.messages == tally.messages
    return took


def recount(messages: Sequence[ModelMessage], text: TextCounter) -> float:
    """Seconds to count all messages again."""
    counter = TokenCounter(text)
    started = perf_counter()
    total = sum(counter.message(message).total for message in messages)
    took = perf_counter() - started
    assert total >= TOKENS, f"only {total:,} tokens"
    return took


def test_gauge_after_one_message() -> None:
    text = TextCounter(NEAREST)
    text.load()
    counter, tally = TokenCounter(text), Tally()
    messages = [
        message
        for number in range(BENCH_GAUGE_MESSAGES // 2)
        for _, message in turn(number, LENGTH, last=False)
    ]
    tally.reset(
        (MessageWeight(key=key, tokens=counter.message(message)) for key, message in enumerate(messages)),
    )
    baseline = [recount(messages, text) for _ in range(5)]
    ours = [add_one(tally, counter, number) for number in range(400)]
    found = Comparison(
        name="gauge after one message of 200 words, against counting 1M tokens",
        ours=[1_000 * each for each in ours],
        baseline=[1_000 * each for each in baseline],
        unit="ms",
        most=1 / 1_000,
    )
    print(f"\n{found}")
    assert found.good


# Idle memory, before and after the agent side has loaded, relative to a bare Textual app.


BENCH_MEMORY_ROUNDS = 5
BENCH_MEMORY_REST_S = 3.0
WAITING = (sys.executable, "-m", "tests.benchmarks.waiting")
Size = tuple[float, float]
TARGETS = (
    ("memory behind the first frame", 2.0),
    ("memory at rest with pydantic-ai and OpenAI's SDK", 4.4),
    ("memory after an answer, with the tokenizer", 5.5),
)
ANSWER = "ready-and-resting"


def at_rest(lab: Lab, painted: bytes, *command: str) -> Size:
    """Memory some seconds after the first frame."""
    with lab.start(*command) as child:
        child.read_until(painted)
        settle(child, BENCH_MEMORY_REST_S)
        return memory(child)


def around_an_answer(lab: Lab, env: Mapping[str, str]) -> tuple[Size, Size]:
    """Idle memory with pydantic-ai and one vendor's SDK, and some seconds after an answer."""
    with lab.start(*PLIMSOLL, "--model", "openai-chat:scripted", env=env) as child:
        child.read_until(PROMPT_PAINTED)
        settle(child, 3 * BENCH_MEMORY_REST_S)
        resting = memory(child)
        child.write("hello\r")
        child.read_until(ANSWER.encode())
        settle(child, BENCH_MEMORY_REST_S)
        return resting, memory(child)


def test_idle_memory(lab: Lab, fake_openai: FakeOpenAI) -> None:
    fake_openai.fallback = Text(ANSWER)
    env = {"OPENAI_API_KEY": "test-key", "OPENAI_BASE_URL": fake_openai.base_url}
    rounds = [
        (
            at_rest(lab, PROMPT_PAINTED, *WAITING),
            *around_an_answer(lab, env),
            at_rest(lab, HELLO_PAINTED, *HELLO),
        )
        for _ in range(BENCH_MEMORY_ROUNDS)
    ]
    found = [
        Comparison(
            name=f"{name} ({kind}), against a bare Textual app",
            ours=[each[which][number] for each in rounds],
            baseline=[each[-1][number] for each in rounds],
            unit="MiB",
            most=most,
        )
        for number, kind in enumerate(("resident", "proportional"))
        for which, (name, most) in enumerate(TARGETS)
    ]
    print("", *found, sep="\n")
    assert all(each.good for each in found if "resident" in each.name)
