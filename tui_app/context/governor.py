"""The governor: one pydantic-ai capability around every model request.

Before a request it measures the view, applies or starts compactions, repairs and, if necessary, truncates. If
the provider still answers "too long", it learns from the error, compacts and retries the request once.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from opentelemetry.trace import get_tracer
from pydantic_ai import DeferredToolRequests, RunContext, exceptions
from pydantic_ai.capabilities import AbstractCapability, WrapModelRequestHandler, WrapRunHandler
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.toolsets import AbstractToolset

from tui_app.context.compaction.compaction_tool import ContextToolset
from tui_app.context.compaction.compactor import Compactor, PlainHost
from tui_app.context.counting.encodings import TextCounter, encoding_name
from tui_app.context.counting.prompt_cache import CacheOutlook
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.history import History, ListHistory, ignore
from tui_app.context.policy import OFF, PLIMSOLL, Policy
from tui_app.context.requests.fullness import FullnessNotes
from tui_app.context.requests.pipeline import Pipeline
from tui_app.context.requests.request_meter import CacheWatch
from tui_app.context.summaries.extractive import ExtractiveSummariser
from tui_app.context.summaries.writer import ModelSummariser, Summariser
from tui_app.context.telemetry import SCOPE, SpanConversation, Spans, traced
from tui_app.context.tool_results.stages import StageHost
from tui_app.context.views.rewrites import Digest
from tui_app.context.windows.learnt_models import LearntModels
from tui_app.context.windows.window_limits import ContextTooLarge, Limits
from tui_app.events import Payload, Trigger
from tui_app.records import frozen
from tui_app.system.secrets import mask_secrets
from tui_app.wires.answer_end import as_known
from tui_app.wires.library import PREPARES_ATTEMPTS, OutermostCapability, new_messages_from

_A = TypeVar("_A")
_R = TypeVar("_R")
_LOG = logging.getLogger(__name__)

CONVERSATIONS_KEPT = 64
"""Conversations remembered between runs; the least recently used one is dropped first."""


@frozen
class OnePipeline:
    """One pipeline for all runs, which belong to the same conversation."""

    pipeline: Pipeline

    async def acquire(self, ctx: RunContext[Any]) -> Pipeline:
        return self.pipeline

    async def ended(self, pipeline: Pipeline, result: AgentRunResult[Any]) -> None:
        """Do nothing: the program handles its turns."""

    def release(self, ctx: RunContext[Any], pipeline: Pipeline) -> None:
        """Do nothing."""

    async def aclose(self) -> None:
        """Stop the running job, if any."""
        if self.pipeline.compactor is not None:
            await self.pipeline.compactor.aclose()


@dataclass(slots=True)
class Conversations:
    """A pipeline for each conversation, by pydantic-ai's conversation id.

    Concurrent runs that share an id, such as two forks, each get their own pipeline.
    """

    policy: Policy
    limits: Limits
    listener: Callable[[Payload], None]
    summary_model: Model | None = None
    """Writes the summaries; None is the run's own model."""
    is_pinned: Callable[[ModelMessage], bool] = lambda _message: False
    is_excluded: Callable[[ModelMessage], bool] | None = None
    memory_limit_mb: int = 0
    takes_part: bool = False
    """Whether the model is told how full its window is, and may request a compaction."""
    _running: dict[str, Pipeline] = field(default_factory=dict)
    """By run id."""
    _resting: OrderedDict[str, tuple[str | None, Pipeline]] = field(default_factory=OrderedDict)
    _texts: dict[str | None, TextCounter] = field(default_factory=dict)

    async def acquire(self, ctx: RunContext[Any]) -> Pipeline:
        """Take the conversation's idle pipeline, or make one."""
        pipeline = await self._acquire(ctx)
        self._running[ctx.run_id or ""] = pipeline
        return pipeline

    def of_run(self, ctx: RunContext[Any] | None) -> Compactor | None:
        """Return the compactor of a run's conversation; None outside of runs."""
        pipeline = None if ctx is None else self._running.get(ctx.run_id or "")
        return None if pipeline is None else pipeline.compactor

    def outlook(self, conversation: str) -> CacheOutlook | None:
        """Return the cost of a conversation's next request; None if unknown or before its first answer."""
        _, pipeline = self._resting.get(conversation, (None, None))
        if pipeline is None:
            return None
        return pipeline.cache.outlook(pipeline.history.usage(), pipeline.history.version)

    async def _acquire(self, ctx: RunContext[Any]) -> Pipeline:
        encoding = encoding_name(ctx.model.model_name)
        known, pipeline = self._resting.pop(ctx.conversation_id or "", (None, None))
        if pipeline is not None and known == encoding:
            if pipeline.compactor is not None:
                pipeline.compactor.strand()
                pipeline.compactor.breaker.turn_begins()
            return pipeline
        if pipeline is not None:
            _stop(pipeline)
        text = self._texts.setdefault(encoding, TextCounter(encoding))
        if not text.loaded:
            await asyncio.to_thread(text.load)
        return self._pipeline(text, ctx.conversation_id or "")

    async def ended(self, pipeline: Pipeline, result: AgentRunResult[Any]) -> None:
        """End the turn, unless it is waiting for an approval."""
        if isinstance(result.output, DeferredToolRequests):
            return
        messages = result.all_messages()
        new = {id(part) for message in result.new_messages() for part in message.parts}
        await pipeline.ended(messages)
        places = (at for at, message in enumerate(messages) if not new.isdisjoint(map(id, message.parts)))
        new_messages_from(result, next(places, len(messages)))

    def release(self, ctx: RunContext[Any], pipeline: Pipeline) -> None:
        """Keep the pipeline for the conversation's next run."""
        self._running.pop(ctx.run_id or "", None)
        if not ctx.conversation_id:
            _stop(pipeline)
            return
        _, replaced = self._resting.pop(ctx.conversation_id, (None, None))
        if replaced is not None:
            _stop(replaced)
        self._resting[ctx.conversation_id] = (encoding_name(ctx.model.model_name), pipeline)
        while len(self._resting) > CONVERSATIONS_KEPT:
            _, (_, forgotten) = self._resting.popitem(last=False)
            _stop(forgotten)

    async def aclose(self) -> None:
        """Stop the jobs of conversations that no run is using, and forget those conversations."""
        resting = [pipeline for _, pipeline in self._resting.values()]
        self._resting.clear()
        for pipeline in resting:
            if pipeline.compactor is not None:
                await pipeline.compactor.aclose()

    def _pipeline(self, text: TextCounter, conversation: str) -> Pipeline:
        counter = TokenCounter(text)
        # Spans are recorded only if the process has a tracer provider.
        spans = Spans(get_tracer(SCOPE), conversation)
        history = ListHistory(
            counter, traced(self.listener, spans), is_pinned=self.is_pinned, is_excluded=self.is_excluded
        )
        writers = _Writers(
            fallback=ExtractiveSummariser(text.count),
            limits=self.limits,
            text=text,
            asked=lambda: self.summary_model or pipeline.model,
            conversation=conversation,
        )
        watch = CacheWatch()
        around = StageHost(handles=False, digest=writers.digest, cache=watch.rates)
        pipeline = Pipeline(
            self.policy,
            history,
            None,
            counter,
            self.limits,
            around,
            memory_limit_mb=self.memory_limit_mb,
            # The messages of such an agent, and what is fetched for them, are its own program's.
            downloads=True,
            fullness=FullnessNotes(counter, history.append_note) if self.takes_part else None,
            cache=watch,
        )
        # No tool of the agent can search removed messages, so the model is not told to search.
        pipeline.compactor = Compactor(history, self.policy, writers, way_back="")
        return pipeline


