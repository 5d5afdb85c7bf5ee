"""Background commands: bounded output, read in pages, and ended with all their processes."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.process_ends import alive, gone, until, written_pids
from tui_app.agent.tools import task_output
from tui_app.agent.tools.command_tool import read_task
from tui_app.agent.tools.commands import ProcessRunner
from tui_app.agent.tools.task_output import TaskOutput
from tui_app.agent.tools.tasks import BackgroundTasks, task_rows
from tui_app.agent.tools.workspace import ToolProblem
from tui_app.events import Payload, TaskEnded, TaskResumed, TaskStarted
from tui_app.system.command_parent import parented
from tui_app.system.processes import NotStarted

linux = pytest.mark.skipif(sys.platform != "linux", reason="the parent of a command is Linux's")


def sh(line: str) -> tuple[str, ...]:
    return parented(("/bin/sh", "-c", line))


@asynccontextmanager
async def opened(folder: Path, **more: object) -> AsyncIterator[tuple[BackgroundTasks, list[Payload]]]:
    told: list[Payload] = []
    runner = ProcessRunner(folder, {"PATH": os.environ["PATH"]})
    tasks = BackgroundTasks(runner=runner, folder=folder / "tasks", report=told.append, **more)  # type: ignore[arg-type]
    try:
        yield tasks, told
    finally:
        await tasks.close()


async def test_it_goes_on_is_read_in_pages_and_stopped(tmp_path: Path) -> None:
    async with opened(tmp_path) as (tasks, told):
        wait = "while ! test -e $n; do sleep 0.01; done"
        line = f"echo ready; for n in 0 1 2; do {wait}; echo got $n; done; sleep 600"
        task = await tasks.start(line, sh(line), "call")
        assert task.is_running
        assert told == [TaskStarted(id="t1", command=line, tool_call_id="call")]
        first = await read_task(task)
        assert first.splitlines()[1:] == ["ready"]
        assert first.startswith("t1 running, ")
        assert "No new output, 1 line in all." in await read_task(task)
        for number in range(3):
            (tmp_path / str(number)).touch()
        await until(lambda: task.output.total >= 4)
        assert (await read_task(task)).splitlines()[1:] == ["got 0", "got 1", "got 2"]
        assert (await read_task(task, 2, 1)).splitlines()[1:] == ["got 0"]
        assert (await read_task(task, -2)).splitlines()[1:] == ["got 1", "got 2"]
        assert await tasks.end_task("t1")
        assert not await tasks.end_task("t1")
        ended = told[-1]
        assert isinstance(ended, TaskEnded)
        assert (ended.outcome, ended.exit_code, ended.lines) == ("stopped", None, 4)
        assert ended.text.endswith("got 2")


async def test_who_reads_along_is_told_of_more_and_of_the_end(tmp_path: Path) -> None:
    async with opened(tmp_path) as (tasks, _):
        wait = "while ! test -e $n; do sleep 0.01; done"
        line = f"echo ready; for n in 0 1; do {wait}; echo got $n; done"
        task = await tasks.start(line, sh(line), "call")
        seen = task.output.chars
        assert seen
        more = asyncio.create_task(tasks.wait_for_output("t1", seen))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not more.done()
        (tmp_path / "0").touch()
        await asyncio.wait_for(more, 5)
        page = await tasks.page("t1", 1, 9)
        assert page is not None
        assert page.chars > seen
        # Output missed in the meantime is available at once.
        await asyncio.wait_for(tasks.wait_for_output("t1", seen), 5)
        (tmp_path / "1").touch()
        while task.is_running:
            await asyncio.wait_for(tasks.wait_for_output("t1", task.output.chars), 5)
        await asyncio.wait_for(tasks.wait_for_output("t1", task.output.chars), 5)
        await asyncio.wait_for(tasks.wait_for_output("t9", 0), 5)


async def test_one_that_ends_is_told_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as (tasks, told):
        done = await tasks.start("x", sh("echo one; exit 3"))
        await until(lambda: not done.is_running)
        assert (done.how, done.exit_code) == ("exit 3", 3)
        assert [id for id, _ in tasks.take_news()] == ["t1"]
        assert not tasks.take_news()
        again = await tasks.start("y", sh("printf no-end"))
        await until(lambda: not again.is_running)
        assert "Lines 1 to 1 of 1" in await read_task(again)
        assert not tasks.take_news(), "whoever has read that it ended is not told"
        with pytest.raises(NotStarted):
            await tasks.start("z", ("/no/such/program",))
        assert len([each for each in told if isinstance(each, TaskStarted)]) == 2


@linux
async def test_nothing_escapes_its_end(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    note = f"echo $$ >>{file}"
    line = (
        f"{note}; setsid sh -c '{note}; trap \"\" TERM HUP INT; sleep 600; true' & "
        f"nohup sh -c '{note}; (setsid sh -c \"echo \\$\\$ >>{file}; exec sleep 600\" &); sleep 600' & "
        "cat </dev/tty; cat; wait"
    )
    async with opened(tmp_path) as (tasks, _):
        await tasks.start(line, sh(line))
        found = await written_pids(file, 4)
        assert await tasks.end_task("t1")
        assert all(map(gone, found))
        file.unlink()
        # A command that leaves a daemon and ends also ends the daemon.
        daemon = (
            f"(setsid sh -c '{note}; exec sleep 600' >/dev/null 2>&1 &) ; while ! test -s {file}; do :; done"
        )
        task = await tasks.start(daemon, sh(daemon))
        found = await written_pids(file, 1)
        await until(lambda: not task.is_running)
        assert all(map(gone, found))
        file.unlink()
        await tasks.start(line, sh(line))
        found = await written_pids(file, 4)
    assert all(map(gone, found)), "ended with the session"


@linux
async def test_a_flood_is_bounded_and_the_loop_goes_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as (tasks, _):
        task = await tasks.start("yes", sh("yes 'a line of the flood'"))
        slowest, end = 0.0, asyncio.get_running_loop().time() + 60
        wanted = task_output.HEAD_BYTES + 3 * task_output.PART_BYTES
        while task.output.chars < wanted and asyncio.get_running_loop().time() < end:
            before = asyncio.get_running_loop().time()
            await asyncio.sleep(0.01)
            slowest = max(slowest, asyncio.get_running_loop().time() - before)
        assert task.output.chars >= wanted
        assert slowest < 1.0
        kept = sum(each.stat().st_size for each in (tmp_path / "tasks").iterdir())
        assert kept <= task_output.HEAD_BYTES + 3 * task_output.PART_BYTES
        await tasks.end_task("t1")
        page = await tasks.page("t1", 1, 5)
        assert page is not None
        low, high = page.missing
        assert 1 < low <= high < page.total
        assert page.lines[0] == (1, "a line of the flood")
        text = await read_task(task, low - 1, 2)
        assert f"[lines {low:,} to {high:,} are no longer kept]" in text


def test_output_keeps_beginning_and_end_with_the_right_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_output, "HEAD_BYTES", 300)
    monkeypatch.setattr(task_output, "PART_BYTES", 500)
    output = TaskOutput(tmp_path, "t1")
    # Chunks that end in the middle of lines.
    text = "".join(f"line {number}\n" for number in range(1, 1001))
    for start in range(0, len(text), 37):
        output.add(text[start : start + 37])
    assert output.total == 1000
    whole = output.page(1, 10_000)
    low, high = whole.missing
    assert low < high
    for number, line in whole.lines:
        if number not in (low - 1, low, high, high + 1):
            assert line == f"line {number}"
    assert whole.lines[-1] == (1000, "line 1000")
    assert len(list(tmp_path.iterdir())) == 3
    assert output.page(-3, 10).lines[0] == (998, "line 998")
    assert output.page(5_000, 10).lines == ()
    endless = TaskOutput(tmp_path, "t2")
    for _ in range(100):
        endless.add("x" * 100)
    assert endless.total == 1
    assert len(endless.page(1, 1).lines[0][1]) < 3_000
    colours = TaskOutput(tmp_path, "t3")
    colours.add("\x1b[31mred\x1b[0m\r\n10%\r100%\n")
    assert [line for _, line in colours.page(1, 9).lines] == ["red", "100%"]
    refused = TaskOutput(tmp_path / "t1-0.txt" / "no", "t4")
    refused.add("lost\n")
    assert "could not be written" in refused.page(1, 1).problem


@linux
async def test_fifty_at_once_and_no_more(tmp_path: Path) -> None:
    async with opened(tmp_path) as (tasks, _):
        await asyncio.gather(*(tasks.start(f"sleep {n}", sh(f"echo {n}; sleep 600")) for n in range(50)))
        assert len(tasks.running) == 50
        with pytest.raises(ToolProblem, match="50 background commands are already running"):
            await tasks.start("one more", sh("sleep 1"))
        children = psutil.Process().children(recursive=True)
        assert len(children) >= 50
        await tasks.end_task("t7")
        await tasks.start("one more", sh("sleep 600"))
    assert all(gone(each.pid) for each in children)


@linux
def test_a_killed_program_leaves_none(tmp_path: Path) -> None:
    code = (
        "import asyncio, os, sys\nfrom pathlib import Path\n"
        "from tests.agent.tools.test_tasks import sh\n"
        "from tui_app.agent.tools.commands import ProcessRunner\n"
        "from tui_app.agent.tools.tasks import BackgroundTasks\n"
        f"folder = Path({str(tmp_path)!r})\n"
        "async def main():\n"
        "    runner = ProcessRunner(folder, {'PATH': os.environ['PATH']})\n"
        "    tasks = BackgroundTasks(runner=runner, folder=folder, report=lambda event: None)\n"
        f"    note = 'echo $$ >>{tmp_path}/pids'\n"
        "    line = note + '; setsid sh -c \"' + note.replace('$', '\\\\$') + '; sleep 600\" & wait'\n"
        "    await tasks.start(line, sh(line))\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[3]) as program:
        found = asyncio.run(written_pids(tmp_path / "pids", 2))
        program.kill()
    assert all(map(gone, found))


@linux
async def test_one_that_is_kept_outlives_the_session(tmp_path: Path) -> None:
    file, go = tmp_path / "pids", tmp_path / "go"
    line = f"echo $$ >>{file}; while ! test -e {go}; do sleep 0.02; done; echo on; echo still; sleep 600"
    async with opened(tmp_path) as (tasks, told):
        await tasks.start(line, sh(line))
        await tasks.start("sleep 600", sh(f"echo $$ >>{file}; sleep 600"))
        kept, other = await written_pids(file, 2)
        assert tasks.keep("t1")
    assert gone(other)
    assert alive(kept)
    ended = {each.id: each for each in told if isinstance(each, TaskEnded)}
    assert ended["t1"].outcome == "kept"
    assert ended["t2"].outcome == "session"
    go.write_text("")
    output = Path(ended["t1"].file)
    await until(lambda: output.exists() and output.read_text() == "on\nstill\n")
    stranger = replace(ended["t1"], id="t9", pid=os.getpid())
    async with opened(tmp_path) as (tasks, told):
        tasks.resume(2, (), [ended["t1"], stranger])
        (row,) = task_rows(tasks)
        assert (row.id, row.is_running, row.keep, row.lines) == ("t1", True, True, 2)
        page = await tasks.page("t1", 1, 10)
        assert page is not None
        assert page.lines == ((1, "on"), (2, "still"))
    assert told == [TaskResumed(id="t1", command=line)], "nothing of the stranger's"
    assert alive(kept), "it goes on as before"
    async with opened(tmp_path) as (tasks, told):
        tasks.resume(2, (), [ended["t1"]])
        assert await tasks.end_task("t1")
        assert gone(kept)
        last = told[-1]
        assert isinstance(last, TaskEnded)
        assert (last.id, last.outcome, last.text) == ("t1", "stopped", "on\nstill")
    await until(lambda: not output.exists())
    async with opened(tmp_path) as (tasks, _):
        tasks.resume(2, (), [ended["t1"]])
        assert not task_rows(tasks), "what has ended is not listed"
