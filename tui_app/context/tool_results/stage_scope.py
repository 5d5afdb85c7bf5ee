"""The part of a view that a stage may touch."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic_ai.messages import ModelResponse, ToolCallPart, ToolReturnPart

from tui_app.context.ledger.ledger import Ledger, is_look
from tui_app.context.ledger.tools import argument_texts
from tui_app.context.message_marks import is_archived
from tui_app.context.tool_results.results import ResultPart, results_of
from tui_app.context.tool_results.ways_back import FOLDER
from tui_app.context.views.tool_pairs import Pair, pairs
from tui_app.context.views.view import Item, is_system, latest_prompt_index
from tui_app.tool_specs import tool_spec

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


def paired(items: Sequence[Item]) -> list[Pair]:
    """Calls with their results, in the order of the results."""
    return list(pairs([item.message for item in items]))


def successes(items: Sequence[Item]) -> Iterator[tuple[int, ToolCallPart, ToolReturnPart]]:
    """Calls that ended well, in the order of the results: index of the calling message, call and result."""
    for pair in paired(items):
        if isinstance(pair.part, ToolReturnPart) and pair.part.outcome == "success":
            yield pair.call, pair.made, pair.part


def recalled(items: Sequence[Item], found: Sequence[Pair]) -> set[int]:
    """Identities of the results that were brought back in the present turn: they must not leave at once."""
    start = turn_start(items)
    return {id(pair.part) for pair in found if pair.call >= start and _brings_back(pair.made)}


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
