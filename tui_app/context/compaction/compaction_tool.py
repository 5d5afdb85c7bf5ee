"""The tool by which the model requests a compaction at a boundary of its choice."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext, Tool, ToolDefinition, ToolDenied
from pydantic_ai.toolsets import FunctionToolset

from tui_app.context.compaction.compactor import Asked, Compactor
from tui_app.providers import SEARCHING

MOST_CHARS = 500
"""Maximum characters of a reason, a focus, or what to keep."""
_AHEAD = "The conversation is compacted before your next step. Continue with the next sub-task then."
_BACK = "plan and\ntodo list stay, and what leaves can be searched."
_UNSEARCHED = "and what was\nread last stay."
"""Replacement of those words if nothing can be searched."""

CompactorOf = Callable[[RunContext[Any] | None], Compactor | None]
"""Returns the compactor of a run's conversation; None if unknown, or if the tool is only measured."""
Permit = Callable[[RunContext[Any], Asked], Awaitable[str | None]]
"""Asks the user; returns the reason of a refusal, or None for yes."""


class ContextToolset(FunctionToolset[Any]):
    """Toolset with the one tool. It records a request that is carried out before the next model request.

    It is offered to models that can use it, under policies that allow it.

    Args:
        compactor_of: Finds the compactor.
        permit: Asks the user, if the policy requires that; None is yes.
        searchable: Whether the model can search removed messages.
    """

    def __init__(
        self, compactor_of: CompactorOf, permit: Permit | None = None, *, searchable: bool = True
    ) -> None:
        self._compactor_of, self._permit, self._searchable = compactor_of, permit, searchable
        tool: Tool[Any] = Tool(self.compact_context, prepare=self._prepared)
        super().__init__([tool], docstring_format="google")

    async def compact_context(
        self, ctx: RunContext[Any], reason: str, focus: str = "", keep: str = ""
    ) -> str | ToolDenied:
        """Replace the older part of this conversation by a summary, once this step is done.

        It pays at a boundary: a sub-task is done and its details are not needed any more, or an approach
        has failed and was left. It does not pay in the middle of a sub-task, while you work with what you
        have read, or with less than 30% of the window used. The newest messages, the user's words, plan and
        todo list stay, and what leaves can be searched.

        Args:
            ctx: The run.
            reason: The boundary, in a few words; the user reads it.
            focus: What the summary should be about above all.
            keep: Names, numbers and decisions that it must hold.
        """
        compactor = self._compactor_of(ctx)
        if compactor is None:
            return "Not compacted: there is no conversation."
        if why_not := compactor.refuse_asked():
            return f"Not compacted: {why_not}"
        texts = [" ".join(text.split())[:MOST_CHARS] for text in (reason, focus, keep)]
        asked = Asked(texts[0], "; ".join(filter(None, texts[1:])))
        if compactor.policy.model_compacts == "ask" and self._permit is not None:
            shown = replace(asked, focus="\n".join(filter(None, texts[1:])))
            if declined := await self._permit(ctx, shown):
                return ToolDenied(declined)
        compactor.asked = asked
        return _AHEAD

    def offered_to(self, provider: str, ctx: RunContext[Any] | None = None) -> bool:
        """Whether the tool is offered to the models of a provider."""
        compactor = self._compactor_of(ctx)
        is_allowed = compactor is None or compactor.policy.model_compacts != "ignore"
        return is_allowed and provider not in SEARCHING

    async def _prepared(self, ctx: RunContext[Any], tool: ToolDefinition) -> ToolDefinition | None:
        if not self.offered_to(ctx.model.system, ctx):
            return None
        text = tool.description or ""
        return tool if self._searchable else replace(tool, description=text.replace(_BACK, _UNSEARCHED))
