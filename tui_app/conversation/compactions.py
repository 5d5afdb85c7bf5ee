"""Compactions that the user starts or undoes, that run between turns, and that the provider makes itself."""

import asyncio
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from pydantic_ai import RunContext
from pydantic_ai.messages import CompactionPart, ModelResponse
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from tui_app.context.compaction.compactor import CompactionRefused, Compactor, State, not_written
from tui_app.context.compaction.plan import irreducible_floor
from tui_app.context.compaction.proposal import Attempt, Refocus
from tui_app.context.compaction.replacement import key_ranges
from tui_app.context.counting.prompt_cache import CacheRates
from tui_app.context.history import Proposal
from tui_app.context.requests.pipeline import compact_at_turn_end
from tui_app.context.resident_memory import Past, Reading, Step, collect, next_step, resident_mb
from tui_app.context.view import is_system
from tui_app.conversation.answers import OpenQuestions
from tui_app.conversation.session_history import SessionHistory, Subscription
from tui_app.conversation.threads import log_defect
from tui_app.conversation.work import Compact
from tui_app.events import (
    AssistantMessage,
    BranchMerged,
    CompactionComplete,
    CompactionProposed,
    MemoryPressure,
    Notice,
    Payload,
    Trigger,
    TurnEnd,
    TurnStart,
)
from tui_app.records import like, picked
from tui_app.references import Span
from tui_app.session.request_ledger import by_origin
from tui_app.settings import ReviewMode
from tui_app.wires.library import OutermostCapability

# Summaries that wait for the user: shown as events, decided by whoever shows them.

_BY_THE_USER: frozenset[Trigger] = frozenset({"manual", "model_switch"})
"""Compactions that the user has just asked for."""
_UNASKED: frozenset[Trigger] = frozenset({"headless", "memory_pressure"})
"""Compactions that never wait for anybody: nobody is there, or there is no memory to wait with."""


@dataclass(slots=True)
class Reviews:
    """Asks the user about summaries. Belongs to one event loop."""

    report: Callable[[Payload], object]
    """Shows an event."""
    mode: ReviewMode = "never"
    """Which compactions wait for a decision. Stays so where nobody is there to decide."""
    _answers: OpenQuestions[str | Refocus | Attempt | None] = field(default_factory=OpenQuestions)

    def of(self, trigger: Trigger) -> "Reviews | None":
        """Whoever decides on a summary of that trigger; None applies it as it is written."""
        if self.mode == "never" or trigger in _UNASKED:
            return None
        return self if self.mode == "always" or trigger in _BY_THE_USER else None

    async def __call__(self, proposal: Proposal, problem: str = "") -> str | Refocus | Attempt | None:
        done, part = proposal.complete, proposal.message.parts[0]
        assert isinstance(part, CompactionPart)
        shown = like(
            CompactionProposed,
            done,
            problem=problem,
            messages_leave=len(proposal.left),
            messages_stay=done.messages_before - len(proposal.left),
            in_files=proposal.in_files,
            facts_lost=sum(fact.state == "lost" for fact in done.facts),
            passages=tuple(by_origin(str(part.content or ""), part.metadata)),
        )
        return await self._answers.ask(done.job, lambda: self.report(shown))

    def ask_about(self, mode: ReviewMode) -> None:
        """Say which summaries the user wants to see before they are applied: there is a user to decide."""
        self.mode = mode

    def decide(self, job: str, summary: str | Refocus | Attempt | None) -> bool:
        """Answer the question about a job's summary.

        Args:
            job: Which job.
            summary: The summary to apply, as it was or edited; a focus to have another one written; None
                discards it.

        Returns:
            Whether the job was waiting for it.
        """
        return self._answers.answer(job, summary)


_log = logging.getLogger(__name__)
NO_COMPACTION = "No compaction to undo."
BY_ROW = " Mark a row and press u to undo one."
"""Said where something else has made room: that can be undone as well."""
AS_IT_WAS = "Nothing to undo: these messages are unchanged."
GONE_ON = "The conversation has continued since."
BY_FORK = " /fork continues from what was rewound."
"""Said where a rewind or a clear was gone on from: nothing takes that back any more."""


