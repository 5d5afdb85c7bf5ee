"""Failures of commands as one or two sentences and an exit code."""

import os
import re
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tui_app.cli.core.command import FAILED, USAGE, CommandFailed, WrongUsage
from tui_app.cli.core.output import tell
from tui_app.events import Error, Notice, Payload, TurnRetry
from tui_app.next_steps import shell_text
from tui_app.paths import Paths
from tui_app.refusals import Refusal
from tui_app.session.importers.formats import ImportFormatError
from tui_app.session.stores.store import SessionNotFound, explained
from tui_app.settings import SettingsError, WrongFile
from tui_app.system.secrets import mask_secrets
from tui_app.ui.words.text import one_line

_LOG_LIMIT = 1_000_000
"""Bytes after which the log file is emptied."""
_NAME_CELLS = 400


def explain(error: Exception, env: Mapping[str, str]) -> tuple[str, int]:
    """Explain an error.

    Args:
        error: The error that a command raised.
        env: The environment, which determines the log file.

    Returns:
        The text for stderr, and the exit code.
    """
    match error:
        case WrongUsage():
            return str(error), USAGE
        case WrongFile(next_step=step):
            return f"{error}\n{step}", FAILED
        case Refusal():
            return for_shell(str(error)), FAILED
        case CommandFailed() | SettingsError() if text := str(error):
            return text, FAILED
    if text := explained(error, Paths.from_env(env).database):
        return text, FAILED
    reason = mask_secrets(str(error)).strip() or type(error).__name__
    first = f"Something unexpected went wrong: {reason.splitlines()[0]}"
    try:
        return f"{first}\nThe details are in {_write_traceback(error, env)}", FAILED
    except OSError:
        return first, FAILED


def _write_traceback(error: Exception, env: Mapping[str, str]) -> str:
    """Append the traceback to the program's log, which only its owner may read."""
    log = Paths.from_env(env).log_file
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    text = "".join(traceback.format_exception(error))
    stamp = time.strftime("%Y-%m-%d %H:%M:%S")
    entry = f"{stamp} {mask_secrets(text)}\n".encode("utf-8", "backslashreplace")
    fresh = os.O_TRUNC if log.exists() and log.stat().st_size > _LOG_LIMIT else os.O_APPEND
    file = os.open(log, os.O_WRONLY | os.O_CREAT | fresh, 0o600)
    try:
        os.write(file, entry)
    finally:
        os.close(file)
    return str(log)


def complaint(name: str, error: Exception) -> str:
    """Return the reason why a file or session cannot be read, as a sentence that names it."""
    if isinstance(error, SessionNotFound):
        text = str(error.args[0])
        if "more than one" not in text:
            text = f"There is no file or session {one_line(name, _NAME_CELLS)}."
    elif isinstance(error, OSError):
        text = f"{name}: {error.strerror or error}."
    else:
        text = str(error) if name in str(error) else f"{name}: {error}"
    # A name may contain any character but NUL.
    return " ".join(text.splitlines())


def each_source(
    sources: Sequence[str], work: Callable[[str], int], stopped: Callable[[int, int], str]
) -> tuple[int, int]:
    """Process several files or sessions; an unreadable one does not stop the others.

    Args:
        sources: Names given by the user.
        work: Processes one; returns the exit code of a signal that interrupted it, else 0.
        stopped: Returns the message after an interruption, given the numbers done and tried.

    Returns:
        The exit code of the signal, else 0, and the number done.
    """
    code = done = tried = 0
    try:
        for source in sources:
            try:
                if code := work(source):
                    tell(stopped(done, tried))
                    break
                done += 1
            except Refusal as error:
                tell(str(error))
            except (SessionNotFound, ImportFormatError, OSError) as error:
                tell(complaint(source, error))
            tried += 1
    except KeyboardInterrupt:
        tell(stopped(done, tried))
        raise
    return code, done


_PHRASES = {
    "again with /sessions": "again with plimsoll --resume",
    "a new one with /new": "a new one with plimsoll run",
    "/memory shows the board": "plimsoll memory shows the board",
    "/undo undoes the compaction": "plimsoll compact --undo undoes the compaction",
    "/undo brings these back": "plimsoll compact --undo brings these back",
}
"""Phrases that have to be replaced as a whole."""
_WORDS = {
    "/compact": "plimsoll compact",
    "/context": "plimsoll context",
    "/effort": "--effort",
    "/model": "--model",
}
"""Slash commands of the screen, and their equivalents on the command line."""
_NAMES = re.compile(rf"(?<![\w/])(?:{'|'.join(map(re.escape, _WORDS))})(?![\w/-])")


def for_shell(text: str) -> str:
    """Replace keys and slash commands in our own texts by commands and flags."""
    for screen, shell in _PHRASES.items():
        text = text.replace(screen, shell)
    return _NAMES.sub(lambda found: _WORDS[found[0]], text)


def with_shell_wording(payload: Payload) -> Payload:
    """Return the event with its texts reworded for the command line."""
    match payload:
        case Error():
            return replace(payload, hint=shell_text(for_shell(payload.hint), payload.actions))
        case Notice():
            return replace(payload, text=shell_text(for_shell(payload.text), payload.actions))
        case TurnRetry():
            return replace(payload, reason=for_shell(payload.reason))
        case _:
            return payload
