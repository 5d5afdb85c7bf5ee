"""Commands are sandboxed, and every process they start ends with them, however it was started."""

import asyncio
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.process_ends import LIMIT_S, gone, until
from tui_app import autorun, sandbox
from tui_app.agent.approvals.rules import Action
from tui_app.agent.tools import command_tool
from tui_app.agent.tools.command_tool import CommandTool, run_check
from tui_app.agent.tools.commands import CommandStopped, ProcessRunner
from tui_app.agent.tools.made_places import remove_unapproved
from tui_app.agent.tools.tasks import BackgroundTasks
from tui_app.sandbox import Confinement, Sandbox
from tui_app.system import command_parent
from tui_app.system.command_parent import parented
from tui_app.system.containment import landlock_abi
from tui_app.system.obeyed_places import is_autorun, obeyed

linux = pytest.mark.skipif(sys.platform != "linux", reason="made of what Linux has")
ROOT = Path(__file__).parents[3]
LANDLOCK = Sandbox("landlock", abi=landlock_abi() if sys.platform == "linux" else 0)
LEAVES = (
    "import os, signal\n"
    "heard, said = os.pipe()\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    if os.fork() == 0:\n"
    "        os.setpgid(0, 0)\n"
    "        with open('left', 'w') as file:\n"
    "            file.write(os.readlink('/proc/self'))\n"
    "        os.write(said, b'.')\n"
    "        signal.pause()\n"
    "    os._exit(0)\n"
    "os.read(heard, 1)\n"
)
"""Starts a process that leaves its parent, group and session, and writes its process id to a file."""


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    for name in ("work/.git/hooks", "home/.ssh", "home/tools/bin", "data", "config"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "work/.git/config").write_text("[core]\n")
    (tmp_path / "home/.ssh/id").write_text("secret\n")
    (tmp_path / "data/session").write_text("secret\n")
    (tmp_path / "home/tools/bin/tool").write_text("#!/bin/sh\necho tool ran\n")
    (tmp_path / "home/tools/bin/tool").chmod(0o755)
    return tmp_path


def kept_in(lab: Path, found: Sandbox, *, network: bool = False) -> Confinement:
    return Confinement(
        workspace=lab / "work", home=lab / "home", search=f"{lab}/home/tools/bin:{os.environ['PATH']}",
        readable=(lab / "config",), hidden=(lab / "data",), network=network, sandbox=found,
        temporary=lab / "data/session-1/tmp",
    )  # fmt: skip


def run(kept: Confinement, line: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        kept.wrap_command(("/bin/sh", "-c", line)), cwd=kept.workspace, capture_output=True, text=True,
        check=False, stdin=subprocess.DEVNULL, env={"PATH": kept.search, "HOME": str(kept.home)},
        timeout=LIMIT_S,
    )  # fmt: skip


@pytest.mark.bubblewrap
def test_a_command_in_bubblewrap_writes_in_its_folder_and_sees_no_secrets(lab: Path) -> None:
    kept = kept_in(lab, sandbox.find_sandbox())
    assert kept.limits == "sandboxed: writes in this folder only, no network"
    assert run(kept, "echo x > made; mkdir -p deep/er; cat made").stdout == "x\n"
    assert run(kept, "tool").stdout == "tool ran\n"
    assert run(kept, 'echo x > "$TMPDIR/x" && cat "$TMPDIR/x"').stdout == "x\n"
    for line in ("echo x > .git/hooks/pre-commit", "echo x > .git/config", "rm -r .git/hooks", "mv .git git"):
        assert run(kept, line).returncode, line
    for secret in (lab / "home/.ssh/id", lab / "data/session"):
        assert run(kept, f"cat {secret}").returncode
    run(kept, f"echo x > {lab}/outside; echo x > {lab}/config/config.toml; echo x > ~/.bashrc")
    assert not any((lab / name).exists() for name in ("outside", "config/config.toml", "home/.bashrc"))
    reach = "python3 -c \"import socket; socket.create_connection(('192.0.2.1', 9), 1)\""
    answer = run(kept_in(lab, kept.sandbox), reach)
    assert sandbox.refused(answer.stderr)
    assert run(kept, "exit 3").returncode == 3


@linux
@pytest.mark.parametrize(
    ("kind", "place"),
    [
        pytest.param("bubblewrap", "/tmp", marks=pytest.mark.bubblewrap),
        pytest.param("landlock", "$TMPDIR", marks=pytest.mark.skipif(LANDLOCK.abi < 1, reason="no Landlock")),
    ],
)
def test_temporary_files_last_for_a_session_and_are_its_own(lab: Path, kind: str, place: str) -> None:
    found = LANDLOCK if kind == "landlock" else sandbox.find_sandbox()
    one = kept_in(lab, found)
    other = replace(one, temporary=lab / "data/session-2/tmp")
    assert run(one, f"mkdir {place}/built && echo x > {place}/built/plimsoll-x").returncode == 0
    assert run(one, f'cat {place}/built/plimsoll-x "$TMPDIR/built/plimsoll-x"').stdout == "x\nx\n"
    assert run(other, f"cat {place}/built/plimsoll-x").returncode
    assert not Path("/tmp/built/plimsoll-x").exists()
    assert place in found.sentence(network=False)


