"""The kinds of work that a conversation does, prompts and commands that change history, and their queue."""

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar, Literal

from tui_app.events import BranchMerged, GoalSet
from tui_app.modes import Mode
from tui_app.records import frozen
from tui_app.references import WHOLE, Span, log_number

if TYPE_CHECKING:
    from tui_app.conversation.attachments import AttachedFile

REVIEW, EXTRACT, TRY, FROM, UP_TO = "--review", "--extract", "--try", "--from", "--up-to"
"""After ``/compact``: the summary is shown before it is applied; no model writes it; where what it replaces
begins and ends."""
SwitchWay = Literal["plain", "compact", "anyway"]
"""How to change to a smaller model: as it is, after a compaction, or cutting each request."""


@frozen
class Work:
    """Something that a conversation does."""

    LABEL: ClassVar[str] = ""
    """How the queue shows it, as a form for its values."""

    @property
    def label(self) -> str:
        return self.LABEL.format(self)


@frozen
class Prompt(Work):
    """Something to say to the model."""

    text: str
    files: tuple[str, ...] = ()
    """Paths of attached files, as the user wrote them."""
    piped: str = ""
    """What was piped in beside the words."""
    above_budget: bool = False
    """Whether the user has said that it may be sent although the session's budget is used up."""
    brought: "tuple[AttachedFile, ...]" = ()
    """What is sent along as it is: no file of this machine, such as a picture out of an editor."""

    LABEL = "{0.text}"


SHELL, PRIVATE = "!", "!!"
"""In front of a command of the user's own; of one that is kept from the model."""


@frozen
class Shell(Work):
    """Run a command of the user's own."""

    command: str
    private: bool = False
    """Whether the model is not shown it."""

    @property
    def label(self) -> str:
        return f"{PRIVATE if self.private else SHELL}{self.command}"


def asked_command(text: str) -> Shell | None:
    """The command that a prompt asks for by its first character; None for any other prompt."""
    if not text.startswith(SHELL):
        return None
    private = text.startswith(PRIVATE)
    return Shell(text.removeprefix(PRIVATE if private else SHELL).strip(), private)


@frozen
class Compact(Work):
    """Compact the conversation now."""

    focus: str = ""
    trigger: Literal["manual", "memory_pressure", "model_switch"] = "manual"
    """Whether the user asked for it, memory is short, or another model has less room."""
    review: bool = False
    """Whether the user decides on the summary before it is applied, whatever the settings say."""
    span: Span = WHOLE
    """The part of the view to replace, where the user has named one."""
    extract: bool = False
    """Whether the summary is written by extraction, without a model."""
    trial: bool = False
    """Whether the model that will read the view is asked what it can tell of it."""

    @property
    def label(self) -> str:
        first = f"{FROM} #{self.span.first}" if self.span.first else ""
        last = f"{UP_TO} #{self.span.last}" if self.span.last else ""
        how = (REVIEW * self.review, EXTRACT * self.extract, TRY * self.trial)
        words = ("/compact", *how, first, last, self.focus)
        return " ".join(filter(None, words))


def asked_compaction(argument: str) -> Compact | str:
    """Read the argument of ``/compact``: options and the focus of the summary, in any order.

    Before the focus an unknown option is refused; inside of it, it is a word. After a bare ``--``
    everything is.

    Returns:
        What is asked for, or in a sentence why it cannot be read.
    """
    chosen, ends = set[str](), {FROM: 0, UP_TO: 0}
    words, focus = iter(argument.split()), list[str]()
    for word in words:
        if word == "--":
            focus += words
        elif word in (REVIEW, EXTRACT, TRY):
            chosen.add(word)
        elif word in ends:
            if not (number := log_number(next(words, ""))):
                return f"{word} takes the number of a message, such as {word} #12."
            ends[word] = number
        elif word.startswith("--") and not focus:
            return f"/compact has no {word}; it takes {REVIEW}, {EXTRACT}, {TRY}, {FROM} #N and {UP_TO} #N."
        else:
            focus.append(word)
    if ends[UP_TO] and ends[FROM] > ends[UP_TO]:
        return f"There is nothing between #{ends[FROM]} and #{ends[UP_TO]}: the first comes after the last."
    review, extract, trial = REVIEW in chosen, EXTRACT in chosen, TRY in chosen
    span = Span(ends[FROM], ends[UP_TO])
    return Compact(" ".join(focus), review=review, span=span, extract=extract, trial=trial)


@frozen
class Restate(Work):
    """Undo the newest compaction or exclusion, or redo the one undone last."""

    undo: bool
    compaction: int = 0
    """Log number of the compaction that is meant; nothing happens when another one comes first. 0 is any."""

    @property
    def label(self) -> str:
        return "/undo" if self.undo else "/redo"


