"""What a command is made of, and the arguments several of them share."""

import argparse
import asyncio
import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from tui_app.api_keys import ApiKeys
from tui_app.cli.output import tell
from tui_app.conversation.open_request import Opening
from tui_app.modes import ABOUT
from tui_app.paths import Paths, from_home
from tui_app.providers import OFFLINE_MODEL
from tui_app.records import frozen
from tui_app.session.database import Database, database_of, has_begun, open_store
from tui_app.settings import Settings, WrongFlag, load_settings
from tui_app.settings.rules import Refused, read_text, show
from tui_app.settings.sources import stored_at
from tui_app.settings.spec import EFFORTS, SETTINGS
from tui_app.settings.tables import POLICIES, parse_rule
from tui_app.tool_specs import RUN_COMMAND, WRITE_FILE
from tui_app.ui.text import one_line

if TYPE_CHECKING:
    from tui_app.events import GoalSet
    from tui_app.session.store import SessionStore

# How a command ends: exit codes, and the two refusals it may raise. Imports nothing, for a quick start.

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
        return has_begun(self.database)

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
        from tui_app.session.store import SessionNotFound

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


def words_of_file(program: Program, name: str) -> str:
    """The text of a file, or of what is piped in.

    Raises:
        CommandFailed: if it cannot be read.
    """
    subject = "The piped input" if name == "-" else name
    try:
        # As bytes: Python may replace on stdin what is not UTF-8, and that would be kept as if it were meant.
        data = sys.stdin.buffer.read() if name == "-" else (program.cwd / name).read_bytes()
        text = data.decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        text = "\0"
    except AttributeError:
        text = ""  # the shell has closed it
    except OSError as error:
        raise CommandFailed(f"{name} cannot be read: {error.strerror or error}. Nothing changed.") from None
    if "\0" in text:
        raise CommandFailed(f"{subject} is not UTF-8 text. Nothing changed.")
    return text


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


@frozen(kw_only=True)
class Command:
    """One command: its name, what it takes and what it does."""

    name: str
    usage: str
    """What follows the name, for the list in the help."""
    summary: str
    configure: Callable[[argparse.ArgumentParser], None]
    execute: Callable[[Program, argparse.Namespace], int]
    """Does it and returns the exit code; raises ``WrongUsage`` and ``CommandFailed``, see ``exits``."""
    only: tuple[tuple[str, str], ...] = ()
    """Options that some actions alone take, with these actions."""


def setting(key: str) -> Callable[[str], object]:
    """Reader for a flag that is a setting: the same rule as in the settings file."""

    def read(text: str) -> object:
        try:
            return read_text(SETTINGS[key].rule, text)
        except Refused as refused:
            raise argparse.ArgumentTypeError(f"{refused.shown}; allowed: {refused.allowed}") from None

    return read


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else on stdout")


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        metavar="M",
        type=setting("model"),
        help=f"model, such as openai:gpt-5 or {OFFLINE_MODEL}",
    )


def add_window(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--window",
        metavar="N",
        type=setting("window"),
        help="context window in tokens, overriding what is known",
    )


def add_policy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--policy",
        metavar="P",
        type=setting("policy"),
        help=f"policy: {', '.join(POLICIES)}, or your own from the settings file",
    )


def add_effort(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--effort",
        metavar="E",
        type=setting("thinking"),
        help=f"reasoning effort: {', '.join(EFFORTS)}",
    )


def add_mode(parser: argparse.ArgumentParser) -> None:
    said = ", ".join(f"{mode} ({about[0].lower()}{about[1:]})" for mode, about in ABOUT.items())
    parser.add_argument(
        "--mode", metavar="NAME", type=setting("mode"), help=f"what tools may do without asking: {said}"
    )


def add_agent(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--agent",
        metavar="M:A",
        default="",
        help="your own pydantic-ai agent as module:attribute or file.py:attribute",
    )


def add_read_only(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--read-only",
        action="store_true",
        default=None,
        help="read-only: nothing is written, run or fetched",
    )


def add_trust(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trust",
        action="store_true",
        help="trust the folder for this run: use its instructions, skills, commands and allow rules",
    )


def add_allow(parser: argparse.ArgumentParser) -> None:
    """``--allow``: rules of this run alone."""
    parser.add_argument(
        "--allow",
        metavar="RULE",
        action="append",
        default=[],
        type=_rule,
        help=f'what tools may do, such as "{RUN_COMMAND.name} pytest -q" or "{WRITE_FILE.name} docs/**"; '
        "may be repeated",
    )


def add_guard(parser: argparse.ArgumentParser) -> None:
    """``--guard``: what no call of the session may do from now on."""
    parser.add_argument(
        "--guard",
        metavar="GUARD",
        action="append",
        default=[],
        type=_guard,
        help='what no call may do, such as "edits legacy/", "command git push", "writes" or "tests" (to end '
        "without them); may be repeated, and holds in the session from now on",
    )


def add_tools(parser: argparse.ArgumentParser) -> None:
    """``--tool``: tools that are switched off or on in the session from now on."""
    parser.add_argument(
        "--tool",
        metavar="SWITCH",
        action="append",
        default=[],
        type=_tool,
        help="switch a tool off with NAME=off or on with NAME=on; may be repeated, and holds from now on",
    )


