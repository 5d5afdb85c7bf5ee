"""A run of ``plimsoll``: the screen or a command. Every failure ends in a sentence."""

import logging
import os
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui_app.cli.core.command import OK, USAGE, CommandFailed, Program, WrongUsage, need_screen, place_of
from tui_app.cli.core.options import COMMANDS, load_command, parse, screen_parser
from tui_app.cli.core.output import abandon_stdout, flush, prepare_streams, tell
from tui_app.paths import Paths
from tui_app.system.program_log import logging_to
from tui_app.ui.words.text import one_line

if TYPE_CHECKING:
    from tui_app.session.stores.store import SessionInfo

NO_SESSIONS = "There is no session to continue yet. Start one with: plimsoll"
_PATH_CELLS = 200
"""Cells of a folder's name that are shown."""


def execute(argv: Sequence[str]) -> int:
    """Run what the arguments ask for.

    Args:
        argv: Arguments without the program's name.

    Returns:
        The exit code.

    Raises:
        SystemExit: after help, the version, or an invalid argument.
        Exception: any failure of the command.
    """
    if argv and argv[0] in COMMANDS:
        command = load_command(argv[0])
        args = parse(command, argv[1:])
        args.argv = argv[1:]
        return _logged(command.execute, command.name, args)
    args = screen_parser().parse_args(argv)
    if args.path and not Path(args.path).exists():
        from difflib import get_close_matches

        # A misspelled command looks like a missing folder.
        if close := get_close_matches(args.path, COMMANDS, n=1):
            raise WrongUsage(f"There is no command or folder {args.path}. Did you mean: plimsoll {close[0]}?")
    return _logged(show_screen, "screen", args)


def _logged(work: Callable[[Program, Namespace], int | None], part: str, args: Namespace) -> int:
    """Run the work with library warnings going to the log instead of the terminal."""
    # The folder first: it is needed to resolve a relative home.
    cwd = _current_folder(os.environ)
    program = Program(env=os.environ, paths=Paths.from_env(os.environ), cwd=cwd)
    with logging_to(program.paths.log_file, part):
        return work(program, args) or OK


def show_screen(program: Program, args: Namespace) -> int:
    """Show the screen until the user leaves."""
    flags = {"policy": args.policy, "plain": args.plain, "read_only": args.read_only, "mode": args.mode}
    settings = program.settings(**flags)
    cwd = program.folder(args.path)
    need_screen(program.env, 'plimsoll run "…"')
    session = begun = ""
    if args.resume or args.latest:
        if not args.resume and not program.has_sessions:
            raise CommandFailed(NO_SESSIONS)
        with program.sessions() as store:
            info = store.info(args.resume) if args.resume else latest_session(store.sessions(), cwd)
        session, begun = info.id, info.cwd
    elif args.resume is not None and args.worktree is not None:
        raise WrongUsage("--worktree is for new sessions. Without an id, --resume lists those there are.")
    if args.path is None or not session:
        cwd = place_of(program, cwd, args, begun)
    begins = not session and args.resume is None
    paths, notice = program.paths.writable() if begins else (program.paths, "")
    # Imported here: the checks above must answer at once.
    from tui_app.ui.launch import Launch
    from tui_app.ui.run import run_app

    launch = Launch(
        settings=settings,
        paths=paths,
        env=program.env,
        cwd=cwd,
        session=session,
        model=args.model or "",
        policy=args.policy or "",
        effort=args.effort or "",
        mode=args.mode,
        agent=args.agent,
        flags={**flags, "model": args.model},
        pick_session=args.resume == "",
        trust=args.trust,
        add_dirs=program.folders(args.add_dir),
        notice=notice,
    )
    return run_app(launch)


def latest_session(sessions: "list[SessionInfo]", cwd: Path) -> "SessionInfo":
    """Return the session used last in a folder, or else anywhere.

    Args:
        sessions: All sessions, most recently used first.
        cwd: The folder.

    Raises:
        CommandFailed: if there is none with any message.
    """
    used = [info for info in sessions if info.messages]
    here = [info for info in used if info.cwd == str(cwd)]
    if not used:
        raise CommandFailed(NO_SESSIONS)
    return (here or used)[0]


def _current_folder(env: Mapping[str, str]) -> Path:
    """Return the current folder.

    Raises:
        CommandFailed: if it no longer exists, or cannot be accessed.
    """
    try:
        return Path.cwd()
    except FileNotFoundError:
        # The shell remembers its path; if that exists, it is another folder.
        name = env.get("PWD", "")
        called = f", {one_line(name, _PATH_CELLS)}," if name and not os.path.lexists(name) else ""
        what = f"The current folder{called} is gone: it was deleted, moved or unmounted."
    except OSError as error:
        what = f"The current folder cannot be used: {error.strerror or error}."
    raise CommandFailed(f"{what} Change to another folder (cd ~), then try again.")


def run(argv: Sequence[str]) -> int:
    """Run one command, or the screen.

    Args:
        argv: Arguments without the program's name.

    Returns:
        The exit code: 0 success, 1 failure, 2 wrong usage, 128 plus its number after a signal.

    Raises:
        KeyboardInterrupt: after ctrl+c.
    """
    prepare_streams()
    # Log records without a handler are dropped: stderr is for sentences.
    logging.lastResort = None
    # Otherwise a failing handler prints a traceback, and a logger without one a warning.
    logging.raiseExceptions = False
    try:
        code = execute(argv)
        flush()
    except SystemExit as stop:
        # The parser exits for help and for wrong arguments.
        try:
            flush()
        except BrokenPipeError:
            abandon_stdout()
        return stop.code if isinstance(stop.code, int) else USAGE
    except BrokenPipeError:
        # The reader of our output stopped, for example ``head``.
        abandon_stdout()
        return OK
    except Exception as error:  # everything else must end in a sentence, never in a traceback
        # Imported here: needed only after a failure.
        from tui_app.cli.core.failures import explain

        text, code = explain(error, os.environ)
        tell(text)
    return code
