"""Generated histories, valid and broken, and a check of what every provider accepts."""

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    CompactionPart,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from tui_app.context.views.view import Item

IDS = ("a", "b", "c", "d")
SIZES = (0, 1, 3, 20, 20, 80, 400, 4_000)
"""Lengths of generated texts in characters; short ones are more frequent."""
REQUESTS = (
    "prompt",
    "prompt",
    "blank prompt",
    "media",
    "return",
    "returns",
    "retry",
    "feedback",
    "system",
    "summary",
)
RESPONSES = ("text", "text", "call", "call", "calls", "thinking", "signed", "blank", "nothing", "mixed")


class Namer:
    """Gives every text a unique name, so that it can be found again."""

    def __init__(self) -> None:
        self.count = 0

    def text(self, what: str, size: int) -> str:
        self.count += 1
        name = f"{what} {self.count}."
        return name + " lorem ipsum" * (max(0, size - len(name)) // 12)


def retry_prompt(text: str, tool: str | None = None, call_id: str = "") -> RetryPromptPart:
    """Build a retry part, which only older histories contain; pydantic-ai deprecates it with a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RetryPromptPart(text, tool_name=tool, tool_call_id=call_id)


@st.composite
def request_parts(draw: st.DrawFn, namer: Namer) -> list[ModelRequestPart]:
    size = draw(st.sampled_from(SIZES))
    call_id = draw(st.sampled_from(IDS))
    match draw(st.sampled_from(REQUESTS)):
        case "prompt":
            return [UserPromptPart(namer.text("prompt", size))]
        case "blank prompt":
            return [UserPromptPart(draw(st.sampled_from(["", "  \n", []])))]
        case "media":
            content: list[UserContent] = [namer.text("prompt", size), draw(media())]
            return [UserPromptPart(content)]
        case "return":
            return [ToolReturnPart("read", draw(results(namer, size)), call_id)]
        case "returns":
            ids = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=4))
            return [ToolReturnPart("read", draw(results(namer, size)), one) for one in ids]
        case "retry":
            return [retry_prompt(namer.text("wrong", size), tool="read", call_id=call_id)]
        case "feedback":
            return [retry_prompt(namer.text("try again", size))]
        case "system":
            return [SystemPromptPart(namer.text("system", size))]
        case _:
            return [CompactionPart(namer.text("summary", size))]


@st.composite
def results(draw: st.DrawFn, namer: Namer, size: int) -> Any:
    text = namer.text("result", size)
    return draw(st.sampled_from(["", text, {"text": text, "n": 1}, [text, None], [text, draw(media())]]))


def media() -> st.SearchStrategy[Any]:
    return st.sampled_from(
        [
            BinaryContent(b"\x89PNG" + b"x" * 5_000, media_type="image/png"),
            BinaryContent(b"plain", media_type="text/plain"),
            ImageUrl("https://example.com/a.png"),
        ]
    )


@st.composite
def response_parts(draw: st.DrawFn, namer: Namer) -> list[ModelResponsePart]:
    size = draw(st.sampled_from(SIZES))
    text = TextPart(namer.text("answer", size))
    ids = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=4))
    calls: list[ModelResponsePart] = [ToolCallPart("read", {"path": namer.text("p", 1)}, one) for one in ids]
    match draw(st.sampled_from(RESPONSES)):
        case "text":
            return [text]
        case "call":
            return calls[:1]
        case "calls":
            return calls
        case "thinking":
            return [ThinkingPart(namer.text("thought", size))]
        case "signed":
            return [ThinkingPart("", signature="abc", provider_name="anthropic"), text]
        case "blank":
            return [TextPart("  "), ThinkingPart("")]
        case "nothing":
            return []
        case _:
            return [ThinkingPart(namer.text("thought", size)), text, *calls]


@st.composite
def messages(draw: st.DrawFn, max_size: int = 14) -> list[ModelMessage]:
    """Any history; calls match their results only by chance."""
    namer = Namer()
    history: list[ModelMessage] = []
    for is_request in draw(st.lists(st.booleans(), max_size=max_size)):
        if is_request:
            groups = draw(st.lists(request_parts(namer), max_size=3))
            history.append(ModelRequest(parts=[part for group in groups for part in group]))
        else:
            history.append(ModelResponse(parts=draw(response_parts(namer))))
    return history


@st.composite
def asked(draw: st.DrawFn, max_size: int = 14) -> list[ModelMessage]:
    """A history as a run would send it: it ends with a prompt or a tool result."""
    history = draw(messages(max_size))
    size = draw(st.sampled_from(SIZES))
    last = UserPromptPart(Namer().text("latest", size))
    if draw(st.booleans()):
        return [*history, ModelRequest(parts=[last])]
    turn: list[ModelMessage] = [*history, ModelRequest(parts=[last])]
    for step in range(draw(st.integers(1, 3))):
        turn.append(ModelResponse(parts=[ToolCallPart("read", {}, f"t{step}")]))
        content = Namer().text("result", draw(st.sampled_from(SIZES)))
        turn.append(ModelRequest(parts=[ToolReturnPart("read", content, f"t{step}")]))
    return turn


def as_items(history: Sequence[ModelMessage]) -> list[Item]:
    return [Item(place, message) for place, message in enumerate(history, 1)]


def long_conversation(turns: int, size: int = 400) -> list[ModelMessage]:
    """Return a valid history of turns with one tool call each, four messages per turn."""
    history: list[ModelMessage] = []
    for turn in range(turns):
        text = f"turn {turn} " + "lorem ipsum " * (size // 12)
        history += [
            ModelRequest(parts=[UserPromptPart(f"prompt {turn}: {text}")]),
            ModelResponse(parts=[ToolCallPart("read", {"path": f"src/file_{turn}.py"}, f"call-{turn}")]),
            ModelRequest(parts=[ToolReturnPart("read", f"result {turn}: {text}", f"call-{turn}")]),
            ModelResponse(parts=[TextPart(f"answer {turn}: {text}")]),
        ]
    return history


# The checks below share no code with the governor.


def complaints(messages: Sequence[ModelMessage], *, ends_with_request: bool = True) -> list[str]:
    """Return everything a provider would refuse; empty for a valid history."""
    if not messages:
        return ["nothing to send"]
    found: list[str] = []
    if not isinstance(messages[0], ModelRequest):
        found.append("starts with a response")
    if ends_with_request and not isinstance(messages[-1], ModelRequest):
        found.append("ends with a response")
    for place, message in enumerate(messages):
        if not message.parts or all(blank(part) for part in message.parts):
            found.append(f"{place} is empty")
        if place and isinstance(message, ModelResponse) and isinstance(messages[place - 1], ModelResponse):
            found.append(f"{place} is the second response in a row")
    return found + unpaired(messages)


def unpaired(messages: Sequence[ModelMessage]) -> list[str]:
    """Return calls that the next request does not answer exactly once, and results without a call."""
    found: list[str] = []
    expected: list[str] = []
    for place, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            expected = [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
            if len(set(expected)) != len(expected):
                found.append(f"{place} uses an id twice")
            if expected and place + 1 == len(messages):
                found.append(f"{place} calls and nothing follows")
            continue
        answered = [
            part.tool_call_id
            for part in message.parts
            if isinstance(part, ToolReturnPart) or (isinstance(part, RetryPromptPart) and part.tool_name)
        ]
        if Counter(answered) != Counter(expected):
            found.append(f"{place} answers {answered} where {expected} was called")
        expected = []
    return found


def blank(part: object) -> bool:
    match part:
        case UserPromptPart(content=str(text)) | SystemPromptPart(content=text):
            return not text.strip()
        case UserPromptPart(content=pieces):
            return not [piece for piece in pieces if not isinstance(piece, str) or piece.strip()]
        case ThinkingPart(content=text, signature=signature):
            return not signature and not text.strip()
        case _:
            return False


def prompts(messages: Sequence[ModelMessage]) -> list[str]:
    """Return the user's prompts."""
    return [
        part.content if isinstance(part.content, str) else repr(part.content)
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]


def system_prompts(messages: Sequence[ModelMessage]) -> list[str]:
    return [
        part.content for message in messages for part in message.parts if isinstance(part, SystemPromptPart)
    ]


def as_bytes(messages: Sequence[ModelMessage]) -> bytes:
    return ModelMessagesTypeAdapter.dump_json(list(messages))
