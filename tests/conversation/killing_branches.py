"""Program that kills branching, merging and undoing midway: ``killing_branches.py FOLDER``.

Each operation is repeated in a child that is killed with SIGKILL before its first, second, … step that writes
to disk or may make git write, until it runs to the end. After each kill, the state must be either the one
before the operation or the one after it.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from tests.conversation.driving import Desk, done, turn, view_bytes
from tests.conversation.killing import OFFLINE, die, forked
from tui_app.agent.tools.edits import FileChange
from tui_app.conversation.assembly import open_session
from tui_app.conversation.branches.branches import plan_merge
from tui_app.conversation.branches.new_branch import make_branch
from tui_app.conversation.work import Restate
from tui_app.events import UserMessage
from tui_app.refusals import Refusal
from tui_app.session.branches import branches_of
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.system.trust import TRUST_VARIABLE

State = tuple[dict[str, bytes], bytes]
LOOKS = frozenset(
    {"cat-file", "config", "for-each-ref", "ls-files", "ls-tree", "merge-base", "rev-list", "rev-parse"}
)
"""Git commands that write nothing. Dying before one leaves the same state as after the previous step."""


def arm(countdown: int) -> None:
    """Kill this process before a step that writes to disk or lets git write, after ``countdown`` others."""
    left, run = [countdown], subprocess.run

    def dying(step: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*args: Any, **options: Any) -> Any:
            left[0] -= not (step is run and LOOKS.intersection(args[0]))
            if left[0] < 0:
                die()
            return step(*args, **options)

        return instead

    for place, name in (
        (os, "replace"), (os, "unlink"), (Path, "replace"), (subprocess, "run"), (shutil, "copytree"),
        (SqliteStore, "append_many"), (SqliteStore, "create"), (SqliteStore, "delete"),
    ):  # fmt: skip
        setattr(place, name, dying(getattr(place, name)))


def in_child(deed: Callable[[], None], countdown: int) -> bool:
    """Run ``deed`` in a child that kills itself after ``countdown`` steps; whether it ran to its end."""

    def work() -> None:
        arm(countdown)
        deed()

    status = os.waitpid(forked(work), 0)[1]
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert killed or status == 0, f"the child ended by itself with {status}"
    return not killed


class Stage:
    """A resettable repository with a session and a branch."""

    def __init__(self, folder: Path) -> None:
        self.here, self.copy = folder / "stage", folder / "copy"
        cwd = self.here / "project"
        cwd.mkdir(parents=True)
        for name in ("a.txt", "b.txt"):
            (cwd / name).write_text("sea\n")
        for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "Begin")):
            names = ("-c", "user.name=A", "-c", "user.email=a@example.org")
            subprocess.run(("git", *names, *words), cwd=cwd, check=True)
        (cwd / "draft.txt").write_text("not committed\n")
        env = {TRUST_VARIABLE: "/", "PATH": os.environ["PATH"]}
        (self.here / "home").mkdir()
        self.desk = Desk(self.here / "home", cwd, env=env)
        self.session = ""

    def keep(self) -> None:
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(self.here, self.copy, symlinks=True)

    def reset(self, copy: Path | None = None) -> None:
        shutil.rmtree(self.here)
        shutil.copytree(copy or self.copy, self.here, symlinks=True)

    def opening(self) -> Any:
        return self.desk.opening(session=self.session, model=OFFLINE)

    def run(self, work: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
        """Open the session, run ``work`` on it and close it."""

        async def opened() -> Any:
            session = open_session(self.opening())
            await session.prepare()
            result = await work(session)
            await session.close()
            return result

        return asyncio.run(opened())

    def state(self) -> State:
        async def view(opened: Any) -> bytes:
            return view_bytes(opened.conversation)

        said = self.run(view)
        return files_in(self.desk.cwd), said


def files_in(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def branch(stage: Stage, at: int | None = None) -> None:
    make_branch(stage.opening(), "aside", at=at, now=2.0)


def merge(stage: Stage) -> None:
    async def work(opened: Any) -> None:
        plan = await plan_merge(stage.opening(), "aside", extract=True)
        await done(opened.conversation, plan.work())

    stage.run(work)


def undo(stage: Stage) -> None:
    async def work(opened: Any) -> None:
        await done(opened.conversation, Restate(undo=True))

    stage.run(work)


def check_branch(stage: Stage, at: int | None, files: dict[str, bytes]) -> None:
    """Assert that the branch exists in full, or can be created as if nothing had happened."""
    with suppress(Refusal):
        branch(stage, at)
    with closing(SqliteStore(stage.opening().paths.database, read_only=True)) as store:
        [made] = branches_of(store, stage.session)
    assert Path(made.info.cwd) == stage.here / "project.worktrees/aside"
    assert files_in(Path(made.info.cwd)) == files


def main(folder: Path) -> None:
    stage = Stage(folder)

    async def begin(opened: Any) -> str:
        await turn(opened.conversation, "what is in a.txt?")
        return str(opened.conversation.session)

    stage.session = stage.run(begin)
    files = files_in(stage.desk.cwd)

    async def change(opened: Any) -> int:
        """Change files as tools do after a prompt, and return the prompt's log number."""
        records = await turn(opened.conversation, "change them")
        asked = next(each.seq for each in records if each.data.TYPE == UserMessage.TYPE)
        for name in ("a.txt", "draft.txt", "new.txt"):
            path = stage.desk.cwd / name
            before = path.read_bytes() if path.exists() else None
            wanted = FileChange(path=path, shown=name, before=before, after=b"sky\n", mode=0o644)
            await opened.conversation.tooling.files.keep(wanted, "call")
            path.write_bytes(wanted.after)
        return asked

    stage.keep()
    at = stage.run(change)
    changed = stage.copy.with_name("changed")
    shutil.copytree(stage.here, changed, symlinks=True)
    walk_branch(stage, changed, at, files)
    stage.reset()
    check_branch(stage, None, files)

    made = asyncio.run(talked(stage))
    (made / "a.txt").write_text("sea and sky\n")
    (made / "b.txt").unlink()
    (made / "new").mkdir()
    (made / "new/c.txt").write_text("sand\n")
    before = stage.state()
    stage.keep()
    walk(stage, merge, before)
    merge(stage)
    stage.keep()
    walk(stage, undo, stage.state(), before)


