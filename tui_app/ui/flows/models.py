"""Choosing a model, and what to do when the conversation does not fit it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from textual import events
from textual.screen import Screen
from textual.worker import WorkerCancelled, get_current_worker

from tui_app.conversation.work import Switch
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.model_picker import ModelPicker, ModelRow
from tui_app.ui.screens.switch_dialog import SwitchDialog, SwitchPlan

if TYPE_CHECKING:
    from tui_app.agent.catalogue import ModelChoice
    from tui_app.conversation.opening import OpenSession
    from tui_app.conversation.switching import SwitchForecast
    from tui_app.ui.app import PlimsollApp

T = TypeVar("T")
_LOOKUP = "lookup"
"""Group of the workers that wait for what servers say about their models."""


class LookupCancelled(Exception):
    """The person gave up waiting for what a server says about its models."""


async def choose_model(app: "PlimsollApp", session: ChatSession) -> None:
    """Let the person pick a model and change to it."""
    settings, env = session.launch.settings, session.launch.env

    async def look(_opened: "OpenSession") -> "list[ModelChoice]":
        from tui_app.agent.catalogue import list_models

        return await list_models(env=env, endpoints=settings.endpoints)

    try:
        choices = await _look_up(app, session, "Looking for models", look)
    except LookupCancelled:
        _stay(session)
        return
    used = session.state.usage.total if session.state.usage else 0
    rows = [_row(choice, used, session.state.model) for choice in choices]
    name = await app.push_screen_wait(ModelPicker(rows, used))
    if name:
        await switch_to(app, session, name)


async def switch_to(app: "PlimsollApp", session: ChatSession, name: str) -> None:
    """Change to a model; asks first when the conversation does not fit it."""
    if name == session.state.model:
        session.say(f"{name} answers already.")
        return

    async def look(opened: "OpenSession") -> "SwitchForecast":
        return await opened.conversation.forecast(name)

    try:
        forecast = await _look_up(app, session, f"Looking up {name}", look)
    except LookupCancelled:
        _stay(session)
    except Exception as error:
        session.say(f"{name} cannot be used: {str(error).splitlines()[0] if str(error) else 'not available'}")
    else:
        await _switch(app, session, forecast)


async def _switch(app: "PlimsollApp", session: ChatSession, forecast: "SwitchForecast") -> None:
    if forecast.fits:
        session.submit(Switch(forecast.target))
        return
    dialog = SwitchDialog(_plan(forecast, session.state.model))
    way = await app.push_screen_wait(dialog)
    if dialog.typed:
        app.chat.pane.prompt.editor.post_message(events.Paste(dialog.typed))
    if way in ("compact", "anyway"):
        session.submit(Switch(forecast.target, way))
    else:
        _stay(session)


def _stay(session: ChatSession) -> None:
    session.say(f"Stayed on {session.state.model}.")


def cancel_lookup(screen: Screen[Any]) -> bool:
    """Give up what is being looked up from a chat screen; whether anything was."""
    return bool(screen.app.workers.cancel_group(screen, _LOOKUP))


async def _look_up(
    app: "PlimsollApp",
    session: ChatSession,
    what: str,
    request: "Callable[[OpenSession], Awaitable[T]]",
) -> T:
    """Wait for something from the agent side while the status row says for what.

    Raises:
        LookupCancelled: if the person gave it up.
        Exception: what the request failed with.
    """
    escape = f" {session.glyphs.separator} esc cancels"
    said = one_line(what, app.size.width - len(escape)) + escape
    session.say(said)
    asked = asyncio.ensure_future(session.link.ask(request))
    # In a worker of its own: the person may give up waiting without ending the flow.
    waiting = app.chat.run_worker(asyncio.wait([asked]), group=_LOOKUP, exit_on_error=False)
    try:
        await waiting.wait()
    except WorkerCancelled:
        asked.cancel()
        if not get_current_worker().is_cancelled:
            raise LookupCancelled from None
        raise asyncio.CancelledError from None
    finally:
        if session.state.status.text == said or said in session.state.status.notes:
            session.say("")
    return asked.result()


def _row(choice: "ModelChoice", used: int, current: str) -> ModelRow:
    return ModelRow(
        name=choice.name,
        window=choice.window or 0,
        window_source=choice.window_source,
        available=choice.available,
        why_not=choice.why_not,
        fits=not choice.window or used <= choice.window,
        price=choice.price,
        current=choice.name == current,
    )


def _plan(forecast: "SwitchForecast", current: str) -> SwitchPlan:
    return SwitchPlan(
        target=forecast.target,
        limit=forecast.window.limit,
        tokens=forecast.tokens,
        usable=forecast.window.effective,
        estimate_after=forecast.after_compaction,
        summary_model=forecast.summary_model,
        can_compact=forecast.can_compact,
        can_truncate=forecast.can_truncate,
        drops_tokens=forecast.drops,
        keeps_turns=forecast.keeps_turns,
        current=current,
    )
