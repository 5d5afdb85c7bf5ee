"""Real processes: what they are given, how they end, and that nobody outlives them."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.conversation.hooks.commands import ECHO, FAMILY, sh
from tests.process_ends import LIMIT_S, alive, gone
from tui_app.conversation.hooks import OUTPUT_BYTES, HookExit, Runner
from tui_app.settings.tables import Hook


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path, {"PATH": os.environ["PATH"], "HARBOUR": "quiet"})


async def run(runner: Runner, hook: Hook, stdin: bytes = b"", timeout_s: float = 30.0) -> HookExit:
    return await runner.run_command(hook, stdin, timeout_s)


async def test_it_gets_input_folder_environment_and_no_shell(runner: Runner) -> None:
    ended = await run(runner, sh(ECHO), b"an event\n")
    assert (ended.exit, ended.stdout, ended.stderr) == (0, "an event\n", "heard\n")
    ended = await run(runner, sh("pwd -P; echo $HARBOUR; tty"))
    assert ended.stdout.splitlines()[:2] == [str(runner.cwd.resolve()), "quiet"]
    ended = await run(runner, Hook(command=("echo", "$HARBOUR; pwd")))
    assert ended.stdout == "$HARBOUR; pwd\n"


@pytest.mark.parametrize(("line", "code"), [("exit 2", 2), ("exit 41", 41), ("kill -SEGV $$", -11)])
async def test_how_it_ended(runner: Runner, line: str, code: int) -> None:
    assert (await run(runner, sh(line))).exit == code


@pytest.mark.parametrize("command", [("no-such-program-anywhere",), (".",), ("two\0words",)])
async def test_what_cannot_be_started_is_said(runner: Runner, command: tuple[str, ...]) -> None:
    ended = await run(runner, Hook(command=command))
    assert ended.exit is None
    assert ended.missing


async def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    assert (await run(Runner(tmp_path / "gone", {}), sh("true"))).missing == "No such file or directory"


async def test_one_that_does_not_read_its_input(runner: Runner) -> None:
    ended = await run(runner, sh("echo done"), b"x" * 5_000_000)
    assert (ended.exit, ended.stdout) == (0, "done\n")


async def test_endless_output_is_bounded_and_blocks_nobody(runner: Runner) -> None:
    loud = "import sys; [sys.stdout.write('x' * 65536) for _ in range(200)]; sys.stderr.write('end')"
    ended = await run(runner, Hook(command=(sys.executable, "-c", loud)))
    assert ended.exit == 0
    assert len(ended.stdout) == OUTPUT_BYTES
    assert ended.stderr == "end"


async def test_bytes_that_are_no_text(runner: Runner) -> None:
    ended = await run(runner, sh(r"printf 'caf\351 \377'"))
    assert ended.stdout == "caf\ufffd \ufffd"


async def test_one_that_takes_too_long_is_ended_with_its_children(runner: Runner) -> None:
    ended = await run(runner, sh(FAMILY), timeout_s=2.0)
    assert (ended.exit, ended.timed_out, ended.limit_s) == (None, True, 2.0)
    assert gone(int(ended.stdout))


async def test_children_left_behind_are_ended_too(runner: Runner) -> None:
    ended = await run(runner, sh("sleep 600 & echo $!"))
    assert (ended.exit, ended.timed_out) == (0, False)
    assert gone(int(ended.stdout))


async def test_one_who_left_the_group_holds_nothing_up(runner: Runner) -> None:
    os.mkfifo(runner.cwd / "left")
    leave = (
        "import os; os.setsid(); print(os.getpid(), flush=True); open('left', 'w').close(); "
        "os.execlp('sleep', 'sleep', '600')"
    )
    ended = await run(runner, sh(f'{sys.executable} -c "{leave}" & cat left'))
    assert (ended.exit, ended.timed_out) == (0, False)
    assert alive(int(ended.stdout))
    os.kill(int(ended.stdout), signal.SIGKILL)


async def test_cancelled_it_is_ended_with_its_children_and_said(runner: Runner, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "begun")
    running = asyncio.create_task(run(runner, sh("sleep 600 & echo $! > begun; wait")))
    pid = int(await asyncio.to_thread((tmp_path / "begun").read_text))
    assert alive(pid)
    running.cancel()
    ended = await running
    assert (ended.cancelled, ended.exit) == (True, None)
    assert gone(pid)


async def test_cancelled_while_it_starts(runner: Runner) -> None:
    """At any moment of the start: asyncio itself would wait for ever for a process that is half there."""
    for steps in range(1, 12):
        running = asyncio.create_task(run(runner, sh(FAMILY)))
        for _ in range(steps):
            await asyncio.sleep(0)
        running.cancel()
        async with asyncio.timeout(LIMIT_S):
            ended = await running
        assert ended.cancelled
        assert not ended.stdout or gone(int(ended.stdout))


async def test_cancelled_again_and_again_while_it_starts(runner: Runner) -> None:
    """Nobody who is in a hurry leaves a process behind, or an end that nobody tells of."""
    for steps in range(1, 12):
        running = asyncio.create_task(run(runner, sh(FAMILY)))
        for _ in range(steps):
            await asyncio.sleep(0)
        async with asyncio.timeout(LIMIT_S):
            while not running.done():
                running.cancel()
                await asyncio.sleep(0)
        ended = running.result()
        assert ended.cancelled
        assert not ended.stdout or gone(int(ended.stdout))


async def test_cancelled_before_it_is_found_that_it_cannot_be_started(runner: Runner) -> None:
    running = asyncio.create_task(run(runner, Hook(command=("no-such-program-anywhere",))))
    await asyncio.sleep(0)
    running.cancel()
    ended = await running
    assert (ended.cancelled, bool(ended.missing)) == (True, True)