@frozen
class Restore(Work):
    """Give the messages that a stage has rewritten their old form back."""

    rewrite: int
    """Log number of the rewrite."""

    LABEL = "undo #{0.rewrite}"


@frozen
class Pin(Work):
    """Keep a message word for word whatever else leaves, or no longer."""

    seq: int
    """Log number of the message."""
    pinned: bool = True

    @property
    def label(self) -> str:
        return f"{'pin' if self.pinned else 'unpin'} #{self.seq}"


@frozen
class Exclude(Work):
    """Exclude messages from the context, or bring them back."""

    seqs: tuple[int, ...]
    """Log numbers of the messages."""
    excluded: bool = True
    turn: bool = False
    """Whether the whole turn of each leaves."""

    @property
    def label(self) -> str:
        numbers = " ".join(f"#{seq}" for seq in self.seqs)
        return f"/{'exclude' if self.excluded else 'include'} {numbers}{' turn' if self.turn else ''}"


@frozen
class Relieve(Work):
    """Archive the results of a message, or move them to files."""

    seq: int
    """Log number of the message."""
    stage: Literal["archive", "offload"]
    others: tuple[int, ...] = ()
    """Log numbers of more messages with which the same is done after it."""

    @property
    def label(self) -> str:
        return f"{self.stage} {' '.join(f'#{seq}' for seq in (self.seq, *self.others))}"


@frozen
class Rewind(Work):
    """Go on from before a prompt, as if it and all that followed had not been said."""

    to: int
    """Log number of the prompt."""
    files: Literal["keep", "restore", "overwrite"] = "keep"
    """Whether files that tools changed since are brought back, also over what others made of them."""
    again: bool = False
    """Whether the prompt, the newest whatever ``to`` says, is sent anew at once."""
    above_budget: bool = False
    """Whether the user has said that it may be sent anew although the session's budget is used up."""

    @property
    def label(self) -> str:
        return "/retry" if self.again else f"/rewind #{self.to}"


@frozen
class Merge(Work):
    """Bring the outcome of a branch into this session."""

    event: BranchMerged
    """What is to be in the log, but for the sizes."""
    contents: tuple[bytes, ...] = field(default=(), repr=False)
    """What its files hold here, are to hold, and hold in the branch: kept first."""

    LABEL = "/merge {0.event.name}"


@frozen
class EditSummary(Work):
    """Change the words of a summary."""

    compaction: int
    """Log number of its compaction; 0 is the newest."""
    text: str

    @property
    def label(self) -> str:
        return f"edit summary #{self.compaction}" if self.compaction else "edit summary"


@frozen
class VerifySummary(Work):
    """Have a model read a summary against the messages it cites."""

    compaction: int = 0
    """Log number of its compaction; 0 is the newest."""

    LABEL = "verify the summary"


@frozen
class BringBack(Work):
    """Put a fact below the summary that lost it."""

    compaction: int
    """Log number of the compaction."""
    fact: str
    """Text of the fact."""

    LABEL = "bring back: {0.fact}"


@frozen
class RestoreFiles(Work):
    """Take back what a rewind did to files."""

    restored: int
    """Log number of that step."""

    LABEL = "undo restored files of #{0.restored}"


@frozen
class Clear(Work):
    """Empty the agent view."""

    LABEL = "/clear"


@frozen
class ChangePolicy(Work):
    """Go on under another policy."""

    policy: str

    LABEL = "/policy {0.policy}"


@frozen
class ChangeEffort(Work):
    """Let the model think more or less."""

    effort: str

    LABEL = "/effort {0.effort}"


@frozen
class ChangeMode(Work):
    """Let tools go further, or less far, without a question."""

    mode: Mode

    LABEL = "/mode {0.mode}"


@frozen
class AcceptPlan(Work):
    """Leave plan mode, and have the plan carried out."""

    mode: Mode
    """The mode to work in."""

    LABEL = "/accept {0.mode}"


@frozen
class Switch(Work):
    """Go on with another model."""

    model: str
    way: SwitchWay = "plain"

    LABEL = "/model {0.model}"


@frozen
class Pursue(Work):
    """Set a goal, and have the model work until it is reached."""

    goal: GoalSet

    LABEL = "/goal {0.goal.text}"


@frozen
class GoOn(Work):
    """Go on with the turn that was left unfinished."""

    LABEL = "the turn that was left"


HELD_BACK = (Prompt, Shell, Pursue, GoOn)
"""What a stop holds back: the user may not want it any more."""
