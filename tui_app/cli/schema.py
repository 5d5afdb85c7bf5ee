"""``plimsoll schema``: the JSON Schema of the events, for programs that read them."""

import argparse
import json
from difflib import get_close_matches

from tui_app.cli.command import OK, Command, Program, WrongUsage, add_json
from tui_app.cli.output import print_json, say, say_table
from tui_app.events import BY_TYPE, PAYLOADS
from tui_app.events.schema import event_schema, events_schema, summary_of


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("type", metavar="TYPE", nargs="?", help="one event only, for example tool.call")
    parser.add_argument("--list", action="store_true", help="the events by name, one a line")
    add_json(parser)


def execute(program: Program, args: argparse.Namespace) -> int:
    """Print one schema: of all events, of one, or only what there is."""
    if args.list:
        if args.type:
            raise WrongUsage("--list names all events. For the schema of one: plimsoll schema TYPE")
        return list_events(as_json=args.json)
    if args.type and args.type not in BY_TYPE:
        close = get_close_matches(args.type, BY_TYPE, n=1)
        hint = f"Did you mean {close[0]}?" if close else "To see them all: plimsoll schema --list"
        raise WrongUsage(f"There is no event {args.type}. {hint}")
    schema = event_schema(args.type) if args.type else events_schema()
    if args.json:
        print_json(schema)
    else:
        say(json.dumps(schema, indent=2))
    return OK


def list_events(*, as_json: bool) -> int:
    """Print every event: its name, whether the log keeps it, and what it says."""
    if as_json:
        events = [
            {"type": payload.TYPE, "stored": payload.STORED, "summary": summary_of(payload)}
            for payload in PAYLOADS
        ]
        print_json({"events": events})
    else:
        say_table([(each.TYPE, "log" if each.STORED else "live", summary_of(each)) for each in PAYLOADS])
    return OK


COMMAND = Command(
    name="schema",
    usage="[TYPE]",
    summary="Print the JSON Schema of the events.",
    configure=configure,
    execute=execute,
)
