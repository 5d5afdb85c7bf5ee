"""The timeline's row of a compaction that is under way: live only, the log has it once it has ended."""

from tui_app.session.entries import Entry
from tui_app.ui.chat_state import ChatState

LIVE = -1
"""Its number; those of the log are positive."""


def running_compaction(state: ChatState) -> Entry | None:
    """The row to show for what runs now; None when no compaction does."""
    if state.reviewing:
        return _row("waits for you")
    if state.compacting:
        status = state.status
        share = (status.part - 1) / status.parts if status.parts > 1 and status.part else -1.0
        return _row(status.trigger.replace("_", " "), share)
    return _row("background", state.background) if state.background is not None else None


def _row(how: str, share: float = -1.0) -> Entry:
    """Args: share done, 0 to 1; negative when it is not known."""
    title = f"{how} · {share:.0%}" if share >= 0 else how
    return Entry(seq=LIVE, kind="compaction", time=0.0, title=title, state="running")
