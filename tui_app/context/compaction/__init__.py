"""Replace old history by a summary: plan, write, judge, apply."""
