"""Keys typed behind one that opens something: they belong to what opens, however long that takes."""

import unicodedata
from bisect import insort
from collections.abc import Callable, Coroutine, Sequence
from operator import attrgetter
from typing import Any

from textual import events
from textual.app import App
from textual.screen import Screen
from textual.widget import Widget

Typed = events.Key | events.Paste
Flow = Callable[[], Coroutine[Any, Any, Any]]
"""Makes what is to be run once it begins: of what is given up before that, nothing is left waiting."""
_TEXT = frozenset({"Zs", "Cf", "Cn", "Co"})
"""Categories of signs that are not called printable, and are text."""
_NEVER_HELD = frozenset({"ctrl+c", "ctrl+q"})
"""Keys that stop or leave: they mean what is there now."""


class TypedSign(events.Key):
    """A key that writes a sign which Python does not call printable: a wide space, a joiner."""

    @property
    def is_printable(self) -> bool:
        return True


TypedSign.handler_name = events.Key.handler_name


def typed_key(key: str, character: str | None) -> events.Key:
    """The event of a key; whatever it writes is text, be it invisible."""
    writes = character is not None and len(character) == 1 and not character.isprintable()
    category = unicodedata.category(character) if writes and character else "Cc"
    return (TypedSign if category in _TEXT else events.Key)(key, character)


class TypeAhead:
    """Holds what is typed until a screen or row that was asked for has the focus, or will not come.

    Args:
        app: Acts on the keys once they have somewhere to go.
        prompt: Gives the prompt of the chat that is shown.
    """

    def __init__(self, app: App[Any], prompt: Callable[[], Widget]) -> None:
        self._app, self._prompt = app, prompt
        self._held: list[Typed] = []
        self.opening: object | None = None
        """What is awaited; None while keys are acted on at once."""
        self._opens = False
        self._built: object | None = None
        """The hold while a screen is built: one that is closed before it is built cannot end it."""
        self._is_above = False
        """Whether a screen stands above the chat."""

    def begin(self, *, opens: bool = True) -> object:
        """Hold keys from now on.

        Args:
            opens: Whether something is to open, so that enter is for that and never for the prompt.

        Returns:
            What :meth:`end` takes to end just this hold.
        """
        self.opening, self._opens = object(), opens
        return self.opening

    def end(self, opening: object | None = None) -> None:
        """Let keys go where the focus is now, behind those that are on their way there.

        Args:
            opening: Ends only this hold; None ends any.
        """
        if self.opening is None or opening not in (None, self.opening):
            return
        under_way: App[Any] | Widget = self._app.focused or self._app
        under_way.call_later(self._app.call_later, self._release, self.opening)

    def during(self, flow: Flow) -> Flow:
        """Hold keys from now on, and let them go when a flow that is to be run has ended."""
        opening = self.begin()

        async def held() -> None:
            try:
                await flow()
            finally:
                # Nothing can open any more.
                self.end(opening)

        return held

    def follow(self, screen: Screen[Any]) -> None:
        """Hold keys while a screen that came up is built, and let them go to it then.

        Behind one that was closed they wait as well, so that what asked for it begins first with what was
        decided there; what that opens is what they are for.
        """
        was_above, self._is_above = self._is_above, len(self._app.screen_stack) > 1
        if self._is_above or (was_above and self.opening in (None, self._built)):
            # Where nothing has been built, keys were still meant for it.
            self._built = self.begin(opens=self._is_above or self.opening is not None)
            screen.call_after_refresh(self.end, self._built)

    def hold(self, event: events.Event) -> bool:
        """Keep an event for later; returns whether it has to wait."""
        if self.opening is None or not isinstance(event, Typed):
            return False
        if isinstance(event, events.Key) and (
            event.key in _NEVER_HELD or (event.key == "escape" and len(self._app.screen_stack) == 1)
        ):
            return False
        # Some were on their way to a widget already, and come here behind younger ones.
        insort(self._held, event, key=attrgetter("time"))
        return True

    def take(self) -> list[Typed]:
        """End the hold and return what was held."""
        held, self._held, self.opening = self._held, [], None
        return held

    async def _release(self, opening: object) -> None:
        if opening is not self.opening:
            return
        in_prompt = self._opens and self._app.focused is self._prompt()
        for event in self.take():
            if isinstance(event, events.Paste):
                await self._app.on_event(events.Paste(event.text))
            elif in_prompt and event.key == "enter":
                # Nothing has opened: what was meant for it is not to be sent to the model.
                await self._app.on_event(events.Paste("\n"))
            else:
                await self._app.on_event(typed_key(event.key, event.character))


def is_text(event: Typed, *, empty: bool) -> bool:
    """Whether an event only writes into the prompt, so that it need not wait for a session.

    Args:
        event: A key, or a paste.
        empty: Whether nothing is written there yet.
    """
    if isinstance(event, events.Paste):
        return True
    return event.is_printable and not (empty and event.character == "?")


def written(held: Sequence[Typed]) -> list[str]:
    """Return the prompts that unhandled keys were meant to write: the end of one, then more."""
    text = ""
    for event in held:
        if isinstance(event, events.Paste):
            text += event.text
        elif event.key == "enter":
            text += "\0"
        elif event.is_printable:
            text += event.character or ""
    return text.split("\0")