def walk_branch(stage: Stage, copy: Path, at: int | None, files: dict[str, bytes]) -> None:
    """Kill branch creation at every step; after each kill the branch must be complete or creatable."""
    step = 0
    stage.reset(copy)
    while not in_child(lambda: branch(stage, at), step):
        check_branch(stage, at, files)
        stage.reset(copy)
        step += 1
    check_branch(stage, at, files)
    print(f"branch {step}", flush=True)


async def talked(stage: Stage) -> Path:
    """Run a turn in the branch and return its folder."""
    with closing(SqliteStore(stage.opening().paths.database, read_only=True)) as store:
        [made] = branches_of(store, stage.session)
    apart = Desk(stage.desk.home, Path(made.info.cwd), env=stage.desk.env)
    async with apart.session(session=made.info.id, model=OFFLINE) as opened:
        await turn(opened.conversation, "what is in b.txt?")
    return apart.cwd


def walk(stage: Stage, deed: Callable[[Stage], None], before: State, after: State | None = None) -> None:
    """Kill ``deed`` at every step; each kill must leave the state before it or the state after it."""
    if after is None:
        deed(stage)
        after = stage.state()
        assert set(after[0]) == {"a.txt", "draft.txt", "new/c.txt"}
        stage.reset()
    step, seen = 0, set[bool]()
    while not in_child(lambda: deed(stage), step):
        now = stage.state()
        is_done = now[1] != before[1]
        assert now[0] == (after if is_done else before)[0], f"half done at {step}"
        seen.add(is_done)
        stage.reset()
        step += 1
    assert stage.state()[0] == after[0]
    assert seen == {False, True}, "it dies on both sides of what makes it count"
    stage.reset()
    print(f"{deed.__name__} {step}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
