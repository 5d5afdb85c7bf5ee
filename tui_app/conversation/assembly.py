"""Assembly of a conversation from its session, view, model, tools and policy."""

import logging
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from tui_app.agent.errors import describe_error
from tui_app.agent.instructions.instructions import summary_instructions
from tui_app.agent.own_agent import OwnAgent, load_agent
from tui_app.agent.tools.commands import ProcessRunner, unattended
from tui_app.agent.tools.tasks import BackgroundTasks
from tui_app.agent.turn import ProgramEnded
from tui_app.context.compaction.compactor import CompactionHost, Compactor
from tui_app.context.compaction.guards import Veto
from tui_app.context.compaction.plan import Addition
from tui_app.context.compaction.reviews import Reviewer
from tui_app.context.counting.encodings import TextCounter, encoding_name
from tui_app.context.ledger.facts import live_text
from tui_app.context.storage_errors import storage_explained
from tui_app.context.summaries.writer import Summariser
from tui_app.context.user_text import beginning, one_line
from tui_app.conversation.agents.agent_sessions import AgentSessions
from tui_app.conversation.agents.agent_setup import AgentSetup
from tui_app.conversation.agents.session_tools import Tooling
from tui_app.conversation.agents.subagents import SubAgents
from tui_app.conversation.attachments import file_gate
from tui_app.conversation.background import Background
from tui_app.conversation.compactions.compactions import Compactions, Reviews
from tui_app.conversation.compactions.idle_compaction import IdleCompaction
from tui_app.conversation.compactions.memory_guard import SOON_S, MemoryGuard
from tui_app.conversation.compactions.summary_writers import SummaryWriters
from tui_app.conversation.consent.guards import Guards, parse_guard
from tui_app.conversation.consent.modes import ModeSwitch
from tui_app.conversation.consent.repeats import Repeats
from tui_app.conversation.conversation import Conversation
from tui_app.conversation.files.session_files import SessionFiles
from tui_app.conversation.history.event_bus import EventBus
from tui_app.conversation.hooks.hook_process import Runner
from tui_app.conversation.hooks.hooks import Hooks
from tui_app.conversation.hooks.request_hook import RequestHook
from tui_app.conversation.hooks.tool_hooks import MaskedResults, ToolHooks
from tui_app.conversation.memory.memory import SessionMemory
from tui_app.conversation.models.model_switch import ModelSwitch
from tui_app.conversation.requests.open_request import Opening
from tui_app.conversation.requests.policies import choose_policy, policy_of
from tui_app.conversation.session_extras import Extras
from tui_app.conversation.session_view import load_history
from tui_app.conversation.telemetry import start_telemetry
from tui_app.conversation.turns.goals import Goals, goal_additions
from tui_app.conversation.turns.shell import UserShell, add_task_notes, resume_tasks
from tui_app.conversation.turns.turns import Turns
from tui_app.conversation.turns.work_queue import WorkQueue
from tui_app.events import (
    CompactionStart,
    EffortChange,
    FoldersAdded,
    ModeChange,
    Notice,
    PolicyChange,
    SessionBackground,
    SessionStart,
    Trigger,
)
from tui_app.session.background import check_unasked
from tui_app.session.lock import Overtaken
from tui_app.session.model_state import chosen_effort, chosen_mode, chosen_policy, newest_event
from tui_app.session.stores.database import open_store
from tui_app.session.stores.store import SessionDeleted, SessionNotFound, SessionStore, WriteLock
from tui_app.session.workspace import SessionFolder
from tui_app.settings.spec import CacheSettings, SessionServer
from tui_app.system.environment import hide_environment
from tui_app.system.program_log import keep_out

_log = logging.getLogger(__name__)


