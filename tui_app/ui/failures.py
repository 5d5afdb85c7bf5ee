"""What becomes of work that fails: it is told in a sentence, and its traceback goes to the log file.

A worker tells its end to the widget or screen that it was started on and to nobody else, so each that starts
one takes :class:`TellsFailures`.
"""

import logging
from typing import TYPE_CHECKING, Any, Protocol, cast

from textual.worker import Worker, WorkerState

if TYPE_CHECKING:
    from textual.message_pump import MessagePump as _Mixed

else:
    # Styles come from the first base that is a widget, which has to be the other one.
    _Mixed = object

_LOG = logging.getLogger(__name__)
SESSION = "session"
"""Group of the work that everything else on a chat screen needs."""


class Teller(Protocol):
    """An application that says what did not work."""

    def tell_failure(self, worker: "Worker[Any]", error: BaseException) -> None:
        """Say it in a sentence, or end the program where it cannot go on."""


class TellsFailures(_Mixed):
    """A screen or widget whose work, where it fails, is told."""

    def on_worker_state_changed(self, event: "Worker.StateChanged") -> None:
        """Tell of a failure."""
        error = event.worker.error
        if event.state is WorkerState.ERROR and error is not None:
            _LOG.error("a flow failed", exc_info=error)
            cast("Teller", self.app).tell_failure(event.worker, error)
