"""Choosing the model that answers next."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content
from textual.widget import Widget
from textual.widgets import OptionList, Static

from tui_app.conversation.work import Switch
from tui_app.refusals import Refusal
from tui_app.text import count
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.list import ListDialog, ListSpec
from tui_app.ui.dialogs.lookup import look_up
from tui_app.ui.dialogs.questions import ChoiceDialog, Way
from tui_app.ui.dialogs.settings_desk import SettingsDesk
from tui_app.ui.dialogs.setup.key_entry import ask_for_key
from tui_app.ui.widgets.tables import MUTED, Column
from tui_app.ui.words.cost_words import window_text
from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.text import cost, counted_text, one_line, tokens

if TYPE_CHECKING:
    from tui_app.agent.catalog import ModelChoice
    from tui_app.conversation.assembly import OpenSession
    from tui_app.conversation.models.model_switch import Fit, SwitchForecast
    from tui_app.ui.host import Host
    from tui_app.usage import ContextWindow

SOURCES: dict[str, str] = {
    "setting": "from your settings",
    "learnt": "learnt from an error",
    "server": "from the server",
    "model": "the model's own",
    "default": "assumed",
}
"""Sources of a window size, in words."""


_BAR_CELLS, _NOTE_CELLS = 17, 30
"""Cells of the bar with the share of the window, and of the note."""
_MOST_NAME = 44


class ModelRow(NamedTuple):
    """One model of the list."""

    model: "ModelChoice"
    fit: "Fit" = "fits"
    """How the current conversation fits its window."""
    after: int = 0
    """Estimated size there after a compaction; 0 if unknown."""
    tokens: int = 0
    """Size of the conversation in this model's tokens; 0 if the same as for the current model."""
    current: bool = False
    is_typed: bool = False
    """Whether the name was typed and is not in the list."""

    @property
    def name(self) -> str:
        return self.model.name


def model_state(row: ModelRow) -> str:
    """Describe what switching to a model does, or what is missing; empty if the conversation fits."""
    model = row.model
    if not model.available:
        missing = f"needs {model.needs_key}" if model.needs_key else one_line(model.why_not, 60)
        return missing or "not available"
    if row.fit == "fits":
        return "current" if row.current else ""
    if row.fit == "too small":
        return "too small, even after compacting"
    return f"compacts first, to about {window_text(row.after)}" if row.after else "compacts first"


def share_text(row: ModelRow, conversation_tokens: int) -> Content:
    """Show the share of a model's window that this conversation would fill, as a bar and in words."""
    if not row.model.available or not row.model.window:
        return Content(" " * _BAR_CELLS)
    share = (row.tokens or conversation_tokens) / row.model.window
    cells = filled = _BAR_CELLS - 5
    colour = "$text-error" if row.fit == "too small" else "$text-warning"
    label = (" over", colour)
    if row.fit == "fits":
        colour, filled = "$accent", min(cells, max(1, round(share * cells)))
        label = (f"{max(1, round(share * 100))}%".rjust(5), "")
    return Content.assemble(("━" * filled, colour), ("─" * (cells - filled), "$line-strong"), label)


def rate(usd: float | None) -> str:
    """Return dollars per million tokens."""
    return "" if usd is None else f"{usd:.2f}"


def window_size(row: ModelRow) -> str:
    return window_text(row.model.window) if row.model.window else "?"


def name_tone(row: ModelRow) -> str:
    return "bold" if row.current else able_tone(row)


def able_tone(row: ModelRow) -> str:
    return "" if row.model.available else MUTED


def model_note(row: ModelRow, conversation_tokens: int) -> str:
    """Describe everything known about a model in one sentence."""
    if row.is_typed:
        return "Its window is looked up when it is used."
    model = row.model
    source = SOURCES.get(model.window_source, model.window_source)
    window = f"window {window_text(model.window)} ({source})" if model.window else ""
    price = f"{model.price} per million" if model.price.startswith("$") else model.price
    able = {"tools": model.tools, "thinking": model.thinking, "images": model.images}
    can = ", ".join(word for word, known in able.items() if known)
    counted = counted_text(conversation_tokens, row.tokens or conversation_tokens)
    other = counted if " " in counted else ""
    parts = [window or "window not known", price or "price not known", can, other, model_state(row)]
    if model.why_not:
        parts = [model.why_not, window, price]
    return " · ".join(one_line(part, 160) for part in parts if part)


