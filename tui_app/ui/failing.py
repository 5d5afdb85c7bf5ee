"""What becomes of work that fails: it is told in a sentence, and its traceback goes to the log file.

A worker tells its end to the widget or screen that it was started on and to nobody else, so each that starts
one takes :class:`TellsFailures`.
"""

import logging
from typing import TYPE_CHECKING, Any, cast

from textual.app import App
from textual.worker import Worker, WorkerState

if TYPE_CHECKING:
    from textual.message_pump import MessagePump as _Mixed

    from tui_app.ui.app import PlimsollApp
else:
    # Styles come from the first base that is a widget, which has to be the other one.
    _Mixed = object

_LOG = logging.getLogger(__name__)
SESSION = "session"
"""Group of the work that everything else on a chat screen needs."""


def tell_of_failure(app: App[Any], event: "Worker.StateChanged") -> None:
    """Say what did not work; without its session the program ends, and keeps what nobody has sent.

    Args:
        app: Where it is said.
        event: Any change of a worker's state; only failures are told.
    """
    error, worker = event.worker.error, event.worker
    if event.state is not WorkerState.ERROR or error is None:
        return
    _LOG.error("a flow failed", exc_info=error)
    app, kind = cast("PlimsollApp", app), type(error).__name__
    if not app.chat.is_ready or (worker.node is app.chat and worker.group == SESSION):
        what = "had to stop" if app.chat.is_ready and app.chat.session.link.ready else "could not start"
        app.exit(1, 1, f"Plimsoll {what}: {kind}. The log file tells more.")
        return
    app.chat.session.report(f"That did not work: {kind}. f2 tells more, the log file all.")


class TellsFailures(_Mixed):
    """A screen or widget whose work, where it fails, is told."""

    def on_worker_state_changed(self, event: "Worker.StateChanged") -> None:
        """Tell of a failure."""
        tell_of_failure(self.app, event)
