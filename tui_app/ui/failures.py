"""What becomes of work that fails: it is told in a sentence, and its traceback goes to the log file.

A worker tells its end to the widget or screen that it was started on and to nobody else, so each that starts
one takes :class:`TellsFailures`.
"""

import logging
from typing import TYPE_CHECKING, Any, cast

from textual.app import App
from textual.worker import Worker, WorkerState

if TYPE_CHECKING:
    from tui_app.ui.app import PlimsollApp

if TYPE_CHECKING:
    from textual.message_pump import MessagePump as _Mixed

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
    app = cast("PlimsollApp", app)
    opens = worker.node is app and not app.chat.is_ready
    if opens or (worker.node is app.chat and worker.group == SESSION):
        app.ended_by = f"{_ended(app)} {_why(app, error)}"
        app.exit(1, 1)
    elif app.chat.is_ready:
        app.chat.session.report(f"That did not work: {_why(app, error)}")
    else:
        # There is no row for notices yet.
        app.chat.pane.introduce(f"That did not work: {_why(app, error)}")


def _why(app: "PlimsollApp", error: BaseException) -> str:
    from tui_app.session.errors import explained
    from tui_app.ui.text import clean

    paths = app.launch.paths
    defect = f"{type(error).__name__}. That is a defect of Plimsoll; {paths.log_file} tells more."
    return clean(explained(error, paths.database) or defect)


def _ended(app: "PlimsollApp") -> str:
    """What the end of the program comes from."""
    if app.chat.is_ready:
        return "Plimsoll has ended: this session can no longer be shown. What was said is kept."
    if app.current_mode != app.DEFAULT_MODE:
        return "Plimsoll has ended: the other session could not be opened."
    return "Plimsoll could not start."


class TellsFailures(_Mixed):
    """A screen or widget whose work, where it fails, is told."""

    def on_worker_state_changed(self, event: "Worker.StateChanged") -> None:
        """Tell of a failure."""
        tell_of_failure(self.app, event)


FLOW = "flow"
"""Group of what a command or key has begun."""
