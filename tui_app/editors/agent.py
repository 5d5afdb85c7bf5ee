"""The protocol's methods. The SDK calls them by name and hands over what it has checked."""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from acp import PROTOCOL_VERSION, RequestError
from acp.agent.connection import AgentSideConnection
from acp.helpers import update_available_commands
from acp.interfaces import Agent, Client
from acp.schema import (
    AgentCapabilities,
    CloseSessionResponse,
    ConfigOptionUpdate,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
)

from tui_app.agent.catalog import ModelChoice
from tui_app.conversation.assembly import open_session
from tui_app.conversation.open_request import Opening
from tui_app.editors.pipes import Pipes, own_pipes
from tui_app.editors.session import (
    COMMANDS,
    MODEL,
    POLICY,
    EditorSession,
    asked,
    modes,
    options,
    usable_models,
)
from tui_app.editors.updates import NOT_FOUND, Updates, refused, trouble
from tui_app.program_log import logging_to
from tui_app.session.port import SessionNotFound
from tui_app.session.stores import has_begun, open_store
from tui_app.version import __version__

_log = logging.getLogger(__name__)
LISTED = 50
"""Sessions of one page of the list."""


@dataclass(slots=True)
class EditorAgent:
    """Everything an editor may ask for. One for each process; it holds any number of sessions."""

    opening: Opening
    """What every session begins with; its folder and id are the editor's."""
    _client: Client | None = None
    _sessions: dict[str, EditorSession] = field(default_factory=dict)
    _behind: set["asyncio.Task[None]"] = field(default_factory=set)
    _models: list[ModelChoice] = field(default_factory=list)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    def on_connect(self, conn: Client) -> None:
        """The SDK is ready to send."""
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        """Say what this agent can do."""
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(name="plimsoll", title="Plimsoll", version=__version__),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(embedded_context=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    close=SessionCloseCapabilities(),
                    resume=SessionResumeCapabilities(),
                ),
            ),
            auth_methods=[],
        )

    async def authenticate(self, method_id: str, **_: Any) -> None:
        """Nobody needs to sign in; keys come from the environment."""
        raise refused("There is nothing to sign in to: keys are read from the environment.")

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        """Begin a session."""
        session = await self._open(cwd)
        menus = options(session.opened.conversation, self.opening.settings, self._models)
        return NewSessionResponse(
            session_id=session.id,
            modes=modes(session.opened.conversation, self.opening.settings),
            config_options=menus,
        )

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        """Go on with a session; all of it is sent again first."""
        session = await self._open(cwd, session_id)
        await session.replay()
        menus = options(session.opened.conversation, self.opening.settings, self._models)
        return LoadSessionResponse(
            modes=modes(session.opened.conversation, self.opening.settings), config_options=menus
        )

    async def resume_session(self, session_id: str, cwd: str, **_: Any) -> ResumeSessionResponse:
        """Go on with a session whose past the editor knows."""
        session = await self._open(cwd, session_id)
        menus = options(session.opened.conversation, self.opening.settings, self._models)
        return ResumeSessionResponse(
            modes=modes(session.opened.conversation, self.opening.settings), config_options=menus
        )

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> ListSessionsResponse:
        """Sessions of a folder, or all, the newest first."""
        found = await asyncio.to_thread(self._listed, cwd or "")
        start = int(cursor) if cursor and cursor.isdecimal() else 0
        page = found[start : start + LISTED]
        more = str(start + LISTED) if len(found) > start + LISTED else None
        return ListSessionsResponse(sessions=page, next_cursor=more)

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        """Answer a prompt, or carry a slash command out."""
        session = self._known(session_id)
        reason = await session.prompt(asked(prompt, session.opening.cwd))
        return PromptResponse(stop_reason=reason, usage=session.updates.spending.usage)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop what is under way in a session."""
        if (session := self._sessions.get(session_id)) is not None:
            session.cancel()

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        """Go on under another policy."""
        await self._known(session_id).choose_policy(mode_id)
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        """Choose another model or policy."""
        session = self._known(session_id)
        match config_id:
            case "model" if isinstance(value, str):
                await session.choose_model(value)
            case "policy" if isinstance(value, str):
                await session.choose_policy(value)
            case _:
                raise refused(f"There is no menu {config_id}; there are {MODEL} and {POLICY}.")
        menus = options(session.opened.conversation, self.opening.settings, self._models)
        return SetSessionConfigOptionResponse(config_options=menus)

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        """End a session."""
        session = self._known(session_id)
        del self._sessions[session_id]
        await session.close()
        return CloseSessionResponse()

    async def close(self) -> None:
        """End every session; nothing is left under way."""
        for task in self._behind:
            task.cancel()
        await asyncio.gather(*self._behind, return_exceptions=True)
        sessions, self._sessions = list(self._sessions.values()), {}
        ends = await asyncio.gather(*(session.close() for session in sessions), return_exceptions=True)
        for error in ends:
            if isinstance(error, Exception):
                _log.error("a session could not be ended", exc_info=error)

    def _known(self, session_id: str) -> EditorSession:
        if (session := self._sessions.get(session_id)) is None:
            raise RequestError(NOT_FOUND, f"There is no open session {session_id}. Load it first.")
        return session

    async def _open(self, cwd: str, session_id: str = "") -> EditorSession:
        """Open a session, or take the one that is open here already."""
        folder = _folder(cwd)
        async with self._opening:
            if (known := self._sessions.get(session_id)) is None:
                known = await self._opened(replace(self.opening, cwd=folder, session=session_id))
        self._behind_it(self._introduce(known))
        return known

    async def _opened(self, opening: Opening) -> EditorSession:
        assert self._client is not None
        if opening.session:
            self._exists(opening.session)
        try:
            opened = open_session(opening)
        except Exception as error:  # worded for a person
            raise trouble(error) from error
        session = EditorSession(opened, opening, self._client, Updates(opening.cwd))
        self._sessions[session.id] = session
        try:
            await session.start()
        except Exception as error:
            del self._sessions[session.id]
            await session.close()
            raise trouble(error) from error
        return session

    def _exists(self, session: str) -> None:
        """Only a whole id is taken: an editor has it from us."""
        if not any(found.session_id == session for found in self._listed("")):
            raise trouble(SessionNotFound(f"There is no session {session}."))

    def _listed(self, cwd: str) -> list[SessionInfo]:
        if not has_begun(self.opening.database):
            return []
        with contextlib.closing(open_store(self.opening.database, read_only=True)) as store:
            found = store.sessions()
        return [
            SessionInfo(
                session_id=info.id,
                cwd=info.cwd,
                title=info.title or None,
                updated_at=datetime.fromtimestamp(info.updated, UTC).isoformat(),
            )
            for info in found
            if not cwd or info.cwd == cwd
        ]

    def _behind_it(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name="acp introduction")
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)

    async def _introduce(self, session: EditorSession) -> None:
        """Name the slash commands, then the models: finding those takes a moment."""
        assert self._client is not None
        session.speak()
        with contextlib.suppress(ConnectionError):
            commands = update_available_commands(COMMANDS)
            await self._client.session_update(session_id=session.id, update=commands)
            self._models = await usable_models(self.opening.env, self.opening.settings)
            menus = options(session.opened.conversation, self.opening.settings, self._models)
            update = ConfigOptionUpdate(session_update="config_option_update", config_options=menus)
            await self._client.session_update(session_id=session.id, update=update)


def _folder(cwd: str) -> Path:
    folder = Path(cwd)
    if folder.is_absolute() and folder.is_dir():
        return folder
    raise refused(f"There is no folder {cwd}; the editor names it by its whole path.")


# Serving one editor until it closes stdin: sessions are ended, and nothing is left running.


async def serve(opening: Opening) -> int:
    """Serve the editor at the other end of stdin and stdout.

    Args:
        opening: What sessions begin with; folder and id are the editor's to say.

    Returns:
        The exit code, 0 once the editor has closed its end.
    """
    with logging_to(opening.paths.log_file, "acp"), own_pipes() as (reading, writing):
        pipes, agent = Pipes(reading, writing), EditorAgent(opening)
        pipes.open()
        connection = AgentSideConnection(
            cast("Agent", agent), pipes, listening=False, use_unstable_protocol=True
        )
        try:
            await connection.listen()
        finally:
            # Prompts under way first, or they would answer into sessions that have ended.
            await connection.close()
            await agent.close()
    return 0
