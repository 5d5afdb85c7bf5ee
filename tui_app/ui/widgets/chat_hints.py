"""The bottom row of the chat: what the keys do where the focus is."""

from collections.abc import Container, Mapping

from textual.reactive import reactive
from textual.widget import Widget

from tui_app.ui.keys import COPY, MARK_HINTS, ROW_HINTS, TIMELINE_HINTS, TO_MARKS, Hint, Locked, footer_hints
from tui_app.ui.widgets.hints import HintRow
from tui_app.ui.widgets.timeline import Timeline
from tui_app.ui.widgets.transcript import Transcript


class ChatHints(HintRow):
    """Shows the chat's own hints, those of the focused list, or those of marked entries."""

    keymap: reactive[Mapping[str, str]] = reactive(dict, init=False)
    """Keys of the actions that have others than the built-in ones."""
    marked: reactive[int] = reactive(0, init=False)
    """Entries of the conversation that are marked."""
    acting: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Keys that act on the row under the cursor."""
    locked: reactive[Locked] = reactive("", init=False)
    """Why the session can only be looked at; empty when it can be changed."""

    def __init__(self, keymap: Mapping[str, str], *, id: str | None = None) -> None:
        super().__init__(footer_hints(keymap), id=id)
        self.set_reactive(ChatHints.keymap, keymap)

    def on_mount(self) -> None:
        """Follow the focus."""
        self.watch(self.screen, "focused", self.tell)

    def watch_keymap(self) -> None:
        """Name the keys as they are now."""
        self.tell()

    def watch_acting(self) -> None:
        """Name the keys of another row."""
        self.tell()

    def watch_locked(self) -> None:
        """Name only what can be done now."""
        self.tell()

    def watch_marked(self) -> None:
        """Say what can be done with marked entries."""
        self.tell()

    def tell(self) -> None:
        """Say what the keys do where the focus is now."""
        beside = any(each.display for each in self.screen.query(Timeline))
        self.hints = hints_for(
            self.screen.focused,
            self.marked,
            self.keymap,
            beside=beside,
            acting=self.acting,
            locked=self.locked,
        )


def hints_for(
    focused: Widget | None,
    marked: int,
    keymap: Mapping[str, str],
    *,
    beside: bool = False,
    acting: Container[str] = (),
    locked: Locked = "",
) -> tuple[Hint, ...]:
    """What the row offers.

    Args:
        focused: What has the focus.
        marked: Entries of the conversation that are marked; they are counted everywhere, and what is done
            with them is named where the keys act.
        keymap: Keys of the actions that have others than the built-in ones.
        beside: Whether the timeline is shown: then it comes next behind the conversation.
        acting: Keys that act on the row under the cursor.
        locked: Why the session can only be looked at; empty when it can be changed.
    """
    hints = _every_hint(focused, marked, keymap, beside=beside)
    if isinstance(focused, Transcript) and not marked:
        hints = tuple(hint for hint in hints if hint not in ROW_HINTS or hint.label in acting)
    if not locked:
        return hints
    way_on = (COPY,) if locked == "elsewhere" and not isinstance(focused, Transcript | Timeline) else ()
    return (*way_on, *(hint for hint in hints if not hint.changes))


def _every_hint(
    focused: Widget | None, marked: int, keymap: Mapping[str, str], *, beside: bool
) -> tuple[Hint, ...]:
    own, count = footer_hints(keymap), (Hint(f"{marked:,}", "marked"),) if marked else ()
    if isinstance(focused, Transcript):
        tab = Hint("tab", "timeline" if beside else "prompt", 0)
        return (*count, *MARK_HINTS) if marked else (*ROW_HINTS, tab, own[-1])
    if isinstance(focused, Timeline):
        return (*count, *TIMELINE_HINTS, own[-1])
    return (*count, *(TO_MARKS if marked else ()), *own)
