"""The tool that asks the user."""

from collections.abc import Sequence
from typing import Any, Protocol

from pydantic_ai import RunContext

from tui_app.agent.tools.calls import as_model_retry
from tui_app.agent.tools.workspace import ToolProblem
from tui_app.records import frozen

_QUESTION_CHARS, _CHOICE_CHARS = 1_000, 200

_CHOICES = range(2, 7)


class Asker(Protocol):
    """Asks the user a question."""

    async def ask(self, question: str, choices: Sequence[str], call: str) -> str:
        """Wait for the answer.

        Returns:
            Text for the model, whatever the outcome.
        """


@frozen
class AskTool:
    """Needs no approval: it is a question itself."""

    asker: Asker

    async def ask_user(self, ctx: RunContext[Any], question: str, choices: Sequence[str] = ()) -> str:
        """Ask the user what only they can decide; look things up yourself.

        Args:
            ctx: The run.
            question: One short question.
            choices: 2 to 6 answers to choose from; leave it out to ask for words.
        """
        with as_model_retry():
            asked = question.strip()
            offered = [" ".join(choice.split()) for choice in choices]
            if not asked or len(asked) > _QUESTION_CHARS:
                raise ToolProblem(f"A question has 1 to {_QUESTION_CHARS:,} characters.")
            if offered and (len(offered) not in _CHOICES or len(set(offered)) < len(offered)):
                raise ToolProblem("Give 2 to 6 different choices, or none for a free answer.")
            if not all(0 < len(choice) <= _CHOICE_CHARS for choice in offered):
                raise ToolProblem(f"A choice has 1 to {_CHOICE_CHARS} characters.")
        return await self.asker.ask(asked, offered, ctx.tool_call_id or "")
