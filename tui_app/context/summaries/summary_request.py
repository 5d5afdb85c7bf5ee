"""One request for notes: a fresh agent without tools, its answer as it streams in, and whether it is one."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from opentelemetry.trace import get_current_span
from pydantic_ai import Agent, RunContext, capture_run_messages
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ContentFilterError, UnexpectedModelBehavior
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.run import AgentRunResultEvent
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits

from tui_app.context.compaction.spending import Ledger, spent_on
from tui_app.context.requests.answer_end import CUT_OFF, FILTERED, why_not_whole
from tui_app.context.spans import INTERACTION_ATTRIBUTE
from tui_app.context.summaries.summary_prompt import INSTRUCTIONS, unwrapped, why_no_notes

INTERACTION = "conversation-compaction"
"""Marks summary requests in headers and spans, so that usage can be told apart from turns."""
HEADER = "X-Interaction-Type"
_METADATA = {"interaction": INTERACTION}


class SummaryFailed(Exception):
    """No usable summary was written.

    The message says why in one sentence; where it is empty, the cause says so.
    """


class Marked(AbstractCapability[Any]):
    """Puts the marker on the span of the request, where somebody instruments the agent."""

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Mark the span that is open around each attempt."""
        get_current_span().set_attribute(INTERACTION_ATTRIBUTE, INTERACTION)
        return request_context


def _nobody(_text: str) -> None:
    """Nobody reads along."""


Pause = Callable[[BaseException, int], float | None]
"""Seconds until a request that failed so many times in a row is made again; None where it is not worth it."""


def never_again(_error: BaseException, _failed: int) -> None:
    """Whoever has no patience."""


@dataclass(frozen=True, slots=True)
class NotesRequest:
    """Asks a model for notes, each time anew."""

    model: Model
    capabilities: Sequence[AbstractCapability[Any]]
    count: Callable[[str], int]
    ledger: Ledger
    """Told what each request costs, however it ends."""
    instructions: str = INSTRUCTIONS
    overheard: Callable[[str], None] = _nobody
    """Told the text itself as it comes in."""
    pause: Pause = never_again
    """Asked when a request failed before any text came: text that somebody has read is not written twice."""

    async def ask(self, prompt: str, *, max_tokens: int, heard: Callable[[int], None]) -> str:
        """Ask, and ask again where the provider is out of reach for a moment.

        Args:
            prompt: The transcript as data, and the task.
            max_tokens: Tokens the answer may take, thinking included.
            heard: Told the tokens of text received so far.

        Raises:
            SummaryFailed: if the answer is empty, was cut off, or is something else than notes.
            Exception: whatever the request itself raises.
        """
        failed, received = 0, 0

        def hear(written: int) -> None:
            nonlocal received
            received = written
            heard(written)

        while True:
            try:
                return await self._ask(prompt, max_tokens, hear)
            except Exception as error:
                failed += 1
                pause = None if received else self.pause(error, failed)
                if pause is None:
                    raise
            await asyncio.sleep(pause)

    async def _ask(self, prompt: str, max_tokens: int, heard: Callable[[int], None]) -> str:
        received, stopped = 0, False

        def hear(written: int) -> None:
            nonlocal received
            received = written
            self.ledger.hear(written)
            heard(written)

        self.ledger.ask(self.model, self.count(self.instructions) + self.count(prompt))
        with capture_run_messages() as messages:
            try:
                text = await self._answer(prompt, max_tokens, hear)
            except asyncio.CancelledError:
                stopped = True
                raise
            except ContentFilterError as error:
                raise SummaryFailed(FILTERED) from error
            except UnexpectedModelBehavior as error:
                raise SummaryFailed(_ended(messages) or "the model wrote no text") from error
            finally:
                answered = stopped or received > 0 or any(map(_says_something, messages))
                self.ledger.settle(spent_on(messages, self.model), answered=answered)
        return _checked(text, messages)

    async def _answer(self, prompt: str, max_tokens: int, heard: Callable[[int], None]) -> str:
        agent = self._agent(max_tokens)
        # Two, because a request that is refused as too long may be made again.
        limits = UsageLimits(request_limit=2)
        run = agent.run_stream_events(prompt, usage_limits=limits, metadata=_METADATA)
        written = 0
        try:
            async with run as events:
                async for event in events:
                    if isinstance(event, AgentRunResultEvent):
                        return str(event.result.output)
                    text = _streamed(event)
                    written += self.count(text)
                    self.overheard(text)
                    heard(written)
        except NotImplementedError:
            # A model of somebody's own that cannot stream.
            return (await agent.run(prompt, usage_limits=limits, metadata=_METADATA)).output
        raise SummaryFailed(CUT_OFF)

    def _agent(self, max_tokens: int) -> Agent[None, str]:
        return Agent(
            self.model,
            name=INTERACTION,
            output_type=str,
            instructions=self.instructions,
            capabilities=[*self.capabilities, Marked()],
            retries=0,
            model_settings=ModelSettings(max_tokens=max_tokens, extra_headers=self._headers()),
        )

    def _headers(self) -> dict[str, str]:
        """The marker beside the headers that the model's own settings ask for, which it would replace."""
        own = (self.model.settings or {}).get("extra_headers", {})
        return {**own, HEADER: INTERACTION}


def thinks(model: Model) -> bool:
    """Whether a model thinks before it answers, which takes of the same tokens."""
    if any("thinking" in name or "reasoning" in name for name in model.settings or {}):
        return True
    with suppress(NotImplementedError):  # a model that stands for several has no profile
        profile = model.profile
        return bool(profile.get("thinking_always_enabled") or profile.get("thinking_enabled_by_default"))
    return False


def _checked(answer: str, messages: Sequence[ModelMessage]) -> str:
    """The notes in an answer.

    Raises:
        SummaryFailed: if there are none.
    """
    notes = unwrapped(answer)
    nothing = "" if notes else "the model answered nothing"
    if reason := _ended(messages) or nothing or why_no_notes(notes):
        raise SummaryFailed(reason)
    return notes


def _says_something(message: ModelMessage) -> bool:
    return isinstance(message, ModelResponse) and bool(message.parts)


def _ended(messages: Sequence[ModelMessage]) -> str:
    """Why the last answer is not whole; empty when it is, or when there is none."""
    answer = next((one for one in reversed(messages) if isinstance(one, ModelResponse)), None)
    return "" if answer is None else why_not_whole(answer)


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
