"""Writing a prompt: an earlier one again, or in the user's own editor."""

import asyncio
import sqlite3
from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from textual.content import Content

from tui_app.context.storage_errors import storage_error
from tui_app.session.prompts import SEARCHED_CHARS, PastPrompt, past_prompts, whole_prompt
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.filter import FilterDialog
from tui_app.ui.keys import place_bindings, place_hints
from tui_app.ui.prompt.external_editor import edit_outside
from tui_app.ui.text import count, count_lines, one_line

if TYPE_CHECKING:
    from tui_app.ui.host import Host

_TIME_CELLS = 18


def prompt_line(prompt: PastPrompt, width: int, tz: tzinfo | None = None) -> Content:
    """One row: when it was sent, and its beginning."""
    when = (
        datetime.fromtimestamp(prompt.time, tz).strftime("%Y-%m-%d %H:%M") if prompt.time else "this session"
    )
    text = one_line(prompt.text, max(12, width - _TIME_CELLS))
    return Content.assemble((f"{when:<{_TIME_CELLS}}", "$text-muted"), text)


class PromptsScreen(FilterDialog[PastPrompt, PastPrompt]):
    """Dismisses with the prompt to write again, or ``None``: then the draft stays as it is."""

    BINDINGS = place_bindings("prompts")
    HINTS = place_hints("prompts")
    NAME = "prompts"
    PLACEHOLDER = "search what you have said in this folder"
    LEAST = 40

    def __init__(self, prompts: Sequence[PastPrompt], *, tz: tzinfo | None = None) -> None:
        """Offer prompts.

        Args:
            prompts: Newest first.
            tz: Time zone of the dates; ``None`` for that of the machine.
        """
        super().__init__()
        self._tz = tz
        self.offer(prompts)

    @property
    def title_text(self) -> str:
        return f"Earlier prompts · {self.how_many}"

    def text_of(self, row: PastPrompt) -> str:
        return row.text

    def line(self, row: PastPrompt, width: int) -> Content:
        return prompt_line(row, width, self._tz)

    @property
    def nothing(self) -> str:
        return "No results." if self.total else "Nothing was said in this folder yet."

    def explain(self, row: PastPrompt) -> None:
        text = row.text
        more = "more than " if len(text) >= SEARCHED_CHARS else ""
        lines = count_lines(text)
        self.note(f"{more}{count(len(text), 'character')}, {count(lines, 'line')}")

    def use(self, row: PastPrompt) -> None:
        self.dismiss(row)


# Writing an earlier prompt again.


async def search_prompts(app: "Host", session: ChatSession) -> None:
    """Let the user choose among all they have said in this folder; closing the list keeps the draft."""
    database, editor = session.launch.database, app.chat.pane.prompt.editor
    try:
        logged = await asyncio.to_thread(past_prompts, database, session.launch.cwd)
        chosen = await app.push_screen_wait(PromptsScreen(listed(editor.prompts, logged)))
        if chosen is not None:
            editor.replace_draft(await asyncio.to_thread(whole_prompt, database, chosen))
    except sqlite3.Error as error:
        told = storage_error(error, session.launch.paths.database) or error
        session.say(f"The prompts cannot be read. {told}")


def edit_draft(app: "Host", session: ChatSession, start: str) -> None:
    """Write the prompt in the user's own editor.

    Args:
        app: Gives the terminal away meanwhile.
        session: Says what went wrong.
        start: What to begin with in place of the draft; empty for the draft.
    """
    launch = session.launch
    if problem := edit_outside(app.chat.pane.prompt.editor, start, launch.env, launch.cwd):
        session.say(problem)


def listed(typed: Sequence[str], logged: Sequence[PastPrompt]) -> list[PastPrompt]:
    """What to list: first what the editor brings back and the log of this folder has not, then the log.

    Args:
        typed: What the editor brings back, oldest first: prompts, commands, drafts that were cleared.
        logged: Newest first.
    """
    known = {prompt.text for prompt in logged}
    unsent = (text for text in dict.fromkeys(reversed(typed)) if text[:SEARCHED_CHARS] not in known)
    return [*(PastPrompt(text=text) for text in unsent), *logged]
