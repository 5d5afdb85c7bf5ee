"""Stage 3, archive: the oldest tool results become stubs, and one digest says what they held.

The decision is in two steps, because a model may write the digest: :func:`to_archive` chooses, one of
:func:`heuristic_digest` or a model reading :func:`digest_input` writes, :func:`archived` builds the rewrite.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import dropwhile

from pydantic_ai.messages import ModelRequest, UserPromptPart

from tui_app.context.items import Item
from tui_app.context.stages.cutting import shorten
from tui_app.context.stages.digest import digest_lines, digest_material
from tui_app.context.stages.marks import DIGEST_ABOUT, DIGEST_HEADING, DIGEST_KIND, OWN, is_digest
from tui_app.context.stages.results import (
    ARCHIVED_OPENING,
    Form,
    ResultPart,
    is_archived,
    result_text,
    results_of,
    rewrite_results,
)
from tui_app.context.stages.rewrite import Rewrite
from tui_app.context.stages.scope import newest_answers, paired, recalled, unsettled
from tui_app.context.stages.settings import Archive

__all__ = [
    "archived",
    "clip_digest",
    "digest_input",
    "heuristic_digest",
    "is_archived",
    "is_digest",
    "to_archive",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""The digest carries a fixed time, so that the same decision gives the same bytes."""


@dataclass(frozen=True, slots=True)
class _Visible:
    """A message with tool results that have not been archived."""

    item: Item
    results: int
    may_leave: bool
    """Whether archiving is allowed and would make it smaller."""


def to_archive(items: Sequence[Item], settings: Archive, batch_to: int | None = None) -> tuple[Item, ...]:
    """Choose the oldest tool results beyond the cutoff, whole messages of them.

    Never chosen are results of the newest answer's calls, what was brought back in the present turn, results
    whose call is unknown, and results with files. Those, and results that are shorter than a stub, stay in
    their place when older than what leaves, without holding newer ones down. Failures that nothing has solved
    yet and declined calls stay as well, and do not count.

    Args:
        items: The view.
        settings: The cutoff; with strategy ``off`` nothing is chosen.
        batch_to: How many results stay visible once the cutoff is exceeded, so that the beginning of the
            request does not change with every new result; the cutoff itself by default.
    """
    if settings.strategy == "off":
        return ()
    view = list(dropwhile(_must_stay, _visible(items)))
    if _results(view) <= settings.cutoff:
        return ()
    spared = unsettled(items)
    view = list(dropwhile(_must_stay, (entry for entry in view if entry.item.key not in spared)))
    left = _results(view)
    if left <= settings.cutoff:
        return ()
    target = settings.cutoff if batch_to is None else max(0, min(batch_to, settings.cutoff))
    chosen: list[Item] = []
    for entry in view:
        if left <= target:
            break
        left -= entry.results
        if entry.may_leave:
            chosen.append(entry.item)
    return tuple(chosen)


def archived(items: Sequence[Item], digest: str, *, handles: bool = True) -> Rewrite:
    """Put stubs in place of the chosen results; tool name, call and outcome stay.

    Args:
        items: What :func:`to_archive` has chosen.
        digest: What the results held.
        handles: Whether the model has a tool that brings a message back by its handle.

    Returns:
        The stubs, and the digest's message; no digest when nothing could be made smaller.
    """

    def decide(item: Item, _part: ResultPart, _text: str) -> Form:
        return Form(text=_stub(item, handles=handles), note="archived")

    rewrite = rewrite_results("archive", items, decide)
    if rewrite is None:
        return Rewrite(stage="archive", changes=())
    return Rewrite(stage="archive", changes=rewrite.changes, digest=digest_message(digest))


def digest_message(digest: str) -> ModelRequest:
    """The message that stands for archived results; for the model alone."""
    text = f"{DIGEST_HEADING}\n{DIGEST_ABOUT}\n\n{digest.strip()}"
    return ModelRequest(
        parts=[UserPromptPart(text, timestamp=_EPOCH)],
        timestamp=_EPOCH,
        metadata={OWN: {"kind": DIGEST_KIND}},
    )


def heuristic_digest(items: Sequence[Item], settings: Archive, view: Sequence[Item] = ()) -> str:
    """Say in one line a result what it held: handle, tool, what it was about, outcome, beginning and end.

    Args:
        items: What :func:`to_archive` has chosen.
        settings: Its ``digest_chars`` is the limit; of too many lines the first and the last ones stay.
        view: The view they were chosen from, in which their calls are found; without it only the tools' names
            are known.
    """
    return digest_lines(items, view, settings.digest_chars)


def digest_input(items: Sequence[Item], settings: Archive, view: Sequence[Item] = ()) -> str:
    """The chosen results as material for a model that writes the digest, with secrets masked.

    Args:
        items: What :func:`to_archive` has chosen.
        settings: Its ``llm_input_chars`` is the limit; short results leave room to long ones.
        view: The view they were chosen from.
    """
    return digest_material(items, view, settings.llm_input_chars)


def clip_digest(text: str, settings: Archive) -> str:
    """What a model wrote as the digest, at most ``llm_output_chars`` of it."""
    return shorten(text.strip(), settings.llm_output_chars)


def _results(view: Sequence[_Visible]) -> int:
    return sum(entry.results for entry in view)


def _must_stay(entry: _Visible) -> bool:
    return not entry.may_leave


def _stub(item: Item, *, handles: bool) -> str:
    back = f'; search_history "#{item.key}" brings it back' if handles else ""
    return f"{ARCHIVED_OPENING}: see the tool digest further down{back}]"


def _visible(items: Sequence[Item]) -> Iterator[_Visible]:
    found = paired(items)
    known = {id(pair.part) for pair in found}
    stays = newest_answers(items, found) | recalled(items, found)
    for item in items:
        parts = [part for _, part in results_of(item) if not is_archived(part)]
        results = sum(id(part) in known for part in parts)
        if results:
            free = all(id(part) in known and id(part) not in stays for part in parts)
            yield _Visible(item, results, free and _would_shrink(item, parts))


def _would_shrink(item: Item, parts: Sequence[ResultPart]) -> bool:
    stub = len(_stub(item, handles=True))
    return any(text is not None and len(text) > stub for text in map(result_text, parts))
