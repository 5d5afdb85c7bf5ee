"""Kinds of work a conversation does: prompts, and commands that change history."""

from dataclasses import field
from typing import TYPE_CHECKING, ClassVar, Literal

from tui_app.events import BranchMerged, GoalSet
from tui_app.modes import Mode
from tui_app.records import frozen
from tui_app.references import WHOLE, Span, log_number

if TYPE_CHECKING:
    from tui_app.conversation.attachments import AttachedFile

REVIEW, EXTRACT, TRY, FROM, UP_TO = "--review", "--extract", "--try", "--from", "--up-to"
"""Options of ``/compact``: review, extract and test the summary; first and last message to replace."""
SwitchWay = Literal["plain", "compact", "anyway"]
"""How to switch to a smaller model: as it is, after a compaction, or cutting each request."""


@frozen
class Work:
    """One piece of work for a conversation."""

    LABEL: ClassVar[str] = ""
    """Its label in the queue, as a format string."""

    @property
    def label(self) -> str:
        return self.LABEL.format(self)


@frozen
class Prompt(Work):
    """A prompt for the model."""

    text: str
    files: tuple[str, ...] = ()
    """Paths of attached files, as the user wrote them."""
    piped: str = ""
    """Text piped in with the prompt."""
    above_budget: bool = False
    """Whether the user agreed to exceed the session's budget."""
    brought: "tuple[AttachedFile, ...]" = ()
    """Attachments that are no files on this machine, such as a picture from an editor."""

    LABEL = "{0.text}"


SHELL, PRIVATE = "!", "!!"
"""Prefixes of a user's command: plain, and hidden from the model."""


@frozen
class Shell(Work):
    """Run a command of the user."""

    command: str
    private: bool = False
    """Whether it is hidden from the model."""

    @property
    def label(self) -> str:
        return f"{PRIVATE if self.private else SHELL}{self.command}"


def asked_command(text: str) -> Shell | None:
    """The command that a prompt's first character asks for; None for any other prompt."""
    if not text.startswith(SHELL):
        return None
    private = text.startswith(PRIVATE)
    return Shell(text.removeprefix(PRIVATE if private else SHELL).strip(), private)


@frozen
class Compact(Work):
    """Compact the conversation now."""

    focus: str = ""
    trigger: Literal["manual", "memory_pressure", "model_switch"] = "manual"
    """Why: the user asked, memory is low, or the next model has a smaller window."""
    review: bool = False
    """Whether the user reviews the summary before it is applied, whatever the settings."""
    span: Span = WHOLE
    """The part of the view to replace, if the user named one."""
    extract: bool = False
    """Whether to write the summary by extraction, without a model."""
    trial: bool = False
    """Whether to test the summary first, by asking the model that will read it."""

    @property
    def label(self) -> str:
        first = f"{FROM} #{self.span.first}" if self.span.first else ""
        last = f"{UP_TO} #{self.span.last}" if self.span.last else ""
        how = (REVIEW * self.review, EXTRACT * self.extract, TRY * self.trial)
        words = ("/compact", *how, first, last, self.focus)
        return " ".join(filter(None, words))


