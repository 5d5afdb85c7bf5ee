"""Keys typed behind one that opens something: they belong to what opens, however long that takes."""

import unicodedata
from bisect import insort
from collections.abc import Callable, Collection, Coroutine, Sequence
from operator import attrgetter
from time import monotonic
from typing import Any

from textual import events
from textual.app import App
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

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
        self._opening: object | None = None
        """What is awaited; None while keys are acted on at once."""
        self._opens = False
        self._built: object | None = None
        """The hold while a screen is built: one that is closed before it is built cannot end it."""
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
        if self._is_above or (was_above and self._opening in (None, self._built)):
            # Where nothing has been built, keys were still meant for it.
            self._built = self.begin(opens=self._is_above or self._opening is not None)
            screen.call_after_refresh(self.end, self._built)

    def hold(self, event: events.Event) -> bool:
        """Keep an event for later; returns whether it has to wait."""
        if self._opening is None or not isinstance(event, Typed):
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
        held, self._held, self._opening = self._held, [], None
        return held

    async def _release(self, opening: object) -> None:
        if opening is not self._opening:
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


# What is typed while there is no session to act on it.


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


# Keys of a user who is still writing when a dialog comes up.

QUIET_S = 0.5
"""Seconds without a key after which the next one is meant for the dialog."""
_CHOOSING = frozenset({"enter", "up", "down", "home", "end", "pageup", "pagedown"})
"""Keys that mark or choose a way."""


class StrayKeys:
    """Tells keys for a dialog from those of a user who is still writing, and keeps what they write.

    Args:
        clock: Seconds that only go forward.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.text = ""
        """What was written."""
        self._clock = clock
        self._quiet_since = clock()

    @property
    def is_over(self) -> bool:
        """Whether no key has come for a while: whoever writes now has seen the dialog."""
        return self._clock() - self._quiet_since >= QUIET_S

    def write(self, letter: str) -> None:
        """Take a letter for a part of what is written, whatever it could mean."""
        self.text += letter
        self._quiet_since = self._clock()

    def is_writing(self, shortcuts: Collection[str] = ()) -> bool:
        """Whether a letter goes on with what was written; shortcuts pressed too early are no writing."""
        return not set(self.text) <= {*shortcuts}

    def catch(self, event: events.Key, shortcuts: Collection[str] = ()) -> bool:
        """Whether a key was not meant for the dialog.

        Letters never are, but for shortcuts that decide nothing, where nothing was written; those and the
        keys that choose are from the moment on when no key came for a while.
        """
        now = self._clock()
        quiet = now - self._quiet_since >= QUIET_S
        if event.key in shortcuts and quiet and not self.is_writing(shortcuts):
            self.text = ""
            return False
        if event.is_printable and event.character:
            self.text += event.character
        elif event.key == "backspace":
            self.text = self.text[:-1]
        elif event.key not in _CHOOSING or quiet:
            return False
        elif event.key == "enter":
            self.text += "\n"
        self._quiet_since = now
        return True


def in_sight(widget: Widget) -> bool:
    """Whether all of a widget can be seen: no edge cuts it off, and nothing lies over a corner of it."""
    screen, region = widget.screen, widget.region
    if not region or not screen.is_current or not screen.region.contains_region(region):
        return False
    corners = ((x, y) for x in (region.x, region.right - 1) for y in (region.y, region.bottom - 1))
    return all(widget in screen.get_widget_at(*corner)[0].ancestors_with_self for corner in corners)


def is_whole(part: Widget) -> bool:
    """Whether all that a part of a dialog says can be seen, or can be scrolled to."""
    said = str(part.content) if isinstance(part, Static) else ""
    is_shown = all(node.display for node in part.ancestors_with_self if isinstance(node, Widget))
    if not is_shown or (isinstance(part, Static) and not said):
        return True
    if not in_sight(part):
        return False
    size = part.content_size
    needed = part.get_content_height(part.container_size, part.screen.size, size.width) if said else 0
    return needed <= size.height


LEADS_ON = _CHOOSING - {"enter"} | {
    "escape", "tab", "left", "right", "backspace", "ctrl+home", "ctrl+end", "ctrl+c", "ctrl+q",
}  # fmt: skip
"""Keys that decide nothing, wherever they are pressed."""


# A letter that answers a question, unless it begins a word.

ALONE_S = 0.25
"""Seconds without another letter after which one was an answer; who writes types the next one sooner."""


class LoneLetter:
    """Holds a letter back until it is known to stand alone.

    A question may come up just when a user begins to write. Focus and quiet cannot tell a ``y`` that
    answers from the one of ``you``: only what follows can.

    Args:
        owner: The widget that is asked; what waits ends with it.
    """

    def __init__(self, owner: Widget) -> None:
        self._owner = owner
        self._timer: Timer | None = None
        self._letter = ""
        self._act: Callable[[], None] | None = None

    @property
    def waits(self) -> bool:
        return self._letter != ""

    def press(self, letter: str, act: Callable[[], None]) -> None:
        """Act when no other letter follows; at once for a key that writes nothing.

        Args:
            letter: What the key would write.
            act: What it means as an answer.
        """
        self.take()
        if not letter or not ALONE_S:
            act()
            return
        self._letter, self._act = letter, act
        self._timer = self._owner.set_timer(ALONE_S, self.act)

    def act(self) -> bool:
        """Let a letter that waits act now; returns whether one waited."""
        act = self._act
        self.take()
        if act is not None:
            act()
        return act is not None

    def take(self) -> str:
        """End the wait without an answer and return the letter."""
        letter, self._letter, self._act = self._letter, "", None
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        return letter
