"""Subagents of one session: each works in its own session and returns a checked brief."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelResponse, ToolCallPart

from tui_app.agent.errors import describe_error
from tui_app.agent.instructions.agent_files import AgentFile
from tui_app.agent.instructions.prompts import PROMPTS
from tui_app.agent.subagents import Action, Order
from tui_app.context.compaction.agent_brief import agent_brief
from tui_app.context.ledger.facts import live_text
from tui_app.context.ledger.ledger import Ledger
from tui_app.context.message_marks import tasks_text
from tui_app.conversation.agents.agent_sessions import AgentSessions
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.message_actions import SkillRow
from tui_app.conversation.turns.turns import Turns
from tui_app.conversation.work import Prompt
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    Error,
    Record,
    SessionStart,
    SubAgentCall,
    SubAgentEnd,
    SubAgentOutcome,
    SubAgentPromoted,
    SubAgentStart,
    SubAgentStep,
    TaskTold,
    ToolArchived,
    ToolCall,
    ToolResult,
    TurnEnd,
    UserMessage,
)
from tui_app.records import like, picked
from tui_app.session.sub_agents import ENDED, SentAgent, read_sent_agents, with_step
from tui_app.settings.spec import ExploreSettings
from tui_app.text import count, plain_line
from tui_app.tool_specs import AGENTS

AT_ONCE = 4
"""Maximum subagents of one session that work at the same time; more wait."""
RESULT_CHARS = 400
"""Characters of a tool result kept in a step's event; the subagent's own log has all of it."""
_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class SubAgent:
    """One subagent."""

    start: SubAgentStart
    """Its session is empty until it begins."""
    file: AgentFile | None
    """The file that defines it; None for a built-in one."""
    outcome: SubAgentOutcome | None = None
    """How it ended; None while it works."""
    is_background: bool = False
    """Whether its turn does not wait for it: a message says when it has ended."""
    told: list[int] = field(default_factory=list)
    """Log numbers of messages that report its end to the model. They count while they are in the view."""
    read: list[int] = field(default_factory=list)
    """Log numbers of tool results that contain its brief."""
    claimed: bool = False
    """Whether a call of the current turn has its brief."""
    promoted: bool = False
    prompts: list[str] = field(default_factory=list)
    """Messages it has not been given yet."""
    ended: SubAgentEnd = field(init=False)
    """Totals over all its steps."""
    work: "asyncio.Task[None] | None" = None
    turns: Turns | None = None
    """Runs its turns while it works."""
    reason: str = ""
    """Why it stopped or failed."""
    halted: SubAgentOutcome | None = None
    """The outcome to report, whatever its turn does."""
    is_begun: bool = False
    """Whether it was given its task."""
    is_closing: bool = False
    """Whether it reads no more messages and its brief is being written."""
    said: str = ""
    end: TurnEnd = field(default_factory=lambda: TurnEnd(outcome="done"))
    cut: bool = False
    """Whether its last answer is incomplete."""
    step: SubAgentStep | None = None
    """The current step, with its calls by id."""
    calls: dict[str, SubAgentCall] = field(default_factory=dict)
    open_calls: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        return self.start.name

    @property
    def session(self) -> str:
        return self.start.session

    def __post_init__(self) -> None:
        self.ended = SubAgentEnd(tool_call_id=self.start.tool_call_id, outcome="done")

    def restart(self, *, is_background: bool) -> None:
        """Reset the outcome for another run."""
        self.is_background, self.claimed, self.is_closing = is_background, False, False
        self.outcome, self.halted, self.reason, self.said = None, None, "", ""
        self.told, self.read, self.end, self.cut = [], [], TurnEnd(outcome="done"), False

    def halt(self, reason: str, outcome: SubAgentOutcome = "stopped") -> None:
        """End it at once; what it has done stays."""
        if self.halted is None:
            self.reason, self.halted = reason, outcome
        if self.turns is not None:
            self.turns.halt()
        elif self.work is not None:
            self.work.cancel()


@dataclass(slots=True, kw_only=True)
class SubAgents:
    """Starts and tracks the subagents of one conversation. Not thread-safe: use it on one event loop."""

    sessions: AgentSessions
    every: dict[str, SubAgent] = field(default_factory=dict)
    """By name, in the order they were started."""
    moved: Callable[[], None] = lambda: None
    """Called when one has a result or has ended."""
    _room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set whenever one has ended, or the session is being handed over."""
    _recalled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once those of earlier visits are loaded."""

    @property
    def history(self) -> SessionHistory:
        return self.sessions.setup.extras.history

    @property
    def _limits(self) -> ExploreSettings:
        return ExploreSettings(**self.sessions.setup.opening.settings.explore)

    @property
    def working(self) -> Sequence[SubAgent]:
        return [each for each in self.every.values() if each.outcome is None]

    async def send(self, order: Order) -> str:
        if not order.task.strip():
            raise ToolFailed("The task is empty: say what to find out or do.")
        # One more than the highest number, as some may have been deleted.
        names = (name.rpartition("-") for name in self.every)
        number = 1 + max((int(last) for kind, _, last in names if kind == order.kind), default=0)
        fields = {"tool_call_id": order.call, "name": f"{order.kind}-{number}", "model": ""}
        file, most = "" if order.agent is None else order.agent.name, self._limits.max_steps
        start = like(SubAgentStart, order, agent=file, max_steps=most, **fields)
        agent = self.every[start.name] = SubAgent(start, order.agent, is_background=order.background)
        agent.prompts.append(self._first_prompt(agent))
        self._begin(agent)
        if order.background:
            return f"{agent.name} works in the background. Its brief comes with agents wait {agent.name}."
        assert agent.work is not None
        try:
            await asyncio.shield(agent.work)
        except asyncio.CancelledError:
            agent.halt("", "cancelled")
            await asyncio.wait([agent.work])
            raise
        if agent.outcome == "failed":
            raise ToolFailed(f"The sub-agent failed: {agent.reason}")
        return agent.ended.brief

    async def tend(self, action: Action, name: str, text: str) -> str:
        if action == "list":
            lines = [f"{each.name}: {each.place}, {plain_line(each.description)}" for each in self.rows()]
            return "\n".join(lines) or "No sub-agent was sent."
        if action == "wait" and not name:
            return await self._wait(None)
        if (agent := self.every.get(name)) is None:
            names = ", ".join(self.every) or "none"
            raise ToolFailed(f"There is no sub-agent {name!r:.80}. There are: {names}.")
        if action == "wait":
            return await self._wait(agent)
        if action == "send":
            return await self.send_message(agent, text)
        await self.stop_agent(name)
        return self._claim(agent)

    async def send_message(self, agent: SubAgent, text: str) -> str:
        """Send a message to a subagent, delivered after its current step; one that has ended continues."""
        if not text.strip():
            raise ToolFailed("The text is empty: say what to tell it.")
        if agent.promoted:
            raise ToolFailed(f"{agent.name} is a session of the user's own now.")
        if agent.is_closing and agent.work is not None:
            await asyncio.wait([agent.work])
        if agent.outcome is not None and (used := self._used_up(agent)):
            raise ToolFailed(f"{agent.name} has used up its {used}: read its brief, or send another.")
        if not (agent.is_begun or agent.prompts):
            agent.prompts.append(self._first_prompt(agent))
        agent.prompts.append(text)
        if agent.outcome is None:
            if agent.turns is not None:
                agent.turns.steer()
            return f"{agent.name} reads it after the present step."
        agent.is_background = True
        self._begin(agent)
        return f"{agent.name} goes on. Its brief comes with agents wait {agent.name}."

    def awaited(self, call: ToolCallPart) -> Sequence[SubAgent]:
        """Working subagents that a call waits for."""
        args = call.args_as_dict() if call.tool_name == AGENTS.name else {}
        named = str(args.get("name") or "") if args.get("action") == "wait" else None
        sender = call.tool_call_id
        return [
            each for each in self.working if each.start.tool_call_id == sender or named in ("", each.name)
        ]

    async def stop_agent(self, name: str) -> None:
        """End a subagent at once and wait until it has ended; what it has done stays."""
        agent = self.every[name]
        if agent.outcome is None and agent.work is not None:
            agent.halt("It was stopped.")
            await self._over(agent)

    async def stop_call(self, seq: int) -> None:
        """End the subagent that the call with this log number started."""
        record = self.history.store.record(self.history.session, seq)
        call = getattr(record.data, "tool_call_id", "") if record is not None else ""
        for agent in self.working:
            if agent.start.tool_call_id == call:
                await self.stop_agent(agent.name)

    async def promote(self, name: str) -> str:
        """Turn a subagent's session into one of the user's. Returns its id, empty if there is none.

        A working subagent is stopped.
        """
        agent = self.every[name]
        await self.stop_agent(name)
        if agent.session and not agent.promoted:
            agent.promoted = True
            self.history.store.append(agent.session, SubAgentPromoted(name=name), None, time=time.time())
        return agent.session

    def rows(self) -> list[SkillRow]:
        """All subagents, the newest first, as rows for the screen."""
        rows = []
        for each in reversed(self.every.values()):
            state = "promoted" if each.promoted else each.outcome or "at work"
            detail = f"{each.start.model}  {each.ended.headline()}  session {each.session}"
            rows.append(
                SkillRow(each.name, each.start.task, state, "", detail=detail, brief=each.ended.brief)
            )
        return rows

    async def listed(self) -> list[SkillRow]:
        """The rows, once those of earlier visits are loaded."""
        await self._recalled.wait()
        return self.rows()

    async def settle(self, is_left: Callable[[], bool]) -> bool:
        """Wait until no subagent works, or the session is being handed over.

        Returns:
            Whether there is news of some for the model.
        """
        while self.working and not is_left():
            self.changed.clear()
            await self.changed.wait()
        return bool(self.news()) and not is_left()

    async def close(self) -> None:
        for agent in self.working:
            agent.halt("The session was closed.")
        await asyncio.gather(*map(self._over, self.every.values()))

    async def _over(self, agent: SubAgent) -> None:
        """Wait until it has ended. One stopped before its first step counts as ended too."""
        if agent.work is not None:
            await asyncio.wait([agent.work])
            if agent.outcome is None:
                self._ended(agent, "stopped", "")

    def alive(self) -> Iterator[str]:
        """Working subagents, one line each."""
        return (live_text(each.name, plain_line(each.start.task)) for each in self.working)

    def news(self) -> list[tuple[str, str]]:
        """Ended background subagents that no message in the view mentions."""
        new = self._unread(or_told=True)
        return [(each.name, f"{each.outcome}, its brief: agents wait {each.name}") for each in new]

    def _unread(self, *, or_told: bool = False) -> list[SubAgent]:
        """Those in the background that have ended, and whose brief is not in the view."""
        found = [each for each in self.every.values() if each.is_background and each.outcome]
        ended = [each for each in found if not each.claimed]
        known = {head.seq for head in self.history.view.iter_held()} if ended else set[int]()
        return [each for each in ended if known.isdisjoint([*each.read, *(each.told if or_told else ())])]

    async def report_ended(self, _request: object) -> None:
        """Tell the model, after the newest message, which of them in the background have ended."""
        if news := self.news():
            note = TaskTold(text=tasks_text(news, agents=True), ids=tuple(name for name, _ in news))
            self.history.write_note(note)

    def note_reported(self, record: Record) -> None:
        """Track which messages of the log tell the model about subagents."""
        match record.data:
            case TaskTold(ids=ids):
                for agent in filter(None, map(self.every.get, ids)):
                    agent.told.append(record.seq)
            case ToolResult(name=AGENTS.name, text=text):
                for agent in self.every.values():
                    if agent.session and f"{agent.session}#" in text:
                        agent.read.append(record.seq)
            case TurnEnd():
                for agent in self.every.values():
                    agent.claimed = False
            case _:
                pass

    def ledgers(self, since: float) -> Iterator[tuple[SessionHistory, Ledger]]:
        """Views and ledgers of subagents that have made tool calls since a time."""
        store = self.history.store
        for agent in self.every.values():
            ours = bool(agent.session) and not agent.promoted
            newest = next(store.newest(agent.session, (ToolResult.TYPE,)), None) if ours else None
            if newest is not None and newest.time > since:
                history = self.sessions.history(agent.start, store)
                first = self._first_own(agent)
                yield history, Ledger.from_items([each for each in history.everything() if each.key >= first])

    def _first_own(self, agent: SubAgent) -> int:
        """Log number of its first own message. Earlier ones were forked from this session."""
        record = self.history.store.record(agent.session, 1)
        return (record.data.forked_at if record and isinstance(record.data, SessionStart) else 0) or 1

    def resume(self) -> None:
        """Load the subagents of earlier visits. Those that were working in a killed program have ended."""
        history, store = self.history, self.history.store
        for row in read_sent_agents(store, history.session):
            self._recall(row)
        for session in set(store.children(history.session)) - {each.session for each in self.every.values()}:
            # The program was killed before it logged which subagent works there.
            store.delete(session)
            self.sessions.folder(session).remove()
        calls = set[str]()
        kinds = (TaskTold.TYPE, ToolCall.TYPE, ToolResult.TYPE)
        for head in reversed(list(store.newest(history.session, kinds)) if self.every else ()):
            if head.type == ToolCall.TYPE:
                calls |= {*head.ids} if head.title.split()[:1] == [AGENTS.name] else set()
            elif head.type == TaskTold.TYPE or calls & {*head.ids}:
                record = store.record(history.session, head.seq)
                if record is not None:
                    self.note_reported(record)
        for agent in self.working:
            agent.reason = ENDED
            own = self.sessions.history(agent.start, store)
            self._ended(agent, "stopped", self._brief(agent, own, "stopped")())
        self._recalled.set()

    def _recall(self, row: SentAgent) -> None:
        files, start = self.sessions.setup.extras.project.agents, row.start
        file = files.named(start.agent) if start.agent else None
        agent = self.every[start.name] = SubAgent(start, file)
        agent.restart(is_background=row.is_background)
        agent.ended, agent.promoted = row.sums, row.is_promoted
        agent.outcome = None if row.is_at_work else row.sums.outcome
        prompt = self.history.store.last_of(start.session, UserMessage.TYPE)
        agent.is_begun = prompt is not None and prompt.seq >= self._first_own(agent)

    def _first_prompt(self, agent: SubAgent) -> str:
        if not agent.start.fork:
            return agent.start.task
        words = "" if agent.file is None else f"{agent.file.body()}\n\n"
        return PROMPTS["fork"].format(task=f"{words}{agent.start.task}")

    async def _wait(self, agent: SubAgent | None) -> str:
        """The brief of one subagent, or of the first ended one that was not read yet."""
        while True:
            ended = self._unread() if agent is None else [agent] if agent.outcome is not None else []
            if ended:
                return self._claim(ended[0])
            if agent is None and not self.working:
                raise ToolFailed("No sub-agent works, and every brief was read.")
            self.changed.clear()
            await self.changed.wait()

    def _claim(self, agent: SubAgent) -> str:
        agent.claimed = True
        where = f" Its messages are `{agent.session}#N`." if agent.session else ""
        return agent.ended.brief or f"{agent.name}: {agent.outcome}. {agent.reason}".strip() + where

    def _begin(self, agent: SubAgent) -> None:
        agent.restart(is_background=agent.is_background)
        if agent.session:
            self.history.report(replace(agent.start, task=agent.prompts[0], again=True))
        agent.work = asyncio.create_task(self._work(agent), name=f"sub-agent {agent.name}")

    async def _work(self, agent: SubAgent) -> None:
        started, brief = time.monotonic(), ""
        outcome: SubAgentOutcome = "failed"
        try:
            async with self._room, AsyncExitStack() as closing:
                goes_on = agent.is_begun
                if not agent.session:
                    agent.start = await self.sessions.create(agent.start, agent.file)
                    self.history.append(agent.start)
                sink = partial(self._on_record, agent)
                turns = agent.turns = await self.sessions.open(agent.start, agent.file, sink, closing)
                while agent.prompts and agent.halted is None and not self._used_up(agent):
                    if goes_on:
                        # Only a continued one needs room: otherwise the brief is built from the log.
                        await turns.compactions.after_turn()
                    left = self._limits.max_steps - agent.ended.steps
                    turns.runner.manner = replace(turns.runner.manner, max_steps=max(1, left))
                    agent.is_begun = goes_on = True
                    await turns.run_turn(Prompt(agent.prompts.pop(0)))
                    if agent.end.outcome != "done":
                        break
                outcome = self._outcome(agent)
                self._close(agent)
                if outcome != "cancelled":
                    brief = await asyncio.to_thread(self._brief(agent, turns.history, outcome))
        except asyncio.CancelledError:
            outcome = agent.halted or "stopped"
        except Exception as error:  # whatever a provider or a disk raises: the model continues without it
            _log.exception("the sub-agent %s failed", agent.name)
            agent.reason = describe_error(error, model=agent.start.model).message
        finally:
            self._close(agent)
            agent.turns = None
            worked_s = round(agent.ended.duration_s + time.monotonic() - started, 3)
            agent.ended = replace(agent.ended, duration_s=worked_s)
            self._ended(agent, outcome, brief)

    def _close(self, agent: SubAgent) -> None:
        """Accept no more messages; the number of unread ones goes into the reason."""
        agent.is_closing = True
        if unread := agent.prompts[not agent.is_begun :]:
            agent.reason = f"{agent.reason} Not read: {count(len(unread), 'message')} sent to it.".strip()
            del agent.prompts[-len(unread) :]

    def _used_up(self, agent: SubAgent) -> str:
        """The limit it has reached over all its work; empty for none."""
        most, done = self._limits, agent.ended
        if done.steps >= most.max_steps:
            return count(most.max_steps, "step")
        return f"{most.max_tokens:,} tokens" if _fresh(done) > most.max_tokens else ""

    def _outcome(self, agent: SubAgent) -> SubAgentOutcome:
        if agent.halted is not None:
            return agent.halted
        if (used := self._used_up(agent)) and (agent.end.outcome == "failed" or agent.prompts):
            agent.reason = f"It used up its {used}."
            return "stopped"
        if agent.end.outcome == "cancelled":
            return "stopped"
        if agent.end.outcome == "done" and not agent.cut:
            return "done"
        agent.reason = agent.reason or "Its answer was cut off."
        return "failed"

    def _ended(self, agent: SubAgent, outcome: SubAgentOutcome, brief: str) -> None:
        reason = agent.reason if outcome not in ("done", "cancelled") else ""
        agent.ended = replace(agent.ended, outcome=outcome, reason=reason, brief=brief)
        agent.outcome = outcome
        # Set this first: waiters must be woken even if the log cannot be written.
        self.changed.set()
        self.history.report(agent.ended)
        self.moved()

    def _brief(self, agent: SubAgent, history: SessionHistory, outcome: SubAgentOutcome) -> Callable[[], str]:
        """Read what the brief needs, and return a function that writes it on any thread."""
        since = self._first_own(agent)
        items = list(history.everything())
        if items and isinstance(items[-1].message, ModelResponse):
            items.pop()
        how = "has ended." if outcome == "done" else f"was stopped before it had an answer. {agent.reason}"
        head = f"{agent.name} {how} Its messages are `{agent.session}#N`."
        session, size = agent.session, history.counter.text

        def write() -> str:
            brief = agent_brief(items, agent.said, session=session, since=since, count=size)
            return f"{head}\n\n{brief}"

        return write

    def _on_record(self, agent: SubAgent, record: Record) -> None:
        match record.data:
            case AssistantMessage() as said:
                agent.said, agent.cut = said.text, said.interrupted
                agent.calls, agent.open_calls = {}, set(said.call_ids)
                agent.step = like(SubAgentStep, said, tool_call_id=agent.start.tool_call_id)
                if _fresh(with_step(agent.ended, agent.step)) > self._limits.max_tokens:
                    agent.halt(f"It used up its {self._limits.max_tokens:,} tokens.")
            case ToolCall(tool_call_id=id, name=name, args=args):
                agent.calls[id] = SubAgentCall(name=name, args=args)
            case ToolResult(tool_call_id=id, text=text, outcome=outcome) if id in agent.calls:
                agent.open_calls.discard(id)
                self.moved()
                kept, chars = text[:RESULT_CHARS], len(text)
                agent.calls[id] = replace(agent.calls[id], outcome=outcome, text=kept, chars=chars)
            case TurnEnd() as end:
                agent.end = end
                agent.open_calls.clear()
            case Error(message=message):
                agent.reason = message
            case CompactionComplete() | ToolArchived() as paid:
                is_compaction = isinstance(paid, CompactionComplete) and paid.outcome == "success"
                agent.ended = replace(agent.ended, compactions=agent.ended.compactions + is_compaction)
                if paid.input_tokens:
                    figures = picked(paid, "model input_tokens output_tokens cost_usd")
                    self._write(agent, SubAgentStep(tool_call_id=agent.start.tool_call_id, **figures))
            case _:
                return
        if agent.step is not None and not agent.open_calls:
            step, calls = agent.step, tuple(agent.calls.values())
            agent.step, agent.calls = None, {}
            self._write(agent, replace(step, calls=calls))

    def _write(self, agent: SubAgent, step: SubAgentStep) -> None:
        agent.ended = with_step(agent.ended, step)
        if agent.turns is not None:
            usage = agent.turns.history.usage()
            step = replace(step, context_tokens=usage.total, window=usage.window.limit)
        self.history.append(step)


def _fresh(ended: SubAgentEnd) -> int:
    """Tokens used, cache hits not counted."""
    return ended.input_tokens - ended.cache_read_tokens + ended.output_tokens
