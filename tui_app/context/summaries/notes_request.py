"""One request for notes: an agent without tools, its streamed answer, and the check of that answer."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic_ai import Agent, capture_run_messages
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
from pydantic_ai.models import Model
from pydantic_ai.run import AgentRunResultEvent
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits

from tui_app.context.counting.expenses import Ledger, spent_on
from tui_app.context.summaries.prompt import INSTRUCTIONS, LONG, REPEATS, repeats, unwrapped, why_no_notes
from tui_app.context.telemetry import SpanMarker
from tui_app.records import frozen
from tui_app.wires.answer_end import CUT_OFF, FILTERED, incomplete_reason

INTERACTION = "conversation-compaction"
"""Marks summary requests in headers and spans, so that usage can be told apart from turns."""

HEADER = "X-Interaction-Type"

_METADATA = {"interaction": INTERACTION}


class SummaryFailed(Exception):
    """No usable summary was written.

    The message says why in one sentence; where it is empty, the cause says so.
    """


Pause = Callable[[BaseException, int], float | None]
"""Seconds until a request that failed so many times in a row is made again; None where it is not worth it."""


def no_retry(_error: BaseException, _failed: int) -> None:
    """Never retry."""


@frozen
class NotesRequest:
    """Asks a model for notes, each time anew."""

    model: Model
    capabilities: Sequence[AbstractCapability[Any]]
    count: Callable[[str], int]
    ledger: Ledger
    """Told what each request costs, however it ends."""
    instructions: str = INSTRUCTIONS
    overheard: Callable[[str], None] = lambda _text: None
    """Told the text itself as it comes in."""
    checked: bool = True
    """Whether the answer has to look like notes."""
    pause: Pause = no_retry
    """Asked when a request failed before any text came: text that somebody has read is not written twice."""

    async def ask(
        self, prompt: str, *, max_tokens: int, heard: Callable[[int], None] = lambda _tokens: None
    ) -> str:
        """Ask the model, retrying while the provider is out of reach.

        Args:
            prompt: The transcript as data, and the task.
            max_tokens: Tokens the answer may take, thinking included.
            heard: Told the tokens of text received so far.

        Raises:
            SummaryFailed: if the answer is empty, was cut off, or is something else than notes.
            Exception: whatever the request itself raises.
        """
        failed = 0
        while True:
            stream = StreamedText(self.count, self.ledger, self.overheard, heard)
            try:
                try:
                    return await self._request(prompt, max_tokens, stream)
                except NotImplementedError:
                    # A model of somebody's own that cannot stream. Whatever the try left is no answer of its.
                    self.ledger.requests -= 1
                    return await self._request(prompt, max_tokens, None)
            except Exception as error:
                failed += 1
                pause = None if stream.tokens else self.pause(error, failed)
                if pause is None:
                    raise
            await asyncio.sleep(pause)

    async def _request(self, prompt: str, max_tokens: int, stream: "StreamedText | None") -> str:
        """Make one request; without a stream the answer comes as a whole."""
        stopped = False
        self.ledger.ask(self.model, self.count(self.instructions) + self.count(prompt))
        with capture_run_messages() as messages:
            try:
                text = await self._answer(prompt, max_tokens, stream)
            except asyncio.CancelledError:
                stopped = True
                raise
            except ContentFilterError as error:
                raise SummaryFailed(FILTERED) from error
            except UnexpectedModelBehavior as error:
                raise SummaryFailed(_ended(messages) or "the model wrote no text") from error
            finally:
                answers = [one for one in messages if isinstance(one, ModelResponse)]
                answered = stopped or bool(stream and stream.tokens) or any(one.parts for one in answers)
                ids = [one.provider_response_id for one in answers if one.provider_response_id]
                self.ledger.request_id = (ids or [self.ledger.request_id])[-1]
                self.ledger.book(spent_on(messages, self.model), answered=answered)
        return checked_notes(text, _ended(messages), form=self.checked)

    async def _answer(self, prompt: str, max_tokens: int, stream: "StreamedText | None") -> str:
        # The marker goes beside the headers that the model's own settings ask for, which it would replace.
        own = (self.model.settings or {}).get("extra_headers", {})
        agent = Agent(
            self.model,
            name=INTERACTION,
            output_type=str,
            instructions=self.instructions,
            capabilities=[*self.capabilities, SpanMarker(INTERACTION)],
            retries=0,
            model_settings=ModelSettings(max_tokens=max_tokens, extra_headers={**own, HEADER: INTERACTION}),
        )
        # Two, because a request that is refused as too long may be made again.
        limits = UsageLimits(request_limit=2)
        if stream is None:
            return (await agent.run(prompt, usage_limits=limits, metadata=_METADATA)).output
        async with agent.run_stream_events(prompt, usage_limits=limits, metadata=_METADATA) as events:
            async for event in events:
                if isinstance(event, AgentRunResultEvent):
                    return str(event.result.output)
                stream.hear(event)
        raise SummaryFailed(CUT_OFF)


@dataclass(slots=True)
class StreamedText:
    """The text of an answer as it comes in. One that repeats itself is paid for no longer than it is seen."""

    count: Callable[[str], int]
    ledger: Ledger
    overheard: Callable[[str], None]
    heard: Callable[[int], None]
    """Told the tokens so far."""
    tokens: int = 0
    _said: str = ""
    _looked: int = 0

    def hear(self, event: object) -> None:
        """Take in what an event brings.

        Raises:
            SummaryFailed: if the text repeats itself.
        """
        match event:
            case (
                PartStartEvent(part=TextPart(content=text))
                | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
            ):
                self._said += text
            case _:
                text = ""
        self.tokens += self.count(text)
        self.overheard(text)
        self.ledger.hear(self.tokens)
        self.heard(self.tokens)
        if len(self._said) >= self._looked + LONG:
            self._looked = len(self._said)
            if repeats(self._said):
                raise SummaryFailed(REPEATS)


def checked_notes(answer: str, cut: str, *, form: bool = True) -> str:
    """The notes in an answer.

    Args:
        answer: What the model wrote.
        cut: Why it is not whole; empty where it is.
        form: Whether it has to look like notes.

    Raises:
        SummaryFailed: if it is not whole, is empty, or is something else than notes.
    """
    notes = unwrapped(answer)
    nothing = "" if notes else "the model gave no answer"
    if reason := cut or nothing or (form and why_no_notes(notes)):
        raise SummaryFailed(reason)
    return notes


def thinks(model: Model) -> bool:
    """Whether a model thinks before it answers, which takes of the same tokens."""
    if any("thinking" in name or "reasoning" in name for name in model.settings or {}):
        return True
    with suppress(NotImplementedError):  # a model that stands for several has no profile
        profile = model.profile
        return bool(profile.get("thinking_always_enabled") or profile.get("thinking_enabled_by_default"))
    return False


def _ended(messages: Sequence[ModelMessage]) -> str:
    """Why the last answer is not whole; empty when it is, or when there is none."""
    answer = next((one for one in reversed(messages) if isinstance(one, ModelResponse)), None)
    return "" if answer is None else incomplete_reason(answer)
