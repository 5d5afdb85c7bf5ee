"""Short builders for histories, views and messages."""

from collections.abc import Sequence
from typing import Any, Literal

from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    CompactionPart,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.context.governor_kit import Heard, Writer, plain_counter
from tui_app.context.compaction.compactor import Compactor, PlainHost
from tui_app.context.history import ListHistory
from tui_app.context.policy import PLIMSOLL
from tui_app.context.views.view import Item, to_messages
from tui_app.context.windows.windows import resolve_window
from tui_app.events import CompactionComplete, Fact
from tui_app.usage import Overhead

Outcome = Literal["success", "failed", "denied", "interrupted", "retried"]


def characters(text: str) -> int:
    """Count tokens as four characters each, rounded up, so that tests can be checked by hand."""
    return -(-len(text) // 4)


def user(text: str) -> list[ModelMessage]:
    return [ModelRequest(parts=[UserPromptPart(text)])]


def says(text: str) -> list[ModelMessage]:
    return [ModelResponse(parts=[TextPart(text)])]


def summary(text: str) -> list[ModelMessage]:
    return [ModelRequest(parts=[CompactionPart(text)])]


def call(
    tool: str, args: dict[str, Any] | str, result: Any = "ok", outcome: Outcome = "success"
) -> list[ModelMessage]:
    """Build a tool call and its result; the id derives from the arguments, so tests are deterministic."""
    identity = f"{tool}-{args}"[:60]
    return [
        ModelResponse(parts=[ToolCallPart(tool, args, identity)]),
        ModelRequest(parts=[ToolReturnPart(tool, result, identity, outcome=outcome)]),
    ]


def shell(command: str, result: str = "", outcome: Outcome = "success") -> list[ModelMessage]:
    return call("run_command", {"command": command}, result, outcome)


def history(*groups: Sequence[ModelMessage], start: int = 1) -> list[Item]:
    """Number the messages of the groups in order."""
    messages = [message for group in groups for message in group]
    return [Item(key, message) for key, message in enumerate(messages, start)]


def texts(facts: Sequence[Fact], kind: str) -> list[str]:
    return [fact.text for fact in facts if fact.kind == kind]


_TEXT = st.text(max_size=60) | st.sampled_from(
    [
        "", " ", "Never do it.", "<path>", "</path>", "`", "```", "a" * 300, "- [ ] x", "Exit code 1",
        "\x00\x1b[0m",
        "*** Begin Patch\n*** Add File: x\n", "password: hunter22", "[secret removed]",
        "## Errors\n- `x` · failed: y",
    ]
)  # fmt: skip
_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | _TEXT, lambda inner: st.lists(inner, max_size=3), max_leaves=5
)
_ARGS = st.dictionaries(
    st.sampled_from(["path", "command", "todos", "content", "status", "taskId", "from", "to", "x"]),
    _VALUE,
    max_size=4,
)
_TOOL = st.sampled_from(
    ["Bash", "run_command", "Write", "edit_file", "TodoWrite", "TaskUpdate", "apply_patch", "", "移动"]
)
_ID = st.sampled_from(["1", "2", "3"])
_OUTCOME = st.sampled_from(["success", "failed", "denied", "interrupted", "retried"])
_REQUEST_PART = st.one_of(
    st.builds(UserPromptPart, _TEXT),
    st.builds(UserPromptPart, st.lists(_TEXT | st.just(ImageUrl("https://example.org/a.png")), max_size=3)),
    st.just(UserPromptPart([BinaryContent(b"\x89PNG", media_type="image/png")])),
    st.builds(ToolReturnPart, _TOOL, _VALUE | st.just(object()), _ID, outcome=_OUTCOME),
    st.builds(SystemPromptPart, _TEXT),
    st.builds(CompactionPart, _TEXT),
)
_RESPONSE_PART = st.one_of(
    st.builds(TextPart, _TEXT),
    st.builds(ThinkingPart, _TEXT),
    st.builds(ToolCallPart, _TOOL, _ARGS | _TEXT | st.none(), _ID),
)
_MESSAGE = st.one_of(
    st.builds(lambda parts: ModelRequest(parts=parts), st.lists(_REQUEST_PART, max_size=4)),
    st.builds(lambda parts: ModelResponse(parts=parts), st.lists(_RESPONSE_PART, max_size=4)),
)
MESSAGES = st.lists(_MESSAGE, max_size=8)
"""Any history that another agent might provide, including broken ones."""


def viewed(messages: Sequence[ModelMessage], window: int = 20_000) -> ListHistory:
    view = ListHistory(plain_counter(), Heard())
    view.sync(messages)
    view.set_overhead(Overhead(resolve_window(setting=window)), "m")
    return view


def said(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def answered(text: str) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


def called(*ids: str) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart("read", {}, one) for one in ids])


def returned(*ids: str) -> ModelRequest:
    return ModelRequest(parts=[ToolReturnPart("read", f"result of {one}", one) for one in ids])


async def compacted(view: ListHistory, writer: Writer | None = None, focus: str = "") -> CompactionComplete:
    compactor = Compactor(view, PLIMSOLL, PlainHost((writer or Writer(),)))
    compactor.start("manual", focus)
    complete = await compactor.finish()
    assert complete is not None
    return complete


def live(view: ListHistory) -> list[ModelMessage]:
    return to_messages(view.items())


def summary_of(view: ListHistory) -> CompactionPart:
    [part] = [p for item in view.items() for p in item.message.parts if isinstance(p, CompactionPart)]
    return part
