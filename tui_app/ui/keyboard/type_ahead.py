"""Type-ahead: keys typed after one that opens something, buffered until it is open."""

import unicodedata
from bisect import insort
from collections.abc import Callable, Coroutine, Sequence
from operator import attrgetter
from typing import Any
from weakref import WeakSet

from textual import events
from textual.app import App
from textual.dom import DOMNode
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
        self.held: list[Typed] = []
        """Buffered events, in the order they were typed."""
        self.opening: object | None = None
        """Token of the current buffering; None while keys are handled at once."""
        self._acting = WeakSet[Typed]()
        """Events released while others still wait: each widget they pass through asks again."""
        self._built: object | None = None
        """Token while a screen is being built: a screen closed before that cannot end the buffering."""
        self.opens = self._is_above = False
        """Whether keys are buffered for something that opens; whether a screen is open above the chat."""

    def begin(self, *, opens: bool = True) -> object:
        """Start buffering keys.

        Args:
            opens: Whether something is going to open, so that enter is meant for it and never for the prompt.

        Returns:
            A token with which :meth:`end` ends just this buffering.
        """
        self.opening, self.opens = object(), opens
        return self.opening

    def end(self, opening: object | None = None) -> None:
        """Release the keys to the current focus, after keys already sent to it.

        Args:
            opening: Ends only this buffering; None ends any.
        """
        if self.opening is None or opening not in (None, self.opening):
            return
        self._climb(self._app.focused or self._app.screen, self.opening)

    def _climb(self, node: DOMNode, opening: object) -> None:
        """Follow a key from its widget to the app, where bindings are run."""
        # A widget that is being removed accepts no messages.
        if node.parent is None or not node.call_later(self._climb, node.parent, opening):
            self._app.call_later(self._release, opening)

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
            self._built = self.begin(opens=self._is_above or (self.opening is not None and self.opens))
            screen.call_after_refresh(self.end, self._built)

    def hold(self, event: events.Event) -> bool:
        """Buffer an event; returns whether it has to wait."""
        if not isinstance(event, Typed) or (event.is_forwarded and event in self._acting):
            return False
        if self.opening is None:
            if self._is_above and isinstance(event, events.Key) and not event.is_forwarded:
                # It may close the dialog or open another one: later keys wait until it is handled.
                self._acting.add(event)
                self._built = self.begin(opens=False)
                self._app.call_later(self.end, self._built)
            return False
        never = _NEVER_HELD if len(self._app.screen_stack) > 1 else {*_NEVER_HELD, "escape"}
        if isinstance(event, events.Key) and event.key in never:
            return False
        # Keys already sent to a widget come here after younger ones.
        insort(self.held, event, key=attrgetter("time"))
        return True

    async def _release(self, opening: object) -> None:
        """Release one event; later ones wait until it is handled, as it may close or open something."""
        if opening is not self.opening:
            return
        self.opening = None
        if not self.held:
            return
        event = self.held.pop(0)
        if isinstance(event, events.Paste):
            acts: Typed = events.Paste(event.text)
        elif self.opens and event.key == "enter" and self._app.focused is self._prompt():
            # Nothing has opened: an enter meant for it must not send the prompt.
            acts = events.Paste("\n")
        else:
            acts = typed_key(event.key, event.character)
        self._acting.add(acts)
        await self._app.on_event(acts)
        if self.held and self.opening is None:
            self.opening = opening
            self.end(opening)


def is_text(event: Typed, *, empty: bool) -> bool:
    """Return whether an event only writes into the prompt, so that it need not wait for a session.

    Args:
        event: A key, or a paste.
        empty: Whether the prompt is still empty.
    """
    if isinstance(event, events.Paste):
        return True
    return event.is_printable and not (empty and event.character == "?")


def written(typed: Sequence[Typed]) -> list[str]:
    """Return the prompts that unhandled keys would have typed: the rest of the first one, then others."""
    text = ""
    for event in typed:
        if isinstance(event, events.Paste):
            text += event.text
        elif event.key == "enter":
            text += "\0"
        elif event.is_printable:
            text += event.character or ""
    return text.split("\0")
