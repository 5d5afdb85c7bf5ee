"""Searching earlier prompts to send them again."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tui_app.session.prompts import SEARCHED_CHARS, PastPrompt, full_prompt, past_prompts
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.list import ListDialog, ListSpec
from tui_app.ui.widgets.tables import Column
from tui_app.ui.words.text import clock, count, count_lines

if TYPE_CHECKING:
    from tui_app.ui.host import Host


def length_text(row: PastPrompt) -> str:
    """Return the length of a prompt."""
    more = "more than " if len(row.text) >= SEARCHED_CHARS else ""
    return f"{more}{count(len(row.text), 'character')}, {count(count_lines(row.text), 'line')}"


class PromptsScreen(ListDialog[PastPrompt], place="prompts"):
    """Dismisses with the prompt to put into the editor, or ``None``, which keeps the draft."""

    SPEC: ClassVar[ListSpec[Any]] = ListSpec[PastPrompt](
        name="prompts",
        search="search what you have said in this folder",
        columns=(
            Column(lambda row: clock(row.time, "%Y-%m-%d %H:%M") if row.time else "this session", 18),
            Column(lambda row: row.text, tone=""),
        ),
        title=lambda _: "Earlier prompts",
        words=lambda row: row.text,
        note=length_text,
        none="Nothing was said in this folder yet.",
    )


async def search_prompts(app: "Host", session: ChatSession) -> None:
    """Let the user choose from all prompts of this folder; closing the list keeps the draft."""
    database, editor = session.launch.database, app.chat.pane.prompt.editor
    logged = await asyncio.to_thread(past_prompts, database, session.launch.cwd)
    chosen = await app.push_screen_wait(PromptsScreen(listed(editor.prompts, logged)))
    if chosen is not None:
        editor.replace_draft(await asyncio.to_thread(full_prompt, database, chosen))


def listed(typed: Sequence[str], logged: Sequence[PastPrompt]) -> list[PastPrompt]:
    """List the editor's history that is not in the log of this folder, then the log.

    Args:
        typed: The editor's history, oldest first: prompts, commands, cleared drafts.
        logged: Newest first.
    """
    known = {prompt.text for prompt in logged}
    unsent = (text for text in dict.fromkeys(reversed(typed)) if text[:SEARCHED_CHARS] not in known)
    return [*(PastPrompt(text=text) for text in unsent), *logged]
