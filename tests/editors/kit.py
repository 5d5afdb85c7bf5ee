"""``plimsoll acp`` as a process, and an editor that uses the protocol's own client."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, text_block
from acp.client.connection import ClientSideConnection
from acp.schema import AllowedOutcome, PromptResponse, RequestPermissionResponse

from tests.forked import Piped

ROOT = Path(__file__).parents[2]
WAIT_S = 60
LINE_BYTES = 50_000_000


@dataclass
class Editor:
    """An editor that records the updates it receives."""

    updates: list[tuple[str, Any]] = field(default_factory=list)
    permission: str = "once"
    asked: list[Any] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def on_connect(self, conn: Any) -> None:
        """Needs no set-up."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append((session_id, update))
        self._news.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append((session_id, tool_call, options))
        self._news.set()
        return RequestPermissionResponse(
            outcome=AllowedOutcome(outcome="selected", option_id=self.permission)
        )

    def of(self, session: str, kind: str) -> list[Any]:
        """Updates of one kind for one session."""
        return [u for id, u in self.updates if id == session and u.session_update == kind]

    def text(self, session: str, kind: str = "agent_message_chunk") -> str:
        """The text of all message chunks, joined."""
        return "".join(update.content.text for update in self.of(session, kind))

    async def until(self, wanted: Callable[[], bool]) -> None:
        """Wait for an update that makes a condition true."""
        async with asyncio.timeout(WAIT_S):
            while not wanted():
                self._news.clear()
                await self._news.wait()


@dataclass
class Talk:
    """A process, an editor, and their connection."""

    process: Piped
    editor: Editor
    agent: ClientSideConnection
    cwd: Path

    async def begin(self) -> str:
        """Create a session."""
        await self.agent.initialize(protocol_version=PROTOCOL_VERSION)
        return (await self.agent.new_session(cwd=str(self.cwd), mcp_servers=[])).session_id

    async def say(self, session: str, text: str) -> PromptResponse:
        """Send a prompt and wait for the end of its turn."""
        async with asyncio.timeout(WAIT_S):
            return await self.agent.prompt(session_id=session, prompt=[text_block(text)])


async def started(cwd: Path, *arguments: str) -> asyncio.subprocess.Process:
    """The program as a process with pipes."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tui_app", "acp", *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        cwd=cwd, env={**os.environ, "PYTHONPATH": str(ROOT)}, limit=LINE_BYTES,
    )  # fmt: skip


@asynccontextmanager
async def talking(cwd: Path, *arguments: str, editor: Editor | None = None) -> AsyncIterator[Talk]:
    """Run the program and connect. Its stdin is closed after the block, and it must exit."""
    process = await Piped.start(["acp", *arguments], cwd=cwd, limit=LINE_BYTES)
    editor = editor or Editor()
    agent = ClientSideConnection(editor, process.stdin, process.stdout, use_unstable_protocol=True)
    try:
        yield Talk(process, editor, agent, cwd)
    finally:
        await agent.close()
        process.stdin.close()
        try:
            async with asyncio.timeout(WAIT_S):
                await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()


def endpoint(home: Path, base_url: str, window: int = 32_000, more: str = "") -> None:
    """Set the model to ``local:scripted``, and add further settings."""
    config = home / "config"
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text(
        'model = "local:scripted"\nretries = 0\n[endpoints.local]\n'
        f'base_url = "{base_url}"\nwindow = {window}\n{more}'
    )
