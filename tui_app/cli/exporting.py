"""``plimsoll export``: a session as a file for other programs or for reading."""

import argparse
import os
from pathlib import Path

from tui_app.cli.command import Command, Program, add_session
from tui_app.cli.exits import OK
from tui_app.cli.output import print_document, tell
from tui_app.conversation.exporting import FORMATS, VIEWS, export_session


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_session(parser)
    parser.add_argument("--format", choices=FORMATS, default="pydantic-ai", help="default: pydantic-ai")
    parser.add_argument(
        "--view",
        choices=VIEWS,
        default="user",
        help="user: everything that was ever said (default); agent: what the next request is built from",
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="-", help="write to a file instead of stdout"
    )


def execute(program: Program, args: argparse.Namespace) -> int:
    """Print the session or write it to a file."""
    with program.sessions() as store:
        session = store.info(args.id).id
        text = export_session(store, session, format=args.format, view=args.view)
    if args.output == "-":
        print_document(text)
        return OK
    data = text.encode("utf-8", "backslashreplace")
    write_private(Path(args.output), data)
    tell(f"Wrote {len(data):,} bytes to {args.output}")
    return OK


def write_private(path: Path, data: bytes) -> None:
    """Write a file that, when it is new, only its owner may read: it holds a conversation.

    Raises:
        OSError: if it cannot be written.
    """
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(file, "wb") as stream:
        stream.write(data)


COMMAND = Command(
    name="export",
    usage="ID",
    summary="Write a session as pydantic-ai messages or as Markdown.",
    configure=configure,
    execute=execute,
)
