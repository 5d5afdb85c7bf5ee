"""Our own result: what a model is sent after the governor compacted without a model."""

from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai import Agent
from pydantic_ai.messages import CompactionPart, ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.usage import RequestUsage

from tests.quality.contexts import Context
from tests.quality.text import text_of
from tui_app.context.compaction.compactor import CompactionRefused, Compactor, PlainHost
from tui_app.context.compaction.replacement import WAY_BACK
from tui_app.context.compaction.sections import deeds_section
from tui_app.context.compaction.user_words import names_section, user_words_section
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.governor import ContextGovernor
from tui_app.context.history import ListHistory
from tui_app.context.ledger.ledger import Ledger
from tui_app.context.ledger.name_lines import names_to_carry
from tui_app.context.ledger.passages import passages
from tui_app.context.policy import NO_STAGES, PLIMSOLL, Policy
from tui_app.context.summaries.extractive import ExtractiveSummariser
from tui_app.context.views.view import Item, to_messages
from tui_app.context.windows.learnt_models import LearntModels
from tui_app.context.windows.window_limits import ContextTooLarge, Limits
from tui_app.events import CompactionComplete, Payload

COMPACTION_ALONE = replace(PLIMSOLL, stages=NO_STAGES)
"""The default policy without the stages that first hide old outputs."""


class Governed:
    """A conversation under a policy in a context window of so many tokens, without a model."""

    def __init__(self, text: TextCounter, window: int, policy: Policy = PLIMSOLL) -> None:
        self.counter = TokenCounter(text)
        self.events: list[Payload] = []
        self.sent: list[ModelMessage] = []
        self.refused = 0
        """Requests that cannot fit even with everything removable left out, so they are not sent."""
        self.history = ListHistory(self.counter, self.events.append)
        writer = ExtractiveSummariser(text.count)
        self.compactor = Compactor(self.history, policy, PlainHost((writer,)))
        limits = Limits(LearntModels(None), setting=window)
        governor = ContextGovernor(
            policy, history=self.history, compactor=self.compactor, counter=self.counter, limits=limits
        )
        model = FunctionModel(
            self._answer, model_name="offline", profile=ModelProfile(default_framing_announcement="never")
        )
        self._agent = Agent(model, capabilities=[governor])

    async def send(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """Send a history that ends with a request, and return what the model was sent."""
        await self._agent.run(None, message_history=list(messages))
        return self.sent

    async def send_if_it_fits(self, messages: Sequence[ModelMessage]) -> None:
        """Send a history, or count it as refused; the view continues either way."""
        try:
            await self.send(messages)
        except ContextTooLarge:
            self.refused += 1

    async def compacted(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """Send a history, and compact if hiding old outputs had made enough room."""
        sent = await self.send(messages)
        if self.compactions:
            return sent
        try:
            return await self.compact()
        except CompactionRefused:
            return sent

    async def compact(self) -> list[ModelMessage]:
        """Compact the view left by the last request, and return the new view."""
        if await self.compactor.finish() is None:
            self.compactor.start("headless")
            await self.compactor.finish()
        return to_messages(self.history.items())

    @property
    def compactions(self) -> list[CompactionComplete]:
        """Number of compactions applied so far."""
        done = [event for event in self.events if isinstance(event, CompactionComplete)]
        return [event for event in done if event.outcome == "success"]

    def size(self, messages: Sequence[ModelMessage]) -> int:
        """Token count of messages."""
        return sum(self.counter.message(message).total for message in messages)

    def _answer(self, messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        self.sent = list(messages)
        # Without this the model would report an estimate, and the governor would learn from it.
        usage = RequestUsage(input_tokens=self.size(messages), output_tokens=1)
        return ModelResponse(parts=[TextPart("ok")], usage=usage)


def written_in(messages: Sequence[ModelMessage]) -> str:
    """The text of our summary in a view; empty if there is none."""
    parts = [part for message in messages for part in message.parts if isinstance(part, CompactionPart)]
    return "\n".join((part.content or "").replace(WAY_BACK, "") for part in parts)


def context_of(sent: Sequence[ModelMessage], governed: Governed, name: str = "ours") -> Context:
    """Convert a request of ours to a context that can be scored."""
    written = written_in(sent)
    size, refused = governed.counter.text(written), governed.refused
    return Context(name, text_of(sent), governed.size(sent), written, size, ours=True, refused=refused)


def bare_summary(before: Sequence[ModelMessage], budget: int, text: TextCounter) -> Context:
    """The sections written by code alone: deeds, words, and the names in what is left."""
    items = [Item(key, message) for key, message in enumerate(before, 1)]
    ledger = Ledger.from_items(items)
    words = user_words_section(ledger.prompts(), budget // 3, text.count)
    deeds = deeds_section(ledger, budget // 3, text.count)
    sections = "\n".join(filter(None, (deeds.text, words.rules_text, words.text)))
    ranked = names_to_carry(list(passages(items)), ledger.files().values(), frozenset())
    names, _ = names_section(ranked, sections, budget - text.count(sections), text.count)
    written = f"{sections}\n{names}"
    size = text.count(written)
    return Context("our summary alone", written, size, written, size, ours=True)
