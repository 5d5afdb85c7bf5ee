"""Tool results as the stages see them: their text, and the same result with other text."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic_ai.messages import (
    MULTI_MODAL_CONTENT_TYPES,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    RetryPromptPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_core import from_json, to_json

from tui_app.context.counting.tokens import to_json_text
from tui_app.context.ledger.ledger import Ledger, is_look
from tui_app.context.ledger.tools import argument_texts
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
from tui_app.context.view import Change, Item, Pair, Rewrite, SpillFile, is_system, latest_prompt_index, pairs
from tui_app.events import Stage
from tui_app.records import frozen
from tui_app.tool_specs import SEARCH_HISTORY, tool_spec

ResultPart = ToolReturnPart | RetryPromptPart | UserPromptPart
"""What a tool returned, or a command printed that the user ran: no other prompt is one."""
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
"""Item, part and text of a result; None leaves it as it is."""


def rewrite_results(stage: Stage, items: Iterable[Item], decide: Decide) -> Rewrite | None:
    """Give every tool result that a stage may touch to ``decide`` and collect the smaller forms.

    Results with files in them, archived ones, and those that pydantic-ai itself reads are passed over.
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
    """Changes in the order of the messages; of several to one message the last."""
    by_key = {change.key: change for change in changes}
    return tuple(by_key[item.key] for item in items if item.key in by_key)


def results_of(item: Item) -> Iterator[tuple[int, ResultPart]]:
    """Results and errors of tools, and of the user's commands, with their places among a message's parts."""
    for place, part in enumerate(item.message.parts if isinstance(item.message, ModelRequest) else ()):
        if isinstance(part, RetryPromptPart) and not part.tool_name:
            continue
        if isinstance(part, ToolReturnPart | RetryPromptPart) or is_shell_part(part):
            yield place, part


def source_of(part: ResultPart) -> tuple[str, str]:
    """Tool and call that a result is from; for a command of the user's a word and the id of its run."""
    if isinstance(part, UserPromptPart):
        return _SHELL, shell_id(part)
    return part.tool_name or "", part.tool_call_id


def result_text(part: ModelRequestPart) -> str | None:
    """A result as the model reads it; None for one that must stay as it is.

    Structured content is its JSON. What must stay are results with files in them, and those of pydantic-ai's
    own tools: it finds the tools that are loaded by reading them.
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
    """What a file holds of a result: its text; structured content indented, for tools that read lines."""
    if not isinstance(part, ToolReturnPart) or not isinstance(part.content, dict | list | tuple):
        return text
    try:
        return _json(part.content, indent=2)
    except (ValueError, TypeError, RecursionError):
        return text


def length_of(part: ResultPart, text: str) -> int:
    """Characters of a result before any stage touched it."""
    return mark_of(part).get("length", len(text))


def _rewritten(part: ResultPart, text: str, form: ResultForm, stage: Stage) -> ModelRequestPart:
    """The same answer to the same call with other text; a legacy tool error becomes what it loads as."""
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


def recall(key: int, *, handles: bool) -> str:
    """A clause that says how the model gets a message back; empty where it cannot."""
    return f'; {SEARCH_HISTORY.name} "#{key}" has all of it' if handles else ""


def reads_on(key: int, line: int, offset: int) -> str:
    """The call that gives a message from there on."""
    return f'{SEARCH_HISTORY.name}(query="#{key}", start={line}{f", offset={offset}" if offset else ""})'


def _json(content: Any, indent: int | None = None) -> str:
    return to_json(content, indent=indent, inf_nan_mode="null", bytes_mode="base64").decode()


def _holds_files(content: Any) -> bool:
    """Whether there is a file anywhere in structured content, which may hold millions of values."""
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


# Cutting text to a size: from the end, or from the middle so that head and tail stay.


def count_lines(text: str) -> int:
    """Lines of a text; a line break at the end opens no further line."""
    return text.count("\n") + (0 if not text or text.endswith("\n") else 1)


def byte_count(text: str) -> int:
    """Bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(_encoded(text))


