"""The process of a hook, bounded in time and output."""

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
"""Bytes kept of each of stdout and stderr. The rest is read and dropped, so that the hook never blocks."""


class _Output(Listener):
    def __init__(self) -> None:
        super().__init__()
        self.said = {1: bytearray(), 2: bytearray()}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep the data that fits the limit."""
        self.said[fd] += data[: OUTPUT_BYTES - len(self.said[fd])]

    def text(self, fd: int) -> str:
        """Decode the output, replacing invalid bytes."""
        return self.said[fd].decode("utf-8", "replace")


@frozen
class Runner:
    """Runs hook commands."""

    place: ProgramPlace
    """Its environment contains no keys."""

    async def run_command(self, hook: Hook, stdin: bytes, timeout_s: float) -> HookExit:
        """Run a command to its end. When cancelled, kill it with all its children and return at once.

        Args:
            hook: What to run.
            stdin: Its input.
            timeout_s: Timeout in seconds.
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
            # Return instead of raising: the outcome must still be logged.
            return HookExit(cancelled=True)
        try:
            pipe = group.transport.get_pipe_transport(0)
            if isinstance(pipe, asyncio.WriteTransport):
                # The process may not read all of it.
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
