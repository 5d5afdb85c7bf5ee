"""A terminal that is slow or blocked does not block the app."""

import os
import threading
from collections.abc import Iterator

import pytest

from tests.process_ends import LIMIT_S
from tui_app.ui import terminal_output
from tui_app.ui.terminal_output import TerminalWriter

FRAME = "x" * 200_000
"""More than fits in a pipe."""


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def read(end: int, size: int) -> str:
    data = b""
    while len(data) < size:
        data += os.read(end, size - len(data))
    return data.decode()


def test_nothing_waits_and_the_frame_after_next_is_told_to_come_later(pipe: tuple[int, int]) -> None:
    caught_up = threading.Event()
    writer = TerminalWriter(pipe[1], caught_up.set)
    assert [writer.put(FRAME), writer.put("second"), writer.put("third")] == [False, True, True]
    assert not caught_up.is_set()
    assert read(pipe[0], len(FRAME) + 11) == f"{FRAME}secondthird"
    assert caught_up.wait(LIMIT_S)
    assert not writer.put("after")
    assert writer.stop()
    assert read(pipe[0], 5) == "after"


def test_the_end_waits_for_a_slow_terminal_and_not_for_one_that_takes_nothing(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal_output, "_STUCK_S", 0.2)
    writer = TerminalWriter(pipe[1], lambda: None)
    writer.put(FRAME)
    assert not writer.stop(), "nobody reads"
    # The thread is still writing; closing the pipe ends it.
    read(pipe[0], len(FRAME))
    slow = TerminalWriter(pipe[1], lambda: None)
    slow.put(FRAME)
    reader = threading.Thread(target=read, args=(pipe[0], len(FRAME)))
    reader.start()
    assert slow.stop()
    reader.join()
