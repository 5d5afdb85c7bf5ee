"""Commands: bounded, streamed, and ended together with every process of their group."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.process_ends import LIMIT_S, gone
from tui_app.agent.tools import commands
from tui_app.agent.tools.commands import (
    HEAD_CHARS,
    TAIL_CHARS,
    CommandStopped,
    Output,
    ProcessRunner,
    readable,
)
from tui_app.system import processes
from tui_app.system.processes import Listener, NotStarted

GRANDCHILDREN = (
    "import subprocess, sys, time\n"
    'child = \'import subprocess, sys, time; print(subprocess.Popen([sys.executable, "-c", '
    '"import time; time.sleep(600)"]).pid, flush=True); time.sleep(600)\'\n'
    "print(subprocess.Popen([sys.executable, '-c', child]).pid, flush=True)\n"
    "time.sleep(600)\n"
)


def runner(cwd: Path, **env: str) -> ProcessRunner:
    return ProcessRunner(cwd, {"PATH": os.environ["PATH"], **env})


async def test_both_streams_in_order_and_the_exit_code(tmp_path: Path) -> None:
    heard: list[str] = []
    code = (
        "import os\nfor n in range(3):\n os.write(1, b'%d\\n' % n); os.write(2, b'e %d\\n' % n)\nos._exit(3)"
    )
    ended = await runner(tmp_path).run([sys.executable, "-c", code], 20, heard.append)
    assert (ended.code, ended.text) == (3, "0\ne 0\n1\ne 1\n2\ne 2\n")
    assert "".join(heard) == ended.text


async def test_output_is_handed_on_while_the_command_runs(tmp_path: Path) -> None:
    first = asyncio.Event()
    code = "import signal\nprint('begun', flush=True)\nsignal.pause()"
    task = asyncio.create_task(
        runner(tmp_path).run([sys.executable, "-c", code], 60, lambda _text: first.set())
    )
    await asyncio.wait_for(first.wait(), LIMIT_S)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("how", ["cancel", "timeout"])
async def test_grandchildren_are_ended_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    pids: list[int] = []
    loop, both, started = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
    start_group = commands.start_group

    async def starting(*args: Any, **options: Any) -> Any:
        group = await start_group(*args, **options)
        started.set()
        return group

    def heard(text: str) -> None:
        pids.extend(map(int, text.split()))
        if len(pids) == 2:
            both.set()

    monkeypatch.setattr(commands, "start_group", starting)
    task = asyncio.create_task(runner(tmp_path).run([sys.executable, "-c", GRANDCHILDREN], 600, heard))
    await asyncio.wait_for(both.wait(), LIMIT_S)
    # Its output can arrive before its time limit has started.
    await asyncio.wait_for(started.wait(), LIMIT_S)
    if how == "cancel":
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, LIMIT_S)
    else:
        clock = loop.time
        monkeypatch.setattr(loop, "time", lambda: clock() + 600)
        assert (await task).timed_out
    assert len(pids) == 2
    assert all(map(gone, pids))


async def test_what_it_printed_before_it_was_watched_over_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It prints at once, and is stopped while the process that would end it with us still starts."""
    started, printed, stopped = processes._started, asyncio.Event(), asyncio.Event()

    async def starting(listener: Any, *args: Any) -> Any:
        if listener is Listener:
            await stopped.wait()
        return await started(listener, *args)

    monkeypatch.setattr(processes, "_started", starting)
    heard: list[str] = []

    def hear(text: str) -> None:
        heard.append(text)
        printed.set()

    words = ["/bin/sh", "-c", "echo begun; sleep 600"]
    task = asyncio.create_task(runner(tmp_path).run(words, 600, hear))
    await asyncio.wait_for(printed.wait(), LIMIT_S)
    task.cancel()
    stopped.set()
    with pytest.raises(CommandStopped) as ended:
        await asyncio.wait_for(task, LIMIT_S)
    assert ended.value.printed == "".join(heard) == "begun\n"


async def test_cancelled_again_and_again_it_is_ended_all_the_same(tmp_path: Path) -> None:
    for steps in range(1, 12):
        heard: list[str] = []
        task = asyncio.create_task(
            runner(tmp_path).run(["/bin/sh", "-c", "sleep 600 & echo $!; wait"], 60, heard.append)
        )
        for _ in range(steps):
            await asyncio.sleep(0)
        while not task.done():
            task.cancel()
            await asyncio.sleep(0)
        assert task.cancelled()
        assert all(gone(int(pid)) for pid in "".join(heard).split())


async def test_what_a_command_leaves_running_is_ended_with_it(tmp_path: Path) -> None:
    ended = await runner(tmp_path).run(["/bin/sh", "-c", "sleep 600 & echo $!"], 20, lambda _: None)
    assert ended.code == 0
    assert gone(int(ended.text))


async def test_there_is_no_input(tmp_path: Path) -> None:
    ended = await runner(tmp_path).run(["cat"], 20, lambda _: None)
    assert (ended.code, ended.text) == (0, "")


@pytest.mark.parametrize("words", [["no-such-program-at-all"], ["/etc"], ["echo", "a\0b"]])
async def test_what_cannot_be_started_says_so(tmp_path: Path, words: list[str]) -> None:
    with pytest.raises(NotStarted):
        await runner(tmp_path).run(words, 20, lambda _: None)


async def test_a_flood_is_bounded(tmp_path: Path) -> None:
    ended = await runner(tmp_path).run(["/bin/sh", "-c", "yes | head -c 5000000"], 60, lambda _: None)
    assert len(ended.text) < HEAD_CHARS + TAIL_CHARS + 200
    assert "4,200,000 characters left out here" in ended.text


def test_characters_that_come_in_two_portions_are_whole() -> None:
    output = Output()
    for byte in "sea ≈ sky".encode():
        output.feed(bytes([byte]))
    assert output.text() == "sea ≈ sky"


def test_colours_and_overwritten_lines_are_gone() -> None:
    assert readable("\x1b[31mred\x1b[0m\r\n 10%\r 50%\r100%\ndone") == "red\n100%\ndone"


def test_a_killed_program_leaves_no_command_running(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from tui_app.agent.tools.commands import ProcessRunner\n"
        f"words = [sys.executable, '-c', {GRANDCHILDREN!r}]\n"
        f"runner = ProcessRunner(Path({str(tmp_path)!r}), {{}})\n"
        "asyncio.run(runner.run(words, 600, lambda text: print(text, flush=True, end='')))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        pids = [int(program.stdout.readline()) for _ in range(2)]
        program.kill()
    assert all(map(gone, pids))
