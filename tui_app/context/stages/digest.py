"""What is said about archived tool results: without a model, and as material for one."""

from collections.abc import Mapping, Sequence

from pydantic_ai.messages import RetryPromptPart

from tui_app.context.items import Item
from tui_app.context.masking import mask_secrets
from tui_app.context.requests.pairing import Pair
from tui_app.context.stages.cutting import shorten
from tui_app.context.stages.marks import mark_of
from tui_app.context.stages.results import ResultPart, is_archived, result_text, results_of
from tui_app.context.stages.scope import call_of, paired
from tui_app.context.tool_titles import call_title, result_note

_LINE_CHARS = (80, 240)
"""Longest line about one result: when there are many, and when there are few."""
_SHORTEST_LINE = 10
_SHORTEST_BLOCK = 60
"""Characters a result takes at least in the material for a model, heading included."""
_MARK_CHARS = 60
"""Room for saying how many results were left out."""
_EDGE_CHARS = 2_000
_MASKED_CHARS = 200_000
_OUTCOMES = {"success": "success", "denied": "denied", "interrupted": "interrupted"}

_Leaving = tuple[Item, ResultPart, str]
"""A result that leaves: its message, the part, and its text."""


def digest_lines(items: Sequence[Item], view: Sequence[Item], limit: int) -> str:
    """One line a result: handle, tool, what it was about, what came of it, and how it begins and ends.

    Secrets are masked: a digest outlives the results it speaks of.

    Args:
        items: The messages whose results leave.
        view: The whole view, in which the calls are found; without it the tools' names must do.
        limit: Characters; of too many lines the first and the last ones stay.
    """
    leaving, calls = _leaving(items), _calls(view)
    few, many = _LINE_CHARS[1], _LINE_CHARS[0]
    room = min(few, max(many, limit // max(1, len(leaving)) - 1))
    shown = _ends(len(leaving), limit // _SHORTEST_LINE + 1)
    lines = [_line(one, view, calls, room) if place in shown else "" for place, one in enumerate(leaving)]
    text = "\n".join(lines)
    if len(shown) == len(leaving) and len(text) <= limit:
        return text
    first = _fitting(lines, (limit - _MARK_CHARS) // 2)
    last = _fitting(lines[:first:-1], (limit - _MARK_CHARS) // 2)
    end = len(lines) - last
    return shorten("\n".join([*lines[:first], _left_out(leaving[first:end]), *lines[end:]]), limit)


def digest_material(items: Sequence[Item], view: Sequence[Item], limit: int) -> str:
    """The results themselves for a model that writes the digest; secrets are masked.

    Args:
        items: The messages whose results leave.
        view: The whole view, in which the calls are found.
        limit: Characters; results share them, and short ones leave room to long ones.
    """
    leaving, calls = _leaving(items), _calls(view)
    shown = _ends(len(leaving), limit // _SHORTEST_BLOCK // 2)
    chosen = [one for place, one in enumerate(leaving) if place in shown]
    headings = [f"{_heading(one, view, calls)}\n" for one in chosen]
    texts = [mask_secrets(shorten(text, _MASKED_CHARS)) for _, _, text in chosen]
    room = limit - sum(len(heading) + 2 for heading in headings) - _MARK_CHARS
    shares = _shares([len(text) for text in texts], room)
    blocks = [
        heading + shorten(text, share) for heading, text, share in zip(headings, texts, shares, strict=True)
    ]
    if len(chosen) < len(leaving):
        half = len(chosen) // 2
        blocks.insert(half, _left_out(leaving[half : len(leaving) - half]))
    return shorten("\n\n".join(blocks), limit)


def _leaving(items: Sequence[Item]) -> list[_Leaving]:
    return [
        (item, part, text)
        for item in items
        for _, part in results_of(item)
        if not is_archived(part) and (text := result_text(part)) is not None
    ]


def _calls(view: Sequence[Item]) -> dict[int, Pair]:
    """The pair of each result, by the identity of its part."""
    return {id(pair.part): pair for pair in paired(view)}


def _ends(count: int, most: int) -> set[int]:
    """The first and the last ``most`` places of a list."""
    return {*range(min(count, most)), *range(max(0, count - most), count)}


def _left_out(leaving: Sequence[_Leaving]) -> str:
    return f"[… {len(leaving):,} more, #{leaving[0][0].key} to #{leaving[-1][0].key} …]" if leaving else ""


def _heading(one: _Leaving, view: Sequence[Item], calls: Mapping[int, Pair]) -> str:
    """Handle, tool, what it was asked for, and what came of it."""
    item, part, text = one
    pair, name = calls.get(id(part)), part.tool_name or ""
    title = _plain(name) if pair is None else call_title(name, call_of(view, pair).args_as_json_str())
    return mask_secrets(f"#{item.key} {title} · {_note(part, text)}")


def _note(part: ResultPart, text: str) -> str:
    """What came of a call; of a result that another stage has cut, its real size and where it lies."""
    outcome = "error" if isinstance(part, RetryPromptPart) else _OUTCOMES.get(part.outcome, "error")
    mark = mark_of(part)
    if outcome != "success" or "length" not in mark:
        return result_note(part.tool_name or "", text, outcome)
    file = mark.get("file")
    return f"{mark['length']:,} characters" + (f" in {file}" if file else "")


def _line(one: _Leaving, view: Sequence[Item], calls: Mapping[int, Pair], limit: int) -> str:
    text = one[2]
    edges = list(dict.fromkeys(filter(None, (_first(text), _last(text)))))
    said = _heading(one, view, calls)
    line = f"{said}: {' … '.join(edges)}" if edges else said
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _first(text: str) -> str:
    return _plain(mask_secrets(text[:_EDGE_CHARS]).lstrip().partition("\n")[0])


def _last(text: str) -> str:
    # More than is shown: half a secret is not recognised.
    return _plain(mask_secrets(text[-2 * _EDGE_CHARS :])[-_EDGE_CHARS:].rstrip().rpartition("\n")[2])


def _plain(line: str) -> str:
    """One line that holds nothing but printable characters, cut to what a digest can show."""
    words = " ".join(line.split())
    return "".join(char if char.isprintable() else "·" for char in words)[: _LINE_CHARS[1]]


def _fitting(lines: Sequence[str], room: int) -> int:
    """How many lines from the start fit."""
    for number, line in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            return number
    return len(lines)


def _shares(lengths: Sequence[int], room: int) -> list[int]:
    """Divide room among texts evenly; what a short one does not need goes to the longer ones."""
    shares = [0] * len(lengths)
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    for place, index in enumerate(order):
        shares[index] = min(lengths[index], max(0, room) // (len(order) - place))
        room -= shares[index]
    return shares
