"""``plimsoll compact``: compact a session, see what it would do, or take it back."""

import argparse

from tui_app.cli.command import (
    Command,
    Program,
    add_json,
    add_model,
    add_policy,
    add_session,
    add_window,
)
from tui_app.cli.exits import WrongUsage


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_session(parser)
    parser.add_argument("--focus", metavar="T", default="", help="what the summary should keep above all")
    add_policy(parser)
    add_model(parser)
    add_window(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--dry-run", action="store_true", help="say what would be done; nothing is written")
    which.add_argument("--undo", action="store_true", help="take the newest compaction back")
    which.add_argument("--redo", action="store_true", help="let the compaction undone last stand again")
    add_json(parser)


def execute(program: Program, args: argparse.Namespace) -> int:
    """Do what the flags say."""
    if args.focus and (args.undo or args.redo):
        raise WrongUsage("--focus says what a new summary should keep; it does not go with --undo or --redo.")
    settings = program.settings(window=args.window, policy=args.policy)
    with program.sessions() as store:
        session = store.info(args.id).id
    # The agent side takes a second to load: only for those who need it.
    from tui_app.cli.compacting import compact, dry_run, restate
    from tui_app.cli.signals import run_until_signal
    from tui_app.conversation.request import Opening

    opening = Opening(
        settings=settings,
        paths=program.paths,
        env=program.env,
        cwd=program.cwd,
        session=session,
        model=args.model or "",
        policy=args.policy or "",
        passing=True,
    )
    if args.dry_run:
        return run_until_signal(dry_run(opening, args.focus, as_json=args.json))
    if args.undo or args.redo:
        return run_until_signal(restate(opening, undo=args.undo, as_json=args.json))
    return run_until_signal(compact(opening, args.focus, as_json=args.json))


COMMAND = Command(
    name="compact",
    usage="ID",
    summary="Compact a session, or take a compaction back.",
    configure=configure,
    execute=execute,
)
