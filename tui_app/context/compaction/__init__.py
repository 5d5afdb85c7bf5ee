"""How old history is replaced by a summary: planned, written, judged, applied."""
