"""Pipes, sockets and devices in the place of a transcript: refused at once, as reading them may never end."""

import os
import socket
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.session.importing.claude_records import write_lines
from tests.session.importing.fuzzing import valid_script
from tui_app.session.importers import ImportFormatError, import_file
from tui_app.session.importers.discovery import find_transcripts

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are none")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(str(path))


def zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize(("make", "what"), [(pipe, "a pipe"), (listening, "a socket"), (zeros, "a device")])
def test_what_is_no_file_is_refused(
    make: Callable[[Path], None], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # A socket's path must be short.
    make(Path("chat"))
    with pytest.raises(ImportFormatError, match=rf"^chat is {what}, and only files are read\. Write"):
        import_file(Path("chat"))


def test_a_folder_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError, match=r"is a folder\. Name the transcripts in it"):
        import_file(tmp_path)


def test_a_link_to_a_file_is_a_file(tmp_path: Path) -> None:
    file = valid_script().write(tmp_path)
    link = tmp_path / "link"
    link.symlink_to(file)
    assert import_file(link).events == import_file(file).events


def test_a_pipe_among_the_transcripts_of_this_machine_is_passed_by(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "projects" / "shop"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "waits.jsonl")
    write_lines(folder, valid_script().lines()).rename(folder / "whole.jsonl")
    found = find_transcripts({}, home=tmp_path, cwd=tmp_path)
    assert [each.path.name for each in found] == ["whole.jsonl"]
