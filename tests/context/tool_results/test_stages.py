"""All reversible stages in order: the view stays valid, and a second pass changes nothing."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ThinkingPart

from tests.context.governor_kit import plain_counter
from tests.context.histories import as_items, messages
from tests.context.tool_results.kit import (
    BODY,
    Disk,
    Stage,
    applied,
    call,
    check,
    names,
    result,
    said,
    words,
    write,
)
from tui_app.context.counting.encodings import estimate
from tui_app.context.counting.prompt_cache import CacheRates
from tui_app.context.history import ListHistory
from tui_app.context.message_marks import is_archived
from tui_app.context.policy import (
    PLIMSOLL,
    RESERVE,
    SLIDING_WINDOW,
    Archive,
    NormaliseLimits,
    Offload,
    Policy,
    Superseded,
    Trim,
    derive,
)
from tui_app.context.tool_results.archive import archived, heuristic_digest, to_archive
from tui_app.context.tool_results.normalise import normalise
from tui_app.context.tool_results.offload import offload
from tui_app.context.tool_results.pointers import pointers
from tui_app.context.tool_results.results import results_of
from tui_app.context.tool_results.stages import StageHost, StageRunner
from tui_app.context.tool_results.trim import trim
from tui_app.context.views.rewrites import Rewrite
from tui_app.context.views.view import Item, to_messages
from tui_app.context.windows.windows import resolve_window
from tui_app.usage import Breakdown, Overhead


def stages(cutoff: int, tokens: int, chars: int, lines: int) -> list[Stage]:
    def archive(view: Sequence[Item]) -> Rewrite | None:
        settings = Archive(cutoff=cutoff)
        chosen = to_archive(view, settings)
        return archived(chosen, heuristic_digest(chosen, view)) if chosen else None

    def point(view: Sequence[Item]) -> Rewrite | None:
        return pointers(view, names(), on_disk=str, contains=str.__contains__)

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


# Which stages run before a compaction, and what they free.


def after_writes(*, files: int, words_beside: int, share: float) -> StageRunner:
    """Set up a view of writes and text that fills ``share`` of the window."""
    history = ListHistory(plain_counter())
    messages = [said("go")]
    for number in range(files):
        arguments = {"path": f"{number}.py", "content": BODY}
        messages += write(arguments, call_id=f"w{number}")
    messages += [words("tide " * words_beside), said("go on"), words("well"), said("and now?")]
    history.sync(messages)
    total = sum(history.weigh(item).total for item in history.items())
    history.set_overhead(Overhead(resolve_window(setting=round(total / share)), Breakdown(), 1.0), "scripted")
    disk = Disk(**{f"{number}.py": BODY for number in range(files)})
    around = StageHost(checksum=disk.checksum, contains=disk.contains)
    return StageRunner(policy=PLIMSOLL, history=history, count=len, around=around)


@pytest.mark.asyncio
@pytest.mark.parametrize("files", [1, 6])
async def test_written_files_become_pointers_where_that_spares_a_compaction(files: int) -> None:
    relief = after_writes(files=files, words_beside=500, share=0.82)
    assert PLIMSOLL.pressure(relief.history.usage()) == "background"
    await relief.make_room()
    assert relief.history.version == 1
    assert PLIMSOLL.pressure(relief.history.usage()) == "none"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("words_beside", "share"), [(100_000, 0.84), (500, 0.5)], ids=["not enough", "nothing due"]
)
async def test_they_stay_where_that_spares_none(words_beside: int, share: float) -> None:
    relief = after_writes(files=1, words_beside=words_beside, share=share)
    before = relief.history.usage()
    await relief.make_room()
    assert relief.history.usage() == before


def reading(results: int, *, chars: int, policy: Policy, share: float = 0.85) -> StageRunner:
    """Set up a view of turns with one read each that fills ``share`` of the window."""
    history = ListHistory(plain_counter())
    read(history, 0, results, chars)
    total = sum(history.weigh(item).total for item in history.items())
    history.set_overhead(Overhead(resolve_window(setting=round(total / share)), Breakdown(), 1.0), "scripted")
    return StageRunner(policy=policy, history=history, count=len, around=StageHost())


def read(history: ListHistory, first: int, results: int, chars: int) -> None:
    """Add turns that read one file each."""
    messages = to_messages(history.items())
    for number in range(first, first + results):
        text = f"{number}: {'x' * chars}"
        messages += [said("read"), call(f"r{number}"), result(f"r{number}", text), words("read it")]
    history.sync([*messages])


def visible(relief: StageRunner) -> int:
    parts = [part for item in relief.history.items() for _, part in results_of(item)]
    return sum(not is_archived(part) for part in parts)


@pytest.mark.asyncio
async def test_archiving_goes_to_the_cutoff_and_later_in_batches() -> None:
    relief = reading(11, chars=1_200, policy=RESERVE, share=0.01)
    history = relief.history
    assert isinstance(history, ListHistory)
    seen: list[int] = []
    for number in range(11, 21):
        await relief.make_room()
        seen.append(visible(relief))
        read(history, number, 1, 1_200)
    assert seen == [10, 11, 12, 13, 10, 11, 12, 13, 10, 11]
    assert history.version == 3


@pytest.mark.asyncio
@pytest.mark.parametrize(("batch", "versions"), [(1, 6), (2, 3), (99, 1)])
async def test_how_many_results_are_archived_at_once_is_the_policys(batch: int, versions: int) -> None:
    policy = derive("own", {"base": "reserve", "archive_batch": batch, "tool_summary_strategy": "heuristic"})
    relief = reading(11, chars=1_200, policy=policy, share=0.01)
    history = relief.history
    assert isinstance(history, ListHistory)
    for number in range(11, 17):
        await relief.make_room()
        read(history, number, 1, 1_200)
    assert history.version == versions


WARM, COLD = CacheRates(0.1, 1.25), CacheRates(1.25, 1.25)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("rates", "share", "kept"),
    [
        (None, 0.5, 10),
        (WARM, 0.5, 14),  # caching everything after the first result again costs more than four results
        (COLD, 0.5, 10),
    ],
)
async def test_what_a_warm_cache_holds_is_rewritten_only_where_that_saves_more(
    rates: CacheRates | None, share: float, kept: int
) -> None:
    relief = reading(14, chars=1_200, policy=RESERVE, share=share)
    relief.around = StageHost(cache=lambda: rates)
    await relief.make_room()
    assert visible(relief) == kept


@pytest.mark.asyncio
async def test_a_warm_cache_does_not_wait_where_much_is_freed_for_long_or_the_window_is_full() -> None:
    long = reading(120, chars=1_200, policy=RESERVE, share=0.5)
    full = reading(14, chars=1_200, policy=replace(PLIMSOLL, stages=RESERVE.stages))
    for relief in (long, full):
        relief.around = StageHost(cache=lambda: WARM)
        await relief.make_room()
        assert visible(relief) == 10


@pytest.mark.asyncio
@pytest.mark.parametrize("policy", [PLIMSOLL, SLIDING_WINDOW], ids=lambda policy: policy.name)
async def test_one_long_result_is_cut_although_it_is_the_only_one(policy: Policy) -> None:
    relief = reading(1, chars=3_000, policy=policy)
    history = relief.history
    assert isinstance(history, ListHistory)
    history.sync([*to_messages(history.items()), said("and now?"), words("tide " * 100_000), said("go on")])
    total = sum(history.weigh(item).total for item in history.items())
    history.set_overhead(Overhead(resolve_window(setting=round(total / 0.85)), Breakdown(), 1.0), "scripted")
    await relief.make_room()
    [part] = [part for item in history.items() for _, part in results_of(item)]
    assert str(part.content).startswith("0: xxx")
    assert 2_000 < len(str(part.content)) < 2_200


# Superseded results leave before anything else.


def reread(times: int, *, thinking: bool, cache: CacheRates | None = None) -> StageRunner:
    """Set up a view in which one file was read in several turns, with the same thinking each time."""
    history = ListHistory(plain_counter())
    messages: list[ModelMessage] = []
    for number in range(times):
        thought = [ThinkingPart("tide " * 100)] if thinking else []
        asked = call(f"r{number}", args={"path": "a.py"} if not thinking else {"path": f"{number}.py"})
        asked = replace(asked, parts=[*thought, *asked.parts])
        messages += [said("look"), asked, result(f"r{number}", f"{number}: {BODY}"), words("seen")]
    history.sync([*messages, said("and now?")])
    total = sum(history.weigh(item).total for item in history.items())
    history.set_overhead(Overhead(resolve_window(setting=round(total / 0.85)), Breakdown(), 1.0), "scripted")
    return StageRunner(policy=PLIMSOLL, history=history, count=len, around=StageHost(cache=lambda: cache))


@pytest.mark.asyncio
@pytest.mark.parametrize("thinking", [False, True], ids=["reads", "thinking"])
async def test_what_is_superseded_makes_room_before_anything_is_archived(thinking: bool) -> None:
    relief = reread(12, thinking=thinking)
    seen: list[str] = []
    relief.history.listener = lambda event: seen.append(event.TYPE)  # type: ignore[attr-defined]
    before = relief.history.usage().total
    await relief.make_room()
    assert seen == ["tool.superseded"]
    assert relief.history.usage().total < before * 0.85
    await relief.make_room()
    assert seen == ["tool.superseded"], "once, and then the prefix stays"


@pytest.mark.asyncio
async def test_it_waits_where_it_costs_more_of_the_cache_than_it_saves() -> None:
    relief = reread(12, thinking=False, cache=CacheRates(kept=0.0, changed=1.0))
    wide = resolve_window(setting=1_000_000)
    relief.history.set_overhead(Overhead(wide, Breakdown(), 1.0), "scripted")
    relief.policy = replace(PLIMSOLL, stages=replace(PLIMSOLL.stages, superseded=Superseded()))
    before = relief.history.usage()
    await relief.make_room()
    assert relief.history.usage() == before
