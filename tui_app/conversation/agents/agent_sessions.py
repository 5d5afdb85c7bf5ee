"""Sessions of subagents: forks or new ones, opened next to the session that starts them."""

import asyncio
import copy
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from tui_app.agent.errors import describe_error
from tui_app.agent.instructions.agent_files import AgentFile
from tui_app.agent.instructions.instructions import instructions_text
from tui_app.agent.instructions.prompts import PROMPTS
from tui_app.agent.turn import ProgramEnded
from tui_app.context.compaction.compactor import CompactionHost, Compactor
from tui_app.context.counting.encodings import TextCounter, encoding_name
from tui_app.context.history import ignore
from tui_app.context.summaries.prefix import SentRequest
from tui_app.conversation.agents.agent_setup import AgentSetup
from tui_app.conversation.agents.session_tools import Tooling
from tui_app.conversation.compactions.compactions import Compactions, Reviews
from tui_app.conversation.compactions.summary_writers import SummaryWriters
from tui_app.conversation.consent.modes import ModeSwitch
from tui_app.conversation.history.event_bus import EventBus
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.hooks.request_hook import RequestHook
from tui_app.conversation.models.model_switch import ModelSwitch
from tui_app.conversation.requests.policies import choose_policy
from tui_app.conversation.session_extras import Extras
from tui_app.conversation.session_view import Sink, load_history
from tui_app.conversation.turns.goals import Goals
from tui_app.conversation.turns.turns import Turns
from tui_app.conversation.turns.work_queue import WorkQueue
from tui_app.events import AssistantMessage, Notice, SessionStart, SubAgentStart
from tui_app.records import frozen
from tui_app.session.rewind_fork import fork_session
from tui_app.session.stores.database import open_store
from tui_app.session.stores.store import SessionStore
from tui_app.session.workspace import SessionFolder
from tui_app.settings.spec import ExploreSettings
from tui_app.text import plain_line
from tui_app.tool_specs import ASK_USER

_TITLE_CHARS = 80
Host = Callable[[SummaryWriters, Reviews, Extras], CompactionHost]


@frozen(kw_only=True)
class AgentSessions:
    """Opens the sessions of one session's subagents. Servers, rules and kept files are shared."""

    setup: AgentSetup
    """How the session's own agent is built."""
    host: Host
    """Builds the host of a subagent's compactor."""
    effort: Callable[[], str]
    """The current reasoning effort of the session's model."""

    def folder(self, session: str) -> SessionFolder:
        return SessionFolder.named(self.setup.opening.paths.sessions_dir, session)

    async def create(self, start: SubAgentStart, file: AgentFile | None) -> SubAgentStart:
        """Create a subagent's session, with the requested model if that one can answer."""
        history, opening, now = self.setup.extras.history, self.setup.opening, time.time()
        store, title = history.store, f"{start.name}: {plain_line(start.task)}"[:_TITLE_CHARS]
        start = replace(start, model=await self._model(start, file))
        if not start.fork:
            begun = SessionStart(cwd=str(opening.cwd), model=start.model, title=title, parent=history.session)
            return replace(start, session=store.create(begun, time=now))
        # For a fork: everything sent before the answer that makes the call.
        answers = store.newest(history.session, (AssistantMessage.TYPE,))
        at = next((head.seq for head in answers if start.tool_call_id in head.ids), None)
        fork = fork_session(store, opening.paths.sessions_dir, history.session, at=at, now=now, agent=title)
        return replace(start, session=fork.session)

    async def _model(self, start: SubAgentStart, file: AgentFile | None) -> str:
        history, own = self.setup.extras.history, "" if file is None else file.model
        model = "" if start.fork else own or ExploreSettings(**self.setup.opening.settings.explore).model
        if model:
            try:
                await self.setup.writers.shelf.get(model)
            except Exception as error:  # as for any model: reported, and the session's own model takes over
                message = describe_error(error, model=model).message
                history.append(Notice(text=f"{message} Sub-agents are run by {history.model}."))
                return history.model
        return model or history.model

    def history(self, start: SubAgentStart, store: SessionStore, publish: Sink = ignore) -> SessionHistory:
        """The subagent's current view."""
        text, sender = self.setup.writers.text, self.setup.extras.history
        if encoding_name(start.model) != encoding_name(sender.model):
            text = TextCounter(encoding_name(start.model))
        return load_history(self.setup.opening, store, start.session, start.model, text, publish)

    async def open(
        self, start: SubAgentStart, sent: AgentFile | None, sink: Sink, closing: AsyncExitStack
    ) -> Turns:
        """Open a subagent's session for writing.

        Args:
            start: How it was started.
            sent: The file that defines it; None for a built-in one.
            sink: Receives every record of its session.
            closing: Takes everything to release when it has ended.
        """
        setup, opening, session = self.setup, self.setup.opening, start.session
        settings = opening.settings
        store = open_store(opening.database)
        closing.callback(store.close)
        folder = self.folder(session)
        lock = store.lock(session, folder.lock_file)
        closing.callback(lock.release)
        bus = EventBus()
        bus.listen(sink)
        history = self.history(start, store, bus.publish)
        policy, shelf = setup.compactions.compactor.policy, setup.writers.shelf
        if sent is not None and sent.policy:
            policy = choose_policy(settings, sent.policy)
        if sent is not None and sent.window < 1:
            window = shelf.limits.window(await shelf.get(start.model)).limit
            shelf = copy.copy(shelf)
            shelf.limits = replace(shelf.limits, setting=int(window * sent.window))
        writers = replace(setup.writers, history=history, shelf=shelf, sent=SentRequest(), _writers={})
        extras = setup.extras.for_agent(history, bus)
        reviews = Reviews(history.report)
        host = self.host(writers, reviews, extras)
        compactor = Compactor(history, policy, host, settings.summary_timeout_s)
        closing.push_async_callback(compactor.aclose)
        compactions = Compactions(history, compactor, reviews)
        closing.push_async_callback(compactions.stop_jobs)
        tooling = Tooling(opening, history, compactor, setup.tooling, start.name)
        own = replace(
            setup,
            opening=replace(opening, answers=None),
            writers=writers,
            compactions=compactions,
            tooling=tooling,
            extras=extras,
            goals=Goals(history, tooling.command, is_copy=True),
            before=[RequestHook(ModeSwitch(history, tooling.approvals).add_mode_note)],
        )
        if start.fork:
            runner = own.runner(None)
            runner.manner = replace(runner.manner, thinking=self.effort())
        else:
            parts = await asyncio.to_thread(self._instructions, sent)
            runner = own.agent_runner(parts, (*sent.tools, ASK_USER.name) if sent is not None else ())
        turns = Turns(
            opening=opening,
            extras=extras,
            queue=WorkQueue(ignore),
            models=ModelSwitch(history, shelf, writers.text, compactions, extras.overhead, start.model),
            compactions=compactions,
            runner=runner,
            is_sent=True,
        )
        turns.close_open_calls(ProgramEnded())
        return turns

    def _instructions(self, sent: AgentFile | None) -> Sequence[str]:
        folder = str(self.setup.opening.cwd.resolve())
        if sent is None:
            return [PROMPTS["explorer"].format(folder=folder)]
        project = instructions_text(self.setup.extras.project.files)
        return list(filter(None, (sent.instructions(folder), project)))