def test_the_model_is_told_of_the_sandbox_in_one_sentence() -> None:
    assert Sandbox("none", why="no sandbox").sentence(network=True) == ""
    told = Sandbox("bubblewrap", "/usr/bin/bwrap").sentence(network=False)
    assert told.count(".") == 1
    assert "no network" in told
    assert "no network" not in Sandbox("bubblewrap").sentence(network=True)


@linux
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
        pytest.param("landlock", marks=pytest.mark.skipif(LANDLOCK.abi < 1, reason="no Landlock")),
    ],
)
def test_a_folder_that_was_added_may_be_written_in(lab: Path, kind: str) -> None:
    (lab / "more/.git/hooks").mkdir(parents=True)
    found = LANDLOCK if kind == "landlock" else sandbox.find_sandbox()
    kept = replace(kept_in(lab, found), added=(lab / "more",))
    assert "writes in this folder and 1 more only" in kept.limits
    assert run(kept, f"echo x > {lab}/more/made; echo y > here; cat {lab}/more/made").stdout == "x\n"
    assert (lab / "more/made").exists()
    assert (lab / "work/here").exists()
    assert run(kept, f"echo x > {lab}/beside").returncode or not (lab / "beside").exists()
    if kind == "bubblewrap":
        assert run(kept, f"echo x > {lab}/more/.git/hooks/pre-commit").returncode, "what programs obey"


@pytest.mark.bubblewrap
def test_hooks_stay_as_they_are_wherever_git_looks_for_them(lab: Path) -> None:
    work = lab / "work"
    for name in ("lib/deep/name", "outer/modules/inner"):
        (work / ".git/modules" / name).mkdir(parents=True)
        (work / ".git/modules" / name / "HEAD").touch()
    (work / ".git/modules/outer/HEAD").touch()
    (work / ".husky/_").mkdir(parents=True)
    (work / ".git/config").write_text(f'[core]\n\tHooksPath = ".husky/_"\n\thooksPath = {lab}/home\n')
    kept = kept_in(lab, sandbox.find_sandbox())
    modules = (work / ".git/modules" / each for each in ("lib/deep/name", "outer", "outer/modules/inner"))
    for hooks in (work / ".husky/_", *(each / "hooks" for each in modules)):
        assert run(kept, f"echo x > {hooks}/pre-commit").returncode
        assert run(kept, f"mv {hooks} {work}/gone").returncode
        assert not any(hooks.iterdir())


@pytest.mark.bubblewrap
def test_no_command_makes_git_obey_other_settings_or_hooks(lab: Path) -> None:
    work = lab / "work"
    shutil.rmtree(work / ".git")
    subprocess.run(["git", "init", "-q"], cwd=work, check=True)
    (work / ".git/modules/lib").mkdir(parents=True)
    subprocess.run(
        ["git", "init", "-q", "--separate-git-dir=.git/modules/lib/sub", "sub"], cwd=work, check=True
    )
    (work / "tools/git/hooks").mkdir(parents=True)
    (work / "tools/included").write_text("[core]\n")
    with (work / ".git/config").open("a") as config:
        config.write('[include]\n\tpath = ../tools/included\n[includeIf "gitdir:/"]\n\tpath = later\n')
        config.write("[core]\n\thooksPath = tools/git/hooks\n[extensions]\n\tworktreeConfig = true\n")
    before = settings_of(work)
    kept = kept_in(lab, sandbox.find_sandbox())
    evil = "printf '[core]\\n\\tfsmonitor = touch pwned\\n'"
    # mv would copy what it cannot move, and delete the source.
    rename = "python3 -c 'import os, sys; os.rename(sys.argv[1], \"gone\")'"
    for line in (
        "cp -r .git e && printf ../e > .git/commondir",
        "ln -s ../e .git/commondir",
        "mkdir .git/commondir",
        f"{evil} > .git/config.worktree",
        f"{evil} > tools/included",
        f"{evil} > .git/later",
        f"{rename} tools; mkdir tools; {evil} > tools/included",
        f"{rename} tools/git; mkdir -p tools/git/hooks; echo touch pwned > tools/git/hooks/pre-commit",
        f"{rename} .git/info; mkdir .git/info; echo '* filter=x' > .git/info/attributes",
        "echo '* filter=x' > .git/info/attributes",
        f"{rename} .git/modules; mkdir -p .git/modules/lib/sub; {evil} > .git/modules/lib/sub/config",
        f"{rename} .git/modules/lib; mkdir -p .git/modules/lib/sub; {evil} > .git/modules/lib/sub/config",
        "printf ../../e > .git/modules/lib/sub/commondir",
    ):
        run(kept, line)
        shutil.rmtree(work / "e", ignore_errors=True)
        assert settings_of(work) == before, line
    assert run(kept, "git status && git -C sub status").returncode == 0
    told = run(kept, "printf ../e > .git/commondir").stderr
    assert ".git/commondir was removed" in told


