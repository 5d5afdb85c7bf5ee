"""Actions on marked messages: copy, exclude, pin, archive."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, get_args

from textual.app import App

from tui_app.conversation.work import Exclude, Pin, Relieve
from tui_app.references import log_number
from tui_app.refusals import Refusal
from tui_app.session.views.entries import Body, Entry
from tui_app.ui import clipboard
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.copies import Format, copied
from tui_app.ui.dialogs.list import ListDialog, ListSpec
from tui_app.ui.dialogs.questions import ChoiceDialog, Way
from tui_app.ui.transcript.excerpts import readable_args
from tui_app.ui.transcript.transcript import Wish
from tui_app.ui.widgets.tables import Column
from tui_app.ui.words.compaction_words import unmarked
from tui_app.ui.words.sub_agent_report import SAID_BY
from tui_app.ui.words.text import count

if TYPE_CHECKING:
    from tui_app.ui.host import Host

NO_ANSWER = "There is no answer to copy yet."

USAGE = "/copy takes text, code or markdown, and a message: 2 for the answer before the last, #12 for one."

PINNABLE = ("user", "assistant", "tool", "shell")


EXCLUDE_USAGE = (
    "/exclude takes numbers of messages, as in /exclude #12 #14; turn after them takes whole turns."
)

INCLUDE_USAGE = "/include takes numbers of excluded messages, as in /include #12 #14."


def full_text(body: Body) -> str:
    """Return a message's complete text, with the arguments first."""
    return "\n\n".join(filter(None, (readable_args(body.args), body.thinking, body.text)))


async def act_on(app: "Host", session: ChatSession, wish: Wish, entries: Sequence[Entry]) -> None:
    """Run an action on the marked entries."""
    match wish:
        case "pin":
            pin_all(session, entries)
        case "exclude":
            await exclude(app, session, entries)
        case "archive" | "offload":
            results = [entry.message for entry in entries if entry.kind == "tool" and entry.result_seq]
            if results:
                first, *others = (entry.message for entry in entries)
                session.submit(Relieve(first, wish, tuple(others)))
            else:
                session.reply(f"Only results of tools can be {wish}{'d' if wish[-1] == 'e' else 'ed'}.")
        case _:
            await copy(app, session, entries, wish)


def pin_all(session: ChatSession, entries: Sequence[Entry]) -> None:
    """Pin messages; if all of them are pinned, unpin them."""
    messages = [entry for entry in entries if entry.kind in PINNABLE]
    pinned = any(not entry.pinned for entry in messages)
    changed = [entry for entry in messages if entry.pinned is not pinned]
    asked = [session.submit(Pin(entry.message, pinned)) for entry in changed]
    if not messages:
        session.reply("Only prompts, answers and results of tools can be pinned.")
    elif all(asked):
        numbers = " ".join(f"#{entry.message}" for entry in changed[:5])
        more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
        session.reply(f"{'Pinned' if pinned else 'Unpinned'} {numbers}{more}")


async def exclude(app: "Host", session: ChatSession, entries: Sequence[Entry]) -> None:
    """Exclude messages from the model's view; if all are excluded, include them again.

    For a single prompt the user chooses whether to exclude its whole turn.
    """
    messages = [entry.message for entry in entries if entry.kind in PINNABLE]
    excluded = session.presenter.agent_view.excluded
    leaving = tuple(seq for seq in messages if seq not in excluded)
    if not messages:
        session.reply("Only prompts, answers and results of tools can be excluded.")
    elif not leaving:
        session.submit(Exclude(tuple(messages), excluded=False))
    elif after := _messages_after(session, leaving[0]) if len(entries) == 1 else 0:
        follow = f"{count(after, 'message')} that follow{'s' * (after == 1)}"
        ways = (
            Way("Turn", f"the prompt and the {follow} it", "turn"),
            Way("Prompt", "this message alone; what follows stays", "prompt"),
            Way("Cancel", "nothing changes"),
        )
        note = "The model no longer sees it. x on it, or /undo, brings it back."
        way = await app.push_screen_wait(
            ChoiceDialog(f"Exclude the whole turn of #{leaving[0]}?", ways, note)
        )
        if way is not None:
            session.submit(Exclude(leaving, turn=way == "turn"))
    else:
        session.submit(Exclude(leaving))


def _messages_after(session: ChatSession, seq: int) -> int:
    """Return the number of visible messages after a prompt in its turn; 0 for the newest, or no prompt."""
    after, newest = 0, True
    for seen in session.presenter.agent_view.newest_first():
        if seen.agent and seen.kind == "user":
            if seen.head.seq == seq:
                return 0 if newest else after
            after, newest = 0, False
        elif seen.agent and seen.user:
            after += 1
    return 0