@dataclass(slots=True)
class Compactions:
    """The compactions of one conversation, as far as no request waits for them."""

    history: SessionHistory
    compactor: Compactor
    reviews: Reviews
    """Asks the user about summaries that are not to be applied unseen."""
    in_run: bool = False
    """Whether a turn is at its model: its next request applies what a job in the background has written."""
    _watcher: "asyncio.Task[None] | None" = field(default=None)

    async def compact(self, work: Compact) -> CompactionComplete | None:
        """Compact now and wait for the end, or until the user has to decide.

        What a reviewer wants is applied as that of a job in the background.

        Returns:
            How it ended; None when it was cancelled, refused with a notice, or is being reviewed.
        """
        trigger = work.trigger
        self.compactor.apply_ready()
        if trigger == "model_switch":
            # A job in the background was planned for another window.
            self.cancel_job()
        reviewer = self.reviews if work.review else self.reviews.of(trigger)
        how = picked(work, "span extract trial")
        try:
            self.compactor.start(trigger, work.focus, reviewer, **how)
        except CompactionRefused as refusal:
            self.history.append(Notice(text=str(refusal), passing=trigger == "manual"))
            return None
        if reviewer is not None and trigger != "model_switch":
            await self.compactor.written()
            self.follow_background()
            return None
        return await self.compactor.finish()

    async def after_turn(self) -> None:
        await compact_at_turn_end(self.compactor)
        self.follow_background()

    def restate(self, *, undo: bool, compaction: int = 0) -> bool:
        """Undo the newest compaction or exclusion, or redo the one undone last.

        Args:
            undo: Which of the two.
            compaction: Log number of the one that is meant; 0 is whichever comes next.

        Returns:
            Whether it was done; a notice says why not.
        """
        view = self.history.view
        # One that was redone keeps its number: the newest step is the one with the highest.
        numbers = sorted([*view.compactions, *view.exclusions]) if undo else view.undone
        if compaction:
            numbers = [seq for seq in numbers if not view.is_exclusion(seq)]
        if not numbers and undo:
            # Rewrites are undone one by one; what a rewind left behind goes on as a session of its own.
            merged = any(head.type == BranchMerged.TYPE for head in view.visible())
            how = BY_ROW if view.rewrites or merged else BY_FORK if view.left_behind() else ""
            return self.history.refuse(NO_COMPACTION + how)
        if not numbers:
            return self.history.refuse("Nothing to redo.")
        if compaction not in (0, numbers[-1]):
            again = "undone" if undo else "applied again"
            return self.history.refuse(f"Only the newest compaction can be {again}.")
        # The view goes back to what it was before: a job made for the other view is of no use.
        self.cancel_job()
        if not view.is_exclusion(numbers[-1]):
            self.history.restate(numbers[-1], undo=undo)
        elif undo:
            self.history.restore(numbers[-1])
        else:
            self.history.exclude_again(numbers[-1])
        return True

    def restore(self, rewrite: int) -> bool:
        """Take back what a stage has rewritten, an exclusion, an edit of a summary, or a rewind.

        Returns:
            Whether it still stood.
        """
        view = self.history.view
        known = (*view.rewrites, *view.exclusions, *view.reversible)
        if rewrite not in known and not view.edited_by(rewrite):
            is_past = rewrite and view.left_behind(rewrite)
            return self.history.refuse(GONE_ON + BY_FORK if is_past else AS_IT_WAS)
        self.cancel_job()
        self.history.restore(rewrite)
        return True

    def rewind(self, to: int) -> bool:
        """Go back to before a prompt; whether that prompt is part of the conversation.

        A job in the background goes on: its result is applied if all that it replaces is still there.
        """
        if to in self.history.view.excluded:
            return self.history.refuse(
                f"Nothing to rewind: #{to} is excluded. /include #{to} brings it back first."
            )
        if not self.history.view.can_rewind(to):
            return self.history.refuse(f"Nothing to rewind: #{to} is not a prompt of this conversation.")
        self.history.rewind(to)
        return True

    def may(self, span: Span) -> bool:
        """Whether a part of the view can be compacted by hand, as things are now."""
        try:
            self.compactor.preview("manual", span=span)
        except CompactionRefused:
            return False
        return self.compactor.state is State.IDLE

    def floor(self) -> int:
        """Tokens no compaction can remove from the view."""
        history = self.history
        return irreducible_floor(
            history.items(),
            history.usage(),
            lambda item: history.weigh(item).total,
            self.compactor.policy,
            history.pinned(),
        )

    def stop_automatic(self, *, stop: bool) -> None:
        """Leave requests to be cut, because the user chose that, or go back to compacting by itself."""
        self.compactor.breaker.without_progress = self.compactor.policy.breaker_after if stop else 0

    def cancel_job(self) -> bool:
        return self.compactor.state is not State.IDLE and self.compactor.cancel() is not None

    def cancel_awaited(self, *, with_request: bool) -> bool:
        """Stop the job that a request waits for, or both; one in the background goes on.

        Args:
            with_request: Whether the request is stopped too.

        Returns:
            Whether there was such a job.
        """
        return self.compactor.awaited and self.compactor.cancel(with_request=with_request) is not None

    def follow_background(self) -> None:
        """See to it that a job started during a turn is applied when it ends after the turn."""

        async def apply_when_done() -> None:
            await self.compactor.settled()
            if not self.in_run:
                self.compactor.apply_ready()

        if self.compactor.state is not State.IDLE and (self._watcher is None or self._watcher.done()):
            self._watcher = asyncio.create_task(apply_when_done())
            self._watcher.add_done_callback(log_defect(_log, "applying a compaction failed"))

    async def settle(self) -> None:
        """Wait for a job under way and apply it."""
        await self.compactor.finish()
        if self._watcher is not None:
            await asyncio.wait([self._watcher])

    async def stop_jobs(self) -> None:
        self.cancel_job()
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.gather(self._watcher, return_exceptions=True)


