"""Doing one piece of work: a turn, or a change of history, model or policy."""

from dataclasses import dataclass, field

from tui_app.agent.shelf import why_unavailable
from tui_app.conversation.changing import Changes
from tui_app.conversation.compactions import Compactions
from tui_app.conversation.going_back import GoingBack
from tui_app.conversation.policy_change import PolicySwitch
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.switching import LoadingCancelled, ModelSwitch
from tui_app.conversation.turns import Turns
from tui_app.conversation.waiting import Waiting
from tui_app.conversation.way_back import with_way_back
from tui_app.conversation.work import (
    ChangePolicy,
    Compact,
    Prompt,
    Restate,
    Restore,
    RestoreFiles,
    Rewind,
    Switch,
    Work,
)
from tui_app.events import Record, TurnEnd, TurnStart


@dataclass(slots=True)
class Ends:
    """Which event ends the turn of each prompt that somebody follows."""

    _awaited: dict[int, Record | None] = field(default_factory=dict)

    def expect(self, prompt: Prompt) -> None:
        """Follow a prompt from now on."""
        self._awaited[id(prompt)] = None

    def note(self, prompt: Prompt, end: Record) -> None:
        """A turn has ended."""
        if id(prompt) in self._awaited:
            self._awaited[id(prompt)] = end

    def of(self, prompt: Prompt) -> Record | None:
        """The end of a prompt's turn; None until it has one."""
        return self._awaited[id(prompt)]

    def forget(self, prompt: Prompt) -> Record | None:
        """Follow a prompt no longer; the end of its turn, None where it has none."""
        return self._awaited.pop(id(prompt))


@dataclass(slots=True, kw_only=True)
class Doing:
    """Does what the queue hands out, one piece at a time, and ends it with an event."""

    history: SessionHistory
    turns: Turns
    compactions: Compactions
    changes: Changes
    models: ModelSwitch
    policies: PolicySwitch
    going_back: GoingBack
    waiting: Waiting
    ends: Ends = field(default_factory=Ends)
    under_way: Prompt | None = None
    """The prompt whose turn has begun and has no end yet, whatever led to it."""

    async def do(self, work: Work) -> None:
        """Do one piece of work.

        Raises:
            Exception: what no event can tell, such as a log on a full disk.
        """
        match work:
            case Prompt():
                await self._turn(work)
            case Compact():
                if await self.models.ready():
                    await self.compactions.run(work.trigger, work.focus, review=work.review, span=work.span)
            case ChangePolicy(policy):
                self.policies.change(policy)
            case Switch():
                await self.models.switch(work)
            case Rewind(again=True):
                await self._again(work)
            case Rewind() | RestoreFiles():
                await self.going_back.do(work)
            case Restate() | Restore():
                if not await self.going_back.forward(work):
                    await self.changes.make(work)
            case _:
                await self.changes.make(work)

    def end(self, prompt: Prompt, end: TurnEnd) -> None:
        """End a prompt's turn."""
        self.ends.note(prompt, self.history.append(end))
        self.under_way = None

    async def _again(self, work: Rewind) -> None:
        """Send the last prompt once more; nothing goes back where it may not be sent."""
        if await self.turns.may_spend(agreed=work.above_budget):
            prompt = await self.going_back.again(work)
            if prompt is not None:
                await self._turn(prompt)

    async def _turn(self, prompt: Prompt) -> None:
        self.under_way = prompt
        self.history.append(TurnStart(text=prompt.text))
        with self.turns.stop.turn():
            end = await self._answered(prompt)
        # A cancelled turn was paused by whoever cancelled it, and what was sent since then goes on.
        if end.outcome == "failed":
            self.waiting.pause()
        self.compactions.follow_background()
        self.end(prompt, end)
        if end.outcome == "done":
            await self.compactions.after_turn()

    async def _answered(self, prompt: Prompt) -> TurnEnd:
        try:
            model = await self.models.current()
        except LoadingCancelled:
            return TurnEnd(outcome="cancelled", prompt=prompt.text)
        except Exception as error:  # an SDK may raise anything; the prompt goes back to the editor
            told = why_unavailable(error, model=self.history.model)
            self.history.append(with_way_back(told, handed_back=True))
            return TurnEnd(outcome="failed", prompt=prompt.text)
        try:
            return await self.turns.run(prompt, model)
        finally:
            self.models.measure()
