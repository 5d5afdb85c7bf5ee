"""``plimsoll export``: a session as a file."""

import argparse
import os
import sys
from pathlib import Path

from tui_app.cli.core.command import OK, CommandFailed, Program, WrongUsage
from tui_app.cli.core.output import print_document, tell
from tui_app.cli.core.progress_line import ProgressLine
from tui_app.session.exports.export import NoSuchView, export_session


def execute(program: Program, args: argparse.Namespace) -> int:
    target = None if args.output == "-" else Path(args.output)
    overwrite = target is not None and _may_overwrite(target, force=args.force)
    with program.sessions() as store:
        session = store.info(args.id).id
        try:
            # The document is complete before the first byte is written.
            with ProgressLine(f"Exporting session {session}"):
                text = export_session(
                    store, session, format=args.format, view=args.view, mask=not args.no_mask
                )
        except KeyboardInterrupt:
            tell("Stopped. Nothing was written.")
            raise
        except NoSuchView as error:
            raise WrongUsage(str(error)) from None
    if target is None:
        print_document(text)
        if args.no_mask:
            tell("Secrets are not masked in this export.")
        return OK
    data = text.encode("utf-8", "backslashreplace")
    write_private(target, data, overwrite=overwrite)
    secrets = "not masked" if args.no_mask else "masked"
    tell(f"Wrote {len(data):,} bytes to {args.output}. Secrets are {secrets}.")
    return OK


def _may_overwrite(path: Path, *, force: bool) -> bool:
    """Ask before a file is overwritten; without a terminal, refuse.

    Returns:
        Whether to overwrite; False if there is no such file.

    Raises:
        CommandFailed: if the file is kept.
    """
    if force or not path.is_file():
        return force
    if sys.stdin is not None and sys.stdin.isatty():
        tell(f"{path} exists already. Type y to overwrite it:")
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return True
        raise CommandFailed("Kept. Nothing was written.")
    raise CommandFailed(f"{path} exists already. Nothing was written. To overwrite it: --force")


def write_private(path: Path, data: bytes, *, overwrite: bool = False) -> None:
    """Write a file that only its owner may read, because it contains a conversation.

    Args:
        path: The file. Anything else, such as a device, is written directly.
        data: The content.
        overwrite: Replace an existing file, which stays complete until then.

    Raises:
        FileExistsError: if the file exists and may not be overwritten.
        OSError: if it cannot be written.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    path = path.resolve()
    target = path.with_name(f".{path.name}.{os.getpid()}.tmp") if overwrite else path
    file = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(data)
        if overwrite:
            target.replace(path)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
