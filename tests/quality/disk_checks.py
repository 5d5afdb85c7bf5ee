"""Checks of log and disk after a played conversation (S6 to S8)."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from tests.quality.playing import Play
from tests.quality.sent_checks import SECRET
from tui_app.context.compaction.compactor import CompactionRefused, Compactor, PlainHost
from tui_app.context.counting.expenses import Ledger
from tui_app.context.history import Proposal
from tui_app.context.summaries.extractive import ExtractiveSummariser
from tui_app.context.summaries.notes_request import SummaryFailed
from tui_app.context.summaries.prompt import SummaryTask
from tui_app.context.summaries.writer import Progress, Summary
from tui_app.context.views.view import Item, to_messages
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.history.view_messages import ViewMessages
from tui_app.events import CompactionComplete, Record
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.views.agent_view import fold_agent_view
from tui_app.session.views.user_view import fold_user_view
from tui_app.usage import Overhead


class Died(BaseException):
    """Simulates the death of the process: nothing after the write is executed."""


@dataclass(frozen=True, slots=True)
class Failing:
    """A summariser that always fails."""

    model_name: str = "failing"

    async def summarise(self, task: SummaryTask, progress: Progress, ledger: Ledger) -> Summary:
        raise SummaryFailed("nothing came back")


def view_of(history: SessionHistory) -> list[str]:
    """The agent view, byte for byte."""
    return spoken([item.message for item in history.items()])


def spoken(messages: Sequence[ModelMessage]) -> list[str]:
    """The content of messages, byte for byte, without ids that differ between runs."""
    dumped = ModelMessagesTypeAdapter.dump_python(list(messages), mode="json")
    return [json.dumps([message["kind"], message["parts"]]) for message in dumped]


def kept_on_disk(play: Play) -> bool:
    """S6: rows are only appended, every message is in the log, and undoing everything restores the view.

    Ends the play, because it undoes its compactions and rewrites.
    """
    rows = [(record.seq, record.data) for record, _ in play.store.records(play.session)]
    published = {record.seq: record.data for record in play.published}
    appended = [number for number, _ in rows] == list(range(1, len(rows) + 1))
    unchanged = all(published.get(number, data) == data for number, data in rows)
    texts = all(play.store.message(play.session, number) == text for number, text in play.said)
    return appended and unchanged and texts and _archived(play) and _all_comes_back(play)


def _archived(play: Play) -> bool:
    """Whether each compaction archived the view's messages in their original form, with secrets masked."""
    heads = list(play.store.heads(play.session))
    for record in play.stored(CompactionComplete):
        done = record.data
        if not isinstance(done, CompactionComplete) or done.outcome != "success":
            continue
        view = fold_agent_view(head for head in heads if head.seq < record.seq)
        # In their original form: the file contains the full text of results that a stage cut.
        said = view.rewritten()
        shown = [said.get(head.seq, head) for head in view.visible()]
        messages = ViewMessages(partial(play.store.message, play.session))
        messages.load(shown)
        before = to_messages([Item(head.seq, messages.of(head)) for head in shown])
        written = json.loads(Path(done.history_path).with_suffix(".json").read_text(encoding="utf-8"))
        if spoken(ModelMessagesTypeAdapter.validate_python(written)) != spoken(before):
            return False
        if SECRET in Path(done.checkpoint_path).read_text(encoding="utf-8"):
            return False
    return True


def _all_comes_back(play: Play) -> bool:
    history = play.reopened()
    while history.view.compactions or history.view.rewrites:
        if history.view.compactions:
            history.restate(history.view.compactions[-1], undo=True)
        else:
            history.restore(history.view.rewrites[-1])
    said = ModelMessagesTypeAdapter.validate_json(f"[{','.join(text for _, text in play.said)}]")
    return view_of(history) == spoken(said)


async def unchanged_by_failure(play: Play) -> bool:
    """S7: a failing summary and a full disk leave the view unchanged."""
    history, before = play.history, view_of(play.history)
    usage = history.usage()
    policy = replace(play.policy, fallback="none", summary_by="llm")
    compactor = Compactor(history, policy, PlainHost((Failing(),)))
    try:
        compactor.start("headless")
    except CompactionRefused:
        return True
    ended = await compactor.finish()
    failed = ended is not None and ended.outcome == "failed"
    proposal = await _proposal(play)
    if proposal is not None:
        with suppress(OSError), failing_at(4, OSError(28, "No space left on device")):
            history.commit(proposal)
            return False
    return failed and (view_of(history), history.usage()) == (before, usage)


async def survives_dying(play: Play) -> bool:
    """S8: wherever the process dies in a compaction, the next start finds all of it or none.

    Raises an error at every write of one compaction in turn, then opens the session again.
    """
    before, history = view_of(play.history), play.reopened()
    if view_of(history) != before or history.view != play.history.view or not _folds_agree(play, history):
        return False
    proposal = await _proposal(play)
    if proposal is None:
        return True
    stays = [item for item in play.history.items() if item.key not in proposal.left]
    after = sorted(spoken([*(item.message for item in stays), proposal.message]))
    for place in range(100):
        history.set_overhead(Overhead(play.history.usage().window, play.history.usage().parts), "offline")
        with suppress(Died), failing_at(place, Died()):
            history.commit(proposal)
            return False  # the last position is after all writes
        died, history = history, play.reopened()
        if view_of(died) != before or not _folds_agree(play, history):
            return False
        if (found := view_of(history)) != before:
            return place > 10 and sorted(found) == after
    return False


async def _proposal(play: Play) -> Proposal | None:
    """A compaction that is written but not applied."""
    taken: list[Proposal] = []

    class Taking(Compactor):
        def apply_ready(self) -> CompactionComplete | None:
            job, self._job = self._job, None
            if job is not None and isinstance(result := job.task.result(), Proposal):
                taken.append(result)
            return None

    compactor = Taking(play.history, play.policy, PlainHost((ExtractiveSummariser(play.text.count),)))
    try:
        compactor.start("headless")
    except CompactionRefused:
        return None
    await compactor.finish()
    return taken[0] if taken else None


def _folds_agree(play: Play, opened: SessionHistory) -> bool:
    """Whether replaying the log gives both live views; ``opened`` was read from the disk just now."""
    heads = list(play.store.heads(play.session))
    seen = [head for head in heads if head.seq <= play.published[-1].seq]
    return fold_agent_view(heads) == opened.view and fold_user_view(seen) == play.shown


@contextmanager
def failing_at(place: int, error: BaseException) -> Iterator[None]:
    """Raise at the n-th write: of a file, of its name, and before, in and after a transaction."""
    left = [place]
    rename, append_many, change = os.replace, SqliteStore.append_many, SqliteStore._change

    def step() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise error

    def dying_fsync(_file: int) -> None:
        step()

    def dying_rename(*names: Any, **folders: Any) -> None:
        step()
        rename(*names, **folders)

    def dying_append(self: SqliteStore, *events: Any) -> list[Record]:
        step()
        records = append_many(self, *events)
        step()
        return records

    def dying_change(self: SqliteStore, work: Callable[[Any], Any], session: str = "") -> Any:
        def dying_work(db: Any) -> Any:
            result = work(db)
            step()
            return result

        return change(self, dying_work, session)

    with (
        patch.object(os, "fsync", dying_fsync),
        patch.object(os, "replace", dying_rename),
        patch.object(SqliteStore, "append_many", dying_append),
        patch.object(SqliteStore, "_change", dying_change),
    ):
        yield
