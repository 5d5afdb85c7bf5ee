"""The governor: one pydantic-ai capability in front of every model request.

Before a request it measures the view, applies or starts compactions, repairs and, if it must, truncates.
When the provider still says "too long" it learns from the error, compacts, and lets the request be tried
once more.
"""

from collections.abc import Callable
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import Model

from tui_app.context.compaction.compactor import Compactor
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.history import History, ignore
from tui_app.context.policy import PLIMSOLL, Policy
from tui_app.context.requests.governed import GovernedRun, Pipelines
from tui_app.context.requests.pipeline import Pipeline
from tui_app.context.stages.relief import Surroundings
from tui_app.context.standalone import Conversations, OnePipeline
from tui_app.context.windows.learnt import LearntModels
from tui_app.context.windows.limits import Limits
from tui_app.events import Payload


class ContextGovernor(AbstractCapability[Any]):
    """Keeps conversations inside their model's context window.

    ``Agent(model, capabilities=[ContextGovernor()])`` is all it takes. One instance may serve several agents
    and any number of conversations, also at the same time: each conversation, by pydantic-ai's conversation
    id, has a state of its own, which lasts from run to run as long as the id does
    (``message_history=result.all_messages()`` keeps it). A compaction rewrites the run's message history,
    so the messages of the result are the compacted ones.

    A program that owns its history gives ``history``; then every run belongs to that one conversation, and
    runs must not overlap.
    """

    def __init__(
        self,
        policy: Policy = PLIMSOLL,
        *,
        history: History | None = None,
        compactor: Compactor | None = None,
        counter: TokenCounter | None = None,
        limits: Limits | None = None,
        listener: Callable[[Payload], None] = ignore,
        summary_model: Model | None = None,
        surroundings: Surroundings | None = None,
    ) -> None:
        """Govern with a policy.

        Args:
            policy: Triggers and sizes.
            history: Owner of the view; None follows the message list of each run.
            compactor: Runs the compactions of ``history``; without one it is guarded but never compacted.
            counter: Counts instructions and tool definitions for ``history``.
            limits: What is known about the models' windows; None learns anew in this process.
            listener: Is handed every event, on the thread of the run. A given ``history`` has its own.
            summary_model: Writes the summaries; None is the run's own model. A given ``compactor`` has its
                own.
            surroundings: What the reversible stages may ask of the files around a given ``history``.

        Raises:
            ValueError: if a compactor is given without its history.
        """
        known = limits or Limits(LearntModels(None))
        self._compactor = compactor
        self._pipelines: Pipelines
        if history is not None:
            count = counter or TokenCounter(TextCounter(None))
            around = surroundings or Surroundings()
            self._pipelines = OnePipeline(Pipeline(policy, history, compactor, count, known, around))
        elif compactor is not None:
            raise ValueError("a compactor belongs to a history: give both or neither")
        else:
            self._pipelines = Conversations(policy, known, listener, summary_model)

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        """Give each run, a turn of its conversation, hooks of its own."""
        if self._compactor is not None:
            self._compactor.breaker.turn_begins()
        return GovernedRun(self._pipelines)

    async def aclose(self) -> None:
        """Stop compactions that still run in the background, as at the end of a program."""
        await self._pipelines.aclose()
