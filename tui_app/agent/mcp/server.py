"""One MCP server through its life: started, listed, called, ended; whatever it does, only it fails."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tui_app.agent.mcp.connection import ClientMissing, Connection, load_client
from tui_app.agent.mcp.environment import MissingVariable, secrets_of
from tui_app.agent.mcp.offered import Offer, offer
from tui_app.agent.mcp.status import McpStatus
from tui_app.settings.mcp import McpServer

STOP_S = 2.5
"""Seconds a server has to end before it is let go of; its program is ended by then."""
_SAID_CHARS = 300


class CallFailed(Exception):
    """A call came to nothing. The message is for the model and the person."""


class Server:
    """Starts a server and keeps it; all methods belong to one event loop.

    Args:
        settings: What the person wrote.
        env: Our own environment.
        cwd: Folder of the session.
        changed: Called whenever its state has changed.
    """

    def __init__(
        self, settings: McpServer, env: Mapping[str, str], cwd: Path, changed: Callable[["Server"], None]
    ) -> None:
        self.settings = settings
        self.offer = Offer()
        self.status = McpStatus(
            name=settings.name, where=settings.where, state="starting" if settings.enabled else "off"
        )
        self.settled = asyncio.Event()
        """Set once it is ready, or is not going to be."""
        self._env, self._cwd, self._changed = env, cwd, changed
        self._secrets = secrets_of(settings, env)
        self._connection: Connection | None = None
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def ready(self) -> bool:
        """Whether it can be called; a program that has ended meanwhile is noticed here."""
        if self.status.state == "ready" and self._connection is not None and (why := self._connection.ended):
            self._fail(f"{why[:1].upper()}{why[1:]}.")
        return self.status.state == "ready"

    def start(self) -> None:
        """Begin to connect, unless that was done or it is switched off."""
        if not self.settings.enabled:
            self.settled.set()
        elif self._task is None:
            self._task = asyncio.create_task(self._live(), name=f"mcp-{self.settings.name}")

    async def stop(self) -> None:
        """End the connection, and the program with all its children."""
        self._stop.set()
        self.settled.set()
        if self.status.state in ("starting", "ready"):
            self.offer = Offer()
            self.status = replace(self.status, state="stopped", left_out=())
            self._changed(self)
        if self._task is None:
            return
        _, late = await asyncio.wait([self._task], timeout=STOP_S)
        for task in late:
            task.cancel()
            await asyncio.wait([task], timeout=STOP_S)

    async def call(self, own_name: str, args: dict[str, Any]) -> Any:
        """Call a tool.

        Args:
            own_name: As the server calls it.
            args: Its arguments.

        Raises:
            CallFailed: if there is no result, for whatever reason.
        """
        connection = self._connection
        if not self.ready or connection is None:
            raise CallFailed(
                f"The MCP server {self.settings.name} is not running. {self.status.error}".strip()
            )
        calling = asyncio.ensure_future(connection.toolset.direct_call_tool(own_name, args))
        stopping = asyncio.ensure_future(self._stop.wait())
        try:
            done, _ = await asyncio.wait(
                [calling, stopping], timeout=self.settings.timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if calling in done:
                return calling.result()
        except Exception as error:  # whatever a foreign server makes the client raise
            raise CallFailed(await self._why(connection, error)) from error
        finally:
            for task in (calling, stopping):
                task.cancel()
            await asyncio.gather(calling, stopping, return_exceptions=True)
        raise CallFailed(self._note(self._no_answer()))

    async def _why(self, connection: Connection, error: Exception) -> str:
        """What to tell of a failed call; also finds out whether the program is gone."""
        for _ in range(10):  # The end of the pipe may be seen before the reason is written.
            if connection.ended or "closed" not in str(error).lower() or self.settings.url:
                break
            await asyncio.sleep(0.05)
        if connection.ended:
            self._fail(f"In the middle of a call {connection.ended}.")
            return f"The MCP server {self.settings.name} is gone: {connection.ended}."
        return self._note(_sentence(error))

    def _no_answer(self) -> str:
        if self._stop.is_set():
            return f"The MCP server {self.settings.name} was stopped."
        return f"The MCP server {self.settings.name} did not answer within {self.settings.timeout:g} seconds."

    def _note(self, text: str) -> str:
        """Keep what went wrong last; the server goes on."""
        self.status = replace(self.status, error=self._safe(text))
        return self._safe(text)

    async def _live(self) -> None:
        try:
            await asyncio.to_thread(load_client)
            self._connection = Connection(self.settings, self._env, self._cwd)
            await self._serve(self._connection)
        except (ClientMissing, MissingVariable) as error:
            self._fail(str(error))
        except Exception as error:  # whatever a foreign program makes the client raise
            self._fail(self._not_started(error))
        finally:
            self.settled.set()
            if self._connection is not None:
                self._connection.close()

    async def _serve(self, connection: Connection) -> None:
        opening = asyncio.create_task(connection.toolset.__aenter__())
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait(
                [opening, stopping], timeout=self.settings.timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if not opening.done():
                if self._stop.is_set():
                    return
                raise TimeoutError
            opening.result()
            async with asyncio.timeout(self.settings.timeout):
                listed = await connection.toolset.list_tools()
            if self._stop.is_set():
                return
            self.offer = offer(self.settings.name, listed, self.settings.tools)
            self.status = replace(self.status, state="ready", error="", left_out=self.offer.left_out)
            self.settled.set()
            self._changed(self)
            await stopping
        finally:
            for task in (opening, stopping):
                task.cancel()
            entered = (await asyncio.gather(opening, return_exceptions=True))[0]
            await asyncio.gather(stopping, return_exceptions=True)
            if not isinstance(entered, BaseException):
                with suppress(Exception):  # it is going anyway
                    await connection.toolset.__aexit__(None, None, None)

    def _not_started(self, error: Exception) -> str:
        connection = self._connection
        said = connection.said if connection is not None else ""
        told = f" It said: {said[-_SAID_CHARS:]}" if said else ""
        if isinstance(error, TimeoutError) or "timed out" in str(error).lower():
            return f"It did not answer within {self.settings.timeout:g} seconds.{told}"
        if connection is not None and connection.ended:
            return f"It could not be started: {connection.ended}.{told}"
        return f"It could not be started: {_sentence(error)}{told}"

    def _fail(self, why: str) -> None:
        if self._stop.is_set():
            # It was asked to end: what it makes of that is no failure.
            return
        self.offer = Offer()
        self.status = self.status.failed(self._safe(why))
        self.settled.set()
        self._changed(self)

    def _safe(self, text: str) -> str:
        """Without the values of variables that the settings name."""
        for value in self._secrets:
            text = text.replace(value, "(hidden)")
        return text


def _sentence(error: BaseException) -> str:
    """An error's own words, at most a few hundred characters."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    text = " ".join(str(error).split()) or type(error).__name__
    return text if text.endswith((".", "!", "?")) else f"{text[:500]}."