class ExcludeScreen(ListDialog[Entry]):
    """Dismisses with the message to exclude or include, or ``None``."""

    def __init__(self, entries: Sequence[Entry], title: str, verb: str) -> None:
        spec = ListSpec[Entry](
            name="exclude",
            search="filter by number or words of the message",
            columns=(
                Column(lambda row: f"#{row.message}", 7, right=True),
                Column(lambda row: f"  {SAID_BY[row.kind]}", 10),
                Column(lambda row: unmarked(row.title) or "(calls tools)", tone=""),
                Column(lambda row: "excluded" if row.excluded else "", 10, snug=True),
            ),
            title=lambda _: title,
            note=lambda row: "It is excluded; enter brings it back." if row.excluded else _LEAVES,
            empty="No matching message.",
            enter=verb,
        )
        super().__init__(entries, spec)


_LEAVES = "The model no longer sees it. Of a prompt you are asked whether its whole turn goes."


async def exclude_by_number(app: "Host", session: ChatSession, argument: str, *, excluded: bool) -> None:
    """Run ``/exclude`` or ``/include``; without numbers, list the messages with theirs."""
    words = argument.lower().split()
    turn = excluded and words[-1:] == ["turn"]
    named = words[:-1] if turn else words
    numbers = [number for word in named if (number := log_number(word)) is not None]
    if not words:
        seen = {head.seq for head in session.presenter.agent_view.visible()}
        rows = [
            row
            for row in reversed(session.presenter.view.entries)
            if row.kind in PINNABLE and (row.excluded or (excluded and row.message in seen))
        ]
        if not rows:
            raise Refusal("Nothing is excluded. /exclude lists the messages with their numbers.")
        what = ("Exclude a message", "exclude or include") if excluded else ("Excluded", "include")
        if (row := await app.push_screen_wait(ExcludeScreen(rows, *what))) is not None:
            await exclude(app, session, [row])
    elif not numbers or len(numbers) < len(named):
        raise Refusal(EXCLUDE_USAGE if excluded else INCLUDE_USAGE)
    else:
        session.submit(Exclude(tuple(message_of(session, number) for number in numbers), excluded, turn))


async def copy(app: App[Any], session: ChatSession, entries: Sequence[Entry], form: Format) -> None:
    """Copy messages to the clipboard."""
    bodies = await session.bodies.read(entries)
    text = await asyncio.to_thread(copied, list(zip(entries, bodies, strict=True)), form)
    if not text:
        which = "this message" if len(entries) == 1 else f"these {len(entries)} messages"
        session.reply(f"There is no code block in {which}." if form == "code" else "There is no text in it.")
        return
    several = f"{len(entries)} messages · " if len(entries) > 1 else ""
    lines = count(text.count("\n") + 1, "line")
    session.reply(await clipboard.copy(app, text, f"{several}{lines}"))


async def copy_message(app: App[Any], session: ChatSession, argument: str) -> None:
    """Copy the last answer, an earlier one, or a message by number; by default as Markdown."""
    words = argument.lower().split()
    form: Format = next((known for known in get_args(Format) if words[:1] == [known]), "markdown")
    target, *more = (words[1:] if words[:1] == [form] else words) or ["1"]
    answers = [entry for entry in session.presenter.view.entries if entry.kind == "assistant" and entry.chars]
    number = log_number(target)
    if more or number is None or (answers and not number):
        raise Refusal(USAGE)
    if target.startswith("#"):
        if (entry := entry_of(session, number)) is None:
            raise Refusal(f"There is no message {target}.")
        await copy(app, session, [entry], form)
    elif 0 < number <= len(answers):
        await copy(app, session, [answers[-number]], form)
    elif answers:
        has = f"There {'is' if len(answers) == 1 else 'are'} only {count(len(answers), 'answer')}."
        raise Refusal(f"{has} /copy #{number} copies the message with that number.")
    else:
        raise Refusal(NO_ANSWER)


def message_of(session: ChatSession, number: int) -> int:
    """Return the log number of a message, given its own or that of the call it answers."""
    entry = entry_of(session, number)
    return entry.message if entry is not None else number


def entry_of(session: ChatSession, number: int) -> Entry | None:
    """Return the row of a message, given its own log number or that of the call it answers."""
    entries = reversed(session.presenter.view.entries)
    return next((entry for entry in entries if number in (entry.seq, entry.message)), None)
