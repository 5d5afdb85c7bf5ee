"""Short builders for views, files on a simulated disk, and the invariants of every stage."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.context.histories import as_bytes, as_items, complaints, unpaired
from tui_app.context.requests.builder import sendable
from tui_app.context.tool_results.pointers import pointers
from tui_app.context.tool_results.ways_back import WaysBack
from tui_app.context.views.rewrites import Rewrite
from tui_app.context.views.view import Item, to_messages

# Builders for views, and the invariants of every stage's decision.


NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
Stage = Callable[[Sequence[Item]], Rewrite | None]


def names(*existing: str) -> WaysBack:
    return WaysBack(NOON, existing)


def said(text: str = "go on") -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def words(text: str = "well") -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)])


def call(*ids: str, tool: str = "read", args: str | dict[str, Any] | None = None) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart(tool, args or {}, one) for one in ids])


def result(call_id: str, content: Any = "found", tool: str = "read", **more: Any) -> ModelRequest:
    return ModelRequest(parts=[ToolReturnPart(tool, content, call_id, **more)])


def view(*messages: ModelMessage) -> list[Item]:
    return as_items(messages)


def steps(*contents: Any, first: int = 1) -> list[ModelMessage]:
    """Return one call and its result for each content."""
    return [
        message
        for number, content in enumerate(contents, first)
        for message in (call(f"call-{number}"), result(f"call-{number}", content))
    ]


def applied(items: Sequence[Item], rewrite: Rewrite) -> list[Item]:
    """Return the view after a rewrite; a digest follows the last message that changed."""
    new = {change.key: change.message for change in rewrite.changes}
    after = [replace(item, message=new.get(item.key, item.message), whole=None) for item in items]
    if rewrite.digest is not None:
        last = max(index for index, item in enumerate(items) if item.key in new)
        after.insert(last + 1, Item(max(item.key for item in items) + 1, rewrite.digest))
    return after


def only(rewrite: Rewrite | None) -> Any:
    """Return the single changed part of a rewrite of one message with one part."""
    assert rewrite is not None
    (change,) = rewrite.changes
    (part,) = change.message.parts
    return part


def check(items: Sequence[Item], stage: Stage) -> Rewrite | None:
    """Run a stage and check its decision against everything a stage guarantees."""
    before = [as_bytes([item.message]) for item in items]
    rewrite = stage(items)
    assert [as_bytes([item.message]) for item in items] == before, "a message it was given has changed"
    if rewrite is None or not rewrite.changes:
        assert rewrite is None or (not rewrite.files and rewrite.digest is None)
        return None
    by_key = {item.key: item.message for item in items}
    for change in rewrite.changes:
        _check_change(by_key[change.key], change.message)
    assert len({change.key for change in rewrite.changes}) == len(rewrite.changes)
    assert len({file.name for file in rewrite.files}) == len(rewrite.files)
    after = applied(items, rewrite)
    plain = [item for item in after if item.message is not rewrite.digest]
    assert unpaired(to_messages(plain)) == unpaired(to_messages(items))
    assert complaints(sendable(to_messages(after))) == []
    assert stage(after) in (None, Rewrite(stage=rewrite.stage, changes=())), "it rewrites its own result"
    stored = [replace(item, message=from_json(item.message)) for item in after]
    assert stage(stored) in (None, Rewrite(stage=rewrite.stage, changes=())), "its marks are lost in JSON"
    return rewrite


def from_json(message: ModelMessage) -> ModelMessage:
    return ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json([message]))[0]


def _check_change(old: ModelMessage, new: ModelMessage) -> None:
    assert type(new) is type(old)
    assert len(new.parts) == len(old.parts)
    changed = [(a, b) for a, b in zip(old.parts, new.parts, strict=True) if a is not b]
    assert changed
    for a, b in changed:
        assert _identity(a) == _identity(b)
        assert len(_text(b)) < len(_text(a)), "not smaller"
    if not any(isinstance(part, RetryPromptPart) for part in new.parts):
        assert as_bytes([from_json(new)]) == as_bytes([new])


def _identity(part: object) -> tuple[object, ...]:
    assert isinstance(part, ToolReturnPart | RetryPromptPart | ToolCallPart)
    outcome = getattr(part, "outcome", "retried") if not isinstance(part, ToolCallPart) else None
    return part.tool_name, part.tool_call_id, outcome


def _text(part: object) -> str:
    if isinstance(part, ToolCallPart):
        return part.args_as_json_str()
    if isinstance(part, RetryPromptPart):
        return part.model_response()
    assert isinstance(part, ToolReturnPart)
    return part.model_response_str(wrap_if_error=False)


# A simulated disk, and sessions that write to it.


BODY = "".join(f"line {number} of the file\n" for number in range(1, 101))
OTHER = BODY.replace("line", "LINE")
REPORT = "--- a\n+++ b\n" + "+added\n-removed\n" * 100


class Disk:
    """Files by path, and the paths that were asked for."""

    def __init__(self, **files: str) -> None:
        self.files = files
        self.asked: list[str] = []

    def checksum(self, path: str) -> str | None:
        self.asked.append(path)
        return sha256(self.files[path].encode()).hexdigest() if path in self.files else None

    def contains(self, path: str, text: str) -> bool:
        return text in self.files[path]


def run(items: Sequence[Item], disk: Disk) -> Rewrite | None:
    def stage(given: Sequence[Item]) -> Rewrite | None:
        return pointers(given, names(), on_disk=disk.checksum, contains=disk.contains)

    return check(items, stage)


def write(
    args: str | dict[str, Any], tool: str = "write_file", call_id: str = "w", answer: str = "ok"
) -> list[ModelMessage]:
    return [call(call_id, tool=tool, args=args), result(call_id, answer, tool=tool)]