def _tool(text: str) -> tuple[str, str]:
    name, _, state = text.rpartition("=")
    if not name.strip() or state not in ("on", "off"):
        raise argparse.ArgumentTypeError(f"{show(text)}; allowed: NAME=off or NAME=on")
    return name.strip(), state


_GOAL = (
    ("check", "CMD", "reached when this command exits with 0; it needs the permission of any command"),
    ("count", "N", "reached after N turns"),
    ("turns", "N", "turns it may take (default: 20)"),
    ("tokens", "N", "tokens it may take, sent and received"),
    ("money", "X", "US dollars it may take"),
)
"""Options of a goal."""


def add_goal(parser: argparse.ArgumentParser) -> None:
    """``--goal`` with what it is checked by and what it may take."""
    goal = parser.add_argument_group("a goal: turns go on until it is reached")
    goal.add_argument(
        "--goal", metavar="TEXT", help="what to reach, in place of a prompt; off ends one of --session"
    )
    for name, value, what in _GOAL:
        goal.add_argument(f"--{name}", metavar=value, default="", help=what)


def read_goal(args: argparse.Namespace) -> "GoalSet | None":
    """The goal that is to be reached, if one is given.

    Raises:
        WrongUsage: if it cannot be checked, or a prompt is given beside it.
    """
    options = {name: getattr(args, name) for name, _, _ in _GOAL if getattr(args, name)}
    if not args.goal or args.goal == "off":
        if options:
            raise WrongUsage(f"--{next(iter(options))} is for --goal TEXT.")
        if args.goal and not args.session:
            raise WrongUsage("--goal off ends the goal of a session. Which one? --session ID")
        return None
    if args.prompt is not None:
        raise WrongUsage("The goal is the prompt: give either.")
    from tui_app.conversation.goals import make_goal, refusal

    try:
        return make_goal(args.goal, options)
    except Refused as refused:
        raise WrongUsage(refusal(refused, "--goal")) from None


def _guard(text: str) -> str:
    from tui_app.conversation.guards import parse_guard

    try:
        return parse_guard(text).text
    except Refused as refused:
        raise argparse.ArgumentTypeError(f"{refused.shown}; allowed: {refused.allowed}") from None


def _rule(text: str) -> str:
    try:
        return parse_rule("allow", text, "command line").text
    except Refused as refused:
        raise argparse.ArgumentTypeError(f"{refused.shown}; allowed: {refused.allowed}") from None


def add_folders(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--add-dir",
        metavar="DIR",
        action="append",
        default=[],
        help="an additional folder tools and commands may read and write; may be repeated",
    )


def add_worktree(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--worktree",
        metavar="NAME",
        nargs="?",
        const="",
        help="work apart, in a git worktree of that name beside the repository; it is made if there is none",
    )


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
    from tui_app.worktrees import NoWorktree, is_apart, work_apart

    if args.worktree is None:
        return Path(session) if is_apart(Path(session)) else folder
    if session:
        raise WrongUsage("--worktree is for new sessions: one that works apart is resumed where it was.")
    try:
        return work_apart(folder, args.worktree, program.env, program.paths)
    except NoWorktree as failed:
        raise CommandFailed(str(failed)) from None


def add_session(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="id of the session, or its beginning")


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


# Asynchronous commands end cleanly on a signal: what is open is closed first.

SIGNALS = tuple(
    number
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if (number := signal.Signals.__members__.get(name)) is not None
)


def run_until_signal(work: Coroutine[Any, Any, int]) -> int:
    """Run a coroutine to its end, or cancel it on the first signal.

    Args:
        work: Returns an exit code; closes what it opened when it is cancelled.

    Returns:
        Its exit code, or 128 plus the number of the signal.
    """
    return asyncio.run(_guarded(work))


async def _guarded(work: Coroutine[Any, Any, int]) -> int:
    task = asyncio.create_task(work)
    received: list[int] = []

    def stop(number: int) -> None:
        received.append(number)
        task.cancel()

    with _handlers(stop):
        try:
            code = await task
        except asyncio.CancelledError:
            if not received:
                raise
            code = 0
    return 128 + received[0] if received else code


@contextlib.contextmanager
def _handlers(stop: Callable[[int], None]) -> Iterator[None]:
    """Call ``stop`` with the number of each signal; where a loop takes none, ctrl+c still raises."""
    loop = asyncio.get_running_loop()
    try:
        for number in SIGNALS:
            # Windows has no handlers on a loop, and only the main thread may have any.
            with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):
                loop.add_signal_handler(number, stop, number)
        yield
    finally:
        for number in SIGNALS:
            with contextlib.suppress(NotImplementedError, ValueError, RuntimeError):
                loop.remove_signal_handler(number)


# ``ctrl+c`` while long work runs: heard also where a library has swallowed it.


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Remember that ``ctrl+c`` was pressed.

    Python raises ``KeyboardInterrupt`` wherever it is just then. In a callback of a library that may not
    be raised from, it is written off, and the work would go on to its end.

    Yields:
        What raises ``KeyboardInterrupt`` once more; the work calls it between its steps.
    """
    pressed = threading.Event()

    def hear(_number: int, _frame: FrameType | None) -> None:
        pressed.set()
        raise KeyboardInterrupt

    def check() -> None:
        if pressed.is_set():
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield check
        return
    before = signal.signal(signal.SIGINT, hear)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before or signal.default_int_handler)
