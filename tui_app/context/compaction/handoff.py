"""The brief that hands a session over to a new one: what binds written by code, the rest by a model.

It is made of what compactions are made of: the same facts of the whole log, the same summarisers, and the
same checks of what a model wrote. Without a model it is those facts alone.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from tui_app.context.compaction.plan import Addition, Plan, fitted
from tui_app.context.compaction.proposal import NOTES_OF_A_MODEL, ProposalWriter, facts_held
from tui_app.context.compaction.replacement import dated, typed_prompts
from tui_app.context.compaction.retention import facts_block, lacking_facts
from tui_app.context.counting.prices import Ledger
from tui_app.context.facts import carry_facts
from tui_app.context.facts.files import root_in
from tui_app.context.facts.observations import unlabelled
from tui_app.context.facts.rules import clip_middle
from tui_app.context.history import History, original_view, sizes_of
from tui_app.context.policy import Policy
from tui_app.context.summaries import prompt
from tui_app.context.summaries.writer import ExtractiveSummariser, Summariser
from tui_app.context.view import Split
from tui_app.events import CompactionComplete, CompactionProgress, Fact
from tui_app.records import frozen

JOB = "handoff"
"""Names the writing of a brief where compactions have the name of their job."""
_SHARE, _LEAST, _MOST = 24, 600, 4_000
"""Part of the window that a brief may take, and its bounds in tokens."""
_NOTES = 300
"""Tokens that notes of a model must have, or none are asked for."""
_NOTES_SHARE = 3
"""One part in so many of a brief is what notes may take at most."""
_REQUEST_CHARS = 400
_MOST_HANDED_ON = 200
"""Facts that the new session keeps, for a brief that is made of it."""
_WISH = """\
The notes open a new session with the goal above. Write only what that goal needs and other sections do not \
hold: the state of the work, what was tried and how it ended, decisions with their reasons, the next steps. \
Rules of the user, changed files, open errors and questions, plan and todo list stand beside the notes."""
_BINDING = {"rule": 4.0, "error": 3.0, "question": 2.0}
"""How much kinds are put above the rest: they are told first and word for word."""
_CHANGED = 2.5
"""The same of a file that was changed."""


@frozen(kw_only=True)
class Brief:
    """What a new session is to begin with."""

    goal: str
    text: str
    """As it is shown and edited."""
    facts: tuple[Fact, ...]
    """Weightiest first; what handing over once more would else lose."""
    left_out: int = 0
    """Rules, changed files, open errors and questions that had no room."""
    performed_by: str = "heuristic"
    model: str = ""
    marked: int | None = None
    reason: str = ""
    """Why no model has written notes although one was asked."""
    tokens: int = 0
    cost_usd: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0


@frozen(kw_only=True)
class BriefWriter:
    """Writes the brief of one session; the session is only read."""

    history: History
    policy: Policy
    goal: str
    count: Callable[[str], int]
    """Tokens of a text as the model counts them."""
    describe: Callable[[BaseException], str]
    """Says why a model could not be asked."""
    additions: Sequence[Addition] = ()
    """Plan and todo list."""
    carried: Sequence[Fact] = ()
    """What was handed over to this session itself."""
    timeout_s: float = 120.0
    heard: Callable[[CompactionProgress], object] = lambda _progress: None

    async def write(self, writers: Sequence[Summariser], *, extract: bool = False) -> Brief:
        """Write it.

        Args:
            writers: Whoever may write notes, best first.
            extract: Whether no model is asked.
        """
        keys = frozenset(item.key for item in self.history.items())
        whole = original_view(self.history, keys)
        facts = await asyncio.to_thread(lambda: carry_facts(self.carried, facts_held(whole)))
        window = self.history.usage().window
        budget = min(_MOST, max(_LEAST, window.limit // _SHARE))
        goal = f"## Goal\n{self.goal}"
        said = typed_prompts(whole.items, ())
        room = (budget - self.count(goal)) // 4
        # Three characters stand for a token there.
        kept = dated(fitted(self.additions, room * 3), whole.items, said)
        beside = "\n\n".join(addition.worded for addition in kept)
        left = budget - self.count(goal) - self.count(beside)
        binding = [fact for fact in facts if _binds(fact)]
        must = await asyncio.to_thread(facts_block, binding, left, self.count)
        for_notes = min(budget // _NOTES_SHARE, left - self.count(must))
        notes, reason = "", ""
        writing = self._writing(budget=for_notes)
        # Extraction would only say again what the facts say.
        models = [writer for writer in writers if not isinstance(writer, ExtractiveSummariser)]
        if extract or self.policy.summary_by == "heuristic" or for_notes < _NOTES:
            models = []
        brief = Brief(goal=self.goal, text="", facts=facts[:_MOST_HANDED_ON])
        for model in models:
            summary = await writing.notes(model)
            if not isinstance(summary, str):
                notes = prompt.fitted(unlabelled(summary.text), for_notes, self.count)
                brief = replace(
                    brief,
                    performed_by=summary.performed_by,
                    model=summary.model,
                    marked=summary.marked,
                )
                break
            reason = reason or summary
        told = f"## Notes\n{NOTES_OF_A_MODEL}\n\n{notes}" if notes else ""
        left -= self.count(told)
        standing = "\n\n".join((goal, told, beside))
        block = await asyncio.to_thread(self._block, facts, standing, left)
        text = "\n\n".join(filter(None, (goal, block, told, beside)))
        spent = writing.ledger.spent
        return replace(
            brief,
            text=text,
            reason=reason,
            left_out=len(lacking_facts(binding, text)),
            tokens=self.count(text),
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost_usd=spent.cost_usd if writing.ledger.requests else None,
        )

    def _block(self, facts: Sequence[Fact], standing: str, budget: int) -> str:
        """What binds, then what else has room and stands nowhere yet."""
        rest = set(lacking_facts([fact for fact in facts if not _binds(fact)], standing))
        wanted = [_ranked(fact) for fact in facts if fact in rest or _binds(fact)]
        return facts_block(wanted, budget, self.count, root_in(standing), names_budget=budget // 8)

    def _writing(self, *, budget: int) -> ProposalWriter:
        items, usage = self.history.items(), self.history.usage()
        sizes = sizes_of(items, usage, lambda item: self.history.weigh(item).total)
        plan = Plan(
            trigger="manual",
            split=Split(head=(), old=tuple(items), recent=()),
            sizes=sizes,
            tokens_before=usage.total,
            messages_before=len(items),
            old=usage.total - sizes.carried,
            floor=sizes.carried,
            target=usage.window.effective,
            summary_budget=budget,
            prompts_budget=0,
            facts_budget=0,
            form=self.policy.form_of(by_hand=True),
            focus=self.goal,
            instructions=_WISH,
            additions=tuple(self.additions),
        )
        blank = CompactionComplete(
            job=JOB,
            outcome="failed",
            trigger="manual",
            tokens_before=usage.total,
            tokens_after=usage.total,
            messages_before=len(items),
            messages_after=len(items),
        )

        def progress(writer: str, part: int, parts: int, written: int, text: str) -> None:
            self.heard(
                CompactionProgress(
                    job=JOB, part=part, parts=parts, tokens_written=written, model=writer, text=text
                )
            )

        return ProposalWriter(
            history=self.history,
            plan=plan,
            whole=original_view(self.history, frozenset(item.key for item in items)),
            blank=blank,
            timeout_s=self.timeout_s,
            describe=self.describe,
            way_back="",
            progress=progress,
            ledger=Ledger(),
        )


def _binds(fact: Fact) -> bool:
    return fact.kind in _BINDING or (fact.kind == "file" and _is_changed(fact))


def _is_changed(fact: Fact) -> bool:
    deeds = fact.text.rpartition(" · ")[2].split(", ")
    return not all(deed.startswith("read") for deed in deeds)


def _ranked(fact: Fact) -> Fact:
    """A fact at its place among the others of a brief; long requests are clipped, rules never."""
    if fact.kind in ("request", "said"):
        return replace(fact, text=clip_middle(fact.text, _REQUEST_CHARS))
    above = _CHANGED if fact.kind == "file" and _is_changed(fact) else _BINDING.get(fact.kind, 0.0)
    return replace(fact, weight=fact.weight + above * 1_000)
