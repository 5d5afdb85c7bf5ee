"""One session in an editor: it takes prompts, and sends updates in the order of the events."""

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from acp import RequestError
from acp.interfaces import Client
from acp.schema import AllowedOutcome, StopReason

from tui_app.agent.mcp.status import McpStatus
from tui_app.agent.waits import end_tasks
from tui_app.conversation.agents.session_tools import Tooling
from tui_app.conversation.approvals import Decision
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.conversation import Conversation
from tui_app.conversation.requests.open_request import Opening
from tui_app.conversation.requests.policies import policy_names
from tui_app.conversation.work import ChangePolicy, Prompt, Switch, Work
from tui_app.editors.prompts import Asked, Servers, ShowContext
from tui_app.editors.updates import Question, Update, Updates, choice_of, error_text, failed, refused
from tui_app.events import (
    ApprovalDecided,
    ApprovalRequested,
    Error,
    Notice,
    Payload,
    QuestionAsked,
    Record,
    ServerAsked,
    ToolResult,
    TurnEnd,
)
from tui_app.modes import MODES, mode_named
from tui_app.text import count, visible
from tui_app.usage import percent_text

_TEXT_CHARS = 200
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Permissions:
    """The questions of one session to the editor. Belongs to one event loop."""

    client: Client
    session: str
    tooling: Tooling
    _asking: "dict[str, asyncio.Task[None] | None]" = field(default_factory=dict)
    """The task waiting for the editor by id of each open question; None before the editor was asked."""

    def opens(self, id: str) -> bool:
        """Register a question; False if it is known, because it is repeated when more calls wait."""
        is_new = id not in self._asking
        self._asking.setdefault(id)
        return is_new

    def show(self, question: Question) -> None:
        if self._asking.get(question.id, self) is None:
            task = asyncio.create_task(self._answer(question), name="acp permission")
            self._asking[question.id] = task

    def withdraw(self, id: str) -> None:
        """Stop waiting for an answer: it was decided, or the turn is over."""
        if (task := self._asking.pop(id, None)) is not None:
            task.cancel()

    async def close(self) -> None:
        """Stop waiting for all answers."""
        await end_tasks(*filter(None, self._asking.values()))

    async def _answer(self, question: Question) -> None:
        answer = await ask(self.client, self.session, question)
        if isinstance(answer, str):
            self.tooling.questions.reply(question.id, answer)
        else:
            self.tooling.approvals.decide(question.id, answer)


async def ask(client: Client, session: str, question: Question) -> Decision | str:
    """Ask the editor a question. Only an offered option that was chosen allows anything.

    Any other response refuses the call, with the reason in the events; a question of the model stays
    unanswered.
    """
    try:
        response = await client.request_permission(
            session_id=session, tool_call=question.call, options=list(question.options)
        )
    except ConnectionError:
        why = "the editor has disconnected"
    except RequestError as error:
        _log.warning("the editor did not ask the user: %s", error)
        why = f"the editor answered with an error: {visible(str(error).strip())[:_TEXT_CHARS].rstrip('.')}"
    except Exception as error:  # whatever a client returns, the call must not wait forever
        _log.warning("the editor's answer cannot be read", exc_info=error)
        why = "the editor's answer cannot be read"
    else:
        why = "the question was closed without an answer"
        if isinstance(response.outcome, AllowedOutcome):
            if (chosen := question.answers.get(response.outcome.option_id)) is not None:
                return chosen
            why = "the editor chose something that was not offered"
    return question.answers.get("none", Decision("nobody", reason=why))


def context_text(conversation: Conversation) -> str:
    """Return the next request by category, largest first."""
    usage = conversation.usage
    parts = {**usage.parts.nonzero(), **({"unmeasured": usage.unmeasured} if usage.unmeasured else {})}
    rows = [
        f"| {name.replace('_', ' ')} | {tokens:,} |"
        for name, tokens in sorted(parts.items(), key=lambda part: -part[1])
    ]
    share = percent_text(usage.total, usage.window.stated)
    head = (
        f"{usage.total:,} of {usage.window.stated:,} tokens ({share}), "
        f"{count(usage.messages, 'message')}, model {conversation.model}, policy {conversation.policy}."
    )
    return "\n".join([head, "", "| What | Tokens |", "|---|---:|", *rows])


