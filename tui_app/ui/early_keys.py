"""Keys typed behind one that opens something: they belong to what opens, however long that takes."""

from bisect import insort
from collections.abc import Callable, Coroutine
from functools import partial
from operator import attrgetter
from typing import Any

from textual import events
from textual.app import App
from textual.screen import Screen
from textual.widget import Widget

from tui_app.ui.widgets.prompt import PromptEditor

Flow = Callable[[], Coroutine[Any, Any, Any]]
"""Makes what is to be run once it begins: of what is given up before that, nothing is left waiting."""
_NEVER_HELD = frozenset({"ctrl+c", "ctrl+q"})
"""Keys that stop or leave: they mean what is there now."""


class EarlyKeys:
    """Holds what is typed until a screen or row that was asked for has the focus, or will not come.

    Args:
        app: Acts on the keys once they have somewhere to go.
    """

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._held: list[events.Key | events.Paste] = []
        self._opening: object | None = None
        """What is awaited; None while keys are acted on at once."""
        self._opens = False
        self._is_above = False
        """Whether a screen stands above the chat."""

    @property
    def opening(self) -> object | None:
        """What is being opened; None when nothing is."""
        return self._opening

    def begin(self, *, opens: bool = True) -> object:
        """Hold keys from now on.

        Args:
            opens: Whether something is to open, so that enter is for that and never for the prompt.

        Returns:
            What :meth:`end` takes to end just this hold.
        """
        self._opening, self._opens = object(), opens
        return self._opening

    def end(self, opening: object | None = None) -> None:
        """Let keys go where the focus is now, behind those that are on their way there.

        Args:
            opening: Ends only this hold; None ends any.
        """
        if self._opening is None or opening not in (None, self._opening):
            return
        under_way: App[Any] | Widget = self._app.focused or self._app
        under_way.call_later(self._app.call_later, self._release, self._opening)

    def during(self, flow: Flow) -> Flow:
        """Hold keys from now on, and let them go when a flow that is to be run has ended."""
        return partial(self._until, self.begin(), flow)

    async def _until(self, opening: object, flow: Flow) -> None:
        try:
            await flow()
        finally:
            # Nothing can open any more.
            self.end(opening)

    def follow(self, screen: Screen[Any]) -> None:
        """Hold keys while a screen that came up is built, and let them go to it then.

        Behind one that was closed they wait as well, so that whoever asked for it begins first with what was
        decided there; what that opens is what they are for.
        """
        was_above, self._is_above = self._is_above, len(self._app.screen_stack) > 1
        if self._is_above or (was_above and self._opening is None):
            screen.call_after_refresh(self.end, self.begin(opens=self._is_above))

    def hold(self, event: events.Event) -> bool:
        """Whether an event has to wait."""
        if self._opening is None or not isinstance(event, events.Key | events.Paste):
            return False
        if isinstance(event, events.Key) and self._acts_now(event.key):
            return False
        # Some were on their way to a widget already, and come here behind younger ones.
        insort(self._held, event, key=attrgetter("time"))
        return True

    def _acts_now(self, key: str) -> bool:
        """Whether a key waits for nothing: esc gives up what has not come up yet, and closes what has."""
        return key in _NEVER_HELD or (key == "escape" and len(self._app.screen_stack) == 1)

    def take(self) -> list[events.Key | events.Paste]:
        """End the hold; what was held is the caller's."""
        held, self._held, self._opening = self._held, [], None
        return held

    async def _release(self, opening: object) -> None:
        if opening is not self._opening:
            return
        in_prompt = self._opens and isinstance(self._app.focused, PromptEditor)
        for event in self.take():
            if isinstance(event, events.Paste):
                await self._app.on_event(events.Paste(event.text))
            elif in_prompt and event.key == "enter":
                # Nothing has opened: what was meant for it is not to be sent to the model.
                await self._app.on_event(events.Paste("\n"))
            else:
                await self._app.on_event(events.Key(event.key, event.character))
