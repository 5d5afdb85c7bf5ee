"""Stage 3, archive: the oldest tool results become stubs, and one digest describes them.

The decision has two steps, because a model may write the digest: :func:`to_archive` chooses,
:func:`heuristic_digest` or a model reading :func:`digest_input` writes, :func:`archived` builds the rewrite.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import accumulate, dropwhile

from pydantic_ai.messages import ModelRequest, ToolCallPart, ToolReturnPart, UserPromptPart

from tui_app.context.message_marks import (
    DIGEST_ABOUT,
    DIGEST_HEADING,
    DIGEST_KIND,
    OWN,
    is_archived,
    mark_of,
    shell_command,
)
from tui_app.context.policy import Archive
from tui_app.context.tool_results.cuts import shorten
from tui_app.context.tool_results.results import (
    ARCHIVED_OPENING,
    ResultForm,
    ResultPart,
    result_text,
    results_of,
    rewrite_results,
    source_of,
)
from tui_app.context.tool_results.stage_scope import (
    NO_GAIN,
    UNREAD,
    newest_answer,
    newest_answers,
    paired,
    parts_for_hand,
    recalled,
    unsettled,
)
from tui_app.context.tool_titles import call_title, result_note
from tui_app.context.views.rewrites import Rewrite
from tui_app.context.views.view import Item
from tui_app.records import frozen
from tui_app.system.secrets import mask_secrets
from tui_app.text import cut
from tui_app.tool_specs import RUN_COMMAND, SEARCH_HISTORY

DIGEST_CHARS, MATERIAL_CHARS, WRITTEN_CHARS = 800, 12_000, 1_200
"""Maximum characters of a digest without a model, of the material for a model, and of a model's digest."""
_MANY_CHARS, _FEW_CHARS = 80, 240
"""Maximum characters of a line about one result: when there are many, and when there are few."""
_SHORTEST_LINE = 10
_SHORTEST_BLOCK = 60
"""Minimum characters of a result in the material for a model, including its heading."""
_MARK_CHARS = 60
"""Characters reserved for the number of results left out."""
_EDGE_CHARS = 2_000
_MASKED_CHARS = 200_000
_OUTCOMES = {"success", "denied", "interrupted"}

_Leaving = tuple[Item, ResultPart, str]
"""An archived result: its message, the part, and its text."""
_Calls = Mapping[int, ToolCallPart]
"""The call of each result, by the identity of its part."""