def head_and_tail(text: str, *, lines: int, chars: int, size: int, both: bool) -> tuple[str, str]:
    """What stays of a text at its start and at its end, within so many lines, characters and bytes.

    With ``both`` each has half, and what the one does not need of it the other gets; else the start has all.
    """
    if not both:
        return _head(text, lines, chars, size), ""
    last = lines // 2
    head = _head(text, lines - last, chars - chars // 2, size - size // 2)
    # From behind; a line break at the end opens no further line.
    turned = text[len(head) :][::-1]
    tail = _head(turned, last + text.endswith("\n"), chars - len(head), size - byte_count(head))
    tail = tail[::-1].removeprefix("\n")
    rest = text[: len(text) - len(tail)]
    return _head(rest, lines - last, chars - len(tail), size - byte_count(tail)), tail


def _head(text: str, lines: int, chars: int, size: int) -> str:
    text = text[:chars]
    parts = text.split("\n", lines)
    return first_bytes(text[: len(text) - len(parts[-1])] if len(parts) > lines else text, size)


def first_bytes(text: str, limit: int) -> str:
    """The beginning of a text that has at most so many bytes in UTF-8; no character is cut in two."""
    text = text[: max(0, limit)]
    while text and (over := byte_count(text) - limit) > 0:
        # A character has four at most.
        text = text[: -max(1, over // 4)]
    return text


def shorten(text: str, limit: int) -> str:
    """Head and tail of a text, two to one, with a mark between; at most ``limit`` characters in all."""
    if len(text) <= limit:
        return text
    mark = f"\n[… {len(text):,} characters in all …]\n"
    room = limit - len(mark)
    if room < len(mark):
        return text[: max(0, limit - 1)] + "…"[:limit]
    tail = room // 3
    return f"{text[: room - tail]}{mark}{text[len(text) - tail :]}"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


# Files that hold what a stage takes out of the conversation: their names and checksums.
#
# They are UTF-8 without any translation of line ends; only then does the checksum in a notice hold.

FOLDER = "tool_outputs"
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]|\.(?=\.)|(?<=\.)\.|^[.-]")
_TOOL_CHARS = 60
_CALL_CHARS = 8


class SpillNames:
    """Names files ``tool_outputs/{tool}_{UTC time}_{call id}.txt``, each name only once."""

    def __init__(self, timestamp: datetime, existing: Iterable[str] = ()) -> None:
        """Start with the names that are taken.

        Args:
            timestamp: Time to put into the names; a naive one is taken for UTC.
            existing: Relative names of the files that are there, with the folder in front.
        """
        aware = timestamp if timestamp.tzinfo is not None else timestamp.replace(tzinfo=UTC)
        self._time = aware.astimezone(UTC).strftime("%Y%m%d_%H%M%S")
        self._existing = existing
        self._taken: set[str] | None = None

    def new(self, tool: str, call_id: str) -> str:
        """A new name, relative to the session's folder."""
        named, call = _safe(tool, _TOOL_CHARS, "tool"), _safe(call_id, _CALL_CHARS, "call")
        stem = f"{FOLDER}/{named}_{self._time}_{call}"
        if self._taken is None:
            # Only now: hardly any pass gives out a name. Some file systems do not tell upper from lower case.
            self._taken = {name.casefold() for name in self._existing}
        name, number = f"{stem}.txt", 1
        while name.casefold() in self._taken:
            number += 1
            name = f"{stem}-{number}.txt"
        self._taken.add(name.casefold())
        return name


def sha256_of(text: str) -> str:
    """SHA-256 of a text in UTF-8, as hexadecimal digits."""
    return hashlib.sha256(_encoded(text)).hexdigest()


def _safe(text: str, limit: int, instead: str) -> str:
    """A piece of a file name: safe characters only, and nothing that hides a file or looks like an option."""
    return _UNSAFE.sub("_", text[:limit]) or instead


# The part of a view that a stage may touch.

_HANDLE = re.compile(r"#\d{1,12}")
_RECALL_FOLDERS = (f"{FOLDER}/", "conversation_history/")
_PATH_CHARS = 1_000
_FAILURES = 5
"""Failures that stay at most: whoever has left behind more is not going to mend the oldest."""


def turn_start(items: Sequence[Item]) -> int:
    """Index of the newest message the user wrote, with which the present turn begins; 0 if there is none."""
    return latest_prompt_index(items) or 0


def unread(items: Sequence[Item]) -> list[Item]:
    """What the next request must hold: system prompts, latest prompt, newest response and all behind it."""
    latest = latest_prompt_index(items)
    answer = newest_answer(items)
    return [
        item
        for place, item in enumerate(items)
        if is_system(item.message) or place == latest or (answer is not None and place >= answer)
    ]


def newest_answer(items: Sequence[Item]) -> int | None:
    """Index of the newest answer of a model."""
    places = range(len(items) - 1, -1, -1)
    return next((index for index in places if isinstance(items[index].message, ModelResponse)), None)


def call_of(items: Sequence[Item], pair: Pair) -> ToolCallPart:
    """The call of a pair."""
    calls = (part for part in items[pair.call].message.parts if isinstance(part, ToolCallPart))
    return next(call for call in calls if call.tool_call_id == pair.call_id)


def paired(items: Sequence[Item]) -> list[Pair]:
    """Calls with their results, in the order of the results."""
    return list(pairs([item.message for item in items]))


def recalled(items: Sequence[Item], found: Sequence[Pair]) -> set[int]:
    """Identities of the results that were brought back in the present turn: they must not leave at once."""
    start = turn_start(items)
    return {id(pair.part) for pair in found if pair.call >= start and _brings_back(call_of(items, pair))}


def newest_answers(items: Sequence[Item], found: Sequence[Pair]) -> set[int]:
    """Identities of the results of the newest answer's calls."""
    last = newest_answer(items)
    return {id(pair.part) for pair in found if pair.call == last}


def unsettled(items: Sequence[Item]) -> frozenset[int]:
    """Keys of the results that the work still hangs on.

    They are the newest failures that nothing has solved since, and calls that the user declined: what went
    wrong, and what is not wanted, must not go out of sight before it has been dealt with.
    """
    ledger = Ledger.from_items(items)
    open_runs = [run.key for run in ledger.runs().values() if run.is_open and not is_look(run.command)]
    failures = sorted((*open_runs, *(action.key for action in ledger.failures())))[-_FAILURES:]
    declined = (
        item.key
        for item in items
        for part in item.message.parts
        if isinstance(part, ToolReturnPart) and part.outcome == "denied"
    )
    return frozenset((*failures, *declined))


def _brings_back(call: ToolCallPart) -> bool:
    recalls = tool_spec(call.tool_name).recalls
    if recalls == "always":
        return True
    texts = argument_texts(call.args_as_dict())
    if recalls == "by handle" and any(_HANDLE.fullmatch(text.strip()) for text in texts):
        return True
    return any(folder in text[:_PATH_CHARS] for text in texts for folder in _RECALL_FOLDERS)


HandStage = Literal["archive", "offload"]
"""Stages that the user can ask for."""
NO_RESULT = "Only results of tools can be archived or moved to a file."
ARCHIVED = "This result is archived already."
UNREAD = "The model has not read this result yet."
IN_FILE = "This result is in a file already."
NO_GAIN = "Nothing would be gained: its placeholder is as long."


def parts_for_hand(item: Item) -> list[ResultPart] | str:
    """The results of a message; why nothing is done where it has none or all of them are archived."""
    parts = [part for _, part in results_of(item)]
    if not parts:
        return NO_RESULT
    return ARCHIVED if all(map(is_archived, parts)) else parts