@dataclass(slots=True, kw_only=True)
class _Writers(PlainHost):
    """The summarisers of one conversation; the newest is kept, so that a retry does not pay twice."""

    fallback: ExtractiveSummariser
    limits: Limits
    text: TextCounter
    asked: Callable[[], Model | None]
    """The model that currently writes summaries; None before the first request."""
    conversation: str
    _newest: ModelSummariser | None = None

    def summarisers(self, trigger: Trigger) -> Sequence[Summariser]:
        """Return the model's summariser, or extraction while there is no model yet."""
        return (self._writer() or self.fallback,)

    async def digest(self, material: str, chars: int) -> Digest | None:
        """Have the model write the digest of archived results; None while there is no model yet."""
        writer = self._writer()
        return None if writer is None else await writer.digest(material, chars)

    def _writer(self) -> ModelSummariser | None:
        model, limits = self.asked(), self.limits
        if model is None or (self._newest is not None and self._newest.model is model):
            return None if model is None else self._newest
        self._newest = ModelSummariser(
            model=model,
            model_name=model.model_name,
            input_budget=lambda: limits.window(model).effective,
            count=lambda piece: round(self.text.count(piece) * limits.factor(model)),
            capabilities=[request_guard(self.text, limits), SpanConversation(self.conversation)],
            mask=mask_secrets,
        )
        return self._newest


def _stop(pipeline: Pipeline) -> None:
    if pipeline.compactor is not None:
        pipeline.compactor.cancel()


