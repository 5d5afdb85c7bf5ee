"""``plimsoll diff``: what a session changed in its folder, and a commit message for it."""

import argparse
from dataclasses import replace
from pathlib import Path

from tui_app.cli.command import (
    OK,
    Command,
    CommandFailed,
    Program,
    add_json,
    add_model,
    add_session,
    run_until_signal,
)
from tui_app.cli.failures import for_shell
from tui_app.cli.output import print_json, say, tell
from tui_app.conversation.open_request import Opening
from tui_app.ui.text import clean, count


def configure(parser: argparse.ArgumentParser) -> None:
    add_session(parser)
    parser.add_argument(
        "--message", action="store_true", help="propose a commit message for it; nothing is committed"
    )
    add_model(parser)
    add_json(parser)


def execute(program: Program, args: argparse.Namespace) -> int:
    """Print the diffs, in the folder that the session is about."""
    with program.sessions() as store:
        info = store.info(args.id)
    folder = Path(info.cwd)
    if not folder.is_dir():
        raise CommandFailed(f"The folder of this session, {info.cwd}, is no longer on this machine.")
    opening = program.opening(program.settings(), args, info.id)
    opening = replace(opening, cwd=folder, model=args.model or info.model)
    if args.message:
        return run_until_signal(_propose(opening, as_json=args.json))
    from tui_app.conversation.session_changes import session_changes

    with program.sessions() as store:
        changes = session_changes(opening, store)
    if args.json:
        files = [file.to_json() for file in changes.files]
        print_json({"session": opening.session, "files": files, "more": changes.more, "git": changes.problem})
        return OK
    for file in changes.files:
        say(clean(file.diff, keep_tabs=True) if file.diff else f"{clean(file.path)}: {file.note}")
    if changes.problem:
        tell(changes.problem)
    if changes.more:
        tell(f"{count(changes.more, 'more file')} not shown.")
    if not changes.files:
        tell("Nothing has changed.")
    return OK


async def _propose(opening: Opening, *, as_json: bool) -> int:
    from tui_app.conversation.session_changes import NoProposal, propose_message

    try:
        proposal = await propose_message(opening)
    except NoProposal as none:
        raise CommandFailed(for_shell(str(none))) from none
    if as_json:
        print_json({"session": opening.session, **proposal.to_json()})
        return OK
    say(proposal.text)
    if proposal.reason:
        tell(f"Written without a model: {proposal.reason}.")
    return OK


COMMANDS = (
    Command(
        name="diff",
        usage="ID",
        summary="Show what a session changed in its folder.",
        configure=configure,
        execute=execute,
    ),
)
