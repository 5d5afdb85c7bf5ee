"""Why nothing can be done with a row of the conversation, in words."""

from tui_app.session.entries import Entry

NO_ROW = "No row is marked: shift+tab, then up, goes to one."
_UNDOABLE = ("compaction", "rewrite", "files", "clear")


def why_not_undone(entry: Entry | None) -> str:
    """Why a row cannot be undone; empty where it can.

    Args:
        entry: What the row stands for; None where there is no row.
    """
    if entry is None:
        return NO_ROW
    if entry.kind not in _UNDOABLE:
        return "This row cannot be undone: u is for compactions, rewrites, rewinds and restored files."
    if entry.state == "ok":
        return ""
    if entry.state == "running":
        return "This is still under way: esc stops it."
    if entry.state == "undone":
        return "This is undone already." + (" /redo applies it again." if entry.kind == "compaction" else "")
    return "This changed nothing, so there is nothing to undo."
