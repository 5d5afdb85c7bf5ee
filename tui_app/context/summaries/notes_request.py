"""A request for notes: an agent without tools, its streamed response, and the check of that response."""

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
"""Value that marks summary requests in headers and spans, to distinguish their usage from turns."""

HEADER = "X-Interaction-Type"

_METADATA = {"interaction": INTERACTION}


class SummaryFailed(Exception):
    """No usable summary was written.

    The message is the reason in one sentence; if it is empty, the cause is.
    """


Pause = Callable[[BaseException, int], float | None]
"""Returns the seconds until a request that failed so many times in a row is retried; None to give up."""


def no_retry(_error: BaseException, _failed: int) -> None:
    """Never retry."""


@frozen
class NotesRequest:
    """A request to a model for notes, new for each call."""

    model: Model
    capabilities: Sequence[AbstractCapability[Any]]
    count: Callable[[str], int]
    ledger: Ledger
    """Records the cost of each request, however it ends."""
    instructions: str = INSTRUCTIONS
    overheard: Callable[[str], None] = lambda _text: None
    """Called with the text as it is received."""
    checked: bool = True
    """Whether the response has to look like notes."""
    pause: Pause = no_retry
    """Called only when a request failed before any text came: text already shown is not written twice."""

    async def ask(
        self, prompt: str, *, max_tokens: int, heard: Callable[[int], None] = lambda _tokens: None
    ) -> str:
        """Call the model, retrying while the provider is unavailable.

        Args:
            prompt: The transcript as data, and the task.
            max_tokens: Tokens the response may take, including thinking.
            heard: Called with the tokens of text received so far.

        Raises:
            SummaryFailed: if the response is empty, was cut off, or is not notes.
            Exception: whatever the request itself raises.
        """
        failed = 0
        while True:
            stream = StreamedText(self.count, self.ledger, self.overheard, heard)
            try:
                try:
                    return await self._request(prompt, max_tokens, stream)
                except NotImplementedError:
                    # A custom model that cannot stream; the failed attempt was not a request.
                    self.ledger.requests -= 1
                    return await self._request(prompt, max_tokens, None)
            except Exception as error:
                failed += 1
                pause = None if stream.tokens else self.pause(error, failed)
                if pause is None:
                    raise
            await asyncio.sleep(pause)

    async def _request(self, prompt: str, max_tokens: int, stream: "StreamedText | None") -> str:
        """Make one request; without a stream the response arrives as a whole."""
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
        # Added to the headers of the model's own settings, which it would replace otherwise.
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
        # Two, because a request that is refused as too long may be repeated.
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
    """The text of a response while it is received; stops paying for one that repeats itself."""

    count: Callable[[str], int]
    ledger: Ledger
    overheard: Callable[[str], None]
    heard: Callable[[int], None]
    """Called with the tokens so far."""
    tokens: int = 0
    _said: str = ""
    _looked: int = 0

    def hear(self, event: object) -> None:
        """Process a stream event.

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
    """Return the notes in a response.

    Args:
        answer: What the model wrote.
        cut: Why it is incomplete; empty if it is complete.
        form: Whether it has to look like notes.

    Raises:
        SummaryFailed: if it is incomplete, empty, or not notes.
    """
    notes = unwrapped(answer)
    nothing = "" if notes else "the model gave no answer"
    if reason := cut or nothing or (form and why_no_notes(notes)):
        raise SummaryFailed(reason)
    return notes


def thinks(model: Model) -> bool:
    """Whether a model thinks before it answers, which uses output tokens."""
    if any("thinking" in name or "reasoning" in name for name in model.settings or {}):
        return True
    with suppress(NotImplementedError):  # a model that wraps several has no profile
        profile = model.profile
        return bool(profile.get("thinking_always_enabled") or profile.get("thinking_enabled_by_default"))
    return False


def _ended(messages: Sequence[ModelMessage]) -> str:
    """Return why the last response is incomplete; empty if it is complete, or if there is none."""
    answer = next((one for one in reversed(messages) if isinstance(one, ModelResponse)), None)
    return "" if answer is None else incomplete_reason(answer)
