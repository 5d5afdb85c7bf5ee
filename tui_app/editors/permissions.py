"""Asking a person, through the editor, whether a tool may act.

Only a chosen option allows anything. An editor that answers with an error, with nothing that was offered, or
not at all because it has gone, leaves the tool refused, and the events say that nobody could be asked.
"""

import asyncio
import logging
from dataclasses import dataclass, field

from acp import RequestError
from acp.interfaces import Client
from acp.schema import AllowedOutcome, RequestPermissionResponse

from tui_app.context.visible_text import visible
from tui_app.conversation.approvals import Approvals, Decision
from tui_app.editors.questions import Question

_SAID_CHARS = 200
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Permissions:
    """The questions of one session that wait for the editor. Belongs to one event loop."""

    client: Client
    session: str
    approvals: Approvals
    _open: set[str] = field(default_factory=set)
    _asking: "dict[str, asyncio.Task[None]]" = field(default_factory=dict)

    def opens(self, id: str) -> bool:
        """Note that something is asked; False when it is known: it is said again when more calls wait."""
        if id in self._open:
            return False
        self._open.add(id)
        return True

    def show(self, question: Question) -> None:
        """Have the editor ask, unless the question is over."""
        if question.id in self._open and question.id not in self._asking:
            task = asyncio.create_task(self._answer(question), name="acp permission")
            self._asking[question.id] = task
            task.add_done_callback(lambda _: self._asking.pop(question.id, None))

    def withdraw(self, id: str) -> None:
        """Wait no longer for an answer: it was decided, or the turn is over."""
        self._open.discard(id)
        if (task := self._asking.get(id)) is not None:
            task.cancel()

    async def close(self) -> None:
        """Wait for no answer any more."""
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, question: Question) -> None:
        decision = await ask(self.client, self.session, question)
        self.approvals.decide(question.id, decision)


async def ask(client: Client, session: str, question: Question) -> Decision:
    """Show a question and wait for what comes of it."""
    try:
        response = await client.request_permission(
            session_id=session, tool_call=question.call, options=list(question.options)
        )
    except ConnectionError:
        return Decision("nobody", reason="the editor has gone")
    except RequestError as error:
        _log.warning("the editor did not ask for permission: %s", error)
        said = visible(str(error).strip())[:_SAID_CHARS].rstrip(".")
        return Decision("nobody", reason=f"the editor answered with an error: {said}")
    except Exception as error:  # whatever a client makes of it, the call must not wait for ever
        _log.warning("the editor's answer about a permission cannot be read", exc_info=error)
        return Decision("nobody", reason="the editor's answer cannot be read")
    return decision_of(response, question)


def decision_of(response: RequestPermissionResponse, question: Question) -> Decision:
    """Read an answer; what was not offered allows nothing."""
    if not isinstance(response.outcome, AllowedOutcome):
        return Decision("nobody", reason="the question was closed without an answer")
    match response.outcome.option_id:
        case "once":
            return Decision("once")
        case "always" if question.pattern:
            return Decision("always", pattern=question.pattern)
        case "no":
            return Decision("no")
        case _:
            return Decision("nobody", reason="the editor chose something that was not offered")
