"""Tool results as the stages see them: their text, and the same result with other text."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import (
    MULTI_MODAL_CONTENT_TYPES,
    ModelRequest,
    ModelRequestPart,
    RetryPromptPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_core import from_json, to_json

from tui_app.context.counting.tokens import to_json_text
from tui_app.context.message_marks import (
    Mark,
    is_archived,
    is_shell_part,
    mark_of,
    marked,
    shell_id,
    shell_result,
    with_shell_result,
)
from tui_app.context.views.rewrites import Change, Rewrite, SpillFile
from tui_app.context.views.view import Item
from tui_app.events import Stage
from tui_app.records import frozen

ResultPart = ToolReturnPart | RetryPromptPart | UserPromptPart
"""A tool result, or the output of a command that the user ran; no other prompt is one."""
_SHELL = "shell"
_PLAIN: frozenset[type] = frozenset({str, int, float, bool, type(None)})
ARCHIVED_OPENING = "[Result archived"


@frozen(kw_only=True)
class ResultForm:
    """The new form of a tool result."""

    text: str
    note: str = ""
    file: SpillFile | None = None


Decide = Callable[[Item, ResultPart, str], ResultForm | None]
"""Item, part and text of a result; None keeps it unchanged."""


def rewrite_results(stage: Stage, items: Iterable[Item], decide: Decide) -> Rewrite | None:
    """Call ``decide`` for every tool result that a stage may change, and collect the smaller forms.

    Results with files in them, archived ones, and those that pydantic-ai itself reads are skipped.
    """
    changes: list[Change] = []
    files: list[SpillFile] = []
    for item in items:
        forms: list[ResultForm] = []
        new: dict[int, ModelRequestPart] = {}
        for place, part in results_of(item):
            text = None if is_archived(part) else result_text(part)
            form = decide(item, part, text) if text is not None else None
            if form is not None and text is not None and len(form.text) < len(text):
                forms.append(form)
                new[place] = _rewritten(part, text, form, stage)
        if forms and isinstance(item.message, ModelRequest):
            parts = [new.get(place, part) for place, part in enumerate(item.message.parts)]
            files += [form.file for form in forms if form.file is not None]
            note = "; ".join(dict.fromkeys(form.note for form in forms if form.note))
            changes.append(Change(key=item.key, message=replace(item.message, parts=parts), note=note))
    return Rewrite(stage=stage, changes=tuple(changes), files=tuple(files)) if changes else None


def in_view_order(items: Iterable[Item], changes: Iterable[Change]) -> tuple[Change, ...]:
    """Return changes in the order of the messages; of several to one message the last."""
    by_key = {change.key: change for change in changes}
    return tuple(by_key[item.key] for item in items if item.key in by_key)


def results_of(item: Item) -> Iterator[tuple[int, ResultPart]]:
    """Yield results and errors of tools, and of the user's commands, with their index in the message."""
    for place, part in enumerate(item.message.parts if isinstance(item.message, ModelRequest) else ()):
        if isinstance(part, RetryPromptPart) and not part.tool_name:
            continue
        if isinstance(part, ToolReturnPart | RetryPromptPart) or is_shell_part(part):
            yield place, part


def source_of(part: ResultPart) -> tuple[str, str]:
    """Return tool and call id of a result; for a command of the user a fixed word and the id of its run."""
    if isinstance(part, UserPromptPart):
        return _SHELL, shell_id(part)
    return part.tool_name or "", part.tool_call_id


def result_text(part: ModelRequestPart) -> str | None:
    """Return a result as the model reads it; None for one that must not be changed.

    Structured content is its JSON. Results with files must not be changed, nor those of pydantic-ai's own
    tools, from which it determines the loaded tools.
    """
    if isinstance(part, RetryPromptPart):
        return part.content if isinstance(part.content, str) else part.model_response()
    if is_shell_part(part):
        return shell_result(part)
    if not isinstance(part, ToolReturnPart) or (part.tool_kind and "." not in part.tool_kind):
        return None
    if isinstance(part.content, str):
        return part.content
    if _holds_files(part.content):
        return None
    if part.content is None or part.content == []:
        return ""
    # As pydantic-ai sends it; what has no JSON form as Python writes it.
    try:
        text = _json(part.content)
    except (ValueError, TypeError, RecursionError):
        return to_json_text(part.content)
    return str(from_json(text)) if text.startswith('"') else text


def file_text(part: ResultPart, text: str) -> str:
    """Return a result's text for a file; structured content is indented, for tools that read lines."""
    if not isinstance(part, ToolReturnPart) or not isinstance(part.content, dict | list | tuple):
        return text
    try:
        return _json(part.content, indent=2)
    except (ValueError, TypeError, RecursionError):
        return text


def length_of(part: ResultPart, text: str) -> int:
    """Return the characters of the original result."""
    return mark_of(part).get("length", len(text))


def _rewritten(part: ResultPart, text: str, form: ResultForm, stage: Stage) -> ModelRequestPart:
    """Return the result with other text; a legacy tool error becomes the type that it is loaded as."""
    mark = _next_mark(part, text, form, stage)
    if isinstance(part, UserPromptPart):
        return with_shell_result(part, form.text, mark)
    # The base class, because a typed result's content has a shape that text does not have.
    new = ToolReturnPart(part.tool_name or "", form.text, part.tool_call_id, timestamp=part.timestamp)
    if isinstance(part, RetryPromptPart):
        return replace(new, metadata=marked(None, mark), outcome="retried")
    metadata = marked(part.metadata, mark)
    return replace(new, tool_kind=part.tool_kind, metadata=metadata, outcome=part.outcome, retry=part.retry)


def _next_mark(part: ResultPart, text: str, form: ResultForm, stage: Stage) -> Mark:
    before = mark_of(part)
    mark = Mark(
        kind="tool_result_archived" if stage == "archive" else "tool_result",
        stages=[*before.get("stages", []), stage],
        length=length_of(part, text),
    )
    if file := form.file.name if form.file is not None else before.get("file", ""):
        mark["file"] = file
    if "metadata" in before:
        mark["metadata"] = before["metadata"]
    return mark


def _json(content: Any, indent: int | None = None) -> str:
    return to_json(content, indent=indent, inf_nan_mode="null", bytes_mode="base64").decode()


def _holds_files(content: Any) -> bool:
    """Whether there is a file anywhere in structured content, which may have millions of values."""
    waiting: list[Any] = [content]
    seen: set[int] = set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, MULTI_MODAL_CONTENT_TYPES):
            return True
        if isinstance(value, dict | list | tuple) and id(value) not in seen:
            seen.add(id(value))
            inner = value.values() if isinstance(value, dict) else value
            waiting += [each for each in inner if type(each) not in _PLAIN]
    return False
