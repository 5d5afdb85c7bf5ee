"""Going back to before an earlier prompt."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from textual.app import App

from tui_app.conversation.work import Rewind
from tui_app.log_numbers import log_number
from tui_app.session.rewind_fork import RewindPoint, rewind_points, tokens_after_rewind
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.flows.sending import agreed, is_above
from tui_app.ui.screens.rewind import PromptPicker, leaving_words
from tui_app.ui.screens.rewind_files import RewindFiles, Way

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.conversation.file_snapshots import FileOutlook
    from tui_app.ui.app import PlimsollApp

NOTHING = "Nothing to rewind: the context holds no earlier prompt."


async def rewind(app: App[Any], session: ChatSession, argument: str) -> None:
    """Go back to a prompt: the one with a log number, or one that the person chooses."""
    if argument:
        await rewind_to(app, session, argument)
        return
    points = rewind_points(session.presenter.agent_view)
    if not points:
        session.say(NOTHING)
        return

    def explained(point: RewindPoint) -> str:
        usage = session.state.usage
        if usage is None:
            return leaving_words(point, None)
        after = tokens_after_rewind(session.presenter.agent_view, point.seq, usage)
        return leaving_words(point, (usage.total, after))

    chosen = await app.push_screen_wait(PromptPicker(points, "Rewind to before", "rewind", explained))
    if chosen is not None:
        await _submit(app, session, Rewind(chosen))


async def rewind_to(app: App[Any], session: ChatSession, argument: str) -> None:
    """Go back to the prompt with a log number, written ``#12`` or ``12``."""
    if (number := log_number(argument)) is not None:
        await _submit(app, session, Rewind(number))
    else:
        session.say("/rewind takes the number of a prompt, as in /rewind #12; alone it lists them.")


async def retry(app: "PlimsollApp", session: ChatSession) -> None:
    """Send the last prompt once more; what is in the editor stays there."""
    points = rewind_points(session.presenter.agent_view)
    above = is_above(session)
    if above and not await agreed(app, session, "the last prompt again"):
        return
    again = Rewind(points[0].seq if points else 0, again=True, above_budget=above)
    await _submit(app, session, again)


async def _submit(app: App[Any], session: ChatSession, wanted: Rewind) -> None:
    """Ask whether files that tools changed since go back as well, and go back."""
    files = await _changed_files(session, wanted.to)
    way: Way | None = "keep"
    if any(file.fate != "same" for file in files):
        way = await app.push_screen_wait(RewindFiles(files))
    if way is not None:
        session.submit(replace(wanted, files=way))


async def _changed_files(session: ChatSession, to: int) -> "Sequence[FileOutlook]":
    if session.read_only or not session.link.ready or not to:
        return ()

    async def look(opened: "OpenSession") -> "Sequence[FileOutlook]":
        return await opened.conversation.tooling.files.outlook(to)

    return await session.link.ask(look)
