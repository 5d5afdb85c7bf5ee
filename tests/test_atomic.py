"""Atomic file writes: complete or not at all, with concurrent writers, and durable after a power failure."""

import os
from pathlib import Path
from stat import S_ISDIR

import pytest

from tui_app.agent.tools.edits import put_bytes
from tui_app.files import write_atomic


def test_a_file_that_another_thread_writes_meanwhile_is_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, sync, others = tmp_path / "todo", os.fsync, ["theirs"]

    def meanwhile(number: int) -> None:
        if others:
            write_atomic(file, others.pop())
        sync(number)

    monkeypatch.setattr(os, "fsync", meanwhile)
    write_atomic(file, "ours")
    assert file.read_text() == "ours"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("name", ["n" * 255, "潮" * 85, "🌊" * 63])
def test_the_longest_names_are_written(tmp_path: Path, name: str) -> None:
    write_atomic(tmp_path / name, "text")
    assert (tmp_path / name).read_text() == "text"
    put_bytes(tmp_path / name, b"more", expected=b"text", mode=None, shown="n")
    assert (tmp_path / name).read_text() == "more"


def test_the_new_name_is_brought_to_the_disk_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync = os.fsync
    synced: list[list[str]] = []

    def noted(number: int) -> None:
        if S_ISDIR(os.fstat(number).st_mode):
            synced.append(sorted(os.listdir(number)))
        sync(number)

    monkeypatch.setattr(os, "fsync", noted)
    write_atomic(tmp_path / "a", "text")
    put_bytes(tmp_path / "b", b"text", expected=None, mode=None, shown="b")
    put_bytes(tmp_path / "b", None, expected=b"text", mode=None, shown="b")
    assert synced == [["a"], ["a", "b"], ["a"]]


def test_a_system_that_cannot_sync_folders_writes_files_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def files_only(number: int) -> None:
        if S_ISDIR(os.fstat(number).st_mode):
            raise OSError(22, "Invalid argument")
        sync(number)

    monkeypatch.setattr(os, "fsync", files_only)
    write_atomic(tmp_path / "a", "text")
    assert (tmp_path / "a").read_text() == "text"


@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="systems that open folders without reading them")
def test_a_folder_that_may_not_be_listed_takes_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def refuse(path: str | Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if str(path) in (".", str(tmp_path)) and not flags & os.O_PATH:
            raise PermissionError
        return opened(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refuse)
    write_atomic(tmp_path / "report", "text")
    assert (tmp_path / "report").read_text() == "text"
