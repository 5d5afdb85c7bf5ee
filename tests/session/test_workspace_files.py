"""A session's files: written atomically, and readable by their owner only."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tui_app.files import write_atomic
from tui_app.session.workspace import Checkpoint, SessionFolder, slug

KILLED = """
import os, signal, sys
from pathlib import Path
from tui_app.files import write_atomic
_, path, step, *_ = sys.argv
def dies(*args, **options):
    os.kill(os.getpid(), signal.SIGKILL)
if step == "half":
    opened = os.fdopen
    def fdopen(*args):
        stream = opened(*args)
        stream.write(b"new")
        stream.flush()
        dies()
    os.fdopen = fdopen
else:
    setattr(os, step, dies)
write_atomic(Path(path), "new text")
"""


@pytest.fixture
def folder(tmp_path: Path) -> SessionFolder:
    return SessionFolder(tmp_path / "session")


@pytest.mark.parametrize("step", ["half", "fsync", "replace"])
@pytest.mark.parametrize("before", [None, "old text"])
def test_killed_while_writing_leaves_the_old_file(tmp_path: Path, step: str, before: str | None) -> None:
    path = tmp_path / "file.md"
    if before is not None:
        write_atomic(path, before)
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), step], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (path.read_text() if path.exists() else None) == before
    write_atomic(path, "in the end")
    assert path.read_text() == "in the end"


def test_refused_write_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.md"
    write_atomic(path, "old")

    def full(_file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["file.md"]


def test_text_that_is_no_utf8(tmp_path: Path) -> None:
    write_atomic(tmp_path / "x", "a\ud800ü")
    assert (tmp_path / "x").read_text("utf-8") == "a\\ud800ü"


def test_only_the_owner_may_look(folder: SessionFolder) -> None:
    folder.write_history(1, "[]", "text")
    folder.write_checkpoint(1, "Sea", "summary", time=0.0, earlier=[])
    paths = [folder.path, *folder.path.rglob("*")]
    assert len(paths) == 8
    for path in paths:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_checkpoints_index_and_count(folder: SessionFolder) -> None:
    assert folder.listed() is None
    first = folder.write_checkpoint(1, "Sea [and] sky", " It is salty. ", time=0.0, earlier=[])
    second = folder.write_checkpoint(2, "Größe", "Text.", time=60.0, earlier=[first])
    assert (first.file, second.file) == ("001-sea-and-sky.md", "002-größe.md")
    assert (folder.checkpoints / first.file).read_text() == "# 001 Sea [and] sky\n\nIt is salty.\n"
    index = (folder.checkpoints / "index.md").read_text()
    assert "- [001 Sea  and  sky](001-sea-and-sky.md) · 1970-01-01 00:00 UTC\n" in index
    assert "- [002 Größe](002-größe.md) · 1970-01-01 00:01 UTC\n" in index
    assert folder.workspace_file.read_text().startswith("summary_count: 2\nlatest_checkpoint:")
    assert folder.listed() == 2
    folder.write_index([first])
    assert folder.listed() == 1
    folder.write_index([])
    assert folder.workspace_file.read_text() == "summary_count: 0\nlatest_checkpoint: null\n"


def test_checkpoint_of_a_crashed_compaction_is_replaced(folder: SessionFolder) -> None:
    folder.write_checkpoint(1, "Never applied", "lost", time=0.0, earlier=[])
    folder.write_checkpoint(1, "Applied", "kept", time=0.0, earlier=[])
    assert sorted(path.name for path in folder.checkpoints.iterdir()) == ["001-applied.md", "index.md"]
    assert "Never" not in (folder.checkpoints / "index.md").read_text()


def test_history_is_kept_as_data_and_as_text(folder: SessionFolder) -> None:
    path = folder.write_history(3, '[{"kind": "request"}]', "#4 User: hello\n")
    assert path.name == "003-before-compaction.md"
    assert path.read_text() == "#4 User: hello\n"
    assert path.with_suffix(".json").read_text() == '[{"kind": "request"}]'


@pytest.mark.parametrize("content", ["", "count: 3", "summary_count: many\n", "\x00"])
def test_foreign_workspace_file(folder: SessionFolder, content: str) -> None:
    folder.path.mkdir()
    folder.workspace_file.write_text(content)
    assert folder.listed() is None
    folder.write_index([Checkpoint(number=1, title="t", file="f.md", time=0.0)])
    assert folder.listed() == 1


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("../../etc/passwd", "etc-passwd"),
        ("", "checkpoint"),
        ("*?:|", "checkpoint"),
        ("A  b\nC", "a-b-c"),
        ("x" * 99, "x" * 40),
        ("海と空", "海と空"),
    ],
)
def test_titles_become_safe_names(title: str, expected: str) -> None:
    assert slug(title) == expected


def test_removing_is_quiet_about_what_is_gone(folder: SessionFolder) -> None:
    folder.write_index([])
    folder.remove()
    folder.remove()
    assert not folder.path.exists()
