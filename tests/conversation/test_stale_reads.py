"""Results of reading a file are held against what the file holds now."""

import json
from pathlib import Path

from tui_app.agent.tools.files import read_file
from tui_app.agent.tools.workspace import Workspace
from tui_app.conversation.file_snapshots import Read, stale_reads


def read(ws: Workspace, seq: int, path: str, **more: int) -> Read:
    return Read(seq, json.dumps({"path": path, **more}), read_file(ws, path, **more))


def test_changed_vanished_and_unchanged(tmp_path: Path) -> None:
    for name in ("same", "other", "gone"):
        (tmp_path / name).write_text("one\ntwo\nthree\n")
    ws = Workspace(tmp_path)
    reads = [read(ws, seq, name) for seq, name in enumerate(("same", "other", "gone"), 1)]
    reads.append(read(ws, 4, "other", start=1, lines=1))
    (tmp_path / "other").write_text("one\n2\nthree\n")
    (tmp_path / "gone").unlink()
    found = stale_reads(reads, ws)
    assert found == {2: "changed", 3: "gone"}, "the first line of the other file is as it was"


def test_only_the_lines_that_were_read_count(tmp_path: Path) -> None:
    (tmp_path / "tide").write_text("".join(f"{n}\n" for n in range(50)))
    ws = Workspace(tmp_path)
    reads = [read(ws, 1, "tide", start=1, lines=5), read(ws, 2, "tide", start=40, lines=5)]
    lines = (tmp_path / "tide").read_text().splitlines()
    lines[41] = "new"
    (tmp_path / "tide").write_text("\n".join(lines) + "\n")
    assert stale_reads(reads, ws) == {2: "changed"}


def test_what_cannot_be_made_again_is_not_judged(tmp_path: Path) -> None:
    (tmp_path / "tide").write_text("new\n")
    ws = Workspace(tmp_path)
    odd = [
        Read(1, '{"path": "tide"}', "     1→old, as another program prints it"),
        Read(2, "not json", "1\told"),
        Read(3, "[]", "1\told"),
        Read(4, '{"path": "tide", "start": "x"}', "1\told"),
    ]
    assert stale_reads(odd, ws) == {}