def settings_of(work: Path) -> list[str]:
    """Return the settings, hooks and attributes that git uses in a repository and its submodule."""
    said = []
    for folder in (work, work / "sub"):
        paths = ("rev-parse", "--git-path", "hooks"), ("rev-parse", "--git-path", "info/attributes")
        for words in (("config", "--list", "--show-origin"), *paths):
            done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
            said.append(done.stdout + done.stderr)
    hooks = work / "tools/git/hooks"
    names = sorted(path.name for path in hooks.iterdir()) if hooks.is_dir() else ["gone"]
    return [*said, *names, str((work / ".git/info/attributes").exists())]


@pytest.mark.bubblewrap
async def test_what_leaves_its_parent_in_bubblewrap_ends_with_the_call(lab: Path) -> None:
    kept = kept_in(lab, sandbox.find_sandbox())
    code = "sleep 600 & setsid sleep 600 & (setsid nohup sleep 600 >/dev/null 2>&1 &) ; sleep 0.2"
    runner = ProcessRunner(kept.workspace, {"PATH": kept.search})
    ended = await runner.run(kept.wrap_command(("/bin/sh", "-c", code)), 60, lambda _: None)
    assert ended.code == 0
    listed = ["ps", "-eo", "args"]
    names = (await asyncio.to_thread(subprocess.run, listed, capture_output=True, text=True)).stdout
    assert str(kept.workspace) not in names


@linux
@pytest.mark.skipif(LANDLOCK.abi < 1, reason="a kernel without Landlock")
def test_a_command_under_landlock_writes_in_its_folder_only(lab: Path) -> None:
    kept = kept_in(lab, LANDLOCK)
    assert kept.limits.startswith("partly sandboxed: writes in this folder only")
    assert (
        run(kept, 'echo x > made; mv made other; echo y > "$TMPDIR/y"; cat other; : > /dev/null').stdout
        == "x\n"
    )
    for line in (
        f"echo x > {lab}/outside",
        f"mv other {lab}/outside",
        f"rm {lab}/data/session",
        "echo x > ~/x",
    ):
        answer = run(kept, line)
        assert answer.returncode, line
        assert sandbox.refused(answer.stderr) or "cross-device" in answer.stderr
    assert (lab / "data/session").exists()
    assert not (lab / "outside").exists()
    if LANDLOCK.abi >= 4:
        reach = f"{sys.executable} -c \"import socket; socket.create_connection(('127.0.0.1', 9), 1)\""
        assert "Permission denied" in run(kept, reach).stderr
        assert "Connection refused" in run(kept_in(lab, LANDLOCK, network=True), reach).stderr


@linux
@pytest.mark.parametrize("how", ["ends", "cancelled", "timed out"])
async def test_what_leaves_its_parent_ends_with_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    code = LEAVES + ("" if how == "ends" else "print('left', flush=True)\nsignal.pause()\n")
    heard, loop = asyncio.Event(), asyncio.get_running_loop()
    runner = ProcessRunner(tmp_path, {"PATH": os.environ["PATH"]})
    task = asyncio.create_task(
        runner.run(parented((sys.executable, "-c", code)), 600, lambda _text: heard.set())
    )
    if how != "ends":
        await asyncio.wait_for(heard.wait(), LIMIT_S)
    if how == "cancelled":
        task.cancel()
        with pytest.raises(CommandStopped):
            await task
    else:
        if how == "timed out":
            clock = loop.time
            monkeypatch.setattr(loop, "time", lambda: clock() + 600)
        assert (await task).timed_out == (how == "timed out")
    assert gone(int((tmp_path / "left").read_text()))


@linux
def test_what_leaves_its_parent_ends_when_the_program_is_killed(tmp_path: Path) -> None:
    command = (sys.executable, "-c", f"{LEAVES}print('left', flush=True)\nsignal.pause()")
    code = (
        "import subprocess, os\nfrom tui_app.system.command_parent import parented\n"
        f"command = parented({command!r})\n"
        f"begun = subprocess.Popen(command, cwd={str(tmp_path)!r}, stdout=subprocess.PIPE)\n"
        "begun.stdout.readline()\n"
        "os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code], check=False, timeout=LIMIT_S)
    assert killed.returncode == -signal.SIGKILL
    assert gone(int((tmp_path / "left").read_text()))


@linux
def test_a_command_below_a_parent_ends_as_it_would_alone(tmp_path: Path) -> None:
    def code(line: str) -> int:
        return subprocess.run(parented(("/bin/sh", "-c", line)), cwd=tmp_path, check=False).returncode

    assert (code("exit 7"), code("kill -9 $$"), code("kill -15 $$")) == (7, -9, -15)


BOUNDED = (
    "import os, sys\n"
    "from tui_app.system import command_parent as parent\n"
    "parent.MOST_PROCESSES = 40\n"
    "disk = os.statvfs('.')\n"
    "parent.LEAST_FREE = disk.f_bavail * disk.f_frsize - (64 << 20)\n"
    "parent.main(os.getppid(), parent.FREE, sys.argv[1:])\n"
)
"""The parent process of a command, with limits that a test can reach."""
MULTIPLIES = (
    "import os, time\n"
    "for number in range(400):\n"
    "    if os.fork() == 0:\n"
    "        if number % 3 == 0: os.setsid()\n"
    "        with open('left', 'a') as file: file.write(f'{os.getpid()}\\n')\n"
    "        time.sleep(600)\n"
    "time.sleep(600)\n"
)
FILLS = (
    "import os, time\n"
    "with open('big', 'wb') as file:\n"
    "    for number in range(16):\n"
    "        os.posix_fallocate(file.fileno(), number << 26, 64 << 20)\n"
    "        time.sleep(0.5)\n"
    "time.sleep(600)\n"
)


@linux
@pytest.mark.parametrize(
    ("code", "why"), [(MULTIPLIES, "more than 40 processes"), (FILLS, "MB left on the disk")]
)
async def test_what_is_too_much_for_the_machine_is_ended_and_says_so(
    tmp_path: Path, code: str, why: str
) -> None:
    runner = ProcessRunner(tmp_path, {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)})
    words = (sys.executable, "-c", BOUNDED, sys.executable, "-c", code)
    ended = await runner.run(words, LIMIT_S, lambda _text: None)
    assert (ended.code, ended.timed_out) == (-signal.SIGKILL, False)
    assert f"{why}.]" in ended.text
    numbers = (tmp_path / "left").read_text().split() if code == MULTIPLIES else []
    assert all(gone(int(number)) for number in numbers)


