"""Start the program, or a module, as a fork of a server process that has imported everything already.

A normal start takes two to four seconds of CPU time, nearly all of it for imports. Pipes, terminal, signals,
exit code, environment and folder behave as in any other process. Tests of start-up start the real program
instead, and so do tests that inspect a process's environment or command line from outside.
"""

import asyncio
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import forkserver, reduction
from pathlib import Path
from typing import Any

from tui_app.__main__ import main

LOADED = "tests.forked_modules"
"""The module that the fork server imports before it forks."""
_context = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class _File:
    """A file descriptor passed to the child process."""

    number: int

    def __reduce__(self) -> tuple[Any, ...]:
        return _detached, (reduction.DupFd(self.number),)


def _detached(file: Any) -> _File:
    return _File(file.detach())


def _run(
    files: Sequence[_File], terminal: str, argv: Sequence[str], env: Mapping[str, str], cwd: Path, module: str
) -> None:
    """Run the program or a module in the child: on three open files, or as session leader of a terminal."""
    os.setsid()
    numbers = [file.number for file in files] or [os.open(terminal, os.O_RDWR)] * 3
    for number, file in enumerate(numbers):
        os.dup2(file, number)
    for file in {*numbers} - {0, 1, 2}:
        os.close(file)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        mode, buffering = ("w", 1) if number == 2 or (number and terminal) else ("w" if number else "r", -1)
        file = open(number, mode, buffering, encoding="utf-8", closefd=False)  # noqa: SIM115 -- as a start does
        setattr(sys, name, file)
        setattr(sys, f"__{name}__", file)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    os.chdir(cwd)
    sys.argv = [module or "plimsoll", *argv]
    if module:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        sys.exit()
    sys.exit(main(argv))


class Forked:
    """A running command with the parts of ``subprocess.Popen`` that tests use."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        files: Sequence[int] = (),
        terminal: str = "",
        env: Mapping[str, str],
        cwd: Path,
        module: str = "",
    ) -> None:
        """Start the program on three open files or in a terminal, or a module as ``-m`` does."""
        given = ([*map(_File, files)], terminal, [*argv], dict(env), cwd, module)
        self._process = _context.Process(target=_run, args=given)
        before = os.environ.copy()
        # The check for leftover processes finds them by PLIMSOLL_HOME, so the fork server must not have it.
        for name in [name for name in before if name.startswith("PLIMSOLL_")]:
            del os.environ[name]
        try:
            _context.set_forkserver_preload([LOADED])
            forkserver.ensure_running()
        finally:
            os.environ.update(before)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid
        self.sentinel = self._process.sentinel
        """A file descriptor that becomes readable when the process ends."""

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, limit_s: float | None = None) -> int:
        self._process.join(limit_s)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("plimsoll", limit_s or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def completed(
    argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, limit_s: float, module: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run the program or a module to its end, without stdin."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, Path(os.devnull).open() as nothing:
        files = (nothing.fileno(), out.fileno(), err.fileno())
        process = Forked(argv, files=files, env=env, cwd=cwd, module=module)
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        said = [(file.seek(0), file.read().decode())[1] for file in (out, err)]
    return subprocess.CompletedProcess(argv, code, *said)


class Read(Forked):
    """A running command whose output is read while it runs."""

    def __init__(self, argv: Sequence[str], *, stdin: int, env: Mapping[str, str], cwd: Path) -> None:
        (stdout, their_out), (stderr, their_err) = os.pipe(), os.pipe()
        super().__init__(argv, files=(stdin, their_out, their_err), env=env, cwd=cwd)
        for each in (their_out, their_err):
            os.close(each)
        self.stdout = os.fdopen(stdout, encoding="utf-8")
        self.stderr = os.fdopen(stderr, encoding="utf-8")

    def communicate(self, *, timeout: float) -> tuple[str, str]:
        """Read the remaining output and wait for the end."""
        with self.stdout, self.stderr, ThreadPoolExecutor(1) as pool:
            err = pool.submit(self.stderr.read)
            out = self.stdout.read()
            self.wait(timeout)
            return out, err.result()


class Piped:
    """A running command with pipes and the parts of ``asyncio.subprocess.Process`` that tests use."""

    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader

    @classmethod
    async def start(cls, argv: Sequence[str], *, cwd: Path, limit: int, module: str = "") -> "Piped":
        """Start the command; ``limit`` is the maximum length of a line in bytes."""
        self, loop = cls(), asyncio.get_running_loop()
        (their_in, stdin), (stdout, their_out), (stderr, their_err) = os.pipe(), os.pipe(), os.pipe()
        theirs = (their_in, their_out, their_err)
        self._process = Forked(argv, files=theirs, env=os.environ, cwd=cwd, module=module)
        self.pid = self._process.pid
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
    def returncode(self) -> int | None:
        return self._process.returncode

    def send_signal(self, number: int) -> None:
        self._process.send_signal(number)

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
        self.stdin.close()
        return self.returncode

    async def communicate(self) -> tuple[bytes, bytes]:
        """Read the remaining output; stdin is closed already."""
        out, err = await asyncio.gather(self.stdout.read(), self.stderr.read())
        await self.wait()
        return out, err