class OpenSession:
    """A conversation, with everything to release when it is closed.

    Args:
        opening: Which session, with which settings.
        queue: Work already queued for the session; None for a new one.
        store: The store of its log.
        lock: The write lock on the session.
        session: Its id.
        own: The user's own agent.

    Attributes:
        named: Whether a script was given the session's id, and may continue it.
    """

    def __init__(
        self,
        opening: Opening,
        queue: WorkQueue | None,
        store: SessionStore,
        lock: WriteLock,
        session: str,
        own: OwnAgent | None,
    ) -> None:
        settings, bus, known = opening.settings, EventBus(), store.info(session).model
        self.opening, self.store, self.lock, self.bus = opening, store, lock, bus
        self.named = False
        self.folder = SessionFolder.named(opening.paths.sessions_dir, session)
        model = opening.model_for((own.model_name if own else "") or known)
        policy = policy_of(store, session, settings, opening.policy)
        # The previous policy, if another one is requested.
        self.policy_before = chosen_policy(store, session) if opening.policy and not opening.passing else ""
        self.effort_before = chosen_effort(store, session) or settings.thinking
        outward, secrets = opening.outward_env(), opening.secrets()
        keep_out(secrets.masked)
        # Before any command runs that could read the environment.
        hide_environment(opening.env.keys() - outward.keys())
        text = TextCounter(encoding_name(model))
        # The user's own agent may supply its model.
        brought = {own.model_name: own.model} if own is not None and own.model is not None else {}
        shelf = opening.shelf(brought)
        history = load_history(opening, store, session, model, text, bus.publish)
        # A killed process may have left an index with a checkpoint that was never applied, and a partial
        # file.
        history.sync_files()
        files = SessionFiles(history, settings.session_files_mb << 20)
        files.tidy()
        bus.listen(files.on_record)
        self.telemetry = start_telemetry(settings.telemetry.get("otlp_endpoint", "off"), opening.env)
        spans = self.telemetry.capabilities(session)
        self.writers = writers = SummaryWriters(history, shelf, text, settings, spans)
        runner_of_hooks = Runner(opening.program_place(outward))
        self.hooks = hooks = Hooks(history, settings.hooks, runner_of_hooks, secrets, bool(opening.session))
        bus.listen(hooks.on_record)
        self.extras = extras = Extras(opening, history, bus)
        reviews = Reviews(history.report)
        queue = WorkQueue(history.append) if queue is None else queue
        host = _Host(hooks, writers, reviews, extras, queue)
        compactor = Compactor(history, policy, host, settings.summary_timeout_s)
        compactions = Compactions(history, compactor, reviews)
        mode = opening.first_mode if not opening.session else opening.mode or chosen_mode(store, session)
        tooling = Tooling(replace(opening, mode=mode), history, compactor)
        approvals, diagnostics = tooling.approvals, tooling.diagnostics
        modes = ModeSwitch(history, approvals)
        host.tasks = tooling.tasks
        self.guards = guards = Guards(history, approvals)
        repeats = Repeats(history, (opening.cwd, *opening.added), settings.repeats, tooling.tasks)
        approvals.repeated = tooling.questions.repeated = repeats.about
        if opening.attended:
            bus.listen(guards.on_record)
        # From here on, rules changed by the user apply.
        extras.project.may_read = file_gate(approvals.judged, opening.cwd, opening.paths.own_folders)
        check = tooling.command
        self.goals = Goals(history, None if check is None else replace(check, gate=approvals.refusal))
        tasks = tooling.tasks
        news = [] if tasks is None else [RequestHook(partial(add_task_notes, tasks, history))]
        before = [RequestHook(modes.add_mode_note), *news, repeats]
        setup = AgentSetup(
            opening=opening,
            goals=self.goals,
            effort=opening.effort or self.effort_before,
            writers=writers,
            compactions=compactions,
            tooling=tooling,
            extras=extras,
            before=before,
            # Diagnostics run inside the masking: language servers quote files.
            around=[ToolHooks(hooks), *spans, MaskedResults(secrets), *filter(None, [diagnostics])],
        )
        host_of = partial(_Host, hooks)
        sessions = AgentSessions(setup=setup, host=host_of, effort=lambda: runner.manner.thinking)
        host.agents = agents = SubAgents(sessions=sessions)
        guards.sent = agents.ledgers
        bus.listen(agents.note_reported)
        before = [*before, RequestHook(agents.report_ended)]
        runner = replace(setup, senders=agents, before=before).runner(own)
        recorded = model if opening.passing else known
        models = ModelSwitch(history, shelf, text, compactions, extras.overhead, recorded)
        extras.measure = models.measure
        if diagnostics is not None:
            extras.language_servers = diagnostics.found.statuses
        self.remembering = SessionMemory(opening, history, writers)
        bus.listen(self.remembering.on_record)
        self.turns = turns = Turns(
            opening=opening,
            extras=extras,
            queue=queue,
            models=models,
            compactions=compactions,
            runner=runner,
            untested=guards.untested,
            hooks=hooks,
            goals=self.goals,
            deliver=self.remembering.deliver,
        )
        own_runner = ProcessRunner(opening.cwd, unattended(opening.env), secrets)
        self.shell = UserShell(compactor, history, own_runner)
        is_shared = isinstance(opening.database, SessionServer)
        self.background = Background(turns, approvals, agents, is_shared=is_shared)
        bus.listen(self.background.track)
        conversation = Conversation(turns, modes, self.shell, bus, hooks, tooling, agents)
        self.conversation = conversation

        def is_busy() -> bool:
            return conversation.busy

        self.memory = MemoryGuard(compactions, is_busy, conversation.submit, settings.memory_limit_mb)
        # A separate summary model has none of the conversation in its cache.
        is_on = CacheSettings(**settings.cache).compact_idle and not settings.summarization_model
        cache = writers.cache_rates, writers.cache_remaining_s
        self.idle = IdleCompaction(compactions, is_busy, *cache, is_on, opening.paths.told_of_idle_file)
        if opening.attended:
            bus.listen(self.idle.on_record)

    async def prepare(self, *, tokenizer: bool = True) -> None:
        """Close calls left open by a killed process, and load tokenizer and models. Call it once, first.

        A prompt waits for the parts it needs; the screen does not wait.

        Args:
            tokenizer: Whether to load it now, rather than with the first turn or command.
        """
        # Before the first await: a prompt may arrive at any time.
        self.telemetry.follow(self.conversation)
        if self.memory.limit_mb:
            self.bus.listen(self.memory.on_record)
            self.memory.watch_after(SOON_S)
        policy = self.conversation.compactor.policy.name
        if self.policy_before not in ("", policy):
            self.conversation.history.append(PolicyChange(old=self.policy_before, new=policy))
        if self.effort_before != (effort := self.turns.runner.manner.thinking):
            self.conversation.history.append(EffortChange(old=self.effort_before, new=effort))
        self._go_on()
        # Log the mode if the log has another one, or none.
        mode, known = self.conversation.modes.current, chosen_mode(self.store, self.conversation.session)
        if mode != known:
            self.conversation.history.append(ModeChange(old=known, new=mode))
        if self.extras.left_out:
            self.conversation.history.append(Notice(text=self.extras.left_out, actions=("trust",)))
        self._record_folders()
        self.guards.set(*map(parse_guard, self.opening.guards))
        self.extras.switch(*self.opening.tools)
        for file in self.extras.project.files:
            if file.problem:
                self.conversation.history.append(Notice(text=file.problem))
        await self.conversation.tooling.files.finish()
        # In the background, the log first records what is queued.
        if self.turns.queue.labels and not (self.turns.queue.paused or self.background.is_inside):
            self.conversation.resume_queue()
        await self.conversation.models.prepare(tokenizer=tokenizer)
        await self.conversation.efforts.report_change(self.effort_before)
        self.extras.servers.start()
        await self.writers.prepare()
        # After all awaits: anyone who listens from now on gets every hook event.
        if (start := self.store.record(self.conversation.session, 1)) is not None:
            self.hooks.started(start)

    def _go_on(self) -> None:
        goes_on = self.opening.goes_on and self.background.take_up()
        if not goes_on:
            self.turns.close_open_calls(ProgramEnded())
        self.shell.close_open()
        if (tasks := self.conversation.tooling.tasks) is not None:
            resume_tasks(tasks, self.conversation.history)
        self.conversation.agents.resume()
        if not goes_on:
            self.turns.mark_unanswered()

    def _record_folders(self) -> None:
        """Log which folders are added, and warn about those that no longer are."""
        history, project = self.conversation.history, self.extras.project
        added = newest_event(self.store, history.session, FoldersAdded)
        before = added.folders if added is not None else ()
        now = tuple(map(str, project.added))
        for folder in self.opening.missing:
            history.append(Notice(text=f"{folder} cannot be added: there is no such folder."))
        if closed := [each for each in before if each not in now]:
            flags = " ".join(f"--add-dir {each}" for each in closed)
            text = (
                f"This session also worked in {', '.join(closed)}, which is not open now. To open it: {flags}"
            )
            history.append(Notice(text=text))
        if now != before:
            history.append(FoldersAdded(folders=now))

    async def live(self) -> None:
        """Prepare, then read finished sessions for memory, at low priority.

        Without any message yet, the tokenizer is loaded later: the user may be typing, and it is the largest
        part of the program's memory. Sizes of messages are counted at once and do not change afterwards.
        """
        await self.prepare(tokenizer=self.store.info(self.conversation.session).messages > 0)
        self.remembering.catch_up()

    async def detach(self) -> Literal["left", "waiting", "over"]:
        """Come to the next safe point, so that another process can take over.

        Returns:
            ``left`` if there is work to do, ``waiting`` if the user must answer first, ``over`` if nothing is
            left to do or the user stopped it meanwhile.
        """
        background = self.background
        background.hand_over()
        await self.conversation.finish_work()
        queue = self.turns.queue
        if not queue.is_left or not (self.turns.is_left or queue.held_work):
            background.cancel_detach()
            return "over"
        background.write_down(background.step)
        return background.step

    async def close(self) -> None:
        """End the session. It is deleted if it has no messages and no script knows its id."""
        try:
            await self.conversation.close()
            await self.remembering.leave()
            session = self.conversation.session
            is_kept = self.named or self.store.last_of(session, SessionBackground.TYPE) is not None
            if not is_kept and self.store.info(session).messages == 0:
                self.store.delete(session)
                self.folder.remove()
        except (SessionDeleted, SessionNotFound, Overtaken) as error:
            _log.info("the session is no longer ours to end: %s", error)
        finally:
            self.memory.stop_watching()
            await self.remembering.stop()
            await self.extras.servers.close()
            self.lock.release()
            self.store.close()
            await self.telemetry.flush()


