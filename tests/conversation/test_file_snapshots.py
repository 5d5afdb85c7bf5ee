"""A rewind restores files if the user wants that, and undoing it brings their contents back."""

import json
from pathlib import Path

import pytest

from tests.conversation.driving import Desk, done, of, turn, view_bytes
from tests.conversation.test_approvals import together, working
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.agent.tools.files import read_file
from tui_app.agent.tools.workspace import Workspace
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.files.file_snapshots import pending_restores
from tui_app.conversation.files.files_on_disk import Read, stale_reads
from tui_app.conversation.work import Restate, Restore, RestoreFiles, Rewind
from tui_app.events import FilesRestored, UserMessage
from tui_app.session.event_heads import Head
from tui_app.session.kept_files import KeptFiles


def prompts(opened: OpenSession) -> list[int]:
    history = opened.conversation.history
    return [head.seq for head in history.store.heads(history.session) if head.type == UserMessage.TYPE]


def last_restored(opened: OpenSession) -> tuple[int, FilesRestored]:
    record = opened.store.last_of(opened.conversation.session, FilesRestored.TYPE)
    assert record is not None
    assert isinstance(record.data, FilesRestored)
    return record.seq, record.data


async def fates(opened: OpenSession, to: int) -> dict[str, str]:
    return {each.file.path: each.fate for each in await opened.conversation.tooling.files.outlook(to)}


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def two_turns(desk: Desk, server: FakeOpenAI, opened: OpenSession) -> None:
    """The first turn edits a file; the second edits it again, creates another, and overwrites a third."""
    server.add(tool("edit_file", path="README.md", old_text="Sea", new_text="Lake"), Text("One."))
    await turn(opened.conversation, "First.")
    server.add(
        together(
            tool("edit_file", path="README.md", old_text="Lake", new_text="Pond"),
            tool("write_file", path="src/new.py", content="x = 1\n"),
            tool("write_file", path="run.sh", content="#!/bin/sh\n"),
        ),
        Text("Two."),
    )
    await turn(opened.conversation, "Second.")


@pytest.fixture
def script(desk: Desk) -> Path:
    path = desk.cwd / "run.sh"
    path.write_bytes(b"#!/bin/sh\r\necho \xff\n")
    path.chmod(0o755)
    return path


async def test_back_and_forth(desk: Desk, fake_openai: FakeOpenAI, script: Path) -> None:
    before = snapshot(desk.cwd)
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        await two_turns(desk, fake_openai, opened)
        after = snapshot(desk.cwd)
        first, second = prompts(opened)
        assert await fates(opened, second) == {
            "README.md": "restore", "src/new.py": "remove", "run.sh": "restore"
        }  # fmt: skip
        await done(opened.conversation, Rewind(first, "restore"))
        assert snapshot(desk.cwd) == before
        assert mode(script) == 0o755
        seq, event = last_restored(opened)
        assert (event.to, len(event.files), event.skipped) == (first, 3, ())
        await done(opened.conversation, RestoreFiles(seq))
        assert snapshot(desk.cwd) == after
        seq, event = last_restored(opened)
        assert event.undo
        await done(opened.conversation, RestoreFiles(seq))
        assert snapshot(desk.cwd) == before


@pytest.mark.parametrize("by_row", [False, True], ids=["undo", "row"])
async def test_undoing_a_rewind_takes_back_what_it_did_to_files(
    desk: Desk, fake_openai: FakeOpenAI, script: Path, by_row: bool
) -> None:
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        conversation = opened.conversation
        await two_turns(desk, fake_openai, opened)
        after, said = snapshot(desk.cwd), view_bytes(conversation)
        await done(conversation, Rewind(prompts(opened)[0], "restore"))
        assert snapshot(desk.cwd) != after
        [cut] = conversation.history.view.reversible
        await done(conversation, Restore(cut) if by_row else Restate(undo=True))
        assert snapshot(desk.cwd) == after
        assert view_bytes(conversation) == said


async def test_files_that_went_back_again_come_with_the_rewind_that_is_undone(
    desk: Desk, fake_openai: FakeOpenAI, script: Path
) -> None:
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        conversation = opened.conversation
        await two_turns(desk, fake_openai, opened)
        after = snapshot(desk.cwd)
        await done(conversation, Rewind(prompts(opened)[0], "restore"))
        for _ in range(2):
            await done(conversation, RestoreFiles(last_restored(opened)[0]))
        assert snapshot(desk.cwd) != after, "undone, and that as well"
        await done(conversation, Restate(undo=True))
        assert snapshot(desk.cwd) == after


