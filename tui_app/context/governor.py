"""The governor: one pydantic-ai capability in front of every model request.

Before a request it measures the view, applies or starts compactions, repairs and, if it must, truncates.
When the provider still says "too long" it learns from the error, compacts, and lets the request be tried
once more.
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
"""Conversations remembered between runs; the one not used for longest is forgotten first."""


@frozen
class OnePipeline:
    """One pipeline for all runs: they belong to the same conversation."""

    pipeline: Pipeline

    async def acquire(self, ctx: RunContext[Any]) -> Pipeline:
        """The one pipeline."""
        return self.pipeline

    async def ended(self, pipeline: Pipeline, result: AgentRunResult[Any]) -> None:
        """Nothing to do: the program knows its turns."""

    def release(self, ctx: RunContext[Any], pipeline: Pipeline) -> None:
        """Nothing to do."""

    async def aclose(self) -> None:
        """Stop the job that is running, if any."""
        if self.pipeline.compactor is not None:
            await self.pipeline.compactor.aclose()


@dataclass(slots=True)
class Conversations:
    """A pipeline for each conversation, by pydantic-ai's conversation id.

    Runs that share an id at the same time, such as two forks, each get a pipeline of their own.
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
    """Whether the model is told how full its window is, and may ask for a compaction."""
    _running: dict[str, Pipeline] = field(default_factory=dict)
    """By the id of the run."""
    _resting: OrderedDict[str, tuple[str | None, Pipeline]] = field(default_factory=OrderedDict)
    _texts: dict[str | None, TextCounter] = field(default_factory=dict)

    async def acquire(self, ctx: RunContext[Any]) -> Pipeline:
        """Take the conversation's pipeline out of those at rest, or make one."""
        pipeline = await self._acquire(ctx)
        self._running[ctx.run_id or ""] = pipeline
        return pipeline

    def of_run(self, ctx: RunContext[Any] | None) -> Compactor | None:
        """The compactor of a run's conversation; None outside of runs."""
        pipeline = None if ctx is None else self._running.get(ctx.run_id or "")
        return None if pipeline is None else pipeline.compactor

    def outlook(self, conversation: str) -> CacheOutlook | None:
        """What the next request of a conversation costs; None where it is not known or has no answer yet."""
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
        """End the turn; one that waits for an approval has not ended."""
        if isinstance(result.output, DeferredToolRequests):
            return
        messages = result.all_messages()
        new = {id(part) for message in result.new_messages() for part in message.parts}
        await pipeline.ended(messages)
        stays = (at for at, message in enumerate(messages) if not new.isdisjoint(map(id, message.parts)))
        new_messages_from(result, next(stays, len(messages)))

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
        """Stop the jobs of conversations that no run is using, and forget these."""
        resting = [pipeline for _, pipeline in self._resting.values()]
        self._resting.clear()
        for pipeline in resting:
            if pipeline.compactor is not None:
                await pipeline.compactor.aclose()

    def _pipeline(self, text: TextCounter, conversation: str) -> Pipeline:
        counter = TokenCounter(text)
        # Whoever sets a tracer provider for the process gets spans; else this writes none.
        spans = Spans(get_tracer(SCOPE), conversation)
        history = ListHistory(
            counter,
            traced(self.listener, spans),
            is_pinned=self.is_pinned,
            is_excluded=self.is_excluded,
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
        # Nothing in the agent can search what left, so the model is not told that it could.
        pipeline.compactor = Compactor(history, self.policy, writers, way_back="")
        return pipeline


@dataclass(slots=True, kw_only=True)
class _Writers(PlainHost):
    """The summarisers of one conversation; the newest is kept, so that a retry does not pay twice."""

    fallback: ExtractiveSummariser
    limits: Limits
    text: TextCounter
    asked: Callable[[], Model | None]
    """The model that writes summaries just now; None before the first request."""
    conversation: str
    _newest: ModelSummariser | None = None

    def summarisers(self, trigger: Trigger) -> Sequence[Summariser]:
        """The model's summariser, or extraction where there is no model yet."""
        return (self._writer() or self.fallback,)

    async def digest(self, material: str, chars: int) -> Digest | None:
        """Have the model write the digest of archived results; None where there is none yet."""
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

    ``Agent(model, capabilities=[ContextGovernor()])`` is all it takes. One instance may serve several agents
    and any number of conversations, also at the same time: each conversation, by pydantic-ai's conversation
    id, has a state of its own, which lasts from run to run as long as the id does
    (``message_history=result.all_messages()`` keeps it). A compaction rewrites the run's message history,
    so the messages of the result are the compacted ones.

    A program that owns its history gives ``history``; then every run belongs to that one conversation, and
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
            limits: What is known about the models' windows; None learns anew in this process.
            listener: Is handed every event, on the thread of the run. A given ``history`` has its own.
            summary_model: Writes the summaries; None is the run's own model. A given ``compactor`` has its
                own.
            is_pinned: Whether a message stays word for word in every request; asked when it is first seen.
                A given ``history`` has pins of its own.
            is_excluded: Whether a message is not to be sent, asked before every request; its calls and
                results stay away with it, it stays in the run's messages, and no summary tells of it. System
                prompts, summaries and the newest prompt are sent all the same.
            takes_part: Whether the model is told in one line when half, 70% and the load line of its window
                are passed, and has the tool ``compact_context`` where the policy lets it ask. Not where
                ``history`` is given.
            memory_limit_mb: Megabytes of the process above which garbage is collected and, where that does
                not help, a long history compacted; 0 for no limit, as where ``history`` is given.
            surroundings: What the reversible stages may ask of the files around a given ``history``.
            tell: Puts a note at the end of a given ``history``: how full the window is; None puts none.

        Raises:
            ValueError: if an argument is not what is allowed; the message names it.
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
            told = None if tell is None else FullnessNotes(count, tell)
            pipeline = Pipeline(policy, history, compactor, count, known, around, fullness=told)
            self._pipelines = OnePipeline(pipeline)
        elif compactor is not None:
            raise ValueError("a compactor belongs to a history: give both or neither")
        else:
            self._pipelines = Conversations(
                policy, known, listener, summary_model, is_pinned, is_excluded, memory_limit_mb, takes_part
            )

    def get_toolset(self) -> AbstractToolset[Any] | None:
        """The tool by which the model asks for a compaction; a program with a history has its own."""
        conversations = self._pipelines
        if not isinstance(conversations, Conversations) or not conversations.takes_part:
            return None
        return ContextToolset(conversations.of_run, searchable=False)

    def outlook(self, conversation_id: str) -> CacheOutlook | None:
        """What the next request costs with a warm and a cold prompt cache, and until when it is warm.

        Args:
            conversation_id: pydantic-ai's id of a conversation that no run is using just now
                (``result.conversation_id``).

        Returns:
            The outlook; None where nothing is known of the conversation, or a program keeps its history.
        """
        conversations = self._pipelines
        return conversations.outlook(conversation_id) if isinstance(conversations, Conversations) else None

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        """Give each run, a turn of its conversation, hooks of its own."""
        if self._compactor is not None:
            self._compactor.breaker.turn_begins()
            # What was asked for in a turn that was stopped is asked for again, or is not wanted any more.
            self._compactor.asked = None
        return GovernedRun(self._pipelines, self.get_toolset())

    async def aclose(self) -> None:
        """Stop compactions that still run in the background, as at the end of a program."""
        await self._pipelines.aclose()


class GovernedRun(OutermostCapability):
    """Governs the requests of a single run."""

    pipeline: Pipeline
    """That of its conversation, once it has started."""

    def __init__(
        self, pipelines: OnePipeline | Conversations, toolset: AbstractToolset[Any] | None = None
    ) -> None:
        self._pipelines, self._toolset = pipelines, toolset
        self._sent: ModelRequestContext | None = None

    def get_toolset(self) -> AbstractToolset[Any] | None:
        """What the model can call of the governor."""
        return self._toolset

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Hold the conversation's pipeline while the run lasts."""
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
        """Measure, relieve and build the request; one that only resumes a paused answer goes as it is."""
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
        """Bring the request into its model's form; build it again for another attempt or another model."""
        if _resumes(request_context):
            return request_context
        return self.pipeline.prepared(request_context)

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Learn from the reported usage, and give the tools their own names back."""
        response = as_known(response)
        self.pipeline.answered(request_context, response)
        return self.pipeline.own_names(response)

    if PREPARES_ATTEMPTS:

        async def on_model_request_error(
            self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
        ) -> ModelResponse:
            """Recover from "too long" and from a refused form; everything else is passed on.

            Raises:
                RetryModelRequest: to try again with a smaller request, or in another form.
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
            """The same where another attempt has to be made here, which is not streamed."""
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
    """Whether the provider goes on with an answer of its own: the history ends with that."""
    return bool(request.messages) and isinstance(request.messages[-1], ModelResponse)


def _guarded(function: Callable[[_A], _R], otherwise: _R) -> Callable[[_A], _R]:
    """A program's own function: what it raises is logged, and ends no run."""

    def call(argument: _A) -> _R:
        try:
            return function(argument)
        except Exception:
            _LOG.exception("%s failed; the run continues", getattr(function, "__name__", function))
            return otherwise

    return call


def request_guard(text: TextCounter, limits: Limits) -> ContextGovernor:
    """The governor of a request that stands alone: it is repaired, measured and guarded, never compacted."""
    counter = TokenCounter(text)
    return ContextGovernor(OFF, history=ListHistory(counter), counter=counter, limits=limits)
