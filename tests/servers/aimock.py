"""The aimock server on loopback: an independent implementation of the wire formats.

It comes from npm (``@copilotkit/aimock``), needs node, and speaks OpenAI chat and responses, Anthropic and
Gemini. Nothing is installed here: ``PLIMSOLL_NODE_MODULES`` names the ``node_modules`` folder to use.
"""

import contextlib
import json
import os
import select
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VARIABLE = "PLIMSOLL_NODE_MODULES"
START_LIMIT_S = 60.0
STOP_LIMIT_S = 10.0

FIXTURES: Sequence[Mapping[str, Any]] = (
    {
        "match": {"userMessage": "[full]"},
        "response": {
            "status": 400,
            "error": {
                "message": "This model's maximum context length is 4096 tokens. However, your messages "
                "resulted in 5120 tokens. Please reduce the length of the messages.",
                "type": "invalid_request_error",
                "code": "context_length_exceeded",
            },
        },
    },
    {
        "match": {"userMessage": "[busy]"},
        "response": {
            "status": 429,
            "error": {"message": "Too many requests, slow down.", "type": "rate_limit_error"},
        },
    },
    {
        "match": {"userMessage": "[read]", "hasToolResult": True},
        "response": {"content": "The file was read and says what it says."},
    },
    {
        "match": {"userMessage": "[read]"},
        "response": {"toolCalls": [{"name": "read_file", "arguments": {"path": "notes.txt"}}]},
    },
    {
        "match": {"userMessage": "[cut]"},
        "response": {"content": "This sentence is broken off somewhere before its end is reached."},
        "truncateAfterChunks": 3,
        "chunkSize": 6,
    },
    {
        "match": {},
        "response": {
            "content": "An ordinary answer.",
            "usage": {"prompt_tokens": 1200, "completion_tokens": 5, "total_tokens": 1205},
        },
    },
)
"""Answers selected by a marker in the user's message; the first match wins."""


@dataclass(frozen=True)
class AiMock:
    """A running aimock server."""

    address: str
    """Root URL. OpenAI clients append ``/v1``, Anthropic clients nothing."""

    @property
    def base_url(self) -> str:
        """Base URL for clients of the OpenAI protocol."""
        return f"{self.address}/v1"

    def journal(self) -> list[dict[str, Any]]:
        """Requests received so far, oldest first."""
        with urllib.request.urlopen(f"{self.address}/__aimock/journal", timeout=START_LIMIT_S) as answer:
            entries: list[dict[str, Any]] = json.load(answer)
        return entries


def command_line(node_modules: str | None) -> list[str]:
    """The command that starts aimock.

    Raises:
        RuntimeError: if node or the package is missing; the message says what to install.
    """
    node = shutil.which("node")
    script = Path(node_modules or "") / "@copilotkit" / "aimock" / "dist" / "cli.js"
    if node is None:
        raise RuntimeError("these tests need node on the PATH (Debian: apt-get install nodejs npm)")
    if not node_modules or not script.is_file():
        raise RuntimeError(
            f"{VARIABLE} must name a node_modules folder that holds @copilotkit/aimock (it is "
            f"{node_modules!r}): run 'npm install @copilotkit/aimock' in an empty folder and name the "
            "node_modules that appears there"
        )
    return [node, str(script)]


@contextlib.contextmanager
def running_aimock(
    folder: Path, node_modules: str | None, fixtures: Sequence[Mapping[str, Any]] = FIXTURES
) -> Iterator[AiMock]:
    """Run aimock with these fixtures for the duration of the block.

    Raises:
        RuntimeError: if it is not installed or does not start.
    """
    file = folder / "fixtures.json"
    file.write_text(json.dumps({"fixtures": list(fixtures)}))
    command = [*command_line(node_modules), "--port", "0", "--fixtures", str(file), "--strict"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield AiMock(_address(process))
    finally:
        process.terminate()
        try:
            process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _address(process: subprocess.Popen[str]) -> str:
    """Read the server's output until it prints its address."""
    said = ""
    # Reads raw bytes rather than lines: ``select`` does not see data that a buffered reader has read already.
    while process.stdout is not None and select.select([process.stdout], [], [], START_LIMIT_S)[0]:
        piece = os.read(process.stdout.fileno(), 65_536).decode("utf-8", "replace")
        if not piece:
            break
        said += piece
        if "\n" in (address := said.partition("listening on ")[2]):
            return address.split("\n")[0].strip()
    raise RuntimeError(f"aimock did not start: {said}")
