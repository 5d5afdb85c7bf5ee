"""An agent of one's own whose conversation never outgrows its model.

Without arguments it talks to a model that is made up here and needs no network; the name of a real one makes
it talk to that: ``python harbour_agent.py openai:gpt-5-mini``.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles import ModelProfile

from tui_app.context import PLIMSOLL, ContextGovernor
from tui_app.events import CompactionComplete, Payload, Truncation, UsageInfo

CAREFUL = replace(PLIMSOLL, name="careful", background_threshold=0.6, recent_share=0.3)
"""The default policy, only earlier and with more of the newest messages kept."""


@dataclass
class Ledger:
    """Listens to the governor: how full the window is, and what was done about it."""

    used: int = 0
    limit: int = 0
    compactions: list[CompactionComplete] = field(default_factory=list)

    def __call__(self, event: Payload) -> None:
        """Take note of an event."""
        match event:
            case UsageInfo(usage=usage):
                self.used, self.limit = usage["total"], usage["limit"]
            case CompactionComplete(outcome="success"):
                self.compactions.append(event)
                print(f"compacted: {event.tokens_before:,} tokens became {event.tokens_after:,}")
            case CompactionComplete(outcome=outcome, reason=reason):
                print(f"compaction {outcome}: {reason}")
            case Truncation(tokens_removed=tokens):
                print(f"left out of one request: {tokens:,} tokens")


def harbour_agent(model: Model | str, ledger: Ledger) -> Agent[None, str]:
    """An agent like any other, but for one line."""
    agent: Agent[None, str] = Agent(
        model,
        instructions="You are a harbour clerk. Look the timetable up before you answer.",
        capabilities=[ContextGovernor(CAREFUL, listener=ledger)],
    )

    @agent.tool_plain
    def timetable(day: str) -> str:
        """The ferries of one day."""
        return "\n".join(f"{day} {hour:02}:15 ferry {hour} to the northern pier" for hour in range(5, 23))

    return agent


async def talk(
    agent: Agent[None, str], prompts: Sequence[str], history: Sequence[ModelMessage] = ()
) -> list[ModelMessage]:
    """Ask one thing after the other; what ``all_messages`` returns is all the state there is."""
    messages = list(history)
    for prompt in prompts:
        result = await agent.run(prompt, message_history=messages)
        messages = result.all_messages()
    return messages


def save(messages: list[ModelMessage], path: Path) -> None:
    """Write a conversation down; a summary in it is a message like the others."""
    path.write_bytes(ModelMessagesTypeAdapter.dump_json(messages))


def load(path: Path) -> list[ModelMessage]:
    """Read it again."""
    return ModelMessagesTypeAdapter.validate_json(path.read_bytes())


def practice_model(window: int = 4_000) -> FunctionModel:
    """A model without any network, with a window that is soon full."""

    async def write(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if info.function_tools and not isinstance(messages[-1].parts[-1], ToolReturnPart):
            return ModelResponse([ToolCallPart("timetable", {"day": f"day {len(messages)}"})])
        return ModelResponse([TextPart("The first ferry leaves at 05:15, the last one at 22:15.")])

    async def stream(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str]:
        # Summaries are streamed.
        yield "Title: Ferries\n## Intent\nFind a ferry.\n## Current state\nEvery day from 05:15 to 22:15."

    return FunctionModel(write, stream_function=stream, profile=ModelProfile(context_window=window))


async def main(model: Model | str) -> None:
    """Ask about forty days, save, and ask on."""
    ledger = Ledger()
    agent = harbour_agent(model, ledger)
    messages = await talk(agent, [f"Which ferries leave on day {day}?" for day in range(1, 41)])
    print(f"{len(messages)} messages, {ledger.used:,} of {ledger.limit:,} tokens")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else practice_model()))
