"""All reversible stages one after the other: the view stays valid, and a second round changes nothing."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage

from tests.context.histories import as_items, messages
from tests.context.stages.stage_kit import Stage, applied, check, names
from tui_app.context.counting.encodings import estimate
from tui_app.context.policy import Archive, NormaliseLimits, Offload, Pointers, Trim
from tui_app.context.tool_results.archive import archived, heuristic_digest, to_archive
from tui_app.context.tool_results.normalise import normalise, trim
from tui_app.context.tool_results.offload import offload
from tui_app.context.tool_results.pointers import pointers
from tui_app.context.view import Item, Rewrite


def stages(cutoff: int, tokens: int, chars: int, lines: int) -> list[Stage]:
    def archive(view: Sequence[Item]) -> Rewrite | None:
        settings = Archive(cutoff=cutoff)
        chosen = to_archive(view, settings)
        return archived(chosen, heuristic_digest(chosen, settings, view)) if chosen else None

    def point(view: Sequence[Item]) -> Rewrite | None:
        return pointers(view, Pointers(), names(), on_disk=str, contains=str.__contains__)

    return [
        lambda view: normalise(view, NormaliseLimits(lines=lines, bytes=600, spill_chars=3_000), names()),
        lambda view: offload(view, Offload(tokens=tokens, preview_lines=1), estimate, names()),
        archive,
        lambda view: trim(view, Trim(chars=chars)),
        point,
    ]


@given(messages(max_size=30), st.integers(0, 3), st.integers(0, 300), st.integers(0, 300), st.integers(4, 9))
def test_one_round_is_enough(
    history: list[ModelMessage], cutoff: int, tokens: int, chars: int, lines: int
) -> None:
    items = as_items(history)
    every = stages(cutoff, tokens, chars, lines)
    for stage in every:
        rewrite = check(items, stage)
        items = applied(items, rewrite) if rewrite is not None else items
    for stage in every:
        assert check(items, stage) is None
