"""Writers of summaries: the conversation's model, a cheaper one, or extraction without a model."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelResponse

from tui_app.agent.errors import describe_error
from tui_app.agent.model_shelf import ModelShelf, why_unavailable
from tui_app.agent.retry_rules import RetryRules, pause_before
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.prompt_cache import CacheRates, CacheRule, cache_rates
from tui_app.context.governor import request_guard
from tui_app.context.requests.builder import repair
from tui_app.context.summaries.extractive import ExtractiveSummariser
from tui_app.context.summaries.prefix import PrefixSummariser, SentRequest
from tui_app.context.summaries.writer import ModelSummariser, Summariser
from tui_app.context.views.rewrites import Digest
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.events import Notice, Trigger
from tui_app.providers import OFFLINE
from tui_app.session.figures.cache_forecast import last_cache_rule
from tui_app.settings import Settings
from tui_app.system.secrets import mask_secrets

_RETRIES = 2
"""Retries of a summary request. Few, because a request may be waiting and other writers can take over."""
_PATIENCE_S = 30.0
"""Longest pause in seconds to wait if the provider asks for one."""
_OTHER_PREFIX: frozenset[Trigger] = frozenset({"overflow", "model_switch"})
"""Compactions with no room left after the previous request, or for another model."""
_BY_HAND: frozenset[Trigger] = frozenset({"manual", "headless"})


@dataclass(slots=True)
class SummaryWriters:
    """The summarisers of one conversation, one per model. Kept, so that a retry does not pay twice."""

    history: SessionHistory
    shelf: ModelShelf
    text: TextCounter
    settings: Settings
    observers: Sequence[AbstractCapability[Any]] = ()
    """Capabilities that observe the summary requests."""
    sent: SentRequest = field(default_factory=SentRequest)
    """Records the last request of the conversation; a capability of its agent."""
    rules: RetryRules = field(init=False)
    """Number and pauses of retries for a summary request."""
    _writers: dict[str, ModelSummariser] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rules = RetryRules(retries=min(self.settings.retries, _RETRIES))

    async def prepare(self) -> None:
        """Build the model for automatic summaries. If that fails, the conversation's own writes them."""
        if not self.settings.summarization_model:
            return
        try:
            await self.shelf.get(self.settings.summarization_model)
        except Exception as error:  # an SDK may raise anything; another model takes over
            report = why_unavailable(error, model=self.settings.summarization_model)
            text = f"{report.message} Automatic summaries are written by {self.history.model}."
            self.history.append(Notice(text=text))

    def choose(self, trigger: Trigger) -> Sequence[Summariser]:
        """The summarisers to try, in order.

        For a manual compaction that is only the conversation's own model. For others, the model set for
        automatic summaries comes first. Only if all fail is the summary written without a model.
        """
        own = self.history.model
        other = "" if trigger in _BY_HAND else self.settings.summarization_model
        names = filter(None, (other, own))
        built = [name for name in dict.fromkeys(names) if self.shelf.built(name) is not None]
        if not built or self._of(built[0]) is None:
            return (self.extractive(),)
        written = [writer for writer in map(self._of, built) if writer is not None]
        return tuple(writer if trigger in _OTHER_PREFIX else self._on_prefix(writer) for writer in written)

    def _on_prefix(self, writer: ModelSummariser) -> Summariser:
        """For the conversation's own model, put a writer before it that reuses the cached prefix."""
        if writer.model_name != self.history.model:
            return writer
        learnt = partial(self.shelf.limits.form, writer.model)
        asked = writer, writer.model, self.history, self.sent
        return PrefixSummariser(*asked, self.text.count, self.cache_rates, repair, self._masked, learnt)

    async def digest(self, material: str, chars: int) -> Digest | None:
        """Have a model write the digest of archived results: the one for automatic summaries if set.

        Args:
            material: The results, clipped and without secrets.
            chars: Maximum characters of the digest.

        Returns:
            The digest; None if there is no model.
        """
        writer = self._of(self.settings.summarization_model) or self._of(self.history.model)
        timeout_s = self.settings.summary_timeout_s
        return None if writer is None else await writer.digest(material, chars, timeout_s)

    def cache_rates(self) -> CacheRates | None:
        """The current cost of changing what the model has already read; None if unknown."""
        model = self.history.model
        return cache_rates(model, self._rule(model), self._idle_s())

    def cache_remaining_s(self) -> float:
        """Seconds until that model's cache expires; 0 if unknown, or if it keeps nothing."""
        rule = self._rule(self.history.model)
        return max(0.0, rule.lifetime_s - self._idle_s()) if rule is not None else 0.0

    def _rule(self, model: str) -> CacheRule | None:
        return last_cache_rule(self.history.store, self.history.session, model, self.settings)

    def _idle_s(self) -> float:
        """Seconds since the conversation's last answer began."""
        items = reversed(self.history.items())
        last = next((item.message for item in items if isinstance(item.message, ModelResponse)), None)
        return 0.0 if last is None else (datetime.now(UTC) - last.timestamp).total_seconds()

    def extractive(self) -> ExtractiveSummariser:
        """The summariser that needs no model."""
        return ExtractiveSummariser(self.text.count)

    def _masked(self, text: str) -> str:
        """Mask known keys, which may look like anything, and everything that looks like a secret."""
        return mask_secrets(self.history.secrets.masked(text))

    def _of(self, name: str) -> ModelSummariser | None:
        """The summariser for a model; None if the model was not built or is the built-in search."""
        model, limits = self.shelf.built(name), self.shelf.limits
        if model is None or model.system == OFFLINE:
            return None
        if name in self._writers and self._writers[name].model is model:
            return self._writers[name]

        def pause(error: BaseException, failed: int) -> float | None:
            report = describe_error(error, model=name)
            pause = pause_before(error, report, attempt=failed, rules=self.rules, jitter=random.random())
            return pause if pause is not None and pause <= _PATIENCE_S else None

        self._writers[name] = writer = ModelSummariser(
            model=model,
            model_name=name,
            input_budget=lambda: limits.window(model).effective,
            count=lambda text: round(self.text.count(text) * limits.factor(model)),
            capabilities=[request_guard(self.text, limits), *self.observers],
            mask=self._masked,
            pause=pause,
        )
        return writer
