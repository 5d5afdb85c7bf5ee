"""Read-only inspection of a session: its view, measured for a model."""

import asyncio
from dataclasses import dataclass

from tui_app.agent.catalog import listed_window
from tui_app.agent.model_shelf import ModelShelf
from tui_app.agent.models import ModelNotReady
from tui_app.context.compaction.plan import Plan, plan_of
from tui_app.context.counting.encodings import TextCounter, encoding_name
from tui_app.context.policy import Policy
from tui_app.context.windows.windows import resolve_window
from tui_app.conversation.agents.agent_setup import describe_tools
from tui_app.conversation.agents.session_tools import Tooling
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.message_actions import Share
from tui_app.conversation.requests.open_request import Opening
from tui_app.conversation.session_extras import Extras
from tui_app.conversation.session_view import load_history
from tui_app.references import WHOLE, Span
from tui_app.session.stores.database import open_store
from tui_app.session.stores.store import SessionStore
from tui_app.usage import Overhead


@dataclass(slots=True)
class Inspection:
    """A session opened for reading only. Works while another process writes it."""

    history: SessionHistory
    store: SessionStore
    extras: Extras
    shelf: ModelShelf
    """Contains the model if it could be built."""
    text: TextCounter
    shares: tuple[Share, ...] = ()
    """Tokens of servers, instructions and skills; of servers, as measured when they last ran."""
    unknown: str = ""
    """Why the model could not be asked for its window, as a sentence; empty if it could."""

    def plan(self, policy: Policy, focus: str = "", span: Span = WHOLE) -> Plan | str:
        """What a compaction started by a script would do."""
        extras = self.extras
        return plan_of(self.history, policy, "headless", focus, span, extras.additions(), read=extras.file)

    def close(self) -> None:
        self.store.close()


async def inspect_session(opening: Opening) -> Inspection:
    """Read a session and measure it for a model. Nothing is written.

    A model without its key is measured too, with the window known without it.

    Args:
        opening: Which session, for which model and in which folder.

    Raises:
        SessionNotFound: if the id fits no session.
        UnknownModel: if there is no such model.
        sqlite3.Error: if the sessions file cannot be read.
    """
    store = open_store(opening.database, read_only=True)
    try:
        info = store.info(opening.session)
        model = opening.model_for(info.model)
        text = TextCounter(encoding_name(model))
        await asyncio.to_thread(text.load)
        history = load_history(opening, store, info.id, model, text)
        extras = Extras(opening, history)
        describe_tools(opening, Tooling(opening, history), extras)
        of_servers, shares = extras.last_known()
        extras.overhead.tools = extras.sent_of((*extras.own, *of_servers))
        shelf = opening.shelf()
        fixed, limits, unknown = extras.overhead.tokens(history.counter), shelf.limits, ""
        try:
            overhead = limits.overhead(await shelf.get(model), fixed)
        except ModelNotReady as error:
            # Price lists know the window of many models that cannot be built.
            listed = resolve_window(setting=limits.setting, model=listed_window(model))
            overhead, unknown = Overhead(listed, fixed), str(error)
        history.set_overhead(overhead, model)
        return Inspection(history, store, extras, shelf, text, shares, unknown)
    except BaseException:
        store.close()
        raise