@pytest.mark.parametrize(
    ("undone", "stand"),
    [((0,), [1]), ((0, 1), []), ((0, 1, 2), [3]), ((0, 1, 2, 3), []), ((0, 0), [2, 1]), ((0, 0, 1), [2])],
)
def test_what_stands_of_restorings_is_what_a_chain_of_undos_leaves(
    undone: tuple[int, ...], stand: list[int]
) -> None:
    steps = [Head(seq=seq, ref=ref, state="undo" if ref else "") for seq, ref in enumerate(undone, 1)]
    assert pending_restores(steps) == stand


async def test_only_what_came_after_the_prompt_goes_back(
    desk: Desk, fake_openai: FakeOpenAI, script: Path
) -> None:
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        await two_turns(desk, fake_openai, opened)
        await done(opened.conversation, Rewind(prompts(opened)[1], "restore"))
        assert (desk.cwd / "README.md").read_text().startswith("# Lake")
        assert not (desk.cwd / "src/new.py").exists()


async def test_a_rewind_of_the_conversation_leaves_files_alone(
    desk: Desk, fake_openai: FakeOpenAI, script: Path
) -> None:
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        await two_turns(desk, fake_openai, opened)
        after = snapshot(desk.cwd)
        await done(opened.conversation, Rewind(prompts(opened)[0]))
        assert snapshot(desk.cwd) == after


async def test_what_others_changed_since_stays_unless_that_is_said(
    desk: Desk, fake_openai: FakeOpenAI, script: Path
) -> None:
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        await two_turns(desk, fake_openai, opened)
        first = prompts(opened)[0]
        (desk.cwd / "README.md").write_text("by hand")
        (desk.cwd / "src/new.py").unlink()
        assert await fates(opened, first) == {
            "README.md": "changed", "src/new.py": "same", "run.sh": "restore"
        }  # fmt: skip
        await done(opened.conversation, Rewind(first, "restore"))
        assert (desk.cwd / "README.md").read_text() == "by hand"
        seq, event = last_restored(opened)
        assert event.skipped == ("README.md",)
        await opened.conversation.tooling.files.restore(first, overwrite=True)
        assert (desk.cwd / "README.md").read_text().startswith("# Sea")
        seq, _ = last_restored(opened)
        await done(opened.conversation, RestoreFiles(seq))
        assert (desk.cwd / "README.md").read_text() == "by hand", "even that is undone"


async def test_it_works_after_the_session_was_closed(
    desk: Desk, fake_openai: FakeOpenAI, script: Path
) -> None:
    before = snapshot(desk.cwd)
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        await two_turns(desk, fake_openai, opened)
        session = opened.conversation.session
    async with working(desk, fake_openai, session=session) as opened:
        await done(opened.conversation, Rewind(prompts(opened)[0], "restore"))
        assert snapshot(desk.cwd) == before


async def test_a_file_without_room_is_changed_all_the_same_and_that_is_said(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        opened.conversation.tooling.files.kept.quota = 3
        fake_openai.add(tool("edit_file", path="README.md", old_text="Sea", new_text="Lake"), Text("One."))
        records = await turn(opened.conversation, "First.")
        assert any("does not fit" in getattr(record.data, "text", "") for record in records)
        assert await fates(opened, prompts(opened)[0]) == {"README.md": "lost"}
        await done(opened.conversation, Rewind(prompts(opened)[0], "restore"))
        assert (desk.cwd / "README.md").read_text().startswith("# Lake")


async def test_a_refused_call_leaves_nothing_to_restore(desk: Desk, fake_openai: FakeOpenAI) -> None:
    async with working(desk, fake_openai, attended=False) as opened:
        fake_openai.add(tool("write_file", path="a", content="x"), Text("One."))
        records = await turn(opened.conversation, "First.")
        assert await fates(opened, prompts(opened)[0]) == {}
        assert not of(records, FilesRestored)


def test_kept_bytes_are_private_kept_once_and_checked(tmp_path: Path) -> None:
    kept = KeptFiles(tmp_path / "kept", quota=10)
    assert kept.put(b"12345")
    assert kept.put(b"12345")
    assert kept.put(None)
    assert not kept.put(b"123456")
    [file] = [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert kept.get(file.name) == b"12345"
    file.write_bytes(b"54321")
    assert kept.get(file.name) is None
    assert kept.get("../../etc/passwd") is None
    assert KeptFiles(tmp_path / "kept", quota=6).put(b"12") is False


# Results of reading a file are compared with the file's present content.


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
