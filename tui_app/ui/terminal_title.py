"""The window title, taskbar progress and desktop notifications."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tui_app.ui.words.load import BACKGROUND, BLOCKING
from tui_app.ui.words.text import one_line, tokens
from tui_app.usage import percent_text

if TYPE_CHECKING:
    from tui_app.ui.chat.state import ChatState

KEEP_TITLE, TITLE_BACK = "\x1b[22;2t", "\x1b[23;2t"
"""Make the terminal save its title, and restore it (xterm's window operations)."""
NO_PROGRESS = "\x1b]9;4;0;0\x07"
_TITLE_CELLS = 60


class TerminalTitle:
    """Sends each change of title and progress to the terminal once, and notifies the user.

    Args:
        env: Environment variables that identify the terminal.
        title: Whether to set its title.
        bell_after_s: Seconds a turn must have taken for a bell at its end; 0 for no bell at all.
        ring: Rings the bell.
        notify: When the end of a turn, however short, or a question notifies the user: ``unfocused``,
            ``always`` or ``off``.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        *,
        title: bool,
        bell_after_s: float,
        ring: Callable[[], None],
        notify: str = "off",
    ) -> None:
        self.notify = notify
        self.has_focus = True
        """Whether the terminal has the focus; assumed if it does not report that."""
        self._titled, self._progress = title, shows_progress(env)
        self._notification = notification(env)
        self._ring = ring
        self.bell_after_s = bell_after_s
        """Seconds a turn must have taken for a bell at its end; 0 for no bell at all."""
        self._write: Callable[[str], None] | None = None
        self._said = "", ""
        """The last title, and the last progress sequence; empty if none was sent."""
        self._turn_started: float | None = None
        self._asked = ""

    def attach(self, write: Callable[[str], None]) -> None:
        self._write = write
        if self._titled:
            write(KEEP_TITLE)
        last, self._said = self._said, ("", "")
        self._say(last)

    def farewell(self) -> str:
        """Return the sequence that restores the terminal's own title and ends the progress."""
        return (TITLE_BACK if self._titled else "") + (NO_PROGRESS if self._progress else "")

    def show(self, state: "ChatState", now: float) -> None:
        """Send what a new state changes.

        Args:
            state: State of the chat.
            now: Monotonic seconds, the clock of the state.
        """
        self._say((window_title(state) if self._titled else "", progress(state) if self._progress else ""))
        started, self._turn_started = self._turn_started, state.turn_started if state.turn else None
        asked, self._asked = self._asked, question_of(state)
        calls = self._calls
        if not (self.bell_after_s or calls):
            return
        if self._asked not in ("", asked):
            self._call("needs your answer", state)
        elif started is not None and not state.turn and (calls or self.bell_after_s <= now - started):
            self._call("is done", state)

    def ask(self, state: "ChatState") -> None:
        """Notify the user of a question that has its own dialog."""
        if self.bell_after_s or self._calls:
            self._call("needs your answer", state)

    @property
    def _calls(self) -> bool:
        """Whether the end of a turn notifies the user however short it was."""
        return self.notify == "always" or (self.notify == "unfocused" and not self.has_focus)

    def _call(self, what: str, state: "ChatState") -> None:
        """Notify the user, who may be in another window."""
        self._ring()
        if self._write is not None and self._notification:
            self._write(
                self._notification.format(f"{one_line(state.title, _TITLE_CELLS) or 'Plimsoll'} {what}")
            )

    def _say(self, now: tuple[str, str]) -> None:
        (title, progress), (titled, progressed), self._said = now, self._said, now
        if self._write is not None and title not in ("", titled):
            self._write(f"\x1b]2;{title}\x07")
        if self._write is not None and progress != progressed:
            self._write(progress)


def window_title(state: "ChatState") -> str:
    """Return the title: sign, context utilization and session title, without control characters."""
    share = ""
    if state.usage is not None:
        total, limit = state.usage.total, state.usage.window.stated
        # In the words of the gauge; empty if the limit is unknown.
        share = percent_text(total, limit, (BACKGROUND, BLOCKING))
        if total > limit > 0:
            share = f"over by {tokens(total - limit)}"
    waits = question_of(state)
    doing = "…" if state.busy and not waits else ""
    parts = ("?" if waits else "", "⊖", share, doing, one_line(state.title, _TITLE_CELLS))
    return " ".join(filter(None, parts))


def question_of(state: "ChatState") -> str:
    """Return an id for what waits for the user's decision; empty if nothing does."""
    if state.question is not None:
        return state.question.id
    if state.asked is not None:
        return state.asked.id
    return "review" if state.reviewing else ""


def progress(state: "ChatState") -> str:
    """Return the progress sequence for taskbars: a compaction's share, or just that something runs."""
    if state.background:
        return f"\x1b]9;4;1;{round(state.background * 100)}\x07"
    return "\x1b]9;4;3;0\x07" if state.busy else NO_PROGRESS


def notification(env: Mapping[str, str]) -> str:
    """Return the sequence for a desktop notification, with ``{}`` for its text; empty if unsupported."""
    terminal = env.get("TERM", "")
    is_bare = terminal.startswith(("linux", "screen")) and not env.get("TMUX")
    if is_bare or env.get("STY"):
        return ""
    if env.get("VTE_VERSION") or terminal.startswith(("foot", "rxvt")):
        form = "\x1b]777;notify;Plimsoll;{}\x07"
    else:
        form = "\x1b]9;{}\x07"
    return f"\x1bPtmux;\x1b{form}\x1b\\" if env.get("TMUX") else form


def shows_progress(env: Mapping[str, str]) -> bool:
    """Return whether the terminal is known to show progress.

    Other terminals may take the sequence for a notification.
    """
    if env.get("TMUX") or env.get("STY"):
        return False
    if env.get("WT_SESSION") or env.get("ConEmuANSI") == "ON":
        return True
    return env.get("TERM_PROGRAM", "").lower() in ("ghostty", "wezterm")