def fit_text(row: ModelRow, conversation_tokens: int, cells: int) -> Content:
    """Return the share of the window and the effect of a switch; anything missing is shown in full first."""
    state = model_state(row)
    room = cells - _BAR_CELLS - 2
    text = Content()
    if room >= 0 and (row.model.available or (row.model.needs_key and room >= len(state) + 2)):
        text, cells = Content.assemble("  ", share_text(row, conversation_tokens)), room
    if len(state) > cells - 2 and row.model.available:
        state = state.partition(",")[0]
    return Content.assemble(text, (f"  {one_line(state, cells - 2)}", MUTED)) if cells >= 10 else text


class ModelPicker(ListDialog[ModelRow], place="picker"):
    """Dismisses with the row of a model, or ``None``. A name that is not listed can be typed."""

    def __init__(
        self,
        choices: Sequence[ModelRow],
        conversation_tokens: int,
        *,
        asked: bool = True,
        make_default: Callable[[str], str] = str,
    ) -> None:
        """Show models.

        Args:
            choices: Models; those available are shown first, in the order given.
            conversation_tokens: Size of the current conversation.
            asked: Whether all servers have answered; otherwise their models are missing.
            make_default: Makes a model the default of new sessions, and returns the result in words.
        """
        self._make_default = make_default
        name = min(max((len(row.name) for row in choices), default=0), _MOST_NAME) + 1
        # Prices are left out if the note about a switch would not fit otherwise.
        priced = name + 8 + 16 + _BAR_CELLS + 2 + _NOTE_CELLS
        spec = ListSpec[ModelRow](
            name="picker",
            search="search, or type a full name: provider:model",
            columns=(
                Column(lambda row: row.name, name, name_tone, "model"),
                Column(window_size, 8, able_tone, "window", right=True),
                Column(lambda row: rate(row.model.price_in), 8, title="$ in", right=True, leaves_at=priced),
                Column(lambda row: rate(row.model.price_out), 8, title="out", right=True, leaves_at=priced),
                Column(
                    title=f"  this conversation, {tokens(conversation_tokens)}",
                    fitted=lambda row, cells: fit_text(row, conversation_tokens, cells),
                ),
            ),
            title=lambda it: (
                f"Model{' · prices per million tokens' if it.row_width >= priced else ''}"
                f"{'' if asked else ' · without models of servers'}"
            ),
            words=lambda row: row.name,
            note=lambda row: model_note(row, conversation_tokens),
            empty="No matching model. Type provider:model to use one that is not listed.",
        )
        super().__init__(sorted(choices, key=lambda row: not row.model.available), spec)

    @property
    def found(self) -> int:
        """Number of models that match the filter, without a typed name."""
        return sum(not row.is_typed for row in self.shown)

    def list_rows(self, rows: Sequence[ModelRow]) -> None:
        """List models, and offer a complete name that is not among them."""
        name = self.written.strip()
        provider, _, model = name.partition(":")
        is_full = bool(provider and model) and not any(character.isspace() for character in name)
        if is_full and all(row.name != name for row in self.rows):
            rows = [*rows, ModelRow(_unlisted(name), is_typed=True)]
        super().list_rows(rows)

    def line(self, row: ModelRow, width: int) -> Content:
        if row.is_typed:
            return Content(f"use {one_line(row.name, 60)}   not in the list")
        return super().line(row, width)

    def first(self) -> int:
        """Return the index of the exact name, else of the current model, else 0."""
        name = self.written.strip()
        exact = (at for at, row in enumerate(self.shown) if row.name == name)
        return next(exact, next((at for at, row in enumerate(self.shown) if row.current), 0))

    def use(self, row: ModelRow) -> None:
        """Dismiss with an available model or one that only lacks a key; else show what is missing."""
        if row.model.available or row.model.needs_key:
            self.dismiss(row)
        else:
            self._refuse(row)

    def action_default(self) -> None:
        """Make the marked model the default of new sessions."""
        if (row := self.marked) is not None and row.model.available:
            self.note(self._make_default(row.name))
        elif row is not None:
            self._refuse(row)

    def _refuse(self, row: ModelRow) -> None:
        why = one_line(row.model.why_not, 160) or "not available"
        self.note(f"{one_line(row.name, 60)} cannot be used yet: {why}")


