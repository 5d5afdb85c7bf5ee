"""Branches of a conversation: notes are checked, merges are undone completely, even after a kill."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conversation import killing_branches
from tests.conversation.driving import Desk, done, turn, view_bytes
from tests.conversation.test_approvals import together, working
from tests.forked import completed
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.branches.branches import plan_merge
from tui_app.conversation.branches.new_branch import Branched, make_branch
from tui_app.conversation.memory.recall import SessionSearch
from tui_app.conversation.work import Compact, Merge, Restate, RestoreFiles, Rewind
from tui_app.events import NOT_IN_LOG, BranchMerged, FilesRestored, UserMessage
from tui_app.refusals import Refusal
from tui_app.session.branches import branches_of
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.system.git import Git
from tui_app.system.worktrees import Worktrees

ROOT = Path(__file__).parents[2]
NOTES = "## State\n- easter.py was created; pytest -q still fails.\n- harbour.py was deleted."


def git(folder: Path, *words: str) -> None:
    names = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(("git", *names, *words), cwd=folder, check=True, capture_output=True)


def files_in(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.fixture
def repository(desk: Desk) -> Path:
    desk.env = {**desk.env, "PATH": os.environ["PATH"]}
    git(desk.cwd, "init", "-q", "-b", "main")
    git(desk.cwd, "add", ".")
    git(desk.cwd, "commit", "-qm", "Begin")
    return desk.cwd


async def tried(
    desk: Desk, server: FakeOpenAI, session: str, name: str, path: str, at: int | None = None
) -> Desk:
    """Create a branch and have it write a file and run a command that fails."""
    made = make_branch(desk.opening(session=session), name, at=at, now=2.0)
    apart = replace(desk, cwd=made.folder)
    server.add(
        together(
            tool("write_file", path=path, content="sea\n"), tool("run_command", command="pytest -q; false")
        ),
        Text(f"{path} is there."),
    )
    async with working(apart, server, attended=False, yes=True, session=made.fork.session) as opened:
        await turn(opened.conversation, f"Try {path}. Never touch the tides.")
    return apart


async def merged(desk: Desk, opened: OpenSession, name: str, *, extract: bool = True) -> Merge:
    plan = await plan_merge(desk.opening(session=opened.conversation.session), name, extract=extract)
    work = plan.work()
    await done(opened.conversation, work)
    return work


def prompts(opened: OpenSession) -> list[int]:
    history = opened.conversation.history
    return [head.seq for head in history.store.heads(history.session) if head.type == UserMessage.TYPE]


async def test_three_branches_are_merged_and_undone_byte_for_byte(
    desk: Desk, fake_openai: FakeOpenAI, repository: Path
) -> None:
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        conversation = opened.conversation
        fake_openai.add(tool("write_file", path="tides.txt", content="low\n"), Text("Done."))
        await turn(conversation, "Write the tides.")
        for name in ("one", "two", "three"):
            await tried(desk, fake_openai, conversation.session, name, f"{name}.py")
        before = [(files_in(repository), view_bytes(conversation), conversation.usage.total)]
        for name in ("one", "two", "three"):
            event = (await merged(desk, opened, name)).event
            assert f"{name}.py · created (" in event.text
            assert f"{event.branch}#" in event.text
            assert "Never touch the tides." in event.text
            assert "pytest -q; false" in event.text
            assert "Write the tides." not in event.text, "what both have said is not said again"
            assert str(desk.cwd.parent) not in event.text, "files are named as they are here"
            before.append((files_in(repository), view_bytes(conversation), conversation.usage.total))
        assert set(before[-1][0]) == {"README.md", "tides.txt", "one.py", "two.py", "three.py"}
        found = SessionSearch(opened.store, conversation.session).fetch(event.until - 3, event.branch)
        assert found is not None, "what it cites can be fetched"
        assert found.session == event.branch
        for state in before[-2::-1]:
            await done(conversation, Restate(undo=True))
            assert (files_in(repository), view_bytes(conversation), conversation.usage.total) == state
        await merged(desk, opened, "one")
        once = (files_in(repository), view_bytes(conversation))
        await merged(desk, opened, "two")
        twice = (files_in(repository), view_bytes(conversation))
    # Undo works the same after resuming, and survives compactions.
    async with working(desk, fake_openai, attended=False, yes=True, session=conversation.session) as again:
        assert (files_in(repository), view_bytes(again.conversation)) == twice
        await done(again.conversation, Restate(undo=True))
        assert (files_in(repository), view_bytes(again.conversation)) == once
        fake_openai.add(*(Text("It is so. " * 3_000) for _ in range(3)))
        for number in range(3):
            await turn(again.conversation, f"Go on, {number}.")
        await done(again.conversation, Compact(extract=True))
        assert again.conversation.history.view.compactions
        assert "Never touch the tides." in view_bytes(again.conversation).decode()


async def test_a_branch_brings_what_was_merged_in_it(
    desk: Desk, fake_openai: FakeOpenAI, repository: Path
) -> None:
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        fake_openai.add(Text("Hello."))
        await turn(opened.conversation, "Begin.")
        session = opened.conversation.session
        outer = await tried(desk, fake_openai, session, "outer", "outer.py")
        [branch] = branches_of(opened.store, session)
        inner = await tried(outer, fake_openai, branch.info.id, "inner", "inner.py")
        assert inner.cwd.parent == outer.cwd.parent, "worktrees are beside each other"
        async with working(outer, fake_openai, session=branch.info.id) as apart:
            below = (await merged(outer, apart, "inner")).event
        event = (await merged(desk, opened, "outer")).event
        assert "## What was merged in it\n### Branch\ninner · 1 turn" in event.text
        assert f"inner.py · created ({below.branch}#" in event.text
        assert {"outer.py", "inner.py"} <= set(files_in(repository))
        # A second merge also works if nothing else has happened since the first.
        await tried(outer, fake_openai, branch.info.id, "again", "again.py")
        async with working(outer, fake_openai, session=branch.info.id) as apart:
            await merged(outer, apart, "again")
        event = (await merged(desk, opened, "outer")).event
        assert (event.turns, "again · 1 turn" in event.text) == (0, True)
        assert "again.py" in files_in(repository)
        assert [each.state for each in branches_of(opened.store, session)] == ["merged"]


async def test_notes_of_a_model_are_checked(desk: Desk, fake_openai: FakeOpenAI, repository: Path) -> None:
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        fake_openai.add(Text("Hello."))
        await turn(opened.conversation, "Begin.")
        await tried(desk, fake_openai, opened.conversation.session, "easter", "easter.py")
        fake_openai.add(Text(NOTES))
        event = (await merged(desk, opened, "easter", extract=False)).event
        assert (event.performed_by, event.claims_marked, event.turns) == ("model", 1, 1)
        assert f"harbour.py was deleted. {NOT_IN_LOG}" in event.text
        bare = [line for line in event.text.splitlines() if line.startswith("- easter.py was created")]
        assert f"{event.branch}#" in bare[0], "each line says where it comes from"


async def test_going_back_behind_a_merge(desk: Desk, fake_openai: FakeOpenAI, repository: Path) -> None:
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        conversation = opened.conversation
        fake_openai.add(Text("Hello."), Text("And again."))
        await turn(conversation, "Begin.")
        await turn(conversation, "Go on.")
        before, second = files_in(repository), prompts(opened)[1]
        await tried(desk, fake_openai, conversation.session, "early", "early.py", at=second)
        await merged(desk, opened, "early")
        after = files_in(repository)
        assert "early.py" in after
        await done(conversation, Rewind(second, "restore"))
        assert files_in(repository) == before, "a rewind takes its files back too"
        await done(conversation, Restate(undo=True))
        assert files_in(repository) == after
        # Files that others have changed since are left alone, and reported.
        (repository / "early.py").write_text("mine\n")
        await done(conversation, Restate(undo=True))
        record = opened.store.last_of(conversation.session, FilesRestored.TYPE)
        assert record is not None
        assert isinstance(record.data, FilesRestored)
        assert record.data.skipped == ("early.py",)
        assert (repository / "early.py").read_text() == "mine\n"


async def test_after_a_merge_was_gone_on_from(desk: Desk, fake_openai: FakeOpenAI, repository: Path) -> None:
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        conversation = opened.conversation
        fake_openai.add(Text("Hello."))
        await turn(conversation, "Begin.")
        await tried(desk, fake_openai, conversation.session, "late", "late.py")
        await merged(desk, opened, "late")
        fake_openai.add(Text("Good."))
        await turn(conversation, "Use it.")
        await done(conversation, Restate(undo=True))
        assert (repository / "late.py").exists(), "the conversation has gone on from it"
        record = opened.store.last_of(conversation.session, FilesRestored.TYPE)
        assert record is not None
        await done(conversation, RestoreFiles(record.seq))
        assert not (repository / "late.py").exists()


async def test_files_that_a_merge_skipped_come_with_the_next_one(
    desk: Desk, fake_openai: FakeOpenAI, repository: Path
) -> None:
    """Another file had the same name between planning the merge and merging."""
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        conversation = opened.conversation
        fake_openai.add(Text("Hello."))
        await turn(conversation, "Begin.")
        apart = await tried(desk, fake_openai, conversation.session, "aside", "sea.py")
        plan = await plan_merge(desk.opening(session=conversation.session), "aside", extract=True)
        (repository / "sea.py").write_text("mine\n")
        await done(conversation, plan.work())
        assert (repository / "sea.py").read_text() == "mine\n"
        (repository / "sea.py").unlink()
        [branch] = branches_of(opened.store, conversation.session)
        fake_openai.add(Text("Fine."))
        async with working(apart, fake_openai, session=branch.info.id) as other:
            await turn(other.conversation, "Go on.")
        await merged(desk, opened, "aside")
        assert (repository / "sea.py").read_text() == "sea\n"


async def test_what_a_user_does_behind_a_merge_that_was_undone_stays(
    desk: Desk, fake_openai: FakeOpenAI, repository: Path
) -> None:
    """The file was deleted by hand before the undo, which had nothing to do, and written again later."""
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        conversation = opened.conversation
        fake_openai.add(Text("Hello."))
        await turn(conversation, "Begin.")
        await tried(desk, fake_openai, conversation.session, "aside", "sea.py")
        await merged(desk, opened, "aside")
        (repository / "sea.py").unlink()
        await done(conversation, Restate(undo=True))
    (repository / "sea.py").write_text("sea\n")
    async with working(desk, fake_openai, session=conversation.session):
        assert (repository / "sea.py").exists()


async def test_branches_that_are_begun_at_once(desk: Desk, fake_openai: FakeOpenAI, repository: Path) -> None:
    """Within one session only one gets the name; with two sessions, each gets its own folder."""
    sessions = []
    for _ in range(2):
        async with working(desk, fake_openai, attended=False, yes=True) as opened:
            fake_openai.add(Text("Hello."))
            await turn(opened.conversation, "Begin.")
            sessions.append(opened.conversation.session)

    def begin(session: str) -> Branched | str:
        try:
            return make_branch(desk.opening(session=session), "aside", at=None, now=2.0)
        except Refusal as refused:
            return str(refused)

    with ThreadPoolExecutor() as pool:
        made = list(pool.map(begin, [sessions[0], *sessions]))
    folders = [each.folder.name for each in made if isinstance(each, Branched)]
    assert sorted(folders) == ["aside", "aside-2"]
    assert "has a branch aside already" in next(each for each in made if isinstance(each, str))
    for each in made:
        assert isinstance(each, str) or files_in(each.folder) == files_in(repository)


def test_work_in_what_a_kill_has_left_of_a_branch_stays(desk: Desk, repository: Path) -> None:
    """Only files that creating the branch itself wrote are written again."""
    trees = Worktrees.around(repository, desk.env)

    def begin(draft: str) -> Path:
        (repository / "draft.txt").write_text(draft)
        return trees.branch_off("aside", Git(repository, desk.env).snapshot(), ())

    half = begin("one\n")
    assert begin("two\n") == half
    assert (half / "draft.txt").read_text() == "two\n"
    (half / "draft.txt").write_text("mine\n")
    assert begin("three\n").name == "aside-2"
    (half / "draft.txt").write_text("two\n")
    (half / "more.txt").write_text("mine\n")
    assert begin("four\n").name == "aside-2"
    git(half, "add", ".")
    git(half, "commit", "-qm", "Mine")
    assert begin("five\n").name == "aside-2"
    assert (half / "more.txt").read_text() == "mine\n"


async def test_a_branch_that_is_open_is_not_merged(
    desk: Desk, fake_openai: FakeOpenAI, repository: Path
) -> None:
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        fake_openai.add(Text("Hello."))
        await turn(opened.conversation, "Begin.")
        session = opened.conversation.session
        apart = await tried(desk, fake_openai, session, "busy", "busy.py")
        with closing(SqliteStore(desk.opening().paths.database, read_only=True)) as store:
            [branch] = branches_of(store, session)
        async with working(apart, fake_openai, session=branch.info.id):
            with pytest.raises(Refusal, match=r"busy is open in .* Nothing changed"):
                await plan_merge(desk.opening(session=session), "busy", extract=True)
        assert opened.store.last_of(session, BranchMerged.TYPE) is None


@pytest.mark.timeout(400)
def test_no_kill_leaves_half_of_a_branch_or_a_merge(tmp_path: Path) -> None:
    """The process is killed at every step that writes to disk, one after the other."""
    module = killing_branches.__name__
    done = completed([str(tmp_path)], env=os.environ, cwd=ROOT, limit_s=390, module=module)
    assert done.returncode == 0, done.stderr[-4_000:]
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["branch", "merge", "undo"]
