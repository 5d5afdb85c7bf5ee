"""Choosing who writes a summary: the conversation's model, a cheaper one, or extraction without any."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import Model

from tui_app.agent.errors import describe_error
from tui_app.agent.retry import RetryRules, pause_before
from tui_app.agent.shelf import ModelShelf, why_unavailable
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.governor import ContextGovernor
from tui_app.context.history import ListHistory
from tui_app.context.policy import OFF
from tui_app.context.rewrite import Digest
from tui_app.context.secrets import mask_secrets
from tui_app.context.summaries.heuristic import ExtractiveSummariser
from tui_app.context.summaries.writer import ModelSummariser, Summariser, digest_request
from tui_app.conversation.session_history import SessionHistory
from tui_app.events import Notice, Trigger

SUMMARY_RETRIES = 2
"""Tries after the first: a request may be waiting for the summary, and there are others to write it."""
_PATIENCE_S = 30.0
"""A provider that asks for a longer pause is not waited for."""
_BY_HAND: frozenset[Trigger] = frozenset({"manual", "headless"})


@dataclass(slots=True)
class SummaryWriters:
    """Summarisers of one conversation, one for each model, kept so that a retry does not pay twice."""

    history: SessionHistory
    shelf: ModelShelf
    text: TextCounter
    automatic_model: str = ""
    """Model for compactions nobody asked for; empty is the conversation's own."""
    timeout_s: float = 120.0
    """Seconds a model may take for a digest."""
    observers: Sequence[AbstractCapability[Any]] = ()
    """Capabilities that watch the requests for summaries."""
    rules: RetryRules = field(default_factory=RetryRules)
    """How often and how soon a request for a summary is made again."""
    _writers: dict[str, ModelSummariser] = field(default_factory=dict)

    async def prepare(self) -> None:
        """Build the model for automatic summaries; where that fails the conversation's own writes them."""
        if not self.automatic_model:
            return
        try:
            await self.shelf.get(self.automatic_model)
        except Exception as error:  # an SDK may raise anything; there is another model to do it
            said = why_unavailable(error, model=self.automatic_model)
            self.history.append(
                Notice(text=f"{said.message} Automatic summaries are written by {self.history.model}.")
            )

    def choose(self, trigger: Trigger) -> Sequence[Summariser]:
        """The conversation's model where a person asked, else the one set for automatic summaries first.

        Where that one fails the conversation's own model tries, before anything is done without a model.
        """
        own = self.history.model
        names = [own] if trigger in _BY_HAND or not self.automatic_model else [self.automatic_model, own]
        built = [name for name in dict.fromkeys(names) if self.shelf.built(name) is not None]
        if not built or self._of(built[0]) is None:
            return (self.extractive(),)
        return tuple(writer for writer in map(self._of, built) if writer is not None)

    async def digest(self, material: str, chars: int) -> Digest | None:
        """Have a model write the digest of archived results, the one for automatic summaries if it is set.

        Args:
            material: The results, clipped and without secrets.
            chars: Characters it should take at most.

        Returns:
            What it wrote; None where there is no model to ask.
        """
        writer = self._of(self.automatic_model) or self._of(self.history.model)
        return None if writer is None else await digest_request(writer, self.timeout_s).ask(material, chars)

    def extractive(self) -> ExtractiveSummariser:
        """The one that always works."""
        return ExtractiveSummariser(self.text.count)

    def _of(self, name: str) -> ModelSummariser | None:
        """The summariser that asks a model; None where it was not built or is no model at all."""
        model = self.shelf.built(name)
        if model is None or model.system == "offline":
            return None
        if name not in self._writers or self._writers[name].model is not model:
            self._writers[name] = self._writer(name, model)
        return self._writers[name]

    def _writer(self, name: str, model: Model) -> ModelSummariser:
        limits = self.shelf.limits
        counter = TokenCounter(self.text)
        # A summary is a request like any other: it is repaired, measured and guarded, only never compacted.
        guard = ContextGovernor(
            OFF, history=ListHistory(counter), compactor=None, counter=counter, limits=limits
        )
        return ModelSummariser(
            model=model,
            model_name=name,
            input_budget=lambda: limits.window(model).effective,
            count=lambda text: round(self.text.count(text) * limits.factor(model)),
            capabilities=[guard, *self.observers],
            mask=mask_secrets,
            pause=lambda error, failed: self._pause(error, failed, name),
        )

    def _pause(self, error: BaseException, failed: int, name: str) -> float | None:
        told = describe_error(error, model=name)
        pause = pause_before(error, told, attempt=failed, rules=self.rules, jitter=random.random())
        return pause if pause is not None and pause <= _PATIENCE_S else None
