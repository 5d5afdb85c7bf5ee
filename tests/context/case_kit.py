"""Views and messages for the named behaviour cases."""

from collections.abc import Sequence

from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.context.governor_kit import Heard, Writer, plain_counter
from tui_app.context.compaction.compactor import Compactor, PlainHost
from tui_app.context.history import ListHistory
from tui_app.context.policy import PLIMSOLL
from tui_app.context.view import to_messages
from tui_app.context.windows import resolve_window
from tui_app.events import CompactionComplete
from tui_app.usage import Breakdown


def viewed(messages: Sequence[ModelMessage], window: int = 20_000) -> ListHistory:
    view = ListHistory(plain_counter(), Heard())
    view.sync(messages)
    view.fix(resolve_window(setting=window), Breakdown(), "m")
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
