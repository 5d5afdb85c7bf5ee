"""Choosing a model, and what to do when the conversation does not fit it."""

from typing import TYPE_CHECKING, Any

from textual.app import App

from tui_app.conversation.work import Switch
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.screens.model_picker import ModelPicker, ModelRow
from tui_app.ui.screens.switch_dialog import SwitchDialog, SwitchPlan

if TYPE_CHECKING:
    from tui_app.agent.catalogue import ModelChoice
    from tui_app.conversation.opening import OpenSession
    from tui_app.conversation.switching import SwitchForecast


async def choose_model(app: App[Any], session: ChatSession) -> None:
    """Let the person pick a model and change to it."""
    settings, env = session.launch.settings, session.launch.env
    session.say("Looking for models …")

    async def look(_opened: "OpenSession") -> "list[ModelChoice]":
        from tui_app.agent.catalogue import list_models

        return await list_models(env=env, endpoints=settings.endpoints)

    choices = await session.link.ask(look)
    session.say("")
    used = session.state.usage.total if session.state.usage else 0
    rows = [_row(choice, used, session.state.model) for choice in choices]
    name = await app.push_screen_wait(ModelPicker(rows, used))
    if name:
        await switch_to(app, session, name)


async def switch_to(app: App[Any], session: ChatSession, name: str) -> None:
    """Change to a model; asks first when the conversation does not fit it."""
    if name == session.state.model:
        session.say(f"{name} answers already.")
        return

    async def look(opened: "OpenSession") -> "SwitchForecast":
        return await opened.conversation.forecast(name)

    try:
        forecast = await session.link.ask(look)
    except Exception as error:
        session.say(f"{name} cannot be used: {str(error).splitlines()[0] if str(error) else 'not available'}")
        return
    if forecast.fits:
        session.submit(Switch(name))
        return
    way = await app.push_screen_wait(SwitchDialog(_plan(forecast, session.state.model)))
    if way == "compact":
        session.submit(Switch(name, "compact"))
    elif way == "anyway":
        session.submit(Switch(name, "anyway"))
    else:
        session.say(f"Stayed on {session.state.model}.")


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
        estimate_after=forecast.after_compaction,
        summary_model=forecast.summary_model,
        can_truncate=forecast.can_truncate,
        drops_tokens=forecast.drops,
        keeps_turns=forecast.keeps_turns,
        current=current,
    )
