"""Output of a program we talk to, as a stream, and its end."""

import asyncio

from tui_app.system.processes import Listener

_MOST_BYTES = 2_000
_STREAM_BYTES = 1 << 16


class ProgramOutput(Listener):
    """Streams what a program prints. asyncio pauses the program's output while nothing reads it.

    Args:
        line_bytes: Maximum bytes of one line.
    """

    def __init__(self, line_bytes: int = _STREAM_BYTES) -> None:
        super().__init__()
        self.output = asyncio.StreamReader(line_bytes)
        self._said = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self.output.set_transport(transport.get_pipe_transport(1))  # type: ignore[arg-type]

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self.output.feed_data(data)
        else:
            self._said = (self._said + data)[-_MOST_BYTES:]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self.output.feed_eof()

    @property
    def stderr_tail(self) -> str:
        """The end of its standard error."""
        return self._said.decode("utf-8", "replace").strip()


def exit_text(status: int | None) -> str:
    """How a program ended, as part of a sentence; None if it still runs without its output."""
    if status is None:
        return "it closed its output"
    return f"it exited with status {status}" if status >= 0 else f"it was ended by signal {-status}"