# Compactions of a conversation that idles, while its provider still has it cached.

MARGIN_S = 45.0
"""Seconds before a cache expires at which a request for a summary is sent."""
_FULL = 0.25
"""Share of the size at which a compaction would start anyway, below which an idle one is not worth it."""
_WRITTEN = 5.0
"""Price of a token that a model writes, as a multiple of one that it reads: what most vendors ask."""
IDLE = "The session is idle: compacting before the prompt cache expires."
OFFERED = (
    "The prompt cache expires in less than a minute; the next turn reads {:,} tokens again. "
    "compact_idle = true under [cache] in the settings compacts a conversation that idles before that."
)


@dataclass(slots=True, kw_only=True)
class IdleCompaction:
    """Compacts a conversation whose cache is about to expire, or offers once to do so from then on."""

    compactions: Compactions
    is_busy: Callable[[], bool]
    rates: Callable[[], CacheRates | None]
    """What tokens of the conversation cost just now, as shares of the plain price."""
    left: Callable[[], float]
    """Seconds until the cache of the present model expires; 0 where that is not known, or none is kept."""
    wanted: bool
    """Whether the user has switched it on."""
    offered: Path
    """A file that is there once it was offered."""

    def due_after(self, happened: Payload, due: float | None, now: float) -> float | None:
        """When to look behind an event; None as long as there is nothing to look at.

        Args:
            happened: The event.
            due: When it was to be until then.
            now: What time it is, on the same clock.
        """
        if isinstance(happened, TurnStart | CompactionComplete):
            return None
        if isinstance(happened, TurnEnd):
            left = self.left()
            return now + max(0.0, left - MARGIN_S) if left > 0 else None
        return due

    def look(self) -> bool:
        """Compact, or offer it, where that pays; whether a compaction was started."""
        compactions, history = self.compactions, self.compactions.history
        compactor, usage, rates = compactions.compactor, history.usage(), self.rates()
        # A process that was asleep comes too late.
        if rates is None or rates.kept >= rates.changed or self.is_busy():
            return False
        if not compactor.policy.automatic or not compactor.wanted("background"):
            return False
        if usage.total < _FULL * compactor.policy.background_mark(usage.window):
            return False
        try:
            plan = compactor.preview("background")
        except CompactionRefused:
            return False
        spent = rates.kept * usage.total + _WRITTEN * plan.summary_budget
        if spent + rates.changed * (plan.floor + plan.summary_budget) >= rates.changed * usage.total:
            return False
        if not self.wanted:
            try:
                self.offered.touch(exist_ok=False)
            except OSError:  # it was offered, or nothing can be kept of it
                return False
            history.append(Notice(text=OFFERED.format(usage.total)))
            return False
        history.append(Notice(text=IDLE))
        compactor.start("background", "", compactions.reviews.of("background"))
        compactions.follow_background()
        return True

    async def watch(self, events: Subscription) -> None:
        """Wait behind each turn until shortly before the cache expires."""
        due: float | None = None
        while True:
            try:
                async with asyncio.timeout_at(due):
                    record = await anext(events)
            except StopAsyncIteration:
                return
            except TimeoutError:
                due = None
                self.look()
            else:
                due = self.due_after(record.data, due, asyncio.get_running_loop().time())