@linux
def test_the_kernel_refuses_endless_processes_to_all_but_root() -> None:
    line = "import resource; print(resource.getrlimit(resource.RLIMIT_NPROC)[0])"
    command = parented((sys.executable, "-c", line))
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert command_parent.MOST_PROCESSES < int(said) < command_parent.MOST_PROCESSES + 100_000


class Asked:
    """A gate that allows everything."""

    def __init__(self) -> None:
        self.actions: list[Action] = []

    async def __call__(self, action: Action) -> str:
        self.actions.append(action)
        return ""


class Call:
    """The part of a run's context that a tool reads."""

    tool_call_id, tool_name = "c1", "run_command"


def background_tasks(lab: Path, work: Path) -> BackgroundTasks:
    runner = ProcessRunner(work, {"PATH": os.environ["PATH"]})
    return BackgroundTasks(runner=runner, folder=lab / "tasks", report=lambda _payload: None)


def tool(
    cwd: Path,
    kept: Callable[[], Confinement | None],
    gate: Any,
    tasks: BackgroundTasks | None = None,
    **more: Any,
) -> CommandTool:
    known = tasks or background_tasks(cwd.parent, cwd)
    return CommandTool(known.runner, gate, known, lambda _id, _text: None, confinement=kept, **more)


@linux
@pytest.mark.skipif(LANDLOCK.abi < 1, reason="a kernel without Landlock")
async def test_what_was_kept_from_a_command_is_said_with_the_way_out_and_that_asks(lab: Path) -> None:
    gate = Asked()
    call: Any = Call()
    run_command = tool(lab / "work", lambda: kept_in(lab, LANDLOCK), gate).run_command
    line = f"touch {lab}/outside"
    said = await run_command(call, line)
    assert isinstance(said, str)
    assert said.endswith("outside=true asks the user to run it without]")
    assert "Exit code 0" in str(await run_command(call, line, outside=True))
    assert (lab / "outside").exists()
    inside, outside = gate.actions
    assert (inside.note, inside.guarded) == (kept_in(lab, LANDLOCK).limits, "")
    assert (outside.note, outside.guarded) == (
        "outside the sandbox",
        "always asked: it leaves the sandbox",
    )


async def test_without_a_sandbox_the_question_says_so_or_nothing_runs(lab: Path) -> None:
    gate = Asked()
    call: Any = Call()
    none = kept_in(lab, Sandbox("none", why="there is none"))
    await tool(lab / "work", lambda: none, gate).run_command(call, "touch made")
    await run_check(tool(lab / "work", lambda: none, gate), "true")
    # The purpose comes first, before the limits.
    assert [action.note for action in gate.actions] == ["not sandboxed", "not sandboxed, checks the goal"]
    with pytest.raises(Exception, match="Install bubblewrap"):
        await tool(lab / "work", lambda: none, gate, required=True).run_command(call, "touch other")
    assert [each.name for each in sorted((lab / "work").iterdir())] == [".git", "made"]


# Files that programs use automatically once a folder is opened or entered, at any depth.


