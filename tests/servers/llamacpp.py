"""llama.cpp's own HTTP server on loopback, in its own process, serving a scripted model file.

Observed with the wheel ``xllamacpp`` 2026.10 and checked by ``test_llamacpp_selfcheck.py``:

* OpenAI chat is served below ``/v1``, Anthropic messages at the root. ``/v1/models`` reports the requested
  context window as ``data[0].meta.n_ctx``; the model file's own ``n_ctx_train`` is another number.
* A prompt that does not fit is a 400 whose ``error`` has ``type: exceed_context_size_error``,
  ``n_prompt_tokens`` and ``n_ctx``; it comes before any token, also for a streamed request.
* Reaching the limit during the answer is not an error: ``finish_reason`` is ``length``.
* With one slot (the default here) a second request waits until the first has ended or its client has gone.
"""

import contextlib
import select
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.servers.scripted_gguf import Script, cached_gguf, sorted_script

PROGRAM = Path(__file__).with_name("llamacpp_main.py")
START_LIMIT_S = 60.0
"""Starting takes a fraction of a second; the limit allows for a machine under load."""
STOP_LIMIT_S = 10.0
MODEL = "scripted"
"""The model's name on the server."""


@dataclass(frozen=True)
class LlamaServer:
    address: str
    """For example ``http://127.0.0.1:43121``."""
    process: subprocess.Popen[str]

    @property
    def base_url(self) -> str:
        """Base URL for clients of the OpenAI protocol."""
        return f"{self.address}/v1"

    @classmethod
    def start(cls, model: Path, n_ctx: int, *, slots: int = 1) -> Self:
        """Start a server and wait until it responds.

        Args:
            model: The model file; the server's log is written to the same folder.
            n_ctx: Context window of each slot in tokens.
            slots: Requests served at the same time.

        Raises:
            RuntimeError: if it does not start; the message ends with its log.
        """
        log = model.with_suffix(f".{n_ctx}.log")
        command = [sys.executable, "-P", str(PROGRAM), str(model), str(n_ctx), str(slots)]
        with log.open("w") as errors:
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        address = _first_line(process)
        server = cls(address, process)
        if not address or not _healthy(address):
            server.stop()
            raise RuntimeError(f"llama.cpp did not start:\n{log.read_text(errors='replace')[-2000:]}")
        return server

    def stop(self) -> None:
        """Kill the process and wait for its end."""
        self.process.terminate()
        try:
            self.process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


class LlamaServers:
    """The servers of a test session, started on first use and shared by tests with the same script."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: dict[tuple[str, int, int], LlamaServer] = {}

    def __call__(self, script: Script, n_ctx: int, *, slots: int = 1) -> str:
        """Base URL (with ``/v1``) of a server with this script and a context window of ``n_ctx`` tokens."""
        key = (repr(sorted_script(script)), n_ctx, slots)
        if key not in self._running:
            model = cached_gguf(script, self._folder)
            self._running[key] = LlamaServer.start(model, n_ctx, slots=slots)
        return self._running[key].base_url

    def stop(self) -> None:
        while self._running:
            self._running.popitem()[1].stop()


@contextlib.contextmanager
def llama_servers(folder: Path) -> Iterator[LlamaServers]:
    """A factory of servers that are stopped at the end of the block."""
    servers = LlamaServers(folder)
    try:
        yield servers
    finally:
        servers.stop()


def _first_line(process: subprocess.Popen[str]) -> str:
    """The line the server prints when it listens; empty if it does not in time, or exits."""
    if process.stdout is None:
        return ""
    ready, _, _ = select.select([process.stdout], [], [], START_LIMIT_S)
    return process.stdout.readline().strip() if ready else ""


def _healthy(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/health", timeout=START_LIMIT_S) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
