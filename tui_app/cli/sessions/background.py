"""``plimsoll attach``, ``plimsoll stop`` and the background part of ``plimsoll run --background``."""

import argparse
import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tui_app.cli.core.command import FAILED, OK, CommandFailed, Program, WrongUsage
from tui_app.cli.core.options import screen_parser
from tui_app.cli.core.output import flush, print_json, say, tell
from tui_app.cli.core.stdin import is_piped
from tui_app.cli.program import show_screen
from tui_app.session.background import (
    HAND_OVER,
    BackgroundState,
    StartFailed,
    background_state,
    begin,
    standings_of,
    stop,
)
from tui_app.session.lock import WriterLock, holder_process
from tui_app.session.workspace import SessionFolder

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.conversation.background import Background
    from tui_app.conversation.work import Work

Outcome = Literal["done", "failed", "stopped"]
NONE_LEFT = "No session was left in the background. To leave one: /detach, or plimsoll run --background"


def attach(program: Program, args: argparse.Namespace) -> int:
    """Show the screen with a background session."""
    left = [] if args.id else [*standings(program)]
    if not args.id and len(left) != 1:
        raise CommandFailed(f"Which one? plimsoll attach {' or '.join(left)}" if left else NONE_LEFT)
    with program.sessions() as store:
        info = store.info(args.id or left[0])
    folder = [info.cwd] if Path(info.cwd).is_dir() else []
    return show_screen(program, screen_parser().parse_args(["--resume", info.id, *folder]))


def stop_sessions(program: Program, args: argparse.Namespace) -> int:
    """Stop background sessions. Their logs and queued prompts are kept."""
    if bool(args.id) is args.all:
        raise WrongUsage("Which one? plimsoll stop ID, or --all")
    ids: list[str] = []
    if args.id or program.has_sessions:
        with program.sessions() as store:
            infos = store.sessions() if args.all else [store.info(each) for each in args.id]
            ids = list(dict.fromkeys(info.id for info in infos))
    locks = {each: SessionFolder.named(program.paths.sessions_dir, each).background_lock for each in ids}
    found = stop(locks.values())
    stopped = [each for each in ids if locks[each] in found]
    running = [each for each in ids if each not in stopped and holder_process(locks[each])]
    idle = [] if args.all else [each for each in ids if each not in (*stopped, *running)]
    if args.json:
        print_json({"stopped": stopped, "running": running, "idle": idle})
        return FAILED if running else OK
    for each in stopped:
        say(f"Stopped {each}.")
    for each in running:
        tell(f"{each} still runs: process {holder_process(locks[each])} could not be stopped from here.")
    for each in idle:
        tell(f"{each} does not run in the background.")
    if args.all and not stopped and not running:
        tell("Nothing runs in the background.")
    return FAILED if running else OK


def standings(program: Program) -> dict[str, BackgroundState]:
    """Return the states of the background sessions, by id."""
    if not program.has_sessions:
        return {}
    with program.sessions() as store:
        return standings_of(store, program.paths.sessions_dir, store.sessions())


def leave_running(program: Program, args: argparse.Namespace) -> int:
    """Start ``run`` in a background process, and print the id of its session.

    Raises:
        WrongUsage: if it would print an answer for which there is no reader.
    """
    if args.schema:
        raise WrongUsage("--background prints no answer, so --schema is not for it.")
    end = args.argv.index("--") if "--" in args.argv else len(args.argv)
    words = [word for word in args.argv[:end] if word not in ("--background", "--json")]
    words += args.argv[end:]
    stdin = subprocess.DEVNULL
    with suppress(OSError, ValueError, AttributeError):  # closed, or no system file
        stdin = stdin if sys.stdin.isatty() else sys.stdin.fileno()
    try:
        session, output = begin(words, cwd=program.cwd, env=program.env, stdin=stdin)
    except StartFailed as failed:
        tell(str(failed))
        return failed.code
    if output:
        tell(output)
    if args.json:
        print_json({"session": session})
    else:
        say(session)
        tell(f"It runs in the background. Back to it: plimsoll attach {session}")
        tell(f"Stop it: plimsoll stop {session}")
    return OK


def place_of_run(args: argparse.Namespace) -> "Foreground":
    """Return where a run takes place.

    Raises:
        WrongUsage: if there is nothing to do in the background.
    """
    if not args.in_background:
        return FOREGROUND
    goes_on = args.prompt is None and not args.goal and not is_piped()
    if goes_on and not args.session:
        raise WrongUsage("Say what to do: plimsoll run --background PROMPT")
    return BackgroundRun(goes_on)


class Foreground:
    """Actions around a turn in the foreground: only starting it."""

    is_background = goes_on = False

    def enter(self, opened: "OpenSession") -> None:
        """Called first, when the session is open."""

    def begin(self, opened: "OpenSession", work: "Work") -> None:
        """Start the work."""
        opened.conversation.submit(work)

    async def finish(self, opened: "OpenSession", outcome: Outcome) -> None:
        """Called before the session is closed."""

    def release(self) -> None:
        """Called after the session is closed."""


FOREGROUND = Foreground()


class BackgroundRun(Foreground):
    """Actions around a turn in the background: it can be handed over, and records its end.

    Args:
        goes_on: Whether it continues what was left, instead of a prompt of its own.
    """

    is_background = True

    def __init__(self, goes_on: bool) -> None:
        self.goes_on = goes_on
        self._lock: WriterLock | None = None
        self._begun = False

    def enter(self, opened: "OpenSession") -> None:
        """Take the lock that identifies it; from now on it can be asked to hand over.

        Raises:
            CommandFailed: if there is nothing to continue.
        """
        session, folder = opened.conversation.session, opened.folder
        if self.goes_on:
            state = background_state(opened.store, folder.path.parent, session)
            if state is None or not state.is_unfinished:
                raise CommandFailed(f"Nothing was left in {session}. Say what to do, behind --background.")
        opened.background.is_inside, opened.background.sends_held = True, self.goes_on
        if sys.platform != "win32":
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(HAND_OVER, opened.background.hand_over)
            # Its terminal is gone on purpose.
            loop.add_signal_handler(signal.SIGHUP, lambda: None)
        self._lock = WriterLock(folder.background_lock)

    def begin(self, opened: "OpenSession", work: "Work") -> None:
        """Print the session's id for the starter, close the output, and run the queued work."""
        if not self.goes_on:
            opened.conversation.submit(work)
        self._begun = True
        opened.background.write_down("left")
        say(opened.conversation.session)
        flush()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for each in (0, 1, 2):
            os.dup2(nowhere, each)
        os.close(nowhere)
        opened.conversation.resume_queue()

    async def finish(self, opened: "OpenSession", outcome: Outcome) -> None:
        """Record the outcome."""
        if not self._begun:
            return
        background: Background = opened.background
        if outcome == "stopped":
            opened.conversation.cancel()
            await opened.conversation.finish_work()
        background.write_down(background.step if background.turns.queue.is_left else outcome)

    def release(self) -> None:
        if self._lock is not None:
            self._lock.release()
