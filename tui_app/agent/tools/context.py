"""The tool by which the model asks for a compaction at a boundary that it chooses."""

from dataclasses import dataclass
from typing import Any, cast

from pydantic_ai import RunContext, Tool, ToolDefinition, ToolDenied
from pydantic_ai.toolsets import FunctionToolset

from tui_app.agent.approvals.rules import Action, Gate
from tui_app.context.compaction.compactor import Asked, Compactor
from tui_app.providers import SEARCHING
from tui_app.tool_specs import COMPACT_CONTEXT

MOST_CHARS = 500
"""Characters of a reason, a focus, or what is to be kept."""
_AHEAD = "The conversation is compacted before your next step. Continue with the next sub-task then."


@dataclass(frozen=True, slots=True)
class ContextTool:
    """Takes the model's wish; the next request carries it out, with every guard."""

    compactor: Compactor
    gate: Gate

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
        if why_not := self.compactor.refuse_asked():
            return f"Not compacted: {why_not}"
        said = [" ".join(text.split())[:MOST_CHARS] for text in (reason, focus, keep)]
        if self.compactor.policy.model_compacts == "ask":
            detail = "\n".join(filter(None, said[1:]))
            action = Action(
                tool=COMPACT_CONTEXT.name,
                kind="other",
                subject=said[0],
                detail=detail,
                note="compacts the conversation",
                call=ctx.tool_call_id or "",
            )
            if declined := await self.gate(action):
                return ToolDenied(declined)
        self.compactor.asked = Asked(said[0], "; ".join(filter(None, said[1:])))
        return _AHEAD


class ContextToolset(FunctionToolset[Any]):
    """The one tool; it is described to models that can make use of it, under policies that let them.

    Args:
        compactor: Carries out what is asked for; None where the tool is only measured.
        gate: Asks the user, where the policy wants that.
    """

    def __init__(self, compactor: Compactor | None, gate: Gate) -> None:
        self._compactor = compactor
        # A tool that is only measured is never called.
        tool = ContextTool(cast("Compactor", compactor), gate)
        super().__init__([Tool(tool.compact_context, prepare=self._prepared)], docstring_format="google")

    def offered_to(self, provider: str) -> bool:
        """Whether the models of a provider are told of the tool."""
        policy = None if self._compactor is None else self._compactor.policy
        return provider not in SEARCHING and (policy is None or policy.model_compacts != "ignore")

    async def _prepared(self, ctx: RunContext[Any], tool: ToolDefinition) -> ToolDefinition | None:
        return tool if self.offered_to(ctx.model.system) else None
