"""One writer per session, and no lock outlives its process."""

import fcntl
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tui_app.session.lock import SessionLocked, WriterLock
from tui_app.session.lock import holder as who_holds

SINCE = re.compile(r"another window \(since \d\d:\d\d\)")
HOLDER = """
import sys
from pathlib import Path
from tui_app.session.lock import WriterLock
lock = WriterLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def holding(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_second_process_is_refused_and_told_who_writes(tmp_path: Path) -> None:
    path = tmp_path / "session" / "writer.lock"
    process = holding(path)
    try:
        with pytest.raises(SessionLocked, match=SINCE.pattern) as refused:
            WriterLock(path)
        assert str(process.pid) not in str(refused.value)
    finally:
        process.communicate(timeout=30)
    WriterLock(path).release()


def test_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    path = tmp_path / "writer.lock"
    process = holding(path)
    process.kill()
    process.communicate(timeout=30)
    with WriterLock(path):
        assert path.read_text() == str(os.getpid())


def test_second_window_of_the_same_process_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "writer.lock"
    lock = WriterLock(path)
    with pytest.raises(SessionLocked):
        WriterLock(path)
    lock.release()
    lock.release()
    WriterLock(path).release()


def test_foreign_content_is_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "writer.lock"
    lock = WriterLock(path)
    path.write_text("\x1b[31mwho?")
    with pytest.raises(SessionLocked, match=SINCE.pattern):
        WriterLock(path)
    lock.release()


def test_a_lock_of_another_day_is_told_with_its_day(tmp_path: Path) -> None:
    path = tmp_path / "writer.lock"
    with WriterLock(path):
        os.utime(path, (86_400 * 400.5,) * 2)
        assert who_holds(path).startswith("another window (since 1971-02-0")


def test_looking_says_who_holds_it_and_leaves_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "session" / "writer.lock"
    assert who_holds(path) == ""
    assert not path.parent.exists()
    process = holding(path)
    try:
        assert SINCE.fullmatch(who_holds(path))
    finally:
        process.kill()
        process.communicate(timeout=30)
    assert who_holds(path) == ""
    with WriterLock(path):
        assert SINCE.fullmatch(who_holds(path))


def test_only_the_owner_may_look(tmp_path: Path) -> None:
    path = tmp_path / "session" / "writer.lock"
    with WriterLock(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


class Looker:
    """Holds a shared lock for a given number of the writer's pauses, as on a busy machine."""

    def __init__(self, path: Path, pauses: int) -> None:
        self.pauses = pauses
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_SH)

    def sleep(self, _seconds: float) -> None:
        self.pauses -= 1
        if self.pauses == 0:
            os.close(self._file)


def test_somebody_who_only_looks_does_not_deny_a_free_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looker = Looker(tmp_path / "lock", pauses=20)
    monkeypatch.setattr("tui_app.session.lock.time.sleep", looker.sleep)
    with WriterLock(tmp_path / "lock"):
        assert looker.pauses == 0


def test_a_writer_denies_it_at_once_whoever_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_sleep(_seconds: float) -> None:
        raise AssertionError("waits for a window that stays open")

    monkeypatch.setattr("tui_app.session.lock.time.sleep", no_sleep)
    with WriterLock(tmp_path / "lock"), pytest.raises(SessionLocked):
        WriterLock(tmp_path / "lock")


def test_one_who_looks_for_ever_is_not_waited_for_so_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    looker = Looker(tmp_path / "lock", pauses=-1)
    monkeypatch.setattr("tui_app.session.lock.time.sleep", slept.append)
    with pytest.raises(SessionLocked):
        WriterLock(tmp_path / "lock")
    assert 0.5 < sum(slept) < 2
    looker.pauses = 1
    looker.sleep(0)
