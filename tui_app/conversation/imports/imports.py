"""Import of a transcript as a session."""

from collections.abc import Container, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tui_app.context.counting.encodings import TextCounter, encoding_name
from tui_app.conversation.imports.earlier_imports import same_import
from tui_app.conversation.imports.import_progress import ImportedAlready, ImportProgress, Watch, unwatched
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    CompactionUndone,
    Payload,
    SessionEnd,
    SessionStart,
    SystemMessage,
    TaskEnded,
    ToolResult,
    UserMessage,
)
from tui_app.providers import GGUF
from tui_app.records import frozen, like
from tui_app.session.event_heads import head_of
from tui_app.session.event_rows import CARRYING
from tui_app.session.importers.formats import FIRST_SEQ, ImportedEvent, SkippedLine, import_file
from tui_app.session.rewind_fork import mode_since, nothing_left
from tui_app.session.stores.store import SessionStore
from tui_app.session.views.agent_view import AgentView

StoredEvent = tuple[Payload, str | None, float]
_SIZED = (SystemMessage, UserMessage, AssistantMessage, ToolResult)
_REPORT_EVERY = 25
"""Events between two progress reports."""
_UNDONE = (
    "Compactions of the other program that were undone: {count}. The full history is in view; "
    "redo applies them again."
)


@frozen(kw_only=True)
class ImportReport:
    """The result of importing one file."""

    session: str
    """Id of the new session."""
    format: str
    file: str
    title: str
    messages: int
    """Requests and responses; the results of one response count as one request."""
    tool_calls: int
    tool_results: int
    """Results in the file. Calls without one got a placeholder, and a note counts them."""
    tokens: int
    """Of all messages together, in the context or not; without summaries."""
    skipped: tuple[SkippedLine, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON with the names that scripts rely on."""
        return asdict(self)


def import_session(
    path: Path,
    *,
    store: SessionStore,
    cwd: Path,
    now: float,
    format: str = "auto",
    model: str = "",
    again: bool = False,
    watch: Watch = unwatched,
) -> ImportReport:
    """Write a new session with everything in a file. Blocks; loads the tokenizer on first use.

    Names in transcripts do not tell which provider serves the model here. Unless it is our own file or a
    model is given, the model is chosen when the session is opened.

    Args:
        path: The file.
        store: Where the session is written.
        cwd: Folder of the session if the file names none.
        now: Seconds since the epoch.
        format: One of ``importers.FORMATS``, or ``auto``.
        model: Model of the new session if the file is not our own.
        again: Whether to import a file that a session already has. If another import of it finishes first,
            this one still stops.
        watch: Receives progress; stops the import by raising.

    Raises:
        ImportedAlready: if a session has the file in its current state.
        ImportStopped: if ``watch`` stopped it.
        ImportFormatError: if the file has no conversation in the format.
        OSError: if the file cannot be read.
        sqlite3.Error: if the session cannot be written; nothing of it is left then.
    """
    before = {info.id for info in store.sessions()}

    def check_first(known: Container[str]) -> None:
        if session := same_import(path, store, known):
            raise ImportedAlready(session)

    if not again:
        check_first(())
    watch(ImportProgress("reading"))
    imported = import_file(path, format)
    ended = min(now, max(event.time for event in imported.events))
    events: Sequence[StoredEvent]
    undone: Sequence[StoredEvent] = ()
    kept: Sequence[StoredEvent] = ()
    if imported.is_own:
        # Process ids and file paths of this machine are removed.
        every = ((event.data, event.message, event.time) for event in imported.events)
        events = [
            (replace(data, pid=0, file="") if isinstance(data, TaskEnded) else data, message, time)
            for data, message, time in every
        ]
        # The file is untrusted: no mode in it may allow tools to act, and no queued prompt is sent.
        kept = [*mode_since("ask", events, ended), *nothing_left(events, ended)]
    else:
        events = count_events(imported.events, model=imported.model, watch=watch)
        # Undone, the newest first, so that the whole history is in view. Each stays in the timeline and can
        # be redone; compactions by this program are checked.
        compactions = (seq for seq, (data, _, _) in enumerate(events, FIRST_SEQ) if _is_applied(data))
        undone = [(CompactionUndone(compaction=seq), None, ended) for seq in reversed([*compactions])]
    title = imported.title or path.stem
    is_known = imported.is_own and not imported.model.startswith(f"{GGUF}:")
    folder, model = imported.cwd or str(cwd), imported.model if is_known else model
    origin = {"imported_from": imported.format, "imported_file": str(path.absolute())}
    start = like(SessionStart, imported, cwd=folder, model=model, title=title, **origin)
    watch(ImportProgress("writing", len(events), len(events)))
    # The session ends when the conversation did, which dates it in lists; its start has the time of the
    # import. All in one transaction, so that a killed program leaves no partial session.
    written = [*events, *undone, *kept, (SessionEnd(), None, ended)]
    session = store.create(start, time=now, events=written, check=lambda: check_first(before))
    counted = [data for data, _, _ in events if isinstance(data, _SIZED)]
    messages = sum(event.data.TYPE in CARRYING for event in imported.events)
    tokens = sum(sum(data.tokens.values()) for data in counted)
    notes = (*imported.notes, _UNDONE.format(count=len(undone))) if undone else imported.notes
    sizes = {"messages": messages, "tokens": tokens}
    return like(ImportReport, imported, session=session, file=str(path), title=title, notes=notes, **sizes)


def _is_applied(data: Payload) -> bool:
    return isinstance(data, CompactionComplete) and data.outcome == "success"


def count_events(
    events: Sequence[ImportedEvent], *, model: str = "", watch: Watch = unwatched
) -> list[StoredEvent]:
    """Fill in the tokens of every message, and missing sizes of imported compactions.

    Args:
        events: The imported events, in order.
        model: The model's name in the file; selects the tokenizer.
        watch: Receives progress; stops the import by raising.
    """
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    from tui_app.context.counting.tokens import TokenCounter

    watch(ImportProgress("counting", 0, len(events)))
    text = TextCounter(encoding_name(model))
    text.load()
    counter = TokenCounter(text)
    view = AgentView()
    # Parsed in one call, which is much faster.
    texts = [event.message for event in events if event.message is not None]
    messages = iter(ModelMessagesTypeAdapter.validate_json(f"[{','.join(texts)}]"))
    counted: list[StoredEvent] = []
    for seq, event in enumerate(events, FIRST_SEQ):
        if seq % _REPORT_EVERY == 0:
            watch(ImportProgress("counting", seq - FIRST_SEQ, len(events)))
        data = event.data
        if event.message is not None:
            tokens = counter.message(next(messages)).nonzero()
            data = replace(data, tokens=tokens) if isinstance(data, (*_SIZED, CompactionComplete)) else data
        if isinstance(data, CompactionComplete):
            # Sizes reported by the other program take precedence over our count.
            before = data.tokens_before or _size(view)
            trial = view.copy()
            trial.apply(head_of(seq, event.time, data))
            after = data.tokens_after or _size(trial)
            removed = data.tokens_removed or max(0, before - after)
            data = replace(data, tokens_before=before, tokens_after=after, tokens_removed=removed)
        view.apply(head_of(seq, event.time, data))
        counted.append((data, event.message, event.time))
    return counted


def _size(view: AgentView) -> int:
    return sum(weighed.tokens.total for weighed in view.message_weights())