# What is done when the process has grown too large: caches are dropped, then the history is compacted.

EVERY_S = 30.0
"""Seconds between two looks while nothing happens."""
SOON_S = 2.0
"""Seconds after caches were dropped until the next look: the screen drops its own meanwhile."""


@dataclass(slots=True, kw_only=True)
class MemoryGuard:
    """Looks after each answer, at the end of each turn, and every half minute.

    Attributes:
        read: Megabytes the process holds; None where that is not known.
    """

    compactions: Compactions
    is_busy: Callable[[], bool]
    submit: Callable[[Compact], object]
    limit_mb: int
    read: Callable[[], int | None] = resident_mb
    past: Past = field(default_factory=Past)

    async def look(self) -> Step:
        """Look once and do what is due; what was done is told with an event."""
        rss_mb = await asyncio.to_thread(self.read)
        if rss_mb is None:
            return "nothing"
        history, compactor = self.compactions.history, self.compactions.compactor
        now = Reading(
            rss_mb=rss_mb,
            limit_mb=self.limit_mb,
            tokens=history.usage().total,
            automatic=compactor.policy.automatic,
            idle=not self.is_busy() and compactor.state is State.IDLE,
        )
        step, self.past = next_step(now, self.past)
        if step == "nothing":
            return step
        history.report(MemoryPressure(rss_mb=now.rss_mb, limit_mb=now.limit_mb, action=step))
        if step == "drop":
            if now.idle:
                history.shed()
            collect()
        elif self.is_busy():
            compactor.pressed = True
        else:
            self.submit(Compact(trigger="memory_pressure"))
        return step

    async def watch(self, events: Subscription) -> None:
        wait = SOON_S
        while True:
            try:
                async with asyncio.timeout(wait):
                    record = await anext(events)
            except StopAsyncIteration:
                return
            except TimeoutError:
                pass
            else:
                if not isinstance(record.data, AssistantMessage | TurnEnd):
                    continue
                compactor = self.compactions.compactor
                if isinstance(record.data, TurnEnd) and compactor.pressed:
                    # No further request of the turn has had it done.
                    compactor.pressed = False
                    self.submit(Compact(trigger="memory_pressure"))
            wait = SOON_S if await self.look() == "drop" else EVERY_S


# Compactions that the provider makes by itself: asked for where it offers them, and shown like all others.
#
# OpenAI's Responses API and Anthropic can replace old history by a part of their own, which comes with an
# answer. In the agent view that part takes the place of what came before it, as a summary of ours would, and
# it is sent back instead. Taking it back is the usual event: the part is no longer sent, the originals are.

ANTHROPIC_LEAST = 50_000
"""Tokens below which Anthropic lets no compaction start."""
PROVIDER_COMPACTION_SEALED = "The provider has encrypted its summary: only the provider can read it."
UNSUPPORTED = "{model} is not known to compact: Plimsoll does it, in spite of provider_compaction."
GIVEN_BACK = "The provider's own compaction can no longer be used: the model is sent the messages themselves."
Kind = Literal["openai", "anthropic"]


