"""The environment of commands, and the handling of arguments that several of them share."""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

from tui_app.api_keys import ApiKeys
from tui_app.cli.core.output import tell
from tui_app.conversation.requests.open_request import Opening
from tui_app.paths import Paths, from_home
from tui_app.records import frozen
from tui_app.session.stores.database import Database, database_of, log_exists, open_store
from tui_app.settings import Settings, WrongFlag, load_settings
from tui_app.settings.rules import Refused
from tui_app.settings.sources import stored_at
from tui_app.ui.words.text import one_line

if TYPE_CHECKING:
    from tui_app.events import GoalSet
    from tui_app.session.stores.store import SessionInfo, SessionStore

OK, FAILED, USAGE = 0, 1, 2
"""Exit codes that scripts rely on."""


class CommandFailed(Exception):
    """Raised when a command failed; the text is a sentence for the user."""


class WrongUsage(Exception):
    """Raised for arguments that are wrong or contradictory; the text is a sentence for the user."""


@frozen
class Program:
    """The environment of a command."""

    env: Mapping[str, str] = field(repr=False)
    paths: Paths
    cwd: Path

    def settings(self, **overrides: object) -> Settings:
        """Read the settings. Flags override file and environment; None is a flag that was not given.

        Raises:
            SettingsError: if a setting is wrong.
            WrongUsage: if a flag has a value unknown to the settings.
        """
        try:
            return load_settings(self.paths, self.env, overrides)
        except WrongFlag as wrong:
            raise WrongUsage(str(wrong)) from None

    @property
    def database(self) -> Database:
        """The database of the sessions.

        Raises:
            SettingsError: if its setting is wrong, or the settings file cannot be read.
        """
        return database_of(stored_at(self.paths, self.env), self.paths.database)

    @property
    def sessions_file(self) -> Path:
        """The sessions file on this machine.

        Raises:
            CommandFailed: if sessions are stored on a server.
        """
        if isinstance(self.database, Path):
            return self.database
        raise CommandFailed(
            "This works on a sessions file of this machine only; yours are kept on a server. "
            "Use the tools of PostgreSQL there."
        )

    @property
    def keys(self) -> ApiKeys:
        return ApiKeys(self.env, self.paths)

    @property
    def has_sessions(self) -> bool:
        """Whether the database has ever stored a session."""
        return log_exists(self.database)

    def opening(self, settings: Settings, args: argparse.Namespace, session: str = "") -> Opening:
        """Return parameters for opening or creating a session, from the shared flags."""
        return Opening(
            settings=settings,
            paths=self.paths,
            env=self.env,
            keys=self.keys,
            cwd=self.cwd,
            session=session,
            model=args.model or "",
            policy=getattr(args, "policy", "") or "",
            effort=getattr(args, "effort", "") or "",
            mode=getattr(args, "mode", None),
            agent=getattr(args, "agent", ""),
            trust=getattr(args, "trust", False),
            add_dirs=self.folders(getattr(args, "add_dir", ())),
        )

    def session(self, prefix: str) -> "SessionInfo":
        """Return the session with an id or id prefix."""
        with self.sessions() as store:
            return store.info(prefix)

    @contextmanager
    def sessions(self, *, writing: bool = False) -> "Iterator[SessionStore]":
        """Open the session store for a block.

        Args:
            writing: Create what is missing; otherwise nothing on disk changes.

        Raises:
            SessionNotFound: if nothing is to be written and there are no sessions.
            sqlite3.DatabaseError: if it cannot be used.
        """
        # Imported here: the screen of a new session starts without the log.
        from tui_app.session.stores.store import SessionNotFound

        if writing:
            self.paths.ensure()
        elif not self.has_sessions:
            raise SessionNotFound("There are no sessions yet. Start one with: plimsoll")
        store = open_store(self.database, read_only=not writing)
        try:
            yield store
        finally:
            store.close()

    def folder(self, path: str | None) -> Path:
        """Return the folder to work in: the given one, or else the current one.

        Raises:
            WrongUsage: if it is no folder.
        """
        if path is None:
            return self.cwd
        folder = (self.cwd / from_home(path)).resolve()
        if not folder.is_dir():
            raise WrongUsage(f"There is no folder {path}.")
        return folder

    def folders(self, paths: Sequence[str]) -> tuple[Path, ...]:
        """Return the additional folders to work in.

        Raises:
            WrongUsage: if one is no folder, or the whole disk.
        """
        found = tuple(self.folder(path) for path in paths)
        if Path("/") in found:
            raise WrongUsage("--add-dir / opens the whole disk. Name the folders that are needed.")
        return found


class Parser(argparse.ArgumentParser):
    """An argument parser that reports errors in one sentence."""

    def error(self, message: str) -> NoReturn:
        """Exit with the code for wrong usage.

        Raises:
            SystemExit: always.
        """
        sentence = message[:1].upper() + message[1:].rstrip(".")
        tell(f"{sentence}. See: {self.prog} --help")
        raise SystemExit(USAGE)