def asked_compaction(argument: str) -> Compact | str:
    """Parse the argument of ``/compact``: options and the focus of the summary, in any order.

    An unknown option before the focus is refused; within the focus it is a word. Everything after a bare
    ``--`` belongs to the focus.

    Returns:
        The work, or a sentence that tells why the argument cannot be parsed.
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
    """Log number of the expected compaction. Nothing happens if another one is newer; 0 accepts any."""

    @property
    def label(self) -> str:
        return "/undo" if self.undo else "/redo"


@frozen
class Restore(Work):
    """Undo a rewrite: its messages get their previous form back."""

    rewrite: int
    """Log number of the rewrite."""

    LABEL = "undo #{0.rewrite}"


@frozen
class Pin(Work):
    """Pin a message, so that it is kept word for word, or unpin it."""

    seq: int
    """Log number of the message."""
    pinned: bool = True

    @property
    def label(self) -> str:
        return f"{'pin' if self.pinned else 'unpin'} #{self.seq}"


@frozen
class Exclude(Work):
    """Exclude messages from the context, or include them again."""

    seqs: tuple[int, ...]
    """Log numbers of the messages."""
    excluded: bool = True
    turn: bool = False
    """Whether to exclude the whole turn of each."""

    @property
    def label(self) -> str:
        numbers = " ".join(f"#{seq}" for seq in self.seqs)
        return f"/{'exclude' if self.excluded else 'include'} {numbers}{' turn' if self.turn else ''}"


@frozen
class Relieve(Work):
    """Archive the results of a message, or offload them to files."""

    seq: int
    """Log number of the message."""
    stage: Literal["archive", "offload"]
    others: tuple[int, ...] = ()
    """Log numbers of further messages to treat the same way."""

    @property
    def label(self) -> str:
        return f"{self.stage} {' '.join(f'#{seq}' for seq in (self.seq, *self.others))}"


@frozen
class Rewind(Work):
    """Rewind to before a prompt, as if it and everything after it had not been said."""

    to: int
    """Log number of the prompt."""
    files: Literal["keep", "restore", "overwrite"] = "keep"
    """Whether to restore files that tools changed since, and whether to overwrite later changes by others."""
    again: bool = False
    """Whether to send the newest prompt again at once; ``to`` is then ignored."""
    above_budget: bool = False
    """Whether the user agreed to exceed the session's budget when it is sent again."""

    @property
    def label(self) -> str:
        return "/retry" if self.again else f"/rewind #{self.to}"


@frozen
class Merge(Work):
    """Merge the result of a branch into this session."""

    event: BranchMerged
    """The event to log, without its token counts."""
    contents: tuple[bytes, ...] = field(default=(), repr=False)
    """For its files, the contents here, after the merge and in the branch. They are stored first."""

    LABEL = "/merge {0.event.name}"


@frozen
class EditSummary(Work):
    """Edit the text of a summary."""

    compaction: int
    """Log number of its compaction; 0 is the newest."""
    text: str

    @property
    def label(self) -> str:
        return f"edit summary #{self.compaction}" if self.compaction else "edit summary"


@frozen
class VerifySummary(Work):
    """Have a model check a summary against the messages it cites."""

    compaction: int = 0
    """Log number of its compaction; 0 is the newest."""

    LABEL = "verify the summary"


@frozen
class BringBack(Work):
    """Add a lost fact below the summary."""

    compaction: int
    """Log number of the compaction."""
    fact: str
    """Text of the fact."""

    LABEL = "bring back: {0.fact}"


@frozen
class RestoreFiles(Work):
    """Undo a rewind's changes to files."""

    restored: int
    """Log number of that step."""

    LABEL = "undo restored files of #{0.restored}"


@frozen
class Clear(Work):
    """Empty the agent view."""

    LABEL = "/clear"


@frozen
class ChangePolicy(Work):
    """Switch to another policy."""

    policy: str

    LABEL = "/policy {0.policy}"


@frozen
class ChangeEffort(Work):
    """Change the model's reasoning effort."""

    effort: str

    LABEL = "/effort {0.effort}"


@frozen
class ChangeMode(Work):
    """Switch to another mode, which decides what tools may do without asking."""

    mode: Mode

    LABEL = "/mode {0.mode}"


@frozen
class AcceptPlan(Work):
    """Leave plan mode and carry out the plan."""

    mode: Mode
    """The mode to work in."""

    LABEL = "/accept {0.mode}"


@frozen
class Switch(Work):
    """Switch to another model."""

    model: str
    way: SwitchWay = "plain"

    LABEL = "/model {0.model}"


@frozen
class Pursue(Work):
    """Set a goal, and work until it is reached."""

    goal: GoalSet

    LABEL = "/goal {0.goal.text}"


@frozen
class GoOn(Work):
    """Continue an unfinished turn."""

    LABEL = "the turn that was left"


HELD_BACK = (Prompt, Shell, Pursue, GoOn)
"""Work that a stop holds back, as the user may no longer want it."""
