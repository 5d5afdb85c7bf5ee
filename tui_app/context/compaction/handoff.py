"""Handoff briefs for a new session: binding parts written by code, the rest by a model.

A brief uses the same facts of the whole log, the same summarisers and the same checks as a compaction.
Without a model it consists of those facts only.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tui_app.context.binding.bind import Binder
from tui_app.context.compaction.notes import NotesWriter, task_of
from tui_app.context.compaction.plan import Addition, fitted, rough_tokens
from tui_app.context.compaction.proposal import NOTES_OF_A_MODEL
from tui_app.context.compaction.sections import deeds_section, unlike_ours
from tui_app.context.compaction.user_words import user_words_section
from tui_app.context.history import History, OriginalView, original_view
from tui_app.context.ledger.facts import ledger_facts
from tui_app.context.ledger.ledger import Ledger
from tui_app.context.ledger.passages import passages
from tui_app.context.policy import Policy
from tui_app.context.summaries import prompt
from tui_app.context.summaries.extractive import ExtractiveSummariser
from tui_app.context.summaries.prompt import SummaryTask
from tui_app.context.summaries.writer import Summariser
from tui_app.events import Fact
from tui_app.records import frozen

JOB = "handoff"
"""Job name for progress events."""
_SHARE, _LEAST, _MOST = 24, 600, 4_000
"""A brief may take a 24th of the window, within these bounds in tokens."""
_NOTES = 300
"""Minimum tokens for a model's notes; with less room none are requested."""
_NOTES_SHARE = 3
"""Notes may take at most a third of a brief."""
_WORDS_SHARE = 3
"""The user's words may take at most a third of what other parts leave."""
_MOST_HANDED_ON = 200
"""Maximum number of facts in the event."""
_WISH = """\
The notes open a new session with the goal above. Write only what that goal needs and other sections do not \
hold: the state of the work, what was tried and how it ended, decisions with their reasons, the next steps. \
Rules of the user, changed files, open errors and questions, plan and todo list stand beside the notes."""
_BRANCH_WISH = """\
The notes tell whoever goes on without it what came of trying something aside. Write only what other \
sections do not hold: what was tried and how it ended, what was decided and why, what is still open. Changed \
files, commands, open errors and the user's words stand beside the notes."""
_CARRIED, _MERGED = "## Brief of the session before", "## What was merged in it"
_BINDING = frozenset({"error", "question", "live", "todo"})


@frozen(kw_only=True)
class Brief:
    """The beginning of a new session."""

    goal: str
    text: str
    """As it is shown and edited."""
    facts: tuple[Fact, ...]
    """Heaviest first; another handoff would lose them otherwise."""
    left_out: int = 0
    """Number of changed files, open errors and questions that did not fit."""
    performed_by: str = "heuristic"
    model: str = ""
    marked: int | None = None
    """Lines of the notes that name something not in the log."""
    reason: str = ""
    """Why a model that was called wrote no notes."""
    tokens: int = 0
    cost_usd: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(kw_only=True)
class BriefWriter(NotesWriter):
    """Writes the brief of one session, which is only read."""

    history: History
    policy: Policy
    goal: str
    count: Callable[[str], int]
    """Tokens of a text as the model counts them."""
    job: str = JOB
    additions: Sequence[Addition] = ()
    """Plan and todo list."""
    carried: str = ""
    """The brief that this session itself began with, as it was edited; in a branch those that were merged."""
    since: int = 0
    """Log number after which everything is included; the reader knows what came before."""
    heading: str = ""
    """Heading used instead of the goal."""
    _room: int = 0
    """Tokens of the notes."""

    async def write(self, writers: Sequence[Summariser], *, extract: bool = False) -> Brief:
        """Write the brief.

        Args:
            writers: Writers of notes, best first.
            extract: Whether no model is called.
        """
        whole, window = self.full_view, self.history.usage().window
        budget = min(_MOST, max(_LEAST, window.limit // _SHARE))
        items = [item for item in whole.items if item.key > self.since]
        ledger = await asyncio.to_thread(Ledger.from_items, items) if self.since else whole.ledger
        goal = self.heading or f"## Goal\n{self.goal}"
        left = budget - self.count(goal)
        # A token is estimated as three characters there.
        kept = fitted(self.additions, left * 3 // 4)
        carried = prompt.fitted(self.carried, left // 4, self.count)
        if carried:
            lines = (f"#{line}" if line.startswith("#") else line for line in carried.splitlines())
            carried = "\n".join((_MERGED if self.since else _CARRIED, *lines))
        extra = "\n\n".join(filter(None, (carried, *(addition.worded for addition in kept))))
        left -= self.count(extra)
        words = user_words_section(ledger.prompts(), left // _WORDS_SHARE, self.count)
        quotes = "\n\n".join(filter(None, (words.rules_text, words.text)))
        left -= self.count(quotes)
        deeds = await asyncio.to_thread(deeds_section, ledger, left, self.count)
        self._room = min(budget // _NOTES_SHARE, left - self.count(deeds.text))
        facts = ledger_facts(ledger)
        brief = Brief(goal=self.goal, text="", facts=facts[:_MOST_HANDED_ON])
        # Extraction would only repeat the lists.
        models = [writer for writer in writers if not isinstance(writer, ExtractiveSummariser)]
        if extract or self.policy.summary_by == "heuristic" or self._room < _NOTES:
            models = []
        notes, reason = "", ""
        for model in models:
            summary = await self.notes(model)
            if not isinstance(summary, str):
                notes = prompt.fitted(summary.text, self._room, self.count)
                brief = replace(
                    brief, performed_by=summary.performed_by, model=summary.model, marked=summary.not_in_log
                )
                break
            reason = reason or summary
        written = f"## Notes\n{NOTES_OF_A_MODEL}\n\n{unlike_ours(notes)}" if notes else ""
        text = "\n\n".join(filter(None, (goal, deeds.text, quotes, written, extra)))
        spent = self.ledger.spent
        binding = [
            fact
            for fact in facts
            if fact.kind in _BINDING or (fact.kind == "file" and not fact.text.endswith(" · read"))
        ]
        return replace(
            brief,
            text=text,
            reason=reason,
            left_out=sum((fact.kind, fact.text) not in deeds.written for fact in binding),
            tokens=self.count(text),
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost_usd=spent.cost_usd if self.ledger.requests else None,
        )

    @cached_property
    def full_view(self) -> OriginalView:
        """The session, of which no message stays."""
        return original_view(self.history, [item.key for item in self.history.items()])

    @cached_property
    def binder(self) -> Binder:
        extras = (*self.history.circumstances(), *(addition.text for addition in self.additions))
        return Binder(self.full_view.ledger, list(passages(self.full_view.items)), extras, rough_tokens)

    def task(self) -> SummaryTask:
        items = [item for item in self.history.items() if item.key > self.since]
        wish = _BRANCH_WISH if self.since else _WISH
        return replace(task_of(items, self.full_view.ledger, self._room), focus=self.goal, instructions=wish)
