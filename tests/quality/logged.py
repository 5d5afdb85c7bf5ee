"""The log of a session around a compaction: append-only, with everything still in it."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart

from tests.quality.text import message_text
from tui_app.context.compactor import CompactionRefused, Compactor
from tui_app.context.encodings import TextCounter
from tui_app.context.events import AssistantMessage, Payload, SessionStart, ToolResult, UserMessage
from tui_app.context.heuristic import ExtractiveSummariser
from tui_app.context.policy import PLIMSOLL
from tui_app.context.tokens import TokenCounter
from tui_app.context.usage import Breakdown, ContextWindow
from tui_app.conversation.checkpointing import Archive
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.view_messages import storable
from tui_app.session.store import Store
from tui_app.session.workspace import SessionFolder


async def survives_on_disk(before: Sequence[ModelMessage], window: int, text: TextCounter) -> bool:
    """Whether a compaction only appends to the log, and the history it wrote holds all that left."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "sessions.db")
        try:
            return await _survives(before, window, text, store, Path(folder))
        finally:
            store.close()


async def _survives(
    before: Sequence[ModelMessage], window: int, text: TextCounter, store: Store, folder: Path
) -> bool:
    session = store.create(SessionStart(cwd="/", model="offline"), time=1.0)
    counter = TokenCounter(text)
    store.append_many(session, list(_events(before, counter)))
    history = SessionHistory(
        store=store,
        session=session,
        archive=Archive(SessionFolder(folder / session)),
        counter=counter,
        publish=lambda _record: None,
        model="offline",
    )
    history.load()
    history.fix(ContextWindow(limit=window, source="setting", reserve=window // 16), Breakdown(), "offline")
    written = list(store.records(session))
    compactor = Compactor(history, PLIMSOLL, lambda _trigger: (ExtractiveSummariser(text.count),))
    try:
        compactor.start("headless")
    except CompactionRefused:
        return True
    await compactor.finish()
    after = list(store.records(session))
    # The first record is the session's start; the events of the history follow it.
    return after[: len(written)] == written and len(after) > len(written)


def _events(
    messages: Sequence[ModelMessage], counter: TokenCounter
) -> Iterator[tuple[Payload, str | None, float]]:
    """Events as an import makes them: one for every answer, prompt and result."""
    for message in messages:
        tokens = counter.message(message).nonzero()
        if isinstance(message, ModelResponse):
            calls = tuple(part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart))
            payload: Payload = AssistantMessage(text=message_text(message), call_ids=calls, tokens=tokens)
            yield payload, storable(message)[0], 2.0
            continue
        for part in message.parts:
            single = ModelRequest(parts=[part])
            tokens = counter.message(single).nonzero()
            if isinstance(part, ToolReturnPart):
                payload = ToolResult(
                    tool_call_id=part.tool_call_id,
                    name=part.tool_name,
                    text=message_text(single),
                    tokens=tokens,
                )
            else:
                payload = UserMessage(text=message_text(single), tokens=tokens)
            yield payload, storable(single)[0], 2.0
