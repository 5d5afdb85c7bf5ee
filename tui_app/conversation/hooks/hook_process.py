"""Runs a hook's command, bounded in time and output."""

import asyncio
import subprocess
from dataclasses import replace
from time import monotonic

from tui_app.conversation.hooks.hook_outcomes import HookExit
from tui_app.records import frozen
from tui_app.settings.tables import Hook
from tui_app.system.processes import Listener, NotStarted, Pipes, start_group
from tui_app.system.trust import NotTrusted, ProgramPlace

OUTPUT_BYTES = 64 * 1024
"""Bytes kept of each of stdout and stderr; what comes after is read and dropped, so that nobody blocks."""


class _Output(Listener):
    """Collects what a process says."""

    def __init__(self) -> None:
        super().__init__()
        self.said = {1: bytearray(), 2: bytearray()}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep what there is room for."""
        self.said[fd] += data[: OUTPUT_BYTES - len(self.said[fd])]

    def text(self, fd: int) -> str:
        """What was said, whatever the bytes are."""
        return self.said[fd].decode("utf-8", "replace")


@frozen
class Runner:
    """Runs commands where the user's own programs start."""

    place: ProgramPlace
    """With an environment that holds no keys."""

    async def run_command(self, hook: Hook, stdin: bytes, timeout_s: float) -> HookExit:
        """Run a command to its end; when cancelled, end it with all its children and return at once.

        Args:
            hook: What to run.
            stdin: What it is given to read.
            timeout_s: Seconds after which it is ended.
        """
        started = monotonic()
        timed_out = cancelled = False
        try:
            words = ("/bin/sh", "-c", hook.command) if isinstance(hook.command, str) else hook.command
            pipes = Pipes(stdin=subprocess.PIPE)
            cwd, env = self.place.start_folder(hook.cwd), self.place.environment()
            group = await start_group(_Output, words, cwd=cwd, env=env, pipes=pipes)
        except NotTrusted as error:
            return HookExit(missing=str(error))
        except NotStarted as error:
            return HookExit(missing=error.why)
        except asyncio.CancelledError:
            # Whoever cancelled hears of it from the outcome: the event must still be written.
            return HookExit(cancelled=True)
        try:
            pipe = group.transport.get_pipe_transport(0)
            if isinstance(pipe, asyncio.WriteTransport):
                # As far as the process reads it.
                pipe.write(stdin)
                pipe.close()
            async with asyncio.timeout(timeout_s):
                await group.listener.exited.wait()
        except TimeoutError:
            timed_out = True
        except asyncio.CancelledError:
            cancelled = True
        finally:
            cancelled = await group.end() or cancelled
        code = None if timed_out or cancelled else group.transport.get_returncode()
        out, err, took = group.listener.text(1), group.listener.text(2), monotonic() - started
        ended = HookExit(exit=code, stdout=out, stderr=err, duration_s=took, limit_s=timeout_s)
        return replace(ended, timed_out=timed_out, cancelled=cancelled)
