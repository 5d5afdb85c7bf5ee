"""``plimsoll compact``: compact a session, see what it would do, or take it back."""

import argparse
import sys

from tui_app.cli.command import (
    Command,
    CommandFailed,
    Program,
    WrongUsage,
    add_json,
    add_model,
    add_policy,
    add_session,
    add_window,
)
from tui_app.context.compaction_range import Span
from tui_app.references import log_number


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_session(parser)
    parser.add_argument("--focus", metavar="T", default="", help="what the summary should keep above all")
    _add_end(parser, "--from", "first", "replace only what was said from this message on")
    _add_end(parser, "--up-to", "last", "replace only what was said up to this message")
    add_policy(parser)
    add_model(parser)
    add_window(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--dry-run", action="store_true", help="say what would be done; nothing is written")
    which.add_argument("--undo", action="store_true", help="take the newest compaction back")
    which.add_argument("--redo", action="store_true", help="let the compaction undone last stand again")
    which.add_argument(
        "--edit-summary",
        metavar="FILE",
        default="",
        help="give the newest summary the words of a file; - reads stdin",
    )
    add_json(parser)


def _add_end(parser: argparse.ArgumentParser, flag: str, name: str, text: str) -> None:
    parser.add_argument(
        flag, dest=name, metavar="N", type=_handle, default=0, help=f"{text}; #N as in exports"
    )


def _handle(text: str) -> int:
    """The number of a message, with or without its sign."""
    number = log_number(text)
    if not number:
        raise argparse.ArgumentTypeError(f"{text:.40}; allowed: the number of a message, such as 12 or #12")
    return number


def execute(program: Program, args: argparse.Namespace) -> int:
    """Do what the flags say."""
    span = Span(args.first, args.last)
    _check(args, span)
    settings = program.settings(window=args.window, policy=args.policy)
    with program.sessions() as store:
        session = store.info(args.id).id
    # The agent side takes a second to load: only for those who need it.
    from tui_app.cli.command import run_until_signal
    from tui_app.cli.compaction import compact, dry_run, edit_summary, restate
    from tui_app.conversation.open_request import Opening

    opening = Opening(
        settings=settings,
        paths=program.paths,
        env=program.env,
        keys=program.keys,
        cwd=program.cwd,
        session=session,
        model=args.model or "",
        policy=args.policy or "",
        passing=True,
    )
    if args.dry_run:
        return run_until_signal(dry_run(opening, args.focus, span, as_json=args.json))
    if args.edit_summary:
        return run_until_signal(edit_summary(opening, _words(program, args.edit_summary), as_json=args.json))
    if args.undo or args.redo:
        return run_until_signal(restate(opening, undo=args.undo, as_json=args.json))
    return run_until_signal(compact(opening, args.focus, span, as_json=args.json))


def _words(program: Program, name: str) -> str:
    """The text of a file, or of what is piped in.

    Raises:
        CommandFailed: if it cannot be read.
    """
    try:
        return sys.stdin.read() if name == "-" else (program.cwd / name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise CommandFailed(f"{name} is not UTF-8 text. Nothing changed.") from None
    except OSError as error:
        raise CommandFailed(f"{name} cannot be read: {error.strerror or error}. Nothing changed.") from None


def _check(args: argparse.Namespace, span: Span) -> None:
    """Refuse flags that do not go together."""
    if (args.focus or span.named) and (args.undo or args.redo or args.edit_summary):
        wrong = (
            "--focus says what a new summary should keep" if args.focus else "--from and --up-to name a part"
        )
        raise WrongUsage(f"{wrong}; it does not go with --undo, --redo or --edit-summary.")
    if span.last and span.first > span.last:
        raise WrongUsage(f"--from {span.first} comes behind --up-to {span.last}: nothing lies between them.")


COMMAND = Command(
    name="compact",
    usage="ID",
    summary="Compact a session, or take a compaction back.",
    configure=configure,
    execute=execute,
)