def heuristic_digest(items: Sequence[Item], view: Sequence[Item] = (), limit: int = DIGEST_CHARS) -> str:
    """Describe each result in one line: handle, tool, arguments, outcome, beginning and end.

    Secrets are masked, because a digest outlives the results.

    Args:
        items: The messages chosen by :func:`to_archive`.
        view: The view they were chosen from, to find their calls; without it only the tools' names are known.
        limit: Maximum characters; of too many lines the first and the last ones stay.
    """
    leaving, calls = _leaving(items), _calls(view)
    room = min(_FEW_CHARS, max(_MANY_CHARS, limit // max(1, len(leaving)) - 1))
    shown = _ends(len(leaving), limit // _SHORTEST_LINE + 1)
    lines = [_line(one, calls, room) if place in shown else "" for place, one in enumerate(leaving)]
    text = "\n".join(lines)
    if len(shown) == len(leaving) and len(text) <= limit:
        return text
    first = _fitting(lines, (limit - _MARK_CHARS) // 2)
    last = _fitting(lines[:first:-1], (limit - _MARK_CHARS) // 2)
    end = len(lines) - last
    return shorten("\n".join([*lines[:first], _left_out(leaving[first:end]), *lines[end:]]), limit)


def digest_input(items: Sequence[Item], view: Sequence[Item] = (), limit: int = MATERIAL_CHARS) -> str:
    """Return the chosen results as material for a model that writes the digest, with secrets masked.

    Args:
        items: The messages chosen by :func:`to_archive`.
        view: The view they were chosen from.
        limit: Maximum characters; short results leave room to long ones.
    """
    leaving, calls = _leaving(items), _calls(view)
    shown = _ends(len(leaving), limit // _SHORTEST_BLOCK // 2)
    chosen = [one for place, one in enumerate(leaving) if place in shown]
    headings = [f"{_heading(one, calls)}\n" for one in chosen]
    texts = [mask_secrets(shorten(text, _MASKED_CHARS)) for _, _, text in chosen]
    room = limit - sum(len(heading) + 2 for heading in headings) - _MARK_CHARS
    # What a short text leaves of its share goes to the longer ones.
    shares = [0] * len(texts)
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    for place, index in enumerate(order):
        shares[index] = min(len(texts[index]), max(0, room) // (len(order) - place))
        room -= shares[index]
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


def _calls(view: Sequence[Item]) -> _Calls:
    return {id(pair.part): pair.made for pair in paired(view)}


def _ends(count: int, most: int) -> set[int]:
    """Return the first and the last ``most`` places of a list."""
    return {*range(min(count, most)), *range(max(0, count - most), count)}


def _left_out(leaving: Sequence[_Leaving]) -> str:
    return f"[… {len(leaving):,} more, #{leaving[0][0].key} to #{leaving[-1][0].key} …]" if leaving else ""


def _heading(one: _Leaving, calls: _Calls) -> str:
    """Return handle, tool, arguments and outcome."""
    item, part, text = one
    call, (name, _) = calls.get(id(part)), source_of(part)
    title = _plain(name) if call is None else call_title(name, call.args_as_json_str())
    outcome: str = "error"
    if isinstance(part, ToolReturnPart) and part.outcome in _OUTCOMES:
        outcome = part.outcome
    if isinstance(part, UserPromptPart):
        outcome = "success"
        name, title = RUN_COMMAND.name, f"$ {_plain(shell_command(part))} (run by the user)"
    note, mark = result_note(name, text, outcome), mark_of(part)
    if outcome == "success" and "length" in mark:
        # For a result that another stage has shortened, its real size and its file.
        note = f"{mark['length']:,} characters" + (f" in {mark['file']}" if mark.get("file") else "")
    return mask_secrets(f"#{item.key} {title} · {note}")


def _line(one: _Leaving, calls: _Calls, limit: int) -> str:
    text = one[2]
    first = mask_secrets(text[:_EDGE_CHARS]).lstrip().partition("\n")[0]
    # More than is shown, because half a secret is not recognised.
    last = mask_secrets(text[-2 * _EDGE_CHARS :])[-_EDGE_CHARS:].rstrip().rpartition("\n")[2]
    edges = list(dict.fromkeys(filter(None, (_plain(first), _plain(last)))))
    line = ": ".join(filter(None, (_heading(one, calls), " … ".join(edges))))
    return cut(line, limit)


def _plain(line: str) -> str:
    """Return one line of printable characters, cut to what a digest can show."""
    words = " ".join(line.split())
    return "".join(char if char.isprintable() else "·" for char in words)[:_FEW_CHARS]


def _fitting(lines: Sequence[str], room: int) -> int:
    """Return how many lines from the start fit."""
    return sum(size <= room for size in accumulate(len(line) + 1 for line in lines))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Fixed time of the digest, so that the same decision gives the same bytes."""


@frozen
class _Visible:
    """A message with tool results that have not been archived."""

    item: Item
    results: int
    may_leave: bool
    """Whether archiving is allowed and would make it smaller."""


def to_archive(items: Sequence[Item], settings: Archive) -> tuple[Item, ...]:
    """Choose the oldest tool results beyond the cutoff, as whole messages.

    Never chosen are results of the newest response's calls, what was retrieved in the current turn, results
    whose call is unknown, and results with files. Those, and results that are shorter than a stub, keep their
    place without counting if they are older than the chosen ones. Unsolved failures and declined calls stay
    as well, and do not count.

    Args:
        items: The view.
        settings: The cutoff; with strategy ``off`` nothing is chosen.
    """
    if settings.strategy == "off":
        return ()
    view = list(dropwhile(_must_stay, _visible(items)))
    if _results(view) <= settings.cutoff:
        return ()
    spared = unsettled(items)
    view = list(dropwhile(_must_stay, (entry for entry in view if entry.item.key not in spared)))
    left = _results(view)
    chosen: list[Item] = []
    for entry in view:
        if left <= settings.cutoff:
            break
        left -= entry.results
        if entry.may_leave:
            chosen.append(entry.item)
    return tuple(chosen)


def archived(items: Sequence[Item], digest: str, *, handles: bool = True) -> Rewrite:
    """Replace the chosen results by stubs; tool name, call and outcome stay.

    Args:
        items: The messages chosen by :func:`to_archive`.
        digest: Description of the results.
        handles: Whether the model has a tool that retrieves a message by its handle.

    Returns:
        The stubs, and the digest's message; no digest if nothing could be made smaller.
    """

    def decide(item: Item, _part: ResultPart, _text: str) -> ResultForm:
        return ResultForm(text=_stub(item, handles=handles), note="archived")

    rewrite = rewrite_results("archive", items, decide)
    return (
        replace(rewrite, digest=digest_message(digest)) if rewrite else Rewrite(stage="archive", changes=())
    )


def digest_message(digest: str) -> ModelRequest:
    """Build the message that replaces archived results; only the model sees it."""
    text = f"{DIGEST_HEADING}\n{DIGEST_ABOUT}\n\n{digest.strip()}"
    part, metadata = UserPromptPart(text, timestamp=_EPOCH), {OWN: {"kind": DIGEST_KIND}}
    return ModelRequest(parts=[part], timestamp=_EPOCH, metadata=metadata)


def _results(view: Sequence[_Visible]) -> int:
    return sum(entry.results for entry in view)


def _must_stay(entry: _Visible) -> bool:
    return not entry.may_leave


def _stub(item: Item, *, handles: bool) -> str:
    back = f'; {SEARCH_HISTORY.name} "#{item.key}" brings it back' if handles else ""
    return f"{ARCHIVED_OPENING}: see the tool digest further down{back}]"


def _visible(items: Sequence[Item]) -> Iterator[_Visible]:
    found = paired(items)
    known = {id(pair.part) for pair in found}
    kept = newest_answers(items, found) | recalled(items, found)
    answered = newest_answer(items)
    for place, item in enumerate(items):
        parts = [part for _, part in results_of(item) if not is_archived(part)]
        # A command of the user has no call; it is unread until a model has responded after it.
        own = {id(part) for part in parts if isinstance(part, UserPromptPart)}
        known |= own
        kept |= own if answered is None or place > answered else set()
        results = sum(id(part) in known for part in parts)
        if results:
            free = all(id(part) in known and id(part) not in kept for part in parts)
            stub = len(_stub(item, handles=True))
            shrinks = any(text is not None and len(text) > stub for text in map(result_text, parts))
            yield _Visible(item, results, free and shrinks)


def archive_by_hand(items: Sequence[Item], item: Item) -> Rewrite | str:
    """Replace the results of one message by stubs, with a digest written without a model.

    Args:
        items: The view.
        item: The message in it.
    """
    if isinstance(parts := parts_for_hand(item), str):
        return parts
    newest, answered = newest_answers(items, paired(items)), newest_answer(items)
    unread = any(isinstance(part, UserPromptPart) for part in parts) and item in items[(answered or 0) + 1 :]
    if unread or any(id(part) in newest for part in parts):
        return UNREAD
    rewrite = archived((item,), heuristic_digest((item,), items))
    return rewrite if rewrite.changes else NO_GAIN