def _unlisted(name: str, window: "ContextWindow | None" = None) -> "ModelChoice":
    # The import is free, since the list consists of these.
    from tui_app.agent.catalog import ModelChoice

    limit, source = (window.limit, window.source) if window is not None else (None, "")
    return ModelChoice(name, name, window=limit, window_source=source, available=True)


ONE_LINE = 96
"""Columns from which a choice and its effect are in one row."""
SHORT = 20
"""Rows below which each choice has one row, and the marked one's effect is below them."""


def switch_choices(forecast: "SwitchForecast", current: str) -> tuple[Way, Way, Way]:
    """Return the three choices with their effects: compact and switch, switch anyway, cancel."""
    after, model = window_text(forecast.after_compaction), one_line(forecast.summary_model, 32)
    price = f" · ~{cost(forecast.summary_usd)}" if forecast.summary_usd else ""
    usable = window_text(forecast.window.effective)
    compact = f"about {after} after · summary by {model}{price}"
    if not forecast.can_compact:
        compact = f"not possible: {after} must be kept, only {usable} fits"
    turns = f"keeps the last {count(forecast.keeps_turns, 'turn')}"
    anyway = f"drops the oldest {window_text(forecast.drops)} from each request, {turns}"
    if not forecast.can_truncate:
        anyway = "not possible: the latest prompt alone is too large"
    return (
        Way("Compact and switch", compact, "compact", forecast.can_compact),
        Way("Switch anyway", anyway, "anyway", forecast.can_truncate),
        Way("Cancel", f"stay on {one_line(current, 40)}"),
    )


