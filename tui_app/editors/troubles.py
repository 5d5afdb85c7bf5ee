"""Every failure as an error of the protocol, with a sentence that a person can read."""

import logging
import re
from types import MappingProxyType

from acp import RequestError

from tui_app.agent.own_agent import UnusableAgent
from tui_app.context.secrets import mask_secrets
from tui_app.context.storage_errors import StorageError
from tui_app.conversation.retry_advice import BACK, KEPT
from tui_app.events import Error
from tui_app.session.lock import SessionLocked
from tui_app.session.port import SessionNotFound
from tui_app.settings import SettingsError

INVALID_PARAMS, INTERNAL, NOT_FOUND = -32602, -32603, -32002
_WORDS = MappingProxyType({"ctrl+g": "/compact", "ctrl+l": "the model menu", "/model": "the model menu"})
"""Keys and commands of the screen, and what does the same in an editor."""
_SPOKEN = re.compile(rf"(?<![\w/])(?:{'|'.join(map(re.escape, _WORDS))})(?![\w/-])")
_log = logging.getLogger(__name__)


def refused(sentence: str) -> RequestError:
    """What was asked for makes no sense."""
    return RequestError(INVALID_PARAMS, sentence)


def failed(error: Error) -> RequestError:
    """A turn that has failed."""
    return RequestError(INTERNAL, told(error), {"kind": error.kind, "retryable": error.retryable})


def told(error: Error) -> str:
    """What happened and what to do next."""
    return f"{error.message} {for_editor(error.hint)}".strip()


def for_editor(hint: str) -> str:
    """Name what an editor has where a hint names keys of the screen."""
    hint = hint.replace(f" {BACK}", "").replace(f" {KEPT}", " What came so far is kept.")
    return _SPOKEN.sub(lambda found: _WORDS[found[0]], hint)


def trouble(error: Exception) -> RequestError:
    """What opening or changing a session may raise; what nobody expects is in the log file too."""
    match error:
        case RequestError():
            return error
        case SessionNotFound():
            return RequestError(NOT_FOUND, mask_secrets(str(error.args[0])))
        case SessionLocked():
            return RequestError(
                INTERNAL,
                f"The session is open in {error}, and only one may write it. Close it there first.",
            )
        case SettingsError() | UnusableAgent() | StorageError():
            return RequestError(INTERNAL, mask_secrets(str(error)))
        case OSError() if error.strerror:
            where = f"{error.filename}: " if error.filename else ""
            return RequestError(INTERNAL, f"{where}{error.strerror}.")
        case _:
            _log.error("a request of the editor failed", exc_info=error)
            reason = mask_secrets(str(error)).strip() or type(error).__name__
            return RequestError(INTERNAL, f"Something unexpected went wrong: {reason.splitlines()[0]}")
