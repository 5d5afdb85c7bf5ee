"""What is done with marked messages: copied, pinned, archived, moved to files."""

import asyncio
from collections.abc import Sequence
from typing import Any, get_args

from textual.app import App

from tui_app.conversation.work import Pin, Relieve
from tui_app.log_numbers import log_number
from tui_app.session.entries import Entry
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.copying import Format, copied
from tui_app.ui.format import count
from tui_app.ui.widgets.transcript import Wish

NO_ANSWER = "There is no answer to copy yet."
USAGE = "/copy takes text, code or markdown, and a message: 2 for the answer before the last, #12 for one."
PINNABLE = ("user", "assistant", "tool")


async def act_on(app: App[Any], session: ChatSession, wanted: Wish, entries: Sequence[Entry]) -> None:
    """Do what a person wants with the entries that are marked."""
    match wanted:
        case "pin":
            pin_all(session, entries)
        case "archive" | "offload":
            results = [entry.message for entry in entries if entry.kind == "tool" and entry.result_seq]
            if results:
                first, *others = (entry.message for entry in entries)
                session.submit(Relieve(first, wanted, tuple(others)))
            else:
                session.say(f"Only results of tools can be {wanted}{'d' if wanted[-1] == 'e' else 'ed'}.")
        case _:
            await copy(app, session, entries, wanted)


def pin_all(session: ChatSession, entries: Sequence[Entry]) -> None:
    """Pin messages; where all of them are pinned, take their pins away."""
    messages = [entry for entry in entries if entry.kind in PINNABLE]
    pinned = any(not entry.pinned for entry in messages)
    changed = [entry for entry in messages if entry.pinned is not pinned]
    asked = [session.submit(Pin(entry.message, pinned)) for entry in changed]
    if not messages:
        session.say("Only prompts, answers and results of tools can be pinned.")
    elif all(asked):
        numbers = " ".join(f"#{entry.message}" for entry in changed[:5])
        more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
        session.say(f"{'Pinned' if pinned else 'Unpinned'} {numbers}{more}")


async def copy(app: App[Any], session: ChatSession, entries: Sequence[Entry], form: Format) -> None:
    """Put messages on the clipboard (OSC 52, where the terminal takes it)."""
    bodies = await session.bodies.read(entries)
    text = await asyncio.to_thread(copied, list(zip(entries, bodies, strict=True)), form)
    if not text:
        which = "this message" if len(entries) == 1 else f"these {len(entries)} messages"
        session.say(f"There is no code block in {which}." if form == "code" else "There is no text in it.")
        return
    app.copy_to_clipboard(text)
    lines = text.count("\n") + 1
    counted = count(lines, "line")
    separator = session.glyphs.separator
    session.say(
        f"Copied {len(entries)} messages {separator} {counted}" if len(entries) > 1 else f"Copied {counted}."
    )


async def copy_message(app: App[Any], session: ChatSession, argument: str) -> None:
    """Copy the last answer, one before it, or a message by its number; as Markdown unless told otherwise."""
    words = argument.lower().split()
    form: Format = "markdown"
    for known in get_args(Format):
        if words and words[0] == known:
            form = known
            words = words[1:]
    answers = [entry for entry in session.presenter.view.entries if entry.kind == "assistant" and entry.chars]
    wanted = words[0] if words else "1"
    number = log_number(wanted)
    if len(words) > 1 or number is None:
        session.say(USAGE)
        return
    if wanted.startswith("#"):
        entry = entry_of(session, number)
    else:
        entry = answers[-number] if 0 < number <= len(answers) else None
    if entry is not None:
        await copy(app, session, [entry], form)
    elif wanted.startswith("#"):
        session.say(f"There is no message {wanted}.")
    else:
        session.say(_too_far_back(number, len(answers)) if answers else NO_ANSWER)


def _too_far_back(number: int, answers: int) -> str:
    """Why there is no such answer, counted from the newest, and what the number may have been meant for."""
    if number == 0:
        return USAGE
    has = f"There {'is' if answers == 1 else 'are'} only {count(answers, 'answer')}."
    return f"{has} /copy #{number} copies the message with that number."


def entry_of(session: ChatSession, number: int) -> Entry | None:
    """The row of a message, by its own log number or that of the call it answers."""
    entries = reversed(session.presenter.view.entries)
    return next((entry for entry in entries if number in (entry.seq, entry.message)), None)