class ContextGovernor(OutermostCapability):
    """Keeps conversations inside their model's context window.

    ``Agent(model, capabilities=[ContextGovernor()])`` is all that is needed. One instance may serve several
    agents and any number of concurrent conversations. Each conversation, identified by pydantic-ai's
    conversation id, has its own state, which lasts from run to run as long as the id does
    (``message_history=result.all_messages()`` keeps it). A compaction rewrites the run's message history, so
    the messages of the result are the compacted ones.

    A program that owns its history passes ``history``. Then every run belongs to that one conversation, and
    runs must not overlap.
    """

    def __init__(  # noqa: PLR0913 - what a program may want set, all by name
        self,
        policy: Policy = PLIMSOLL,
        *,
        history: History | None = None,
        compactor: Compactor | None = None,
        counter: TokenCounter | None = None,
        limits: Limits | None = None,
        listener: Callable[[Payload], None] = ignore,
        summary_model: Model | None = None,
        is_pinned: Callable[[ModelMessage], bool] = lambda _message: False,
        is_excluded: Callable[[ModelMessage], bool] | None = None,
        takes_part: bool = False,
        memory_limit_mb: int = 0,
        surroundings: StageHost | None = None,
        tell: Callable[[Payload, ModelMessage], object] | None = None,
    ) -> None:
        """Govern with a policy.

        Args:
            policy: Triggers and sizes.
            history: Owner of the view; None follows the message list of each run.
            compactor: Runs the compactions of ``history``; without one it is guarded but never compacted.
            counter: Counts instructions and tool definitions for ``history``.
            limits: Known windows of the models; None learns them in this process.
            listener: Called with every event, on the thread of the run. A given ``history`` has its own.
            summary_model: Writes the summaries; None is the run's own model. A given ``compactor`` has its
                own.
            is_pinned: Whether a message is kept word for word in every request; called when it is first seen.
                A given ``history`` has its own pins.
            is_excluded: Whether a message is not to be sent, called before every request. Its calls and
                results are excluded with it; it stays in the run's messages and in no summary. System
                prompts, summaries and the newest prompt are always sent.
            takes_part: Whether the model is told in one line when half, 70% and the load line of its window
                are passed, and gets the tool ``compact_context`` if the policy allows it. Ignored when
                ``history`` is given.
            memory_limit_mb: Resident megabytes of the process above which garbage is collected and, if that
                does not help, a long history compacted; 0 for no limit. Ignored when ``history`` is given.
            surroundings: File access of the reversible stages of a given ``history``.
            tell: Appends a note about context usage to a given ``history``; None for no notes.

        Raises:
            ValueError: if an argument is invalid; the message names it.
        """
        optional = is_excluded is None or callable(is_excluded)
        megabytes = isinstance(memory_limit_mb, int) and memory_limit_mb >= 0
        for name, value, fits, allowed in (
            ("policy", policy, isinstance(policy, Policy), "a Policy, such as PRESETS['reserve']"),
            ("listener", listener, callable(listener), "a function of one event"),
            ("is_pinned", is_pinned, callable(is_pinned), "a function of one message"),
            ("is_excluded", is_excluded, optional, "a function of one message or None"),
            (
                "summary_model",
                summary_model,
                isinstance(summary_model, Model | None),
                "a pydantic-ai Model, or None",
            ),
            ("memory_limit_mb", memory_limit_mb, megabytes, "megabytes from 0"),
        ):
            if not fits:
                raise ValueError(f"{name} is {value!r}; allowed: {allowed}.")
        listener = _guarded(listener, None)
        is_pinned = _guarded(is_pinned, False)
        is_excluded = None if is_excluded is None else _guarded(is_excluded, False)
        known = limits or Limits(LearntModels(None))
        self._compactor = compactor
        self._pipelines: OnePipeline | Conversations
        if history is not None:
            count = counter or TokenCounter(TextCounter(None))
            around = surroundings or StageHost()
            notes = None if tell is None else FullnessNotes(count, tell)
            pipeline = Pipeline(policy, history, compactor, count, known, around, fullness=notes)
            self._pipelines = OnePipeline(pipeline)
        elif compactor is not None:
            raise ValueError("a compactor belongs to a history: give both or neither")
        else:
            self._pipelines = Conversations(
                policy, known, listener, summary_model, is_pinned, is_excluded, memory_limit_mb, takes_part
            )

    def get_toolset(self) -> AbstractToolset[Any] | None:
        """Return the tool that requests a compaction; a program with its own history has its own."""
        conversations = self._pipelines
        if not isinstance(conversations, Conversations) or not conversations.takes_part:
            return None
        return ContextToolset(conversations.of_run, searchable=False)

    def outlook(self, conversation_id: str) -> CacheOutlook | None:
        """Return what the next request costs with a warm and a cold prompt cache, and until when it is warm.

        Args:
            conversation_id: pydantic-ai's id of a conversation that no run is using at the moment
                (``result.conversation_id``).

        Returns:
            The outlook; None for an unknown conversation, or if a program owns the history.
        """
        conversations = self._pipelines
        return conversations.outlook(conversation_id) if isinstance(conversations, Conversations) else None

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        """Return the hooks of one run, which is one turn of its conversation."""
        if self._compactor is not None:
            self._compactor.breaker.turn_begins()
            # A compaction requested in a stopped turn is no longer wanted.
            self._compactor.asked = None
        return GovernedRun(self._pipelines, self.get_toolset())

    async def aclose(self) -> None:
        """Stop background compactions, for example when the program ends."""
        await self._pipelines.aclose()


