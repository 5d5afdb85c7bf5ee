"""``plimsoll stats``: what a session did and cost."""

import argparse

from tui_app.cli.command import OK, Command, CommandFailed, Program, add_json
from tui_app.cli.output import print_json, say
from tui_app.session.stats_reader import StatsReader
from tui_app.ui.stats_text import sections


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "id", metavar="ID", nargs="?", help="id of the session, or the beginning of it; default: the last one"
    )
    add_json(parser)


def execute(program: Program, args: argparse.Namespace) -> int:
    """Fold the log of a session into figures and print them; the session is only read."""
    with program.sessions() as store:
        if args.id is None and not (sessions := store.sessions()):
            raise CommandFailed("There are no sessions yet. Start one with: plimsoll")
        session = (store.info(args.id) if args.id is not None else sessions[0]).id
    stats = StatsReader(program.database, session).read()
    if args.json:
        print_json({"session": session, **stats.to_json()})
        return OK
    say(f"{session}")
    for section in sections(stats):
        say()
        say(section.title)
        for line in section.lines:
            say(f"  {line}")
    return OK


COMMAND = Command(
    name="stats",
    usage="[ID]",
    summary="Show what a session did and cost, and what was saved.",
    configure=configure,
    execute=execute,
)
