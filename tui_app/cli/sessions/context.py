"""``plimsoll context`` and ``exclude``: context usage of a session, and changes to single messages."""

import argparse
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_app.cli.core.command import OK, CommandFailed, Program
from tui_app.cli.core.opened_session import carry_out, notices_in, opened_session
from tui_app.cli.core.output import (
    answer,
    bar,
    print_json,
    print_table,
    say,
    sizes_json,
    speaks_unicode,
    tell,
)
from tui_app.cli.core.signals import run_until_signal
from tui_app.conversation.requests.open_request import Opening
from tui_app.conversation.work import Exclude, Pin, Relieve, Restore, Work
from tui_app.session.views.user_view import fold_user_view
from tui_app.ui.words import cost_words
from tui_app.ui.words import text as numbers
from tui_app.ui.words.cost_words import window_text
from tui_app.ui.words.load import BACKGROUND, BLOCKING
from tui_app.ui.words.text import one_line
from tui_app.usage import CATEGORIES, ContextUsage, percent_text

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.conversation.message_actions import Share

_BAR_CELLS = 30
_STEPS = ("pin", "unpin", "archive", "offload", "restore")
"""Actions on single messages before measuring, in this order."""


def execute(program: Program, args: argparse.Namespace) -> int:
    """Measure a session and print the breakdown. The session is only read unless an action is given."""
    settings = program.settings(window=args.window)
    return run_until_signal(_measure(program.opening(settings, args, program.session(args.id).id), args))


async def _measure(opening: Opening, args: argparse.Namespace) -> int:
    # Imported here: loading the agent side takes a second.
    from tui_app.conversation.inspection import inspect_session
    from tui_app.conversation.message_actions import on_scale
    from tui_app.session.figures.cache_forecast import forecast_cache

    if steps := [(name, number) for name in _STEPS for number in vars(args)[name]]:
        await steer(replace(opening, passing=True), steps)
    with closing(await inspect_session(opening)) as inspection:
        history, now = inspection.history, time.time()
        usage, model = history.usage(), history.model
        shares = on_scale(inspection.shares, usage.parts)
        cache = forecast_cache(history.store, history.session, model, usage, opening.settings, now=now)
    if inspection.unknown:
        tell(f"{inspection.unknown} Measured without it.")
    if args.json:
        # Tools by server, memory by file; the program's own tools count as a server.
        tools = {each.name: each.tokens for each in shares if each.category == "tools"}
        memory = {each.name: each.tokens for each in shares if each.category == "memory"}
        saved = {each.name: each.saved for each in shares if each.saved}
        by_source = {"tools_by_server": tools, "tools_saved_by_server": saved, "memory_by_source": memory}
        figures = {**usage.to_json(), **by_source, "cache": cache.to_json()}
        print_json({"session": opening.session, "model": model, **figures})
    else:
        plain = opening.settings.plain or not speaks_unicode()
        show_usage(usage, opening.session, model, plain=plain)
        show_shares(shares)
        if costs := cost_words.next_turn_text(cache, now):
            say()
            say(f"{costs[0].upper()}{costs[1:]}.")
    return OK


def execute_exclude(program: Program, args: argparse.Namespace) -> int:
    settings = program.settings(window=args.window)
    opening = replace(program.opening(settings, args, program.session(args.id).id), passing=True)
    return run_until_signal(_exclude(opening, args))


async def _exclude(opening: Opening, args: argparse.Namespace) -> int:
    """Exclude messages from the context, or include them again, and print the effect.

    Raises:
        CommandFailed: if one of them must stay; nothing has changed then.
    """
    async with opened_session(opening) as opened:
        await opened.prepare()
        conversation = opened.conversation
        before, view = conversation.usage, conversation.history.view
        was = set(view.excluded)
        seqs = tuple(_messages_of(opened, args.messages))
        records = await carry_out(opened, Exclude(seqs, excluded=not args.undo, turn=args.turn))
        if refused := notices_in(records):
            raise CommandFailed(refused[0])
        after, changed = conversation.usage, sorted(was ^ set(view.excluded))
    done = "included" if args.undo else "excluded"
    named = " ".join(f"#{seq}" for seq in changed)
    sizes = f"{numbers.tokens(before.total)} to {numbers.tokens(after.total)} tokens"
    answer(
        {"session": opening.session, done: changed, **sizes_json(before, after)},
        f"{done.capitalize()} {named}: {sizes}",
        as_json=args.json,
    )
    return OK


def _messages_of(opened: "OpenSession", seqs: Sequence[int]) -> list[int]:
    """Return the messages with these numbers; for a tool call, its result."""
    entries = fold_user_view(opened.store.heads(opened.conversation.session)).entries
    found = {entry.seq: entry.message for entry in entries}
    return [found.get(number, number) for number in seqs]


async def steer(opening: Opening, steps: Sequence[tuple[str, int]]) -> None:
    """Run actions one by one; each is an event of its own.

    Args:
        opening: The session.
        steps: Each action, with the number of the message or tool call.

    Raises:
        CommandFailed: at the first that fails; earlier ones stay.
    """
    async with opened_session(opening) as opened:
        await opened.prepare()
        for step, number in steps:
            [message] = _messages_of(opened, [number])
            records = await carry_out(opened, _work(opened, step, message))
            if refused := notices_in(records):
                raise CommandFailed(f"--{step} #{number}: {refused[0]}")


def _work(opened: "OpenSession", step: str, seq: int) -> Work:
    match step:
        case "pin" | "unpin":
            return Pin(seq, step == "pin")
        case "archive" | "offload":
            return Relieve(seq, step)
        case _:
            if why := opened.conversation.edits.outlook(seq).restore.refused:
                raise CommandFailed(f"--{step} #{seq}: {why}")
            heads = opened.conversation.history.view.visible()
            return Restore(next(head.form[0] for head in heads if head.seq == seq))


def show_usage(usage: ContextUsage, session: str, model: str, *, plain: bool = False) -> None:
    """Print a breakdown as text; its rows add up to the total."""
    window = usage.window
    about = "" if usage.exact else "~"
    share = percent_text(usage.total, window.stated, (BACKGROUND, BLOCKING))
    say(
        f"{session} for {model}: {share} of {window_text(window.stated)}, "
        f"{about}{numbers.tokens(usage.total)} tokens in {numbers.count(usage.messages, 'message')}"
    )
    say(f"The window is known from: {window.source}. Kept for the answer: {numbers.tokens(window.reserve)}.")
    if usage.total > window.stated:
        over = numbers.tokens(usage.total - window.stated)
        say(f"Over by {over}: the next request must get smaller.")
    elif usage.total > window.effective:
        say("No room is left besides the answer: the next request must get smaller.")
    say()
    parts = {name: int(getattr(usage.parts, name)) for name in CATEGORIES}
    parts["not measured"] = usage.unmeasured
    largest = max(1, *parts.values())
    rows = [
        (name.replace("_", " "), numbers.tokens(tokens), bar(tokens / largest, _BAR_CELLS, ascii_only=plain))
        for name, tokens in parts.items()
        if tokens
    ]
    print_table([*rows, ("total", numbers.tokens(usage.total), "")], right=(1,))


def show_shares(shares: Sequence["Share"]) -> None:
    """Print the parts of tool definitions and memory, if there is more than one."""
    if len(shares) > 1:
        say()
        rows = []
        for each in shares:
            saved = f"{numbers.tokens(each.saved)} saved" if each.saved else ""
            rows.append((each.category, one_line(each.name, 60), numbers.tokens(each.tokens), saved))
        print_table(rows, right=(2,))