def open_session(opening: Opening, queue: WorkQueue | None = None) -> OpenSession:
    """Open or create a session for writing. On failure, everything is undone.

    Listen to the conversation before calling ``prepare``, which writes to the log.

    Args:
        opening: Which session, with which settings.
        queue: Work already queued for the session; None for a new one.

    Raises:
        SessionNotFound: if the id fits no session.
        SessionLocked: if another process has the session open for writing.
        SessionWaits: if it was left with an open question, and is not to continue with that.
        SettingsError: if the policy is unknown.
        UnusableAgent: if the user's own agent cannot be used.
        StorageError: if the disk is full, or the sessions cannot be used where they are.
        sqlite3.DatabaseError: if the sessions file cannot be used for another reason.
        OSError: if the session's folder cannot be made.
    """
    settings, paths = opening.settings, opening.paths
    with storage_explained(paths.database), ExitStack() as undo:
        policy = choose_policy(settings, opening.policy)
        paths.ensure()
        own = load_agent(opening.agent, opening.cwd) if opening.agent else None
        store = open_store(opening.database)
        undo.callback(store.close)
        if opening.session:
            session = store.info(opening.session).id
        else:
            model = opening.model_for(own.model_name if own else "")
            start = SessionStart(cwd=str(opening.cwd), model=model, policy=policy.name)
            session = store.create(start, time=time.time())
            undo.callback(store.delete, session)
            undo.callback(SessionFolder.named(paths.sessions_dir, session).remove)
        lock = store.lock(session, SessionFolder.named(paths.sessions_dir, session).lock_file)
        undo.callback(lock.release)
        if opening.session and not opening.goes_on:
            check_unasked(store, session)
        opened = OpenSession(opening, queue, store, lock, session, own)
        undo.pop_all()
    return opened


