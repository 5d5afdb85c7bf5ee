"""Choosing a model, and what to do when the conversation does not fit it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from tui_app.conversation.work import Switch
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.flows.api_keys import ask_for_key
from tui_app.ui.flows.asking import write_on
from tui_app.ui.flows.lookup import LookupCancelled, look_up
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.model_picker import ModelPicker, ModelRow
from tui_app.ui.screens.switch_dialog import SwitchDialog, SwitchPlan

if TYPE_CHECKING:
    from tui_app.agent.catalog import ModelChoice
    from tui_app.conversation.assembly import OpenSession
    from tui_app.conversation.model_switch import Fit, SwitchForecast
    from tui_app.ui.app import PlimsollApp

    Listed = tuple[list[ModelChoice], dict[int, Fit]]


async def choose_model(app: "PlimsollApp", session: ChatSession) -> None:
    """Let the person pick a model and change to it; a key that it lacks is asked for."""
    asked = True
    try:
        try:
            choices, fit = await look_up(
                app, session, _asking(session), _lister(session), "esc lists the others"
            )
        except LookupCancelled:
            # Whoever does not want to wait for a server may still want another model.
            asked = False
            choices, fit = await look_up(app, session, "Listing models", _lister(session, discover=False))
    except LookupCancelled:
        _stay(session)
        return
    used = session.state.usage.total if session.state.usage else 0
    rows = [_row(choice, fit, session.state.model) for choice in choices]
    name = await app.push_screen_wait(ModelPicker(rows, used, asked=asked))
    chosen = next((choice for choice in choices if choice.name == name), None)
    if name and chosen is not None and chosen.needs_key:
        await _with_key(app, session, name, chosen.needs_key)
    elif name:
        await switch_to(app, session, name)


def _lister(session: ChatSession, *, discover: bool = True) -> "Callable[[OpenSession], Awaitable[Listed]]":
    """What lists the models, with those of servers unless nobody is to be waited for."""
    settings, keys = session.launch.settings, session.launch.api_keys

    async def look(opened: "OpenSession") -> "Listed":
        from tui_app.agent.catalog import list_models

        env = await asyncio.to_thread(keys.readable)
        listed = await list_models(env=env, endpoints=settings.endpoints, discover=discover)
        return listed, opened.conversation.models.fit_of(choice.window for choice in listed if choice.window)

    return look


def _asking(session: ChatSession) -> str:
    """Who is asked for models: the person's own servers by their names, and what else runs here."""
    own = [one_line(name, 24) for name in session.launch.settings.endpoints]
    if session.launch.env.get("OPENAI_BASE_URL"):
        own.append("OPENAI_BASE_URL")
    return f"Asking {', '.join([*own, 'servers on this machine'])} for models"


async def _with_key(app: "PlimsollApp", session: ChatSession, name: str, variable: str) -> None:
    """Go on with a model once its key is there; a server without a model goes back to the list."""
    if not await ask_for_key(app, session, name, variable):
        _stay(session)
    elif name.endswith(":"):
        await choose_model(app, session)
    else:
        await switch_to(app, session, name)


async def switch_to(app: "PlimsollApp", session: ChatSession, name: str) -> None:
    """Change to a model; asks first when its key is missing, or the conversation does not fit it."""
    if name == session.state.model:
        session.say(f"{name} answers already.")
        return
    keys, endpoints = session.launch.api_keys, session.launch.settings.endpoints

    async def look(opened: "OpenSession") -> "SwitchForecast | str":
        from tui_app.agent.catalog import missing_key

        missing = missing_key(name, await asyncio.to_thread(keys.readable), endpoints)
        return missing or await opened.conversation.models.forecast(name)

    try:
        found = await look_up(app, session, f"Looking up {name}", look)
    except LookupCancelled:
        _stay(session)
    except Exception as error:
        session.say(f"{name} cannot be used: {str(error).splitlines()[0] if str(error) else 'not available'}")
    else:
        if isinstance(found, str):
            await _with_key(app, session, name, found)
        else:
            await _switch(app, session, found)


async def _switch(app: "PlimsollApp", session: ChatSession, forecast: "SwitchForecast") -> None:
    if forecast.fits:
        session.submit(Switch(forecast.target))
        return
    dialog = SwitchDialog(_plan(forecast, session.state.model))
    way = await app.push_screen_wait(dialog)
    write_on(app, dialog.typed)
    if way in ("compact", "anyway"):
        session.submit(Switch(forecast.target, way))
    else:
        _stay(session)


def _stay(session: ChatSession) -> None:
    session.say(f"Stayed on {session.state.model}.")


def _row(choice: "ModelChoice", fit: "dict[int, Fit]", current: str) -> ModelRow:
    can = (("tools", choice.tools), ("thinking", choice.thinking), ("images", choice.images))
    known = choice.price_in is not None and choice.price_out is not None
    return ModelRow(
        name=choice.name,
        window=choice.window or 0,
        window_source=choice.window_source,
        available=choice.available,
        why_not=choice.why_not,
        needs_key=choice.needs_key,
        fits=fit.get(choice.window or 0, "fits") == "fits",
        too_small=fit.get(choice.window or 0) == "too small",
        rates=f"{choice.price_in:.2f}/{choice.price_out:.2f}" if known else "",
        can=tuple(word for word, able in can if able),
        price=choice.price,
        current=choice.name == current,
    )


def _plan(forecast: "SwitchForecast", current: str) -> SwitchPlan:
    return SwitchPlan(
        target=forecast.target,
        limit=forecast.window.limit,
        tokens=forecast.tokens,
        tokens_now=forecast.tokens_now,
        usable=forecast.window.effective,
        estimate_after=forecast.after_compaction,
        summary_model=forecast.summary_model,
        can_compact=forecast.can_compact,
        can_truncate=forecast.can_truncate,
        drops_tokens=forecast.drops,
        keeps_turns=forecast.keeps_turns,
        current=current,
    )
