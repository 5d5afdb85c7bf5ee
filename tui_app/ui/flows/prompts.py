"""Writing an earlier prompt again."""

import asyncio
import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_app.context.storage_errors import storage_error
from tui_app.session.prompt_history import SEARCHED_CHARS, PastPrompt, past_prompts, whole_prompt
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.screens.prompts import PromptsScreen

if TYPE_CHECKING:
    from tui_app.ui.app import PlimsollApp


async def search_prompts(app: "PlimsollApp", session: ChatSession) -> None:
    """Let the person choose among all they have said in this folder; closing the list keeps the draft."""
    database, editor = session.launch.database, app.chat.pane.prompt.editor
    try:
        logged = await asyncio.to_thread(past_prompts, database, session.launch.cwd)
        chosen = await app.push_screen_wait(PromptsScreen(listed(editor.prompts, logged)))
        if chosen is not None:
            editor.replace_draft(await asyncio.to_thread(whole_prompt, database, chosen))
    except sqlite3.Error as error:
        told = storage_error(error, session.launch.paths.database) or error
        session.say(f"The prompts cannot be read. {told}")


def listed(typed: Sequence[str], logged: Sequence[PastPrompt]) -> list[PastPrompt]:
    """What to list: first what the editor brings back and the log of this folder has not, then the log.

    Args:
        typed: What the editor brings back, oldest first: prompts, commands, drafts that were cleared.
        logged: Newest first.
    """
    known = {prompt.text for prompt in logged}
    unsent = (text for text in dict.fromkeys(reversed(typed)) if text[:SEARCHED_CHARS] not in known)
    return [*(PastPrompt(text=text) for text in unsent), *logged]
