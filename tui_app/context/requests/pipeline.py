"""The steps around every model request of one conversation, in order."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from tui_app.context.compaction.compactor import Asked, CompactionRefused, Compactor, State
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.history import History
from tui_app.context.message_marks import is_note_part
from tui_app.context.policy import Policy
from tui_app.context.requests.builder import Assembly, build, usage_as_sent
from tui_app.context.requests.fullness import FullnessNotes
from tui_app.context.requests.request_meter import CacheWatch, RequestMeter, message_parts, request_head
from tui_app.context.resident_memory import LARGE, Past, Reading, Step, collect, next_step, resident_mb
from tui_app.context.tool_results.stages import StageHost, StageRunner
from tui_app.context.views.view import is_summary, to_messages
from tui_app.context.windows.cache_marks import CacheMarks, chooses_hour
from tui_app.context.windows.window_limits import ContextTooLarge, Limits, most
from tui_app.events import MemoryPressure, Notice, Trigger
from tui_app.providers import SEARCHING
from tui_app.wires.adjustments import Adjustments
from tui_app.wires.overflow import (
    PER_REQUEST,
    ContextOverflow,
    detect_overflow,
    overflow_by_numbers,
    overflow_of_answer,
    tokens_a_minute,
)
from tui_app.wires.served_model import unserved
from tui_app.wires.wire_form import WireForm

SILENT_TRUNCATION = (
    "The server reports far fewer tokens than were sent: it probably dropped the beginning of the request. "
    "Set the window to what it really holds."
)
SET_TOO_LARGE = (
    "{model} allows {limit:,} tokens, says its provider, not the {set:,} set as its window. "
    "{limit:,} is used now; correct the setting."
)
SET_ABOVE_LIMIT = (
    "The provider refuses single requests over {limit:,} tokens for {model}, and its window is set to "
    "{set:,}. {limit:,} is used from now on; set it as the window, or have the account's limit raised."
)
_NO_REQUEST = Asked()
_NAMED = 3
"""Number of tools listed per server when tool definitions are too large."""
_HEAVY = 0.75
"""Share of the window that instructions and tools may take before a notice."""


@dataclass(slots=True)
class Pipeline:
    """Measuring, reducing and building the requests of one conversation."""

    policy: Policy
    history: History
    compactor: Compactor | None
    """Compacts that view; None only guards requests."""
    counter: TokenCounter
    limits: Limits
    around: StageHost = field(default_factory=StageHost)
    """Environment of the reversible stages."""
    memory_limit_mb: int = 0
    """Resident megabytes of the process above which memory is freed; 0 leaves that to the program."""
    downloads: bool = False
    """Whether the library may fetch files that messages only link to: only for the program's own messages."""
    fullness: FullnessNotes | None = None
    """Tells the model how full its window is; None for no notes."""
    cache: CacheWatch = field(default_factory=CacheWatch)
    """State of the prompt cache as observed by this process."""
    meter: RequestMeter = field(init=False)
    relief: StageRunner = field(init=False)
    model: Model | None = field(default=None, init=False)
    """The model of the newest request."""
    _refused_by: Model | None = field(default=None, init=False)
    """The model that already refused the current request once as too long."""
    _warned: bool = field(default=False, init=False)
    """Whether the notice about silent truncation by the server was shown."""
    _memory: Past = field(default_factory=Past, init=False)
    _compacted: Sequence[object] = field(default=(), init=False)
    """The parts of the last run's messages before the compaction at its end."""
    _refusal: str = field(default="", init=False)
    """The last reason why nothing could be compacted; reported once, not with every request."""
    _adjustments: dict[str, Adjustments] = field(default_factory=dict, init=False)
    """By model key, the adjustments that its server requires."""
    _marks: CacheMarks = field(default_factory=CacheMarks, init=False)
    _answers_to: Adjustments | None = field(default=None, init=False)
    """Adjustments of the newest request; None when its model has no server."""
    _assembly: Assembly = field(default_factory=Assembly, init=False)

    def __post_init__(self) -> None:
        self.meter = RequestMeter(self.counter, self.limits, self.cache, self.around.sources)
        self.relief = StageRunner(
            policy=self.policy, history=self.history, count=self.counter.text, around=self.around
        )

    async def first(self, ctx: RunContext[object], request: ModelRequestContext) -> ModelRequestContext:
        """Measure the view, apply or start a compaction that is due, and build the request."""
        if self._refused_by is not None:
            # Not the model of this request, which the user may have changed meanwhile.
            self.limits.end_retry(self._refused_by)
        self._refused_by = None
        for known in self._adjustments.values():
            known.begin()
        if self.compactor is not None:
            # The user may have chosen another policy since the last request.
            self.policy = self.relief.policy = self.compactor.policy
        before = self._compacted
        version: int | None = self.history.version
        messages, self._compacted = request.messages, ()
        if before and message_parts(messages)[: len(before)] == before:
            # The result of a streamed run kept the list from before the compaction, which is applied all the
            # same.
            ends = accumulate(len(message.parts) for message in messages)
            rest = [message for message, end in zip(messages, ends, strict=True) if end > len(before)]
            version, messages = None, [*to_messages(self.history.kept()), *rest]
        self.history.sync(messages)
        self._set_overhead(request)
        self.relief.arrivals()
        self.relief.share()
        if self.compactor is not None:
            self.compactor.apply_ready()
        if self.compactor is None or self.compactor.state is State.IDLE:
            # A summary being written would no longer match the view.
            await self.relief.make_room()
        await self._relieve()
        if self.fullness is not None and request.model.system not in SEARCHING:
            self.fullness.add_note(self.history.items(), self.history.usage(), self.policy)
        self._persist(ctx, version)
        return self._outgoing(request)

    def again(self, request: ModelRequestContext) -> ModelRequestContext:
        """Build another attempt from the current view, or for another model."""
        self._set_overhead(request)
        return self._outgoing(request)

    def prepared(self, request: ModelRequestContext) -> ModelRequestContext:
        """Return the request in its model's form, rebuilt for another attempt or another model."""
        unchanged = request.attempt == 1 and unserved(request.model) is self.model
        return self.formed(request if unchanged else self.again(request))

    def formed(self, request: ModelRequestContext) -> ModelRequestContext:
        """Return the request in the form its model requires; unchanged for a model without a server."""
        if request.model.provider is None:
            self._answers_to = None
            return request
        self._answers_to = self._adjusted(request.model)
        return self._marks.marked(self._answers_to.formed(request), hour=self.cache.hour >= 1.0)

    def own_names(self, response: ModelResponse) -> ModelResponse:
        """Restore the original names of tools and arguments that were renamed for the provider."""
        return response if self._answers_to is None else self._answers_to.own_names(response)

    def reform(self, request: ModelRequestContext, error: Exception) -> None:
        """Choose another request form after a refusal caused by the form; later requests use it too.

        Raises:
            Exception: the first refusal of the request if no other form is left, otherwise ``error``.
        """
        if request.model.provider is None:
            raise error
        adjusted = self._adjusted(request.model)
        if adjusted.next_form(request, error) is None:
            raise adjusted.refused or error

    def _adjusted(self, model: Model[Any]) -> Adjustments:
        key = self.limits.model_key(model)
        if key not in self._adjustments:
            form = WireForm.of(unserved(model), downloads=self.downloads, is_note=is_note_part)
            self._adjustments[key] = Adjustments(form, self.limits.form(model))
        return self._adjustments[key]

    def answered(self, request: ModelRequestContext, response: ModelResponse) -> None:
        """Learn the accepted form, the window and the token count from an answer."""
        meter, model = self.meter, request.model
        self.cache.answered(request, response, self.history.version)
        # Usage that a provider reports with its own compaction is not the size of what was sent.
        if response.state != "complete" or is_summary(response):
            return
        # Remember the form that was answered: only an answer shows what a refusal was about.
        if (known := self._adjustments.get(self.limits.model_key(model))) is not None:
            if note := known.answered(request):
                self.history.report(Notice(text=f"{model.model_name} {note}."))
            self.limits.learn_form(model, known.lasting.learnt(known.first))
        overflow = overflow_of_answer(response, self.limits.window(model).stated)
        if overflow is not None:
            self.limits.learn(model, overflow, meter.counted, plain=meter.plain)
            self._set_overhead(request)
        elif meter.answered(request, response) and not self._warned:
            self._warned = True
            self.history.report(Notice(text=SILENT_TRUNCATION))

    def overflow(self, request: ModelRequestContext, error: Exception) -> ContextOverflow | None:
        """Return the overflow if the request was too long, or None.

        Exceeding the tokens per minute counts too if the request alone exceeds them, because waiting would
        not help.
        """
        size = self.meter.size(self.limits.factor(request.model))
        found = detect_overflow(error, request.messages)
        if found is not None or (limit := tokens_a_minute(error)) is None:
            return found or overflow_by_numbers(error, size, request.messages)
        return ContextOverflow(limit, None, PER_REQUEST) if size > limit else None

    async def refused(
        self, ctx: RunContext[object], request: ModelRequestContext, overflow: ContextOverflow
    ) -> None:
        """Learn from a "too long" refusal and reduce the view, once per request.

        Raises:
            ContextTooLarge: if the request was refused before.
        """
        was, is_set = self.limits.window(request.model), self.limits.is_set(request.model)
        valid = self.limits.learn(request.model, overflow, self.meter.counted, plain=self.meter.plain)
        version = self.history.version
        now = self.limits.window(request.model)
        if is_set and now.stated < was.stated:
            template = SET_ABOVE_LIMIT if overflow.signal == PER_REQUEST else SET_TOO_LARGE
            text = template.format(limit=now.stated, model=request.model.model_name, set=was.stated)
            self.history.report(Notice(text=text))
        self._set_overhead(request)
        if self._refused_by is not None:
            self.limits.end_retry(request.model)
            self._set_overhead(request)
            window = self.history.usage().window
            requested = overflow.requested or self.history.usage().total
            raise ContextTooLarge(valid.limit or window.stated, requested)
        self._refused_by = unserved(request.model)
        self.relief.share()
        await self._compact("overflow")
        self._persist(ctx, version)

    def _persist(self, ctx: RunContext[object], version: int | None) -> None:
        """Replace the run's own history by a rewritten view."""
        if self.history.version != version:
            ctx.messages[:] = to_messages(self.history.kept())

    def _set_overhead(self, request: ModelRequestContext) -> None:
        model = self.model = unserved(request.model)
        if model.provider is not None:
            self.meter.count_as(self._adjusted(model).form.shown, model.model_name)
        overhead = self.limits.overhead(model, self.meter.overhead(request))
        self.history.set_overhead(overhead, model.model_name)

    def _heavy(self, request: ModelRequestContext) -> str:
        """Describe what fills most of the window before the conversation starts; empty if nothing does."""
        factor, window = self.limits.factor(request.model), self.limits.window(request.model)
        instructions, tools = request_head(request)
        spent = round(self.meter.overhead(request).total * factor)
        if spent < most(window) * _HEAVY:
            return ""
        by_source: dict[str, list[ToolDefinition]] = {}
        for tool in tools:
            server = (tool.metadata or {}).get("mcp_server")
            by_source.setdefault(f"server {server}" if server else "own tools", []).append(tool)

        def size(tools: Sequence[ToolDefinition]) -> int:
            return round(self.counter.tools(tools) * factor)

        def largest(tools: Sequence[ToolDefinition]) -> str:
            first = sorted(tools, key=lambda tool: -size([tool]))[:_NAMED]
            return f"{len(tools)} tools, largest {', '.join(tool.name for tool in first)}"

        sizes = {f"{source} ({largest(each)})": size(each) for source, each in by_source.items()}
        sizes["instructions"] = round(self.counter.instructions(instructions) * factor)
        named = ", ".join(f"{name} {size:,}" for name, size in sorted(sizes.items(), key=lambda one: -one[1]))
        return f"tools and instructions take {spent:,} of {window.stated:,} tokens: {named}"

    async def _relieve(self) -> None:
        """Start a compaction that is due, and wait for it when the window is nearly full."""
        if self.compactor is None:
            return
        if self.memory_limit_mb:
            await self._look_at_memory(self.compactor)
        asked, self.compactor.asked = self.compactor.asked, None
        idle = self.compactor.state is State.IDLE
        if asked is not None and idle and self._start(self.compactor, "model", asked):
            await self.compactor.finish_for("model")
        pressed, self.compactor.pressed = self.compactor.pressed, False
        # The view may have shrunk since it was found too large.
        if pressed and self.history.usage().total >= LARGE:
            await self._compact("memory_pressure")
        match self.policy.pressure(usage_as_sent(self.history, self.policy)):
            case "background":
                self._start(self.compactor, "background")
            case "blocking":
                await self._compact("blocking")

    async def _look_at_memory(self, compactor: Compactor) -> None:
        """Collect garbage when the process is too large, and request a compaction if that is not enough."""
        step: Step = "drop"
        while step == "drop" and (rss_mb := await asyncio.to_thread(resident_mb)) is not None:
            now = Reading(
                rss_mb=rss_mb,
                limit_mb=self.memory_limit_mb,
                tokens=self.history.usage().total,
                automatic=self.policy.automatic,
                idle=False,
            )
            step, self._memory = next_step(now, self._memory)
            if step != "nothing":
                self.history.report(MemoryPressure(rss_mb=rss_mb, limit_mb=now.limit_mb, action=step))
            if step == "drop":
                collect()
        compactor.pressed = compactor.pressed or step == "compact"

    async def ended(self, messages: list[ModelMessage]) -> None:
        """Run the policy's compaction at turn end, when the history is the run's own.

        Args:
            messages: The messages of the run's result; a compaction rewrites them.
        """
        compactor, version = self.compactor, self.history.version
        if compactor is not None and compactor.policy.at_turn_end:
            self.history.sync(messages)
            await compact_at_turn_end(compactor)
            if self.history.version != version:
                self._compacted = message_parts(messages)
                messages[:] = to_messages(self.history.kept())

    async def _compact(self, trigger: Trigger) -> None:
        """Wait for the running job, then run another one if the view is still too full."""
        compactor = self.compactor
        if compactor is None:
            return
        if compactor.state is not State.IDLE:
            ended = await compactor.finish_for(trigger)
            helped = ended is not None and ended.outcome == "success"
            if helped and self.policy.pressure(usage_as_sent(self.history, self.policy)) != "blocking":
                return
        if self._start(compactor, trigger):
            await compactor.finish_for(trigger)

    def _start(self, compactor: Compactor, trigger: Trigger, asked: Asked = _NO_REQUEST) -> bool:
        if not compactor.should_start(trigger):
            return False
        try:
            compactor.start(trigger, asked.focus, asked=asked.reason)
        except CompactionRefused as refusal:
            # No model was called, so this is not a failed attempt: it may succeed after the next message.
            if trigger != "background" and str(refusal) != self._refusal:
                self._refusal = str(refusal)
                self.history.report(Notice(text=self._refusal))
            return False
        self._refusal = ""
        return True

    def _outgoing(self, request: ModelRequestContext) -> ModelRequestContext:
        """Return the request as it is sent: whole if it fits, otherwise truncated for this request only."""
        heavy = self._heavy(request)
        try:
            out = build(self.history, request.messages, self.policy, self._assembly)
        except ContextTooLarge as large:
            raise ContextTooLarge(large.limit, large.requested, heavy) from None
        if heavy and self.history.usage().is_initial:
            self.history.report(Notice(text=f"Little room is left for the conversation: {heavy}."))
        if out.truncation is not None:
            self.history.distrust()
            self.history.report(out.truncation)
        outgoing = replace(request, messages=list(out.messages))
        hour = chooses_hour(request) and self._adjusted(request.model).form.caching
        self.history.report(self.meter.sent(outgoing, self.history.usage(), hour=hour))
        return outgoing


async def compact_at_turn_end(compactor: Compactor) -> None:
    """Compact at the end of a turn if the policy requires it, and wait for the summary.

    It is applied at once, unless the user has to review it first.
    """
    usage = usage_as_sent(compactor.history, compactor.policy)
    if not compactor.policy.is_due_at_turn_end(usage) or not compactor.should_start("turn_end"):
        return
    try:
        compactor.start("turn_end")
    except CompactionRefused:
        return  # may succeed after the next message
    await compactor.written()
    compactor.apply_ready()
