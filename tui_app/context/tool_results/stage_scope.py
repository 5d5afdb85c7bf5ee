"""The part of a view that a stage may change."""

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
"""Maximum failures that are kept: with more open ones the oldest will not be fixed."""


def turn_start(items: Sequence[Item]) -> int:
    """Return the index of the user's newest message, which begins the current turn; 0 if there is none."""
    return latest_prompt_index(items) or 0


def unread(items: Sequence[Item]) -> list[Item]:
    """Return what the next request must contain: system prompts, latest prompt, newest response and later."""
    latest = latest_prompt_index(items)
    answer = newest_answer(items)
    return [
        item
        for place, item in enumerate(items)
        if is_system(item.message) or place == latest or (answer is not None and place >= answer)
    ]


def newest_answer(items: Sequence[Item]) -> int | None:
    """Return the index of the newest response; None without one."""
    places = range(len(items) - 1, -1, -1)
    return next((index for index in places if isinstance(items[index].message, ModelResponse)), None)


def paired(items: Sequence[Item]) -> list[Pair]:
    """Return calls with their results, in the order of the results."""
    return list(pairs([item.message for item in items]))


def successes(items: Sequence[Item]) -> Iterator[tuple[int, ToolCallPart, ToolReturnPart]]:
    """Yield successful calls in the order of the results: index of the call's message, call and result."""
    for pair in paired(items):
        if isinstance(pair.part, ToolReturnPart) and pair.part.outcome == "success":
            yield pair.call, pair.made, pair.part


def recalled(items: Sequence[Item], found: Sequence[Pair]) -> set[int]:
    """Return identities of results retrieved in the current turn, which must not be removed at once."""
    start = turn_start(items)
    return {id(pair.part) for pair in found if pair.call >= start and _brings_back(pair.made)}


def newest_answers(items: Sequence[Item], found: Sequence[Pair]) -> set[int]:
    """Return identities of the results of the newest response's calls."""
    last = newest_answer(items)
    return {id(pair.part) for pair in found if pair.call == last}


def unsettled(items: Sequence[Item]) -> frozenset[int]:
    """Return keys of the results that the work still depends on.

    These are the newest unsolved failures, and calls that the user declined: what failed, and what is not
    wanted, must stay visible until it has been dealt with.
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
"""Stages that the user can start."""

NO_RESULT = "Only results of tools can be archived or moved to a file."

ARCHIVED = "This result is archived already."

UNREAD = "The model has not read this result yet."

IN_FILE = "This result is in a file already."

NO_GAIN = "Nothing would be gained: its placeholder is as long."


def parts_for_hand(item: Item) -> list[ResultPart] | str:
    """Return the results of a message; the reason if it has none or all of them are archived."""
    parts = [part for _, part in results_of(item)]
    if not parts:
        return NO_RESULT
    return ARCHIVED if all(map(is_archived, parts)) else parts
