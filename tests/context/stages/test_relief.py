"""Which stages run before a compaction, and what they are worth."""

import pytest

from tests.context.governor_kit import plain_counter
from tests.context.stages.pointers_kit import BODY, Disk, write
from tests.context.stages.stage_kit import said, words
from tui_app.context.history import ListHistory
from tui_app.context.policy import PLIMSOLL
from tui_app.context.tool_results.stages import StageHost, StageRunner
from tui_app.context.windows import resolve_window
from tui_app.usage import Breakdown


def after_writes(*, files: int, words_beside: int, share: float) -> StageRunner:
    """Files were written, much was said, and the view fills this share of the window."""
    history = ListHistory(plain_counter())
    messages = [said("go")]
    for number in range(files):
        arguments = {"path": f"{number}.py", "content": BODY}
        messages += write(arguments, call_id=f"w{number}")
    messages += [words("tide " * words_beside), said("go on"), words("well"), said("and now?")]
    history.sync(messages)
    total = sum(history.weigh(item).total for item in history.items())
    history.fix(resolve_window(setting=round(total / share)), Breakdown(), "scripted", 1.0)
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