@pytest.mark.bubblewrap
def test_what_programs_obey_further_down_stays_as_it_is(lab: Path) -> None:
    deep = lab / "work/packages/a/b"
    (deep / ".vscode").mkdir(parents=True)
    (deep / ".vscode/tasks.json").write_text("{}\n")
    (deep / ".envrc").write_text("true\n")
    subprocess.run(["git", "init", "-q", "inner"], cwd=deep, check=True)
    kept = kept_in(lab, sandbox.find_sandbox()).found()
    rename = "python3 -c 'import os, sys; os.rename(*sys.argv[1:])'"
    at = "packages/a/b"
    for line in (
        f"echo evil > {at}/.envrc",
        f"rm {at}/.envrc",
        f"echo evil > {at}/.vscode/tasks.json",
        f"echo evil > {at}/.vscode/settings.json",
        f"{rename} {at}/.vscode other",
        f"{rename} packages other",
        f"{rename} {at} other",
        f"echo evil > {at}/inner/.git/hooks/pre-commit",
        f"echo evil > {at}/inner/.git/config",
        f"{rename} {at}/inner/.git other",
    ):
        assert run(kept, line).returncode, line
        assert not (lab / "work/other").exists(), line
    assert (deep / ".envrc").read_text() == "true\n"
    assert run(kept, f"echo ../x > {at}/inner/.git/commondir").stderr.count("was removed") == 1
    # Everything else works: files are moved and linked between any two folders, and git works.
    moves = f"echo x > {at}/x && {rename} {at}/x y && ln y packages/z && {rename} packages/z {at}/inner/z"
    git = "-c user.name=a -c user.email=a@b.example"
    commit = f"git -C {at}/inner add z && git {git} -C {at}/inner commit -qm z"
    done = run(kept, f"{moves} && {commit} && rm -r {at}/inner/z && mkdir -p {at}/c/d && rm -r {at}/c")
    assert (done.returncode, done.stderr) == (0, "")


class Answers(Asked):
    """A gate that allows commands, but may refuse to keep what they made."""

    def __init__(self, *, stays: bool) -> None:
        super().__init__()
        self.stays = stays

    async def __call__(self, action: Action) -> str:
        await super().__call__(action)
        return "" if action.kind == "command" or self.stays else "The user said no."


KINDS = [
    pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
    pytest.param("landlock", marks=pytest.mark.skipif(LANDLOCK.abi < 1, reason="no Landlock")),
]


@linux
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stays", [False, True])
async def test_what_a_command_makes_that_programs_obey_is_asked_about(
    lab: Path, kind: str, stays: bool
) -> None:
    found = LANDLOCK if kind == "landlock" else sandbox.find_sandbox()
    gate, work, call = Answers(stays=stays), lab / "work", Call()
    (work / "sub/.idea").mkdir(parents=True)
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q"], cwd=work, check=True)
    run_command: Any = tool(work, lambda: kept_in(lab, found), gate).run_command
    line = (
        "echo 'touch pwned' > sub/.envrc; mkdir -p a/b/.vscode; echo '{\"x\": 1}' > a/b/.vscode/tasks.json;"
        " printf 'more\\n' > \"$(printf 'a/b/.vscode/odd\\n+name.json')\";"
        " ln -s /etc a/.claude; git init -q a/repo; git init -q sub/evil;"
        " echo touch > sub/evil/.git/hooks/pre-commit; echo data > a/plain.json; exit 3"
    )
    said = await run_command(call, line)
    asked = {each.subject: each for each in gate.actions if each.kind == "file"}
    places = [
        "a/.claude",
        "a/b/.vscode",
        "sub/.envrc",
        "sub/evil/.git/config",
        "sub/evil/.git/hooks/pre-commit",
    ]
    assert sorted(asked) == places, "a repository as git makes it is none of them"
    assert all(each.guarded and each.tool == "write_file" for each in asked.values())
    assert "+touch pwned" in asked["sub/.envrc"].detail
    assert asked["a/b/.vscode"].detail.split("\n") == [
        "--- /dev/null",
        "+++ b/a/b/.vscode",
        r"[odd\n+name.json]",
        "@@ -0,0 +1 @@",
        "+more",
        "[tasks.json]",
        "@@ -0,0 +1 @@",
        '+{"x": 1}',
    ]
    assert "a link to /etc" in asked["a/.claude"].detail
    assert [(work / path).exists() for path in places] == [stays] * 5
    assert (work / "a/plain.json").exists()
    assert (work / "a/repo/.git/config").exists()
    assert said.startswith("Exit code 3")
    assert said.count("was removed again: programs obey it") == (0 if stays else 5)
    if kind == "landlock":
        assert "sub/.idea was changed" in await run_command(call, "echo x > sub/.idea/x.xml")
        hook = ".git/hooks/post-commit"
        said = await run_command(call, f"echo x > {hook}; echo '#' >> .git/config")
        assert ".git/config was changed: programs obey it" in said
        assert (f"{hook} was removed again" in said, (work / hook).exists()) == (not stays, stays)


@linux
@pytest.mark.skipif(LANDLOCK.abi < 1, reason="a kernel without Landlock")
async def test_a_flood_of_such_places_asks_nothing_and_is_removed(lab: Path) -> None:
    gate, work, call = Answers(stays=True), lab / "work", Call()
    run_command: Any = tool(work, lambda: kept_in(lab, LANDLOCK), gate).run_command
    said = await run_command(call, "for i in $(seq 200); do mkdir d$i; echo x > d$i/.envrc; done")
    assert [each.kind for each in gate.actions] == ["command"]
    assert said.count("was removed again") == 20
    assert said.endswith("[And 180 more: a command may leave 20 of them.]")
    assert not list(work.rglob(".envrc"))


