"""The state of the chat screen as one frozen value."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from tui_app.context.counting.usage import ContextUsage
from tui_app.events import ApprovalRequested
from tui_app.session.stats import Costs
from tui_app.ui.keys import Locked
from tui_app.ui.widgets.status import Status

LOADING = "Loading the model; what you sent is next."
NOTICES = 200
"""So many of the newest notices are kept."""
EARLIER = "From an earlier session: "
"""In front of notices that nobody had read when their session was left."""


class Running(NamedTuple):
    """A call of a tool that has no result yet."""

    id: str
    name: str
    since: float
    """Monotonic seconds."""
    output: str = ""
    """The end of what it has printed so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatState:
    """Everything around the transcript. Children are given parts of it; nobody else keeps a copy."""

    title: str = ""
    model: str = ""
    policy: str = ""
    spent: float | None = None
    """US dollars so far; None while no price is known."""
    unpriced: int = 0
    """Requests so far whose price is not known."""
    unpriced_models: tuple[str, ...] = ()
    """Whom they went to."""
    turn_costs: Costs = field(default_factory=Costs)
    usage: ContextUsage | None = None
    status: Status = field(default_factory=Status)
    queue: tuple[str, ...] = ()
    paused: bool = False
    locked: Locked = ""
    """Why nothing can be changed; empty when it can."""
    notices: tuple[str, ...] = ()
    unread: int = 0
    """How many of them came since they were looked at last."""
    sending: str = ""
    """The prompt of the turn under way until the log holds it; empty from then on."""
    turn: bool = False
    """Whether a turn is under way."""
    turn_started: float = 0.0
    streamed: int = 0
    """Characters streamed in this turn."""
    unlogged: int = 0
    """Of these, the characters that the measured context does not hold yet."""
    background: float | None = None
    """Progress of a background compaction, 0 to 1; negative for one part; None when none runs."""
    compacting: bool = False
    """Whether a compaction runs that the person waits for."""
    reviewing: bool = False
    """Whether a summary waits for a decision."""
    calls: tuple[Running, ...] = ()
    """Calls of tools without a result yet, the newest last."""
    question: ApprovalRequested | None = None
    """What a tool asks; None when none does."""
    ahead: tuple[str, ...] = ()
    """Ids of the calls that nobody has allowed yet."""

    @property
    def output(self) -> str:
        """The end of what the newest running command that prints has printed."""
        return next((call.output for call in reversed(self.calls) if call.output), "")

    @property
    def scale(self) -> float:
        """Tokens as the model counts them for each counted one: every size on the screen is shown on it."""
        return self.usage.scale if self.usage is not None else 1.0

    @property
    def standing(self) -> Status:
        """What the status row says apart from what only answers a key."""
        return self.status if self.status.under is None else self.status.under

    @property
    def answer(self) -> str:
        """What the status row answers to the last key; empty where it answers nothing."""
        status = self.status
        if status.under is None:
            return ""
        return status.notes[0] if status.busy and status.notes else status.text

    @property
    def busy(self) -> bool:
        """Whether Esc has something to stop."""
        return self.turn or self.compacting or self.reviewing or self.background is not None


def loading(state: ChatState, early: tuple[str, ...]) -> ChatState:
    """Show what waits for the agent side."""
    return replace(state, queue=early, status=Status(kind="message", text=LOADING))


def still_loading(state: ChatState, early: tuple[str, ...]) -> ChatState:
    """Show what waits for the agent side after some of it was taken back or moved."""
    return replace(state, queue=early, status=state.status if early else Status())


def saying(state: ChatState, text: str) -> ChatState:
    """Put a sentence in the status row: behind what is under way, or alone."""
    if state.status.busy:
        return replace(state, status=replace(state.status, notes=(text,) if text else (), under=None))
    return replace(state, status=Status(kind="message", text=text))


def answering(state: ChatState, text: str) -> ChatState:
    """Put a sentence in the status row that answers a key: it goes with the next one that does something."""
    said = saying(state, text)
    return replace(said, status=replace(said.status, under=state.standing))


def going_on(state: ChatState, before: Status) -> ChatState:
    """Keep what answered a key, where something else runs now than when it was said."""
    status = state.status
    if before.under is None or not (before.busy and status.busy) or status.notes or status.under is not None:
        return state
    return replace(state, status=replace(status, notes=before.notes, under=status))


def moved_on(state: ChatState) -> ChatState:
    """Take what answered a key off the status row; what stood there before may have gone on since."""
    under = state.status.under
    if under is None:
        return state
    before = replace(state.status, notes=under.notes, under=None) if state.status.busy else under
    return replace(state, status=before)


def noting(state: ChatState, text: str) -> ChatState:
    """Add a notice; the oldest ones leave."""
    notices = (*state.notices, text)[-NOTICES:]
    return replace(state, notices=notices, unread=min(state.unread + 1, NOTICES))


def unread_of(state: ChatState) -> tuple[str, ...]:
    """The notices that came since they were looked at last."""
    return state.notices[len(state.notices) - state.unread :]


def bringing(state: ChatState, notices: Iterable[str]) -> ChatState:
    """Put what nobody has read in the session before in front of this one's notices; each is said once."""
    before = tuple(dict.fromkeys(EARLIER + text.removeprefix(EARLIER) for text in notices))
    every = (*before, *state.notices)[-NOTICES:]
    return replace(state, notices=every, unread=min(len(before) + state.unread, NOTICES))


def noticed(state: ChatState) -> ChatState:
    """Count every notice as read; they can still be looked at."""
    return replace(state, unread=0)
