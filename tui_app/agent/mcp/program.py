"""The program of an MCP server, with one message per line over its pipes.

Its process group ends with the connection, and when we are killed.
"""

import asyncio
import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from tui_app.agent.program_output import ProgramOutput, exit_text
from tui_app.agent.waits import end_tasks, first_of, run_alongside
from tui_app.system.processes import NotStarted, Pipes, ProcessGroup, start_group

LINE_BYTES = 16 << 20
"""Maximum bytes of one message, which is kept in memory until it is complete."""
GRACE_S = 0.5
"""Seconds a server has to exit after its input was closed, and again after SIGTERM."""
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.S
)
"""An escape sequence of JSON; the group is an unpaired surrogate."""
_Incoming = MemoryObjectSendStream[SessionMessage | Exception]
_Outgoing = MemoryObjectReceiveStream[SessionMessage]


def mended(line: bytes) -> bytes:
    """Replace unpaired surrogates in a line of JSON, which no parser accepts."""
    if b"\\u" not in line:
        return line
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], line)


class Program:
    """A server's program. Start it once; create and use it on one event loop."""

    def __init__(self) -> None:
        self.ended = ""
        """Why it is gone, as part of a sentence; empty while it runs, or if we stopped it."""
        self.printed = ProgramOutput(LINE_BYTES)
        self._leaving = False

    @asynccontextmanager
    async def streams(
        self, words: Sequence[str], cwd: Path, env: Mapping[str, str]
    ) -> AsyncIterator[tuple[Any, Any]]:
        """Start the program, and stop it at the end of the block.

        Args:
            words: Program and arguments.
            cwd: Its folder.
            env: Its environment.

        Raises:
            NotStarted: if it cannot be started.
        """
        pipes = Pipes(stdin=subprocess.PIPE)
        try:
            group = await start_group(lambda: self.printed, words, cwd=cwd, env=env, pipes=pipes)
        except NotStarted as error:
            self.ended = f"it cannot be run: {error.why}"
            raise
        incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        both = self._read(group, incoming), self._write(group, outgoing)
        working = [asyncio.create_task(each) for each in both]
        try:
            yield read, write
        finally:
            self._leaving = True
            try:
                await self._end(group)
            finally:
                await group.end()
                await end_tasks(*working)
                for stream in (incoming, read, write, outgoing):
                    stream.close()

    async def _end(self, group: ProcessGroup[ProgramOutput]) -> None:
        """Let it exit on its own: close its input, and send SIGTERM a little later."""
        pipe: Any = group.transport.get_pipe_transport(0)
        pipe.close()
        await first_of(self.printed.exited.wait(), timeout_s=GRACE_S)
        if not self.printed.exited.is_set():
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group.transport.get_pid(), signal.SIGTERM)
            await first_of(self.printed.exited.wait(), timeout_s=GRACE_S)

    async def _read(self, group: ProcessGroup[ProgramOutput], incoming: _Incoming) -> None:
        exited = self.printed.exited
        async with incoming:
            async with run_alongside(self._lines(incoming)) as reading:
                await first_of(reading, exited.wait())
                # Its last output; a child process may keep the pipes open.
                await first_of(reading, timeout_s=GRACE_S)
                await first_of(exited.wait(), timeout_s=GRACE_S)
            if not self._leaving:
                self.ended = self.ended or exit_text(group.transport.get_returncode())

    async def _lines(self, incoming: _Incoming) -> None:
        try:
            while line := await self.printed.output.readline():
                try:
                    message = jsonrpc_message_adapter.validate_json(mended(line), by_name=False)
                except ValueError as error:
                    await incoming.send(error)
                else:
                    await incoming.send(SessionMessage(message))
        except ValueError:
            self.ended = f"it sent a message of more than {LINE_BYTES >> 20} MB"

    async def _write(self, group: ProcessGroup[ProgramOutput], outgoing: _Outgoing) -> None:
        pipe: Any = group.transport.get_pipe_transport(0)
        async with outgoing:
            async for each in outgoing:
                text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                pipe.write(text.encode("utf-8", "replace") + b"\n")
                if pipe.get_write_buffer_size() > LINE_BYTES:
                    self.ended = "it does not read what it is sent"
                    group.kill()
