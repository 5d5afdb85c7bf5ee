"""Summaries on the warm prefix: the conversation's own request again, with the task at its end."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import CapabilityOrdering
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.settings import ModelSettings

from tui_app.context.counting.expenses import Ledger, spent_on
from tui_app.context.counting.prompt_cache import CacheRates
from tui_app.context.history import History
from tui_app.context.message_marks import is_note_part
from tui_app.context.summaries.notes_request import (
    HEADER,
    INTERACTION,
    StreamedText,
    SummaryFailed,
    checked_notes,
)
from tui_app.context.summaries.prompt import (
    RESULT_LIMIT,
    SummaryTask,
    message_text,
    prefix_prompt,
    split_title,
)
from tui_app.context.summaries.writer import (
    LONGEST_NOTES,
    AsksModel,
    Progress,
    Summariser,
    Summary,
    refuse_wordy,
)
from tui_app.context.user_text import one_line
from tui_app.context.views.view import Item, to_messages
from tui_app.context.windows.cache_marks import is_cache_mark
from tui_app.wires.answer_end import CUT_OFF, incomplete_reason
from tui_app.wires.error_text import outline
from tui_app.wires.library import PreparesAttempts
from tui_app.wires.wire_form import WireForm

_LOG = logging.getLogger(__name__)
_TASK = 1_000
"""Approximate tokens of the task."""
_ROOM = 8_192
"""Tokens reserved for the notes and for the model's thinking before them."""
_QUOTED = 120
_RESULT = RESULT_LIMIT // 3
"""Approximate maximum tokens of a tool result in a transcript."""


class SentRequest(PreparesAttempts):
    """The last answered request of a conversation, as it was sent."""

    def __init__(self) -> None:
        self.last: ModelRequestContext | None = None
        self._next: ModelRequestContext | None = None

    def get_ordering(self) -> CapabilityOrdering:
        """After everything that changes a request."""
        return CapabilityOrdering(position="innermost")

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Record the request before the model converts it, as it will convert the next one."""
        self._next = request_context
        return request_context

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Keep the request, which was answered."""
        self.last = self._next
        return response


def transcript_tokens(items: Sequence[Item], history: History) -> int:
    """Estimate the tokens of the messages as a transcript, where tool results are clipped."""
    weights = [history.weigh(item) for item in items]
    return sum(each.total - each.tool_results + min(each.tool_results, _RESULT) for each in weights)


@dataclass(slots=True)
class PrefixSummariser:
    """Summaries by the conversation's own model after its own messages, if its cache makes that cheaper.

    If it does not, or if no notes result, another writer gets the transcript as data.
    """

    other: Summariser
    model: Model
    history: History
    sent: SentRequest
    count: Callable[[str], int]
    rates: Callable[[], CacheRates | None]
    """Current token prices on the cached prefix and after it."""
    repair: Callable[[Sequence[ModelMessage]], list[ModelMessage]]
    """Repairs messages as for a request."""
    mask: Callable[[str], str] = str
    learnt: Callable[[], Mapping[str, bool]] = dict
    """What the model's server has refused about the form of requests."""

    @property
    def model_name(self) -> str:
        return self.other.model_name

    async def summarise(self, task: SummaryTask, progress: Progress, ledger: Ledger) -> Summary:
        """Write the summary; see :class:`Summariser`."""
        if self._pays(task):
            try:
                return await self._on_prefix(task, progress, ledger)
            except Exception as error:
                # Whatever failed, the other writer is left.
                _LOG.warning("a summary was not written on the prefix: %s", outline(error))
                _LOG.debug("a summary was not written on the prefix", exc_info=error)
        return await self.other.summarise(task, progress, ledger)

    async def ask(self, instructions: str, prompt: str, ledger: Ledger) -> str:
        """Call the other writer's model."""
        if not isinstance(self.other, AsksModel):
            raise SummaryFailed("there is no model to ask")
        return await self.other.ask(instructions, prompt, ledger)

    def _pays(self, task: SummaryTask) -> bool:
        """Whether the model can be asked on the prefix, and for less than with a transcript."""
        usage, rates = self.history.usage(), self.rates()
        if task.again or not task.items or rates is None or rates.kept >= rates.changed:
            return False
        needed = usage.total + _TASK + min(_ROOM, usage.window.limit // 8)
        if needed > usage.window.limit or self._messages() is None:
            return False
        warm = rates.kept * usage.total + rates.changed * _TASK
        return warm < transcript_tokens(task.items, self.history) + _TASK

    async def _on_prefix(self, task: SummaryTask, progress: Progress, ledger: Ledger) -> Summary:
        messages, sent = self._messages(), self.sent.last
        if messages is None or sent is None or not task.items:
            raise SummaryFailed("what the provider has cached is no longer the beginning of the conversation")
        task = replace(task, budget_tokens=min(task.budget_tokens, LONGEST_NOTES))
        last = one_line(message_text(task.items[-1].message, _QUOTED))[:_QUOTED]
        asked = prefix_prompt(last, task)
        messages = [*messages, ModelRequest(parts=[UserPromptPart(asked)])]
        progress(1, 1, 0)
        ledger.ask(self.model, self.history.usage().total + self.count(asked))
        own, parameters = (sent.model_settings or {}).get("extra_headers", {}), sent.model_request_parameters
        messages = self.model.prepare_messages(messages, parameters)
        settings = (sent.model_settings or ModelSettings()).copy()
        settings["extra_headers"] = {**own, HEADER: INTERACTION}
        streamed = StreamedText(self.count, ledger, task.overheard, partial(progress, 1, 1))
        answer: ModelResponse | None = None
        try:
            async with sent.model.request_stream(messages, settings, parameters) as stream:
                async for event in stream:
                    streamed.hear(event)
                answer = stream.get()
        except NotImplementedError:
            # A custom model that cannot stream.
            answer = await self.model.request(messages, settings, parameters)
        finally:
            reported = spent_on([answer], self.model) if answer is not None else spent_on([])
            ledger.request_id = (answer.provider_response_id if answer else None) or ledger.request_id
            ledger.book(reported, answered=answer is not None)
        if answer is None:
            raise SummaryFailed(CUT_OFF)
        if any(isinstance(part, ToolCallPart) for part in answer.parts):
            raise SummaryFailed("the model continued working instead of summarising")
        reply = "".join(part.content for part in answer.parts if isinstance(part, TextPart))
        notes = checked_notes(reply, incomplete_reason(answer))
        refuse_wordy(self.count(notes), max(1_024, 4 * task.budget_tokens))
        title, text = split_title(self.mask(notes))
        return Summary(text=text, title=title, model=self.model_name)

    def _messages(self) -> list[ModelMessage] | None:
        """Return the view as it is sent; None if it does not begin like the last request."""
        last, own = self.sent.last, self.model
        # A model in another form is a copy.
        if last is None or (last.model.model_id, last.model.base_url) != (own.model_id, own.base_url):
            return None
        form = WireForm.of(self.model, is_note=is_note_part).taught(self.learnt())
        messages = form.of_messages(self.repair(to_messages(self.history.items())))
        before = _parts(last.messages)
        return list(messages) if before and _parts(messages)[: len(before)] == before else None


def _parts(messages: Sequence[ModelMessage]) -> list[object]:
    """Return parts, which keep their identity when neighbouring requests are joined, without cache marks."""
    return [part for message in messages for part in message.parts if not is_cache_mark(part)]
