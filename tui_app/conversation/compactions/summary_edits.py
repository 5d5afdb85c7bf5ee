"""Manual edits of a summary: its text, a missing fact, a check by a model."""

import asyncio
from dataclasses import dataclass, replace

from tui_app.context.binding.bind import Binder
from tui_app.context.binding.second_reader import DOUBT, read_again
from tui_app.context.compaction.summary_edits import EditableSummary, editable, reworded
from tui_app.context.counting.expenses import Ledger as Costs
from tui_app.context.ledger.passages import passages
from tui_app.context.ledger.retention import judge
from tui_app.context.summaries.prompt import message_text
from tui_app.context.summaries.writer import AsksModel
from tui_app.conversation.compactions.compactions import Compactions
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.events import CompactionComplete, CompactionEdited, Fact
from tui_app.records import frozen
from tui_app.session.event_heads import LATER, head_of
from tui_app.system.secrets import mask_secrets

NOT_SHOWN = "#{} is not a summary that the model sees now."
SEALED = "The provider wrote this summary and only it can read it: it cannot be edited here."
UNCHANGED = "Nothing to change: the summary says that already."
TOO_LARGE = "With this summary the next request would be {:,} tokens, above the {:,} that fit."
NOT_READ = "The summary was not verified: {}. Nothing changed."


@dataclass(slots=True)
class SummaryEdits:
    """Edits summaries of one conversation. Each edit is one event and can be undone.

    An impossible edit is refused with a notice that tells why.
    """

    history: SessionHistory
    compactions: Compactions

    async def edit_summary(self, compaction: int, text: str) -> bool:
        """Replace the text of a summary. Returns whether that was possible.

        The text is checked like that of a model: secrets are masked, claims that are not in the log are
        marked.

        Args:
            compaction: Log number of the compaction; 0 is the newest that is not undone.
            text: The new notes.
        """
        if isinstance(shown := self._summary(compaction), str):
            return self.history.refuse(shown)
        if not text.strip():
            return self.history.refuse("The summary is empty. /undo undoes the compaction instead.")
        earlier, binder = shown.earlier, await self._binder()
        checked = (await asyncio.to_thread(binder.bind, mask_secrets(text))).text
        # It may have changed while this waited.
        if self._summary(compaction) != shown:
            return self.history.refuse(NOT_SHOWN.format(shown.number))
        if checked.strip() == earlier.notes.strip():
            return self.history.refuse(UNCHANGED)
        return self._reword(shown, reworded(earlier, checked, earlier.added))

    async def verify_summary(self, compaction: int) -> bool:
        """Have the conversation's model check a summary against its sources.

        Args:
            compaction: Log number of the compaction; 0 is the newest that is not undone.

        Returns:
            Whether that was possible.
        """
        if isinstance(shown := self._summary(compaction), str):
            return self.history.refuse(shown)
        notes = shown.earlier.notes
        writer = self.compactions.compactor.host.summarisers("manual")[0]
        if not isinstance(writer, AsksModel):
            return self.history.refuse("No model can be asked: choose one with /model.")
        costs = Costs()

        async def ask(instructions: str, prompt: str) -> str:
            return await writer.ask(instructions, prompt, costs)

        binder = await self._binder()
        bound = await asyncio.to_thread(binder.bind, notes)
        try:
            bound = await read_again(bound, binder.sources, ask)
        except Exception as error:
            # Whatever a provider raises, the summary is unchanged.
            why = self.compactions.compactor.host.describe(error) or error
            return self.history.refuse(NOT_READ.format(why))
        if self._summary(compaction) != shown:
            return self.history.refuse(NOT_SHOWN.format(shown.number))
        doubtful = sum(state.text == DOUBT for line in bound.lines for state in line.states)
        cost = "" if costs.spent.cost_usd is None else f", ${costs.spent.cost_usd:.4f}"
        outcome = f"{len(bound.lines)} lines read against their sources: {doubtful} doubtful{cost}."
        if bound.text.strip() != notes.strip() and not self._reword(
            shown, reworded(shown.earlier, bound.text, shown.earlier.added, writer=shown.earlier.writer)
        ):
            return False
        self.history.refuse(outcome)
        return True

    def bring_back(self, compaction: int, fact: str) -> bool:
        """Add a missing fact below a summary, word for word. Returns whether that was possible.

        Args:
            compaction: Log number of the compaction.
            fact: Text of the fact.
        """
        if isinstance(shown := self._summary(compaction), str):
            return self.history.refuse(shown)
        found = next((each for each in shown.facts if each.text == fact), None)
        if found is None:
            return self.history.refuse("The compaction has no such fact.")
        line, facts = f"- {found.text} ({found.source})", shown.earlier.added
        if line in facts.splitlines():
            return self.history.refuse(UNCHANGED)
        below = "\n".join(filter(None, (facts, line)))
        again = reworded(shown.earlier, shown.earlier.notes, below)
        return self._reword(shown, again, " ".join(found.text.split()))

    def _reword(self, shown: "_VisibleSummary", new: EditableSummary, fact: str = "") -> bool:
        """Replace a summary's text, unless the new one is too large."""
        history = self.history
        tokens = history.counter.message(new.message).nonzero()
        others = [item for item in history.items() if item.key != shown.number]
        text = "\n".join([new.text, *(message_text(item.message) for item in others)])
        facts, retention = judge(shown.facts, replacement_text=text)
        event = CompactionEdited(
            compaction=shown.number,
            summary=new.notes,
            fact=fact,
            tokens=tokens,
            tokens_before=history.usage().total,
            retention=retention if facts else None,
            facts=facts,
        )
        before, after = event.tokens_before, history.after(head_of(LATER, 0.0, event)).total
        fits = history.usage().window.effective
        if after > before and after > fits:
            return self.history.refuse(TOO_LARGE.format(after, fits))
        if after - before >= shown.removed > 0:
            return self.history.refuse("The summary is longer than what it replaces. /undo brings that back.")
        # A running job was planned with the old text.
        self.compactions.cancel_job()
        history.append(replace(event, tokens_after=after), new.message)
        return True

    def _summary(self, compaction: int) -> "_VisibleSummary | str":
        """An editable summary, or why it cannot be edited."""
        history = self.history
        number = compaction or (history.view.compactions[-1] if history.view.compactions else 0)
        item = next((item for item in history.items() if item.key == number), None)
        # The event with its current text.
        edits = history.view.edits.get(number)
        done = self._event(edits[-1] if edits else number)
        if item is None or done is None or number not in history.view.compactions:
            none = "The model sees no summary now. /compact writes one."
            return NOT_SHOWN.format(number) if number else none
        if (earlier := editable(item.message)) is None:
            return SEALED
        first = self._event(number)
        removed = first.tokens_removed if isinstance(first, CompactionComplete) else 0
        return _VisibleSummary(number, earlier, done.facts, removed)

    def _event(self, seq: int) -> CompactionComplete | CompactionEdited | None:
        record = self.history.store.record(self.history.session, seq) if seq else None
        data = record.data if record else None
        return data if isinstance(data, CompactionComplete | CompactionEdited) else None

    async def _binder(self) -> Binder:
        history = self.history
        everything, ledger, extras = history.everything(), history.ledger(), history.circumstances()
        # In a thread, because a long conversation takes a while and would block the loop.
        return await asyncio.to_thread(lambda: Binder(ledger, list(passages(everything)), extras))


@frozen
class _VisibleSummary:
    number: int
    """Log number of its compaction."""
    earlier: EditableSummary
    """Its parts."""
    facts: tuple[Fact, ...]
    removed: int
    """Tokens its compaction freed."""
