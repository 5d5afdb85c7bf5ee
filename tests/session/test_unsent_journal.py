"""Input of a window that is not in any log yet: kept after a kill, and private while the window lives."""

import os
import subprocess
import sys
from pathlib import Path

from tui_app.session.prompts import UnsentJournal, take_over, unsent

HERE = Path("/ferry")


def left(tmp_path: Path) -> list[str]:
    file = tmp_path / "unsent.jsonl"
    take_over(tmp_path / "unsent", file)
    return unsent(file, HERE)


def test_a_living_window_keeps_its_own_and_a_dead_one_leaves_it(tmp_path: Path) -> None:
    journal = UnsentJournal(tmp_path / "unsent", HERE)
    journal.write(("first", "a draft"))
    journal.write(("first", "a longer draft"))
    assert left(tmp_path) == []
    journal.end(kept=True)
    assert left(tmp_path) == ["first", "a longer draft"]
    assert left(tmp_path) == ["first", "a longer draft"], "taken over once"
    assert list((tmp_path / "unsent").iterdir()) == []


def test_an_orderly_end_leaves_nothing(tmp_path: Path) -> None:
    journal = UnsentJournal(tmp_path / "unsent", HERE)
    journal.write(("first",))
    journal.end()
    journal.write(("too late",))
    assert left(tmp_path) == []
    assert list((tmp_path / "unsent").iterdir()) == []


def test_without_anything_to_keep_nothing_is_made(tmp_path: Path) -> None:
    journal = UnsentJournal(tmp_path / "unsent", HERE)
    journal.write(())
    journal.end()
    assert not (tmp_path / "unsent").exists()


def test_a_lock_without_a_file_is_cleared_away_once_it_is_old(tmp_path: Path) -> None:
    folder = tmp_path / "unsent"
    folder.mkdir()
    (folder / "new.lock").touch()
    (folder / "old.lock").touch()
    os.utime(folder / "old.lock", (0, 0))
    assert left(tmp_path) == []
    assert [each.name for each in folder.iterdir()] == ["new.lock"]


def test_a_killed_process_leaves_what_it_had_written(tmp_path: Path) -> None:
    code = (
        "import os, signal\nfrom pathlib import Path\n"
        "from tui_app.session.prompts import UnsentJournal\n"
        f"UnsentJournal(Path({str(tmp_path / 'unsent')!r}), Path({str(HERE)!r})).write(('queued',))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert left(tmp_path) == ["queued"]