def servers_text(statuses: Sequence[McpStatus]) -> str:
    """Return every MCP server as a line of Markdown."""
    if not statuses:
        return "There is no MCP server."
    rows = []
    for status in statuses:
        size = f", {status.tokens:,} tokens of each request" if status.tokens else ""
        error = f": {visible(status.error)}" if status.error else ""
        rows.append(f"- `{status.name}` {status.description}{size}{error}")
        rows += [f"  - {visible(each)}" for each in status.left_out]
    return "\n".join(rows)


SETTLE_S = 60.0
"""Seconds for which ``/mcp`` waits for starting servers."""
_BUSY = "The last prompt is still being answered. Cancel it first, or wait for its end."
_ANYWHERE = 1_000_000
"""A position after everything in the queue."""


@dataclass(slots=True)
class EditorSession:
    """Runs one conversation for an editor. Belongs to one event loop."""

    opened: OpenSession
    opening: Opening
    client: Client
    updates: Updates
    _permissions: Permissions = field(init=False)
    _outbox: "asyncio.Queue[Update | Question]" = field(default_factory=asyncio.Queue)
    _sender: "asyncio.Task[None] | None" = None
    _ended: "asyncio.Future[TurnEnd] | None" = None
    _trouble: Error | None = None
    _notice: str = ""
    _prompt: str = ""
    """The running prompt, as shown in the queue."""
    _cancelled: bool = False
    _gate: asyncio.Lock = field(default_factory=asyncio.Lock)
    _asked: dict[str, str] = field(default_factory=dict)
    """Ids of the model's open questions, by the id of their calls."""

    def __post_init__(self) -> None:
        self._permissions = Permissions(self.client, self.id, self.opened.conversation.tooling)

    @property
    def id(self) -> str:
        return self.opened.conversation.session

    async def start(self) -> None:
        self.opened.bus.listen(self._happened)
        await self.opened.prepare()

    def speak(self) -> None:
        """Start sending updates: the editor now knows the session."""
        if self._sender is None:
            self._sender = asyncio.create_task(self._send(), name="acp updates")

    async def replay(self) -> None:
        """Send the whole history, for the editor to show."""
        self.speak()
        past = Updates(self.updates.cwd, replaying=True)
        for record, _ in self.opened.store.records(self.id):
            self._put(past.of(record.data))
        self.updates.spending = past.spending
        self.opened.conversation.history.show_gauge()
        await self.sent()

    async def prompt(self, asked: Asked) -> StopReason:
        """Run a request, and wait for its end.

        Raises:
            RequestError: if a turn is running, or this one fails.
        """
        if self._gate.locked() and not self._cancelled:
            raise refused(_BUSY)
        async with self._gate:
            self._cancelled, self._trouble, self._notice = False, None, ""
            try:
                if isinstance(asked, Prompt):
                    return await self._turn(asked)
                if isinstance(asked, ShowContext):
                    self.show_text(context_text(self.opened.conversation))
                elif isinstance(asked, Servers):
                    self.show_text(await self._servers(asked))
                else:
                    await self._work(asked)
                    if self._trouble is not None:
                        raise failed(self._trouble)
                return "cancelled" if self._cancelled else "end_turn"
            finally:
                self._cancelled = False
                await self.sent()

    async def _turn(self, prompt: Prompt) -> StopReason:
        self._ended, self._prompt = asyncio.get_running_loop().create_future(), prompt.label
        self.opened.conversation.submit(prompt)
        try:
            end = await self._ended
        except asyncio.CancelledError:
            self.opened.conversation.cancel()
            raise
        finally:
            self._ended, self._prompt = None, ""
        if self._trouble is not None:
            if end.outcome == "failed":
                raise failed(self._trouble)
            self.show_text(error_text(self._trouble))
        return "cancelled" if end.outcome == "cancelled" else "end_turn"

    async def _servers(self, asked: Servers) -> str:
        """Return the status of the MCP servers, after restarting the named ones."""
        servers = self.opened.extras.servers
        if asked.reload:
            if unknown := [name for name in asked.names if name not in servers.defined]:
                return f"No MCP server {visible(unknown[0])[:_TEXT_CHARS]}."
            await servers.reload(asked.names)
        # Wait, to report the result of the start.
        await servers.settle(SETTLE_S)
        return servers_text(servers.statuses())

    async def choose_model(self, name: str) -> None:
        """Change the model.

        Raises:
            RequestError: if it cannot be used, or the conversation does not fit it.
        """
        self._trouble, self._notice = None, ""
        await self._work(Switch(name))
        if self.opened.conversation.model != name:
            if self._trouble is not None:
                raise failed(self._trouble)
            raise refused(self._notice or f"The model is still {self.opened.conversation.model}.")

    async def choose_policy(self, name: str) -> None:
        """Change the policy. Raises RequestError if there is none with that name."""
        if name == self.opened.conversation.policy:
            return
        if name not in policy_names(self.opening.settings):
            raise refused(f"There is no policy {visible(name)[:_TEXT_CHARS]}.")
        self._notice = ""
        if self._gate.locked():
            # After the running turn; the editor gets an update then, and does not wait.
            self.opened.conversation.submit(ChangePolicy(name))
            return
        await self._work(ChangePolicy(name))
        if self.opened.conversation.policy != name:
            raise refused(self._notice)

    async def choose_mode(self, name: str) -> None:
        """Change the mode at once. Raises RequestError if there is none with that name."""
        if (mode := mode_named(name)) is None:
            raise refused(f"There is no mode {name!r:.40}; there are {', '.join(MODES)}.")
        conversation = self.opened.conversation
        if mode != conversation.modes.current:
            conversation.modes.change(mode)
            await self.sent()

    async def _work(self, work: Work) -> None:
        """Run work other than a prompt, after what is running."""
        self.opened.conversation.submit(work)
        await self.opened.conversation.settle()

    def cancel(self) -> None:
        self._cancelled = self._gate.locked()
        conversation = self.opened.conversation
        conversation.cancel()
        # A prompt that has not started would wait for the user to send it.
        if self._prompt and conversation.queue.take(_ANYWHERE, self._prompt) and self._ended is not None:
            self._ended.set_result(TurnEnd(outcome="cancelled"))

    async def sent(self) -> None:
        """Wait until the editor has received all updates, or sending has ended."""
        if self._sender is None:
            return
        drain = asyncio.ensure_future(self._outbox.join())
        try:
            await asyncio.wait((drain, self._sender), return_when=asyncio.FIRST_COMPLETED)
        finally:
            drain.cancel()

    async def close(self) -> None:
        """Close the session, and send the last updates if the editor is still connected."""
        try:
            await self.opened.close()
        finally:
            try:
                await self._permissions.close()
                await self.sent()
            finally:
                if self._sender is not None:
                    self._sender.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await self._sender

    def _happened(self, record: Record) -> None:
        match record.data:
            case TurnEnd() as end:
                if self._ended is not None and not self._ended.done():
                    self._ended.set_result(end)
            case Error() as error:
                self._trouble = error
            case Notice(text=text):
                self._notice = text
            case _:
                self._ask(record.data)
        self._put(self.updates.of(record.data))

    def _ask(self, payload: Payload) -> None:
        match payload:
            case ApprovalRequested() as asked:
                # The editor has to know the call before the question about it.
                if self._permissions.opens(asked.id):
                    self._put([self.updates.question(asked)])
            case ServerAsked(id=id, server=server, message=message):
                self.opened.extras.answer(id, None)
                self.show_text(
                    f"MCP server {server} asks: {visible(message)} It cannot be answered here: declined."
                )
            case ApprovalDecided(id=id):
                self._permissions.withdraw(id)
            case QuestionAsked() as put:
                # Let the editor ask. It cannot ask for free text: the next prompt is the answer.
                if not put.choices:
                    self.show_text(put.question)
                    self.opened.conversation.tooling.questions.postpone(put.id)
                elif self._permissions.opens(put.id):
                    self._asked[put.tool_call_id] = put.id
                    self._put([choice_of(put)])
            case ToolResult(tool_call_id=call) if call in self._asked:
                self._permissions.withdraw(self._asked.pop(call))

    def show_text(self, text: str) -> None:
        """Send the editor a text that belongs to no event."""
        self._put(self.updates.of(Notice(text=text)))

    def _put(self, updates: Iterable[Update | Question]) -> None:
        for update in updates:
            self._outbox.put_nowait(update)

    async def _send(self) -> None:
        while True:
            update = await self._outbox.get()
            try:
                if isinstance(update, Question):
                    self._permissions.show(update)
                    continue
                # If the editor has disconnected, the queue is emptied all the same.
                with contextlib.suppress(ConnectionError):
                    await self.client.session_update(session_id=self.id, update=update)
            finally:
                self._outbox.task_done()