def offered(model: object) -> Kind | None:
    """Who compacts for a model when asked to; None where that is not known.

    A vendor's classes are looked up only where they are loaded already: a model of it is there then.
    """
    while isinstance(model, WrapperModel):
        model = model.wrapped
    if _is_a(model, "pydantic_ai.models.openai", "OpenAIResponsesModel"):
        return "openai"
    if isinstance(model, Model) and _is_a(model, "pydantic_ai.models.anthropic", "AnthropicModel"):
        profile = cast("dict[str, object]", model.profile)
        # All that is known of a model's compactions; older models refuse the whole request.
        return "anthropic" if profile.get("anthropic_supports_on_demand_compaction") else None
    return None


def _is_a(model: object, module: str, name: str) -> bool:
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(model, getattr(loaded, name))


def asked_for(kind: Kind, threshold: int) -> ModelSettings:
    """What a request says so that the provider compacts from ``threshold`` tokens on."""
    if kind == "openai":
        edit: dict[str, object] = {"type": "compaction", "compact_threshold": threshold}
        return cast("ModelSettings", {"openai_context_management": [edit]})
    trigger = {"type": "input_tokens", "value": max(ANTHROPIC_LEAST, threshold)}
    edit = {"type": "compact_20260112", "trigger": trigger}
    return cast("ModelSettings", {"anthropic_context_management": {"edits": [edit]}})


def provider_part(response: ModelResponse) -> CompactionPart | None:
    """The newest compaction that a provider reports in an answer."""
    parts = [part for part in response.parts if isinstance(part, CompactionPart) and part.provider_name]
    return parts[-1] if parts else None


class ProviderCompaction(OutermostCapability):
    """Asks for, stands back for, and records the compactions of one conversation's provider.

    Place it in front of the governor: it decides before each request whether that compacts by itself.

    Args:
        history: The conversation's view and log.
        compactor: Stands back while the provider compacts.
        wanted: Whether the user has switched this on.
    """

    def __init__(self, history: SessionHistory, compactor: Compactor, *, wanted: bool) -> None:
        self.history = history
        self.compactor = compactor
        self.wanted = wanted
        self._told = ""

    def get_model_settings(self) -> Callable[[RunContext[Any]], ModelSettings] | None:
        """Add what the provider must be told, to the requests it understands."""

        def settings(ctx: RunContext[Any]) -> ModelSettings:
            kind = offered(ctx.model)
            if kind is None:
                return ModelSettings()
            return asked_for(kind, self.compactor.policy.background_mark(self.history.usage().window))

        return settings if self.wanted else None

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Settle who compacts, and stop sending what this model's provider cannot read."""
        model = request_context.model
        kind = offered(model) if self.wanted else None
        self.compactor.stands_back = kind is not None
        if self.wanted and kind is None and self._told != model.model_name:
            self._told = model.model_name
            self.history.report(Notice(text=UNSUPPORTED.format(model=self.history.model)))
        # A provider's compaction that another one has made cannot be sent.
        history, system = self.history, model.system if kind is not None else ""
        while history.view.compactions:
            newest = history.view.compactions[-1]
            item = next((item for item in history.items() if item.key == newest), None)
            made = item.message if item is not None and isinstance(item.message, ModelResponse) else None
            part = provider_part(made) if made is not None else None
            if part is None or part.provider_name == system:
                break
            history.restate(newest, undo=True)
            history.report(Notice(text=GIVEN_BACK))
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Record what the provider has compacted; the answer itself is in the log by now."""
        part = provider_part(response)
        if part is None or response.state != "complete" or not self.wanted:
            return response
        history = self.history
        items = history.items()
        left = frozenset(item.key for item in items[:-1] if not is_system(item.message))
        if not left:
            return response
        complete = CompactionComplete(
            job=f"provider-{items[-1].key}",
            outcome="success",
            trigger="background",
            policy=self.compactor.policy.name,
            performed_by="provider",
            model=history.model,
            title="by the provider",
            summary=part.content or PROVIDER_COMPACTION_SEALED,
            removed=key_ranges(items, left),
        )
        message = replace(response, parts=[part], usage=RequestUsage())
        # What would be applied later was made for the view as it was.
        self.compactor.cancel()
        try:
            history.commit(Proposal(complete=complete, message=message, left=left))
        except OSError as error:
            # The messages themselves are sent on: nothing is lost but the provider's work.
            reason = not_written(error)
            history.report(replace(complete, outcome="failed", reason=reason, removed=(), summary=""))
        return response
