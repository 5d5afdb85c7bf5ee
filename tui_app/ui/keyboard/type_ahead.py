"""Type-ahead: keys typed after one that opens something, buffered until it is open."""

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
"""Makes the coroutine when it runs, so that a flow cancelled before leaves no coroutine unawaited."""
_TEXT = frozenset({"Zs", "Cf", "Cn", "Co"})
"""Unicode categories that count as text although Python does not call them printable."""
_NEVER_HELD = frozenset({"ctrl+c", "ctrl+q"})
"""Keys that stop or quit: they apply to what is open now."""


class TypedSign(events.Key):
    """A key for a character that Python does not call printable: a wide space, a joiner."""

    @property
    def is_printable(self) -> bool:
        return True


TypedSign.handler_name = events.Key.handler_name


def typed_key(key: str, character: str | None) -> events.Key:
    """Return the event of a key; every character it types is text, including invisible ones."""
    writes = character is not None and len(character) == 1 and not character.isprintable()
    category = unicodedata.category(character) if writes and character else "Cc"
    return (TypedSign if category in _TEXT else events.Key)(key, character)


class TypeAhead:
    """Buffers keys until a requested screen or row has the focus, or will not appear.

    Args:
        app: Handles the keys afterwards.
        prompt: Returns the visible chat's prompt.
    """

    def __init__(self, app: App[Any], prompt: Callable[[], Widget]) -> None:
        self._app, self._prompt = app, prompt
        self._held: list[Typed] = []
        self.opening: object | None = None
        """Token of the current buffering; None while keys are handled at once."""
        self._opens = False
        self._built: object | None = None
        """Token while a screen is being built: a screen closed before that cannot end the buffering."""
        self._is_above = False
        """Whether a screen is open above the chat."""

    def begin(self, *, opens: bool = True) -> object:
        """Start buffering keys.

        Args:
            opens: Whether something is going to open, so that enter is meant for it and never for the prompt.

        Returns:
            A token with which :meth:`end` ends just this buffering.
        """
        self.opening, self._opens = object(), opens
        return self.opening

    def end(self, opening: object | None = None) -> None:
        """Release the keys to the current focus, after keys already sent to it.

        Args:
            opening: Ends only this buffering; None ends any.
        """
        if self.opening is None or opening not in (None, self.opening):
            return
        under_way: App[Any] | Widget = self._app.focused or self._app
        under_way.call_later(self._app.call_later, self._release, self.opening)

    def during(self, flow: Flow) -> Flow:
        """Start buffering keys, and release them when a flow has ended."""
        opening = self.begin()

        async def held() -> None:
            try:
                await flow()
            finally:
                # Nothing can open any more.
                self.end(opening)

        return held

    def follow(self, screen: Screen[Any]) -> None:
        """Buffer keys while a newly shown screen is being built, then release them to it.

        After a screen is closed they are buffered as well, so that its opener continues first with the
        decision; what it opens then gets the keys.
        """
        was_above, self._is_above = self._is_above, len(self._app.screen_stack) > 1
        if self._is_above or (was_above and self.opening in (None, self._built)):
            # If nothing was built, the keys are still meant for what is opening.
            self._built = self.begin(opens=self._is_above or self.opening is not None)
            screen.call_after_refresh(self.end, self._built)

    def hold(self, event: events.Event) -> bool:
        """Buffer an event; returns whether it has to wait."""
        if self.opening is None or not isinstance(event, Typed):
            return False
        if isinstance(event, events.Key) and (
            event.key in _NEVER_HELD or (event.key == "escape" and len(self._app.screen_stack) == 1)
        ):
            return False
        # Keys already sent to a widget come here after younger ones.
        insort(self._held, event, key=attrgetter("time"))
        return True

    def take(self) -> list[Typed]:
        """End the buffering and return the events."""
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
                # Nothing has opened: an enter meant for it must not send the prompt.
                await self._app.on_event(events.Paste("\n"))
            else:
                await self._app.on_event(typed_key(event.key, event.character))


def is_text(event: Typed, *, empty: bool) -> bool:
    """Return whether an event only writes into the prompt, so that it need not wait for a session.

    Args:
        event: A key, or a paste.
        empty: Whether the prompt is still empty.
    """
    if isinstance(event, events.Paste):
        return True
    return event.is_printable and not (empty and event.character == "?")


def written(held: Sequence[Typed]) -> list[str]:
    """Return the prompts that unhandled keys would have typed: the rest of the first one, then others."""
    text = ""
    for event in held:
        if isinstance(event, events.Paste):
            text += event.text
        elif event.key == "enter":
            text += "\0"
        elif event.is_printable:
            text += event.character or ""
    return text.split("\0")