class GovernedRun(OutermostCapability):
    """Governing the requests of a single run."""

    pipeline: Pipeline
    """Pipeline of its conversation, once the run has started."""

    def __init__(
        self, pipelines: OnePipeline | Conversations, toolset: AbstractToolset[Any] | None = None
    ) -> None:
        self._pipelines, self._toolset = pipelines, toolset
        self._sent: ModelRequestContext | None = None

    def get_toolset(self) -> AbstractToolset[Any] | None:
        return self._toolset

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Keep the conversation's pipeline while the run lasts."""
        self.pipeline = await self._pipelines.acquire(ctx)
        try:
            result = await handler()
            await self._pipelines.ended(self.pipeline, result)
            return result
        finally:
            self._pipelines.release(ctx, self.pipeline)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Measure, reduce and build the request; a request that only resumes a paused answer is unchanged."""
        if _resumes(request_context):
            return request_context
        built = await self.pipeline.first(ctx, request_context)
        if PREPARES_ATTEMPTS:
            return built
        self._sent = self.pipeline.formed(built)
        return self._sent

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Convert the request to its model's form; rebuild it for another attempt or another model."""
        if _resumes(request_context):
            return request_context
        return self.pipeline.prepared(request_context)

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Learn from the reported usage, and restore the original names of the tools."""
        response = as_known(response)
        self.pipeline.answered(request_context, response)
        return self.pipeline.own_names(response)

    if PREPARES_ATTEMPTS:

        async def on_model_request_error(
            self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
        ) -> ModelResponse:
            """Recover from "too long" and from a refused form; raise everything else again.

            Raises:
                RetryModelRequest: to retry with a smaller request, or in another form.
                ContextTooLarge: if the second attempt was too long as well.
            """
            await self._recover(ctx, request_context, error)
            raise exceptions.RetryModelRequest from error

    else:

        async def wrap_model_request(
            self,
            ctx: RunContext[Any],
            *,
            request_context: ModelRequestContext,
            handler: WrapModelRequestHandler,
        ) -> ModelResponse:
            """Recover in the same way when the retry has to be made here, where it is not streamed."""
            before = self._sent
            try:
                return await handler(request_context)
            except Exception as error:
                if self._sent is None or self._sent is before:
                    raise
                refusal, request = error, self._sent
            while True:
                await self._recover(ctx, request, refusal)
                request = self.pipeline.formed(self.pipeline.again(request))
                try:
                    response = await request.model.request(
                        request.messages, request.model_settings, request.model_request_parameters
                    )
                except Exception as error:
                    refusal = error
                else:
                    return await self.after_model_request(ctx, request_context=request, response=response)

    async def _recover(
        self, ctx: RunContext[Any], request_context: ModelRequestContext, error: Exception
    ) -> None:
        overflow = self.pipeline.overflow(request_context, error)
        if overflow is None:
            self.pipeline.reform(request_context, error)
            return
        try:
            await self.pipeline.refused(ctx, request_context, overflow)
        except ContextTooLarge as too_large:
            raise too_large from error


def _resumes(request: ModelRequestContext) -> bool:
    """Whether the provider continues its own answer, which ends the history."""
    return bool(request.messages) and isinstance(request.messages[-1], ModelResponse)


def _guarded(function: Callable[[_A], _R], otherwise: _R) -> Callable[[_A], _R]:
    """Wrap a caller's function so that its exceptions are logged instead of ending the run."""

    def call(argument: _A) -> _R:
        try:
            return function(argument)
        except Exception:
            _LOG.exception("%s failed; the run continues", getattr(function, "__name__", function))
            return otherwise

    return call


def request_guard(text: TextCounter, limits: Limits) -> ContextGovernor:
    """Return the governor of a standalone request: repaired, measured and guarded, never compacted."""
    counter = TokenCounter(text)
    return ContextGovernor(OFF, history=ListHistory(counter), counter=counter, limits=limits)
