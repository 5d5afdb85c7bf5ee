"""Actions on rows of the conversation: open with details, undo, copy, compact."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from tui_app.conversation.work import Compact, Restore
from tui_app.events import CompactionComplete, CompactionEdited, Error, Record
from tui_app.session.figures.compaction_diff import Difference, compaction_diff
from tui_app.session.figures.passages import passages
from tui_app.session.preview import why_no_record
from tui_app.session.stores.database import Database, open_store
from tui_app.session.views.entries import Entry
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.actions import part_of, undo
from tui_app.ui.dialogs.compaction import CompactionDetail, CompactionView
from tui_app.ui.dialogs.details import DetailsScreen, file_text, unchanged_text
from tui_app.ui.dialogs.message import MessageFacts, MessageScreen
from tui_app.ui.dialogs.message_actions import act_on, full_text
from tui_app.ui.dialogs.sent import reader_of
from tui_app.ui.transcript.transcript import Transcript
from tui_app.ui.words.reports import read_audit
from tui_app.ui.words.sub_agent_report import read_sub_agent, said_at, sub_agent_text

if TYPE_CHECKING:
    from tui_app.ui.host import Chat, Host


async def open_entry(app: "Host", session: ChatSession, entry: Entry) -> None:
    record = await session.bodies.record(entry.seq)
    if record is None:
        why = await asyncio.to_thread(why_no_record, session.launch.database, session.id, entry.seq)
        session.reply(f"This row cannot be read. {why}")
        return
    match record.data:
        case CompactionComplete(outcome="success"):
            await _compaction(app, session, entry, record)
        case CompactionComplete() as done:
            report = unchanged_text(done, session.presenter.state.keymap)
            await app.push_screen_wait(DetailsScreen("Compaction", report))
        case Error(message=message, hint=hint, actions=actions, detail=detail):
            hint = session.presenter.state.worded(hint, *actions)
            text = "\n\n".join(part for part in (message, hint, detail) if part)
            await app.push_screen_wait(DetailsScreen("What went wrong", text))
        case _:
            await _message(app, session, entry)


async def _message(app: "Host", session: ChatSession, entry: Entry) -> None:
    seen = session.presenter.agent_view.seen_of(entry.message)
    database = session.launch.database
    numbers = (seen.head.form[0], seen.hidden_by) if seen is not None else ()
    pairs = await asyncio.to_thread(read_events, database, session.id, numbers)
    events = tuple(record for record, _ in pairs)

    async def text() -> str:
        body = (await session.bodies.read([entry]))[0]
        if entry.used or entry.calls or entry.at_work:
            done = await asyncio.to_thread(read_sub_agent, database, session.id, entry.seq)
            return f"{sub_agent_text(done)}\n\n{body.text}"
        return await asyncio.to_thread(full_text, body)

    facts = MessageFacts(
        entry=entry,
        seen=seen,
        events=events,
        scale=session.state.scale,
        read=text,
        read_raw=partial(asyncio.to_thread, read_json, database, session.id, (entry.seq, entry.result_seq)),
        can_change=not session.read_only,
    )
    match await app.push_screen_wait(MessageScreen(facts)):
        case "pin" | "exclude" as action:
            await act_on(app, session, action, [entry])
        case "restore":
            session.submit(Restore(facts.stage))
        case "rewind":
            app.chat.action_slash(f"/rewind #{entry.seq}")
        case "fork" | "branch" as way:
            app.chat.action_slash(f"/{way} #{entry.seq}")


def read_events(database: Database, session: str, numbers: Sequence[int]) -> list[tuple[Record, str | None]]:
    """Read events by log number, with the messages they carry; missing ones are left out."""
    with closing(open_store(database, read_only=True)) as store:
        found = [(store.record(session, seq), store.message(session, seq)) for seq in numbers if seq > 0]
    return [(record, message) for record, message in found if record is not None]


def read_json(database: Database, session: str, numbers: Sequence[int]) -> str:
    """Return events as stored, each with the message it carries, as readable JSON."""
    events = read_events(database, session, numbers)
    shown = [
        {**record.to_json(), **({"message": json.loads(message)} if message else {})}
        for record, message in events
    ]
    return "\n\n".join(json.dumps(each, indent=2, ensure_ascii=False) for each in shown)


async def _compaction(app: "Host", session: ChatSession, entry: Entry, record: Record) -> None:
    written = record.data
    assert isinstance(written, CompactionComplete)
    agent_view = session.presenter.agent_view
    active, undone = agent_view.compactions, agent_view.undone
    done = await as_worded(session, written, entry.seq)
    shown = any(head.seq == entry.seq for head in agent_view.visible())
    edits = agent_view.edits.get(entry.seq)
    number = edits[-1] if edits else entry.seq
    events = await asyncio.to_thread(read_events, session.launch.database, session.id, (number,))
    audit = partial(read_audit, session.launch.database, session.id, entry.seq)

    def diff() -> list[Difference]:
        with closing(open_store(session.launch.database, read_only=True)) as store:
            return compaction_diff(store.heads(session.id), entry.seq)

    view = CompactionView(
        done=done,
        seq=entry.seq,
        time=record.time,
        undone=entry.state == "undone",
        can_undo=not session.read_only and entry.seq in (*active[-1:], *undone[-1:]),
        can_edit=not session.read_only and shown and done.performed_by != "provider",
        original=written.summary if done is not written else "",
        passages=passages(events[0][1]) if events else (),
        diff=diff,
        audit=audit if done.performed_by == "provider" and done.outcome == "success" else None,
        checkpoint_text=lambda: read_checkpoint(done),
        scale=session.state.scale,
        said=said_at(session.presenter.view.entries),
        read=reader_of(session),
    )
    answer = await app.push_screen_wait(CompactionDetail(view))
    if isinstance(answer, int):
        session.presenter.jump_to(answer)
    elif answer is not None:
        session.submit(answer)


async def as_worded(session: ChatSession, done: CompactionComplete, seq: int) -> CompactionComplete:
    """Return a compaction with the current text of its summary, and the facts that this text keeps."""
    edits = session.presenter.agent_view.edits.get(seq)
    record = await session.bodies.record(edits[-1]) if edits else None
    if record is None or not isinstance(record.data, CompactionEdited):
        return done
    edit = record.data
    return replace(done, summary=edit.summary, facts=edit.facts, retention=edit.retention)


def read_checkpoint(done: CompactionComplete) -> str:
    """Return a checkpoint file's text; if it is unreadable, the reason and the summary from the log."""
    return file_text(Path(done.checkpoint_path), instead=f"\n\nThe summary, from the log:\n\n{done.summary}")


def act_on_rows(chat: "Chat", event: Message) -> None:
    """Run a request on rows: show, undo, compact or another action."""
    assert isinstance(event, Transcript.Asked)
    app, session, entries = chat.app, chat.session, event.entries
    match event.wanted:
        case "nothing":
            session.reply(event.why_not)
        case "details":
            chat.work(app.type_ahead.during(partial(open_entry, app, session, entries[0])))
        case "undo" if entries[0].guard:
            chat.work(_lift(session, entries[0].guard), group="selection", exclusive=False)
        case "undo":
            undo(session, entries[0])
        case "up_to" | "from" as side:
            session.submit(Compact(span=part_of(entries[0], up_to=side == "up_to")))
        case wanted:
            chat.work(act_on(app, session, wanted, entries), group="selection", exclusive=False)


async def _lift(session: ChatSession, guard: int) -> None:
    if not await session.ask(lambda opened: opened.guards.lift(guard)):
        session.reply("This guard is already lifted.")
