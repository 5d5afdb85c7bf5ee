"""Writing the summary: the task, whoever can do it, and the one who asks a model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelResponse, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.models import Model
from pydantic_ai.run import AgentRunResult, AgentRunResultEvent
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits

from tui_app.context.items import Item
from tui_app.context.limits import ContextTooLarge
from tui_app.context.overflow import detect_overflow
from tui_app.context.prices import answer_cost
from tui_app.context.render import clip, transcript_lines
from tui_app.context.summary_prompt import INSTRUCTIONS, split_parts, split_title, summary_prompt

INTERACTION = "conversation-compaction"
"""Marks summary requests in headers and spans, so that usage can be told apart from turns."""
_SHRINK_TRIES = 4
_MINIMUM_PART = 200
"""Tokens of transcript below which reading in parts is pointless."""
_FRAMING = 120
"""Tokens of the sentences and markers around the transcript."""

Progress = Callable[[int, int, int], None]
"""Called with the part being written (from 1), the number of parts, and the tokens written so far."""


class SummaryFailed(Exception):
    """No usable summary was written; the message says why in one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryTask:
    """What to summarise."""

    items: tuple[Item, ...]
    previous: str = ""
    """An earlier summary to update."""
    focus: str = ""
    budget_tokens: int = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What came back."""

    text: str
    title: str = ""
    performed_by: str = "model"
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


class Summariser(Protocol):
    """Whoever can turn old messages into a summary."""

    @property
    def model_name(self) -> str:
        """Name shown to the person while it works."""
        ...

    async def summarise(self, task: SummaryTask, progress: Progress) -> Summary:
        """Write the summary.

        Raises:
            SummaryFailed: if nothing usable came back.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Notes:
    """How far a task has come, and what that has cost."""

    text: str
    parts_read: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None

    def after(self, result: AgentRunResult[str]) -> "_Notes":
        """The notes once one more part has been read."""
        answers = (one for one in result.all_messages() if isinstance(one, ModelResponse))
        costs = (self.cost_usd, *map(answer_cost, answers))
        known = [cost for cost in costs if cost is not None]
        return _Notes(
            result.output.strip(),
            self.parts_read + 1,
            self.input_tokens + result.usage.input_tokens,
            self.output_tokens + result.usage.output_tokens,
            sum(known) if known else None,
        )


@dataclass(slots=True)
class ModelSummariser:
    """Summaries by a model: an agent without tools, the transcript as delimited data.

    Input that does not fit the model is read in parts, each updating the notes of the ones before, so
    summaries never nest. Parts already read are kept: a retry of the same task goes on behind them.
    """

    model: Model
    model_name: str
    input_budget: Callable[[], int]
    """Tokens one summary request may hold, asked anew for each attempt (a limit may be learnt meanwhile)."""
    count: Callable[[str], int]
    capabilities: Sequence[AbstractCapability[Any]] = ()
    mask: Callable[[str], str] = str
    _done: dict[tuple[object, ...], _Notes] = field(default_factory=dict)

    async def summarise(self, task: SummaryTask, progress: Progress) -> Summary:
        """Write the summary; see :class:`Summariser`."""
        for attempt in range(_SHRINK_TRIES):
            try:
                return await self._in_parts(task, progress, 2**attempt)
            except Exception as error:
                if not isinstance(error, ContextTooLarge) and detect_overflow(error) is None:
                    raise
        raise SummaryFailed("even a small part of the conversation is too long for the model")

    async def _in_parts(self, task: SummaryTask, progress: Progress, shrink: int) -> Summary:
        room = self.input_budget() - self._overhead(task)
        budget = max(_MINIMUM_PART, room // shrink)
        parts = split_parts([self.mask(t) for t in transcript_lines(task.items)], budget, self.count)
        if not parts:
            raise SummaryFailed("there is nothing to summarise")
        key = (*(item.key for item in task.items), task.previous, task.focus, budget)
        notes = self._done.get(key, _Notes(task.previous))
        for index in range(notes.parts_read, len(parts)):
            notes = notes.after(await self._read(task, notes.text, parts[index], index, len(parts), progress))
            self._done = {key: notes}
        self._done = {}
        title, text = split_title(notes.text)
        return Summary(
            text=text,
            title=title,
            model=self.model_name,
            input_tokens=notes.input_tokens,
            output_tokens=notes.output_tokens,
            cost_usd=notes.cost_usd,
        )

    def _overhead(self, task: SummaryTask) -> int:
        """Tokens of a request beside the transcript: task, notes so far, and room for the new ones."""
        notes = max(self.count(task.previous), task.budget_tokens)
        return self.count(INSTRUCTIONS) + self.count(task.focus) + notes + _answer(task) + _FRAMING

    async def _read(
        self, task: SummaryTask, notes: str, part: str, index: int, parts: int, progress: Progress
    ) -> AgentRunResult[str]:
        """Have one part read.

        Raises:
            SummaryFailed: if the answer is empty or was cut off.
        """
        agent: Agent[None, str] = Agent(
            self.model,
            output_type=str,
            instructions=INSTRUCTIONS,
            capabilities=list(self.capabilities),
            retries=0,
            model_settings=ModelSettings(
                max_tokens=_answer(task), extra_headers={"X-Interaction-Type": INTERACTION}
            ),
        )
        longest = max(_MINIMUM_PART, self.input_budget() // 4) * 3
        prompt = summary_prompt(
            clip(notes, longest), part, focus=task.focus, budget_tokens=task.budget_tokens
        )
        written = 0
        progress(index + 1, parts, written)
        run = agent.run_stream_events(
            prompt, usage_limits=UsageLimits(request_limit=2), metadata={"interaction": INTERACTION}
        )
        try:
            async with run as events:
                async for event in events:
                    if isinstance(event, AgentRunResultEvent):
                        return _checked(event.result)
                    written += self.count(_streamed(event))
                    progress(index + 1, parts, written)
        except UnexpectedModelBehavior as error:
            raise SummaryFailed("the model wrote no text") from error
        raise SummaryFailed("the model's answer was cut off")


def _checked(result: AgentRunResult[str]) -> AgentRunResult[str]:
    if not result.output.strip():
        raise SummaryFailed("the model answered nothing")
    return result


def _answer(task: SummaryTask) -> int:
    """Tokens the model may write: room for one that is wordy."""
    return max(256, task.budget_tokens * 2)


def _streamed(event: object) -> str:
    """Text of the answer that an event brings."""
    match event:
        case (
            PartStartEvent(part=TextPart(content=text))
            | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
        ):
            return text
        case _:
            return ""
