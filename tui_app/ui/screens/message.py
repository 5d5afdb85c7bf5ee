"""One message with all that is known about it: full text, event as JSON, who sees it, what can be done."""

from collections.abc import Awaitable, Callable
from typing import ClassVar, Literal

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import Static

from tui_app.ui.glyphs import UNICODE, Glyphs
from tui_app.ui.keys import Hint, fixed_key
from tui_app.ui.message_facts import MessageFacts
from tui_app.ui.safe_text import one_line
from tui_app.ui.screens.dialog import Dialog
from tui_app.ui.widgets.long_text import LongText

Deed = Literal["pin", "restore", "rewind", "fork"]
"""What can be done with a message besides reading it."""
_PINNABLE = ("user", "assistant", "tool")


class MessageScreen(Dialog[Deed]):
    """Dismisses with what is to be done, or ``None``."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/message.tcss"]
    BINDINGS: ClassVar[list[BindingType]] = [
        fixed_key("message.raw", "j", "raw", "Text or JSON", "Show the events of it as they are stored."),
        fixed_key("message.copy", "y", "copy_all", "Copy all", "Copy all that is shown."),
        fixed_key("message.pin", "p", "do('pin')", "Pin or unpin", "Keep it word for word, or no longer."),
        fixed_key("message.restore", "u", "do('restore')", "Take back", "Give it its old form back."),
        fixed_key("message.rewind", "r", "do('rewind')", "Rewind here", "Go back to before this prompt."),
        fixed_key("message.fork", "f", "do('fork')", "Fork here", "Go on from before it in a new session."),
        fixed_key("message.close", "ctrl+o", "close", "Close", "The key that opened it closes it."),
    ]

    def __init__(
        self,
        facts: MessageFacts,
        text: Callable[[], Awaitable[str]],
        raw: Callable[[], Awaitable[str]],
        *,
        can_change: bool = True,
        glyphs: Glyphs = UNICODE,
    ) -> None:
        """Show a message.

        Args:
            facts: What is known about it.
            text: Reads all of its text; awaited once it is shown.
            raw: Reads its events as JSON.
            can_change: Whether the session may be changed.
            glyphs: Signs to draw with.
        """
        super().__init__()
        self._facts, self._readers = facts, (text, raw)
        self._can_change, self._glyphs = can_change, glyphs
        self._shown = ""
        self._raw = False

    def compose(self) -> ComposeResult:
        """What it is, what is known, the text, keys."""
        separator = f" {self._glyphs.separator} "
        with Vertical(classes="dialog -full"):
            yield self.heading(one_line(f"{self._facts.title}{separator}{self._facts.entry.title}", 300))
            for line in self._facts.lines():
                yield Static(Content(line.replace(" · ", separator)), classes="dialog-note", markup=False)
            yield LongText("", id="message-text")
            yield self.hints()

    def on_mount(self) -> None:
        """Read the text; name the keys that do something."""
        self._name_keys()
        self.query_one(LongText).focus()
        self._read()

    def _name_keys(self) -> None:
        names = {"pin": "unpin" if self._facts.entry.pinned else "pin", "restore": "take back"}
        keys: list[tuple[str, Deed]] = [("p", "pin"), ("u", "restore"), ("r", "rewind"), ("f", "fork")]
        deeds = [
            Hint(key, names.get(deed, f"{deed} here"), rank, f"screen.do('{deed}')")
            for rank, (key, deed) in enumerate(keys, 2)
            if self.check_action("do", (deed,))
        ]
        self.key_row.hints = (
            Hint("j", "text" if self._raw else "JSON", 1, "screen.raw"),
            Hint("y", "copy all", 1, "screen.copy_all"),
            *deeds,
            Hint("esc", "close", 0, "screen.close"),
        )

    @work(group="read", exclusive=True, exit_on_error=False)
    async def _read(self) -> None:
        self._shown = await self._readers[self._raw]()
        self.query_one(LongText).show(self._shown or "(no text)")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what makes sense for this message."""
        if action != "do":
            return super().check_action(action, parameters)
        entry = self._facts.entry
        match parameters:
            case ("pin",):
                return self._can_change and entry.kind in _PINNABLE
            case ("restore",):
                return self._can_change and bool(self._facts.stage)
            case ("rewind",):
                return self._can_change and entry.kind == "user" and not entry.left
            case _:
                return entry.kind == "user"

    def action_raw(self) -> None:
        """Show the JSON instead of the text, or the text again."""
        self._raw = not self._raw
        self._name_keys()
        self._read()

    def action_copy_all(self) -> None:
        """Copy what is shown."""
        # What is lone half of a pair cannot be encoded, and nobody could paste it.
        self.app.copy_to_clipboard(self._shown.encode("utf-8", "replace").decode())
        self.key_row.said = "copied all"

    def action_do(self, deed: Deed) -> None:
        """Dismiss with what is to be done."""
        self.dismiss(deed)
