"""Tool results as the stages see them: their text, and the same result with other text."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from pydantic_ai.messages import (
    MULTI_MODAL_CONTENT_TYPES,
    ModelRequest,
    ModelRequestPart,
    RetryPromptPart,
    ToolReturnPart,
)
from pydantic_core import from_json, to_json

from tui_app.context.counting.parts import to_json_text
from tui_app.context.items import Item
from tui_app.context.stages.marks import ARCHIVED_KIND, Mark, mark_of, marked
from tui_app.context.stages.rewrite import Change, Rewrite, SpillFile, Stage

ResultPart = ToolReturnPart | RetryPromptPart
_PLAIN: frozenset[type] = frozenset({str, int, float, bool, type(None)})
ARCHIVED_OPENING = "[Result archived"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a tool result becomes."""

    text: str
    note: str = ""
    file: SpillFile | None = None


Decide = Callable[[Item, ResultPart, str], Form | None]
"""Item, part and text of a result; None leaves it as it is."""


def rewrite_results(stage: Stage, items: Iterable[Item], decide: Decide) -> Rewrite | None:
    """Give every tool result that a stage may touch to ``decide`` and collect the smaller forms.

    Results with files in them, archived ones, and those that pydantic-ai itself reads are passed over.
    """
    changes: list[Change] = []
    files: list[SpillFile] = []
    for item in items:
        forms = list(_forms(item, decide))
        if not forms or not isinstance(item.message, ModelRequest):
            continue
        new = {place: _rewritten(part, text, form, stage) for place, part, text, form in forms}
        parts = [new.get(place, part) for place, part in enumerate(item.message.parts)]
        files += [form.file for *_, form in forms if form.file is not None]
        notes = dict.fromkeys(form.note for *_, form in forms if form.note)
        message = replace(item.message, parts=parts)
        changes.append(Change(key=item.key, message=message, note="; ".join(notes)))
    return Rewrite(stage=stage, changes=tuple(changes), files=tuple(files)) if changes else None


def _forms(item: Item, decide: Decide) -> Iterator[tuple[int, ResultPart, str, Form]]:
    """Place, part, text and new form of each result that becomes smaller."""
    for place, part in results_of(item):
        text = None if is_archived(part) else result_text(part)
        form = decide(item, part, text) if text is not None else None
        if form is not None and text is not None and len(form.text) < len(text):
            yield place, part, text, form


def results_of(item: Item) -> Iterator[tuple[int, ResultPart]]:
    """The tool results and tool errors of a message, with their places among its parts."""
    if isinstance(item.message, ModelRequest):
        for place, part in enumerate(item.message.parts):
            if isinstance(part, ToolReturnPart) or (isinstance(part, RetryPromptPart) and part.tool_name):
                yield place, part


def result_text(part: ModelRequestPart) -> str | None:
    """A result as the model reads it; None for one that must stay as it is.

    Structured content is its JSON. What must stay are results with files in them, and those of pydantic-ai's
    own tools: it finds the tools that are loaded by reading them.
    """
    if isinstance(part, RetryPromptPart):
        return part.content if isinstance(part.content, str) else part.model_response()
    if not isinstance(part, ToolReturnPart) or (part.tool_kind and "." not in part.tool_kind):
        return None
    if isinstance(part.content, str):
        return part.content
    return None if _holds_files(part.content) else _as_text(part.content)


def file_text(part: ResultPart, text: str) -> str:
    """What a file holds of a result: its text; structured content indented, for tools that read lines."""
    if isinstance(part, RetryPromptPart) or not isinstance(part.content, dict | list | tuple):
        return text
    try:
        return _json(part.content, indent=2)
    except (ValueError, TypeError, RecursionError):
        return text


def length_of(part: ResultPart, text: str) -> int:
    """Characters of a result before any stage touched it."""
    return mark_of(part).get("length", len(text))


def is_archived(part: object) -> bool:
    """Whether a tool result was archived: a stub stands in its place."""
    return mark_of(part).get("kind") == ARCHIVED_KIND


def _rewritten(part: ResultPart, text: str, form: Form, stage: Stage) -> ToolReturnPart:
    """The same answer to the same call with other text; a legacy tool error becomes what it loads as."""
    if isinstance(part, RetryPromptPart):
        return ToolReturnPart(
            tool_name=part.tool_name or "",
            content=form.text,
            tool_call_id=part.tool_call_id,
            timestamp=part.timestamp,
            metadata=marked(None, _next_mark(part, text, form, stage)),
            outcome="retried",
        )
    # The base class, because a typed result's content has a shape that text does not have.
    return ToolReturnPart(
        tool_name=part.tool_name,
        content=form.text,
        tool_call_id=part.tool_call_id,
        tool_kind=part.tool_kind,
        timestamp=part.timestamp,
        metadata=marked(part.metadata, _next_mark(part, text, form, stage)),
        outcome=part.outcome,
        retry=part.retry,
    )


def _next_mark(part: ResultPart, text: str, form: Form, stage: Stage) -> Mark:
    before = mark_of(part)
    mark = Mark(
        kind="tool_result_archived" if stage == "archive" else "tool_result",
        stages=[*before.get("stages", []), stage],
        length=length_of(part, text),
    )
    file = form.file.name if form.file is not None else before.get("file", "")
    if file:
        mark["file"] = file
    if "metadata" in before:
        mark["metadata"] = before["metadata"]
    return mark


def recall(key: int, *, handles: bool) -> str:
    """How the model gets a message back, to be put behind other words; empty where it cannot."""
    return f'; search_history "#{key}" has all of it' if handles else ""


def reads_on(key: int, line: int, offset: int) -> str:
    """The call that gives a message from there on."""
    return f'search_history(query="#{key}", start={line}{f", offset={offset}" if offset else ""})'


def _as_text(content: Any) -> str:
    """Content that is no text as pydantic-ai sends it; what has no JSON form as Python writes it."""
    if content is None or content == []:
        return ""
    try:
        text = _json(content)
    except (ValueError, TypeError, RecursionError):
        return to_json_text(content)
    return str(from_json(text)) if text.startswith('"') else text


def _json(content: Any, indent: int | None = None) -> str:
    return to_json(content, indent=indent, inf_nan_mode="null", bytes_mode="base64").decode()


def _holds_files(content: Any) -> bool:
    """Whether there is a file anywhere in structured content; by level, as it may hold millions of values."""
    level: list[Any] = [content]
    seen: set[int] = set()
    while level:
        types = set(map(type, level))
        if any(issubclass(kind, MULTI_MODAL_CONTENT_TYPES) for kind in types):
            return True
        if types <= _PLAIN:
            return False
        fresh = {id(value): value for value in level if type(value) not in _PLAIN}
        inner = [value for identity, value in fresh.items() if identity not in seen]
        seen.update(fresh)
        level = [
            *chain.from_iterable(value.values() for value in inner if isinstance(value, dict)),
            *chain.from_iterable(value for value in inner if isinstance(value, list | tuple)),
        ]
    return False
