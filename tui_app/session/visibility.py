"""Who sees a message of a session, and what kind of message it is.

Everything a person or a model said is for both. What stands for other messages is for the model alone: a
person has the originals, and a row that says what was done to them.
"""

from dataclasses import dataclass
from typing import Literal

from tui_app.events import (
    AssistantMessage,
    CompactionAcknowledged,
    CompactionComplete,
    MemoryAdded,
    MemoryConsolidated,
    MemoryInbox,
    MemoryPruned,
    SystemMessage,
    ToolArchived,
    ToolResult,
    UserMessage,
)
from tui_app.session.heads import Head

MessageKind = Literal[
    "user", "assistant", "system", "tool_result", "tool_result_archived", "tool_summary", "summary",
    "acknowledgement", "memory",
]  # fmt: skip
_SAID: dict[str, MessageKind] = {
    UserMessage.TYPE: "user",
    AssistantMessage.TYPE: "assistant",
    ToolResult.TYPE: "tool_result",
    SystemMessage.TYPE: "system",
}
_STAND_INS: dict[str, MessageKind] = {
    CompactionComplete.TYPE: "summary",
    CompactionAcknowledged.TYPE: "acknowledgement",
    ToolArchived.TYPE: "tool_summary",
}
_GIVEN: dict[str, MessageKind] = {MemoryInbox.TYPE: "memory"}
MESSAGES = frozenset(_SAID)
"""Events that carry a message of their own."""
CARRYING = MESSAGES | frozenset(_GIVEN)
"""Those, and events whose message the program gives the model and nobody said."""
AFTERWARDS = frozenset({MemoryAdded.TYPE, MemoryPruned.TYPE, MemoryConsolidated.TYPE})
"""Events that are written when a session is over: they are no use of it."""
LEADING = frozenset({SystemMessage.TYPE, *_GIVEN})
"""Events whose message stands in front of a summary."""
STAND_INS = frozenset(_STAND_INS)
"""Events whose message stands for others, for the model alone."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One message of a session with whom it is shown to."""

    head: Head
    """In the form that the model is shown, or would be."""
    kind: MessageKind
    agent: bool
    """Whether the next request holds it: then it is counted, sent, and in exports of the agent view."""
    stage: str = ""
    """Type of the event that gave it the form it has now; empty while it is as it was said."""
    hidden_by: int = 0
    """Log number of the event that took it out of the agent view; 0 while it is there."""

    @property
    def user(self) -> bool:
        """Whether a person is shown it, and exports of the user view hold it."""
        return self.head.type in MESSAGES


def seen(head: Head, *, hidden_by: int, stage: str = "") -> Seen:
    """Tell who sees a message.

    Args:
        head: The message, in the form it has now.
        hidden_by: Number of the event that has taken it out of the agent view; 0 for none.
        stage: Type of the event that gave it its form; of an archived tool result the model has but a stub.
    """
    kind = (_SAID | _GIVEN | _STAND_INS)[head.type]
    archived = kind == "tool_result" and stage == ToolArchived.TYPE
    shown: MessageKind = "tool_result_archived" if archived else kind
    return Seen(head, shown, agent=hidden_by == 0, stage=stage, hidden_by=hidden_by)
