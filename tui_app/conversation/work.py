"""The kinds of work that a conversation does, prompts and commands that change history, and their queue."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from tui_app.events import BranchMerged, GoalSet, QueueChanged
from tui_app.modes import Mode
from tui_app.records import frozen
from tui_app.references import WHOLE, Span, log_number

if TYPE_CHECKING:
    from tui_app.conversation.attachments import AttachedFile

REVIEW, EXTRACT, TRY, FROM, UP_TO = "--review", "--extract", "--try", "--from", "--up-to"
"""Behind ``/compact``: the summary is shown before it is applied; no model writes it; where what it replaces
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

    In front of the focus an unknown option is refused; inside of it, it is a word. Behind a bare ``--``
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
            number = log_number(next(words, ""))
            if not number:
                return f"{word} takes the number of a message, such as {word} #12."
            ends[word] = number
        elif word.startswith("--") and not focus:
            return f"/compact has no {word}; it takes {REVIEW}, {EXTRACT}, {TRY}, {FROM} #N and {UP_TO} #N."
        else:
            focus.append(word)
    if ends[UP_TO] and ends[FROM] > ends[UP_TO]:
        return f"There is nothing between #{ends[FROM]} and #{ends[UP_TO]}: the first comes after the last."
    return Compact(
        " ".join(focus),
        review=REVIEW in chosen,
        span=Span(ends[FROM], ends[UP_TO]),
        extract=EXTRACT in chosen,
        trial=TRY in chosen,
    )


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
    """Log numbers of more messages with which the same is done behind it."""

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


# The queue: what waits in order, is held back after a stop, and may be taken out again.


@dataclass(slots=True)
class WorkQueue:
    """First in, first out; paused after a cancelled turn until the user sends on.

    What is sent then goes first: it is what the user wants now, and what waits was meant for another turn.
    Belongs to one thread at a time: the screen's until the session is open, the conversation's from then on.
    """

    report: Callable[[QueueChanged], object] = field(default=lambda change: None)
    """Shows each change."""
    paused: bool = False
    is_left: bool = False
    """Whether another process goes on with what is held back by a stop, too."""
    _waiting: deque[Work] = field(default_factory=deque)

    @property
    def labels(self) -> tuple[str, ...]:
        """What waits, oldest first."""
        return tuple(work.label for work in self._waiting)

    @property
    def prompts(self) -> tuple[str, ...]:
        """The texts of prompts that wait, oldest first."""
        return tuple(work.text for work in self._waiting if isinstance(work, Prompt))

    def enqueue(self, work: Work) -> None:
        """Put something at the end; what is sent during a pause ends it and goes before what is held back."""
        if self.paused and isinstance(work, HELD_BACK):
            held = [each for each in self._waiting if isinstance(each, HELD_BACK)]
            commands = [each for each in self._waiting if not isinstance(each, HELD_BACK)]
            self._waiting = deque([*commands, work, *held])
            self.paused = False
        else:
            self._waiting.append(work)
        self.announce()

    def restore(self, *work: Work, paused: bool) -> None:
        """Put what was left in an earlier process in front of everything."""
        self._waiting.extendleft(reversed(work))
        self.paused = paused and bool(work)
        self.announce()

    @property
    def held_back(self) -> tuple[Work, ...]:
        """What a stop holds back of what waits, oldest first."""
        return tuple(work for work in self._waiting if isinstance(work, HELD_BACK))

    def next(self) -> Work | None:
        """Take out the oldest; while paused the oldest that is not held back."""
        holds = self.paused or self.is_left
        found = (each for each in self._waiting if not (holds and isinstance(each, HELD_BACK)))
        work = next(found, None)
        if work is not None:
            self.remove(work)
        return work

    def remove(self, work: Work) -> bool:
        """Take out this very piece of work; whether it still waited."""
        place = next((at for at, each in enumerate(self._waiting) if each is work), None)
        self._take(place)
        return place is not None

    def take_last(self) -> str:
        """Take the newest back; its text, empty where nothing waits."""
        return self._take(len(self._waiting) - 1 if self._waiting else None)

    def take(self, place: int, label: str) -> str:
        """Take out what stood at a place when it was shown; its text, empty when it has left since."""
        return self._take(self._find(place, label))

    def move(self, place: int, label: str, step: int) -> None:
        """Let what stood at a place when it was shown come earlier (a negative step) or later."""
        if (found := self._find(place, label)) is not None:
            work = self._waiting[found]
            del self._waiting[found]
            self._waiting.insert(max(0, found + step), work)
        self.announce()

    def clear(self) -> None:
        self._waiting.clear()
        self.paused = False

    def pause(self) -> None:
        """Hold back what waits, without a word; with nothing waiting there is nothing to hold."""
        self.paused = bool(self._waiting)

    def resume(self) -> None:
        """Hold nothing back any more."""
        self.paused = False
        self.announce()

    def announce(self) -> None:
        self.report(QueueChanged(prompts=self.labels, paused=self.paused))

    def _find(self, place: int, label: str) -> int | None:
        """The present place of something: what waits moves up, and never down by itself."""
        places = reversed(range(min(place + 1, len(self._waiting))))
        return next((at for at in places if self._waiting[at].label == label), None)

    def _take(self, place: int | None) -> str:
        label = ""
        if place is not None:
            label = self._waiting[place].label
            del self._waiting[place]
        self.paused = self.paused and bool(self._waiting)
        self.announce()
        return label
