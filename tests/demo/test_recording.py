"""The demo's recording runs through the real engine, fills the window to the load line, and is true."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conversation.driving import send
from tests.docs.pages import DOCS, load_script
from tui_app.context.policy import PLIMSOLL
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.work import Compact, Restate, Switch
from tui_app.demo.stage import SMALL_MODEL, Pace, Stage, data_file, recorded_prompts, set_up
from tui_app.events import ApprovalRequested, CompactionComplete, CompactionStart, Payload

MAKE = load_script(DOCS / "make_demo.py")
INVENTED = ("asked to delete", "ferry/migrate.py`, which", "412 callers", "raised to 1000", "All 42 tests")


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = set_up(Pace(answers_s=0.0))
    yield stage
    stage.remove()
    assert not stage.root.exists()


def happened(session: OpenSession, kind: type[Payload]) -> list[Payload]:
    store, id = session.store, session.conversation.session
    found = (store.record(id, head.seq) for head in store.newest(id, (kind.TYPE,)))
    return [record.data for record in found if record is not None]


async def done(session: OpenSession, work: Compact | Restate | Switch) -> CompactionComplete:
    session.conversation.submit(work)
    await session.conversation.settle()
    newest = happened(session, CompactionComplete)[0]
    assert isinstance(newest, CompactionComplete)
    return newest


MARKERS = re.compile(r"\\n +[~^]+(?=\\n)")
"""Python's markers below a traceback's line, which differ between versions."""


async def test_tools_answer_as_recorded_and_what_the_tour_shows_can_be_done_behind_it(stage: Stage) -> None:
    session = MAKE.opened(stage)
    played = MAKE.written(await MAKE.results(session), stage)
    recorded = data_file("session.jsonl").read_text(encoding="utf-8")
    assert MARKERS.sub("", played) == MARKERS.sub("", recorded)
    history, models = session.conversation.history, session.conversation.models
    # It ends at the first load line, without a question or a compaction.
    full = history.usage()
    line = PLIMSOLL.background_threshold
    assert line <= full.utilization < line + 0.05
    assert not happened(session, CompactionStart)
    assert not happened(session, ApprovalRequested)
    # A compaction keeps the facts and can be undone.
    compacted = await done(session, Compact())
    assert (compacted.outcome, compacted.performed_by) == ("success", "model")
    assert [line for line in compacted.summary.splitlines() if "(not in the log)" in line] == []
    assert compacted.retention == pytest.approx(1.0)
    assert history.usage().total < full.total / 2
    await done(session, Restate(undo=True))
    assert history.usage().total == full.total
    # Only the inventions of a lying writer are marked.
    stage.pace.writer = "inventive"
    summary = (await done(session, Compact())).summary
    marked = [line for line in summary.splitlines() if "(not in the log)" in line]
    assert len(marked) >= 2
    assert all(any(lie in line for lie in INVENTED) for line in marked), "nothing else is accused"
    await done(session, Restate(undo=True))
    # It needs a compaction to fit the small model.
    stage.pace.writer = "honest"
    assert not (await models.forecast(SMALL_MODEL)).fits
    assert (await done(session, Switch(SMALL_MODEL, "compact"))).trigger == "model_switch"
    assert session.conversation.model == SMALL_MODEL
    assert history.usage().total < history.usage().window.effective
    await session.close()


async def test_anything_else_is_looked_up_in_the_project(stage: Stage) -> None:
    session = MAKE.opened(stage)
    await session.prepare()
    async for record in send(session.conversation, "Where is Harbour Day?"):
        last = record.data
    await session.close()
    texts = json.dumps([str(item.message) for item in session.conversation.history.items()])
    assert last is not None
    assert "data/holidays.csv" in texts


def test_the_data_is_small(stage: Stage) -> None:
    size = sum(path.stat().st_size for path in data_file("").iterdir())
    assert size < 300_000
    assert (stage.project / "ferry" / "importer.py").is_file()
    assert Path(stage.env({"PATH": "/bin", "OPENAI_API_KEY": "x"})["PATH"].split(":")[0]).is_dir()
    assert "OPENAI_API_KEY" not in stage.env({"OPENAI_API_KEY": "x"})


async def test_a_compaction_while_it_plays_says_what_is_true_so_far(stage: Stage) -> None:
    session = MAKE.opened(stage)
    await session.prepare()
    for played, prompt in enumerate(recorded_prompts()[:15], 1):
        async for _ in send(session.conversation, prompt):
            pass
        if played in (4, 8, 15):
            compacted = await done(session, Compact())
            assert (compacted.outcome, compacted.reason) == ("success", ""), played
            assert "(not in the log)" not in compacted.summary, played
            assert ("batch size" in compacted.summary) is False, played
            await done(session, Restate(undo=True))
    await session.close()
