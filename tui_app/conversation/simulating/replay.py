"""Playing a conversation through the governor as if it were happening: request by request, no model asked."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.usage import RunUsage

from tui_app.context.compaction.compactor import Compactor
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.counting.usage import ContextWindow
from tui_app.context.message_sizes import RunningCount
from tui_app.context.policy import Policy
from tui_app.context.requests.pipeline import Pipeline, compact_at_turn_end
from tui_app.context.summaries.heuristic import ExtractiveSummariser
from tui_app.context.tool_results.stages import Surroundings
from tui_app.context.view import is_prompt, to_messages
from tui_app.context.window_limits import ContextTooLarge, Limits
from tui_app.context.windows import LearntModels
from tui_app.conversation.simulating.history import ReplayHistory
from tui_app.conversation.simulating.outcome import Request, Work, work_of
from tui_app.events import Payload, UsageInfo

_THEN = datetime(2000, 1, 1, tzinfo=UTC)
"""Time in the names of files: the same replay gives the same bytes."""
Price = Callable[[int, int, int], float | None]
"""Dollars for so many input tokens, those of them that are cached, and output tokens."""
Watch = Callable[[int], None]
"""Told of every request, with how many there were by now."""


def unwatched(_requests: int) -> None:
    """Nobody watches."""


def _never_asked(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    raise RuntimeError("a replay asks no model")


@dataclass(slots=True)
class Replay:
    """One conversation under one policy in one window. Use it once."""

    policy: Policy
    window: int
    text: TextCounter
    counter: TokenCounter
    price: Price
    watch: Watch = unwatched
    events: list[Payload] = field(default_factory=list, init=False)
    requests: list[Request] = field(default_factory=list, init=False)
    history: ReplayHistory = field(init=False)
    pipeline: Pipeline = field(init=False)
    _compactor: Compactor = field(init=False)
    _request: ModelRequestContext = field(init=False)
    seen: int = field(default=0, init=False)
    """How many events belong to the requests so far; what comes later belongs to the next one."""
    _count: RunningCount = field(init=False)
    _sent: int = field(default=0, init=False)
    """Tokens of the newest request that was sent."""

    def __post_init__(self) -> None:
        self._count = RunningCount(self.counter)
        self.history = ReplayHistory(self.counter, self.events.append)
        writer = ExtractiveSummariser(self.text.count)
        self._compactor = Compactor(self.history, self.policy, lambda _trigger: (writer,), fallback=writer)
        limits = Limits(LearntModels(None), setting=self.window)
        around = Surroundings(now=lambda: _THEN)
        self.pipeline = Pipeline(self.policy, self.history, self._compactor, self.counter, limits, around)
        model = FunctionModel(_never_asked, model_name="replay", profile=ModelProfile())
        self._request = ModelRequestContext(
            model=model,
            messages=[],
            model_settings=None,
            model_request_parameters=ModelRequestParameters(),
        )

    @property
    def known_window(self) -> ContextWindow:
        """The window with what is kept for the answer."""
        return self.pipeline.limits.window(self._request.model)

    @property
    def work(self) -> dict[str, Work]:
        """What each stage has done so far."""
        return work_of(self.events)

    async def run(self, messages: Sequence[ModelMessage]) -> None:
        """Play the messages: a request in front of every answer, and what is due when a turn has ended."""
        answered = False
        try:
            for message in messages:
                if isinstance(message, ModelResponse):
                    if not answered:
                        await self.ask(message)
                    answered = True
                else:
                    if answered and is_prompt(message):
                        await self._turn_ends()
                    answered = False
                self.history.append(message)
            if answered:
                await self._turn_ends()
        finally:
            await self._compactor.aclose()

    def outgoing(self) -> list[ModelMessage]:
        """What the model would be given next.

        Raises:
            ContextTooLarge: if nothing can be given.
        """
        return self.pipeline.again(self._request).messages

    def view(self) -> list[ModelMessage]:
        """The agent view as it is now."""
        return to_messages(self.history.items())

    async def ask(self, answer: ModelResponse) -> None:
        """Send the request that was answered so, as far as it can be sent."""
        run = RunContext(deps=None, model=self._request.model, usage=RunUsage(), messages=[])
        try:
            request = await self.pipeline.first(run, self._request)
        except ContextTooLarge as too_large:
            self._add(Request(number=0, failed=True, needed=too_large.requested, stages={}))
        else:
            self._add(self._measured(request.messages, answer))
        # What is written in the background is ready for the next request, which applies it.
        await self._compactor.settled()
        self.watch(len(self.requests))
        # A signal is noticed between two requests.
        await asyncio.sleep(0)

    async def _turn_ends(self) -> None:
        await self._compactor.finish()
        await compact_at_turn_end(self._compactor)
        self._compactor.breaker.turn_begins()

    def _measured(self, messages: Sequence[ModelMessage], answer: ModelResponse) -> Request:
        """The row of a request that was sent."""
        previous, self._sent = self._sent, self._count.of(messages)
        kept = next(each for each in reversed(self.events) if isinstance(each, UsageInfo)).prefix_kept or 0.0
        tokens, prefix = self._sent, round(kept * previous)
        written, whole = self._size(answer), self.history.usage().total
        return Request(
            number=0,
            tokens=tokens,
            messages=len(messages),
            prefix_tokens=prefix,
            previous_tokens=previous,
            output_tokens=written,
            cost_usd=self.price(tokens, prefix, written),
            # Where nothing compacts by itself, cutting is all that stands between it and a refusal.
            failed=whole > self.known_window.effective and not self.policy.automatic,
            needed=whole,
            stages={},
        )

    def _add(self, request: Request) -> None:
        stages = work_of(self.events[self.seen :])
        self.seen = len(self.events)
        self.requests.append(replace(request, number=len(self.requests) + 1, stages=stages))

    def _size(self, message: ModelMessage) -> int:
        return self.counter.message(message).total