@linux
@pytest.mark.skipif(LANDLOCK.abi < 1, reason="a kernel without Landlock")
async def test_what_changes_between_showing_and_yes_does_not_stay(lab: Path) -> None:
    work, call = lab / "work", Call()

    class Changes(Asked):
        async def __call__(self, action: Action) -> str:
            if action.kind == "file":
                (work / ".envrc").write_text("evil\n")
            return await super().__call__(action)

    run_command: Any = tool(work, lambda: kept_in(lab, LANDLOCK), Changes()).run_command
    assert ".envrc was removed again" in await run_command(call, "echo fine > .envrc")
    assert not (work / ".envrc").exists()


@linux
@pytest.mark.skipif(LANDLOCK.abi < 1, reason="a kernel without Landlock")
@pytest.mark.parametrize(
    "line",
    [
        "mkdir .vscode; for i in $(seq 300); do echo x > .vscode/$i; done; echo evil > .vscode/tasks.json",
        "mkdir .vscode; seq 100000 > .vscode/a.json; echo evil > .vscode/tasks.json",
        "seq 100000 > .envrc; echo evil >> .envrc",
    ],
)
async def test_what_cannot_be_shown_whole_is_removed_unasked(lab: Path, line: str) -> None:
    gate, work, call = Answers(stays=True), lab / "work", Call()
    said = await tool(work, lambda: kept_in(lab, LANDLOCK), gate).run_command(call, line)  # type: ignore[arg-type]
    assert [each.kind for each in gate.actions] == ["command"]
    assert "was removed again" in str(said)
    assert [path.name for path in work.iterdir()] == [".git"]


@linux
@pytest.mark.skipif(LANDLOCK.abi < 1, reason="a kernel without Landlock")
async def test_a_stop_at_the_question_is_no_yes(lab: Path) -> None:
    work, call = lab / "work", Call()
    (work / "AGENTS.md").write_text("Be brief.\n")
    shown = asyncio.Event()

    class Waits(Asked):
        async def __call__(self, action: Action) -> str:
            if action.kind == "file":
                shown.set()
                await asyncio.Event().wait()
            return ""

    made = tool(work, lambda: kept_in(lab, LANDLOCK), Waits())
    run_command: Any = made.run_command
    line = "echo Done.; echo x > .envrc; mkdir .vscode; echo x > .vscode/x; echo Obey. > AGENTS.md"
    running = asyncio.create_task(run_command(call, line))
    await asyncio.wait_for(shown.wait(), LIMIT_S)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert sorted(path.name for path in work.iterdir()) == [".git", "AGENTS.md"]
    assert (work / "AGENTS.md").read_text() == "Be brief.\n"
    # The command itself had ended, and the model gets its output.
    how, printed = made.cut_short["c1"].splitlines()
    assert how.startswith("Exit code 0")
    assert printed == "Done."