def fit_bar(forecast: "SwitchForecast", width: int) -> Content:
    """Draw the conversation as a bar, marked at the size that fits the new window, with both sizes below."""
    fitting, size = min(forecast.window.effective, forecast.tokens), max(1, forecast.tokens)
    at = min(width - 1, max(0, width * fitting // size - 1))
    fits, whole = f"{window_text(fitting)} fit", tokens(forecast.tokens)
    start = max(0, min(at + 1 - len(fits), width - len(whole) - len(fits) - 2))
    gap = " " * max(1, width - start - len(fits) - len(whole))
    return Content.assemble(
        (UNICODE.gauge_full * at, "$accent"),
        (UNICODE.load_mark, "bold $foreground"),
        (UNICODE.gauge_full * (width - at - 1), "$error"),
        (f"\n{' ' * start}{fits}{gap}{whole}", "$text-muted"),
    )


class FitBar(Static):
    """Draws :func:`fit_bar` in the available width."""

    def __init__(self, forecast: "SwitchForecast") -> None:
        super().__init__(id="switch-bar")
        self._forecast = forecast

    def render(self) -> Content:
        return fit_bar(self._forecast, max(8, self.content_size.width))


class SwitchDialog(ChoiceDialog, style="switch_dialog", size="-list"):
    """Dismisses with ``compact``, ``anyway`` or None.

    It preselects the choice that keeps most and can be undone.
    """

    def __init__(self, forecast: "SwitchForecast", current: str) -> None:
        """Ask how to continue.

        Args:
            forecast: The effect of a switch.
            current: Full name of the model that is kept on cancel.
        """
        holds = f"{one_line(forecast.target, 60)} holds {window_text(forecast.window.limit)}"
        size = counted_text(forecast.tokens_now, forecast.tokens)
        ways, first = switch_choices(forecast, current), 0 if forecast.can_compact else -1
        super().__init__(f"{holds}. This conversation is {size}.", ways, first=first)
        self._forecast = forecast

    @property
    def gap(self) -> str:
        room = self.app.size
        return " " if room.width >= ONE_LINE or room.height < SHORT else "\n    "

    def arranged(self, ways: Widget, note: Widget) -> Iterable[Widget]:
        return FitBar(self._forecast), ways, Static(id="switch-effect", markup=False)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Show the marked choice's effect in full, since each has only one line."""
        self.query_one("#switch-effect", Static).update(self.ways[event.option_index].what)


async def choose_model(app: "Host", session: ChatSession, name: str = "") -> None:
    """Switch to a model, or to one that the user picks; asks for a missing key."""
    if name:
        await switch_to(app, session, name)
        return
    desk = SettingsDesk(app)

    def make_default(name: str) -> str:
        if refused := desk.change("model", name):
            return refused
        origin = desk.entry("model").origin
        until = f", as soon as {origin.name} does not say otherwise" if origin.is_forced else ""
        return f"New sessions begin with {name}{until}. Written to {desk.place}"

    servers = [one_line(name, 24) for name in session.launch.settings.endpoints]
    if session.launch.env.get("OPENAI_BASE_URL"):
        servers.append("OPENAI_BASE_URL")
    asking = f"Asking {', '.join([*servers, 'servers on this machine'])} for models"
    rows = await look_up(app.chat, session, asking, partial(_listed, session), "esc lists the others")
    if not (asked := rows is not None):
        # If the user does not wait for a server, another model may still be wanted.
        rows = await look_up(app.chat, session, "Listing models", partial(_listed, session, discover=False))
    if rows is None:
        raise Refusal(_stayed(session))
    used = session.state.usage.total if session.state.usage else 0
    row = await app.push_screen_wait(ModelPicker(rows, used, asked=asked, make_default=make_default))
    if row is not None:
        await switch_to(app, session, row.name)


async def _listed(session: ChatSession, opened: "OpenSession", *, discover: bool = True) -> list[ModelRow]:
    """List the models; without ``discover``, no server is asked."""
    from tui_app.agent.catalog import list_models

    settings, state, models = session.launch.settings, session.state, opened.conversation.models
    env = await asyncio.to_thread(session.launch.keys.readable)
    ready = models.shelf.ready
    listed = await list_models(env=env, endpoints=settings.endpoints, discover=discover, ready=ready)
    if all(choice.name != state.model for choice in listed):
        # The current model works, whatever its server lists.
        listed.insert(0, _unlisted(state.model, state.usage.window if state.usage else None))
    fit = models.fit_of({choice.name: choice.window for choice in listed if choice.window})
    return [
        ModelRow(choice, *fit.get(choice.name, ("fits", 0, 0)), current=choice.name == state.model)
        for choice in listed
    ]


async def switch_to(app: "Host", session: ChatSession, name: str) -> None:
    """Switch to a model, asking first if its key is missing or the conversation does not fit."""
    if name == session.state.model:
        session.reply(f"{name} is already the current model.")
        return
    keys, endpoints = session.launch.keys, session.launch.settings.endpoints

    async def look(opened: "OpenSession") -> "SwitchForecast | str":
        from tui_app.agent.catalog import missing_key

        missing = missing_key(name, await asyncio.to_thread(keys.readable), endpoints)
        return missing or await opened.conversation.models.forecast(name)

    try:
        found = await look_up(app.chat, session, f"Looking up {name}", look)
    except Exception as error:
        why = str(error).splitlines()[0] if str(error) else "not available"
        raise Refusal(f"{name} cannot be used: {why}") from error
    if isinstance(found, str):
        if not await ask_for_key(app, session, name, found):
            session.reply(_stayed(session))
        elif name.endswith(":"):
            # A server whose models could not be listed without a key.
            await choose_model(app, session)
        else:
            await switch_to(app, session, name)
    elif found is not None and found.fits:
        session.submit(Switch(found.target))
    elif found and (way := await app.push_screen_wait(SwitchDialog(found, session.state.model))):
        session.submit(Switch(found.target, way))
    else:
        session.reply(_stayed(session))


def _stayed(session: ChatSession) -> str:
    return f"Stayed on {session.state.model}."
