"""Where a command runs, and what several of them do with their arguments."""

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
    """A command could not do what was asked; the text is a sentence for the user."""


class WrongUsage(Exception):
    """The arguments make no sense together; the text is a sentence for the user."""


@frozen
class Program:
    """Where a command runs."""

    env: Mapping[str, str] = field(repr=False)
    paths: Paths
    cwd: Path

    def settings(self, **overrides: object) -> Settings:
        """Read the settings; flags go over file and environment, None is a flag that was not given.

        Raises:
            SettingsError: if a setting is wrong.
            WrongUsage: if a flag names what the settings do not know.
        """
        try:
            return load_settings(self.paths, self.env, overrides)
        except WrongFlag as wrong:
            raise WrongUsage(str(wrong)) from None

    @property
    def database(self) -> Database:
        """Where sessions are kept.

        Raises:
            SettingsError: if the setting for it is wrong, or the settings file cannot be read.
        """
        return database_of(stored_at(self.paths, self.env), self.paths.database)

    @property
    def sessions_file(self) -> Path:
        """The file of this machine that sessions are kept in.

        Raises:
            CommandFailed: if they are kept on a server.
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
        """Whether sessions were ever kept where they are to be kept."""
        return log_exists(self.database)

    def opening(self, settings: Settings, args: argparse.Namespace, session: str = "") -> Opening:
        """What opens a session, or begins one, as the flags that commands share say."""
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

    def session(self, wanted: str) -> "SessionInfo":
        """The session with an id, or with one that begins so."""
        with self.sessions() as store:
            return store.info(wanted)

    @contextmanager
    def sessions(self, *, writing: bool = False) -> "Iterator[SessionStore]":
        """Open the log of all sessions for the length of a block.

        Args:
            writing: Create what is missing; without it nothing on disk changes.

        Raises:
            SessionNotFound: if nothing is to be written and no session was ever begun.
            sqlite3.DatabaseError: if it cannot be used.
        """
        # The screen of a new session starts without the log.
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
        """The folder to work in: the one named, else the current one.

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
        """Further folders to work in.

        Raises:
            WrongUsage: if one is no folder, or the whole disk.
        """
        found = tuple(self.folder(path) for path in paths)
        if Path("/") in found:
            raise WrongUsage("--add-dir / opens the whole disk. Name the folders that are needed.")
        return found


class Parser(argparse.ArgumentParser):
    """An argument parser that says what is wrong in one sentence."""

    def error(self, message: str) -> NoReturn:
        """End the program with the exit code for wrong usage.

        Raises:
            SystemExit: always.
        """
        sentence = message[:1].upper() + message[1:].rstrip(".")
        tell(f"{sentence}. See: {self.prog} --help")
        raise SystemExit(USAGE)


_BUDGET = ("check", "count", "turns", "tokens", "money")
"""What a goal is checked by, and what it may take."""


def read_goal(args: argparse.Namespace) -> "GoalSet | None":
    """The goal that is to be reached, if one is given.

    Raises:
        WrongUsage: if it cannot be checked, or a prompt is given beside it.
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
    """The folder to work in: a worktree where that is wanted, or where the session has worked apart.

    Args:
        program: Where the command runs.
        folder: The folder that was named, or the current one.
        args: With what is wanted.
        session: The folder that the session has begun in; empty for a new one.

    Raises:
        CommandFailed: if there can be no worktree.
        WrongUsage: if one is wanted for a session that has its place.
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
        question: What is shown.
        unasked: Why nothing is done without a terminal to ask in.

    Raises:
        WrongUsage: if there is no terminal.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        raise WrongUsage(unasked)
    tell(question)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def need_screen(env: Mapping[str, str], instead: str) -> None:
    """Refuse to show a screen where none can be.

    Args:
        env: The environment; a driver that it names brings its own screen, as a browser does.
        instead: What to use there.

    Raises:
        CommandFailed: if there is no terminal, or none that can place signs.
    """
    if env.get("TEXTUAL_DRIVER"):
        return
    # Either of them leads to the screen; the other may go to a file.
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
    except ValueError:  # it was closed
        return False


def _can_place_signs(kind: str) -> bool:
    """Whether a terminal can put its cursor anywhere; one that nobody has described is believed to."""
    if not kind or kind.startswith(("xterm", "tmux", "screen")):
        return True
    try:
        # Imported when it is needed: the usual terminals are known to.
        import curses

        curses.setupterm(kind, 0)
        return curses.tigetstr("cup") is not None
    except (ImportError, ValueError, curses.error):
        return kind not in ("dumb", "unknown")


def writable(path: Path, flag: str, thing: str, is_one: Callable[[bytes], bool]) -> Path:
    """Refuse at once what could not be written after minutes of work, or would destroy another file.

    Args:
        path: What was given.
        flag: Which flag named it.
        thing: What is to be written there.
        is_one: Whether a file that begins so is one already, and may be replaced.

    Raises:
        CommandFailed: if it is refused.
    """
    named = from_home(str(path)).absolute()
    target = named.resolve()
    # Where output is redirected, /dev/stdout is the very file that the rest is being written to.
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
