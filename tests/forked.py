"""The program as processes of its own that have nothing to load: forks of one that has it all loaded.

A start takes two to four seconds of the processor, nearly all of it for imports. What a test does with its
process (pipes, signals, exit code, environment, folder) is as with any other. Tests of starts start it.
"""

import asyncio
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import forkserver, reduction
from pathlib import Path
from typing import Any

from tui_app.__main__ import main

LOADED = "tests.forked_modules"
"""What the server loads before it forks."""
_context = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class _File:
    """A file descriptor that goes along to the process."""

    number: int

    def __reduce__(self) -> tuple[Any, ...]:
        return _detached, (reduction.DupFd(self.number),)


def _detached(file: Any) -> _File:
    return _File(file.detach())


def _run(files: Sequence[_File], argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
    """Be the program."""
    for number, file in enumerate(files):
        os.dup2(file.number, number)
        os.close(file.number)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        mode, buffering = ("w", 1) if number else ("r", -1)
        file = open(number, mode, buffering, encoding="utf-8", closefd=False)  # noqa: SIM115 -- as a start does
        setattr(sys, name, file)
        setattr(sys, f"__{name}__", file)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    os.chdir(cwd)
    sys.argv = ["plimsoll", *argv]
    sys.exit(main(argv))


def forked(
    files: Sequence[int], argv: Sequence[str], *, env: Mapping[str, str], cwd: Path
) -> multiprocessing.process.BaseProcess:
    """Run a command on three open files."""
    process = _context.Process(target=_run, args=([*map(_File, files)], argv, dict(env), cwd))
    before = os.environ.copy()
    try:
        # The server is asked for its environment where processes are looked for that a test has left.
        for name in [name for name in before if name.startswith("PLIMSOLL_")]:
            del os.environ[name]
        _context.set_forkserver_preload([LOADED])
        forkserver.ensure_running()
    finally:
        os.environ.update(before)
    process.start()
    return process


class Piped:
    """A running command with pipes: what tests use of ``asyncio.subprocess.Process``."""

    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader

    @classmethod
    async def start(cls, argv: Sequence[str], *, cwd: Path, limit: int) -> "Piped":
        """Begin."""
        self, loop = cls(), asyncio.get_running_loop()
        (their_in, stdin), (stdout, their_out), (stderr, their_err) = os.pipe(), os.pipe(), os.pipe()
        theirs = (their_in, their_out, their_err)
        self._process = forked(theirs, argv, env=os.environ, cwd=cwd)
        for each in theirs:
            os.close(each)
        transport, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(stdin, "wb", 0)
        )
        self.stdin = asyncio.StreamWriter(transport, protocol, None, loop)
        self.stdout, self.stderr = asyncio.StreamReader(limit), asyncio.StreamReader(limit)
        for reader, file in ((self.stdout, stdout), (self.stderr, stderr)):
            made = asyncio.StreamReaderProtocol(reader)
            await loop.connect_read_pipe(lambda made=made: made, os.fdopen(file, "rb", 0))
        return self

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()

    async def wait(self) -> int | None:
        if self.returncode is None:
            loop, ended = asyncio.get_running_loop(), asyncio.Event()
            loop.add_reader(self._process.sentinel, ended.set)
            try:
                await ended.wait()
            finally:
                loop.remove_reader(self._process.sentinel)
        return self.returncode

    async def communicate(self) -> tuple[bytes, bytes]:
        """What is left to read; stdin is closed already."""
        out, err = await asyncio.gather(self.stdout.read(), self.stderr.read())
        await self.wait()
        return out, err
