"""What happens around every model request of one conversation, in order."""

from dataclasses import dataclass, field, replace

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from tui_app.context.compaction.compactor import CompactionRefused, Compactor
from tui_app.context.compaction.job import State
from tui_app.context.counting.measure import believable, is_silent_truncation
from tui_app.context.counting.running import RunningCount, RunningMessages
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.counting.usage import Breakdown
from tui_app.context.fitting.overflow import ContextOverflow, overflow_of_answer
from tui_app.context.history import History
from tui_app.context.items import is_summary, to_messages
from tui_app.context.policy import Policy
from tui_app.context.requests.assembling import Assembly
from tui_app.context.requests.outgoing import build, usage_as_sent
from tui_app.context.requests.prefix import PrefixMeter
from tui_app.context.stages.relief import Relief, Surroundings
from tui_app.context.windows.limits import ContextTooLarge, Limits
from tui_app.events import Notice, Trigger, UsageInfo

SILENT_TRUNCATION = (
    "The server reports far fewer tokens than were sent: it probably dropped the beginning of the request. "
    "Set the window to what it really holds."
)


@dataclass(slots=True)
class Pipeline:
    """Measures, relieves and builds the requests of one conversation, one after the other."""

    policy: Policy
    history: History
    compactor: Compactor | None
    """Runs the compactions of that view; None guards without compacting."""
    counter: TokenCounter
    limits: Limits
    around: Surroundings = field(default_factory=Surroundings)
    """What the reversible stages ask of the world."""
    relief: Relief = field(init=False)
    model: Model | None = field(default=None, init=False)
    """The model of the newest request."""
    _prefix: PrefixMeter = field(init=False)
    _cache_read: int | None = field(default=None, init=False)
    """Input tokens of the newest answer that came from its provider's cache, as far as that is known."""
    _counted: int = field(default=0, init=False)
    """Tokens of the newest request as counted without any factor."""
    _refused_by: Model | None = field(default=None, init=False)
    """The model that has already refused the present request once as too long."""
    _warned: bool = field(default=False, init=False)
    _refusal: str = field(default="", init=False)
    """The last reason why nothing could be compacted; said once, not with every request."""

    _assembly: Assembly = field(default_factory=Assembly, init=False)
    _count: RunningCount = field(init=False)
    _messages: RunningMessages = field(default_factory=RunningMessages, init=False)

    def __post_init__(self) -> None:
        self._prefix = PrefixMeter(self.counter)
        self._count = RunningCount(self.counter)
        self.relief = Relief(
            policy=self.policy, history=self.history, count=self.counter.text, around=self.around
        )

    async def first(self, ctx: RunContext[object], request: ModelRequestContext) -> ModelRequestContext:
        """Measure the view, apply or start what is due, and build the request."""
        if self._refused_by is not None:
            # Not the model of this request: a person may have changed it meanwhile.
            self.limits.settle(self._refused_by)
        self._refused_by = None
        if self.compactor is not None:
            # A person may have chosen another policy since the last request.
            self.policy = self.relief.policy = self.compactor.policy
        version = self.history.version
        self.history.sync(request.messages)
        self._fix(request)
        self.relief.arrivals()
        self.relief.share()
        if self.compactor is not None:
            self.compactor.apply_ready()
        if self.compactor is None or self.compactor.state is State.IDLE:
            # A summary that is being written would be of another view.
            await self.relief.make_room()
        await self._relieve()
        self._persist(ctx, version)
        return self._outgoing(request)

    def again(self, request: ModelRequestContext) -> ModelRequestContext:
        """Build another attempt from the view as it is now, or for another model."""
        self._fix(request)
        return self._outgoing(request)

    def answered(self, request: ModelRequestContext, response: ModelResponse) -> None:
        """Learn how the model's own tokenizer compares with the count."""
        # Whatever a provider reports with a compaction of its own is not the size of what was sent.
        if response.state != "complete" or is_summary(response):
            return
        overflow = overflow_of_answer(response, self.limits.window(request.model).stated)
        if overflow is not None:
            self.limits.learn(request.model, overflow, self._counted)
            self._fix(request)
            return
        self._cache_read = response.usage.cache_read_tokens or None
        reported = believable(self._counted, response.usage.input_tokens)
        if is_silent_truncation(round(self._counted * self.limits.factor(request.model)), reported):
            if not self._warned:
                self.history.report(Notice(text=SILENT_TRUNCATION))
            self._warned = True
            return
        self.limits.observe(request.model, self._counted, reported)

    async def refused(
        self, ctx: RunContext[object], request: ModelRequestContext, overflow: ContextOverflow
    ) -> None:
        """Learn from "too long" and make the view smaller, once for each request.

        Raises:
            ContextTooLarge: if the request was refused before.
        """
        told = self.limits.learn(request.model, overflow, self._counted)
        version = self.history.version
        self._fix(request)
        if self._refused_by is not None:
            self.limits.settle(request.model)
            self._fix(request)
            window = self.history.usage().window
            requested = overflow.requested or self.history.usage().total
            raise ContextTooLarge(told.limit or window.stated, requested)
        self._refused_by = request.model
        self.relief.share()
        await self._compact("overflow")
        self._persist(ctx, version)

    def _persist(self, ctx: RunContext[object], version: int) -> None:
        """Make a rewritten view the run's own history."""
        if self.history.version != version:
            ctx.messages[:] = to_messages(self.history.items())

    def _fix(self, request: ModelRequestContext) -> None:
        """Tell the history what every request to this model carries."""
        model = self.model = request.model
        window, factor = self.limits.window(model), self.limits.factor(model)
        self.history.fix(window, self._carried(request), model.model_name, factor)

    def _carried(self, request: ModelRequestContext) -> Breakdown:
        """Tokens of instructions and tools, without any factor."""
        return self.counter.carried(*_head(request))

    async def _relieve(self) -> None:
        """Start what is due, and wait where the window is nearly full."""
        if self.compactor is None:
            return
        if self.compactor.pressed:
            self.compactor.pressed = False
            await self._compact("memory_pressure")
        match self.policy.pressure(usage_as_sent(self.history, self._messages)):
            case "background":
                self._start(self.compactor, "background")
            case "blocking":
                await self._compact("blocking")

    async def _compact(self, trigger: Trigger) -> None:
        """Wait for the running job, then run another one if the view is still too full."""
        compactor = self.compactor
        if compactor is None:
            return
        if compactor.state is not State.IDLE:
            ended = await compactor.finish_for(trigger)
            helped = ended is not None and ended.outcome == "success"
            if helped and self.policy.pressure(usage_as_sent(self.history, self._messages)) != "blocking":
                return
        if self._start(compactor, trigger):
            await compactor.finish_for(trigger)

    def _start(self, compactor: Compactor, trigger: Trigger) -> bool:
        if not compactor.wanted(trigger):
            return False
        try:
            compactor.start(trigger)
        except CompactionRefused as refusal:
            # No model was asked, so this is no failed attempt: with the next message it may help.
            if trigger != "background" and str(refusal) != self._refusal:
                self._refusal = str(refusal)
                self.history.report(Notice(text=self._refusal))
            return False
        self._refusal = ""
        return True

    def _outgoing(self, request: ModelRequestContext) -> ModelRequestContext:
        """The request as it is sent: whole if it fits, else cut for this time only."""
        out = build(self.history, request.messages, self.policy, self._assembly)
        if out.truncation is not None:
            self.history.distrust()
            self.history.report(out.truncation)
        kept = self._prefix.next(*_head(request), out.messages)
        carried = self._carried(request)
        self.history.report(
            UsageInfo(
                usage=self.history.usage().to_json(),
                prefix_kept=kept,
                cache_read_tokens=self._cache_read,
                factor=self.limits.factor(request.model),
                carried=carried.nonzero(),
            )
        )
        self._counted = self.counter.unscaled(self._count.of(out.messages)) + carried.total
        return replace(request, messages=list(out.messages))


def _head(request: ModelRequestContext) -> tuple[str, list[ToolDefinition]]:
    """Instructions and tools, which stand in front of the messages."""
    parameters = request.model_request_parameters
    instructions = "\n\n".join(part.content for part in parameters.instruction_parts or ())
    return instructions, [*parameters.function_tools, *parameters.output_tools]