QUEUED_CHARS = 300
"""Maximum characters of a queued prompt in the text about running work."""


@dataclass(slots=True)
class _Host(CompactionHost):
    hooks: Hooks
    writers: SummaryWriters
    reviews: Reviews
    extras: Extras
    queue: WorkQueue = field(default_factory=WorkQueue)
    tasks: BackgroundTasks | None = None
    agents: SubAgents | None = None
    """Set after the tools and turns are built."""

    def __post_init__(self) -> None:
        self.fallback = self.writers.extractive()

    def summarisers(self, trigger: Trigger) -> Sequence[Summariser]:
        return self.writers.choose(trigger)

    def describe(self, error: BaseException) -> str:
        return describe_error(error, model=self.writers.history.model).message.rstrip(".")

    def additions(self) -> Sequence[Addition]:
        history = self.extras.history
        return [*self.extras.additions(), *goal_additions(history.store, history.session)]

    def alive(self) -> Sequence[str]:
        """Running background commands and subagents, and queued prompts."""
        running = self.tasks.running if self.tasks is not None else ()
        return [
            *(live_text(task.id, task.command) for task in running),
            *(self.agents.alive() if self.agents is not None else ()),
            *(f"queued prompt: {beginning(one_line(text), QUEUED_CHARS)}" for text in self.queue.prompts),
        ]

    def file(self, path: str) -> str | None:
        return self.extras.file(path)

    async def before(self, start: CompactionStart) -> str | Veto:
        answer = await self.hooks.before_compaction(start)
        if isinstance(answer, Veto):
            return answer
        # Files of an untrusted folder are not among them.
        return "\n".join(filter(None, (summary_instructions(self.extras.project.files), answer)))

    def reviewer(self, trigger: Trigger) -> Reviewer | None:
        return self.reviews.of(trigger)