@linux
@pytest.mark.skipif(LANDLOCK.abi < 1, reason="a kernel without Landlock")
async def test_what_a_command_printed_is_kept_when_it_is_stopped_twice(
    lab: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, heard, taking, goes_on = remove_unapproved, asyncio.Event(), asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slowly(inside: Confinement) -> list[str]:
        loop.call_soon_threadsafe(taking.set)
        goes_on.wait(LIMIT_S)
        return taken(inside)

    monkeypatch.setattr(command_tool, "remove_unapproved", slowly)
    made = tool(lab / "work", lambda: kept_in(lab, LANDLOCK), Asked())
    command = replace(made, shown=lambda _id, _text: heard.set())
    call: Any = Call()
    running = asyncio.create_task(command.run_command(call, "echo x > .envrc; echo there; sleep 600"))
    await asyncio.wait_for(heard.wait(), LIMIT_S)
    running.cancel()
    await asyncio.wait_for(taking.wait(), LIMIT_S)
    running.cancel()
    goes_on.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not (lab / "work/.envrc").exists()
    assert command.cut_short["c1"].startswith("there")


@linux
@pytest.mark.parametrize("kind", KINDS)
async def test_what_a_stopped_command_made_is_taken_away(lab: Path, kind: str) -> None:
    found = LANDLOCK if kind == "landlock" else sandbox.find_sandbox()
    heard = asyncio.Event()
    made = tool(lab / "work", lambda: kept_in(lab, found), Asked())
    command = replace(made, shown=lambda _id, _text: heard.set())
    call: Any = Call()
    running = asyncio.create_task(command.run_command(call, "echo x > .envrc; echo there; sleep 600"))
    await asyncio.wait_for(heard.wait(), LIMIT_S)
    running.cancel()
    with pytest.raises(CommandStopped):
        await running
    assert not (lab / "work/.envrc").exists()
    assert ".envrc was removed again" in command.cut_short["c1"]


def test_places_are_found_next_to_the_root_first_and_not_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(autorun, "MOST_FOLDERS", 20)
    for number in range(30):
        (tmp_path / f"d{number}/e").mkdir(parents=True)
        (tmp_path / f"d{number}/e/.envrc").touch()
    (tmp_path / ".vscode").mkdir()
    found = autorun.find_autorun([tmp_path])
    assert not found.is_whole
    assert set(found.places) == {tmp_path / ".vscode"}
    for name in (".envrc", ".npmrc", ".bashrc", ".eslintrc.json", ".mcp.json", "mise.toml", ".zprofile"):
        assert is_autorun(name, is_folder=False)
        assert obeyed(f"a/{name}"), "what is kept from commands is asked about when tools write it"
    for name in (".gitignore", ".env", ".coverage", "rc", "package.json", "src", ".python-version"):
        assert not is_autorun(name, is_folder=False)


EVIL = "printf '[core]\\nfsmonitor = touch pwned\\n'"
HIDDEN = {
    "a section with a key behind it": "git init -q a; echo '[core] fsmonitor = touch pwned' >> a/.git/config",
    "settings of another folder": f"mkdir -p a/.git y/objects y/refs; echo ref: refs/heads/m > a/.git/HEAD;"
    f" echo ../../y > a/.git/commondir; {EVIL} > y/config",
    "a repository of another name": f"git init -q --bare a; {EVIL} > a/config; echo > a/hooks/update",
    "where there was none": f"git init -q .; {EVIL} >> .git/config; echo touch > .git/hooks/pre-commit",
    "a pointer where there was none": "git init -q a; echo gitdir: a/.git > .git",
    "a submodule of one": f"mkdir -p there/.git/modules/x; git init -q --bare there/.git/modules/x;"
    f" {EVIL} > there/.git/modules/x/config",
    "a rebase that goes on later": "mkdir -p there/.git/rebase-merge;"
    " echo 'exec touch pwned' > there/.git/rebase-merge/git-rebase-todo",
    "a bisection that goes on later": "echo '$(touch pwned)' > there/.git/BISECT_NAMES",
    "a work tree of one": "git -C there worktree add -q ../tree;"
    " echo ../../../y > there/.git/worktrees/tree/commondir",
}
"""Ways to make git run something at its next use, in a folder with one repository in ``there``."""


@linux
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", HIDDEN)
async def test_nothing_is_made_unasked_that_git_obeys(tmp_path: Path, kind: str, how: str) -> None:
    found = LANDLOCK if kind == "landlock" else sandbox.find_sandbox()
    gate, work, call = Answers(stays=False), tmp_path / "work", Call()
    (tmp_path / "home").mkdir()
    name = ("-c", "user.name=a", "-c", "user.email=a@b.example")
    first = ["git", *name, "-C", "there", "commit", "-q", "--allow-empty", "-m", "first"]
    work.mkdir()
    for words in (["git", "init", "-q", "there"], first):
        await asyncio.to_thread(subprocess.run, words, cwd=work, check=True)
    run_command: Any = tool(work, lambda: kept_in(tmp_path, found), gate).run_command
    said = await run_command(call, HIDDEN[how])
    assert said.startswith("Exit code 0"), said
    assert [each for each in gate.actions if each.kind == "file"], said
    assert "was removed again: programs obey it" in said
    for folder in (".", "a", "there", "tree"):
        if (work / folder).is_dir():
            await asyncio.to_thread(subprocess.run, ["git", "status"], cwd=work / folder, check=False)
    assert not list(work.rglob("pwned"))


@linux
@pytest.mark.parametrize("kind", KINDS)
async def test_an_ordinary_day_asks_nothing_about_places(tmp_path: Path, kind: str) -> None:
    found = LANDLOCK if kind == "landlock" else sandbox.find_sandbox()
    gate, work, call = Answers(stays=False), tmp_path / "work", Call()
    (tmp_path / "home").mkdir()
    (work / "src/.vscode").mkdir(parents=True)
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q"], cwd=work, check=True)
    run_command: Any = tool(work, lambda: kept_in(tmp_path, found), gate).run_command
    git = "git -c user.name=a -c user.email=a@b.example"
    for line in (
        "echo x > Makefile; echo x > conftest.py; echo '{}' > package.json",
        "mkdir -p .pytest_cache .venv/lib/site-packages/x/.github node_modules/x/.vscode target/debug",
        # Unpacked packages contain files that only a forge runs, at the root of a repository.
        "mkdir -p vendor/x/.github/workflows vendor/x/.circleci; echo x > vendor/x/.travis.yml",
        f"git add -A && {git} commit -qm all && git checkout -qb topic && {git} commit -q --allow-empty -m x",
        "git checkout -q -; git merge -q topic; git stash list; git gc -q; git tag t",
        # A rebase or bisection that stops continues with the next command.
        f"git checkout -qb one && echo 1 > f && git add f && {git} commit -qm 1 && echo 1 > g && git add g"
        f" && {git} commit -qm g && git checkout -qb two HEAD~2 && echo 2 > f && git add f"
        f" && {git} commit -qm 2 && ! {git} rebase -q two one",
        f"echo 3 > f; git add f; {git} -c core.editor=true rebase --continue",
        "git bisect start && git bisect bad",
        "git bisect good HEAD~1 && git bisect reset",
        "git init -q sub && git -C sub remote add origin ../x && git init -q --bare store",
    ):
        said = await run_command(call, line)
        assert said.startswith("Exit code 0"), said
        assert "programs obey" not in said
    assert {each.kind for each in gate.actions} == {"command"}


@linux
@pytest.mark.parametrize("kind", KINDS)
async def test_what_a_command_makes_in_the_background_is_asked_about_once(lab: Path, kind: str) -> None:
    found = LANDLOCK if kind == "landlock" else sandbox.find_sandbox()
    gate, work, call = Answers(stays=True), lab / "work", Call()
    tasks = background_tasks(lab, work)
    command = tool(work, lambda: kept_in(lab, found), gate, tasks=tasks)
    run_command: Any = command.run_command
    line = (
        "for n in 1 2 3; do while ! test -e go$n; do sleep 0.01; done; echo $n > .envrc; touch made$n; done"
    )

    async def step(number: int) -> list[str]:
        (work / f"go{number}").touch()
        await until((work / f"made{number}").exists)
        begin = len(gate.actions)
        await tasks.ask_about_changes()
        return [each.subject for each in gate.actions[begin:]]

    async with asyncio.timeout(LIMIT_S):
        await run_command(call, line, background=True)
        assert await step(1) == [".envrc"]
        assert gate.actions[-1].note == "made by a background command; no removes it"
        # Answered questions and files written by the session's own tools are not asked about again.
        await run_command(call, "echo x > a; mkdir .vscode; echo '{}' > .vscode/tasks.json")
        (work / ".npmrc").write_text("x=1\n")
        tasks.written[work / ".npmrc"] = hashlib.sha256(b"x=1\n").hexdigest()
        begin = len(gate.actions)
        await tasks.ask_about_changes()
        assert not gate.actions[begin:]
        gate.stays = False
        assert await step(2) == [".envrc"], "it is another one by now"
        assert tasks.take_news() == [("t1", "[.envrc was removed again: programs obey it.]")]
        assert await step(3) == [], "a place that was refused is removed unasked"
        assert not (work / ".envrc").exists()
        assert (work / ".vscode/tasks.json").exists()
        await tasks.close()


@linux
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stays", [False, True])
async def test_no_command_makes_instructions_of_its_own(lab: Path, kind: str, stays: bool) -> None:
    found = LANDLOCK if kind == "landlock" else sandbox.find_sandbox()
    gate, work, call = Answers(stays=stays), lab / "work", Call()
    (work / "AGENTS.md").write_text("Be brief.\nTest first.\n")
    (work / "CLAUDE.md").write_text("As it is.\n")
    run_command: Any = tool(work, lambda: kept_in(lab, found), gate).run_command
    line = "mkdir sub; echo x > sub/AGENTS.md; echo Be evil. > AGENTS.md; touch CLAUDE.md; echo x > agents.md"
    said = await run_command(call, line)
    asked = {each.subject: each for each in gate.actions if each.kind == "file"}
    assert sorted(asked) == ["AGENTS.md", "agents.md", "sub/AGENTS.md"]
    assert "-Test first.\n+Be evil." in asked["AGENTS.md"].detail
    assert asked["AGENTS.md"].note == "changed by the command; no undoes it"
    assert (work / "AGENTS.md").read_text() == ("Be evil.\n" if stays else "Be brief.\nTest first.\n")
    assert (work / "sub/AGENTS.md").exists() == stays
    assert ("AGENTS.md was put back again" in said) == (not stays)


def test_a_folder_with_very_many_files_is_looked_at_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(autorun, "_MOST_ENTRIES", 20)
    assert autorun.find_autorun([tmp_path]).is_whole
    for number in range(30):
        (tmp_path / f"f{number}").touch()
    assert not autorun.find_autorun([tmp_path]).is_whole


# Root is sandboxed like anyone else. Nothing is written here: an escape would change the machine.


@pytest.mark.bubblewrap
def test_no_command_in_bubblewrap_may_change_settings_of_the_kernel(lab: Path) -> None:
    kept = kept_in(lab, sandbox.find_sandbox())
    told = run(kept, "test -w /proc/sys/kernel/core_pattern || test -w /proc/sysrq-trigger; echo $?")
    assert told.stdout == "1\n"
    assert run(kept, "cat /proc/sys/kernel/ostype").stdout == "Linux\n"


@linux
@pytest.mark.parametrize("kind", KINDS)
def test_no_command_has_capabilities_or_makes_a_device(lab: Path, kind: str) -> None:
    found = LANDLOCK if kind == "landlock" else sandbox.find_sandbox()
    kept = kept_in(lab, found)
    held = run(kept, "grep -i 'cap[epi]' /proc/self/status | cut -f2").stdout.split()
    most = 0b1111 if kind == "landlock" else 0
    assert [int(each, 16) & ~most for each in held] == [0, 0, 0], "but for those that are about files"
    for device in ("c 1 3", "b 7 200"):
        assert run(kept, f"mknod made {device}").returncode
        assert not (lab / "work/made").exists()
    assert run(kept, "mkfifo pipe && ln -s pipe link && rm pipe link").returncode == 0
