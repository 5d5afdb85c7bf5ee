"""Editing a summary that stands, and bringing back what it lost: one event each, which can be taken back."""

import asyncio
from dataclasses import dataclass, replace

from tui_app.context.compaction.replacement import Earlier
from tui_app.context.compaction.retention import fact_line, judge
from tui_app.context.compaction.review import Reworded, parts_of, reworded
from tui_app.context.facts.observations import one_line
from tui_app.context.provenance.check import Utterance, mark_unconfirmed, utterances
from tui_app.context.secrets import mask_secrets
from tui_app.context.summaries.transcript import message_text
from tui_app.context.view import Item
from tui_app.conversation.compactions import Compactions
from tui_app.conversation.session_history import SessionHistory
from tui_app.conversation.view_messages import ViewMessages
from tui_app.events import CompactionComplete, CompactionEdited, Fact, Notice
from tui_app.session.event_heads import LATER, MESSAGES, head_of

NOT_SHOWN = "#{} is no summary that the model sees now: only such a one can be edited."
SEALED = "The provider wrote this summary and only it can read it: it cannot be edited here."
EMPTY = "The summary is empty. /undo takes the compaction back instead."
UNCHANGED = "Nothing to change: the summary says that already."
TOO_LONG = "The summary is longer than the messages it stands for. /undo brings these back instead."
TOO_LARGE = "With this summary the next request would be {:,} tokens, above the {:,} that fit."
NO_FACT = "The compaction has no such fact."


@dataclass(frozen=True, slots=True)
class _Standing:
    """A summary that the model sees."""

    number: int
    item: Item
    earlier: Earlier
    """What it consists of."""
    facts: tuple[Fact, ...]
    removed: int
    """Tokens that its compaction freed."""


@dataclass(slots=True)
class SummaryEdits:
    """The summaries of one conversation's view."""

    history: SessionHistory
    compactions: Compactions

    async def edit(self, compaction: int, text: str) -> bool:
        """Give a summary other words; a notice says why not.

        They are checked as those of a model: secrets are masked, and what is ascribed to the user without any
        message of theirs is marked.

        Args:
            compaction: Log number of the compaction; 0 is the newest that stands.
            text: The notes as they are to be.
        """
        standing = self._standing(compaction)
        if isinstance(standing, str):
            return self._refuse(standing)
        if not text.strip():
            return self._refuse(EMPTY)
        said = self._said(standing)
        # In a thread: a long conversation takes a moment, and the loop serves others.
        checked = await asyncio.to_thread(_checked, text, said, standing.earlier)
        # What happened meanwhile may have changed it.
        if self._standing(compaction) != standing:
            return self._refuse(NOT_SHOWN.format(standing.number))
        if checked.strip() == standing.earlier.summary.strip():
            return self._refuse(UNCHANGED)
        return self._apply(standing, reworded(standing.item.message, checked, standing.earlier.facts))

    def bring_back(self, compaction: int, fact: str) -> bool:
        """Put a fact that a summary lacks below it, word for word; a notice says why not.

        Args:
            compaction: Log number of the compaction.
            fact: Text of the fact.
        """
        standing = self._standing(compaction)
        if isinstance(standing, str):
            return self._refuse(standing)
        wanted = next((each for each in standing.facts if each.text == fact), None)
        if wanted is None:
            return self._refuse(NO_FACT)
        line, facts = fact_line(wanted), standing.earlier.facts
        if line in facts.splitlines():
            return self._refuse(UNCHANGED)
        below = "\n".join(filter(None, (facts, line)))
        new = reworded(standing.item.message, standing.earlier.summary, below)
        return self._apply(standing, new, one_line(wanted.text))

    def _apply(self, standing: _Standing, new: Reworded, fact: str = "") -> bool:
        history = self.history
        tokens = history.counter.message(new.message).nonzero()
        others = [item for item in history.items() if item.key != standing.number]
        text = "\n".join([new.text, *(message_text(item.message) for item in others)])
        facts, retention = judge(standing.facts, replacement_text=text)
        parts = parts_of(new.message)
        event = CompactionEdited(
            compaction=standing.number,
            summary=parts.summary if parts else "",
            fact=fact,
            tokens=tokens,
            tokens_before=history.usage().total,
            retention=retention if facts else None,
            facts=facts,
        )
        after = history.after(head_of(LATER, 0.0, event))
        if reason := self._too_much(standing, event.tokens_before, after):
            return self._refuse(reason)
        # A job under way was planned with the words as they were.
        self.compactions.cancel()
        history.append(replace(event, tokens_after=after), new.message)
        return True

    def _too_much(self, standing: _Standing, before: int, after: int) -> str:
        fits = self.history.usage().window.effective
        if after > before and after > fits:
            return TOO_LARGE.format(after, fits)
        return TOO_LONG if after - before >= standing.removed > 0 else ""

    def _standing(self, compaction: int) -> _Standing | str:
        history = self.history
        number = compaction or (history.view.compactions[-1] if history.view.compactions else 0)
        item = next((each for each in history.items() if each.key == number), None)
        done = self._newest(number)
        if item is None or done is None or number not in history.view.compactions:
            return NOT_SHOWN.format(number)
        earlier = parts_of(item.message)
        if earlier is None:
            return SEALED
        first = self._event(number)
        removed = first.tokens_removed if isinstance(first, CompactionComplete) else 0
        return _Standing(number, item, earlier, done.facts, removed)

    def _newest(self, compaction: int) -> CompactionComplete | CompactionEdited | None:
        """The event that says how a summary is worded now."""
        edits = self.history.view.edits.get(compaction)
        return self._event(edits[-1].form[0] if edits else compaction)

    def _event(self, seq: int) -> CompactionComplete | CompactionEdited | None:
        record = self.history.store.record(self.history.session, seq) if seq else None
        data = record.data if record else None
        return data if isinstance(data, CompactionComplete | CompactionEdited) else None

    def _said(self, standing: _Standing) -> list[Utterance]:
        """What the person said, in all that summaries stand for and in what is still in view."""
        history, earlier = self.history, standing.earlier
        heads = [head for head in history.view.held() if head.type in MESSAGES]
        messages = ViewMessages(history.store, history.session).read(heads)
        carried = (*(text for _, text in earlier.prompts), *(rule.text for rule in earlier.rules))
        return [*map(Utterance, carried), *utterances([Item(seq, messages[seq]) for seq in messages])]

    def _refuse(self, reason: str) -> bool:
        self.history.append(Notice(text=reason, passing=True))
        return False


def _checked(text: str, said: list[Utterance], earlier: Earlier) -> str:
    """The notes as they may stand: no secrets, and nothing ascribed unmarked that nobody said."""
    return mark_unconfirmed(mask_secrets(text), said, earlier.notes)
