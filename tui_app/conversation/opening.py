"""Putting a conversation together: session, view, model, tools, governor."""

import asyncio
import time
from dataclasses import dataclass, field, replace

from pydantic_ai import Agent
from pydantic_ai.toolsets import FunctionToolset

from tui_app.agent.errors import describe_error
from tui_app.agent.instructions import system_instructions
from tui_app.agent.recorder import Recorder
from tui_app.agent.shelf import ModelShelf
from tui_app.agent.tools.toolset import build_toolset
from tui_app.agent.tools.workspace import Workspace
from tui_app.agent.turn import TurnRunner
from tui_app.context.compactor import Compactor
from tui_app.context.encodings import TextCounter, encoding_name
from tui_app.context.events import SessionStart
from tui_app.context.governor import ContextGovernor
from tui_app.context.learnt import LearntModels
from tui_app.context.limits import Limits
from tui_app.context.policy import PRESETS, Policy
from tui_app.context.tokens import TokenCounter
from tui_app.context.usage import Breakdown
from tui_app.conversation.bus import EventBus
from tui_app.conversation.checkpointing import Archive
from tui_app.conversation.conversation import Conversation
from tui_app.conversation.request import Opening
from tui_app.conversation.search import SessionSearch
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.turns import Turns
from tui_app.conversation.writers import SummaryWriters
from tui_app.session.lock import WriterLock
from tui_app.session.store import Store
from tui_app.session.workspace import SessionFolder
from tui_app.settings import Settings, SettingsError, resolve_model


@dataclass(slots=True)
class OpenSession:
    """A conversation together with what must be released when it is closed."""

    conversation: Conversation
    store: Store
    folder: SessionFolder
    text: TextCounter
    lock: WriterLock
    bus: EventBus = field(repr=False)

    async def prepare(self) -> None:
        """Load tokenizer and model; the first prompt waits for this, the screen does not."""
        await asyncio.to_thread(self.text.load)
        await self.conversation.prepare()

    async def close(self) -> None:
        """End the session; one in which nothing was ever said leaves no trace."""
        await self.conversation.close()
        session = self.conversation.session
        if self.store.info(session).messages == 0:
            self.store.delete(session)
            self.folder.remove()
        self.lock.release()
        self.store.close()


def open_session(opening: Opening) -> OpenSession:
    """Open or begin a session for writing.

    Raises:
        SessionNotFound: if the id fits no session.
        SessionLocked: if another process writes it.
        SettingsError: if the policy is unknown.
        sqlite3.DatabaseError: if the sessions file cannot be used.
    """
    settings, paths = opening.settings, opening.paths
    policy = choose_policy(settings)
    paths.ensure()
    store = Store(paths.database)
    try:
        model = opening.model or resolve_model(settings, opening.env)
        if opening.session:
            info = store.info(opening.session)
            session, model = info.id, opening.model or info.model or model
        else:
            start = SessionStart(cwd=str(opening.cwd), model=model, policy=policy.name)
            session = store.create(start, time=time.time())
        folder = SessionFolder(paths.sessions_dir / session)
        lock = WriterLock(folder.lock_file)
    except BaseException:
        store.close()
        raise
    return _assemble(opening, policy, store, session, folder, lock, model)


def _assemble(
    opening: Opening,
    policy: Policy,
    store: Store,
    session: str,
    folder: SessionFolder,
    lock: WriterLock,
    model: str,
) -> OpenSession:
    bus, text = EventBus(), TextCounter(encoding_name(model))
    counter = TokenCounter(text)
    limits = Limits(LearntModels(opening.paths.learnt_file), setting=opening.settings.window)
    shelf = ModelShelf(opening.env, opening.settings.endpoints, limits)
    history = SessionHistory(
        store=store, session=session, archive=Archive(folder), counter=counter, publish=bus.publish, model=model
    )
    history.load()
    writers = SummaryWriters(history, shelf, text, opening.settings.summarization_model)
    compactor = Compactor(
        history=history,
        policy=policy,
        summariser=writers.choose,
        fallback=writers.extractive(),
        timeout_s=opening.settings.summary_timeout_s,
        describe=lambda error: describe_error(error, model=history.model).message.rstrip("."),
    )
    governor = ContextGovernor(policy, history=history, compactor=compactor, counter=counter, limits=limits)
    instructions = system_instructions(opening.cwd, folder.tool_outputs, folder.conversation_history)
    workspace = Workspace(opening.cwd, extra=(folder.tool_outputs, folder.conversation_history))
    tools = build_toolset(workspace, SessionSearch(store, session))
    recorder = Recorder(history)
    agent: Agent[None, str] = Agent(
        None, instructions=instructions, toolsets=[tools], capabilities=[governor, recorder], retries=2
    )
    conversation = Conversation(
        history=history,
        turns=Turns(history, TurnRunner(agent, recorder)),
        compactor=compactor,
        shelf=shelf,
        bus=bus,
        carried=_carried(counter, instructions, tools),
    )
    return OpenSession(conversation, store, folder, text, lock, bus)


def _carried(counter: TokenCounter, instructions: str, tools: FunctionToolset[object]) -> Breakdown:
    """Tokens every request carries, without any factor."""
    definitions = [tool.tool_def for tool in tools.tools.values()]
    return Breakdown(system=counter.instructions(instructions), tools=counter.tools(definitions))


def choose_policy(settings: Settings) -> Policy:
    """The policy a person has set, with their own thresholds.

    Raises:
        SettingsError: if there is no policy of that name.
    """
    if settings.policy not in PRESETS:
        raise SettingsError(f"policy is {settings.policy!r}; allowed: {', '.join(sorted(PRESETS))}.")
    return replace(
        PRESETS[settings.policy],
        background_threshold=settings.background_threshold,
        blocking_threshold=settings.blocking_threshold,
    )

