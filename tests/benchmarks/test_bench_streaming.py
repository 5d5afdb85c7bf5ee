"""A fast answer while old history is compacted in the background: frames a second, and a free loop."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

import pytest

from tests.benchmarks.measure import percentile
from tests.benchmarks.programs import ROOT, Lab, settle
from tests.benchmarks.sessions import LAST_WORD, write_session
from tests.benchmarks.stream_server import ANSWER_S, ANSWER_TOKENS_PER_S, number_of
from tests.pty.child import Child
from tui_app.paths import Paths

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]
MESSAGES, WINDOW = 600, 172_000
"""About 145,000 tokens: above the mark where a compaction starts, below the one where it is waited for."""
LEAST_FPS, LONGEST_GAP_MS = 25, 40
WORD = re.compile(rb"\bx[0-9a-z]{3}\b")
ROUNDS = 3
WARM_UP_S = 1.0
"""The first second of an answer belongs to connecting, not to streaming."""


@pytest.fixture
def steady_server() -> Iterator[str]:
    """Address of a server in a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.stream_server"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        server.terminate()


@contextmanager
def idle_loop_beside() -> Iterator[list[float]]:
    """Fills the list, at its end, with the delays in milliseconds of a loop that did nothing meanwhile."""
    command = [sys.executable, "-m", "tests.benchmarks.idle_loop"]
    delays: list[float] = []
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as idle:
        yield delays
        delays += json.loads(idle.communicate()[0])


def stream_frames(child: Child) -> list[float]:
    """Moments at which words were painted that had not been there before, until the answer ends."""
    frames, newest, seen = [], -1, len(child.output)
    last = int(ANSWER_TOKENS_PER_S * ANSWER_S) - 1
    until = monotonic() + 4 * ANSWER_S
    while newest < last:
        assert monotonic() < until, f"the answer stands at word {newest} of {last}"
        if not child.read(0.25):
            continue
        # Half a word at the end of a read is looked at again with the next.
        numbers = [number_of(found.decode()) for found in WORD.findall(child.output, max(0, seen - 6))]
        seen = len(child.output)
        if numbers and max(numbers) > newest:
            newest = max(numbers)
            frames.append(monotonic())
    return frames


def run_once(lab: Lab, paths: Paths, address: str, notes: Path) -> tuple[list[float], list[list[float]]]:
    """One answer over a conversation that is nearly full; returns its frames and the probe's notes."""
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
        # Unlike a person who quits, a signal is not asked whether the answer may be left.
        child.kill(signal.SIGTERM)
        until = monotonic() + 20
        while child.process.poll() is None and monotonic() < until:
            child.read(0.1)
    return frames, json.loads(notes.read_text())


def test_streaming_beside_a_compaction(lab: Lab, paths: Paths, steady_server: str, tmp_path: Path) -> None:
    rates, gaps, idle, together = [], [], [], 0.0
    for number in range(ROUNDS):
        with idle_loop_beside() as delays:
            frames, notes = run_once(lab, paths, steady_server, tmp_path / f"notes-{number}.json")
        idle += delays
        begin, end = frames[0] + WARM_UP_S, frames[-1]
        rates.append(sum(begin <= frame <= end for frame in frames) / (end - begin))
        streaming = [row for row in notes if begin <= row[0] <= end]
        gaps += [1_000 * row[1] for row in streaming]
        compacting = [row[0] for row in streaming if row[3]]
        together += compacting[-1] - compacting[0] if compacting else 0.0
    rate, gap = sorted(rates)[ROUNDS // 2], percentile(gaps, 0.99)
    print(
        f"\nstreaming {ANSWER_TOKENS_PER_S} tokens/s, {together:.0f} s of it beside a compaction: "
        f"{rate:.1f} frames/s ({min(rates):.1f} to {max(rates):.1f}, at least {LEAST_FPS}); loop gap "
        f"median {percentile(gaps, 0.5):.1f} ms, p99 {gap:.1f} ms (at most {LONGEST_GAP_MS}), "
        f"longest {max(gaps):.0f} ms, n={len(gaps):,}; "
        f"an idle loop beside it: p99 {percentile(idle, 0.99):.1f} ms, longest {max(idle):.0f} ms"
    )
    assert together > ROUNDS, "hardly any compaction ran beside the answer"
    assert rate >= LEAST_FPS
    assert gap <= LONGEST_GAP_MS
