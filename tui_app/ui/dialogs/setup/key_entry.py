"""Asking for a model's missing API key, typed or pasted, and never shown."""

import asyncio
from typing import TYPE_CHECKING

from textual.widgets import Input

from tui_app.api_keys import KeyringTrouble, key_flaw
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.lookup import look_up
from tui_app.ui.dialogs.questions import EditDialog, confirmed
from tui_app.ui.words.text import one_line

if TYPE_CHECKING:
    from tui_app.agent.catalog import KeyCheck
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.host import Host


class KeyDialog(EditDialog):
    """Dismisses with the key, or ``None``; it only checks that the text may be a key."""

    def __init__(self, model: str, name: str, refused: str = "") -> None:
        """Ask for a key.

        Args:
            model: The model that needs it.
            name: Its environment variable.
            refused: Why the previous key was rejected; empty at first.
        """
        about = "Type or paste it (hidden). Nothing is saved until you confirm."
        title = f"{one_line(model, 48)} needs {one_line(name, 40)}"
        super().__init__(title, about, "", refused, verb="use")

    def new_line(self) -> Input:
        line = Input(password=True, id="edit-value", compact=True)
        line.cursor_blink = False
        return line

    def refusal(self, text: str) -> str:
        if not text:
            return "Type or paste the key first."
        if any(character.isspace() or not character.isprintable() for character in text):
            return "That doesn't look like an API key (no spaces or line breaks)."
        flaw = key_flaw(text)
        return f"That doesn't look like an API key: {flaw}." if flaw else ""


async def ask_for_key(app: "Host", session: ChatSession, model: str, name: str) -> bool:
    """Ask for a key until one is accepted.

    Args:
        app: The application.
        session: The session that needs the model.
        model: The model's name.
        name: Environment variable of the key.

    Returns:
        Whether there is a key now.
    """
    endpoints = session.launch.settings.endpoints
    refused = ""
    while key := await app.push_screen_wait(KeyDialog(model, name, refused)):

        async def look(_opened: "OpenSession", key: str = key) -> "KeyCheck":
            """Ask the provider whether it accepts the key, if that is free of charge."""
            from tui_app.agent.catalog import check_key, listing_of

            return await check_key(listing_of(name, model, endpoints), key)

        check = await look_up(app.chat, session, f"Trying the key for {model}", look)
        if check is None:
            return False
        if check.verdict != "refused":
            await _keep(app, session, name, key, check)
            return True
        refused = f"The provider rejected this key ({check.reason}). It was not saved."
    return False


async def _keep(app: "Host", session: ChatSession, name: str, key: str, check: "KeyCheck") -> None:
    """Save a key in the keyring if the user agrees, else use it for this run only."""
    keys = session.launch.keys
    # From now on, so that texts shown meanwhile mask it, too.
    keys.use_temporarily(name, key)
    tried = "The key works." if check.verdict == "accepted" else f"The key was not tried: {check.reason}."
    question = f"{tried} Keep {one_line(name, 40)} in the system keyring? Otherwise it is used until "
    if not await confirmed(app, f"{question}Plimsoll is closed.", verb="Keep it", keep="This run only"):
        return

    async def store(_opened: "OpenSession") -> str:
        try:
            await asyncio.to_thread(keys.store, name, key)
        except KeyringTrouble as trouble:
            return str(trouble)
        except OSError as error:
            return f"{name} cannot be noted: {error.strerror}."
        return ""

    trouble = await look_up(app.chat, session, "Asking the system keyring", store)
    if trouble is None:
        trouble = f"Could not save {name} to the keyring."
    if trouble:
        session.report(f"{trouble} It is used until Plimsoll is closed.")
