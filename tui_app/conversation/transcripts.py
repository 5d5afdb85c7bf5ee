"""The conversations that are replayed: every message in order, whatever compactions hid."""

from dataclasses import dataclass
from pathlib import Path

from pydantic_ai.messages import ModelMessage, ModelResponse

from tui_app.conversation.imports import messages_of
from tui_app.conversation.session_history import ViewMessages
from tui_app.events import CompactionComplete, SessionClear, SessionRestored, SessionRewind
from tui_app.session.agent_view import AgentView
from tui_app.session.event_heads import MESSAGES
from tui_app.session.importers import SkippedLine, import_file
from tui_app.session.store import SessionStore

_TAKEN_BACK = MESSAGES | {SessionClear.TYPE, SessionRestored.TYPE, SessionRewind.TYPE}
"""Events that say what was said; what was taken back or cleared is not replayed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """One conversation to replay."""

    name: str
    """The file, or the id of the session."""
    format: str
    """Format of the file; ``session`` for a session."""
    title: str
    model: str
    """Name of the model that answered, as far as it is known; a file has it without its provider."""
    messages: tuple[ModelMessage, ...]
    """One prompt, one answer or one result each."""
    skipped: tuple[SkippedLine, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def answers(self) -> int:
        """How many answers of a model it holds."""
        return sum(isinstance(message, ModelResponse) for message in self.messages)


def read_transcript(path: Path) -> Transcript:
    """Read a file as an import does; compactions of the other program are left out.

    Raises:
        ImportFormatError: if the file holds no conversation that can be read.
        OSError: if the file cannot be read.
    """
    imported = import_file(path)
    messages = zip(imported.events, messages_of(imported.events), strict=True)
    return Transcript(
        name=str(path),
        format=imported.format,
        title=imported.title or path.stem,
        model=imported.model,
        messages=tuple(
            message
            for event, message in messages
            if message is not None and not isinstance(event.data, CompactionComplete)
        ),
        skipped=imported.skipped,
        notes=imported.notes,
    )


def read_session(store: SessionStore, session: str) -> Transcript:
    """Read what was said in a session, in the form it was said in.

    Raises:
        SessionNotFound: if the id fits no session.
    """
    info = store.info(session)
    view = AgentView()
    for head in store.heads(info.id):
        if head.type in _TAKEN_BACK:
            view.apply(head)
    heads = view.visible()
    messages = ViewMessages(store, info.id)
    messages.load(heads)
    return Transcript(
        name=info.id,
        format="session",
        title=info.title,
        model=info.model,
        messages=tuple(messages.of(head) for head in heads),
    )
