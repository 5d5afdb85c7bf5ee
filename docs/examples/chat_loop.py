"""A chat in the terminal that says how full its window is and what the next turn costs.

A line beginning with a slash is for the loop itself: ``/exclude WORD`` keeps messages with that word from
the model, ``/include WORD`` brings them back. Without arguments it talks to a model that is made up here and
needs no network; the name of a real one makes it talk to that: ``chat_loop.py anthropic:claude-sonnet-4-5``.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable
from datetime import datetime

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles import ModelProfile

from tui_app.context import ContextGovernor
from tui_app.events import CompactionComplete, FullnessTold, Payload, UsageInfo


class Chat:
    """One conversation, from the first line to the last."""

    def __init__(self, model: Model | str) -> None:
        self.messages: list[ModelMessage] = []
        self.left_out: set[str] = set()
        self.used = self.limit = 0
        self.governor = ContextGovernor(takes_part=True, is_excluded=self.is_excluded, listener=self.listen)
        # Only asked for is a prompt kept by every provider that can: that is what makes the next turn cheap.
        self.agent = Agent(model, capabilities=[self.governor], model_settings={"cache": True})

    def is_excluded(self, message: ModelMessage) -> bool:
        """Whether the user took a message out of the model's sight."""
        said = [str(part.content) for part in message.parts if isinstance(part, UserPromptPart | TextPart)]
        return any(word in text for word in self.left_out for text in said)

    def listen(self, event: Payload) -> None:
        """Follow the governor."""
        match event:
            case UsageInfo(usage=usage):
                self.used, self.limit = usage["total"], usage["limit"]
            case FullnessTold(percent=percent):
                print(f"(the model was told that {percent}% of its window is used)")
            case CompactionComplete(outcome="success", trigger=trigger):
                print(f"(compacted, {trigger}: {event.tokens_before:,} tokens became {event.tokens_after:,})")

    async def say(self, line: str) -> None:
        """Answer a line, or do what it asks of the loop."""
        command, _, word = line.partition(" ")
        match command:
            case "/exclude":
                self.left_out.add(word)
            case "/include":
                self.left_out.discard(word)
            case _:
                result = await self.agent.run(line, message_history=self.messages)
                self.messages = result.all_messages()
                print(result.output)
                print(self.status(result.conversation_id))

    def status(self, conversation: str) -> str:
        """How full the window is, and what the next turn costs."""
        text = f"[{self.used:,} of {self.limit:,} tokens"
        outlook = self.governor.outlook(conversation)
        if outlook is not None and outlook.cold_usd is not None:
            text += f" · next turn ${outlook.cold_usd:.4f}"
            if outlook.warm_usd is not None and outlook.warm_until is not None:
                until = datetime.fromtimestamp(outlook.warm_until)
                text += f", ${outlook.warm_usd:.4f} until {until:%H:%M}"
        return f"{text}]"


def practice_model(window: int = 4_000) -> FunctionModel:
    """A model without any network that compacts when it is told that half of its window is used."""

    def write(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        newest = messages[-1]
        said = " ".join(str(part.content) for part in newest.parts if isinstance(part, UserPromptPart))
        if "[Context window:" in said and info.function_tools:
            return ModelResponse(
                [ToolCallPart("compact_context", {"reason": "the questions so far are answered"})]
            )
        number = sum(isinstance(message, ModelRequest) for message in messages)
        return ModelResponse([TextPart(f"Answer {number}: the first ferry leaves at 05:15. " * 20)])

    async def stream(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str]:
        # Summaries are streamed.
        yield "Title: Ferries\n## Intent\nFind a ferry.\n## Current state\nThe first one leaves at 05:15."

    return FunctionModel(write, stream_function=stream, profile=ModelProfile(context_window=window))


async def main(model: Model | str, lines: Iterable[str]) -> Chat:
    """Chat until there are no more lines."""
    chat = Chat(model)
    for line in lines:
        if line.strip():
            await chat.say(line.strip())
    return chat


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else practice_model(), sys.stdin))
