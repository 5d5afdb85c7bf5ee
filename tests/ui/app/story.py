"""Stored sessions for tests, with fixed times and sizes."""

from typing import Self

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tui_app.events import (
    AssistantMessage,
    CheckpointCreated,
    CompactionComplete,
    Payload,
    SessionStart,
    ToolCall,
    ToolResult,
    UsageInfo,
    UserMessage,
)
from tui_app.usage import Breakdown, ContextUsage, ContextWindow

NOON = 1_767_268_800.0
"""Thursday, 1 January 2026, 12:00 UTC, when every stored session begins."""
TODAY = NOON + 3_600
"""One hour later, for tests that send prompts."""
MODEL = "harbour:scripted"
"""The model on the scripted server."""
WORDS = " ".join(f"word{number}" for number in range(400))
"""Filler text for conversations that will be compacted."""


class Story:
    """A stored session whose events are one minute apart."""

    def __init__(
        self, title: str = "", *, model: str = MODEL, cwd: str = "/home/ada/ferry-timetable"
    ) -> None:
        # No policy, so the one in the settings applies.
        self.start = SessionStart(cwd=cwd, model=model, policy="", title=title)
        self.model = model
        self.events: list[tuple[Payload, str | None, float]] = []

    def add(self, payload: Payload, message: ModelMessage | None = None) -> Self:
        text = None if message is None else ModelMessagesTypeAdapter.dump_json([message]).decode()[1:-1]
        self.events.append((payload, text, NOON + 60 * len(self.events)))
        return self

    @property
    def seq(self) -> int:
        """Sequence number of the last event; the first is the session's start."""
        return len(self.events) + 1

    def user(self, text: str, tokens: int = 40) -> Self:
        return self.add(
            UserMessage(text=text, tokens={"user": tokens}), ModelRequest(parts=[UserPromptPart(text)])
        )

    def answer(self, text: str, tokens: int = 60, *, reported: int = 0) -> Self:
        """Add an answer. ``reported``: tokens of the whole request and answer, as counted by the provider."""
        return self.add(
            AssistantMessage(
                text=text,
                tokens={"assistant": tokens},
                model=self.model,
                input_tokens=max(0, reported - tokens),
                output_tokens=tokens if reported else 0,
            ),
            ModelResponse(parts=[TextPart(text)]),
        )

    def tool(self, name: str, args: str, result: str, *, tokens: int = 200, outcome: str = "success") -> Self:
        number = f"call_{len(self.events)}"
        call = ToolCallPart(name, args, tool_call_id=number)
        self.add(
            AssistantMessage(text="", call_ids=(number,), tokens={"tool_calls": 30}, model=self.model),
            ModelResponse(parts=[call]),
        )
        self.add(ToolCall(tool_call_id=number, name=name, args=args))
        done = ToolResult(
            tool_call_id=number,
            name=name,
            text=result,
            tokens={"tool_results": tokens},
            outcome=outcome,  # type: ignore[arg-type]
        )
        return self.add(done, ModelRequest(parts=[ToolReturnPart(name, result, tool_call_id=number)]))

    def compacted(self, done: CompactionComplete) -> Self:
        self.add(done, ModelRequest(parts=[UserPromptPart(done.summary)]))
        return self.add(CheckpointCreated(number=1, title=done.title, path="checkpoints/001.md"))

    def measured(self, total: int, *, kept: float | None = None) -> Self:
        """Add a request's measurement: its size, and how much of the previous request it repeats."""
        usage = ContextUsage(
            parts=Breakdown(user=total), window=ContextWindow(limit=128_000, source="server"), messages=2
        )
        return self.add(UsageInfo(usage=usage.to_json(), prefix_kept=kept))

    def turns(self, count: int, *, words: str = WORDS, tokens: int = 800) -> Self:
        for number in range(count):
            self.user(f"question {number}", 20).answer(f"answer {number}: {words}", tokens)
        return self
