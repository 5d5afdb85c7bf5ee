"""Asking for an API key: typed or pasted, never shown."""

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import Input, Static

from tui_app.api_keys import KeyringTrouble
from tui_app.ui.chat.session import ChatSession, LookupCancelled, look_up
from tui_app.ui.dialogs.base import Dialog, confirmed
from tui_app.ui.keys import Hint
from tui_app.ui.text import clean, one_line

if TYPE_CHECKING:
    from tui_app.agent.catalog import KeyCheck
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.host import Host


class KeyDialog(Dialog[str]):
    """Dismisses with the key, or ``None``; nothing is checked here but that there is one."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/key_dialog.tcss"]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "use", 0),
        Hint("esc", "cancel", 0, "screen.close"),
    )

    def __init__(self, model: str, name: str, refused: str = "") -> None:
        """Ask for a key.

        Args:
            model: The model that needs it.
            name: Its variable.
            refused: Why the last one was not taken; empty at the first.
        """
        super().__init__()
        self._model, self._variable, self._refused = model, name, refused

    def compose(self) -> ComposeResult:
        """What for, a covered input, refusal, keys."""
        about = "Type or paste it; it is not shown. Nothing is kept before you say so."
        with Vertical(classes="dialog -small"):
            yield self.heading(f"{one_line(self._model, 48)} needs {one_line(self._variable, 40)}")
            yield Static(about, classes="dialog-note", markup=False)
            yield Input(password=True, id="key-value", compact=True)
            yield Static(Content(clean(self._refused)), id="key-refused", markup=False)
            yield self.hints()

    def on_mount(self) -> None:
        """Type at once."""
        self.query_one("#key-value").focus()

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        event.stop()
        key = event.value.strip()
        if not key:
            self._refuse("Type or paste the key first.")
        elif any(character.isspace() or not character.isprintable() for character in key):
            event.input.clear()
            self._refuse("A key is one word in one line.")
        else:
            self.dismiss(key)

    def _refuse(self, why: str) -> None:
        self.query_one("#key-refused", Static).update(Content(why))


# A key that a model lacks: asked for, tried, kept where the person says.

FOR_NOW = "It is used until Plimsoll is closed."


async def ask_for_key(app: "Host", session: ChatSession, model: str, name: str) -> bool:
    """Ask for a key until one is taken.

    Args:
        app: The app.
        session: The session that needs the model.
        model: The model's name.
        name: Variable of the key.

    Returns:
        Whether there is a key now.
    """
    refused = ""
    while key := await app.push_screen_wait(KeyDialog(model, name, refused)):
        try:
            check = await _tried(app, session, model, name, key)
        except LookupCancelled:
            return False
        if check.verdict == "refused":
            refused = f"The provider does not take this key ({check.reason}). It was not kept."
            continue
        await _keep(app, session, name, key, check)
        return True
    return False


async def _tried(app: "Host", session: ChatSession, model: str, name: str, key: str) -> "KeyCheck":
    """Ask the provider, where it can be asked for nothing, whether it takes a key.

    Raises:
        LookupCancelled: if the person gave up waiting.
    """
    endpoints = session.launch.settings.endpoints

    async def look(_opened: "OpenSession") -> "KeyCheck":
        from tui_app.agent.catalog import check_key, listing_of

        return await check_key(listing_of(name, model, endpoints), key)

    return await look_up(app.chat, session, f"Trying the key for {model}", look)


async def _keep(app: "Host", session: ChatSession, name: str, key: str, check: "KeyCheck") -> None:
    """Put a key where the person wants it; without a keyring it is for this run."""
    keys = session.launch.api_keys
    # From now on, so that no text in between may carry it either.
    keys.use_for_now(name, key)
    tried = "The key works." if check.verdict == "accepted" else f"The key was not tried: {check.reason}."
    question = f"{tried} Keep {one_line(name, 40)} in the system keyring? Otherwise it is used until "
    asked = f"{question}Plimsoll is closed."
    if not await confirmed(app, asked, verb="Keep it", keep="This run only"):
        return

    async def store(_opened: "OpenSession") -> None:
        await asyncio.to_thread(keys.store, name, key)

    try:
        await look_up(app.chat, session, "Asking the system keyring", store)
    except LookupCancelled:
        session.report(f"{name} may not be in the keyring. {FOR_NOW}")
    except (KeyringTrouble, OSError) as error:
        text = (
            str(error) if isinstance(error, KeyringTrouble) else f"{name} cannot be noted: {error.strerror}."
        )
        session.report(f"{text} {FOR_NOW}")