_BUDGET = ("check", "count", "turns", "tokens", "money")
"""How a goal is checked, and its limits."""


def read_goal(args: argparse.Namespace) -> "GoalSet | None":
    """Read the goal from the arguments; None if there is none.

    Raises:
        WrongUsage: if it cannot be checked, or a prompt is given too.
    """
    options = {name: value for name in _BUDGET if (value := getattr(args, name))}
    if not args.goal or args.goal == "off":
        if options:
            raise WrongUsage(f"--{next(iter(options))} is for --goal TEXT.")
        if args.goal and not args.session:
            raise WrongUsage("--goal off ends the goal of a session. Which one? --session ID")
        return None
    if args.prompt is not None:
        raise WrongUsage("The goal is the prompt: give either.")
    from tui_app.conversation.turns.goals import make_goal, refusal

    try:
        return make_goal(args.goal, options)
    except Refused as refused:
        raise WrongUsage(refusal(refused, "--goal")) from None


def place_of(program: Program, folder: Path, args: argparse.Namespace, session: str) -> Path:
    """Return the folder to work in: a worktree if one is requested or the session has one.

    Args:
        program: The environment of the command.
        folder: The given folder, or the current one.
        args: The arguments.
        session: The folder in which the session began; empty for a new one.

    Raises:
        CommandFailed: if the worktree cannot be made.
        WrongUsage: if one is requested for an existing session.
    """
    if args.worktree is None and not session:
        return folder
    from tui_app.system.worktrees import NoWorktree, is_in_worktree, worktree_folder

    if args.worktree is None:
        return Path(session) if is_in_worktree(Path(session)) else folder
    if session:
        raise WrongUsage("--worktree is for new sessions: one that works apart is resumed where it was.")
    try:
        return worktree_folder(folder, args.worktree, program.env)
    except NoWorktree as failed:
        raise CommandFailed(str(failed)) from None


def confirmed(question: str, unasked: str) -> bool:
    """Ask the user to type y.

    Args:
        question: The text shown.
        unasked: The error message if there is no terminal.

    Raises:
        WrongUsage: if there is no terminal.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        raise WrongUsage(unasked)
    tell(question)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def need_screen(env: Mapping[str, str], instead: str) -> None:
    """Refuse to show a screen if that is impossible.

    Args:
        env: The environment; a driver named there brings its own screen, for example a browser.
        instead: The alternative to suggest.

    Raises:
        CommandFailed: if there is no terminal, or it cannot position text.
    """
    if env.get("TEXTUAL_DRIVER"):
        return
    # Either of them may be the screen; the other may be redirected.
    if not _is_terminal(sys.stdin) or not (_is_terminal(sys.stderr) or _is_terminal(sys.stdout)):
        raise CommandFailed(f"The screen needs a terminal. In scripts, use: {instead}")
    if not _can_place_signs(kind := env.get("TERM", "")):
        raise CommandFailed(
            f"A terminal with TERM={one_line(kind, 40)} cannot show full screens. "
            f"Use: {instead}. Or set TERM to your terminal type, such as xterm-256color."
        )


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # the stream is closed
        return False


def _can_place_signs(kind: str) -> bool:
    """Return whether a terminal can position its cursor; assumed for unknown terminals."""
    if not kind or kind.startswith(("xterm", "tmux", "screen")):
        return True
    try:
        # Imported here: the common terminals are recognized above.
        import curses

        curses.setupterm(kind, 0)
        return curses.tigetstr("cup") is not None
    except (ImportError, ValueError, curses.error):
        return kind not in ("dumb", "unknown")


def writable(path: Path, flag: str, thing: str, is_one: Callable[[bytes], bool]) -> Path:
    """Check early that a result can be written, and replaces no other file.

    Args:
        path: The path given.
        flag: The flag that gave it.
        thing: Name of the result.
        is_one: Whether a file with this beginning is such a result, and may be replaced.

    Raises:
        CommandFailed: if the path is refused.
    """
    named = from_home(str(path)).absolute()
    target = named.resolve()
    # With redirected output, /dev/stdout is the file to which the rest is written.
    if named.parts[1:2] in (("dev",), ("proc",)):
        raise CommandFailed(f"{path} is not a file that a {thing} could be written to.")
    if not target.parent.is_dir():
        raise CommandFailed(f"{path}: there is no folder {target.parent}.")
    if target.exists() and not target.is_file():
        raise CommandFailed(f"{path} is not a file that a {thing} could be written to.")
    if not target.exists():
        return target
    try:
        with target.open("rb") as file:
            start = file.read(512).lstrip()
    except OSError:
        start = b"?"
    if start and not is_one(start):
        raise CommandFailed(f"{path} is no {thing}, so it was not replaced. Give {flag} another name.")
    return target
