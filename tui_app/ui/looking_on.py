"""A window that only looks on: it shows what another one writes, and says who does or that it has let go."""

from dataclasses import replace

from tui_app.ui.chat_state import saying
from tui_app.ui.following import Following, News
from tui_app.ui.presenter import Presenter

WRITTEN_ELSEWHERE = "This session is being written by {}: shown read-only. /fork goes on in a copy."
FREE = "This session is free again: what you send next is written here."
TAKEN_OVER = "The other window has let go of this session: it goes on here."


class LookingOn:
    """Shows another window's session until that lets go of it and something is asked for here.

    Args:
        following: Brings the news.
        presenter: Shows them.
    """

    def __init__(self, following: Following, presenter: Presenter) -> None:
        self._following, self._presenter = following, presenter

    @property
    def refusal(self) -> str:
        """Why nothing can be sent now, with who writes; empty when nobody does any more."""
        who = self._following.writer
        return WRITTEN_ELSEWHERE.format(who) if who else ""

    def start(self) -> None:
        """Show news from now on."""
        self._following.start(self._hear)

    async def stop(self) -> None:
        """Show no more of them."""
        await self._following.stop()

    def look_again(self) -> None:
        """Say so when the window that wrote the session has let go of it, or a third one has it now."""
        why, free = self.refusal, self._presenter.state.standing.text == FREE
        if bool(self._presenter.state.locked) is not bool(why):
            self._presenter.update(replace(self._presenter.state, locked="elsewhere" if why else ""))
        if why and free:
            self._say(why)
        elif not why and not free:
            self._say(FREE)

    def _hear(self, news: News) -> None:
        """Show what the other window has written, and whether it still writes."""
        self._presenter.catch_up(news.heads)
        if news.info is not None:
            self._presenter.remeasure(news.info, news.known)
        if news.trouble:
            self._say(news.trouble)
        else:
            self.look_again()

    def _say(self, text: str) -> None:
        self._presenter.update(saying(self._presenter.state, text))
