"""Plays a transcript through the real pipeline with a real log, request by request, without a model."""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.usage import RequestUsage

from tests.quality.sent_checks import INSTRUCTIONS, Key, parts_of
from tests.quality.text import message_text
from tui_app.context.compaction.compactor import CompactionRefused, Compactor, PlainHost
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.governor import ContextGovernor
from tui_app.context.policy import Policy
from tui_app.context.summaries.extractive import ExtractiveSummariser
from tui_app.context.tool_results.stages import StageHost
from tui_app.context.views.view import answer_id, is_system, to_messages
from tui_app.context.windows.learnt_models import LearntModels
from tui_app.context.windows.window_limits import ContextTooLarge, Limits
from tui_app.conversation.history.compaction_archive import Archive
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.events import (
    AssistantMessage,
    CompactionStart,
    Payload,
    Record,
    SessionStart,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tui_app.session.event_heads import head_of
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.views.user_view import UserView
from tui_app.session.workspace import SessionFolder

_NOW = datetime(2000, 1, 1, tzinfo=UTC)
"""Fixed time for the names of offloaded files, because requests contain these names."""


@dataclass(slots=True)
class Play:
    """One conversation under one policy in one window, with its log in its own folder."""

    folder: Path
    policy: Policy
    window: int
    text: TextCounter
    store: SqliteStore = field(init=False)
    session: str = field(init=False)
    history: SessionHistory = field(init=False)
    compactor: Compactor = field(init=False)
    said: list[tuple[int, str]] = field(default_factory=list)
    """Log number and stored text of every message of the transcript."""
    keys: dict[int, list[Key]] = field(default_factory=dict)
    """Keys of the parts of those messages, by log number."""
    published: list[Record] = field(default_factory=list)
    shown: UserView = field(default_factory=UserView)
    """The user view, folded as a screen does."""
    early: list[CompactionStart] = field(default_factory=list)
    """Compactions that started although the policy saw no need."""
    sent: list[ModelMessage] = field(default_factory=list)
    instructions: str = ""
    """Instructions of the newest request."""
    refused: int = 0
    """Requests that could not fit even with everything removable left out, and were not sent."""
    requests: list[str] = field(default_factory=list)
    """Hash of each request sent."""
    _agent: Agent[None, str] = field(init=False)

    def __post_init__(self) -> None:
        self.store = SqliteStore(self.folder / "sessions.db")
        # The test simulates a process that dies, not a power failure, so durability is not needed.
        self.store._db.execute("PRAGMA synchronous=OFF")
        self.session = self.store.create(SessionStart(cwd="/", model="offline"), time=1.0)
        self.history = self.reopened(self._note)
        writer = ExtractiveSummariser(self.text.count)
        self.compactor = Compactor(self.history, self.policy, PlainHost((writer,), fallback=writer))
        governor = ContextGovernor(
            self.policy,
            history=self.history,
            compactor=self.compactor,
            counter=self.history.counter,
            limits=Limits(LearntModels(None), setting=self.window),
            surroundings=StageHost(now=lambda: _NOW),
        )
        model = FunctionModel(
            self._answer, model_name="offline", profile=ModelProfile(default_framing_announcement="never")
        )
        self._agent = Agent(model, instructions=INSTRUCTIONS, capabilities=[governor])

    def reopened(self, publish: Callable[[Record], None] = lambda _record: None) -> SessionHistory:
        """Open the history from disk as another process would."""
        history = SessionHistory(
            store=self.store,
            session=self.session,
            archive=Archive(SessionFolder(self.folder / self.session)),
            counter=TokenCounter(self.text),
            publish=publish,
            model="offline",
        )
        history.load()
        return history

    def say(self, messages: Sequence[ModelMessage]) -> None:
        """Append messages of the transcript to the log, one event each, as a turn does."""
        for message in messages:
            for payload, single in _events(message, self.history.counter):
                record = self.history.append(payload, single)
                if single is not None:
                    stored = self.store.message(self.session, record.seq)
                    self.said.append((record.seq, str(stored)))
                    self.keys[record.seq] = [key for _, key, _ in parts_of([single])]

    async def send(self) -> bool:
        """Send the next request and do the work due after a turn; return whether the request was sent."""
        fitted = False
        with suppress(ContextTooLarge):
            await self._agent.run(None, message_history=to_messages(self.history.items()))
            fitted = True
        self.refused += not fitted
        await self.compactor.finish()
        due = self.policy.is_due_at_turn_end(self.history.usage()) and self.compactor.should_start("turn_end")
        if due:
            with suppress(CompactionRefused):
                self.compactor.start("turn_end")
        await self.compactor.finish()
        return fitted

    def close(self) -> None:
        self.store.close()

    def stored(self, *kinds: type[Payload]) -> list[Record]:
        """Published records of some kinds."""
        return [record for record in self.published if isinstance(record.data, kinds)]

    def _note(self, record: Record) -> None:
        if record.seq:
            self.published.append(record)
            self.shown.apply(head_of(record.seq, record.time, record.data))
        if isinstance(record.data, CompactionStart) and not self._due(record.data):
            self.early.append(record.data)

    def _due(self, start: CompactionStart) -> bool:
        usage = self.history.usage()
        if start.trigger == "turn_end":
            return self.policy.is_due_at_turn_end(usage)
        return self.policy.pressure(usage) != "none"

    def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.sent, self.instructions = list(messages), info.instructions or ""
        self.requests.append(_checksum(messages, self.instructions))
        # Without this the model would report an estimate, and the governor would learn from it.
        counted = sum(self.history.counter.message(message).total for message in messages)
        return ModelResponse(
            parts=[TextPart("ok")], usage=RequestUsage(input_tokens=counted, output_tokens=1)
        )


def _checksum(messages: list[ModelMessage], instructions: str) -> str:
    """Hash of a request without times and run ids, which no provider is sent."""
    dumped = ModelMessagesTypeAdapter.dump_python(messages, mode="json")
    return hashlib.sha256(json.dumps([_timeless(dumped), instructions]).encode()).hexdigest()


def _timeless(value: Any) -> Any:
    if isinstance(value, list):
        return [_timeless(each) for each in value]
    if isinstance(value, dict) and ("kind" in value or "part_kind" in value):
        hidden = ("timestamp", "run_id", "conversation_id")
        return {name: _timeless(each) for name, each in value.items() if name not in hidden}
    return value


def _events(message: ModelMessage, counter: TokenCounter) -> list[tuple[Payload, ModelMessage | None]]:
    """Events as a turn or an import makes them: one for each answer, call, prompt and result."""
    if isinstance(message, ModelResponse):
        calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
        ids = tuple(call.tool_call_id for call in calls)
        said = AssistantMessage(
            text=message_text(message), call_ids=ids, tokens=counter.message(message).nonzero()
        )
        made = [
            ToolCall(tool_call_id=c.tool_call_id, name=c.tool_name, args=c.args_as_json_str()) for c in calls
        ]
        return [(said, message), *((call, None) for call in made)]
    return [_event(ModelRequest(parts=[part]), counter) for part in message.parts]


def _event(single: ModelRequest, counter: TokenCounter) -> tuple[Payload, ModelMessage]:
    (part,) = single.parts
    text, tokens = message_text(single), counter.message(single).nonzero()
    call_id = answer_id(part)
    if call_id is not None and not isinstance(part, UserPromptPart):
        name = getattr(part, "tool_name", None) or ""
        return ToolResult(tool_call_id=call_id, name=name, text=text, tokens=tokens), single
    kind = SystemMessage if is_system(single) else UserMessage
    return kind(text=text, tokens=tokens), single
