"""``plimsoll why``: the receipt of each request of a session, and what broke the prompt cache."""

import argparse

from tui_app.cli.core.command import CommandFailed, Program
from tui_app.cli.core.output import answer
from tui_app.events import UsageInfo
from tui_app.ui.words.receipt_words import (
    HEADS,
    NONE_YET,
    RIGHT,
    lost_text,
    receipt_lines,
    receipt_row,
    total_text,
)
from tui_app.ui.words.text import table_lines
from tui_app.usage import CATEGORIES


def execute(program: Program, args: argparse.Namespace) -> None:
    """Print all receipts of a session, or the one for a log number; the session is only read.

    Raises:
        CommandFailed: if no request belongs to the number.
    """
    # Imported here: loading price lists takes a while.
    from tui_app.session.figures.receipts import lost_by_cause, read_receipts, receipt_of

    with program.sessions() as store:
        session = store.info(args.id).id
        found = read_receipts(store, session, program.settings())
        one = None if args.number is None else receipt_of(found, args.number)
        measured = store.record(session, one.asked) if one is not None and one.asked else None
    if args.number is not None and one is None:
        raise CommandFailed(
            f"No request of {session} belongs to #{args.number}. All of them: plimsoll why {session}"
        )
    sizes = measured.data.usage if measured is not None and isinstance(measured.data, UsageInfo) else {}
    lost, lines = lost_by_cause(found), [NONE_YET]
    if one is not None:
        lines = [*receipt_lines(one, sizes)]
    elif found:
        table = table_lines([HEADS, *map(receipt_row, found)], right=RIGHT)
        lines = [*table, "", total_text(found), *filter(None, [lost_text(lost)])]
    report = {
        "session": session,
        "cost_usd": round(sum(each.cost_usd or 0.0 for each in found), 6),
        "unpriced": sum(each.cost_usd is None for each in found),
        "lost_usd": {cause: round(usd, 6) for cause, usd in lost.items()},
        "requests": [each.to_json() for each in (found if one is None else [one])],
        "tokens": {name: int(sizes[name]) for name in CATEGORIES if sizes.get(name)},
    }
    answer(report, *lines, as_json=args.json)
