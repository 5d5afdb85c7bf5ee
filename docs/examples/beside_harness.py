"""The governor in an agent whose tools come from pydantic-ai-harness: each does its part, in one line.

Without arguments it talks to a model that is made up here and needs no network. pydantic-ai-harness has to be
in the same environment: ``pip install plimsoll-tui pydantic-ai-harness``.
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.capabilities import LocalWorkspace
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai_harness import FileSystem

from tui_app.context import ContextGovernor
from tui_app.events import CompactionComplete, Payload


def practice_model(window: int = 4_000) -> FunctionModel:
    """A model without any network that reads a file before each answer, with a window that is soon full."""

    async def write(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        if isinstance(messages[-1].parts[-1], ToolReturnPart):
            return ModelResponse([TextPart("The first ferry leaves at 05:15.")])
        return ModelResponse([ToolCallPart("read_file", {"path": "timetable.txt"})])

    async def stream(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str]:
        # Summaries are streamed.
        yield "Title: Ferries\n## Intent\nFind a ferry.\n## Current state\nThe first one leaves at 05:15."

    return FunctionModel(write, stream_function=stream, profile=ModelProfile(context_window=window))


def write_timetable(folder: Path) -> None:
    """Put a file there that is worth reading."""
    rows = (f"{hour:02}:15 ferry {hour} to the northern pier" for hour in range(5, 23))
    (folder / "timetable.txt").write_text("\n".join(rows), encoding="utf-8")


async def main(model: Model | str) -> None:
    """Ask about thirty days in a folder with a timetable."""
    compactions: list[CompactionComplete] = []

    def listen(event: Payload) -> None:
        if isinstance(event, CompactionComplete) and event.outcome == "success":
            compactions.append(event)

    with tempfile.TemporaryDirectory() as folder:
        write_timetable(Path(folder))
        agent = Agent(
            model,
            instructions="You are a harbour clerk. Look the timetable up before you answer.",
            capabilities=[LocalWorkspace(folder), FileSystem(), ContextGovernor(listener=listen)],
        )
        messages: list[ModelMessage] = []
        for day in range(1, 31):
            result = await agent.run(f"Which ferries leave on day {day}?", message_history=messages)
            messages = result.all_messages()
    read = sum(isinstance(part, ToolReturnPart) for message in messages for part in message.parts)
    print(f"{len(compactions)} compactions; {read} results of read_file are still in the conversation")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else practice_model()))
