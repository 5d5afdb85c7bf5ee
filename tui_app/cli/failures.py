"""Every failure of a command as one or two sentences and an exit code."""

import os
import time
import traceback
from collections.abc import Mapping

from tui_app.cli.exits import FAILED, USAGE, CommandFailed, WrongUsage
from tui_app.context.secrets import mask_secrets
from tui_app.paths import Paths
from tui_app.session.errors import explained
from tui_app.settings import SettingsError, WrongFile

_LOG_LIMIT = 1_000_000
"""Bytes after which the log file is begun anew."""


def explain(error: Exception, env: Mapping[str, str]) -> tuple[str, int]:
    """Say what went wrong.

    Args:
        error: What a command raised.
        env: The environment; says where the log file is.

    Returns:
        The text for stderr, and the exit code.
    """
    if isinstance(error, WrongUsage):
        return str(error), USAGE
    return _expected(error, env) or _unexpected(error, env), FAILED


def _expected(error: Exception, env: Mapping[str, str]) -> str:
    """A sentence for what may happen to anyone; empty for what should never happen."""
    match error:
        case WrongFile(next_step=step):
            return f"{error}\n{step}"
        case CommandFailed() | SettingsError():
            return str(error)
        case _:
            return explained(error, Paths.from_env(env).database)


def _unexpected(error: Exception, env: Mapping[str, str]) -> str:
    reason = mask_secrets(str(error)).strip() or type(error).__name__
    first = f"Something unexpected went wrong: {reason.splitlines()[0]}"
    try:
        log = _write_traceback(error, env)
    except OSError:
        return first
    return f"{first}\nThe details are in {log}"


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
