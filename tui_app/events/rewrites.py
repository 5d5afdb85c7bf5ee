"""Events that rewrite messages of the agent view.

The originals stay in the log and in the user view; each event can be undone by its number.
"""

from dataclasses import field
from typing import Any, ClassVar, Literal

from tui_app.events.base import BY_TYPE, Resized, event
from tui_app.records import frozen
from tui_app.text import count, thousands

Stage = Literal["normalise", "offload", "superseded", "archive", "trim", "pointers"]
FormState = Literal["cut", "offloaded", "superseded", "archived", "trimmed", "pointer"]


@frozen(kw_only=True)
class Rewritten:
    """One message with a new form."""

    seq: int
    """Log number of the message; its handle is unchanged."""
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens of the new form, by category."""
    note: str = ""
    """What was done, for example the path of the file with the full text."""


@frozen(kw_only=True)
class ViewRewrite(Resized):
    """Base of the stages' events."""

    STAGE: ClassVar[Stage]
    """The stage that makes it."""
    STATE: ClassVar[FormState]
    """State of a message in this form."""
    FORM: ClassVar[str]
    """The form that the model sees."""
    CHANGED: ClassVar[tuple[str, str]] = ("", "")
    """Phrases of the headline, for one message and for several."""

    changes: tuple[Rewritten, ...] = ()
    tokens: dict[str, int] = field(default_factory=dict)
    """Tokens of the digest that replaces archived results, by category; empty without one."""
    policy: str = ""
    """Name of the policy that required it; empty for a user's action."""
    tokens_removed: int = 0
    messages_before: int = 0
    messages_after: int = 0

    def headline(self) -> str:
        one, many = self.CHANGED
        sizes = f"{thousands(self.tokens_before)} → {thousands(self.tokens_after)}"
        return f"{len(self.changes)} {one if len(self.changes) == 1 else many} · {sizes}"

    def light(self) -> dict[str, Any]:
        # A stage that frees nothing visible has no row; actions of the user always have one.
        unseen = bool(self.policy) and thousands(self.tokens_before) == thousands(self.tokens_after)
        return {
            "changes": tuple((change.seq, change.tokens) for change in self.changes),
            "state": "quiet" if unseen else "",
        }


@event("tool.normalised", row="rewrite")
class ToolNormalised(ViewRewrite):
    """Long results were cut to head and tail when they arrived; the full text is kept."""

    STAGE, STATE, FORM = "normalise", "cut", "cut to size"
    CHANGED = ("long result cut to size", "long results cut to size")


@event("tool.offloaded", row="rewrite")
class ToolOffloaded(ViewRewrite):
    """Large results were moved to files; a preview and the path stay."""

    STAGE, STATE, FORM = "offload", "offloaded", "as the beginning of a file that holds it"
    CHANGED = ("large result moved to a file", "large results moved to files")


@event("tool.superseded", row="rewrite")
class ToolSuperseded(ViewRewrite):
    """Reads superseded by newer reads or writes, and thinking of earlier turns, were removed."""

    STAGE, STATE, FORM = "superseded", "superseded", "without what is outdated in it"
    CHANGED = ("outdated read or thinking left out", "outdated reads and thinking left out")


@event("tool.archived", row="rewrite")
class ToolArchived(ViewRewrite):
    """Old results were replaced by one digest, which only the model sees."""

    STAGE, STATE, FORM = "archive", "archived", "as a stub, archived"
    CHANGED = ("old result archived", "old results archived")
    performed_by: str = "heuristic"
    """Author of the digest: ``model`` or ``heuristic``."""
    model: str = ""
    """Name of the model called, even if it failed; empty when none was."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """Cost of the model request; null if unknown."""


@event("tool.trimmed", row="rewrite")
class ToolTrimmed(ViewRewrite):
    """Old results were cut to their beginning."""

    STAGE, STATE, FORM = "trim", "trimmed", "trimmed"
    CHANGED = ("old result trimmed", "old results trimmed")


@event("tool.pointers", row="rewrite")
class ToolPointers(ViewRewrite):
    """Bodies of written files were replaced by pointers to these files."""

    STAGE, STATE, FORM = "pointers", "pointer", "with pointers in place of file bodies"
    CHANGED = ("written text replaced by a pointer", "written texts replaced by pointers")


_NAMED = 4
"""Maximum numbers named in a headline."""


@event("message.excluded", row="rewrite")
class MessageExcluded(Resized):
    """Messages were removed from the model's view at a user's request; ``tool.restored`` restores them.

    A call and its results are removed together, and with an archived result the digest that describes it.
    """

    seqs: tuple[int, ...]
    """Log numbers of all removed messages."""
    again: int = 0
    """Log number of the exclusion that applies again, after it was undone; 0 for a new one."""

    def headline(self) -> str:
        named = " ".join(f"#{seq}" for seq in self.seqs[:_NAMED])
        more = " …" if len(self.seqs) > _NAMED else ""
        sizes = f"{thousands(self.tokens_before)} → {thousands(self.tokens_after)}"
        return f"{count(len(self.seqs), 'message')} excluded: {named}{more} · {sizes}"

    def light(self) -> dict[str, Any]:
        return {"ref": self.again, "removed": tuple((seq, seq) for seq in self.seqs)}


@event("tool.restored", light={"ref": "rewrite"})
class RewriteUndone(Resized):
    """The messages of one rewrite are back in their old form, and that stage will not change them again.

    For an exclusion, its messages are visible to the model again.
    """

    rewrite: int
    """Log number of the undone event."""


REWRITES = tuple(kind for kind in BY_TYPE.values() if issubclass(kind, ViewRewrite))
